"""The command line, as users and scripts meet it."""

from __future__ import annotations

import gzip
import io
import json
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from command_line import SURELINE, fail, run, succeed
from sklearn.metrics import roc_auc_score
from stream_files import libsvm_of

import sureline
from sureline import stream
from sureline.cli._help import OfLearner, Rare
from sureline.cli._progress import Doublings, LiveLine
from sureline.datasets import make_sparse_stream
from sureline.learners.catalogue import LEARNERS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files of rows and a model trained from them."""
    folder = tmp_path_factory.mktemp("cli")
    X, y = make_sparse_stream(3000, 500, 12, n_informative=80, random_state=5)
    signs = 2 * y - 1
    (folder / "train.svm").write_bytes(libsvm_of(X[:2000], signs[:2000]))
    (folder / "train.svm.gz").write_bytes(gzip.compress(libsvm_of(X[:2000], signs[:2000])))
    (folder / "test.svm").write_bytes(libsvm_of(X[2000:], signs[2000:]))
    succeed(
        "train", folder / "train.svm.gz", "--algorithm", "scw", "--model", folder / "m.sureline", "--dtype", "float64"
    )
    return folder


def test_train_predict_evaluate_inspect(folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.sureline"
    told = json.loads(
        succeed(
            "train",
            folder / "train.svm",
            "--algorithm",
            "SCW",
            "--C",
            "0.5",
            "--normalize",
            "none",
            "--dtype",
            "float64",
            "--model",
            model,
            "--json",
        )
    )
    chunks = list(stream.read(folder / "train.svm"))
    clf = sureline.SCW(C=0.5, growing=True, normalize="none")
    for X, y in chunks:
        clf.partial_fit(X, y, classes=[-1, 1])
    assert (told["algorithm"], told["labels"]) == ("SCW", [-1, 1])
    assert (told["examples"], told["mistakes"], told["updates"]) == (clf.n_seen_, clf.n_mistakes_, clf.n_updates_)
    loaded = sureline.load(model)
    assert np.array_equal(loaded.coef_, clf.coef_)
    assert np.array_equal(loaded.covariance_, clf.covariance_)

    test = stream.read(folder / "test.svm").head(10_000)
    X, y = test.X[:, : clf.n_features_in_], test.y
    succeed("predict", folder / "test.svm", "--model", model, "--output", tmp_path / "scores.csv")
    lines = (tmp_path / "scores.csv").read_text().splitlines()
    assert lines[0] == "label,score,confidence"
    table = np.array([[float(cell) for cell in line.split(",")] for line in lines[1:]])
    assert np.array_equal(table[:, 0], clf.predict(X))
    np.testing.assert_allclose(table[:, 1], clf.decision_function(X), rtol=1e-8)
    np.testing.assert_allclose(table[:, 2], clf.confidence(X), atol=1e-6)
    as_lines = [
        json.loads(line) for line in succeed("predict", folder / "test.svm", "--model", model, "--json").splitlines()
    ]
    assert [row["label"] for row in as_lines] == clf.predict(X).tolist()

    probable = succeed("predict", folder / "test.svm", "--model", model, "--probabilities").splitlines()
    assert probable[0] == "label,score,confidence,probability of -1,probability of 1"
    table = np.array([[float(cell) for cell in line.split(",")[3:]] for line in probable[1:]])
    np.testing.assert_allclose(table, clf.predict_proba(X), atol=1e-6)

    told = json.loads(
        succeed("evaluate", folder / "test.svm", "--model", model, "--plot", tmp_path / "r.svg", "--json")
    )
    assert all(row["low"] <= row["right"] <= row["high"] for row in told["calibration"]["bins"])
    assert (tmp_path / "r.svg").read_text().startswith("<svg")
    told = json.loads(succeed("evaluate", folder / "test.svm", "--model", model, "--cost", "5,1", "--json"))
    wrong = clf.predict(X) != y
    assert told["error"] == pytest.approx(wrong.mean())
    assert told["auc"] == pytest.approx(roc_auc_score(y, clf.decision_function(X)), abs=1e-12)
    assert told["cost"] == 5 * (wrong & (y == 1)).sum() + (wrong & (y == -1)).sum()
    proba = clf.predict_proba(X)[:, 1]
    assert told["calibration"]["brier"] == pytest.approx(((proba - (y == 1)) ** 2).mean())
    assert sum(row["examples"] for row in told["calibration"]["bins"]) == len(y)
    assert "balanced accuracy" in succeed("evaluate", folder / "test.svm", "--model", model)

    told = json.loads(succeed("inspect", model, "--top", "7", "--json", "--plot", tmp_path / "p.png"))
    order = np.argsort(-np.abs(clf.coef_[0]), kind="stable")[:7]
    assert [row["feature"] for row in told["top"]] == order.tolist()
    np.testing.assert_allclose([row["weight"] for row in told["top"]], clf.coef_[0, order])
    np.testing.assert_allclose([row["std"] for row in told["top"]], np.sqrt(clf.covariance_[0, order]))
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    assert "labels: -1 (negative), 1 (positive)" in succeed("inspect", model)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_algorithm_trains_from_the_command_line(folder: Path, tmp_path: Path, name: str) -> None:
    model = tmp_path / "m.sureline"
    told = json.loads(succeed("train", folder / "train.svm", "--algorithm", name.lower(), "--model", model, "--json"))
    assert told["algorithm"] == name
    assert type(sureline.load(model)).__name__ == name
    assert json.loads(succeed("evaluate", folder / "test.svm", "--model", model, "--json"))["examples"] == 1000


@pytest.mark.parametrize("name", ["train", "predict", "evaluate", "inspect", "convert"])
def test_every_option_is_a_word_and_in_the_help_with_its_default(name: str) -> None:
    command = import_module(f"sureline.cli.{name}").command
    shown = succeed(
        name, "--help-all" if any(isinstance(one, Rare | OfLearner) for one in command.params) else "--help"
    )
    for option in command.params:
        if not isinstance(option, click.Option):
            continue
        assert all(flag.startswith("--") and f"{flag}" in shown for flag in (*option.opts, *option.secondary_opts))
        plain_flag = option.is_flag and not option.secondary_opts  # off unless it is there
        optional_file = option.name in ("log", "picture")
        assert (
            option.required or plain_flag or optional_file or option.show_default or "[default: " in (option.help or "")
        )


def test_what_a_careless_user_is_told(folder: Path, tmp_path: Path) -> None:
    model, data = folder / "m.sureline", folder / "train.svm"
    new, scw = tmp_path / "new.sureline", ["--algorithm", "scw"]
    assert "There is no command 'trian'" in fail(2, "trian")
    assert "Missing option '--model'" in fail(2, "train", data)
    assert "Missing argument" in fail(2, "train", "--model", new)
    assert "There is no algorithm 'svm'; there are" in fail(2, "train", data, "--algorithm", "svm", "--model", new)
    assert "--lam is no parameter of SCW, which has" in fail(2, "train", data, *scw, "--lam", "1", "--model", new)
    assert "--lam is a parameter of stg, fobos, " in fail(2, "train", data, "--lam", "1", "--model", new)
    assert "'C' parameter of SCW must be a float" in fail(2, "train", data, *scw, "--C", "-1", "--model", new)
    assert "is not a valid float" in fail(2, "train", data, "--C", "much", "--model", new)
    assert "there is no folder" in fail(2, "train", data, "--model", tmp_path / "no" / "m.sureline")
    assert "write every=1M" in fail(2, "train", data, "--model", new, "--checkpoint", "1M")
    assert "name both with --labels" in fail(2, "train", data, "--algorithm", "fsol", "--cost", "5,1", "--model", new)
    assert "nothing.svm" in fail(1, "train", tmp_path / "nothing.svm", "--model", new)
    assert "is not among those given" in fail(1, "train", data, "--labels", "0,1", "--model", new)
    (tmp_path / "bad.svm").write_text("1 1:1\n-1 2:x\n")
    assert "bad.svm:2:6" in fail(1, "train", tmp_path / "bad.svm", "--model", new, "--quiet")
    (tmp_path / "empty.svm").write_text("")
    assert "there are no examples" in fail(1, "train", tmp_path / "empty.svm", "--format", "libsvm", "--model", new)
    (tmp_path / "cut.arrow").write_bytes(b"ARROW1\0\0" + bytes(100))
    for command in (("train", "--model", new), ("compare",), ("tune", "--algorithm", "arow")):
        assert "cut.arrow: the file is damaged" in fail(1, command[0], tmp_path / "cut.arrow", *command[1:])
    assert not new.exists()
    assert "train.svm:" in fail(1, "predict", data, "--model", data)
    assert "gone.sureline" in fail(1, "inspect", tmp_path / "gone.sureline")
    assert "must end in .png" in fail(2, "inspect", model, "--plot", tmp_path / "x.doc")
    damaged = bytearray(model.read_bytes())
    damaged[-3] ^= 1
    (tmp_path / "damaged.sureline").write_bytes(damaged)
    assert "damaged.sureline: " in fail(1, "evaluate", data, "--model", tmp_path / "damaged.sureline")
    assert "there are no labelled rows" in fail(
        1, "evaluate", tmp_path / "empty.svm", "--format", "libsvm", "--model", model
    )


def test_errors_skip(folder: Path, tmp_path: Path) -> None:
    good = (folder / "train.svm").read_bytes()
    (tmp_path / "some.svm").write_bytes(b"1 3:x\n" + good + b"1 2:3 2:4\n")
    told = json.loads(
        succeed("train", tmp_path / "some.svm", "--errors", "skip", "--model", tmp_path / "m.sureline", "--json")
    )
    assert (told["examples"], told["skipped_lines"]) == (2000, 2)
    (tmp_path / "many.svm").write_bytes(b"1 3:x\n" * 300 + good)
    assert "300 of" in fail(1, "train", tmp_path / "many.svm", "--errors", "skip", "--model", tmp_path / "m2.sureline")


def test_labels_are_words_or_numbers_and_as_many_as_there_are(tmp_path: Path) -> None:
    (tmp_path / "words.svm").write_text("spam 1:1\nham 2:1\n" * 50 + "news 3:1\n" * 20)
    told = json.loads(succeed("train", tmp_path / "words.svm", "--model", tmp_path / "m.sureline", "--json"))
    assert told["labels"] == ["ham", "news", "spam"]
    (tmp_path / "new.svm").write_text("ham 1:1\nham 2:1\nham 3:1\n")
    rows = succeed("predict", tmp_path / "new.svm", "--model", tmp_path / "m.sureline").splitlines()
    assert [row.split(",")[0] for row in rows] == ["label", "spam", "ham", "news"]
    told = json.loads(
        succeed(
            "train", tmp_path / "words.svm", "--labels", "spam,ham,news", "--model", tmp_path / "m.sureline", "--json"
        )
    )
    assert told["labels"] == ["spam", "ham", "news"]
    (tmp_path / "real.svm").write_text("".join(f"{i / 7} 1:1\n" for i in range(1200)))
    assert "more than 1000 different labels" in fail(
        1, "train", tmp_path / "real.svm", "--model", tmp_path / "x.sureline"
    )


def test_the_plain_lines_and_the_log(folder: Path, tmp_path: Path) -> None:
    command = ["train", folder / "train.svm", "--algorithm", "scw", "--normalize", "scale"]
    done = run(*command, "--model", tmp_path / "m.sureline", "--log", tmp_path / "log.jsonl")
    counts = [int(line.split()[0].replace(",", "")) for line in done.stderr.splitlines()[1:]]
    assert counts == [2**k for k in range(11)]
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [entry["examples"] for entry in log] == [*counts, 2000]
    clf = sureline.SCW(dtype="float32")
    chunk = stream.read(folder / "train.svm", dtype="float32").head(2000)
    for entry in log[:-1]:
        n = entry["examples"]
        clf.fit(chunk.X[:n], chunk.y[:n]) if n > 8 else None
        assert n <= 8 or (entry["mistakes"], entry["nonzeros"]) == (clf.n_mistakes_, clf.nonzero_)
    assert log[-1]["finished"] is True
    assert run("train", folder / "train.svm", "--model", tmp_path / "m.sureline", "--quiet").stderr == ""


def test_a_live_line_on_a_terminal(folder: Path, tmp_path: Path) -> None:
    master, slave = pty.openpty()
    how = ["--format", "libsvm", "--algorithm", "scw", "--normalize", "scale"]
    command = [*SURELINE, "train", "-", *how, "--model", str(tmp_path / "m.sureline")]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=slave)
    os.close(slave)
    block = (folder / "train.svm").read_bytes()
    assert process.stdin is not None
    assert process.stdout is not None
    for _ in range(40):
        process.stdin.write(block)
        process.stdin.flush()
        time.sleep(0.02)
    process.stdin.close()
    with process.stdout:
        assert b"80,000 examples" in process.stdout.read()
    assert process.wait(60) == 0
    shown = os.read(master, 1 << 20).decode()
    os.close(master)
    assert "\r\x1b[2K" in shown
    assert "examples" in shown
    assert re.search(r"error 0\.\d{4}  [\d,]+ nonzeros", shown)
    assert "\n" not in shown


def test_interrupted_while_it_is_imported():
    code = """
import os, signal, sys
class Interrupting:
    def find_spec(self, name, *rest):
        if name == "click":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupting())
from sureline.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", code, "train"], capture_output=True, timeout=60)
    assert done.returncode == -signal.SIGINT
    assert done.stderr == b""


def examples_told(log: Path) -> int:
    """The examples of the last whole line of a log. While rows are waited for, it tells of any number of them."""
    lines = log.read_text().split("\n")[:-1] if log.exists() else []
    return json.loads(lines[-1])["examples"] if lines else 0


@pytest.mark.torture
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ctrl_c_saves_and_resume_goes_on(folder: Path, tmp_path: Path, number: int) -> None:
    rows = (folder / "train.svm").read_bytes() * 30
    (tmp_path / "all.svm").write_bytes(rows)
    straight = tmp_path / "straight.sureline"
    succeed("train", tmp_path / "all.svm", "--algorithm", "ssol", "--lam", "0.01", "--model", straight)

    fifo = tmp_path / "rows.fifo"
    os.mkfifo(fifo)
    model = tmp_path / "m.sureline"
    options = ["--format", "libsvm", "--algorithm", "ssol", "--lam", "0.01", "--model", str(model)]
    process = subprocess.Popen(
        [*SURELINE, "train", str(fifo), *options, "--log", str(tmp_path / "log")],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # nohup has SIGHUP ignored
    )
    with fifo.open("wb") as out:
        out.write(rows[: len(rows) // 2])
        out.flush()
        while examples_told(tmp_path / "log") < 10_000:  # it has begun
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        _, complaint = process.communicate(timeout=60)
    assert process.returncode == 1
    assert b"with --resume goes on from" in complaint
    assert not model.exists()
    assert (tmp_path / "m.sureline.checkpoint").exists()

    def feed() -> None:
        with fifo.open("wb") as out:
            out.write(rows)

    threading.Thread(target=feed, daemon=True).start()
    told = json.loads(succeed("train", fifo, *options, "--resume", "--json"))
    assert told["examples"] == 60_000
    assert model.read_bytes() == straight.read_bytes()
    assert not (tmp_path / "m.sureline.checkpoint").exists()


def test_resume_refuses_another_job(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "all.svm"
    data.write_bytes((folder / "train.svm").read_bytes() * 60)
    model, scw = tmp_path / "m.sureline", ["--algorithm", "scw"]
    place = tmp_path / "m.sureline.checkpoint"
    while not place.exists():  # again, if it came to its end before it was killed
        process = subprocess.Popen(
            [*SURELINE, "train", str(data), *scw, "--model", str(model), "--checkpoint", "every=1", "--quiet"],
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and not place.exists():
            time.sleep(0.002)
        process.kill()
        process.wait()
    assert "was saved by SCW" in fail(1, "train", data, "--algorithm", "pa", "--model", model, "--resume", "--quiet")
    assert "was saved with C=0.5" in fail(1, "train", data, *scw, "--C", "2", "--model", model, "--resume", "--quiet")
    assert "was saved while reading" in fail(1, "train", folder / "train.svm", "--model", model, "--resume", "--quiet")
    with data.open("ab") as file:
        file.write(b"1 1:1\n")
    assert "is no longer what it was" in fail(1, "train", data, "--model", model, "--resume", "--quiet")
    assert json.loads(succeed("inspect", place, "--json"))["place"]["pass"] == 1


def test_start_up_is_quick(folder: Path, tmp_path: Path) -> None:
    def shortest(*arguments: Any) -> float:
        """Processor time, which a busy machine changes little."""
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            succeed(*arguments)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times)

    (tmp_path / "tiny.svm").write_text("1 1:1\n-1 2:1\n")
    assert shortest("--version") < 0.2
    program = (
        "import sys; from sureline.cli import run; status = run(['--version']); "
        "sys.exit(status or bool({'numpy', 'sureline._core'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL).returncode == 0
    for algorithm in ("arow", "auto"):
        assert shortest("train", tmp_path / "tiny.svm", "--algorithm", algorithm, "--model", tmp_path / "m") < 0.7
    program = (
        "import sys; from sureline import cli; "
        f"status = cli.run(['train', {str(tmp_path / 'tiny.svm')!r}, '--model', {str(tmp_path / 'm')!r}]); "
        "sys.exit(status or bool({'sklearn', 'scipy', 'pyarrow', 'altair'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize("command", ["train", "predict", "evaluate", "inspect", "convert", "compare", "tune"])
def test_no_command_imports_what_only_some_need(command: str) -> None:
    program = (
        f"import sys; import sureline.cli.{command}; "
        "sys.exit(bool({'sklearn', 'scipy', 'pyarrow', 'matplotlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 0


def test_output_that_nobody_reads_and_completion(folder: Path) -> None:
    command = f"{' '.join(SURELINE)} predict {folder / 'test.svm'} --model {folder / 'm.sureline'} | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("label,score,confidence\n", "")
    for shell in ("bash", "zsh"):
        assert "_SURELINE_COMPLETE" in succeed("completion", shell)
    environment = {
        **os.environ,
        "_SURELINE_COMPLETE": "bash_complete",
        "COMP_WORDS": "sureline train --che",
        "COMP_CWORD": "2",
    }
    offered = subprocess.run(SURELINE, env=environment, capture_output=True, text=True).stdout
    assert "--checkpoint" in offered
    assert re.fullmatch(r"sureline \d+\.\d+\.\d+\n", succeed("--version"))


def test_what_was_learned_before_an_error_is_not_lost(folder: Path, tmp_path: Path) -> None:
    good = (folder / "train.svm").read_bytes()
    (tmp_path / "some.svm").write_bytes(good + b"1 3:x\n" + good)
    model, settings = tmp_path / "m.sureline", ["--algorithm", "scw", "--normalize", "scale", "--quiet", "--model"]
    told = fail(1, "train", tmp_path / "some.svm", *settings, model, "--checkpoint", "every=1M")
    assert "some.svm:2001:5" in told
    assert "the 2,000 examples before are not lost: --resume goes on from" in told
    told = json.loads(
        succeed("train", tmp_path / "some.svm", *settings, model, "--resume", "--errors", "skip", "--json")
    )
    assert (told["examples"], told["skipped_lines"]) == (4000, 1)
    (tmp_path / "both.svm").write_bytes(good + good)
    succeed("train", tmp_path / "both.svm", *settings, tmp_path / "both.sureline")
    assert model.read_bytes() == (tmp_path / "both.sureline").read_bytes()


def test_nothing_that_is_read_is_written_over(folder: Path, tmp_path: Path) -> None:
    data, model = tmp_path / "rows.svm", tmp_path / "m.sureline"
    data.write_bytes((folder / "train.svm").read_bytes())
    model.write_bytes((folder / "m.sureline").read_bytes())
    for arguments in (
        ("train", data, "--model", data),
        ("train", data, "--model", tmp_path / "x", "--log", data),
        ("predict", data, "--model", model, "--output", data),
        ("predict", data, "--model", model, "--output", model),
    ):
        assert "must not be written over" in fail(2, *arguments)
    assert data.read_bytes() == (folder / "train.svm").read_bytes()
    assert model.read_bytes() == (folder / "m.sureline").read_bytes()
    assert "must end in .arrow" in fail(2, "convert", data, tmp_path / "x.csv")


def test_rows_that_do_not_mean_the_same_are_refused(folder: Path, tmp_path: Path) -> None:
    model = folder / "m.sureline"
    (tmp_path / "a.csv").write_text("label,x\n1,2\n-1,3\n")
    assert "so they do not mean the same" in fail(1, "predict", tmp_path / "a.csv", "--model", model)
    (tmp_path / "words.svm").write_text("ham 1:1\n")
    assert "none of the labels, such as 'ham', is one of the model's, -1, 1" in fail(
        1, "evaluate", tmp_path / "words.svm", "--model", model
    )
    assert "--bits" in fail(2, "train", tmp_path / "a.csv", "--bits", "31", "--model", tmp_path / "m")
    assert "the label is empty" in fail(2, "train", tmp_path / "a.csv", "--labels", ",1", "--model", tmp_path / "m")
    assert "two positive numbers" in fail(2, "evaluate", tmp_path / "words.svm", "--cost", "nan,1", "--model", model)


def test_tags_and_what_a_converted_file_was_made_of(tmp_path: Path) -> None:
    lines = [f"{1 if i % 2 else -1} 'tag{i}|w a{i % 7}:{i % 3} b{i % 2}\n" for i in range(50)] + ["1 |w b1\n"]
    (tmp_path / "a.vw").write_text("".join(lines))
    succeed("convert", tmp_path / "a.vw", tmp_path / "a.arrow", "--bits", "14")
    succeed("train", tmp_path / "a.arrow", "--model", tmp_path / "arrow.sureline", "--quiet")
    succeed("train", tmp_path / "a.vw", "--bits", "14", "--model", tmp_path / "vw.sureline", "--quiet")
    scores = [succeed("predict", tmp_path / "a.vw", "--model", tmp_path / f"{m}.sureline") for m in ("arrow", "vw")]
    assert scores[0] == scores[1]
    assert scores[0].splitlines()[:2] == ["tag,label,score,confidence", scores[0].splitlines()[1]]
    assert scores[0].splitlines()[1].startswith("tag0,-1,")
    assert scores[0].splitlines()[-1].startswith(",1,")
    assert '"tag": "tag0"' in succeed("predict", tmp_path / "a.vw", "--model", tmp_path / "vw.sureline", "--json")
    clf = sureline.load(tmp_path / "vw.sureline")
    assert clf.predict_one({"w^b1": 1.0}) == clf.predict_one("|w b1") == 1
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n" * 9)
    numbered = sureline.train(tmp_path / "a.svm", "arow")
    with pytest.raises(ValueError, match="no hashes of names"):
        numbered.predict_one({"b1": 1.0})
    with pytest.raises(ValueError, match="no hashes of names"):
        numbered.learn_one({"b1": 1.0}, 1)
    with pytest.raises(ValueError, match="set growing=True to add classes"):
        clf.learn_one({3: 1.0}, 7)
    with pytest.raises(ValueError, match="set growing=True to add columns"):
        clf.learn_one({1 << 20: 1.0}, 1)


def test_sorted_rows_get_a_hint(folder: Path, tmp_path: Path) -> None:
    lines = sorted((folder / "train.svm").read_bytes().splitlines(keepends=True))
    (tmp_path / "sorted.svm").write_bytes(b"".join(lines))
    assert "in random order" in run("train", tmp_path / "sorted.svm", "--model", tmp_path / "m").stderr
    assert "in random order" not in run("train", folder / "train.svm", "--model", tmp_path / "m").stderr


def test_closed_streams(folder: Path, tmp_path: Path) -> None:
    for closed in (">&-", "2>&-"):
        command = f"{' '.join(SURELINE)} train {folder / 'train.svm'} --model {tmp_path / 'm'} {closed}"
        done = subprocess.run(command, shell=True, capture_output=True, text=True)
        assert done.returncode == 0
        assert "internal error" not in done.stderr


def test_progress_is_a_live_line_on_a_terminal_and_plain_lines_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("COLUMNS", "11")
    monkeypatch.setattr(time, "monotonic", lambda: 5.0)
    for out, quiet, shown in [
        (
            Terminal(),
            False,
            "begin\n\r\x1b[2K1 of  what\r\x1b[2K",
        ),  # no wider than the terminal; the others come too soon
        (io.StringIO(), False, "begin\n1 of  what it is\n2 of  what it is\n4 of  what it is\n"),
        (Terminal(), True, ""),
        (io.StringIO(), True, ""),
    ]:
        line = LiveLine[int](lambda n: [f"{n} of", "what it is"], Doublings().reached, quiet=quiet, out=out)
        line.say("begin")
        for n in (1, 2, 3, 4):
            line(n)
        line.close()
        assert out.getvalue() == shown
    told = Doublings(5)
    assert [n for n in range(1, 40) if told.reached(n)] == [8, 16, 32]
    assert told.reached(1000)
    assert not told.reached(1023)

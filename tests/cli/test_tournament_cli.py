"""``sureline compare`` and ``sureline tune``."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tournaments

from sureline import cli
from sureline.contest import Tournament, TournamentResult
from sureline.datasets import make_sparse_stream

X, Y = make_sparse_stream(6000, 200, 10, n_informative=40, random_state=0)
ROWS = [
    f"{y} " + " ".join(f"{j}:{v}" for j, v in zip(columns, values, strict=True))
    for y, columns, values in zip(Y, X.indices.reshape(6000, 10), X.data.reshape(6000, 10), strict=True)
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(ROWS[:3000]) + "\n")
    return path


def run(capsys: Any, *arguments: Any) -> tuple[int, str, str]:
    """Status, output and complaints of a command."""
    status = cli.run([*map(str, arguments)])
    told = capsys.readouterr()
    assert "Traceback" not in told.err
    return status, told.out, told.err


def result_of(capsys: Any, *arguments: Any, status: int = 0) -> TournamentResult:
    found, out, err = run(capsys, *arguments, "--json", "--quiet")
    assert found == status, err
    return tournaments.read(json.loads(out))


def test_compare(data: Path, capsys: Any) -> None:
    status, out, err = run(capsys, "compare", data)
    assert status == 0
    assert err.startswith("26 models of 200 columns: up to ")
    assert "3,000 examples" in err
    lines = out.splitlines()
    assert lines[0].split() == ["learner", "error", "95", "%", "frozen", "mistakes", "nonzeros", "updates", "seconds"]
    errors = [float(line.split()[1]) for line in lines[1:27]]
    assert errors == sorted(errors)
    assert len(set(errors)) > 10
    best = lines[1].split()[0]
    assert f"Use {best}. It is the best of " in out
    assert "To train " in out
    result = result_of(capsys, "compare", data, "--algorithm", "arow, scw,Ada-RDA")
    assert [run.name for run in result.runs] == ["AROW", "SCW", "AdaRDA"]
    assert result.stream["rows"] == 3000


@pytest.mark.parametrize(
    "arguments",
    [
        ["--algorithm", "arow,odca,scw"],
        ["--algorithm", "pa,fsol,ssol", "--labels=1,0", "--cost", "5,1"],
        ["--algorithm", "pa,fgm", "--batch", "400", "--normalize", "scale", "--multi-class", "ovr"],
        ["--algorithm", "romma,alma", "--no-fit-intercept", "--dtype", "float64", "--errors", "skip"],
    ],
)
def test_the_command_of_a_run_makes_its_model(
    data: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    with data.open("a") as rows:
        rows.write("nonsense\n" if "skip" in arguments else "")
    result = result_of(capsys, "compare", data, *arguments)
    monkeypatch.chdir(tmp_path)
    assert all("normalize" not in each.name for each in result.runs)  # which was set for all
    for each in result.runs:
        assert each.train_command is not None
        words = shlex.split(each.train_command)
        assert words[:2] == ["sureline", "train"]
        status, out, err = run(capsys, *words[1:], "--json", "--quiet")
        assert status == 0, err
        told = json.loads(out)
        assert (told["examples"], told["updates"], told["nonzeros"]) == (each.examples, each.updates, each.nonzeros)
        if each.algorithm != "FGM":  # which is asked for a batch, and counts otherwise alone
            assert told["mistakes"] == each.mistakes


def test_commands_name_all_that_matters(tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / "odd name's.data"
    rows = [f"{'no' if i % 3 else 'yes'};{i % 5};{i % 7}" for i in range(300)]
    odd.write_text("answer,a,b\n" + "\n".join(rows).replace(";", ",") + "\n")
    options = ["--format", "csv", "--label", "answer", "--bits", "10", "--labels", "yes,no"]
    model = tmp_path / "best.sureline"
    grid = ["--algorithm", "pa", "--grid", "variant=II", "--grid", "C=0.1,1"]
    result = result_of(capsys, "tune", odd, *options, *grid, "--model", model)
    command = result.run(result.best or "").train_command
    assert command is not None
    monkeypatch.chdir(tmp_path)
    status, _, err = run(capsys, *shlex.split(command)[1:], "--quiet")
    assert status == 0, err
    assert (tmp_path / "pa.sureline").read_bytes() == model.read_bytes()


def test_tune(tmp_path: Path, capsys: Any) -> None:
    data = tmp_path / "rows.svm"
    data.write_text("\n".join(ROWS) + "\n")
    model = tmp_path / "best.sureline"
    grid = ["--grid", "C=0.001,0.5,1", "--grid", "eta=0.6,0.9"]
    arguments = ["tune", data, "--algorithm", "scw,arow", *grid, "--model", model]
    status, out, err = run(capsys, *arguments)
    assert status == 0
    assert err.startswith("17 models")
    assert len([line for line in out.splitlines() if line.startswith(("SCW(", "AROW("))]) >= 10
    assert "of 17 settings" in out
    result = result_of(capsys, *arguments)
    best = result.run(result.best or "")
    assert best.parameters.keys() <= {"C", "eta", "r"}
    assert result.rules is not None
    assert result.rules.startswith("After 2,048")
    settings = [word for name, value in best.parameters.items() for word in (f"--{name}", repr(value))]
    alone = tmp_path / "alone.sureline"
    assert run(capsys, "train", data, "--algorithm", best.algorithm, *settings, "--model", alone, "--quiet")[0] == 0
    assert alone.read_bytes() == model.read_bytes()
    assert result_of(capsys, *arguments, "--no-race").rules is None
    again = result_of(capsys, *arguments)  # the same numbers, but for times
    for one, other in zip(result.runs, again.runs, strict=True):
        assert replace(one, seconds=0.0) == replace(other, seconds=0.0)


def test_metrics(data: Path, capsys: Any) -> None:
    result = result_of(capsys, "compare", data, "--algorithm", "arow,fsol", "--cost", "balanced")
    assert result.metric == "balanced_accuracy"
    assert result.run("FSOL(cost='balanced')").parameters == {"cost": "balanced"}
    result = result_of(capsys, "compare", data, "--algorithm", "arow,fsol", "--cost", "9,1", "--labels", "0,1")
    assert result.metric == "cost"
    assert result.run("AROW").cost == result.run("AROW").score
    out = run(capsys, "compare", data, "--algorithm", "arow,pa", "--metric", "balanced_accuracy", "--quiet")[1]
    assert "balanced accuracy" in out.splitlines()[0]
    assert "and its balanced accuracy, in which every class counts the same, is " in out


def test_what_the_commands_refuse(data: Path, tmp_path: Path, capsys: Any) -> None:
    for arguments, sentence in (
        (["compare", data, "--algorithm", "svm"], "There is no algorithm 'svm'"),
        (["compare", data, "--algorithm", "arow,AROW"], "comes twice"),
        (["compare", data, "--algorithm", "odca-regressor"], "predicts numbers"),
        (
            ["compare", data, "--metric", "cost"],
            "--metric cost needs what a mistake costs, in two numbers: --cost 10,1",
        ),
        (["compare", data, "--metric", "cost", "--cost", "balanced"], "in two numbers: --cost 10,1"),
        (["compare", data, "--cost", "10,1"], "needs --labels"),
        (["compare", data, "--report", tmp_path / "nowhere" / "r.html"], "there is no folder"),
        (["compare", data, "--report", data], "must not be written over"),
        (["tune", data, "--grid", "C"], "is not a parameter with its values"),
        (["tune", data, "--grid", "r=1"], "'r' is no parameter of SCW"),
        (["tune", data, "--grid", "bits=8,9"], "'bits' is no parameter of SCW"),
        (["tune", data, "--grid", "C=1,2,1"], "The grid has 1 more than once for 'C' of SCW"),
        (["tune", data, "--grid", "C=1", "--grid", "C=2"], "C comes twice: all of its values go together, as in C=1,2"),
        (["tune", data, "--algorithm", "arow", "--grid", "r=-1"], "The 'r' parameter of AROW must be"),
        (["tune", data, "--grid", "C=x"], "Got 'x' instead"),
        (["tune", data, "--algorithm", "scw,scw"], "comes twice"),
        (["tune", data, "--model", data], "must not be written over"),
    ):
        status, out, err = run(capsys, *arguments)
        assert (status, out) == (2, ""), err
        assert sentence in err
        assert err.count("\n") == 1
    status, out, err = run(capsys, "compare", data, "--memory", "1k")
    assert (status, out) == (1, "")
    assert "and the limit is 1 kB: let fewer take part, or raise the limit (--memory)." in err


def test_a_report_that_cannot_be_written_does_not_cost_the_model(
    data: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["tune", data, "--algorithm", "pa", "--quiet", "--model", tmp_path / "m"]
    page = tmp_path / "no-file"
    run_it = Tournament.run

    def meanwhile(*given: Any, **options: Any) -> None:
        page.symlink_to("/dev/null")
        run_it(*given, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Tournament, "run", meanwhile)
        status, out, err = run(capsys, *arguments, "--report", page)
    assert (status, "PA(C=" in out) == (1, True)
    assert "it is not a regular file" in err
    assert (tmp_path / "m").exists()
    status, out, err = run(capsys, *arguments, "--report", tmp_path / "m")
    assert (status, out) == (2, "")
    assert "--model and --report would write the same file" in err


def test_data_with_something_wrong(tmp_path: Path, capsys: Any) -> None:
    broken = tmp_path / "broken.svm"
    good = "".join(f"{i % 2} {1 + i % 7}:1 {8 + i % 2}:2\n" for i in range(300))
    broken.write_text(good + "1 2:x\n")
    model = tmp_path / "m"
    status, out, err = run(capsys, "tune", broken, "--algorithm", "arow", "--model", model, "--quiet")
    assert status == 1
    assert "AROW(r=1)" in out
    assert "1 more came as far, to 300 rows, of 11 settings" in out
    assert "All this is by the first 300 rows: the data were not read whole." in out
    assert "sureline train" not in out
    assert f"{broken}:301" in err
    assert "was not written, since the data were not read whole: " in err
    assert err.count("\n") == 1
    assert not model.exists()
    page = tmp_path / "page.html"
    assert result_of(capsys, "compare", broken, "--report", page, status=1).runs[0].examples == 300
    assert f"{broken.name}:301" in page.read_text()
    assert "sureline train" not in page.read_text()
    skipped = result_of(capsys, "compare", broken, "--errors", "skip")
    assert (skipped.stream["complete"], skipped.stream["skipped_lines"]) == (True, 1)

    (tmp_path / "one.svm").write_text("1 1:1\n" * 100)
    status, out, err = run(capsys, "compare", tmp_path / "one.svm", "--quiet")
    assert status == 0
    assert "There is nothing to tell apart. All " in out
    assert "only one class came, 1" in err

    (tmp_path / "empty.svm").write_text("")
    for command in (["compare"], ["tune", "--model", model, "--algorithm", "pa"]):
        status, out, err = run(capsys, *command, tmp_path / "empty.svm", "--format", "libsvm", "--quiet")
        assert status == 1
        assert out.startswith("There was nothing to learn from. ")  # and no table of nothing
        assert "there are no examples" in err


def test_a_disk_that_is_full(data: Path, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "best.sureline"
    model.write_text("old")

    def full(*arguments: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device", str(model))

    monkeypatch.setattr("os.fsync", full)
    status, out, err = run(capsys, "tune", data, "--model", model, "--quiet")
    assert status == 1
    assert "Use " in out
    assert "No space left on device" in err
    assert model.read_text() == "old"
    page = tmp_path / "page.html"
    page.write_text("old")
    status, out, err = run(capsys, "compare", data, "--report", page, "--quiet")
    assert (status, page.read_text()) == (1, "old")
    assert "No space left on device" in err


def test_ctrl_c_tells_what_is_known(tmp_path: Path) -> None:
    rows = "".join(f"{i % 2} {1 + i % 7}:1 {8 + i % 2}:2 # {'-' * 10_000}\n" for i in range(500)).encode()
    command = [
        sys.executable,
        "-m",
        "sureline",
        "compare",
        "-",
        "--format",
        "libsvm",
        "--algorithm",
        "arow,pa",
        "--normalize",  # or it would wait for rows to choose by
        "scale",
        "--json",
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        assert process.stdout is not None
        for _ in range(3):
            process.stdin.write(rows)
        process.stdin.flush()
        while b"examples" not in process.stderr.readline():
            pass
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        err = process.stderr.read()
        process.stdin.close()
        assert process.wait(20) == 1
    result = tournaments.read(json.loads(out))
    assert not result.stream["complete"]
    assert result.runs[0].examples > 0
    assert b"it was stopped after" in err


def test_live_line_of_a_terminal() -> None:
    import io

    from sureline.cli._tournament import live_line
    from sureline.contest import Standing

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    out = Terminal()
    line = live_line(out=out)
    line(Standing(1000, 2.0, 0.25, 7, "AROW", 0.125))
    line.close()
    shown = out.getvalue()
    for part in ("1,000 examples", "500/s", "7 models", "AROW leads with 0.1250", "25%", "0:06 left"):
        assert part in shown
    assert np.char.endswith(shown, "\r\x1b[2K")


def test_rows_sorted_by_label_are_told(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "sorted.svm"
    path.write_text("".join(f"{label} 1:{k % 7} 2:{label}\n" for label in (0, 1) for k in range(500)))
    status, out, err = run(capsys, "compare", path, "--algorithm", "arow,pa", "--quiet", "--json")
    assert status == 0
    assert "sureline: the label changes once in 1,000 rows" in err
    assert "shuffle" in json.loads(out)["stream"]["problem"]


def test_costs_that_three_classes_do_not_have_are_told(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "three.svm"
    path.write_text("".join(f"{k % 3} {1 + k % 3}:1\n" for k in range(300)))
    status, _, err = run(
        capsys, "compare", path, "--algorithm", "arow", "--cost", "10,1", "--labels", "0,1,2", "--quiet"
    )
    assert status == 0
    assert "are for two classes, and 3 came: every mistake has counted 1" in err


def test_a_label_that_was_not_named_is_told_with_its_row(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "late.svm"
    path.write_text("0 1:1\n1 2:1\n" * 50 + "7 1:1\n")
    status, _, err = run(capsys, "compare", path, "--algorithm", "arow", "--labels", "0,1", "--quiet")
    assert status == 1
    assert "the label 7 is not among those given: 0,1 (row 101)" in err

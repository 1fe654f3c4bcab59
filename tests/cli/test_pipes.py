"""Endless pipes and files that grow: rows are answered as they come, and nothing that came is lost."""

from __future__ import annotations

import gzip
import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SURELINE, fail, run, succeed

from sureline import stream
from sureline.stream.options import BLOCK

SCW = ["--algorithm", "scw", "--C", "1"]
PATIENCE = 60.0  # seconds, for a machine with other things to do


def rows_of(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n) * 2 - 1
    X = rng.normal(size=(n, 5)) + 0.5 * y[:, None]
    return [
        f"{label} " + " ".join(f"{j + 1}:{x:.3f}" for j, x in enumerate(row)) + "\n"
        for label, row in zip(y, X, strict=True)
    ]


ROWS = rows_of(600)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    (folder / "rows.svm").write_text("".join(ROWS))
    succeed("train", folder / "rows.svm", *SCW, "--quiet", "--model", folder / "m.sureline")
    return folder / "m.sureline"


def wait_until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


class Running:
    """A command with a pipe to its standard input."""

    def __init__(self, *arguments: Any) -> None:
        self.process = subprocess.Popen(
            [*SURELINE, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def send(self, text: str | bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text.encode() if isinstance(text, str) else text)
        self.process.stdin.flush()

    def line(self) -> str:
        """The next line of standard output. A test that waits for it in vain is ended by its timer."""
        assert self.process.stdout is not None
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        try:
            return self.process.stdout.readline().decode()
        finally:
            timer.cancel()

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Status, standard output and standard error after a signal, with the pipe still open."""
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        out, err = self.process.communicate()
        return status, out.decode(), err.decode()

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *error: Any) -> None:
        self.process.kill()
        self.process.communicate()


def answers(model: Path, rows: Sequence[str]) -> list[str]:
    """Lines that a file of these rows gives."""
    file = model.parent / f"file{len(rows)}.svm"
    file.write_text("".join(rows))
    return succeed("predict", file, "--model", model).splitlines(keepends=True)


# -- predict -------------------------------------------------------------------------------------------------


def test_each_row_is_answered_before_the_next_is_sent(model: Path) -> None:
    expected = answers(model, ROWS[:30])
    with Running("predict", "-", "--model", model) as running:
        running.send(ROWS[0])
        assert [running.line(), running.line()] == expected[:2]
        waits = []
        for row, answer in zip(ROWS[1:30], expected[2:], strict=True):
            running.send(row[:7])
            running.send(row[7:])
            before = time.monotonic()
            assert running.line() == answer
            waits.append(time.monotonic() - before)
        assert np.median(waits) < 0.1


@pytest.mark.parametrize(
    ("format", "header", "rows"),
    [
        ("csv", "label,a\n", ["1,2\n", "2,1\n"]),
        ("jsonl", "", ['{"label": 1, "a": 2}\n', '{"label": 2, "a": 1}\n']),
        ("vw", "", ["1 |f a\n", "2 |f b\n"]),
        ("libsvm", "", ["1 1:1\n", "2 2:1\n"]),
        ("text", "", ["ham\tat noon\n", "spam\tfree cash\n"]),
    ],
)
def test_no_more_of_a_pipe_is_waited_for_than_a_row(format: str, header: str, rows: list[str]) -> None:
    read, write = os.pipe()
    timer = threading.Timer(PATIENCE, os.close, [write])
    timer.start()
    os.write(write, (header + rows[0]).encode())
    source = stream.read(f"/dev/fd/{read}", format="csv" if format == "csv" else None)
    source.rows_at_once = True
    assert source.format == format
    chunks = iter(source)
    assert len(next(chunks)) == 1
    os.write(write, rows[1].encode())
    assert len(next(chunks)) == 1
    assert timer.is_alive()  # the pipe is still open
    timer.cancel()
    os.close(write)
    assert list(chunks) == []
    os.close(read)


@pytest.mark.parametrize("kind", ["fifo", "socket", "gzip"])
def test_pipes_by_name_sockets_and_compressed_members(model: Path, tmp_path: Path, kind: str) -> None:
    expected, path = answers(model, ROWS[:3]), tmp_path / "rows"
    pack: Callable[[bytes], bytes] = gzip.compress if kind == "gzip" else bytes
    if kind == "socket":
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(path))
        server.listen(1)
    else:
        os.mkfifo(path)
    with Running("predict", path, "--format", "libsvm", "--model", model) as running, ExitStack() as opened:
        if kind == "socket":
            out = opened.enter_context(opened.enter_context(server.accept()[0]).makefile("wb"))
        else:
            out = opened.enter_context(path.open("wb"))
        lines: list[str] = []
        for k, row in enumerate(ROWS[:3]):
            out.write(pack(row.encode()))
            out.flush()
            lines += [running.line() for _ in range(2 if k == 0 else 1)]
        assert lines == expected
    if kind == "socket":
        server.close()


def test_batches_grow_when_rows_come_fast() -> None:
    read, write = os.pipe()
    rows = "".join(rows_of(40_000)).encode()

    def feed() -> None:
        with open(write, "wb") as out:
            out.write(rows)

    source = stream.read(f"/dev/fd/{read}", format="libsvm")
    source.rows_at_once = True
    threading.Thread(target=feed, daemon=True).start()
    sizes = []
    for chunk in source:
        sizes.append(len(chunk))
        time.sleep(0.05)  # the consumer is busy
    os.close(read)
    assert sum(sizes) == 40_000
    assert max(sizes) > 5_000


# -- train ---------------------------------------------------------------------------------------------------


def examples_in(path: Path) -> int:
    return int(json.loads(succeed("inspect", path, "--json"))["examples"])


@pytest.mark.parametrize("how", [SCW, ["--algorithm", "scw"]])
def test_a_checkpoint_comes_on_time_without_a_row_and_sigterm_saves_the_rest(tmp_path: Path, how: list[str]) -> None:
    made, checkpoint = tmp_path / "m.sureline", tmp_path / "m.sureline.checkpoint"
    options = ["--format", "libsvm", *how, "--model", made]
    with Running("train", "-", *options, "--checkpoint", "every=1s") as running:
        running.send("".join(ROWS[:200]))
        wait_until(checkpoint.exists)
        wait_until(lambda: examples_in(checkpoint) == 200)
        running.send("".join(ROWS[200:300]) + "1 1:7")  # a line that is not complete is no row
        time.sleep(0.3)
        status, _, err = running.stop()
    assert status == 1
    assert "stopped after 300 examples; the same command with --resume goes on" in err
    assert "an earlier training" not in err  # the checkpoint is its own
    assert examples_in(checkpoint) == 300
    assert not made.exists()

    # What was saved is the model of a file with these rows.
    (tmp_path / "first.svm").write_text("".join(ROWS[:300]))
    succeed("train", tmp_path / "first.svm", *how, "--quiet", "--model", tmp_path / "first.sureline")
    told = [json.loads(succeed("inspect", p, "--json")) for p in (checkpoint, tmp_path / "first.sureline")]
    assert told[0]["top"] == told[1]["top"]
    assert told[0]["intercept"] == told[1]["intercept"]

    # Other rows are refused, the same ones give the bits of a file.
    other = run("train", "-", *options, "--resume", stdin="".join(ROWS[1:]).encode())
    assert other.returncode == 1
    assert "the first 300 rows are not those that the checkpoint was saved after" in other.stderr
    few = run("train", "-", *options, "--resume", stdin="".join(ROWS[:10]).encode())
    assert "there are 10 rows, and the checkpoint was saved after 300" in few.stderr
    again = run("train", "-", *options, "--resume", "--quiet", stdin="".join(ROWS).encode())
    assert again.returncode == 0, again.stderr
    (tmp_path / "all.svm").write_text("".join(ROWS))
    succeed("train", tmp_path / "all.svm", *how, "--quiet", "--model", tmp_path / "all.sureline")
    assert made.read_bytes() == (tmp_path / "all.sureline").read_bytes()
    assert not checkpoint.exists()


def test_stopped_in_the_middle_of_a_block(tmp_path: Path) -> None:
    """After the first block, and with labels that come late."""
    rows = rows_of(3 * BLOCK // 55)
    rows[-5] = "7 1:1\n"
    size = len("".join(rows).encode())
    assert size > 2 * BLOCK
    made, checkpoint = tmp_path / "m.sureline", tmp_path / "m.sureline.checkpoint"
    options = ["--format", "libsvm", *SCW, "--quiet", "--model", made]
    with Running("train", "-", *options, "--checkpoint", "every=1s") as running:
        running.send("".join(rows[:-3]))
        wait_until(lambda: checkpoint.exists() and examples_in(checkpoint) == len(rows) - 3)
        running.send(rows[-3])
        time.sleep(0.2)
        status, _, err = running.stop()
    assert status == 1
    assert f"stopped after {len(rows) - 2:,} examples" in err
    place = json.loads(succeed("inspect", checkpoint, "--json"))["place"]
    assert place["position"]["rows"] + place["rows_ahead"] == len(rows) - 2
    assert place["position"]["offset"] > BLOCK // 2
    succeed("train", "-", *options, "--resume", stdin="".join(rows).encode())
    (tmp_path / "all.svm").write_text("".join(rows))
    succeed("train", tmp_path / "all.svm", *SCW, "--quiet", "--model", tmp_path / "all.sureline")
    assert made.read_bytes() == (tmp_path / "all.sureline").read_bytes()


def test_the_checkpoint_of_a_pipe_can_be_gone_on_from_with_other_rows(tmp_path: Path) -> None:
    made, checkpoint = tmp_path / "m.sureline", tmp_path / "m.sureline.checkpoint"
    with Running("train", "-", "--format", "libsvm", *SCW, "--model", made, "--checkpoint", "every=1s") as running:
        running.send("".join(ROWS[:300]))
        wait_until(checkpoint.exists)
        running.stop()
    more = "".join(ROWS[300:]).encode()
    succeed("train", "-", "--format", "libsvm", "--from", checkpoint, "--quiet", "--model", made, stdin=more)
    assert examples_in(made) == 600


def test_a_line_that_cannot_be_read_ends_the_training_at_once(tmp_path: Path) -> None:
    with Running("train", "-", "--format", "libsvm", *SCW, "--quiet", "--model", tmp_path / "m.sureline") as running:
        running.send("".join(ROWS[:10]) + "1 x:1\n")
        assert running.process.wait(PATIENCE) == 1
        assert running.process.stderr is not None
        assert b"-:11:" in running.process.stderr.read()


def test_progress_is_told_while_rows_are_waited_for(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with Running(
        "train", "-", "--format", "libsvm", *SCW, "--no-shuffle", "--model", tmp_path / "m", "--log", log
    ) as running:
        running.send("".join(ROWS[:5]))
        wait_until(lambda: log.exists() and '"examples": 5' in log.read_text())
        running.send("".join(ROWS[5:20]))
        wait_until(lambda: '"examples": 20' in log.read_text())
        running.stop()


def test_what_can_be_read_only_once_has_one_pass(tmp_path: Path) -> None:
    done = run("train", "-", *SCW, "--passes", "2", "--model", tmp_path / "m", stdin="".join(ROWS).encode())
    assert done.returncode == 2
    assert "--passes needs files" in done.stderr


# -- files that grow -----------------------------------------------------------------------------------------


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def test_predict_follows_a_file_across_rotation_and_truncation(model: Path, tmp_path: Path) -> None:
    log, expected = tmp_path / "rows.svm", answers(model, ROWS[:6])
    log.write_text(ROWS[0])
    with Running("predict", "--follow", log, "--model", model) as running:
        assert [running.line(), running.line()] == expected[:2]
        append(log, ROWS[1] + ROWS[2][:4])
        assert running.line() == expected[2]
        append(log, ROWS[2][4:])
        assert running.line() == expected[3]
        append(log, ROWS[3].rstrip("\n"))  # nobody ends this line: the next file does
        log.rename(tmp_path / "rows.svm.1")
        log.write_text(ROWS[4])
        assert [running.line(), running.line()] == expected[4:6]
        log.write_text("")
        time.sleep(0.5)
        append(log, ROWS[5])
        assert running.line() == expected[6]
        append(log, "1 1:")  # not a row
        status, out, err = running.stop()
    assert (status, out, err) == (0, "", "")


def test_train_follows_and_ends_with_a_model(tmp_path: Path) -> None:
    """A table whose files repeat the header."""
    rows = [",".join([r.split()[0], *(e.partition(":")[2] for e in r.split()[1:])]) + "\n" for r in ROWS]
    header, log, made = "label,a,b,c,d,e\n", tmp_path / "rows.csv", tmp_path / "m.sureline"
    log.write_text(header + "".join(rows[:200]))
    with Running("train", "--follow", log, *SCW, "--model", made, "--checkpoint", "every=1s") as running:
        wait_until(Path(f"{made}.checkpoint").exists)
        log.rename(tmp_path / "rows.csv.1")
        log.write_text(header)
        append(log, "".join(rows[200:400]))
        wait_until(lambda: examples_in(Path(f"{made}.checkpoint")) == 400)
        status, out, err = running.stop(signal.SIGINT)
    assert status == 0, err
    assert "400 examples" in out
    (tmp_path / "all.csv").write_text(header + "".join(rows[:400]))
    succeed("train", tmp_path / "all.csv", *SCW, "--quiet", "--model", tmp_path / "all.sureline")
    assert made.read_bytes() == (tmp_path / "all.sureline").read_bytes()
    assert not Path(f"{made}.checkpoint").exists()


def test_what_cannot_be_followed(model: Path, tmp_path: Path) -> None:
    assert "Missing" in fail(2, "predict", "--model", model) or "DATA" in fail(2, "predict", "--model", model)
    os.mkfifo(tmp_path / "pipe")
    assert "Only a file can be followed" in fail(2, "predict", "--follow", tmp_path / "pipe", "--model", model)
    (tmp_path / "a.svm.gz").write_bytes(gzip.compress(ROWS[0].encode()))
    said = fail(1, "predict", "--follow", tmp_path / "a.svm.gz", "--model", model)
    assert "it is compressed, and only text can be followed" in said


def follow_headers(tmp_path: Path, second: str) -> Iterator[Any]:
    log = tmp_path / "a.csv"
    log.write_text("label,a\n1,2\n")
    source = stream.read([], follow=log)
    source.rows_at_once = True
    for chunk in source:
        yield chunk.y.tolist()
        log.rename(tmp_path / "b.csv")
        log.write_text(second)
        source.stop_following() if chunk.y.tolist() == [3] else None


def test_another_header_is_refused(tmp_path: Path) -> None:
    assert next(follow_headers(tmp_path, "label,a\n3,4\n")) == [1]
    with pytest.raises(stream.DataError, match=r"a\.csv:1: a new file has taken its place, and its header is another"):
        list(follow_headers(tmp_path, "label,b\n3,4\n"))

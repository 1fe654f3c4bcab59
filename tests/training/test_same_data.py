"""A training goes on only with the data that it was stopped in."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sureline import cli, stream
from sureline.learners.catalogue import LEARNERS
from sureline.stream import DataError, Position
from sureline.training import Training
from sureline.training.checkpoint import Checkpointing

pytestmark = pytest.mark.torture
ROWS = "".join(f"{i % 2} {1 + i % 7}:{1 + i % 13} {8 + i % 5}:1\n" for i in range(6000)).encode()
BLOCK = 1 << 14


class Stop(Exception):
    pass


def training(data: Any, verify: Any = "sample", passes: int = 1, **options: Any) -> Training:
    source = stream.read(data, format="libsvm", **options).with_options(block=BLOCK)
    return Training(LEARNERS["PA"](normalize="none", passes=passes), source, verify=verify)


def stopped(data: Any, place: Path, after: int = 3, **options: Any) -> None:
    """A checkpoint after so many chunks."""
    running = training(data, **options)
    save = running.save_checkpoint
    times = 0

    def counted(path: Path) -> None:
        nonlocal times
        save(path)
        times += 1
        if times == after:
            raise Stop

    running.save_checkpoint = counted  # type: ignore[method-assign]
    with pytest.raises(Stop):
        running.run(checkpointing=Checkpointing(place, examples=1))


def kept_times(path: Path, change: Callable[[], Any]) -> None:
    """Change a file so that the time of its last change stays."""
    before = path.stat()
    change()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def overwrite(path: Path, at: int, new: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(at)
        file.write(new)


def flipped() -> bytes:
    """Labels flipped in the middle: the same size, beginning and end."""
    lines = ROWS.splitlines(keepends=True)
    middle = [b"%d" % (1 - int(line[:1])) + line[1:] for line in lines[2900:3100]]
    return b"".join([*lines[:2900], *middle, *lines[3100:]])


def reordered() -> bytes:
    """The same lines in another order, of which those before the position are others."""
    lines = ROWS.splitlines(keepends=True)
    return b"".join([*lines[:10], *reversed(lines[10:5990]), *lines[5990:]])


CHANGES: dict[str, Callable[[Path], Any]] = {
    "flipped labels": lambda path: path.write_bytes(flipped()),
    "reordered lines": lambda path: path.write_bytes(reordered()),
    "shorter": lambda path: path.write_bytes(ROWS[: len(ROWS) // 2]),
    "longer": lambda path: path.write_bytes(ROWS + ROWS[:1000]),
    "one byte": lambda path: overwrite(path, len(ROWS) // 2, b"9"),
    "touched": lambda path: os.utime(path, ns=(1, 1)),
    "replaced by another": lambda path: (path.with_name("n").write_bytes(flipped()), path.with_name("n").rename(path)),
    "replaced by a copy": lambda path: (shutil.copy2(path, path.with_name("n")), path.with_name("n").rename(path)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed(change: str, tmp_path: Path) -> None:
    data, place = tmp_path / "rows", tmp_path / "c"
    data.write_bytes(ROWS)
    stopped(data, place)
    CHANGES[change](data)
    with pytest.raises(ValueError, match=r"rows is no longer what it was when .*c was saved, so reading cannot go on"):
        training(data).resume(place)


@pytest.mark.parametrize("change", ["flipped labels", "reordered lines", "one byte", "replaced by another"])
def test_everything_is_compared_if_asked_for(change: str, tmp_path: Path) -> None:
    data, place = tmp_path / "rows", tmp_path / "c"
    data.write_bytes(ROWS)
    stopped(data, place, verify="full")
    kept_times(data, lambda: CHANGES[change](data))
    with pytest.raises(ValueError, match="its content is another"):
        training(data, "full").resume(place)


def test_a_copy_passes_if_everything_is_compared(tmp_path: Path) -> None:
    data, place, model = tmp_path / "rows", tmp_path / "c", tmp_path / "m"
    data.write_bytes(ROWS)
    straight = training(data)
    straight.run()
    straight.save_model(model)
    stopped(data, place, verify="full")
    shutil.copy(data, tmp_path / "copy")
    (tmp_path / "copy").rename(data)
    with pytest.raises(ValueError, match="another file has taken its place; --verify full looks at the content alone"):
        training(data).resume(place)
    resumed = training(data, "full")
    resumed.resume(place)
    resumed.run()
    resumed.save_model(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == model.read_bytes()


def test_full_needs_full(tmp_path: Path) -> None:
    data, place = tmp_path / "rows", tmp_path / "c"
    data.write_bytes(ROWS)
    stopped(data, place)
    with pytest.raises(ValueError, match="--verify full needs a checksum of everything"):
        training(data, "full").resume(place)
    with pytest.raises(ValueError, match="verify must be 'sample' or 'full'"):
        training(data, "some")


def test_blocks_all_over_a_file_are_compared(tmp_path: Path) -> None:
    """Even where size, inode and time stay: a change of a tenth of a file is seen wherever it is."""
    data, place = tmp_path / "rows", tmp_path / "c"
    data.write_bytes(ROWS * 10)
    stopped(data, place)
    size = len(ROWS) * 10
    for tenth in range(10):
        whole = data.read_bytes()
        part = slice(size * tenth // 10, size * (tenth + 1) // 10)
        kept_times(data, lambda part=part, whole=whole: overwrite(data, part.start, whole[part].replace(b":1", b":2")))  # type: ignore[misc]
        with pytest.raises(ValueError, match="its content is another"):
            training(data).resume(place)
        kept_times(data, lambda whole=whole: overwrite(data, 0, whole))  # type: ignore[misc]
    training(data).resume(place)


def test_a_later_file_may_change(tmp_path: Path) -> None:
    one, two, place = tmp_path / "1", tmp_path / "2", tmp_path / "c"
    one.write_bytes(ROWS)
    two.write_bytes(ROWS)
    stopped([one, two], place)
    two.write_bytes(ROWS + ROWS)
    resumed = training([one, two])
    resumed.resume(place)
    resumed.run()
    assert resumed.examples == 18_000


def test_a_file_that_changes_between_two_passes(tmp_path: Path) -> None:
    for change in ("flipped labels", "one byte", "longer", "touched", "replaced by a copy"):
        data = tmp_path / change
        data.write_bytes(ROWS)
        running = training(data, passes=2)

        def meanwhile(progress: Any, change: str = change, data: Path = data) -> None:
            if progress.examples == 6000:
                CHANGES[change](data)

        with pytest.raises(DataError, match="the file changed between two passes over it"):
            running.run(on_progress=meanwhile)


@pytest.mark.parametrize("packing", ["plain", "gz", "csv"])
def test_a_position_is_where_a_row_begins(packing: str, tmp_path: Path) -> None:
    text = ROWS
    if packing == "csv":
        text = b"label,a\n" + b"".join(b'%d,"x\ny%d"\n' % (i % 2, i) for i in range(6000))
    path = tmp_path / f"rows.{'csv' if packing == 'csv' else 'svm'}"
    path.write_bytes(gzip.compress(text) if packing == "gz" else text)
    source = stream.read(path).with_options(block=BLOCK)
    ends = [chunk.end for chunk in source]
    assert len(ends) > 3
    end = ends[1]
    assert end.before is not None
    for offset in (end.offset - 1, end.offset + 1, end.offset - 4):
        with pytest.raises(DataError, match=r"no row begins at byte|the text before byte|there are only"):
            next(source.read_from(Position(end.file, offset, end.line, end.rows, end.faults)))
    # Another row's beginning: nothing but the text before it can tell.
    other = Position(0, ends[2].offset, end.line, end.rows, 0, end.before)
    with pytest.raises(DataError, match="the text before byte"):
        next(source.read_from(other))
    if packing == "csv":  # a newline inside quotes
        inside = text.index(b"x\n", end.offset) + 2
        with pytest.raises(DataError, match="no row begins at byte"):
            next(source.read_from(Position(0, inside, end.line, end.rows, 0)))
    assert sum(len(chunk) for chunk in source.read_from(end)) + end.rows == ends[-1].rows
    assert list(source.read_from(ends[-1])) == []


class Stdin:
    def __init__(self, data: bytes) -> None:
        self.buffer = io.BytesIO(data)


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_standard_input_is_compared(pack: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, model = tmp_path / "c", tmp_path / "m"

    def given(data: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", Stdin(pack(data)))

    given(ROWS)
    straight = training("-")
    straight.run()
    straight.save_model(model)
    given(ROWS)
    stopped("-", place)
    given(ROWS)
    resumed = training("-")
    resumed.resume(place)
    at = resumed.position.offset
    assert 0 < at < len(ROWS)
    resumed.run()
    resumed.save_model(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == model.read_bytes()
    early = at // 3
    for other in (ROWS[:early] + b"9" + ROWS[early + 1 :], flipped()[-at:] + ROWS[at:], ROWS[: at // 2]):
        given(other)
        resumed = training("-")
        resumed.resume(place)
        with pytest.raises(DataError, match=r"-: the text before byte|-: there are only"):
            resumed.run()
    given(ROWS[:at] + ROWS[:at])  # what comes later may be anything
    resumed = training("-")
    resumed.resume(place)
    resumed.run()


def test_an_older_checkpoint_is_left(tmp_path: Path, capsys: Any) -> None:
    data, model, place = tmp_path / "rows.svm", tmp_path / "m", tmp_path / "m.checkpoint"
    data.write_bytes(ROWS)
    stopped(data, place)
    old = place.read_bytes()
    arguments = ["train", str(data), "--algorithm", "pa", "--C", "2", "--model", str(model)]
    assert cli.run(arguments) == 0
    assert f"{place} of an earlier training is left" in capsys.readouterr().err
    assert place.read_bytes() == old
    assert cli.run([*arguments, "--checkpoint", "every=1000", "--quiet"]) == 0
    assert not place.exists()


@pytest.mark.parametrize("whole", [False, True])
def test_python_leaves_it_too(whole: bool, tmp_path: Path) -> None:
    import sureline

    data, place = tmp_path / "rows.svm", tmp_path / "c"
    data.write_bytes(ROWS)
    stopped(data, place)
    options = {"resume": True, "algorithm": "pa", "normalize": "none", "dtype": "float64"} if whole else {}
    sureline.train(data, checkpoint=place, **options)
    assert place.exists() != whole

"""Parts of files that are read piece by piece while they are parsed: the same rows as from the text as a whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from libsvm import same

from sureline import stream
from sureline._native import _core

PIECE = 256 << 10  # of core/text/pieces.hpp


def libsvm_lines(rng: np.random.Generator, n: int, longest: int) -> list[bytes]:
    labels = [b"-1", b"+1", b"3.5", b"a-label-of-some-length", b"1e-3", b"-1 # a remark", b"2 qid:7"]
    lines = []
    for _ in range(n):
        columns = np.unique(rng.integers(0, 1_000_000, rng.integers(0, longest)))
        values = [(b"1", b"0.25", b"-1.234567", b"3e-9")[k] for k in rng.integers(0, 4, len(columns))]
        pairs = b"".join(b" %d:%s" % pair for pair in zip(columns.tolist(), values, strict=True))
        label = labels[rng.integers(len(labels))]
        mark = label.find(b" #")
        lines.append(label + pairs if mark < 0 else label[:mark] + pairs + label[mark:])
    return lines


def vw_lines(rng: np.random.Generator, n: int, longest: int) -> list[bytes]:
    labels = [b"1 |", b"-1 2.5 'tag|", b"| ", b"3 |space "]
    return [
        labels[rng.integers(len(labels))] + b"".join(b" w%d:%g" % (w, x) for w, x in rng.random((k, 2)) * [9999, 3])
        for k in rng.integers(0, longest, n)
    ]


@cache
def texts() -> list[tuple[str, bytes]]:
    return list(made_texts())


def made_texts() -> Iterator[tuple[str, bytes]]:
    rng = np.random.default_rng(0)
    for format, lines_of in (("libsvm", libsvm_lines), ("vw", vw_lines)):
        many = lines_of(rng, 4000, 60)
        yield format, b"\n".join(many) + b"\n"  # several pieces
        yield format, b"\r\n".join(many)  # no newline at the end
        yield format, b"\xef\xbb\xbf" + b"\n".join(many[:5])
        yield format, b"\n".join([*many[:900], *lines_of(rng, 3, 60_000), *many[900:]])  # lines longer than a piece
        yield format, b"\n" * (PIECE + 17) + many[0]
        yield format, b"".join(line + b"\n" for line in many)[:PIECE]  # cut anywhere
        yield format, b"#" * (3 * PIECE) + b"\n" if format == "libsvm" else b"| " + b"a" * (3 * PIECE) + b"\n"
        yield format, many[0]
        yield format, b""
        broken = list(many)
        for at in range(0, len(broken), 50):
            broken[at] = b"1 x" if format == "libsvm" else b"1 no bar"
        yield format, b"\n".join(broken)


WHOLE: dict[str, Callable[..., Any]] = {"libsvm": _core.parse_libsvm, "vw": _core.parse_vw}
PART: dict[str, Callable[..., Any]] = {"libsvm": _core.parse_libsvm_file, "vw": _core.parse_vw_file}
HOW: dict[str, dict[str, Any]] = {"libsvm": {}, "vw": {"bits": 18, "collect_names": 1}}


@pytest.mark.parametrize("case", range(20))
@pytest.mark.parametrize("wait", [True, False])
def test_pieces_of_a_file_are_the_whole(case: int, wait: bool, tmp_path: Path) -> None:
    format, text = texts()[case]
    before, after = b"no row: \xff\n" * 3, b"nor this\n"
    path = tmp_path / "data"
    path.write_bytes(before + text + after)
    for skip in (True, False):
        how = {**HOW[format], "dtype": _core.Scalar.float32, "skip_faults": skip, "first_block": True}
        whole = WHOLE[format](text, **how)
        with path.open("rb") as file:
            file.read()  # it is in the system's memory
            part = PART[format](file.fileno(), len(before), len(before) + len(text), wait, **how)
        if part is None:
            assert not wait
            pytest.skip("this file system does not say what it has in memory")
        assert same(part, whole)
        for name in ("n_rows", "n_columns", "n_lines", "n_faults", "faults", "tags"):
            assert getattr(part, name) == getattr(whole, name), name
        assert (part.weights is None) == (whole.weights is None)
        assert part.weights is None or part.weights.tobytes() == whole.weights.tobytes()
        if format == "vw":
            assert part.names.to_arrays().keys() == whole.names.to_arrays().keys()
            for one, other in zip(part.names.to_arrays().values(), whole.names.to_arrays().values(), strict=True):
                assert one.tobytes() == other.tobytes()
        assert whole.n_rows > 0 or case % 10 in (6, 8) or whole.n_faults > 0


@pytest.mark.parametrize("format", ["libsvm", "vw"])
def test_what_cannot_be_read_is_none(format: str, tmp_path: Path) -> None:
    text = b"1 1:1\n" if format == "libsvm" else b"1 | a\n"
    path = tmp_path / "data"
    path.write_bytes(text * 10)
    how = {**HOW[format], "dtype": _core.Scalar.float64}
    with path.open("rb") as file:
        number = file.fileno()
        assert PART[format](number, 0, 10 * len(text), True, **how).n_rows == 10
        assert PART[format](number, 0, 11 * len(text), True, **how) is None  # there is less
        for start, end in ((-1, 5), (5, 4), (0, 1 << 31)):
            with pytest.raises(ValueError, match="from start to end"):
                PART[format](number, start, end, True, **how)
    assert PART[format](number, 0, 6, True, **how) is None  # it is closed
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert PART[format](folder, 0, 6, True, **how) is None
    finally:
        os.close(folder)


def test_a_stream_reads_files_straight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault is reported with the same text as from a pipe."""
    lines = libsvm_lines(np.random.default_rng(1), 3000, 60)
    path = tmp_path / "rows.svm"
    path.write_bytes(b"\n".join(lines))
    calls = []
    straight = _core.parse_libsvm_file

    def counted(*arguments: Any, **options: Any) -> Any:
        calls.append(straight(*arguments, **options))
        return calls[-1]

    monkeypatch.setattr(_core, "parse_libsvm_file", counted)
    text = _core.parse_libsvm(path.read_bytes(), _core.Scalar.float64)
    chunks = list(stream.read(path))
    assert calls
    assert sum(chunk.n_rows for chunk in chunks) == text.n_rows
    assert b"".join(np.asarray(chunk.values, np.float64).tobytes() for chunk in chunks) == text.values.tobytes()
    lines[1234] = b"1 7:1 7:2"
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(stream.DataError, match=r"rows\.svm:1235:7: the index 7 comes twice"):
        list(stream.read(path))

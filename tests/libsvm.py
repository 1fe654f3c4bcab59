"""Helpers for the tests of LIBSVM text."""

from itertools import pairwise

from sureline._native import _core


def parse(text, dtype: str = "float64", **options) -> _core.Chunk:
    return _core.parse_libsvm(text, _core.Scalar[dtype], **options)


def rows_of(chunk: _core.Chunk) -> list[tuple[bytes, dict[int, float]]]:
    """Label and pairs of each row."""
    pairs = list(zip(chunk.indices.tolist(), chunk.values.tolist(), strict=True))
    rows = [pairs[begin:end] for begin, end in pairwise(chunk.indptr.tolist())]
    assert rows == [sorted(row) for row in rows]
    names = chunk.label_names
    return [(names[code], dict(row)) for code, row in zip(chunk.labels.tolist(), rows, strict=True)]


def same(a: _core.Chunk, b: _core.Chunk) -> bool:
    """True if all bits of the rows are equal."""
    return a.label_names == b.label_names and all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in ("values", "indices", "indptr", "labels")
    )

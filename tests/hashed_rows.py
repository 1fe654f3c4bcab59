"""Rows of named features as the core hashes them: what scikit-learn's FeatureHasher makes of dicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sureline._native import _core
from sureline.stream.schema import Schema

Row = dict[str, float | str]
NO_COLUMNS = Schema(()).table


def hashed(rows: Sequence[Row], bits: int, dtype: str = "float64", **options: Any) -> _core.HashedChunk:
    """A chunk with these rows, all readable."""
    chunk, wrong = _core.encode_rows(NO_COLUMNS, list(rows), True, _core.Scalar[dtype], bits, **options)
    assert not any(wrong), chunk.faults
    return chunk


def names_of(rows: Sequence[Row | Sequence[str]], bits: int = 20) -> _core.NameTable:
    """The table of the names in rows; words are features of 1, each as often as it comes."""
    apart: list[Row] = []
    for row in rows:
        apart += [row] if isinstance(row, dict) else [{word: 1.0} for word in row]
    names = hashed(apart, bits, "float32", collect_names=1).names
    assert names is not None
    return names

"""Checks that every kind of state needs when it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..._inputs import Array
from ..numbers import Policy
from .errors import Refusal

MOST_COLUMNS = 1 << 31
MOST_ROUNDS = 1 << 53  # up to here a float counts
_BLOCK = 1 << 16


class Common(NamedTuple):
    """The words that describe every state, checked."""

    n_columns: int
    n_heads: int
    intercept: bool
    policy: Policy
    dtype: np.dtype[Any]
    tally: Array


def integer(value: Any, what: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Refusal(f"{what} is not an integer from {least} to {most}")
    return value


def take_tensor(tensors: dict[str, Array], name: str, dtype: Any, shape: tuple[int, ...] | None = None) -> Array:
    """Remove and return the tensor of that name."""
    array = tensors.pop(name, None)
    if array is None or array.dtype != dtype or shape not in (None, array.shape):
        raise Refusal(f"the tensor {name} is missing, or its type or shape does not fit the others")
    return array


def everywhere(check: Callable[[Array], Array], numbers: Array, overlap: int = 0) -> bool:
    """True if the check holds everywhere, with no array as large as the numbers. Blocks may overlap."""
    return all(bool(check(numbers[i : i + _BLOCK + overlap]).all()) for i in range(0, len(numbers), _BLOCK))


def index_dtype(n_places: int) -> np.dtype[Any]:
    """The dtype of positions in an array of that size."""
    return np.dtype(np.uint32 if n_places <= 1 << 32 else np.int64)


def increasing(places: Array, n_places: int) -> bool:
    """True if positions ascend strictly and are in range."""
    return everywhere(lambda block: block[1:] > block[:-1], places, overlap=1) and (
        len(places) == 0 or 0 <= int(places[0]) <= int(places[-1]) < n_places
    )


def sparse_rows_fit(values: Array, columns: Array, starts: Array, n_columns: int) -> bool:
    """True if these are rows in compressed form, finite, with columns that ascend in each."""
    fits = values.ndim == columns.ndim == starts.ndim == 1 and len(starts) > 0 and values.shape == columns.shape
    if not fits or int(starts[0]) != 0 or int(starts[-1]) != len(values) or (np.diff(starts) < 0).any():
        return False
    inside = np.ones(max(len(columns) - 1, 0), bool)  # where the next column is of the same row
    ends = starts[1:-1]
    inside[ends[(ends > 0) & (ends < len(columns))] - 1] = False
    return (
        everywhere(np.isfinite, values)
        and everywhere(lambda block: (block >= 0) & (block < n_columns), columns)
        and bool((np.diff(columns) > 0)[inside].all())
    )

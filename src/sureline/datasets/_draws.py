"""Helpers of the generators: checks of their arguments, and random choices without repetition."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_random_state


def check_fraction(name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1. Got {value!r} instead.")


def check_size(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}. Got {value!r} instead.")


def check_half(name: str, value: int, n_features: int) -> None:
    if value > n_features // 2:
        raise ValueError(f"{name} must be at most half of n_features={n_features}. Got {value} instead.")


def check_dtype(dtype: Any) -> None:
    if dtype not in ("float32", "float64"):
        raise ValueError(f"dtype must be 'float32' or 'float64'. Got {dtype!r} instead.")


def flip(rng: Any, y: npt.NDArray[np.int64], noise: float) -> npt.NDArray[np.int64]:
    """Flip exactly the share `noise` of the labels, 0 and 1."""
    flipped = rng.permutation(len(y))[: round(float(noise) * len(y))]
    y[flipped] = 1 - y[flipped]
    return y


def csr_of_equal_rows(values: npt.NDArray[Any], indices: npt.NDArray[np.int32], n_features: int) -> Any:
    """A CSR matrix of rows with equally many entries."""
    n_samples, n_nonzero = values.shape
    indptr = np.arange(n_samples + 1, dtype=np.int32 if values.size < 2**31 else np.int64) * n_nonzero
    return sparse.csr_matrix((values.ravel(), indices.ravel(), indptr), shape=(n_samples, n_features))


def generator(random_state: Any) -> np.random.Generator:
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def distinct_ranks(rng: np.random.Generator, n_rows: int, n_ranks: int, n_distinct: int) -> npt.NDArray[np.int32]:
    """Draw distinct ranks for each row, rank k with a probability near 1/k."""
    # n^U is at most k with probability log k / log n.
    return _distinct(rng, n_rows, n_distinct, lambda shape: (n_ranks ** rng.random(shape)).astype(np.int32) - 1)


def distinct_columns(rng: np.random.Generator, n_rows: int, n_columns: int, n_distinct: int) -> npt.NDArray[np.int32]:
    """Draw distinct columns for each row, all equally likely."""
    if n_distinct == 0:
        return np.empty((n_rows, 0), np.int32)
    if n_columns <= 8 * n_distinct:
        columns = np.tile(np.arange(n_columns, dtype=np.int32), (n_rows, 1))
        return rng.permuted(columns, axis=1)[:, :n_distinct]
    return _distinct(rng, n_rows, n_distinct, lambda shape: rng.integers(n_columns, size=shape, dtype=np.int32))


def _distinct(
    rng: np.random.Generator, n_rows: int, n_distinct: int, draw: Callable[[tuple[int, int]], npt.NDArray[np.int32]]
) -> npt.NDArray[np.int32]:
    """Draw distinct numbers for each row; `draw` is called until there are enough."""
    chosen = np.empty((n_rows, n_distinct), np.int32)
    waiting = np.arange(n_rows)
    draws = 2 * n_distinct
    while len(waiting):
        drawn = np.sort(draw((len(waiting), draws)), axis=1)  # brings equal ones together
        first = np.ones(drawn.shape, bool)
        first[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
        enough = first.sum(axis=1) >= n_distinct
        # A random choice among the distinct numbers: those with the smallest keys.
        keys = np.where(first, rng.random(drawn.shape), 2.0)[enough]
        picks = np.argpartition(keys, n_distinct - 1, axis=1)[:, :n_distinct]
        chosen[waiting[enough]] = np.take_along_axis(drawn[enough], picks, axis=1)
        waiting = waiting[~enough]
        draws *= 2
    return chosen

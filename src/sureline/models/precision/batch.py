"""The precision of a Gaussian over weights, batch by batch: P = I + sum of C_i x_i x_i', and steps along P^-1 x.

Only inner products x'P^-1 x enter the algorithm, so any factor of P will do. There are two forms, one for each side of
eq. 6 of the paper: a triangular factor of P, in triangle.py, and for few rows of many columns the rows themselves, in
span.py. All matrices here include the intercept, if there is one, as a last column of ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._inputs import Array, Floats, Ints, Labels, is_sparse
from ..._system import usable_memory
from ..numbers import Policy

if TYPE_CHECKING:
    from .triangle import Triangle

BLOCK_BYTES = 4 << 20  # of whitened rows that are worked on at a time
TOO_LARGE = (
    "C times the squared length of the rows is too large for float64; scale X so that its values are of the order of "
    "1, and keep C moderate."
)


@dataclass(frozen=True)
class Steps:
    """The step of each row of a batch, alpha y S x."""

    moves: Floats  # alpha y, of shape (rows, heads)
    squares: Floats  # x'Sx

    @classmethod
    def of_batch(cls, n_rows: int, n_heads: int) -> Steps:
        """Steps for rows still to come."""
        return cls(np.zeros((n_rows, n_heads)), np.zeros(n_rows))

    def of(self, rows: slice) -> tuple[Floats, Floats]:
        """Views of the steps of some rows, to be filled in."""
        return self.moves[rows], self.squares[rows]


@dataclass(frozen=True)
class Batch:
    """Rows with their weights."""

    X: Any  # an array or CSR
    labels: Labels
    C: Floats  # of each row
    intercept: bool
    dtype: np.dtype[Any]  # of the matrix products
    same_C: bool = False

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_slots(self) -> int:
        return int(self.X.shape[1]) + self.intercept

    @property
    def plain(self) -> bool:
        """True if the rows can be worked with where they are: dense, and all of the same C."""
        return not is_sparse(self.X) and self.same_C

    def blocks(self, dtype: Any, size: int | None = None) -> Iterator[tuple[slice, Array]]:
        """Dense blocks of rows in C order, which the caller may overwrite. They share one buffer."""
        size = size or max(64, min(BLOCK_BYTES // (self.n_slots * np.dtype(dtype).itemsize), self.n_rows))
        memory = np.empty((min(size, self.n_rows), self.n_slots), dtype)
        for start in range(0, self.n_rows, size):
            rows = slice(start, min(start + size, self.n_rows))
            block = memory[: rows.stop - start]
            fill(block, self.X[rows], self.intercept)
            yield rows, block


def fill(block: Array, X: Any, intercept: bool) -> None:
    """Write the rows of X into a dense block, with a column of ones for the intercept."""
    at = block
    if intercept:
        block[:, -1] = 1
        at = block[:, :-1]
    if is_sparse(X):
        at[:] = 0
        row_of = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        at[row_of, X.indices] = X.data
    else:
        np.copyto(at, X, casting="same_kind")


def refuse_too_wide(n_slots: int) -> None:
    """Raise ValueError if a matrix of that size, and a work copy, exceed the machine's memory."""
    _refuse_bytes(2 * 8 * n_slots**2, f"the precision of all pairs of features: {n_slots} of them need")


def refuse_too_many_weights(n_columns: int, n_heads: int) -> None:
    """Raise ValueError if the weights before and after a batch exceed the machine's memory."""
    _refuse_bytes(bytes_of_weights(n_columns, n_heads), f"the weights of all features: {n_columns} of them need")


def bytes_of_weights(n_slots: int, n_heads: int) -> int:
    return 4 * 8 * n_slots * n_heads  # before the batch, after it, and the sum of its steps


def _refuse_bytes(need: int, what: str) -> None:
    there = usable_memory()
    if there is not None and need > there:
        raise ValueError(
            f"BCW keeps {what} {need / 2**30:.0f} GiB, more than this machine has. SBCW selects a few hundred features "
            "and keeps theirs."
        )


class Precision(ABC):
    """P in some form. Immutable: a batch makes a new one."""

    @property
    @abstractmethod
    def n_slots(self) -> int: ...

    @property
    @abstractmethod
    def nbytes(self) -> int: ...

    @abstractmethod
    def grown(self, at: int, more: int) -> Precision:
        """P with more slots from `at` on, each with the initial precision 1."""

    @abstractmethod
    def absorbed(self, batch: Batch) -> Precision:
        """P + sum of C_i x_i x_i'."""

    @abstractmethod
    def pass_over(self, mu: Floats, batch: Batch, q: int, policy: Policy, tally: Ints, steps: Steps) -> Floats:
        """The inner loop of Algorithm 1 for a batch that was just absorbed: from mu to the new mu.

        Counts in the tally, and fills in the steps.
        """

    @abstractmethod
    def times(self, V: Floats) -> Floats:
        """P V."""

    @abstractmethod
    def solve(self, V: Floats) -> Floats:
        """P^-1 V."""

    @abstractmethod
    def triangle(self) -> Triangle:
        """The same precision as a triangular factor."""

    @abstractmethod
    def variances(self, X: Any, intercept: bool, dtype: Any) -> Floats:
        """x'P^-1 x of every row."""

    @abstractmethod
    def covariance(self) -> Floats:
        """P^-1."""

    @abstractmethod
    def variance_of(self, slots: Ints) -> Floats:
        """Diagonal entries of P^-1."""

"""The rows of a batch for a device: on it already, or in the memory of the host, from where they cross in parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._inputs import Array, is_sparse
from ..numbers import Shape
from ..precision.batch import fill
from ..rows import as_rows
from ..state import State
from .space import ROWS, Space

_PART_BYTES = 1 << 26  # that cross at a time
_SPARE = 2  # times their bytes must be free for rows to stay


class DeviceRows:
    """Rows that are on the device."""

    def __init__(self, space: Space, X: Any) -> None:
        self.space = space
        self.X = X

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of computations: that of the rows, or float64 if the core does not support it."""
        own = np.dtype(self.X.dtype)
        return own if own in (np.float32, np.float64) else np.dtype(np.float64)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Array) -> DeviceRows:
        """Some rows, by a mask or by their numbers in any order."""
        with self.space.here():
            return DeviceRows(self.space, self.X[self.space.array(rows)])

    def parts(self, size: int) -> Iterator[tuple[slice, Any]]:
        """The rows in order and in `dtype`, `size` rows at a time, on the device."""
        for start in range(0, len(self), size):
            at = slice(start, min(start + size, len(self)))
            yield at, self.X[at].astype(self.dtype, copy=False)

    def some(self, rows: Array) -> Any:
        """A few rows by their numbers, on the device."""
        return self.X[self.space.array(rows)].astype(self.dtype, copy=False)

    def to_host(self) -> Any:
        return self.space.on_host(self.X).astype(self.dtype, copy=False)

    def refuse(self) -> None:
        """Raise ValueError for the first value that is not finite."""
        for at, part in self.parts(1 << 14):
            finite = self.space.on_host(self.space.xp.isfinite(part).all(axis=1))
            if not finite.all():
                row = int(np.argmin(finite))
                refuse_row(self.space.on_host(part[row]), at.start + row)


class HostRows(DeviceRows):
    """Rows of the host, an array or CSR with ascending columns, sent in parts while others are used.

    They stay on the device if there is room, as they are needed more than once.
    """

    def __init__(self, space: Space, X: Any) -> None:
        super().__init__(space, X)
        if is_sparse(X) and X.nnz == X.shape[0] * X.shape[1]:  # no zeros were left out of it
            self.X = np.ascontiguousarray(X.data).reshape(X.shape)
        self._kept: Any = None

    def __getitem__(self, rows: Array) -> DeviceRows:
        return HostRows(self.space, self.X[rows])

    def parts(self, size: int) -> Iterator[tuple[slice, Any]]:
        if self._kept is not None:
            yield from DeviceRows(self.space, self._kept).parts(size)
            return
        n, d = self.shape
        row_bytes = max(d * self.dtype.itemsize, 1)
        keep = self.space.xp.empty((n, d), self.dtype) if self.space.has_room(_SPARE * row_bytes * n) else None
        at_once = max(_PART_BYTES // row_bytes // ROWS, 1) * ROWS
        for start, part in self.space.crossing(n, min(size, at_once), d, self.dtype, self._fill, keep):
            yield slice(start, start + len(part)), part
        self._kept = keep

    def _fill(self, out: Array, start: int) -> None:
        """Write the rows from `start` on where they cross from."""
        fill(out, self.X[start : start + len(out)], False)

    def some(self, rows: Array) -> Any:
        out = np.empty((len(rows), self.shape[1]), self.dtype)
        fill(out, self.X[rows], False)
        return self.space.array(out)

    def to_host(self) -> Any:
        return self.X


def refuse_row(values: Array, row: int) -> None:
    """Raise the core's ValueError for a row with these values."""
    from scipy.sparse import csr_matrix

    columns = np.flatnonzero(values != 0)
    starts = np.zeros(row + 2, np.int64)
    starts[-1] = len(columns)
    X = csr_matrix((values[columns], columns, starts), shape=(row + 1, len(values)))
    State(Shape.identity, X.dtype, X.shape[1], False).scores(as_rows(X, X.dtype))


@dataclass
class Measured:
    """Rows on a common measure: each column divided by a scale, or each row by its length; with their intercept."""

    rows: DeviceRows
    n_slots: int  # of the model; the last is the intercept's, if there is one
    intercept: bool
    scales: Any = None  # of the columns, on the device; 0 is that of the value itself
    by_length: bool = False

    @property
    def space(self) -> Space:
        return self.rows.space

    @property
    def width(self) -> int:
        return self.space.width(self.n_slots)

    def __len__(self) -> int:
        return len(self.rows)

    def blocks(self, dtype: np.dtype[Any], roots: Any = None) -> Iterator[tuple[slice, Any]]:
        """The rows as they are multiplied, a chunk at a time and in that dtype; each times its root."""
        for at, part in self.rows.parts(self.space.chunk_rows(self.width)):
            yield at, self.prepared(part, dtype, None if roots is None else roots[at])

    def prepared(self, part: Any, dtype: np.dtype[Any], roots: Any = None) -> Any:
        slot = self.n_slots - 1 if self.intercept else -1
        lengths = self.lengths(part) if self.by_length else None
        return self.space.prepared(part, self.scales, lengths, roots, slot, self.width, dtype)

    def lengths(self, part: Any) -> Any:
        """Lengths of rows; 1 for rows of zeros."""
        xp = self.space.xp
        values = part.astype(np.float64)
        squares = (values * values).sum(axis=1)
        if not bool(((squares > 1e-280) & (squares < 1e280)).all()):  # digits may be lost, or all
            largest = xp.abs(values).max(axis=1)
            largest = xp.where(largest > 0, largest, 1.0)
            inner = values / largest[:, np.newaxis]
            return xp.where(squares > 0, xp.sqrt((inner * inner).sum(axis=1)), 1.0) * largest
        return xp.sqrt(squares)

"""Arrays that grow at their end, shared by a model and its successors.

Appended numbers lie beyond the end that an older model knows. If both models append, the second one makes a copy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._inputs import Array, Floats

PANEL = 128  # rows


class Tail:
    """An array with spare room at its end, which doubles when it is used up."""

    def __init__(self, array: Array) -> None:
        self._buffer = array
        self._used = len(array)

    def first(self, n: int) -> Array:
        return self._buffer[:n]

    def appended(self, n: int, more: Array) -> Tail:
        """A copy of the view with `more` after its first n entries."""
        tail, end = self, n + len(more)
        if self._used != n or end > len(self._buffer):
            room = max(end, 2 * n, 32) if end > len(self._buffer) else len(self._buffer)
            tail = Tail(np.empty((room, *self._buffer.shape[1:]), self._buffer.dtype))
            tail._buffer[:n] = self._buffer[:n]
        tail._buffer[n:end] = more
        tail._used = end
        return tail


class Cholesky:
    """L of a positive definite A = L L', in panels of rows: the part left of the diagonal block, and the block.

    Appending a row takes time proportional to its length: panels are never moved.
    """

    def __init__(self) -> None:
        self._left: list[Floats] = []
        self._block: list[Floats] = []
        self._used = 0

    def appended(self, n: int, row: Floats, d: float) -> Cholesky:
        """With a row after the first n: its part left of the diagonal, and its diagonal entry."""
        k, i = divmod(n, PANEL)
        factor = self
        if self._used != n:
            factor = Cholesky()
            factor._left, factor._block = self._left[: k + 1], self._block[: k + 1]
            if i:
                factor._left[k], factor._block[k] = self._left[k].copy(), self._block[k].copy()
            else:
                del factor._left[k:], factor._block[k:]
        if i == 0:
            try:
                left = np.empty((PANEL, n))
            except MemoryError:
                raise MemoryError(f"there is no room for the covariance of {n} stored examples") from None
            factor._left.append(left)
            factor._block.append(np.eye(PANEL))
        factor._left[k][i] = row[: k * PANEL]
        factor._block[k][i, :i] = row[k * PANEL :]
        factor._block[k][i, i] = d
        factor._used = n + 1
        return factor

    def solve(self, B: Floats, n: int) -> Floats:
        """L^-1 B for the first n rows of L."""
        from scipy.linalg.blas import dtrsm

        out = np.zeros((-(-n // PANEL) * PANEL, B.shape[1]))
        out[:n] = B
        for k, start in enumerate(range(0, n, PANEL)):
            stop = min(start + PANEL, n)
            if k:
                out[start:stop] -= self._left[k][: stop - start] @ out[:start]
            # In place: transposes are in Fortran's order. Rows of others solve for zeros.
            dtrsm(1.0, self._block[k].T, out[start : start + PANEL].T, side=1, overwrite_b=1)
            out[stop : start + PANEL] = 0
        return out[:n]

    def solve_transposed(self, z: Floats) -> Floats:
        """L^-T z, for as many rows of L as z has."""
        from scipy.linalg.blas import dtrsm

        n = len(z)
        out = np.zeros((-(-n // PANEL) * PANEL, 1))
        out[:n, 0] = z
        for k in reversed(range(len(out) // PANEL)):
            start, stop = k * PANEL, min((k + 1) * PANEL, n)
            block = self._block[k].T
            if stop < start + PANEL:  # without rows of others, which come first here
                block = np.asfortranarray(block[: stop - start, : stop - start])
            out[start:stop] = dtrsm(1.0, block, out[start:stop])
            if k:
                out[:start] -= self._left[k][: stop - start].T @ out[start:stop]
        return out[:n, 0].copy()

    def rows(self, n: int) -> Floats:
        """The first n rows in sequence, each up to its diagonal."""
        packed = np.empty(n * (n + 1) // 2)
        for t in range(n):
            k, i = divmod(t, PANEL)
            at = t * (t + 1) // 2
            packed[at : at + k * PANEL] = self._left[k][i]
            packed[at + k * PANEL : at + t + 1] = self._block[k][i, : i + 1]
        return packed

    @classmethod
    def of_rows(cls, packed: Floats, n: int) -> Cholesky:
        """Rebuild a factor from the output of `rows`."""
        factor = cls()
        for t in range(n):
            row = packed[t * (t + 1) // 2 : (t + 1) * (t + 2) // 2]
            factor = factor.appended(t, row[:-1], float(row[-1]))
        return factor

    def __getstate__(self) -> Any:
        return {"rows": self.rows(self._used), "n": self._used}

    def __setstate__(self, state: Any) -> None:
        self.__dict__ = self.of_rows(state["rows"], state["n"]).__dict__

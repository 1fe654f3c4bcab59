"""Which of its memory a wide model has touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .._native import _core

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]


class Touched:
    """Which rows of `numbers` are not all zero bits. No list of them is made: only one of the groups that have some.

    A group is much smaller than a page: of columns far apart each has a page of its own, empty but for that. The core
    finds the groups: it asks the system which pages were written, where NumPy would have each of them made to look at
    it.
    """

    _NUMBERS_IN_GROUP = 1 << 6
    _NUMBERS_AT_ONCE = 1 << 17

    def __init__(self, numbers: Array) -> None:
        bits = numbers.reshape(len(numbers), -1).view(f"u{numbers.dtype.itemsize}")
        width = bits.shape[1]
        self._size = max(1, self._NUMBERS_IN_GROUP // width)  # rows of a group
        whole = len(bits) // self._size
        self._bits = bits[: whole * self._size].reshape(whole, self._size, width)
        self._rest = bits[whole * self._size :]
        self._groups = _core.nonzero_groups(numbers.reshape(-1)[: self._bits.size], self._size * width)

    def count(self) -> int:
        return sum(map(len, self.rows()))

    def rows(self) -> Iterator[Rows]:
        """The rows, ascending, some at a time."""
        n = max(1, self._NUMBERS_AT_ONCE // (self._size * self._bits.shape[2]))
        for start in range(0, len(self._groups), n):
            groups = self._groups[start : start + n]
            rows = _nonzero_rows(self._bits[groups].reshape(-1, self._bits.shape[2]))
            yield groups[rows // self._size] * self._size + rows % self._size
        rows = _nonzero_rows(self._rest)
        if len(rows) > 0:
            yield rows + len(self._bits) * self._size

    def pieces(self, of: Callable[[Rows], Array]) -> Iterator[Array]:
        """of(the next of these rows), again and again."""
        return map(of, self.rows())


def _nonzero_rows(bits: Array) -> Rows:
    if bits.shape[1] > 8:
        return np.flatnonzero(bits.any(axis=1))
    any_bit = bits[:, 0] != 0
    for k in range(1, bits.shape[1]):  # several times as fast
        any_bit |= bits[:, k] != 0
    return np.flatnonzero(any_bit)

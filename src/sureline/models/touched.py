"""Finds the parts of a wide model's memory that were written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from .._inputs import Array, Ints
from .._native import _core


class Touched:
    """Which rows of `numbers` are not all zero bits.

    Only groups of rows are listed, not single rows. A group is much smaller than a page, since columns far apart have
    a nearly empty page each. The core asks the system which pages were written; NumPy would allocate each page to look
    at it.
    """

    _NUMBERS_IN_GROUP = 1 << 6
    _NUMBERS_AT_ONCE = 1 << 17

    def __init__(self, numbers: Array) -> None:
        self._width = math.prod(numbers.shape[1:])
        self._size = max(1, self._NUMBERS_IN_GROUP // self._width)  # rows of a group
        self._whole = len(numbers) // self._size  # groups
        flat = numbers.reshape(-1)
        self._numbers = flat[: self._whole * self._size * self._width]
        self._rest = flat[len(self._numbers) :]
        self._groups = _core.nonzero_groups(self._numbers, self._size * self._width)

    def count(self) -> int:
        return sum(map(len, self.rows()))

    def rows(self) -> Iterator[Ints]:
        """The rows, ascending, some at a time."""
        n = max(1, self._NUMBERS_AT_ONCE // (self._size * self._width))
        for start in range(0, len(self._groups), n):
            yield _core.nonzero_rows(self._numbers, self._groups[start : start + n], self._size, self._width)
        if len(self._rest) > 0:
            rows = _core.nonzero_rows(self._rest, np.arange(len(self._rest) // self._width), 1, self._width)
            if len(rows) > 0:
                yield rows + self._whole * self._size

    def pieces(self, of: Callable[[Ints], Array]) -> Iterator[Array]:
        """Yield of(next rows) for all rows."""
        return map(of, self.rows())

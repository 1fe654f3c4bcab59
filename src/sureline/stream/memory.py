"""The memory that a pass over a stream may take, with all that is done meanwhile."""

from __future__ import annotations

import numpy as np

from .._system import resident_memory
from .chunk import Chunk

_SLOT = 16  # bytes of a model of two classes for a column: a weight and a variance
_PAGE = 4096


class MemoryLimit:
    """Ends a pass if the process takes more memory, since it began, than it may; None is no limit.

    A model takes the pages of memory that its columns lie in, and a chunk may have a page for each of its entries. So
    where there are many columns, the new pages of a chunk are counted before it is handed over.
    """

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._before = resident_memory() or 0
        self._seen = np.zeros(0, bool)  # pages of a model that rows have had

    def check(self) -> None:
        """Raise MemoryError if there is too much."""
        if self._limit is not None:
            self._refuse(self._taken())

    def foresee(self, chunk: Chunk) -> None:
        """Raise MemoryError if a model of two classes that learns from the chunk would take too much."""
        if self._limit is None or chunk.n_columns * _SLOT < self._limit // 4:
            return
        pages = chunk.indices // (_PAGE // _SLOT)
        if chunk.n_columns * _SLOT // _PAGE >= len(self._seen):
            self._seen = np.pad(self._seen, (0, chunk.n_columns * _SLOT // _PAGE + 1 - len(self._seen)))
        fresh = np.unique(pages[~self._seen[pages]])
        self._seen[fresh] = True
        self._refuse(self._taken() + _PAGE * len(fresh))

    def _taken(self) -> int:
        return (resident_memory() or 0) - self._before

    def _refuse(self, taken: int) -> None:
        if self._limit is not None and taken > self._limit:
            raise MemoryError(
                f"{taken:,} bytes are needed, more than the {self._limit:,} that memory (--memory) allows; fewer "
                "features (--bits), fewer threads or more memory may help"
            )

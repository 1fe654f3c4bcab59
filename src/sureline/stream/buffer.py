"""A buffer between chunks of a stream and batches of another size."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .chunk import Chunk, joined


class RowBuffer:
    """Rows of a stream on their way into batches of a fixed size, wherever the chunks of the stream end.

    The first `ahead` rows were used before: a batch ended within their chunk. With this number, and the end of the last
    finished chunk, a later run continues with the same batches.
    """

    def __init__(self, ahead: int = 0) -> None:
        self.ahead = ahead
        self._chunks: list[Chunk] = []

    def add(self, chunk: Chunk) -> bool:
        """Add the rows that come next. False if the rows at the beginning that have been are more than a chunk."""
        self._chunks.append(chunk)
        return self.ahead < len(self._chunks[0])

    def copy(self) -> RowBuffer:
        """A copy with the same rows."""
        twin = RowBuffer(self.ahead)
        twin._chunks = [*self._chunks]
        return twin

    @property
    def n_rows(self) -> int:
        """Number of rows that are still to be learned from."""
        return sum(len(chunk) for chunk in self._chunks) - self.ahead

    def batches(self, size: int, *, last: bool) -> Iterator[Chunk]:
        """Batches of `size` rows, without names; with `last` also the incomplete rest.

        The rows of a batch stay here until they are `done`, which they must be before the next.
        """
        while self.n_rows >= size or (last and self.n_rows > 0):
            yield self.next(min(size, self.n_rows))

    def next(self, n_rows: int) -> Chunk:
        """The next rows, without names. They stay here until they are `done`."""
        parts, start, stop = [], self.ahead, self.ahead + n_rows
        for chunk in self._chunks:
            if start < len(chunk) and stop > 0:
                parts.append(replace(chunk, names=None, tags=None).part(max(start, 0), stop))
            start, stop = start - len(chunk), stop - len(chunk)
        return joined(parts)

    def done(self, n_rows: int) -> list[Chunk]:
        """Rows have been learned from. The chunks that are done with."""
        self.ahead += n_rows
        finished = []
        while self._chunks and self.ahead >= len(self._chunks[0]):
            finished.append(self._chunks.pop(0))
            self.ahead -= len(finished[-1])
        return finished

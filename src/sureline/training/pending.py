"""Rows of a stream on their way into batches of a fixed size, wherever the chunks of the stream end."""

from __future__ import annotations

from dataclasses import replace

from ..stream import Chunk
from ..stream.chunk import joined


class Pending:
    """Chunks that have been read, of which not all rows have been learned from.

    `ahead` rows at the beginning have been: those of a chunk that a batch ended in. It is all that must be known,
    besides the end of the last chunk that is done with, to go on later in the same batches.
    """

    def __init__(self, ahead: int = 0) -> None:
        self.ahead = ahead
        self._chunks: list[Chunk] = []

    def add(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)

    @property
    def n_rows(self) -> int:
        """How many are still to be learned from."""
        return sum(len(chunk) for chunk in self._chunks) - self.ahead

    def batch(self, n_rows: int) -> Chunk:
        """The next rows, without names; they stay here until they are `done`."""
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

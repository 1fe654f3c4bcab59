"""Learners of float32 beside learners of float64: their rows from one reading."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from .._learner import Learner
from .._rows import Array
from ..stream import Chunk, DataError, Position, Stream
from ..stream._chunk import joined


def dtype_to_read(learners: Sequence[Learner]) -> str:
    """The numbers that a stream for all of them is to have."""
    return "float64" if any(learner.dtype == "float64" for learner in learners) else "float32"


class Narrowing:
    """The values of chunks that were read as float64, as they would have been read as float32.

    Rounding a number twice, to float64 and then to float32, can differ from rounding it once, but only if the float64
    lies exactly halfway between two float32. Such chunks, which are rare, are read again where that is possible: from
    a pipe it is not, and there a number of ten digits or more may be rounded up where training alone rounds it down.
    """

    dtype = "float32"

    def __init__(self, stream: Stream, learners: Sequence[Learner]) -> None:
        self.needed = stream.dtype == "float64" and any(learner.dtype == self.dtype for learner in learners)
        self._stream = stream

    def values(self, chunk: Chunk, before: Position) -> Array | None:
        """Those of a chunk that begins at a position; None if all is well as it is."""
        if not self.needed:
            return None
        with np.errstate(over="ignore", under="ignore"):
            narrow: Array = chunk.values.astype(np.float32)
        if _halfway(chunk.values) and self._stream.size is not None:
            with suppress(DataError):  # float32 has no such number, which is seen here as well
                return self._read_again(before, chunk.n_rows)
        return narrow

    def _read_again(self, before: Position, n_rows: int) -> Array:
        chunks = self._stream._with(dtype=self.dtype).read_from(before)
        found: list[Chunk] = []
        try:
            while sum(len(chunk) for chunk in found) < n_rows:
                found.append(next(chunks))
        finally:
            chunks.close()
        again: Array = joined(found).part(0, n_rows).values
        return again


def _halfway(values: npt.NDArray[np.float64]) -> bool:
    """Whether one of the values lies exactly halfway between two float32, or is so small that this is not so easy."""
    bits = np.ascontiguousarray(values).view(np.uint64)
    if bool(((bits & np.uint64(0x1FFFFFFF)) == np.uint64(0x10000000)).any()):
        return True
    sizes = np.abs(values)
    return bool(((sizes < 2.0**-126) & (sizes > 0)).any())

"""Learners of float32 beside learners of float64: the rows of both."""

from __future__ import annotations

from collections.abc import Generator, Sequence

import numpy as np

from .._learner import Learner
from .._rows import Array
from ..stream import Chunk, Position, Stream

# A number is read as the nearest float64 and then rounded to float32, so that can be done later as well. Not so where
# values of one column are added up, those of names with the same hash above all: they are rounded before.
_NARROWED_LATER = ("libsvm", "arrays")
_TOO_LARGE = 'float32 cannot hold; dtype="float64" (--dtype float64) can'


def dtype_to_read(learners: Sequence[Learner]) -> str:
    """The numbers that a stream for all of them is to have."""
    return "float64" if any(learner.dtype == "float64" for learner in learners) else "float32"


class Narrowing:
    """The values of chunks that are read as float64, as they would have been read as float32."""

    dtype = "float32"

    def __init__(self, stream: Stream, learners: Sequence[Learner]) -> None:
        self.needed = stream.dtype == "float64" and any(learner.dtype == self.dtype for learner in learners)
        self._twin: Generator[Chunk, None, None] | None = None
        sums = stream.format not in _NARROWED_LATER or stream.duplicates == "sum"
        if self.needed and sums:
            if stream.size is None:
                wide = next(type(learner).__name__ for learner in learners if learner.dtype != self.dtype)
                raise ValueError(
                    f"{wide} learns from float64 and others from float32, for which these data would have to be read "
                    "twice, and a pipe can be read only once: give all learners one dtype."
                )
            self._twin = stream._with(dtype=self.dtype, collect_names=0).read_from(Position())

    def values(self, chunk: Chunk) -> Array | None:
        """Those of the next chunk; None if all is well as it is. Raises ValueError if float32 cannot hold them."""
        if not self.needed:
            return None
        try:
            values = self._narrowed(chunk)
        except ValueError:  # a DataError among them
            self.close()
            raise
        return values

    def _narrowed(self, chunk: Chunk) -> Array:
        if self._twin is not None:
            twin = next(self._twin, None)
            if twin is not None:
                twin = twin.first(chunk.n_rows)  # of which a label that is refused may have left the beginning only
            if twin is None or not np.array_equal(twin.indptr, chunk.indptr):
                raise ValueError(f"{chunk.end.rows - chunk.n_rows:,} rows on there is a value that {_TOO_LARGE}")
            return twin.values
        with np.errstate(over="ignore", under="ignore"):
            values: Array = chunk.values.astype(np.float32)
        if not np.isfinite(values).all():
            row = int(np.searchsorted(chunk.indptr, np.argmin(np.isfinite(values)), side="right"))
            raise ValueError(f"row {chunk.end.rows - chunk.n_rows + row:,} has a value that {_TOO_LARGE}")
        return values

    def close(self) -> None:
        """It is no longer needed."""
        self.needed = False
        if self._twin is not None:
            self._twin.close()

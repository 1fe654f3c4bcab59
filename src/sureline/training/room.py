"""Memory and file space for models, and float32 rows for learners that need them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence

import numpy as np

from .._inputs import Array
from ..learners.feature_groups import FGM, SBCW
from ..learners.learner import Learner
from ..learners.online_batch import BCW
from ..learners.rule import RuleLearner
from ..models.file import MOST_BYTES
from ..models.precision.state import PrecisionState, most_bytes
from ..models.state import State
from ..models.touched import Touched
from ..stream import Chunk, Position, Stream
from ..stream.memory import LARGE_PAGE, MOST_IN_LARGE_PAGES, PAGE
from .order import Order

_PARTS = 16  # of the memory: a model grows by at most one part between two checks
_SCALE = 16  # bytes of a column's scale


def model_bytes(learner: Learner, n_columns: int, n_classes: int, n_rows: int, batch: int) -> int:
    """Most bytes of a model with that many columns and classes, until it has learned `n_rows` rows.

    Untouched features take no memory, so it may be much less. Stored rows of a sliding window or a batch are not
    counted.
    """
    slots, heads = n_columns + 1, n_classes if n_classes > 2 else 1
    if isinstance(learner, RuleLearner):
        return learner.most_bytes(n_columns, n_classes)
    # Its own scales, before and after a batch.
    scales = 2 * scale_bytes(n_columns) if learner.normalize == "scale" else 0
    if isinstance(learner, BCW):
        return scales + most_bytes(slots, heads, n_rows)
    assert isinstance(learner, SBCW | FGM)
    return scales + learner.most_bytes(slots, heads, -(-n_rows // batch))


def refuse_too_large(learner: Learner, stream: Stream, n_columns: int, n_classes: int) -> None:
    """Raise ValueError if a model with that many columns and classes is too large for a model file."""
    if not isinstance(learner, RuleLearner) or learner.in_python:  # learners in Python have no model files
        return
    size = model_bytes(learner, n_columns, n_classes, 0, 0)
    if size <= MOST_BYTES or learner.shape.has_factors:  # limited by memory long before
        return
    fewer = "lower bits (--bits)" if stream.hashed_width() else "number the columns without gaps"
    ways = [f"{fewer}, or have fewer classes"]
    if learner.dtype == "float64":
        ways.insert(0, 'use dtype="float32" (--dtype float32)')
    raise ValueError(
        f"{stream.paths[0]}: {type(learner).__name__} would have {n_columns:,} columns and {n_classes:,} classes, "
        f"{in_words(size)} of weights, seen or not; a model file holds at most {in_words(MOST_BYTES)} (2^42 bytes): "
        f"{', '.join(ways)}."
    )


def refuse_factors(learner: Learner, chunk: Chunk, n_classes: int) -> None:
    """Raise MemoryError if a fresh model's full covariance would take too much."""
    if chunk.memory is None or not isinstance(learner, RuleLearner) or not learner.shape.has_factors:
        return
    size, limit = model_bytes(learner, chunk.n_columns, n_classes, 0, 0), chunk.memory.limit
    if limit is not None and size > limit:
        raise MemoryError(
            f"a full covariance of {chunk.n_columns:,} columns takes {in_words(size)}, more than the {in_words(limit)} "
            'that memory (--memory) allows; covariance="diag" (--covariance diag) takes some bytes a column, and fewer '
            "--bits give fewer columns"
        )
    chunk.memory.check(size)


def refuse_batch(learner: Learner, batch: Chunk, n_classes: int) -> None:
    """Raise MemoryError if a batch learner would take too much for this batch."""
    if batch.memory is None:
        return
    model = learner.model if learner.has_begun else None
    slots = 1 + max(batch.n_columns, 0 if model is None else model.n_columns)
    heads, entries = n_classes if n_classes > 2 else 1, len(batch.indices)
    touched = min(slots, entries * PAGE // 8)  # numbers of which there is one per column
    size = 3 * 8 * batch.n_rows * heads + 2 * batch.nbytes  # scores and such, and rows that are divided
    if learner.normalize == "scale":
        size += 2 * _SCALE * touched
    if isinstance(learner, BCW):
        n_rows = batch.n_rows if model is None else learner.n_seen_ + batch.n_rows
        size += most_bytes(slots, heads, n_rows) - (model.nbytes if isinstance(model, PrecisionState) else 0)
    elif isinstance(learner, SBCW | FGM):
        size += learner.most_bytes(touched, heads, 1)
    batch.memory.check(size)


def in_steps(learner: Learner, chunk: Chunk, n_classes: int, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """The rows of a chunk from start to stop in parts, with a memory check between parts.

    A model takes the memory pages of its columns. In each part it can grow only by a small share of its limit. Raises
    MemoryError above the limit, or if the next row alone would exceed it.
    """
    memory, model = chunk.memory, learner.model
    if memory is None or memory.limit is None or not isinstance(learner, RuleLearner) or not isinstance(model, State):
        yield start, stop
        return
    width = max(chunk.n_columns, model.n_columns)
    if learner.shape.has_factors:
        size = model_bytes(learner, width, n_classes, 0, 0)
        memory.check(size if size > model.nbytes else 0)  # the old ones are there until the new ones are
        yield start, stop
        return
    slot = model_bytes(learner, 0, n_classes, 0, 0)
    whole, a_part, ends = (slot + _SCALE) * width, memory.limit // _PARTS, chunk.indptr
    per_entry = max(slot, LARGE_PAGE if slot * width <= MOST_IN_LARGE_PAGES else PAGE) + PAGE  # one for its scale
    if min(int(ends[stop] - ends[start]) * per_entry, whole) <= a_part:
        yield start, stop
        return
    while start < stop:
        end = int(np.searchsorted(ends, ends[start] + a_part // per_entry, side="right")) - 1
        end = min(max(end, start + 1), stop)
        if slot > model_bytes(learner, 0, model.n_heads, 0, 0):  # with more classes, the old model exists meanwhile
            memory.check(slot * Touched(model.weights).count())
        if end == start + 1 and whole > memory.limit:
            memory.check(min(int(ends[end] - ends[start]) * max(slot, per_entry - PAGE), whole))
        yield start, end
        memory.check()
        start = end


def scale_bytes(n_columns: int) -> int:
    """Bytes of the scales, which all learners of one dtype share."""
    return _SCALE * n_columns


def shared_scale_bytes(learners: Iterable[Learner], n_columns: int) -> int:
    """Bytes of the scales that these learners share."""
    return scale_bytes(n_columns) * len({learner.dtype for learner in learners if learner.normalize == "scale"})


def in_words(n_bytes: int) -> str:
    """A number of bytes in words, such as 208 MB."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if n_bytes >= 10 * size or (unit == "MB" and n_bytes >= size):
            return f"{n_bytes / size:,.0f} {unit}"
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{max(round(n_bytes / 1000), 1):,} kB"


# -- float32 beside float64 ------------------------------------------------------------------------------------

# A number is read as the nearest float64 and then rounded to float32, so that can be done later as well. Not so where
# values of one column are added up, those of names with the same hash above all: they are rounded before.
_ROUNDED_LATER = ("libsvm", "arrays")
_TOO_LARGE = 'float32 cannot hold; dtype="float64" (--dtype float64) can'


def dtype_to_read(learners: Sequence[Learner]) -> str:
    """The dtype in which to read a stream for these learners."""
    return "float64" if any(learner.dtype == "float64" for learner in learners) else "float32"


class AsFloat32:
    """The values of chunks that are read as float64, as they would have been read as float32."""

    dtype = "float32"

    def __init__(self, stream: Stream, learners: Sequence[Learner], order: Order) -> None:
        self.needed = stream.dtype == "float64" and any(learner.dtype == self.dtype for learner in learners)
        self._twin: Generator[Chunk, None, None] | None = None
        sums = stream.format not in _ROUNDED_LATER or stream.duplicates == "sum"
        if self.needed and sums:
            if stream.size is None:
                wide = next(type(learner).__name__ for learner in learners if learner.dtype != self.dtype)
                raise ValueError(
                    f"{wide} learns from float64 and others from float32, for which these data would have to be read "
                    "twice, and a pipe can be read only once: give all learners one dtype."
                )
            twin = stream.with_options(dtype=self.dtype, collect_names=0)
            self._twin = order.chunks(order.pieces(twin), Position(), 1)

    def values(self, chunk: Chunk) -> Array | None:
        """Values of the next chunk in float32; None if nobody needs them. ValueError if float32 cannot hold them."""
        if not self.needed:
            return None
        try:
            values = self._rounded(chunk)
        except ValueError:  # a DataError among them
            self.close()
            raise
        return values

    def _rounded(self, chunk: Chunk) -> Array:
        if self._twin is not None:
            twin = next(self._twin, None)
            if twin is not None:
                twin = twin.first(chunk.n_rows)  # a refused label may have left only its beginning
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
        """Release the second reading."""
        self.needed = False
        if self._twin is not None:
            self._twin.close()

"""A chunk of a stream as learners take it: its labels decoded once and its rows made once, for one learner or many."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from .._inputs import Array
from .._native import _core
from ..learners.learner import ClassLearner, Learner
from ..learners.online import ClassRuleLearner, RuleLearner
from ..learners.regression import TargetLearner
from ..learners.saving import takes_names
from ..models.rows import RefusedRow
from ..models.scaling import Normalizer
from ..stream import Chunk, Label, Stream


class Lesson:
    """The rows of a chunk with what is to be learned from them: classes, or the numbers that are to be predicted.

    A learner is handed the parts of a lesson in their order. Learners may be handed it at the same time, each by a
    thread of its own, once `prepare` has been called for the kinds of rows that they need. Those that share what their
    rows are divided by have `normalizers`, one for all lessons of a stream, and share the divided rows too. The rows of
    any other learner, which has its own, are divided while it learns from them.
    """

    def __init__(
        self,
        chunk: Chunk,
        labels: npt.NDArray[np.int32] | npt.NDArray[np.float64],
        classes: Array | None = None,
        normalizers: Normalizers | None = None,
    ) -> None:
        self.chunk = chunk
        self.labels = labels
        self.classes = classes  # None where numbers are to be predicted
        self._normalizers = normalizers
        self._chunks: dict[str, Chunk] = {}  # by dtype
        self._rows: dict[tuple[str, str, int], _Rows] = {}

    def prepare(self, learner: Learner, values: Array | None = None) -> None:
        """Make the rows that the learner needs; of these values, which are those of the chunk in its numbers.

        Where divided rows are shared, this is when they are taken in: a learner that has not begun, and shares nothing,
        gets its rows when it is taught.
        """
        if learner.dtype not in self._chunks:
            self._chunks[learner.dtype] = self.chunk if values is None else replace(self.chunk, values=values)
        if self._normalizers is not None or hasattr(learner, "_state"):
            self._rows_for(learner)

    def chunk_for(self, learner: Learner) -> Chunk:
        """The chunk in the numbers of this learner, as it was read: `judge_rows` normalises by itself."""
        self.prepare(learner)
        return self._chunks[learner.dtype]

    def _rows_for(self, learner: Learner) -> _Rows:
        """The one place where rows are made for a learner."""
        shared, chunk = self._normalizers is not None, self._chunks[learner.dtype]
        normalizer = learner._normalizer if self._normalizers is None else self._normalizers.of(learner)
        key = learner.dtype, normalizer.kind, 0 if normalizer.kind == "none" else id(normalizer)
        if key not in self._rows:
            with self._by_rows_of_the_stream():
                self._rows[key] = _Rows(_normalized(chunk, normalizer)) if shared else _Rows(chunk, normalizer)
        return self._rows[key]

    @contextmanager
    def _by_rows_of_the_stream(self) -> Iterator[None]:
        """What is refused is told by its place in the stream."""
        try:
            yield
        except RefusedRow as refused:
            raise refused.in_stream(self.chunk.end.rows - self.chunk.n_rows) from None

    def begin(self, learner: Learner) -> None:
        """Let a learner forget everything, and be ready for these rows."""
        if isinstance(learner, TargetLearner):
            learner.begin(self.chunk.n_columns)
        elif isinstance(learner, ClassLearner) and self.classes is not None:
            learner.begin(self.classes, self.chunk.n_columns)
        if self._normalizers is not None:
            learner._normalizer = self._normalizers.of(learner)

    def teach(self, learner: Learner, start: int, stop: int) -> None:
        """Let a learner that has begun learn from the rows from one to another."""
        if start >= stop:
            return
        self.prepare(learner)
        rows, chunk = self._rows_for(learner), self.chunk
        part = None if stop - start == chunk.n_rows else (start, stop)
        with self._by_rows_of_the_stream():
            if isinstance(learner, TargetLearner):
                learner.take(rows, chunk.n_columns, self.labels.astype(np.float64, copy=False), chunk.weights, part)
            elif isinstance(learner, ClassRuleLearner):
                labels, n_classes = self.labels.astype(np.int32, copy=False), None
                if self.classes is not None:
                    n_classes = len(self.classes)
                learner.take(rows, chunk.n_columns, labels, chunk.weights, part, n_classes)

    def end(self, learner: Learner) -> None:
        """All of it has been learned from."""
        if isinstance(learner, ClassLearner) and self.classes is not None:
            learner.classes_ = self.classes


class Normalizers:
    """What the rows of a stream are divided by: one for each kind and dtype, for all learners of the stream."""

    def __init__(self) -> None:
        self._own: dict[tuple[str, str], Normalizer] = {}

    def of(self, learner: Learner) -> Normalizer:
        key = learner.normalize, learner.dtype
        if key not in self._own:
            self._own[key] = learner._fresh_normalizer()
        return self._own[key]

    def keep_those_of(self, learners: Iterable[Learner]) -> None:
        """Give back the memory of those that none of these learners needs."""
        needed = {(learner.normalize, learner.dtype) for learner in learners}
        self._own = {key: normalizer for key, normalizer in self._own.items() if key in needed}


def _normalized(chunk: Chunk, normalizer: Normalizer) -> Chunk:
    """The rows of a chunk as they are learned from, each taken in before."""
    if normalizer.kind == "none":
        return chunk
    values = normalizer.learn_values(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns, chunk.weights)
    return replace(chunk, values=values)


class _Rows:
    """The rows of a chunk for the core; made once, unless they are to count as wider than they are.

    With a normalizer they are divided while they are learned from.
    """

    def __init__(self, chunk: Chunk, normalizer: Normalizer | None = None) -> None:
        self.chunk = chunk
        self._normalizer = normalizer
        self._own = self._made(None)

    def __call__(self, n_columns: int | None) -> _core.Rows:
        return self._own if n_columns is None else self._made(n_columns)

    def _made(self, n_columns: int | None) -> _core.Rows:
        rows = self.chunk.rows(n_columns)
        return rows if self._normalizer is None else self._normalizer.to_learn(rows)


def enrol(learner: Learner, stream: Stream, labels: Sequence[Label] | None) -> None:
    """Tell a learner of the stream that it is to learn from. Raises ValueError if that cannot be."""
    if labels is not None and not isinstance(learner, ClassLearner):
        raise ValueError(f"{type(learner).__name__} predicts numbers: labels is for learners of classes.")
    options = stream.model_options
    if "bits" in options and isinstance(learner, RuleLearner):
        learner.bits = options["bits"]  # so that it hashes the names of single examples in the same way
    learner._takes_names = takes_names(options)
    learner.check_parameters()
    learner.refuse_stream()
    if labels is None:
        _refuse_costs_without_labels(learner)


def _refuse_costs_without_labels(learner: Learner) -> None:
    costs = learner._costs()
    if costs is not None and costs[0] != costs[1]:
        raise ValueError(
            f"{type(learner).__name__} with unequal costs or margins must know which class is the positive one: "
            "name both with labels, the negative one first."
        )

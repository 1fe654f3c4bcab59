"""A chunk of a stream as learners take it: its labels decoded once and its rows made once, for one learner or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from . import _core
from ._learner import ClassLearner, Learner
from ._online import ClassRuleLearner, RuleLearner
from ._regression import TargetLearner
from ._rows import Array
from .persistence import takes_names
from .stream import Chunk, Label, Stream


class Lesson:
    """The rows of a chunk with what is to be learned from them: classes, or the numbers that are to be predicted.

    A learner is handed the parts of a lesson in their order. Learners may be handed it at the same time, each by a
    thread of its own, once `prepare` has been called for the kinds of rows that they need.
    """

    def __init__(
        self, chunk: Chunk, labels: npt.NDArray[np.int32] | npt.NDArray[np.float64], classes: Array | None = None
    ) -> None:
        self.chunk = chunk
        self.labels = labels
        self.classes = classes  # None where numbers are to be predicted
        self._rows: dict[np.dtype, _Rows] = {}  # type: ignore[type-arg]

    def prepare(self, learner: Learner, values: Array | None = None) -> None:
        """Make the rows that the learner needs; of these values, which are those of the chunk in its numbers."""
        dtype = np.dtype(learner.dtype)
        if dtype not in self._rows:
            chunk = self.chunk if values is None else replace(self.chunk, values=values)
            self._rows[dtype] = _Rows(chunk)

    def chunk_for(self, learner: Learner) -> Chunk:
        """The chunk as this learner sees it: the one place where rows are made for a learner."""
        self.prepare(learner)
        return self._rows[np.dtype(learner.dtype)].chunk

    def begin(self, learner: Learner) -> None:
        """Let a learner forget everything, and be ready for these rows."""
        if isinstance(learner, TargetLearner):
            learner.begin(self.chunk.n_columns)
        elif isinstance(learner, ClassLearner) and self.classes is not None:
            learner.begin(self.classes, self.chunk.n_columns)

    def teach(self, learner: Learner, start: int, stop: int) -> None:
        """Let a learner that has begun learn from the rows from one to another."""
        if start >= stop:
            return
        self.prepare(learner)
        rows = self._rows[np.dtype(learner.dtype)]
        chunk = self.chunk
        part = None if stop - start == chunk.n_rows else (start, stop)
        if isinstance(learner, TargetLearner):
            learner.take(rows, chunk.n_columns, self.labels.astype(np.float64, copy=False), chunk.weights, part)
        elif isinstance(learner, ClassRuleLearner):
            learner.take(rows, chunk.n_columns, self.labels.astype(np.int32, copy=False), chunk.weights, part)

    def end(self, learner: Learner) -> None:
        """All of it has been learned from."""
        if isinstance(learner, ClassLearner) and self.classes is not None:
            learner.classes_ = self.classes


class _Rows:
    """The rows of a chunk for the core; made once, unless they are to count as wider than they are."""

    def __init__(self, chunk: Chunk) -> None:
        self.chunk = chunk
        self._own = chunk.rows()

    def __call__(self, n_columns: int | None) -> _core.Rows:
        return self._own if n_columns is None else self.chunk.rows(n_columns)


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

"""Chunks for training: labels decoded once and rows made once, for one learner or many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt

from .._inputs import Array
from .._native import _core
from ..learners.asking import Asking
from ..learners.batch import BatchLearner
from ..learners.learner import ClassLearner, Learner
from ..learners.online import OnlineLearner
from ..learners.origin import Origin
from ..learners.regression import TargetLearner
from ..learners.rule import RuleLearner
from ..models.rows import RefusedRow
from ..models.scaling import Normalizer
from ..stream import Chunk, Label, Stream
from .room import in_steps, refuse_factors


class LabelledChunk:
    """A chunk with the labels or targets of its rows.

    A learner is fitted to the parts of a chunk in their order. Learners may be fitted at the same time, each by a
    thread of its own, once `prepare` has been called for the kinds of rows that they need. Learners that share
    `normalizers`, one set for all chunks of a stream, share the divided rows too. For other learners rows are divided
    while they learn.

    Attributes
    ----------
    chunk : Chunk
        The rows as they were read.
    labels : array
        The class, or the number, of each row.
    classes : array or None
        All classes so far; None where numbers are to be predicted.
    cuts : sequence of int
        The rows after which the curves of a tournament have a point.
    samples : dict of int to Chunk
        Rows that are predicted before the rows from one cut to the next are learned from, by where those begin.
    """

    def __init__(
        self,
        chunk: Chunk,
        labels: npt.NDArray[np.int32] | npt.NDArray[np.float64],
        classes: Array | None = None,
        normalizers: Normalizers | None = None,
    ) -> None:
        self.chunk, self.labels, self.classes = chunk, labels, classes
        self.cuts: Sequence[int] = ()
        self.samples: dict[int, Chunk] = {}
        self._normalizers = normalizers
        self._chunks: dict[str, Chunk] = {}  # by dtype
        self._normalized: dict[tuple[str, str, int], Chunk] = {}
        self.record = True  # False where the rows have been learned from before
        self._in_turn: dict[tuple[int, int | None], _core.Rows] = {}

    def prepare(self, learner: Learner, values: Array | None = None) -> None:
        """Make the rows that the learner needs, from `values` (the chunk's, in the learner's dtype).

        Shared normalizers count the rows now.
        """
        if learner.dtype not in self._chunks:
            self._chunks[learner.dtype] = self.chunk if values is None else replace(self.chunk, values=values)
        if self._normalizers is not None or learner.has_begun:
            self._rows_for(learner)

    def chunk_for(self, learner: Learner) -> Chunk:
        """The chunk in the learner's dtype, not normalised: `judge_rows` normalises."""
        self.prepare(learner)
        return self._chunks[learner.dtype]

    def _rows_for(self, learner: Learner) -> Callable[[int | None], _core.Rows]:
        """A function that makes rows of the chunk as this learner takes them, of their own width or of another."""
        chunk = self._chunks[learner.dtype]
        if self._normalizers is None:
            return partial(self._divided_in_turn, chunk, learner.normalizer)
        normalizer = self._normalizers.of(learner)
        key = learner.dtype, normalizer.kind, id(normalizer) if normalizer.kind == "scale" else 0
        if key not in self._normalized:
            with self._by_rows_of_the_stream():
                divided = _normalized(chunk, normalizer)
                divided.rows()  # made now, before several threads ask for them
            self._normalized[key] = divided
        return self._normalized[key].rows

    def _divided_in_turn(self, chunk: Chunk, normalizer: Normalizer, n_columns: int | None) -> _core.Rows:
        """Rows that are taken in and divided while they are learned from: made once, as long as their width stays."""
        if normalizer.kind == "none":
            return chunk.rows(n_columns)
        key = id(normalizer), n_columns
        if key not in self._in_turn:
            self._in_turn[key] = normalizer.to_learn(chunk.fresh_rows(n_columns))
        return self._in_turn[key]

    @contextmanager
    def _by_rows_of_the_stream(self) -> Iterator[None]:
        """Name refused rows by their place in the stream."""
        try:
            yield
        except RefusedRow as refused:
            raise refused.in_stream(self.chunk.end.rows - self.chunk.n_rows) from None

    def begin(self, learner: Learner) -> None:
        """Let a learner forget everything, and be ready for these rows."""
        refuse_factors(learner, self.chunk, 1 if self.classes is None else len(self.classes))
        if isinstance(learner, TargetLearner):
            learner.begin(self.chunk.n_columns)
        elif isinstance(learner, ClassLearner) and self.classes is not None:
            learner.begin(self.classes, self.chunk.n_columns)
        if self._normalizers is not None:
            learner.normalizer = self._normalizers.of(learner)

    def fit(self, learner: Learner, start: int, stop: int) -> None:
        """Let a learner that has begun learn from the rows from `start` to `stop`, within the memory of the stream."""
        if start >= stop:
            return
        self.prepare(learner)
        n_classes = 1 if self.classes is None else len(self.classes)
        for begin, end in in_steps(learner, self.chunk, n_classes, start, stop):
            self._fit(learner, begin, end)

    def _fit(self, learner: Learner, start: int, stop: int) -> None:
        rows, chunk = self._rows_for(learner), self.chunk
        part = None if stop - start == chunk.n_rows else (start, stop)
        with self._by_rows_of_the_stream():
            if isinstance(learner, TargetLearner):
                learner.take(rows, chunk.n_columns, self.labels.astype(np.float64, copy=False), chunk.weights, part)
            elif isinstance(learner, OnlineLearner):
                labels, classes = self.labels.astype(np.int32, copy=False), self.classes
                n_classes = None if classes is None else len(classes)
                learner.take(
                    rows, chunk.n_columns, labels, chunk.weights, part, n_classes, classes=classes, record=self.record
                )

    def fit_asking(self, learner: OnlineLearner, asking: Asking, start: int, stop: int) -> None:
        """Like `fit`, using only labels that the learner asks for."""
        if start >= stop:
            return
        self.prepare(learner)
        labels = self.labels.astype(np.int32, copy=False)
        with self._by_rows_of_the_stream():
            learner.take_asking(
                asking, self._rows_for(learner), self.chunk.n_columns, labels, self.chunk.weights, (start, stop)
            )

    def end(self, learner: Learner) -> None:
        """All of it has been learned from."""
        if isinstance(learner, ClassLearner) and self.classes is not None:
            learner.classes_ = self.classes


class Normalizers:
    """Normalizers that learners share along a stream: one for each kind and dtype."""

    def __init__(self) -> None:
        self._own: dict[tuple[str, str], Normalizer] = {}

    def of(self, learner: Learner) -> Normalizer:
        key = learner.normalize, learner.dtype
        if key not in self._own:
            self._own[key] = learner.fresh_normalizer()
        return self._own[key]

    def keep_those_of(self, learners: Iterable[Learner]) -> None:
        """Release normalizers that none of these learners needs."""
        needed = {(learner.normalize, learner.dtype) for learner in learners}
        self._own = {key: normalizer for key, normalizer in self._own.items() if key in needed}


def _normalized(chunk: Chunk, normalizer: Normalizer) -> Chunk:
    """The rows of a chunk as they are learned from, each taken in before."""
    if normalizer.kind == "none":
        return chunk
    values = normalizer.learn_values(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns, chunk.weights)
    return replace(chunk, values=values)


def attach(learner: Learner, stream: Stream, labels: Sequence[Label] | None) -> None:
    """Prepare a learner for a stream. ValueError if it cannot learn from it."""
    if labels is not None and not isinstance(learner, ClassLearner):
        raise ValueError(f"{type(learner).__name__} predicts numbers: labels is for learners of classes.")
    if isinstance(learner, ClassLearner) and stream.options.says_targets:
        raise ValueError(
            f"The 'numeric' parameter names the label {stream.options.label!r}, which says how the targets of a "
            f"regressor are written: {type(learner).__name__} takes labels as they are."
        )
    options = stream.model_options
    if "bits" in options and isinstance(learner, RuleLearner):
        learner.bits = options["bits"]  # so that it hashes the names of single examples in the same way
    learner.origin = Origin(options)
    learner.check_parameters()
    learner.refuse_stream()
    if labels is None:
        _refuse_costs_without_labels(learner)


def _refuse_costs_without_labels(learner: Learner) -> None:
    costs = learner.costs
    if costs is not None and costs[0] != costs[1]:
        raise ValueError(
            f"{type(learner).__name__} with unequal costs or margins must know which class is the positive one: "
            "name both with labels, the negative one first."
        )


def refuse_batch_size(learner: Learner, batch: int | None) -> None:
    """Raise ValueError if the learner takes no batches, or not of that size."""
    if batch is not None and not isinstance(learner, BatchLearner):
        raise ValueError(
            f"{type(learner).__name__} learns from one row after the other: batch is for learners of batches."
        )
    if batch is not None and batch < 1:
        raise ValueError(f"batch must be a number of rows, at least 1. Got {batch!r} instead.")

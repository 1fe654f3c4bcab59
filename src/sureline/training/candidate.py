"""Learners on their way through a tournament."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ..learners.batch import BatchLearner
from ..learners.learner import ClassLearner
from ..models.groups import GroupState
from ..models.numbers import MISTAKES, UPDATES
from ..models.precision.state import PrecisionState
from ..models.state import State
from ..stream import Chunk
from ..stream.buffer import RowBuffer
from ..stream.classes import Classes
from .chunks import LabelledChunk
from .frozen import FrozenError
from .grid import Entry
from .metric import Counts
from .race import points
from .reliability import Reliability
from .result import Status
from .room import refuse_batch


class Candidate:
    """A learner in a tournament, its mistakes at the points of the curve, and how it ended."""

    def __init__(self, entry: Entry, *, reliability: bool) -> None:
        self.name, self.learner, self.parameters = entry.name, entry.learner, entry.parameters
        self.others = entry.others
        self.status: Status = "finished"
        self.reason: str | None = None
        self.begun = False
        self.seconds = 0.0  # processor seconds, for learning alone
        self.mistakes: list[Counts] = []  # of each class, at each point
        self.reliability = Reliability() if reliability else None
        self.frozen = FrozenError()
        self.n_updates = self.n_features = self.n_bytes = 0
        self.n_nonzero: int | None = None

    @property
    def alive(self) -> bool:
        return self.status == "finished"

    def settings(self) -> list[ClassLearner]:
        """This learner, and its settings that may be chosen instead."""
        kind, given = type(self.learner), self.learner.parameters()
        return [kind(**{**given, **settings}) for settings in ({}, *self.others)]

    def use(self, settings: Mapping[str, Any]) -> None:
        """Take part with these, before it begins."""
        for name, value in settings.items():
            setattr(self.learner, name, value)
        self.parameters = {**self.parameters, **settings}

    def fit(self, batch: LabelledChunk) -> None:
        """Learn from a chunk. If a row is refused, only this learner fails."""
        learner = self.learner
        begin = time.thread_time()
        try:
            if not self.begun:
                batch.begin(learner)
                self.begun = True
            start = 0
            for stop in batch.cuts:
                self._learn(batch, start, stop)
                self.mistakes.append(learner.model.tally[:, MISTAKES].copy())
                start = stop
            self._learn(batch, start, batch.chunk.n_rows)
            batch.end(learner)
        except (ValueError, MemoryError) as error:
            self.leave("failed", str(error) or "out of memory")
        self.seconds += time.thread_time() - begin

    def _learn(self, batch: LabelledChunk, start: int, stop: int) -> None:
        begin = time.thread_time()
        with suppress(ValueError):  # a score that overflows: learning says so, if it matters there
            self.frozen.measure(self.learner, batch.chunk_for(self.learner), batch.labels, start, stop)
            if self.reliability is not None and start in batch.samples:
                rows = batch.samples[start]
                truth = batch.labels[rows.labels[0]].astype(np.int32, copy=False)
                self.reliability.ask(self.learner, rows, truth)
        self.seconds -= time.thread_time() - begin
        batch.fit(self.learner, start, stop)

    def finish(self) -> None:
        """All of the stream has come."""

    def mistakes_by_class(self) -> Counts:
        """All of them so far, in the order of the tournament's classes."""
        found: Counts = self.learner.model.tally[:, MISTAKES]
        return found

    def leave(self, status: Status, reason: str) -> None:
        """Be done with it before the end; its memory is given back."""
        self.status, self.reason = status, reason
        self.measure()
        if self.begun:
            self.learner.forget()
            self.begun = False

    def measure(self) -> None:
        """Record the measures of the model that the result has."""
        if self.begun:
            state = self.learner.model
            self.n_updates = int(state.tally[:, UPDATES].sum())
            self.n_nonzero = state.count_nonzero()
            self.n_features = state.n_columns
            assert isinstance(state, State | PrecisionState | GroupState)
            self.n_bytes = state.nbytes


class BatchCandidate(Candidate):
    """A candidate whose learner takes batches of `size` rows.

    Such a learner sees a whole batch before it counts mistakes. So it predicts each batch before it learns from it; for
    the first batch the first class counts as predicted. It lags behind the others by the rows that wait for their
    batch, and is never dropped.
    """

    def __init__(self, entry: Entry, classes: Classes, size: int, *, reliability: bool) -> None:
        super().__init__(entry, reliability=reliability)
        self.reason = f"learns in batches of {size:,} rows; each was predicted whole before it was learned from"
        self._all = classes  # of the tournament
        # The labels of the first batch are sorted, as when it learns alone.
        self._classes = Classes(classes.labels if classes.fixed else None)
        self._size = size
        self._buffer = RowBuffer()
        self.done = 0
        self._counts: Counts = np.zeros(0, np.int64)

    def fit(self, batch: LabelledChunk) -> None:
        self._buffer.add(batch.chunk_for(self.learner))
        self._go_on(last=False)

    def finish(self) -> None:
        self._go_on(last=True)

    def _go_on(self, *, last: bool) -> None:
        begin = time.thread_time()
        try:
            for batch in self._buffer.batches(self._size, last=last):
                self._learn_batch(batch)
                self._buffer.done(batch.n_rows)
        except (ValueError, MemoryError) as error:
            self.leave("failed", str(error) or "out of memory")
        self.seconds += time.thread_time() - begin

    def _learn_batch(self, batch: Chunk) -> None:
        learner = cast(BatchLearner, self.learner)
        codes = self._classes.of(batch, "", self.done)
        refuse_batch(learner, batch, len(self._classes.labels))
        wrong = codes != 0
        if self.begun:
            begin = time.thread_time()
            scores, variances = learner.judge_rows(batch.values, batch.indices, batch.indptr, batch.n_columns)
            wrong = learner.chosen(scores) != codes
            self.frozen.rows, self.frozen.wrong = self.frozen.rows + len(wrong), self.frozen.wrong + float(wrong.sum())
            if self.reliability is not None:
                self.reliability.add(learner, scores, variances, codes)
            self.seconds -= time.thread_time() - begin
        else:
            learner.begin(self._classes.array(), batch.n_columns)
            self.begun = True
        classes = self._classes.array()
        learner.take_batch(batch.X, codes, batch.weights, learner.weighing(len(classes), classes))
        learner.classes_ = classes
        self._count(wrong if batch.weights is None else wrong & (batch.weights > 0), codes)

    def _count(self, wrong: npt.NDArray[np.bool_], codes: npt.NDArray[np.int32]) -> None:
        labels = self._all.labels
        place = np.array([labels.index(label) for label in self._classes.labels])[codes]
        counts = np.pad(self._counts, (0, max(len(labels), 2) - len(self._counts)))
        start = 0
        for row in [*points(self.done, self.done + len(codes)), self.done + len(codes)]:
            part = slice(start, row - self.done)
            counts = counts + np.bincount(place[part][wrong[part]], minlength=len(counts))
            start = row - self.done
            if len(self.mistakes) < len(points(0, row)):
                self.mistakes.append(counts)
        self._counts = counts
        self.done += len(codes)

    def mistakes_by_class(self) -> Counts:
        return self._counts

"""A learner of batches on its way through a tournament."""

from __future__ import annotations

import time
from typing import cast

import numpy as np
import numpy.typing as npt

from ..learners.batch import BatchLearner
from ..stream import Chunk
from ..stream.classes import Classes
from .contestant import Contestant, Turn
from .grid import Entry
from .judge import Counts
from .pending import Pending
from .race import points


class BatchContestant(Contestant):
    """One whose learner takes its rows in batches of `size`.

    What such a learner counts are no predictions of what it has not seen, since a batch is looked at whole. So it is
    asked for a batch before it learns from it; the first one is taken to be predicted as the first class. It is as far
    behind the others as rows are waiting for their batch, and is never dropped.
    """

    def __init__(self, entry: Entry, classes: Classes, size: int, *, reliability: bool) -> None:
        super().__init__(entry, reliability=reliability)
        self.reason = f"learns in batches of {size:,} rows; each was predicted whole before it was learned from"
        self._all = classes  # of the tournament
        # Those of the first batch are sorted, as they are where it learns alone.
        self._classes = Classes(classes.labels if classes.fixed else None)
        self._size = size
        self._pending = Pending()
        self.done = 0
        self._counts: Counts = np.zeros(0, np.int64)

    def take(self, turn: Turn) -> None:
        self._pending.add(turn.lesson.chunk_for(self.learner))
        self._go_on(last=False)

    def finish(self) -> None:
        self._go_on(last=True)

    def _go_on(self, *, last: bool) -> None:
        begin = time.thread_time()
        try:
            while self._pending.n_rows >= self._size or (last and self._pending.n_rows > 0):
                n_rows = min(self._size, self._pending.n_rows)
                self._learn_batch(self._pending.batch(n_rows))
                self._pending.done(n_rows)
        except (ValueError, MemoryError) as error:
            self.leave("failed", str(error) or "out of memory")
        self.seconds += time.thread_time() - begin

    def _learn_batch(self, batch: Chunk) -> None:
        learner = cast(BatchLearner, self.learner)
        codes = self._classes.of(batch, "", self.done)
        wrong = codes != 0
        if self.begun:
            begin = time.thread_time()
            scores, variances = learner.judge_rows(batch.values, batch.indices, batch.indptr, batch.n_columns)
            wrong = learner.chosen(scores) != codes
            if self.reliability is not None:
                self.reliability.add(learner, scores, variances, codes)
            self.seconds -= time.thread_time() - begin
        else:
            learner.begin(self._classes.array(), batch.n_columns)
            self.begun = True
        learner.take_batch(batch.X, codes, batch.weights)
        learner.classes_ = self._classes.array()
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

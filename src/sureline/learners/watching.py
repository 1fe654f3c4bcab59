"""Watches a stream without labels for rows that differ from the training rows."""

from __future__ import annotations

import numpy as np

from ..models.record import LARGEST_STD
from ..stream import Chunk
from .alarms import Alarm, Rises
from .answers import Answers
from .learner import ClassLearner
from .novelty import expected_unseen, spread, unseen_share, usual_std

_TIMES = 2.0  # tolerated multiple of the expectation, since sources never quite agree
_RARE = 0.01  # the share of training rows with a less sure score


class NoveltyWatch:
    """Compares the rows of a stream with the training of a model.

    The features of more rows from the same source are unseen in a share that is known from those that were seen once.
    An alarm is where twice that share is exceeded beyond chance; or where more than 2 % of the scores have a standard
    deviation that 1 % had in training. Of learners without a covariance, or without scales, it knows less.
    """

    def __init__(self, learner: ClassLearner, *, compact: bool = False) -> None:
        self._learner = learner
        expected = None if compact else expected_unseen(learner)  # a compact model has dropped features
        self._unseen = None if expected is None else Rises("unseen", _TIMES * expected)
        record = learner.model.record
        known = learner.has_variances and record is not None and not compact
        # The record's bins are octaves, so the quantile is rounded up to the end of one.
        usual = usual_std(record, 1 - _RARE) if known and record is not None else None
        most = np.inf if usual is None else 2.0 ** np.ceil(np.log2(usual) - 1e-9)
        # In training, a value is divided by a scale that it has already raised; later by the scale of other rows only.
        self._most = most * (4 if learner.normalizer.kind == "scale" else 1)
        self._std = Rises("std", _TIMES * _RARE) if most < LARGEST_STD else None  # larger values share the last bin

    def add(self, chunk: Chunk, answers: Answers) -> None:
        """Add rows, and the model's answers for them."""
        if self._unseen is not None:
            self._unseen.add(unseen_share(self._learner, chunk.values, chunk.indices, chunk.indptr))
        if self._std is not None and answers.variances is not None:
            self._std.add((spread(answers.variances, answers.scores) > self._most).astype(np.uint8))

    @property
    def alarms(self) -> list[Alarm]:
        """The alarms, in the order of their rows."""
        found = [alarm for rises in (self._unseen, self._std) if rises is not None for alarm in rises.alarms]
        return sorted(found, key=lambda alarm: alarm.first)

"""Answers of a model for the rows of a chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._inputs import Floats
from ..stream import Chunk
from .learner import ClassLearner, Learner

_SCORES = 1 << 20  # at a time: each takes some tens of bytes on its way out


@dataclass(frozen=True)
class Answers:
    """A row for each row of a chunk."""

    chosen: npt.NDArray[np.intp]  # the position of the predicted label in classes_
    scores: Floats  # a column per head: one head for two classes
    probabilities: Floats  # a column for each class
    confidence: Floats  # that the predicted label is right
    variances: Floats | None = None  # of the scores, if the learner knows them

    @property
    def score(self) -> Floats:
        """The score of the second of two classes, otherwise of the predicted class."""
        if self.scores.shape[1] == 1:
            return self.scores[:, 0]
        best: Floats = self.scores[np.arange(len(self.chosen)), self.chosen]
        return best


def answerable(learner: Learner, chunk: Chunk) -> Iterator[Chunk]:
    """The rows in parts of as many as are answered at a time: fewer where there are very many classes.

    A chunk has more than 100,000 rows if they are short, and each has a score for each class.
    """
    n = len(chunk)
    size = max(1, _SCORES // max(len(learner.labels), 1))
    if n <= size:
        yield chunk
        return
    for start in range(0, n, size):
        stop = min(start + size, n)
        yield replace(chunk.part(start, stop), end=replace(chunk.end, rows=chunk.end.rows - (n - stop)))


def answer(learner: ClassLearner, chunk: Chunk) -> Answers:
    """Predict the rows of a chunk.

    Of features that the model has never seen nothing is known: they have no weight, and the variance that every
    feature starts with.
    """
    scores, variances = learner.judge_rows(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
    probabilities, confidence = learner.probabilities(scores, variances), learner.confidences(scores, variances)
    return Answers(learner.chosen(scores), scores, probabilities, confidence, variances)

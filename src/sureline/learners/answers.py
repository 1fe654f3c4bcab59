"""Answers of a model for the rows of a chunk."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..stream import Chunk
from .learner import ClassLearner

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """A row for each row of a chunk."""

    chosen: npt.NDArray[np.intp]  # the position of the predicted label in classes_
    scores: Floats  # a column for each head: one if there are two classes
    probabilities: Floats  # a column for each class
    confidence: Floats  # that the predicted label is right
    variances: Floats | None = None  # of the scores, if the learner knows them

    @property
    def score(self) -> Floats:
        """Of the second class if there are two, else of the predicted one."""
        if self.scores.shape[1] == 1:
            return self.scores[:, 0]
        best: Floats = self.scores[np.arange(len(self.chosen)), self.chosen]
        return best


def answer(learner: ClassLearner, chunk: Chunk) -> Answers:
    """Predict the rows of a chunk.

    Of features that the model has never seen nothing is known: they have no weight, and the variance that every
    feature starts with.
    """
    scores, variances = learner.judge_rows(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
    probabilities, confidence = learner.probabilities(scores, variances), learner.confidences(scores, variances)
    return Answers(learner.chosen(scores), scores, probabilities, confidence, variances)

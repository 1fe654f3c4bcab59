"""What a model says of the rows of a chunk."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from . import _core
from ._learner import Learner
from ._state import COVARIANCE_SCALE
from .stream import Chunk

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Answers:
    """A row for each row of a chunk."""

    chosen: npt.NDArray[np.intp]  # the position of the predicted label in classes_
    scores: Floats  # a column for each head: one if there are two classes
    probabilities: Floats | None  # a column for each class, if the learner has them
    confidence: Floats | None  # that the predicted label is right, if the learner has probabilities

    @property
    def score(self) -> Floats:
        """Of the second class if there are two, else of the predicted one."""
        if self.scores.shape[1] == 1:
            return self.scores[:, 0]
        best: Floats = self.scores[np.arange(len(self.chosen)), self.chosen]
        return best


def answer(learner: Learner, chunk: Chunk) -> Answers:
    """Predict the rows of a chunk.

    Of features that the model has never seen nothing is known: they have no weight, and the variance that every
    feature starts with.
    """
    state = learner._fitted_state("answers")
    if chunk.values.dtype != state.dtype:
        chunk = replace(chunk, values=chunk.values.astype(state.dtype))
    rows, beyond = _within(chunk, state.n_columns, wide=state.factors is not None)
    scores = learner._scores(rows)
    variances = None
    if learner.has_variances:
        prior = state.prior * state.memory[:, COVARIANCE_SCALE]
        variances = state.variances(rows) + (0.0 if beyond is None else beyond[:, np.newaxis] * prior)
    if not learner.has_probabilities:
        return Answers(learner.chosen(scores), scores, None, None)
    probabilities, confidence = learner.probabilities(scores, variances), learner.confidences(scores, variances)
    return Answers(learner.chosen(scores), scores, probabilities, confidence)


def _within(chunk: Chunk, n_columns: int, *, wide: bool) -> tuple[_core.Rows, Floats | None]:
    """The rows without the columns beyond the first `n_columns`, and the sums of squares of what was left out.

    With `wide` the rows count as that wide, which a full covariance needs.
    """
    width = n_columns if wide else None
    if chunk.n_columns <= n_columns:
        return chunk.rows(width), None
    here = chunk.indices < n_columns
    row_of = np.repeat(np.arange(chunk.n_rows), np.diff(chunk.indptr))
    squares = chunk.values[~here].astype(np.float64) ** 2
    beyond = np.bincount(row_of[~here], weights=squares, minlength=chunk.n_rows).astype(np.float64)
    starts = np.concatenate([[0], np.cumsum(np.bincount(row_of[here], minlength=chunk.n_rows))]).astype(np.int32)
    rows = _core.Rows.csr(chunk.values[here], chunk.indices[here], starts, chunk.n_rows, n_columns)
    return rows, beyond

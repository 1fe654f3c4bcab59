"""Errors of a regressor on a stream of labelled rows, in bounded memory."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .._inputs import Floats
from ..learners.regression import TargetLearner
from ..stream import Chunk
from ..stream.chunk import keep_rows
from ..stream.classes import targets_of
from ..stream.schema import Schema


class Residuals:
    """Errors of a regressor on labelled rows, added chunk by chunk."""

    def __init__(self, learner: TargetLearner, file: str = "the data") -> None:
        self.learner = learner
        self.file = file  # source of the rows, for error messages
        schema = learner.origin.options.get("schema")
        self._schema = None if schema is None else Schema.from_dict(schema)
        self.examples = 0
        self._rows = 0
        self._squares = self._sizes = 0.0  # of the residuals
        self._mean = self._spread = 0.0  # of the targets: their mean, and the sum of the squared distances from it

    def add(self, chunk: Chunk) -> None:
        """Judge the rows that have a label."""
        labelled = keep_rows(chunk, chunk.labels[0] >= 0)
        targets = targets_of(labelled, self.file, self._rows, self._schema)
        scores, _ = self.learner.judge_rows(labelled.values, labelled.indices, labelled.indptr, labelled.n_columns)
        self._rows += chunk.n_rows
        if len(targets):
            self._count(targets, targets - scores[:, 0])

    def _count(self, targets: Floats, residuals: Floats) -> None:
        n, before = len(targets), self.examples
        self.examples += n
        self._squares += float(np.square(residuals).sum())
        self._sizes += float(np.abs(residuals).sum())
        # The merged spread comes from the spreads and means of both parts; unlike sums of squares, it does not cancel.
        mean = float(targets.mean())
        self._spread += float(np.square(targets - mean).sum()) + (mean - self._mean) ** 2 * before * n / self.examples
        self._mean += (mean - self._mean) * n / self.examples

    def result(self) -> dict[str, Any]:
        """All measures by name. r2 is None if all targets are equal."""
        n = max(self.examples, 1)
        return {
            "examples": self.examples,
            "mean_squared_error": self._squares / n,
            "root_mean_squared_error": sqrt(self._squares / n),
            "mean_absolute_error": self._sizes / n,
            "r2": 1 - self._squares / self._spread if self._spread > 0 else None,
        }

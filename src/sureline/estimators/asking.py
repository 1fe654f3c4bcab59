"""Estimators that learn from a part of a stream's labels, which they choose."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import checked_sample_weight
from .._native import _core
from ..learners.asking import Asking
from ..models.rows import as_rows
from .checking import validated
from .online import OnlineClassifier


def learn_asking(
    estimator: OnlineClassifier, asking: Asking, X: Any, y: Any, classes: Any = None, sample_weight: Any = None
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Predict the rows of X in turn, and learn from those whose label is worth asking for.

    Like `partial_fit`, but only some rows have labels. The columns of each row of X ascend. If a row is refused, the
    estimator is no longer usable.

    Returns
    -------
    wrong : array of shape (n_samples,)
        True where the label was predicted wrongly, before the row was learned from.
    asked : array of shape (n_samples,)
        The probability with which its label was asked for; 0 where it was not.
    """
    estimator.check_parameters()
    first = not estimator.has_begun
    X, y = validated(estimator, X, y, reset=first)
    begin_with = estimator._known_classes(classes, first)
    known, labels = estimator._labels_of(y, begin_with)
    if first:
        estimator.begin(begin_with, X.shape[1])
    dtype = estimator.model.dtype

    def rows(width: int | None) -> _core.Rows:
        return estimator.normalizer.to_learn(as_rows(X, dtype, width))

    weight = checked_sample_weight(sample_weight, X.shape[0])
    predicted, asked = estimator.take_asking(asking, rows, X.shape[1], labels, weight)
    estimator.classes_ = known
    return predicted != labels, asked

"""The scikit-learn contract around a learner of targets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d

from .._inputs import checked_sample_weight
from ..learners.regression import TargetLearner, as_targets
from .base import OnlineEstimator, with_columns_in_order


class OnlineRegressor(RegressorMixin, OnlineEstimator, TargetLearner):  # type: ignore[misc]
    """A learner of targets with a rule, as an estimator."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn from the rows of X, `passes` times over.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            The targets, finite numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            The loss of an example counts this many times in the objective of its step. 0 is as if the example had
            not come.
        """
        with self._all_or_nothing():
            self.check_parameters()
            X, targets = self._with_targets(X, y, reset=True)
            weight = self._weights_to_fit(sample_weight, X.shape[0])
            orders = self._orders(X.shape[0])
            no_labels = np.zeros(len(targets), np.int32)
            state, normalizer = with_columns_in_order(
                X, lambda X: self._passes_over(X, 1, no_labels, weight, orders, targets)
            )
            self.n_features_in_ = X.shape[1]
            self._state, self._normalizer = state, normalizer
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from more rows, once each and in their order.

        Many calls with parts of a stream give the same bits as one call with all of it. A call that refuses its input
        leaves the model exactly as it was; one that is interrupted, as it was or as it would have been.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        sample_weight : array-like of shape (n_samples,), default=None
        """
        with self._all_or_nothing():
            self.check_parameters()
            first = not hasattr(self, "_state")
            X, targets = self._with_targets(X, y, reset=first)
            weight = checked_sample_weight(sample_weight, X.shape[0])
            if first:
                self._normalizer = self._fresh_normalizer()
            state = with_columns_in_order(X, lambda X: self._go_on(*self._rows_of(X), targets, weight))
            self._state = state
            self.n_features_in_ = state.n_columns
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """The prediction for each row, of shape (n_samples,)."""
        predictions: npt.NDArray[np.float64] = self._judge(X)[0][:, 0]
        return predictions

    def _with_targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, npt.NDArray[np.float64]]:
        self._refuse_missing(y)
        X = self._validated(X, reset=reset)
        if np.asarray(y).dtype.kind == "c":
            raise ValueError("Complex data not supported: y must be real numbers.")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, as_targets(y)

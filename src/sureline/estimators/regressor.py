"""The scikit-learn contract around a learner of targets."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._inputs import Floats, checked_sample_weight
from ..learners.guarded import asks, teaching
from ..learners.origin import Origin
from ..learners.regression import TargetLearner, as_targets
from .base import (
    all_or_nothing,
    read_examples,
    refuse_missing,
    validated,
    weights_to_fit,
    with_columns_in_order,
    with_sparse_input,
)
from .online import orders_of, passes_over, rows_of


class OnlineRegressor(RegressorMixin, BaseEstimator, TargetLearner):  # type: ignore[misc]  # no types
    """A learner of targets with a rule, as an estimator."""

    def __sklearn_is_fitted__(self) -> bool:
        return self.has_begun

    def __sklearn_tags__(self) -> Any:
        return with_sparse_input(super().__sklearn_tags__())

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
        with all_or_nothing(self):
            self.check_parameters()
            X, targets = self._with_targets(X, y, reset=True)
            self.origin = Origin()
            weight = weights_to_fit(sample_weight, X.shape[0])
            orders = orders_of(self, (targets > np.median(targets)).astype(np.int32))
            no_labels = np.zeros(len(targets), np.int32)
            state, normalizer = with_columns_in_order(
                X, lambda X: passes_over(self, X, 1, no_labels, weight, orders, targets)
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
        with all_or_nothing(self):
            self.check_parameters()
            first = not hasattr(self, "_state")
            X, written = read_examples(self, X)
            X, targets = self._with_targets(X, y, reset=first)
            weight = checked_sample_weight(sample_weight, X.shape[0])
            if first:
                self._normalizer = self.fresh_normalizer()
            state = with_columns_in_order(X, lambda X: self.go_on(*rows_of(self, X), targets, weight))
            self._state = state
            self.n_features_in_ = state.n_columns
            self.origin.learned(written)
        return self

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name. Waits for a call that learns."""
        with teaching(self):
            super().set_params(**parameters)
        return self

    @asks
    def predict(self, X: Any) -> Floats:
        """The prediction for each row, of shape (n_samples,)."""
        check_is_fitted(self)
        scores = with_columns_in_order(validated(self, X), lambda X: self.judge(X, variances=False)[0])
        return scores[:, 0]

    def _with_targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Floats]:
        refuse_missing(self, y)
        X = validated(self, X, reset=reset)
        if np.asarray(y).dtype.kind == "c":
            raise ValueError("Complex data not supported: y must be real numbers.")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, as_targets(y)

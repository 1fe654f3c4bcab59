"""The scikit-learn contract around a learner of targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from .._inputs import Floats, checked_sample_weight, refuse_masked
from ..learners.explanation import Explanation
from ..learners.guarded import asks, teaching
from ..learners.origin import Origin
from ..learners.regression import TargetLearner, as_targets
from ..models.rows import as_rows, in_dtype
from ..models.scaling import Normalizer
from ..models.state import State
from .checking import (
    all_or_nothing,
    explained,
    read_examples,
    refuse_missing,
    validated,
    weights_to_fit,
    with_columns_in_order,
    with_sparse_input,
)
from .display import fitted_attributes, names_for_users
from .online import orders_of, rows_of


class OnlineRegressor(RegressorMixin, BaseEstimator, TargetLearner):  # type: ignore[misc]  # no types
    """A learner of targets with a rule, as an estimator."""

    __dir__ = names_for_users
    _get_fitted_attr_html = fitted_attributes

    def __sklearn_is_fitted__(self) -> bool:
        return self.has_begun

    def __sklearn_tags__(self) -> Any:
        return with_sparse_input(super().__sklearn_tags__())

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch on the rows of X, in `passes` passes.

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
            state, normalizer = with_columns_in_order(X, lambda X: self._passes(X, targets, weight, orders))
            self.n_features_in_ = X.shape[1]
            self._state, self._normalizer = state, normalizer
        return self

    def _passes(self, X: Any, targets: Floats, weight: Any, orders: list[Any]) -> tuple[State, Normalizer]:
        """A fresh state that has learned the rows in these orders, and its normalizer."""
        state, normalizer = self.fresh_state(X.shape[1]), self.fresh_normalizer()
        centres = _centres(X, weight) if self.centres_columns else None
        if self.scales_at_once or centres is not None:
            centred = X if centres is None else X - centres
            rows = as_rows(normalizer.learn_all(in_dtype(centred, state.dtype), weight), state.dtype)
        else:
            rows = normalizer.to_learn(as_rows(X, self.dtype))
        self.target_scale = self.fresh_target_scale()
        for order in orders:
            self.learn_targets(state, rows, targets, weight, order, journal=False)
        if centres is not None:
            normalizer = self._uncentred(state, normalizer, X, weight, centres)
        return state, normalizer

    def _uncentred(self, state: State, centred: Normalizer, X: Any, weight: Any, centres: Floats) -> Normalizer:
        """Let a state that has learned from centred columns be one of the columns as they are, which are divided so."""
        normalizer, columns = self.fresh_normalizer(), np.arange(X.shape[1])
        normalizer.learn_all(in_dtype(X, state.dtype), weight)
        sizes = centred.sizes(columns)
        state.uncentre(centres / sizes, normalizer.sizes(columns) / sizes)
        return normalizer

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Continue training with more rows, in one pass and in their order.

        Many calls with parts of a stream give the same bits as one call with all of it. A call that refuses its input
        leaves the model as it was. An interrupted call leaves it as it was, or complete.

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
    def explain(self, X: Any, n: int | None = None) -> list[Explanation]:
        """Contributions of features to the score of each row of X, the largest first.

        Contributions, intercept and rest sum to the predicted number.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or a list of examples as its stream had them
        n : int, default=None
            Contributions of a row at most; None for all that are not zero.

        Returns
        -------
        list of Explanation
        """
        return explained(self, X, n)

    @asks
    def predict(self, X: Any) -> Floats:
        """Predict the target of each row, of shape (n_samples,)."""
        check_is_fitted(self)
        scores = with_columns_in_order(validated(self, X), lambda X: self.judge(X, variances=False)[0])
        return scores[:, 0]

    def _with_targets(self, X: Any, y: Any, *, reset: bool) -> tuple[Any, Floats]:
        refuse_missing(self, y)
        X = validated(self, X, reset=reset)
        refuse_masked("y", y)
        if np.asarray(y).dtype.kind == "c":
            raise ValueError("Complex data not supported: y must be real numbers.")
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        return X, as_targets(y)


def _centres(X: Any, weight: Any) -> Floats | None:
    """The means of dense columns; None of sparse ones, and of numbers that are too large to be added up."""
    if not isinstance(X, np.ndarray):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        centres: Floats = np.average(X.astype(np.float64, copy=False), axis=0, weights=weight)
        spread = np.abs(X - centres).max(axis=0)
    return centres if np.isfinite(centres).all() and np.isfinite(spread).all() else None


class GaussianRegressor(OnlineRegressor):
    """A regressor with a covariance of its weights."""

    if TYPE_CHECKING:  # attributes of its learner

        def standard_deviations(self, variances: Floats) -> Floats: ...

    @asks
    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Predict the target of each row, of shape (n_samples,); with `return_std` also its standard deviation."""
        return (super().predict(X), self.predict_std(X)) if return_std else super().predict(X)

    @asks
    def predict_std(self, X: Any) -> Floats:
        """Standard deviation of the target of each row, from the noise and the uncertainty of the weights."""
        check_is_fitted(self)
        variances = with_columns_in_order(validated(self, X), lambda X: self.judge(X, variances=True)[1])
        assert variances is not None
        return self.standard_deviations(variances)

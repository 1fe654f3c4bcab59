"""The scikit-learn contract around a learner with a rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .._inputs import Ints, checked_sample_weight, class_indices, is_sparse
from .._native import _core
from ..learners.class_weight import Weighing, weighing_all
from ..learners.online import OnlineLearner
from ..learners.rule import RuleLearner
from ..models.rows import as_rows
from ..models.scaling import Normalizer
from ..models.state import State
from .base import Classifier
from .checking import all_or_nothing, read_examples, shuffles, validated, with_columns_in_order


class OnlineClassifier(Classifier, OnlineLearner):
    """A learner of classes with a rule, as an estimator."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch on the rows of X, in `passes` passes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more classes, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            The loss of an example counts this many times in the objective of its step. 0 is as if the example had
            not come.
        """
        with all_or_nothing(self):
            self.check_parameters()
            X, y, classes, weight = self._all_to_learn_from(X, y, sample_weight)
            self.refuse_classes(len(classes))
            labels = class_indices(y, classes)
            orders, weighing = (
                orders_of(self, labels),
                weighing_all(self.class_weight, classes.tolist(), labels, weight),
            )
            state, normalizer = with_columns_in_order(
                X, lambda X: passes_over(self, X, len(classes), labels, weight, orders, weighing)
            )
            self.n_features_in_ = X.shape[1]
            self.classes_ = classes
            self._state, self._normalizer = state, normalizer
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with more rows, in one pass and in their order.

        Many calls with parts of a stream give the same bits as one call with all of it. A call that refuses its input
        leaves the model as it was. An interrupted call leaves it as it was, or complete.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will ever come. The first call needs it, unless `growing` is set: then a class exists from
            the row on that first carries it, and `classes_` is in that order.
        sample_weight : array-like of shape (n_samples,), default=None
        """
        with all_or_nothing(self):
            self.check_parameters()
            first = not hasattr(self, "_state")
            X, written = read_examples(self, X)
            X, y = validated(self, X, y, reset=first)
            known = self._known_classes(classes, first)
            n_known = len(known)
            known, labels = self._labels_of(y, known)
            self._refuse_strange_weights(known)
            weight = checked_sample_weight(sample_weight, X.shape[0])
            if first:
                self._normalizer = self.fresh_normalizer()
            state = with_columns_in_order(X, lambda X: self.go_on(*rows_of(self, X), labels, n_known, known, weight))
            self.classes_ = known
            self._state = state
            self.n_features_in_ = state.n_columns
            self.origin.learned(written)
        return self


def orders_of(learner: RuleLearner, labels: Any) -> list[Ints | None]:
    """The order of the rows in each pass; None for the given order."""
    rng = shuffles(learner, labels, depth=1)
    if rng is None:
        return [None] * learner.passes
    return [rng.permutation(len(labels)).astype(np.int64) for _ in range(learner.passes)]


def passes_over(
    learner: RuleLearner,
    X: Any,
    n_classes: int,
    labels: Any,
    weight: Any,
    orders: list[Any],
    weighing: Weighing,
) -> tuple[State, Normalizer]:
    """A fresh state that has learned the rows in these orders, and its normalizer."""
    state, normalizer = learner.fresh_state(X.shape[1], n_classes), learner.fresh_normalizer()
    rule, costs = learner.rule, learner.costs
    rows = normalizer.to_learn(as_rows(X, learner.dtype))
    for k, order in enumerate(orders):
        state.learn(rule, rows, labels, weight, order, False, costs, record=k == 0, weighing=weighing)
    return state, normalizer


def rows_of(learner: RuleLearner, X: Any) -> tuple[Callable[[int | None], _core.Rows], int, int]:
    """Arguments of `go_on`: a function that makes rows of X, their width, and their number of values."""
    dtype = learner.model.dtype if learner.has_begun else np.dtype(learner.dtype)
    nonzeros = int(np.size(X.data if is_sparse(X) else X))

    def rows(width: int | None) -> _core.Rows:
        return learner.normalizer.to_learn(as_rows(X, dtype, width), undoable=True)

    return rows, X.shape[1], nonzeros

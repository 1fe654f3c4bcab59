"""The scikit-learn contract around a learner that takes its rows in batches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._inputs import checked_sample_weight, class_indices
from ..learners.batch import BatchLearner, checked_rows
from ..learners.class_weight import weighing_all
from ..models.device.exchange import on_host
from ..models.device.rows import DeviceRows
from ..models.rows import with_own_columns
from .base import Classifier
from .checking import all_or_nothing, read_examples, shuffles, validated


class BatchClassifier(Classifier, BatchLearner):
    """A batch learner as an estimator. Learners that go `by_rows`, such as `KernelSCW`, ignore batch limits."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch on the rows of X as one batch, or row by row in their order (`KernelSCW`).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more classes, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            `C` of an example is multiplied by this. 0 is as if the example had not come.
        """
        with all_or_nothing(self):
            self.check_parameters()
            X, y, classes, weight = self._all_to_learn_from(X, on_host(y), on_host(sample_weight))
            self.begin(classes, X.shape[1])
            labels = class_indices(y, classes)
            weighing, rng = weighing_all(self.class_weight, classes.tolist(), labels, weight), shuffles(self, labels)
            if rng is not None:
                order = rng.permutation(len(labels))
                X, labels, weight = X[order], labels[order], None if weight is None else weight[order]
            self.take_batch(X, labels, weight, weighing)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one more batch. A call that refuses its input leaves the model unchanged.

        The rows of a call are one batch: two calls with half of the rows each are two batches, which is another model.
        `KernelSCW` learns from each row once, in order. Many calls give the bits of one call, as long as no column is
        new and a kernel function's value for a pair does not depend on other rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            A batch may lack classes, and may be of one class alone.
        classes : array-like, default=None
            All classes that will ever come. The first call needs it, unless `growing` is set: then new labels become
            classes with the batch (or row) that brings them, and `classes_` is in the order of their appearance.
        sample_weight : array-like of shape (n_samples,), default=None
        """
        with all_or_nothing(self):
            self.check_parameters()
            first = not hasattr(self, "_state")
            X, written = read_examples(self, X)
            X, y = validated(self, X, on_host(y), reset=first)
            given = self._known_classes(classes, first)
            known, labels = self._labels_of(y, given)
            weight = checked_sample_weight(on_host(sample_weight), X.shape[0])
            if first:
                self.begin(given if self.by_rows else known, X.shape[1])
            self._refuse_strange_weights(known)
            self.take_batch(X, labels, weight, self.weighing(len(known), known))
            self.classes_ = known
            self.origin.learned(written)
        return self

    def _judge(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        scores, v = self._judge_there(X, variances=variances)
        return on_host(scores), on_host(v)

    def _judge_there(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        check_is_fitted(self)
        X = validated(self, X)
        if isinstance(X, DeviceRows):
            there: tuple[Any, Any] = self.judge_on_device(X, variances=variances)
            return there
        with np.errstate(all="ignore"):
            return self.judge(checked_rows(with_own_columns(X)), variances=variances)

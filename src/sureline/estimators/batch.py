"""The scikit-learn contract around a learner that takes its rows in batches."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._inputs import checked_sample_weight, class_indices
from ..learners.batch import BatchLearner, checked_rows
from .base import Classifier, all_or_nothing, validated


class BatchClassifier(Classifier, BatchLearner):
    """A learner of batches as an estimator."""

    _classes_come_with_their_rows: ClassVar[bool] = False  # or with the call that brings them

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn from the rows of X as one batch.

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
            X, y, classes, weight = self._all_to_learn_from(X, y, sample_weight)
            self.begin(classes, X.shape[1])
            self.take_batch(X, class_indices(y, classes), weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from one more batch. A call that refuses its input leaves the model exactly as it was.

        The rows of a call are one batch: two calls with half of the rows each are two batches, which is another model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            A batch may lack classes, and may be of one class alone.
        classes : array-like, default=None
            All classes that will ever come. The first call needs it, unless `growing` is set: then new labels become
            classes with the batch that brings them, and `classes_` is in the order of their appearance.
        sample_weight : array-like of shape (n_samples,), default=None
        """
        with all_or_nothing(self):
            self.check_parameters()
            first = not hasattr(self, "_state")
            X, y = validated(self, X, y, reset=first)
            given = self._known_classes(classes, first)
            known, labels = self._labels_of(y, given)
            weight = checked_sample_weight(sample_weight, X.shape[0])
            if first:
                self.begin(given if self._classes_come_with_their_rows else known, X.shape[1])
            self.take_batch(X, labels, weight)
            self.classes_ = known
        return self

    def _judge(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        check_is_fitted(self)
        X = checked_rows(validated(self, X))
        with np.errstate(all="ignore"):
            return self.judge(X, variances=variances)


class KernelClassifier(BatchClassifier):
    """A learner with a kernel, as an estimator. A call is no batch to it: it goes over rows one after the other."""

    _classes_come_with_their_rows = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn from the rows of X, once each and in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more classes, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            `C` of an example is multiplied by this. 0 is as if the example had not come.
        """
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, once each and in their order.

        Many calls with parts of a stream give the same bits as one call with all of it, as long as no columns are new
        and, if the kernel is a function, its values of a pair of rows do not depend on the others. A call that refuses
        its input leaves the model exactly as it was.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will ever come. The first call needs it, unless `growing` is set: then a class exists from
            the row on that first carries it, and `classes_` is in that order.
        sample_weight : array-like of shape (n_samples,), default=None
        """
        return super().partial_fit(X, y, classes, sample_weight)

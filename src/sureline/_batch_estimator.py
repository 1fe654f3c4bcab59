"""The scikit-learn contract around a learner that takes its rows in batches."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ._batch import BatchLearner, checked_rows
from ._estimator import Classifier, GaussianAnswers
from ._rows import checked_sample_weight, class_indices


class BatchClassifier(Classifier, BatchLearner):
    """A learner of batches as an estimator."""

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
        with self._all_or_nothing():
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
        with self._all_or_nothing():
            self.check_parameters()
            first = not hasattr(self, "_state")
            X, y = self._validated(X, y, reset=first)
            known, labels = self._labels_of(y, self._known_classes(classes, first))
            weight = checked_sample_weight(sample_weight, X.shape[0])
            if first:
                self.begin(known, X.shape[1])
            self.take_batch(X, labels, weight)
            self.classes_ = known
        return self

    def _judge(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        check_is_fitted(self)
        X = checked_rows(self._validated(X))
        with np.errstate(all="ignore"):
            return self.judge(X, variances=variances)


class GaussianBatchClassifier(GaussianAnswers, BatchClassifier):
    """A learner of batches whose weights have a covariance, as an estimator."""

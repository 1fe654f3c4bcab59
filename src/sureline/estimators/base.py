"""The base of all estimators: scikit-learn's checks of their input, and the answers of the classifiers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_X_y
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._inputs import Array, checked_sample_weight, class_indices, refuse_corrupt_sparse, sorted_classes
from ..learners.learner import ClassLearner, Learner
from ..models.rows import UnsortedColumns, tidy

Result = TypeVar("Result")


def validated(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = False) -> Any:
    """X (and y) as arrays, by scikit-learn's rules, except that the values of X are left to the core's check."""
    refuse_missing(estimator, y)
    refuse_corrupt_sparse(X)
    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "accept_large_sparse": True,
        "dtype": [np.float64, np.float32],
        "order": "C",
        "ensure_all_finite": False,
        "reset": reset,
    }
    if getattr(
        estimator, "growing", False
    ):  # any width is welcome, so nothing is compared with n_features_in_ or feature names
        del options["reset"]
        return check_array(X, **options) if isinstance(y, str) else check_X_y(X, y, **options)
    return validate_data(estimator, X, y, **options)


def refuse_missing(estimator: Learner, y: Any) -> None:
    """Raise ValueError if there is no y."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")


@contextmanager
def all_or_nothing(estimator: Learner) -> Iterator[None]:
    """Leave the model as it was if the input is refused, or the call interrupted."""
    before = estimator.__dict__.copy()
    normalizer, state = estimator.normalizer, before.get("_state")
    normalizer.commit()
    examples = None if state is None else state.tally.sum()
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        if state is None or state.tally.sum() == examples:  # else it came too late to stop anything
            normalizer.undo()
        raise


def weights_to_fit(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64] | None:
    """Checked sample weights for `fit`."""
    weight = checked_sample_weight(sample_weight, n_rows)
    if weight is not None and not weight.any():
        raise ValueError("sample_weight is zero for every row, which leaves nothing to learn from.")
    return weight


def with_sparse_input(tags: Any) -> Any:
    """scikit-learn's tags of an estimator that takes sparse matrices."""
    tags.input_tags.sparse = True
    return tags


class Classifier(ClassifierMixin, BaseEstimator, ClassLearner):  # type: ignore[misc]  # scikit-learn has no types
    """A learner of classes as an estimator."""

    def __sklearn_is_fitted__(self) -> bool:
        return self.has_begun

    def __sklearn_tags__(self) -> Any:
        return with_sparse_input(super().__sklearn_tags__())

    # -- answers ---------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> npt.NDArray[np.float64]:
        """The score of each row: of the class ``classes_[1]`` if there are two, else one for each class.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        scores: npt.NDArray[np.float64] = self._judge(X)[0]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """The class of each row. A score of exactly 0 is the first class of two; of equal scores the first wins."""
        best = self.chosen(self._judge(X)[0])
        labels: Array = self.classes_[best]
        return labels

    @available_if(lambda self: self.has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, of shape (n_samples, n_classes), which is what ``loss="log"`` learns.

        1 / (1 + exp(-f)) for the score f of the second of two classes. With more, each class is compared with its best
        rival in this way, and the row is scaled to sum to one.
        """
        return self.probabilities(*self._judge(X))

    def _judge(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        """Scores of the rows of X, and their variances if those are asked for; one column for each head.

        Only with `growing` can X have more columns than the model. Nothing was learned about those: they have no
        weight, and the variance that every feature starts with.
        """
        check_is_fitted(self)
        return with_columns_in_order(validated(self, X), lambda X: self.judge(X, variances=variances))

    # -- classes ---------------------------------------------------------------------------------------------

    def _all_to_learn_from(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array, Any]:
        """The checked input of `fit` and its classes: X, y, classes, weights."""
        X, y = validated(self, X, y, reset=True)
        classes = sorted_classes(y)
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        if len(classes) < 2 and not self.growing:
            raise ValueError(
                f"{type(self).__name__} needs examples of at least 2 classes. Got one class, {classes.tolist()}; "
                "with growing=True, or with partial_fit and classes=[...], the others may come later."
            )
        return X, y, classes, weights_to_fit(sample_weight, X.shape[0])

    def _known_classes(self, classes: Any, first: bool) -> Array:
        given = None if classes is None else sorted_classes(np.asarray(classes))
        if not first:
            if given is not None and not np.array_equal(given, self.classes_) and not self.growing:
                raise ValueError(
                    f"classes={given.tolist()} is not what the first call of partial_fit got: {self.classes_.tolist()}."
                )
            return self.classes_ if given is None else self._with_new_classes(self.classes_, given)
        if given is None:
            if not self.growing:
                raise ValueError("classes must be passed to the first call of partial_fit, unless growing=True.")
            self._refuse_unnamed_classes()
            return np.empty(0)
        if len(given) < 2 and not self.growing:
            raise ValueError(f"classes must name at least 2 classes. Got {given.tolist()} instead.")
        return given

    def _labels_of(self, y: Array, known: Array) -> tuple[Array, npt.NDArray[np.int32]]:
        """The classes with those that are new in y, if the learner may grow, and the position of each label in them."""
        labels = class_indices(y, known)
        if (labels < 0).any():
            row = int(np.argmax(labels < 0))
            if not self.growing:
                raise ValueError(
                    f"y has the label {y.tolist()[row]!r} in row {row}, which is not among the classes "
                    f"{known.tolist()}; name all classes in the first call of partial_fit, or set growing=True."
                )
            sorted_classes(y)  # refuses what cannot be
            check_classification_targets(y)
            known = self._with_new_classes(known, y[labels < 0])
            labels = class_indices(y, known)
        return known, labels

    @staticmethod
    def _with_new_classes(known: Array, labels: Array) -> Array:
        """`known`, then the other labels in the order of their first appearance."""
        distinct, first_seen = np.unique(labels, return_index=True)
        distinct = distinct[np.argsort(first_seen)]
        if len(known) == 0:
            return distinct
        if distinct.dtype.kind != known.dtype.kind and not {distinct.dtype.kind, known.dtype.kind} <= set("biuf"):
            raise ValueError(
                f"y has labels of another type than the classes so far, {known.tolist()}. Got {distinct.tolist()[0]!r}."
            )
        return np.concatenate([known, distinct[~np.isin(distinct, known)]])


class GaussianAnswers(Classifier):
    """Answers of a learner whose weights have a covariance: how sure its scores are."""

    def decision_std(self, X: Any) -> npt.NDArray[np.float64]:
        """Standard deviation of the score, sqrt(x'Sx), in the shape of `decision_function`.

        Small where the features of the row have been seen often, whatever the score.
        """
        std: npt.NDArray[np.float64] = np.sqrt(self._judge(X, variances=True)[1])
        return std[:, 0] if std.shape[1] == 1 else std

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class under the distribution of the weights, of shape (n_samples, n_classes).

        With two classes Pr[M >= 0] = Phi(f / std) for the margin M of the second. With more, each class is compared
        with its best rival as in learning, Phi((f_k - f_rival) / sqrt(v_k + v_rival)), and the row is scaled to sum to
        one. The most probable class is always the predicted one. These are probabilities of the model, as sure as its
        covariance is; they are not calibrated on held-out data.
        """
        return self.probabilities(*self._judge(X, variances=True))

    def confidence(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability that the predicted label is the right one, rather than the other one or than its best rival.

        With two classes the largest entry of each row of `predict_proba`; with more, that of the comparison of the two
        best, so that it does not sink with the number of classes. Of the model, as there: good for ranking answers by
        how sure they are, but not calibrated on held-out data.
        """
        return self.confidences(*self._judge(X, variances=True))


def with_columns_in_order(X: Any, use: Callable[[Any], Result]) -> Result:
    """use(X), once more with tidied rows if it turns out that the columns of some row do not ascend."""
    try:
        return use(X)
    except UnsortedColumns:
        return use(tidy(X))

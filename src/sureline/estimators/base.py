"""What all online estimators share, and the classifiers: the scikit-learn contract around a stream of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._inputs import Array, checked_sample_weight, class_indices, distinct, refuse_corrupt_sparse
from .._native import _core
from ..learners.learner import ClassLearner, Learner
from ..learners.one import OnlineLearner
from ..learners.online import RuleLearner
from ..models.numbers import COVARIANCE_SCALE
from ..models.rows import UnsortedColumns, as_rows, in_dtype, tidy
from ..models.scaling import Normalizer
from ..models.state import State

Result = TypeVar("Result")


class Estimator(BaseEstimator, Learner):  # type: ignore[misc]  # scikit-learn has no types
    """A learner as an estimator: what is put before the learner of the same name in `estimators`."""

    @abstractmethod
    def _judge(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        """Scores of the rows of X, and their variances if those are asked for; one column for each head.

        Only with `growing` can X have more columns than the model. Nothing was learned about those: they have no
        weight, and the variance that every feature starts with.
        """

    # -- pieces ----------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _validated(self, X: Any, y: Any = "no_validation", *, reset: bool = False) -> Any:
        """X (and y) as arrays, by scikit-learn's rules, except that the values of X are left to the core's check."""
        self._refuse_missing(y)
        refuse_corrupt_sparse(X)
        options: dict[str, Any] = {
            "accept_sparse": "csr",
            "accept_large_sparse": True,
            "dtype": [np.float64, np.float32],
            "order": "C",
            "ensure_all_finite": False,
            "reset": reset,
        }
        if self.growing:  # any width is welcome, so nothing is compared with n_features_in_ or feature names
            del options["reset"]
            return check_array(X, **options) if isinstance(y, str) else check_X_y(X, y, **options)
        return validate_data(self, X, y, **options)

    def _refuse_missing(self, y: Any) -> None:
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """What refuses its input, or is interrupted, leaves the model as it was."""
        before = self.__dict__.copy()
        normalizer, state = self._normalizer, before.get("_state")
        normalizer.commit()
        examples = None if state is None else state.tally.sum()
        try:
            yield
        except BaseException:
            self.__dict__ = before
            if state is None or state.tally.sum() == examples:  # else it came too late to stop anything
                normalizer.undo()
            raise

    @staticmethod
    def _weights_to_fit(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64] | None:
        weight = checked_sample_weight(sample_weight, n_rows)
        if weight is not None and not weight.any():
            raise ValueError("sample_weight is zero for every row, which leaves nothing to learn from.")
        return weight


class Classifier(ClassifierMixin, Estimator, ClassLearner):  # type: ignore[misc]
    """A learner of classes as an estimator."""

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

    def _all_to_learn_from(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Array, Array, Any]:
        """What `fit` got, checked, and its classes: X, y, classes, weights."""
        X, y = self._validated(X, y, reset=True)
        classes = sorted_classes(y)
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        if len(classes) < 2 and not self.growing:
            raise ValueError(
                f"{type(self).__name__} needs examples of at least 2 classes. Got one class, {classes.tolist()}; "
                "with growing=True, or with partial_fit and classes=[...], the others may come later."
            )
        return X, y, classes, self._weights_to_fit(sample_weight, X.shape[0])

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
    """What a learner whose weights have a covariance tells of its scores."""

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


class OnlineEstimator(Estimator, RuleLearner):
    """A learner with a rule, as an estimator."""

    def _orders(self, n_rows: int) -> list[npt.NDArray[np.int64] | None]:
        """The order of the rows in each pass, or None where it is theirs."""
        if not self.shuffle:
            return [None] * self.passes
        rng = check_random_state(self.random_state)
        return [rng.permutation(n_rows).astype(np.int64) for _ in range(self.passes)]

    def _passes_over(
        self, X: Any, n_classes: int, labels: Any, weight: Any, orders: list[Any], targets: Any = None
    ) -> tuple[State, Normalizer]:
        """A fresh state that has learned from the rows in each of these orders, and what has divided them."""
        state, normalizer = self._fresh_state(X.shape[1], n_classes), self._fresh_normalizer()
        rule, costs = self._rule(), self._costs()
        rows = normalizer.to_learn(as_rows(X, self.dtype))
        for order in orders:
            state.learn(rule, rows, labels, weight, order, False, costs, targets)
        return state, normalizer

    def _rows_of(self, X: Any) -> tuple[Callable[[int | None], _core.Rows], int, int]:
        """For `_go_on`: what makes rows of X, how wide they are, and how many numbers they have."""
        dtype = self._state.dtype if hasattr(self, "_state") else np.dtype(self.dtype)
        nonzeros = int(np.size(X.data if sparse.issparse(X) else X))

        def rows(width: int | None) -> _core.Rows:
            return self._normalizer.to_learn(as_rows(X, dtype, width), undoable=True)

        return rows, X.shape[1], nonzeros

    def _judge(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        check_is_fitted(self)
        X = self._validated(X)
        state = self._state
        width = state.n_columns if state.factors is not None else None

        def judge(X: Any) -> tuple[Any, Any]:
            if self._normalizer.core is not None:
                X = self._normalizer.apply(in_dtype(X, state.dtype))
            beyond: Any = 0.0
            if X.shape[1] > state.n_columns:
                # Refuses what is wrong with X, before SciPy cuts it and some columns are left out.
                State("identity", state.dtype, X.shape[1], False).scores(as_rows(X, state.dtype))
                rest = X[:, state.n_columns :].astype(np.float64)
                squares = rest.multiply(rest) if sparse.issparse(rest) else np.square(rest)
                beyond = (
                    np.asarray(squares.sum(axis=1)).reshape(-1, 1) * state.prior * state.memory[:, COVARIANCE_SCALE]
                )
                X = X[:, : state.n_columns]
            rows = as_rows(X, state.dtype, width)
            scores = self._scores(rows)
            return scores, (state.variances(rows) + beyond if variances else None)

        return with_columns_in_order(X, judge)


class OnlineClassifier(Classifier, OnlineEstimator, OnlineLearner):
    """A learner of classes with a rule, as an estimator."""

    # -- learning --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn from the rows of X, `passes` times over.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more classes, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            The loss of an example counts this many times in the objective of its step. 0 is as if the example had
            not come.
        """
        with self._all_or_nothing():
            self.check_parameters()
            X, y, classes, weight = self._all_to_learn_from(X, y, sample_weight)
            self._refuse_classes(len(classes))
            labels = class_indices(y, classes)
            orders = self._orders(X.shape[0])
            state, normalizer = with_columns_in_order(
                X, lambda X: self._passes_over(X, len(classes), labels, weight, orders)
            )
            self.n_features_in_ = X.shape[1]
            self.classes_ = classes
            self._state, self._normalizer = state, normalizer
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more rows, once each and in their order.

        Many calls with parts of a stream give the same bits as one call with all of it. A call that refuses its input
        leaves the model exactly as it was; one that is interrupted, as it was or as it would have been.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will ever come. The first call needs it, unless `growing` is set: then a class exists from
            the row on that first carries it, and `classes_` is in that order.
        sample_weight : array-like of shape (n_samples,), default=None
        """
        with self._all_or_nothing():
            self.check_parameters()
            first = not hasattr(self, "_state")
            X, y = self._validated(X, y, reset=first)
            known = self._known_classes(classes, first)
            n_known = len(known)
            known, labels = self._labels_of(y, known)
            weight = checked_sample_weight(sample_weight, X.shape[0])
            if first:
                self._normalizer = self._fresh_normalizer()
            state = with_columns_in_order(
                X, lambda X: self._go_on(*self._rows_of(X), labels, n_known, len(known), weight)
            )
            self.classes_ = known
            self._state = state
            self.n_features_in_ = state.n_columns
        return self


class GaussianClassifier(GaussianAnswers, OnlineClassifier):
    """A learner with a rule whose weights have a covariance, as an estimator."""


def with_columns_in_order(X: Any, use: Callable[[Any], Result]) -> Result:
    """use(X), once more with tidied rows if it turns out that the columns of some row do not ascend."""
    try:
        return use(X)
    except UnsortedColumns:
        return use(tidy(X))


def sorted_classes(labels: Array) -> Array:
    try:
        return distinct(labels)
    except TypeError:
        types = sorted({type(label).__name__ for label in labels.tolist()})
        raise ValueError(f"The labels must all be of one type that can be sorted. Got {', '.join(types)}.") from None

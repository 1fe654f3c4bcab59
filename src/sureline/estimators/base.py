"""The base of all estimators: scikit-learn's checks of their input, and the answers of the classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._inputs import (
    Array,
    Floats,
    Labels,
    checked_sample_weight,
    class_indices,
    exact_labels,
    is_sparse,
    refuse_unfit,
    sorted_classes,
)
from ..learners.batch import BatchLearner
from ..learners.guarded import asks, teaching
from ..learners.learner import ClassLearner, Learner
from ..learners.origin import Origin
from ..learners.rule import RuleLearner
from ..models.rows import UnsortedColumns, tidy
from ..stream import Chunk
from ..stream.runs import LabelRuns, LabelRunsWarning

Result = TypeVar("Result")


def read_examples(estimator: Learner, X: Any) -> tuple[Any, Chunk | None]:
    """X as a matrix, and its chunk, if it holds texts, lines or dicts as the stream of the model had them."""
    origin = estimator.origin
    if not origin.options or not estimator.has_begun or is_sparse(X):
        return X, None
    if hasattr(X, "to_dicts"):  # of Polars
        examples = X.to_dicts()
    elif hasattr(X, "columns") and hasattr(X, "to_dict"):  # of pandas
        examples = [{k: v for k, v in row.items() if v == v} for row in X.to_dict("records")]
    else:
        examples = X.tolist() if hasattr(X, "tolist") and getattr(X, "ndim", 0) == 1 else X
    if not isinstance(examples, list | tuple) or not examples or not all(map(origin.reads, examples)):
        return X, None
    chunk = origin.chunk(examples, estimator.model.dtype)
    return chunk.X, chunk


def validated(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = False) -> Any:
    """X (and y) as arrays, by scikit-learn's rules, except that the values of X are left to the core's check."""
    refuse_missing(estimator, y)
    if not reset and isinstance(estimator, Learner):
        X, _ = read_examples(estimator, X)
    refuse_unfit(X)
    y = exact_labels(y)
    options: dict[str, Any] = {
        "accept_sparse": "csr",
        "accept_large_sparse": True,
        "dtype": [np.float64, np.float32],
        "order": "C",
        "ensure_all_finite": False,
        "reset": reset,
    }
    if getattr(estimator, "growing", False) or (not reset and _numbered(estimator)):
        # Any width is welcome, and no name is compared.
        del options["reset"]
        checked = check_array(X, **options) if isinstance(y, str) else check_X_y(X, y, **options)
    else:
        checked = validate_data(estimator, X, y, **options)
    if isinstance(y, str):
        return checked
    X, y = checked
    return X, np.array(y)  # a copy: nobody else can change it once it was looked at


def _numbered(estimator: Any) -> bool:
    """True of a model of LIBSVM text, whose files have as many columns as happen to occur in them."""
    return isinstance(estimator, Learner) and estimator.origin.numbered


def refuse_missing(estimator: Any, y: Any) -> None:
    """Raise ValueError if there is no y."""
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")


@contextmanager
def all_or_nothing(estimator: Learner) -> Iterator[None]:
    """Have the model for oneself, and leave it as it was if the input is refused, or the call interrupted."""
    with teaching(estimator):
        before = estimator.__dict__.copy()
        normalizer, state = estimator.normalizer, before.get("_state")
        normalizer.commit()
        examples = None if state is None else state.tally.sum()
        try:
            yield
        except BaseException:
            estimator.__dict__ = before | estimator.parameters()  # which others may set meanwhile
            if state is None or state.tally.sum() == examples:  # else it came too late to stop anything
                normalizer.undo()
            raise


def shuffles(learner: RuleLearner | BatchLearner, labels: Labels, *, depth: int = 0) -> Any:
    """The generator of the random order of the rows for `fit`; None if they come in their own.

    `depth` is how many functions are between this one and `fit`.
    """
    if isinstance(learner.shuffle, str):
        runs = LabelRuns.of(labels)
        if not runs.found:
            return None
        what = "The label changes" if isinstance(learner, ClassLearner) else "The target crosses its median"
        warnings.warn(
            f"{runs.in_words(what)}. A pass over them ends with the last ones alone, so {type(learner).__name__} takes "
            "them in random order. shuffle=True does so without this warning, and shuffle=False never.",
            LabelRunsWarning,
            stacklevel=3 + depth,
        )
        return check_random_state(0 if learner.random_state is None else learner.random_state)
    return check_random_state(learner.random_state) if learner.shuffle else None


def weights_to_fit(sample_weight: Any, n_rows: int) -> Floats | None:
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

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name. Waits for a call that learns."""
        with teaching(self):
            super().set_params(**parameters)
        return self

    # -- answers ---------------------------------------------------------------------------------------------

    @asks
    def decision_function(self, X: Any) -> Floats:
        """The score of each row: of the class ``classes_[1]`` if there are two, else one for each class.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        scores: Floats = self._judge(X)[0]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @asks
    def predict(self, X: Any) -> Array:
        """The class of each row. A score of exactly 0 is the first class of two; of equal scores the first wins."""
        best = self.chosen(self._judge(X)[0])
        labels: Array = self.classes_[best]
        return labels

    @asks
    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probability of each class, of shape (n_samples, n_classes).

        It is learned from the predictions that preceded their labels in `fit`, `partial_fit` and `learn_one`. `predict`
        goes by the scores, as published: where one class is rare, or mistakes have different costs, the most probable
        class can be another one than the predicted one.
        """
        return self.probabilities(*self._judge(X, variances=self.has_variances))

    @asks
    def confidence(self, X: Any) -> Floats:
        """Calibrated probability that the predicted label is the right one, of shape (n_samples,).

        Of the answers with a confidence of 0.9, nine of ten are right, as long as rows come from the same source. It is
        the entry of the predicted class in `predict_proba`.
        """
        return self.confidences(*self._judge(X, variances=self.has_variances))

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
        self.origin = Origin()
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
        given = None if classes is None else sorted_classes(np.asarray(exact_labels(classes)))
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

    def _labels_of(self, y: Array, known: Array) -> tuple[Array, Labels]:
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
        kinds = {distinct.dtype.kind, known.dtype.kind}
        texts = kinds == {"O", "U"} and all(isinstance(label, str) for label in (*known, *distinct))
        if len(kinds) > 1 and not texts and not kinds <= set("biuf"):
            raise ValueError(
                f"y has labels of another type than the classes so far, {known.tolist()}. Got {distinct.tolist()[0]!r}."
            )
        return np.concatenate([known, distinct[~np.isin(distinct, known)]])


class GaussianAnswers(Classifier):
    """Answers of a learner whose weights have a covariance: how sure its scores are."""

    @asks
    def decision_std(self, X: Any) -> Floats:
        """Standard deviation of the score, sqrt(x'Sx), in the shape of `decision_function`.

        Small where the features of the row have been seen often, whatever the score.
        """
        std: Floats = np.sqrt(self._judge(X, variances=True)[1])
        return std[:, 0] if std.shape[1] == 1 else std

    @asks
    def belief(self, X: Any) -> Floats:
        """Probability of each class under the distribution of the weights, of shape (n_samples, n_classes).

        With two classes Pr[M >= 0] = Phi(f / std) for the margin M of the second. With more, each class is compared
        with its best rival as in learning, Phi((f_k - f_rival) / sqrt(v_k + v_rival)), and the row is scaled to sum to
        one. This is what the model believes, as sure as its covariance is: no share of answers that are right. For that
        see `predict_proba` and `confidence`.
        """
        return self.belief_link.probabilities(*self._judge(X, variances=True), len(self.classes_))


def with_columns_in_order(X: Any, use: Callable[[Any], Result]) -> Result:
    """use(X), once more with tidied rows if it turns out that the columns of some row do not ascend."""
    try:
        return use(X)
    except UnsortedColumns:
        return use(tidy(X))

"""The estimator without parameters to tune: a race of learners, and its committee as one linear model."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._inputs import Array, Floats, checked_sample_weight, class_indices, exact_labels, sorted_classes
from ..learners.batch import checked_rows
from ..learners.guarded import asking, asks, shared_by_threads, teaching
from ..learners.novelty import Novelty
from ..learners.race.candidates import entrants
from ..learners.race.race import Race
from ..learners.race.verdict import Verdict, outcome
from ..stream import Chunk, Label
from ..stream.buffer import RowBuffer
from ..stream.runs import LabelRuns
from .checking import shuffles, validated, weights_to_fit, with_sparse_input

_MODERATE = 1e6  # size of values that no candidate overflows with


@shared_by_threads
class Auto(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A good linear classifier without tuning: settings of many learners race, and the best become one model.

    All candidates predict each block of rows before they learn from it. Those that are clearly behind are dropped, and
    the weights of the others are summed into one model. docs/guide/automatic.md has the rules. It is the method of
    ``sureline train FILE``; ``Auto(dtype="float32")`` gives the same bits.

    Parameters
    ----------
    metric : {"error", "log_loss", "brier", "auc"}, default="error"
        Metric by which candidates are judged.
    committee : bool, default=True
        Combine the best candidates into one model; if False, use the best one alone.
    normalize : {"none", "row", "scale"} or None, default=None
        Normalisation of all candidates; if None, each has its own.
    fit_intercept : bool, default=True
        Learn an intercept.
    dtype : {"float64", "float32"}, default="float64"
        Type of the weights. float32 halves the memory and is faster on wide data.
    multi_class : {"native", "ovr"}, default="native"
        With more than two classes: move the true class and its best rival, or learn each class against the rest.
    shuffle : bool or "auto", default="auto"
        Let `fit` visit the rows in random order. By default it does so, with a `LabelRunsWarning`, if their labels come
        in runs. `partial_fit` never reorders.
    random_state : int, RandomState instance or None, default=None
        For `shuffle`. "auto" takes None for 0.

    Attributes
    ----------
    model_ : estimator
        The committee as one model: an SCW, CW or AROW with the weights of all. It can be trained further, with
        `partial_fit` and `learn_one`. `sureline.save` writes this model.
    race_ : list of dict
        For each candidate: learner, parameters, loss, the row after which it was dropped and why, and its share of
        the committee.
    decided_ : bool
        False if there were too few rows to decide; the model is then that of ``SCW()``.
    classes_ : array of shape (n_classes,)
        The labels; with two of them the second is the positive one.
    coef_ : array of shape (1, n_features) or (n_classes, n_features)
        The weights.
    intercept_ : array of shape (1,) or (n_classes,)
        The intercepts.
    n_seen_ : int
        Examples learned from; those of weight 0 do not count.
    n_features_in_ : int
        Number of columns.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sureline import Auto
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = Auto().fit(X[:400], y[:400])
    >>> bool(clf.score(X[400:], y[400:]) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        metric: str = "error",
        committee: bool = True,
        normalize: str | None = None,
        fit_intercept: bool = True,
        dtype: str = "float64",
        multi_class: str = "native",
        shuffle: bool | str = "auto",
        random_state: Any = None,
    ) -> None:
        self.metric, self.committee, self.normalize, self.fit_intercept = metric, committee, normalize, fit_intercept
        self.dtype, self.multi_class, self.shuffle, self.random_state = dtype, multi_class, shuffle, random_state

    # -- learning --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch: run a race over the rows of X, in one pass.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more classes, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            The loss of an example counts this many times. 0 is as if the example had not come.
        """
        with teaching(self):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        race = self._new_race()
        X, y = validated(self, X, y, reset=True)
        classes = sorted_classes(y)
        if y.dtype.kind not in "biu":
            check_classification_targets(y)
        if len(classes) < 2:
            raise ValueError(f"Auto needs examples of at least 2 classes. Got one class, {classes.tolist()}.")
        weight = weights_to_fit(sample_weight, X.shape[0])
        labels = class_indices(y, classes)
        rng = shuffles(self, labels)
        race.mixed = rng is not None and self.shuffle == "auto" and not LabelRuns.of(labels).by_label
        chunk = self._chunk(X, labels, weight, len(classes))
        if rng is not None:
            chunk = self._chunk(
                X[(order := rng.permutation(len(labels)))], labels[order], _some(weight, order), len(classes)
            )
        buffer = RowBuffer()
        buffer.add(chunk)
        _run(race, buffer, classes, last=True)
        self.classes_ = classes
        self._race, self._pending = race, RowBuffer()
        self._verdict: Verdict | None = outcome(race)
        self._made()  # now, so that answers change nothing
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue the race with more rows, in their order.

        Many calls with parts of a stream give the same bits as one call with all of it. Rows that do not fill a block
        wait for the next call; the model that answers has learned from them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        classes : array-like, default=None
            All classes that will ever come. The first call needs it.
        sample_weight : array-like of shape (n_samples,), default=None
        """
        with teaching(self):
            return self._partial_fit(X, y, classes, sample_weight)

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Self:
        first = not hasattr(self, "_race")
        race = self._new_race() if first else self._race
        X, y = validated(self, X, y, reset=first)
        known = self._classes(classes, first)
        labels = class_indices(y, known)
        weight = checked_sample_weight(sample_weight, X.shape[0])
        chunk = self._chunk(X, labels, weight, len(known))
        if not first and len(chunk.values) and float(np.abs(chunk.values).max()) > _MODERATE:
            race = race.copy()  # refused rows must leave no trace
        buffer = RowBuffer() if first else self._pending.copy()
        buffer.add(chunk)
        _run(race, buffer, known)
        self.classes_ = known
        self._race, self._pending, self._verdict = race, buffer, None
        return self

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name. Waits for a call that learns."""
        with teaching(self):
            super().set_params(**parameters)
        return self

    def _snapshot(self) -> dict[str, Any]:
        """The attributes, with a race of their own."""
        with asking(self):
            attributes = self.__dict__.copy()
            for name in ("_gate", "_model"):  # state of the race that this one was copied from
                attributes.pop(name, None)
            if "_race" in attributes:
                attributes |= {"_race": self._race.copy(), "_pending": self._pending.copy(), "_verdict": None}
        return attributes

    def _new_race(self) -> Race:
        if self.metric not in ("error", "log_loss", "brier", "auc"):
            raise ValueError(f"metric must be 'error', 'log_loss', 'brier' or 'auc'. Got {self.metric!r} instead.")
        shared = {"fit_intercept": self.fit_intercept, "dtype": self.dtype, "multi_class": self.multi_class}
        if self.normalize is not None:
            shared["normalize"] = self.normalize
        return Race(entrants(shared), metric=self.metric, committee=self.committee)

    def _classes(self, classes: Any, first: bool) -> Array:
        given = None if classes is None else sorted_classes(np.asarray(exact_labels(classes)))
        if first and given is None:
            raise ValueError("The first call of partial_fit needs all classes: classes=[...].")
        if not first and given is not None and not np.array_equal(given, self.classes_):
            raise ValueError(
                f"classes={given.tolist()} is not what the first call of partial_fit got: {self.classes_.tolist()}."
            )
        return self.classes_ if given is None or not first else given

    def _chunk(self, X: Any, labels: Any, weight: Any, n_classes: int) -> Chunk:
        X = csr_matrix(checked_rows(X))
        with np.errstate(over="ignore"):
            values = X.data.astype(self.dtype)
        if not np.isfinite(values).all():
            raise ValueError(f'X has a value that {self.dtype} cannot hold; dtype="float64" can.')
        names: list[Label] = [*range(n_classes)]
        codes = labels.astype(np.int32), names
        indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        return Chunk(values, indices, indptr, codes, n_columns=X.shape[1], weights=weight)

    # -- what was learned ------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_race")

    def __sklearn_tags__(self) -> Any:
        return with_sparse_input(super().__sklearn_tags__())

    @property
    def _outcome(self) -> Verdict:
        check_is_fitted(self)
        if self._verdict is None:
            race = self._race
            if self._pending.n_rows:
                race, rest = race.copy(), self._pending.copy()
                _run(race, rest, self.classes_, last=True)
            self._verdict = outcome(race)
        verdict: Verdict = self._verdict
        return verdict

    @property
    def model_(self) -> Any:
        """The committee, as one linear model."""
        return self._made()

    def _made(self) -> Any:
        from .saving import as_estimator

        verdict = self._outcome
        if getattr(self, "_model", (None, None))[0] is not verdict:
            model = as_estimator(verdict.learner)
            if hasattr(self, "feature_names_in_"):
                model.feature_names_in_ = self.feature_names_in_
            self._model = verdict, model
        return self._model[1]

    @property
    def race_(self) -> list[dict[str, Any]]:
        """The outcome for each candidate."""
        return self._outcome.table()

    @property
    def decided_(self) -> bool:
        """False if the rows were too few to decide."""
        return self._outcome.judged > 0

    @property
    def n_seen_(self) -> int:
        """Number of examples learned from; examples of weight 0 do not count."""
        return int(self.model_.n_seen_)

    @property
    def coef_(self) -> Array:
        """Weights, of shape (1, n_features), or (n_classes, n_features) for more than two classes."""
        coef: Array = self.model_.coef_
        return coef

    @property
    def intercept_(self) -> Array:
        """Intercepts, of shape (1,) or (n_classes,)."""
        intercept: Array = self.model_.intercept_
        return intercept

    # -- answers ---------------------------------------------------------------------------------------------

    @asks
    def decision_function(self, X: Any) -> Floats:
        """Scores, of shape (n_samples,) for ``classes_[1]`` of two classes, else (n_samples, n_classes)."""
        check_is_fitted(self)
        scores: Floats = self.model_.decision_function(validated(self, X))
        return scores

    @asks
    def predict(self, X: Any) -> Array:
        """The class of each row."""
        check_is_fitted(self)
        labels: Array = self.model_.predict(validated(self, X))
        return labels

    @asks
    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probability of each class, of shape (n_samples, n_classes)."""
        check_is_fitted(self)
        probabilities: Floats = self.model_.predict_proba(validated(self, X))
        return probabilities

    @asks
    def confidence(self, X: Any) -> Floats:
        """Calibrated probability that the predicted label is the right one, of shape (n_samples,)."""
        check_is_fitted(self)
        confidence: Floats = self.model_.confidence(validated(self, X))
        return confidence

    @asks
    def predict_or_abstain(
        self, X: Any, max_error: float = 0.01, cost: tuple[float, float] | None = None
    ) -> np.ma.MaskedArray[Any, Any]:
        """The class of each row where at most a share `max_error` of the answers is wrong; the others are masked.

        With `cost`, of a missed positive and of a false alarm, `max_error` is the cost of an answer, on average. If
        nothing can be promised, nothing is answered, and an AbstentionWarning says why.
        """
        check_is_fitted(self)
        answers: np.ma.MaskedArray[Any, Any] = self.model_.predict_or_abstain(validated(self, X), max_error, cost)
        return answers

    @asks
    def coverage(self, max_error: float = 0.01, cost: tuple[float, float] | None = None) -> float:
        """The share of rows that `predict_or_abstain` answers at that error, if rows come as they came last."""
        check_is_fitted(self)
        return float(self.model_.coverage(max_error, cost))

    @asks
    def novelty(self, X: Any) -> Novelty:
        """How new each row is: the share of unseen features, and its std relative to training."""
        check_is_fitted(self)
        novelty: Novelty = self.model_.novelty(validated(self, X))
        return novelty

    @asks
    def wants_label(self, X: Any, rate: float = 0.1) -> Array:
        """True for rows less sure than all but a share `rate` of the training rows."""
        check_is_fitted(self)
        wants: Array = self.model_.wants_label(validated(self, X), rate)
        return wants


def _run(race: Race, buffer: RowBuffer, classes: Array, *, last: bool = False) -> None:
    """Hand complete blocks to a race; with `last` also an incomplete one."""
    while True:
        size = min(race.block_size, buffer.n_rows) if last else race.block_size
        if not 0 < size <= buffer.n_rows:
            return
        block = buffer.next(size)
        race.learn(block, block.labels[0], classes)
        buffer.done(size)


def _some(weight: Any, order: Any) -> Any:
    return None if weight is None else weight[order]

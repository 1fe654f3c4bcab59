"""What all online classifiers share: the scikit-learn contract around a stream of rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, _fit_context
from sklearn.utils import check_array, check_random_state, check_X_y
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _core
from ._rows import (
    Array,
    UnsortedColumns,
    as_rows,
    checked_sample_weight,
    class_indices,
    distinct,
    refuse_corrupt_sparse,
    tidy,
)
from ._state import COVARIANCE_SCALE, MISTAKES, SEEN, UPDATES, Policy, Rule, Shape, State
from .metrics import Tally

Method = TypeVar("Method", bound=Callable[..., Any])
Result = TypeVar("Result")


def _with_checked_parameters(method: Method) -> Method:
    """Check the parameters of the estimator by its `_parameter_constraints` before the method runs."""
    return cast(Method, _fit_context(prefer_skip_nested_validation=True)(method))


@dataclass(eq=False, repr=False, kw_only=True)
class OnlineClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Base of the linear classifiers that see one example at a time.

    A subclass is a dataclass whose fields are its parameters. It names its rule; it adds no loop and no state.
    """

    fit_intercept: bool = True
    dtype: str = "float64"
    multi_class: str = "native"
    growing: bool = False
    passes: int = 1
    shuffle: bool = False
    random_state: Any = None

    # The checks of the parameters, as data; each subclass adds its own.
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "fit_intercept": ["boolean"],
        "dtype": [StrOptions({"float32", "float64"})],
        "multi_class": [StrOptions({"native", "ovr"})],
        "growing": ["boolean"],
        "passes": [Interval(Integral, 1, None, closed="left")],
        "shuffle": ["boolean"],
        "random_state": ["random_state"],
    }

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def _rule(self) -> Rule:
        """The rule with this estimator's parameters."""

    def _shape(self) -> Shape:
        return "identity"

    def _costs(self) -> tuple[float, float] | None:
        """What a mistake on a negative and on a positive example costs; None to balance them along the stream."""
        return 1.0, 1.0

    def _refuse_classes(self, n_classes: int) -> None:
        """Raise ValueError if the parameters have no meaning for that many classes."""

    def _refuse_unnamed_classes(self) -> None:
        """Raise ValueError if it must be known from the start which class is the positive one."""

    def _initial_scalars(self) -> dict[str, Any]:
        """What the state starts with, where that is not the default: covariance_scale, c, max_nonzero."""
        return {}

    # -- learning --------------------------------------------------------------------------------------------

    @_with_checked_parameters
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
        before = self.__dict__.copy()
        try:
            X, y = self._validated(X, y, reset=True)
            classes = _sorted_classes(y)
            if y.dtype.kind not in "biu":
                check_classification_targets(y)
            if len(classes) < 2 and not self.growing:
                raise ValueError(
                    f"{type(self).__name__} needs examples of at least 2 classes. Got one class, {classes.tolist()}; "
                    "with growing=True, or with partial_fit and classes=[...], the others may come later."
                )
            weight = checked_sample_weight(sample_weight, X.shape[0])
            if weight is not None and not weight.any():
                raise ValueError("sample_weight is zero for every row, which leaves nothing to learn from.")
            labels = class_indices(y, classes)
            orders = self._orders(X.shape[0])
            state = _with_columns_in_order(X, lambda X: self._passes_over(X, labels, len(classes), weight, orders))
            self.n_features_in_ = X.shape[1]
            self.classes_ = classes
            self._state = state
        except BaseException:
            self.__dict__ = before  # a refused batch leaves the model as it was
            raise
        return self

    def _orders(self, n_rows: int) -> list[npt.NDArray[np.int64] | None]:
        """The order of the rows in each pass, or None where it is theirs."""
        if not self.shuffle:
            return [None] * self.passes
        rng = check_random_state(self.random_state)
        return [rng.permutation(n_rows).astype(np.int64) for _ in range(self.passes)]

    def _passes_over(self, X: Any, labels: Any, n_classes: int, weight: Any, orders: list[Any]) -> State:
        """A fresh state that has learned from the rows in each of these orders."""
        self._refuse_classes(n_classes)
        rows = as_rows(X, self.dtype)
        state = self._fresh_state(X.shape[1], n_classes)
        for order in orders:
            state.learn(self._rule(), rows, labels, weight, order, journal=False, cost=self._costs())
        return state

    @_with_checked_parameters
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
        before = self.__dict__.copy()
        try:
            self._validate_params()  # also where scikit-learn would not: they may have been set since the last call
            self._partial_fit(X, y, classes, sample_weight)
        except BaseException:
            self.__dict__ = before
            raise
        return self

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> None:
        first = not hasattr(self, "_state")
        X, y = self._validated(X, y, reset=first)
        known = self._known_classes(classes, first)
        labels = class_indices(y, known)
        n_known = len(known)
        if (labels < 0).any():
            row = int(np.argmax(labels < 0))
            if not self.growing:
                raise ValueError(
                    f"y has the label {y.tolist()[row]!r} in row {row}, which is not among the classes "
                    f"{known.tolist()}; name all classes in the first call of partial_fit, or set growing=True."
                )
            _sorted_classes(y)  # refuses what cannot be
            check_classification_targets(y)
            known = self._with_new_classes(known, y[labels < 0])
            labels = class_indices(y, known)
        weight = checked_sample_weight(sample_weight, X.shape[0])

        state = _with_columns_in_order(X, lambda X: self._go_on(X, labels, n_known, len(known), weight))
        self.classes_ = known
        self._state = state
        self.n_features_in_ = state.n_columns

    def _go_on(self, X: Any, labels: Any, n_known: int, n_classes: int, weight: Any) -> State:
        """The state after these rows. The estimator's own state is changed only if all goes well.

        `n_known` classes exist from the start, the others from the row on that first carries them.
        """
        first = not hasattr(self, "_state")
        state = self._fresh_state(X.shape[1], n_known) if first else self._state
        self._refuse_another_shape(state)
        self._refuse_classes(max(n_classes, state.n_heads))
        n_columns = max(X.shape[1], state.n_columns)
        rows = as_rows(X, state.dtype, n_columns if state.factors is not None else None)
        max_nonzero = self._initial_scalars().get("max_nonzero")

        # In place where a refusal leaves no trace or can be undone, otherwise on a copy. The first row that is refused
        # leaves no trace, unless the learner takes it in before it predicts.
        alone = rows.n_rows == 1 and state.policy != "ovr" and not state.shape.startswith("confident")
        grows = not first and (n_columns > state.n_columns or n_classes > len(self.classes_))
        nonzeros = X.nnz if sparse.issparse(X) else X.size
        journal = not (first or alone or grows) and state.factors is None and state.nbytes > 16 * nonzeros
        original = state
        if not (first or alone or journal) or grows or not state.writeable or not state.has_budget(max_nonzero):
            state = state.draft()
        state.widen(n_columns)
        state.set_budget(max_nonzero)

        for start, stop, n_existing in _stretches(labels, n_known):
            if n_existing > max(state.n_heads, 2):
                state.add_heads(n_existing, self._policy())
            part = None if stop - start == rows.n_rows else np.arange(start, stop)
            if state is not original:
                state.part_from(original)
            # Labels of classes that come later in the batch are not looked at yet, but must be in range.
            labels_so_far = labels if part is None else np.where(labels < n_existing, labels, 0).astype(np.int32)
            state.learn(self._rule(), rows, labels_so_far, weight, part, journal, self._costs())
        return state

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
        scores = self._judge(X)[0]
        chosen = scores.argmax(axis=1) if scores.shape[1] > 1 else (scores[:, 0] > 0).astype(np.intp)
        labels: Array = self.classes_[chosen]
        return labels

    @available_if(lambda self: getattr(self, "loss", None) == "log")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Probability of each class, of shape (n_samples, n_classes), which is what ``loss="log"`` learns.

        1 / (1 + exp(-f)) for the score f of the second of two classes. With more, each class is compared with its best
        rival in this way, and the row is scaled to sum to one.
        """
        f: npt.NDArray[np.float64] = self._judge(X)[0]
        if f.shape[1] == 1:
            positive = expit(f[:, 0])
            columns = [1 - positive, positive] if len(self.classes_) > 1 else [np.ones_like(positive)]
            return np.stack(columns, axis=1)
        rivals = np.where(np.eye(f.shape[1], dtype=bool), -np.inf, f[:, np.newaxis, :]).max(axis=2)
        proba: npt.NDArray[np.float64] = expit(f - rivals)
        proba /= proba.sum(axis=1, keepdims=True)
        return proba

    @property
    def coef_(self) -> Array:
        """Weights, of shape (1, n_features), or (n_classes, n_features) for more than two classes."""
        return self._fitted_state("coef_").coefficients()[:, 1:]

    @property
    def intercept_(self) -> Array:
        """Intercepts, of shape (1,) or (n_classes,); zeros with ``fit_intercept=False``."""
        return self._fitted_state("intercept_").intercepts()

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a SciPy CSR matrix, for which the dense one is never built."""
        state = self._fitted_state("sparse_coef_")
        heads = [(slots[slots > 0] - 1, values[slots > 0]) for slots, values in state.nonzero()]
        indptr = np.cumsum([0] + [len(columns) for columns, _ in heads])
        index_dtype = np.int32 if max(state.n_columns, int(indptr[-1])) < 2**31 else np.int64
        return sparse.csr_matrix(
            (
                np.concatenate([values for _, values in heads]),
                np.concatenate([columns for columns, _ in heads]).astype(index_dtype),
                indptr.astype(index_dtype),
            ),
            shape=(state.n_heads, state.n_columns),
        )

    @property
    def nonzero_(self) -> int:
        """How many weights in `coef_` are not zero."""
        return self._fitted_state("nonzero_").count_nonzero()

    @property
    def sparsity_(self) -> float:
        """The share of the weights in `coef_` that are zero."""
        state = self._fitted_state("sparsity_")
        return 1 - self.nonzero_ / (state.n_heads * state.n_columns)

    @property
    def n_seen_(self) -> int:
        """Examples learned from, over all passes; those of weight 0 do not count."""
        return int(self._fitted_state("n_seen_").tally[:, SEEN].sum())

    @property
    def n_mistakes_(self) -> int:
        """Examples whose label was predicted wrongly just before learning from them."""
        return int(self._fitted_state("n_mistakes_").tally[:, MISTAKES].sum())

    @property
    def n_updates_(self) -> int:
        """Examples that changed the model."""
        return int(self._fitted_state("n_updates_").tally[:, UPDATES].sum())

    @property
    def progressive_(self) -> Tally:
        """How the labels were predicted before they were learned from, for each class."""
        tally = self._fitted_state("progressive_").tally[: len(self.classes_)]
        return Tally(self.classes_, tally[:, SEEN], tally[:, MISTAKES])

    def _scores(self, rows: _core.Rows) -> npt.NDArray[np.float64]:
        return self._fitted_state("scores").scores(rows)

    def _judge(self, X: Any, *, variances: bool = False) -> tuple[Any, Any]:
        """Scores of the rows of X, and their variances if those are asked for; one column for each head.

        Only with `growing` can X have more columns than the model. Nothing was learned about those: they have no
        weight, and the variance that every feature starts with.
        """
        check_is_fitted(self)
        X = self._validated(X)
        state = self._state
        width = state.n_columns if state.factors is not None else None

        def judge(X: Any) -> tuple[Any, Any]:
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

        return _with_columns_in_order(X, judge)

    # -- pieces ----------------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fitted_state(self, attribute: str) -> State:
        if not hasattr(self, "_state"):
            raise AttributeError(f"This {type(self).__name__} has no {attribute} before fit or partial_fit was called.")
        state: State = self._state
        return state

    def _fresh_state(self, n_columns: int, n_classes: int) -> State:
        intercept = bool(self.fit_intercept)
        state = State(
            self._shape(), self.dtype, n_columns, intercept, n_classes, self._policy(), **self._initial_scalars()
        )
        state.look(self._rule())
        return state

    def _refuse_another_shape(self, state: State) -> None:
        """Parameters that shape the state cannot change under it."""
        for parameter, same in (
            ("dtype", state.dtype == self.dtype),
            ("fit_intercept", state.intercept == bool(self.fit_intercept)),
            ("covariance", state.shape == self._shape()),
            ("multi_class", state.policy in ("binary", self._policy())),
            *self._unchanged(state),
        ):
            if not same:
                raise ValueError(
                    f"The {parameter!r} parameter of {type(self).__name__} cannot change after the first call of "
                    f"partial_fit. Got {getattr(self, parameter)!r} instead of what the model was made with."
                )

    def _unchanged(self, state: State) -> list[tuple[str, bool]]:
        """Further parameters that shape the state, and whether they are what the state was made with."""
        return []

    def _policy(self) -> Policy:
        """How more than two classes are learned."""
        return "ovr" if self.multi_class == "ovr" else "rival"

    def _validated(self, X: Any, y: Any = "no_validation", *, reset: bool = False) -> Any:
        """X (and y) as arrays, by scikit-learn's rules, except that the values of X are left to the core's check."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
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

    def _known_classes(self, classes: Any, first: bool) -> Array:
        given = None if classes is None else _sorted_classes(np.asarray(classes))
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


def _with_columns_in_order(X: Any, use: Callable[[Any], Result]) -> Result:
    """use(X), once more with tidied rows if it turns out that the columns of some row do not ascend."""
    try:
        return use(X)
    except UnsortedColumns:
        return use(tidy(X))


def _sorted_classes(labels: Array) -> Array:
    try:
        return distinct(labels)
    except TypeError:
        types = sorted({type(label).__name__ for label in labels.tolist()})
        raise ValueError(f"The labels must all be of one type that can be sorted. Got {', '.join(types)}.") from None


def _stretches(labels: npt.NDArray[np.int32], n_known: int) -> list[tuple[int, int, int]]:
    """Cut rows where a class appears for the first time: (start, stop, classes that exist in there).

    So a stream gives the same model however it is cut into calls.
    """
    if len(labels) == 0:
        return [(0, 0, n_known)]
    highest = np.maximum.accumulate(labels)
    n_classes = np.maximum(highest + 1, n_known)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(n_classes)) + 1, [len(labels)]])
    return [(int(a), int(b), int(n_classes[a])) for a, b in pairwise(starts)]

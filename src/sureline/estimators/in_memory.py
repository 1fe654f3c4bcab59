"""The base class of classifiers that need all rows in memory: fit, and answers from weights in float64."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._inputs import Array, checked_sample_weight, class_indices, refuse_corrupt_sparse, sorted_classes
from .._native import _core
from ..learners.learner import scales_of
from ..learners.parameters import Constraint
from ..models.rows import as_rows, refusal, squared_norms
from ..models.scaling import Normalizer
from .base import with_columns_in_order

Floats = npt.NDArray[np.float64]

ATTRIBUTES = """{normalize}

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels; with two of them the second is the positive one.
    coef_ : array of shape (1, n_features_in_) or (n_classes, n_features_in_)
        The weights; with more than two classes each is learned against the rest.
    sparse_coef_ : CSR matrix of the shape of `coef_`
        The weights, without ever building the dense array.
    intercept_ : array of shape (1,) or (n_classes,)
        The intercepts.
    n_features_in_ : int
        Number of columns.
    scale_ : array of shape (n_features_in_,)
        With ``normalize="scale"`` what each feature is divided by."""


class Weights(NamedTuple):
    """Of one head: the columns that have a weight, ascending, and what they and the intercept weigh."""

    columns: npt.NDArray[np.int64]
    values: Floats
    intercept: float


class Solution(NamedTuple):
    """All heads at one penalty, and how well they were found."""

    heads: list[Weights]
    n_iter: int
    gap: float = 0.0
    warning: str = ""  # what to say if it is not converged

    @property
    def columns(self) -> npt.NDArray[np.int64]:
        """Those that any head has a weight for, ascending."""
        return np.unique(np.concatenate([head.columns for head in self.heads]))

    def largest(self, n_columns: int) -> Solution:
        """Only that many columns: those whose weights are largest, by their norm over the heads."""
        columns = self.columns
        squares = np.zeros(len(columns))
        for head in self.heads:
            squares[np.searchsorted(columns, head.columns)] += head.values**2
        kept = columns[np.sort(np.argsort(-squares, kind="stable")[:n_columns])]
        heads = []
        for head in self.heads:
            here = np.isin(head.columns, kept, assume_unique=True)
            heads.append(Weights(head.columns[here], head.values[here], head.intercept))
        return self._replace(heads=heads)


class Data(NamedTuple):
    """Rows whose contents have been looked at."""

    X: Any
    norms: Floats  # squared
    rows: _core.Rows
    labels: npt.NDArray[np.int32]
    weight: Floats
    heads: list[int]  # for each the class that is its positive one

    @property
    def present(self) -> npt.NDArray[np.int64]:
        """The rows that have a weight."""
        return np.flatnonzero(self.weight).astype(np.int64)


def zeros(size: int) -> Floats:
    """Zeros of which only what is touched takes memory."""
    return np.asarray(_core.zeros_float64(size))


class InMemoryClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A linear classifier that is fitted as a whole, with more than two classes as one against the rest."""

    normalize: str
    _normalizer: Normalizer = Normalizer("none")
    _constraints: ClassVar[dict[str, Constraint]]

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def _solve(self, data: Data) -> Solution:
        """The weights of all heads. Attributes that are set here are gone again if the fit is refused."""

    # -- learning --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X, and forget everything that was learned before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more classes, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            The loss of an example counts this many times, as if it were there so often. 0 is as if it had not come.
        """
        before = self.__dict__.copy()
        try:
            self._check_parameters()
            X, y = self._validated(X, y, reset=True)
            classes = sorted_classes(y)
            check_classification_targets(y)
            weight = checked_sample_weight(sample_weight, X.shape[0])
            if weight is None:
                weight = np.ones(X.shape[0])
            if not weight.any():
                raise ValueError("sample_weight is zero for every row, which leaves nothing to learn from.")
            present = sorted_classes(y[weight > 0])
            if len(present) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs examples of at least 2 classes, with a positive weight. "
                    f"Got one class, {present.tolist()}."
                )
            labels = class_indices(y, classes)
            heads = [1] if len(classes) == 2 else list(range(len(classes)))

            def solve(X: Any) -> tuple[Solution, Normalizer]:
                normalizer = Normalizer(self.normalize)
                X = normalizer.learn_all(X, weight)
                rows = as_rows(X, X.dtype)
                return self._solve(Data(X, squared_norms(rows), rows, labels, weight, heads)), normalizer

            solution, normalizer = with_columns_in_order(X, solve)
            if solution.warning:
                warnings.warn(solution.warning, ConvergenceWarning, stacklevel=2)
            self.classes_, self._normalizer = classes, normalizer
            self._set(solution, X.shape[1])
        except BaseException:
            self.__dict__ = before  # a fit that is refused or interrupted leaves the model as it was
            raise
        return self

    def _set(self, solution: Solution, n_columns: int) -> None:
        starts = np.cumsum([0] + [len(head.columns) for head in solution.heads])
        index_dtype = np.int32 if max(n_columns, int(starts[-1])) < 2**31 else np.int64
        self._coef = sparse.csr_matrix(
            (
                np.concatenate([head.values for head in solution.heads]),
                np.concatenate([head.columns for head in solution.heads]).astype(index_dtype),
                starts.astype(index_dtype),
            ),
            shape=(len(solution.heads), n_columns),
        )
        self.intercept_ = np.array([head.intercept for head in solution.heads])
        self.n_iter_ = solution.n_iter

    # -- answers ---------------------------------------------------------------------------------------------

    def decision_function(self, X: Any) -> Floats:
        """The score of each row: of the class ``classes_[1]`` if there are two, else one for each class.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        scores = with_columns_in_order(self._validated(X), self._scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> Array:
        """The class of each row. A score of exactly 0 is the first class of two; of equal scores the first wins."""
        scores = self.decision_function(X)
        best = scores.argmax(axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        labels: Array = self.classes_[best]
        return labels

    def _scores(self, X: Any) -> Floats:
        X = self._normalizer.apply(X)
        rows = as_rows(X, X.dtype)
        scores = np.empty((len(self.intercept_), X.shape[0]))
        weights = zeros(X.shape[1] + 1)
        for head, out in enumerate(scores):
            columns = slice(self._coef.indptr[head], self._coef.indptr[head + 1])
            slots = self._coef.indices[columns].astype(np.int64) + 1
            weights[0], weights[slots] = self.intercept_[head], self._coef.data[columns]
            try:
                _core.linear_scores(rows, weights, out)
            except _core.Refused as refused:
                raise refusal(rows, refused, np.float64) from None
            weights[slots] = 0
        return np.ascontiguousarray(scores.T)

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a SciPy CSR matrix."""
        self._refuse_unfitted("sparse_coef_")
        coef = self._coef.copy()
        coef.data = self._normalizer.per_unit(coef.data, coef.indices)
        return coef

    @property
    def coef_(self) -> Floats:
        """Weights, of shape (1, n_features), or (n_classes, n_features) for more than two classes."""
        self._refuse_unfitted("coef_")
        dense: Floats = self.sparse_coef_.toarray()
        return dense

    @property
    def scale_(self) -> Floats:
        """With ``normalize="scale"`` what each feature is divided by; 1 for features that are zero in every row."""
        self._refuse_unfitted("scale_")
        return scales_of(self, self._normalizer, self.n_features_in_)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for parameter, constraint in self._constraints.items():
            constraint.check(parameter, type(self).__name__, getattr(self, parameter))

    def _refuse_unfitted(self, attribute: str) -> None:
        if not hasattr(self, "_coef"):
            raise AttributeError(f"This {type(self).__name__} has no {attribute} before fit was called.")

    def _validated(self, X: Any, y: Any = "no_validation", *, reset: bool = False) -> Any:
        """X (and y) as arrays, by scikit-learn's rules, except that the contents of X are left to the core's check."""
        if y is None:
            raise ValueError(f"This {type(self).__name__} estimator requires y to be passed, but the target y is None.")
        refuse_corrupt_sparse(X)
        options = {"accept_sparse": "csr", "accept_large_sparse": True, "dtype": [np.float64, np.float32], "order": "C"}
        return validate_data(self, X, y, **options, ensure_all_finite=False, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

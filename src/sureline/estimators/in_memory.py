"""The base class of classifiers that need all rows in memory: fit, and answers from weights in float64."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from .._inputs import Array, Floats, Ints, Labels, class_indices, sorted_classes
from .._native import _core
from ..learners.class_weight import row_factors
from ..learners.guarded import Guarded, asks, teaching
from ..learners.parameters import constraints_of
from ..models.rows import as_rows, refusals, squared_norms, with_own_columns
from ..models.scaling import Normalizer
from ..models.weights import csr_of_heads, scales_of
from .checking import validated, weights_to_fit, with_columns_in_order, with_sparse_input
from .display import fitted_attributes, names_for_users

ATTRIBUTES = """{normalize}
    {class_weight}

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
    """The weights of a head: its columns, ascending, their values, and the intercept."""

    columns: Ints
    values: Floats
    intercept: float


class Solution(NamedTuple):
    """All heads at one penalty, and the quality of the solution."""

    heads: list[Weights]
    n_iter: int
    gap: float = 0.0
    warning: str = ""  # the text if it has not converged

    @property
    def columns(self) -> Ints:
        """The columns with a weight in any head, ascending."""
        return np.unique(np.concatenate([head.columns for head in self.heads]))

    def refuse_infinite(self) -> None:
        """Raise ValueError if a weight is no number, as when X was changed meanwhile."""
        if not all(np.isfinite(head.values).all() and np.isfinite(head.intercept) for head in self.heads):
            raise ValueError("A weight is beyond float64, or X was changed while it was learned from.")

    def largest(self, n_columns: int) -> Solution:
        """Only the columns with the largest weights, by their norm over the heads."""
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
    """Rows whose contents have been checked."""

    X: Any
    norms: Floats  # squared
    rows: _core.Rows
    labels: Labels
    weight: Floats
    heads: list[int]  # the positive class of each head

    @property
    def present(self) -> Ints:
        """The rows that have a weight."""
        return np.flatnonzero(self.weight).astype(np.int64)


def zeros(size: int) -> Floats:
    """An array of zeros whose untouched pages take no memory."""
    return np.asarray(_core.zeros_float64(size))


class InMemoryClassifier(Guarded, ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A linear classifier fitted to all rows at once; more than two classes as one against the rest."""

    __dir__ = names_for_users
    _get_fitted_attr_html = fitted_attributes

    normalize: str
    class_weight: Any
    _normalizer: Normalizer = Normalizer("none")

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @classmethod
    def as_published(cls, **parameters: Any) -> Self:
        """The estimator as its paper has it, without intercept and normalisation, except for these parameters."""
        return cls(**{"fit_intercept": False, "normalize": "none", **parameters})

    @abstractmethod
    def _solve(self, data: Data) -> Solution:
        """The weights of all heads. Attributes that are set here are gone again if the fit is refused."""

    # -- learning --------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch on the rows of X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Two or more classes, of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            The loss of an example counts this many times, as if it were there so often. 0 is as if it had not come. It
            is multiplied by the weight of its class.
        """
        with teaching(self):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        before = self.__dict__.copy()
        try:
            self._check_parameters()
            X, y = validated(self, X, y, reset=True)
            X = with_own_columns(X)
            classes = sorted_classes(y)
            check_classification_targets(y)
            given = weights_to_fit(sample_weight, X.shape[0])
            weight = np.ones(X.shape[0]) if given is None else given
            present = sorted_classes(y[weight > 0])
            if len(present) < 2:
                raise ValueError(
                    f"{type(self).__name__} needs examples of at least 2 classes, with a positive weight. "
                    f"Got one class, {present.tolist()}."
                )
            labels = class_indices(y, classes)
            weight = weight * row_factors(self.class_weight, classes.tolist(), labels, weight)
            if len(sorted_classes(y[weight > 0])) < 2:
                raise ValueError(f"class_weight={self.class_weight!r} leaves examples of less than 2 classes.")
            heads = [1] if len(classes) == 2 else list(range(len(classes)))

            def solve(X: Any) -> tuple[Solution, Normalizer]:
                normalizer = Normalizer(self.normalize)
                X = normalizer.learn_all(X, weight)
                rows = as_rows(X, X.dtype)
                return self._solve(Data(X, squared_norms(rows), rows, labels, weight, heads)), normalizer

            solution, normalizer = with_columns_in_order(X, solve)
            solution.refuse_infinite()
            if solution.warning:
                warnings.warn(solution.warning, ConvergenceWarning, stacklevel=2)
            self.classes_, self._normalizer = classes, normalizer
            self._set(solution, X.shape[1])
        except BaseException:
            self.__dict__ = before  # a refused or interrupted fit leaves the model as it was
            raise
        return self

    def _set(self, solution: Solution, n_columns: int) -> None:
        self._coef = csr_of_heads([(head.columns, head.values) for head in solution.heads], n_columns)
        self.intercept_ = np.array([head.intercept for head in solution.heads])
        self.n_iter_ = solution.n_iter

    # -- answers ---------------------------------------------------------------------------------------------

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters by name. Waits for a call that learns."""
        with teaching(self):
            super().set_params(**parameters)
        return self

    @asks
    def decision_function(self, X: Any) -> Floats:
        """Scores, of shape (n_samples,) for ``classes_[1]`` of two classes, else (n_samples, n_classes).

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        check_is_fitted(self)
        scores = with_columns_in_order(validated(self, X), self._scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @asks
    def predict(self, X: Any) -> Array:
        """The predicted class of each row. A score of 0 means the first of two classes. Ties go to the first class."""
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
            with refusals(rows):
                _core.linear_scores(rows, weights, out)
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
        """The divisor of each feature with ``normalize="scale"``; 1 for features that are zero in every row."""
        self._refuse_unfitted("scale_")
        return scales_of(self, self._normalizer, self.n_features_in_)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        for parameter, constraint in constraints_of(type(self)).items():
            constraint.check(parameter, type(self).__name__, getattr(self, parameter))

    def _refuse_unfitted(self, attribute: str) -> None:
        if not hasattr(self, "_coef"):
            raise AttributeError(f"This {type(self).__name__} has no {attribute} before fit was called.")

    def __sklearn_tags__(self) -> Any:
        return with_sparse_input(super().__sklearn_tags__())

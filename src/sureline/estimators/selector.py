"""scikit-learn's feature selection for classifiers: the features with a weight are selected."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from .._inputs import Array, refuse_unfit
from ..learners.batch import checked_rows
from ..learners.guarded import asks
from ..models.rows import with_own_columns
from .checking import validated


class Selector(SelectorMixin):  # type: ignore[misc]  # scikit-learn has no types
    """Base of classifiers that select features. Subclasses define `selected_columns`."""

    @asks
    def get_support(self, indices: bool = False) -> Array:
        """A mask or the indices of the selected features.

        Parameters
        ----------
        indices : bool, default=False
            Return their columns, ascending, rather than a mask over all columns.
        """
        check_is_fitted(self)
        return self._columns() if indices else self._get_support_mask()

    @asks
    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names of the selected features: names of the data frame, or "x" and the column.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of all features, instead.
        """
        check_is_fitted(self)
        if input_features is None and not hasattr(self, "feature_names_in_"):
            return np.array([f"x{column}" for column in self._columns()], object)
        names: Array = super().get_feature_names_out(input_features)
        return names

    @asks
    def transform(self, X: Any) -> Any:
        """Select columns of X, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_selected), as X is dense or sparse
        """
        check_is_fitted(self)
        X = checked_rows(with_own_columns(validated(self, X)))
        columns = self._columns()
        if len(columns) == 0:
            warnings.warn("No feature is selected.", UserWarning, stacklevel=2)
        if sparse.issparse(X):
            return _sparse_columns(X, columns)
        here = columns[columns < X.shape[1]]  # a growing model may be wider than X
        selected = np.zeros((X.shape[0], len(columns)), X.dtype)
        selected[:, : len(here)] = X[:, here]
        return selected

    @asks
    def inverse_transform(self, X: Any) -> Any:
        """Undo `transform`: put columns of zeros where features were left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_selected)

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features)
        """
        refuse_unfit(X)
        return super().inverse_transform(
            checked_rows(with_own_columns(X)) if sparse.issparse(X) and X.format == "csr" else X
        )

    def _columns(self) -> npt.NDArray[np.intp]:
        return np.sort(self.selected_columns()).astype(np.intp)

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.n_features_in_, bool)
        mask[self._columns()] = True
        return mask


def _sparse_columns(X: Any, columns: npt.NDArray[np.intp]) -> Any:
    """X[:, columns], in the time of its nonzeros: SciPy's own takes memory for every column of X."""
    n = int(X.indptr[-1])
    indices, values = X.indices[:n], X.data[:n]
    place = np.searchsorted(columns, indices)
    kept = place < len(columns)
    kept[kept] = columns[place[kept]] == indices[kept]
    starts = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
    parts = values[kept], place[kept].astype(indices.dtype), starts.astype(X.indptr.dtype)
    return type(X)(parts, shape=(X.shape[0], len(columns)))

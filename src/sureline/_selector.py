"""A classifier as a selector of features: those that have a weight, in scikit-learn's words."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ._rows import Array, UnsortedColumns, as_rows, refuse_corrupt_sparse, tidy
from ._state import State


class Selector(SelectorMixin):  # type: ignore[misc]  # scikit-learn has no types
    """What is put before a classifier whose nonzero weights select features.

    The classifier has `sparse_coef_` and `_validated`. A feature is selected if any class has a weight for it.
    """

    def get_support(self, indices: bool = False) -> Array:
        """The features that are selected: those with a nonzero weight in any class.

        Parameters
        ----------
        indices : bool, default=False
            Return their columns, ascending, rather than a mask over all columns.
        """
        check_is_fitted(self)
        return self._columns() if indices else self._get_support_mask()

    def transform(self, X: Any) -> Any:
        """The columns of X that are selected, in their order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_selected), as X is dense or sparse
        """
        check_is_fitted(self)
        X = _checked(self._validated(X))
        columns = self._columns()
        if len(columns) == 0:
            warnings.warn("No feature has a nonzero weight yet, so none is selected.", UserWarning, stacklevel=2)
        if sparse.issparse(X):
            return _sparse_columns(X, columns)
        here = columns[columns < X.shape[1]]  # a growing model may be wider than X
        selected = np.zeros((X.shape[0], len(columns)), X.dtype)
        selected[:, : len(here)] = X[:, here]
        return selected

    def inverse_transform(self, X: Any) -> Any:
        """X, which `transform` returned or might have, with columns of zeros where features were left out.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_selected)

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features)
        """
        refuse_corrupt_sparse(X)
        return super().inverse_transform(_checked(X) if sparse.issparse(X) and X.format == "csr" else X)

    def _columns(self) -> npt.NDArray[np.intp]:
        return np.unique(self.sparse_coef_.indices).astype(np.intp)

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


def _checked(X: Any) -> Any:
    """X with its columns in order, or ValueError if it is corrupt or has a value that is not finite."""
    dtype = X.dtype if X.dtype == np.float32 else np.dtype(np.float64)
    nothing = State("identity", dtype, X.shape[1], intercept=False)
    try:
        nothing.scores(as_rows(X, dtype))
    except UnsortedColumns:
        X = tidy(X)
        nothing.scores(as_rows(X, dtype))
    return X

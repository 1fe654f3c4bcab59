"""A learner that selects features as one of scikit-learn's selectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from ._batch import checked_rows, widened
from ._estimator import Classifier
from ._rows import Array, is_sparse, refuse_corrupt_sparse


class Selector(SelectorMixin, Classifier):  # type: ignore[misc]  # scikit-learn has no types
    """Reduces X to the selected columns. It is put before a learner that says which they are."""

    def transform(self, X: Any) -> Any:
        """The selected columns of X, in their order in X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        array or CSR matrix of shape (n_samples, n_selected)
        """
        check_is_fitted(self)
        X = checked_rows(self._validated(X))
        return widened(X, self.n_features_in_)[:, self.get_support(indices=True)]

    def inverse_transform(self, X: Any) -> Any:
        """The selected columns back in their places, with zeros in all others.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_selected)

        Returns
        -------
        array or sparse matrix of shape (n_samples, n_features)
        """
        refuse_corrupt_sparse(X)
        if is_sparse(X):
            X = checked_rows(X.tocsr().astype(np.float64, copy=False))
        return super().inverse_transform(X)

    def get_support(self, indices: bool = False) -> Array:
        """Which columns are selected.

        Parameters
        ----------
        indices : bool, default=False
            Their numbers, ascending, instead of a truth value for every column.
        """
        check_is_fitted(self)
        columns: npt.NDArray[np.int64] = np.sort(self._selected_columns())
        return columns if indices else self._get_support_mask()

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.n_features_in_, bool)
        mask[self._selected_columns()] = True
        return mask

"""What the selectors of features share: scikit-learn's contract of a transformer that keeps some of the columns."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from . import _core
from ._rows import UnsortedColumns, as_rows, is_sparse, refusal, refuse_corrupt_sparse, tidy


class Selector(SelectorMixin):  # type: ignore[misc]  # scikit-learn has no types
    """A model that knows which columns it uses. A subclass says which, as `_selected`."""

    n_features_in_: int

    @abstractmethod
    def _selected(self) -> npt.NDArray[np.int64]:
        """The selected columns, ascending."""

    def get_support(self, indices: bool = False) -> Any:
        """The selected columns, as a mask over all of them, or their numbers, ascending, with ``indices=True``."""
        check_is_fitted(self)
        return self._selected() if indices else self._get_support_mask()

    def _get_support_mask(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.n_features_in_, bool)
        mask[self._selected()] = True
        return mask

    def transform(self, X: Any) -> Any:
        """The selected columns of X, in ascending order."""
        check_is_fitted(self)
        return super().transform(trusted(X))

    def inverse_transform(self, X: Any) -> Any:
        """X with columns of zeros in the places of those that were not selected."""
        check_is_fitted(self)
        return super().inverse_transform(trusted(X))


def trusted(X: Any) -> Any:
    """X, or a tidied copy of it, if SciPy may go over its arrays; ValueError if they are corrupt."""
    refuse_corrupt_sparse(X)
    if not is_sparse(X) or X.format != "csr":
        return X
    try:
        squared_norms(as_rows(X, X.dtype if X.dtype in (np.float32, np.float64) else np.float64))
    except UnsortedColumns:
        return tidy(X)
    return X


def squared_norms(rows: _core.Rows) -> npt.NDArray[np.float64]:
    """|x|^2 of each row; ValueError if anything is wrong with the contents of one."""
    out = np.empty(rows.n_rows)
    row, why = _core.squared_norms(rows, out)
    if why:
        raise refusal(rows, row, why, np.float64)
    return out

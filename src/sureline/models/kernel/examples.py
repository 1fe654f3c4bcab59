"""The stored examples of a kernel learner."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ..._inputs import Array, Floats, is_sparse
from ..rows import widened
from .growing import Tail
from .kernels import squares


class Examples:
    """Stored rows, dense or sparse like the first of them. Immutable, except for spare room."""

    def __init__(self, rows: Any) -> None:
        self.n, self.n_columns = int(rows.shape[0]), int(rows.shape[1])
        self._sparse = rows if is_sparse(rows) else None
        self._dense = None if is_sparse(rows) else Tail(rows)
        self._squares = Tail(squares(rows))

    @classmethod
    def in_compressed_form(cls, values: Array, columns: Array, starts: Array, n_columns: int) -> Examples:
        """Sparse rows from their arrays, which the caller has checked."""
        from scipy.sparse import csr_matrix

        index = np.int32 if max(n_columns, len(values)) < 2**31 else np.int64
        shape = len(starts) - 1, n_columns
        return cls(csr_matrix((values, columns.astype(index), starts.astype(index)), shape=shape))

    @property
    def is_sparse(self) -> bool:
        return self._sparse is not None

    @property
    def rows(self) -> Any:
        return self._sparse if self._dense is None else self._dense.first(self.n)

    @property
    def squares(self) -> Floats:
        return self._squares.first(self.n)

    def like_these(self, X: Any, dtype: np.dtype[Any]) -> Any:
        """X in the form and dtype of these rows, and at least as wide."""
        if self.is_sparse and not is_sparse(X):
            from scipy.sparse import csr_matrix

            X = csr_matrix(X)
        elif not self.is_sparse and is_sparse(X):
            X = X.toarray()
        with np.errstate(over="ignore"):
            return widened(X.astype(dtype, copy=False), self.n_columns)

    def widened(self, n_columns: int) -> Examples:
        return self if n_columns <= self.n_columns else Examples(widened(self.rows, n_columns))

    def appended(self, rows: Any) -> Examples:
        more = copy.copy(self)
        if self._dense is not None:
            more._dense = self._dense.appended(self.n, rows)
        else:
            from scipy.sparse import vstack

            more._sparse = vstack([self._sparse, rows], format="csr", dtype=rows.dtype)
        more._squares = self._squares.appended(self.n, squares(rows))
        more.n += rows.shape[0]
        return more

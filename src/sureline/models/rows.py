"""Converts a caller's X, y and sample_weight to arrays that the core can loop over."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats, is_sparse, refuse_unfit, signed
from .._native import _core

Reason = _core.Reason


class UnsortedColumns(ValueError):
    """Raised for rows whose columns do not ascend; `tidy` fixes them."""


class RefusedRow(ValueError):
    """Raised for a row of the input that cannot be learned from."""

    def __init__(self, row: int, said: str) -> None:
        super().__init__(f"Row {row} of X {said}")
        self.row, self.said = row, said

    def in_stream(self, rows_before: int) -> ValueError:
        """The same error for a stream, where that many rows come before."""
        said = self.said.replace("X so that its", "the rows so that their").replace("X and y", "rows and labels")
        return ValueError(f"Row {rows_before + self.row + 1:,} of the stream {said}")


def refusal(rows: _core.Rows, refused: _core.Refused, dtype: npt.DTypeLike) -> Exception:
    """The exception for a row that a loop over numbers of that dtype has refused."""
    row, reason = refused.row, refused.reason
    if reason is Reason.contents:
        return ValueError(rows.describe(row))
    if reason is Reason.order:
        return UnsortedColumns(f"Row {row} of X does not have its columns in order.")
    if reason is Reason.memory:
        return MemoryError("not enough memory for this batch; pass fewer rows at a time")
    advice = "scale X so that its values are of the order of 1"
    if reason is Reason.score:
        return RefusedRow(row, f"has a score or a variance beyond float64; {advice}, and keep the parameters moderate.")
    return RefusedRow(
        row,
        f"needs a step that {dtype} cannot hold; {advice}, and keep sample_weight and the parameters "
        f"moderate{or_float64(dtype)}.",
    )


@contextmanager
def refusals(rows: _core.Rows, dtype: npt.DTypeLike = np.float64) -> Iterator[None]:
    """Describe the fault of a row that the core refuses in this block."""
    try:
        yield
    except _core.Refused as refused:
        raise refusal(rows, refused, dtype) from None


def or_float64(dtype: npt.DTypeLike) -> str:
    """Advice where numbers are too large for `dtype`."""
    return ', or take dtype="float64" (--dtype float64), which goes further' if np.dtype(dtype) == np.float32 else ""


def as_rows(X: Any, dtype: npt.DTypeLike, n_columns: int | None = None) -> _core.Rows:
    """Rows of `X` (a two-dimensional array or a SciPy sparse CSR matrix) in `dtype`, for the core to go over.

    With `n_columns` the rows count as that wide; the columns they do not have are zero.
    """
    if not is_sparse(X):
        with np.errstate(over="ignore"):  # values beyond float32 are refused when their row is reached
            dense = np.ascontiguousarray(X, dtype=dtype)
        if n_columns is not None and n_columns > dense.shape[1]:
            dense = np.pad(dense, ((0, 0), (0, n_columns - dense.shape[1])))
        return _core.Rows.dense(dense, is_alone())
    width = X.shape[1] if n_columns is None else max(X.shape[1], n_columns)
    return _core.Rows.csr(*csr_arrays(X, dtype), X.shape[0], width, is_alone())


def is_alone() -> bool:
    """True if no other Python thread can change the values of rows between two reads of a loop.

    The core always copies the columns of a row before it checks them: the copy is free, and a column out of range would
    access other memory. A value that is not finite would only spoil the model.
    """
    return threading.active_count() == 1


def csr_arrays(X: Any, dtype: npt.DTypeLike) -> tuple[Array, Array, Array]:
    """Values in `dtype`, indices and indptr of a CSR matrix, for the core; not yet checked."""
    try:
        indices, indptr = signed(X.indices, "indices"), signed(X.indptr, "indptr")
        index_dtype = np.result_type(indices, indptr)
        with np.errstate(over="ignore"):
            values = np.ascontiguousarray(X.data, dtype=dtype)
    except (ValueError, TypeError) as error:
        raise ValueError(f"Input X is not a valid CSR matrix: {error}.") from None
    return (
        values,
        np.ascontiguousarray(indices, dtype=index_dtype),
        np.ascontiguousarray(indptr, dtype=index_dtype),
    )


def in_dtype(X: Any, dtype: npt.DTypeLike) -> Any:
    """X, an array or CSR, with values of that dtype; values beyond float32 become infinite, and are refused later."""
    if X.dtype == dtype:
        return X if is_sparse(X) else np.ascontiguousarray(X)
    with np.errstate(over="ignore"):
        return with_values(X, X.data.astype(dtype)) if is_sparse(X) else np.ascontiguousarray(X, dtype=dtype)


def with_values(X: Any, values: Array) -> Any:
    """X, an array or CSR, with other values in the same places."""
    return type(X)((values, X.indices, X.indptr), shape=X.shape) if is_sparse(X) else values


def with_own_columns(X: Any) -> Any:
    """X; if it is CSR, with private copies of its checked columns, for use by SciPy."""
    if not is_sparse(X):
        return X
    try:
        return type(X)((X.data, X.indices.copy(), X.indptr.copy()), shape=X.shape)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"Input X is not a valid CSR matrix: {error}.") from None


def owned(X: Any) -> Any:
    """X, an array or CSR, in private arrays."""
    return with_values(with_own_columns(X), (X.data if is_sparse(X) else X).copy())


def with_columns(X: Any, indices: Array, n_columns: int) -> Any:
    """X, which is CSR, with renumbered columns."""
    return type(X)((X.data, indices, X.indptr), shape=(X.shape[0], n_columns))


def widened(X: Any, n_columns: int) -> Any:
    """X with zeros in the columns that it does not have."""
    if X.shape[1] >= n_columns:
        return X
    if not is_sparse(X):
        return np.pad(X, ((0, 0), (0, n_columns - X.shape[1])))
    from scipy.sparse import csr_matrix

    return csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], n_columns))


def squared_norms(rows: _core.Rows) -> Floats:
    """|x|^2 of each row; ValueError if a row has invalid contents."""
    out = np.empty(rows.n_rows)
    with refusals(rows):
        _core.squared_norms(rows, out)
    return out


def trusted(X: Any) -> Any:
    """X, or a tidied copy of it, if SciPy may go over its arrays; ValueError if they are corrupt."""
    refuse_unfit(X)
    if is_sparse(X) and X.format == "csr":
        try:
            squared_norms(as_rows(X, np.float32 if X.dtype == np.float32 else np.float64))
        except UnsortedColumns:
            return tidy(X)
    return X


def tidy(X: Any) -> Any:
    """A copy of a CSR matrix with ascending columns; duplicate entries are summed."""
    X = owned(X)
    if X.nnz and (X.indices.min() < 0 or X.indices.max() >= X.shape[1]):  # SciPy would not look
        row = (
            int(np.searchsorted(X.indptr, np.flatnonzero((X.indices < 0) | (X.indices >= X.shape[1]))[0], "right")) - 1
        )
        raise ValueError(
            f"Input X is not a valid CSR matrix: row {row} has a column index outside 0 to {X.shape[1] - 1}."
        )
    from scipy.sparse import csr_matrix

    copy = csr_matrix((X.data, X.indices, X.indptr), shape=X.shape)
    copy.sum_duplicates()
    return copy


def without_columns_beyond(X: Any, n_columns: int) -> tuple[Any, Floats]:
    """The first columns of X, and for each row the sum of squares in the others."""
    rest = X[:, n_columns:].astype(np.float64)
    squares = rest.multiply(rest) if is_sparse(X) else np.square(rest)
    return X[:, :n_columns], np.asarray(squares.sum(axis=1), np.float64).reshape(-1)

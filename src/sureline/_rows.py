"""From what a caller passes as X, y and sample_weight to arrays that the core may loop over."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _core

Array = npt.NDArray[Any]


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix of SciPy, which is not imported for that: who has one, has it imported."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(X))


def refuse_corrupt_sparse(X: Any) -> None:
    """Raise ValueError if converting X to CSR could read or write outside its arrays.

    SciPy trusts the arrays of its own matrices. CSR needs no conversion and is checked by the core.
    """
    if not is_sparse(X) or X.format == "csr":
        return
    try:
        if X.format in ("csc", "bsr"):
            for name in ("indptr", "indices"):  # the check of SciPy takes them for signed
                if _signed(getattr(X, name), name) is not getattr(X, name):
                    raise ValueError(f"{name} must be int32 or int64")
            X.check_format(full_check=True)
        elif X.format == "coo":
            coordinates = [_signed(c, "a coordinate") for c in X.coords]
            if {len(c) for c in coordinates} != {len(X.data)}:
                raise ValueError("row, col and data differ in length")
            for axis, (coordinate, size) in enumerate(zip(coordinates, X.shape, strict=True)):
                if len(coordinate) and (coordinate.min() < 0 or coordinate.max() >= size):
                    raise ValueError(f"an index of axis {axis} is outside 0 to {size - 1}")
        elif X.format == "dia":
            if X.data.ndim != 2 or len(_signed(X.offsets, "offsets")) != len(X.data):
                raise ValueError("data must have one row for each of the offsets")
        elif X.format == "lil":
            if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
                raise ValueError("rows and data must have one list for each row")
            if [len(r) for r in X.rows] != [len(d) for d in X.data]:
                raise ValueError("a list of rows and its list of data differ in length")
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"Input X is not a valid {X.format.upper()} matrix: {error}.") from None


def _signed(indices: Any, name: str) -> Array:
    """`indices` as signed integers in one dimension."""
    array = np.asarray(indices)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.dtype == np.uint64 and (array >= 2**63).any()):
        raise ValueError(f"{name} must be integers in one dimension")
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)


class UnsortedColumns(ValueError):
    """The columns of a row do not ascend, which the core needs. `tidy` mends that."""


class RefusedRow(ValueError):
    """A row that nothing can be learned from as it is, of those that were passed."""

    def __init__(self, row: int, said: str) -> None:
        super().__init__(f"Row {row} of X {said}")
        self.row, self.said = row, said

    def in_stream(self, rows_before: int) -> ValueError:
        """The same for somebody who passed a stream, in which so many rows come before."""
        said = self.said.replace("X so that its", "the rows so that their").replace("X and y", "rows and labels")
        return ValueError(f"Row {rows_before + self.row + 1:,} of the stream {said}")


def refusal(rows: _core.Rows, row: int, why: str, dtype: npt.DTypeLike, first: int = 0) -> Exception:
    """What to raise for a row that a loop over numbers of that dtype has refused; rows are counted from `first`."""
    if why == "contents":
        return ValueError(rows.describe(row))
    row += first
    if why == "order":
        return UnsortedColumns(f"Row {row} of X does not have its columns in order.")
    if why == "memory":
        return MemoryError("not enough memory for this batch; pass fewer rows at a time")
    advice = "scale X so that its values are of the order of 1"
    if why == "score":
        return RefusedRow(row, f"has a score or a variance beyond float64; {advice}, and keep the parameters moderate.")
    return RefusedRow(
        row,
        f"needs a step that {dtype} cannot hold; {advice}, and keep sample_weight and the parameters "
        f"moderate{or_float64(dtype)}.",
    )


def or_float64(dtype: npt.DTypeLike) -> str:
    """What else helps where numbers are too large for `dtype`."""
    return ', or take dtype="float64" (--dtype float64), which goes further' if np.dtype(dtype) == np.float32 else ""


def as_rows(X: Any, dtype: npt.DTypeLike, n_columns: int | None = None) -> _core.Rows:
    """Rows of `X` (a two-dimensional array or a SciPy sparse CSR matrix) in `dtype`, for the core to go over.

    With `n_columns` the rows count as that wide; the columns they do not have are zero.
    """
    if not is_sparse(X):
        with np.errstate(over="ignore"):  # what does not fit into float32 is refused when its row is reached
            dense = np.ascontiguousarray(X, dtype=dtype)
        if n_columns is not None and n_columns > dense.shape[1]:
            dense = np.pad(dense, ((0, 0), (0, n_columns - dense.shape[1])))
        return _core.Rows.dense(dense)
    width = X.shape[1] if n_columns is None else max(X.shape[1], n_columns)
    return _core.Rows.csr(*csr_arrays(X, dtype), X.shape[0], width)


def csr_arrays(X: Any, dtype: npt.DTypeLike) -> tuple[Array, Array, Array]:
    """Values in `dtype`, indices and indptr of a CSR matrix, as the core wants them; nobody has looked into them."""
    try:
        indices, indptr = _signed(X.indices, "indices"), _signed(X.indptr, "indptr")
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
    """X, an array or CSR, with values of that dtype; what does not fit into float32 is infinite, and refused later."""
    if X.dtype == dtype:
        return X if is_sparse(X) else np.ascontiguousarray(X)
    with np.errstate(over="ignore"):
        return with_values(X, X.data.astype(dtype)) if is_sparse(X) else np.ascontiguousarray(X, dtype=dtype)


def with_values(X: Any, values: Array) -> Any:
    """X, an array or CSR, with other values in the same places."""
    return type(X)((values, X.indices, X.indptr), shape=X.shape) if is_sparse(X) else values


def with_columns(X: Any, indices: Array, n_columns: int) -> Any:
    """X, which is CSR, with its values in other columns."""
    return type(X)((X.data, indices, X.indptr), shape=(X.shape[0], n_columns))


def squared_norms(rows: _core.Rows) -> npt.NDArray[np.float64]:
    """|x|^2 of each row; ValueError if anything is wrong with the contents of one."""
    out = np.empty(rows.n_rows)
    row, why = _core.squared_norms(rows, out)
    if why:
        raise refusal(rows, row, why, np.float64)
    return out


def trusted(X: Any) -> Any:
    """X, or a tidied copy of it, if SciPy may go over its arrays; ValueError if they are corrupt."""
    refuse_corrupt_sparse(X)
    if is_sparse(X) and X.format == "csr":
        try:
            squared_norms(as_rows(X, np.float32 if X.dtype == np.float32 else np.float64))
        except UnsortedColumns:
            return tidy(X)
    return X


def tidy(X: Any) -> Any:
    """A copy of a CSR matrix with ascending columns; those that come several times in a row are added up."""
    if X.nnz and (X.indices.min() < 0 or X.indices.max() >= X.shape[1]):  # SciPy would not look
        row = (
            int(np.searchsorted(X.indptr, np.flatnonzero((X.indices < 0) | (X.indices >= X.shape[1]))[0], "right")) - 1
        )
        raise ValueError(
            f"Input X is not a valid CSR matrix: row {row} has a column index outside 0 to {X.shape[1] - 1}."
        )
    from scipy.sparse import csr_matrix

    copy = csr_matrix((X.data, X.indices, X.indptr), shape=X.shape, copy=True)
    copy.sum_duplicates()
    return copy


def rows_between(X: Any, start: int, stop: int) -> Any:
    """Those rows of an array, a data frame or a CSR matrix, without copying them."""
    if not is_sparse(X):
        return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
    try:
        # Not by SciPy's own slicing, which trusts the arrays. What is wrong inside the part, the core finds.
        indptr = X.indptr[start : stop + 1]
        inside = slice(indptr[0], indptr[-1])
        return type(X)((X.data[inside], X.indices[inside], indptr - indptr[0]), shape=(stop - start, X.shape[1]))
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"Input X is not a valid CSR matrix: {error}.") from None


def checked_sample_weight(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64] | None:
    """Weights as a vector with one entry a row; the core refuses those that are negative or not finite."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, weight)
    if weight.ndim != 1:
        raise ValueError(
            f"sample_weight must have one dimension, one weight a row. Got an array of shape {weight.shape}."
        )
    if len(weight) != n_rows:
        raise ValueError(f"sample_weight must have one weight a row: X has {n_rows} rows, sample_weight {len(weight)}.")
    bad = ~(np.isfinite(weight) & (weight >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"sample_weight must be finite and not negative. Got {weight[row]} for row {row} instead.")
    return np.ascontiguousarray(weight)


def distinct(y: Array) -> Array:
    """The sorted distinct values of y: np.unique, and without its sorting or hashing for labels like 0 and 1."""
    if y.dtype.kind in "iu" and len(y):
        least, most = int(y.min()), int(y.max())
        if most - least == 1:
            return np.array([least, most], y.dtype)
        if most - least < 1000 and -(2**62) < least and most < 2**62:
            return (np.flatnonzero(np.bincount(y.astype(np.int64) - least)) + least).astype(y.dtype)
    return np.unique(y)


def class_indices(y: Array, classes: Array) -> npt.NDArray[np.int32]:
    """The position of each label in `classes`, or -1 where it is not there."""
    if len(classes) <= 2:
        here = [y == label for label in classes]
        labels = here[1].astype(np.int32) if len(here) == 2 else np.zeros(len(y), np.int32)
        unknown = ~np.logical_or.reduce(here) if here else np.ones(len(y), bool)
        if unknown.any():
            labels[unknown] = -1
        return labels
    order = np.argsort(classes, kind="stable")
    position = order[np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)]
    return np.where(classes[position] == y, position, -1).astype(np.int32)


def label_array(labels: Sequence[Any]) -> Array:
    """Labels as an array of one type: truth values, integers, numbers or text."""
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels, bool)
    if all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in labels):
        return np.array(labels, np.int64)
    if all(isinstance(label, int | float) for label in labels):
        return np.array(labels, np.float64)
    return np.array([str(label) for label in labels])

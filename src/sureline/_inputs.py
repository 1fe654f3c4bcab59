"""Checks of arguments: sparse matrices, sample weights, labels and text."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Labels = npt.NDArray[np.int32]  # positions of classes
Flags = npt.NDArray[np.bool_]

# How type names begin in Polars and pyarrow, by NumPy's kind.
_KINDS = {
    "M": ("date", "timestamp", "time"),
    "m": ("duration",),
    "U": ("str", "utf8", "large_str", "categorical", "enum", "binary", "large_bin", "fixed_size_bin"),
}
_NO_NUMBERS = ("U", "S", "T", "M", "m")
_LONGEST_TEXT, _MOST_TEXT = 1 << 12, 1 << 26  # characters of a label, and bytes of all of them, in an array of text


def is_sparse(X: Any) -> bool:
    """True if X is a SciPy sparse matrix. SciPy is not imported: a caller with one has imported it."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and bool(module.issparse(X))


def namespace_of(values: Any) -> Any:
    """The module with the functions of NumPy for these values: NumPy, or CuPy for an array on a device."""
    cupy = sys.modules.get("cupy")
    return cupy if cupy is not None and isinstance(values, cupy.ndarray) else np


def special_of(values: Any) -> Any:
    """The module with the functions of scipy.special for these values."""
    from importlib import import_module

    return import_module("scipy.special" if namespace_of(values) is np else "cupyx.scipy.special")


def refuse_unfit(X: Any) -> None:
    """Raise ValueError if X does not hold numbers, or is a corrupt sparse matrix.

    Converting a corrupt matrix to CSR could access memory outside its arrays, since SciPy does not check them. CSR
    needs no conversion; the core checks it.
    """
    if not is_sparse(X):
        _refuse_no_numbers(X)
        return
    if X.format == "csr":
        return
    try:
        if X.format in ("csc", "bsr"):
            for name in ("indptr", "indices"):  # the check of SciPy takes them for signed
                if signed(getattr(X, name), name) is not getattr(X, name):
                    raise ValueError(f"{name} must be int32 or int64")
            X.check_format(full_check=True)
        elif X.format == "coo":
            coordinates = [signed(c, "a coordinate") for c in X.coords]
            if {len(c) for c in coordinates} != {len(X.data)}:
                raise ValueError("row, col and data differ in length")
            for axis, (coordinate, size) in enumerate(zip(coordinates, X.shape, strict=True)):
                if len(coordinate) and (coordinate.min() < 0 or coordinate.max() >= size):
                    raise ValueError(f"an index of axis {axis} is outside 0 to {size - 1}")
        elif X.format == "dia":
            if X.data.ndim != 2 or len(signed(X.offsets, "offsets")) != len(X.data):
                raise ValueError("data must have one row for each of the offsets")
        elif X.format == "lil":
            if len(X.rows) != X.shape[0] or len(X.data) != X.shape[0]:
                raise ValueError("rows and data must have one list for each row")
            if [len(r) for r in X.rows] != [len(d) for d in X.data]:
                raise ValueError("a list of rows and its list of data differ in length")
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ValueError(f"Input X is not a valid {X.format.upper()} matrix: {error}.") from None


def _refuse_no_numbers(X: Any) -> None:
    """Raise ValueError for masked values, times and text, which NumPy silently converts to numbers."""
    refuse_masked("Input X", X, "fill them (X.filled(0)) or leave their rows out")
    for where, column, kind in _columns_of(X):
        if kind == "O":
            kind = _kind_within(column)
        if kind == "masked":
            refuse_masked("Input X", np.ma.masked)
        numpy = hasattr(X, "astype")
        if kind in ("M", "m"):
            word, seconds = ("dates", "datetime64[s]") if kind == "M" else ("times", "timedelta64[s]")
            how = f" (X.astype('{seconds}').astype(float))" if numpy else ""
            raise ValueError(f"Input X has {word}{where}; turn them into numbers, such as seconds{how}.")
        if kind in ("U", "S", "T"):
            how = " with X.astype(float)" if numpy else ", where they are written as text"
            raise ValueError(
                f"Input X has text{where}; convert numbers{how}, encode categories (OneHotEncoder), or "
                "learn by names (learn_one with dicts, sureline.stream.read)."
            )


def _columns_of(X: Any) -> Iterator[tuple[str, Any, str]]:
    """Yield for each column of X its name, its values, and NumPy's kind of its type ("O" if only the values tell)."""
    if hasattr(X, "column_names") and hasattr(X, "schema"):  # of pyarrow
        yield from ((f" in the column {field.name!r}", None, _kind_by_name(field.type)) for field in X.schema)
    elif hasattr(X, "dtypes") and hasattr(X, "columns"):
        for k, name in enumerate(X.columns):
            column = X.iloc[:, k] if hasattr(X, "iloc") else X[name]
            yield f" in the column {name!r}", column, _kind_of(column)
    else:
        yield "", X, "O" if isinstance(X, list | tuple) else _kind_of(X)


def _kind_of(values: Any) -> str:
    dtype = getattr(values, "dtype", None)
    kind = getattr(dtype, "kind", None)
    return kind if isinstance(kind, str) else "" if dtype is None else _kind_by_name(dtype)


def _kind_by_name(dtype: Any) -> str:
    """NumPy's kind for a type of Polars or pyarrow; "" if the type may be numeric."""
    name = str(dtype).lower().rpartition("values=")[2]
    for kind, beginnings in _KINDS.items():
        if name.startswith(beginnings):
            return kind
    return ""


def refuse_masked(what: str, values: Any, remedy: str = "leave their rows out") -> None:
    """Raise ValueError for an array with masked values, whose mask NumPy ignores."""
    if values is np.ma.masked or (isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values)):
        raise ValueError(f"{what} is a masked array, and its masked values would be learned from; {remedy}.")


def _kind_within(values: Any) -> str:
    """The kind of non-numbers in nested lists: U, M or m as in NumPy, or "masked"."""
    if isinstance(values, str | bytes):
        return "U"
    if isinstance(values, float | int):
        return ""
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        return "masked"
    if isinstance(values, list | tuple) or (getattr(getattr(values, "dtype", None), "kind", "") == "O"):
        return next(filter(None, map(_kind_within, values)), "")
    if isinstance(values, date):
        return "M"
    kind = getattr(getattr(values, "dtype", None), "kind", "m" if isinstance(values, timedelta) else "")
    return kind if kind in _NO_NUMBERS else ""


def signed(indices: Any, name: str) -> Array:
    """`indices` as signed integers in one dimension."""
    array = np.asarray(indices)
    if array.ndim != 1 or array.dtype.kind not in "iu" or (array.dtype == np.uint64 and (array >= 2**63).any()):
        raise ValueError(f"{name} must be integers in one dimension")
    return array if array.dtype in (np.int32, np.int64) else array.astype(np.int64)


def rows_between(X: Any, start: int, stop: int) -> Any:
    """A range of rows of an array, a data frame or a CSR matrix, without copying."""
    if not is_sparse(X):
        return X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
    try:
        # SciPy's own slicing does not check the arrays. The core checks the values inside the slice.
        indptr = X.indptr[start : stop + 1]
        inside = slice(indptr[0], indptr[-1])
        return type(X)((X.data[inside], X.indices[inside], indptr - indptr[0]), shape=(stop - start, X.shape[1]))
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(f"Input X is not a valid CSR matrix: {error}.") from None


def checked_sample_weight(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64] | None:
    """Weights as a vector with one entry a row; the core refuses those that are negative or not finite."""
    if sample_weight is None:
        return None
    refuse_masked("sample_weight", sample_weight)
    if _kind_of(sample_weight) in _NO_NUMBERS or _kind_within(sample_weight) in _NO_NUMBERS:
        raise ValueError("sample_weight must be numbers, one a row. Got text or dates instead.")
    # A copy, so that no other thread can change it after the check.
    weight = np.array(sample_weight, np.float64, order="C")
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
    return weight


def refuse_no_integer(name: str, value: Any, least: int = 1) -> None:
    """Raise ValueError unless `value` is an integer of at least `least`."""
    if not is_integer(value) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}. Got {value!r} instead.")


def is_integer(value: Any) -> bool:
    """True for an integer of Python or NumPy, but not for True or False."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """True for a real number of Python or NumPy, but not for True or False."""
    return isinstance(value, Real) and not isinstance(value, bool)


def distinct(y: Array) -> Array:
    """The sorted distinct values of y: np.unique, and without its sorting or hashing for labels like 0 and 1."""
    if y.dtype.kind in "iu" and len(y):
        least, most = int(y.min()), int(y.max())
        if most - least == 1:
            return np.array([least, most], y.dtype)
        if most - least < 1000 and -(2**62) < least and most < 2**62:
            return (np.flatnonzero(np.bincount(y.astype(np.int64) - least)) + least).astype(y.dtype)
    return np.unique(y)


def sorted_classes(labels: Array) -> Array:
    """The same, or ValueError if the labels cannot be compared."""
    try:
        return distinct(labels)
    except TypeError:
        raise _of_several_types(labels.tolist()) from None


def class_indices(y: Array, classes: Array) -> npt.NDArray[np.int32]:
    """The position of each label in `classes`; -1 for unknown labels."""
    if classes.dtype == object and y.dtype.kind == "U":
        y = y.astype(object)  # as NumPy text, "a\0" would equal "a"
    if len(classes) <= 2:
        here = [y == classes[k : k + 1] for k in range(len(classes))]  # a NumPy scalar of text would lose its NULs
        labels = here[1].astype(np.int32) if len(here) == 2 else np.zeros(len(y), np.int32)
        unknown = ~(here[0] | here[-1]) if here else np.ones(len(y), bool)
        if unknown.any():
            labels[unknown] = -1
        return labels
    order = np.argsort(classes, kind="stable")
    position = order[np.minimum(np.searchsorted(classes, y, sorter=order), len(classes) - 1)]
    return np.where(classes[position] == y, position, -1).astype(np.int32)


def label_array(labels: Sequence[Any], n_rows: int = 0) -> Array:
    """Labels as an array of one type: booleans, integers, numbers or text; objects if that would lose information.

    `n_rows` is how many rows are to have one of them, if that is more than there are labels.
    """
    if all(isinstance(label, bool) for label in labels):
        return np.array(labels, bool)
    if all(isinstance(label, int) for label in labels):
        for kind in (np.int64, np.uint64):
            if all(np.iinfo(kind).min <= label <= np.iinfo(kind).max for label in labels):
                return np.array(labels, kind)
        return _objects(labels)
    if all(isinstance(label, int | float) for label in labels):
        exact = all(isinstance(label, float) or abs(label) <= 2**53 for label in labels)
        return np.array(labels, np.float64) if exact else _objects(labels)
    texts: Array = exact_labels([str(label) for label in labels], n_rows)
    return texts


def exact_labels(labels: Any, n_rows: int = 0) -> Any:
    """Labels for NumPy; text that a string array would change or blow up becomes an object array.

    An array of text has the same room for each, that of the longest, and drops NULs at the end. Lists of several types
    become text, and frames of Polars give arrays of text. What has no exact form is refused with a ValueError.
    """
    refuse_masked("y", labels)
    if hasattr(labels, "isna") and np.any(labels.isna()):
        raise ValueError("y contains NaN or other missing labels; leave their rows out.")
    if hasattr(getattr(labels, "cat", None), "categories"):
        labels = np.asarray(labels)  # a pandas categorical becomes an array of its categories
    if hasattr(labels, "to_series") and getattr(labels, "width", 0) == 1:
        labels = labels.to_series()
    if _kind_of(labels) in ("M", "m"):
        raise ValueError("y has dates or times; turn them into text (y.astype(str)) or numbers.")
    if hasattr(labels, "to_list") and not hasattr(labels, "iloc") and _kind_of(labels) == "U":  # a series of Polars
        labels = labels.to_list()
    if not isinstance(labels, list | tuple):
        return labels
    kinds = {next((kind for kind in (str, bytes) if issubclass(each, kind)), None) for each in set(map(type, labels))}
    if len(kinds) > 1:
        raise _of_several_types(labels)
    if kinds != {str}:
        return labels
    longest = max(map(len, labels), default=0)
    if (
        longest > _LONGEST_TEXT
        or 4 * longest * max(len(labels), n_rows) > _MOST_TEXT
        or any(label.endswith("\0") for label in labels)
    ):
        return _objects(labels)
    return np.array(labels, f"<U{max(longest, 1)}")


def _of_several_types(labels: Sequence[Any]) -> ValueError:
    types = sorted({type(label).__name__ for label in labels})
    return ValueError(f"The labels must all be of one type that can be sorted. Got {', '.join(types)}.")


def _objects(labels: Sequence[Any]) -> Array:
    array = np.empty(len(labels), object)
    array[:] = labels
    return array


def clean(text: str) -> str:
    """Text without control characters and lone surrogates, which are replaced.

    Names in files may hold any characters. XML and UTF-8 cannot represent all of them.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\N{NO-BREAK SPACE}" else "\N{REPLACEMENT CHARACTER}" for c in text)


def printable(text: str, but: str = "") -> str:
    """Text for a terminal: characters that are not printable are escaped as in JSON, except those in `but`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in but else json.dumps(c)[1:-1].replace("\x7f", "\\u007f") for c in text)

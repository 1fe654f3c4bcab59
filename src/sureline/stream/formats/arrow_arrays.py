"""The contents of Arrow's arrays: numbers, nulls, distinct values, texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._inputs import Array

NUMBERS = {
    **{f"{sign}int{8 * size}": f"<{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)},
    "halffloat": "<f2",
    "float": "<f4",
    "double": "<f8",
}


def encoded(column: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """The distinct values of a column, and for each row the position of its value; -1 for null."""
    import pyarrow as pa

    column = without_views(column)
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    indices = numbers(column.indices).astype(np.int64)
    if column.indices.null_count:
        indices[nulls(column.indices)] = -1
    used, places = np.unique(indices, return_inverse=True)  # there may be many unused ones
    places = places.reshape(-1) - int(len(used) > 0 and used[0] < 0)
    taken = pa.Array.from_buffers(pa.int64(), int((used >= 0).sum()), [None, pa.py_buffer(used[used >= 0])])
    return column.dictionary.take(taken), places


def without_views(column: Any) -> Any:
    """Text views, also in dictionaries, as large strings: pyarrow has few kernels for views."""
    import pyarrow as pa

    if str(column.type) == "string_view":  # as Polars has texts
        return column.cast(pa.large_string())
    if hasattr(column, "dictionary") and str(column.dictionary.type) == "string_view":  # and its categories
        texts = column.dictionary.cast(pa.large_string())
        return pa.DictionaryArray.from_arrays(column.indices, texts, ordered=column.type.ordered)
    return column


def view_sizes(column: Any) -> npt.NDArray[np.int64] | None:
    """Bytes of text views in each row; None if there are none.

    Many may be views of one text, and so take more memory than the file has bytes.
    """
    import pyarrow as pa

    type, n = column.type, len(column)
    if str(type) == "string_view":
        views = column.buffers()[1]
        found = np.zeros(0, np.int32) if views is None else np.frombuffer(views, "<i4")[::4]
        lengths: npt.NDArray[np.int64] = np.maximum(found[column.offset : column.offset + n], 0).astype(np.int64)
        lengths[nulls(column)] = 0
        return lengths
    fixed = pa.types.is_fixed_size_list(type)
    if not (fixed or is_list(type)) or (items := view_sizes(column.values)) is None:
        return None
    size = type.list_size if fixed else 0
    starts = size * (column.offset + np.arange(n + 1)) if fixed else numbers(column.offsets).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(items)])
    in_rows: npt.NDArray[np.int64] = np.diff(ends[np.clip(starts, 0, len(items))])
    return in_rows


def row_sizes(column: Any) -> npt.NDArray[np.int64] | None:
    """Bytes of text in each row, including views and dictionaries; None for other types."""
    texts = getattr(column, "dictionary", column)
    lengths = view_sizes(texts) if (found := sizes(texts)) is None else found
    if lengths is None or texts is column:
        return lengths
    codes = numbers(column.indices, instead_of_null=len(lengths)).astype(np.int64)
    written: npt.NDArray[np.int64] = np.append(lengths, 0)[np.clip(codes, 0, len(lengths))]
    return written


def sizes(values: Any) -> npt.NDArray[np.int64] | None:
    """Bytes of each text; None for other types."""
    if not is_text(values.type) or not len(values):
        return None
    kind = "<i8" if str(values.type).startswith("large_") else "<i4"
    offsets = np.frombuffer(values.buffers()[1], kind)[values.offset :][: len(values) + 1]
    return np.asarray(np.diff(offsets.astype(np.int64)), np.int64)


# For some of these, pyarrow would import pandas if it is installed, which takes half a second and 60 MiB.


def numbers(array: Any, instead_of_null: int | None = None) -> Array:
    """The content of an array of numbers, without a copy if nothing is null."""
    dtype = np.dtype(NUMBERS[str(array.type)])
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        content: Array = np.zeros(len(array), dtype)
    else:
        content = np.frombuffer(buffer, dtype, len(array), array.offset * dtype.itemsize)
    if instead_of_null is not None and array.null_count:
        content = np.where(nulls(array), np.array(instead_of_null).astype(dtype), content)
    return content


def nulls(array: Any) -> npt.NDArray[np.bool_]:
    """The mask of an array's nulls."""
    bitmap = array.buffers()[0]
    if bitmap is None:
        return np.full(len(array), array.null_count > 0)
    bits = np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little")
    return np.asarray(bits[array.offset : array.offset + len(array)] == 0)


def is_list(type: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(type) or pa.types.is_large_list(type))


def is_text(type: Any, binary: bool = False) -> bool:
    import pyarrow as pa

    texts: list[Callable[[Any], bool]] = [pa.types.is_string, pa.types.is_large_string]
    if binary:
        texts += [pa.types.is_binary, pa.types.is_large_binary]
    return any(is_such(type) for is_such in texts)


def is_feature(type: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(type):
        type = type.value_type
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, is_text)
    return str(type) == "string_view" or any(is_such(type) for is_such in kinds)


def tags(column: Any) -> list[bytes] | None:
    """The tags of the rows; None if the offsets show that there are none."""
    wide = str(column.type).startswith("large_")
    offsets = np.frombuffer(column.buffers()[1], "<i8" if wide else "<i4")[column.offset :][: len(column) + 1]
    if offsets[0] == offsets[-1]:
        return None
    return [b"" if tag is None else tag.encode() if isinstance(tag, str) else tag for tag in column.to_pylist()]


def values(column: Any) -> tuple[list[Any], Any]:
    """The values of a column as Python has them, and their type. A text that comes in many rows is made once."""
    if not hasattr(column, "dictionary"):
        return column.to_pylist(), column.type
    distinct, places = encoded(column)
    made = [*distinct.to_pylist(), None]  # the last one is for rows without a value
    return [made[place] for place in places.tolist()], distinct.type

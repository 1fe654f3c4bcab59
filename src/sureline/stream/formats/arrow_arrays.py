"""The contents of Arrow's arrays: numbers, nulls, distinct values, texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

NUMBERS = {
    **{f"{sign}int{8 * size}": f"<{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)},
    "halffloat": "<f2",
    "float": "<f4",
    "double": "<f8",
}


def encoded(column: Any) -> tuple[Any, npt.NDArray[np.int64]]:
    """The distinct values of a column, and for each row which of them it has; -1 where it has none."""
    import pyarrow as pa

    if "string_view" in str(column.type):  # as Polars has texts
        column = (column.dictionary_decode() if hasattr(column, "dictionary") else column).cast(pa.large_string())
    if not hasattr(column, "dictionary"):
        column = column.dictionary_encode()
    indices = numbers(column.indices).astype(np.int64)
    if column.indices.null_count:
        indices[nulls(column.indices)] = -1
    used, places = np.unique(indices, return_inverse=True)  # others may be many
    places = places.reshape(-1) - int(len(used) > 0 and used[0] < 0)
    taken = pa.Array.from_buffers(pa.int64(), int((used >= 0).sum()), [None, pa.py_buffer(used[used >= 0])])
    return column.dictionary.take(taken), places


def sizes(values: Any) -> npt.NDArray[np.int64] | None:
    """How many bytes each text has; None if the values are no texts."""
    if not is_text(values.type) or not len(values):
        return None
    kind = "<i8" if str(values.type).startswith("large_") else "<i4"
    offsets = np.frombuffer(values.buffers()[1], kind)[values.offset :][: len(values) + 1]
    return np.asarray(np.diff(offsets.astype(np.int64)), np.int64)


# pyarrow would import pandas for some of these, if it is there, which takes half a second and 60 MiB.


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
    """The tags of the rows, None if none has one, which is seen from the offsets."""
    wide = str(column.type).startswith("large_")
    offsets = np.frombuffer(column.buffers()[1], "<i8" if wide else "<i4")[column.offset :][: len(column) + 1]
    if offsets[0] == offsets[-1]:
        return None
    return [b"" if tag is None else tag.encode() if isinstance(tag, str) else tag for tag in column.to_pylist()]

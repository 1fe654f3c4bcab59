"""Columns of Arrow as cells of a table: their buffers for the core, and their first values for a look."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..._native import _core
from .arrow_arrays import NUMBERS, nulls, numbers, sizes, view_sizes, without_views

_EXACT = ("categorical", "text")  # kinds that need all digits of an integer
_LOOKED_AT = 1 << 23  # characters, or items of lists, of a column
_DEEPEST = 100  # structs within structs


class FlatField(NamedTuple):
    """A column, or a field within structs: name with dots, top column, path within it, and type."""

    name: str
    top: str
    path: tuple[int, ...]
    type: Any

    def of(self, batch: Any) -> Any:
        """The values of a batch; null where a struct is."""
        column = batch.column(self.top)
        for k in self.path:
            column = column.flatten()[k]
        return column


def flat_fields(schema: Any) -> Iterator[FlatField]:
    """All columns that hold values."""
    import pyarrow as pa

    waiting = [FlatField(field.name, field.name, (), field.type) for field in reversed(list(schema))]
    while waiting:
        field = waiting.pop()
        if not pa.types.is_struct(field.type) or len(field.path) > _DEEPEST:
            yield field
            continue
        inner = [field.type.field(k) for k in range(field.type.num_fields)]
        waiting += [
            FlatField(f"{field.name}.{each.name}", field.top, (*field.path, k), each.type)
            for k, each in reversed(list(enumerate(inner)))
        ]


def is_cell(type: Any) -> bool:
    """True for a type that a cell of a table may have."""
    return _reader(type) is not None


def cells(column: Any, kind: str) -> _core.ColumnCells:
    """The cells of a column, for the core."""
    read = _reader(column.type)
    assert read is not None
    return read(column, kind)


def first_values(column: Any) -> list[Any]:
    """Values of a column for guessing: those of the first rows, fewer if they are long."""
    if (views := view_sizes(column)) is not None:
        column = column.slice(0, _within(views))
    column = without_views(column)
    return values_of(column.slice(0, _rows_within(column)))


def values_of(column: Any) -> list[Any]:
    """Values of a column: None, bools, numbers, texts and lists."""
    import pyarrow as pa

    column = without_views(column)
    kind, type = column.type, str(column.type)
    if pa.types.is_dictionary(kind):
        return values_of(column.dictionary_decode())
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        micros, empty = numbers(_as(column, pa.int64(), pa.timestamp("us"))), nulls(column)
        times = np.datetime_as_string(micros.view("datetime64[us]")).tolist()
        return [None if gone else time for time, gone in zip(times, empty.tolist(), strict=True)]
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string())
    elif pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    elif type in ("halffloat", "float"):
        column = column.cast(pa.float64())
    return list(column.to_pylist())


def _rows_within(column: Any) -> int:
    """Rows of texts or lists to look at: fewer if they are long, at least one."""
    texts = column.dictionary if hasattr(column, "dictionary") else column
    if _is_list(texts.type):
        lengths = np.diff(numbers(texts.offsets)) if hasattr(texts, "offsets") else None
    else:
        lengths = sizes(texts)
    if lengths is None or not len(column):
        return len(column)
    if texts is not column:
        codes = numbers(column.indices, instead_of_null=0)
        lengths = np.append(lengths, 0)[codes]
    return _within(lengths)


def _within(lengths: npt.NDArray[np.int64]) -> int:
    """How many values are looked at together, at least one."""
    return 1 + int(np.searchsorted(np.cumsum(lengths[:-1], dtype=np.int64), _LOOKED_AT))


Read = Callable[[Any, str], _core.ColumnCells]


def _reader(type: Any) -> Read | None:
    import pyarrow as pa

    is_a = pa.types
    readers: list[tuple[Callable[[Any], bool], Read]] = [
        (is_a.is_null, lambda column, kind: _core.ColumnCells(len(column))),
        (is_a.is_boolean, _booleans),
        (is_a.is_duration, lambda column, kind: _numbers(column.cast(pa.int64()), kind)),
        (lambda given: str(given) in NUMBERS, _numbers),
        (is_a.is_decimal, lambda column, kind: _texts(column.cast(pa.string()), kind)),
        (lambda given: is_a.is_timestamp(given) or is_a.is_date(given), _times),
        (_is_text, _texts),
        (is_a.is_dictionary, _encoded),
        (_is_list, _lists),
    ]
    found = next((read for is_such, read in readers if is_such(type)), None)
    inner = type.value_type if found in (_encoded, _lists) else None
    if found is _lists and not (str(inner) in NUMBERS or _is_text(inner) or is_a.is_null(inner)):
        return None
    return None if found is _encoded and _reader(inner) in (None, _lists, _encoded) else found


def _is_text(type: Any) -> bool:
    return str(type) in ("string", "large_string", "string_view")


def _is_list(type: Any) -> bool:
    import pyarrow as pa

    kinds = [pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list]
    return any(is_such(type) for is_such in kinds)


def _mask(column: Any) -> Any:
    return nulls(column).view(np.uint8) if column.null_count else None


def _as(column: Any, view: Any, *types: Any) -> Any:
    """Cast, and then looked at as another type of the same width."""
    for each in types:
        column = column.cast(each, safe=False)
    return column.view(view)


def _numbers(column: Any, kind: str) -> _core.ColumnCells:
    import pyarrow as pa

    if kind in _EXACT and pa.types.is_integer(column.type):
        return _texts(column.cast(pa.string()), kind)
    return _core.ColumnCells.of_numbers(np.ascontiguousarray(numbers(column), np.float64), _mask(column))


def _booleans(column: Any, kind: str) -> _core.ColumnCells:
    import pyarrow as pa

    return _core.ColumnCells.of_booleans(np.ascontiguousarray(numbers(column.cast(pa.uint8()))), _mask(column))


def _times(column: Any, kind: str) -> _core.ColumnCells:
    import pyarrow as pa

    micros = np.ascontiguousarray(numbers(_as(column, pa.int64(), pa.timestamp("us"))))
    return _core.ColumnCells.of_times(micros, _mask(column))


def _texts(column: Any, kind: str) -> _core.ColumnCells:
    return _core.ColumnCells.of_texts(*_content(column), _mask(column))


def _content(column: Any) -> tuple[Any, Any]:
    """The characters of an array of texts, and where each of them begins."""
    column = without_views(column)
    wide = str(column.type) == "large_string"
    _, offsets, content = column.buffers()
    if offsets is None or not len(column):
        return np.zeros(0, np.uint8), np.zeros(len(column) + 1, np.int64)
    at = np.frombuffer(offsets, "<i8" if wide else "<i4")[column.offset :][: len(column) + 1]
    characters = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
    return characters, np.ascontiguousarray(at, np.int64)


def _encoded(column: Any, kind: str) -> _core.ColumnCells:
    if not _is_text(column.dictionary.type):
        return cells(column.dictionary_decode(), kind)
    codes = numbers(column.indices, instead_of_null=-1 if column.indices.null_count else None)
    codes = codes.astype(np.int32)
    if column.indices.null_count:
        codes[nulls(column.indices)] = -1
    if column.dictionary.null_count:
        codes[np.isin(codes, np.flatnonzero(nulls(column.dictionary)))] = -1
    return _core.ColumnCells.of_codes(codes, *_content(column.dictionary))


def _lists(column: Any, kind: str) -> _core.ColumnCells:
    import pyarrow as pa

    if pa.types.is_fixed_size_list(column.type):
        column = column.cast(pa.list_(column.type.value_type))
    starts = np.ascontiguousarray(numbers(column.offsets), np.int64)
    items = column.values
    if pa.types.is_null(items.type):
        return _core.ColumnCells.of_lists(starts, np.full(len(items), np.nan), _mask(column))
    if _is_text(items.type):
        items = without_views(items)
        if items.null_count:
            items = items.fill_null("")
        return _core.ColumnCells.of_text_lists(starts, *_content(items), _mask(column))
    content = np.array(numbers(items), np.float64)
    if items.null_count:
        content[nulls(items)] = np.nan
    return _core.ColumnCells.of_lists(starts, content, _mask(column))

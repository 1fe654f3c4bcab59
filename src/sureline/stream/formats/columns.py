"""Batches of Arrow columns as rows: list columns of indices and values, or a column for each feature."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._native import _core
from ..chunk import BlockFacts, Chunk, keep_rows
from ..errors import KEPT, DataError, Fault, listed, shown
from ..labels import BadLabel, Codes, Label, from_number, from_text
from ..options import Options
from .tables import Row, hashed

Array = npt.NDArray[Any]

_NUMBERS = {
    **{f"{sign}int{8 * size}": f"<{sign or 'i'}{size}" for sign in ("", "u") for size in (1, 2, 4, 8)},
    "halffloat": "<f2",
    "float": "<f4",
    "double": "<f8",
}
LARGEST_INDEX = 2**31 - 2
_PLAIN_KINDS = {"float32": ("int32", "float"), "float64": ("int32", "double")}
WIDE_ROWS = 4096  # rows at a time where each becomes a dict


class ColumnLayout:
    """Which columns of a file are what, by its schema.

    With `indices` and `values` these hold the rows, and `label`, `weight` and `tag` are looked for by these names.
    Otherwise every column but those of the label and the weight is a feature.
    """

    def __init__(self, file: str, schema: Any, options: Options, width: int = 0) -> None:
        import pyarrow as pa

        self._file, self._options, self.width = file, options, width
        names = schema.names
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise DataError(file, f"the column {shown(twice[0])} comes more than once")
        lists = [n for n in ("indices", "values") if n in names and _is_list(schema.field(n).type)]
        self.listed = len(lists) == 2
        if len(lists) == 1:
            raise DataError(file, "there must be list columns for both, indices and values")
        self.label = options.label if options.label in names else None
        if self.label is None and options.need_label:
            raise DataError(file, f"there is no column {shown(options.label)} among the columns {listed(names)}")
        elif self.label is not None and not _is_feature(schema.field(self.label).type):
            raise DataError(file, f"the labels must be numbers or text; they are {_typed(schema, self.label)}")
        self.weight = options.weight
        if self.weight is not None and self.weight not in names:
            raise DataError(file, f"there is no column {shown(self.weight)} among the columns {listed(names)}")
        if self.weight is None and self.listed and "weight" in names:
            self.weight = "weight"
        if self.weight is not None and str(schema.field(self.weight).type) not in _NUMBERS:
            raise DataError(
                file, f"the column {shown(self.weight)} must be numbers; it is {_typed(schema, self.weight)}"
            )
        self.tag = None
        self.features: list[str] = []
        if self.listed:
            if "tag" in names and _is_text(schema.field("tag").type, binary=True):
                self.tag = "tag"
            indices, values = (schema.field(n).type.value_type for n in lists)
            if not pa.types.is_integer(indices):
                raise DataError(
                    file, f"indices must be lists of integers; they are lists of {shown(str(indices), quotes=False)}"
                )
            if not (pa.types.is_integer(values) or pa.types.is_floating(values)):
                raise DataError(
                    file, f"values must be lists of numbers; they are lists of {shown(str(values), quotes=False)}"
                )
        else:
            self.features = [name for name in names if name not in (self.label, self.weight)]
            for name in self.features:
                if not _is_feature(schema.field(name).type):
                    raise DataError(
                        file, f"the column {shown(name)} has the type {_typed(schema, name)}, no number and no text"
                    )
        self.columns = [n for n in (*lists, *self.features, self.label, self.weight, self.tag) if n is not None]

    def parse(self, batch: Any) -> Chunk:
        """The rows of a batch. The lines of faults are the places of the rows in it."""
        n = batch.num_rows
        faults = _RowFaults(n)
        labels = self._labels(batch, faults)
        weights = self._weights(batch, faults)
        chunk = self._list_rows(batch, faults) if self.listed else self._wide_rows(batch, faults)
        chunk = Chunk(
            values=chunk.values,
            indices=chunk.indices,
            indptr=chunk.indptr,
            labels=labels,
            n_columns=max(chunk.n_columns, self.width),
            weights=weights,
            tags=None if self.tag is None else _tags(batch.column(self.tag)),
            names=chunk.names,
            block=BlockFacts(n),
        )
        if not faults:
            return chunk
        if self._options.skip:
            return replace(keep_rows(chunk, faults.keep), block=BlockFacts(n, faults.count, faults.first()))
        stop = int(np.argmin(faults.keep))
        return replace(chunk.first(stop), block=BlockFacts(n, 1, faults.first()[:1], rows_end=stop))

    def _labels(self, batch: Any, faults: _RowFaults) -> tuple[Codes, list[Label]]:
        if self.label is None:
            return np.full(batch.num_rows, -1, np.int32), []
        column = batch.column(self.label)
        if hasattr(column, "dictionary"):  # which may be large, and hold what no row has
            column = column.dictionary_decode()
        encoded = column.dictionary_encode()
        table = np.full(len(encoded.dictionary) + 1, -1, np.int32)  # the last is for rows without a label
        labels: dict[Label, int] = {}
        indices = numbers(encoded.indices, instead_of_null=-1)
        for i, value in enumerate(encoded.dictionary.to_pylist()):
            try:
                label = _label(value)
                if label is not None:
                    table[i] = labels.setdefault(label, len(labels))
            except BadLabel as error:
                faults.add(indices == i, str(error))
        codes = table[indices]
        if self._options.need_label:
            faults.add(codes == -1, "the row has no label")
        return codes, list(labels)

    def _weights(self, batch: Any, faults: _RowFaults) -> npt.NDArray[np.float64] | None:
        if self.weight is None:
            return None
        weights = numbers(batch.column(self.weight), instead_of_null=-1).astype(np.float64, copy=False)
        with np.errstate(invalid="ignore"):
            faults.add(
                ~((weights >= 0) & np.isfinite(weights)), "the weight must be a number that is finite and not negative"
            )
        return None if (weights == 1).all() else weights

    def _list_rows(self, batch: Any, faults: _RowFaults) -> Chunk:
        n = batch.num_rows
        if (plain := self._plain_rows(batch)) is not None:
            return plain
        indices, starts = self._list(batch.column("indices"), faults)
        values, value_starts = self._list(batch.column("values"), faults)
        if not np.array_equal(starts, value_starts):
            lengths = np.diff(starts)
            differ = lengths != np.diff(value_starts)
            faults.add(differ, "the row has more indices than values, or fewer")
            indices, starts = _only(indices, starts, ~differ)
            values, value_starts = _only(values, value_starts, ~differ)
        dtype = np.dtype(self._options.dtype)
        with np.errstate(over="ignore"):
            exact, values = values, values.astype(dtype, copy=False)
        if len(indices) and not (0 <= indices.min() and indices.max() <= LARGEST_INDEX):
            outside = (indices < 0) | (indices > LARGEST_INDEX)
            bad = _rows_of(outside, starts)
            faults.add(bad, f"the row has an index outside 0 to {LARGEST_INDEX}")
            (indices, _), (values, _), (exact, starts) = (_only(a, starts, ~bad) for a in (indices, values, exact))
        finite = np.isfinite(values)
        if not finite.all():
            faults.add(_rows_of(~finite, starts), f"the row has a value that is not a number that {dtype} can hold")
        indices = indices.astype(np.int32, copy=False)
        if not _ascends(indices, starts):
            indices, values, starts = self._in_order(indices, exact, starts, faults)
        width = int(indices.max()) + 1 if len(indices) else 0
        return Chunk(values, indices, starts, (np.empty(n, np.int32), []), width)

    def _plain_rows(self, batch: Any) -> Chunk | None:
        """Rows as `convert` writes them, in one look by the core; None if any of them needs a second."""
        indices, values = batch.column("indices"), batch.column("values")
        kinds = _PLAIN_KINDS.get(self._options.dtype)
        if (str(indices.type.value_type), str(values.type.value_type)) != kinds:
            return None
        for column in (indices, values):
            if str(column.offsets.type) != "int32" or column.null_count or column.values.null_count:
                return None
        index_offsets, value_offsets = numbers(indices.offsets), numbers(values.offsets)
        index_content, value_content = numbers(indices.values), numbers(values.values)
        starts = np.empty(batch.num_rows + 1, np.int32)
        width = _core.list_rows(index_content, index_offsets, value_content, value_offsets, starts)
        if width < 0:
            return None
        entries = [slice(int(offsets[0]), int(offsets[-1])) for offsets in (index_offsets, value_offsets)]
        no_labels: tuple[Codes, list[Label]] = np.empty(batch.num_rows, np.int32), []
        return Chunk(value_content[entries[1]], index_content[entries[0]], starts, no_labels, width)

    def _list(self, column: Any, faults: _RowFaults) -> tuple[Array, npt.NDArray[np.int32]]:
        """The contents of a list column and where each row's begin, from 0; without a copy if nothing is null."""
        offsets = numbers(column.offsets).astype(np.int64, copy=False)
        child = column.values
        if (np.diff(offsets) < 0).any() or offsets[0] < 0 or offsets[-1] > len(child):
            raise DataError(self._file, "the offsets of a list column are damaged")
        if offsets[-1] - offsets[0] >= 2**31:
            raise DataError(self._file, "a row has 2^31 entries or more")
        child = child.slice(offsets[0], offsets[-1] - offsets[0])
        starts = (offsets - offsets[0]).astype(np.int32)
        content = numbers(child, instead_of_null=0)
        if child.null_count:
            faults.add(_rows_of(nulls(child), starts), "the row has a null among its indices or values")
        if column.null_count:  # a null list is an empty row, whatever lies beneath it
            content, starts = _only(content, starts, ~nulls(column))
        return content, starts

    def _in_order(
        self, indices: Array, values: Array, starts: npt.NDArray[np.int32], faults: _RowFaults
    ) -> tuple[Array, Array, npt.NDArray[np.int32]]:
        """Rows with ascending indices; those that come twice are added up, or the row is refused."""
        n = len(starts) - 1
        rows = np.repeat(np.arange(n), np.diff(starts))
        order = np.lexsort((indices, rows))
        indices, values = indices[order], values[order]
        dtype = np.dtype(self._options.dtype)
        again = np.zeros(len(indices), bool)
        again[1:] = (indices[1:] == indices[:-1]) & (rows[1:] == rows[:-1])
        if again.any():
            if self._options.duplicates == "error":
                faults.add(_rows_of(again, starts), "the row has an index more than once")
            else:
                with np.errstate(over="ignore", invalid="ignore"):
                    values = np.add.reduceat(values.astype(np.float64), np.flatnonzero(~again)).astype(dtype)
                indices, rows = indices[~again], rows[~again]
                starts = np.searchsorted(rows, np.arange(n + 1)).astype(np.int32)
                unfit = _rows_of(~np.isfinite(values), starts)
                faults.add(unfit, f"the row has a value that is not a number that {dtype} can hold")
        with np.errstate(over="ignore"):
            return indices, values.astype(dtype, copy=False), starts

    def _wide_rows(self, batch: Any, faults: _RowFaults) -> Chunk:
        n = batch.num_rows
        rows: list[Row] = [{} for _ in range(n)]
        for name in self.features:
            for row, value in zip(rows, batch.column(name).to_pylist(), strict=True):
                if value is not None and value != "":
                    row[name] = value if isinstance(value, str) else float(value)
        chunk, bad = hashed(rows, self._options)
        for place, reason in bad.items():
            faults.add(np.arange(n) == place, reason)
        return chunk


# pyarrow would import pandas for these three, if it is there, which takes half a second and 60 MiB.


def numbers(array: Any, instead_of_null: int | None = None) -> Array:
    """The content of an array of numbers, without a copy if nothing is null."""
    dtype = np.dtype(_NUMBERS[str(array.type)])
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


class _RowFaults:
    """The rows of a batch that cannot be read, and the first reason for each."""

    def __init__(self, n: int) -> None:
        self.keep = np.ones(n, bool)
        self._reasons: dict[int, str] = {}

    def add(self, bad: npt.NDArray[np.bool_], reason: str) -> None:
        new = np.flatnonzero(bad & self.keep)
        self.keep[new] = False
        for row in new.tolist():
            self._reasons[row] = reason

    def __bool__(self) -> bool:
        return bool(self._reasons)

    @property
    def count(self) -> int:
        return len(self._reasons)

    def first(self) -> list[Fault]:
        return [Fault(row + 1, None, self._reasons[row]) for row in sorted(self._reasons)[:KEPT]]


def _typed(schema: Any, name: str) -> str:
    return shown(str(schema.field(name).type), quotes=False)


def _is_list(type: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_list(type) or pa.types.is_large_list(type))


def _is_text(type: Any, binary: bool = False) -> bool:
    import pyarrow as pa

    texts: list[Callable[[Any], bool]] = [pa.types.is_string, pa.types.is_large_string]
    if binary:
        texts += [pa.types.is_binary, pa.types.is_large_binary]
    return any(is_such(type) for is_such in texts)


def _is_feature(type: Any) -> bool:
    import pyarrow as pa

    if pa.types.is_dictionary(type):
        type = type.value_type
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null, _is_text)
    return any(is_such(type) for is_such in kinds)


def _label(value: Any) -> Label | None:
    if isinstance(value, str):
        text = value.strip()
        return from_text(text) if text else None
    if value is None:
        return None
    return from_number(value if isinstance(value, int) else float(value))


def _tags(column: Any) -> list[bytes] | None:
    """The tags of the rows, None if none has one, which is seen from the offsets."""
    wide = str(column.type).startswith("large_")
    offsets = np.frombuffer(column.buffers()[1], "<i8" if wide else "<i4")[column.offset :][: len(column) + 1]
    if offsets[0] == offsets[-1]:
        return None
    return [b"" if tag is None else tag.encode() if isinstance(tag, str) else tag for tag in column.to_pylist()]


def _rows_of(entries: npt.NDArray[np.bool_], starts: Array) -> npt.NDArray[np.bool_]:
    """The rows that have one of the entries."""
    rows = np.zeros(len(starts) - 1, bool)
    rows[np.searchsorted(starts, np.flatnonzero(entries), "right") - 1] = True
    return rows


def _only(content: Array, starts: Array, keep: npt.NDArray[np.bool_]) -> tuple[Array, npt.NDArray[np.int32]]:
    """The same rows, those that are not kept without entries."""
    lengths = np.diff(starts)
    kept = np.zeros(len(starts), np.int32)
    np.cumsum(np.where(keep, lengths, 0), out=kept[1:])
    return content[np.repeat(keep, lengths)], kept


def _ascends(indices: Array, starts: Array) -> bool:
    """True if the indices of each row ascend. Looked at in pieces that stay in the cache."""
    step = 1 << 16
    inner = starts[1:-1]
    for begin in range(1, len(indices), step):
        end = min(begin + step, len(indices))
        falls = indices[begin:end] <= indices[begin - 1 : end - 1]
        low, high = np.searchsorted(inner, (begin, end))
        falls[inner[low:high] - begin] = False
        if falls.any():
            return False
    return True

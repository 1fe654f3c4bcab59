"""Batches of Arrow columns as rows: list columns of indices and values, or a column for each feature."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._native import _core
from ..chunk import BlockFacts, Chunk, keep_rows
from ..errors import KEPT, DataError, Fault, listed, shown
from ..labels import BadLabel, Codes, Label, from_number, from_text
from ..options import Options
from .arrow_arrays import NUMBERS, Array, encoded, is_feature, is_list, is_text, nulls, numbers, sizes, tags
from .tables import Row, hashed

LARGEST_INDEX = 2**31 - 2
_PLAIN_KINDS = {"float32": ("int32", "float"), "float64": ("int32", "double")}
_WIDE_ROWS, _WIDE_CELLS = 4096, 1 << 19  # rows, and cells, at a time where each row becomes a dict


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
        lists = [n for n in ("indices", "values") if n in names and is_list(schema.field(n).type)]
        self.listed = len(lists) == 2
        if len(lists) == 1:
            raise DataError(file, "there must be list columns for both, indices and values")
        self.label = options.label if options.label in names else None
        if self.label is None and options.need_label:
            raise DataError(file, f"there is no column {shown(options.label)} among the columns {listed(names)}")
        elif self.label is not None and not is_feature(schema.field(self.label).type):
            raise DataError(file, f"the labels must be numbers or text; they are {_typed(schema, self.label)}")
        self.weight = options.weight
        if self.weight is not None and self.weight not in names:
            raise DataError(file, f"there is no column {shown(self.weight)} among the columns {listed(names)}")
        if self.weight is None and self.listed and "weight" in names:
            self.weight = "weight"
        if self.weight is not None and str(schema.field(self.weight).type) not in NUMBERS:
            raise DataError(
                file, f"the column {shown(self.weight)} must be numbers; it is {_typed(schema, self.weight)}"
            )
        self.tag = None
        self.features: list[str] = []
        if self.listed:
            if "tag" in names and is_text(schema.field("tag").type, binary=True):
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
            if len(self.features) > options.max_features:
                raise DataError(file, f"there are more than {options.max_features} columns (max_features)")
            for name in self.features:
                if not is_feature(schema.field(name).type):
                    raise DataError(
                        file, f"the column {shown(name)} has the type {_typed(schema, name)}, no number and no text"
                    )
        self.rows_at_once = max(1, min(_WIDE_ROWS, _WIDE_CELLS // max(1, len(self.features))))
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
            tags=None if self.tag is None else tags(batch.column(self.tag)),
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
        values, indices = encoded(batch.column(self.label))
        lengths = sizes(values)
        table = np.full(len(values) + 1, -1, np.int32)  # the last is for rows without a label
        labels: dict[Label, int] = {}
        for i, value in enumerate(values):
            try:
                if lengths is not None and lengths[i] > self._options.max_label:
                    raise BadLabel(f"the label is longer than {self._options.max_label} bytes (max_label)")
                label = _label(value.as_py())
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
        if (many := np.diff(starts) > self._options.max_features).any():
            faults.add(many, f"the row has more than {self._options.max_features} features (max_features)")
            (indices, _), (values, starts) = (_only(a, starts, ~many) for a in (indices, values))
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
        if width < 0 or (len(starts) > 1 and np.diff(starts).max() > self._options.max_features):
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
            for row, value in zip(rows, self._cells(batch.column(name), name, faults), strict=True):
                if value is not None and value != "":
                    row[name] = value if isinstance(value, str) else float(value)
        chunk, bad = hashed(rows, self._options)
        for place, wrong in bad.items():
            faults.add(np.arange(n) == place, wrong.reason)
        return chunk

    def _cells(self, column: Any, name: str, faults: _RowFaults) -> list[Any]:
        """The cells of a column. A text of many rows is one object, and none is longer than a name may be."""
        if not hasattr(column, "dictionary") and not is_text(column.type):
            return list(column.to_pylist())
        values, indices = encoded(column)
        lengths = sizes(values)
        cells: list[Any] = [None] * (len(values) + 1)
        for i, value in enumerate(values):
            if lengths is None or len(name) + 1 + lengths[i] <= self._options.max_name:
                cells[i] = value.as_py()
            else:
                reason = f"the feature {shown(name)} has a name of more than {self._options.max_name} bytes (max_name)"
                faults.add(indices == i, reason)
        return [cells[i] for i in indices.tolist()]


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


def _label(value: Any) -> Label | None:
    if isinstance(value, str):
        return from_text(value) if value else None
    if value is None:
        return None
    return from_number(value if isinstance(value, int) else float(value))


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

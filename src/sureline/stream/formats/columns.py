"""Batches of Arrow columns as rows: list columns of indices and values, or a column for each feature."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._inputs import Array
from ..._native import _core
from ..chunk import BlockFacts, Chunk, Kept, keep_rows
from ..errors import DataError, listed, shown
from ..labels import BadLabel, Codes, Label, as_written, from_number, from_text
from ..options import Options
from .arrow_arrays import (
    NUMBERS,
    encoded,
    is_feature,
    is_list,
    is_text,
    nulls,
    numbers,
    row_sizes,
    sizes,
    tags,
    values,
    view_sizes,
)
from .arrow_cells import flat_fields
from .wide import RowFaults, WideRows

LARGEST_INDEX = 2**31 - 2
_PLAIN_KINDS = {"float32": ("int32", "float"), "float64": ("int32", "double")}


def is_listed(schema: Any) -> bool:
    """True if rows are list columns of indices and values."""
    return all(name in schema.names and is_list(schema.field(name).type) for name in ("indices", "values"))


class ColumnLayout:
    """The roles of a file's columns, by its schema.

    With `indices` and `values` these hold the rows, and `label`, `weight` and `tag` are looked for by these names.
    Otherwise every column but those of the label and the weight is a feature.
    """

    def __init__(self, file: str, schema: Any, options: Options, width: int = 0) -> None:
        import pyarrow as pa

        self._file, self._options, self.width = file, options, width
        names = schema.names
        flat = list(flat_fields(schema))
        self._flat = {field.name: field for field in flat}
        twice = [name for name, count in Counter(field.name for field in flat).items() if count > 1]
        if twice:
            raise DataError(file, f"the column {shown(twice[0])} comes more than once")
        lists = [n for n in ("indices", "values") if n in names and is_list(schema.field(n).type)]
        self.listed = len(lists) == 2
        if len(lists) == 1:
            raise DataError(file, "there must be list columns for both, indices and values")
        known = list(names) if self.listed else list(self._flat)
        self.label = options.label if options.label in known else None
        if self.label is None and options.need_label:
            reason = f"there is no column {shown(options.label)} among the columns {listed(known)}; --label names it"
            raise DataError(file, reason)
        elif self.label is not None and not is_feature(self._type(self.label)):
            raise DataError(file, f"the labels must be numbers or text; they are {self._typed(self.label)}")
        self.weight = options.weight
        if self.weight is not None and self.weight not in known:
            reason = f"there is no column {shown(self.weight)} among the columns {listed(known)}; --weight names it"
            raise DataError(file, reason)
        if self.weight is None and self.listed and "weight" in names:
            self.weight = "weight"
        if self.weight is not None and str(self._type(self.weight)) not in NUMBERS:
            raise DataError(file, f"the column {shown(self.weight)} must be numbers; it is {self._typed(self.weight)}")
        self.tag = None
        self.wide: WideRows | None = None
        if options.keep and self.listed:
            raise DataError(file, "columns to keep (--keep) are for tables, and this file has indices and values")
        for name in options.keep:
            if name not in known:
                reason = f"there is no column {shown(name)} among the columns {listed(known)}; --keep names it"
                raise DataError(file, reason)
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
            top = {*lists, self.label, self.weight, self.tag}
            self._read = [self._flat[name] for name in (self.label, self.tag) if name is not None]
            self._named = {self.tag}
        else:
            self.wide = WideRows(file, self._flat, options, (self.label, self.weight))
            used = [*self.wide.names, self.label, self.weight, *options.keep]
            top = {self._flat[name].top for name in used if name is not None}
            self._read = [self._flat[name] for name in used if name is not None]
            self._named = set(self.wide.ids)
        self.columns = [name for name in names if name in top]

    def _type(self, name: str) -> Any:
        return self._flat[name].type

    def _typed(self, name: str) -> str:
        return shown(str(self._type(name)), quotes=False)

    @property
    def rows_at_once(self) -> int:
        """Rows of a piece of wide columns."""
        return 1 << 16 if self.wide is None else self.wide.rows_at_once

    def text_ends(self, batch: Any) -> npt.NDArray[np.int64] | None:
        """Ends of the texts of each row, as if stored in sequence; None if all fit.

        DataError if a row, or a dictionary, takes more than there is room for.
        """
        total: npt.NDArray[np.int64] | None = None
        room = self._options.batch_room
        for field in self._read:
            column = field.of(batch)
            views = view_sizes(getattr(column, "dictionary", column))
            shared = hasattr(column, "dictionary")
            rows = None if shared else views
            if field.name in self._named:  # tags are copies
                rows = row_sizes(column)
            whole = 0 if views is None or not shared else int(views.sum())
            largest = max(whole, 0 if rows is None else int(rows.max(initial=0)))
            if largest > room:
                raise DataError(
                    self._file,
                    f"texts of the column {shown(field.name)} have {largest:,} bytes, more than the {room:,} that "
                    "memory (--memory) leaves for them",
                )
            if rows is not None:
                total = rows if total is None else total + rows
        return None if total is None else np.concatenate([[0], np.cumsum(total)])

    def parse(self, batch: Any) -> Chunk:
        """The rows of a batch. The lines of faults are the places of the rows in it."""
        n = batch.num_rows
        faults = RowFaults(n)
        labels = self._labels(batch, faults)
        weights = self._weights(batch, faults)
        chunk = self._list_rows(batch, faults) if self.wide is None else self.wide.rows(batch, faults)
        chunk = Chunk(
            values=chunk.values,
            indices=chunk.indices,
            indptr=chunk.indptr,
            labels=labels,
            n_columns=max(chunk.n_columns, self.width),
            weights=weights,
            tags=chunk.tags if self.tag is None else tags(batch.column(self.tag)),
            kept={name: Kept(*values(self._flat[name].of(batch))) for name in self._options.keep},
            names=chunk.names,
            block=BlockFacts(n),
        )
        if not faults:
            return chunk
        if self._options.skip:
            return replace(keep_rows(chunk, faults.keep), block=BlockFacts(n, faults.count, faults.first()))
        stop = int(np.argmin(faults.keep))
        return replace(chunk.first(stop), block=BlockFacts(n, 1, faults.first()[:1], rows_end=stop))

    def _labels(self, batch: Any, faults: RowFaults) -> tuple[Codes, list[Label]]:
        if self.label is None:
            return np.full(batch.num_rows, -1, np.int32), []
        values, indices = encoded(self._flat[self.label].of(batch))
        lengths = sizes(values)
        table = np.full(len(values) + 1, -1, np.int32)  # the last is for rows without a label
        labels: dict[Label, int] = {}
        commas = self._options.schema is not None and self._options.schema.target == "comma"
        for i, value in enumerate(values):
            try:
                if lengths is not None and lengths[i] > self._options.max_label:
                    raise BadLabel(f"the label is longer than {self._options.max_label} bytes (max_label)")
                label = _label(value.as_py(), as_text=commas)
                if label is not None:
                    table[i] = labels.setdefault(label, len(labels))
            except BadLabel as error:
                faults.add(indices == i, str(error))
        codes = table[indices]
        if self._options.need_label:
            faults.add(codes == -1, "the row has no label")
        return codes, list(labels)

    def _weights(self, batch: Any, faults: RowFaults) -> npt.NDArray[np.float64] | None:
        if self.weight is None:
            return None
        weights = numbers(self._flat[self.weight].of(batch), instead_of_null=-1).astype(np.float64, copy=False)
        with np.errstate(invalid="ignore"):
            faults.add(
                ~((weights >= 0) & np.isfinite(weights)), "the weight must be a number that is finite and not negative"
            )
        return None if (weights == 1).all() else weights

    def _list_rows(self, batch: Any, faults: RowFaults) -> Chunk:
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
        """Rows in the form that `convert` writes, made by the core in one pass; None if that is not possible."""
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

    def _list(self, column: Any, faults: RowFaults) -> tuple[Array, npt.NDArray[np.int32]]:
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
        if column.null_count:  # a null list is an empty row, whatever its storage holds
            content, starts = _only(content, starts, ~nulls(column))
        return content, starts

    def _in_order(
        self, indices: Array, values: Array, starts: npt.NDArray[np.int32], faults: RowFaults
    ) -> tuple[Array, Array, npt.NDArray[np.int32]]:
        """Rows with ascending indices; duplicates are summed, or the row is refused."""
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


def _label(value: Any, *, as_text: bool) -> Label | None:
    if isinstance(value, str):
        return (as_written if as_text else from_text)(value) if value else None
    if value is None:
        return None
    return from_number(value if isinstance(value, int) else float(value))


def _rows_of(entries: npt.NDArray[np.bool_], starts: Array) -> npt.NDArray[np.bool_]:
    """The rows that have one of the marked entries."""
    rows = np.zeros(len(starts) - 1, bool)
    rows[np.searchsorted(starts, np.flatnonzero(entries), "right") - 1] = True
    return rows


def _only(content: Array, starts: Array, keep: npt.NDArray[np.bool_]) -> tuple[Array, npt.NDArray[np.int32]]:
    """The same rows; those not kept lose their entries."""
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

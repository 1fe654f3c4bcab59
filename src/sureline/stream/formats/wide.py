"""Wide columns of Arrow as rows, by the schema of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._native import _core
from ..chunk import Chunk
from ..errors import KEPT, DataError, Fault, listed, shown
from ..options import Options
from ..schema import Schema
from .arrow_cells import FlatField, cells, is_cell, values_of

_ROWS, _FEATURES = 1 << 14, 1 << 20  # of a piece


class RowFaults:
    """The rows of a batch that cannot be read, and the first reason for each."""

    def __init__(self, n: int) -> None:
        self.keep = np.ones(n, bool)
        self._reasons: dict[int, str] = {}

    def add(self, bad: npt.NDArray[np.bool_], reason: str) -> None:
        new = np.flatnonzero(bad & self.keep)
        self.keep[new] = False
        for row in new.tolist():
            self._reasons[row] = reason

    def add_row(self, row: int, reason: str) -> None:
        if self.keep[row]:
            self.keep[row] = False
            self._reasons[row] = reason

    def __bool__(self) -> bool:
        return bool(self._reasons)

    @property
    def count(self) -> int:
        return len(self._reasons)

    def first(self) -> list[Fault]:
        return [Fault(row + 1, None, self._reasons[row]) for row in sorted(self._reasons)[:KEPT]]


class WideRows:
    """The columns that a table has, in a file with this schema.

    Columns that the table does not have are not read. One that it has and the file has not is an error.
    """

    def __init__(
        self, file: str, fields: Mapping[str, FlatField], options: Options, special: tuple[str | None, ...]
    ) -> None:
        self._options, self._fields = options, fields
        if options.schema is None:  # of a file without rows there was nothing to look at
            self._schema = Schema(())
            features = [name for name in fields if name not in special]
            if len(features) > options.max_features:
                raise DataError(file, f"there are more than {options.max_features} columns (max_features)")
        else:
            self._schema = options.schema
        if len(self._schema.columns) > options.max_features:
            raise DataError(file, f"there are more than {options.max_features} columns (max_features)")
        if absent := [name for name in self._schema.names if name not in fields]:
            raise DataError(
                file,
                f"the column {shown(absent[0])} of the model is not among the columns {listed(list(fields))}"
                + (f", nor are {len(absent) - 1} others" if len(absent) > 1 else ""),
            )
        for name in self._schema.names:
            if not is_cell(fields[name].type):
                type = shown(str(fields[name].type), quotes=False)
                raise DataError(
                    file,
                    f"the column {shown(name)} has the type {type}, which no column of a table may have; "
                    f"--ignore {name} leaves it out",
                )
        self.ids = [name for name in self._schema.ids if name in fields and is_cell(fields[name].type)]
        self.names = [*self._schema.names, *self.ids]
        per_row = max(1, len(self._schema.columns) + len(self._schema.interact))
        self.rows_at_once = max(1, min(_ROWS, _FEATURES // per_row))

    def rows(self, batch: Any, faults: RowFaults) -> Chunk:
        """The rows of a batch, without labels."""
        options, schema = self._options, self._schema
        given = [cells(self._fields[column.name].of(batch), column.kind) for column in schema.columns]
        raw = _core.encode_columns(
            schema.table,
            given,
            batch.num_rows,
            _core.Scalar[options.dtype],
            options.bits,
            collect_names=int(options.collect_names),
            max_features=options.max_features,
            max_name=options.max_name,
        )
        for row, _, reason in raw.faults:
            faults.add_row(row - 1, reason)
        tags = None
        if self.ids:
            texts = [list(map(_tag, values_of(self._fields[name].of(batch)))) for name in self.ids]
            tags = [",".join(row).encode() for row in zip(*texts, strict=True)]
        none = np.full(batch.num_rows, -1, np.int32)
        names = raw.names if options.collect_names else None
        return Chunk(raw.values, raw.indices, raw.indptr, (none, []), 1 << options.bits, tags=tags, names=names)


def _tag(value: Any) -> str:
    return "" if value is None else str(value)

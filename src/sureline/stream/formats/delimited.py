"""CSV and TSV: splits lines into cells, which the core makes rows of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np

from ..._native import _core
from ..chunk import BlockFacts, Chunk, Kept, keep_rows
from ..errors import KEPT, NO_UTF8, Fault, listed, shown
from ..labels import LabelReader
from ..options import Options
from ..schema import Schema
from .native import every, line_start
from .tables import Wrong

_MARK = b"\xef\xbb\xbf"  # the byte order mark
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_OTHERS = (",", ";", "\t", "|")
_QUOTES = ('"', "'")
_LOOKED_AT = 100  # rows
_IGNORED, _LABEL, _WEIGHT, _TAG = (_core.Role[name].value for name in ("ignored", "label", "weight", "tag"))


@dataclass(frozen=True)
class Dialect:
    """The delimiter and the quote, which may be absent."""

    delimiter: str
    quote: str

    @cached_property
    def core(self) -> _core.Dialect:
        """The same for the core."""
        return _core.Dialect(self.delimiter.encode(), self.quote.encode())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "core"}

    def cells(self, text: bytes, most: int) -> list[list[bytes]]:
        """Cells of the first rows; invalid rows are left out."""
        return _core.cells_of(text, self.core, most)[0]

    def cell_starts(self, row: bytes) -> list[int]:
        """Positions where the cells of a row begin, and its end; empty for an invalid row."""
        return _core.cell_starts(row, self.core)


def dialect_of(head: bytes, whole: bool, format: str, options: Options) -> Dialect:
    """The dialect asked for, or the usual one; if that gives no table, the only one that does.

    `head` is the beginning of a file, and `whole` says that it is all of it.
    """
    usual = Dialect(options.delimiter or _DELIMITERS[format], (options.quote or '"').replace("none", ""))
    text = head.removeprefix(_MARK)
    if not whole:
        text = text[: text.rfind(b"\n") + 1]
    if options.delimiter is not None and options.quote is not None:
        return usual
    if _is_table(usual, text):
        return usual
    delimiters = _OTHERS if options.delimiter is None else (usual.delimiter,)
    if usual.delimiter.encode() in text.partition(b"\n")[0]:
        delimiters = (usual.delimiter,)
    quotes = [quote for quote in _QUOTES if quote.encode() in text or quote == usual.quote]
    if options.quote is not None:
        quotes = [usual.quote]
    for quote in quotes:  # an unusual quote decides only if no usual one fits
        found = [each for each in (Dialect(delimiter, quote) for delimiter in delimiters) if _is_table(each, text)]
        if found:
            return found[0] if len(found) == 1 else usual
    return usual


def is_table(head: bytes, whole: bool) -> bool:
    """True if the beginning of a file is that of a table with some usual delimiter."""
    dialect = dialect_of(head, whole, "csv", Options())
    text = head.removeprefix(_MARK)
    return _is_table(dialect, text if whole else text[: text.rfind(b"\n") + 1])


def _is_table(dialect: Dialect, text: bytes) -> bool:
    """True if several rows have the same number of cells, more than one."""
    widths = [len(row) for row in dialect.cells(text, _LOOKED_AT)]
    return len(widths) > 1 and widths[0] > 1 and len(set(widths)) == 1


def header_of(header: bytes, dialect: Dialect, options: Options) -> list[str]:
    """The names of the columns in the first row of a file; Wrong if the header is invalid."""
    text = header.removeprefix(_MARK)
    raw = text.rstrip(b"\r\n")
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise Wrong(NO_UTF8, error.start + 1) from None
    if raw[:4].lower() == b"sep=" and len(raw) == 5:
        mark = raw.decode()[4]
        raise Wrong(f"the line is for Excel, and no header: take it out, and say --delimiter {mark!r}", 1)
    if b"\r" in raw and (not dialect.quote or dialect.quote.encode() not in raw):
        raise Wrong("the lines end in carriage returns alone; tr '\\r' '\\n' makes ends of lines of them", 1)
    if raw.count(dialect.delimiter.encode()) >= options.max_features + 2:
        raise Wrong(f"the header has more than {options.max_features} columns (max_features)", 1)
    rows = dialect.cells(raw, 1) if raw else [[b""]]
    if not rows:
        closed = raw.count(dialect.quote.encode()) % 2 == 0
        what = "a quote is in the middle of a cell" if closed else "a quote is not closed"
        raise Wrong(f"{what}; --quote none reads quotes as they are", _stray(raw, dialect))
    if not options.header:
        return [str(k) for k in range(1, len(rows[0]) + 1)]
    names = [cell.decode() or f"column {i}" for i, cell in enumerate(rows[0], 1)]  # as for the index of pandas and R
    starts = dialect.cell_starts(raw)
    seen = set()
    for i, name in enumerate(names):
        if name in seen:
            raise Wrong(f"the header has the column {shown(name)} more than once", starts[i] + 1)
        if len(name) > options.max_name:
            raise Wrong(f"a column has a name of more than {options.max_name} bytes", starts[i] + 1)
        seen.add(name)
    return names


def _stray(row: bytes, dialect: Dialect) -> int:
    """The column of the first invalid cell."""
    at, mark = 0, dialect.delimiter.encode()
    while (end := row.find(mark, at)) >= 0 and dialect.cell_starts(row[:end]):
        at = end + 1
    return at + 1


class DelimitedRows:
    """Parser for the blocks of one file."""

    def __init__(self, options: Options, schema: Schema, dialect: Dialect, names: Sequence[str]) -> None:
        self._options, self._dialect, self._schema = options, dialect, schema
        self._labels = LabelReader(options.max_label, as_text=schema.target == "comma")
        self._label = self._find("label", options.label, names, options.need_label)
        weight = None if options.weight is None else self._find("weight", options.weight, names, True)
        self._kept = [(name, cast(int, self._find("keep", name, names, True))) for name in options.keep]
        places = {column.name: k for k, column in enumerate(schema.columns)}
        there = set(names)
        if absent := [name for name in places if name not in there]:
            where = "in the header; if the first line is a row, say --no-header" if options.header else "in the rows"
            raise Wrong(f"{_columns(absent)} of the model {'is' if len(absent) == 1 else 'are'} not {where}", 1)
        ids = set(schema.ids)
        self._roles = [
            places.get(name, _TAG if name in ids else _IGNORED) if i not in (self._label, weight) else _IGNORED
            for i, name in enumerate(names)
        ]
        if self._label is not None:
            self._roles[self._label] = _LABEL
        if weight is not None:
            self._roles[weight] = _WEIGHT

    def _find(self, option: str, name: str, names: Sequence[str], needed: bool) -> int | None:
        if name in names:
            return list(names).index(name)
        if not needed:
            return None
        hint = self._hint(names) if option == "label" else ""
        raise Wrong(f"there is no column {shown(name)} among the columns {listed(names)}; --{option} names it{hint}", 1)

    def _hint(self, names: Sequence[str]) -> str:
        """A hint at why no column has the name of the label."""
        if len(names) == 1:
            return "; --delimiter says what is between cells"
        if len(names) == 2 and self._dialect.delimiter == "\t":
            return "; if each line is a label, a tab and a text, say --format text"
        return "; if the first line is a row, say --no-header" if self._options.header else ""

    def __call__(self, block: Any, start: int) -> Chunk:
        options, dialect = self._options, self._dialect
        raw = _core.parse_delimited(
            block,
            self._schema.table,
            dialect.core,
            self._roles,
            _core.Scalar[options.dtype],
            options.bits,
            need_label=options.need_label,
            skip_faults=options.skip,
            collect_names=every(options, start),
            first_block=start == 0,
            max_features=options.max_features,
            max_name=options.max_name,
        )
        codes, labels, bad = self._labels.read(raw.labels, raw.label_names)
        chunk = Chunk(
            values=raw.values,
            indices=raw.indices,
            indptr=raw.indptr,
            labels=(codes, labels),
            n_columns=1 << options.bits,
            weights=raw.weights,
            tags=raw.tags,
            kept=self._kept_cells(block, raw.row_starts) if self._kept else {},
            names=raw.names if options.collect_names else None,
        )
        n_lines = raw.n_lines
        faults = [Fault(*fault) for fault in raw.faults]
        n_faults = raw.n_faults
        if bad:
            chunk, n_faults, faults = self._without(chunk, block, raw, bad, n_faults, faults)
        if n_faults and not options.skip:
            return replace(chunk, block=BlockFacts(n_lines, 1, faults[:1], rows_end=line_start(block, faults[0].line)))
        return replace(chunk, block=BlockFacts(n_lines, n_faults, faults))

    def _kept_cells(self, block: Any, starts: Sequence[int]) -> dict[str, Kept]:
        """The cells of the columns to keep, of the rows that could be read."""
        text = bytes(block)
        columns: list[list[str]] = [[] for _ in self._kept]
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
            row = text[start:end].removeprefix(_MARK)  # only in the first row; elsewhere it is a fault
            cells = self._dialect.cells(row, 1)[0]
            for column, (_, place) in zip(columns, self._kept, strict=True):
                column.append(cells[place].decode())
        return {name: Kept(column) for (name, _), column in zip(self._kept, columns, strict=True)}

    def _without(
        self, chunk: Chunk, block: Any, raw: Any, bad: dict[int, str], n_faults: int, faults: list[Fault]
    ) -> tuple[Chunk, int, list[Fault]]:
        """Leave out rows with invalid labels."""
        refused = np.isin(raw.labels, list(bad))
        rows = np.flatnonzero(refused)
        if not self._options.skip:
            rows = rows[:1]
            chunk, n_faults, faults = chunk.first(int(rows[0])), 0, []
        else:
            chunk = keep_rows(chunk, ~refused)
        text, starts = bytes(block), raw.row_starts
        found = []
        for row in rows[:KEPT].tolist():
            at = starts[row]
            shift = 3 * (at == 0 and text.startswith(_MARK))
            cells = self._dialect.cell_starts(text[at + shift :])
            column = cells[self._label or 0] + shift + 1
            found.append(Fault(text.count(b"\n", 0, at) + 1, column, bad[int(raw.labels[row])]))
        merged = sorted([*faults, *found], key=lambda fault: fault.line)[:KEPT]
        return chunk, n_faults + len(rows), merged


def _columns(names: Sequence[str]) -> str:
    return f"the column {shown(names[0])}" if len(names) == 1 else f"the columns {listed(names)}"

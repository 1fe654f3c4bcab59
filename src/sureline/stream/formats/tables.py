"""Lines parsed in Python to names and values, of which the core makes rows: text here, JSON in json_lines."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._native import _core
from ..chunk import BlockFacts, Chunk, Kept, joined, keep_rows
from ..errors import KEPT, NO_UTF8, Fault
from ..labels import BadLabel, Label, as_written, coded, from_text, refuse_long
from ..options import Options
from .native import line_start

Row = dict[str, Any]  # cells by the names of their columns

BLANKS = " \t"  # stripped from labels; other white space is kept
_AT_ONCE = 1 << 23  # characters of names that wait to be hashed


class Wrong(Exception):
    """Raised for an unreadable row: the reason, and its byte column or name."""

    def __init__(self, reason: str, column: int | None = None, name: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.column, self.name = reason, column, name


class Encoder:
    """Names and values to rows, by the table that they are cells of."""

    def __init__(self, options: Options, table: _core.Table, *, open: bool) -> None:
        self._options, self._table, self._open = options, table, open

    def __call__(self, rows: list[Row]) -> tuple[Chunk, dict[int, Wrong]]:
        """Rows without labels; unreadable ones are empty, and listed with reasons."""
        options = self._options
        raw, wrongs = _core.encode_rows(
            self._table,
            rows,
            self._open,
            _core.Scalar[options.dtype],
            options.bits,
            collect_names=int(options.collect_names),
            max_features=options.max_features,
            max_name=options.max_name,
        )
        bad = {}
        for number, _, reason in raw.faults:
            row = number - 1
            bad[row] = Wrong(reason, name=wrongs[row] or next(filter(_has_half_pair, rows[row]), None))
        none = np.full(len(rows), -1, np.int32)
        names = raw.names if options.collect_names else None
        return Chunk(raw.values, raw.indices, raw.indptr, (none, []), 1 << options.bits, names=names), bad


def _has_half_pair(name: str) -> bool:
    return any("\ud800" <= character <= "\udfff" for character in name)


class Found(NamedTuple):
    """A row as it was read. `expanded` is how much room its names take, where that may be more than the text's."""

    row: Row
    label: Label | None
    weight: float = 1.0
    expanded: int = 0
    tag: bytes = b""
    kept: Row | None = None


class _Rows:
    """Rows that wait to be hashed, with their text and their lines."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.labels: list[Label | None] = []
        self.weights: list[float] = []
        self.tags: list[bytes] = []
        self.kept: list[Row] = []
        self.texts: list[str] = []
        self.lines: list[int] = []
        self.expanded = 0

    def add(self, found: Found, text: str, line: int) -> None:
        self.rows.append(found.row)
        self.labels.append(found.label)
        self.weights.append(found.weight)
        self.tags.append(found.tag)
        self.kept.append(found.kept or {})
        self.texts.append(text)
        self.lines.append(line)
        self.expanded += found.expanded


class TableParser(ABC):
    """Makes rows of a block; subclasses define rows and their contents."""

    def __init__(self, options: Options, encode: Encoder) -> None:
        self._options, self._encode = options, encode

    @abstractmethod
    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        """Yield line numbers from 1, and rows; as bytes if they may not be UTF-8."""

    @abstractmethod
    def _read(self, row: str) -> Found | None:
        """Names and values, label and weight; None for an empty row. Raises Wrong with a column."""

    def _place(self, row: str, name: str) -> int:
        """The byte column, from 1, of a name in a row; 1 if the format has no names."""
        return 1

    def _unlabelled(self, row: str) -> Wrong:
        """The fault of a row that has no label."""
        return Wrong("the row has no label", self._place(row, self._options.label))

    def __call__(self, block: Any, start: int) -> Chunk:
        options = self._options
        some = _Rows()
        done: list[Chunk] = []
        faults: list[Fault] = []
        for line, text in self._rows(block, start == 0):
            # A byte order mark is not of the first row, but its columns are.
            shift = 3 * (start == 0 and line == 1 and bytes(block[:3]) == b"\xef\xbb\xbf")
            try:
                if isinstance(text, bytes):
                    text = _decoded(text)
                if text.startswith("\ufeff"):
                    raise Wrong("there is a byte order mark in the middle of the file", 1)
                found = self._read(text)
                if found is None:
                    continue
                if found.label is None and options.need_label:
                    raise self._unlabelled(text)
            except Wrong as wrong:
                faults.append(Fault(line, None if wrong.column is None else wrong.column + shift, wrong.reason))
                if not options.skip:
                    break
                continue
            some.add(found, text, line)
            if some.expanded > _AT_ONCE:  # names that take much more room than the text
                done.append(self._chunk(some, faults))
                some = _Rows()
        n_lines = bytes(block).count(b"\n") + (len(block) > 0 and block[-1] != ord("\n"))
        done.append(self._chunk(some, faults))
        faults.sort(key=lambda fault: fault.line)
        chunk = joined(done)
        if faults and not options.skip:
            line = faults[0].line
            before = chunk.first(sum(place < line for part in done for place in part.block.lines))
            return replace(before, block=BlockFacts(n_lines, 1, faults[:1], rows_end=line_start(block, line)))
        return replace(chunk, block=BlockFacts(n_lines, len(faults), faults[:KEPT]))

    def _chunk(self, some: _Rows, faults: list[Fault]) -> Chunk:
        """The rows that can be hashed; others are added to the faults."""
        chunk, bad = self._encode(some.rows)
        chunk = replace(
            chunk,
            labels=coded(some.labels),
            weights=None if all(weight == 1 for weight in some.weights) else np.array(some.weights, np.float64),
            tags=some.tags if any(some.tags) else None,
            kept={
                name: Kept([row.get(name) for row in some.kept])
                for name in self._options.keep
                if any(name in row for row in some.kept)
            },
        )
        for row, wrong in bad.items():
            faults.append(Fault(some.lines[row], self._place(some.texts[row], wrong.name or ""), wrong.reason))
        if bad:
            chunk = keep_rows(chunk, np.array([row not in bad for row in range(len(some.rows))]))
        lines = [line for row, line in enumerate(some.lines) if row not in bad]
        return replace(chunk, block=BlockFacts(lines=lines))


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise Wrong(NO_UTF8, error.start + 1) from None


def text_lines(block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
    text: bytes | str
    try:
        text = str(block, "utf-8")
        lines: list[Any] = text.removeprefix("\ufeff").split("\n") if first else text.split("\n")
    except UnicodeDecodeError:
        text = bytes(block)
        lines = text.removeprefix(b"\xef\xbb\xbf").split(b"\n") if first else text.split(b"\n")
    if not lines[-1]:  # after the last newline comes no line
        lines.pop()
    return iter(enumerate(lines, 1))


def column_of(text: str, at: int) -> int:
    """The column in bytes, from 1, of a character of a row."""
    return len(text[:at].encode(errors="surrogatepass")) + 1


def label_of(text: str, options: Options) -> Label:
    """The label of a text; BadLabel if it is invalid."""
    refuse_long(text, options.max_label)
    commas = options.schema is not None and options.schema.target == "comma"
    return (as_written if commas else from_text)(text)


def weight_of(number: float | None) -> float:
    if number is None or not 0 <= number < math.inf:
        raise Wrong("the weight must be a number that is finite and not negative")
    return number


class TextLines(TableParser):
    """Lines of a label, a tab and a text; words of two or more letters or digits are counted, in lower case."""

    def __init__(self, options: Options) -> None:
        super().__init__(options, Encoder(options, options.words.of_lines(), open=False))

    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        return text_lines(block, first)

    def _read(self, row: str) -> Found | None:
        row = row.removesuffix("\r")
        if not row:
            return None
        before, tab, text = row.partition("\t")
        if not tab:
            if self._options.need_label:
                reason = "the line has no tab, which comes between the label and the text"
                raise Wrong(reason, column_of(row, len(row)))
            before, text = "", row
        given = before.strip(BLANKS)
        try:
            label = label_of(given, self._options) if given else None
        except BadLabel as wrong:
            raise Wrong(str(wrong), column_of(row, before.index(given))) from None
        return Found({"": text}, label)

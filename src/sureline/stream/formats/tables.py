"""CSV and raw text: parsed in Python to names and values, which the core hashes to columns."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._native import _core
from ..blocks import quoted_row_ends
from ..chunk import BlockFacts, Chunk, joined, keep_rows
from ..errors import KEPT, Fault, listed, shown
from ..labels import BadLabel, Label, coded, from_text, refuse_long
from ..options import Options
from .native import line_start

Row = dict[str, float | str]

BLANKS = " \t"  # around a label; others belong to it
_AT_ONCE = 1 << 23  # characters of names that wait to be hashed
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


class Wrong(Exception):
    """A row that cannot be read: why, and at which column of bytes, or at which of its names."""

    def __init__(self, reason: str, column: int | None = None, name: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.column, self.name = reason, column, name


def hashed(rows: list[Row], options: Options) -> tuple[Chunk, dict[int, Wrong]]:
    """The rows with their names hashed to columns, without labels; those that cannot be are empty, and why."""
    bad: dict[int, Wrong] = {}
    try:
        raw: Any = _hash(rows, options)
    except ValueError:
        for i, row in enumerate(rows):
            try:
                _hash([row], options)
            except ValueError as error:
                reason = str(error).removeprefix("row 0: ").rstrip(".")
                bad[i] = Wrong(reason, name=_culprit(row, options))
        raw = _hash([{} if i in bad else row for i, row in enumerate(rows)], options)
    none = np.full(len(rows), -1, np.int32)
    names = raw.names if options.collect_names else None
    return Chunk(raw.values, raw.indices, raw.indptr, (none, []), 1 << options.bits, names=names), bad


def _hash(rows: list[Row], options: Options) -> Any:
    return _core.hash_rows(
        rows,
        options.bits,
        _core.Scalar[options.dtype],
        collect_names=int(options.collect_names),
        max_features=options.max_features,
        max_name=options.max_name,
    )


def _culprit(row: Row, options: Options) -> str:
    """The first name with which the row cannot be hashed: all before it can."""
    names = list(row)
    low, high = 1, len(names)
    while low < high:
        middle = (low + high) // 2
        try:
            _hash([{name: row[name] for name in names[:middle]}], options)
        except ValueError:
            high = middle
        else:
            low = middle + 1
    return names[low - 1]


class Found(NamedTuple):
    """A row as it was read. `expanded` is how much room its names take, where that may be more than the text's."""

    row: Row
    label: Label | None
    weight: float = 1.0
    expanded: int = 0


class _Rows:
    """Rows that wait to be hashed, with their text and their lines."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.labels: list[Label | None] = []
        self.weights: list[float] = []
        self.texts: list[str] = []
        self.lines: list[int] = []
        self.expanded = 0

    def add(self, found: Found, text: str, line: int) -> None:
        self.rows.append(found.row)
        self.labels.append(found.label)
        self.weights.append(found.weight)
        self.texts.append(text)
        self.lines.append(line)
        self.expanded += found.expanded


class TableParser(ABC):
    """Makes rows of a block; what a row is and what is in it is up to the format."""

    def __init__(self, options: Options) -> None:
        self._options = options

    @abstractmethod
    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        """The lines at which rows begin, from 1, and the rows; as bytes if they are not known to be UTF-8."""

    @abstractmethod
    def _read(self, row: str) -> Found | None:
        """Names and values, label and weight; None if the row is none. Raises Wrong with a column."""

    def _place(self, row: str, name: str) -> int:
        """The column, in bytes from 1, of what has this name in a row; 1 where names have no place of their own."""
        return 1

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
                    raise Wrong("the row has no label", self._place(text, options.label))
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
        """The rows that can be hashed; those that cannot are put among the faults."""
        chunk, bad = hashed(some.rows, self._options)
        chunk = replace(
            chunk,
            labels=coded(some.labels),
            weights=None if all(weight == 1 for weight in some.weights) else np.array(some.weights, np.float64),
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
        raise Wrong("the line is not valid UTF-8", error.start + 1) from None


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
    """The label that a text is; BadLabel if it is none."""
    refuse_long(text, options.max_label)
    return from_text(text)


def number_of(text: str) -> float | None:
    """The number that a text is, None if it is none; Wrong if it is one that no row may have."""
    first = text[0]
    if first in "0123456789.+- ":
        try:
            number = float(text)
        except ValueError:
            return None
        if not math.isfinite(number):
            raise Wrong(f"{shown(text.strip(), quotes=False)} is not a number that can be learned from")
        return number if text.isascii() and "_" not in text else None
    if first in "nNiI" and _NOT_FINITE.fullmatch(text):
        raise Wrong(f"{text} is not a number that can be learned from")
    return None


def weight_of(number: float | None) -> float:
    if number is None or not 0 <= number < math.inf:
        raise Wrong("the weight must be a number that is finite and not negative")
    return number


class DelimitedRows(TableParser):
    """CSV and TSV as RFC 4180 has them: cells in quotes may hold delimiters, newlines and doubled quotes.

    A cell that reads as a number is that number, any other is text, and an empty one is absent.
    """

    def __init__(self, options: Options, delimiter: str, header: bytes) -> None:
        super().__init__(options)
        self._delimiter = delimiter
        quoted, plain = r'"([^"]*+(?:""[^"]*+)*+)"', rf'([^"{delimiter}]*+)'
        self._cell = re.compile(rf"(?:{quoted}|{plain})(?={delimiter}|\Z)")
        self._row = re.compile(rf"(?>{quoted}|{plain})(?:{delimiter}(?>{quoted}|{plain}))*+")
        self._split = re.compile(rf"(?:\A|{delimiter})(?:{quoted}|{plain})")
        head = _decoded(header.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n"))
        if head.count(delimiter) >= options.max_features + 2:
            raise Wrong(f"the header has more than {options.max_features} columns (max_features)", 1)
        names = self._cells(head)
        seen = set()
        for i, name in enumerate(names):
            if not name or name in seen:
                twice = f"the header has the column {shown(name)} more than once"
                raise Wrong(twice if name else f"column {i + 1} has no name in the header", self._cell_column(head, i))
            if len(name) > options.max_name:
                raise Wrong(f"a column has a name of more than {options.max_name} bytes", self._cell_column(head, i))
            seen.add(name)
        self._names = names
        self._label = self._find(options.label, names, options.need_label)
        self._weight = None if options.weight is None else self._find(options.weight, names, True)
        self._n_cells = len(names)
        special = (self._label, self._weight)
        self._features = [(name, i) for i, name in enumerate(names) if i not in special]

    def _find(self, name: str, names: list[str], needed: bool) -> int | None:
        if name in names:
            return names.index(name)
        if not needed:
            return None
        hint = "; if each line is a label, a tab and a text, say --format text" if len(names) == 2 else ""
        raise Wrong(f"there is no column {shown(name)} among the columns {listed(names)}{hint}", 1)

    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        text = bytes(block)
        if b'"' not in text:
            yield from text_lines(block, False)
            return
        ends = quoted_row_ends(text, 0, len(text)).tolist()
        if not ends or ends[-1] < len(text):
            ends.append(len(text))
        begin, line = 0, 1
        for end in ends:
            row = text[begin:end]
            yield line, row.removesuffix(b"\n")
            line += row.count(b"\n")
            begin = end

    def _cells(self, row: str) -> list[str]:
        if '"' not in row:
            return row.split(self._delimiter)
        if self._row.fullmatch(row):
            return [quoted.replace('""', '"') or plain for quoted, plain in self._split.findall(row)]
        at = 0
        while match := self._cell.match(row, at):  # to the cell that is none
            at = match.end() + 1
        reason = "a quote is not closed" if row.count('"') % 2 else "a quote is in the middle of a cell"
        raise Wrong(reason, column_of(row, at))

    def _cell_column(self, row: str, i: int) -> int:
        """The column where cell number i begins, or where the row ends if it has fewer."""
        at = 0
        for _ in range(i):
            match = self._cell.match(row, at)
            if match is None or match.end() == len(row):
                return column_of(row, len(row))
            at = match.end() + 1
        return column_of(row, at)

    def _place(self, row: str, name: str) -> int:
        return self._cell_column(row, self._names.index(name) if name in self._names else 0)

    def _read(self, row: str) -> Found | None:
        row = row.removesuffix("\r")
        if not row:
            return None
        cells = self._cells(row)
        if len(cells) != self._n_cells:
            reason = f"the row has {len(cells)} cells, and the header {self._n_cells}"
            raise Wrong(reason, self._cell_column(row, min(len(cells), self._n_cells)))
        values: Row = {}
        label = None
        weight = 1.0
        i: int | None = 0  # the cell that is looked at
        try:
            for name, i in self._features:
                cell = cells[i]
                if cell:
                    values[name] = cell if (number := number_of(cell)) is None else number
            i = self._label
            if i is not None and (text := cells[i].strip(BLANKS)):
                label = label_of(text, self._options)
            i = self._weight
            if i is not None:
                weight = weight_of(number_of(cells[i]) if cells[i] else None)
        except (Wrong, BadLabel) as wrong:
            raise Wrong(str(wrong), self._cell_column(row, i or 0)) from None
        return Found(values, label, weight)


class TextLines(TableParser):
    """A label, a tab and a text, whose words of two and more letters or digits are counted, in lower case."""

    _WORDS = re.compile(r"\b\w\w+\b")

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
        return Found(dict(Counter(self._WORDS.findall(text.lower()))), label)

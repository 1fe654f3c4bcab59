"""CSV, JSON lines and raw text: parsed in Python to names and values, which the core hashes to columns."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from ..._native import _core
from ..blocks import quoted_row_ends
from ..chunk import BlockFacts, Chunk, keep_rows
from ..errors import KEPT, Fault, listed, shown
from ..labels import BadLabel, Label, coded, from_number, from_text
from ..options import Options
from .native import line_start

Row = dict[str, float | str]

_DEEPEST = 100  # objects within objects
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)


class Wrong(Exception):
    """A row that cannot be read: why, and at which column of bytes."""

    def __init__(self, reason: str, column: int | None = None) -> None:
        super().__init__(reason)
        self.reason, self.column = reason, column


def hashed(rows: list[Row], options: Options) -> tuple[Chunk, dict[int, str]]:
    """The rows with their names hashed to columns, without labels; those that cannot be are empty, and why."""
    bad: dict[int, str] = {}
    try:
        raw: Any = _hash(rows, options)
    except ValueError:
        for i, row in enumerate(rows):
            try:
                _hash([row], options)
            except ValueError as error:
                bad[i] = str(error).removeprefix("row 0: ").rstrip(".")
        raw = _hash([{} if i in bad else row for i, row in enumerate(rows)], options)
    none = np.full(len(rows), -1, np.int32)
    names = raw.names if options.collect_names else None
    return Chunk(raw.values, raw.indices, raw.indptr, (none, []), 1 << options.bits, names=names), bad


def _hash(rows: list[Row], options: Options) -> Any:
    return _core.hash_rows(rows, options.bits, _core.Scalar[options.dtype], collect_names=int(options.collect_names))


class TableParser(ABC):
    """Makes rows of a block; what a row is and what is in it is up to the format."""

    def __init__(self, options: Options) -> None:
        self._options = options

    @abstractmethod
    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        """The lines at which rows begin, from 1, and the rows; as bytes if they are not known to be UTF-8."""

    @abstractmethod
    def _read(self, row: str) -> tuple[Row, Label | None, float] | None:
        """Names and values, label and weight; None if the row is none. Raises Wrong."""

    def __call__(self, block: Any, start: int) -> Chunk:
        options = self._options
        rows: list[Row] = []
        labels: list[Label | None] = []
        weights: list[float] = []
        places: list[int] = []
        faults: list[Fault] = []
        for line, text in self._rows(block, start == 0):
            try:
                if isinstance(text, bytes):
                    text = _decoded(text)
                found = self._read(text)
                if found is None:
                    continue
                row, label, weight = found
                if label is None and options.need_label:
                    raise Wrong("the row has no label")
            except (Wrong, BadLabel) as wrong:
                faults.append(Fault(line, getattr(wrong, "column", None), str(wrong)))
                if not options.skip:
                    break
                continue
            rows.append(row)
            labels.append(label)
            weights.append(weight)
            places.append(line)
        n_lines = bytes(block).count(b"\n") + (len(block) > 0 and block[-1] != ord("\n"))
        chunk = self._chunk(rows, labels, weights, places, faults)
        if faults and not options.skip:
            line = faults[0].line
            before = chunk.first(sum(place < line for place in places))
            return replace(before, block=BlockFacts(n_lines, 1, faults[:1], rows_end=line_start(block, line)))
        return replace(chunk, block=BlockFacts(n_lines, len(faults), faults[:KEPT]))

    def _chunk(
        self,
        rows: list[Row],
        labels: list[Label | None],
        weights: list[float],
        places: list[int],
        faults: list[Fault],
    ) -> Chunk:
        """The rows that can be hashed; those that cannot are put among the faults."""
        chunk, bad = hashed(rows, self._options)
        chunk = replace(
            chunk,
            labels=coded(labels),
            weights=None if all(weight == 1 for weight in weights) else np.array(weights, np.float64),
        )
        if bad:
            faults += [Fault(places[row], None, reason) for row, reason in bad.items()]
            faults.sort(key=lambda fault: fault.line)
            chunk = keep_rows(chunk, np.array([row not in bad for row in range(len(rows))]))
        return chunk


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise Wrong("the line is not valid UTF-8", error.start + 1) from None


def _lines(block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
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


def _weight_of(number: float | None) -> float:
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
        names = self._cells(_decoded(header.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r\n")))
        for number, name in enumerate(names, 1):
            if not name:
                raise Wrong(f"column {number} has no name in the header")
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice:
            raise Wrong(f"the header has the column {shown(twice[0])} more than once")
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
        raise Wrong(f"there is no column {shown(name)} among the columns {listed(names)}{hint}")

    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        text = bytes(block)
        if b'"' not in text:
            yield from _lines(block, False)
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
        raise Wrong(reason, len(row[:at].encode()) + 1)

    def _read(self, row: str) -> tuple[Row, Label | None, float] | None:
        row = row.removesuffix("\r")
        if not row:
            return None
        cells = self._cells(row)
        if len(cells) != self._n_cells:
            raise Wrong(f"the row has {len(cells)} cells, and the header {self._n_cells}")
        values: Row = {}
        for name, i in self._features:
            cell = cells[i]
            if cell:
                values[name] = cell if (number := number_of(cell)) is None else number
        label = None
        if self._label is not None and (text := cells[self._label].strip()):
            label = from_text(text)
        weight = 1.0
        if self._weight is not None:
            text = cells[self._weight]
            weight = _weight_of(number_of(text) if text else None)
        return values, label, weight


class JsonLines(TableParser):
    """An object a line. Objects within it are flattened with dots, and lists hold texts."""

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._decode = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant).decode

    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        return _lines(block, first)

    def _read(self, row: str) -> tuple[Row, Label | None, float] | None:
        content = row.lstrip(" \t\r")
        if not content:
            return None
        if content[0] != "{":
            raise Wrong("the line must be a JSON object", len(row) - len(content) + 1)
        try:
            record = self._decode(row)
        except json.JSONDecodeError as error:
            raise Wrong(f"not JSON: {error.msg}", len(row[: error.pos].encode()) + 1) from None
        except RecursionError:
            raise Wrong("it is nested too deeply") from None
        except ValueError as error:  # an integer of thousands of digits
            raise Wrong(f"not JSON: {error}") from None
        label = _json_label(record.pop(self._options.label, None))
        weight = 1.0
        if self._options.weight is not None:
            given = record.pop(self._options.weight, None)
            weight = _weight_of(_json_number(given) if isinstance(given, (int, float)) else None)
        return self._flat(record), label, weight

    def _flat(self, record: dict[str, Any]) -> Row:
        kinds = set(map(type, record.values()))
        if dict not in kinds and list not in kinds:
            return {name: value for name, value in record.items() if value is not None and value != ""}
        values: Row = {}
        waiting = [("", record, 1)]
        while waiting:
            prefix, inner, depth = waiting.pop()
            if depth > _DEEPEST:
                raise Wrong("it is nested too deeply")
            for key, value in inner.items():
                name = prefix + key
                if isinstance(value, dict):
                    waiting.append((f"{name}.", value, depth + 1))
                elif isinstance(value, list):
                    if not all(isinstance(item, str) for item in value):
                        raise Wrong(f"the list {shown(name)} holds something else than text")
                    for item, count in Counter(item for item in value if item).items():
                        _put(values, f"{name}={item}", float(count))
                elif value is not None and value != "":
                    _put(values, name, value)
        return values


def _put(values: Row, name: str, value: float | str) -> None:
    if name in values:
        raise Wrong(f"the name {shown(name)} comes twice")
    values[name] = value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise Wrong(f"the key {shown(twice)} comes twice")
    return record


def _refuse_constant(name: str) -> NoReturn:
    raise Wrong(f"{name} is not a number that can be learned from")


def _json_number(number: int | float) -> float:
    try:
        value = float(number)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):  # "1e999" is infinity to the decoder
        raise Wrong("a number is too large")
    return value


def _json_label(value: Any) -> Label | None:
    if value is None or value == "":
        return None
    if isinstance(value, str):
        if any("\ud800" <= character <= "\udfff" for character in value):  # JSON may say "\\ud800"
            raise Wrong("the label has half of a surrogate pair, which is no character")
        return from_text(value)
    if isinstance(value, (int, float)):
        _json_number(value)
        return from_number(value)
    raise Wrong("the label must be a number or text")


class TextLines(TableParser):
    """A label, a tab and a text, whose words of two and more letters or digits are counted, in lower case."""

    _WORDS = re.compile(r"\b\w\w+\b")

    def _rows(self, block: Any, first: bool) -> Iterator[tuple[int, bytes | str]]:
        return _lines(block, first)

    def _read(self, row: str) -> tuple[Row, Label | None, float] | None:
        row = row.removesuffix("\r")
        if not row:
            return None
        before, tab, text = row.partition("\t")
        if not tab:
            if self._options.need_label:
                raise Wrong("the line has no tab, which comes between the label and the text")
            before, text = "", row
        label = from_text(before.strip()) if before.strip() else None
        return dict(Counter(self._WORDS.findall(text.lower()))), label, 1.0

"""A look at the first rows of a table."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .blocks import QuotedLines
from .errors import DataError, listed, shown
from .formats.arrow import first_rows
from .formats.arrow_cells import first_values, flat_fields, is_cell
from .formats.delimited import Dialect, dialect_of, header_of
from .formats.frames import FrameSource
from .formats.json_lines import JsonLines
from .formats.tables import Wrong
from .guessing import ROWS, guess, rows_looked_at
from .options import BINARY, DELIMITED, OVERRIDES, TABLES, Options
from .recognise import LOOK
from .schema import Schema
from .source import Source

_MOST = 1 << 23  # bytes that are looked at
_OF_A_PIPE = 20  # rows that are waited for
_PATIENCE = 0.03  # seconds, where a row is to be answered as it comes

Samples = dict[str, list[Any]]  # cells of the first rows, by the names of their columns


def guessed(sources: Sequence[Source], format: str, options: Options, at_once: bool = False) -> Schema | None:
    """The schema of a table, from its first rows; None if it is not a table, or has no rows.

    With `at_once` a pipe is read up to the first row only.
    """
    if format not in TABLES:
        return None
    found: tuple[str, Samples] | None = None  # a header without rows counts if there is nothing else
    for source in {source.path: source for source in sources}.values():
        if format in BINARY:
            samples = _columns(source, format, options)
        else:
            samples = None
            with contextlib.suppress(DataError, Wrong, UnicodeDecodeError):  # the reading reports it
                look = _delimited if format in DELIMITED else _json
                samples = look(source, format, options, at_once)
        if samples is not None:
            found = source.path, samples
            if any(samples.values()):
                break
    if found is None:
        return None
    path, samples = found
    cut = rows_looked_at(len(samples))
    return guess(path, {name: cells[:cut] for name, cells in samples.items()}, options)


def left_out(sources: Sequence[Source], format: str, options: Options) -> dict[str, str]:
    """Columns of files that the schema lacks, which are not read, each with its first file.

    JSON lines have none: the contents decide about a key that the schema lacks.
    """
    found: dict[str, str] = {}
    schema = options.schema
    if schema is None or format not in (*DELIMITED, *BINARY):
        return found
    known = {*schema.names, *schema.ids, *schema.ignored, options.label, options.weight}
    for source in {source.path: source for source in sources}.values():
        names: Sequence[str] = []
        if isinstance(source, FrameSource):
            names = [field.name for field in flat_fields(source.schema)]
        elif source.regular and source.status is not None:  # a file at hand
            with contextlib.suppress(DataError, Wrong, UnicodeDecodeError, OSError):  # the reading reports it
                if format in DELIMITED:
                    head = source.peek(LOOK, bool)
                    names = _named(head, len(head) < LOOK, format, options)[0] if head else []
                else:
                    table = first_rows(source, format, options, 1)
                    names = [] if table is None else [field.name for field in flat_fields(table.schema)]
        for name in names:
            if name not in known:
                found.setdefault(name, source.path)
    return found


def refuse_strangers(sources: Sequence[Source], options: Options, schema: Schema) -> None:
    """Raise DataError for a file of JSON lines at hand whose first rows have no column of the schema.

    A row of JSON may lack any column; other tables have a header, which is checked where it is read.
    """
    for source in {source.path: source for source in sources}.values():
        if not source.regular or source.status is None:
            continue
        samples = None
        with contextlib.suppress(DataError, OSError):  # it is said where it is read
            samples = _json(source, "jsonl", options, at_once=False)
        if samples and schema.names and not {*schema.names} & {*samples}:
            raise DataError(
                source.path,
                f"its first rows have none of the columns of the model: they have {listed([*samples])}, and the model "
                f"{listed(schema.names)}",
            )


def _head(source: Source, least: int | None) -> tuple[bytes, bool]:
    """The beginning of a file, with more rows than are looked at, and whether it is the whole file.

    For a silent pipe `least` lines are enough, or _OF_A_PIPE rows if it is None.
    """
    if not source.regular:  # more may not come for a long time
        return source.peek(LOOK, _Enough(source, least)), False
    size = 1 << 18
    while True:
        head = source.peek(size, bool)
        if len(head) < size or size >= _MOST or head.count(b"\n") > 2 * ROWS:
            return head, len(head) < size
        size *= 4


class _Enough:
    """Says whether enough of a pipe has come."""

    def __init__(self, source: Source, least: int | None) -> None:
        self._source, self._least = source, least
        self._until: float | None = None

    def __call__(self, head: bytes) -> bool:
        lines = head.count(b"\n")
        if lines > _OF_A_PIPE or self._least is None or lines < self._least:
            return lines > _OF_A_PIPE
        now = time.monotonic()
        self._until = now + _PATIENCE if self._until is None else self._until
        return now >= self._until or self._source.silent(self._until - now)


def _delimited(source: Source, format: str, options: Options, at_once: bool) -> Samples | None:
    head, whole = _head(source, 1 + options.header if at_once or source.grows else None)
    if not head:
        return None
    names, dialect, end = _named(head, whole, format, options)
    body = head[end if options.header else 0 :].removeprefix(b"\xef\xbb\xbf")
    if not whole:
        body = body[: QuotedLines(dialect.quote).last(bytearray(body), len(body))]
    rows = [row for row in dialect.cells(body, ROWS) if len(row) == len(names)]
    texts = [[cell.decode(errors="replace") for cell in row] for row in rows]
    return {name: [row[k] for row in texts] for k, name in enumerate(names)}


def _named(head: bytes, whole: bool, format: str, options: Options) -> tuple[list[str], Dialect, int]:
    """The names of the columns, the dialect, and where the header ends."""
    dialect = dialect_of(head[:LOOK], whole and len(head) <= LOOK, format, options)
    end = QuotedLines(dialect.quote).first(bytearray(head), 0, len(head)) or len(head)
    return header_of(head[:end], dialect, options), dialect, end


def _json(source: Source, format: str, options: Options, at_once: bool) -> Samples | None:
    head, whole = _head(source, 1 if at_once or source.grows else None)
    lines = head.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if not whole:
        lines.pop()
    parser = JsonLines(replace(options, need_label=False, schema=None))
    records: list[dict[str, Any]] = []
    for line in lines:
        with contextlib.suppress(Wrong, UnicodeDecodeError):
            found = parser.flat(line.decode())
            if found is not None and not (b"\\u" in line and _has_half_pairs(found)):
                records.append(found)
        if len(records) == ROWS:
            break
    names = dict.fromkeys(name for record in records for name in record)
    return {name: [record.get(name) for record in records] for name in names} if records else None


def _has_half_pairs(record: dict[str, Any]) -> bool:
    """True if a name or a value has half of a surrogate pair, which is invalid text."""
    texts = [text for item in record.items() for text in item if isinstance(text, str)]
    return any("\ud800" <= character <= "\udfff" for text in texts for character in text)


def _never(head: bytes) -> bool:
    """No beginning is enough: wait for all of it."""
    return False


def _columns(source: Source, format: str, options: Options) -> Samples | None:
    if isinstance(source, FrameSource) or source.regular:
        table = first_rows(source, format, options, ROWS)
    else:
        size = LOOK
        while True:
            head = source.peek(size, _never)
            table = first_rows(source, format, options, ROWS, head)
            if table is None or len(head) < size or size > options.batch_room or table.num_rows:
                break
            size *= 4
    if table is None:
        if asked := [name for name in OVERRIDES if getattr(options, name)]:
            raise ValueError(f"--{asked[0]} is for tables, and {source.path} has list columns of indices and values.")
        return None
    if not table.num_rows:
        return None
    samples: Samples = {}
    if len(set(table.schema.names)) < len(table.schema.names):
        twice = next(name for name in table.schema.names if table.schema.names.count(name) > 1)
        raise DataError(source.path, f"the column {shown(twice)} comes more than once")
    for field in flat_fields(table.schema):
        if not is_cell(field.type):
            samples[field.name] = [None] * table.num_rows
            continue
        samples[field.name] = []
        for batch in table.to_batches():
            column = field.of(batch)
            try:
                column.validate(full=True)
            except ValueError as error:  # pyarrow's
                raise DataError(source.path, f"the file is damaged: {error}") from None
            samples[field.name] += first_values(column)
    return samples

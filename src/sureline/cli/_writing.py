"""Rows of `sureline predict` on their way out: CSV or JSON lines, to standard output or to a file."""

from __future__ import annotations

import bz2
import csv
import json
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from .._atomic import Output, replacing
from .._inputs import printable
from ..learners.explanation import Explanation
from ..stream.decompress import zstd_module
from ..stream.formats.arrow_metadata import pyarrow
from ._columns import Batch, Column

_AT_ONCE = 1 << 18  # characters
_COMPRESSIONS = {".gz": "gz", ".bz2": "bz2", ".xz": "xz", ".zst": "zst"}
_FORMATS = {
    ".csv": "csv",
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), "arrow"),
}
_TABLES = ("parquet", "arrow")
# Endings of formats that cannot be written: CSV under such a name would surprise.
_NOT_WRITTEN = (".json", ".tsv", ".xlsx", ".xls", ".ods", ".zip", ".orc", ".avro", ".npy", ".npz", ".pkl", ".db")
# Spreadsheets read a cell that begins with one of these as a formula; the last four are wide.
_FORMULAS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


class Writer(Protocol):
    """A writer of columns, batch by batch."""

    def begin(self, columns: Sequence[Column], first: Batch | None = None) -> None: ...

    def write(self, batch: Batch) -> None: ...

    def flush(self) -> None: ...


class Text:
    """Text into a file that takes bytes, some of it at a time."""

    def __init__(
        self,
        write: Callable[[bytes], object],
        *,
        terminal: bool = False,
        pass_on: Callable[[], object] = lambda: None,
    ) -> None:
        self._write, self._terminal, self._pass_on = write, terminal, pass_on
        self._waiting: list[str] = []
        self._size = 0

    def write(self, text: str) -> None:
        self._waiting.append(text)
        self._size += len(text)
        if self._size >= _AT_ONCE:
            self.flush()

    def flush(self) -> None:
        text = "".join(self._waiting)
        if self._terminal:
            text = printable(text, but="\n\t")
        self._write(text.encode(errors="surrogateescape"))
        self._waiting.clear()
        self._size = 0
        self._pass_on()


def format_of(path: Path, *, as_json: bool) -> tuple[str, str | None]:
    """The format (csv, jsonl, arrow or parquet) and the compression, by the ending of a file's name.

    Standard output, and what has no known ending, is CSV, or JSON lines if that is asked for.
    """
    endings = [ending.lower() for ending in path.suffixes]
    compression = _COMPRESSIONS.get(endings[-1]) if endings else None
    ending = (endings[-2:-1] if compression else endings[-1:]) or [""]
    named = _FORMATS.get(ending[0])
    if ending[0] in _NOT_WRITTEN and not (as_json and ending[0] == ".json"):
        written = "what is written is .csv, .jsonl (also .gz, .bz2, .xz, .zst), .parquet or .arrow"
        raise ValueError(f"{path}: {written}, and not {ending[0]}.")
    if as_json and named not in (None, "csv", "jsonl"):
        raise ValueError(f"--json writes JSON lines, and {path} is to be {named}.")
    if compression and named in _TABLES:
        raise ValueError(f"{path}: a file of {named} is compressed inside; leave the last ending out.")
    return "jsonl" if as_json else named or "csv", compression


def _compressor(kind: str) -> Any:
    if kind == "gz":
        return zlib.compressobj(wbits=31)
    if kind == "bz2":
        return bz2.BZ2Compressor()
    return lzma.LZMACompressor() if kind == "xz" else zstd_module().ZstdCompressor()


@contextmanager
def opened_text(path: Path, compression: str | None = None) -> Iterator[Text]:
    """Open standard output, or a file that is replaced only when it is complete."""
    if str(path) == "-":
        buffer = sys.stdout.buffer
        out = Text(buffer.write, terminal=sys.stdout.isatty(), pass_on=buffer.flush)
        yield out
        out.flush()
        return
    with replacing(path) as file:
        if compression is None:
            out = Text(file.write)
            yield out
            out.flush()
            return
        packed = _compressor(compression)
        out = Text(lambda text: file.write(packed.compress(text)))
        yield out
        out.flush()
        file.write(packed.flush())


def has_half(text: Any) -> bool:
    """True of text with half of a surrogate pair."""
    return isinstance(text, str) and any("\ud800" <= character <= "\udfff" for character in text)


def refuse_halves(labels: Sequence[Any], remedy: str) -> None:
    """Raise ValueError for a label with half of a surrogate pair, which is not a character."""
    for label in labels:
        if has_half(label):
            raise ValueError(f"The label {label!r} has half of a surrogate pair, which is no character: {remedy}.")


class Table:
    """Arrow or Parquet: a record batch for each batch of rows."""

    def __init__(self, file: Output, format: str, labels: Sequence[Any]) -> None:
        self._file, self._format = file, format
        self._whole = bool(labels) and all(isinstance(label, int) for label in labels)
        self._columns: Sequence[Column] = ()
        self._writer: Any = None
        self._schema: Any = None

    def begin(self, columns: Sequence[Column], first: Batch | None = None) -> None:
        pa = pyarrow()
        self._columns = columns
        self._schema = pa.schema([(column.name, self._type(pa, column, first)) for column in columns])
        sink = pa.PythonFile(self._file, mode="w")
        if self._format == "parquet":
            from pyarrow import parquet

            self._writer = parquet.ParquetWriter(sink, self._schema)
        else:
            self._writer = pa.ipc.new_file(sink, self._schema)

    def write(self, batch: Batch) -> None:
        pa = pyarrow()
        arrays = [
            _kept(column, batch, field.type, pa)
            if column.type is not None
            else pa.array([_in_table(cell, field.type, pa) for cell in column.cells(batch)], field.type)
            for column, field in zip(self._columns, self._schema, strict=True)
        ]
        self._writer.write_table(pa.Table.from_arrays(arrays, schema=self._schema))

    def flush(self) -> None:
        """Does nothing: the file appears when it is complete."""

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()

    def _type(self, pa: Any, column: Column, first: Batch | None) -> Any:
        if column.type is not None:
            found = None if first is None else column.type(first)
            return pa.string() if found is None else found
        if column.shown:
            return pa.float64()
        if column.name == "explanation":
            numbers = [("feature", pa.string()), ("value", pa.float64()), ("contribution", pa.float64())]
            return pa.list_(pa.struct(numbers))
        whole = column.name == "row" or (column.name == "label" and self._whole)
        return pa.int64() if whole else pa.string()


def _kept(column: Column, batch: Batch, type: Any, pa: Any) -> Any:
    """Cells that are passed through. Values that Arrow cannot hold become text."""
    cells = column.cells(batch)
    if pa.types.is_string(type):
        cells = [cell if cell is None or isinstance(cell, str) else json.dumps(cell, default=str) for cell in cells]
    try:
        return pa.array(cells, type)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise ValueError(f"The column {column.name!r} is not {type} in all files: {error}") from None


def _in_table(cell: Any, kind: Any, pa: Any) -> Any:
    """A cell in its column's type; an empty cell is missing."""
    if cell is None or pa.types.is_list(kind):
        return cell if cell is None else _plain(cell)["contributions"]
    if pa.types.is_string(kind):
        return str(cell)
    return None if cell == "" else cell


class Csv:
    """A header, then a line for each row."""

    def __init__(self, out: Text, *, safe: bool = False) -> None:
        self._out, self._safe = out, safe
        self._writer = csv.writer(UnixLines(out))
        self._columns: Sequence[Column] = ()

    def begin(self, columns: Sequence[Column], first: Batch | None = None) -> None:
        self._columns = columns
        names = [column.name for column in columns]
        self._writer.writerow([safe(name) for name in names] if self._safe else names)

    def write(self, batch: Batch) -> None:
        self._writer.writerows(zip(*(self._cells(column, batch) for column in self._columns), strict=True))

    def flush(self) -> None:
        self._out.flush()

    def _cells(self, column: Column, batch: Batch) -> Sequence[Any]:
        cells = column.cells(batch)
        if column.shown:
            cells = [format(cell, column.shown) for cell in cells]
        return [safe(cell) for cell in cells] if self._safe else cells


class UnixLines:
    """Rows of a csv.writer with the ends of lines of Unix. The writer's own end, CRLF, makes it quote both."""

    def __init__(self, out: Text) -> None:
        self._out = out

    def write(self, row: str) -> None:
        self._out.write(row.removesuffix("\r\n") + "\n")


def safe(cell: Any) -> Any:
    """A cell that no spreadsheet takes for a formula."""
    cell = cell if isinstance(cell, str | int | float) else str(cell)
    formula = isinstance(cell, str) and cell.startswith(_FORMULAS) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if formula else cell


class Json:
    """An object for each row."""

    def __init__(self, out: Text) -> None:
        self._out = out
        self._columns: Sequence[Column] = ()

    def begin(self, columns: Sequence[Column], first: Batch | None = None) -> None:
        self._columns = columns

    def write(self, batch: Batch) -> None:
        names = [column.name for column in self._columns]
        for cells in zip(*(column.cells(batch) for column in self._columns), strict=True):
            self._out.write(json.dumps(dict(zip(names, cells, strict=True)), default=_plain) + "\n")

    def flush(self) -> None:
        self._out.flush()


def _plain(cell: Any) -> Any:
    """A cell that JSON has no word for, such as an explanation."""
    if not isinstance(cell, Explanation):
        return cell.decode(errors="replace") if isinstance(cell, bytes) else str(cell)
    told = cell.to_dict()
    return {"intercept": told["intercept"], "contributions": told["contributions"], "rest": told["rest"]}


@contextmanager
def opened_writer(
    path: Path, format: str, compression: str | None, *, safe: bool, labels: Sequence[Any]
) -> Iterator[Writer]:
    """Open a writer to standard output, or to a file that is replaced only when it is complete."""
    if format != "jsonl":
        refuse_halves(labels, f"{format} cannot hold it; JSON lines can (--json)")
    if format in _TABLES:
        pyarrow()
        with replacing(path) as file:
            table = Table(file, format, labels)
            yield table
            table.close()
        return
    with opened_text(path, compression) as out:
        yield Json(out) if format == "jsonl" else Csv(out, safe=safe)

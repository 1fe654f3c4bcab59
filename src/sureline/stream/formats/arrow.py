"""Arrow IPC and Parquet files: their batches, piece by piece."""

from __future__ import annotations

import base64
import bisect
import contextlib
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ..._native import _core
from ..chunk import Chunk
from ..errors import DataError, shown
from ..options import FORMATS, PIECE, Options
from ..pipeline import Room, Task
from ..source import Reader, Source, Stop
from .arrow_arrays import is_list, is_text, numbers
from .columns import ColumnLayout
from .ipc import FileContent, StreamContent, TooLarge
from .parquet_pages import largest_page

T = TypeVar("T")

_MAGIC = b"ARROW1\0\0"
METADATA = b"sureline"  # the key under which `convert` says what a file was made of
NAMES = b"sureline.names"  # and the one for the table of names, in the metadata of the last batch


def pyarrow() -> Any:
    """The package, or a sentence on how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError("Arrow and Parquet files need pyarrow: pip install 'sureline[arrow]'") from None
    return pyarrow


def pack_names(names: _core.NameTable) -> bytes:
    """A table of names as text: its arrays one after the other, and before them what they are."""
    arrays = names.to_arrays()
    header = json.dumps({name: [str(array.dtype), len(array)] for name, array in arrays.items()})
    return base64.b64encode(header.encode() + b"\n" + b"".join(array.tobytes() for array in arrays.values()))


def unpack_names(packed: bytes) -> _core.NameTable:
    """The table of names that `pack_names` wrote; ValueError if it is none."""
    header, _, content = base64.b64decode(packed, validate=True).partition(b"\n")
    arrays = {}
    at = 0
    try:
        for name, (kind, n) in json.loads(header).items():
            arrays[name] = np.frombuffer(
                content, np.dtype({"uint8": "u1", "uint32": "<u4", "int64": "<i8"}[kind]), n, at
            )
            at += arrays[name].nbytes
    except (TypeError, AttributeError, KeyError, RecursionError):
        raise ValueError("its table of names is not one") from None
    return _core.NameTable.from_arrays(arrays)


def stated_width(schema: Any) -> int:
    """How many columns a file that `convert` wrote says that names were hashed to; 0 if it says nothing."""
    try:
        about = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        width = about.get("n_columns")
    except (ValueError, AttributeError, RecursionError):
        return 0
    return width if isinstance(width, int) and 0 < width <= 1 << 30 else 0


def stated_origin(schema: Any) -> dict[str, Any]:
    """Format and options with which the rows of a file that `convert` wrote were read; empty if it says nothing."""
    try:
        about = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        format, shift = about.get("format"), about.get("shift")
    except (ValueError, AttributeError, RecursionError):
        return {}
    if format == "libsvm":
        return {"format": format, "zero_based": shift == 1}
    bits = stated_width(schema).bit_length() - 1
    return {"format": format, "bits": bits} if format in FORMATS and 1 <= bits <= 30 else {}


class Batches(ABC):
    """The record batches of a file, from one that begins at a given row or before."""

    schema: Any
    n_rows = 0  # if it is known from the beginning
    names: bytes | None = None  # that came with the latest batch

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        """For each batch the number of its first row, how far into the file one is, and the batch."""

    def close(self) -> None:  # noqa: B027
        """Let go of the file."""


class IpcFile(Batches):
    """An IPC file: `first` and `end` are numbers of batches, None for the rest of them."""

    def __init__(self, reader: Reader, first: int, end: int | None, room: int) -> None:
        pa = pyarrow()
        self._length = os.fstat(reader.raw.fd).st_size
        self._file = pa.ipc.open_file(pa.PythonFile(FileContent(reader.raw.fd, room), mode="r"))
        self.schema = self._file.schema
        self.n_batches = self._file.num_record_batches
        self._first, self._end = first, self.n_batches if end is None else end

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        row = 0
        for i in range(self._end):
            batch, metadata = self._file.get_batch_with_custom_metadata(i)
            self.names = None if metadata is None else metadata.get(NAMES)
            if i >= self._first:
                yield row, self._length * (i + 1) // self.n_batches, batch
            row += batch.num_rows
            del batch


class IpcStream(Batches):
    """An IPC stream, or an IPC file that is compressed or comes from a pipe: its batches lie in it as in a stream."""

    def __init__(self, reader: Reader, stop: Stop, room: int) -> None:
        pa = pyarrow()
        self._reader = reader
        if reader.peek(len(_MAGIC)) == _MAGIC:
            reader.skip(len(_MAGIC), stop)
        self._stream = pa.ipc.open_stream(pa.PythonFile(StreamContent(reader, room), mode="r"))
        self.schema = self._stream.schema

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        row = 0
        while True:
            try:
                batch, metadata = self._stream.read_next_batch_with_custom_metadata()
            except StopIteration:
                break
            self.names = None if metadata is None else metadata.get(NAMES)
            yield row, self._reader.raw.consumed, batch
            row += batch.num_rows
            del batch
        rest = memoryview(bytearray(1 << 16))  # a file's footer, and whatever shows that compressed data are whole
        while self._reader.readinto(rest):
            pass
        self._reader.check()


class ParquetFile(Batches):
    """A Parquet file: `first` and `end` are numbers of row groups, None for the rest of them."""

    def __init__(self, reader: Reader, start: int, first: int, end: int | None, room: int) -> None:
        pyarrow()
        from pyarrow import parquet

        self._fd, self._room = reader.raw.fd, room
        plain = parquet.read_schema(reader.name)
        # A text that comes in many rows is kept once, and not once for each of them.
        texts = [each.name for each in plain if is_text(getattr(each.type, "value_type", each.type))]
        texts = [name for name in texts if not is_list(plain.field(name).type)]
        self._file = parquet.ParquetFile(
            reader.name, memory_map=False, buffer_size=1 << 20, pre_buffer=False, read_dictionary=texts
        )
        self.schema = self._file.schema_arrow
        metadata = self._file.metadata
        self._groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
        self.n_batches = len(self._groups)
        ends = np.cumsum([group.num_rows for group in self._groups]).tolist()
        self._starts = [0, *ends]
        self.n_rows = self._starts[-1]
        self._first = max(first, bisect.bisect_right(ends, start))
        self._end = self.n_batches if end is None else end
        self._size = sum(group.total_byte_size for group in self._groups) or 1
        self._length = os.fstat(reader.raw.fd).st_size
        self.columns: list[str] | None = None

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        read = sum(group.total_byte_size for group in self._groups[: self._first])
        for i in range(self._first, self._end):
            group, row = self._groups[i], self._starts[i]
            self._refuse_large(group)
            row_bytes = max(1, group.total_byte_size // max(1, group.num_rows))
            rows = int(min(max(1, 8 * PIECE // row_bytes), 1 << 16))
            for batch in self._file.iter_batches(rows, row_groups=[i], columns=self.columns, use_threads=False):
                yield row, self._length * read // self._size, batch
                row += batch.num_rows
            if row != self._starts[i + 1]:  # pyarrow does not mind a file that became shorter
                raise ValueError(f"row group {i} ends at row {row}, and says {self._starts[i + 1]}")
            read += group.total_byte_size

    def _refuse_large(self, group: Any) -> None:
        """Before a page is unpacked, see that there is room for it."""
        for k in range(group.num_columns):
            column = group.column(k)
            start = column.data_page_offset
            if column.has_dictionary_page and column.dictionary_page_offset is not None:
                start = min(start, column.dictionary_page_offset)
            size = largest_page(self._fd, start, column.total_compressed_size)
            if size > self._room:
                raise TooLarge(
                    f"a page of the column {shown(column.path_in_schema)} has {size:,} bytes, more than the "
                    f"{self._room:,} that memory (--memory) leaves for it"
                )

    def close(self) -> None:
        self._file.close()


def _guarded(reader: Reader, action: Callable[[], T]) -> T:
    """Do something with pyarrow; turn what it raises on damaged files into DataError."""
    pa = pyarrow()
    try:
        return action()
    except (pa.ArrowException, OSError, ValueError, KeyError, IndexError, MemoryError) as error:
        if isinstance(error, DataError):
            raise
        reader.check()
        if isinstance(error, TooLarge):
            raise DataError(reader.name, str(error)) from None
        if isinstance(error, MemoryError):
            raise DataError(reader.name, "a batch takes more memory than there is") from None
        reason = " ".join(str(error).split()).rstrip(".")[:300] or type(error).__name__
        raise DataError(reader.name, f"the file is damaged: {reason}") from None


class ColumnPieces:
    """The pieces of a columnar file, each small enough to be handled at once.

    From where a piece begins and what the file holds follows where it ends, as for blocks of text.
    """

    def __init__(self, file: int, reader: Reader, batches: Batches, start: int, options: Options) -> None:
        self._file, self._reader, self._batches, self._start = file, reader, batches, start
        width = stated_width(batches.schema)
        self._layout = _guarded(reader, lambda: ColumnLayout(reader.name, batches.schema, options, width))
        self._wants_names = bool(options.collect_names)
        if isinstance(batches, ParquetFile):
            batches.columns = self._layout.columns
        self._iterator = iter(batches)
        self._batch: Any = None
        self._first_row = self._row = 0  # of the batch, in the file; in the batch
        self._rows = batches.n_rows  # that there are, as far as is known
        self._consumed = 0

    def _advance(self) -> bool:
        while True:
            found = _guarded(self._reader, lambda: next(self._iterator, None))
            if found is None:
                if self._start > self._rows:
                    raise DataError(
                        self._reader.name,
                        f"there are only {self._rows} rows, and reading was to go on after {self._start}",
                    )
                return False
            self._first_row, self._consumed, batch = found
            self._rows = max(self._rows, self._first_row + batch.num_rows)
            if self._first_row + batch.num_rows <= self._start:
                continue
            self._batch, self._row = batch, max(0, self._start - self._first_row)
            _guarded(self._reader, partial(self._validate, batch))
            return True

    def _validate(self, batch: Any) -> None:
        """Everything but the contents of list columns, which are looked at when they become rows."""
        batch.validate()
        for name in self._layout.columns:
            if not (self._layout.listed and name in ("indices", "values")):
                batch.column(name).validate(full=True)

    def next(self, room: Room) -> Task | None:
        if self._batch is None and not self._advance():
            return None
        batch, begin = self._batch, self._row
        end, size = self._piece_end(batch, begin)
        piece = batch.slice(begin, end - begin)
        self._row = end
        names = None
        if end == batch.num_rows:
            self._batch = None
            names = self._batches.names if self._wants_names else None
        start = self._first_row + begin

        def parse() -> Chunk:
            chunk = self._layout.parse(piece)
            return chunk if names is None else replace(chunk, names=unpack_names(names))

        def run() -> Chunk:
            return _guarded(self._reader, parse)

        return Task(self._file, start, start + end - begin, self._consumed, size, run)

    def _piece_end(self, batch: Any, begin: int) -> tuple[int, int]:
        """The end of the piece that begins at a row of the batch, and about how many bytes it has."""
        if not self._layout.listed:
            end = min(begin + self._layout.rows_at_once, batch.num_rows)
            return end, (end - begin) * 100 * len(self._layout.columns)
        offsets = numbers(batch.column("indices").offsets)
        limit = int(offsets[begin]) + PIECE
        end = int(np.searchsorted(offsets[begin + 1 :], limit, "right")) + begin
        end = min(max(end, begin + 1), begin + (1 << 16), batch.num_rows)
        return end, 8 * max(0, int(offsets[end]) - int(offsets[begin])) + 16 * (end - begin)

    def close(self) -> None:
        self._batches.close()
        self._reader.close()


def open_batches(
    reader: Reader, source: Source, format: str, start: int, units: tuple[int, int | None], stop: Stop, room: int
) -> Batches:
    """The batches of a file from row `start` on, among those of the given range of batches or row groups.

    None of them, and no page of Parquet, may take more than `room` bytes.
    """
    plain = source.regular and reader.compression is None
    if format == "parquet":
        if not plain:
            raise DataError(source.path, "Parquet can only be read from a file that is not itself compressed")
        return _guarded(reader, lambda: ParquetFile(reader, start, *units, room))
    if plain and reader.peek(len(_MAGIC)) == _MAGIC:
        return _guarded(reader, lambda: IpcFile(reader, *units, room))
    return _guarded(reader, lambda: IpcStream(reader, stop, room))


def width_of(source: Source, format: str, options: Options) -> int:
    """How many columns names are, or were, hashed to; 0 if rows are as they are."""
    with _opened(source, format, options) as batches:
        layout = ColumnLayout(source.path, batches.schema, options)
        return stated_width(batches.schema) if layout.listed else 1 << options.bits


def origin_of(source: Source, format: str, options: Options) -> dict[str, Any]:
    """The `stated_origin` of a file with list columns; empty for wide ones."""
    with _opened(source, format, options) as batches:
        listed = ColumnLayout(source.path, batches.schema, options).listed
        return stated_origin(batches.schema) if listed else {}


def count_units(source: Source, format: str) -> int | None:
    """How many batches or row groups a file has; None if it has to be read in one go."""
    with _opened(source, format, Options()) as batches:
        return getattr(batches, "n_batches", None)


@contextlib.contextmanager
def _opened(source: Source, format: str, options: Options) -> Iterator[Batches]:
    reader, stop = source.open(), Stop()
    try:
        batches = open_batches(reader, source, format, 0, (0, None), stop, options.batch_room)
        yield batches
        batches.close()
    finally:
        reader.close()
        stop.close()

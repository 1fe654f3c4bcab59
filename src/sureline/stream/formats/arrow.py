"""Arrow IPC and Parquet files: their batches, piece by piece."""

from __future__ import annotations

import bisect
import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from ..chunk import Chunk
from ..errors import DataError, shown
from ..options import PIECE, Options
from ..pipeline import Room, Task
from ..source import Reader, Source, Stop
from .arrow_arrays import is_list, is_text, numbers
from .arrow_metadata import NAMES, pyarrow, stated_origin, stated_width, unpack_names
from .columns import ColumnLayout, is_listed
from .frames import FrameSource
from .ipc import FileContent, StreamContent, TooLarge
from .parquet_pages import largest_page

T = TypeVar("T")

_MAGIC = b"ARROW1\0\0"


class Batches(ABC):
    """The record batches of a file, from one at or before a given row."""

    schema: Any
    n_rows = 0  # if known from the start
    n_batches: int | None = None  # likewise
    names: bytes | None = None  # that came with the latest batch

    @abstractmethod
    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        """Yield the number of its first row, the position in the file, and the batch."""

    def close(self) -> None:  # noqa: B027
        """Let go of the file."""


class IpcFile(Batches):
    """An IPC file: `first` and `end` are numbers of batches; None means all others."""

    def __init__(self, reader: Reader, first: int, end: int | None, room: int) -> None:
        pa = pyarrow()
        self._length = reader.raw.length
        self._file = pa.ipc.open_file(pa.PythonFile(FileContent(reader.raw, room), mode="r"))
        self.schema = self._file.schema
        self.n_batches = self._all = self._file.num_record_batches
        self._first, self._end = first, self._all if end is None else end

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        row = 0
        for i in range(self._end):
            batch, metadata = self._file.get_batch_with_custom_metadata(i)
            self.names = None if metadata is None else metadata.get(NAMES)
            if i >= self._first:
                yield row, self._length * (i + 1) // self._all, batch
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
        rest = memoryview(bytearray(1 << 16))  # a file's footer, and trailing bytes that prove compressed data complete
        while self._reader.readinto(rest):
            pass
        self._reader.check()


class ParquetFile(Batches):
    """A Parquet file: `first` and `end` are numbers of row groups; None means all others."""

    def __init__(self, reader: Reader, start: int, first: int, end: int | None, room: int) -> None:
        pyarrow()
        from pyarrow import parquet

        self._raw, self._room = reader.raw, room
        plain = parquet.read_schema(self._where(reader))
        # A text that comes in many rows is kept once, and not once for each of them.
        texts = [each.name for each in plain if is_text(getattr(each.type, "value_type", each.type))]
        texts = [name for name in texts if not is_list(plain.field(name).type)]
        self._file = parquet.ParquetFile(
            self._where(reader), memory_map=False, buffer_size=1 << 20, pre_buffer=False, read_dictionary=texts
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
        self._length = reader.raw.length
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

    @staticmethod
    def _where(reader: Reader) -> Any:
        """A path, or an object that reads ranges of a remote file."""
        return reader.name if reader.raw.fd >= 0 else pyarrow().PythonFile(FileContent(reader.raw), mode="r")

    def _refuse_large(self, group: Any) -> None:
        """Check that there is room for a page before it is unpacked."""
        for k in range(group.num_columns):
            column = group.column(k)
            start = column.data_page_offset
            if column.has_dictionary_page and column.dictionary_page_offset is not None:
                start = min(start, column.dictionary_page_offset)
            size = largest_page(self._raw, start, column.total_compressed_size)
            if size > self._room:
                raise TooLarge(
                    f"a page of the column {shown(column.path_in_schema)} has {size:,} bytes, more than the "
                    f"{self._room:,} that memory (--memory) leaves for it"
                )

    def close(self) -> None:
        self._file.close()


class FrameBatches(Batches):
    """The rows of a data frame: `first` and `end` are numbers of pieces; None means all others."""

    def __init__(self, source: FrameSource, first: int, end: int | None) -> None:
        self._source, self._first = source, first
        self.schema, self.n_batches, self.n_rows = source.schema, source.n_pieces, source.n_rows or 0
        self._end = end

    def __iter__(self) -> Iterator[tuple[int, int, Any]]:
        yield from self._source.pieces(self._first, self._end)


def _guarded(reader: Reader, action: Callable[[], T]) -> T:
    """Call pyarrow; turn its errors on damaged files into DataError."""
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

    The end of a piece follows from its beginning and the content, as for blocks of text.
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
        self._text_ends: Any = None
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
            self._text_ends = _guarded(self._reader, partial(self._layout.text_ends, batch))
            return True

    def _validate(self, batch: Any) -> None:
        """Validate all but the contents of list columns, which are checked when they become rows."""
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
        rows = batch.num_rows
        if self._text_ends is not None:
            within = np.searchsorted(self._text_ends[begin + 1 :], self._text_ends[begin] + 8 * PIECE, "right")
            rows = min(rows, begin + max(int(within), 1))
        if not self._layout.listed:
            end = min(begin + self._layout.rows_at_once, rows)
            texts = 0 if self._text_ends is None else int(self._text_ends[end] - self._text_ends[begin])
            return end, (end - begin) * 100 * len(self._layout.columns) + 2 * texts
        offsets = numbers(batch.column("indices").offsets)
        limit = int(offsets[begin]) + PIECE
        end = int(np.searchsorted(offsets[begin + 1 :], limit, "right")) + begin
        end = min(max(end, begin + 1), begin + (1 << 16), rows)
        return end, 8 * max(0, int(offsets[end]) - int(offsets[begin])) + 16 * (end - begin)

    def close(self) -> None:
        self._batches.close()
        self._reader.close()


def open_batches(
    reader: Reader, source: Source, format: str, start: int, units: tuple[int, int | None], stop: Stop, room: int
) -> Batches:
    """The batches of a file from row `start` on, within a range of batches or row groups.

    No batch and no page of Parquet may take more than `room` bytes.
    """
    if isinstance(source, FrameSource):
        return FrameBatches(source, *units)
    plain = source.regular and reader.compression is None
    if format == "parquet":
        if not plain:
            raise DataError(source.path, "Parquet can only be read from a file that is not itself compressed")
        return _guarded(reader, lambda: ParquetFile(reader, start, *units, room))
    if plain and reader.peek(len(_MAGIC)) == _MAGIC:
        return _guarded(reader, lambda: IpcFile(reader, *units, room))
    return _guarded(reader, lambda: IpcStream(reader, stop, room))


def width_of(source: Source, format: str, options: Options) -> int:
    """The number of columns that names are or were hashed to; 0 without hashing."""
    with _opened(source, format, options) as batches:
        return stated_width(batches.schema) if is_listed(batches.schema) else 1 << options.bits


def origin_of(source: Source, format: str, options: Options) -> dict[str, Any]:
    """The `stated_origin` of a file with list columns; empty for wide ones."""
    with _opened(source, format, options) as batches:
        return stated_origin(batches.schema) if is_listed(batches.schema) else {}


def first_rows(source: Source, format: str, options: Options, n: int, head: bytes | None = None) -> Any:
    """The first n rows as a table, or fewer; None for list columns of indices and values.

    `head` is the beginning of a source that can be read only once; only its complete batches are used.
    """
    pa = pyarrow()
    if head is not None:
        return _rows_of_head(head, n)

    def gathered() -> Any:
        with _opened(source, format, replace(options, schema=None)) as batches:
            if is_listed(batches.schema):
                return None
            return pa.Table.from_batches(list(_until(n, (batch for _, _, batch in batches))), batches.schema)

    reader = source.open()
    try:
        return _guarded(reader, gathered)
    finally:
        reader.close()


def _until(n: int, batches: Iterator[Any]) -> Iterator[Any]:
    """Batches, until they have n rows."""
    while n > 0 and (batch := next(batches, None)) is not None:
        yield batch.slice(0, n)
        n -= batch.num_rows


def _rows_of_head(head: bytes, n: int) -> Any:
    pa = pyarrow()
    batches: list[Any] = []
    try:
        with pa.ipc.open_stream(head.removeprefix(_MAGIC)) as stream:
            if is_listed(stream.schema):
                return None
            batches.extend(_until(n, iter(stream)))
    except (pa.ArrowException, OSError):
        pass  # the rest has not come yet
    return pa.Table.from_batches(batches) if batches else pa.table({})


def count_units(source: Source, format: str) -> int | None:
    """The number of batches or row groups of a file; None if it must be read sequentially."""
    with _opened(source, format, Options()) as batches:
        return batches.n_batches


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

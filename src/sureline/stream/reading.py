"""One pass over a stream: reads its files in sequence, and puts the results of their pieces in order."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

from .blocks import AtThisLine, Lines, Parse, QuotedLines, RandomBlocks, SequentialBlocks, count_lines, row_start
from .chunk import BlockFacts, Chunk
from .errors import KEPT, DataError, Fault, Faults, shown
from .formats.arrow import ColumnPieces, open_batches
from .formats.delimited import DelimitedRows, Dialect, dialect_of, header_of
from .formats.json_lines import JsonLines
from .formats.native import NativeParser
from .formats.tables import TextLines, Wrong
from .memory import MemoryLimit
from .options import BINARY, DELIMITED, NATIVE, PIECE, Options
from .passed import Passed, refuse_other_text, text_before
from .pipeline import Pipeline, Room, Task, Tasks
from .position import Position
from .recognise import LOOK
from .schema import Schema
from .source import Reader, Source, Stop

# Blocks parsed ahead of the consumer, at least: three threads share two cores unevenly, and none should have to wait.
_AHEAD = 8
_ENOUGH_FAULTS = 100


@dataclass(frozen=True)
class Part:
    """A file of a stream, or the rows of it that begin in a range: of bytes, of batches or of row groups.

    `span` is the approximate byte range of these rows in the file on disk; None if the size is unknown.
    """

    source: Source
    span: tuple[int, int] | None
    begin: int = 0
    end: int | None = None


class FileTasks:
    """The pieces of all files of a stream, from a position on."""

    def __init__(
        self,
        parts: list[Part],
        format: str,
        options: Options,
        position: Position,
        stop: Stop,
        *,
        rows_at_once: bool = False,
        watched: bool = False,
    ) -> None:
        self._parts, self._format, self._options, self._stop = parts, format, options, stop
        self._position, self._rows_at_once, self._watched = position, rows_at_once, watched
        self._parsed: tuple[tuple[int, int, int], Chunk] | None = None  # the latest preview of the current block
        self.file = position.file - 1  # the current file
        self._tasks: Tasks | None = None
        self.line: int | None = None  # to be said with the next piece
        self._parse = _parser(format, options)
        # Pipes are opened here, where waiting can be interrupted.
        self._opened = {i: self._reader(i) for i, p in enumerate(parts) if i >= position.file and not p.source.regular}

    def next(self, room: Room) -> Task | None:
        while True:
            if self._tasks is None:
                if self.file + 1 >= len(self._parts):
                    return None
                self.file = file = self.file + 1
                resumed = file == self._position.file and (self._position.offset > 0 or self._position.line > 0)
                self._tasks = self._open(file, self._position if resumed else None)
                if resumed:
                    self.line = self._position.line
            task = self._tasks.next(room)
            if task is not None:
                task.line, self.line = self.line, None
                return task
            self._tasks.close()
            self._tasks = None

    def _reader(self, file: int) -> Reader:
        """The content of a file from its beginning; of a topic from where reading continues."""
        position, source = self._position, self._parts[file].source
        if file == position.file and position.places is not None:
            return source.open_at(position.places, position.offset)
        return source.open()

    def _open(self, file: int, position: Position | None) -> Tasks:
        part, options, format = self._parts[file], self._options, self._format
        how = {"rows_at_once": False, "watched": False}
        if not part.source.regular:
            how = {"rows_at_once": self._rows_at_once, "watched": self._watched}
        offset, before = (None, None) if position is None else (position.offset, position.before)
        self.line = 0
        reader = self._opened.pop(file, None) or self._reader(file)
        reader.raw.stop = self._stop
        try:
            if format in BINARY:
                batches = open_batches(
                    reader, part.source, format, offset or 0, (part.begin, part.end), self._stop, options.batch_room
                )
                return ColumnPieces(file, reader, batches, offset or 0, options)
            size, longest = options.block_size(format), options.longest_line(format)
            if format in DELIMITED:
                dialect = self._dialect(reader, part.source)
                first = _first_row(reader, longest, dialect)
                parse = self._delimited(reader, first, dialect) if first else TextLines(options)  # has nothing to do
                header = first if options.header else b""
                self.line = 0 if part.begin else header.count(b"\n")
                reader.raw.header = header
                if part.begin or part.end is not None:  # a piece of a file with one row per line
                    start = row_start(reader.raw, part.begin, part.source.size or 0) if offset is None else offset
                    start = max(start, len(header))
                    return self._random_blocks(file, reader, start, parse, offset, before)
                start = max(offset or 0, len(header))
                passed = self._skip(reader, part.source, start, before, quoted=bool(dialect.quote))
                return SequentialBlocks(file, reader, passed, QuotedLines(dialect.quote), size, longest, parse, **how)
            assert self._parse is not None
            if part.source.extent is not None:
                passed = Passed(length=offset or 0, by_messages=True)
                how["watched"] = not part.source.regular
                blocks = SequentialBlocks(file, reader, passed, Lines(), size, longest, self._parse, **how)
                blocks.cut_now()  # when no more comes for a while, since later messages may come in another order
                return blocks
            if part.source.regular and part.source.size and reader.compression is None:
                start = row_start(reader.raw, part.begin, part.source.size) if offset is None else offset
                return self._random_blocks(file, reader, start, self._parse, offset, before)
            passed = self._skip(reader, part.source, offset or 0, before)
            return SequentialBlocks(file, reader, passed, Lines(), size, longest, self._parse, **how)
        except BaseException:
            reader.close()
            raise

    def _random_blocks(
        self, file: int, reader: Reader, start: int, parse: Parse, offset: int | None, before: int | None
    ) -> RandomBlocks:
        size, longest = self._options.block_size(self._format), self._options.longest_line(self._format)
        blocks = RandomBlocks(file, reader, start, self._parts[file].end, size, longest, parse)
        if offset:
            refuse_other_text(reader.name, text_before(reader.raw, offset), blocks.length == offset, before)
        return blocks

    def _skip(self, reader: Reader, source: Source, n: int, before: int | None, *, quoted: bool = False) -> Passed:
        """Skip text read before, and check that it is unchanged and ends at the end of a row."""
        passed = Passed(whole=not source.regular, quoted=quoted)
        reader.skip(n, self._stop, passed.take)
        if n:
            refuse_other_text(reader.name, passed, not reader.peek(1), before)
        return passed

    def _dialect(self, reader: Reader, source: Source) -> Dialect:
        lines = 1 + self._options.header  # of a pipe, a row besides the header

        def enough(head: bytes) -> bool:
            return not source.regular and head.count(b"\n") >= lines

        head = reader.peek_until(enough, LOOK)
        return dialect_of(head, source.regular and len(head) < LOOK, self._format, self._options)

    def _delimited(self, reader: Reader, first: bytes, dialect: Dialect) -> Parse:
        try:
            names = header_of(first, dialect, self._options)
            return DelimitedRows(self._options, self._options.schema or Schema(()), dialect, names)
        except Wrong as wrong:
            column = None if wrong.column is None else wrong.column + 3 * first.startswith(b"\xef\xbb\xbf")
            raise DataError(reader.name, wrong.reason, 1, column) from None

    def come_so_far(self) -> tuple[Chunk, int, int] | None:
        """The rows so far of the current piece, its file, and its position; None if there are none.

        Only for text that is read sequentially.
        """
        file, tasks = self.file, self._tasks
        come = tasks.come_so_far() if isinstance(tasks, SequentialBlocks) else None
        if come is None or not isinstance(tasks, SequentialBlocks):
            return None
        text, start = come
        key = file, start, len(text)
        if self._parsed is None or self._parsed[0] != key:
            self._parsed = key, tasks.parse(text, start)
        return self._parsed[1], file, start

    def cut_now(self) -> None:
        """End the current piece after the rows that have come."""
        if isinstance(self._tasks, SequentialBlocks):
            self._tasks.cut_now()

    def close(self) -> None:
        if self._tasks is not None:
            self._tasks.close()
        for reader in self._opened.values():
            reader.close()


def _parser(format: str, options: Options) -> Parse | None:
    """The parser of blocks, for formats where it is the same for all files."""
    if format in NATIVE:
        return NativeParser(format, options)
    if format == "jsonl":
        return JsonLines(options)
    return TextLines(options) if format == "text" else None


def _first_row(reader: Reader, longest: int, dialect: Dialect) -> bytes:
    """The first row of the content."""

    def end(head: bytes) -> int:
        return QuotedLines(dialect.quote).first(bytearray(head), 0, len(head))

    head = reader.peek_until(end, longest)
    if found := end(head):
        return head[:found]
    if len(head) >= longest:
        raise DataError(reader.name, f"the header is longer than {longest} bytes", 1)
    reader.check()
    return head


class Reading:
    """Goes over a stream once: an iterator over its chunks."""

    def __init__(
        self,
        parts: list[Part],
        format: str,
        options: Options,
        position: Position,
        *,
        rows_at_once: bool = False,
        while_waiting: Callable[[], None] | None = None,
        look: Callable[[Chunk], None] | None = None,
    ) -> None:
        if position.file > len(parts):
            raise ValueError(f"The position is in file number {position.file}, and there are {len(parts)} files.")
        self._parts, self._format, self._options = parts, format, options
        self._position, self._at = position, position
        self._rows_at_once, self._while_waiting, self._look = rows_at_once, while_waiting, look
        self._under_way: tuple[FileTasks, Pipeline] | None = None
        self._line_bases: dict[int, int] = {}
        self.faults = Faults(count=position.faults)
        self.memory = MemoryLimit(options.memory)
        self.consumed = (position.file, 0)  # file, and how many of its bytes on the disk

    def chunks(self) -> Generator[Chunk, None, None]:
        options = self._options
        stop = Stop()
        try:
            at_once, watched = self._rows_at_once, self._while_waiting is not None
            tasks = FileTasks(
                self._parts, self._format, options, self._position, stop, rows_at_once=at_once, watched=watched
            )
        except BaseException:
            stop.close()
            raise
        threads = options.n_threads(self._format)
        weight = 8 * PIECE if self._format in BINARY else options.block_size(self._format)
        ahead = max(threads + 2, _AHEAD if self._format in NATIVE else 0)
        pipeline = Pipeline(tasks, stop, threads, ahead * weight, self._while_waiting)
        self._under_way = tasks, pipeline
        at = self._position
        try:
            for task, chunk in pipeline:
                facts = chunk.block
                if task.line is not None:
                    at = replace(at, file=task.file, line=task.line)
                if task.start == 0 and len(chunk):
                    self._refuse_unknown(task.file, chunk)
                if self._options.skip:
                    self._account(at, task, facts)
                before = at
                at = replace(
                    at,
                    offset=task.end if facts.rows_end is None else task.start + facts.rows_end,
                    line=at.line + (facts.n_lines if facts.rows_end is None else facts.faults[0].line - 1),
                    rows=at.rows + len(chunk),
                    faults=self.faults.count,
                    before=facts.before,
                    places=task.places(facts.rows_end),
                )
                self.consumed, self._at = (task.file, task.consumed), at
                self._check_share(at, finished=False)
                if len(chunk):
                    if self._look is not None:
                        self._look(chunk)
                    yield replace(chunk, end=at, block=BlockFacts(), memory=self.memory)
                self.memory.check()
                if facts.rows_end is not None:
                    raise self._fault(task, before.line, facts.faults[0])
                del task, chunk
        except AtThisLine as wrong:
            line = at.line if tasks.line is None else tasks.line
            raise self._error(tasks.file, wrong.reason, line + 1, None) from None
        finally:
            self._under_way = None
            pipeline.close()
        self.consumed = (len(self._parts), 0)
        self._check_share(at, finished=True)

    @property
    def under_way(self) -> bool:
        """True if chunks are being read."""
        return self._under_way is not None

    def come_so_far(self) -> Chunk | None:
        """Rows after those handed over, which the next chunk will have; None if there are none.

        For `while_waiting`. An unreadable line ends its block.
        """
        if self._under_way is None:
            return None
        tasks, pipeline = self._under_way
        come = tasks.come_so_far()
        if come is None or not pipeline.nothing_under_way():
            return None
        chunk, file, start = come
        if chunk.block.rows_end is not None:
            tasks.cut_now()  # so that an error is reported without waiting for the rest of the block
        at = self._at if self._at.file == file else replace(self._at, file=file, line=0)
        return replace(chunk, end=replace(at, offset=start, rows=at.rows + len(chunk)), block=BlockFacts())

    def _refuse_unknown(self, file: int, chunk: Chunk) -> None:
        """Columns to keep that no row of the first block has. Tables with a header say so themselves."""
        if unknown := [name for name in self._options.keep if name not in chunk.kept]:
            path, n = self._parts[file].source.path, len(chunk)
            raise DataError(path, f"there is no column {shown(unknown[0])} in the first {n:,} rows; --keep names it")

    def _account(self, at: Position, task: Task, facts: BlockFacts) -> None:
        """Note the faults of a piece."""
        for fault in facts.faults[: KEPT - len(self.faults.first)]:
            self.faults.first.append(self._fault(task, at.line, fault))
        self.faults.count += facts.n_faults

    def _fault(self, task: Task, lines_before: int, fault: Fault) -> DataError:
        if self._format in BINARY:
            path = self._parts[task.file].source.path
            return DataError(path, f"row {task.start + fault.line}: {fault.reason}")
        if task.passage is not None:
            return task.passage.error(fault.line, fault.reason)
        return self._error(task.file, fault.reason, lines_before + fault.line, fault.column)

    def _error(self, file: int, reason: str, line: int, column: int | None) -> DataError:
        part = self._parts[file]
        if part.begin:
            if file not in self._line_bases:
                self._line_bases[file] = _lines_before(part)
            line += self._line_bases[file]
        return DataError(part.source.path, reason, line, column)

    def _check_share(self, at: Position, finished: bool) -> None:
        """Stop if too many lines were left out; a few say nothing before the end."""
        count = self.faults.count
        if not count or (count < _ENOUGH_FAULTS and not finished):
            return
        if count > self._options.max_error_share * (count + at.rows):
            first = f"; the first: {self.faults.first[0]}" if self.faults.first else ""
            path = self._parts[min(at.file, len(self._parts) - 1)].source.path
            raise DataError(
                path,
                f"{count} of {count + at.rows} rows so far cannot be read, "
                f"more than the share of {self._options.max_error_share} that max_error_share allows{first}",
            )


def again(
    held: list[tuple[Chunk, tuple[int, int]]],
    rest: Generator[Chunk, None, None],
    wrong: DataError | None,
    reading: Reading | None,
) -> Generator[Chunk, None, None]:
    """The chunks that were looked at, then the rest of the pass. Each comes with how far the pass had come by then."""
    come_to = (0, 0) if reading is None else reading.consumed
    try:
        while held:
            chunk, consumed = held.pop(0)
            if reading is not None:
                reading.consumed = consumed
            yield chunk
            del chunk
            if reading is not None:
                reading.memory.check()
        if reading is not None:
            reading.consumed = come_to
        if wrong is not None:
            raise wrong
        yield from rest
    finally:
        rest.close()


def _lines_before(part: Part) -> int:
    """Number of lines in the file before the part's rows."""
    reader = part.source.open()
    try:
        return count_lines(reader.raw, row_start(reader.raw, part.begin, part.source.size or 0))
    finally:
        reader.close()

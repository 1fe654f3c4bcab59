"""One pass over a stream: its files one after the other, and what became of their pieces put together in order."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace

from .blocks import AtThisLine, Lines, Parse, QuotedLines, RandomBlocks, SequentialBlocks, count_lines, row_start
from .chunk import BlockFacts, Chunk
from .errors import KEPT, DataError, Fault, Faults
from .formats.arrow import ColumnPieces, open_batches
from .formats.json_lines import JsonLines
from .formats.native import NativeParser
from .formats.tables import DelimitedRows, TextLines, Wrong
from .memory import MemoryLimit
from .options import BINARY, NATIVE, PIECE, Options
from .passed import Passed, refuse_other_text, text_before
from .pipeline import Pipeline, Room, Task, Tasks
from .position import Position
from .source import Reader, Source, Stop

# Blocks that are parsed and not yet consumed, at least: on two cores, which three threads share, now this one and now
# that one is ahead, and none of them shall have to wait for it.
_AHEAD = 8
_DELIMITERS = {"csv": ",", "tsv": "\t"}
_ENOUGH_FAULTS = 100


@dataclass(frozen=True)
class Part:
    """A file of a stream, or the rows of it that begin in a range: of bytes, of batches or of row groups.

    `span` is about where these rows lie in the file as it is on the disk, in bytes; None if the size is not known.
    """

    source: Source
    span: tuple[int, int] | None
    begin: int = 0
    end: int | None = None


class FileTasks:
    """The pieces of all files of a stream, from a position on."""

    def __init__(self, parts: list[Part], format: str, options: Options, position: Position, stop: Stop) -> None:
        self._parts, self._format, self._options, self._stop = parts, format, options, stop
        self._position = position
        self.file = position.file - 1  # that is being read
        self._tasks: Tasks | None = None
        self.line: int | None = None  # to be said with the next piece
        self._parse = _parser(format, options)
        # What can be read only once is opened here, where waiting for it can be interrupted.
        self._opened = {i: p.source.open() for i, p in enumerate(parts) if i >= position.file and not p.source.regular}

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

    def _open(self, file: int, position: Position | None) -> Tasks:
        part, options, format = self._parts[file], self._options, self._format
        offset, before = (None, None) if position is None else (position.offset, position.before)
        self.line = 0
        reader = self._opened.pop(file, None) or part.source.open()
        reader.raw.stop = self._stop
        try:
            if format in BINARY:
                batches = open_batches(
                    reader, part.source, format, offset or 0, (part.begin, part.end), self._stop, options.batch_room
                )
                return ColumnPieces(file, reader, batches, offset or 0, options)
            size, longest = options.block_size(format), options.longest_line(format)
            if format in _DELIMITERS:
                header = _header(reader, size, longest)
                parse = (
                    self._delimited(reader, header) if header else TextLines(options)
                )  # which then has nothing to do
                self.line = 0 if part.begin else header.count(b"\n")
                if part.begin or part.end is not None:  # a piece of a file whose rows are lines
                    start = row_start(reader.raw.fd, part.begin, part.source.size or 0) if offset is None else offset
                    start = max(start, len(header))
                    return self._random_blocks(file, reader, start, parse, offset, before)
                start = max(offset or 0, len(header))
                passed = self._skip(reader, part.source, start, before, quoted=True)
                return SequentialBlocks(file, reader, passed, QuotedLines(), size, longest, parse)
            assert self._parse is not None
            if part.source.regular and part.source.size and reader.compression is None:
                start = row_start(reader.raw.fd, part.begin, part.source.size) if offset is None else offset
                return self._random_blocks(file, reader, start, self._parse, offset, before)
            passed = self._skip(reader, part.source, offset or 0, before)
            return SequentialBlocks(file, reader, passed, Lines(), size, longest, self._parse)
        except BaseException:
            reader.close()
            raise

    def _random_blocks(
        self, file: int, reader: Reader, start: int, parse: Parse, offset: int | None, before: int | None
    ) -> RandomBlocks:
        size, longest = self._options.block_size(self._format), self._options.longest_line(self._format)
        blocks = RandomBlocks(file, reader, start, self._parts[file].end, size, longest, parse)
        if offset:
            refuse_other_text(reader.name, text_before(reader.raw.fd, offset), blocks.length == offset, before)
        return blocks

    def _skip(self, reader: Reader, source: Source, n: int, before: int | None, *, quoted: bool = False) -> Passed:
        """Leave out what was read before, and see that it is what it was and ends where a row ends."""
        passed = Passed(whole=not source.regular, quoted=quoted)
        reader.skip(n, self._stop, passed.take)
        if n:
            refuse_other_text(reader.name, passed, not reader.peek(1), before)
        return passed

    def _delimited(self, reader: Reader, header: bytes) -> Parse:
        try:
            return DelimitedRows(self._options, _DELIMITERS[self._format], header)
        except Wrong as wrong:
            column = None if wrong.column is None else wrong.column + 3 * header.startswith(b"\xef\xbb\xbf")
            raise DataError(reader.name, wrong.reason, 1, column) from None

    def close(self) -> None:
        if self._tasks is not None:
            self._tasks.close()
        for reader in self._opened.values():
            reader.close()


def _parser(format: str, options: Options) -> Parse | None:
    """The parser of blocks, for the formats for which it does not depend on the file."""
    if format in NATIVE:
        return NativeParser(format, options)
    if format == "jsonl":
        return JsonLines(options)
    return TextLines(options) if format == "text" else None


def _header(reader: Reader, size: int, longest: int) -> bytes:
    """The first row of the content."""
    while True:
        head = bytearray(reader.peek(size))
        end = QuotedLines().first(head, 0, len(head))
        if end:
            return bytes(head[:end])
        if len(head) < size:
            reader.check()
            return bytes(head)
        if size >= longest:
            raise DataError(reader.name, f"the header is longer than {longest} bytes", 1)
        size = min(2 * size, longest)


class Reading:
    """Goes over a stream once: an iterator over its chunks."""

    def __init__(self, parts: list[Part], format: str, options: Options, position: Position) -> None:
        if position.file > len(parts):
            raise ValueError(f"The position is in file number {position.file}, and there are {len(parts)} files.")
        self._parts, self._format, self._options = parts, format, options
        self._position = position
        self._line_bases: dict[int, int] = {}
        self.faults = Faults(count=position.faults)
        self.memory = MemoryLimit(options.memory)
        self.consumed = (position.file, 0)  # file, and how many of its bytes on the disk

    def chunks(self) -> Generator[Chunk, None, None]:
        options = self._options
        stop = Stop()
        try:
            tasks = FileTasks(self._parts, self._format, options, self._position, stop)
        except BaseException:
            stop.close()
            raise
        threads = options.n_threads(self._format)
        weight = 8 * PIECE if self._format in BINARY else options.block_size(self._format)
        ahead = max(threads + 2, _AHEAD if self._format in NATIVE else 0)
        pipeline = Pipeline(tasks, stop, threads, limit=ahead * weight)
        at = self._position
        try:
            for task, chunk in pipeline:
                facts = chunk.block
                if task.line is not None:
                    at = replace(at, file=task.file, line=task.line)
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
                )
                self.consumed = (task.file, task.consumed)
                self._check_share(at, finished=False)
                if len(chunk):
                    self.memory.foresee(chunk)
                    yield replace(chunk, end=at, block=BlockFacts())
                self.memory.check()
                if facts.rows_end is not None:
                    raise self._fault(task, before.line, facts.faults[0])
                del task, chunk
        except AtThisLine as wrong:
            line = at.line if tasks.line is None else tasks.line
            raise self._error(tasks.file, wrong.reason, line + 1, None) from None
        finally:
            pipeline.close()
        self.consumed = (len(self._parts), 0)
        self._check_share(at, finished=True)

    def _account(self, at: Position, task: Task, facts: BlockFacts) -> None:
        """Note the faults of a piece."""
        for fault in facts.faults[: KEPT - len(self.faults.first)]:
            self.faults.first.append(self._fault(task, at.line, fault))
        self.faults.count += facts.n_faults

    def _fault(self, task: Task, lines_before: int, fault: Fault) -> DataError:
        if self._format in BINARY:
            path = self._parts[task.file].source.path
            return DataError(path, f"row {task.start + fault.line}: {fault.reason}")
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


def _lines_before(part: Part) -> int:
    """How many lines of the file come before the part's rows."""
    reader = part.source.open()
    try:
        return count_lines(reader.raw.fd, row_start(reader.raw.fd, part.begin, part.source.size or 0))
    finally:
        reader.close()

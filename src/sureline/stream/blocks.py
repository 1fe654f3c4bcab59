"""Text cut into blocks at the ends of rows.

A block begins where a row begins, at o, and is cut after the last row that ends within [o, o + size); if none does,
after the row that begins at o, which may be as long as `max_line`. So where a block ends depends on where it begins
and on the content, and on nothing else: reading that goes on from any block's end gives the same blocks.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from copy import copy
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .chunk import Chunk
from .errors import DataError
from .passed import Passed, text_before
from .pipeline import Room, Task
from .source import RawFile, Reader

Parse = Callable[[Any, int], Chunk]  # of a block, and where it begins in its file

_TAIL = 1 << 14
_LOOK_UP = 0.05  # seconds between two looks at whether the block is to be cut
_PATIENCE = 0.005  # seconds between two looks at whether rows that have come are wanted


class AtThisLine(Exception):
    """Something is wrong with the line that comes next."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RowEnds(Protocol):
    """Ends of rows in a buffer: after the last one in [0, n) and after the first one in [begin, n), or 0."""

    def last(self, buffer: bytearray, n: int) -> int: ...

    def first(self, buffer: bytearray, begin: int, n: int) -> int: ...


class Lines:
    """A row ends at a newline."""

    def last(self, buffer: bytearray, n: int) -> int:
        return buffer.rfind(b"\n", 0, n) + 1

    def first(self, buffer: bytearray, begin: int, n: int) -> int:
        return buffer.find(b"\n", begin, n) + 1


class QuotedLines:
    """A row ends at a newline with an even number of quotes before it. The buffer begins with a row.

    Without a quote, it ends at a newline.
    """

    def __init__(self, quote: str = '"') -> None:
        self._quote = quote.encode()

    def last(self, buffer: bytearray, n: int) -> int:
        if not self._quote or buffer.find(self._quote, 0, n) < 0:
            return buffer.rfind(b"\n", 0, n) + 1
        ends = quoted_row_ends(buffer, 0, n, quote=self._quote)
        return int(ends[-1]) if len(ends) else 0

    def first(self, buffer: bytearray, begin: int, n: int) -> int:
        if not self._quote:
            return buffer.find(b"\n", begin, n) + 1
        odd = buffer.count(self._quote, 0, begin) % 2
        ends = quoted_row_ends(buffer, begin, n, odd=odd, quote=self._quote)
        return int(ends[0]) if len(ends) else 0


def quoted_row_ends(buffer: Any, begin: int, n: int, odd: int = 0, quote: bytes = b'"') -> npt.NDArray[np.int64]:
    """Positions after newlines in [begin, n) with an even number of quotes before; `odd` counts those before begin."""
    text = np.frombuffer(buffer, np.uint8, n - begin, begin)
    newlines, quotes = np.flatnonzero(text == ord("\n")), np.flatnonzero(text == ord(quote))
    before = np.searchsorted(quotes, newlines) + odd
    return np.asarray(newlines[before % 2 == 0] + (begin + 1), np.int64)


def too_long(max_line: int) -> AtThisLine:
    return AtThisLine(f"the line is longer than {max_line} bytes, the most that max_line allows")


class SequentialBlocks:
    """The blocks of content that is read sequentially.

    With `rows_at_once` a block is cut as soon as a reader waits and no more text has come: a block then has the text
    that came while earlier rows were processed. With `watched` another thread can look at a block while it is read.
    """

    def __init__(
        self,
        file: int,
        reader: Reader,
        passed: Passed,
        ends: RowEnds,
        size: int,
        max_line: int,
        parse: Parse,
        *,
        rows_at_once: bool = False,
        watched: bool = False,
    ) -> None:
        self._file, self._reader, self._ends, self._passed = file, reader, ends, passed
        self._size, self._max_line, self.parse = size, max_line, parse
        self._rows_at_once, self._watched = rows_at_once, watched
        self._cut_now = False
        self._carry = b""  # text read, but not yet in a block; at most one block
        self._come: tuple[bytearray, int] | None = None  # the current block and its length, for other threads

    def next(self, room: Room) -> Task | None:
        buffer = room.make(self._size)
        n = len(self._carry)
        buffer[:n] = self._carry
        n, ended = self._fill(room, buffer, n, self._size)
        cut = n if ended and not self._ends_within_a_line else self._ends.last(buffer, n)
        while not cut:
            if ended:
                self._reader.check()
                return None
            if n >= self._max_line:
                raise too_long(self._max_line)
            wanted = min(n + self._size, self._max_line)
            buffer, begin = room.make(wanted, keep=n), n
            n, ended = self._fill(room, buffer, n, wanted)
            cut = self._ends.first(buffer, begin, n)
            if not cut and ended and not self._ends_within_a_line:
                cut = n
        self._come = None
        self._carry = bytes(memoryview(buffer)[cut:n])
        before = copy(self._passed)
        with memoryview(buffer) as view:
            self._passed.take(view[:cut])
        start, checksum, parse = before.length, self._passed.checksum, self.parse

        def run() -> Chunk:
            with memoryview(buffer) as view:
                chunk = parse(view[:cut], start)
                rows_end = chunk.block.rows_end
                return chunk.ending_after(checksum if rows_end is None else before.after(view[:rows_end]))

        passage = self._reader.raw.passage(start + cut)
        return Task(self._file, start, start + cut, self._reader.raw.consumed, cut, run, passage=passage)

    @property
    def _ends_within_a_line(self) -> bool:
        return self._reader.failed or self._reader.cut_short

    def _fill(self, room: Room, buffer: bytearray, n: int, end: int) -> tuple[int, bool]:
        """Read on from byte n of the buffer, up to `end`; returns the new n, and whether the content has ended.

        It comes to less where the content ends, or where a block is cut before it is full.
        """
        with memoryview(buffer) as view:
            while n < end:
                self._come = buffer, n
                if self._rows_at_once and not self._reader.ready() and self._ends.last(buffer, n):
                    if room.wanted():
                        return n, False
                    self._reader.ready(_PATIENCE)
                    continue
                if self._watched and not self._reader.ready(_LOOK_UP):
                    if self._cut_now and self._ends.last(buffer, n):
                        return n, False
                    continue
                got = self._reader.some(view[n:end])
                if got == 0:
                    return n, True
                n += got or 0
        return n, False

    def cut_now(self) -> None:
        """End the current block after the rows that have come."""
        self._cut_now = True

    def come_so_far(self) -> tuple[bytes, int] | None:
        """The complete rows so far of the current block, and their position; None if there are none.

        Called by other threads; the block may have been cut meanwhile.
        """
        start, come = self._passed.length, self._come
        if come is None or self._passed.by_messages:
            return None
        buffer, n = come
        cut = self._ends.last(buffer, n)
        return (bytes(memoryview(buffer)[:cut]), start) if cut else None

    def close(self) -> None:
        self._reader.close()


class RandomBlocks:
    """The blocks of an uncompressed regular file, or of the rows that begin in a range of its bytes.

    The turn only looks for the end of a block; each worker reads his own.
    """

    def __init__(
        self, file: int, reader: Reader, start: int, end: int | None, size: int, max_line: int, parse: Parse
    ) -> None:
        self._file, self._reader, self._raw, self._at = file, reader, reader.raw, start
        self._fd = reader.raw.fd  # -1 for remote files
        self._size, self._max_line, self._parse = size, max_line, parse
        self._from_file: Callable[[int, int, int, bool], Chunk | None] | None = getattr(parse, "from_file", None)
        if self._fd < 0:
            self._from_file = None
        length = self._raw.length
        if start > length:
            raise DataError(reader.name, f"there are only {length} bytes, and reading was to go on after {start}")
        self.length = length
        self._end = length if end is None else row_start(self._raw, end, length)
        self._waits = not hasattr(os, "RWF_NOWAIT")  # whether the disk had to be waited for
        self._announced = start
        self._users = 1  # users of the open file: the cutting thread, and workers that still have to read
        self._lock = threading.Lock()

    def next(self, room: Room) -> Task | None:
        start = self._at
        if start >= self._end:
            return None
        end = self._end if start + self._size > self._end else self._last_end(start, start + self._size)
        self._at = end
        if self._waits:
            self._announce(end + 4 * self._size)
        with self._lock:
            self._users += 1

        def run() -> Chunk:
            try:
                chunk = self._parsed(room, start, end)
                rows_end = chunk.block.rows_end
                return chunk.ending_after(
                    text_before(self._raw, end if rows_end is None else start + rows_end).checksum
                )
            finally:
                self.close()

        return Task(self._file, start, end, end, end - start, run)

    def _parsed(self, room: Room, start: int, end: int) -> Chunk:
        straight = self._from_file(self._fd, start, end, self._waits) if self._from_file else None
        if straight is not None:
            return straight
        buffer = room.make(max(end - start, self._size))
        with memoryview(buffer) as view:
            self._fetch(view[: end - start], start)
            return self._parse(view[: end - start], start)

    def _announce(self, end: int) -> None:
        """Announce reads to the system, since workers do not read in order; does nothing for cached bytes."""
        if self._fd >= 0 and hasattr(os, "posix_fadvise") and self._announced < min(end, self._end):
            os.posix_fadvise(self._fd, self._announced, end - self._announced, os.POSIX_FADV_WILLNEED)
            self._announced = end

    def _fetch(self, view: memoryview, at: int) -> None:
        n = 0 if self._waits or self._fd < 0 else self._fetch_at_once(view, at)
        while n < len(view):
            got = self._raw.preadinto(view[n:], at + n)
            if not got:
                raise DataError(self._reader.name, "the file became shorter while it was read")
            n += got

    def _fetch_at_once(self, view: memoryview, at: int) -> int:
        """Read bytes that the system has cached; returns their number. If some are missing, announces later blocks."""
        try:
            n = os.preadv(self._fd, [view], at, os.RWF_NOWAIT)
        except OSError:  # nothing of it, or this file system cannot tell
            n = 0
        if n < len(view):
            self._announced, self._waits = max(self._announced, at), True
        return n

    def _last_end(self, start: int, stop: int) -> int:
        """The position after the last newline in [start, stop), otherwise after the next one."""
        tail, end = _TAIL, stop
        while end > start:
            begin = max(start, end - tail)
            found = self._raw.pread(end - begin, begin).rfind(b"\n")
            if found >= 0:
                return begin + found + 1
            end, tail = begin, 4 * tail
        line_end = next_line(self._raw, stop, min(self._end, start + self._max_line))
        if line_end is not None:
            return line_end
        if self._end < start + self._max_line:
            return self._end
        raise too_long(self._max_line)

    def close(self) -> None:
        """The last user closes the file."""
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._reader.close()


def next_line(raw: RawFile, begin: int, end: int) -> int | None:
    """After the first newline in [begin, end)."""
    while begin < end:
        piece = raw.pread(min(1 << 18, end - begin), begin)
        if not piece:
            return None
        found = piece.find(b"\n")
        if found >= 0:
            return begin + found + 1
        begin += len(piece)
    return None


def row_start(raw: RawFile, at: int, length: int) -> int:
    """The offset of the first row that begins at byte `at` or later."""
    if at <= 0:
        return 0
    found = next_line(raw, at - 1, length)
    return length if found is None else found


def count_lines(raw: RawFile, end: int) -> int:
    """Number of lines that end before byte `end`."""
    lines = at = 0
    while at < end:
        piece = raw.pread(min(1 << 20, end - at), at)
        if not piece:
            break
        lines += piece.count(b"\n")
        at += len(piece)
    return lines

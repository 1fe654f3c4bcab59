"""A Kafka topic as text: a line for each message, in an order that only the messages decide."""

from __future__ import annotations

import errno
import heapq
import time
import zlib
from collections import deque
from collections.abc import Sequence
from typing import Any

from .errors import DataError
from .kafka import Client
from .position import Places
from .source import RawFile, Reader, Source, Stopped

_LINES = 1 << 18  # bytes of lines that are put together at a time
_WAIT = 0.05  # seconds
_PATIENCE = 30.0  # seconds without an answer of the brokers
_AHEAD = 1 << 24  # bytes of a partition that are held while another one is slow

_Line = tuple[int, int, int, int]  # byte after it, partition, offset, checksum of the message


class Passage:
    """The messages of a block: the position of each, and where reading continues after it."""

    def __init__(self, name: str, before: Places, lines: Sequence[_Line]) -> None:
        self._name, self._before, self._lines = name, before, lines

    def places_at(self, byte: int) -> Places:
        """The places where reading continues after the messages that end by this byte."""
        places = list(self._before)
        for end, partition, offset, checksum in self._lines:
            if end > byte:
                break
            places[partition] = (offset + 1, checksum)
        return tuple(places)

    def error(self, line: int, reason: str) -> DataError:
        """The error of a message, the lines of the block counted from 1."""
        _, partition, offset, _ = self._lines[min(line, len(self._lines)) - 1]
        return DataError(self._name, f"partition {partition}, offset {offset}: {reason}")


class RawTopic(RawFile):
    """The lines of a topic from some places on.

    The next message is that with the smallest timestamp among the next ones of all partitions; ties go to the first
    partition. A followed partition that is empty for now is not waited for.
    """

    def __init__(self, name: str, extent: list[list[int]], follow: bool, places: Places | None, byte: int) -> None:
        super().__init__(name, fd=-1, regular=False)
        self._extent, self._follow = extent, follow
        self._at = byte if places is not None else 0
        self.resumed = places is not None
        start = places or tuple((begin, -1) for begin, _ in extent)
        if len(start) != len(extent):
            raise DataError(name, f"it has {len(extent)} partitions, and reading was to go on in {len(start)}")
        self._before: Places = start
        # The last message that was read of a partition comes once more, to be compared.
        self._next = [offset - (checksum >= 0) for offset, checksum in start]
        self._client: Client | None = None
        self._held: list[deque[Any]] = [deque() for _ in extent]
        self._bytes = [0] * len(extent)
        self._paused: set[int] = set()
        self._ended = [not follow and self._next[k] >= end for k, (_, end) in enumerate(extent)]
        # Timestamp and partition of the next message of each nonempty partition.
        self._heads: list[tuple[int, int]] = []
        # Partitions without a held message that may have more.
        self._awaited = {k for k, ended in enumerate(self._ended) if not ended}
        self._lines: deque[_Line] = deque()  # that are in no block yet
        self._text = b""
        self._heard = time.monotonic()

    def ready(self, seconds: float = 0.0) -> bool:
        return bool(self._pushed or self._text) or self._fill(seconds) or self._over

    @property
    def _over(self) -> bool:
        return not self._follow and all(self._ended) and not any(self._held)

    def _fetch(self, n: int) -> bytes:
        while not self._text and not self._over:
            self._fill(_WAIT)
        data, self._text = self._text[:n], self._text[n:]
        return data

    def _fill(self, seconds: float) -> bool:
        """Join available messages to lines. False if there are none."""
        lines: list[bytes] = []
        size = 0
        until = time.monotonic() + seconds
        if self.stop is not None and self.stop.is_set:
            raise Stopped
        while size < _LINES:
            message = self._message()
            if message is not None:
                lines.append(self._line(message))
                size += len(lines[-1])
            elif lines or self._over or not self._take(max(until - time.monotonic(), 0.0)):
                break
        self._text += b"".join(lines)
        return bool(lines)

    def _message(self) -> Any:
        """The next message; None if it is not known yet."""
        if not self._heads or self._awaited:
            return None
        _, k = self._heads[0]
        message = self._held[k].popleft()
        self._bytes[k] -= len(message.value())
        if self._held[k]:
            heapq.heapreplace(self._heads, (self._held[k][0].timestamp()[1], k))
        else:
            heapq.heappop(self._heads)
            if not self._ended[k]:
                self._awaited.add(k)
            if k in self._paused:
                self._paused.remove(k)
                self._started().resume(k)
        return message

    def _take(self, seconds: float) -> bool:
        """Take available messages, after a wait if needed. False if there are none."""
        client = self._started()
        found = client.messages(seconds)
        now = time.monotonic()
        if found or self._follow or client.trouble is None:
            self._heard = now
        elif now - self._heard > _PATIENCE:
            raise OSError(errno.EIO, f"The brokers do not answer any more ({client.trouble})", self.name)
        for message in found:
            k = message.partition()
            if client.at_end(message):
                self._end(k)
            elif message.offset() >= self._next[k]:
                self._hold(k, message)
        for k, size in enumerate(self._bytes):
            if size > _AHEAD and k not in self._paused:
                self._paused.add(k)
                client.pause(k)
        return bool(found)

    def _hold(self, k: int, message: Any) -> None:
        """Keep a message until its turn. Messages without a value (deletions) are not rows."""
        offset, (begin, checksum) = message.offset(), self._before[k]
        self._next[k] = offset + 1
        if not self._follow and offset + 1 >= self._extent[k][1]:
            self._end(k)
            if offset >= self._extent[k][1]:
                return
        elif self._ended[k]:
            self._ended[k] = False
            if not self._held[k]:
                self._awaited.add(k)
        if checksum >= 0 and offset < begin:
            if offset == begin - 1 and zlib.crc32(message.value() or b"") != checksum:
                raise DataError(
                    self.name,
                    f"partition {k}, offset {offset}: the message is not the one that was read before reading stopped",
                )
        elif message.value():
            if not self._held[k]:
                heapq.heappush(self._heads, (message.timestamp()[1], k))
            self._held[k].append(message)
            self._awaited.discard(k)
            self._bytes[k] += len(message.value())

    def _end(self, k: int) -> None:
        """Note that a partition is at its end, or empty for now."""
        self._ended[k] = True
        self._awaited.discard(k)

    def _line(self, message: Any) -> bytes:
        value: bytes = message.value()
        line = value.removesuffix(b"\n")
        if b"\n" in line:
            if not line.lstrip().startswith(b"{"):
                place = f"partition {message.partition()}, offset {message.offset()}"
                raise DataError(self.name, f"{place}: the message has a line break inside, and a message is one row")
            line = line.replace(b"\n", b" ")  # between the parts of a JSON object
        self._at += len(line) + 1
        self._lines.append((self._at, message.partition(), message.offset(), zlib.crc32(value)))
        return line + b"\n"

    def passage(self, end: int) -> Passage:
        """The messages up to a byte; called once per block."""
        lines = []
        while self._lines and self._lines[0][0] <= end:
            lines.append(self._lines.popleft())
        passage = Passage(self.name, self._before, lines)
        self._before = passage.places_at(end)
        return passage

    def _started(self) -> Client:
        if self._client is None:
            self._client = Client(self.name)
            self._client.begin(self._next)
        return self._client

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None


class TopicSource(Source):
    """A topic: its messages when the stream is made, and with `follow` later ones."""

    extent: list[list[int]]

    def __init__(self, path: str, *, follow: bool = False) -> None:
        self.path, self.status, self.size = path, None, None
        self.regular, self.grows = not follow, follow
        self._once: Reader | None = None
        self._used = False
        client = Client(path)
        try:
            self.extent = client.extent()
        finally:
            client.close()

    def go_on_with(self, extent: list[list[int]]) -> str | None:
        """Read the extent of an earlier reading. Returns the objection in words; None if there is none."""
        if len(extent) > len(self.extent) or (self.grows and len(extent) < len(self.extent)):
            return f"it has {len(self.extent)} partitions, and had {len(extent)}"
        if any(now < then for (_, now), (_, then) in zip(self.extent, extent, strict=False)):
            return "it has fewer messages than then: it was made anew"
        self.extent = extent
        return None

    def open_once(self) -> Reader:
        return self.open_at(None, 0)

    def open(self) -> Reader:
        return self.open_at(None, 0) if self.regular else super().open()

    def open_at(self, places: Places | None, byte: int) -> Reader:
        """The content from these places on, which is at that byte of the stream."""
        reader = Reader(RawTopic(self.path, self.extent, self.grows, places, byte))
        if reader.compression is not None:
            reader.close()
            raise DataError(self.path, "the messages are compressed by whoever sends them; only text is read")
        return reader

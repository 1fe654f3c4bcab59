"""Reads Arrow's IPC messages into our own memory, after a check of their size.

Files are not mapped: truncating or overwriting a file during the read must not kill the process.
"""

from __future__ import annotations

import os
import struct
from typing import Protocol

from ..source import RawFile, Reader

_RECORD_BATCH, _DICTIONARY_BATCH = 3, 2
_CONTINUATION = b"\xff\xff\xff\xff"


class TooLarge(ValueError):
    """Raised for a batch that exceeds the memory."""


class Content(Protocol):
    """The bytes of an IPC file or stream."""

    def read(self, n: int) -> bytes: ...


class FileContent:
    """A regular or remote file with pyarrow's file interface. Without `room` reads of any length are allowed."""

    closed = False

    def __init__(self, raw: RawFile, room: int | None = None) -> None:
        self._raw, self._at = raw, 0
        self._messages = None if room is None else Messages(room)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._raw.length}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, n: int = -1) -> bytes:
        left = max(0, self._raw.length - self._at)
        n = left if n < 0 else min(n, left)
        if self._messages is not None:
            self._messages.refuse_large(n)
        data = self._raw.pread(n, self._at)
        while len(data) < n and (more := self._raw.pread(n - len(data), self._at + len(data))):
            data += more
        self._at += len(data)
        if self._messages is not None:
            self._messages.look(data)
        return data

    def close(self) -> None:
        self.closed = True


class StreamContent:
    """The content of a reader, from its beginning to its end."""

    closed = False

    def __init__(self, reader: Reader, room: int) -> None:
        self._reader, self._at = reader, 0
        self._messages = Messages(room)

    def read(self, n: int) -> bytes:
        self._messages.refuse_large(n)
        pieces = []
        while n > 0:  # not all at once: a damaged length may be any number
            piece = bytearray(min(n, 1 << 24))
            got = self._reader.readinto(memoryview(piece))
            pieces.append(bytes(memoryview(piece)[:got]))
            n -= got
            if not got:
                break
        data = b"".join(pieces)
        self._at += len(data)
        self._messages.look(data)
        return data

    def tell(self) -> int:
        return self._at

    def close(self) -> None:
        self.closed = True


class Messages:
    """Inspects pyarrow's reads, and refuses a batch that would unpack to more than there is room for.

    pyarrow reads the length of a message, its metadata and its body, one by one, or two or all of them at once.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._expected = 0  # bytes of metadata that come next
        self._metadata = b""

    def refuse_large(self, n: int) -> None:
        if n > self._room:
            raise TooLarge(
                f"a batch has {n:,} bytes, more than the {self._room:,} that memory (--memory) leaves for it; write "
                "the file in smaller batches"
            )

    def look(self, data: bytes) -> None:
        metadata, self._metadata = self._metadata, b""
        expected, self._expected = self._expected, 0
        if expected and len(data) == expected:
            self._metadata = data
        elif data[:4] == _CONTINUATION and len(data) in (4, 8):
            self._expected = int.from_bytes(data[4:8], "little")
        elif data[:4] == _CONTINUATION:
            end = 8 + int.from_bytes(data[4:8], "little")
            self._metadata = data[8:end]
            if end < len(data):  # with the body
                self.refuse_large(unpacked_size(self._metadata, memoryview(data)[end:]))
                self._metadata = b""
        elif len(data) == 4:  # the length after a continuation mark, or the length in an old stream without marks
            self._expected = int.from_bytes(data, "little")
        elif metadata:
            self.refuse_large(unpacked_size(metadata, data))


def unpacked_size(metadata: bytes, body: bytes | memoryview) -> int:
    """The unpacked size of a batch's compressed buffers, by their own account; 0 without compression.

    The metadata are a table of flatbuffers: Message { version, header type, header, ... }, whose header is RecordBatch
    { length, nodes, buffers, compression } or DictionaryBatch { id, data, ... }.
    """
    try:
        message = _Table(metadata, struct.unpack_from("<I", metadata)[0])
        kind = message.number(1, "<B")
        header = message.table(2)
        if kind == _DICTIONARY_BATCH and header is not None:
            header = header.table(1)
        if kind not in (_RECORD_BATCH, _DICTIONARY_BATCH) or header is None or header.field(3) is None:
            return 0
        total = 0
        for offset, length in header.pairs(2):
            if length >= 8 and 0 <= offset <= len(body) - 8:
                total += max(0, struct.unpack_from("<q", body, offset)[0])
        return total
    except (struct.error, IndexError):  # damaged: pyarrow says how
        return 0


class _Table:
    """A table of flatbuffers: its fields by number."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at
        self._fields = at - struct.unpack_from("<i", data, at)[0]
        if self._fields < 0:
            raise IndexError
        self._size = struct.unpack_from("<H", data, self._fields)[0]

    def field(self, number: int) -> int | None:
        """The position of a field; None if it is absent."""
        place = 4 + 2 * number
        if place + 2 > self._size:
            return None
        offset = struct.unpack_from("<H", self._data, self._fields + place)[0]
        return self._at + offset if offset else None

    def number(self, number: int, kind: str) -> int:
        at = self.field(number)
        return 0 if at is None else int(struct.unpack_from(kind, self._data, at)[0])

    def _pointed(self, number: int) -> int | None:
        at = self.field(number)
        return None if at is None else at + int(struct.unpack_from("<I", self._data, at)[0])

    def table(self, number: int) -> _Table | None:
        at = self._pointed(number)
        return None if at is None else _Table(self._data, at)

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """A vector of pairs of 64-bit numbers."""
        at = self._pointed(number)
        if at is None:
            return []
        n = struct.unpack_from("<I", self._data, at)[0]
        if at + 4 + 16 * n > len(self._data):
            raise IndexError
        return list(struct.iter_unpack("<qq", self._data[at + 4 : at + 4 + 16 * n]))

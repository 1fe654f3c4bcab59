"""Remote files, read in ranges, a few pieces ahead of the readers."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import urls
from .kafka import is_topic
from .source import RawFile, Reader, Source, Stamp
from .topic import TopicSource
from .urls import is_url

_HEAD = 1 << 16  # bytes for recognising the format
_PIECE = 4 << 20
_KEPT = 8  # pieces


def source_at(path: str) -> Source:
    """The file at a path or URL, or the topic."""
    if is_topic(path):
        return TopicSource(path)
    return RemoteSource(path) if is_url(path) else Source(path)


@dataclass
class _Piece:
    """A range of bytes, fetched once by the first thread that needs it."""

    data: bytes | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)


class RawRemote(RawFile):
    """The bytes of a remote file. Threads may read ranges at the same time."""

    def __init__(self, name: str, length: int) -> None:
        super().__init__(name, fd=-1, regular=True)
        self._length, self._at = length, 0
        self._pieces: OrderedDict[int, _Piece] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def length(self) -> int:
        return self._length

    @property
    def stamp(self) -> Stamp:
        return urls.facts(self.name)[:3]

    def pread(self, n: int, at: int) -> bytes:
        end = min(at + n, self._length)
        if at >= end:
            return b""
        if end <= _HEAD:
            return self._piece(-1)[at:end]
        if end - at >= _PIECE:
            return self._fetched(at, end)
        first, last = at // _PIECE, (end - 1) // _PIECE
        parts = [self._piece(k)[max(at - k * _PIECE, 0) : end - k * _PIECE] for k in range(first, last + 1)]
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def preadinto(self, view: memoryview, at: int) -> int:
        data = self.pread(len(view), at)
        view[: len(data)] = data
        return len(data)

    def _fetch(self, n: int) -> bytes:
        data = self.pread(n, self._at)
        self._at += len(data)
        return data

    def _piece(self, number: int) -> bytes:
        """A piece of the file by number; -1 is its head."""
        with self._lock:
            piece = self._pieces.setdefault(number, _Piece())
            self._pieces.move_to_end(number)
            while len(self._pieces) > _KEPT:
                self._pieces.popitem(last=False)
        with piece.lock:
            if piece.data is None:
                begin, size = (0, _HEAD) if number < 0 else (number * _PIECE, _PIECE)
                piece.data = self._fetched(begin, min(begin + size, self._length))
            return piece.data

    def _fetched(self, begin: int, end: int) -> bytes:
        return urls.fetched(self.name, begin, end, self._pause)

    def _pause(self, seconds: float) -> None:
        if self.stop is None:
            time.sleep(seconds)
        else:
            self.stop.wait_for(None, seconds)

    def close(self) -> None:
        with self._lock:
            self._pieces.clear()


class RemoteSource(Source):
    """A file at a URL. It can be read any number of times, and in ranges."""

    def __init__(self, path: str) -> None:
        self.path, self.status, self.regular = path, None, True
        self.size: int
        self.size, self._changed, self._identity, self.fingerprint = urls.facts(path)

    @property
    def stamp(self) -> Stamp:
        return self.size, self._changed, self._identity

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    def open(self) -> Reader:
        return Reader(RawRemote(self.path, self.size))

    def silent(self, seconds: float) -> bool:
        return False

    def peek(self, n: int, enough: Callable[[bytes], object]) -> bytes:
        reader = self.open()
        try:
            return reader.peek(n)
        finally:
            reader.close()

"""A file that grows, read without an end: on its end more is waited for, and on rotation the new file is read."""

from __future__ import annotations

import os
import stat
import time

from .errors import DataError
from .source import RawFile, Reader, Source, naming

_LOOK_AGAIN = 0.03  # seconds


class RawFollowed(RawFile):
    """The bytes of a file, and of files that later take its name.

    When the old file is renamed, another takes its name. A file that is overwritten becomes shorter than the part
    already read. In both cases an unfinished line counts as a line, and the new file begins with its first row; a
    repeated header is left out.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, fd=-1, regular=False)
        self._at = 0  # in the open file
        self._last = b"\n"
        self._to_skip: bytes | None = None  # the rest of the header that comes again
        self.ended = False

    def ready(self, seconds: float = 0.0) -> bool:
        until = time.monotonic() + seconds
        while not (self._pushed or self.ended or self._has_more() or self._has_moved()):
            left = until - time.monotonic()
            if left <= 0:
                return False
            self._pause(min(left, _LOOK_AGAIN))
        return True

    def _fetch(self, n: int) -> bytes:
        while not self.ended:
            moved = self._has_moved()  # looked at before reading, so that nothing of the old file is lost
            with naming(self.name):
                piece = os.read(self.fd, n) if self.fd >= 0 else b""
            if piece:
                self._at += len(piece)
                piece = self._without_header(piece)
                if piece:
                    self._last = piece[-1:]
                    return piece
            elif moved:
                if self._last != b"\n":  # the line will not be completed
                    self._last = b"\n"
                    return b"\n"
                self._open_again()
            else:
                self._pause(_LOOK_AGAIN)
        self.cut_short = True
        return b""

    def _pause(self, seconds: float) -> None:
        if self.stop is None:
            time.sleep(seconds)
        else:
            self.stop.wait_for(None, seconds)

    def _has_more(self) -> bool:
        return self.fd >= 0 and os.fstat(self.fd).st_size > self._at

    def _has_moved(self) -> bool:
        """True if the name belongs to another file now, or to one shorter than the part already read."""
        try:
            there = os.stat(self.name)
        except FileNotFoundError:  # between the two
            return False
        return self.fd < 0 or there.st_size < self._at or not os.path.samestat(there, os.fstat(self.fd))

    def _open_again(self) -> None:
        first = self.fd < 0
        with naming(self.name):
            fd = os.open(self.name, os.O_RDONLY | os.O_CLOEXEC)
        self.close()
        self.fd, self._at = fd, 0
        self._to_skip = None if first else self.header

    def _without_header(self, piece: bytes) -> bytes:
        """The piece without a repeated header."""
        if not self._to_skip:
            return piece
        n = min(len(piece), len(self._to_skip))
        if piece[:n] != self._to_skip[:n]:
            raise DataError(self.name, "a new file has taken its place, and its header is another one", 1)
        self._to_skip = self._to_skip[n:]
        return piece[n:]


class Followed(Source):
    """A followed file, which need not exist yet."""

    grows = True

    def __init__(self, path: str) -> None:
        while not os.path.exists(path):
            time.sleep(_LOOK_AGAIN)
        super().__init__(path)
        if self.status is not None and not stat.S_ISREG(self.status.st_mode):
            raise ValueError(f"Only a file can be followed, and {path} is none; a pipe is read to its end as it is.")
        self.regular, self.size = False, None
        self._raw = RawFollowed(path)

    def end(self) -> None:
        """Let it end after the last row that has come."""
        self._raw.ended = True

    def open_once(self) -> Reader:
        reader = Reader(self._raw)
        if reader.compression is not None:
            raise DataError(self.path, "it is compressed, and only text can be followed")
        return reader

"""Files, globs, pipes and standard input, as bytes."""

from __future__ import annotations

import contextlib
import glob
import os
import select
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from .decompress import compression_of, decoder
from .errors import DataError

STDIN = "-"
PATH = str | os.PathLike[str]


def expand(paths: PATH | Iterable[PATH]) -> list[str]:
    """The files that are meant, each glob's in sorted order. What exists under its name is no glob."""
    if not isinstance(paths, (str, bytes, os.PathLike, Iterable)):
        raise TypeError(f"What to read must be a path, or several in a list. Got {paths!r} instead.")
    given = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
    if not given:
        raise ValueError("There must be at least one file to read.")
    files: list[str] = []
    for each in given:
        path = os.fspath(each) if isinstance(each, (str, os.PathLike)) else None
        if not isinstance(path, str):
            raise TypeError(f"A path must be text or a pathlib.Path. Got {paths!r} instead.")
        if path == STDIN or not glob.has_magic(path) or os.path.lexists(path):
            files.append(path)
        else:
            found = sorted(name for name in glob.glob(path, recursive=True) if not os.path.isdir(name))
            if not found:
                raise FileNotFoundError(f"No file matches {path!r}.")
            files.extend(found)
    if files.count(STDIN) > 1:
        raise ValueError("Standard input can be read only once.")
    return files


class Stopped(Exception):
    """The reader has stopped: the rest is not needed."""


class Stop:
    """Tells those who wait for data that nobody wants them any more."""

    def __init__(self) -> None:
        self.is_set = False
        self._listen, self._wake = os.pipe()

    def set(self) -> None:
        if not self.is_set:
            self.is_set = True
            os.write(self._wake, b"!")

    def wait_for(self, fd: int) -> None:
        """Return when there is something to read, or raise."""
        waiting = select.poll()
        waiting.register(fd, select.POLLIN)
        waiting.register(self._listen, select.POLLIN)
        if any(ready == self._listen for ready, _ in waiting.poll()):
            raise Stopped

    def close(self) -> None:
        os.close(self._listen)
        os.close(self._wake)


@contextlib.contextmanager
def naming(path: str) -> Iterator[None]:
    """Errors of the system, with the file's name."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = path
        raise


class RawFile:
    """The bytes of an open file or pipe."""

    def __init__(self, name: str, fd: int, regular: bool, keep_open: bool = False) -> None:
        self.name, self.fd, self.regular = name, fd, regular
        self.stop: Stop | None = None
        self.consumed = 0
        self._pushed = b""
        self._keep_open = keep_open

    def _fetch(self, n: int) -> bytes:
        if not self.regular and self.stop is not None:
            self.stop.wait_for(self.fd)
        with naming(self.name):
            return os.read(self.fd, n)

    def push_back(self, data: bytes) -> None:
        self._pushed = data + self._pushed
        self.consumed -= len(data)

    def read(self, n: int) -> bytes:
        if self._pushed:
            data, self._pushed = self._pushed[:n], self._pushed[n:]
        else:
            data = self._fetch(n)
        self.consumed += len(data)
        return data

    def readinto(self, view: memoryview) -> int:
        if self.regular and not self._pushed:
            with naming(self.name):
                n = os.readv(self.fd, [view])
            self.consumed += n
            return n
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self._keep_open and self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


class RawObject(RawFile):
    """The bytes of an object that stands in for standard input."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        super().__init__(name, fd=-1, regular=False, keep_open=True)
        self._file = file

    def _fetch(self, n: int) -> bytes:
        return self._file.read(n)


class Reader:
    """The decompressed content of a file, from its beginning to its end."""

    def __init__(self, raw: RawFile) -> None:
        self.raw, self.name = raw, raw.name
        head = b""
        while len(head) < 16:  # a pipe may give less at a time
            piece = raw.read(16 - len(head))
            if not piece:
                break
            head += piece
        raw.push_back(head)
        self.compression = compression_of(head)
        self._decoder = decoder(self.compression, raw)
        self._pushed = b""

    @property
    def failed(self) -> bool:
        """True if the content ends because something is wrong with it."""
        return self._decoder.failure is not None

    def check(self) -> None:
        """Say what is wrong, if something is."""
        if self._decoder.failure is not None:
            raise DataError(self.name, self._decoder.failure)

    def readinto(self, view: memoryview) -> int:
        """Fill the view, unless the content ends or fails."""
        n = min(len(self._pushed), len(view))
        if n:
            view[:n] = self._pushed[:n]
            self._pushed = self._pushed[n:]
        return n + self._decoder.readinto(view[n:])

    def peek(self, n: int) -> bytes:
        """The next n bytes, or fewer where the content ends or fails."""
        if len(self._pushed) < n:
            room = bytearray(n - len(self._pushed))
            got = self._decoder.readinto(memoryview(room))
            self._pushed += bytes(room[:got])
        return self._pushed[:n]

    def skip(self, n: int, stop: Stop, look: Callable[[memoryview], object] | None = None) -> None:
        """Leave out n bytes; `look` is called with each piece of them."""
        room = memoryview(bytearray(min(n, 1 << 20)))
        left = n
        while left:
            if stop.is_set:
                raise Stopped
            got = self.readinto(room[: min(left, len(room))])
            if not got:
                self.check()
                raise DataError(
                    self.name, f"there are only {n - left} bytes of content, and reading was to go on after {n}"
                )
            if look is not None:
                look(room[:got])
            left -= got

    def close(self) -> None:
        self.raw.close()


class Source:
    """One file of a stream. What is no regular file (a pipe, standard input) can be read only once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.status = None if path == STDIN else os.stat(path)  # when the stream was made
        self.regular = self.status is not None and stat.S_ISREG(self.status.st_mode)
        if self.status is not None and stat.S_ISDIR(self.status.st_mode):
            raise IsADirectoryError(f"{path} is a folder; name the files in it, as in {path.rstrip('/')}/*.")
        self.size = self.status.st_size if self.status is not None and self.regular else None
        self._once: Reader | None = None
        self._used = False

    def __getstate__(self) -> dict[str, Any]:
        if not self.regular:
            raise TypeError(f"{self.path} can be read only once, and so only here.")
        return self.__dict__

    def open(self) -> Reader:
        """The content from its beginning."""
        if self.regular:
            return Reader(RawFile(self.path, os.open(self.path, os.O_RDONLY), regular=True))
        if self._used:
            what = "Standard input" if self.path == STDIN else self.path
            raise ValueError(f"{what} can be read only once.")
        self._used = True
        reader, self._once = self._once, None
        return reader or self._open_once()

    def _open_once(self) -> Reader:
        if self.path != STDIN:
            return Reader(RawFile(self.path, os.open(self.path, os.O_RDONLY), regular=False))
        if sys.stdin is None:
            raise ValueError("There is no standard input to read.")
        file: Any = getattr(sys.stdin, "buffer", sys.stdin)
        with contextlib.suppress(OSError, AttributeError, ValueError):
            fd = file.fileno()
            return Reader(RawFile(STDIN, fd, stat.S_ISREG(os.fstat(fd).st_mode), keep_open=True))
        return Reader(RawObject(STDIN, file))

    def peek(self, n: int) -> bytes:
        """The first n bytes of the content, for a look at what it is."""
        if self.regular:
            reader = self.open()
            try:
                return reader.peek(n)
            finally:
                reader.close()
        if self._once is None:
            self._once = self._open_once()
        return self._once.peek(n)


def ending_of(path: str) -> str:
    """The ending of a file's name, without that of a compression, in lower case and without the dot."""
    name = Path(path).name.lower()
    for suffix in (".gz", ".bz2", ".xz", ".lzma", ".zst", ".zstd"):
        name = name.removesuffix(suffix)
    return Path(name).suffix.removeprefix(".")

"""Files, globs, pipes and standard input, as bytes."""

from __future__ import annotations

import contextlib
import glob
import os
import select
import socket
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from . import urls
from .decompress import compression_of, decoder, may_be_compressed
from .errors import DataError
from .position import Places

STDIN = "-"
PATH = str | os.PathLike[str]
Stamp = tuple[int, int, int]  # size, time of the last change in nanoseconds, identity


def stamp_of(status: os.stat_result) -> Stamp:
    return status.st_size, status.st_mtime_ns, status.st_ino


def expand(paths: PATH | Iterable[PATH]) -> list[str]:
    """The files meant by paths and globs; each glob is sorted. A path that exists is no glob."""
    if not isinstance(paths, (str, bytes, os.PathLike, Iterable)) or isinstance(paths, Mapping):
        got = f"a {type(paths).__name__}" if isinstance(paths, Mapping) else repr(paths)
        raise TypeError(f"What to read must be a path, or several in a list. Got {got} instead.")
    given = [paths] if isinstance(paths, (str, bytes, os.PathLike)) else list(paths)
    if not given:
        raise ValueError("There must be at least one file to read.")
    files: list[str] = []
    for each in given:
        path = os.fspath(each) if isinstance(each, (str, os.PathLike)) else None
        if not isinstance(path, str):
            rows = "; a data frame is read by itself, and fit takes arrays" if hasattr(each, "__array__") else ""
            raise TypeError(f"A path must be text or a pathlib.Path. Got a {type(each).__name__} instead{rows}.")
        path = urls.local_path(path)
        if urls.is_url(path):
            files.extend(_found(path, urls.matches(path)) if urls.has_magic(path) else [path])
        elif path == STDIN or not glob.has_magic(path) or os.path.lexists(path):
            files.append(path)
        else:
            found = sorted(name for name in glob.glob(path, recursive=True) if not os.path.isdir(name))
            files.extend(_found(path, found))
    if files.count(STDIN) > 1:
        raise ValueError("Standard input can be read only once.")
    return files


def _found(pattern: str, files: list[str]) -> list[str]:
    if not files:
        raise FileNotFoundError(f"No file matches {pattern!r}.")
    return files


class Passage(Protocol):
    """Messages of a topic, one per line."""

    def places_at(self, byte: int) -> Places: ...

    def error(self, line: int, reason: str) -> DataError: ...


class Stopped(Exception):
    """The reader has stopped: the rest is not needed."""


class Stop:
    """Tells threads that wait for data to give up."""

    def __init__(self) -> None:
        self.is_set = False
        self._listen, self._wake = os.pipe()

    def set(self) -> None:
        if not self.is_set:
            self.is_set = True
            os.write(self._wake, b"!")

    def wait_for(self, fd: int | None, seconds: float | None = None) -> bool:
        """Wait until there is something to read; False after that many seconds. Raises if stopped."""
        waiting = select.poll()
        if fd is not None:
            waiting.register(fd, select.POLLIN)
        waiting.register(self._listen, select.POLLIN)
        ready = [each for each, _ in waiting.poll(None if seconds is None else 1000 * seconds)]
        if self._listen in ready:
            raise Stopped
        return bool(ready)

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

    resumed = False  # True if the first bytes are not the beginning of the content
    cut_short = False  # True if more may follow, so that an unfinished last line does not count
    header = b""  # of a table

    def ready(self, seconds: float = 0.0) -> bool:
        """True if reading does not have to wait longer than that."""
        if self._pushed or self.regular:
            return True
        if self.stop is None:  # a look before anything is read
            waiting = select.poll()
            waiting.register(self.fd, select.POLLIN)
            return bool(waiting.poll(1000 * seconds))
        return self.stop.wait_for(self.fd, seconds)

    def _fetch(self, n: int) -> bytes:
        if not self.regular and self.stop is not None:
            self.stop.wait_for(self.fd)
        with naming(self.name):
            return os.read(self.fd, n)

    @property
    def length(self) -> int:
        """The present size of a regular file."""
        return os.fstat(self.fd).st_size

    @property
    def stamp(self) -> Stamp:
        """Size, modification time and identity of a regular file at present."""
        return stamp_of(os.fstat(self.fd))

    def pread(self, n: int, at: int) -> bytes:
        """At most n bytes of a regular file from a position; fewer only at its end."""
        with naming(self.name):
            return os.pread(self.fd, n, at)

    def preadinto(self, view: memoryview, at: int) -> int:
        """Fill the view, or some of it, from a byte of a regular file on."""
        with naming(self.name):
            return os.preadv(self.fd, [view], at)

    def passage(self, end: int) -> Passage | None:
        """The topic's messages since the last call, up to a byte; None if the source is not a topic."""
        return None

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
        if self.fd >= 0 and self.regular and not self._pushed:
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

    def ready(self, seconds: float = 0.0) -> bool:
        return True  # unknown

    def _fetch(self, n: int) -> bytes:
        return self._file.read(n)


class Reader:
    """The decompressed content of a file, from its beginning to its end."""

    def __init__(self, raw: RawFile) -> None:
        self.raw, self.name = raw, raw.name
        head = b""
        while len(head) < 16 and may_be_compressed(head):  # a pipe may give less at a time
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

    @property
    def cut_short(self) -> bool:
        """True if reading was ended where there may be more, perhaps in the middle of a line."""
        return self.raw.cut_short

    def check(self) -> None:
        """Raise an error if something is wrong."""
        if self._decoder.failure is not None and not self.cut_short:
            raise DataError(self.name, self._decoder.failure)

    def readinto(self, view: memoryview) -> int:
        """Fill the view, unless the content ends or fails."""
        n = min(len(self._pushed), len(view))
        if n:
            view[:n] = self._pushed[:n]
            self._pushed = self._pushed[n:]
        return n + self._decoder.readinto(view[n:])

    def some(self, view: memoryview) -> int | None:
        """Read available bytes, at least one unless the content ends or fails; None if there are none after all."""
        if self._pushed:
            return self.readinto(view[: len(self._pushed)])
        piece = self._decoder.some(min(len(view), 1 << 18))
        if piece is not None:
            view[: len(piece)] = piece
        return None if piece is None else len(piece)

    def ready(self, seconds: float = 0.0) -> bool:
        """True if `some` does not have to wait longer than that."""
        return bool(self._pushed) or self.more(seconds)

    def more(self, seconds: float = 0.0) -> bool:
        """True if more bytes, or the end, come within that time."""
        return self._decoder.holds or self.raw.ready(seconds)

    def peek_until(self, enough: Callable[[bytes], object], limit: int) -> bytes:
        """Bytes from the front without consuming them, until `enough`, `limit` or the end."""
        while len(self._pushed) < limit and not (self._pushed and enough(self._pushed)):
            piece = self._decoder.some(min(limit - len(self._pushed), 1 << 16))
            if piece == b"":
                break
            self._pushed += piece or b""
        return self._pushed[:limit]

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
    """A file of a stream. Pipes and standard input can be read only once."""

    grows = False  # its present content is all that is looked at
    extent: list[list[int]] | None = None  # of a topic: the first offset of each partition, and that after the last
    fingerprint: int | None = None  # of the content, if the store gives one

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

    @property
    def stamp(self) -> Stamp | None:
        """Size, modification time and identity when the stream was made; None for pipes."""
        return stamp_of(self.status) if self.status is not None and self.regular else None

    def open(self) -> Reader:
        """The content from its beginning."""
        if self.regular:
            return Reader(RawFile(self.path, os.open(self.path, os.O_RDONLY), regular=True))
        if self._used:
            what = "Standard input" if self.path == STDIN else self.path
            raise ValueError(f"{what} can be read only once.")
        self._used = True
        reader, self._once = self._once, None
        return reader or self.open_once()

    def open_at(self, places: Places | None, byte: int) -> Reader:
        """The content of a topic from these places on, which is at that byte of the stream."""
        raise DataError(self.path, "it is no topic, and reading was to go on in one")

    def go_on_with(self, extent: list[list[int]]) -> str | None:
        """Continue with a topic's earlier extent. Returns the objection in words; None if there is none."""
        return "it is no topic"

    def open_once(self) -> Reader:
        """A source that can be read only once."""
        if self.status is not None and stat.S_ISSOCK(self.status.st_mode):
            return Reader(RawFile(self.path, _connected(self.path), regular=False))
        if self.path != STDIN:
            return Reader(RawFile(self.path, os.open(self.path, os.O_RDONLY), regular=False))
        if sys.stdin is None:
            raise ValueError("There is no standard input to read.")
        file: Any = getattr(sys.stdin, "buffer", sys.stdin)
        with contextlib.suppress(OSError, AttributeError, ValueError):
            fd = file.fileno()
            return Reader(RawFile(STDIN, fd, stat.S_ISREG(os.fstat(fd).st_mode), keep_open=True))
        return Reader(RawObject(STDIN, file))

    def peek(self, n: int, enough: Callable[[bytes], object]) -> bytes:
        """The first n bytes of the content, for recognising it; of a pipe fewer if they are enough."""
        if self.regular:
            reader = self.open()
            try:
                return reader.peek(n)
            finally:
                reader.close()
        if self._once is None:
            self._once = self.open_once()
        return self._once.peek_until(enough, n)

    def silent(self, seconds: float) -> bool:
        """True if nothing more comes from a pipe for that time."""
        return self._once is not None and not self._once.more(seconds)


def _connected(path: str) -> int:
    """A connection to the socket of this name."""
    with naming(path), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        return connection.detach()


def ending_of(path: str) -> str:
    """The ending of a file's name, without that of a compression, in lower case and without the dot."""
    name = Path(path).name.lower()
    for suffix in (".gz", ".bz2", ".xz", ".lzma", ".zst", ".zstd"):
        name = name.removesuffix(suffix)
    return Path(name).suffix.removeprefix(".")

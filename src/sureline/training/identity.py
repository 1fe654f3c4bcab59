"""Facts about the files of a stream, by which a training knows that they have not changed."""

from __future__ import annotations

import os
import zlib
from collections.abc import Sequence
from typing import Any, Literal, get_args

from ..stream import DataError, Stream
from ..stream.passed import crc32_of_much
from ..stream.source import Source

Verify = Literal["sample", "full"]

_ENDS = 1 << 16  # bytes at the beginning and at the end of a file that are read
_BLOCK, _BLOCKS = 1 << 12, 64  # and of blocks in between
_PIECE = 1 << 20
_FACTS = ("size", "mtime", "inode", "sample", "content")


class Files:
    """Facts about each file of a stream, taken when they are first asked for.

    They are size, modification time, inode and a checksum of sampled blocks; with `verify` "full" also a checksum of
    everything. A pipe has none: its position has the checksum of what was read.
    """

    def __init__(self, stream: Stream, verify: Verify = "sample") -> None:
        if verify not in get_args(Verify):
            raise ValueError(f"verify must be 'sample' or 'full'. Got {verify!r} instead.")
        self._sources, self.verify = stream.sources, verify
        self._taken: dict[int, dict[str, Any] | None] = {}

    def first(self, n: int) -> list[dict[str, Any] | None]:
        """Facts about the first n files, as they were when they were first asked for."""
        for k in range(n):
            if k not in self._taken:
                self._taken[k] = facts_of(self._sources[k], full=self.verify == "full")
        return [self._taken[k] for k in range(n)]

    def refuse_changed(self) -> None:
        """Raise DataError if a file is no longer what it was when it was first asked for."""
        for k, before in self._taken.items():
            if before is not None:
                source = Source(self._sources[k].path)
                if not source.regular or facts_of(source, full=self.verify == "full") != before:
                    raise DataError(source.path, "the file changed between two passes over it")

    def difference(self, k: int, before: dict[str, Any] | None) -> str | None:
        """The difference of file k from the facts before, in words; None if there is none."""
        if before is None or not self._sources[k].regular or self._sources[k].status is None:
            same = before is None and (not self._sources[k].regular or self._sources[k].status is None)
            return None if same else "it is a file in one case, and in the other it can be read only once"
        now = facts_of(self._sources[k], full=self.verify == "full")
        assert now is not None
        self._taken[k] = now
        if before["size"] != now["size"]:
            return f"it has {now['size']} bytes, and had {before['size']}"
        if before["sample"] != now["sample"]:
            return "its content is another"
        if self.verify == "full":
            if before["content"] is None:
                return "--verify full needs a checksum of everything, which is kept only if the training had it as well"
            return None if before["content"] == now["content"] else "its content is another"
        remedy = "" if before["content"] is None else "; --verify full looks at the content alone"
        if before["inode"] != now["inode"]:
            return f"another file has taken its place{remedy}"
        return None if before["mtime"] == now["mtime"] else f"it was changed meanwhile{remedy}"


def facts_of(source: Source, *, full: bool) -> dict[str, Any] | None:
    """Facts about a file: those of the system when the stream was made, and checksums of what is there now."""
    if source.status is None or not source.regular:
        return None
    status = source.status
    fd = os.open(source.path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        sample = _sample(fd, status.st_size)
        content = _content(fd) if full else None
        now = os.fstat(fd)
    finally:
        os.close(fd)
    if (now.st_size, now.st_mtime_ns, now.st_ino) != (status.st_size, status.st_mtime_ns, status.st_ino):
        content = None  # of something else than what was read
    facts = (status.st_size, status.st_mtime_ns, status.st_ino, sample, content)
    return dict(zip(_FACTS, facts, strict=True))


def checked_facts(values: Any) -> list[dict[str, Any] | None]:
    """Facts about files as `facts_of` gives them, or ValueError."""
    if not isinstance(values, list):
        raise ValueError("what it says of its files is no list")
    for facts in values:
        if facts is None:
            continue
        if not isinstance(facts, dict) or set(facts) != set(_FACTS):
            raise ValueError(f"of a file it must have {', '.join(_FACTS)}")
        for name, value in facts.items():
            if value is None and name == "content":
                continue
            least, most = (-(1 << 63), 1 << 63) if name == "mtime" else (0, 1 << 64)
            if type(value) is not int or not least <= value < most:
                raise ValueError(f"the {name} of a file is {value!r}")
    return values


def _sample(fd: int, size: int) -> int:
    """A checksum of both ends of a file, and of blocks at equal distances between them."""
    places: Sequence[tuple[int, int]] = [(0, min(size, 2 * _ENDS))]
    if size > 2 * _ENDS:
        step = (size - 2 * _ENDS) / _BLOCKS
        inside = [(_ENDS + int((k + 0.5) * step), _BLOCK) for k in range(_BLOCKS)]
        places = [(0, _ENDS), *inside, (size - _ENDS, _ENDS)]
    total = 0
    for place, length in places:
        total = zlib.crc32(os.pread(fd, length, place), total)
    return total


def _content(fd: int) -> int:
    """A checksum of all of a file."""
    crc32 = crc32_of_much()
    total = place = 0
    while piece := os.pread(fd, _PIECE, place):
        total = crc32(piece, total)
        place += len(piece)
    return total

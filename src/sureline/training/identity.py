"""Facts about a stream's files, by which a training detects changes."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any, Literal, get_args

from ..stream import DataError, Stream
from ..stream.passed import crc32_of_much
from ..stream.remote import source_at
from ..stream.source import RawFile, Source

Verify = Literal["sample", "full"]

_ENDS = 1 << 16  # bytes at the beginning and at the end of a file that are read
_BLOCK, _BLOCKS = 1 << 12, 64  # and of blocks in between
_PIECE = 1 << 20
_EXTENT = "partitions"
_FACTS = ("size", "mtime", "inode", "sample", "content")


class Files:
    """Facts about each file of a stream, taken at the first use.

    They are size, modification time, inode and a checksum of sampled blocks; with `verify` "full" also a checksum of
    everything. A pipe has no facts: its position has a checksum of the text read.
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
        """Raise DataError if a file has changed since its first use."""
        for k, before in self._taken.items():
            if before is not None and self._sources[k].extent is None:  # a topic is read as far as it went at first
                source = source_at(self._sources[k].path)
                if facts_of(source, full=self.verify == "full") != before:
                    raise DataError(source.path, "the file changed between two passes over it")

    def difference(self, k: int, before: dict[str, Any] | None) -> str | None:
        """The difference of file k from earlier facts, in words; None if there is none."""
        if self._sources[k].extent is not None or (before is not None and _EXTENT in before):
            return self._sources[k].go_on_with([] if before is None else before.get(_EXTENT, []))
        if before is None or self._sources[k].stamp is None:
            same = before is None and self._sources[k].stamp is None
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
    """Facts about a file: size and time when the stream was made, and checksums of the present content.

    For a topic they are its extent.
    """
    if source.extent is not None:
        return {_EXTENT: source.extent}
    stamp = source.stamp
    if stamp is None:
        return None
    reader = source.open()
    try:
        # A store's own fingerprint is trusted: samples would take a request each.
        sample = _sample(reader.raw, stamp[0]) if source.fingerprint is None else source.fingerprint
        content = _content(reader.raw) if full else None
        now = reader.raw.stamp
    finally:
        reader.close()
    if now != stamp:
        content = None  # belongs to other content than was read
    return dict(zip(_FACTS, (*stamp, sample, content), strict=True))


def checked_facts(values: Any) -> list[dict[str, Any] | None]:
    """Facts about files as `facts_of` gives them, or ValueError."""
    if not isinstance(values, list):
        raise ValueError("what it says of its files is no list")
    for facts in values:
        if facts is None:
            continue
        if isinstance(facts, dict) and set(facts) == {_EXTENT}:
            _check_extent(facts[_EXTENT])
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


def _check_extent(pairs: Any) -> None:
    if not isinstance(pairs, list) or not pairs:
        raise ValueError("the partitions of a topic are no list")
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or any(type(n) is not int for n in pair):
            raise ValueError("the offsets of a partition are no pair of numbers")
        if not 0 <= pair[0] <= pair[1] < 1 << 63:
            raise ValueError(f"the offsets of a partition are {pair!r}")


def _sample(raw: RawFile, size: int) -> int:
    """A checksum of both ends of a file, and of blocks at equal distances between them."""
    places: Sequence[tuple[int, int]] = [(0, min(size, 2 * _ENDS))]
    if size > 2 * _ENDS:
        step = (size - 2 * _ENDS) / _BLOCKS
        inside = [(_ENDS + int((k + 0.5) * step), _BLOCK) for k in range(_BLOCKS)]
        places = [(0, _ENDS), *inside, (size - _ENDS, _ENDS)]
    total = 0
    for place, length in places:
        total = zlib.crc32(raw.pread(length, place), total)
    return total


def _content(raw: RawFile) -> int:
    """A checksum of all of a file."""
    crc32 = crc32_of_much()
    total = place = 0
    while piece := raw.pread(_PIECE, place):
        total = crc32(piece, total)
        place += len(piece)
    return total

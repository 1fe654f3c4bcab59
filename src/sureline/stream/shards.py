"""Streams cut into parts that together have exactly their rows."""

from __future__ import annotations

from bisect import bisect_right

from .formats.arrow import count_units
from .options import BINARY
from .reading import Part

_NOT_CUT = ("csv", "tsv")  # where a row begins can only be told by reading everything before it


def cut(parts: list[Part], format: str, size: int, n: int) -> list[list[Part]]:
    """The parts of each of n shards. `size` is that of all parts together."""
    bounds = [size * i // n for i in range(n + 1)]
    shards: list[list[Part]] = [[] for _ in range(n)]
    at = 0
    for part in parts:
        assert part.span is not None
        begin, end = part.span
        if format in BINARY:
            _cut_units(part, format, at, bounds, shards)
        elif format in _NOT_CUT or _compressed(part):
            shards[_shard(bounds, at)].append(part)
        else:
            for i in range(n):
                low = begin + max(bounds[i] - at, 0)
                high = min(begin + bounds[i + 1] - at, end)
                if low < high:
                    shards[i].append(Part(part.source, (low, high), low, part.end if high == end else high))
        at += end - begin
    return shards


def _shard(bounds: list[int], at: int) -> int:
    """The shard in whose range a byte is."""
    return min(bisect_right(bounds, at), len(bounds) - 1) - 1


def _compressed(part: Part) -> bool:
    reader = part.source.open()
    try:
        return reader.compression is not None
    finally:
        reader.close()


def _cut_units(part: Part, format: str, at: int, bounds: list[int], shards: list[list[Part]]) -> None:
    """Give each batch or row group to the shard in which it begins, taking them for equally large."""
    n_units = count_units(part.source, format)
    if n_units is None:
        shards[_shard(bounds, at)].append(part)
        return
    assert part.span is not None
    first, last = part.begin, n_units if part.end is None else part.end
    begin, end = part.span

    def place(unit: int) -> int:
        return (end - begin) * (unit - first) // max(1, last - first)

    owners = [_shard(bounds, at + place(unit)) for unit in range(first, last)]
    for i in sorted(set(owners)):
        low = first + owners.index(i)
        high = low + owners.count(i)
        shards[i].append(Part(part.source, (begin + place(low), begin + place(high)), low, high))

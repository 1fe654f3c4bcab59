"""Streams cut into parts that together have exactly their rows."""

from __future__ import annotations

from bisect import bisect_right

from .blocks import quoted_row_ends
from .formats.arrow import count_units
from .formats.delimited import dialect_of
from .options import BINARY, DELIMITED, Options
from .reading import Part
from .recognise import LOOK

_PIECE = 1 << 20
_NOT_CUT = DELIMITED  # where a row begins can only be told by reading everything before it


def cut(parts: list[Part], format: str, size: int, n: int, *, rows_are_lines: bool = False) -> list[list[Part]]:
    """The parts of each of n shards. `size` is that of all parts together.

    If it is known that every row is a line, CSV and TSV are cut like other text.
    """
    bounds = [size * i // n for i in range(n + 1)]
    shards: list[list[Part]] = [[] for _ in range(n)]
    at = 0
    for part in parts:
        assert part.span is not None
        begin, end = part.span
        if format in BINARY:
            _cut_units(part, format, at, bounds, shards)
        elif (format in _NOT_CUT and not rows_are_lines) or _compressed(part):
            shards[_shard(bounds, at)].append(part)
        else:
            for i in range(n):
                low = begin + max(bounds[i] - at, 0)
                high = min(begin + bounds[i + 1] - at, end)
                if low < high:
                    shards[i].append(Part(part.source, (low, high), low, part.end if high == end else high))
        at += end - begin
    return shards


def is_cut(part: Part, format: str) -> bool:
    """True if `cut` makes pieces of this file; of CSV and TSV, if its rows are lines."""
    if not part.source.regular:
        return False
    return (count_units(part.source, format) or 1) > 1 if format in BINARY else not _compressed(part)


def rows_are_lines(part: Part, format: str, options: Options) -> bool:
    """True if no quoted cell of a CSV or TSV file holds a newline. It is read whole for that, but not parsed."""
    if format not in _NOT_CUT:
        return True
    head = part.source.peek(LOOK, bool)
    quote = dialect_of(head, len(head) < LOOK, format, options).quote.encode()
    if not quote:
        return True
    reader, quotes, at = part.source.open(), 0, 0
    try:
        while piece := reader.raw.pread(_PIECE, at):
            at += len(piece)
            if quote in piece:
                if len(quoted_row_ends(piece, 0, len(piece), odd=quotes % 2, quote=quote)) < piece.count(b"\n"):
                    return False
                quotes += piece.count(quote)
            elif quotes % 2 and b"\n" in piece:
                return False
    finally:
        reader.close()
    return True


def _shard(bounds: list[int], at: int) -> int:
    """The shard whose range contains a byte."""
    return min(bisect_right(bounds, at), len(bounds) - 1) - 1


def _compressed(part: Part) -> bool:
    reader = part.source.open()
    try:
        return reader.compression is not None
    finally:
        reader.close()


def _cut_units(part: Part, format: str, at: int, bounds: list[int], shards: list[list[Part]]) -> None:
    """Give each batch or row group to the shard in which it begins, as if all had equal sizes."""
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

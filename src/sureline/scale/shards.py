"""Shards: the parts of a stream that are learned separately. They depend on the data alone, not on workers."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Protocol

from .._inputs import Array
from ..stream import Chunk, Stream
from ..stream.arrays import rows_of
from ..stream.formats.frames import FrameSource
from ..stream.options import Options, restored
from ..stream.reading import Part
from ..stream.remote import source_at
from ..stream.urls import is_url

SHARD_SIZE = 256 << 20  # bytes as they are on the disk


class Rows(Protocol):
    """The rows of a shard, wherever they are stored."""

    @property
    def name(self) -> str: ...

    def chunks(self, dtype: str) -> Iterable[Chunk]:
        """The rows, with values of this dtype."""


def told(options: Options) -> dict[str, Any]:
    """Options of reading as they are sent to workers, and as JSON has them."""
    values = asdict(replace(options, schema=None))
    return values if options.schema is None else {**values, "schema": options.schema.to_dict()}


def options_of(values: dict[str, Any], dtype: str) -> Options:
    """The options that were told."""
    known = {field.name for field in fields(Options)}
    values = {name: value for name, value in values.items() if name in known and (name != "schema" or value)}
    return Options(**restored(values) | {"dtype": dtype})


@dataclass(frozen=True)
class FileRows:
    """Rows of files: a range of bytes of a text, row groups or batches of a column file, or a whole compressed file."""

    format: str
    options: dict[str, Any]
    parts: tuple[tuple[str, tuple[int, int] | None, int, int | None], ...]  # path, span, begin, end

    @classmethod
    def of(cls, stream: Stream) -> FileRows:
        parts = []
        for part in stream.parts:
            if isinstance(part.source, FrameSource):
                raise ValueError("A data frame in memory is not cut into shards: train from files or from partitions.")
            path = part.source.path
            parts.append((path if is_url(path) else os.path.abspath(path), part.span, part.begin, part.end))
        return cls(stream.format, told(stream.options), tuple(parts))

    @property
    def name(self) -> str:
        return self.parts[0][0] if self.parts else "no file"

    def stream(self, dtype: str) -> Stream:
        parts = [Part(source_at(path), span, begin, end) for path, span, begin, end in self.parts]
        return Stream(parts, self.format, options_of(self.options, dtype))

    def chunks(self, dtype: str) -> Stream:
        return self.stream(dtype)


@dataclass(frozen=True)
class ArrayRows:
    """Rows in memory: a partition of an engine's data."""

    X: Any
    y: Array
    weights: Array | None = None

    @property
    def name(self) -> str:
        return "a partition"

    def chunks(self, dtype: str) -> Stream:
        given = (self.X, self.y) if self.weights is None else (self.X, self.y, self.weights)
        return rows_of(given, dtype, None)[0]


@dataclass(frozen=True)
class Shard:
    """A part of a stream.

    Attributes
    ----------
    index, count : int
        Which shard it is, and of how many in its round.
    share : float
        Its share of the rows of the round, by bytes or rows. Those of a round add up to 1.
    rows : FileRows, ArrayRows, or others with `name` and `chunks`
    judging : int
        Of a team: how many rows are held back, at most, to judge its members.
    """

    index: int
    count: int
    share: float
    rows: Rows
    judging: int = 0


def shards_of(stream: Stream, size: int = SHARD_SIZE, rounds: int = 1) -> list[list[Shard]]:
    """The shards of each round, about `size` bytes each.

    A round has as many shards as fit its share of the stream. With several rounds, the shards of the first round are
    the first parts of as many stretches of the stream, those of the second round the second parts, and so on.
    """
    if size < 1:
        raise ValueError(f"The size of a shard must be a number of bytes, at least 1. Got {size!r} instead.")
    if rounds < 1:
        raise ValueError(f"rounds must be an integer from 1. Got {rounds!r} instead.")
    total = stream.size
    if total is None:
        raise ValueError("Pipes and standard input cannot be cut into shards: name files.")
    count = max(1, math.ceil(total / (size * rounds)))
    pieces = stream.shards(count * rounds)
    return [weighed([pieces[k * rounds + r] for k in range(count)]) for r in range(rounds)]


def weighed(streams: list[Stream]) -> list[Shard]:
    """The shards of one round, without those that have no part of a file."""
    streams = [stream for stream in streams if stream.parts]
    sizes = [max(stream.size or 0, 1) for stream in streams]
    return [
        Shard(index, len(streams), size / sum(sizes), FileRows.of(stream))
        for index, (stream, size) in enumerate(zip(streams, sizes, strict=True))
    ]

"""Positions in a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True)
class Position:
    """The place between two rows of a stream, from which reading can go on.

    Attributes
    ----------
    file : int
        Which of the stream's files.
    offset : int
        Where the first row that is not yet read begins: its byte in the decompressed content of that file, or its
        number (from 0) in an Arrow or Parquet file.
    line : int
        How many lines of that file lie before, or rows of an Arrow or Parquet file. In a shard that begins inside a
        file they count from its beginning.
    rows, faults : int
        How many rows were read and how many faulty lines left out since the stream began.
    """

    file: int = 0
    offset: int = 0
    line: int = 0
    rows: int = 0
    faults: int = 0

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if type(value) is not int or value < 0:
                raise ValueError(f"A position's {each.name} must be an integer from 0. Got {value!r} instead.")

    def to_dict(self) -> dict[str, int]:
        """As a dict of integers, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, int]) -> Position:
        """The position that `to_dict` wrote."""
        names = [each.name for each in fields(cls)]
        if sorted(values) != sorted(names):
            raise ValueError(f"A position has the keys {', '.join(names)}. Got {', '.join(map(str, values))} instead.")
        return cls(**values)

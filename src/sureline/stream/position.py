"""Positions in a stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

Places = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Position:
    """A position between two rows of a stream, from which reading can continue.

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
    before : int or None
        A checksum of the text before that place: of the last 4096 bytes in a file, and of everything in what can be
        read only once. Where reading goes on, it is compared. None in Arrow and Parquet, and where nothing is known.
        Two positions are equal whatever theirs are.
    places : tuple or None
        In a topic, for each partition the offset of the message that is read next, and a checksum of the one before,
        or -1 where none was read. None elsewhere.
    """

    file: int = 0
    offset: int = 0
    line: int = 0
    rows: int = 0
    faults: int = 0
    before: int | None = field(default=None, compare=False)
    places: Places | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if self.places is not None:
            object.__setattr__(self, "places", _checked(self.places))
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name == "places" or (each.name == "before" and value is None):
                continue
            if type(value) is not int or value < 0:
                raise ValueError(f"A position's {each.name} must be an integer from 0. Got {value!r} instead.")

    def to_dict(self) -> dict[str, Any]:
        """A dict of integers for JSON, with None for an unknown `before`; with `places` if there are any."""
        values = asdict(self)
        if self.places is None:
            del values["places"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Position:
        """The position from a dict by `to_dict`, also by a version without `before`."""
        names = [each.name for each in fields(cls)]
        if not isinstance(values, Mapping) or {*values, "before", "places"} != set(names):
            raise ValueError(f"A position has the keys {', '.join(names)}. Got {values!r} instead.")
        return cls(**values)


def _checked(places: Any) -> Places:
    if not isinstance(places, (list, tuple)) or not places:
        raise ValueError(f"A position's places must be pairs of integers. Got {places!r} instead.")
    pairs = tuple(tuple(pair) if isinstance(pair, (list, tuple)) else () for pair in places)
    for pair in pairs:
        if len(pair) != 2 or any(type(n) is not int for n in pair) or not 0 <= pair[0] < 1 << 63 or pair[1] < -1:
            raise ValueError(f"A position's places must be pairs of integers. Got {places!r} instead.")
    return pairs

"""The first rows of a pipe, as far as it takes to know them again."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..stream import Chunk, DataError


@dataclass
class Beginning:
    """The first rows of a pipe: their number, and checksums of their contents, independent of chunks."""

    rows: int = 0
    sums: tuple[int, int, int, int] = (0, 0, 0, 0)
    _seen: Beginning | None = field(default=None, repr=False, compare=False)

    def add(self, chunk: Chunk) -> None:
        """The rows that come next."""
        codes, names = chunk.labels
        lengths = np.ascontiguousarray(np.diff(chunk.indptr), np.int64)
        labels = "\n".join(repr(names[code]) if code >= 0 else "" for code in codes.tolist()) + "\n"
        pieces = (chunk.values.tobytes(), chunk.indices.tobytes(), lengths.tobytes(), labels.encode(errors="replace"))
        a, b, c, d = (zlib.crc32(piece, before) for piece, before in zip(pieces, self.sums, strict=True))
        self.sums, self.rows = (a, b, c, d), self.rows + len(chunk)

    def check(self, chunk: Chunk, file: str) -> None:
        """Raise DataError if the next rows differ from the earlier ones."""
        self._seen = Beginning() if self._seen is None else self._seen
        left = self.rows - self._seen.rows
        if left > 0:
            self._seen.add(chunk.first(left))
            if self._seen.rows == self.rows and self._seen.sums != self.sums:
                raise DataError(
                    file,
                    f"the first {self.rows:,} rows are not those that the checkpoint was saved after; --from goes on "
                    "from it with other rows",
                )

    def refuse_missing(self, file: str) -> None:
        """Raise DataError if fewer rows have come than then."""
        seen = 0 if self._seen is None else self._seen.rows
        if seen < self.rows:
            raise DataError(file, f"there are {seen:,} rows, and the checkpoint was saved after {self.rows:,}")

    def to_dict(self) -> dict[str, Any]:
        """The numbers as a dict for JSON."""
        return {"rows": self.rows, "sums": list(self.sums)}

    @classmethod
    def from_dict(cls, values: Any) -> Beginning:
        """The inverse of `to_dict`; ValueError for invalid values."""
        if not isinstance(values, dict) or set(values) != {"rows", "sums"} or not isinstance(values["sums"], list):
            raise ValueError("its first rows are not known")
        numbers = [values["rows"], *values["sums"]]
        if len(numbers) != 5 or any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError("its first rows are not known")
        a, b, c, d = values["sums"]
        return cls(values["rows"], (a, b, c, d))

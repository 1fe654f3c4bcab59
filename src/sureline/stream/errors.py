"""Errors in data, and the count of skipped lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

KEPT = 20  # faults that are described; all are counted
NO_UTF8 = "the line is not valid UTF-8; of text from Windows, iconv -f WINDOWS-1252 -t UTF-8 makes it so"


class DataError(ValueError):
    """Data that cannot be read. The message is "FILE:LINE:COLUMN: reason", as far as the place is known.

    Attributes
    ----------
    file : str
        The path as it was given, "-" for standard input.
    line, column : int or None
        Count from 1; the column in bytes. None where the file has no lines or the place is not known.
    reason : str
        What is wrong, without the place.
    """

    def __init__(self, file: str, reason: str, line: int | None = None, column: int | None = None) -> None:
        self.file, self.reason, self.line, self.column = file, reason, line, column
        place = ":".join(str(part) for part in (file, line, column) if part is not None)
        super().__init__(f"{place}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return DataError, (self.file, self.reason, self.line, self.column)


def shown(text: str, quotes: bool = True) -> str:
    """A text inside a message, shortened if it is long."""
    text = text if len(text) <= 40 else f"{text[:37]}..."
    return repr(text) if quotes else text


def listed(names: Sequence[str]) -> str:
    """The first and the last names of many."""
    some = [*names[:15], None, *names[-5:]] if len(names) > 20 else [*names]
    return ", ".join("..." if name is None else shown(name, quotes=name != name.strip()) for name in some)


@dataclass(frozen=True)
class Fault:
    """A line that cannot be read. Line and column count from 1, the line from the beginning of its block."""

    line: int
    column: int | None
    reason: str


@dataclass
class Faults:
    """The lines that were skipped so far.

    Attributes
    ----------
    count : int
        How many.
    first : list of DataError
        The first 20 of them.
    """

    count: int = 0
    first: list[DataError] = field(default_factory=list)

"""Ways of writing numbers and times, as a look at the first cells of a column finds them.

A way is kept in the schema by its name. A cell that is written otherwise is refused where it stands.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

from .._native import _core

# The names of schemas and options. The plain notation has none.
_CODES = {"" if how is _core.Written.plain else how.name.replace("_", "-"): how for how in _core.Written}
NUMBERS = ("comma", "grouped")
TIMES = tuple(name for name in _CODES if name and name not in NUMBERS)
_CALENDAR = TIMES[:2]
_UNITS = TIMES[3:]
_IN_WORDS = {
    "comma": "1.234,5",
    "grouped": "1,234.5",
    "day-first": "day first",
    "month-first": "month first",
    "yyyymmdd": "yyyymmdd",
    **{unit: f"{unit} since 1970" for unit in _UNITS},
}
_FARTHEST_OF = ((1e11, "s"), (1e14, "ms"), (1e17, "us"))  # since 1970, up to the year 5138; beyond are nanoseconds
_FOUR_DIGITS = re.compile("[0-9]{4}")
_ENOUGH_GROUPED = 20  # decimals that are not padded would have fewer than three digits in some of these
# Marks that words do not have by chance; spaces may belong to a telephone number.
_UNAMBIGUOUS = re.compile("[,.'\N{RIGHT SINGLE QUOTATION MARK}$€£¥%]")


def code(how: str) -> _core.Written:
    """The core's name of a notation."""
    return _CODES[how]


def in_words(how: str) -> str:
    return _IN_WORDS[how]


def is_number(text: str, how: str = "") -> bool:
    """True for infinite ones as well: they are refused where they stand."""
    return _core.number_in(as_bytes(text), code(how))[0] is not _core.ReadNumber.none


def number_of(value: Any, how: str = "") -> float | None:
    """The number in a cell; None if it is not one."""
    if isinstance(value, str):
        state, number = _core.number_in(as_bytes(value), code(how))
        return number if state is _core.ReadNumber.ok else None
    number = float(value) if isinstance(value, int | float) and abs(value) < 1e300 else math.nan
    return number if math.isfinite(number) else None


def numbers_in(values: Sequence[Any], how: str = "") -> list[float]:
    """The finite numbers among cells."""
    try:
        numbers = [] if how else list(map(float, values))
    except (ValueError, OverflowError, TypeError):
        numbers = []
    if not numbers:
        numbers = [number for value in values if (number := number_of(value, how)) is not None]
    return list(filter(math.isfinite, numbers))


def time_of(value: Any, how: str = "") -> tuple[int, bool] | None:
    """Microseconds since 1970, and whether there is a time of day; None if the text is not a time in this notation."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return _core.time_in(as_bytes(str(value)), code(how))


def ways_of_numbers(texts: Sequence[str], enough: float) -> list[str]:
    """Notations in which enough texts are numbers, if one of them has a mark of numbers."""
    if not any(map(_UNAMBIGUOUS.search, texts)):
        return []
    found = [how for how in NUMBERS if sum(is_number(text, how) for text in texts) >= enough * len(texts)]
    if len(found) == 2 and all(number_of(text, found[0]) == number_of(text, found[1]) for text in texts):
        return found[1:]  # with units and whole numbers alone, both notations agree
    if len(found) == 2:
        return [how for how, mark in zip(NUMBERS, ".,", strict=True) if _thousands_alone(texts, mark)] or found
    return found


def _thousands_alone(texts: Sequence[str], mark: str) -> bool:
    """True of 1,234 beside 950: a mark of decimals would be in small numbers too, or not before three digits in all."""
    grouped = sum(mark in text for text in texts)
    return _ENOUGH_GROUPED <= grouped < len(texts) and not any(map(_FOUR_DIGITS.search, texts))


def ways_of_dates(texts: Sequence[str], enough: float) -> list[str]:
    """Notations in which enough texts are valid dates."""
    if not any(map(_FOUR_DIGITS.search, texts[:10])):
        return []
    found = [how for how in _CALENDAR if sum(time_of(text, how) is not None for text in texts) >= enough * len(texts)]
    points = sum("." in text[:3] for text in texts)  # where days and months are parted by points, days come first
    return found[:1] if len(found) == 2 and points >= enough * len(texts) else found


def way_of_times(values: Sequence[Any], enough: float, how: str = "") -> str | None:
    """The notation of a column that is declared to have times; None if there is none, or two."""

    def fits(way: str) -> bool:
        return sum(time_of(value, way) is not None for value in values) >= enough * len(values)

    if how or fits(""):
        return how if fits(how) else None
    if fits("yyyymmdd"):
        return "yyyymmdd"
    dates = ways_of_dates([str(value) for value in values], enough)
    if dates:
        return dates[0] if len(dates) == 1 else None
    numbers = [abs(number) for value in values if (number := number_of(value)) is not None]
    if len(numbers) < enough * len(values):
        return None
    unit = next((unit for most, unit in _FARTHEST_OF if max(numbers) < most), "ns")
    return unit if fits(unit) else None


def as_bytes(text: str) -> bytes:
    """Bytes for the core. Half of a surrogate pair is no number, time or list in any encoding."""
    return text.encode(errors="surrogatepass")

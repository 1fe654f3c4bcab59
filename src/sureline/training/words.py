"""Numbers and names as a page shows them."""

from __future__ import annotations

import math

from .._inputs import clean

_GAP = "\N{NO-BREAK SPACE}"
NOTHING = "\N{EN DASH}"  # shown for unknown values


def shortened(text: str, most: int) -> str:
    """The text, cut where it has more letters than that."""
    text = clean(text).replace("\n", " ")
    return text if len(text) <= most else text[: most - 1].rstrip(" ,(") + "…"


def number(value: float | None, digits: int = 3) -> str:
    """A number with that many significant digits and commas; a dash if it is unknown."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return _minus(f"{value:,.0f}") if abs(value) < 1e12 else _minus(f"{value:.{digits - 1}e}")
    if abs(value) < 1e-4:
        return _minus(f"{value:.{digits - 1}e}")
    return _minus(f"{value:.{max(digits - 1 - math.floor(math.log10(abs(value))), 0)}f}")


def percent(value: float | None, digits: int = 3, places: int | None = None) -> str:
    """A share in per cent, with that many significant digits, or decimals."""
    return NOTHING if value is None or not math.isfinite(value) else f"{_in_percent(value, digits, places)}{_GAP}%"


def percent_range(low: float, high: float, digits: int = 3, places: int | None = None) -> str:
    """A range of shares in per cent."""
    return f"{_in_percent(low, digits, places)} to {_in_percent(high, digits, places)}{_GAP}%"


def _in_percent(value: float, digits: int, places: int | None) -> str:
    share = 100 * value
    if places is not None:
        return _minus(f"{share:.{places}f}")
    if share == 0:
        return "0"
    after = max(digits - 1 - math.floor(math.log10(abs(share))), 0)
    return _minus(f"{share:.{min(after, digits)}f}")


def count(value: int | None) -> str:
    """A whole number with commas."""
    return NOTHING if value is None else f"{value:,}"


def compact(value: float) -> str:
    """A number for an axis: 20k, 1.5M, 0.05."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * (1 - 1e-9):
            return _minus(f"{value / size:.10g}") + letter if abs(value) < 1e15 else _minus(f"{value:.2g}")
    return _minus(f"{value:.6g}")


def duration(seconds: float | None) -> str:
    """A time as people say it."""
    if seconds is None or not math.isfinite(seconds):
        return NOTHING
    if seconds < 1e-3:
        return f"{number(seconds * 1e6)}{_GAP}µs"
    if seconds < 1:
        return f"{number(seconds * 1e3)}{_GAP}ms"
    if seconds < 120:
        return f"{number(seconds)}{_GAP}s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 120:
        return f"{minutes}{_GAP}min {rest}{_GAP}s"
    return f"{minutes // 60}{_GAP}h {minutes % 60}{_GAP}min"


def size(n_bytes: float | None) -> str:
    """A size of memory or of a file."""
    if n_bytes is None:
        return NOTHING
    value = float(n_bytes)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if value < 1024:
            return f"{number(value)}{_GAP}{unit}"
        value /= 1024
    return f"{number(value)}{_GAP}TiB"


def listed(words: list[str], most: int = 6) -> str:
    """a, b and c; the first of them and how many more there are, if they are many."""
    if len(words) > most:
        return f"{', '.join(words[: most - 1])} and {len(words) - most + 1} more"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""


def sentence(text: str | None, end: str = ".") -> str:
    """The text, ending with that punctuation once."""
    return (text or "").strip().rstrip(".") + end


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}") if text.startswith("-") else text.replace("e-", "e\N{MINUS SIGN}")

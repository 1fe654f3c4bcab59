"""Numbers and names as a page shows them, and how wide they come out."""

from __future__ import annotations

import math

# Widths in em of the widest of the usual sans-serif fonts: a label that fits by these fits.
_NARROW = frozenset("ijlI.,:;'|!()[]{}ft r/\\\"-`·\N{NO-BREAK SPACE}")
_WIDE = frozenset("mwMWQO@%—…")


_GAP = "\N{NO-BREAK SPACE}"
NOTHING = "\N{EN DASH}"  # in place of what is not known


def clean(text: str) -> str:
    """Text that can be written and read: control characters and halves of pairs are replaced.

    Names come out of files and may hold anything; neither XML nor UTF-8 has room for all of it.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\N{NO-BREAK SPACE}" else "\N{REPLACEMENT CHARACTER}" for c in text)


def width_of(text: str, size: float = 1.0, *, bold: bool = False) -> float:
    """About how wide the text is in a font of that size; rather too much than too little."""
    total = 0.0
    for c in text:
        if c in _NARROW:
            total += 0.42
        elif c in _WIDE:
            total += 1.0
        elif c.isascii():
            total += 0.72 if c.isupper() else 0.645
        else:
            total += 1.05 if ord(c) >= 0x1100 else 0.72
    return total * size * (1.12 if bold else 1.0)


def shortened(text: str, room: float, size: float = 1.0, *, bold: bool = False) -> str:
    """The text, cut where there is no more room."""
    text = clean(text).replace("\n", " ")
    if width_of(text, size, bold=bold) <= room:
        return text
    room -= width_of("…", size, bold=bold)
    taken = 0
    for c in text:
        room -= width_of(c, size, bold=bold)
        if room < 0:
            break
        taken += 1
    return text[:taken].rstrip(" ,(") + "…"


def number(value: float | None, digits: int = 3) -> str:
    """So many significant digits, with commas in thousands; a dash for what is not known."""
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
    """A share in per cent, with so many significant digits, or so many after the point."""
    return NOTHING if value is None or not math.isfinite(value) else f"{_in_percent(value, digits, places)}{_GAP}%"


def percent_range(low: float, high: float, digits: int = 3, places: int | None = None) -> str:
    """From one share to another, in per cent."""
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
    """Of memory or a file."""
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
    """The text with that at its end, and not twice."""
    return (text or "").strip().rstrip(".") + end


def _minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}") if text.startswith("-") else text.replace("e-", "e\N{MINUS SIGN}")

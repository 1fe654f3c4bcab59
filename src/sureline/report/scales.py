"""Axes: where a value lies between two pixels, linearly or by its logarithm, and where the ticks are."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from ..training.words import compact, percent


@dataclass(frozen=True)
class Axis:
    """One of the two axes of a chart.

    Attributes
    ----------
    label : str
        What is measured, with its unit.
    log : bool
        By logarithms, as far as there are values above 0. Those at 0 and below are then left out.
    percent : bool
        Values are shares, and the ticks say per cent.
    limits : pair of float or None
        From where to where; by default what the data need and a little more.
    whole : bool
        Values are counts: no tick between two whole numbers.
    seconds : bool
        Values are times in seconds, and the ticks say ms, s and so on.
    """

    label: str
    log: bool = False
    percent: bool = False
    limits: tuple[float, float] | None = None
    whole: bool = False
    seconds: bool = False


@dataclass(frozen=True)
class Scale:
    """An axis with its limits, laid out from one pixel to another."""

    axis: Axis
    low: float
    high: float
    start: float
    stop: float
    log: bool

    def __call__(self, value: float) -> float:
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def shows(self, value: float | None) -> bool:
        """Whether there is a place for it, be it beyond the limits."""
        return value is not None and math.isfinite(value) and (value > 0 or not self.log)

    def clipped(self, value: float) -> float:
        """The pixel of the value, or of the limit that it is beyond."""
        return self(min(max(value, self.low), self.high))

    def ticks(self, room: float) -> list[tuple[float, str]]:
        """Values and what is written there, at least so many pixels from each other."""
        least = max(abs(self.stop - self.start) / room, 1.0)
        best: list[tuple[float, str]] = []
        for candidates in self._choices():
            kept = [(v, self._written(v)) for v in candidates if self.low * _BELOW <= v <= self.high * _ABOVE or v == 0]
            kept = [(v, w) for v, w in kept if self._inside(v)]
            if len({w for _, w in kept}) < len(kept):
                continue
            pixels = [self(v) for v, _ in kept]
            gaps = [abs(b - a) for a, b in pairwise(pixels)]
            if len(kept) - 1 <= least and (not gaps or min(gaps) >= room) and len(kept) > len(best):
                best = kept
        return best

    def _inside(self, value: float) -> bool:
        margin = 0.5  # of a pixel, for what rounding does
        return min(self.start, self.stop) - margin <= self(value) <= max(self.start, self.stop) + margin

    def _choices(self) -> Iterable[list[float]]:
        if not self.log:
            yield from _linear_choices(self.low, self.high, self.axis.whole)
            return
        low, high = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        for multiples in ((1, 2, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,)):
            yield [
                m * 10.0**k
                for k in range(low, high + 1)
                for m in multiples
                if not (self.axis.whole and m * 10.0**k < 1)
            ]
        for step in (2, 3, 4, 6):
            yield [10.0**k for k in range(low, high + 1) if k % step == 0]
        if self.high / self.low < 10:
            yield from _linear_choices(self.low, self.high, self.axis.whole)

    def _written(self, value: float) -> str:
        if self.axis.seconds:
            size, unit = next(entry for entry in _TIMES if value >= entry[0] or entry[0] == 1e-6)
            return f"{value / size:.6g}\N{NO-BREAK SPACE}{unit}"
        if not self.axis.percent:
            return compact(float(f"{value:.6g}"))
        share = float(f"{100 * value:.6g}")
        return percent(value, 2) if share == 0 else f"{share:.6g}\N{NO-BREAK SPACE}%".replace("-", "\N{MINUS SIGN}")


_TIMES = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_BELOW, _ABOVE = 1 - 1e-9, 1 + 1e-9


def _linear_choices(low: float, high: float, whole: bool) -> Iterable[list[float]]:
    magnitude = math.floor(math.log10(high - low))
    for power in (magnitude - 1, magnitude, magnitude + 1):
        for m in (1, 2, 5):
            step = m * 10.0**power
            if whole and step < 1:
                continue
            first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
            if last - first <= 60:
                yield [float(f"{k * step:.12g}") for k in range(first, last + 1)]


def scale_of(axis: Axis, values: Iterable[float | None], start: float, stop: float, margin: float = 0.04) -> Scale:
    """The scale that shows these values, with a margin of that share of its length at both ends."""
    finite = [v for v in values if v is not None and math.isfinite(v)]
    above = [v for v in finite if v > 0]
    log = axis.log and bool(above or (axis.limits is not None and axis.limits[0] > 0))
    shown = above if log else finite
    if axis.limits is not None and (axis.limits[0] > 0 or not log) and axis.limits[0] < axis.limits[1]:
        low, high = axis.limits
        return Scale(axis, low, high, start, stop, log)
    low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
    if log:
        if high / low < 1.2:
            low, high = low / 1.25, high * 1.25
        factor = (high / low) ** margin
        low, high = low / factor, high * factor
        if axis.percent:
            high = min(high, max(1.0, max(shown)) * factor)
        return Scale(axis, low, high, start, stop, True)
    if high - low < 1e-9 * max(abs(low), abs(high)) or high == low:
        spread = abs(low) * 0.25 or (0.01 if axis.percent else 1.0)
        low, high = low - spread, high + spread
    room = (high - low) * margin
    nonnegative = bool(finite) and min(finite) >= 0
    low, high = low - room, high + room
    return Scale(axis, max(low, 0.0) if nonnegative else low, high, start, stop, False)

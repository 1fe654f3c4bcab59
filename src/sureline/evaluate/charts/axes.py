"""Axes: where they begin and end, their ticks, and values in words."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .base import modules

_UNITS = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"))
_PLAIN = "datum.value >= 1000 ? format(datum.value, '~s') : format(datum.value, '.6~g')"
_FIRST_DIGIT = "round(datum.value / pow(10, floor(log(datum.value) / LN10 + 1e-9)))"


@dataclass(frozen=True)
class Axis:
    """An axis of a chart."""

    label: str  #: the measure, with its unit
    log: bool = False  #: logarithmic if some values are above 0; values at 0 and below are then left out
    percent: bool = False  #: values are shares, and the ticks say per cent
    limits: tuple[float, float] | None = None  #: the ends; by default those of the data, with a margin
    whole: bool = False  #: values are counts: no tick between two whole numbers
    seconds: bool = False  #: values are times in seconds, and the ticks say ms, s and so on
    with_zero: bool = False  #: a logarithmic axis has a place for 0
    falling: bool = False  #: the largest value comes first
    bound: str = ""  #: the limits are the parameters BOUND_low and BOUND_high of a chart whose rows change

    def over(self, values: Iterable[float | None], margin: float) -> Axis:
        """A copy whose limits show these values; linear if none is above 0."""
        finite = [v for v in values if v is not None and math.isfinite(v)]
        log = self.log and (self.with_zero or any(v > 0 for v in finite) or bool(self.limits and self.limits[0] > 0))
        if self.limits is not None and self.limits[0] < self.limits[1] and (self.limits[0] > 0 or not log):
            return replace(self, log=log)
        shown = [v for v in finite if v > 0] if log and not self.with_zero else finite
        low, high = (min(shown), max(shown)) if shown else (0.0, 1.0)
        if log and self.with_zero:
            limits = -0.12, max(high, 1.0) * 1.2
        elif log:
            if high / low < 1.2:
                low, high = low / 1.25, high * 1.25
            factor = (high / low) ** margin
            limits = low / factor, high * factor
        else:
            if high - low <= 1e-9 * max(abs(low), abs(high)):
                spread = abs(low) * 0.25 or (0.01 if self.percent else 1.0)
                low, high = low - spread, high + spread
            room = (high - low) * margin
            limits = (max(low - room, -0.4 * room) if min(finite, default=0.0) >= 0 else low - room), high + room
        return replace(self, log=log, limits=limits)

    def shown(self, value: float | None) -> float | None:
        """The value; None if it cannot be shown."""
        if value is None or not math.isfinite(value) or (self.log and not self.with_zero and value <= 0):
            return None
        return float(value)

    def words(self, value: float) -> str:
        """A value as a tooltip says it."""
        if self.percent:
            return f"{100 * value:.4g}\N{NO-BREAK SPACE}%"
        if self.seconds:
            size, unit = next((entry for entry in _UNITS if abs(value) >= entry[0]), _UNITS[-1])
            return f"{value / size:.3g}\N{NO-BREAK SPACE}{unit}"
        return f"{value:,.0f}" if float(value).is_integer() and abs(value) < 1e15 else f"{value:.4g}"

    def scale(self) -> Any:
        """The Altair scale, once the limits are set."""
        alt, _ = modules()
        kind = "symlog" if self.log and self.with_zero else "log" if self.log else "linear"
        more: dict[str, Any] = ({"zero": False} if kind == "linear" else {}) | (
            {"reverse": True} if self.falling else {}
        )
        domain: list[Any] = list(self.limits or (0, 1))
        if self.bound:
            domain = [{"expr": f"{self.bound}_{end}"} for end in ("low", "high")]
        return alt.Scale(type=kind, domain=domain, nice=False, **more)

    def guide(self, length: int | str, room: int, *, across: bool = False, **more: Any) -> Any:
        """Altair's ticks, about this many pixels apart. A chart as wide as its container counts them itself.

        On an axis that goes `across`, labels that would overflow the picture are left out.
        """
        alt, _ = modules()
        expression = _PLAIN
        if self.percent:
            expression = "format(100 * datum.value, '.6~g') + '\N{NO-BREAK SPACE}%'"
        elif self.seconds:
            each = [
                f"datum.value >= {size} ? format(datum.value / {size}, '.6~g') + ' {unit}'" for size, unit in _UNITS
            ]
            expression = " : ".join(each) + " : '0'"
        low, high = self.limits or (0.0, 1.0)
        if self.log and self.with_zero:
            more["values"] = [0, *(10**k for k in range(int(math.log10(max(high, 1))) + 1))]
        elif self.log and high / low > 8:  # 1, 2, 5, 10 and so on, or of very many the powers of ten
            named = f"indexof({'[1]' if high / low > 1e4 else '[1, 2, 5]'}, {_FIRST_DIGIT}) >= 0"
            expression = f"{named} ? ({expression}) : ''"
            more["gridOpacity"] = {"condition": {"test": named, "value": 1}, "value": 0}
        else:
            room = room // 2 if self.log else room
            more["tickCount"] = length // room if isinstance(length, int) else alt.ExprRef(f"ceil(width / {room})")
        if self.whole:
            more["tickMinStep"] = 1
        if across:
            more["labelBound"] = 4
        return alt.Axis(labelExpr=f"replace({expression}, '-', '\N{MINUS SIGN}')", **more)

"""Horizontal bars with whiskers: what a feature weighs, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._atomic import replacing
from ..training.words import number, shortened, width_of
from .scales import Axis, scale_of
from .svg import element, line, picture, standalone, style_class, text, title_of

_FONT = 13.0
_ROW = 22.0


@dataclass(frozen=True)
class Bar:
    """A value, and how uncertain it is if that is known."""

    name: str
    value: float
    std: float | None = None


@dataclass(frozen=True)
class Bars:
    """Bars from zero to the left and to the right.

    Attributes
    ----------
    title, label : str
        What is shown, and what the axis measures.
    bars : sequence of Bar
    left, right : str
        What negative and positive values speak for, written above them.
    """

    title: str
    label: str
    bars: Sequence[Bar]
    left: str = ""
    right: str = ""
    description: str = ""

    def draw(self, width: float = 460.0) -> str:
        """The bars, so many pixels wide, as SVG."""
        reach = [bar.value + sign * (bar.std or 0.0) for bar in self.bars for sign in (-1, 1)]
        reach = [*reach, 0.0]
        room = min(max((width_of(bar.name, _FONT) for bar in self.bars), default=0.0), 0.42 * width) + 10
        top = 26.0 if self.left or self.right else 4.0
        bottom = top + _ROW * len(self.bars)
        low, high = min(reach), max(reach)
        pad = 0.04 * ((high - low) or 1.0)
        limits = (low - pad if low < 0 else 0.0, high + pad if high > 0 else 0.0)
        if limits[0] == limits[1]:
            limits = (-1.0, 1.0)
        scale = scale_of(Axis(self.label, limits=limits), reach, room, width - 14)
        ticks = scale.ticks(64.0)
        parts = [line(scale(v), top, scale(v), bottom, "grid") for v, _ in ticks]
        for k, bar in enumerate(self.bars):
            parts.append(self._bar(bar, top + _ROW * (k + 0.5), room, scale(0.0), scale))
        parts.append(line(scale(0.0), top, scale(0.0), bottom, "reference"))
        for value, words in ticks:
            parts.append(text(scale(value), bottom + 17, words, anchor="middle"))
        x_label = shortened(self.label, width, _FONT, bold=True)
        half = width_of(x_label, _FONT, bold=True) / 2
        middle = min(max((room + width - 14) / 2, half), width - half)
        parts.append(text(middle, bottom + 38, x_label, "strong", "middle"))
        parts.append(self._sides(scale(0.0), room, width))
        return picture(width, bottom + 46, "".join(parts), title=self.title, description=self.description)

    def save(self, path: str | Path, width: float = 560.0) -> None:
        """Write it to a file of its own (.svg)."""
        with replacing(path) as out:
            out.write(standalone(self.draw(width)).encode())

    def _bar(self, bar: Bar, y: float, room: float, zero: float, scale: object) -> str:
        assert callable(scale)
        end = scale(bar.value)
        sure = "" if bar.std is None else f" ± {number(bar.std)}"
        parts = [
            title_of(f"{bar.name}: {number(bar.value)}{sure}"),
            element("rect", x=min(zero, end), y=y - 7, width=abs(end - zero), height=14, class_="bar"),
        ]
        if bar.std is not None:
            start, stop = scale(bar.value - bar.std), scale(bar.value + bar.std)
            parts.append(line(start, y, stop, y, "whisker ink"))
            parts += [line(x, y - 3.5, x, y + 3.5, "whisker ink") for x in (start, stop)]
        group = element("g", *parts, class_=f"series {style_class(0 if bar.value >= 0 else 1)}")
        return text(room - 8, y + 4.5, shortened(bar.name, room - 8, _FONT), "name", "end", title=bar.name) + group

    def _sides(self, zero: float, room: float, width: float) -> str:
        """What the two sides stand for, as far as there is room on each."""
        negative = any(bar.value < 0 for bar in self.bars)
        positive = any(bar.value > 0 for bar in self.bars)
        parts = []
        if self.left and negative:
            words = shortened(f"← {self.left}", zero - 8, _FONT, bold=True)
            parts.append(text(zero - 6, 14, words, "series s1", "end", title=self.left))
        if self.right and positive:
            words = shortened(self.right, width - zero - 28, _FONT, bold=True) + " →"
            parts.append(text(zero + 6, 14, words, "series s0", title=self.right))
        return "".join(parts)

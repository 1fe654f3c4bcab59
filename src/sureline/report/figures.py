"""Charts with two axes: lines, points, bands and whiskers, linear or logarithmic, drawn as SVG.

A chart is data; `Chart.draw` makes a picture of any width out of it, with the names of the series beside their ends
where there is room, and says which it could not place, so that a page can put those into a legend.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from pathlib import Path

from .._atomic import replacing
from ..training.words import shortened, width_of
from . import labels
from .scales import Axis, Scale, scale_of
from .svg import element, escaped, line, marker, picture, polyline, standalone, style_class, text, title_of

FONT = 13.0
_LABEL_SHARE = 0.3  # of the width, at most, for names beside the curves


@dataclass(frozen=True)
class Series:
    """Points of one name.

    Attributes
    ----------
    name : str
    x, y : sequences of float
        Where a value is None or not finite, or not above 0 on a logarithmic axis, the line is broken.
    style : int or None
        Which colour, marker and dash; None for one of the many in the background.
    line, markers : bool
        What is drawn of it.
    low, high : sequences of float or None
        An interval around y: a band beside a line, whiskers on points without one.
    label : bool
        Whether its name is to be written beside it.
    notes : sequence of str or None
        For each point what is shown when the pointer rests on it.
    key : str or None
        Ties it to the row of a table that has the same key.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float | None]
    style: int | None = 0
    line: bool = True
    markers: bool = True
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None
    label: bool = True
    notes: Sequence[str] | None = None
    key: str | None = None


@dataclass(frozen=True)
class Reference:
    """A line to compare with: at a value of one axis ("x" or "y"), or the "diagonal" where both are equal."""

    label: str
    at: str = "y"
    value: float = 0.0


@dataclass(frozen=True)
class Drawing:
    """A picture, and the series whose names are not in it."""

    svg: str
    unnamed: list[Series]


@dataclass(frozen=True)
class Chart:
    """Series over two axes.

    Attributes
    ----------
    title : str
        What it shows, for those who cannot see it and for a file of its own.
    x, y : Axis
    series : sequence of Series
        Those in front come last.
    references : sequence of Reference
    frontier : sequence of pairs of float
        Points of a thin stair, from the left to the right: what no other point beats in both.
    description : str
        In words what is to be seen.
    """

    title: str
    x: Axis
    y: Axis
    series: Sequence[Series]
    references: Sequence[Reference] = ()
    frontier: Sequence[tuple[float, float]] = ()
    description: str = ""
    height: float = field(default=320.0)

    def draw(
        self, width: float = 460.0, height: float | None = None, *, beside: bool = True, legend: bool = False
    ) -> Drawing:
        """The chart, so many pixels wide.

        `beside` is to have the names of lines beside their ends, `legend` to have those that there is no room for below
        the chart, which makes it higher.
        """
        height = self.height if height is None else height
        return _Plot(self, width, height, beside).drawing(legend)

    def save(self, path: str | Path, width: float = 720.0, height: float = 420.0) -> None:
        """Write it to a file of its own (.svg)."""
        drawn = self.draw(width, height, legend=True).svg
        with replacing(path) as out:
            out.write(standalone(drawn).encode())


class _Plot:
    """A chart on its way to a picture of one size."""

    def __init__(self, chart: Chart, width: float, height: float, beside: bool) -> None:
        self.chart, self.width, self.height = chart, width, height
        lines = [s for s in chart.series if s.line and s.label and s.style is not None]
        room = max((width_of(s.name, FONT, bold=True) for s in lines), default=0.0)
        self.beside = lines if beside and room <= _LABEL_SHARE * width else []
        self.name_room = room if self.beside else 0.0
        top, bottom = 26.0, height - 44.0
        ys: list[float | None] = [v for s in chart.series for v in s.y]
        ys += [v for s in chart.series if not s.line for v in (*(s.low or ()), *(s.high or ()))]  # bands may go beyond
        ys += [r.value for r in chart.references if r.at == "y"]
        xs = [v for s in chart.series for v in s.x] + [r.value for r in chart.references if r.at == "x"]
        self.y = scale_of(chart.y, ys, bottom, top)
        self.y_ticks = self.y.ticks(26.0)
        left = 10.0 + max((width_of(words, FONT) for _, words in self.y_ticks), default=20.0)
        right = width - (16.0 + self.name_room if self.beside else 14.0)
        alone = bool(self.beside) or all(s.line for s in chart.series)  # lines go to the edge, points keep off it
        self.x = scale_of(chart.x, xs, left, right, 0.0 if alone else 0.05)
        self.x_ticks = self._x_ticks()
        self.taken: list[labels.Box] = []

    def _x_ticks(self) -> list[tuple[float, str]]:
        for room in (54.0, 70.0, 95.0, 130.0):
            ticks = self.x.ticks(room)
            if all(width_of(words, FONT) + 10 <= room for _, words in ticks):
                return ticks
        return []

    # -- pieces ----------------------------------------------------------------------------------------------

    def drawing(self, legend: bool) -> Drawing:
        chart, height = self.chart, self.height
        parts = [self._axes(), *(self._reference(r) for r in chart.references), self._frontier()]
        parts += [self._series(s) for s in sorted(chart.series, key=lambda s: s.style is not None)]
        names, unnamed = self._names()
        if legend and unnamed:
            below, height = self._legend(sorted(unnamed, key=lambda s: s.style or 0))
            names, unnamed = names + below, []
        body = "".join(parts) + names
        return Drawing(picture(self.width, height, body, title=chart.title, description=chart.description), unnamed)

    def _legend(self, unnamed: list[Series]) -> tuple[str, float]:
        """Marks and names in rows below the chart, and how high it all is then."""
        parts, x, y = [], 0.0, self.height + 18.0
        for s in unnamed:
            words = shortened(s.name, self.width - 36, FONT)
            needed = 36 + width_of(words, FONT)
            if x and x + needed > self.width:
                x, y = 0.0, y + 20
            mark = (line(x + 1, y, x + 27, y, "curve") if s.line else "") + marker(x + 14, y, s.style)
            parts.append(element("g", mark, class_=f"series {style_class(s.style)}"))
            parts.append(text(x + 34, y + 4.5, words, "name", title=s.name))
            x += needed + 16
        return "".join(parts), y + 14

    def _axes(self) -> str:
        left, right, bottom = self.x.start, self.x.stop, self.y.start
        parts = []
        for value, words in self.y_ticks:
            y = self.y(value)
            parts += [line(left, y, right, y, "grid"), text(left - 7, y + 4.5, words, anchor="end")]
        for value, words in self.x_ticks:
            x, half = self.x(value), width_of(words, FONT) / 2
            parts.append(line(x, bottom, x, bottom + 5, "base"))
            parts.append(text(min(max(x, half), self.width - half), bottom + 19, words, anchor="middle"))
        parts.append(line(left, bottom, right, bottom, "base"))
        parts.append(text(0, 12, shortened(self.chart.y.label, self.width, FONT, bold=True), "strong"))
        x_label = shortened(self.chart.x.label, self.width, FONT, bold=True)
        half = width_of(x_label, FONT, bold=True) / 2
        middle = min(max((left + right) / 2, half), self.width - half)
        parts.append(text(middle, self.height - 6, x_label, "strong", "middle"))
        return element("g", *parts, class_="axes")

    def _reference(self, reference: Reference) -> str:
        left, right, top, bottom = self.x.start, self.x.stop, self.y.stop, self.y.start
        if reference.at == "diagonal":
            low, high = max(self.x.low, self.y.low), min(self.x.high, self.y.high)
            ends = (self.x(low), self.y(low), self.x(high), self.y(high))
        elif reference.at == "x":
            x = self.x.clipped(reference.value)
            ends = (x, bottom, x, top)
        else:
            y = self.y.clipped(reference.value)
            ends = (left, y, right, y)
        drawn = line(*ends, "reference")
        if not reference.label:
            return drawn
        return element("g", title_of(reference.label), drawn)

    def _frontier(self) -> str:
        stairs = self._stairs()
        return element("path", d=polyline(stairs), class_="frontier") if stairs else ""

    def _stairs(self) -> list[tuple[float, float]]:
        points = [(self.x(x), self.y(y)) for x, y in self.chart.frontier if self.x.shows(x) and self.y.shows(y)]
        if len(points) < 2:
            return []
        stairs = [points[0]]
        for x, y in points[1:]:
            stairs += [(x, stairs[-1][1]), (x, y)]
        return stairs

    def _thin_boxes(self) -> list[labels.Box]:
        """Around the stair and the whiskers, which names had better not lie on."""
        stairs = self._stairs()
        ends = list(pairwise(stairs))
        for s in self.chart.series:
            if not s.line and s.low is not None and s.high is not None:
                ends += [((x, low), (x, high)) for x, low, high in self._ends(s)]
        return [
            labels.Box(min(a, c) - 1.5, min(b, d) - 1.5, max(a, c) + 1.5, max(b, d) + 1.5) for (a, b), (c, d) in ends
        ]

    def _points(self, s: Series) -> list[tuple[int, float, float]]:
        """Those that can be shown: which, and where."""
        return [
            (i, self.x.clipped(x), self.y.clipped(y))
            for i, (x, y) in enumerate(zip(s.x, s.y, strict=True))
            if y is not None and self.x.shows(x) and self.y.shows(y)
        ]

    def _series(self, s: Series) -> str:
        points = self._points(s)
        if not points:
            return ""
        parts = [title_of(s.name)] if s.notes is None else []
        if s.low is not None and s.high is not None:
            parts.append(self._interval(s))
        if s.line:
            # A point that is missing breaks the line: neighbours have numbers that follow on each other.
            for _, run in groupby(enumerate(points), key=lambda entry: entry[1][0] - entry[0]):
                piece = [(x, y) for _, (_, x, y) in run]
                if len(piece) > 1:
                    parts.append(element("path", d=polyline(piece), class_="curve"))
        if s.markers:
            shown = points if not s.line or len(points) <= 12 else _spread(points, s.style or 0)
            parts += [marker(x, y, s.style, s.notes[i] if s.notes else None) for i, x, y in shown]
        return element("g", *parts, class_=f"series {style_class(s.style)}", data_key=s.key)

    def _ends(self, s: Series) -> list[tuple[float, float, float]]:
        """Of its interval: where it is, where it begins and where it ends."""
        return [
            (self.x.clipped(x), self.y.clipped(low), self.y.clipped(high))
            for x, low, high in zip(s.x, s.low or (), s.high or (), strict=True)
            if low is not None and high is not None and self.x.shows(x) and math.isfinite(low) and self.y.shows(high)
        ]

    def _interval(self, s: Series) -> str:
        clipped = self._ends(s)
        if not s.line:
            return "".join(line(x, low, x, high, "whisker") for x, low, high in clipped)
        if len(clipped) < 2:
            return ""
        around = [(x, high) for x, _, high in clipped] + [(x, low) for x, low, _ in reversed(clipped)]
        return element("path", d=polyline(around) + "z", class_="band")

    # -- names -----------------------------------------------------------------------------------------------

    def _names(self) -> tuple[str, list[Series]]:
        shown = [s for s in self.chart.series if s.label and self._points(s)]
        ends, unnamed = self._names_of_lines([s for s in shown if s in self.beside])
        unnamed += [s for s in shown if s.line and s.style is not None and s not in self.beside]
        placed, left_over = self._names_of_points([s for s in shown if not s.line])
        return ends + placed, unnamed + [s for s in left_over if s.style is not None]

    def _names_of_lines(self, named: list[Series]) -> tuple[str, list[Series]]:
        if not named:
            return "", []
        at = [self._points(s)[-1] for s in named]
        heights = labels.spread([y for _, _, y in at], 16.0, self.y.stop, self.y.start)
        parts = []
        for s, (_, x, y), place in zip(named, at, heights, strict=True):
            start = self.x.stop + 16
            parts.append(line(x, y, start - 3, place, "lead"))
            words = shortened(s.name, self.name_room, FONT, bold=True)
            parts.append(text(start, place + 4.5, words, f"series {style_class(s.style)}", title=s.name))
        return "".join(parts), []

    def _names_of_points(self, named: list[Series]) -> tuple[str, list[Series]]:
        taken = [labels.Box(x - 5, y - 5, x + 5, y + 5) for s in self.chart.series for _, x, y in self._points(s)]
        bounds = labels.Box(self.x.start, self.y.stop - 4, self.width, self.y.start - 3)
        avoided = self._thin_boxes()
        parts, left_over = [], []
        for s in sorted(named, key=lambda s: (s.style is None, s.style or 0)):
            bold = s.style is not None
            words = shortened(s.name, 0.5 * self.width, FONT, bold=bold)
            _, x, y = self._points(s)[-1]
            place = labels.place(x, y, width_of(words, FONT, bold=bold), FONT, taken, bounds, avoided)
            if place is None:
                left_over.append(s)
                continue
            taken.append(place)
            classes = f"series {style_class(s.style)}"
            parts.append(text(place.left, place.bottom - 4, words, classes, title=s.name))
        return "".join(parts), left_over


def _spread(points: list[tuple[int, float, float]], turn: int) -> list[tuple[int, float, float]]:
    """About nine of many points, other ones for each style, and the last."""
    step = max(len(points) // 8, 1)
    return [*points[(turn * 3) % step : -1 : step], points[-1]]


def legend_mark(style: int | None, is_line: bool) -> str:
    """The small picture beside a name in a legend."""
    width = 28 if is_line else 14
    inside = (line(1, 8, 27, 8, "curve") if is_line else "") + marker(width / 2, 8, style)
    group = element("g", inside, class_=f"series {style_class(style)}")
    box = f"0 0 {width} 16"
    return element("svg", group, class_="chart mark", viewBox=box, width=width, height=16, aria_hidden="true")


__all__ = ["Axis", "Chart", "Drawing", "Reference", "Scale", "Series", "escaped", "legend_mark"]

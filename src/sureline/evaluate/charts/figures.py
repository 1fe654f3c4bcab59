"""Charts with two axes: lines, points, bands and whiskers, alone or side by side."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..._inputs import clean
from .axes import Axis
from .base import Figure, Moment, modules, titles

_MARKERS = 9  # on a curve of many points
_LONGEST_BESIDE = 28  # letters of a name next to a point

N_STYLES = 8
# In a square from -1 to 1, of about the same area: a marker for each of the styles, and a dash.
SHAPES = (
    "M-.9 0a.9 .9 0 1 0 1.8 0a.9 .9 0 1 0 -1.8 0z",
    "M-.8 -.8h1.6v1.6h-1.6z",
    "M0 -1.05L1 .75H-1z",
    "M0 -1.1L1.1 0L0 1.1L-1.1 0z",
    "M0 1.05L1 -.75H-1z",
    "M-.35 -1h.7v.65h.65v.7h-.65v.65h-.7v-.65h-.65v-.7h.65z",
    "M-1 -.5L-.5 -1L0 -.5L.5 -1L1 -.5L.5 0L1 .5L.5 1L0 .5L-.5 1L-1 .5L-.5 0z",
    "M-1.05 0L-.52 -.92H.52L1.05 0L.52 .92H-.52z",
)
DASHES: tuple[Sequence[float], ...] = (
    *((1, 0), (8, 3), (3, 2.5), (10, 3, 2, 3)),
    *((5, 2.5), (1.5, 2.5), (12, 3), (6, 2, 2, 2, 2, 2)),
)


@dataclass(frozen=True)
class Series:
    """Points with one name."""

    name: str
    #: The line is broken where a value is None, not finite, or not positive on a logarithmic axis.
    x: Sequence[float]
    y: Sequence[float | None]
    style: int | None = 0  #: the number of colour, marker and dash; None for a series in the background
    line: bool = True  #: whether a line is drawn of it, and markers
    markers: bool = True
    low: Sequence[float | None] | None = None  #: an interval around y: a band along a line, whiskers at points
    high: Sequence[float | None] | None = None
    label: bool = True  #: whether the name is written next to a point
    notes: Sequence[str] | None = None  #: a tooltip for each point
    key: str | None = None  #: ties it to the row of a table that has the same key


@dataclass(frozen=True)
class Reference:
    """A reference line: at a value of one axis ("x" or "y"), or the "diagonal"."""

    label: str
    at: str = "y"
    value: float = 0.0


@dataclass(frozen=True)
class Chart(Figure):
    """Series over two axes."""

    title: str  #: the title
    x: Axis
    y: Axis
    series: Sequence[Series]  #: later series are drawn on top
    references: Sequence[Reference] = ()
    #: Points of a thin stair, left to right: points that no other beats in both measures.
    frontier: Sequence[tuple[float, float]] = ()
    description: str = ""  #: the alternative text
    height: float = 320.0
    changes: bool = False  #: drawn without rows and limits, which `moment` has
    zooms = True

    def chart(self, colours: Mapping[str, str], width: int | str, page: bool, number: int = 0) -> Any:
        alt, _ = modules()
        x, y, named, rows = self._drawn()
        has = _parts_of(rows)
        if self.changes:
            x, y = replace(x, bound="x"), replace(y, bound="y")
        looks = _Looks(named, colours, width, page)
        across, up = (
            alt.X("x:Q", scale=x.scale(), axis=x.guide(width, 80, across=True, title=clean(x.label))),
            alt.Y("y:Q", scale=y.scale(), axis=y.guide(int(self.height), 50, title=None)),
        )
        base = alt.Chart().encode(across, up, looks.colour())
        layers = [*self._references(across, up, x, y, colours), *self._stairs(across, up, colours)]
        if "band" in has:
            band = base.transform_filter("datum.line && isValid(datum.low)").encode(alt.Y("low:Q"), alt.Y2("high:Q"))
            layers.append(band.mark_area(clip=True).encode(looks.faded(0.12)))
        if "whisker" in has:
            whisker = base.transform_filter("!datum.line && isValid(datum.low)")
            whisker = whisker.encode(alt.Y("low:Q"), alt.Y2("high:Q"), looks.faded(1.0))
            layers.append(whisker.mark_rule(clip=True, strokeWidth=1.5))
        if "line" in has:
            lines = base.transform_filter("datum.line").encode(detail="name:N", tooltip="name:N")
            if page:  # the area for the pointer is wider than the mark
                layers.append(lines.mark_line(clip=True, strokeWidth=12).encode(alt.OpacityValue(0)))
            thickness = alt.StrokeWidthValue(2, condition={"test": "datum.rest", "value": 1.1})
            lines = lines.encode(looks.dash(), thickness, looks.faded(1.0))
            layers.append(lines.mark_line(clip=True, strokeJoin="round"))
        if "mark" in has:
            points = base.transform_filter("isValid(datum.mark)").encode(looks.shape(), tooltip="note:N")
            size = alt.SizeValue(62, condition={"test": "datum.rest", "value": 26})
            points = points.mark_point(clip=True, filled=True, stroke=colours["card"], strokeWidth=1)
            layers.append(points.encode(size, looks.faded(1.0, unless="!datum.mark")))
        zoom = alt.selection_interval(
            name=f"zoom{number or ''}",
            bind="scales",
            zoom="wheel![event.ctrlKey || event.metaKey]",
            translate="[mousedown, window:mouseup] > window:mousemove!",
        )
        layers = layers or [base.mark_point()]
        layers[-1] = layers[-1].add_params(looks.chosen, zoom)  # to a layer that has both axes
        if page and "beside" in has:
            layers.append(_names(base, looks))
        made = alt.layer(*layers)
        made = made.properties(
            width=width,
            height=self.height,
            title=titles(self.title, self.y.label, page),
            description=clean(self.description or self.title),
        )
        # At last: all that was done before would have copied it.
        made.data = alt.NamedData("rows") if self.changes else alt.Data(values=rows)
        return made

    def moment(self) -> Moment:
        """The rows and limits, for a page that drew a figure of the same key with `changes`."""
        x, y, named, rows = self._drawn()
        looks = [(name, s.style, s.line, s.key) for s, name in named]
        axes = [(axis.label, axis.log, axis.log and _decades(axis)) for axis in (x, y)]
        key = repr((self.title, axes, looks, sorted(_parts_of(rows)), self.references, self.frontier, self.height))
        (left, right), (low, high) = x.limits or (0.0, 1.0), y.limits or (0.0, 1.0)
        return Moment(key, rows, {"x_low": left, "x_high": right, "y_low": low, "y_high": high})

    def _drawn(self) -> tuple[Axis, Axis, list[tuple[Series, str]], list[dict[str, Any]]]:
        """Axes with their limits, series with the names that they are shown by, and rows."""
        x, y = self._axes()
        named = list(zip(self.series, _unique(self.series), strict=True))
        named.sort(key=lambda one: one[0].style is not None)  # series in the background first
        return x, y, named, [row for s, name in named for row in _rows(s, name, x, y)]

    def _axes(self) -> tuple[Axis, Axis]:
        """The axes with their limits. Bands may exceed them, whiskers may not."""
        xs = [v for s in self.series for v in s.x] + [r.value for r in self.references if r.at == "x"]
        ys: list[float | None] = [v for s in self.series for v in s.y]
        ys += [v for s in self.series if not s.line for v in (*(s.low or ()), *(s.high or ()))]
        ys += [r.value for r in self.references if r.at == "y"]
        return self.x.over(xs, 0.02 if all(s.line for s in self.series) else 0.05), self.y.over(ys, 0.04)

    def _references(self, across: Any, up: Any, x: Axis, y: Axis, colours: Mapping[str, str]) -> list[Any]:
        alt, _ = modules()
        made = []
        for one in self.references:
            look: dict[str, Any] = {"color": colours["soft"], "strokeDash": [2, 3], "strokeWidth": 1, "clip": True}
            look["tooltip"] = clean(one.label) or None
            if one.at == "diagonal":
                (left, right), (low, high) = x.limits or (0, 1), y.limits or (0, 1)
                ends = [{"x": v, "y": v} for v in (max(left, low), min(right, high))]
                made.append(alt.Chart(alt.Data(values=ends)).encode(across, up).mark_line(**look))
            else:
                at = alt.Data(values=[{one.at: one.value}])
                made.append(alt.Chart(at).encode(across if one.at == "x" else up).mark_rule(**look))
        return made

    def _stairs(self, across: Any, up: Any, colours: Mapping[str, str]) -> list[Any]:
        alt, _ = modules()
        if len(self.frontier) < 2:
            return []
        stairs = alt.Chart(alt.Data(values=[{"x": x, "y": y} for x, y in self.frontier])).encode(across, up)
        return [
            stairs.mark_line(interpolate="step-after", clip=True, color=colours["soft"], strokeWidth=1, opacity=0.55)
        ]


@dataclass(frozen=True)
class Panels(Figure):
    """Figures next to each other, of a fixed width, with one legend for series that they all have."""

    title: str
    figures: Sequence[Figure]
    widths: Sequence[int]

    def chart(self, colours: Mapping[str, str], width: int | str, page: bool, number: int = 0) -> Any:
        alt, _ = modules()
        sized = zip(self.figures, self.widths, strict=True)
        charts = [one.chart(colours, wide, page, k + 1) for k, (one, wide) in enumerate(sized)]
        with warnings.catch_warnings():  # a selection across panels makes Altair warn
            warnings.simplefilter("ignore")
            made = alt.hconcat(*charts, spacing=36).resolve_scale(color="shared", shape="shared", strokeDash="shared")
        return made.properties(title=titles(self.title, "", page)) if self.title else made


class _Looks:
    """The looks of a chart's series: encodings of their names, shared by all layers."""

    def __init__(
        self, named: Sequence[tuple[Series, str]], colours: Mapping[str, str], width: int | str, page: bool
    ) -> None:
        alt, _ = modules()
        ordered = sorted(named, key=lambda one: (one[0].style is None, one[0].style or 0))
        self.names = [name for _, name in ordered]
        self.styles = [s.style for s, _ in ordered]
        self.colours, self.page = colours, page
        self.legend = None
        if page:
            self.chosen = alt.param(name="key", value=None)
            self.is_chosen = {"test": "!isValid(key) || datum.key == key"}
        else:
            self.chosen = alt.selection_point(name="chosen", fields=["name"], bind="legend")
            self.is_chosen = {"param": "chosen"}
            shown = [name for s, name in ordered if s.style is not None]
            if len(shown) > 1 and isinstance(width, int):
                room = 40 + 7 * min(max(map(len, shown)), 60)
                self.legend = alt.Legend(values=shown, columns=max(1, min(len(shown), width // room)))

    def _scaled(self, values: Sequence[Any]) -> Any:
        alt, _ = modules()
        return alt.Scale(domain=self.names, range=list(values))

    def colour(self) -> Any:
        alt, _ = modules()
        values = [self.colours["rest" if k is None else f"s{k % N_STYLES}"] for k in self.styles]
        more: dict[str, Any] = {}
        if self.page and None in self.styles:
            test = "datum.rest && isValid(key) && datum.key == key"
            more["condition"] = {"test": test, "value": self.colours["ink"]}
        return alt.Color("name:N", scale=self._scaled(values), legend=self.legend, **more)

    def dash(self) -> Any:
        alt, _ = modules()
        dashes = [DASHES[_turned(k)] for k in self.styles]
        return alt.StrokeDash("name:N", scale=self._scaled(dashes), legend=None)

    def shape(self) -> Any:
        alt, _ = modules()
        shapes = [SHAPES[_turned(k)] for k in self.styles]
        return alt.Shape("name:N", scale=self._scaled(shapes), legend=self.legend)

    def faded(self, opacity: float, unless: str | None = None) -> Any:
        """The opacity: lower for other series if one is chosen, and zero where the expression holds."""
        alt, _ = modules()
        conditions = [{"test": unless, "value": 0}] if unless else []
        return alt.OpacityValue(0.15 * opacity, condition=[*conditions, {**self.is_chosen, "value": opacity}])


def _rows(s: Series, name: str, x: Axis, y: Axis) -> list[dict[str, Any]]:
    """A row for each point that can be shown, with its marks."""
    rows: list[dict[str, Any]] = []
    step = max(len(s.x) // (_MARKERS - 1), 1) if s.line and len(s.x) > _MARKERS + 3 else 1
    first = 3 * (s.style or 0) % step  # at other points than on other curves
    for i, (x_value, y_value) in enumerate(zip(s.x, s.y, strict=True)):
        row: dict[str, Any] = {"x": x.shown(x_value), "y": y.shown(y_value), "name": name}
        if row["x"] is None:
            continue
        row |= {"key": s.key} if s.key is not None else {}
        row |= {"line": True} if s.line else {}
        row |= {"rest": True} if s.style is None else {}
        low, high = (None if ends is None else ends[i] for ends in (s.low, s.high))
        if low is not None and high is not None and y.shown(high) is not None:
            least, most = y.limits or (0.0, 1.0)
            row |= {"low": min(max(low, least), most), "high": max(min(high, most), least)}
        if s.markers and row["y"] is not None:
            row["mark"] = i % step == first or i == len(s.x) - 1
            said = f"{name}\n{clean(y.label)}: {y.words(row['y'])}\n{clean(x.label)}: {x.words(row['x'])}"
            row["note"] = said if s.notes is None else clean(s.notes[i])
        if s.label and not s.line and i == len(s.x) - 1:
            row["beside"] = name if len(name) <= _LONGEST_BESIDE else name[: _LONGEST_BESIDE - 1] + "…"
        rows.append(row)
    return rows


def _parts_of(rows: Sequence[Mapping[str, Any]]) -> set[str]:
    """The kinds of marks that there are to draw."""
    found = {part for row in rows for part in ("line", "mark", "beside") if part in row}
    return found | {"band" if row.get("line") else "whisker" for row in rows if "low" in row}


def _decades(axis: Axis) -> tuple[bool, bool]:
    """The decades of an axis, as far as its ticks depend on them."""
    low, high = axis.limits or (1.0, 1.0)
    return (high > 8 * low, high > 1e4 * low)


def _names(base: Any, looks: _Looks) -> Any:
    """Names next to points. The page's script moves or hides names that overlap."""
    alt, _ = modules()
    colour = looks.colour()
    colour.condition = {"test": "datum.rest", "value": looks.colours["soft"]}
    text = base.transform_filter("isValid(datum.beside) && names").mark_text(
        align="left", dx=9, fontSize=12, clip=False
    )
    text = text.encode(alt.Text("beside:N"), colour, looks.faded(1.0))
    return text.add_params(alt.param(name="names", value=False)).properties(name="names")


def _unique(series: Sequence[Series]) -> list[str]:
    """The names without unprintable characters; duplicates get a number."""
    made: list[str] = []
    for s in series:
        name = plain = clean(s.name).replace("\n", " ").strip() or "\N{EN DASH}"
        while name in made:
            name = f"{plain} ({made.count(plain) + sum(one.startswith(f'{plain} (') for one in made) + 1})"
        made.append(name)
    return made


def _turned(style: int | None) -> int:
    """The number of marker and dash; they change when the colours repeat."""
    return 0 if style is None else (style + style // N_STYLES) % N_STYLES


def mark(style: int | None, line: bool) -> str:
    """The marker of a style, with a piece of its line, as a small SVG for legends and tables."""
    colour = "var(--rest)" if style is None else f"var(--s{style % N_STYLES})"
    width, size = (30, 4.5) if line else (14, 4.5 if style is not None else 2.8)
    dashes = " ".join(map(str, DASHES[_turned(style)]))
    drawn = f'<path d="M1 8H29" stroke="{colour}" stroke-width="2" stroke-dasharray="{dashes}"/>' if line else ""
    shape = f'<path d="{SHAPES[_turned(style)]}" transform="translate({width / 2:g} 8) scale({size})"'
    size_of = f'viewBox="0 0 {width} 16" width="{width}" height="16"'
    return f'<svg class="mark" {size_of} aria-hidden="true">{drawn}{shape} fill="{colour}"/></svg>'

"""Charts of fields: bars with whiskers, histograms, and maps over the grid of two parameters."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._inputs import clean
from .axes import Axis
from .base import Figure, Moment, modules, titles

_STEPS = 7  # colours of a map
_WIDEST_CELL = 96
_NARROWEST_WITH_FIGURES = 40


@dataclass(frozen=True)
class Bar:
    """A value with its uncertainty, if known."""

    name: str
    value: float
    std: float | None = None


@dataclass(frozen=True)
class Bars(Figure):
    """Horizontal bars from zero to the left and to the right, with whiskers of one standard deviation."""

    title: str
    label: str  #: the measure of the axis
    bars: Sequence[Bar]
    left: str = ""  #: the meaning of negative and positive values, written above them
    right: str = ""
    description: str = ""
    changes: bool = False  #: drawn without bars and limits, which `moment` has

    def moment(self) -> Moment:
        """The bars and limits, for a page that drew a figure of the same key with `changes`."""
        low, high, (start, end) = self._ends()
        stds = any(bar.std is not None for bar in self.bars)
        key = repr((self.title, self.label, len(self.bars), stds, self.left, low < 0, self.right, high > 0))
        names = [clean(bar.name) for bar in self.bars]
        return Moment(key, self._rows(), {"x_low": start, "x_high": end, "names": names})

    def _ends(self) -> tuple[float, float, tuple[float, float]]:
        """The least and the largest value, and the limits of the axis."""
        ends = [bar.value + sign * (bar.std or 0.0) for bar in self.bars for sign in (-1, 1)]
        low, high = min([*ends, 0.0]), max([*ends, 0.0])
        pad = 0.04 * (high - low)
        return low, high, (low - pad, high + pad) if pad else (-1.0, 1.0)

    def _rows(self) -> list[dict[str, Any]]:
        return [_bar_row(k, bar) for k, bar in enumerate(self.bars)]

    def chart(self, colours: Mapping[str, str], width: int | str, page: bool, number: int = 0) -> Any:
        alt, _ = modules()
        low, high, limits = self._ends()
        axis = Axis(self.label, limits=limits, bound="x" if self.changes else "")
        names = "names" if self.changes else json.dumps([clean(bar.name) for bar in self.bars])
        guide = axis.guide(
            width, 80, across=True, title=clean(self.label), grid=True, titleAnchor="end" if page else "middle"
        )
        across = alt.X("value:Q", scale=axis.scale(), axis=guide)
        labels = alt.Axis(labelExpr=f"{names}[datum.value]", labelLimit=150, labelColor=colours["ink"], title=None)
        down = alt.Y("row:O", sort=None, scale=alt.Scale(paddingInner=0.35, paddingOuter=0.2), axis=labels)
        base = alt.Chart().encode(across, down, tooltip="note:N")
        sides = alt.ColorValue(colours["s0"], condition={"test": "datum.value < 0", "value": colours["s1"]})
        layers = [base.mark_bar(opacity=0.82, cornerRadius=1).encode(sides)]
        if any(bar.std is not None for bar in self.bars):
            sure = base.transform_filter("isValid(datum.low)").encode(alt.X("low:Q"))
            ink = {"color": colours["ink"], "strokeWidth": 1.4}
            layers.append(sure.mark_rule(**ink).encode(alt.X2("high:Q")))
            layers += [sure.mark_tick(thickness=1.4, size=7, color=colours["ink"]).encode(alt.X(x)) for x in _ENDS]
        zero = alt.Chart(alt.Data(values=[{"value": 0}])).encode(across)
        layers.append(zero.mark_rule(color=colours["soft"], strokeDash=[2, 3], strokeWidth=1))
        room = {"right": "min(120, scale('x', 0) + 50)", "left": "min(120, width - scale('x', 0))"}
        for words, there, align in ((self.left, low < 0, "right"), (self.right, high > 0, "left")):
            if words and there:
                text = f"← {clean(words)}" if align == "right" else f"{clean(words)} →"
                colour = colours["s1" if align == "right" else "s0"]
                side = {"align": align, "dx": -6 if align == "right" else 6, "color": colour, "y": -10}
                side["limit"] = alt.ExprRef(room[align]) if page else 120
                layers.append(zero.mark_text(text=_shorter(text, 18), fontSize=12, fontWeight=600, **side))
        rows = alt.NamedData("rows") if self.changes else alt.Data(values=self._rows())
        return alt.layer(*layers, data=rows).properties(
            width=width,
            height=max(24 * len(self.bars), 24),
            description=clean(self.description or self.title),
            **({"title": titles(self.title, "", page)} if self.title and not page else {}),
        )


_ENDS = ("low:Q", "high:Q")


def _bar_row(k: int, bar: Bar) -> dict[str, Any]:
    row: dict[str, Any] = {"row": k, "value": bar.value, "note": f"{clean(bar.name)}: {bar.value:.4g}"}
    if bar.std is None:
        return row
    return row | {
        "low": bar.value - bar.std,
        "high": bar.value + bar.std,
        "note": f"{row['note']} ± {bar.std:.3g}",
    }


def _shorter(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


@dataclass(frozen=True)
class Histogram(Figure):
    """A histogram: counts over bins, given by their edges."""

    title: str
    x: Axis
    y: Axis
    edges: Sequence[float]
    counts: Sequence[int]

    def chart(self, colours: Mapping[str, str], width: int | str, page: bool, number: int = 0) -> Any:
        alt, _ = modules()
        x, y = self.x.over(self.edges, 0.0), self.y.over([0 if not self.y.log else 0.8, max(self.counts)], 0.03)
        floor = (y.limits or (0.0, 1.0))[0]
        rows = [
            {"from": a, "to": b, "n": n, "note": f"{x.words(a)} to {x.words(b)}: {y.words(n)}", "floor": floor}
            for a, b, n in zip(self.edges[:-1], self.edges[1:], self.counts, strict=True)
            if n
        ]
        bars = alt.Chart(alt.Data(values=rows)).mark_bar(color=colours["s0"], opacity=0.82, binSpacing=1)
        return bars.encode(
            alt.X("from:Q", scale=x.scale(), axis=x.guide(width, 60, across=True, title=clean(x.label))),
            alt.X2("to:Q"),
            alt.Y("n:Q", scale=y.scale(), axis=y.guide(240, 40, title=None)),
            alt.Y2("floor:Q"),
            tooltip="note:N",
        ).properties(width=width, height=240, title=titles(self.title, self.y.label, page))


@dataclass(frozen=True)
class MapCell:
    """A cell of a heat map: its value, or None with the reason."""

    value: float | None
    note: str = ""


@dataclass(frozen=True)
class HeatMap(Figure):
    """Values over rows and columns. Lower is better, unless stated otherwise."""

    title: str
    x_label: str  #: the names of the two parameters
    y_label: str
    x: Sequence[str]  #: their values, as written at columns and rows
    y: Sequence[str]
    cells: Mapping[tuple[int, int], MapCell]  #: by column and row
    best: tuple[int, int] | None = None  #: the cell to be framed
    measure: str = "error"  #: the measure of the values, for the scale below
    higher_is_better: bool = False
    percent: bool = True  #: they are shares
    description: str = ""

    @property
    def widest(self) -> int:  # type: ignore[override]
        return 60 + _WIDEST_CELL * len(self.x)

    def chart(self, colours: Mapping[str, str], width: int | str, page: bool, number: int = 0) -> Any:
        alt, _ = modules()
        rows = [self._row(at, cell) for at, cell in self.cells.items()]
        across = {"labelExpr": f"{json.dumps([clean(words) for words in self.x])}[datum.value]", "labelAngle": 0}
        down = {"labelExpr": f"{json.dumps([clean(words) for words in self.y])}[datum.value]", "title": None}
        plain = {"domain": False, "ticks": False, "grid": False, "labelLimit": 120}
        base = alt.Chart().encode(
            alt.X("i:O", axis=alt.Axis(title=clean(self.x_label), **plain, **across)),
            alt.Y("j:O", axis=alt.Axis(**plain, **down)),
            tooltip="note:N",
        )
        steps = list(range(_STEPS))
        scale = alt.Scale(domain=steps, range=[colours[f"h{k}"] for k in steps])
        ink = alt.Scale(domain=steps, range=[colours[f"t{k}"] for k in steps])
        known = base.transform_filter("isValid(datum.step)")
        gone = base.transform_filter("!isValid(datum.step)")
        fits = f"width / {max(len(self.x), 1)} < {_NARROWEST_WITH_FIGURES} ? 0 : 1"
        fits = fits if not isinstance(width, int) else str(int(width / max(len(self.x), 1) >= _NARROWEST_WITH_FIGURES))
        layers = [
            known.mark_rect(cornerRadius=4, stroke=colours["card"], strokeWidth=2).encode(
                alt.Color("step:O", scale=scale, legend=self._scale())
            ),
            gone.mark_rect(filled=False, cornerRadius=3, strokeDash=[3, 2], stroke=colours["line"], strokeWidth=1),
            known.mark_text(fontSize=11, opacity=alt.ExprRef(fits)).encode(
                alt.Text("words:N"), alt.Color("step:O", scale=ink, legend=None)
            ),
        ]
        if self.best is not None:
            framed = base.transform_filter("datum.best")
            layers.append(framed.mark_rect(filled=False, stroke=colours["ink"], strokeWidth=2.5, cornerRadius=3))
        return (
            alt.layer(*layers, data=alt.Data(values=rows))
            .resolve_scale(color="independent")
            .properties(
                width=width,
                height=30 * len(self.y),
                title=titles(self.title, self.y_label, page),
                description=clean(self.description or self.title),
            )
        )

    def _known(self) -> list[float]:
        return sorted(cell.value for cell in self.cells.values() if cell.value is not None)

    def _bounds(self) -> tuple[float, float]:
        """The best value, and the value where the colours end: a few bad settings must not hide other differences."""
        known = self._known()
        if self.higher_is_better:
            known.reverse()
        end = known[(3 * len(known)) // 4]
        return known[0], end + (end - known[0]) * 0.25

    def _row(self, at: tuple[int, int], cell: MapCell) -> dict[str, Any]:
        row: dict[str, Any] = {"i": at[0], "j": at[1], "note": clean(cell.note), "best": at == self.best}
        if cell.value is None:
            return row
        best, worst = self._bounds()
        share = 0.0 if worst == best else (cell.value - best) / (worst - best)
        step = _STEPS - 1 - min(max(int(share * _STEPS), 0), _STEPS - 1)  # the best is the strongest
        return row | {"step": step, "words": self._figure(cell.value)}

    def _figure(self, value: float, unit: str = "") -> str:
        if not self.percent:
            return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")
        best = abs(100 * self._bounds()[0])
        places = 2 - math.floor(math.log10(best)) if best > 0 else 2
        return f"{100 * value:.{min(max(places, 0), 5)}f}{unit}"

    def _scale(self) -> Any:
        """The legend of the colours, from the best to the worst."""
        alt, _ = modules()
        if not self._known():
            return None
        unit = "\N{NO-BREAK SPACE}%" if self.percent else ""
        best, worst = (self._figure(value, unit) for value in self._bounds())
        beyond = "≤" if self.higher_is_better else "≥"
        said = f"datum.value == {_STEPS - 1} ? '{best}' : datum.value == 0 ? '{beyond} {worst}' : ''"
        return alt.Legend(
            title=clean(self.measure),
            values=list(range(_STEPS))[::-1],
            labelExpr=said,
            symbolType="square",
            symbolSize=220,
            columnPadding=2,
            columns=_STEPS,
        )

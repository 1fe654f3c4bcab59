"""A map of a measure over the grid of two parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._atomic import replacing
from ..training.words import number, percent, shortened, width_of
from .svg import element, line, picture, standalone, text, title_of

_FONT = 13.0
_STEPS = 7
_ROW = 30.0


@dataclass(frozen=True)
class Cell:
    """A setting: its value, or None with the reason why there is none."""

    value: float | None
    note: str = ""


@dataclass(frozen=True)
class HeatMap:
    """Values over rows and columns; the lower the better unless it is said otherwise.

    Attributes
    ----------
    title : str
    x_label, y_label : str
        The names of the two parameters.
    x, y : sequences of str
        Their values, as written at columns and rows.
    cells : mapping of (column, row) to Cell
    best : (column, row) or None
        The one to be framed.
    measure : str
        What the values are, for the scale below.
    percent : bool
        They are shares.
    """

    title: str
    x_label: str
    y_label: str
    x: Sequence[str]
    y: Sequence[str]
    cells: Mapping[tuple[int, int], Cell]
    best: tuple[int, int] | None = None
    measure: str = "error"
    higher_is_better: bool = False
    percent: bool = True
    description: str = ""

    def draw(self, width: float = 460.0) -> str:
        """The map, so many pixels wide, as SVG."""
        left = 12.0 + max((width_of(words, _FONT) for words in self.y), default=0.0)
        wide = min((width - left - 2) / max(len(self.x), 1), 96.0)
        top = 26.0
        bottom = top + _ROW * len(self.y)
        parts = [text(0, 12, shortened(self.y_label, width, _FONT, bold=True), "strong")]
        for j, words in enumerate(self.y):
            parts.append(text(left - 8, top + _ROW * (j + 0.5) + 4.5, words, anchor="end"))
        for (i, j), cell in self.cells.items():
            parts.append(self._cell(cell, left + wide * i, top + _ROW * j, wide))
        if self.best is not None:
            i, j = self.best
            place = {"x": left + wide * i + 1, "y": top + _ROW * j + 1, "width": wide - 2, "height": _ROW - 2}
            parts.append(element("rect", class_="cell-best", rx=3, **place))
        every = self._every(wide)
        for i, words in enumerate(self.x):
            if i % every == 0:
                parts.append(text(left + wide * (i + 0.5), bottom + 18, words, anchor="middle"))
        parts.append(text(left, bottom + 40, shortened(self.x_label, width - left, _FONT, bold=True), "strong"))
        parts.append(self._scale(width, bottom + 56))
        return picture(width, bottom + 76, "".join(parts), title=self.title, description=self.description)

    def save(self, path: str | Path, width: float = 720.0) -> None:
        """Write it to a file of its own (.svg)."""
        with replacing(path) as out:
            out.write(standalone(self.draw(width)).encode())

    def _every(self, wide: float) -> int:
        """At which columns there is room for what is written: at every one, every second and so on."""
        longest = max((width_of(words, _FONT) for words in self.x), default=0.0) + 8
        return max(1, int(-(-longest // wide)))

    def _known(self) -> list[float]:
        return sorted(cell.value for cell in self.cells.values() if cell.value is not None)

    def _bounds(self) -> tuple[float, float]:
        """The best value and the one at which the colours end: a few bad settings must not make all others alike."""
        known = self._known()
        if self.higher_is_better:
            known.reverse()
        end = known[(3 * len(known)) // 4]
        return known[0], end + (end - known[0]) * 0.25

    def _step(self, value: float) -> int:
        """Which of the colours: the best is the strongest."""
        best, worst = self._bounds()
        share = 0.0 if worst == best else (value - best) / (worst - best)
        return _STEPS - 1 - min(max(int(share * _STEPS), 0), _STEPS - 1)

    def _cell(self, cell: Cell, x: float, y: float, wide: float) -> str:
        if cell.value is None:
            mark = line(x + wide / 2 - 4, y + _ROW / 2, x + wide / 2 + 4, y + _ROW / 2, "base")
            box = element("rect", x=x + 2, y=y + 2, width=wide - 4, height=_ROW - 4, rx=3, class_="cell-none")
            return element("g", title_of(cell.note), box, mark)
        step = self._step(cell.value)
        box = element("rect", x=x, y=y, width=wide, height=_ROW, rx=4, class_=f"cell h{step}")
        words = self._figure(cell.value)
        shown = ""
        if width_of(words, 11.0) + 4 <= wide:
            shown = text(x + wide / 2, y + _ROW / 2 + 4, words, f"small t{step}", "middle")
        return element("g", title_of(cell.note), box, shown)

    def _figure(self, value: float) -> str:
        if not self.percent:
            return number(value)
        best = abs(100 * self._bounds()[0])
        places = 2 - math.floor(math.log10(best)) if best > 0 else 2
        return f"{100 * value:.{min(max(places, 0), 5)}f}"

    def _scale(self, width: float, y: float) -> str:
        """What the colours mean."""
        if not self._known():
            return ""
        best, worst = self._bounds()
        first, last = (percent(best), percent(worst)) if self.percent else (number(best), number(worst))
        words = shortened(f"{self.measure}:", width, _FONT)
        start = width_of(words, _FONT) + 8
        wide = 22.0
        if start + width_of(first + last, _FONT) + wide * _STEPS + 20 > width:
            start, words = 0.0, ""
        x = start + width_of(first, _FONT) + 8
        parts = [text(0, y + 12, words)] if words else []
        parts.append(text(start, y + 12, first))
        for k in range(_STEPS):
            parts.append(element("rect", x=x + wide * k, y=y, width=wide, height=15, class_=f"h{_STEPS - 1 - k}"))
        beyond = "and less" if self.higher_is_better else "and more"
        end = f"{last} {beyond}"
        end_x = x + wide * _STEPS + 8
        if end_x + width_of(end, _FONT) > width:
            end = last
        parts.append(text(end_x, y + 12, end))
        return "".join(parts)

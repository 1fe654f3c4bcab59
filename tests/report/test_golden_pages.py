"""Pages of stored results, word by word, and their pictures. They change only if the report does.

After a change that is wanted, look at the pages and then write the words anew:

    python tests/report/test_golden_pages.py
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sureline.evaluate.charts import (
    Axis,
    Bar,
    Bars,
    Chart,
    Figure,
    HeatMap,
    Histogram,
    MapCell,
    Panels,
    Reference,
    Series,
)
from sureline.report import report
from sureline.training.result import Run, TournamentResult

GOLDEN = Path(__file__).parent / "golden"
RESULTS = ["compared", "tuned", "classes"]
BLOCKS = {"p", "h1", "h2", "h3", "h4", "tr", "li", "dt", "dd", "summary", "pre", "figcaption", "section", "table"}


class Words(HTMLParser):
    """The readable text of a page, one block per line, and the specifications of its pictures."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.lines: list[str] = [""]
        self.pictures: list[Any] = []
        self._hidden = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._hidden += tag in ("style", "script", "svg")
        if tag in BLOCKS:
            self.lines.append("")
        for _, value in attrs:
            if value and value.startswith("{") and "vega-lite" in value:
                self.pictures.append(json.loads(value))

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script", "svg")
        if tag in BLOCKS:
            self.lines.append("")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.lines[-1] += " " + data


def of_page(name: str) -> tuple[str, dict[str, Any]]:
    """The words of a page, and a digest of each picture."""
    told = json.loads((GOLDEN / f"{name}.json").read_text())
    words = Words(report(TournamentResult(**{**told, "runs": [Run(**run) for run in told["runs"]]})))
    lines = [" ".join(line.replace("\N{NO-BREAK SPACE}", " ").split()) for line in words.lines]
    return "".join(f"{line}\n" for line in lines if line), {
        "altair": altair_version(),
        "pictures": [digest(picture) for picture in words.pictures],
    }


def digest(picture: dict[str, Any]) -> str:
    told = json.dumps({k: v for k, v in picture.items() if k != "$schema"}, sort_keys=True)
    return hashlib.sha256(re.sub(r'"(view|param)_\w+"', '""', told).encode()).hexdigest()[:16]


def altair_version() -> str:
    return ".".join(pytest.importorskip("altair").__version__.split(".")[:2])


@pytest.mark.parametrize("name", RESULTS)
def test_the_words_of_a_page(name: str) -> None:
    words, pictures = of_page(name)
    assert words == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    stored = json.loads((GOLDEN / f"{name}.pictures.json").read_text())
    assert len(pictures["pictures"]) == len(stored["pictures"]) > 2
    if pictures["altair"] == stored["altair"]:  # another one writes other specifications
        assert pictures == stored


def figures() -> dict[str, Figure]:
    """Some of each kind: with and without bands, limits, notes, logarithms and colours."""
    xs = [1, 2, 4, 8, 16]
    band = Series("with a band", xs, [0.5, 0.4, 0.3, 0.25, 0.2], low=[0.4] * 5, high=[0.6] * 5, notes=list("abcde"))
    plain = [
        Series(f"line {k}", xs, [0.1 * k + x / 40 for x in xs], k, line=k % 3 > 0, markers=k % 2 > 0) for k in range(8)
    ]
    pale = [Series(f"pale {k}", xs[: 3 + k], [0.3 - k / 20] * (3 + k), None, label=False) for k in range(2)]
    points = [Series("a", [1.5], [0.2], 0, line=False, low=[0.1], high=[0.3], key="a"), Series("a", [3], [0.4], 1)]
    lines = [Reference("guessing", "y", 0.3), Reference("drift", "x", 5.0), Reference("equal", "diagonal")]
    cells = {
        (0, 0): MapCell(0.5, "half"),
        (1, 0): MapCell(0.25),
        (1, 1): MapCell(None, "failed"),
        (0, 1): MapCell(0.31),
    }
    chart = Chart("Lines", Axis("rows", log=True), Axis("error", percent=True), [band, *plain, *pale], lines)
    small = Chart("Points", Axis("time", seconds=True, log=True), Axis("size"), points, frontier=[(1.5, 0.4), (3, 0.2)])
    shape = ("C", "eta", ["0.5", "1"], ["0.6", "0.7"], cells)
    return {
        "lines": chart,
        "points": small,
        "empty": Chart("Empty", Axis("x"), Axis("y"), []),
        "bars": Bars("Bars", "weight", [Bar("a", 1.0, 0.5), Bar("b", -2.0), Bar("c", 0.0)], "ham", "spam"),
        "histogram": Histogram("Counts", Axis("x", log=True), Axis("n", log=True), [1, 10, 100, 1000], [3, 0, 2000]),
        "linear histogram": Histogram("Counts", Axis("x"), Axis("n"), [0, 1, 2, 3], [3, 5, 2]),
        "map": HeatMap("Map", *shape, (1, 0), "error"),
        "map of gains": HeatMap("Map", *shape, None, "gain", higher_is_better=True, percent=False),
        "panels": Panels("Both", [chart, small], [300, 200]),
    }


def of_figures() -> dict[str, Any]:
    told = {
        f"{name}, {'on a page' if page else 'a file'}": digest(figure.draw(width=300, page=page).to_dict())
        for name, figure in figures().items()
        for page in (False, True)
        if not (page and name == "panels")
    }
    return {"altair": altair_version(), "pictures": told}


def test_pictures_of_their_own() -> None:
    stored = json.loads((GOLDEN / "figures.json").read_text())
    if altair_version() != stored["altair"]:
        pytest.skip("another version of Altair writes other specifications")
    assert of_figures() == stored


def write() -> None:
    (GOLDEN / "figures.json").write_text(json.dumps(of_figures(), indent=1) + "\n")
    for name in RESULTS:
        words, pictures = of_page(name)
        (GOLDEN / f"{name}.txt").write_text(words, encoding="utf-8")
        (GOLDEN / f"{name}.pictures.json").write_text(json.dumps(pictures, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(write())

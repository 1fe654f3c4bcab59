"""The charts of reports and files: their contents, positions and colours; and numbers as text."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hostile_results import HOSTILE, LONG

from sureline._inputs import clean
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
from sureline.evaluate.charts.colours import DARK, LIGHT
from sureline.training.words import compact, duration, listed, number, percent, shortened, size

# -- figures -------------------------------------------------------------------------------------------------

SVG = "{http://www.w3.org/2000/svg}"


def parsed(figure: Figure, tmp_path: Path) -> ElementTree.Element:
    path = tmp_path / "figure.svg"
    figure.save(path)
    return ElementTree.parse(path).getroot()


def texts(root: ElementTree.Element) -> list[str]:
    return [e.text or "" for e in root.iter(f"{SVG}text") if e.get("opacity") != "0"]


def marks(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    """The elements of the marks of a kind."""
    return [one for e in root.iter() if (e.get("class") or "").startswith(f"mark-{kind} role-mark") for one in e]


def kinds(name: str) -> list[Figure]:
    """A figure of each kind, with that name wherever there is one."""
    lines = [Series(name, [1, 2, 3], [3, 4, 5], low=[2, 3, 4], high=[4, 5, 6]), Series(name, [1, 2], [2, 2], None)]
    points = [
        Series(name, [1], [2], 1, line=False, low=[1], high=[3], key="k"),
        Series(name, [2], [3], None, line=False),
    ]
    references = [Reference(name, "y", 3.0), Reference(name, "x", 1.5), Reference(name, "diagonal")]
    chart = Chart(name, Axis(name, log=True), Axis(name), lines, references, description=name)
    return [
        chart,
        Chart(name, Axis(name), Axis(name, seconds=True), points, frontier=[(1, 3), (2, 2)]),
        Bars(name, name, [Bar(name, 1.0, 0.5), Bar(name, -1.0)], name, name),
        Histogram(name, Axis(name, log=True), Axis(name, log=True), [1, 10, 100], [3, 2000]),
        HeatMap(
            *(name, name, name, [name, "b"], ["c", name]),
            {(0, 0): MapCell(0.5, name), (1, 0): MapCell(0.7), (1, 1): MapCell(None, name)},
            (0, 0),
            name,
        ),
        Panels(name, [chart, chart], [200, 200]),
    ]


@pytest.mark.parametrize("name", ["plain", HOSTILE, LONG, "\x00\x1b\ud800\u202e", "", "\N{HIRAGANA LETTER A}" * 50])
def test_figures_are_files_of_their_own_whatever_the_names(name: str, tmp_path: Path) -> None:
    for figure in kinds(name):
        root = parsed(figure, tmp_path)
        assert root.tag == f"{SVG}svg"
        assert "prefers-color-scheme" in (root.findtext(f"{SVG}style") or "")
        assert "NaN" not in ElementTree.tostring(root, encoding="unicode")


@pytest.mark.parametrize("page", [False, True])
@pytest.mark.parametrize("k", range(6))
def test_every_kind_is_what_vega_lite_asks_for(k: int, page: bool) -> None:
    chart = kinds("A name")[k].draw(page=page, width=300 if k == 5 else "container" if page else 300)
    told = chart.to_dict(validate=True)
    assert told["$schema"].startswith("https://vega.github.io/schema/vega-lite/")
    assert (
        kinds("A name")[k].draw(page=page, width=300).to_dict()
        == kinds("A name")[k].draw(page=page, width=300).to_dict()
    )


def test_files_are_png_svg_pdf_or_html(tmp_path: Path) -> None:
    chart = kinds("A")[0]
    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<svg"), (".PDF", b"%PDF"), (".html", b"<!DOCTYPE html>")):
        path = tmp_path / f"a{suffix}"
        chart.save(path)
        assert path.read_bytes().lstrip().startswith(start)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link)[^>]* (src|href)=", page)  # all that it needs is in it
    with pytest.raises(ValueError, match=r"a.doc must end in .png, .svg, .pdf or .html\.$"):
        chart.save(tmp_path / "a.doc")


def test_without_altair_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules[sys.argv[2]] = None\n"
        "from sureline.evaluate.charts import Axis, Chart, Series\n"
        "try: Chart('t', Axis('x'), Axis('y'), [Series('A', [1, 2], [3, 4])]).save(sys.argv[1])\n"
        "except ImportError as error: print(error)"
    )
    for module in ("altair", "vl_convert"):
        command = [sys.executable, "-c", script, tmp_path / "a.svg", module]
        told = subprocess.run(command, capture_output=True, text=True, check=True)
        assert told.stdout == "Charts need altair and vl-convert-python: pip install 'sureline[plot]'.\n"


def test_a_chart_puts_points_where_they_belong(tmp_path: Path) -> None:
    chart = Chart(
        "t",
        Axis("x", log=True, limits=(1.0, 1000.0)),
        Axis("y", limits=(0.0, 1.0)),
        [Series("A", [1, 10, 100, 1000], [0.0, 0.5, None, 1.0])],
        [Reference("half", "y", 0.5)],
        height=300,
    )
    root = parsed(chart, tmp_path)
    (curve,) = marks(root, "line")
    first, *others = curve.attrib["d"].removeprefix("M").split("M")  # the missing point breaks it
    (x0, y0), (x1, y1) = ([float(v) for v in p.split(",")] for p in first.split("L"))
    assert (x0, y0, y1) == (0, 300, 150)
    assert x1 == pytest.approx(640 / 3, abs=0.01)
    assert [p.split("L")[0].rstrip("Z") for p in others] == ["640,0"]
    (reference,) = marks(root, "rule")
    assert reference.attrib["transform"].endswith(",150)")
    places = [e.attrib["transform"].removeprefix("translate(").rstrip(")").split(",") for e in marks(root, "symbol")]
    np.testing.assert_allclose(np.array(places, float), [[0, 300], [640 / 3, 150], [640, 0]], atol=0.01)


@pytest.mark.parametrize("more", [{}, {"percent": True}, {"seconds": True}])
def test_axes_show_their_values_and_name_their_ticks(more: dict[str, bool], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for k in range(24):
        low, high = sorted(10 ** rng.uniform(-6, 6, 2))
        if k % 3 == 0:
            high = low * (1 + 10 ** rng.uniform(-2, 0))
        for log in (False, True):
            axis = Axis("a", log=log, **more).over([low, None, high, math.nan, 0.0 if log else low], 0.04)
            assert axis.limits is not None
            assert axis.limits[0] <= low < high <= axis.limits[1]
            assert axis.limits[0] > 0 or not log
            labels = list(texts(parsed(Chart("", Axis("x"), axis, [Series("A", [1, 2], [low, high])]), tmp_path)))
            ticks = [text for text in labels if text and text[0].isdigit() and text not in ("1", "2")]
            assert len(ticks) >= 1, (low, high, log)
            if more.get("percent"):
                assert any("%" in text for text in ticks)


def test_every_name_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    names = [f"a name that is long but not endless {k}" for k in range(5)]
    for line in (True, False):
        same = [Series(name, [1, 2], [3, 4], k, line=line) for k, name in enumerate(names)]
        shown = texts(parsed(Chart("t", Axis("x"), Axis("y"), same), tmp_path))
        assert [text for text in shown if text.startswith("a name")] == names
    twice = texts(
        parsed(Chart("t", Axis("x"), Axis("y"), [Series("A", [1, 2], [k, 4], k) for k in range(3)]), tmp_path)
    )
    assert [text for text in twice if text.startswith("A")] == ["A", "A (2)", "A (3)"]


def test_charts_without_points_or_with_one_are_drawn(tmp_path: Path) -> None:
    for x, y in (([], []), ([1], [0.0]), ([0], [0]), ([-1], [-2]), ([5, 5], [3, 3]), ([1, 2], [math.nan, math.inf])):
        for log in (False, True):
            for line in (False, True):
                chart = Chart("t", Axis("x", log=log), Axis("y", log=log), [Series("A", x, y, line=line)])
                assert "NaN" not in ElementTree.tostring(parsed(chart, tmp_path), encoding="unicode")
    assert "t" in texts(parsed(Bars("t", "weight", []), tmp_path))


def test_styles_do_not_repeat_soon(tmp_path: Path) -> None:
    series = [Series(f"A{k}", [1, 2], [k, k], k) for k in range(16)]
    lines = marks(parsed(Chart("t", Axis("x"), Axis("y"), series), tmp_path), "line")
    assert len({(e.attrib["stroke"], e.attrib["stroke-dasharray"]) for e in lines}) == 16


# -- colours -------------------------------------------------------------------------------------------------

# What a colour becomes for those who lack one kind of cone (Machado, Oliveira & Fernandes 2009, severity 1).
BLIND = {
    "red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def as_seen(colour: str, blindness: str) -> np.ndarray:
    """The distance in CIE Lab; a distance of 2 is just visible."""
    srgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(BLIND[blindness]) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ seen / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one: str, other: str) -> float:
    """The contrast of two colours "#rrggbb" by WCAG 2; 4.5 and more can be read."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    shares = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_read_and_told_apart(colours: dict[str, str]) -> None:
    for name in ("ink", "soft", "accent", "good", "bad", "warn", *(f"s{k}" for k in range(8))):
        assert contrast(colours[name], colours["card"]) >= 4.5, name
    for tone in ("good", "bad", "warn"):
        assert contrast(colours[tone], colours[f"{tone}-tint"]) >= 4.5, tone
    for blindness in BLIND:
        seen = [as_seen(colours[f"s{k}"], blindness) for k in range(6)]
        assert min(np.linalg.norm(a - b) for k, a in enumerate(seen) for b in seen[:k]) > 15, blindness
    for k in range(7):  # figures on a map have the ink that can be read best
        best = max(("#ffffff", "#12151a"), key=lambda ink: contrast(colours[f"h{k}"], ink))
        assert colours[f"t{k}"] == best
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


# -- words ---------------------------------------------------------------------------------------------------


def test_numbers_in_words() -> None:
    assert [number(v) for v in (0, 0.12345, 12.345, 1234.5, -0.5, 1e-7, 1e15, None, math.nan)] == [
        *("0", "0.123", "12.3", "1,234", "\N{MINUS SIGN}0.500", "1.00e\N{MINUS SIGN}07", "1.00e+15"),
        *("\N{EN DASH}", "\N{EN DASH}"),
    ]
    plain = [percent(v).replace("\N{NO-BREAK SPACE}", " ") for v in (0.0, 0.1234, 0.00123, 1.0, 1e-9)]
    assert plain == ["0 %", "12.3 %", "0.123 %", "100 %", "0.000 %"]
    assert [compact(v) for v in (0.05, 1, 999, 1000, 1500, 2e6, 3e9)] == ["0.05", "1", "999", "1k", "1.5k", "2M", "3G"]
    times = [duration(v).replace("\N{NO-BREAK SPACE}", " ") for v in (2e-5, 0.05, 5, 200, 9000)]
    assert times == ["20.0 µs", "50.0 ms", "5.00 s", "3 min 20 s", "2 h 30 min"]
    assert size(5 * 2**20).replace("\N{NO-BREAK SPACE}", " ") == "5.00 MiB"
    assert [listed(list("abcdefgh"[:n]), 4) for n in (0, 1, 2, 3, 8)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
        "a, b, c and 5 more",
    ]


def test_text_is_cut_and_cleaned() -> None:
    assert shortened("short", 20) == "short"
    assert shortened(LONG, 10) == "W" * 9 + "…"
    assert shortened("a name, (and more", 9) == "a name…"
    assert clean("a\x00b\ud800c\u202ed\té") == "a\ufffdb\ufffdc\ufffdd\ufffdé"
    assert clean("two\nlines\N{NO-BREAK SPACE}here") == "two\nlines\N{NO-BREAK SPACE}here"

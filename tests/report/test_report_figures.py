"""The pictures of reports: where things are drawn, in which colours, and numbers and names as text."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hostile_results import HOSTILE, LONG

from sureline.report import Axis, Bar, Bars, Chart, HeatMap, MapCell, Reference, Series
from sureline.report.colours import DARK, LIGHT, contrast
from sureline.report.labels import Box, place, spread
from sureline.report.scales import scale_of
from sureline.training.words import clean, compact, duration, listed, number, percent, shortened, size, width_of

# -- figures -------------------------------------------------------------------------------------------------

LABELS = "{http://www.w3.org/2000/svg}text"


def parsed(figure: Any, tmp_path: Path) -> ElementTree.Element:
    path = tmp_path / "figure.svg"
    figure.save(path)
    return ElementTree.parse(path).getroot()


@pytest.mark.parametrize("name", ["plain", HOSTILE, LONG, "\x00\x1b\ud800\u202e", "", "\N{HIRAGANA LETTER A}" * 50])
def test_figures_are_files_of_their_own_whatever_the_names(name: str, tmp_path: Path) -> None:
    figures = [
        Chart(
            name, Axis(name, log=True), Axis(name), [Series(name, [1, 2], [3, 4]), Series(name, [1], [2], line=False)]
        ),
        Bars(name, name, [Bar(name, 1.0, 0.5), Bar(name, -1.0)], name, name),
        HeatMap(name, name, name, [name, "b"], ["c", name], {(0, 0): MapCell(0.5, name), (1, 1): MapCell(None, name)}),
    ]
    for figure in figures:
        root = parsed(figure, tmp_path)
        assert root.tag.endswith("svg")
        assert root.find("{http://www.w3.org/2000/svg}title") is not None
        assert "prefers-color-scheme" in (root.findtext("{http://www.w3.org/2000/svg}style") or "")


def test_a_chart_puts_points_where_they_belong(tmp_path: Path) -> None:
    chart = Chart(
        "t",
        Axis("x", log=True, limits=(1.0, 1000.0)),
        Axis("y", limits=(0.0, 1.0)),
        [Series("A", [1, 10, 100, 1000], [0.0, 0.5, None, 1.0], markers=False, label=False)],
        [Reference("half", "y", 0.5)],
    )
    root = parsed(chart, tmp_path)
    curve = next(e for e in root.iter() if e.get("class") == "curve")  # the missing point breaks it
    (x0, y0), (x1, y1) = ([float(v) for v in p.split()] for p in curve.attrib["d"].removeprefix("M").split("L"))
    reference = next(e for e in root.iter() if e.get("class") == "reference").attrib["d"]
    left, right = (float(p.split()[0]) for p in reference.removeprefix("M").split("L"))
    assert x0 == left
    assert x1 == pytest.approx(left + (right - left) / 3, abs=0.11)
    assert y1 == pytest.approx(float(reference.split("L")[0].split()[1]), abs=0.11)
    assert y0 > y1


@pytest.mark.parametrize("make", [lambda log, v: Axis("a", log=log), lambda log, v: Axis("a", log=log, percent=True)])
def test_ticks_are_apart_within_the_limits_and_say_what_they_are(make: Callable[..., Axis]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(300):
        low, high = sorted(10 ** rng.uniform(-9, 9, 2))
        if rng.random() < 0.3:
            high = low * (1 + 10 ** rng.uniform(-4, 0))
        for log in (False, True):
            scale = scale_of(make(log, low), [low, high], 40.0, 400.0)
            ticks = scale.ticks(50.0)
            pixels = [scale(value) for value, _ in ticks]
            assert pixels == sorted(pixels)
            assert all(b - a >= 50 for a, b in pairwise(pixels))
            assert all(39 <= p <= 401 for p in pixels)
            assert len({words for _, words in ticks}) == len(ticks)
            assert len(ticks) >= 1, (low, high, log)
            assert scale(low) < scale(high)


def test_names_beside_lines_are_apart_and_in_their_order() -> None:
    rng = np.random.default_rng(1)
    for n in range(1, 12):
        wanted = rng.uniform(0, 300, n).tolist()
        found = spread(wanted, 16.0, 0.0, 300.0)
        ordered = sorted(found)
        assert all(b - a >= 16 - 1e-6 for a, b in pairwise(ordered))
        assert np.argsort(found, kind="stable").tolist() == np.argsort(wanted, kind="stable").tolist()
        assert ordered[0] >= -1e-9
        assert ordered[-1] <= 300 + 1e-9
    assert spread([10.0, 200.0], 16.0, 0.0, 300.0) == [10.0, 200.0]  # nobody moves without need


def test_names_beside_points_lie_on_nothing() -> None:
    bounds = Box(0, 0, 200, 100)
    taken = [Box(45, 45, 55, 55)]
    for _ in range(10):
        found = place(50, 50, 30, 13, taken, bounds)
        if found is None:
            break
        assert found.within(bounds)
        assert not any(found.meets(other) for other in taken)
        taken.append(found)
    assert 3 <= len(taken) < 11  # on both sides at least, and not without end
    assert place(50, 50, 300, 13, [], bounds) is None


def test_every_name_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    names = [f"a name that is much too long for a place beside the line {k}" for k in range(5)]
    for line in (True, False):
        same = [Series(name, [1, 2], [3, 4], k, line=line) for k, name in enumerate(names)]
        root = parsed(Chart("t", Axis("x"), Axis("y"), same), tmp_path)
        # A point that is named at its place has its name cut.
        shown = {"".join(e.itertext()) for e in root.iter(LABELS)}
        assert all(any(words.startswith(name) or words.endswith("…") for words in shown) for name in names)
        assert sum(words[:6] == "a name" for words in shown) == 5
        assert max(float(e.attrib["y"]) for e in root.iter(LABELS)) < float(root.attrib["viewBox"].split()[3])


def test_charts_without_points_or_with_one_are_drawn(tmp_path: Path) -> None:
    for x, y in (([], []), ([1], [0.0]), ([0], [0]), ([-1], [-2]), ([5, 5], [3, 3]), ([1, 2], [math.nan, math.inf])):
        for log in (False, True):
            for line in (False, True):
                chart = Chart("t", Axis("x", log=log), Axis("y", log=log), [Series("A", x, y, line=line)])
                assert "nan" not in ElementTree.tostring(parsed(chart, tmp_path), encoding="unicode").replace(
                    "name", ""
                )


# -- colours -------------------------------------------------------------------------------------------------

# What a colour becomes for those who lack one kind of cone (Machado, Oliveira & Fernandes 2009, severity 1).
BLIND = {
    "red": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "green": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "blue": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def as_seen(colour: str, blindness: str) -> np.ndarray:
    """In CIE Lab, where 2 is the least difference that one sees."""
    srgb = np.array([int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)])
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(BLIND[blindness]) @ linear, 0, 1)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = to_xyz @ seen / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_read_and_told_apart(colours: dict[str, str]) -> None:
    for name in ("ink", "soft", "accent", "good", "bad", "warn", *(f"s{k}" for k in range(8))):
        assert contrast(colours[name], colours["card"]) >= 4.5, name
    for tone in ("good", "bad", "warn"):
        assert contrast(colours[tone], colours[f"{tone}-tint"]) >= 4.5, tone
    for blindness in BLIND:
        seen = [as_seen(colours[f"s{k}"], blindness) for k in range(6)]
        assert min(np.linalg.norm(a - b) for k, a in enumerate(seen) for b in seen[:k]) > 15, blindness
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
    cut = shortened(LONG, 10)
    assert cut.endswith("…")
    assert width_of(cut) <= 10
    assert clean("a\x00b\ud800c\u202ed\té") == "a\ufffdb\ufffdc\ufffdd\ufffdé"
    assert clean("two\nlines\N{NO-BREAK SPACE}here") == "two\nlines\N{NO-BREAK SPACE}here"

"""The report of a tournament as text: what it says, that it is one file, and that nothing in it is taken for HTML.

How it looks is for test_report_browser.py.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import tournaments
from hostile_results import HOSTILE, LONG, hostile_result, odd_results

from sureline._atomic import WriteError
from sureline.contest.result import Run, TournamentResult
from sureline.report import (
    Axis,
    Bar,
    Bars,
    Cell,
    Chart,
    Column,
    Command,
    HeatMap,
    MapCell,
    Notice,
    Paragraph,
    Picture,
    Reference,
    Section,
    Series,
    Strong,
    Table,
    Verdict,
    page,
    report,
    write_report,
)
from sureline.report.advice import advise, chosen
from sureline.report.colours import DARK, LIGHT, contrast
from sureline.report.labels import Box, place, spread
from sureline.report.scales import scale_of
from sureline.report.text import clean, compact, duration, listed, number, percent, shortened, size, width_of

# -- the result ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [tournaments.few(), tournaments.few(4), *(result for _, result in odd_results())])
def test_a_result_survives_json(result: TournamentResult) -> None:
    told = json.loads(json.dumps(result.to_dict()))
    assert TournamentResult.from_dict(told) == TournamentResult.from_dict(result.to_dict())
    assert TournamentResult.from_dict(told).to_dict() == told


def test_numbers_of_numpy_and_none_that_is_not_finite_become_plain() -> None:
    run = Run(name="A", algorithm="A", error=np.float64(0.25), cost=math.inf, parameters={"C": np.float32(0.5)})  # type: ignore[arg-type]
    told = replace(tournaments.few(), runs=[run]).to_dict()["runs"][0]
    assert type(told["error"]) is float
    assert type(told["parameters"]["C"]) is float
    assert told["cost"] is None
    json.dumps(told, allow_nan=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"metric": "accuracy"},
            "result.metric must be one of 'error', 'cost', 'balanced_accuracy'. Got 'accuracy' instead.",
        ),
        ({"seconds": "1"}, "result.seconds must be a number. Got '1' instead."),
        ({"memory_bytes": True}, "result.memory_bytes must be an integer. Got True instead."),
        ({"colour": 1}, "result has 'colour', which is no part of one."),
        ({"runs": [{"name": "A"}]}, "result.runs[0] has no 'algorithm'."),
        ({"runs": [{"name": 3, "algorithm": "A"}]}, "result.runs[0].name must be text. Got 3 instead."),
        ({"runs": 5}, "result.runs must be a list. Got 5 instead."),
        ({"stream": []}, "result.stream must be an object. Got [] instead."),
    ],
)
def test_what_is_no_result_is_refused_with_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        TournamentResult.from_dict(tournaments.few().to_dict() | change)


# -- the advice ----------------------------------------------------------------------------------------------


def contest(*runs: Run, ties: tuple[str, ...] = (), **changed: Any) -> TournamentResult:
    return replace(tournaments.few(), runs=list(runs), best=runs[0].name, ties=list(ties), **changed)


def entry(name: str, error: float, seconds: float = 1.0, nonzeros: int = 1000, sure: bool = False) -> Run:
    bins: Any = [{"confidence": 0.9, "accuracy": 0.9, "count": 100}] if sure else None
    return Run(
        name=name,
        algorithm=name,
        examples=10_000,
        error=error,
        score=error,
        error_interval=[error - 0.002, error + 0.002],
        seconds=seconds,
        nonzeros=nonzeros,
        features=2000,
        reliability=bins,
    )


@pytest.mark.parametrize(
    ("best", "tie", "expected"),
    [
        (entry("A", 0.10), entry("B", 0.101), "A"),
        (entry("A", 0.10, seconds=4), entry("B", 0.101), "B"),  # two halvings
        (entry("A", 0.10, seconds=1.9), entry("B", 0.101), "A"),  # less than one
        (entry("A", 0.10, nonzeros=3000), entry("B", 0.101), "B"),
        (entry("A", 0.10), entry("B", 0.101, sure=True), "B"),
        (entry("A", 0.10, sure=True), entry("B", 0.101, seconds=0.4), "A"),
        (entry("A", 0.10, sure=True), entry("B", 0.101, seconds=0.2), "B"),
        (entry("A", 0.10), entry("B", 0.101, seconds=0.0, nonzeros=0), "B"),
    ],
)
def test_among_equals_the_cheaper_one_is_recommended(best: Run, tie: Run, expected: str) -> None:
    result = contest(best, tie, ties=("B",))
    run = chosen(result)
    assert run is not None
    assert run.name == expected
    assert str(advise(result)).startswith(f"Use {expected}.")
    assert "as far as these data can tell" in str(advise(result))


def test_a_cheaper_one_that_is_worse_is_named_but_not_recommended() -> None:
    words = str(advise(contest(entry("A", 0.10), entry("B", 0.12, nonzeros=30), entry("C", 0.11, seconds=0.1))))
    assert words.startswith("Use A.")
    assert "No other comes within noise of it; the next is C, with an error of 11.0\N{NO-BREAK SPACE}%." in words
    assert "B has 30 nonzero weights in place of 1,000" in words
    assert "C learns in 100\N{NO-BREAK SPACE}ms in place of 1.00\N{NO-BREAK SPACE}s" in words
    far = str(advise(contest(entry("A", 0.10), entry("B", 0.30, nonzeros=30))))
    assert "nonzero weights in place" not in far


def test_no_better_than_guessing_is_said() -> None:
    facts: Any = {**tournaments.few().stream, "classes": ["no", "yes"], "class_counts": [950, 50]}
    assert "nothing useful was learned" in str(advise(contest(entry("A", 0.06), stream=facts)))
    assert "not clearly worse" in str(advise(contest(entry("A", 0.0495), stream=facts)))
    assert "Beware" not in str(advise(contest(entry("A", 0.02), stream=facts)))


def test_confidences_that_cannot_be_trusted_are_said() -> None:
    for accuracy, words in ((0.7, "more sure than it should be"), (0.97, "less sure"), (0.9, "can be trusted")):
        bins: Any = [{"confidence": 0.9, "accuracy": accuracy, "count": 100}]
        assert words in str(advise(contest(replace(entry("A", 0.1), reliability=bins))))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("failed", "It is the only one that finished"),
        ("failed", "Failed: "),
        ("failed", "A step overflowed at row 17"),
        ("failed", "12 lines could not be read and were left out."),
        ("failed", "mail.txt.zst, line 1,501: no label."),
        ("failed", "The data were not read to their end"),
        ("unfinished", "There is nothing to recommend."),
        ("empty", "There was nothing to learn from."),
        ("empty", "mail.txt.zst: there are no examples."),
        ("nothing", "Not one example was read"),
        ("one class", "There is nothing to tell apart."),
        ("one class", "only one class came."),
        ("cost", "at a cost of 0.100 an example"),
        ("balanced", "in which every class counts the same"),
    ],
)
def test_what_went_wrong_is_said_on_the_page(name: str, words: str) -> None:
    assert words in texts(report(dict(odd_results())[name]))


def test_dropped_runs_and_the_rule_are_on_the_page() -> None:
    words = texts(report(tournaments.tuned()))
    assert "39 runs were clearly behind and dropped on the way" in words
    assert "After 256, 512, ... examples a setting is dropped" in words
    assert "SCW: how C and eta matter" in words
    assert "It is the best of 99 settings" in words or "among 99 settings" in words


# -- the page ------------------------------------------------------------------------------------------------


class Outline(HTMLParser):
    """The elements with their attributes, and the text that is seen."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._hidden = 0
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._hidden += tag in ("style", "script")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("style", "script")

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(data)


def texts(html: str) -> str:
    return " ".join("".join(Outline(html).words).replace("\N{NO-BREAK SPACE}", " ").split())


def all_results() -> list[TournamentResult]:
    many = [tournaments.compared(), tournaments.tuned(), tournaments.few(20), hostile_result()]
    return many + [result for _, result in odd_results()]


@pytest.mark.parametrize("number_of", range(13))
def test_the_page_is_one_file_that_fetches_nothing(number_of: int) -> None:
    result = all_results()[number_of]
    html = report(result)
    outline = Outline(html)
    for tag, attributes in outline.tags:
        assert tag not in ("img", "iframe", "object", "embed", "audio", "video", "base")
        for name in ("src", "href", "action", "data", "xlink:href", "poster", "srcset"):
            value = attributes.get(name)
            assert value is None or value.startswith("#") or value == "data:,", (tag, value)
        assert not any(name.startswith("on") for name in attributes), tag
    assert "url(" not in html
    assert "@import" not in html
    assert [tag for tag, _ in outline.tags].count("script") == 1
    policy = next(a["content"] for tag, a in outline.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    ids = [a["id"] for _, a in outline.tags if "id" in a]
    assert len(ids) == len(set(ids))
    assert {a["href"] for _, a in outline.tags if (a.get("href") or "").startswith("#")} <= {f"#{i}" for i in ids}


def test_every_number_of_the_table_is_there() -> None:
    result = tournaments.compared()
    words = texts(report(result))
    for run in result.runs:
        assert run.error is not None
        assert f"{100 * run.error:.1f} %" in words
        assert f"{run.updates:,}" in words
        assert f"{run.nonzeros:,}" in words
        assert " ".join((run.train_command or "").split()) in words
    for name, value in result.runs[0].all_parameters.items():
        assert f"{name}={value!r}" in words
    assert result.command in words
    assert "sureline 0.1.0, 2026-11-15 22:45:01 UTC." in words


def test_hostile_text_is_text() -> None:
    html = report(hostile_result())
    assert HOSTILE not in html
    assert html.count("</script>") == 1
    assert "onerror=alert(1)" in texts(html)
    html.encode()  # halves of pairs are gone
    assert "\x00" not in html
    assert "\u202e" not in html


def test_the_same_result_gives_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    told = tmp_path / "result.json"
    result = tournaments.compared()
    told.write_text(json.dumps(result.to_dict()))
    script = (
        "import json, sys; from sureline.contest.result import TournamentResult\n"
        "from sureline.report import write_report\n"
        "write_report(TournamentResult.from_dict(json.load(open(sys.argv[1]))), sys.argv[2])"
    )
    pages = []
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.html"
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", script, told, path], check=True, env=environment)
        pages.append(path.read_bytes())
    assert pages[0] == pages[1] == report(result).encode()


def test_a_disk_that_is_full_leaves_the_old_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("the old one")

    def full(fd: int, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(WriteError, match="is as it was, the new one could not be written: No space left on device"):
            write_report(tournaments.few(), path)
    assert path.read_text() == "the old one"
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    write_report(tournaments.few(), str(path))
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_without_jinja_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from sureline.report import Axis, Chart, Series, page\n"
        "Chart('t', Axis('x'), Axis('y'), [Series('A', [1, 2], [3, 4])]).save(sys.argv[1])\n"  # needs nothing
        "try: page('t', [])\n"
        "except ImportError as error: print(error)"
    )
    told = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a.svg"], capture_output=True, text=True, check=True
    )
    assert told.stdout == "A report needs jinja2: pip install 'sureline[report]'.\n"
    assert (tmp_path / "a.svg").stat().st_size > 500


# -- blocks --------------------------------------------------------------------------------------------------


def test_a_page_of_blocks() -> None:
    chart = Chart("Error", Axis("examples", log=True), Axis("error"), [Series("SCW", [1, 10, 100], [0.5, 0.2, 0.1])])
    table = Table(
        [Column("data"), Column("ours", numeric=True)],
        [["a9a", Cell("15.2 %", 0.152, best=True)], ["w7a", Cell("<b>", 0.5, remark="a remark")]],
        "Mistakes",
    )
    html = page(
        "Table <3>",
        [
            Section("Mistakes", [Paragraph(["Ours beside ", Strong("the paper's"), "."]), table, Picture(chart)]),
            Section("Claims", [Verdict(o, "A claim.", "Evidence.") for o in ("holds", "fails", "open")]),  # type: ignore[arg-type]
            Section("", [Notice("Beware."), Command("sureline reproduce scw-table3")]),
        ],
    )
    words = texts(html)
    assert "Table <3>" in words
    assert "Ours beside the paper's." in words
    for badge in ("holds", "does not hold", "cannot be checked here"):
        assert badge in words
    assert "<b>" in words
    assert '<td class="num best" data-sort="0.152">' in html
    assert "<button" not in html  # unless it is sortable, and then the script makes them


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


def test_many_runs_leave_the_best_in_colour() -> None:
    html = report(tournaments.tuned())
    broad = html[html.index('<div class="broad">') : html.index('<div class="narrow">')]
    assert len(re.findall(r'<g class="series s\d"', broad)) == 6
    assert len(re.findall(r'<g class="series s-rest"', broad)) == 93


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

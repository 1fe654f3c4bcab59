"""The report of a tournament as text: its contents, its single file, and that no text is taken for HTML.

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
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tournaments
from hostile_results import HOSTILE, hostile_result, odd_results

from sureline._atomic import WriteError
from sureline.report import (
    Axis,
    Cell,
    Chart,
    Column,
    Command,
    Notice,
    Paragraph,
    Picture,
    Section,
    Series,
    Strong,
    Table,
    Verdict,
    page,
    report,
    write_report,
)
from sureline.training.advice import advise, chosen
from sureline.training.result import Run, TournamentResult

# -- the result ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("result", [tournaments.few(), tournaments.few(4), *(result for _, result in odd_results())])
def test_a_result_survives_json(result: TournamentResult) -> None:
    told = json.loads(json.dumps(result.to_dict()))
    assert tournaments.read(told) == tournaments.read(result.to_dict())
    assert tournaments.read(told).to_dict() == told


def test_numbers_of_numpy_and_none_that_is_not_finite_become_plain() -> None:
    run = Run(name="A", algorithm="A", error=np.float64(0.25), cost=math.inf, parameters={"C": np.float32(0.5)})  # type: ignore[arg-type]
    told = replace(tournaments.few(), runs=[run]).to_dict()["runs"][0]
    assert type(told["error"]) is float
    assert type(told["parameters"]["C"]) is float
    assert told["cost"] is None
    json.dumps(told, allow_nan=False)


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
        (entry("A", 0.10, seconds=2), entry("B", 0.101), "B"),  # one is enough
        (entry("A", 0.10, nonzeros=3000), entry("B", 0.101), "B"),
        (entry("A", 0.10), entry("B", 0.101, sure=True), "B"),
        (entry("A", 0.10, seconds=5, sure=True), entry("B", 0.101, seconds=2), "A"),
        (entry("A", 0.10, seconds=5, sure=True), entry("B", 0.101, seconds=1), "B"),
        (entry("A", 0.10, seconds=0.9), entry("B", 0.101, seconds=0.001), "A"),  # nobody notices
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
    assert "B has 30 nonzero weights instead of 1,000" in words
    assert "C learns in 100\N{NO-BREAK SPACE}ms instead of 1.00\N{NO-BREAK SPACE}s" in words
    far = str(advise(contest(entry("A", 0.10), entry("B", 0.30, nonzeros=30))))
    assert "nonzero weights in place" not in far


def test_no_better_than_guessing_is_said() -> None:
    facts: Any = {**tournaments.few().stream, "classes": ["no", "yes"], "class_counts": [950, 50]}
    assert "nothing useful was learned" in str(advise(contest(entry("A", 0.06), stream=facts)))
    quarter: Any = {**facts, "class_counts": [750, 250]}
    assert "nothing useful was learned" in str(advise(contest(entry("A", 0.25), stream=quarter)))  # no better
    level = replace(entry("A", 0.2), error_interval=[0.15, 0.25])
    assert "not clearly worse" in str(advise(contest(level, stream=quarter)))
    assert "not clearly worse" in str(advise(contest(entry("A", 0.0495), stream=facts)))
    assert "Beware" not in str(advise(contest(entry("A", 0.02), stream=facts)))


def test_confidences_that_cannot_be_trusted_are_said() -> None:
    for accuracy, words in ((0.7, "too high on average"), (0.97, "too low on average"), (0.9, "well calibrated")):
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


def test_labels_may_be_numbers() -> None:
    result = tournaments.few(4)
    numbers = {label: k for k, label in enumerate(result.stream["classes"])}
    runs = [
        replace(run, top_features=[{**f, "class": numbers[f["class"] or ""]} for f in run.top_features])  # type: ignore[typeddict-item]
        for run in result.runs
    ]
    told = replace(result, runs=runs, stream={**result.stream, "classes": list(numbers.values())}).to_dict()
    assert told["stream"]["classes"] == [0, 1, 2, 3]
    page = report(tournaments.read(told))
    assert "[0]" in page


def test_what_is_no_result_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"^A report is made of a TournamentResult.* Got None instead.$"):
        write_report(None, tmp_path / "page.html")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_the_pictures_show_what_decides() -> None:
    odd = dict(odd_results())
    balanced = report(odd["balanced"])
    for title in ("along the stream", "against sparsity", "against time", "against the size of the model"):
        assert f"Balanced accuracy {title}" in balanced
        assert f"Error {title}" not in balanced
    assert "Up is more accurate, left is smaller" in balanced
    assert "Always the most frequent answer: 50.0" in balanced
    cost = report(odd["cost"])
    assert "Cost of an example against time" in cost
    assert "Down is cheaper, left is faster" in cost
    # Of these runs nobody knows the cost on the way.
    assert "These lines are of the error, though the cost of an example decides." in cost
    assert "Error along the stream" in cost
    assert "though the" not in texts(balanced) + texts(report(odd["one"]))


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
    # Libraries in the script may draw with url(#id).
    assert "url(" not in re.sub("<script>.*</script>", "", html, flags=re.DOTALL)
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
        "import json, sys; from sureline.training.result import Run, TournamentResult\n"
        "from sureline.report import write_report\n"
        "told = json.load(open(sys.argv[1]))\n"
        "runs = [Run(**run) for run in told.pop('runs')]\n"
        "write_report(TournamentResult(**told, runs=runs), sys.argv[2])"
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


def test_without_jinja_or_altair_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules[sys.argv[1]] = None\n"
        "from sureline.report import Axis, Chart, Paragraph, Picture, Section, Series, page\n"
        "chart = Chart('t', Axis('x'), Axis('y'), [Series('A', [1, 2], [3, 4])])\n"
        "try:\n"
        "    assert len(page('t', [Section('s', [Paragraph('p')])])) < 50_000\n"  # without the libraries of charts
        "    page('t', [Section('s', [Picture(chart)])])\n"
        "except ImportError as error: print(error)"
    )
    for module, words in (
        ("jinja2", "A report needs jinja2: pip install 'sureline[report]'.\n"),
        ("altair", "Charts need altair and vl-convert-python: pip install 'sureline[plot]'.\n"),
    ):
        told = subprocess.run([sys.executable, "-c", script, module], capture_output=True, text=True, check=True)
        assert told.stdout == words


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
            Section("Claims", [Verdict("A claim.", o, "Evidence.") for o in (True, False, None)]),
            Section("", [Notice("Beware."), Command("sureline reproduce scw-table3")]),
        ],
    )
    words = texts(html)
    assert "Table <3>" in words
    assert "Ours beside the paper's." in words
    for badge in ("holds", "does not hold", "cannot be told"):
        assert badge in words
    assert "<b>" in words
    assert '<td class="num best" data-sort="0.152">' in html
    assert "<button" not in html  # unless it is sortable, and then the script makes them


def test_many_runs_leave_the_best_in_colour() -> None:
    outline = Outline(report(tournaments.tuned()))
    spec = json.loads(next(a["data-spec"] or "" for _, a in outline.tags if "data-spec" in a))
    colours = next(layer["encoding"]["color"] for layer in spec["layer"] if "color" in layer["encoding"])
    assert len(colours["scale"]["range"]) == 99
    assert sorted(set(colours["scale"]["range"])) == ["var(--rest)", *(f"var(--s{k})" for k in range(6))]
    assert colours["scale"]["range"].count("var(--rest)") == 93

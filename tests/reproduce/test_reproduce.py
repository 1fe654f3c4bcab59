"""Entries of papers' tables and figures: read, checked, loaded, compared and written."""

import json
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from sureline import reproduce
from sureline.reproduce import Cell, Column, Findings, Mean, Missing, Outcome, Picture, Row, Series, Table, Verdict
from sureline.reproduce import data as data_module
from sureline.reproduce.entry import FOLDER, DataSet, EntryError, read_entry, values_of
from sureline.reproduce.learners import build
from sureline.reproduce.pages import page_of, write_files
from sureline.reproduce.running import protocol_of
from sureline.reproduce.statistics import best_of, difference, mean_of, p_value
from sureline.reproduce.words import as_markdown, as_text

NAMES = reproduce.names()


# -- entries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_entry_is_whole(name: str) -> None:
    entry = reproduce.entry(name)
    module = protocol_of(entry)
    full, quick = (entry.parameters(module.Parameters, quick=quick) for quick in (False, True))
    assert entry.quick == {} or full != quick
    shared = reproduce.entry(entry.protocol["of"]) if "of" in entry.protocol else entry
    named = {one.name for one in shared.data_sets}
    assert set(entry.numbers) <= named
    rows_of_numbers = {one.name for one in entry.learners} or {"paper"}
    assert all(set(rows) <= rows_of_numbers for rows in entry.numbers.values())
    assert entry.numbers == {} or (entry.numbers_of and entry.runs)
    assert set(getattr(quick, "data", None) or ()) <= named
    for one in entry.data_sets:
        assert one.generator is None or callable(getattr(data_module.datasets, one.generator))
    for learner in entry.learners:
        for point in learner.points()[:: max(1, len(learner.points()) - 1)]:
            model = build(entry, learner, point)
            assert point.items() <= model.get_params().items()
            assert model.get_params().get("fit_intercept", False) is False
            assert model.get_params().get("normalize", "none") == "none"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "scw-table3"])  # whose stand-in has one size only
def test_what_is_said_of_all_runs_has_no_sizes_that_a_quick_one_changes(name: str) -> None:
    entry = reproduce.entry(name)
    said = [entry.note, *(one.stand_in or "" for one in entry.data_sets)]
    sizes = r"\d (random |training )?rows|as many as|\ba (tenth|fifth) of the rows"
    assert [words for words in said if re.search(sizes, words)] == []


def test_the_entries_of_the_confidence_weighted_papers_are_there() -> None:
    assert {"scw-table1", "scw-table3", "scw-figure1", "sbcw-table2", "sbcw-figure1"} <= set(NAMES)
    papers = [name.partition("-")[0] for name in NAMES]
    assert papers == sorted(papers, key=["scw", "sol", "sbcw", "odca"].index)


def test_table_3_has_the_numbers_of_the_paper() -> None:
    """The sums over all of the table, taken from the paper's own text, and some cells of it."""
    numbers = reproduce.entry("scw-table3").numbers
    cells = [text.split(" ± ") for rows in numbers.values() for row in rows.values() for text in row.values()]
    assert len(cells) == 12 * 6 * 3
    assert sum(Decimal(mean) for mean, _ in cells) == Decimal("3296111.489")
    assert sum(Decimal(sd) for _, sd in cells) == Decimal("68877.448")
    assert numbers["codrna"]["NAROW"]["updates"] == "54557.1 ± 4935.7"
    assert numbers["mushrooms"]["SCW-II"] == {
        "rate": "0.002 ± 0.000",
        "updates": "152.7 ± 5.7",
        "seconds": "0.241 ± 0.010",
    }


BROKEN = [
    ('kind = "permutations"', 'kind = "no such"', "the 'kind' must be one of .*Got 'no such' instead"),
    ("permutations = 20", 'permutations = "20"', "'permutations', must be a whole number. Got '20' instead"),
    ("permutations = 20", "", r"\[protocol\] has no 'permutations'"),
    ("permutations = 20", "permutations = 20\nrepeats = 2", "has a key 'repeats', which is not one of permutations"),
    ('name = "scw-table3"', 'name = "other"', "the 'name' must be 'scw-table3'"),
    ("take = 1000", "", "the data set 'splice' has files and neither 'rows' nor 'take'"),
    ('files = ["w7a"]', "", "the data set 'w7a' has neither 'files' nor a 'generator'"),
    ('"0.294 ± 0.011"', '"0.294 +- 0.011"', "svmguide3, CW, rate: a number must be written as .*Got '0.294"),
    ('r = "2^-4..2^4"', 'r = "2^-4-2^4"', "A grid must be a list of numbers or powers"),
    ("[quick]", "[quick", r"scw-table3.toml: .*\(at line"),
    ('name = "NAROW"\nestimator', 'name = "AROW"\nestimator', "the names of its learners are not all different"),
]


@pytest.mark.parametrize(("old", "new", "message"), BROKEN)
def test_a_broken_entry_is_refused_with_the_place(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (FOLDER / "scw-table3.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "scw-table3.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(EntryError, match=message):
        _checked(path)


def _checked(path: Path) -> None:
    entry = read_entry(path)
    entry.parameters(protocol_of(entry).Parameters, quick=False)


def test_grids() -> None:
    assert values_of("2^-1..2^2") == (0.5, 1, 2, 4)
    assert values_of("2^-6..2^6 by 4") == (2**-6, 2**-2, 4, 64)
    assert values_of((0.1, 0.2)) == (0.1, 0.2)


# -- data -------------------------------------------------------------------------------------------------------------

SMALL = DataSet("small", files=("small",), source="https://example.org", rows=3, features=4)


def test_files_are_found_with_their_endings_and_looked_at(tmp_path: Path) -> None:
    (tmp_path / "small.svm").write_text("1 1:2 4:1\n-1 2:1\n1 3:0.5\n")
    rows = data_module.load(SMALL, tmp_path)
    assert isinstance(rows, data_module.Rows)
    assert rows.stand_in is None
    np.testing.assert_array_equal(rows.dense().X, [[2, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0.5, 0]])
    np.testing.assert_array_equal(rows.y, [1, -1, 1])
    assert len(data_module.load(replace(SMALL, take=2), tmp_path).y) == 2
    assert len(data_module.load(replace(SMALL, rows=None, take=2), tmp_path).y) == 2
    cut = data_module.load(replace(SMALL, rows=None, take=4), tmp_path)
    assert "small.svm has 3 rows; it must be LIBSVM text with at least 4 rows, 4 features" in str(cut)


def test_some_classes_against_others(tmp_path: Path) -> None:
    (tmp_path / "small").write_text("0 1:1\n1 1:2\n2 1:3\n1 1:4\n")
    digits = replace(SMALL, rows=4, features=1, labels=(0, 1, 2), positive=1)
    np.testing.assert_array_equal(data_module.load(digits, tmp_path).y, [-1, 1, -1, 1])
    chosen = data_module.load(replace(digits, against=(2,)), tmp_path)
    np.testing.assert_array_equal(chosen.dense().X.ravel(), [2, 3, 4])
    np.testing.assert_array_equal(chosen.y, [1, -1, 1])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 1:1\n-1 1:1\n", "has 2 rows; it must be LIBSVM text with 3 rows, 4 features, the labels -1, 1"),
        ("1 5:1\n-1 1:1\n1 1:1\n", "has 5 features; it must be"),
        ("0 1:1\n1 1:1\n1 1:1\n", "has the labels 0, 1; it must be"),
        ("spam 1:1\nham 1:1\nham 1:1\n", "has the labels ham, spam; it must be"),
        ("1 1:1\n-1 1:1\nham 1:1\n", "has the labels ham, -1, 1; it must be"),
        ("1 1:1\n-1 x\n1 1:1\n", "small:2"),
        ("", "small"),
    ],
)
def test_files_that_are_something_else_are_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "small").write_text(text)
    found = data_module.load(SMALL, tmp_path)
    assert isinstance(found, Missing)
    assert problem in found.problem


def test_what_is_missing_is_said_with_where_to_get_it(tmp_path: Path) -> None:
    found = data_module.load(SMALL, tmp_path)
    assert str(found) == (
        f"small: there is no file small (also with .svm, .libsvm, .txt, and .bz2, .gz, .xz, .zst) in {tmp_path}. Get "
        "it from https://example.org. It must be LIBSVM text with 3 rows, 4 features, the labels -1, 1."
    )
    assert "no folder of data was named (--data DIR, or SURELINE_DATA)" in str(data_module.load(SMALL, None))


def test_a_stand_in_is_used_and_named_only_without_the_files(tmp_path: Path) -> None:
    both = replace(SMALL, generator="make_rotated_gaussian", arguments={"n_samples": 50}, stand_in="made up")
    made = data_module.load(both, tmp_path, random_state=0)
    assert (made.X.shape, made.label("small")) == ((50, 20), "small (stand-in)")
    assert made.stand_in == "made up. With small in the folder of data (from https://example.org) the original is used"
    assert set(made.y) == {-1, 1}
    (tmp_path / "small").write_text("1 1:2 4:1\n-1 2:1\n1 3:0.5\n")
    assert data_module.load(both, tmp_path).label("small") == "small"


# -- numbers ----------------------------------------------------------------------------------------------------------


def test_printed_numbers() -> None:
    assert Mean.printed("0.294 ± 0.011", 20) == Mean(0.294, 0.011, 20, 0.001)
    assert Mean.printed("0.1821", None) == Mean(0.1821, None, None, 0.0001)
    assert Mean.printed("3506.0", 10).text(1) == "3506.0"


def test_the_difference_is_in_standard_errors_of_the_difference() -> None:
    ours = mean_of([0.2, 0.3, 0.4, 0.5])
    assert ours.sd == pytest.approx(0.1290994)
    paper = Mean(0.25, 0.2, 16, 0.0)
    assert difference(ours, paper) == pytest.approx(0.1 / np.sqrt(0.1290994**2 / 4 + 0.2**2 / 16))
    rounded = replace(paper, sd=0.0, unit=0.01)
    expected = 0.1 / np.sqrt(0.1290994**2 / 4 + 0.005**2 / 16 + 0.01**2 / 12)
    assert difference(ours, rounded) == pytest.approx(expected)
    assert difference(mean_of([0.3]), Mean(0.25, None, 1, 0.01)) is None


def test_the_best_are_marked_by_the_paired_t_test() -> None:
    rng = np.random.default_rng(0)
    shared = rng.normal(0.3, 0.1, 20)  # what is hard in a permutation is hard for all
    runs = {
        "best": list(shared),
        "equal": list(shared + rng.normal(0.0005, 0.01, 20)),
        "worse": list(shared + rng.normal(0.02, 0.01, 20)),
        "same": list(shared),
    }
    assert best_of(runs) == {"best", "equal", "same"}
    assert best_of({name: [-v for v in values] for name, values in runs.items()}, least=False) == best_of(runs)
    assert best_of({**runs, "once": [0.31]}) == best_of(runs)  # one run cannot be tested against twenty
    assert best_of({**runs, "once": [0.1]}) == {"once"}
    assert best_of({"a": [0.2], "b": [0.1], "c": [0.3]}) == {"b"}
    assert p_value(runs["best"], runs["same"]) == 1
    assert p_value([1, 2, 3], [2, 3, 4]) == 0  # by the same in every run
    # From a table of the t distribution: |t| = 2.093 is the 95 % point with 19 degrees of freedom.
    differences = np.linspace(-1, 1, 20)
    differences += 2.093 * differences.std(ddof=1) / np.sqrt(20)
    assert p_value(list(differences), [0.0] * 20) == pytest.approx(0.05, abs=1e-4)


# -- words, pages, files ----------------------------------------------------------------------------------------------


def outcome(**changes: object) -> Outcome:
    columns = (Column("tuned", compared=False), Column("rate", 4, 3), Column("seconds", 2, 1, difference=False))
    cells = (
        Cell(text="C=1"),
        Cell(Mean(0.2937, 0.0084, 20), Mean(0.294, 0.011, 20, 0.001), -0.1, best=True),
        Cell(Mean(1.5, None, 1), Mean(2.0, None, 1, 0.1)),
    )
    table = Table("data | set", ("learner",), columns, (Row(("CW",), cells),), stand_in="made <b>up</b>")
    picture = Picture("Data set-rate", "data", "examples", "rate", (Series("CW", (1.0, 2.0), (0.5, 0.25)),))
    findings = Findings(
        (table,),
        (picture,),
        (Verdict("It errs.", True, "0.29."), Verdict("It is fast.", False, ""), Verdict("It sees.", None, "")),
        (Missing("w7a", "there is no file w7a."),),
        ("A note.",),
    )
    made = Outcome("x-table1", "A <title>", "Somebody, 2012", "table 1", "It shows.", False, findings)
    return replace(
        made,
        version="0",
        date="2026-01-01T00:00:00+00:00",
        command="sureline reproduce x",
        numbers_of="means of 20",
        **changes,
    )


def test_titles_of_stand_ins_say_so_whoever_makes_them() -> None:
    for make in (lambda **of: Table("t", (), (), (), **of), lambda **of: Picture("n", "t", "x", "y", (), **of)):
        assert make(stand_in="made up").title == "t (stand-in)"
        assert make().title == "t"
    assert Table("rcv1 (stand-in): time", (), (), (), stand_in="made up").title == "rcv1 (stand-in): time"


def test_an_outcome_as_text() -> None:
    text = as_text(outcome(), 100)
    assert "STAND-IN: made <b>up</b>" in text
    assert re.search(r"CW +C=1 +\*0\.2937 ± 0\.0084\* +0\.294 ± 0\.011 +-0\.1 +1\.50 +2\.0", text)
    assert "HOLDS: It errs. 0.29." in text
    assert "DOES NOT HOLD: It is fast." in text
    assert "CANNOT BE TOLD: It sees." in text
    assert "  w7a: there is no file w7a." in text
    assert "The paper's: means of 20." in " ".join(text.split())
    assert "Partial: without w7a, for want of data (see below)." in text
    assert "Partial" not in as_text(replace(outcome(), findings=replace(outcome().findings, missing=())))


def test_where_nothing_is_compared_there_is_no_difference() -> None:
    made = outcome()
    (table,) = made.findings.tables
    (row,) = table.rows
    without = replace(row, cells=tuple(replace(cell, difference=None) for cell in row.cells))
    made = replace(made, findings=replace(made.findings, tables=(replace(table, rows=(without,)),)))
    for text in (as_text(made), as_markdown(made, ["picture.svg"]), page_of(made)):
        assert "difference" not in text
        assert "The paper's: means of 20." in " ".join(text.replace("&#39;", "'").split())


def test_an_outcome_as_markdown_and_what_was_written_by_hand() -> None:
    text = as_markdown(outcome(), ["picture.svg"], "## Where we differ and why\n\nBecause.\n")
    assert "| learner | tuned | rate | paper | difference | seconds | paper |" in text
    assert "| CW | C=1 | **0.2937 ± 0.0084** | 0.294 ± 0.011 | -0.1 | 1.50 | 2.0 |" in text
    assert "![data](picture.svg)" in text
    assert "**Partial: without w7a, for want of data (see below).**" in text
    assert text.endswith("## Where we differ and why\n\nBecause.\n")


def test_evidence_of_three_parts_is_a_list_in_markdown_alone() -> None:
    said = {"two": "True of 1 of 2. A 1; B 2.", "three": "True of 2 of 3. A 1; B 2; C 3.", "no lead": "A 1; B 2; C 3."}
    findings = replace(outcome().findings, verdicts=tuple(Verdict(f"It is {a}.", True, b) for a, b in said.items()))
    made = replace(outcome(), findings=findings)
    text = as_markdown(made, ["picture.svg"])
    assert "- **holds**: It is two. True of 1 of 2. A 1; B 2.\n" in text
    assert "- **holds**: It is three. True of 2 of 3.\n  - A 1\n  - B 2\n  - C 3\n" in text
    assert "- **holds**: It is no lead.\n  - A 1\n  - B 2\n  - C 3\n" in text
    assert "True of 2 of 3. A 1; B 2; C 3." in as_text(made)


def test_an_outcome_as_a_page() -> None:
    html = page_of(outcome())
    assert html == page_of(outcome())
    assert "A &lt;title&gt;" in html
    assert "made &lt;b&gt;up&lt;/b&gt;" in html
    assert "0.294 ± 0.011, -0.1" in html
    assert html.count("does not hold") == 1
    assert "cannot be told" in html
    assert "rough version" not in html
    assert "Partial: without w7a" in html
    assert "rough version" in page_of(outcome(quick=True))
    assert "Nothing could be run" in page_of(replace(outcome(), findings=Findings(missing=(Missing("a", "b"),))))


def test_files_are_written_and_the_part_by_hand_is_kept(tmp_path: Path) -> None:
    paths, failed = write_files(outcome(), tmp_path / "results")
    assert failed == []
    assert [path.name for path in paths] == ["x-table1.json", "x-table1.md", "x-table1-data-set-rate.svg"]
    assert json.loads(paths[0].read_text(encoding="utf-8"))["findings"]["verdicts"][1]["word"] == "does not hold"
    assert paths[2].read_text(encoding="utf-8").endswith("</svg>\n")
    with paths[1].open("a", encoding="utf-8") as file:
        file.write("\n## Where we differ and why\n\nBecause.\n")
    before = paths[1].read_text(encoding="utf-8")
    write_files(outcome(), tmp_path / "results")
    assert paths[1].read_text(encoding="utf-8") == before


def test_json_has_no_numbers_that_it_cannot_hold() -> None:
    row = Row(("a",), (Cell(Mean(float("nan"), float("inf"), 2)),))
    made = replace(outcome(), findings=Findings((Table("t", ("a",), (Column("x"),), (row,)),)))
    ours = made.to_dict()["findings"]["tables"][0]["rows"][0]["cells"][0]["ours"]
    assert (ours["mean"], ours["sd"]) == (None, None)
    json.dumps(made.to_dict(), allow_nan=False)


def test_progress_has_an_estimate() -> None:
    steps: list[reproduce.Step] = []
    progress = reproduce.Progress(steps.append)
    progress.expect(4)
    progress.advance(0, "loading")
    progress.advance(1, "learning")
    assert steps[0].seconds_left is None
    assert (steps[1].done, steps[1].total, steps[1].what) == (1, 4, "learning")
    assert steps[1].seconds_left == pytest.approx(3 * steps[1].seconds)

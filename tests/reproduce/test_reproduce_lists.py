"""Tables that list data sets and learners, data sets that take the place of others, and rows in time order."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sureline import reproduce
from sureline.reproduce import EntryError
from sureline.reproduce import data as data_module
from sureline.reproduce.data import Rows
from sureline.reproduce.entry import DataSet, read_entry
from sureline.reproduce.protocols import kinds_of_learners
from sureline.reproduce.protocols.feature_selection import Days

SOURCE = "https://example.org"


def printed(name: str) -> dict[str, dict[str, float]]:
    of = reproduce.entry(name)
    return {
        data: {measure: of.paper_mean(data, "paper", measure).mean for measure in rows["paper"]}
        for data, rows in of.numbers.items()
    }


def test_lists_of_data_sets_have_the_numbers_of_the_papers() -> None:
    """The sums over the columns, taken from the papers' own text."""
    scw, sbcw = printed("scw-table2"), printed("sbcw-table1")
    assert len(scw) == 11
    assert sum(one["training rows"] for one in scw.values()) == 851_432
    assert sum(one.get("features", 0) for one in scw.values()) == 1_990
    assert scw["codrna"] == {"training rows": 59_535}
    assert len(sbcw) == 6
    assert sum(one["training rows"] for one in sbcw.values()) == 4_149_219
    assert sum(one.get("test rows", 0) for one in sbcw.values()) == 192_729
    assert sum(one["features"] for one in sbcw.values()) == 3_401_966
    assert sum(one["nonzeros a row"] for one in sbcw.values()) == 2_330


def test_a_list_has_the_columns_of_its_paper() -> None:
    of = reproduce.entry("scw-table2")
    sets = tuple(one for one in of.data if one["name"] in ("synthetic", "w7a"))
    outcome = reproduce.run(replace(of, data=sets, numbers={name: of.numbers[name] for name in ("synthetic", "w7a")}))
    (table,) = outcome.findings.tables
    assert [column.name for column in table.columns] == ["training rows", "features"]
    assert [row.head for row in table.rows] == [("synthetic", "the paper's"), ("synthetic", "here")]
    assert [[cell.text for cell in row.cells] for row in table.rows] == [["5,000", "20"], ["5,000", "20"]]
    (verdict,) = outcome.findings.verdicts
    assert verdict.holds
    assert verdict.claim == "synthetic: what is here has the paper's rows and features."
    assert [one.data for one in outcome.findings.missing] == ["w7a"]


def test_kinds_of_learners_are_those_of_the_paper() -> None:
    outcome = reproduce.run("sol-table1")
    assert [verdict.holds for verdict in outcome.findings.verdicts] == [True, True, True]
    (table,) = outcome.findings.tables
    assert len(table.rows) == 11
    assert all(cell.text == cell.paper_text for row in table.rows for cell in row.cells[:3])


@pytest.mark.parametrize(
    ("name", "other", "kind"),
    [
        ("FSOL", "SSOL", ("second order", "dual averaging", "no")),
        ("FSOL", "FOBOS", ("first order", "truncated gradient", "no")),
        ("CS-OGD", "OGD", ("first order", "non-sparse", "no")),
    ],
)
def test_another_learner_is_of_another_kind(name: str, other: str, kind: tuple[str, ...]) -> None:
    of = reproduce.entry("sol-table1")
    learners = tuple(
        {"name": name, "estimator": other, "parameters": {"eta": 0.001}} if one["name"] == name else one
        for one in of.learner
    )
    changed = replace(of, learner=learners)
    parameters = changed.parameters(kinds_of_learners.Parameters, quick=False)
    learner = next(one for one in changed.learners if one.name == name)
    assert kinds_of_learners.kind_of(changed, learner, parameters) == kind
    verdicts = reproduce.run(changed).findings.verdicts
    assert any(f"Others: {name} (" in verdict.evidence for verdict in verdicts)


def test_an_entry_that_lacks_a_learner_of_the_table_is_refused() -> None:
    of = reproduce.entry("sol-table1")
    with pytest.raises(EntryError, match="must say order, sparsity and costs of each learner"):
        reproduce.run(replace(of, learner=of.learner[1:]))


# -- data sets that take the place of others --------------------------------------------------------------------------

SCALED = DataSet("s", files=("s.scale",), unscaled=("s|other",), source=SOURCE, rows=3, features=2)
LIKE = DataSet("s", files=("like",), source=SOURCE, rows=2, features=1, stand_in="like it")
GENERATED = {
    "generator": "make_rotated_gaussian",
    "arguments": {"n_samples": 9, "random_state": 0},
    "stand_in": "made up",
}


def test_an_unscaled_file_is_scaled_as_the_scaled_one_was(tmp_path: Path) -> None:
    (tmp_path / "other.svm").write_text("1 1:-5 2:7\n-1 1:5 2:3\n1 1:-3 2:5\n")
    rows = data_module.load(SCALED, tmp_path)
    np.testing.assert_allclose(rows.X, [[0, 1], [1, 0], [0.2, 0.5]])
    (tmp_path / "s.scale").write_text("1 1:9 2:9\n-1 1:9\n1 2:9\n")  # the scaled one comes first, and as it is
    assert data_module.load(SCALED, tmp_path).dense().X.max() == 9
    (tmp_path / "s.scale").unlink()
    (tmp_path / "other.svm").write_text("1 1:-5\n")
    assert "other.svm has 1 rows" in str(data_module.load(SCALED, tmp_path))


def test_real_data_stand_in_before_those_of_a_generator(tmp_path: Path) -> None:
    data = DataSet("s", files=("s",), source=SOURCE, rows=2, stand_ins=(LIKE,), **GENERATED)
    assert data_module.load(data, tmp_path).stand_in.startswith("made up. With s in the folder of data")
    (tmp_path / "like").write_text("1 1:4\n-1 1:5\n")
    rows = data_module.load(data, tmp_path)
    assert rows.stand_in == f"like it. With s in the folder of data (from {SOURCE}) the original is used"
    assert rows.dense().X.tolist() == [[4], [5]]
    (tmp_path / "s").write_text("1 1:6\n-1 1:7\n")
    rows = data_module.load(replace(data, features=1), tmp_path)
    assert (rows.stand_in, rows.dense().X.tolist()) == (None, [[6], [7]])
    (tmp_path / "s").unlink()
    (tmp_path / "like").write_text("1 1:4\n")
    assert "like has 1 rows; it must be LIBSVM text with 2 rows" in str(data_module.load(data, tmp_path))


def test_several_classes_may_be_the_positive_one(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("1 1:1\n2 1:2\n3 1:3\n4 1:4\n")
    data = DataSet("s", files=("s",), source=SOURCE, rows=4, labels=(1, 2, 3, 4), positive=(2, 3))
    np.testing.assert_array_equal(data_module.load(data, tmp_path).y, [-1, 1, 1, -1])
    chosen = data_module.load(replace(data, against=(4,)), tmp_path)
    np.testing.assert_array_equal(chosen.y, [1, 1, -1])
    assert chosen.sizes == (3,)


def test_many_files_are_named_by_the_first_and_the_last(tmp_path: Path) -> None:
    data = DataSet("s", files=("a", "b", "c", "d"), source=SOURCE, rows=4)
    assert "there are no files a to d" in str(data_module.load(data, tmp_path))
    for k, name in enumerate("abcd"):
        (tmp_path / name).write_text(f"1 1:{k + 1}\n" * (k + 1))
    assert "a to " in str(data_module.load(data, tmp_path))  # ten rows
    (tmp_path / "d").write_text("-1 1:1\n" * 4)
    rows = data_module.load(replace(data, rows=10), tmp_path)
    assert rows.sizes == (1, 2, 3, 4)
    assert rows.first(5).sizes == (5,)


ENTRY = (Path(reproduce.__file__).parent / "entries" / "scw-table2.toml").read_text()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            'of = "scw-table3: splice"',
            'of = "scw-table9: splice"',
            "must be 'ENTRY: DATA SET'.*Got 'scw-table9: splice'",
        ),
        (
            'of = "scw-table3: splice"',
            'of = "scw-table3: spice"',
            "scw-table3 has no data set 'spice'; it has svmguide3",
        ),
        ('of = "scw-table3: splice"', 'of = "scw-table3: splice"\nrows = 1', "must have a 'name' and nothing else"),
        (
            'of = "scw-table3: splice"',
            f'files = ["x"]\nsource = "{SOURCE}"\nrows = 1\n[[data.instead]]\nfiles = ["y"]\nrows = 1',
            "needs 'files', 'rows' or 'take', and a 'stand_in'",
        ),
    ],
)
def test_a_data_set_of_another_entry_must_be_there(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in ENTRY
    path = tmp_path / "scw-table2.toml"
    path.write_text(ENTRY.replace(old, new, 1))
    with pytest.raises(EntryError, match=message):
        read_entry(path)


# -- rows in time order -----------------------------------------------------------------------------------------------


def rows_of(n: int, **given: Any) -> Rows:
    return Rows(np.arange(n)[:, None], np.tile([1, -1], n)[:n], **given)


def test_days_of_so_many_rows_and_of_files() -> None:
    train, test = Days("next", 3).of(rows_of(10), 1)
    assert (train.X.ravel().tolist(), test.X.ravel().tolist()) == ([3, 4, 5], [6, 7, 8])
    train, test = Days("even to odd", 3).of(rows_of(10), 0)  # the last row is no whole day
    assert (train.X.ravel().tolist(), test.X.ravel().tolist()) == ([0, 1, 2, 6, 7, 8], [3, 4, 5])
    train, test = Days("even to odd", 3).of(rows_of(10, sizes=(1, 2, 7)), 0)
    assert (train.X.ravel().tolist(), test.X.ravel().tolist()) == ([0, *range(3, 10)], [1, 2])
    assert (Days("next", 3).draws(4), Days("even to odd", 3).draws(4)) == (4, 1)
    with pytest.raises(EntryError, match="must be 'next' or 'even to odd'"):
        Days("odd", 3)


def test_selectors_on_days_and_their_nonzero_weights() -> None:
    of = reproduce.entry("sbcw-figure1")
    stream = {
        "generator": "make_sparse_stream",
        "arguments": {"n_samples": 400, "n_features": 500, "n_nonzero": 20, "n_informative": 20},
    }
    names = ("url, day to next day", "url, even to odd days")
    learners = tuple({**one, "grid": {}} for one in of.learner if one["name"] in ("SBCW", "SOFS"))
    protocol = {
        **of.protocol,
        "counts": [4, 8],
        "draws": 2,
        "days": {names[0]: {"split": "next", "rows": 100}, names[1]: {"split": "even to odd", "rows": 50}},
    }
    learners = tuple(
        {**one, "parameters": {**one["parameters"], "C": 1.0}, "same": {}} if one["name"] == "SBCW" else one
        for one in learners
    )
    small = replace(of, data=tuple({"name": name, **stream} for name in names), learner=learners, protocol=protocol)
    tables = {table.title: table for table in reproduce.run(small).findings.tables}
    assert len(tables) == 6
    (pairs,) = [table for title, table in tables.items() if title.startswith(names[0]) and "nonzero" in title]
    assert "100 rows for training, 100 for testing" in pairs.title
    assert "2 draws" in pairs.note
    for row in pairs.rows:
        assert all(0 < cell.ours.mean <= count for cell, count in zip(row.cells, (4, 8), strict=True))
        assert not any(cell.best for cell in row.cells)
    (once,) = [table for title, table in tables.items() if title.startswith(names[1]) and "accuracy" in title]
    assert "200 rows for training, 200 for testing" in once.title
    assert once.note == "One run."


def test_time_is_drawn_along_a_pass() -> None:
    of = reproduce.entry("scw-figure1")
    data = {"name": "synthetic", "generator": "make_rotated_gaussian", "arguments": {"n_samples": 100}}
    learners = tuple({**one, "grid": {}} for one in of.learner)
    small = replace(
        of, data=(data,), learner=learners, protocol={**of.protocol, "permutations": 2, "looks": 4}, quick={}
    )
    pictures = reproduce.run(small).findings.pictures
    assert [re.sub("synthetic-", "", picture.name) for picture in pictures] == ["mistakes", "updates", "time"]
    for series in pictures[2].series:
        assert len(series.y) == 4
        assert 0 < series.y[0] < series.y[-1]


def test_fewer_orders_and_tuning_rows_where_a_pass_takes_minutes() -> None:
    of = reproduce.entry("sbcw-table2")
    data = {"name": "epsilon 50k", "generator": "make_epsilon", "arguments": {"n_samples": 200, "n_features": 5}}
    learners = tuple({**one, "grid": {}} for one in of.learner if one["name"] in ("PA", "DCD", "BCWL1"))
    small = replace(of, data=(data,), learner=learners, numbers={}, protocol={**of.protocol, "orders": 3})
    (table,) = reproduce.run(small).findings.tables
    assert table.note.startswith("Ours: means ± standard deviations over 2 orders of the training rows; DCD: one run.")
    assert table.rows[0].cells[1].ours.count == 2
    more = {**small.protocol, "fewer_orders": {}, "fewer_tuning_rows": {"epsilon 50k": 100}}
    (table,) = reproduce.run(replace(small, protocol=more)).findings.tables
    assert table.rows[0].cells[1].ours.count == 3
    assert "Tuned on the first 100 of them" in table.note

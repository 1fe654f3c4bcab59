"""The entries of the paper on sparse online learning: their contents, and their protocols on small data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file
from sklearn.model_selection import GridSearchCV, KFold

from sureline import FSOL, SSOL, reproduce
from sureline.datasets import STREAM_SHAPES, make_sparse_gaussian, make_sparse_stream
from sureline.reproduce.data import Rows, Split, efforts, first_rows, imbalanced
from sureline.reproduce.entry import Entry, entry, values_of
from sureline.reproduce.protocols import data_shapes, penalty_paths
from sureline.reproduce.protocols.penalty_paths import Candidate, Curve

FIGURES = [f"sol-figure{number}" for number in range(1, 6)]
NAMES = [*FIGURES, "sol-table2"]
SMALL_EFFORT = {"n_train": 400, "n_test": 200, "permutations": 2, "grid_step": 5, "gap": 0.2, "limit": 12}


def small(name: str, *, generator: str, arguments: dict[str, Any], effort: dict[str, Any], **others: Any) -> Entry:
    """An entry with one generated data set in place of its own, and with little effort."""
    of = entry(name)
    data = {"name": "small", "generator": generator, "arguments": arguments, **others}
    protocol = {**of.protocol, "folds": 2, "effort": effort, "sets": {}}
    return replace(of, data=(data,), protocol=protocol, quick={}, numbers={})


def small_split(n_train: int = 300) -> Split:
    X, y = make_sparse_gaussian(n_train + 100, 60, n_effective=20, n_noise=10, random_state=0)
    return first_rows(Rows(X, np.where(y > 0, 1, -1)), n_train, 100)


# -- what the entries are made of -------------------------------------------------------------------------------------


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_protocols_are_what_their_kind_takes(name: str, quick: bool) -> None:
    of = entry(name)
    module = reproduce.running.protocol_of(of)
    parameters = of.parameters(module.Parameters, quick=quick)
    if hasattr(parameters, "sets"):
        made = efforts(of, parameters.effort, parameters.sets)
        assert set(made) == {data.name for data in of.data_sets}
        assert all(effort.n_train or effort.split == "imbalanced" for effort in made.values())
    if name == "sol-table2":
        assert set(parameters.rows) == {data.name for data in of.data_sets}


@pytest.mark.parametrize("name", FIGURES)
def test_grids_and_fixed_parameters_are_those_of_section_5_1(name: str) -> None:
    of = entry(name)
    rates, others = [2.0**k for k in range(-1, 10)], [2.0**k for k in range(-5, 6)]
    for learner in of.learners:
        for parameter, grid in learner.grid.items():
            assert list(values_of(grid)) == (rates if parameter == "eta" else others), (learner.name, parameter)
        parameters = Candidate(of, learner).build({}).get_params()
        assert parameters["fit_intercept"] is False
        assert parameters["normalize"] == "none"
        assert parameters.get("loss", "hinge") == "hinge"
        assert parameters.get("cost") == (
            "balanced" if learner.name in ("CS-FSOL", "CS-SSOL", "CS-OGD", "CPA") else None
        )
    assert [of.protocol[key] for key in ("folds", "tuning_seed", "first_seed")] == [5, 20150901, 1]


def test_figures_compare_the_learners_of_table_1() -> None:
    sparse = ["STG", "FOBOS", "Ada-FOBOS", "Ada-RDA", "FSOL", "SSOL"]
    costs = ["CS-FSOL", "CS-SSOL", "CS-OGD", "CPA", "PAUM"]
    for name in FIGURES[:3]:
        assert [learner.name for learner in entry(name).learners] == sparse
    for name in FIGURES[3:]:
        of = entry(name)
        assert [learner.name for learner in of.learners] == [*sparse, *costs, "OGD", "PA", "Perceptron"]
        dense = [learner.name for learner in of.learners if not Candidate(of, learner).sparse]
        assert dense == ["CS-OGD", "CPA", "PAUM", "OGD", "PA", "Perceptron"]


def test_table_2_is_transcribed_as_the_shapes_of_the_generators_were() -> None:
    of = entry("sol-table2")
    assert [data.name.lower() for data in of.data_sets] == list(STREAM_SHAPES)
    for data in of.data_sets:
        shape = STREAM_SHAPES[data.name.lower()]
        printed = {
            measure: of.paper_mean(data.name, "paper", measure).mean for measure in of.numbers[data.name]["paper"]
        }
        assert printed == {
            "training rows": shape.n_train,
            "test rows": shape.n_test,
            "features": shape.n_features,
            "nonzeros": shape.n_nonzero,
            "never active, %": {
                "AUT": 3.07,
                "PCMAC": 3.99,
                "NEWS": 29.88,
                "RCV1": 8.80,
                "URL": 7.44,
                "WEBSPAM": 95.82,
            }.get(data.name, {"URL2": 44.96, "WEBSPAM2": 96.19}.get(data.name)),
            "negatives per positive": shape.negatives_per_positive,
        }


def test_whatever_is_not_the_papers_says_so() -> None:
    paper_sets = {"synthetic", "synthetic, rows of unit length"}
    for name in NAMES:
        for data in entry(name).data_sets:
            assert (data.stand_in is None) == (data.name in paper_sets), (name, data.name)


# -- splits and paths -------------------------------------------------------------------------------------------------


def test_imbalanced_rows() -> None:
    X, y = make_sparse_stream(3000, 200, 5, random_state=0)
    rows = Rows(X, np.where(y > 0, 1, -1), "made up")
    split = imbalanced(rows, 9, seed=0)
    n_negative, n_positive = int((split.y < 0).sum()), int((split.y > 0).sum())
    assert n_negative == 2 * int((rows.y < 0).sum()) // 3
    assert n_positive == round(n_negative / 9)
    assert len(split.y) + len(split.y_test) == 3000  # all others are for testing
    assert split.X.sum() + split.X_test.sum() == pytest.approx(X.sum(), rel=1e-5)
    assert split.stand_in == "made up"
    split = imbalanced(rows, 9, seed=0, n_train=1000, n_test=100)
    assert [len(split.y), (split.y > 0).sum(), len(split.y_test), (split.y_test > 0).sum()] == [1000, 100, 100, 10]


def test_tuning_is_that_of_a_grid_search() -> None:
    split = small_split()
    of = small("sol-figure1", generator="make_sparse_gaussian", arguments={}, effort={})
    candidate = Candidate(of, of.learners[-1], step=5)  # SSOL
    point, held_out = penalty_paths.tune(candidate, split, "test_error", folds=3, seed=7)
    rows = split.shuffled(7)
    grid = {name: list(values) for name, values in candidate.grid.items()}
    learner = SSOL(fit_intercept=False, normalize="none")
    search = GridSearchCV(learner, grid, cv=KFold(3), scoring="accuracy").fit(rows.X, rows.y)
    assert held_out == pytest.approx(1 - search.best_score_)
    assert point == search.best_params_


def test_a_path_goes_from_no_penalty_to_no_weights() -> None:
    split = small_split()
    learner = FSOL(eta=1.0, fit_intercept=False, normalize="none")
    curve = penalty_paths.trace(learner, split, "test_error", gap=0.1, limit=40)
    assert curve.lams[0] == 0
    assert curve.sparsity[-1] == 1
    assert len(set(curve.lams.tolist())) == len(curve.lams)
    assert np.diff(curve.sparsity[:-1]).max() < 0.35
    free = learner.fit(split.X, split.y)
    assert curve.values[0] == 1 - free.score(split.X_test, split.y_test)
    assert curve.at(np.array([curve.sparsity[0]]))[0] == curve.values[0]
    assert curve.at(np.array([0.99]))[0] == pytest.approx(
        np.interp(0.99, curve.sparsity, curve.values), abs=0.2
    )  # between its neighbours


def test_between_two_models_the_curve_is_straight_and_before_the_first_there_is_none() -> None:
    curve = Curve(np.array([0.0, 1, 2, 3]), np.array([0.2, 0.6, 0.6, 1]), np.array([0.1, 0.2, 0.4, 0.5]), np.zeros(4))
    at = curve.at(np.array([0.1, 0.2, 0.4, 0.6, 0.8]))
    assert np.isnan(at[0])
    assert at[1:] == pytest.approx([0.1, 0.2, 0.3, 0.4])


# -- protocols on small data ------------------------------------------------------------------------------------------


def comparable(outcome: reproduce.Outcome) -> dict[str, Any]:
    return {**outcome.to_dict(), "date": None, "seconds": None}


def test_error_against_sparsity() -> None:
    of = small(
        "sol-figure1",
        generator="make_sparse_gaussian",
        arguments={"n_features": 60, "n_effective": 20, "n_noise": 10, "random_state": 0},
        effort={**SMALL_EFFORT, "levels": [0.0, 0.5, 0.9], "unit_length": True},
    )
    steps: list[reproduce.Step] = []
    outcome = reproduce.run(of, on_progress=steps.append)
    assert steps[-1].done == pytest.approx(steps[-1].total)
    (table,) = outcome.findings.tables
    assert [row.head[0] for row in table.rows] == [learner.name for learner in of.learners]
    assert [column.name for column in table.columns] == [
        "tuned",
        "held out",
        "no penalty",
        "50 %",
        "90 %",
        "kept until",
    ]
    assert "rows of unit length" in table.note
    assert len(outcome.findings.pictures) == 2
    assert len(outcome.findings.verdicts) == 4
    assert comparable(reproduce.run(of)) == comparable(outcome)  # all of it comes from seeds
    for i in (2, 3):
        best = min(row.cells[i].ours.mean for row in table.rows)
        assert all(row.cells[i].best for row in table.rows if row.cells[i].ours.mean == best)


def test_stand_ins_are_labelled_and_files_come_first(tmp_path: Path) -> None:
    effort = {
        **SMALL_EFFORT,
        "permutations": 1,
        "grid_step": 10,
        "levels": [0.5, 0.9],
        "split": "imbalanced",
        "ratio": 9,
    }
    of = small(
        "sol-figure4",
        generator="make_stream_like",
        arguments={"name": "pcmac", "positive": 0.1, "random_state": 0},
        effort=effort,
        files=["real"],
        rows=1500,
        source="nowhere",
        stand_in="made up",
    )
    outcome = reproduce.run(of, data=tmp_path)
    found = outcome.findings
    said = {one.stand_in for one in (*found.tables, *found.pictures)}
    assert said == {"made up. With real in the folder of data (from nowhere) the original is used"}
    said_of = [one.title for one in (*found.tables, *found.pictures)] + [one.claim for one in found.verdicts]
    assert [words for words in said_of if "small (stand-in)" not in words] == []
    X, y = make_sparse_stream(1500, 50, 5, n_informative=20, random_state=0)
    dump_svmlight_file(X, 2 * y - 1, str(tmp_path / "real.svm"), zero_based=False)
    outcome = reproduce.run(of, data=tmp_path)
    found = outcome.findings
    assert {one.stand_in for one in (*found.tables, *found.pictures)} == {None}
    assert "400 rows for training (40 positive) and 200 for testing (20 positive)" in found.tables[0].note


def test_without_data_it_says_what_is_missing() -> None:
    of = entry("sol-figure4")
    outcome = reproduce.run(replace(of, data=of.data[1:], protocol={**of.protocol, "sets": {}}))
    assert outcome.is_empty
    assert "w8a" in str(outcome.findings.missing[0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"metric": "error"}, "'metric' must be one of test_error"),
        ({"claims": "none"}, "'claims' must be one of synthetic"),
        ({"sets": {"nosuch": {}}}, "has 'nosuch', which is no data set"),
        ({"effort": {"split": "odd"}}, "must be one of first, shuffled, imbalanced"),
        ({"effort": {"folds": 3}}, "has a key 'folds'"),
    ],
)
def test_protocols_with_mistakes_are_refused(change: dict[str, Any], words: str) -> None:
    of = entry("sol-figure1")
    with pytest.raises(ValueError, match=words):
        reproduce.run(replace(of, protocol={**of.protocol, **change}))


def test_time_against_sparsity() -> None:
    of = small(
        "sol-figure3",
        generator="make_stream_like",
        arguments={"name": "pcmac", "random_state": 0},
        effort={"n_train": 300, "n_test": 100, "grid_step": 10, "gap": 0.3, "limit": 11, "levels": [0.9]},
        stand_in="made up",
    )
    found = reproduce.run(replace(of, protocol={**of.protocol, "repeats": 1})).findings
    (table,) = found.tables
    assert {row.head[0] for row in table.rows} == {learner.name for learner in of.learners}
    assert all(row.cells[2].ours.mean >= 0 for row in table.rows)
    first = {row.head[0]: row for row in reversed(table.rows)}
    assert {row.cells[0].text for row in first.values()} == {"0"}  # without a penalty, which the others are measured by
    assert table.stand_in == "made up"
    assert len(found.verdicts) == 4


def test_shapes_of_data() -> None:
    of = entry("sol-table2")
    sets = tuple(data for data in of.data if data["name"] in ("AUT", "PCMAC"))
    numbers = {name: of.numbers[name] for name in ("AUT", "PCMAC")}
    protocol = {**of.protocol, "rows": {"AUT": [4_000, 1_000], "PCMAC": [1000, 943]}}
    outcome = reproduce.run(replace(of, data=sets, numbers=numbers, protocol=protocol))
    (table,) = outcome.findings.tables
    assert [row.head for row in table.rows] == [("AUT", "the paper's"), ("AUT", "here: stand-in, generated")]
    assert [cell.text for cell in table.rows[0].cells][:4] == ["40,000", "22,581", "20,707", "1,969,407"]
    assert [cell.text for cell in table.rows[1].cells][:5] == ["4,000", "1,000", "20,707", "196,000", "49.00"]
    assert outcome.findings.verdicts[0].holds is False  # a tenth of the rows
    assert "training rows 4,000 against 40,000" in outcome.findings.verdicts[0].evidence
    assert "never come in the training rows (at most 5 points more or fewer)." in outcome.findings.verdicts[1].claim
    assert [one.data for one in outcome.findings.missing] == ["PCMAC"]


def test_never_active_features() -> None:
    X = make_sparse_stream(50, 1000, 5, random_state=0)[0]
    y = np.where(np.arange(50) < 10, 1, -1)
    counted = data_shapes.counted(Split(X[:40], y[:40], X[40:], y[40:]))
    assert counted["never active, %"] == pytest.approx(100 - 0.1 * len(set(X[:40].indices.tolist())))
    assert counted["negatives per positive"] == 3

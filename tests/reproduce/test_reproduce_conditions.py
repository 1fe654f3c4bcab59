"""The studies: tables and figures again, where one thing is changed."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.datasets import dump_svmlight_file

import studies
from studies import conditions, libol, sparsity_conditions
from sureline import NAROW, SCW, reproduce, rules
from sureline.datasets import make_sparse_gaussian, make_sparse_stream
from sureline.reproduce.data import Rows, first_rows
from sureline.reproduce.entry import built

ROOT = Path(studies.__file__).parents[1]
NAMES = studies.names()


# -- what the studies are made of -------------------------------------------------------------------------------------


def test_the_studies_are_no_part_of_the_package() -> None:
    assert len(NAMES) == 5
    assert not set(NAMES) & set(reproduce.names())
    with pytest.raises(ValueError, match="There is no study 'scw-table3'; there are scw-table3-conditions, "):
        studies.entry("scw-table3")


@pytest.mark.parametrize("name", NAMES)
def test_every_study_is_whole(name: str) -> None:
    study = studies.entry(name)
    full, quick = (study.parameters(studies.KINDS[study.kind].Parameters, quick=quick) for quick in (False, True))
    assert full != quick
    of = reproduce.entry(full.of)
    assert set(getattr(quick, "data", None) or ()) <= {one.name for one in of.data_sets}
    assert study.data == study.learner == ()
    assert study.numbers == {}
    # What is said of all runs has no sizes that a quick one changes.
    assert not re.search(r"\d (random |training )?rows|as many as|\ba (tenth|fifth) of the rows", study.note)


def test_the_index_of_the_results_and_the_readme_name_every_study() -> None:
    for index in (ROOT / "docs" / "results" / "README.md", ROOT / "studies" / "README.md"):
        text = index.read_text(encoding="utf-8")
        assert [name for name in NAMES if not re.search(rf"\b{name}\b", text)] == []


def test_the_command(tmp_path: Path) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "studies", *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)

    done = run("sol-figure4-conditions", "--data", str(tmp_path), "--output", str(tmp_path / "out"), "--quick")
    assert done.returncode == 1, done.stderr  # for want of data
    assert "Not run, for want of data:\n  w8a: there is no file" in done.stdout
    page = (tmp_path / "out" / "sol-figure4-conditions.md").read_text(encoding="utf-8")
    assert "\n    python -m studies sol-figure4-conditions --data DIR --quick\n" in page
    for arguments, message in [
        (["scw-table3"], "invalid choice: 'scw-table3'"),
        (["sol-figure4-conditions", "--data", "/no/such/folder"], "there is no such folder of data"),
        (["sol-figure4-conditions", "--output", "/proc/foo"], "cannot be written"),
    ]:
        done = run(*arguments)
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stdout == ""


# -- table 3 of the SCW paper -----------------------------------------------------------------------------------------


def test_other_conditions_are_tried_where_a_figure_is_far(monkeypatch) -> None:
    gaussian = {
        "name": "synthetic",
        "generator": "make_rotated_gaussian",
        "arguments": {"n_samples": 300, "random_state": 0},
    }
    table3 = reproduce.entry("scw-table3")
    grids = {"eta": (0.55, 0.95)}
    learners = tuple(
        {**one, "grid": {key: grids.get(key, (0.5, 4.0)) for key in one["grid"]}} for one in table3.learner
    )
    table3 = replace(table3, data=(gaussian,), learner=learners, numbers={}, quick={})
    far = {one.name: {"rate": "0.150 ± 0.010", "updates": "9000.0 ± 1.0"} for one in table3.learners}
    near = {one.name: {"rate": "0.150 ± 0.900", "updates": "90.0 ± 900.0"} for one in table3.learners}
    study = studies.entry("scw-table3-conditions")
    study = replace(study, protocol={**study.protocol, "permutations": 2, "search_rows": 300})
    monkeypatch.setattr(conditions, "entry_of", lambda name: replace(table3, numbers={"synthetic": near}))
    assert studies.run(study).findings.tables[0].rows == ()
    monkeypatch.setattr(conditions, "entry_of", lambda name: replace(table3, numbers={"synthetic": far}))
    rows = studies.run(study).findings.tables[0].rows
    tried = {(row.head[1], row.head[2].partition(",")[0]) for row in rows}
    assert {name for name, _ in tried} == {one.name for one in table3.learners}
    assert {("NAROW", "positive losses counted as updates"), ("SCW-II", "LIBOL's alpha")} <= tried
    assert ("CW", "other draws of the data") in tried


def test_what_libol_does_differently() -> None:
    """Without its two differences the plain loop is NAROW and SCW-II to the count."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.where(X[:, 0] + rng.normal(0, 0.5, 200) > 0, 1, -1)
    narow = NAROW(b=2.0, covariance="full", fit_intercept=False, normalize="none").fit(X, y)
    mistakes, losses = libol.one_pass(libol.narow_step(2.0), X, y)
    assert mistakes == narow.n_mistakes_
    assert losses > narow.n_updates_
    exact = SCW(variant="II", C=0.5, eta=0.8, covariance="full", fit_intercept=False, normalize="none").fit(X, y)
    rule = rules.SCW("II", 0.5, float(ndtri(0.8)))

    def step(m: float, v: float) -> tuple[float, float] | None:
        made = rule.step(m, v)
        return (made.alpha, made.beta) if made.alpha > 0 else None

    assert libol.one_pass(step, X, y) == (exact.n_mistakes_, exact.n_updates_)
    assert libol.scw2_step(0.5, 0.8)(0.2, 0.7) != pytest.approx(step(0.2, 0.7))


# -- figures of the paper on sparse online learning -------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("sol-")])
def test_conditions_name_what_there_is(name: str) -> None:
    of = studies.entry(name)
    parameters = of.parameters(sparsity_conditions.Parameters, quick=False)
    figure = reproduce.entry(parameters.of)
    known = {learner.name for learner in figure.learners}
    assert parameters.on in {data.name for data in figure.data_sets}
    for table in parameters.conditions:
        condition = built(sparsity_conditions.Condition, table, name)
        assert set(condition.learners) <= known
        assert condition.change in sparsity_conditions.CHANGES
        assert condition.tune or set(condition.learners or known) <= set(parameters.points)


def test_figure_1_under_other_conditions() -> None:
    of = studies.entry("sol-figure1-conditions")
    conditions = [one for one in of.protocol["conditions"] if one.get("learners") == ["SSOL"] or "change" in one]
    conditions = [{**one, "learners": ["SSOL"]} for one in conditions]
    effort = {"n_train": 300, "n_test": 100, "grid_step": 10, "gap": 0.2, "limit": 12}
    small = replace(of, protocol={**of.protocol, "conditions": conditions, "effort": effort})
    (table,) = studies.run(small).findings.tables
    free = {row.head[0]: row.cells[1].ours.mean for row in table.rows}
    assert len(free) == 3
    assert free["lambda_t constant"] == free["theta is truncated before S: w = S soft(theta, lam t)"]
    assert [column.name for column in table.columns][-2:] == ["95 %", "kept until"]


def test_which_features_are_kept(tmp_path: Path) -> None:
    X, y = make_sparse_stream(2000, 40, 5, n_informative=10, random_state=0)
    dump_svmlight_file(X, 2 * y - 1, str(tmp_path / "w8a.svm"), zero_based=False)
    of = studies.entry("sol-figure4-conditions")
    figure = reproduce.entry("sol-figure4")
    rows = {**figure.data[1], "rows": 2000, "features": 40}
    small = replace(of, protocol={**of.protocol, "conditions": of.protocol["conditions"][:1], "effort": {"limit": 12}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparsity_conditions, "entry_of", lambda name: replace(figure, data=(figure.data[0], rows)))
        found = studies.run(small, data=tmp_path).findings
    assert [row.head[0] for row in found.tables[1].rows] == ["all that come", "kept by CS-FSOL", "kept by CS-SSOL"]
    assert found.tables[1].rows[0].cells[0].text in ("39", "40")  # of 40, one may never come
    assert all(table.stand_in for table in found.tables)


def test_without_the_file_nothing_is_run() -> None:
    outcome = studies.run("sol-figure4-conditions")
    assert outcome.is_empty
    assert "w8a" in str(outcome.findings.missing[0])


def test_an_unknown_change_is_refused() -> None:
    of = studies.entry("sol-figure1-conditions")
    wrong = replace(of, protocol={**of.protocol, "conditions": [{"words": "odd", "change": "odd"}]})
    with pytest.raises(ValueError, match="there is no change 'odd'"):
        studies.run(wrong)


def test_labels_by_a_plane_through_the_mean_are_balanced() -> None:
    X, y = make_sparse_gaussian(2000, 120, n_noise=10, random_state=0)
    rows = first_rows(Rows(X, np.where(y > 0, 1, -1)), 1500, 500)
    assert (rows.y > 0).mean() > 0.7
    assert (sparsity_conditions.through_the_mean(rows).y > 0).mean() == pytest.approx(0.5, abs=0.05)


def test_scaled_features_have_one_scale_for_training_and_testing() -> None:
    X, y = make_sparse_stream(300, 30, 5, random_state=0)
    rows = first_rows(Rows(X, np.where(y > 0, 1, -1)), 200, 100)
    scaled = sparsity_conditions.scaled_features(rows)
    pairs = [(scaled.X, rows.X), (scaled.X_test, rows.X_test)]
    factors = [one.tocoo().data / two.tocoo().data for one, two in pairs]
    columns = [two.tocoo().col for _, two in pairs]
    by_column = [{int(c): float(f) for c, f in zip(*one, strict=True)} for one in zip(columns, factors, strict=True)]
    common = set(by_column[0]) & set(by_column[1])
    assert all(by_column[0][column] == pytest.approx(by_column[1][column], rel=1e-4) for column in common)
    assert np.std(np.log(list(by_column[0].values()))) == pytest.approx(2, abs=0.7)

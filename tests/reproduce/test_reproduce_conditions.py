"""The entries that change one thing of a figure of the sparse online learning paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from sureline import reproduce
from sureline.datasets import make_sparse_gaussian, make_sparse_stream
from sureline.reproduce import sparsity_conditions
from sureline.reproduce.data import Rows
from sureline.reproduce.entry import entry, names
from sureline.reproduce.splits import first_rows

NAMES = [name for name in names() if name.startswith("sol-") and "-conditions" in name]


@pytest.mark.parametrize("name", NAMES)
def test_conditions_name_what_there_is(name: str) -> None:
    of = entry(name)
    parameters = of.parameters(sparsity_conditions.Parameters, quick=False)
    figure = entry(parameters.of)
    known = {learner.name for learner in figure.learners}
    assert parameters.on in {data.name for data in figure.data_sets}
    for table in parameters.conditions:
        condition = reproduce._fields.built(sparsity_conditions.Condition, table, name)
        assert set(condition.learners) <= known
        assert condition.change in sparsity_conditions.CHANGES
        assert condition.tune or set(condition.learners or known) <= set(parameters.points)


def test_figure_1_under_other_conditions() -> None:
    of = entry("sol-figure1-conditions")
    conditions = [one for one in of.protocol["conditions"] if one.get("learners") == ["SSOL"] or "change" in one]
    conditions = [{**one, "learners": ["SSOL"]} for one in conditions]
    effort = {"n_train": 300, "n_test": 100, "grid_step": 10, "gap": 0.2, "limit": 12}
    small = replace(of, protocol={**of.protocol, "conditions": conditions, "effort": effort})
    (table,) = reproduce.run(small).findings.tables
    free = {row.head[0]: row.cells[1].ours.mean for row in table.rows}
    assert len(free) == 3
    assert free["lambda_t constant"] == free["theta is truncated before S: w = S soft(theta, lam t)"]
    assert [column.name for column in table.columns][-2:] == ["95 %", "kept until"]


def test_which_features_are_kept(tmp_path: Path) -> None:
    X, y = make_sparse_stream(2000, 40, 5, n_informative=10, random_state=0)
    dump_svmlight_file(X, 2 * y - 1, str(tmp_path / "w8a.svm"), zero_based=False)
    of = entry("sol-figure4-conditions")
    figure = entry("sol-figure4")
    rows = {**figure.data[1], "rows": 2000, "features": 40}
    small = replace(of, protocol={**of.protocol, "conditions": of.protocol["conditions"][:1], "effort": {"limit": 12}})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparsity_conditions, "entry_of", lambda name: replace(figure, data=(figure.data[0], rows)))
        found = reproduce.run(small, data=tmp_path).findings
    assert [row.head[0] for row in found.tables[1].rows] == ["all that come", "kept by CS-FSOL", "kept by CS-SSOL"]
    assert found.tables[1].rows[0].cells[0].text in ("39", "40")  # of 40, one may never come
    assert all(table.stand_in for table in found.tables)


def test_without_the_file_nothing_is_run() -> None:
    outcome = reproduce.run("sol-figure4-conditions")
    assert outcome.is_empty
    assert "w8a" in str(outcome.findings.missing[0])


def test_an_unknown_change_is_refused() -> None:
    of = entry("sol-figure1-conditions")
    wrong = replace(of, protocol={**of.protocol, "conditions": [{"words": "odd", "change": "odd"}]})
    with pytest.raises(ValueError, match="there is no change 'odd'"):
        reproduce.run(wrong)


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

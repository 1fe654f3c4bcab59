"""Estimators and results in a notebook, and learners as their papers have them."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import fail, succeed
from scipy import sparse

import sureline
from sureline.datasets import make_sparse_stream
from sureline.evaluate import prequential
from sureline.learners.catalogue import EVERY_LEARNER, IN_MEMORY

WIDTH = 2**27


@pytest.mark.parametrize("name", ["SSOL", "SCW", "SBCW", "SOFS", "SDCA", "ODCARegressor"])
def test_a_wide_estimator_is_displayed_at_once(name: str) -> None:
    rng = np.random.default_rng(0)
    X = sparse.csr_matrix((np.ones(500), rng.integers(0, WIDTH, 500), np.arange(0, 501, 10)), shape=(50, WIDTH))
    more = {"n_features": 5} if name in ("SBCW", "SOFS") else {"dtype": "float32"} if name == "SCW" else {}
    model = getattr(sureline, name)(**more).fit(X, rng.permutation(50) % 2)
    begin = time.process_time()
    page = model._repr_html_()
    assert time.process_time() - begin < 2
    assert "of 134,217,728 features" in page
    assert "n_features_in_" in page


def test_a_narrow_estimator_shows_its_weights() -> None:
    model = sureline.AROW().fit([[1.5, 0.0], [0.0, 2.0], [1.0, 0.0]], [0, 1, 0])
    page = model._repr_html_()
    assert "coef_" in page
    assert "of 2 features" not in page


@pytest.mark.parametrize("name", [*EVERY_LEARNER, *IN_MEMORY])
def test_dir_has_what_is_for_users(name: str) -> None:
    kind = getattr(sureline, name)
    model = kind()
    names = dir(model)
    assert not [one for one in names if one.startswith("_")]
    assert {"fit", "predict", "score", "get_params", "as_published", *model.get_params()} <= set(names)
    assert "coef_" in names
    assert not {"judge", "begin", "take", "adopt", "fresh_state", "check_parameters", "normalizer"} & set(names)
    assert (
        name in IN_MEMORY or name in ("BCW", "SBCW", "FGM", "KernelSCW") or {"learn_one", "predict_one"} <= set(names)
    )


@pytest.mark.parametrize("name", EVERY_LEARNER)
def test_as_published_has_what_the_paper_has(name: str) -> None:
    kind = getattr(sureline, name)
    parameters = kind.as_published().get_params()
    assert (parameters["normalize"], parameters["fit_intercept"], parameters["dtype"]) == ("none", False, "float64")
    assert parameters["shuffle"] is False
    assert {**parameters, **kind.published} == parameters
    assert kind.as_published(fit_intercept=True).fit_intercept is True


def test_sbcw_as_published_has_one_c() -> None:
    assert sureline.SBCW.as_published().C2 == 1.0
    model = sureline.SBCW.as_published(C=10.0)
    assert (model.C2, model.final_passes) == (10.0, 0)
    assert sureline.SDCA.as_published(rho=0.1).get_params()["fit_intercept"] is False


def test_the_command_line_trains_as_published(tmp_path: Path) -> None:
    X, y = make_sparse_stream(300, 50, 10, random_state=0)
    data = tmp_path / "data.svm"
    cells = (zip(row.indices + 1, row.data.tolist(), strict=True) for row in X)
    lines = (f"{label} " + " ".join(f"{j}:{v!r}" for j, v in row) for label, row in zip(y, cells, strict=True))
    data.write_text("\n".join(lines) + "\n")
    model = tmp_path / "m.sureline"
    succeed("train", data, "--algorithm", "ssol", "--as-published", "--lam", 3, "--quiet", "--model", model)
    loaded = sureline.load(model)
    expected = sureline.SSOL.as_published(lam=3.0).partial_fit(X, y, [0, 1])
    assert (loaded.schedule, loaded.eta, loaded.fit_intercept, loaded.dtype) == ("1/t", 1.0, False, "float64")
    assert loaded.n_mistakes_ == expected.n_mistakes_
    assert loaded.nonzero_ == expected.nonzero_
    assert "goes with --algorithm NAME" in fail(2, "train", data, "--as-published", "--model", model)


def test_a_penalty_of_ssol_bites_to_the_end_of_the_stream() -> None:
    X, y = make_sparse_stream(3000, 2000, 20, n_informative=20, random_state=0)
    left = [sureline.SSOL(lam=lam).fit(X, y).nonzero_ for lam in (0.0, 0.3, 3.0, 30.0)]
    assert left[0] > 1.5 * left[1] > 3 * left[2] > 3 * left[3]
    assert sureline.SSOL(lam=3.0, schedule="1/t").fit(X, y).nonzero_ > 0.7 * left[0]  # which fades


def test_results_are_tables() -> None:
    X, y = make_sparse_stream(1500, 300, 20, random_state=0)
    contest = sureline.tournament({"AROW": sureline.AROW(), "a & b_1": sureline.Perceptron()}, (X, y))
    assert repr(contest).startswith("Tournament of 2 learners by error, best: ")
    assert repr(contest).splitlines()[1].startswith("learner  ")
    assert str(contest.best) in repr(contest).splitlines()[2]
    tied = repr(replace(contest, ties=[f"run {k}" for k in range(99)])).splitlines()[0]
    assert tied.endswith("(cannot be told from it: run 0, run 1, run 2, run 3, run 4 and 94 more)")
    path = sureline.sparsity_path(sureline.SSOL(), X, y, [0.0, 1.0])
    curves = prequential([sureline.AROW(), sureline.Perceptron()], (X, y), window=500)
    features = sureline.feature_path({"SOFS": sureline.SOFS(n_features=5)}, X, y, [5, 10], random_state=0)
    for result, columns, n_rows in (
        (contest, {"learner", "status", "error", "nonzeros", "seconds"}, 2),
        (path, {"lam", "nonzero", "error"}, 2),
        (curves, {"learner", "examples", "error"}, 2 * len(curves.examples)),
        (features, {"selector", "n_features"}, 2),
    ):
        frame = result.to_frame()
        assert isinstance(frame, pd.DataFrame)
        assert columns <= set(frame.columns)
        assert len(frame) == n_rows
        assert result.to_csv().splitlines()[0].split(",") == list(frame.columns)
        assert len(result.to_csv().splitlines()) == n_rows + 1
        tabular = result.to_latex().splitlines()
        assert tabular[0].startswith("\\begin{tabular}{l")
        assert (tabular[1], tabular[3], *tabular[-2:]) == ("\\toprule", "\\midrule", "\\bottomrule", "\\end{tabular}")
        assert len(tabular) == len(result.table()) + 6
        assert all(line.endswith(" \\\\") for line in tabular[4:-2])
    assert "a \\& b\\_1" in contest.to_latex()


def test_tables_are_written_and_need_pandas_for_frames_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_sparse_stream(500, 100, 20, random_state=0)
    path = sureline.sparsity_path(sureline.SSOL(), X, y, [0.0, 1.0])
    assert path.to_csv(tmp_path / "p.csv") == (tmp_path / "p.csv").read_text()
    assert path.to_latex(tmp_path / "p.tex") == (tmp_path / "p.tex").read_text()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas"):
        path.to_frame()
    assert json.dumps(path.to_csv())


def test_all_attributes_of_a_wide_batch_learner_can_be_gone_over() -> None:
    rows = sparse.csr_matrix(([1.0, 1.0, 1.0, 1.0], [0, 5, 10, 299], [0, 2, 4]), shape=(2, 1 << 27))
    model = sureline.BCW().fit(rows, [0, 1])
    there = [name for name in dir(model) if hasattr(model, name)]
    assert "intercept_variance_" in there
    assert "covariance_" not in there
    with pytest.raises(AttributeError, match=r"covariance_ does not fit into memory: .* GiB"):
        _ = model.covariance_

"""The novelty of rows."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import sureline
from sureline import cli
from sureline.datasets import make_sparse_stream
from sureline.learners.novelty import expected_unseen, usual_std

LEARNERS = {
    "AROW": sureline.AROW(),
    "AROW none": sureline.AROW(normalize="none", r=1e6),  # which learns from every row
    "AROW row float32": sureline.AROW(normalize="row", dtype="float32", r=1e6),
    "AROW full": sureline.AROW(covariance="full", normalize="none", r=1e6),
    "SCW": sureline.SCW(),
    "PA": sureline.PA(),
    "FTRL none": sureline.FTRL(normalize="none"),
    "AdaRDA none": sureline.AdaRDA(normalize="none"),
    "SSOL": sureline.SSOL(),
    "ODCA none": sureline.ODCA(rho=0.1, normalize="none", loss="log"),
    "BCW": sureline.BCW(),
    "BCW none": sureline.BCW(normalize="none"),
    "SBCW": sureline.SBCW(),
}


def rows(n_classes: int):
    """Rows of 40 columns; the last 15 are all zero."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40)) * (rng.random((400, 40)) < 0.3)
    X[:, 25:] = 0
    y = (X[:, :n_classes] + 0.1 * rng.normal(size=(400, n_classes))).argmax(axis=1)
    return X, y


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", LEARNERS)
def test_unseen_is_the_share_of_features_that_never_came(name, n_classes, tmp_path):
    X, y = rows(n_classes)
    clf = clone(LEARNERS[name]).fit(X, y)
    new = np.zeros((4, 40))
    new[0, [1, 2, 3]] = 1.0, -2.0, 0.5
    new[1, [1, 30]] = 5.0, 0.001
    new[2, [26, 39]] = 1.0
    unseen, ratio = clf.novelty(new)
    np.testing.assert_array_equal(unseen, [0, 0.5, 1, 0])
    as_csr = clf.novelty(sparse.csr_matrix(new))
    np.testing.assert_array_equal(as_csr.unseen, unseen)
    sureline.save(clf, tmp_path / "m")
    again = sureline.load(tmp_path / "m").novelty(new)
    np.testing.assert_array_equal(again.unseen, unseen)
    if hasattr(clf, "decision_std") and usual_std(clf.model.record):
        np.testing.assert_array_equal(again.std_ratio, ratio)
        if name in ("AROW", "SCW", "BCW"):  # others have hardly lowered their variances after so few rows
            assert ratio[2] > ratio[0]
        assert 0.5 < np.median(clf.novelty(X).std_ratio) < 1.5
    else:
        assert ratio is None
    if hasattr(clf, "novelty_one"):
        assert clf.novelty_one({1: 5.0, 30: 0.001}).unseen == 0.5
        assert clf.novelty_one({}).unseen == 0


def test_hashed_models_know_what_they_have_read():
    clf = sureline.AROW().learn_one({"cheap": 1.0, "pills": 1.0}, "spam").learn_one({"lunch": 1.0}, "ham")
    assert clf.novelty_one({"cheap": 1.0, "viagra": 1.0, "lunch": 1.0, "now": 1.0}).unseen == 0.5
    assert sureline.SCW().novelty_one({"a": 1.0}) == (1.0, None)
    wide = sureline.AROW(bits=30).learn_one({"cheap": 1.0}, "spam")
    assert wide.novelty_one({"cheap": 2.0, "new": 1.0}).unseen == 0.5


def test_columns_that_the_model_does_not_have_are_unseen():
    X, y = rows(2)
    clf = sureline.AROW(growing=True).fit(X, y)
    new = sparse.csr_matrix(np.eye(1, 100, 99))
    assert clf.novelty(new).unseen.tolist() == [1.0]


def test_what_is_expected_is_about_what_comes():
    X, y = make_sparse_stream(6000, 20_000, 20, random_state=0)
    clf = sureline.AROW().fit(X[:4000], y[:4000])
    came = clf.novelty(X[4000:]).unseen.mean()
    assert 0.8 * came < expected_unseen(clf) < 1.25 * came
    assert came > 0.01
    assert expected_unseen(sureline.AROW(normalize="row").fit(X[:99], y[:99])) is None


def test_predict_writes_it(tmp_path, capsys):
    X, y = rows(2)
    lines = "".join(
        f"{label} " + " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(row) if v) + "\n"
        for row, label in zip(X, y, strict=True)
    )
    (tmp_path / "a.svm").write_text(lines)
    (tmp_path / "b.svm").write_text("0 2:1 40:1\n1 1:1\n")
    for algorithm, has_std in (("arow", True), ("pa", False)):
        words = ["train", str(tmp_path / "a.svm"), "--algorithm", algorithm, "--model", str(tmp_path / "m"), "--quiet"]
        assert cli.run(words) == 0
        capsys.readouterr()
        assert cli.run(["predict", str(tmp_path / "b.svm"), "--model", str(tmp_path / "m"), "--novelty"]) == 0
        told = list(csv.DictReader(capsys.readouterr().out.splitlines()))
        assert [float(row["unseen"]) for row in told] == [0.5, 0.0]
        assert ("std ratio" in told[0]) == has_std
        if has_std:
            assert float(told[0]["std ratio"]) > float(told[1]["std ratio"]) > 0


def test_it_is_for_classifiers(tmp_path, capsys):
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:2\n" * 30)
    words = ["train", str(tmp_path / "a.svm"), "--algorithm", "odca-regressor", "--model", str(tmp_path / "m")]
    assert cli.run([*words, "--quiet"]) == 0
    assert cli.run(["predict", str(tmp_path / "a.svm"), "--model", str(tmp_path / "m"), "--novelty"]) == 2
    assert "--novelty is for classifiers" in capsys.readouterr().err

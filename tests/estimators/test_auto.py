"""`Auto`: the race and its committee as an estimator."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks
from stream_files import write_rows

import sureline
from sureline import Auto
from sureline.datasets import make_sparse_stream
from sureline.learners.race.candidates import CANDIDATES

X, Y = make_sparse_stream(1200, 150, 10, n_informative=40, random_state=0)


def expected_failures(estimator: Any) -> dict[str, str]:
    repetition = "A row that counts twice is one step, and not two."
    return {
        "check_sample_weight_equivalence_on_dense_data": repetition,
        "check_sample_weight_equivalence_on_sparse_data": repetition,
        "check_decision_proba_consistency": "Probabilities depend on the variance of a score, too.",
    }


@pytest.mark.filterwarnings("ignore::sureline.LabelRunsWarning")
@parametrize_with_checks([Auto()], expected_failed_checks=expected_failures, xfail_strict=False)
def test_estimator(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("size", [1, 97, 500])
def test_the_size_of_batches_changes_no_bit(size: int) -> None:
    n = 260 if size == 1 else 1200
    whole, parts = Auto().partial_fit(X[:n], Y[:n], classes=[0, 1]), Auto()
    for start in range(0, n, size):
        stop = min(start + size, n)
        parts.partial_fit(X[start:stop], Y[start:stop], classes=[0, 1])
        if start % 3 == 0 and size > 1:
            parts.predict(X[:5])  # which changes nothing
    np.testing.assert_array_equal(parts.coef_, whole.coef_)
    np.testing.assert_array_equal(parts.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(whole.coef_, Auto().fit(X[:n], Y[:n]).coef_)


def test_it_is_what_train_makes(tmp_path: Path) -> None:
    clf = sureline.train(write_rows(tmp_path / "rows.svm", X, Y))
    auto = Auto(dtype="float32").fit(X, Y)
    np.testing.assert_array_equal(auto.coef_, clf.coef_)
    np.testing.assert_array_equal(auto.confidence(X), clf.confidence(X.astype(np.float32)))
    alone = Auto(dtype="float32", committee=False).fit(X, Y)
    assert [row["share"] for row in alone.race_ if row["share"]] == [1.0]
    sureline.save(auto, tmp_path / "m")
    saved = sureline.load(tmp_path / "m")
    np.testing.assert_array_equal(saved.decision_function(X.astype(np.float32)), auto.decision_function(X))


def test_a_refused_batch_leaves_no_trace() -> None:
    auto = Auto(normalize="none").partial_fit(X[:700], Y[:700], classes=[0, 1])
    before = auto.coef_.copy()
    bad = X[:20].copy()
    for value in (np.nan, np.inf):
        bad.data[3] = value
        with pytest.raises(ValueError, match=r"NaN|infinit"):
            auto.partial_fit(bad, Y[:20])
    with pytest.raises(ValueError, match="feature"):
        auto.partial_fit(X[:20, :50], Y[:20])
    with pytest.raises(ValueError, match="is not what the first call of partial_fit got"):
        auto.partial_fit(X[:20], Y[:20], classes=[0, 2])
    huge = X[:500].astype(np.float64) * 1e307
    with pytest.raises(ValueError, match=r"score|step|scale"):
        auto.partial_fit(huge, Y[:500])
    np.testing.assert_array_equal(auto.coef_, before)
    whole = Auto(normalize="none").partial_fit(X, Y, classes=[0, 1])
    np.testing.assert_array_equal(auto.partial_fit(X[700:], Y[700:]).coef_, whole.coef_)


def test_it_can_be_pickled_on_the_way() -> None:
    auto = Auto().partial_fit(X[:700], Y[:700], classes=[0, 1])
    twin = pickle.loads(pickle.dumps(auto))
    for one in (auto, twin):
        one.partial_fit(X[700:], Y[700:])
    np.testing.assert_array_equal(auto.coef_, twin.coef_)


def test_it_tells_what_became_of_whom() -> None:
    auto = Auto().fit(X, Y)
    assert auto.decided_
    assert len(auto.race_) == len(CANDIDATES)
    assert sum(row["share"] for row in auto.race_) == pytest.approx(1)
    assert all(row["why"] for row in auto.race_ if row["left"] is not None)
    few = Auto().fit(X[:40], Y[:40])
    assert not few.decided_
    np.testing.assert_array_equal(few.coef_, sureline.SCW().fit(X[:40], Y[:40]).coef_)
    with pytest.raises(ValueError, match="metric must be"):
        Auto(metric="f1").fit(X, Y)


@pytest.mark.parametrize("load", [load_breast_cancer, load_digits])
def test_unscaled_tables_need_no_tuning(load: Any) -> None:
    X, y = load(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    learn, test = order[: len(y) * 3 // 4], order[len(y) * 3 // 4 :]
    auto = Auto().fit(X[learn], y[learn])
    rival = SGDClassifier(random_state=0, max_iter=1, tol=None).fit(X[learn], y[learn])
    assert auto.score(X[test], y[test]) > max(0.93, rival.score(X[test], y[test]) - 0.01)
    np.testing.assert_allclose(auto.predict_proba(csr_matrix(X[test])), auto.predict_proba(X[test]))
    assert auto.confidence(X[test]).mean() == pytest.approx(auto.score(X[test], y[test]), abs=0.06)


def test_it_abstains_wants_labels_and_knows_what_is_new() -> None:
    clf = Auto().fit(X, Y)
    answers = clf.predict_or_abstain(X, max_error=0.05)
    assert 0 < answers.count() < len(Y)
    assert (answers != Y).mean() < (clf.predict(X) != Y).mean()
    assert answers.tolist() == clf.model_.predict_or_abstain(X, 0.05).tolist()
    assert clf.coverage(0.05) == clf.model_.coverage(0.05) > clf.coverage(0.05, cost=(5, 1))
    assert 0 < clf.wants_label(X, rate=0.1).mean() < clf.wants_label(X, rate=0.5).mean() < 1
    assert clf.novelty(X).unseen.max() == 0
    assert clf.novelty(X).std_ratio.shape == (1200,)
    with pytest.raises(ValueError, match="150 features"):
        clf.wants_label(X[:, :10])

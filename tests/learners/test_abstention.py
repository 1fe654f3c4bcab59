"""Answers only where a promised error holds, by the record of predictions that preceded their labels."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.stats import beta, gamma

from sureline import AROW, FTRL, PA, SBCW, SCW
from sureline.datasets import make_drift, make_sparse_gaussian
from sureline.learners.abstention import Abstention, AbstentionWarning, abstention_of, errors_by_coverage
from sureline.models.record import GUARDS, Outcomes, fresh_record, guard


def noisy(n: int, n_classes: int = 2, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    W = np.random.default_rng(99).standard_normal((12, 1 if n_classes == 2 else n_classes))
    X = rng.standard_normal((n, 12))
    f = X @ W + 0.5 * rng.logistic(size=(n, W.shape[1]))
    return X, (f[:, 0] > 0).astype(int) if n_classes == 2 else f.argmax(axis=1)


@pytest.mark.parametrize("make", [AROW, SCW, PA, FTRL])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_the_promise_is_kept_and_most_rows_are_answered_that_could_be(make: Any, n_classes: int) -> None:
    X, y = noisy(20_000, n_classes)
    clf = make().fit(X[:12_000], y[:12_000])
    X, y = X[12_000:], y[12_000:]
    confidence, wrong = clf.confidence(X), clf.predict(X) != y
    order = np.argsort(-confidence)
    errors = np.cumsum(wrong[order]) / np.arange(1, len(y) + 1)
    for max_error in (0.02, 0.05, 0.2):
        answers = clf.predict_or_abstain(X, max_error)
        answered = ~answers.mask
        assert wrong[answered].mean() <= max_error * (1.3 if make is PA else 1.1)
        best = (np.flatnonzero(errors <= max_error)[-1] + 1) / len(y)
        assert answered.mean() >= 0.6 * best
        assert clf.coverage(max_error) == pytest.approx(answered.mean(), abs=0.12)
        assert_array_equal(answers.compressed(), clf.predict(X)[answered])
    assert not clf.predict_or_abstain(X, 0.9).mask.any()  # even all answers together are better than that


@pytest.mark.parametrize("labels", [["ham", "spam"], [3, 7], [-1.0, 2.0], [False, True]])
def test_labels_keep_their_type(labels: list[Any]) -> None:
    X, y = noisy(4000)
    named = np.array(labels)[y]
    answers = AROW().fit(X, named).predict_or_abstain(X, 0.05)
    assert answers.dtype == named.dtype
    assert 0 < answers.count() < len(y)
    assert set(answers.tolist()) == {None, *labels}


def test_without_a_promise_nothing_is_answered_and_it_says_why() -> None:
    X, y = noisy(300)
    clf = AROW().fit(X, y)
    with pytest.warns(AbstentionWarning, match=r"takes 29,956 predictions without a mistake, and the record counts as"):
        answers = clf.predict_or_abstain(X, 0.0001)
    assert answers.mask.all()
    assert clf.coverage(0.0001) == 0
    coin = np.random.default_rng(0).integers(0, 2, 5000)
    clf = AROW().fit(np.random.default_rng(1).standard_normal((5000, 3)), coin)
    with pytest.warns(AbstentionWarning, match="surest predictions on record"):
        assert clf.predict_or_abstain(X[:, :3], 0.01).mask.all()
    batch = SBCW(n_features=4).fit(X, y)
    with pytest.warns(AbstentionWarning, match="no prediction is on record"):
        assert batch.predict_or_abstain(X).mask.all()
    one = AROW(growing=True).fit(X, np.zeros(len(y)))
    with pytest.warns(AbstentionWarning, match="one class"):
        assert one.predict_or_abstain(X).mask.all()


def test_what_is_no_promise_is_refused() -> None:
    X, y = noisy(100)
    clf = AROW().fit(X, y)
    for bad in (0, -0.1, 1.0, float("nan"), float("inf"), True, "0.1", None):
        with pytest.raises(ValueError, match="max_error must be"):
            clf.predict_or_abstain(X, bad)
    for cost in ((1, 0), (1,), "10,1", 3, (1, float("inf"))):
        with pytest.raises(ValueError, match="cost must be a pair"):
            clf.coverage(0.1, cost)
    with pytest.raises(ValueError, match="two classes, and the model has 4"):
        AROW().fit(*noisy(100, 4)).coverage(0.1, (1, 1))


def test_the_bound_is_that_of_clopper_and_pearson() -> None:
    X, y = noisy(3000)
    clf = PA().fit(X, y)
    record = clf.model.record.copy()
    record[GUARDS] = 0
    seen = Outcomes.of(record)
    for max_error in (0.01, 0.05):
        rule = Abstention.of(record, 1, max_error)
        assert rule.curve is not None
        odds = np.where(seen.score > 0, 1, -1) * rule.curve.log_odds(seen.score, None)
        wrong = np.where(seen.score > 0, seen.negative, seen.positive)
        n = seen.negative + seen.positive

        bounds = [
            beta.ppf(0.95, wrong[odds >= least].sum() + 1, (n - wrong)[odds >= least].sum()) for least in odds.tolist()
        ]
        assert all(b > max_error for b, o in zip(bounds, odds, strict=True) if o < rule.least)
        assert beta.ppf(0.95, wrong[odds >= rule.least].sum() + 1, (n - wrong)[odds >= rule.least].sum()) <= max_error
        assert rule.coverage == pytest.approx(n[odds >= rule.least].sum() / n.sum())


def test_costs_have_the_bound_of_fay_and_feuer() -> None:
    X, y = noisy(3000)
    clf = PA().fit(X, y)
    record = clf.model.record.copy()
    record[GUARDS] = 0
    same, ten = Abstention.of(record, 1, 0.05), Abstention.of(record, 1, 0.5, (10.0, 10.0))
    assert same.least == ten.least  # ten times the cost is ten times the error
    rule = Abstention.of(record, 1, 0.2, (5.0, 1.0))
    seen = Outcomes.of(record)
    assert rule.curve is not None
    positive = seen.score > 0
    odds = np.where(positive, 1, -1) * rule.curve.log_odds(seen.score, None)
    wrong, price = np.where(positive, seen.negative, seen.positive), np.where(positive, 1.0, 5.0)
    kept = odds >= rule.least
    paid, squares = (wrong * price)[kept].sum() + 5, (wrong * price**2)[kept].sum() + 25
    n = (seen.negative + seen.positive)[kept].sum()
    assert gamma.ppf(0.95, paid**2 / squares) * squares / paid / n <= 0.2
    assert 0 < rule.coverage < Abstention.of(record, 1, 0.2, (1.0, 1.0)).coverage
    # The promise holds on new rows.
    Xt, yt = noisy(5000, seed=1)
    answers = clf.predict_or_abstain(Xt, 0.2, cost=(5, 1))
    costs = np.where(yt == 1, 5.0, 1.0) * (answers.data != yt)
    assert costs[~answers.mask].mean() <= 0.25
    assert clf.predict_or_abstain(Xt, 0.2, cost=(5, 1)).count() < clf.predict_or_abstain(Xt, 0.2).count()


def test_the_guard_follows_a_stream_that_changes() -> None:
    """With a changing concept the running error stays within 1.5 times the promise."""
    X, y = make_drift(12_000, 20, random_state=0, noise=0.0)
    for clf in (AROW(), PA()):
        clf.partial_fit(X[:200], y[:200], classes=np.unique(y))
        answered = wrong = 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AbstentionWarning)
            for start in range(200, len(y), 200):
                part = slice(start, start + 200)
                answers = clf.predict_or_abstain(X[part], 0.1)
                answered += answers.count()
                wrong += int((answers != y[part]).sum() or 0)
                clf.partial_fit(X[part], y[part])
        assert answered > 500
        assert wrong / answered <= 0.15


def test_the_guard_rises_with_mistakes_of_sure_answers_and_sinks_again() -> None:
    from sureline._native import _core

    record = fresh_record()
    right, wrong = np.ones(500, np.int32), np.zeros(500, np.int32)
    scores = np.random.default_rng(0).random((500, 1)) + 0.5
    _core.put_on_record(record, scores, None, right, None)
    assert guard(record, 0.01) == 0
    _core.put_on_record(record, scores, None, wrong, None)  # as sure as before, and always wrong
    high = guard(record, 0.01)
    assert high > scores.max()
    assert guard(record, 0.01) >= guard(record, 0.1) >= guard(record, 0.3)
    for _ in range(400):
        _core.put_on_record(record, scores, None, right, None)
    assert guard(record, 0.3) < 0.2 * high


def test_the_state_is_that_of_the_stream_however_it_is_cut() -> None:
    X, y = noisy(1000)
    whole = AROW().partial_fit(X, y, classes=[0, 1])
    parts = AROW()
    for start in range(0, len(y), 37):
        parts.partial_fit(X[start : start + 37], y[start : start + 37], classes=[0, 1])
        parts = pickle.loads(pickle.dumps(parts))
    assert whole.model.record[GUARDS].any()
    assert_array_equal(whole.model.record[GUARDS], parts.model.record[GUARDS])
    one = AROW()
    one.partial_fit(X[:1], y[:1], classes=[0, 1])
    for row, label in zip(X[1:], y[1:], strict=True):
        one.learn_one((np.arange(12), row), label)
    assert_array_equal(whole.model.record[GUARDS], one.model.record[GUARDS])
    bad = X.copy()
    bad[500, 3] = np.inf
    before = whole.model.record.copy()
    with pytest.raises(ValueError, match="500"):
        whole.partial_fit(bad, y)
    assert_array_equal(whole.model.record, before)


def test_the_error_of_the_surest_predictions() -> None:
    X, y = make_sparse_gaussian(5000, random_state=0)
    clf = AROW().fit(X, y)
    points = errors_by_coverage(clf.model.record, 1)
    coverages, errors = np.array(points).T
    assert coverages[-1] == pytest.approx(1)
    assert (np.diff(coverages) > 0).all()
    assert errors[-1] == pytest.approx(clf.n_mistakes_ / 5000, rel=0.3)
    assert errors[0] < 0.3 * errors[-1]
    assert errors_by_coverage(fresh_record(), 1) == []
    assert abstention_of(clf, 0.05).coverage <= 1

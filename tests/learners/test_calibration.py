"""Calibrated confidences: the record of predictions that preceded their labels, and the curve through it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from catalogue import ALL, Case
from numpy.testing import assert_array_equal
from scipy.sparse import csr_matrix

import sureline
from sureline import AROW, BCW, FTRL, PA, SCW, SSOL, KernelSCW
from sureline._native import _core
from sureline.learners.calibration import Curve, curve_of
from sureline.models.record import CELLS, GUARDS, ROWS, SIZE, SQUARES, fresh_record, is_empty, merged
from sureline.reference.confidence import Record, step_after


def stream(n: int, n_classes: int = 2, *, seed: int = 0, noise: float = 1.0, d: int = 12) -> tuple[Any, Any]:
    """Rows of a linear model with noise."""
    rng = np.random.default_rng(seed)
    W = np.random.default_rng(99).standard_normal((d, 1 if n_classes == 2 else n_classes))
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    f = X @ W + noise * rng.logistic(size=(n, W.shape[1]))
    return X, (f[:, 0] > 0).astype(int) if n_classes == 2 else f.argmax(axis=1)


def record_of(clf: Any) -> Any:
    return clf.model.record


def calibration_error(confidence: Any, right: Any, bins: int = 15) -> float:
    """The expected calibration error over bins of as many rows each."""
    parts = np.array_split(np.argsort(confidence, kind="stable"), bins)
    return sum(abs(confidence[part].mean() - right[part].mean()) * len(part) for part in parts) / len(right)


def by_reference(clf: Any, X: Any, y: Any, weight: Any = None) -> Record:
    """The record of a learner that has the rows one by one, by asking for each before it comes."""
    record, classes = Record(), np.unique(y)
    weight = np.ones(len(y)) if weight is None else weight
    for row, label, s in zip(X, y, weight, strict=True):
        x = row[np.newaxis]
        n_heads = 1 if len(classes) == 2 else len(classes)
        f, v = np.zeros(n_heads), np.zeros(n_heads)
        v_of_fresh = clf.has_variances
        if clf.has_begun:
            scores, variances = clf.judge(x, variances=clf.has_variances)
            f, v = scores[0], np.zeros(n_heads) if variances is None else variances[0]
        elif v_of_fresh:
            fresh = type(clf)(**clf.get_params()).partial_fit(x, [classes[0]], classes=classes, sample_weight=[0.0])
            v = fresh.judge(x, variances=True)[1][0]
        record.see(f, v, int(np.searchsorted(classes, label)), float(s))
        clf.partial_fit(x, [label], classes=classes, sample_weight=[s])
    return record


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "clf",
    [
        AROW(normalize="none"),
        SCW(normalize="none"),
        AROW(covariance="full", normalize="none"),
        PA(normalize="none"),
        FTRL(normalize="none"),
        SSOL(normalize="none"),
        AROW(multi_class="ovr", normalize="none"),
        SSOL(covariance="full", normalize="none"),
        KernelSCW(kernel="linear", normalize="none"),
    ],
    ids=repr,
)
def test_the_record_is_that_of_the_reference(clf: Any, n_classes: int) -> None:
    X, y = stream(60, n_classes)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    expected = by_reference(type(clf)(**clf.get_params()), X, y, weight)
    clf = type(clf)(**clf.get_params()).fit(X, y, weight)
    numbers = record_of(clf)
    assert len(numbers) == SIZE
    assert_array_equal(numbers[: SQUARES + 1], expected.numbers[: SQUARES + 1])
    cells = expected.numbers[CELLS]
    moved = np.abs(numbers[CELLS] - cells).sum() / cells.sum()
    if not isinstance(clf, KernelSCW) and not (isinstance(clf, AROW | SSOL) and clf.covariance == "full"):
        assert moved == 0
    assert moved < 0.05  # where BLAS or a factor rounds otherwise, a score at the edge of a bin may cross it
    np.testing.assert_allclose(numbers[2:32], expected.numbers[2:32], rtol=1e-6, atol=1e-6)
    if moved == 0:
        np.testing.assert_allclose(numbers[GUARDS], expected.guards, rtol=1e-12)
        assert (numbers[GUARDS] > 0).any()


def test_which_rows_are_recorded() -> None:
    n = 200_000
    record = fresh_record()
    scores = np.ones((n, 1))
    _core.put_on_record(record, scores, None, np.ones(n, np.int32), None)
    t = np.arange(n)
    step = np.array([step_after(int(k)) for k in t])
    kept = t % step == 0
    weight = (t + 1.0) * step
    assert record[ROWS] == n
    assert record[CELLS].sum() == weight[kept].sum()
    assert record[SQUARES] == (weight[kept] ** 2).sum()
    assert kept[: 1 << 14].all()
    assert kept[1 << 16 : 1 << 17].sum() == 1 << 13
    # What is left out is made up for by the weights of the rest.
    assert weight[kept].sum() / (t + 1.0).sum() == pytest.approx(1, rel=1e-3)


BATCHES = [Case("BCW"), Case("SBCW", {"n_features": 4}), Case("FGM", {"n_features": 4})]


@pytest.mark.parametrize("case", [*ALL, *BATCHES], ids=str)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_classifier_has_calibrated_probabilities(case: Case, n_classes: int) -> None:
    X, y = stream(400, n_classes)
    X = np.abs(X) if case.fixed else X
    clf = case.make()
    for part in (slice(0, 200), slice(200, 400)):
        clf.partial_fit(X[part], y[part], classes=np.unique(y))
    assert not is_empty(record_of(clf))
    proba, confidence = clf.predict_proba(X), clf.confidence(X)
    assert proba.shape == (len(X), n_classes)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert ((proba > 0) & (proba < 1)).all()
    predicted = np.searchsorted(clf.classes_, clf.predict(X))
    np.testing.assert_allclose(proba[np.arange(len(X)), predicted], confidence)


@pytest.mark.parametrize(
    "clf", [AROW(), PA(), FTRL(), SSOL(), SCW(multi_class="ovr"), KernelSCW(kernel="linear")], ids=repr
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_record_does_not_depend_on_how_a_stream_is_cut(clf: Any, n_classes: int) -> None:
    X, y = stream(300, n_classes)
    classes = np.unique(y)
    whole, parts = type(clf)(**clf.get_params()), type(clf)(**clf.get_params())
    whole.partial_fit(X, y, classes=classes)
    for start in range(0, len(y), 37):
        parts.partial_fit(X[start : start + 37], y[start : start + 37], classes=classes)
        parts = pickle.loads(pickle.dumps(parts))
    assert_array_equal(record_of(whole), record_of(parts))
    assert_array_equal(whole.predict_proba(X), parts.predict_proba(X))
    fitted = type(clf)(**clf.get_params()).fit(X, y)
    assert_array_equal(record_of(whole), record_of(fitted))


@pytest.mark.parametrize("clf", [AROW(), FTRL(), SSOL(), SCW(multi_class="ovr")], ids=repr)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_learning_one_by_one_records_the_same(clf: Any, n_classes: int) -> None:
    X, y = stream(200, n_classes)
    clf = type(clf)(**clf.get_params())
    batch = type(clf)(**clf.get_params()).partial_fit(csr_matrix(X), y, classes=np.unique(y))
    clf.partial_fit(csr_matrix(X[:1]), y[:1], classes=np.unique(y))
    for row, label in zip(X[1:], y[1:], strict=True):
        columns = np.flatnonzero(row)
        clf.learn_one((columns, row[columns]), label)
    assert_array_equal(record_of(clf), record_of(batch))
    columns = np.flatnonzero(X[0])
    one = clf.predict_proba_one((columns, X[0][columns]))
    np.testing.assert_allclose(list(one.values()), batch.predict_proba(X[:1])[0])


def test_a_refused_batch_leaves_the_record_alone() -> None:
    X, y = stream(100)
    clf = AROW().fit(X, y)
    before = record_of(clf).copy()
    bad = X.copy()
    bad[50, 3] = np.inf
    with pytest.raises(ValueError, match="50"):
        clf.partial_fit(bad, y)
    assert_array_equal(record_of(clf), before)
    with pytest.raises(ValueError, match=r"finite|large"):
        clf.learn_one({1: np.inf}, 1)
    assert_array_equal(record_of(clf), before)


def test_records_add_up() -> None:
    X, y = stream(2000)
    a, b = record_of(AROW().fit(X[:1000], y[:1000])), record_of(AROW().fit(X[1000:], y[1000:]))
    both = merged(a, b)
    assert_array_equal(both[: GUARDS.start], (a + b)[: GUARDS.start])
    np.testing.assert_allclose(both[GUARDS], (a + b)[GUARDS] / 2)  # of as many rows each
    assert both[ROWS] == 2000
    curve = curve_of(both, 1)
    f = np.linspace(-3, 3, 50)
    low, high = np.minimum(curve_of(a, 1).log_odds(f, f * 0 + 0.1), curve_of(b, 1).log_odds(f, f * 0 + 0.1)), None
    high = np.maximum(curve_of(a, 1).log_odds(f, f * 0 + 0.1), curve_of(b, 1).log_odds(f, f * 0 + 0.1))
    middle = curve.log_odds(f, f * 0 + 0.1)
    assert ((middle > low - 0.7) & (middle < high + 0.7)).all()


def test_later_passes_are_not_recorded() -> None:
    X, y = stream(300)
    once, thrice = AROW().fit(X, y), AROW(passes=3).fit(X, y)
    assert_array_equal(record_of(once), record_of(thrice))


def test_the_record_is_small() -> None:
    assert 8 * SIZE <= 64 << 10
    X, y = stream(500, 50, d=20)
    assert record_of(AROW().fit(X, y)).nbytes == 8 * SIZE


@pytest.mark.parametrize("make", [AROW, SCW, PA, FTRL, SSOL, lambda: sureline.ODCA(), BCW])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("noise", [0.3, 1.0])
def test_confidences_are_calibrated(make: Any, n_classes: int, noise: float) -> None:
    X, y = stream(12_000, n_classes, noise=noise)
    clf = make()
    clf.fit(X, y)
    Xt, yt = stream(8000, n_classes, noise=noise, seed=1)
    right = clf.predict(Xt) == yt
    confidence = clf.confidence(Xt)
    # A perfectly calibrated model would show about 0.012 on so many rows; the last weights of PA are not typical.
    assert calibration_error(confidence, right) < (0.06 if make is PA else 0.03)
    if n_classes == 2:
        positive = clf.predict_proba(Xt)[:, 1]
        assert calibration_error(positive, yt) < (0.06 if make is PA else 0.03)
    else:
        proba = clf.predict_proba(Xt)
        for k in range(n_classes):
            assert calibration_error(proba[:, k], yt == k) < (0.12 if make in (PA, BCW) else 0.04)


def test_few_examples_make_cautious_probabilities() -> None:
    X = np.eye(2)[np.arange(10) % 2] * 5
    y = np.arange(10) % 2
    for make in (AROW, SCW, PA, FTRL, SSOL):
        clf = make().fit(X, y)
        proba = clf.predict_proba(np.concatenate([X, 100 * X]))
        assert ((proba > 0.01) & (proba < 0.99)).all()
        assert (clf.confidence(X) > 0.5).all()


def test_of_equal_scores_that_of_unseen_features_is_less_sure() -> None:
    rng = np.random.default_rng(0)
    X = np.zeros((3000, 200))
    for row in X:  # words: a few are common, most are rare
        row[np.minimum(rng.geometric(0.03, 8), 199)] = 1
    w = rng.standard_normal(200)
    y = (X @ w + rng.logistic(size=3000) > 0).astype(int)
    for make in (AROW, SCW, SSOL):
        clf = make(growing=True, normalize="none").fit(X, y)
        some = X[np.abs(clf.decision_function(X)) > 0.2][:200]
        unseen = np.concatenate([some, np.ones((len(some), 60))], axis=1)
        np.testing.assert_allclose(clf.decision_function(unseen), clf.decision_function(some))
        assert (clf.confidence(unseen) < clf.confidence(some)).all()


def test_the_curve_rises_with_the_score_and_not_with_the_std() -> None:
    X, y = stream(3000, noise=2.0)
    curve = curve_of(record_of(SCW().fit(X, y)), 1)
    f = np.linspace(-5, 5, 201)
    for std in (0.01, 0.1, 1.0, 30.0):
        assert (np.diff(curve.log_odds(f, np.full(201, std**2))) >= 0).all()
    std = np.geomspace(1e-4, 1e4, 200)
    for score in (0.1, 1.0, 4.0):
        assert (np.diff(curve.log_odds(np.full(200, score), std**2)) <= 1e-12).all()
        assert (np.diff(curve.log_odds(np.full(200, -score), std**2)) >= -1e-12).all()


def test_the_curve_is_the_minimum_of_its_loss() -> None:
    from scipy.optimize import minimize

    from sureline.learners.calibration import _most_probable, _Prior

    rng = np.random.default_rng(3)
    A = np.concatenate([np.ones((40, 1)), rng.standard_normal((40, 5))], axis=1)
    positive, negative = rng.random(40) * 5, rng.random(40) * 5
    b, found = _most_probable(A, positive, negative, _Prior.of(6, 0.25, -0.7))
    precision, centre = np.array([0.1] + [0.25] * 5), np.array([-0.7] + [0.0] * 5)

    def loss(b: Any) -> float:
        f = A @ b
        return float(
            positive @ np.logaddexp(0, -f) + negative @ np.logaddexp(0, f) + 0.5 * precision @ (b - centre) ** 2
        )

    expected = minimize(loss, np.full(6, 0.1), bounds=[(None, None)] + [(0.01, None)] * 5, method="L-BFGS-B", tol=1e-13)
    assert found == pytest.approx(loss(b))
    assert found <= expected.fun + 1e-8
    np.testing.assert_allclose(b, expected.x, atol=1e-3)


def test_a_batch_learner_without_a_second_batch_says_what_it_believes() -> None:
    X, y = stream(300)
    clf = sureline.SBCW(n_features=4).fit(X, y)
    assert is_empty(record_of(clf))
    np.testing.assert_array_equal(clf.predict_proba(X), clf.belief(X))
    clf.partial_fit(X, y)
    assert not is_empty(record_of(clf))
    assert not np.array_equal(clf.predict_proba(X), clf.belief(X))


def test_more_classes_begin_the_record_anew() -> None:
    X, y = stream(400, 3)
    two = y < 2
    clf = AROW(growing=True).fit(X[two], y[two])
    rows = record_of(clf)[ROWS]
    clf.partial_fit(X, y)
    assert record_of(clf)[ROWS] == rows + len(y)
    assert (clf.predict_proba(X).sum(axis=1) - 1 < 1e-9).all()


def test_the_curve_takes_milliseconds() -> None:
    from time import thread_time

    X, y = stream(20_000)
    record = record_of(SCW().fit(X, y))
    Curve.of(record, 1)
    begin = thread_time()
    for _ in range(5):
        Curve.of(record, 1)
    assert (thread_time() - begin) / 5 < 0.1  # 5 ms on a quiet machine


def test_the_most_probable_class_is_the_predicted_one_unless_the_record_says_otherwise() -> None:
    X, y = stream(2000)
    clf = AROW(normalize="none").fit(X, y)
    assert (clf.predict_proba(X).argmax(axis=1) == clf.predict(X)).all()
    # Where missing a positive costs ten times as much, answers are positive long before that is probable.
    careful = sureline.CSOGD(cost=(10.0, 1.0), eta=0.1, normalize="none").fit(X, y)
    alarms = careful.predict(X) == 1
    confidence = careful.confidence(X)
    assert (confidence[alarms] < 0.5).mean() > 0.1
    assert abs(confidence[alarms].mean() - y[alarms].mean()) < 0.1
    three = AROW(normalize="none").fit(*(some := stream(2000, 3)))
    assert (three.predict_proba(some[0]).argmax(axis=1) == three.predict(some[0])).all()

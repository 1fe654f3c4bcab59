"""BCW: the paper's Algorithm 1, for every form of the batch and of the precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse

import sureline
from sureline import BCW, reference
from sureline.learners.online_batch import BCW as Learner
from sureline.models.precision import state as _gaussian_batch
from sureline.models.precision.span import Span
from sureline.models.precision.triangle import Triangle


def data(n: int = 300, d: int = 12, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.6)
    X[n // 2] = 0
    scores = X @ rng.standard_normal((d, n_classes)) + 0.5 * rng.standard_normal((n, n_classes))
    return X, scores.argmax(axis=1)


def batches(X: Any, y: Any, *sizes: int) -> list[tuple[Any, Any]]:
    ends = np.cumsum(sizes)
    return [(X[end - size : end], y[end - size : end]) for size, end in zip(sizes, ends, strict=True)]


def learn(model: Any, parts: list[Any], classes: Any) -> Any:
    for X, y, *weight in parts:
        model.partial_fit(X, y, classes=classes, sample_weight=weight[0] if weight else None)
    return model


def assert_same(model: Any, expected: Any, tolerance: float = 1e-8) -> None:
    for ours, theirs in (
        (model.coef_, expected.coef_),
        (model.intercept_, expected.intercept_),
        (model.covariance_, expected.covariance_),
        (model.intercept_variance_, expected.intercept_variance_),
    ):
        np.testing.assert_allclose(ours, np.broadcast_to(theirs, ours.shape), rtol=tolerance, atol=tolerance)
    assert (model.n_seen_, model.n_mistakes_, model.n_updates_) == (
        expected.n_seen_,
        expected.n_mistakes_,
        expected.n_updates_,
    )


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("sizes", [(300,), (150, 150), (1, 2, 297), (100, 1, 1, 3, 195)], ids=str)
def test_as_the_paper_has_it(sizes: tuple[int, ...], q: int, fit_intercept: bool, form: Any) -> None:
    X, y = data()
    expected = reference.BCW(C=0.3, q=q, fit_intercept=fit_intercept).run(batches(X, y, *sizes), [0, 1])
    parts = [(form(X), y) for X, y in batches(X, y, *sizes)]
    model = learn(BCW(C=0.3, q=q, fit_intercept=fit_intercept, normalize="none"), parts, [0, 1])
    if fit_intercept:
        assert_same(model, expected)
    else:
        np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(model.covariance_, expected.covariance_, rtol=1e-8, atol=1e-8)
        assert model.intercept_ == 0


@pytest.mark.parametrize("multi_class", ["native", "ovr"])
@pytest.mark.parametrize("q", [1, 2])
def test_more_than_two_classes(q: int, multi_class: str) -> None:
    X, y = data(n_classes=4)
    parts = batches(X, y, 120, 180)
    expected = reference.BCW(C=2.0, q=q, multi_class=multi_class).run(parts, range(4))
    assert_same(learn(BCW(C=2.0, q=q, multi_class=multi_class, normalize="none"), parts, range(4)), expected)


@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
def test_sample_weights_multiply_C(C: float) -> None:
    X, y = data(200)
    rng = np.random.default_rng(1)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], len(y))
    parts = [(X[:80], y[:80], weight[:80]), (X[80:], y[80:], weight[80:])]
    assert_same(learn(BCW(C=C, normalize="none"), parts, [0, 1]), reference.BCW(C=C).run(parts, [0, 1]), 1e-7)
    without = weight > 0
    left_out = learn(
        BCW(C=C, normalize="none"), [(X[:80][without[:80]], y[:80][without[:80]], weight[:80][without[:80]])], [0, 1]
    )
    np.testing.assert_array_equal(left_out.coef_, learn(BCW(C=C, normalize="none"), parts[:1], [0, 1]).coef_)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_fewer_rows_than_features_by_the_other_side_of_eq_6(C: float, q: int, form: Any, monkeypatch: Any) -> None:
    X, y = data(60, 200)
    monkeypatch.setattr(_gaussian_batch, "NARROW", 50)
    parts = batches(X, y, 1, 39, 20)
    model = learn(BCW(C=C, q=q, normalize="none"), [(form(X), y) for X, y in parts], [0, 1])
    assert isinstance(model._state.precision, Span)
    expected = reference.BCW(C=C, q=q).run(parts, [0, 1])
    assert_same(model, expected)
    more, labels = data(80, 200, seed=3)
    assert_variances(model, more, expected.Sigma)
    # With more rows it becomes a matrix, and goes on the same.
    model.partial_fit(form(more), labels)
    assert isinstance(model._state.precision, Triangle)
    assert_same(model, reference.BCW(C=C, q=q).run([*parts, (more, labels)], [0, 1]), 1e-7)


def assert_variances(model: Any, X: Any, Sigma: Any) -> None:
    X_1 = np.column_stack([np.ones(len(X)), X])
    expected = np.sqrt(np.einsum("ij,jk,ik->i", X_1, Sigma, X_1))
    np.testing.assert_allclose(model.decision_std(X), expected, rtol=1e-6, atol=1e-7)


def test_many_blocks_are_one_pass(monkeypatch: Any) -> None:
    X, y = data(1000, 30)
    whole = BCW(normalize="none").fit(X, y)
    np.testing.assert_allclose(BCW(normalize="none").fit(X, y).coef_, whole.coef_, rtol=1e-10, atol=1e-12)
    monkeypatch.setattr(_gaussian_batch, "NARROW", 5)
    X, y = data(1100, 2500)
    wide = BCW(normalize="none").fit(X, y)
    assert isinstance(wide._state.precision, Span)
    expected = reference.BCW().run([(X, y)], [0, 1])
    np.testing.assert_allclose(wide.coef_, expected.coef_, rtol=1e-8, atol=1e-8)


def test_order_matters_and_two_halves_are_not_one_batch() -> None:
    X, y = data()
    whole, reversed_ = BCW(normalize="none").fit(X, y), BCW(normalize="none").fit(X[::-1], y[::-1])
    halves = learn(BCW(normalize="none"), batches(X, y, 150, 150), [0, 1])
    assert np.abs(whole.coef_ - reversed_.coef_).max() > 1e-3
    assert np.abs(whole.coef_ - halves.coef_).max() > 1e-3
    for other in (reversed_, halves):  # but this comes from the rows alone
        np.testing.assert_allclose(other.covariance_, whole.covariance_, rtol=1e-9, atol=1e-12)


def test_one_row_alone_has_the_covariance_of_arow() -> None:
    X, y = data(40)
    for x, label in zip(X, y, strict=True):  # a first row always moves AROW
        ours = BCW(C=2.0, normalize="none").partial_fit([x], [label], classes=[0, 1])
        arow = sureline.AROW(r=0.5, covariance="full", normalize="none").partial_fit([x], [label], classes=[0, 1])
        np.testing.assert_allclose(ours.covariance_, arow.covariance_[0], rtol=1e-9, atol=1e-12)


def test_float32_products_give_nearly_the_same() -> None:
    X, y = data(2000, 30)
    single = BCW(dtype="float32", normalize="none").fit(X.astype(np.float32), y)
    double = BCW(normalize="none").fit(X, y)
    np.testing.assert_allclose(single.coef_, double.coef_, atol=1e-4)
    np.testing.assert_allclose(single.covariance_, double.covariance_, atol=1e-6)
    assert single.coef_.dtype == np.float64


UGLY = {
    "constant columns": lambda X: np.column_stack([X, np.ones(len(X)), np.full(len(X), 7.0)]),
    "duplicate columns": lambda X: np.column_stack([X, X, X]),
    "zero columns": lambda X: np.column_stack([X, np.zeros((len(X), 3))]),
    "zero rows": lambda X: X * (np.arange(len(X)) % 2)[:, np.newaxis],
    "duplicate rows": lambda X: np.repeat(X[: len(X) // 10], 10, axis=0),
    "long rows": lambda X: X * 1e5,
    "short rows": lambda X: X * 1e-7,
    "more columns than rows": lambda X: np.tile(X, (1, 60)),
    "uneven columns": lambda X: X * np.logspace(-6, 6, X.shape[1]),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("C", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("kind", UGLY)
def test_ugly_input_gives_a_correct_answer(kind: str, C: float, dtype: str) -> None:
    X, y = data(200, 10)
    X = UGLY[kind](X)
    model = BCW(C=C, dtype=dtype, normalize="none")
    try:
        model.partial_fit(X[:150], y[:150], classes=[0, 1]).partial_fit(X[150:], y[150:])
    except ValueError as error:
        assert "too large" in str(error)
        assert C == 1e6
        assert kind in ("long rows", "uneven columns")
        return
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict_proba(X)).all()
    if dtype == "float64":
        # S P = I, with the P that integers of any length would give
        X_1 = np.column_stack([X, np.ones(200)]).astype(np.longdouble)
        P = np.eye(X_1.shape[1], dtype=np.longdouble) + C * (X_1.T @ X_1)
        S = model._state.precision.covariance().astype(np.longdouble)
        assert np.abs(S @ P - np.eye(len(P))).max() < 1e-6 * max(1.0, float(np.sqrt(np.abs(P).max())))


def test_one_class_in_a_batch() -> None:
    X, y = data()
    model = BCW(normalize="none").partial_fit(X[y == 1], y[y == 1], classes=[0, 1])
    expected = reference.BCW().run([(X[y == 1], y[y == 1])], [0, 1])
    assert_same(model, expected)
    with pytest.raises(ValueError, match="BCW needs examples of at least 2 classes"):
        BCW(normalize="none").fit(X, np.ones(len(y)))


def test_a_refused_batch_leaves_the_model_as_it_was() -> None:
    X, y = data()
    model = BCW(normalize="none").partial_fit(X, y, classes=[0, 1])
    before = model.coef_.copy(), model.covariance_.copy(), model.n_seen_
    bad = X.copy()
    bad[7, 3] = np.nan
    with pytest.raises(ValueError, match="row 7"):
        model.partial_fit(bad, y)
    with pytest.raises(ValueError, match="scale X"):
        model.partial_fit(X * 4e307, y)
    corrupt = sparse.csr_matrix(X)
    corrupt.indices[5] = 1 << 20
    with pytest.raises(ValueError, match="row"):
        model.partial_fit(corrupt, y)
    with pytest.raises(ValueError, match="cannot change"):
        model.set_params(fit_intercept=False).partial_fit(X, y)
    model.set_params(fit_intercept=True)
    np.testing.assert_array_equal(model.coef_, before[0])
    np.testing.assert_array_equal(model.covariance_, before[1])
    assert model.n_seen_ == before[2]


def test_what_does_not_fit_into_memory_is_refused_before_it_is_tried(monkeypatch: Any) -> None:
    at = np.arange(4000)
    X = sparse.csr_matrix((np.ones(4000), (at, 700 * at)), shape=(4000, 3_000_000))
    monkeypatch.setattr(Span, "absorbed", lambda span, batch: span.triangle().absorbed(batch))
    with pytest.raises(ValueError, match=r"3000001 of them need \d+ GiB.*SBCW"):
        BCW(normalize="none").fit(X, at % 2)


def test_growing_columns_and_classes() -> None:
    X, y = data(300, 12, 3)
    model = BCW(growing=True, normalize="none")
    model.partial_fit(X[:100, :8], y[:100] == 1)
    wide = BCW(growing=True, normalize="none").partial_fit(np.pad(X[:100, :8], ((0, 0), (0, 4))), y[:100] == 1)
    for m in (model, wide):
        m.partial_fit(X[100:], y[100:] == 1)
    np.testing.assert_allclose(model.coef_, wide.coef_, rtol=1e-9, atol=1e-12)
    two = BCW(growing=True, normalize="none").partial_fit(X[y < 2], y[y < 2])
    scores = two.decision_function(X)
    three = two.partial_fit(X[: 0 + 1], y[y == 2][:1])
    assert three.classes_.tolist() == [*two.classes_.tolist()][:3]
    assert three.decision_function(X).shape == (300, 3)
    assert scores.shape == (300,)
    np.testing.assert_allclose(
        BCW(growing=True, normalize="none").partial_fit(X, y).decision_std(X[:, :5]).shape, (300, 3)
    )


def test_learner_without_scikit_learn_is_the_same() -> None:
    X, y = data()
    learner = Learner(C=0.5, normalize="none")
    learner.begin(np.array([0, 1]), X.shape[1])
    learner.take_batch(X, y.astype(np.int32))
    model = BCW(C=0.5, normalize="none").fit(X, y)
    np.testing.assert_array_equal(learner.coef_, model.coef_)
    rows = sparse.csr_matrix(X)
    scores, variances = learner.judge_rows(rows.data, rows.indices, rows.indptr, 12)
    np.testing.assert_allclose(scores[:, 0], model.decision_function(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(np.sqrt(variances[:, 0]), model.decision_std(X), rtol=1e-12)
    wider = sparse.csr_matrix(np.column_stack([X, np.full(len(X), 2.0)]))
    _, more = learner.judge_rows(wider.data, wider.indices, wider.indptr, 13)
    np.testing.assert_allclose(more, variances + 4.0)

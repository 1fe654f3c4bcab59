"""The blocked pass over arrays of NumPy, and a model of the kernel's warps, against the paper's line by line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from host_space import HostSpace
from scipy import sparse

from sureline import BCW, reference
from sureline.models.device import space as space_module
from sureline.models.device.batch import after, drawn_for_record, judged
from sureline.models.device.rows import DeviceRows, HostRows
from sureline.models.numbers import Policy
from sureline.models.precision import state as state_module
from sureline.models.precision.span import Span
from sureline.models.precision.state import PrecisionState
from sureline.models.scaling import Normalizer

SPACE = HostSpace()


def data(n: int, d: int, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    scores = X @ rng.standard_normal((d, n_classes)) + 0.5 * rng.standard_normal((n, n_classes))
    return X, scores.argmax(axis=1).astype(np.int32)


def learn(
    batches: list[Any],
    n_classes: int,
    *,
    C: float = 1.0,
    q: int = 1,
    intercept: bool = True,
    policy: Policy = Policy.rival,
    kind: str = "none",
    form: Any = DeviceRows,
) -> tuple[PrecisionState, Normalizer]:
    state = PrecisionState.fresh(batches[0][0].shape[1], n_classes, policy, intercept, np.float64)
    normalizer = Normalizer(kind)
    for X, y, *weights in batches:
        prices = C * (weights[0] if weights else np.ones(len(y)))
        state, normalizer = after(state, normalizer, form(SPACE, X), y, prices, q, prices)
    return state, normalizer


def assert_as_in_the_paper(state: PrecisionState, expected: Any, tolerance: float = 1e-9) -> None:
    np.testing.assert_allclose(state.mu[:, : state.n_columns], expected.coef_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(
        state.covariance()[: state.n_columns, : state.n_columns], expected.covariance_, rtol=tolerance, atol=tolerance
    )
    assert state.tally.sum(axis=0).tolist() == [expected.n_seen_, expected.n_mistakes_, expected.n_updates_]


SHAPES = [(1, 2), (5, 2), (255, 3), (256, 31), (257, 32), (300, 33), (513, 64), (1000, 130), (90, 300), (40, 700)]


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_one_batch_of_every_shape(shape: tuple[int, int], q: int, n_classes: int) -> None:
    X, y = data(*shape, n_classes)
    state, _ = learn([(X, y)], n_classes, q=q, C=0.7)
    assert_as_in_the_paper(state, reference.BCW(C=0.7, q=q).run([(X, y)], range(n_classes)))


@pytest.mark.parametrize("policy", [Policy.rival, Policy.ovr])
@pytest.mark.parametrize("intercept", [True, False])
def test_batches_with_weights(intercept: bool, policy: Policy) -> None:
    X, y = data(700, 20, 3)
    weight = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(y))
    batches = [(X[a:b], y[a:b], weight[a:b]) for a, b in ((0, 1), (1, 3), (3, 300), (300, 700))]
    multi_class = "native" if policy is Policy.rival else "ovr"
    expected = reference.BCW(fit_intercept=intercept, multi_class=multi_class).run(batches, range(3))
    assert_as_in_the_paper(learn(batches, 3, intercept=intercept, policy=policy)[0], expected)


def test_fewer_rows_than_features_and_then_more() -> None:
    X, y = data(600, 700)
    batches = [(X[:1], y[:1]), (X[1:300], y[1:300])]
    state, _ = learn(batches, 2, q=2)
    assert isinstance(state.precision, Span)
    assert_as_in_the_paper(state, reference.BCW(q=2).run(batches, [0, 1]))
    batches.append((X[300:], y[300:]))
    state, _ = learn(batches, 2, q=2)
    assert not isinstance(state.precision, Span)
    assert_as_in_the_paper(state, reference.BCW(q=2).run(batches, [0, 1]), 1e-8)


@pytest.mark.parametrize("C", [1e-6, 1e6])
def test_prices_of_all_sizes(C: float) -> None:
    X, y = data(200, 12)
    assert_as_in_the_paper(learn([(X, y)], 2, C=C)[0], reference.BCW(C=C).run([(X, y)], [0, 1]), 1e-7)


@pytest.mark.parametrize("kind", ["none", "row", "scale"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("form", [DeviceRows, HostRows])
def test_the_state_is_that_of_the_host(form: Any, dtype: Any, kind: str) -> None:
    X, y = data(900, 40)
    X = X.astype(dtype)
    halves = [(X[:500], y[:500]), (X[500:], y[500:])]
    state, normalizer = learn(halves, 2, kind=kind, form=form)
    host = BCW(normalize=kind)
    for part in halves:
        host.partial_fit(*part, classes=[0, 1])
    np.testing.assert_allclose(state.mu, host.model.mu, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(state.precision.R, host.model.precision.R, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(state.tally, host.model.tally)
    np.testing.assert_allclose(state.record, host.model.record, rtol=1e-9, atol=1e-9)
    scores, v = judged(state, normalizer, form(SPACE, X), with_variances=True)
    np.testing.assert_allclose(scores[:, 0], host.decision_function(X), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(np.sqrt(v[:, 0]), host.decision_std(X), rtol=1e-9)


@pytest.mark.parametrize("zeros", [False, True])
def test_sparse_rows_cross_as_they_are(zeros: bool) -> None:
    X, y = data(300, 20)
    if not zeros:
        X += 10
    state, _ = learn([(sparse.csr_matrix(X), y)], 2, kind="scale", form=HostRows)
    np.testing.assert_allclose(state.mu, BCW().fit(X, y).model.mu, rtol=1e-9, atol=1e-11)


def test_many_chunks_are_one_pass(monkeypatch: Any) -> None:
    X, y = data(1500, 40)
    whole, _ = learn([(X, y)], 2)
    monkeypatch.setattr(space_module, "_CHUNK_BYTES", 1)
    parts, _ = learn([(X, y)], 2)
    np.testing.assert_allclose(parts.mu, whole.mu, rtol=1e-11, atol=1e-13)
    np.testing.assert_array_equal(parts.tally, whole.tally)


def test_long_rows_go_by_rotations_as_on_the_host() -> None:
    X, y = data(300, 10)
    X *= 1e5
    state, _ = learn([(X, y)], 2)
    host = BCW(normalize="none").fit(X, y)
    np.testing.assert_allclose(state.mu, host.model.mu, rtol=1e-7)
    with pytest.raises(ValueError, match="scale X"):
        learn([(X * 4e302, y)], 2)


def test_rows_on_record_are_those_that_the_core_draws(monkeypatch: Any) -> None:
    monkeypatch.setattr(state_module, "NARROW", 512)
    X, y = data(40_000, 3)
    state, _ = learn([(X[:17_000], y[:17_000]), (X[17_000:], y[17_000:])], 2)
    host = BCW(normalize="none").partial_fit(X[:17_000], y[:17_000], classes=[0, 1])
    host.partial_fit(X[17_000:], y[17_000:])
    np.testing.assert_allclose(state.record, host.model.record, rtol=1e-9, atol=1e-9)
    assert drawn_for_record(0, 3).tolist() == [0, 1, 2]
    assert drawn_for_record(16_382, 6).tolist() == [0, 1, 2, 4]
    assert drawn_for_record(32_765, 9).tolist() == [1, 3, 7]
    assert len(drawn_for_record(0, 1 << 20)) == (1 << 14) + 6 * (1 << 13)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["none", "row", "scale"])
@pytest.mark.parametrize("form", [DeviceRows, HostRows])
def test_what_is_not_finite_is_refused_in_the_words_of_the_host(form: Any, kind: str, value: float) -> None:
    X, y = data(400, 12)
    X[307, 5] = value
    with pytest.raises(ValueError, match="row 307") as there:
        learn([(X, y)], 2, kind=kind, form=form)
    with pytest.raises(ValueError, match="row 307") as here:
        BCW(normalize=kind).fit(X, y)
    assert str(there.value) == str(here.value)


# -- the kernel `steps`, thread by thread ---------------------------------------------------------------------


def warps(
    G: np.ndarray, s: np.ndarray, y: np.ndarray, C: np.ndarray, q: int, lanes: int = 32
) -> tuple[np.ndarray, np.ndarray]:
    """Scores at each row's turn, and its step, as the kernel's warps compute them.

    A warp goes on from the steps of all warps before it. It tells its rows their turns by shuffles: in round i all of
    its lanes get the step of lane i, and take off what that is to them if they come later.
    """
    n = len(s)
    s, step = s.copy(), np.zeros(n)
    v = G.diagonal()
    with np.errstate(divide="ignore"):
        inverse = np.where(v > 0, np.minimum(1 / (v if q == 1 else v + 0.5 / C), 1e300), 0.0)
    most = C if q == 1 else np.full(n, np.inf)
    for first in range(0, n, lanes):
        own = slice(first, min(first + lanes, n))
        lane = np.arange(own.stop - first)
        t = begin = (1 - y[own] * s[own]) * inverse[own]
        for i in lane:
            shuffled = y[first + i] * np.clip(t[i], 0, most[first + i])
            takes = np.where(lane > i, y[own] * inverse[own] * G[first + i, own], 0.0)
            t = t - shuffled * takes
        step[own] = y[own] * np.clip(t, 0, most[own])
        there = inverse[own] > 0
        s[own][there] += (y[own] * (begin - t))[there] / inverse[own][there]
        later = slice(own.stop, n)
        s[later] += step[own] @ G[own, later]
    return s, step


@pytest.mark.parametrize("n", [1, 31, 32, 33, 100, 256])
@pytest.mark.parametrize("q", [1, 2])
def test_the_warps_give_what_one_row_after_the_other_gives(n: int, q: int) -> None:
    rng = np.random.default_rng(n)
    Z = rng.standard_normal((n, 7))
    Z[n // 2] = 0
    y, C, s = rng.choice([-1.0, 1.0], n), rng.choice([0.01, 1.0], n), rng.standard_normal(n)
    f, a = warps(Z @ Z.T, s, y, C, q)
    w, before = np.zeros(7), s
    for i, z in enumerate(Z):
        score, v = before[i] + w @ z, z @ z
        xi = 1 - y[i] * score
        alpha = 0.0 if xi <= 0 or v == 0 else min(xi / v, C[i]) if q == 1 else xi / (v + 0.5 / C[i])
        np.testing.assert_allclose([f[i], a[i]], [score, y[i] * alpha], rtol=1e-9, atol=1e-12)
        w += y[i] * alpha * z

"""Variances and confidences of answers."""

from functools import partial

import numpy as np
import pytest
from catalogue import FIRST_ORDER, Case, every_gaussian, stream
from scipy import sparse
from scipy.stats import norm

from sureline import AROW, BCW, SCW, SOP, KernelSCW


@every_gaussian
def test_standard_deviation_is_the_root_of_xSx(case: Case) -> None:
    X, y = stream()
    model = case.make(fit_intercept=False).fit(X, y)
    S = model.covariance_[0]
    variance = np.einsum("ij,jk,ik->i", X, S, X) if S.ndim == 2 else (X**2) @ S
    np.testing.assert_allclose(model.decision_std(X) ** 2, variance, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.decision_std(sparse.csr_matrix(X)), model.decision_std(X), rtol=1e-12)


@every_gaussian
def test_probability_of_two_classes_is_phi_of_score_over_std(case: Case) -> None:
    X, y = stream()
    model = case.make().fit(X, y)
    f, std = model.decision_function(X), model.decision_std(X)
    proba = model.belief(X)
    np.testing.assert_allclose(proba[:, 1], norm.cdf(f / std), rtol=1e-9)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))


@every_gaussian
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_probabilities_of_more_classes(case: Case, multi_class: str) -> None:
    X, y = stream(n_classes=4)
    model = case.make(multi_class=multi_class).fit(X, y)
    proba, std = model.belief(X), model.decision_std(X)
    assert proba.shape == std.shape == (300, 4)
    assert (std > 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X))
    # Each class beats its best rival with the probability that their difference is positive.
    f, v = model.decision_function(X), std**2
    others = np.where(np.eye(4, dtype=bool), -np.inf, f[:, np.newaxis, :])
    rival = others.argmax(axis=2)
    at = np.arange(300)[:, np.newaxis]
    beats = norm.cdf((f - f[at, rival]) / np.sqrt(v + v[at, rival]))
    np.testing.assert_allclose(proba, beats / beats.sum(axis=1, keepdims=True), rtol=1e-9)


def test_learners_without_a_covariance_do_not_have_these_attributes() -> None:
    X, y = stream()
    for case in FIRST_ORDER:
        model = case.make().fit(X, y)
        for name in ("decision_std", "belief", "covariance_", "intercept_variance_", "covariance"):
            assert not hasattr(model, name)


def test_what_was_seen_often_is_known_better() -> None:
    rng = np.random.default_rng(0)
    X = (rng.random((2000, 20)) < np.linspace(0.9, 0.001, 20)).astype(float)
    y = (X[:, :5].sum(axis=1) > 4).astype(int)
    variances = AROW(normalize="none").fit(X, y).covariance_[0]
    assert variances[:5].max() < 0.2 * variances[-2:].min()
    assert (np.diff(variances[[0, 10, 14, 17, 18, 19]]) > 0).all()


def test_confident_answers_are_right_more_often() -> None:
    X, y = stream(n_rows=4000, n_columns=30, seed=9)
    model = SCW(C=0.1, normalize="none").fit(X[:2000], y[:2000])
    right, confidence = model.predict(X[2000:]) == y[2000:], model.confidence(X[2000:])
    order = np.argsort(confidence)
    assert right[order[1000:]].mean() > 0.99 > right[order[:1000]].mean() + 0.03


def test_sop_scores_with_the_example_absorbed() -> None:
    """theta'Sx / (1 + x'Sx): the S that has seen x, by Sherman and Morrison."""
    X, y = stream(100, 5)
    for covariance in ("diag", "full"):
        model = SOP(a=3.0, covariance=covariance, normalize="none").fit(X, y)
        linear = X @ model.coef_[0] + model.intercept_[0]
        np.testing.assert_allclose(model.decision_function(X), linear / (1 + model.decision_std(X) ** 2), rtol=1e-9)


FULL = [
    partial(AROW, covariance="full"),
    partial(SCW, covariance="full"),
    BCW,
    partial(KernelSCW, kernel="linear"),
]


@pytest.mark.parametrize("normalize", ["none", "scale"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("learner", [*FULL, AROW])
def test_the_std_follows_from_public_attributes(learner, n_classes: int, fit_intercept: bool, normalize: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(1.0, [1.0, 10.0, 0.1, 1.0], size=(90, 4))
    model = learner(fit_intercept=fit_intercept, normalize=normalize).fit(X, np.arange(90) % n_classes)
    S, c = model.covariance_, np.atleast_2d(model.intercept_covariance_)
    if learner is AROW:
        S = np.stack([np.diag(variances) for variances in S])
    variances = np.einsum("ij,...jk,ik->i...", X, S, X).reshape(90, -1)
    if fit_intercept:
        variances = variances + 2 * X @ c.T + model.intercept_variance_
    assert c.any() == (fit_intercept and learner is not AROW)
    std = model.decision_std(X)
    expected = np.broadcast_to(np.sqrt(variances), (90, len(model.intercept_)))
    np.testing.assert_allclose(std.reshape(expected.shape), expected, rtol=1e-9)

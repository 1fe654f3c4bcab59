"""The covariance stays one, and the confidence-weighted constraint holds after the step."""

import numpy as np
import pytest
from catalogue import Case, every_gaussian
from scipy.special import ndtri

from sureline import AROW, CW, PA, SCW


@every_gaussian
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_positive_definite_after_a_million_random_steps(case: Case, dtype: str) -> None:
    rng = np.random.default_rng(0)
    n, d = 1_000_000, 5
    X = rng.standard_normal((n, d), dtype=np.float32) * np.array([1e-2, 1, 1, 10, 30], np.float32)
    y = rng.integers(0, 2, n)  # noise: there is always another step to take
    model = case.make(dtype=dtype, fit_intercept=False).partial_fit(X, y, classes=[0, 1])
    S = model.covariance_[0].astype(np.float64)
    assert np.isfinite(model.coef_).all()
    if case.parameters.get("covariance", "diag") == "diag":
        assert (S > 0).all()
        assert np.isfinite(S).all()
    else:
        assert (S == S.T).all()
        scale = np.sqrt(S.diagonal())
        np.linalg.cholesky(S / np.outer(scale, scale))  # raises unless positive definite
    assert (model.decision_std(X[:1000]) > 0).all()


def test_full_covariance_survives_unscaled_features() -> None:
    """A timestamp beside a flag: written out, S - beta (Sx)(Sx)' is no covariance after a few such rows."""
    rng = np.random.default_rng(0)
    X = np.column_stack([1.7e9 + rng.random(2000), rng.random(2000), rng.integers(0, 2, 2000)])
    y = (X[:, 1] > 0.5).astype(int)
    for model in (SCW(covariance="full", normalize="none"), CW(covariance="full", normalize="none")):
        model.fit(X, y)
        std = model.decision_std(X)
        assert np.isfinite(std).all()
        assert (std > 0).all()


@pytest.mark.parametrize("eta", [0.6, 0.75, 0.95])
def test_the_constraint_is_tight_after_each_full_step_of_cw(eta: float) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((300, 6)), rng.integers(0, 2, 300)
    model = CW(eta=eta, covariance="full", normalize="none")
    tight = 0
    for x, label in zip(X, y, strict=True):
        before = getattr(model, "n_updates_", 0)
        model.partial_fit(x[np.newaxis], [label], classes=[0, 1])
        if model.n_updates_ > before:
            margin = (1 if label else -1) * model.decision_function(x[np.newaxis])[0]
            assert margin == pytest.approx(ndtri(eta) * model.decision_std(x[np.newaxis])[0], rel=1e-9)
            tight += 1
    assert tight > 100


@pytest.mark.parametrize("covariance", ["diag", "full"])
def test_scw1_with_a_huge_price_is_cw(covariance: str) -> None:
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((500, 8)), rng.integers(0, 3, 500)
    cw = CW(eta=0.8, covariance=covariance, normalize="none").fit(X, y)
    scw = SCW(C=1e12, eta=0.8, covariance=covariance, normalize="none").fit(X, y)
    np.testing.assert_array_equal(cw.coef_, scw.coef_)
    np.testing.assert_array_equal(cw.covariance_, scw.covariance_)


def test_a_diagonal_step_never_loses_all_variance() -> None:
    """One entry so long that 1 - beta S x^2 rounds to zero."""
    for dtype in ("float32", "float64"):
        model = AROW(r=1.0, dtype=dtype, fit_intercept=False, normalize="none")
        model.partial_fit(np.array([[1e12]]), [1], classes=[0, 1])
        assert model.covariance_[0, 0] == pytest.approx(1e-24)  # r / (v + r)


@pytest.mark.parametrize(("dtype", "r"), [("float64", 1e-20), ("float64", 1e-9), ("float32", 1e-12)])
def test_what_a_step_leaves_of_a_variance_is_not_lost_to_rounding(dtype: str, r: float) -> None:
    """1 / S grows by x^2 / r. Nearly nothing of S is left, and 1 - beta S x^2 would round to zero."""
    model = AROW(r=r, covariance="diag", normalize="none", fit_intercept=False, dtype=dtype)
    model.partial_fit(np.array([[2.0, 0.0]], dtype=dtype), [1], classes=[0, 1])
    np.testing.assert_allclose(model.covariance_.ravel(), [1 / (1 + 4 / r), 1], rtol=1e-6)


@pytest.mark.parametrize("size", [1e-22, 1e21])
def test_rows_of_any_length_in_single_precision(size: float) -> None:
    """Coefficients of a step that float32 has no numbers for: 1 / |x|^2 is 1e44 here, or 1e-42."""
    X = np.array([[0.6, 0.8], [-0.8, 0.6]]) * size
    learners = [PA(variant="hard", dtype=d, normalize="none") for d in ("float32", "float64")]
    learners += [AROW(r=size**2, covariance="diag", dtype=d, normalize="none") for d in ("float32", "float64")]
    single, double, *more = (one.set_params(fit_intercept=False).fit(X, [0, 1]) for one in learners)
    for a, b in ((single, double), more):
        assert np.abs(a.coef_).max() > 0
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-5)

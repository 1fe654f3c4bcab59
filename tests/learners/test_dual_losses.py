"""The losses and regularisers of dual coordinate ascent: conjugates are conjugates, and steps are minima."""

from math import exp, inf, log1p

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

from sureline.reference.dual_losses import Loss, Regularizer, make_loss, make_regularizer
from sureline.reference.online_dual import best_lambda

EPSILON = 0.7  # of Huber
# As functions of r = 1 - margin, or of r = target - score, each written a second time.
BY_HAND = {
    "hinge": lambda r: r if r > 0 else 0.0,
    "squared_hinge": lambda r: r**2 if r > 0 else 0.0,
    "log": lambda r: log1p(exp(r - 1)),
    "squared": lambda r: 0.5 * r**2,
    "absolute": abs,
    "huber": lambda r: 0.5 * r**2 if abs(r) <= EPSILON else EPSILON * (abs(r) - EPSILON / 2),
}
CASES = [(name, False, gamma) for name in BY_HAND for gamma in (-1.0, 1.0)]
CASES += [(name, True, gamma) for name in ("squared", "absolute", "huber") for gamma in (-2.5, 0.0, 0.25)]
every_case = pytest.mark.parametrize(("name", "regression", "gamma"), CASES)
SCORES = np.arange(-32, 33) / 8  # the kinks are among them, exactly


def of(name: str, regression: bool) -> Loss:
    return make_loss(name, regression, EPSILON)


def slopes_within(loss: Loss, gamma: float, n: int = 41, reach: float = 6.0) -> np.ndarray:
    """Points u with a finite conjugate that are not too large."""
    low, high = loss.domain(gamma)
    return np.linspace(max(low, -reach), min(high, reach), n)


@every_case
def test_values(name: str, regression: bool, gamma: float) -> None:
    loss = of(name, regression)
    for z in SCORES:
        r = gamma - z if regression else 1 - gamma * z
        assert loss.Q(z, gamma) == pytest.approx(BY_HAND[name](r), rel=1e-14, abs=1e-15)


@every_case
def test_subgradients_are_the_slopes_on_both_sides(name: str, regression: bool, gamma: float) -> None:
    loss, e = of(name, regression), 1e-6
    for z in SCORES:
        low, high = loss.dQ(z, gamma)
        assert low == pytest.approx((loss.Q(z, gamma) - loss.Q(z - e, gamma)) / e, abs=1e-4)
        assert high == pytest.approx((loss.Q(z + e, gamma) - loss.Q(z, gamma)) / e, abs=1e-4)


@every_case
def test_fenchel_young(name: str, regression: bool, gamma: float) -> None:
    """Q(z) + Q*(u) >= u z, with equality where u is a subgradient at z, and only there."""
    loss = of(name, regression)
    for z in SCORES:
        low, high = loss.dQ(z, gamma)
        for u in slopes_within(loss, gamma):
            excess = loss.Q(z, gamma) + loss.Q_star(u, gamma) - u * z
            assert excess >= -1e-14
            if not low - 1e-6 <= u <= high + 1e-6:
                assert excess > 1e-14
        for u in (low, (low + high) / 2, high):
            assert loss.Q(z, gamma) + loss.Q_star(u, gamma) == pytest.approx(u * z, rel=1e-12, abs=1e-13)


@given(
    case=st.sampled_from(CASES),
    target=st.floats(-100, 100),
    z=st.floats(-100, 100),
    share=st.floats(0, 1),
)
@settings(max_examples=300, deadline=None)
def test_fenchel_young_anywhere(case, target: float, z: float, share: float) -> None:
    name, regression, label = case
    loss, gamma = of(name, regression), target if regression else label
    low, high = loss.dQ(z, gamma)
    u = low + share * (high - low)
    scale = 1 + abs(u * z) + abs(u * gamma) + loss.Q(z, gamma)
    assert abs(loss.Q(z, gamma) + loss.Q_star(u, gamma) - u * z) <= 1e-13 * scale
    low, high = loss.domain(gamma)
    u = max(low, -100) + share * (min(high, 100) - max(low, -100))
    assert loss.Q(z, gamma) + loss.Q_star(u, gamma) - u * z >= -1e-13 * (1 + abs(u) * (abs(z) + abs(gamma)))


@every_case
def test_conjugates_are_the_sup(name: str, regression: bool, gamma: float) -> None:
    loss = of(name, regression)
    for u in slopes_within(loss, gamma, 23)[1:-1]:
        found = minimize_scalar(
            lambda z, u=u: loss.Q(z, gamma) - u * z, bounds=(-60, 60), method="bounded", options={"xatol": 1e-9}
        )
        assert loss.Q_star(u, gamma) == pytest.approx(-found.fun, abs=1e-7)


@every_case
def test_conjugates_are_infinite_beyond_the_slopes(name: str, regression: bool, gamma: float) -> None:
    """sup_z u z - Q(z) has no bound there, and at the very end it is what the formula says."""
    loss = of(name, regression)
    for end, beyond in zip(loss.domain(gamma), (-1e-9, 1e-9), strict=True):
        if end in (-inf, inf):
            assert np.isfinite(loss.Q_star(np.copysign(1e6, end), gamma))
            continue
        assert loss.Q_star(end + beyond, gamma) == inf
        assert np.isfinite(loss.Q_star(end, gamma))
        far = np.copysign(500, beyond)
        assert (end + 100 * beyond) * 1e9 * np.sign(far) - loss.Q(1e9 * np.sign(far), gamma) > 1
        assert end * far - loss.Q(far, gamma) <= loss.Q_star(end, gamma) + 1e-9


@every_case
def test_slopes_of_the_conjugates(name: str, regression: bool, gamma: float) -> None:
    loss, e = of(name, regression), 1e-6
    for u in slopes_within(loss, gamma, 23)[1:-1]:
        slope = (loss.Q_star(u + e, gamma) - loss.Q_star(u - e, gamma)) / (2 * e)
        assert loss.dQ_star(u, gamma) == pytest.approx(slope, abs=1e-6)


def test_the_papers_conjugates() -> None:
    """Eqs (35) and (41)."""
    squared, hinge = make_loss("squared", True), make_loss("hinge")
    for u in np.linspace(-3, 3, 13):
        assert squared.Q_star(u, 0.4) == pytest.approx(u * u / 2 + 0.4 * u)
        for gamma in (-1.0, 1.0):
            assert hinge.Q_star(u, gamma) == (gamma * u if -1 <= gamma * u <= 0 else inf)
    assert (make_loss("huber").high, make_regularizer("elastic_net").delta) == (1.0, 0.001)  # if not given


# -- regularisers ---------------------------------------------------------------------------------------------

REGULARIZERS = [Regularizer("l2"), Regularizer("elastic_net", 0.3), Regularizer("kl")]
every_regularizer = pytest.mark.parametrize("regularizer", REGULARIZERS, ids=lambda regularizer: regularizer.name)


@every_regularizer
def test_the_gradient_of_the_conjugate_is_where_the_sup_is(regularizer: Regularizer) -> None:
    rng = np.random.default_rng(0)
    for scale in (0.1, 1, 30):
        x = rng.standard_normal((2, 6)) * scale
        w = regularizer.grad_R_star(x)
        assert regularizer.R(w) + regularizer.R_star(x) == pytest.approx(np.sum(w * x), rel=1e-12)
        for _ in range(100):
            other = regularizer.grad_R_star(x + rng.standard_normal(x.shape) * scale)
            assert regularizer.R(other) + regularizer.R_star(x) >= np.sum(other * x) - 1e-12 * scale**2
        e = 1e-6 * np.eye(12).reshape(12, 2, 6)
        slopes = [(regularizer.R_star(x + step) - regularizer.R_star(x - step)) / 2e-6 for step in e]
        np.testing.assert_allclose(w.ravel(), slopes, atol=1e-7 * max(1, scale))


def test_the_intercept_is_a_matter_of_its_own() -> None:
    x = np.array([[0.2, 0.2, -0.5, 0.1]])
    for regularizer in REGULARIZERS:
        assert regularizer.grad_R_star(x)[0, 0] == 0.2
    assert REGULARIZERS[1].grad_R_star(x)[0, 1:] == pytest.approx([0, -0.2, 0])
    weights = REGULARIZERS[2].grad_R_star(x)[0, 1:]
    assert weights.sum() == pytest.approx(1)
    assert REGULARIZERS[2].R(np.array([[0.0, 0.5, 0.4]])) == inf  # not on the simplex


def test_on_the_simplex_the_sup_is_where_a_solver_finds_it() -> None:
    x = np.array([0.3, -1.2, 0.8])
    found = minimize(
        lambda v: float(v @ np.log(np.maximum(v, 1e-300)) - v @ x),
        np.full(3, 1 / 3),
        bounds=[(1e-9, 1)] * 3,
        constraints={"type": "eq", "fun": lambda v: v.sum() - 1},
        options={"ftol": 1e-14},
    )
    assert REGULARIZERS[2].R_star(np.append(0, x)[np.newaxis]) == pytest.approx(-found.fun, abs=1e-7)


# -- the one-dimensional problem ------------------------------------------------------------------------------


@every_regularizer
@every_case
def test_the_step_is_the_minimum(name: str, regression: bool, gamma: float, regularizer: Regularizer) -> None:
    """The objective of (26a) is nowhere lower, and is not lower beside it."""
    rng = np.random.default_rng(1)
    loss = of(name, regression)
    for step in (0.01, 1.0, 40.0):
        f, h = rng.standard_normal((2, 5)), rng.standard_normal((2, 5))

        def objective(tau: float, step=step, f=f, h=h) -> float:
            return step * loss.Q_star(-tau, gamma) + regularizer.R_star(f + tau * step * h)

        lam = best_lambda(loss, regularizer, f, h, gamma, step)
        least = objective(lam)
        assert np.isfinite(least)
        for tau in [*-slopes_within(loss, gamma, 201), lam - 1e-3, lam + 1e-3, 0.0]:
            assert objective(tau) >= least - 1e-12 * (1 + abs(least))


@given(
    name=st.sampled_from(list(BY_HAND)),
    gamma=st.sampled_from([-1.0, 1.0]),
    z=st.floats(-1e3, 1e3),
    v=st.floats(1e-9, 1e9),
)
@settings(max_examples=200, deadline=None)
def test_with_l2_the_step_is_exact(name: str, gamma: float, z: float, v: float) -> None:
    """b = gamma lambda is minus the slope of the loss at the margin after the step, m + b v: to the last bits."""
    loss = of(name, False)
    f, h = np.array([[z, 0.0]]), np.array([[1.0, 0.0]])
    lam = best_lambda(loss, Regularizer("l2"), f, h, gamma, v)
    b = gamma * lam
    around = [loss.residual(z + (lam + e) * v, gamma) for e in (-1e-14, 1e-14)]
    error = 1e-13 * (1 + abs(z) + abs(lam) * v)
    low, high = loss.dg(min(around) - error)[0], loss.dg(max(around) + error)[1]
    assert low - 1e-12 <= b <= high + 1e-12


def test_of_many_minima_the_one_nearest_to_zero() -> None:
    elastic, loss = Regularizer("elastic_net", 0.5), make_loss("absolute", True)
    f, h = np.array([[0.0, 0.0]]), np.array([[0.0, 1.0]])
    assert best_lambda(loss, elastic, f, h, 0.0, 1.0) == 0  # the score is 0 for all |lambda| <= 0.5
    assert best_lambda(loss, elastic, f, h, 1e-3, 1.0) == pytest.approx(0.501)
    nothing = np.zeros((1, 2))
    assert best_lambda(make_loss("hinge"), elastic, f, nothing, -1.0, 1.0) == -1
    assert best_lambda(make_loss("squared_hinge"), elastic, f, nothing, 1.0, 1.0) == 2

"""The rules on two scalars: closed forms, constraints and limits, from the papers."""

from math import exp, inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from sureline import ROMMA, reference, rules
from sureline.models.numbers import ERROR_GROWTH

margins = st.floats(-50, 50)
variances = st.floats(1e-6, 1e6)
prices = st.floats(1e-3, 1e3)
weights = st.floats(0.01, 100)
etas = st.floats(0.51, 0.99)


def close(a: float, b: float, rel: float = 1e-9) -> bool:
    return a == pytest.approx(b, rel=rel, abs=1e-12)


def test_scw2_has_the_published_values() -> None:
    rule = rules.SCW("II", C=1.0, phi=1.2816)
    assert rule.step(m=-0.5, v=1.0).alpha == pytest.approx(0.843, abs=5e-4)
    assert rule.step(m=0.2, v=0.1).alpha == pytest.approx(0.302, abs=5e-4)


def test_phi_is_the_quantile_and_not_the_distribution_function() -> None:
    assert reference.SCW(eta=0.75).phi == pytest.approx(0.6744897501960817)


@given(margins, variances, etas)
def test_cw_makes_its_constraint_tight(m: float, v: float, eta: float) -> None:
    phi = float(ndtri(eta))
    step = rules.SCW("I", inf, phi).step(m, v)
    if m >= phi * sqrt(v):
        assert step.alpha == step.beta == 0
    else:  # the margin after the step is m + alpha v, its variance u
        assert close(m + step.alpha * v, phi * sqrt(step.u), 1e-7)


@given(margins, variances, etas)
def test_scw1_is_capped_by_its_price_and_is_cw_below_the_cap(m: float, v: float, eta: float) -> None:
    phi = float(ndtri(eta))
    cw = rules.SCW("I", inf, phi).step(m, v)
    for C in (1e-3, 0.1, 10.0, 1e15):
        step = rules.SCW("I", C, phi).step(m, v)
        assert step.alpha == pytest.approx(min(cw.alpha, C))
    assert rules.SCW("I", 1e300, phi).step(m, v).alpha == cw.alpha


@given(margins, variances, prices, etas)
def test_scw2_solves_its_stationarity_condition(m: float, v: float, C: float, eta: float) -> None:
    """xi = tau / (2C) is the loss that is left: phi sqrt(u) - (m + alpha v) = alpha / (2C)."""
    phi = float(ndtri(eta))
    step = rules.SCW("II", C, phi).step(m, v)
    if step.alpha > 0:
        left = phi * sqrt(step.u) - (m + step.alpha * v)
        assert left == pytest.approx(step.alpha / (2 * C), rel=1e-6, abs=1e-9 * (abs(m) + sqrt(v) + 1))


@given(st.sampled_from(["I", "II"]), st.floats(-5, 5), st.floats(1e-3, 1e3), prices, etas, weights)
def test_scw_equals_the_published_formula(variant: str, m: float, v: float, C: float, eta: float, s: float) -> None:
    step = rules.SCW(variant, C, float(ndtri(eta))).step(m, v, weight=s)
    alpha, beta = reference.SCW(variant, C, eta).coefficients(m, v, s)
    assert step.alpha == pytest.approx(alpha, rel=1e-6, abs=1e-9)  # the published form cancels near the threshold
    assert step.beta == pytest.approx(beta, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize(
    ("rule", "oracle"),
    [
        (rules.Perceptron(), reference.Perceptron()),
        (rules.PA("hard"), reference.PA("hard")),
        (rules.PA("I", 0.7), reference.PA("I", 0.7)),
        (rules.PA("II", 0.7), reference.PA("II", 0.7)),
        (rules.AROW(0.3), reference.AROW(0.3)),
        (rules.NAROW(0.9), reference.NAROW(0.9)),
        (rules.NHERD(0.6), reference.NHERD(0.6)),
    ],
    ids=lambda r: type(r).__name__,
)
@given(m=margins, v=variances, s=weights)
def test_coefficients_equal_the_reference(rule: rules.Rule, oracle, m: float, v: float, s: float) -> None:
    step = rule.step(m, v, weight=s)
    alpha, beta = oracle.coefficients(m, v, s)
    assert close(step.alpha, alpha)
    assert close(step.beta, beta)


@given(margins, variances, st.floats(1e-3, 1e3))
def test_arow_minimises_its_objective(m: float, v: float, r: float) -> None:
    """alpha = loss after the step / r: the derivative of the squared hinge at the new margin."""
    step = rules.AROW(r).step(m, v)
    assert close(step.alpha * r, max(0.0, 1 - (m + step.alpha * v)), 1e-6)


@given(margins, variances, prices)
def test_pa_gives_a_margin_of_one_or_pays(m: float, v: float, C: float) -> None:
    hard, soft, squared = (rules.PA(variant, C).step(m, v).alpha for variant in ("hard", "I", "II"))
    assert close(m + hard * v, max(m, 1.0), 1e-7)
    assert soft == min(C, hard)
    loss_left = max(0.0, 1 - (m + squared * v))
    assert squared == pytest.approx(2 * C * loss_left, rel=1e-6, abs=1e-7 * C)


@given(margins, variances)
def test_nherd_and_narow_follow_their_definitions(m: float, v: float) -> None:
    if m < 1:
        C = 0.5
        step = rules.NHERD(C).step(m, v)
        assert close(step.beta, (C * C * v + 2 * C) / (1 + C * v) ** 2)
        narow = rules.NAROW(2.0).step(m, v)
        if v > 0.5:
            assert close(narow.beta, 1 / (v + v / (2 * v - 1)), 1e-6)
        else:
            assert narow.alpha == narow.beta == 0


@given(margins, variances, st.floats(1e-6, 1e3), st.booleans())
def test_romma_reaches_its_two_constraints(m: float, v: float, norm2: float, aggressive: bool) -> None:
    m = max(-sqrt(v * norm2), min(sqrt(v * norm2), m)) * 0.999  # Cauchy and Schwarz
    step = rules.ROMMA(aggressive).step(m, v, norm2=norm2)
    if step.alpha == 0:
        assert m > 0
        return
    margin = step.kappa * m + step.alpha * v
    assert close(margin, 1.0, 1e-6)  # y w.x = 1
    after = step.kappa**2 * norm2 + 2 * step.kappa * step.alpha * m + step.alpha**2 * v
    assert close(after, step.norm2, 1e-4)
    along = step.kappa * norm2 + step.alpha * m  # w_new . w_old
    assert along >= norm2 * (1 - 1e-6)
    if step.kappa != 0:
        assert close(along, norm2, 1e-6)


@given(margins, st.floats(1e-3, 1e3), st.floats(0, 1), st.integers(1, 1000))
def test_alma_stays_in_the_unit_ball(m: float, v: float, norm2: float, k: int) -> None:
    m = max(-sqrt(v * norm2), min(sqrt(v * norm2), m))
    step = rules.ALMA(0.9, 1 / 0.9, sqrt(2)).step(m, v, norm2=norm2, k=k)
    if m / sqrt(v) > 0.1 / 0.9 / sqrt(k):
        assert step.alpha == 0
    else:
        after = step.kappa**2 * norm2 + 2 * step.kappa * step.alpha * m + step.alpha**2 * v
        assert after <= 1 + 1e-9
        assert close(after, step.norm2, 1e-6)
        assert close(step.alpha / step.kappa, sqrt(2 / (k * v)))


def test_iellip_and_sop_follow_their_definitions() -> None:
    step = rules.IELLIP(0.3).step(m=-0.5, v=4.0, c=0.1)
    assert (step.alpha, step.beta) == (pytest.approx(1.5 / 4), pytest.approx(0.1 / 4))
    assert step.gamma == pytest.approx(1 / 0.9)
    assert rules.IELLIP(0.3).step(m=0.1, v=4.0).alpha == 0
    step = rules.SOP().step(m=-1.0, v=3.0)
    assert (step.alpha, step.beta) == (1.0, pytest.approx(0.25))


RULES = [
    rules.AROW(1e-6),
    rules.AROW(1e6),
    rules.NAROW(1.0),
    rules.NHERD(1e6),
    rules.SCW("I", 1.0, 0.67),
    rules.SCW("II", 1.0, 0.67),
    rules.SCW("I", inf, 2.0),
    rules.SOP(),
    rules.IELLIP(0.3),
]


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
@given(m=st.floats(-1e8, 0.5), v=st.floats(1e-100, 1e100), s=weights)
def test_the_variance_after_a_step_is_positive_and_smaller(rule: rules.Rule, m: float, v: float, s: float) -> None:
    step = rule.step(m * sqrt(v), v, weight=s)  # |m| <= |w| |x|
    if step.beta > 0:
        assert 0 < step.u <= v * (1 + 1e-15)
        assert step.u == pytest.approx(v * (1 - step.beta * v), abs=1e-9 * v)


@pytest.mark.parametrize("rule", RULES, ids=lambda r: type(r).__name__)
@given(m=st.floats(-1e8, 0.5), v=st.floats(1e-300, 1e300))
def test_no_overflow_for_rows_of_any_length(rule: rules.Rule, m: float, v: float) -> None:
    step = rule.step(m * sqrt(v), v)
    assert 0 <= step.alpha < inf
    assert 0 <= step.beta * v <= 1 + 1e-15


@given(margins, variances, st.floats(1e-3, 10), st.floats(1e-6, 0.09), st.floats(0, 1e4), weights)
def test_fofs_ends_in_its_ball(m: float, v: float, eta: float, lam: float, norm2: float, s: float) -> None:
    """w <- kappa w + alpha y x is the decayed w and a step s eta, shortened alike to the length 1 / sqrt(lam)."""
    norm2 = max(norm2, m * m / v)  # what the margin says of it
    step = rules.FOFS(eta, lam).step(m, v, weight=s, norm2=norm2)
    if m > 1:
        assert not rules.FOFS(eta, lam).active(m)
        return
    assert rules.FOFS(eta, lam).active(1.0)
    assert close(step.kappa / (1 - lam * eta), step.alpha / (s * eta))
    length2 = step.kappa**2 * norm2 + 2 * step.kappa * step.alpha * m + step.alpha**2 * v
    assert length2 * lam <= 1 + 1e-9
    assert step.norm2 == pytest.approx(length2, rel=1e-9, abs=1e-12 * (norm2 + step.alpha**2 * v))
    if step.alpha < s * eta * (1 - 1e-9):
        assert close(length2 * lam, 1)


def test_fofs_without_a_penalty_is_a_gradient_step() -> None:
    # A length that cannot be held is told, so that the row is refused; nothing is forgotten without a word.
    huge = rules.FOFS(eta=1e5, lam=1e-6).step(m=0.0, v=1e300)
    assert huge.norm2 == inf
    assert huge.kappa == pytest.approx(0.9)
    step = rules.FOFS(eta=0.5, lam=0.0).step(m=-3.0, v=1e6, norm2=1e9)
    assert (step.alpha, step.kappa) == (0.5, 1.0)


def test_steps_at_the_threshold() -> None:
    """At equality, with numbers that are exact: a score of 0 is a mistake, a margin of 1 is none of the hinge loss."""
    tiny = 5e-324
    assert rules.Perceptron().active(0.0)
    assert not rules.Perceptron().active(tiny)
    assert rules.CPA(1.0).active(0.0)
    assert not rules.CPA(1.0).active(tiny)
    assert not rules.PA("I", 1.0).active(1.0)
    assert rules.PAUM(0.5).step(m=2.0, v=1.0, cost=2.0).alpha == 0.5
    assert rules.PAUM(0.5).step(m=2.25, v=1.0, cost=2.0).alpha == 0
    # (1 - alpha) B / sqrt(k) is 1/2, and so is m / |x|.
    assert rules.ALMA(0.5, 2.0, 1.0).step(m=1.0, v=4.0, k=4).alpha > 0
    assert rules.ALMA(0.5, 2.0, 1.0).step(m=1.25, v=4.0, k=4).alpha == 0
    # phi sqrt(v) is 1, and so is the margin.
    assert rules.SCW("I", 1.0, 0.5).step(m=1.0, v=4.0).alpha == 0
    # r is infinite.
    step = rules.NAROW(0.5).step(m=0.0, v=2.0)
    assert (step.alpha, step.beta, step.u) == (0, 0, 0)
    # The older constraint says no more than the new one: |x|^2 |w|^2 <= m. Only the new one is left.
    assert rules.ROMMA(aggressive=True).step(m=0.5, v=2.0, norm2=0.25).kappa == 0
    assert rules.ROMMA(aggressive=True).step(m=0.5, v=2.0, norm2=0.375).kappa > 0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "log"])
@given(m=st.floats(-30, 30), t=st.integers(1, 1000), c=st.floats(0.1, 10), s=weights)
def test_ogd_steps_along_the_gradient(loss: str, m: float, t: int, c: float, s: float) -> None:
    slope = {
        "hinge": float(m < 1),
        "squared_hinge": 2 * max(0.0, 1 - m),
        "log": 1 / (1 + exp(m)),
    }[loss]
    for p in (0.5, 0.0, 1.0):
        rule = rules.OGD(0.7, p, loss)
        step = rule.step(m, 1.0, weight=s, cost=c, t=t)
        assert close(step.alpha if rule.active(m) else 0.0, s * c * 0.7 / t**p * slope)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_romma_takes_no_step_along_its_own_weights(size: float) -> None:
    """The same row with the other label: no weights meet both constraints, whatever rounding makes of the angle."""
    rng = np.random.default_rng(0)
    for x in size * rng.standard_normal((100, 1, 5)):
        model = ROMMA(normalize="none", fit_intercept=False).partial_fit(x, [1], classes=[0, 1])
        before = model.coef_.copy()
        np.testing.assert_allclose(before, x / (x**2).sum())
        model.partial_fit(x, [0])
        np.testing.assert_array_equal(model.coef_, before)


def test_romma_knows_how_much_its_norm_has_lost() -> None:
    """A relative error of |w|^2 grows by 1 / sin^2 of the angle between the row and the weights."""
    model = ROMMA(normalize="none", fit_intercept=False)
    rows = np.array([[1.0, 0, 0], [1.0, 1.0, 0], [0.3, -1.0, 1.0]])
    grown = 1.0
    for k, x in enumerate(rows):
        w = model.coef_[0] if k else np.zeros(3)
        if k:
            grown *= 1 / (1 - (x @ w) ** 2 / ((x @ x) * (w @ w)))
        model.partial_fit(x[None], [int(x @ w <= 0)], classes=[0, 1])  # a mistake
        assert model.n_updates_ == k + 1
        assert model._state.memory[0, ERROR_GROWTH] == pytest.approx(grown)
    assert 2 < grown < 16

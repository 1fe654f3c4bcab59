"""Statements of the O-DCA paper, for the reference and the compiled learners."""

from itertools import pairwise, product
from math import exp

import numpy as np
import pytest
from catalogue import as_published
from scipy.optimize import brentq

import sureline
from sureline import reference

LEARNERS = ["reference", "compiled"]
WINDOWS = {
    "infinite": {"window": "infinite"},
    "exponential": {"window": "exponential", "beta": 0.9},
    "sliding": {"window": "sliding", "length": 12},
}
REGULARIZERS = {
    "l2": {"regularizer": "l2"},
    "elastic_net": {"regularizer": "elastic_net", "delta": 0.1},
    "kl": {"regularizer": "kl"},
}
EPSILON = 0.6
# The slopes of the losses by the margin m, or by the score where the target is `wanted`: minus that of e = wanted - m.
SLOPES = {
    "hinge": lambda m, wanted: -1.0 if m < wanted else 0.0,
    "squared_hinge": lambda m, wanted: -2 * max(0.0, wanted - m),
    "log": lambda m, wanted: -1 / (1 + exp(m)) if m < 700 else 0.0,
    "squared": lambda m, wanted: m - wanted,
    "absolute": lambda m, wanted: -1.0 if m < wanted else 1.0,
    "huber": lambda m, wanted: -min(max(wanted - m, -EPSILON), EPSILON),
}
REGRESSION = ("squared", "absolute", "huber")
every_learner = pytest.mark.parametrize("learner", LEARNERS)
every_window = pytest.mark.parametrize("window", WINDOWS)


def data(n: int = 60, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels of -1 and +1, and targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    target = X @ np.linspace(1, -1, d) + 0.3 + 0.3 * rng.standard_normal(n)
    y = np.where(target > 0, 1, -1)
    y[0] = 1
    return X, y, target


def trajectory(learner: str, X, y, weight=None, regression: bool = False, begin: int = 0, **parameters) -> np.ndarray:
    """w_N for N = begin, begin + 1, ..., with the intercept in front."""
    weight = np.ones(len(X)) if weight is None else weight
    if learner == "compiled":
        model = as_published(sureline.ODCARegressor if regression else sureline.ODCA, **parameters)
        known = {} if regression else {"classes": [-1, 1]}
        ws = [np.zeros(X.shape[1] + 1)]
        for rows in [range(begin)] * (begin > 0) + [[row] for row in range(begin, len(X))]:
            model.partial_fit(X[rows], y[rows], sample_weight=weight[rows], **known)
            ws.append(np.append(model.intercept_, model.coef_))
        return np.array(ws[begin > 0 :])
    model = (reference.ODCARegressor if regression else reference.ODCA)(**parameters)
    if regression:
        model.run(X[:0], y[:0])
    else:
        model.start(1, X.shape[1] + 1)
    ws = [model.machine.w_bar[0]]
    for x, label, s in zip(X, y, weight, strict=True):
        h = np.append(float(parameters.get("fit_intercept", True)), x)
        model.machine.round(h[np.newaxis], float(label), float(s))
        ws.append(model.machine.w_bar[0])
    return np.array(ws[begin:])


def Delta(window: str, N: int) -> float:
    beta, L = WINDOWS["exponential"]["beta"], WINDOWS["sliding"]["length"]
    return {"infinite": N, "exponential": sum(beta**k for k in range(N)), "sliding": min(N, L)}[window]


def remaining(window: str, N: int, w: np.ndarray, steps: list[np.ndarray]) -> np.ndarray:
    """f_N(w_{N-1}) with l2 regularisation, of steps[n] = alpha(n) s lambda(n) h_n."""
    L = WINDOWS["sliding"]["length"]
    if window == "sliding" and N > L:
        return w - steps[N - L] * Delta(window, N - L) / L
    share = {"infinite": 1.0, "exponential": WINDOWS["exponential"]["beta"], "sliding": 1.0}[window]
    return share * Delta(window, N - 1) / Delta(window, N) * w


def prox(slope, scale: float, v: np.ndarray, h: np.ndarray, gamma: float, regression: bool) -> np.ndarray:
    """argmin_w scale Q(h.w; gamma) + 1/2 |w - v|^2, from where its slope along h changes sign: w = v + t h."""
    y, wanted = (1.0, gamma) if regression else (gamma, 1.0)
    h2 = h @ h

    def by_t(t: float) -> float:
        return scale * y * slope(y * (h @ v + t * h2), wanted) + t

    reach = scale * (abs(slope(y * (h @ v), wanted)) + 1)
    return v + brentq(by_t, -reach, reach, xtol=1e-15, rtol=1e-14) * h


@every_learner
@every_window
@pytest.mark.parametrize("loss", SLOPES)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("fit_intercept", [True, False], ids=["intercept", "none"])
def test_with_l2_it_is_the_stochastic_proximal_step(
    learner: str, window: str, loss: str, weighted: bool, fit_intercept: bool
) -> None:
    """Eq. (31), which is (33) with the shrinking and the step size of the window."""
    X, y, target = data()
    rho, weight = 0.2, np.random.default_rng(1).choice([0.5, 1, 3], len(y)) if weighted else np.ones(len(y))
    for regression in (False, True) if loss in REGRESSION else (False,):
        gamma = target if regression else y
        ws = trajectory(
            learner,
            X,
            gamma,
            weight,
            regression,
            rho=rho,
            loss=loss,
            fit_intercept=fit_intercept,
            **({"epsilon": EPSILON} if loss == "huber" else {}),
            **WINDOWS[window],
        )
        steps = [np.zeros(X.shape[1] + 1)]
        for N, (before, after) in enumerate(pairwise(ws), start=1):
            v, h = remaining(window, N, before, steps), np.append(float(fit_intercept), X[N - 1])
            if not h.any():
                np.testing.assert_allclose(after, v, atol=1e-12)
                steps.append(np.zeros_like(v))
                continue
            mu = 1 / (rho * Delta(window, N))
            expected = prox(SLOPES[loss], mu * weight[N - 1], v, h, gamma[N - 1], regression)
            np.testing.assert_allclose(after, expected, atol=1e-11, rtol=1e-11)
            steps.append(after - v)
        assert np.abs(ws[-1]).max() > 0.1


@every_learner
@every_window
@pytest.mark.parametrize("loss", SLOPES)
def test_a_round_does_not_decrease_the_dual(learner: str, window: str, loss: str) -> None:
    """Against lambda(N) = 0. With l2 the dual variables can be read off the weights; for the others see below."""
    X, y, _ = data(40)
    rho, h = 0.1, np.column_stack([np.ones(40), X])
    ws = trajectory(learner, X, y, rho=rho, loss=loss, epsilon=EPSILON if loss == "huber" else None, **WINDOWS[window])
    machine = reference.ODCA(rho=rho, loss=loss, epsilon=EPSILON, **WINDOWS[window])
    machine.start(1, 6)
    machine = machine.machine
    steps, gains = [np.zeros(6)], []
    for N, (before, after) in enumerate(pairwise(ws), start=1):
        steps.append(after - remaining(window, N, before, steps))
        lam = steps[-1] @ h[N - 1] / (h[N - 1] @ h[N - 1]) * rho * Delta(window, N)
        low, high = (-u for u in reversed(machine.loss.domain(float(y[N - 1]))))
        assert low - 1e-12 <= lam <= high + 1e-12
        lam = min(max(lam, low), high)
        machine.N = N
        machine.examples.append(reference.online_dual.Example(h[N - 1][np.newaxis], float(y[N - 1]), 1.0, lam))
        np.testing.assert_allclose(machine.w_prime_of(lam)[0], after, atol=1e-11)  # the recursions are (16)
        gains.append(machine.D(lam) - machine.D(0.0))
        for other in (lam - 1e-3, lam + 1e-3):  # and it is the best of all
            assert machine.D(other) <= machine.D(lam) + 1e-14
    assert min(gains) >= -1e-14
    assert max(gains) > 1e-3


@every_window
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("loss", SLOPES)
def test_a_round_does_not_decrease_the_dual_with_any_regularizer(window: str, regularizer: str, loss: str) -> None:
    X, y, target = data(30)
    settings = {"rho": 0.1, "loss": loss, "epsilon": EPSILON, "trace": True}
    settings |= WINDOWS[window] | REGULARIZERS[regularizer]
    weight = np.random.default_rng(2).choice([0, 0.5, 1, 2], len(y))
    models = [reference.ODCA(**settings).run(X, y, weight)]
    models.append(reference.ODCA(**settings).run(X, np.digitize(target, [-0.5, 0.5]), weight))
    if loss in REGRESSION:
        models.append(reference.ODCARegressor(**settings).run(X, target, weight))
    for model in models:
        before, after = model.duals_.T
        assert len(before) == (weight > 0).sum()
        assert (after - before).min() >= -1e-14
        assert (after - before).max() > 1e-3
        machine = model.machine
        np.testing.assert_allclose(machine.w_prime, machine.w_prime_of(machine.examples[-1].lam), atol=1e-12)
        assert machine.P(machine.w) >= after[-1] - 1e-14  # weak duality


@every_learner
def test_least_mean_squares_approaches_leaky_lms(learner: str) -> None:
    """The steps (37) and (39) from the same weights, with mu_N = 1 / (rho N), differ by O(1 / N^2)."""
    X, _, target = data(1000, 5, seed=3)
    rho = 0.5
    ws = trajectory(learner, X, target, regression=True, loss="squared", rho=rho)
    h, N = np.column_stack([np.ones(len(X)), X]), np.arange(1, len(X) + 1)
    mu = 1 / (rho * N)
    residual = target - np.sum(h * ws[:-1], axis=1)
    leaky = (1 - rho * mu)[:, np.newaxis] * ws[:-1] + (mu * residual)[:, np.newaxis] * h
    difference = np.linalg.norm(ws[1:] - leaky, axis=1)
    step = np.linalg.norm(ws[1:] - ws[:-1], axis=1)
    begins = [62, 125, 250, 500]
    sizes = [difference[n : 2 * n].mean() for n in begins]
    order = np.polyfit(np.log(begins), np.log(sizes), 1)[0]
    assert -2.15 < order < -1.85
    assert np.polyfit(np.log(begins), np.log([step[n : 2 * n].mean() for n in begins]), 1)[0] > -1.15  # the steps: 1/N
    assert sizes[-1] < 0.05 * step[500:].mean()


@every_learner
def test_support_vector_machines_approach_a_smoothed_sub_gradient(learner: str) -> None:
    """Eq. (45): with beta = 1 - mu rho, and N large, the indicator of (46) becomes a ramp.

    What is left is that (44) has beta w where (45) has w: at most mu rho |h.w| / |h|.
    """
    X, y, _ = data(400, 5, seed=4)
    mu, rho = 0.01, 0.1
    h, signs = np.tile(np.column_stack([np.ones(400), X]), (20, 1)), np.tile(y, 20)
    ws = trajectory(learner, h[:, 1:], signs, begin=7600, rho=rho, window="exponential", beta=1 - mu * rho)
    ramps = []
    for N, (w, after) in enumerate(pairwise(ws), start=7600):
        x, gamma = h[N], signs[N]
        ramps.append(min(max(0.0, (1 - gamma * (x @ w)) / (mu * (x @ x))), 1.0))
        ramped = (1 - mu * rho) * w + mu * gamma * x * ramps[-1]
        left = mu * rho * abs(x @ w) / np.linalg.norm(x)
        assert np.linalg.norm(after - ramped) <= 1.01 * left + 1e-5  # beta^N is 0.0005
    assert np.any((0.01 < np.array(ramps)) & (np.array(ramps) < 0.99))


@every_learner
def test_smoothing_is_the_weighted_mean_of_the_weights(learner: str) -> None:
    """Eq. (27), term by term."""
    X, y, _ = data()
    settings = {"loss": "hinge", "rho": 0.1, **WINDOWS["exponential"]}
    ws = trajectory(learner, X, y, **settings)
    for kappa in (0.5, 0.95, 1.0):
        smoothed = trajectory(learner, X, y, smoothing=kappa, **settings)
        for N in (1, 2, 17, 60):
            share = kappa ** np.arange(N - 1, -1, -1)
            np.testing.assert_allclose(smoothed[N], share @ ws[1 : N + 1] / share.sum(), atol=1e-12)


@pytest.mark.parametrize(
    ("learner", "loss", "regularizer"),
    [("reference", loss, "l2") for loss in ("hinge", "squared")]
    + [("compiled", *both) for both in product(SLOPES, REGULARIZERS)],
)
def test_the_infinite_window_approaches_the_optimum_of_sdca(learner: str, loss: str, regularizer: str) -> None:
    """Objective (3), over the same rows in a new order again and again."""
    X, y, _ = data(200, 5, seed=5)
    settings = {"rho": 0.05, "loss": loss, **REGULARIZERS[regularizer]}
    best = sureline.SDCA(**settings, epochs=20_000, tol=1e-10, random_state=0, normalize="none").fit(X, y)
    oracle = reference.SDCA(**settings)

    def objective(model) -> float:
        w = np.append(model.intercept_, model.coef_)
        losses = [oracle.loss.Q(z, float(sign)) for z, sign in zip(X @ w[1:] + w[0], y, strict=True)]
        return float(np.mean(losses)) + 0.05 * oracle.regularizer.R(w[np.newaxis])

    rng = np.random.default_rng(0)
    order = np.concatenate([rng.permutation(200) for _ in range(64)])
    excess = {}
    for passes in (1, 8, 64):
        rows = order[: 200 * passes]
        if learner == "compiled":
            model = as_published(sureline.ODCA, **settings).fit(X[rows], y[rows])
        else:
            model = reference.ODCA(**settings).run(X[rows], y[rows])
        excess[passes] = objective(model) - objective(best)
    assert all(value > -1e-10 for value in excess.values())
    assert excess[8] < 0.2 * excess[1]
    assert excess[64] < 0.01 * excess[1]


def test_windows_are_what_their_names_say() -> None:
    X, y, _ = data()
    last = {}
    for name, settings in {
        "infinite": {},
        "long": {"window": "sliding", "length": 60},
        "slow": {"window": "exponential", "beta": 1 - 1e-13},
        "half": {"window": "exponential", "half_life": 3},
        "beta": {"window": "exponential", "beta": 2 ** (-1 / 3)},
        "all": {"window": "exponential"},
        "default": {"window": "exponential", "beta": 0.9999},
    }.items():
        last[name] = reference.ODCA(rho=0.1, **settings).run(X, y).coef_
    np.testing.assert_allclose(last["long"], last["infinite"], atol=1e-13)
    np.testing.assert_allclose(last["slow"], last["infinite"], atol=1e-9)
    np.testing.assert_array_equal(last["half"], last["beta"])
    np.testing.assert_array_equal(last["all"], last["default"])
    assert np.abs(last["half"] - last["infinite"]).max() > 0.01


@every_window
@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_one_against_the_rest_is_as_many_learners(window: str, regularizer: str) -> None:
    X, _, target = data()
    y = np.digitize(target, [-0.5, 0.5])
    settings = {"rho": 0.1, "loss": "log", **WINDOWS[window], **REGULARIZERS[regularizer]}
    together = reference.ODCA(multi_class="ovr", **settings).run(X, y)
    for k in range(3):
        alone = reference.ODCA(**settings).run(X, (y == k).astype(int))
        np.testing.assert_array_equal(together.coef_[k], alone.coef_[0])
    native = reference.ODCA(multi_class="native", **settings).run(X, y)
    assert native.coef_.shape == (3, 5)
    if regularizer == "kl":
        np.testing.assert_allclose(native.coef_.sum(axis=1), 1, atol=1e-12)
    elif regularizer == "l2":  # what one class gains another loses
        np.testing.assert_allclose(native.coef_.sum(axis=0), 0, atol=1e-12)

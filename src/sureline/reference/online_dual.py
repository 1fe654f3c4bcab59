"""Online dual coordinate ascent, with every weight written in every round.

Ying, Yuan & Sayed, "Online dual coordinate ascent learning", EUSIPCO 2016. N counts the examples from 1. The weights w'
and w have a row for each head and a column for each feature; the first column is the intercept. So has h, with a row of
zeros for a head that has no part in the example. gamma is a label of -1 or +1, or the target of a regression. The
weight s of an example multiplies its delta_{n,N}; Delta_N counts the examples.
"""

from __future__ import annotations

from math import expm1, isfinite, log
from typing import Any, NamedTuple, Self

import numpy as np

from .dual_losses import Loss, Regularizer, make_loss, make_regularizer
from .stream import Array, Learner


def smallest(slope: Any, end: float) -> float:
    """The smallest t in (0, end] with slope(t) >= 0, to the last bit, or end: by bisection over all floats."""
    below, above = 0, int(np.float64(end).view(np.int64))  # positive floats are in the order of their bits
    while above - below > 1:
        middle = (below + above) // 2
        if slope(float(np.int64(middle).view(np.float64))) >= 0:
            above = middle
        else:
            below = middle
    return float(np.int64(above).view(np.float64))


def best_lambda(loss: Loss, regularizer: Regularizer, f: Array, h: Array, gamma: float, step: float) -> float:
    """argmin_tau  step Q*(-tau; gamma) + R*(f + tau step h), eq. (26a) divided by rho; step is s alpha(N).

    The slope by tau, divided by the step, is  h . grad R*(f + tau step h) - dQ*(-tau; gamma)  and grows with tau. Where
    it is zero over a range, tau is the one nearest to zero.
    """

    def slope(tau: float) -> float:
        return float(np.sum(h * regularizer.grad_R_star(f + tau * step * h))) - loss.dQ_star(-tau, gamma)

    low, high = (-u for u in reversed(loss.domain(gamma)))
    start = slope(0.0)
    sign = -1.0 if start > 0 else 1.0
    end = high if sign > 0 else -low
    if start == 0 or end == 0:
        return 0.0
    if not isfinite(end):  # the squared losses, whose dQ* has a slope of -1 or -1/2
        end = 4 * abs(start)
    return sign * smallest(lambda t: sign * slope(sign * t), end)


class Example(NamedTuple):
    """A past example, with its dual variable lambda(n)."""

    h: Array
    gamma: float
    s: float
    lam: float


class OnlineDual:
    """The algorithm (26a)-(26c) for heads x features weights, with the smoothing (27)."""

    def __init__(
        self,
        loss: Loss,
        regularizer: Regularizer,
        rho: float,
        window: str,
        beta: float,
        length: int,
        smoothing: float,
        trace: bool,
    ) -> None:
        self.loss, self.regularizer, self.rho = loss, regularizer, rho
        self.window, self.beta, self.length = window, beta, length
        self.kappa, self.trace = smoothing, trace

    def start(self, n_heads: int, d: int) -> None:
        self.N = 0
        self.w_prime = np.zeros((n_heads, d))
        self.w = self.w_bar = self.regularizer.grad_R_star(self.w_prime)
        self.sum_of_w, self.S_N = np.zeros((n_heads, d)), 0.0
        self.examples: list[Example] = []
        self.duals: list[tuple[float, float]] = []

    def Delta(self, N: int) -> float:
        if self.window == "exponential":
            return expm1(N * log(self.beta)) / (self.beta - 1)  # eq. (5)
        return N if self.window == "infinite" else min(N, self.length)

    def delta(self, n: int, N: int) -> float:
        if self.window == "exponential":
            return self.beta ** (N - n)
        return 1.0 if self.window == "infinite" else float(n > N - self.length)

    def f(self, x: Array, N: int) -> Array:
        """f_N(x), eq. (22)."""
        if self.window == "exponential":
            return self.beta * expm1((N - 1) * log(self.beta)) / expm1(N * log(self.beta)) * x
        if self.window == "sliding" and N > self.length:
            gone = self.examples[N - self.length - 1]
            return x - self.alpha(N) * gone.s * gone.lam * gone.h
        return (N - 1) / N * x

    def alpha(self, N: int) -> float:
        return 1 / (self.rho * self.Delta(N))  # eq. (24)

    def round(self, h: Array, gamma: float, s: float) -> bool:
        """Learn one example. True if its dual variable is not zero, and it moves weights."""
        self.N += 1
        N, step = self.N, s * self.alpha(self.N)
        f = self.f(self.w_prime, N)
        lam = self.argmin(f, h, gamma, step)  # (26a)
        self.w_prime = f + step * lam * h  # (26b)
        self.w = self.regularizer.grad_R_star(self.w_prime)  # (26c)
        self.sum_of_w, self.S_N = self.kappa * self.sum_of_w + self.w, self.kappa * self.S_N + 1
        self.w_bar = self.sum_of_w / self.S_N  # (27)
        self.examples.append(Example(h, gamma, s, lam))
        if self.trace:
            self.duals.append((self.D(0.0), self.D(lam)))
        return lam != 0 and bool(h.any())

    def argmin(self, f: Array, h: Array, gamma: float, step: float) -> float:
        """lambda(N), by the closed form where the paper has one."""
        v, z = step * float(np.sum(h * h)), float(np.sum(h * f))
        if self.regularizer.name == "l2" and self.loss.name == "squared":
            return (gamma - z) / (1 + v)  # (37a); the same for a label, whose square is 1
        if self.regularizer.name == "l2" and self.loss.name == "hinge" and v > 0:
            return gamma * min(max(0.0, (1 - gamma * z) / v), 1.0)  # (44), and the projection of the line below
        return best_lambda(self.loss, self.regularizer, f, h, gamma, step)

    def w_prime_of(self, lam: float) -> Array:
        """w'_N by its definition (16), with lambda(N) = lam."""
        total = np.zeros_like(self.w_prime)
        for n, one in enumerate(self.examples, start=1):
            total += self.delta(n, self.N) * one.s * (lam if n == self.N else one.lam) * one.h
        return total / (self.rho * self.Delta(self.N))

    def D(self, lam: float) -> float:
        """The dual objective D_N(lambda), eq. (17), with lambda(N) = lam."""
        total = 0.0
        for n, one in enumerate(self.examples, start=1):
            weight = self.delta(n, self.N) * one.s
            if weight > 0:
                total += weight * self.loss.Q_star(-(lam if n == self.N else one.lam), one.gamma)
        return -total / self.Delta(self.N) - self.rho * self.regularizer.R_star(self.w_prime_of(lam))

    def P(self, w: Array) -> float:
        """The primal objective (4) at the weights w."""
        total = 0.0
        for n, one in enumerate(self.examples, start=1):
            total += self.delta(n, self.N) * one.s * self.loss.Q(float(np.sum(one.h * w)), one.gamma)
        return total / self.Delta(self.N) + self.rho * self.regularizer.R(w)


def _machine(
    regression: bool,
    rho: float = 1e-4,
    window: str = "infinite",
    beta: float | None = None,
    half_life: float | None = None,
    length: int | None = None,
    regularizer: str = "l2",
    delta: float | None = None,
    loss: str = "hinge",
    epsilon: float | None = None,
    smoothing: float = 0.0,
    trace: bool = False,
) -> OnlineDual:
    if beta is None:
        beta = 0.9999 if half_life is None else 2 ** (-1 / half_life)
    return OnlineDual(
        make_loss(loss, regression, epsilon),
        make_regularizer(regularizer, delta),
        rho,
        window,
        beta,
        10_000 if length is None else length,
        smoothing,
        trace,
    )


def _averaged(parameters: dict[str, Any], average: bool | float) -> dict[str, Any]:
    """The parameters, with the kappa that averages all weights, or has that half-life, if an average is wanted."""
    if average is False:
        return parameters
    return parameters | {"smoothing": 1.0 if average is True else 2 ** (-1 / average)}


class ODCA(Learner):
    """For classes. With trace=True it keeps `duals_`: D_N at lambda(N) = 0 and at the chosen one, for every N.

    With more than two classes h has the row x at the true class and -x at its rival, and gamma is 1. With
    multi_class="ovr" each class has a machine, and there is no `machine` of the whole. `average` is the smoothing (27).
    """

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        multi_class: str = "native",
        average: bool | float = False,
        **parameters: Any,
    ) -> None:
        super().__init__(fit_intercept=fit_intercept, multi_class=multi_class)
        self.parameters = _averaged(parameters, average)

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.machine = _machine(False, **self.parameters)
        self.machine.start(n_heads, d)

    def weights(self) -> Array:
        return self.machine.w_bar

    @property
    def duals_(self) -> Array:
        return np.array(self.machine.duals)

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        h, gamma = np.zeros_like(self.w), 1.0
        for head, sign in heads.items():
            h[head] = sign * x
        if len(heads) == 1:
            ((head, sign),) = heads.items()
            h[head], gamma = x, float(sign)
        return self.machine.round(h, gamma, s)


class ODCARegressor:
    """For targets; its losses are "squared", "absolute" and "huber". coef_ has one row."""

    def __init__(
        self, *, loss: str = "squared", fit_intercept: bool = True, average: bool | float = False, **parameters: Any
    ) -> None:
        self.parameters, self.fit_intercept = _averaged({"loss": loss, **parameters}, average), fit_intercept

    def run(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X in their order. Sets coef_, intercept_, n_seen_, n_updates_ and scores_."""
        X, y = np.asarray(X, float), np.asarray(y, float)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        X = np.column_stack([np.full(len(X), float(self.fit_intercept)), X])
        self.machine = _machine(True, **self.parameters)
        self.machine.start(1, X.shape[1])
        self.n_seen_ = self.n_updates_ = 0
        scores = []
        for x, gamma, s in zip(X, y, weights, strict=True):
            if s == 0:
                continue
            scores.append(float(self.machine.w_bar[0] @ x))
            self.n_seen_ += 1
            self.n_updates_ += int(self.machine.round(x[np.newaxis], float(gamma), float(s)))
        self.coef_, self.intercept_ = self.machine.w_bar[:, 1:], self.machine.w_bar[:, 0]
        self.scores_ = np.array(scores)
        return self

    @property
    def duals_(self) -> Array:
        return np.array(self.machine.duals)

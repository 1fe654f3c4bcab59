"""The algorithms that follow a gradient, and their cost-sensitive relatives, with every weight written in every round.

t counts the examples from 1, m = y w.x is the margin, s the weight of the example and c the cost of its label. States
and gradients have a row for each head and a column for each feature, of which the first is the intercept.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from math import exp, inf, sqrt
from typing import Any

import numpy as np

from .stream import Array, Learner


def soft(a: Array, b: Array | float) -> Array:
    """sign(a) max(|a| - b, 0), which is argmin_w 1/2 |a - w|^2 + b |w|_1. The intercept is not truncated."""
    w: Array = np.sign(a) * np.maximum(np.abs(a) - b, 0)
    w[:, 0] = a[:, 0]
    return w


def loss_slope(loss: str, m: float) -> float:
    """l'(m) of max(0, 1 - m), of max(0, 1 - m)^2, or of log(1 + exp(-m))."""
    if loss == "hinge":
        return -1.0 if m < 1 else 0.0
    if loss == "squared_hinge":
        return -2 * max(0.0, 1 - m)
    return -1 / (1 + exp(m)) if m <= 0 else -exp(-m) / (1 + exp(-m))


class CostSensitiveLearner(Learner):
    """Costs of mistakes: equal (None), a pair (missed positive, false alarm), or "balanced"."""

    def __init__(self, cost: Any = None, **common: Any) -> None:
        super().__init__(**common)
        self.cost = cost

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.T: Counter[tuple[int, int]] = Counter()

    def label_cost(self, heads: dict[int, int]) -> float:
        """c of the label, counting it."""
        label = head, sign = next(iter(heads.items()))  # the true class, or the one head there is with the sign y
        self.T[label] += 1
        if self.cost is None:
            return 1.0
        if self.cost != "balanced":
            return float(self.cost[0] if sign == 1 else self.cost[1])
        if len(self.w) > 1:
            return self.T.total() / (len(self.T) * self.T[label])
        return self.T[head, -1] / self.T[head, 1] if sign == 1 and len(self.T) == 2 else 1.0


class GradientLearner(CostSensitiveLearner):
    """Algorithm 2 of "A framework of sparse online learning", of which these are instances:

    for t = 1, 2, ...
        receive x                                                            (receive)
        u = grad Phi*_t(theta),  w = argmin_w 1/2 |u - w|^2 + lam_t |w|_1    (weights)
        predict, receive y, suffer l(w)
        z = grad l(w),  theta <- theta - eta z                               (turn, step)
    """

    def __init__(self, loss: str = "hinge", cost: Any = None, **common: Any) -> None:
        super().__init__(cost, **common)
        self.loss = loss

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.t = 1

    def slope(self, m: float, c: float) -> float:
        """The derivative of the example's loss by its margin."""
        return c * loss_slope(self.loss, m)

    @abstractmethod
    def step(self, z: Array) -> None:
        """Follow the gradient z of the example in round t."""

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        c, m = self.label_cost(heads), self.margin(x, heads)
        z = np.zeros_like(self.w)
        for head, sign in heads.items():
            z[head] = s * self.slope(m, c) * sign * x
        self.step(z)
        self.t += 1
        return bool(z.any())


# Descent: the weights themselves take the step, and some are then truncated.


class OGD(GradientLearner):
    def __init__(self, eta: float = 1.0, loss: str = "hinge", power_t: float = 0.5, **common: Any) -> None:
        super().__init__(loss, **common)
        self.eta, self.power_t = eta, power_t

    def step(self, z: Array) -> None:
        self.w -= self.eta / self.t**self.power_t * z


class CSOGD(OGD):
    def __init__(
        self,
        eta: float = 1.0,
        form: str = "slope",
        cost: Any = None,
        loss: str = "hinge",
        power_t: float = 0.5,
        **common: Any,
    ) -> None:
        super().__init__(eta, loss, power_t, cost=cost, **common)
        self.form = form

    def slope(self, m: float, c: float) -> float:
        return c * loss_slope(self.loss, m) if self.form == "slope" else loss_slope(self.loss, m - c + 1)


class STG(GradientLearner):
    def __init__(
        self,
        eta: float = 1.0,
        lam: float = 0.0,
        K: int = 10,
        theta: float = inf,
        loss: str = "hinge",
        **common: Any,
    ) -> None:
        super().__init__(loss, **common)
        self.eta, self.lam, self.K, self.theta = eta, lam, K, theta

    def step(self, z: Array) -> None:
        self.w -= self.eta * z
        if self.t % self.K == 0:
            self.w = np.where(np.abs(self.w) <= self.theta, soft(self.w, self.K * self.eta * self.lam), self.w)


class FOBOS(GradientLearner):
    def __init__(self, eta: float = 1.0, lam: float = 0.0, loss: str = "hinge", **common: Any) -> None:
        super().__init__(loss, **common)
        self.eta, self.lam = eta, lam

    def step(self, z: Array) -> None:
        eta_t = self.eta / sqrt(self.t)
        self.w = soft(self.w - eta_t * z, eta_t * self.lam)


class AdaFOBOS(GradientLearner):
    def __init__(
        self, eta: float = 1.0, lam: float = 0.0, delta: float = 1.0, loss: str = "hinge", **common: Any
    ) -> None:
        super().__init__(loss, **common)
        self.eta, self.lam, self.delta = eta, lam, delta

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.G = np.zeros((n_heads, d))

    def step(self, z: Array) -> None:
        self.G += z**2
        H = self.delta + np.sqrt(self.G)
        self.w = soft(self.w - self.eta * z / H, self.eta * self.lam / H)


# Dual averaging: a sum of gradients takes the step, and the weights are a truncated image of it.


class RDA(GradientLearner):
    def __init__(
        self, gamma: float = 1.0, lam: float = 0.0, rho: float = 0.0, loss: str = "hinge", **common: Any
    ) -> None:
        super().__init__(loss, **common)
        self.gamma, self.lam, self.rho = gamma, lam, rho

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.u = np.zeros((n_heads, d))

    def step(self, z: Array) -> None:
        self.u += z
        beta = self.gamma * sqrt(self.t)
        self.w = -1 / beta * soft(self.u, self.t * self.lam + beta * self.rho)


class AdaRDA(GradientLearner):
    def __init__(
        self, eta: float = 1.0, lam: float = 0.0, delta: float = 1.0, loss: str = "hinge", **common: Any
    ) -> None:
        super().__init__(loss, **common)
        self.eta, self.lam, self.delta = eta, lam, delta

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.u, self.G = np.zeros((n_heads, d)), np.zeros((n_heads, d))

    def step(self, z: Array) -> None:
        self.u += z
        self.G += z**2
        H = self.delta + np.sqrt(self.G)
        self.w = -self.eta / H * soft(self.u, self.t * self.lam)


class FTRL(GradientLearner):
    def __init__(
        self,
        alpha: float = 0.1,
        beta: float = 1.0,
        l1: float = 1.0,
        l2: float = 1.0,
        loss: str = "log",
        **common: Any,
    ) -> None:
        super().__init__(loss, **common)
        self.alpha, self.beta, self.l1, self.l2 = alpha, beta, l1, l2

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.z, self.n = np.zeros((n_heads, d)), np.zeros((n_heads, d))

    def step(self, g: Array) -> None:
        sigma = (np.sqrt(self.n + g**2) - np.sqrt(self.n)) / self.alpha
        self.z += g - sigma * self.w
        self.n += g**2
        self.w = -soft(self.z, self.l1) / ((self.beta + np.sqrt(self.n)) / self.alpha + self.l2)


class SOL(GradientLearner):
    """The base of the paper's first-order and second-order learner: theta, and when lam applies."""

    def __init__(self, eta: float, lam: float, cost: Any, schedule: str, loss: str, **common: Any) -> None:
        super().__init__(loss, cost, **common)
        self.eta, self.lam, self.schedule = eta, lam, schedule

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.theta = np.zeros((n_heads, d))

    def scheduled(self, lam: float) -> float:
        """lam_t of round t, which after T rounds is that of round T + 1."""
        return {"constant": lam, "1/t": lam / self.t, "t": lam * self.t}[self.schedule]

    def step(self, z: Array) -> None:
        self.theta -= self.eta * z


class FSOL(SOL):  # algorithms 3 and 6
    def __init__(
        self,
        eta: float = 1.0,
        lam: float = 0.0,
        cost: Any = None,
        schedule: str = "constant",
        loss: str = "hinge",
        **common: Any,
    ) -> None:
        super().__init__(eta, lam, cost, schedule, loss, **common)

    def weights(self) -> Array:
        return soft(self.theta, self.scheduled(self.eta * self.lam))  # theorem 2 has lam_t = eta lam


class SSOL(SOL):  # algorithms 4, 5 and 7
    def __init__(
        self,
        eta: float = 1.0,
        lam: float = 0.0,
        r: float = 1.0,
        covariance: str = "diag",
        cost: Any = None,
        schedule: str = "1/t",
        loss: str = "hinge",
        **common: Any,
    ) -> None:
        super().__init__(eta, lam, cost, schedule, loss, **common)
        self.r, self.covariance = r, covariance

    def receive(self, x: Array, s: float) -> None:
        """S, the paper's A^-1, absorbs x before the prediction, whether or not it is then learned from."""
        for head in range(len(self.S)):
            self.shrink(x, head, 1 / (self.r / s + self.variance(x, {head: 1})))

    def weights(self) -> Array:
        u = np.stack([self.Sx(head, theta) for head, theta in enumerate(self.theta)])
        return soft(u, self.scheduled(self.lam))  # theorem 3 has lam_t = lam / t


# Cost-sensitive rules that are no gradient steps.


class CPA(CostSensitiveLearner):
    def __init__(self, C: float = 1.0, cost: Any = None, **common: Any) -> None:
        super().__init__(cost, **common)
        self.C = C

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        c, m, x2 = self.label_cost(heads), self.margin(x, heads), self.variance(x, heads)
        if m > 0 or x2 == 0:
            return False
        for head, sign in heads.items():
            self.w[head] += min(s * self.C, (sqrt(c) - m) / x2) * sign * x
        return True


class PAUM(Learner):
    def __init__(self, eta: float = 1.0, margin_pos: float = 1.0, margin_neg: float = 1.0, **common: Any) -> None:
        super().__init__(**common)
        self.eta, self.margin_y = eta, {1: margin_pos, -1: margin_neg}

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        y = next(iter(heads.values()))
        if self.margin(x, heads) > self.margin_y[y] or not x.any():
            return False
        for head, sign in heads.items():
            self.w[head] += s * self.eta * sign * x
        return True

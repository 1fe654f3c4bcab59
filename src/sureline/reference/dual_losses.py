"""The parts of dual coordinate ascent: six losses and three regularisers, each with its conjugate.

Ying, Yuan & Sayed, "Online dual coordinate ascent learning", EUSIPCO 2016, eqs (10) and (11) and table I.

Every loss Q(z; gamma) of a score z is one function g of a residual r, which is 1 - gamma z for a label gamma of -1 or
+1, and gamma - z for a target gamma of regression. With sigma = gamma for a label and sigma = 1 for a target

    Q*(u; gamma) = sup_z u z - Q(z; gamma) = gamma u + g*(-sigma u),

so g* is all that has to be written down.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from .stream import Array


class Loss(ABC):
    """g(r), its subgradients, and g*(b) = sup_r b r - g(r), which is +inf outside of low <= b <= high."""

    low, high = -inf, inf

    def __init__(self, regression: bool = False) -> None:
        self.regression = regression

    @abstractmethod
    def g(self, r: float) -> float: ...

    @abstractmethod
    def dg(self, r: float) -> tuple[float, float]:
        """The least and the greatest subgradient of g at r."""

    @abstractmethod
    def g_star(self, b: float) -> float:
        """The conjugate g*, for low <= b <= high."""

    @abstractmethod
    def dg_star(self, b: float) -> float:
        """The slope of g*: its limit from inside at the ends."""

    def sigma(self, gamma: float) -> float:
        return 1.0 if self.regression else gamma

    def residual(self, z: float, gamma: float) -> float:
        return gamma - z if self.regression else 1 - gamma * z

    def Q(self, z: float, gamma: float) -> float:
        return self.g(self.residual(z, gamma))

    def dQ(self, z: float, gamma: float) -> tuple[float, float]:
        """The least and the greatest subgradient of Q by z."""
        one, other = (-self.sigma(gamma) * slope for slope in self.dg(self.residual(z, gamma)))
        return min(one, other), max(one, other)

    def Q_star(self, u: float, gamma: float) -> float:
        b = -self.sigma(gamma) * u
        return gamma * u + self.g_star(b) if self.low <= b <= self.high else inf

    def dQ_star(self, u: float, gamma: float) -> float:
        """The slope of Q*, where it is finite."""
        return gamma - self.sigma(gamma) * self.dg_star(-self.sigma(gamma) * u)

    def domain(self, gamma: float) -> tuple[float, float]:
        """The least and the greatest u for which Q*(u; gamma) is finite."""
        one, other = (-self.sigma(gamma) * b for b in (self.low, self.high))
        return min(one, other), max(one, other)


class Hinge(Loss):
    low, high = 0.0, 1.0

    def g(self, r: float) -> float:
        return max(0.0, r)

    def dg(self, r: float) -> tuple[float, float]:
        return float(r > 0), float(r >= 0)

    def g_star(self, b: float) -> float:
        return 0.0

    def dg_star(self, b: float) -> float:
        return 0.0


class SquaredHinge(Loss):
    low = 0.0

    def g(self, r: float) -> float:
        return max(0.0, r) ** 2

    def dg(self, r: float) -> tuple[float, float]:
        return (2 * max(0.0, r),) * 2

    def g_star(self, b: float) -> float:
        return b * b / 4

    def dg_star(self, b: float) -> float:
        return b / 2


class Log(Loss):
    """log(1 + exp(-m)) at the margin m = 1 - r."""

    low, high = 0.0, 1.0

    def g(self, r: float) -> float:
        return float(np.logaddexp(0, r - 1))

    def dg(self, r: float) -> tuple[float, float]:
        return (float(expit(r - 1)),) * 2

    def g_star(self, b: float) -> float:
        return float(b + xlogy(b, b) + xlog1py(1 - b, -b))

    def dg_star(self, b: float) -> float:
        return float(1 + logit(b))


class Squared(Loss):
    def g(self, r: float) -> float:
        return r * r / 2

    def dg(self, r: float) -> tuple[float, float]:
        return r, r

    def g_star(self, b: float) -> float:
        return b * b / 2

    def dg_star(self, b: float) -> float:
        return b


class Absolute(Loss):
    low, high = -1.0, 1.0

    def g(self, r: float) -> float:
        return abs(r)

    def dg(self, r: float) -> tuple[float, float]:
        return (1.0 if r > 0 else -1.0), (1.0 if r >= 0 else -1.0)

    def g_star(self, b: float) -> float:
        return 0.0

    def dg_star(self, b: float) -> float:
        return 0.0


class Huber(Loss):
    """r^2 / 2 as far as |r| <= epsilon, and the tangent beyond."""

    def __init__(self, regression: bool = False, epsilon: float = 1.0) -> None:
        super().__init__(regression)
        self.epsilon, self.low, self.high = epsilon, -epsilon, epsilon

    def g(self, r: float) -> float:
        return r * r / 2 if abs(r) <= self.epsilon else self.epsilon * abs(r) - self.epsilon**2 / 2

    def dg(self, r: float) -> tuple[float, float]:
        return (min(max(r, -self.epsilon), self.epsilon),) * 2

    def g_star(self, b: float) -> float:
        return b * b / 2

    def dg_star(self, b: float) -> float:
        return b


_LOSSES: dict[str, Callable[[bool], Loss]] = {
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "log": Log,
    "squared": Squared,
    "absolute": Absolute,
}


def make_loss(name: str, regression: bool = False, epsilon: float | None = None) -> Loss:
    if name == "huber":
        return Huber(regression, 1.0 if epsilon is None else epsilon)
    return _LOSSES[name](regression)


class Regularizer(NamedTuple):
    """R(w) of table I by its name, for weights with a row for each head, whose first column is the intercept.

    R is the sum over the heads. The intercept of a head has the regulariser b^2 / 2 in all cases; it is not on the
    simplex of "kl".
    """

    name: str = "l2"  # or "elastic_net", or "kl"
    delta: float = 0.0  # of "elastic_net"

    def R(self, w: Array) -> float:
        b, v = w[:, 0], w[:, 1:]
        if self.name == "kl":
            on_simplex = np.all(v >= 0) and np.allclose(v.sum(axis=1), 1, rtol=0, atol=1e-9)
            entropy = float(np.sum(v * np.log(np.where(v > 0, v, 1)))) if on_simplex else inf
            return float(b @ b) / 2 + entropy
        l1 = self.delta * float(np.abs(v).sum()) if self.name == "elastic_net" else 0.0
        return l1 + float(np.sum(w**2)) / 2

    def R_star(self, x: Array) -> float:
        b, v = x[:, 0], x[:, 1:]
        if self.name == "kl":
            top = v.max(axis=1, keepdims=True)
            return float(b @ b) / 2 + float(np.sum(top[:, 0] + np.log(np.exp(v - top).sum(axis=1))))
        return float(np.sum(self.grad_R_star(x) ** 2)) / 2

    def grad_R_star(self, x: Array) -> Array:
        """The weights w of x = w', eq. (15)."""
        w = x.copy()
        v = w[:, 1:]
        if self.name == "kl":
            e = np.exp(v - v.max(axis=1, keepdims=True))
            v[:] = e / e.sum(axis=1, keepdims=True)
        elif self.name == "elastic_net":
            v[:] = np.sign(v) * np.maximum(np.abs(v) - self.delta, 0)
        return w


def make_regularizer(name: str, delta: float | None = None) -> Regularizer:
    return Regularizer(name, 0.001 if delta is None else delta)

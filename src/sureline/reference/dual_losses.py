"""The parts of dual coordinate ascent: six losses and three regularisers, each with its conjugate.

Ying, Yuan & Sayed, "Online dual coordinate ascent learning", EUSIPCO 2016, eqs (10) and (11) and table I.

Every loss Q(z; gamma) of a score z is one function g of a residual r, which is 1 - gamma z for a label gamma of -1 or
+1, and gamma - z for a target gamma of regression. With sigma = gamma for a label and sigma = 1 for a target

    Q*(u; gamma) = sup_z u z - Q(z; gamma) = gamma u + g*(-sigma u),

so g* suffices.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit, xlog1py, xlogy

from .stream import Array

Function = Callable[[float], float]


class Loss(NamedTuple):
    """g(r), its subgradients, and g*(b) = sup_r b r - g(r), which is +inf outside of low <= b <= high."""

    name: str
    g: Function
    dg: Callable[[float], tuple[float, float]]  # the least and the greatest subgradient
    g_star: Function  # for low <= b <= high
    dg_star: Function  # the slope of g*: its limit from inside at the ends
    low: float = -inf
    high: float = inf
    regression: bool = False

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


def _smooth(
    name: str, g: Function, dg: Function, g_star: Function, dg_star: Function, low: float = -inf, high: float = inf
) -> Loss:
    """A loss with one slope everywhere."""
    return Loss(name, g, lambda r: (dg(r), dg(r)), g_star, dg_star, low, high)


def _zero(b: float) -> float:
    return 0.0


def _sign(r: float, at_zero: float) -> float:
    return float(np.sign(r)) or at_zero


def make_loss(name: str, regression: bool = False, epsilon: float | None = None) -> Loss:
    """The loss of that name; epsilon, 1 if None, is where Huber's turns from r^2 / 2 into its tangent."""
    e = 1.0 if epsilon is None else epsilon
    losses = (
        Loss("hinge", lambda r: max(0.0, r), lambda r: (float(r > 0), float(r >= 0)), _zero, _zero, 0.0, 1.0),
        _smooth(
            "squared_hinge",
            lambda r: max(0.0, r) ** 2,
            lambda r: 2 * max(0.0, r),
            lambda b: b * b / 4,
            lambda b: b / 2,
            0.0,
        ),
        _smooth(
            "log",  # log(1 + exp(-m)) at the margin m = 1 - r
            lambda r: float(np.logaddexp(0, r - 1)),
            lambda r: float(expit(r - 1)),
            lambda b: float(b + xlogy(b, b) + xlog1py(1 - b, -b)),
            lambda b: float(1 + logit(b)),
            0.0,
            1.0,
        ),
        _smooth("squared", lambda r: r * r / 2, lambda r: r, lambda b: b * b / 2, lambda b: b),
        Loss("absolute", abs, lambda r: (_sign(r, -1.0), _sign(r, 1.0)), _zero, _zero, -1.0, 1.0),
        _smooth(
            "huber",
            lambda r: r * r / 2 if abs(r) <= e else e * abs(r) - e**2 / 2,
            lambda r: min(max(r, -e), e),
            lambda b: b * b / 2,
            lambda b: b,
            -e,
            e,
        ),
    )
    return next(loss for loss in losses if loss.name == name)._replace(regression=regression)


class Regularizer(NamedTuple):
    """R(w) of table I by its name, for weights with a row per head and the intercept as first column.

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

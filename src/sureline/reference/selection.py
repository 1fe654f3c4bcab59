"""Selectors of features that go over the same rows again and again, in plain NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .sparse_learners import soft
from .stream import Array


class SparseDCA:
    """Prox-SDCA for two classes: Shalev-Shwartz & Zhang, "Proximal stochastic dual coordinate ascent", 2012.

    P(w) = 1/n sum_i s_i loss(y_i w.x_i) + lam |w|_1 + sigma/2 |w|^2, where lam leaves the intercept alone, and
    D(alpha) = 1/n sum_i (alpha_i - c_i(alpha_i)) - 1/(2 sigma) |soft(z, lam)|^2 with z = 1/n sum_i alpha_i y_i x_i;
    c_i is 0 for the hinge, which needs alpha_i <= s_i, and alpha_i^2 / (4 s_i) for the squared hinge.
    """

    def __init__(self, lam: float, loss: str = "hinge", sigma: float = 1e-3, fit_intercept: bool = True) -> None:
        self.lam, self.loss, self.sigma, self.fit_intercept = lam, loss, sigma, fit_intercept

    def run(self, X: Any, y: Any, orders: Iterable[Any], sample_weight: Any = None) -> SparseDCA:
        """Rows of X, in each of the orders one after the other; y is 0 or 1."""
        X = np.column_stack([np.full(len(X), float(self.fit_intercept)), X])
        s = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        self.X, self.s, self.n, self.y = X, s, s.sum(), np.where(np.asarray(y) == 1, 1.0, -1.0)
        self.alpha = np.zeros(len(X))
        for order in orders:
            for i in order:
                if s[i] > 0:
                    self.alpha[i] = self.step(i)
        return self

    def step(self, i: int) -> float:
        """alpha_i that maximises the lower bound of D by the sigma-strong convexity of the penalty."""
        x, y, s, n, alpha = self.X[i], self.y[i], self.s[i], self.n, self.alpha[i]
        xi, curvature = 1 - y * (self.w @ x), x @ x / (self.sigma * n)
        if self.loss == "squared_hinge":
            return max(0.0, float(alpha + (xi - alpha / (2 * s)) / (curvature + 1 / (2 * s))))
        if curvature == 0:
            return float(s) if xi > 0 else 0.0
        return min(max(0.0, float(alpha + xi / curvature)), float(s))

    @property
    def w(self) -> Array:
        z = (self.alpha * self.y) @ self.X / self.n
        weights: Array = soft(z[np.newaxis], self.lam)[0] / self.sigma
        return weights

    @property
    def coef_(self) -> Array:
        return self.w[np.newaxis, 1:]

    @property
    def intercept_(self) -> Array:
        return self.w[:1]

    @property
    def primal(self) -> float:
        """P(w)."""
        xi = np.maximum(0, 1 - self.y * (self.X @ self.w))
        losses = xi**2 if self.loss == "squared_hinge" else xi
        return float(self.s @ losses / self.n + self.lam * np.abs(self.w[1:]).sum() + self.sigma / 2 * self.w @ self.w)

    @property
    def dual(self) -> float:
        """D(alpha)."""
        here, alpha = self.s > 0, self.alpha
        c = alpha[here] ** 2 / (4 * self.s[here]) if self.loss == "squared_hinge" else 0.0
        return float((alpha[here] - c).sum() / self.n - self.sigma / 2 * self.w @ self.w)

    @property
    def dual_gap(self) -> float:
        return self.primal - self.dual

"""Dual coordinate ascent over rows that are all there, in plain NumPy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from .dual_losses import make_loss, make_regularizer
from .online_dual import best_lambda
from .stream import Array


class SDCA:
    """For two classes: Shalev-Shwartz & Zhang, "Stochastic dual coordinate ascent methods ...", JMLR 2013.

    P(w) = 1/n sum_i s_i Q(w.x_i; y_i) + rho R(w) with n = sum_i s_i, eq. (3) of the O-DCA paper, and
    D(lambda) = -1/n sum_i s_i Q*(-lambda_i; y_i) - rho R*(w') with w' = 1/(rho n) sum_i s_i lambda_i x_i.
    A step moves lambda_i to the maximum of D, all others held.
    """

    def __init__(
        self,
        rho: float = 1e-4,
        loss: str = "hinge",
        regularizer: str = "l2",
        delta: float | None = None,
        epsilon: float | None = None,
        fit_intercept: bool = True,
    ) -> None:
        self.rho, self.fit_intercept = rho, fit_intercept
        self.loss, self.regularizer = make_loss(loss, False, epsilon), make_regularizer(regularizer, delta)

    def run(self, X: Any, y: Any, orders: Iterable[Any], sample_weight: Any = None) -> Self:
        """Rows of X, in each of the orders one after the other; y is 0 or 1. Sets dual_gaps_, one for each order."""
        self.X = np.column_stack([np.full(len(X), float(self.fit_intercept)), np.asarray(X, float)])
        self.s = np.ones(len(self.X)) if sample_weight is None else np.asarray(sample_weight, float)
        self.n, self.y = float(self.s.sum()), np.where(np.asarray(y) == 1, 1.0, -1.0)
        self.lam = np.zeros(len(self.X))
        self.dual_gaps_: list[float] = []
        for order in orders:
            for i in order:
                if self.s[i] > 0:
                    self.step(i)
            self.dual_gaps_.append(self.dual_gap)
        return self

    def step(self, i: int) -> None:
        self.lam[i] = 0
        x, step = self.X[i : i + 1], float(self.s[i] / (self.rho * self.n))
        self.lam[i] = best_lambda(self.loss, self.regularizer, self.w_prime, x, float(self.y[i]), step)

    @property
    def w_prime(self) -> Array:
        total: Array = (self.s * self.lam) @ self.X
        return total[np.newaxis] / (self.rho * self.n)

    @property
    def w(self) -> Array:
        return self.regularizer.grad_R_star(self.w_prime)

    @property
    def coef_(self) -> Array:
        return self.w[:, 1:]

    @property
    def intercept_(self) -> Array:
        return self.w[:, 0]

    @property
    def primal(self) -> float:
        """P(w)."""
        losses = [self.loss.Q(float(z), float(y)) for z, y in zip(self.X @ self.w[0], self.y, strict=True)]
        return float(self.s @ losses) / self.n + self.rho * self.regularizer.R(self.w)

    @property
    def dual(self) -> float:
        """D(lambda)."""
        conjugates = [self.loss.Q_star(-float(lam), float(y)) for lam, y in zip(self.lam, self.y, strict=True)]
        return -float(self.s @ conjugates) / self.n - self.rho * self.regularizer.R_star(self.w_prime)

    @property
    def dual_gap(self) -> float:
        return self.primal - self.dual


class SparseDCA(SDCA):
    """Prox-SDCA for two classes: Shalev-Shwartz & Zhang, "Proximal stochastic dual coordinate ascent", 2012.

    The same problem with the penalty lam |w|_1 + sigma/2 |w|^2, which is sigma R for the elastic net of lam / sigma.
    """

    def __init__(self, lam: float, loss: str = "hinge", sigma: float = 1e-3, fit_intercept: bool = True) -> None:
        super().__init__(sigma, loss, "elastic_net", lam / sigma, fit_intercept=fit_intercept)

    def step(self, i: int) -> None:
        """alpha_i = s_i y_i lambda_i maximises the lower bound of D by the sigma-strong convexity of the penalty."""
        x, y, s = self.X[i], self.y[i], self.s[i]
        alpha, xi, curvature = s * y * self.lam[i], 1 - y * (self.w[0] @ x), x @ x / (self.rho * self.n)
        if self.loss.name == "squared_hinge":
            alpha = max(0.0, alpha + (xi - alpha / (2 * s)) / (curvature + 1 / (2 * s)))
        elif curvature == 0:
            alpha = s if xi > 0 else 0.0
        else:
            alpha = min(max(0.0, alpha + xi / curvature), s)
        self.lam[i] = alpha * y / s

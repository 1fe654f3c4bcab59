"""AROW for regression."""

from __future__ import annotations

from typing import Any, Self

import numpy as np


class AROWRegressor:
    """Vaits & Crammer, ALT 2011, with S diagonal or full. Sets w, S and the sum of the squared residuals."""

    def __init__(self, *, r: float = 1.0, covariance: str = "full", fit_intercept: bool = True) -> None:
        self.r, self.full, self.fit_intercept = r, covariance == "full", fit_intercept

    def run(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X in their order."""
        X, y = np.asarray(X, float), np.asarray(y, float)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        X = np.column_stack([np.full(len(X), float(self.fit_intercept)), X])
        self.w, self.S, self.squares, self.n = np.zeros(X.shape[1]), np.eye(X.shape[1]), 0.0, 0
        scores = []
        for x, target, s in zip(X, y, weights, strict=True):
            if s == 0:
                continue
            Sx = self.S @ x
            r, v, e = self.r / s, x @ Sx, target - self.w @ x
            scores.append(target - e)
            self.w = self.w + e * Sx / (r + v)
            self.squares += self.r * e**2 / (r + v)
            self.n += 1
            S = self.S - np.outer(Sx, Sx) / (r + v)
            self.S = S if self.full else np.diag(np.diag(S))
        self.coef_, self.intercept_, self.scores_ = self.w[1:], self.w[0], np.array(scores)
        return self

"""Online-batch confidence-weighted learning, line by line as in the paper: Tan et al., AAAI 2016, Algorithm 1."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .stream import Array, problems


class BCW:
    """For each batch Sigma by the first line of eq. 6 and its symmetric square root Y by an eigen-decomposition; then
    the rows x^ = Y x one by one.

    With more than two classes there is a w for each, and the problem of a row is that of its class and of the best
    rival, or (multi_class="ovr") one for each class against the rest. All share Sigma, which comes from the rows alone.
    """

    def __init__(self, C: float = 1.0, q: int = 1, *, fit_intercept: bool = True, multi_class: str = "native") -> None:
        self.C, self.q = C, q
        self.fit_intercept = fit_intercept
        self.multi_class = multi_class

    def run(self, batches: Any, classes: Any) -> Self:
        """Learn from batches (X, y) or (X, y, sample_weight). Sets coef_, intercept_, covariance_ and the counters."""
        self.classes_ = np.asarray(classes)
        n_heads = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.n_seen_ = self.n_mistakes_ = self.n_updates_ = 0
        for h, (X, y, *weights) in enumerate(batches):
            X = np.asarray(X, float)
            X = np.column_stack([np.full(len(X), float(self.fit_intercept)), X])
            if h == 0:
                self.mu, self.precision = np.zeros((n_heads, X.shape[1])), np.eye(X.shape[1])
            self.batch(X, np.asarray(y), self.C * (weights[0] if weights else np.ones(len(X))))
        self.coef_, self.intercept_ = self.mu[:, 1:], self.mu[:, 0]
        self.covariance_, self.intercept_variance_ = self.Sigma[1:, 1:], self.Sigma[0, 0]
        return self

    def batch(self, X: Array, y: Any, C: Array) -> None:
        self.precision = self.precision + X.T @ (C[:, np.newaxis] * X)
        eigenvalues, U = np.linalg.eigh(self.precision)
        Y, Y_inverse = (U / np.sqrt(eigenvalues)) @ U.T, (U * np.sqrt(eigenvalues)) @ U.T
        X_hat = X @ Y
        w = self.mu @ Y_inverse
        for x, label, C_i in zip(X_hat, np.searchsorted(self.classes_, y), C, strict=True):
            if C_i == 0:
                continue
            f = w @ x
            predicted = int(f[0] > 0) if len(self.classes_) == 2 else int(np.argmax(f))
            self.n_seen_ += 1
            self.n_mistakes_ += int(predicted != label)
            moves = [self.turn(w, x, heads, C_i) for heads in problems(f, int(label), self.multi_class)]
            self.n_updates_ += int(any(moves))
        self.mu, self.Sigma = w @ Y, (U / eigenvalues) @ U.T

    def turn(self, w: Array, x: Array, heads: dict[int, int], C: float) -> bool:
        xi = 1 - sum(sign * (w[head] @ x) for head, sign in heads.items())
        square = len(heads) * (x @ x)
        if xi <= 0 or square == 0:
            return False
        alpha = min(xi / square, C) if self.q == 1 else xi / (square + 0.5 / C)
        for head, sign in heads.items():
            w[head] += alpha * sign * x
        return True

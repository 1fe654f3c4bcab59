"""Lemma 1 of Wang, Zhao & Hoi, ICML 2012, line by line: mean and covariance as combinations of the examples seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .learners import SCW
from .stream import Array, problems


class KernelSCW:
    """For each head mu = sum nu_p x_p and Sigma = a I + sum pi_pq x_p x_q' with a = 1.

    Corrected: the lemma is printed with nu = 1 for the new example before its step (it is 0), without the factor a in
    the new row of pi, and with x_r'x_s for x_r'x_i x_i'x_s.
    """

    def __init__(
        self,
        variant: str = "I",
        C: float = 1.0,
        eta: float = 0.75,
        kernel: str | Callable[[Any, Any], Any] = "rbf",
        gamma: float = 1.0,
        degree: int = 3,
        coef0: float = 1.0,
        *,
        fit_intercept: bool = True,
        multi_class: str = "native",
    ) -> None:
        self.rule = SCW(variant, C, eta)
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.fit_intercept, self.multi_class = fit_intercept, multi_class

    def k(self, A: Array, B: Array) -> Array:
        if len(A) == 0:
            return np.zeros((0, len(B)))
        if callable(self.kernel):
            K = np.asarray(self.kernel(A, B), float)
        elif self.kernel == "linear":
            K = A @ B.T
        elif self.kernel == "rbf":
            K = np.exp(-self.gamma * ((A[:, np.newaxis] - B) ** 2).sum(axis=2))
        else:
            K = (self.gamma * A @ B.T + self.coef0) ** self.degree
        return K + float(self.fit_intercept)

    def run(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from the rows of X in their order. Sets examples_, nu_, pi_, born_ (their rows) and the counters."""
        X, y = np.asarray(X, float), np.asarray(y)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        self.classes_ = np.unique(y)
        n_heads = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.examples_ = np.empty((0, X.shape[1]))
        self.born_: list[int] = []
        self.nu_, self.pi_ = np.zeros((n_heads, 0)), np.zeros((n_heads, 0, 0))
        self.n_seen_ = self.n_mistakes_ = self.n_updates_ = 0
        for t, (x, label, s) in enumerate(zip(X, np.searchsorted(self.classes_, y), weights, strict=True)):
            if s == 0:
                continue
            k = self.k(self.examples_, x[np.newaxis])[:, 0]
            f = self.nu_ @ k
            predicted = int(f[0] > 0) if n_heads == 1 else int(np.argmax(f))
            self.n_seen_ += 1
            self.n_mistakes_ += int(predicted != label)
            moved = [self.turn(x, k, heads, s) for heads in problems(f, int(label), self.multi_class)]
            self.n_updates_ += int(any(moved))
            if any(moved):
                self.born_.append(t)
        return self

    def turn(self, x: Array, k: Array, heads: dict[int, int], s: float) -> bool:
        g = {head: self.pi_[head][: len(k), : len(k)] @ k for head in heads}
        kappa = float(self.k(x[np.newaxis], x[np.newaxis])[0, 0])
        m = float(sum(sign * (self.nu_[head][: len(k)] @ k) for head, sign in heads.items()))
        v = float(sum(kappa + k @ g[head] for head in heads))
        if v <= 0:
            return False
        alpha, beta = self.rule.coefficients(m, v, s)
        if alpha == 0 and beta == 0:
            return False
        if len(self.examples_) == len(k):  # for "ovr" the first head that moves brings the example in
            self.examples_ = np.vstack([self.examples_, x])
            self.nu_ = np.pad(self.nu_, ((0, 0), (0, 1)))
            self.pi_ = np.pad(self.pi_, ((0, 0), (0, 1), (0, 1)))
        for head, sign in heads.items():
            Sx = np.append(g[head], 1.0)  # the coefficients of Sigma x, that of x itself being a = 1
            self.nu_[head] += alpha * sign * Sx
            self.pi_[head] -= beta * np.outer(Sx, Sx)
        return True

    def scores(self, X: Any) -> Array:
        scores: Array = self.k(np.asarray(X, float), self.examples_) @ self.nu_.T
        return scores

    def variances(self, X: Any) -> Array:
        X = np.asarray(X, float)
        K = self.k(X, self.examples_)
        kappa = np.array([self.k(x[np.newaxis], x[np.newaxis])[0, 0] for x in X])
        v: Array = kappa[:, np.newaxis] + np.einsum("ip,hpq,iq->ih", K, self.pi_, K)
        return v

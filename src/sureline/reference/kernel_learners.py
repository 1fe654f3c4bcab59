"""Lemma 1 of Wang, Zhao & Hoi, ICML 2012, line by line: mean and covariance as combinations of the examples seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .learners import SCW
from .stream import Array

DEPENDENT = 1e-10  # of k(x, x): what is left of a row that is taken for a combination of the others


class KernelSCW:
    """For each head mu = sum nu_p x_p and Sigma = a I + sum pi_pq x_p x_q' with a = 1.

    Corrected: the lemma is printed with nu = 1 for the new example before its step (it is 0), without the factor a in
    the new row of pi, and with x_r'x_s for x_r'x_i x_i'x_s.

    With a budget the example with the smallest (sum of nu_p^2 - pi_pp over the heads) / (K^-1)_pp goes when there is
    one too many, and x_p becomes its projection on the others. What depends on the others is projected at once.
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
        budget: int | None = None,
        *,
        fit_intercept: bool = True,
        multi_class: str = "native",
    ) -> None:
        self.rule = SCW(variant, C, eta)
        self.kernel, self.gamma, self.degree, self.coef0 = kernel, gamma, degree, coef0
        self.budget, self.fit_intercept, self.multi_class = budget, fit_intercept, multi_class

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
            moved = [self.turn(x, k, heads, s) for heads in self.problems(f, int(label))]
            self.n_updates_ += int(any(moved))
            if any(moved):
                self.born_.append(t)
                self.keep_to_the_budget()
        return self

    def problems(self, f: Array, label: int) -> list[dict[int, int]]:
        """Heads with their signs."""
        if len(self.classes_) == 2:
            return [{0: 1 if label == 1 else -1}]
        if self.multi_class == "ovr":
            return [{head: 1 if head == label else -1} for head in range(len(f))]
        others = f.copy()
        others[label] = -np.inf
        return [{label: 1, int(np.argmax(others)): -1}]

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

    def keep_to_the_budget(self) -> None:
        if self.budget is None:
            return
        others, K = self.examples_[:-1], self.k(self.examples_, self.examples_)
        left = 1.0
        b: Any = None
        if len(others):
            b = np.linalg.lstsq(K[:-1, :-1], K[:-1, -1], rcond=None)[0]
            left = (K[-1, -1] - K[-1, :-1] @ b) / K[-1, -1]
        if left <= DEPENDENT:
            self.project(len(others), b)
        elif len(self.examples_) > self.budget:
            Q = np.linalg.inv(K)
            matters = (np.sum(self.nu_**2, axis=0) - np.einsum("hpp->p", self.pi_)) / Q.diagonal()
            p = int(np.argmin(matters))
            b = -np.delete(Q[p], p) / Q[p, p]
            self.project(p, b)

    def project(self, p: int, b: Array) -> None:
        """Put sum b_q x_q in the place of x_p."""
        A = np.insert(np.eye(len(b)), p, b, axis=0)
        self.nu_, self.pi_ = self.nu_ @ A, A.T @ self.pi_ @ A
        self.examples_ = np.delete(self.examples_, p, axis=0)
        del self.born_[p]

    def scores(self, X: Any) -> Array:
        scores: Array = self.k(np.asarray(X, float), self.examples_) @ self.nu_.T
        return scores

    def variances(self, X: Any) -> Array:
        X = np.asarray(X, float)
        K = self.k(X, self.examples_)
        kappa = np.array([self.k(x[np.newaxis], x[np.newaxis])[0, 0] for x in X])
        v: Array = kappa[:, np.newaxis] + np.einsum("ip,hpq,iq->ih", K, self.pi_, K)
        return v

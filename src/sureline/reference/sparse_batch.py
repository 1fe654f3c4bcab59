"""Learning in groups of features, line by line as in the paper: Tan et al., AAAI 2016, Algorithms 2 and 3.

C_i is C times the weight of row i; rows of weight 0 are left out. Sigma_k is the covariance of group k and Upsilon_k
its symmetric square root, x^_k = Upsilon_k x_k and w_k = Upsilon_k^-1 mu_k.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any, Self

import numpy as np

from .stream import Array


def grad_Omega_star(z: list[Array], sigma: float) -> list[Array]:
    """argmax_w  w.z - sigma/2 |w|^2 - 1/2 (sum_k |w_k|)^2  for z in groups.

    Each w_k points where z_k does, with |w_k| = t_k. By t: a_k - sigma t_k - s = 0 where t_k > 0, and <= 0 elsewhere,
    for a_k = |z_k| and s = sum_k t_k. The p largest a_k are the ones with t_k > 0.
    """
    a = [float(np.linalg.norm(z_k)) for z_k in z]
    s, total = 0.0, 0.0
    for p, a_p in enumerate(sorted(a, reverse=True), start=1):
        total += a_p
        if a_p > total / (sigma + p):
            s = total / (sigma + p)
    return [
        z_k / a_k * max(0.0, a_k - s) / sigma if a_k > 0 else np.zeros_like(z_k) for z_k, a_k in zip(z, a, strict=True)
    ]


def symmetric_root(P: Array) -> Array:
    """Upsilon with Upsilon^2 = P^-1."""
    eigenvalues, V = np.linalg.eigh(P)
    root: Array = V @ np.diag(eigenvalues**-0.5) @ V.T
    return root


class SBCW:
    """Algorithms 2 and 3, with the intercept as a term 1/2 w_b^2 outside the groups.

    C2 is the C of eq. 5, for the covariance; the paper has the C of the loss there. With one inner pass the steps are
    those of Algorithm 3, with more each goes to the maximum of the dual along its row; so do those of the final passes,
    which solve the last subproblem once more.
    """

    covariance = True

    def __init__(
        self,
        C: float = 1.0,
        q: int = 1,
        n_features: int | None = None,
        r: int | None = None,
        max_iter: int | None = None,
        *,
        tol: float = 0.0,
        sigma: float = 1.0,
        C2: float | None = None,
        pick: str = "score",
        pool: int | None = None,
        inner_passes: int = 1,
        final_passes: int = 0,
        inner_tol: float = 1e-3,
        fit_intercept: bool = True,
    ) -> None:
        self.C, self.q, self.tol, self.sigma, self.pick = C, q, tol, sigma, pick
        self.C2 = C if C2 is None else C2
        self.n_features = n_features
        self.r = r or (10 if n_features is None else ceil(n_features / (max_iter or 15)))
        self.max_iter = max_iter or (15 if n_features is None else n_features)
        self.pool = pool or 10 * self.r
        self.inner_passes, self.inner_tol, self.fit_intercept = inner_passes, inner_tol, fit_intercept
        self.exact, self.final_passes = inner_passes > 1, final_passes

    def run(self, batches: Any, classes: Any) -> Self:
        """Learn from batches (X, y) or (X, y, sample_weight).

        Sets groups_, block_covariance_, coef_, intercept_, intercept_variance_ and the counters; theta_, n_iter_ and
        stopped_by_ are those of the last batch.
        """
        self.classes_ = np.asarray(classes)
        self.n_heads = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.groups_: list[Array] = []
        self.P: list[Array] = []
        self.P_b = 1.0
        self.z: list[list[Array]] = [[] for _ in range(self.n_heads)]  # sum_i C_i alpha_i y_i x_i of each group
        self.z_b = np.zeros(self.n_heads)
        self.past = np.zeros(self.n_heads)  # contributions of the alphas of earlier batches to theta
        self.reached: list[tuple[list[Array], float]] = []  # z and z_b with the alphas of the batch
        self.n_seen_ = self.n_mistakes_ = self.n_updates_ = 0
        for X, y, *weights in batches:
            self.batch(X, y, weights[0] if weights else None)
        return self

    def batch(self, X: Any, y: Any, sample_weight: Any) -> None:
        s = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, float)
        self.d = np.shape(X)[1]
        self.X, self.C_i, self.C2_i = np.asarray(X, float)[s > 0], self.C * s[s > 0], self.C2 * s[s > 0]
        label = np.searchsorted(self.classes_, np.asarray(y)[s > 0])
        heads = [1] if self.n_heads == 1 else range(self.n_heads)
        self.Y = np.array([np.where(label == k, 1.0, -1.0) for k in heads])
        self.theta_: list[float] = []
        self.first_scores, self.moved = np.zeros_like(self.Y), np.zeros(self.Y.shape, bool)
        if self.fit_intercept and self.covariance:
            self.P_b += self.C2_i.sum()
        self.P = [P + self.gram(group) for P, group in zip(self.P, self.groups_, strict=True)]
        if self.groups_:
            self.solve()
            weights = self.weights()
            keep = [k for k in range(len(self.groups_)) if any(w[0][k].any() for w in weights)]
            self.groups_, self.P = [self.groups_[k] for k in keep], [self.P[k] for k in keep]
            self.z = [[z[k] for k in keep] for z in self.z]
            self.reached = [([z[k] for k in keep], z_b) for z, z_b in self.reached]
        else:
            self.alpha = self.first_alpha()
        self.stopped_by_ = self.cut_planes()
        if not self.theta_:  # no feature is worth a group, and there were none before
            self.solve()
        self.n_iter_ = len(self.theta_)
        predicted = self.first_scores.argmax(axis=0) if self.n_heads > 1 else (self.first_scores[0] > 0).astype(int)
        self.n_seen_ += len(label)
        self.n_mistakes_ += int(np.sum(predicted != label))
        self.n_updates_ += int(self.moved.any(axis=0).sum())
        if self.final_passes:
            before = self.inner_passes, self.exact
            self.inner_passes, self.exact = self.final_passes, True
            self.solve()
            self.theta_.pop()
            self.inner_passes, self.exact = before
        for head, (z, z_b) in enumerate(self.reached):
            self.z[head], self.z_b[head] = z, z_b
        self.past += (self.alpha - (self.q - 1) * self.alpha**2 / 4) @ self.C_i

        self.block_covariance_ = [np.linalg.inv(P) for P in self.P]
        self.coef_, self.intercept_ = np.zeros((self.n_heads, self.d)), np.zeros(self.n_heads)
        for head, (w, w_b) in enumerate(self.weights()):
            for group, Upsilon, w_k in zip(self.groups_, self.Upsilon, w, strict=True):
                self.coef_[head, group] = Upsilon @ w_k
            self.intercept_[head] = w_b / np.sqrt(self.P_b)
        self.intercept_variance_ = 1 / self.P_b

    # -- Algorithm 2 -----------------------------------------------------------------------------------------

    def first_alpha(self) -> Array:
        """All 1; with an intercept such that sum_i C_i alpha_i y_i = 0, if both classes are there."""
        alpha = np.ones_like(self.Y)
        for y, alpha_h in zip(self.Y, alpha, strict=True):
            n = {sign: self.C_i[y == sign].sum() for sign in (-1.0, 1.0)}
            if self.fit_intercept and min(n.values()) > 0:
                alpha_h[:] = [min(n.values()) / n[sign] for sign in y]
        return alpha

    def cut_planes(self) -> str:
        for _ in range(self.max_iter):
            room = self.r if self.n_features is None else self.n_features - sum(map(len, self.groups_))
            if room <= 0:
                return "n_features"
            group = self.worst_case(min(self.r, room))
            if len(group) == 0:
                return "no_features"
            self.groups_.append(group)
            self.P.append(np.eye(len(group)) + self.gram(group))
            for z in self.z:
                z.append(np.zeros(len(group)))
            self.solve()
            if len(self.theta_) > 1 and self.tol > 0:
                change = abs(self.theta_[-1] - self.theta_[-2])
                if change <= self.tol * abs(self.theta_[-1]):
                    return "tol"
        if self.n_features is not None and sum(map(len, self.groups_)) >= self.n_features:
            return "n_features"
        return "max_iter"

    def worst_case(self, r: int) -> Array:
        """Problem (14), or (12) greedily within the best-scored candidates. Ties go to the lower column."""
        s = np.zeros((self.n_heads, self.d))
        for head in range(self.n_heads):
            for x, C, alpha, y in zip(self.X, self.C_i, self.alpha[head], self.Y[head], strict=True):
                s[head] += C * alpha * y * x
        score = (s**2).sum(axis=0)
        score[[j for group in self.groups_ for j in group]] = 0
        best = [int(j) for j in np.argsort(-score, kind="stable") if score[j] > 0]
        if self.pick == "score" or not self.covariance:
            return np.sort(np.array(best[:r], int))
        candidates = sorted(best[: self.pool])
        chosen: list[int] = []
        while candidates and len(chosen) < r:
            values = []
            for j in candidates:
                A = [*chosen, j]
                Sigma = np.linalg.inv(np.eye(len(A)) + self.gram(np.array(A)))
                values.append(sum(float(s_h[A] @ Sigma @ s_h[A]) for s_h in s))
            chosen.append(candidates.pop(int(np.argmax(values))))
        return np.sort(np.array(chosen, int))

    def gram(self, group: Array) -> Array:
        """sum_i C2_i x_i x_i' of the features of a group; nothing if there is no covariance."""
        G = np.zeros((len(group), len(group)))
        if self.covariance:
            for C2, x in zip(self.C2_i, self.X[:, group], strict=True):
                G += C2 * np.outer(x, x)
        return G

    # -- Algorithm 3 -----------------------------------------------------------------------------------------

    def solve(self) -> None:
        """alpha for the groups there are, and theta."""
        self.Upsilon = [symmetric_root(P) for P in self.P]
        self.alpha, self.moved = np.zeros_like(self.Y), np.zeros(self.Y.shape, bool)
        self.first_scores = np.zeros_like(self.Y)
        self.reached = [([], 0.0)] * self.n_heads
        self.theta_.append(sum(self.solve_head(head) for head in range(self.n_heads)))

    def solve_head(self, head: int) -> float:
        alpha, Y, C = self.alpha[head], self.Y[head], self.C_i
        # In whitened coordinates; the last of them is the intercept.
        x_hat = [self.X[:, g] @ Upsilon for g, Upsilon in zip(self.groups_, self.Upsilon, strict=True)]
        x_b = float(self.fit_intercept) / np.sqrt(self.P_b)
        z = [Upsilon @ z_k for z_k, Upsilon in zip(self.z[head], self.Upsilon, strict=True)]
        z_b = self.z_b[head] / np.sqrt(self.P_b)

        def f(i: int, step: float = 0.0) -> float:
            """The score of row i after z has made a step along x^_i."""
            w = grad_Omega_star([z_k + step * x[i] for z_k, x in zip(z, x_hat, strict=True)], self.sigma)
            return float(sum(w_k @ x[i] for w_k, x in zip(w, x_hat, strict=True)) + (z_b + step * x_b) * x_b)

        def xi_after(i: int) -> Callable[[float], float]:
            return lambda t: 1 - float(Y[i]) * f(i, C[i] * t * Y[i])

        for number in range(self.inner_passes):
            for i in range(len(Y)):
                norm2 = sum(float(x[i] @ x[i]) for x in x_hat) + x_b**2
                score = f(i)
                if number == 0:
                    self.first_scores[head, i] = score
                if norm2 == 0:  # the limit of the steps below; z stays the same
                    alpha[i] = self.q
                    continue
                if not self.exact:
                    step = self.paper_step(1 - Y[i] * score, C[i], norm2)
                else:
                    step = self.exact_step(xi_after(i), alpha[i])
                if step == 0:
                    continue
                self.moved[head, i] |= number == 0
                alpha[i] += step
                for z_k, x in zip(z, x_hat, strict=True):
                    z_k += C[i] * step * Y[i] * x[i]
                z_b += C[i] * step * Y[i] * x_b
            w, a = grad_Omega_star(z, self.sigma), [float(np.linalg.norm(z_k)) for z_k in z]
            linear = float(self.past[head] + np.sum(C * (alpha - (self.q - 1) * alpha**2 / 4)))
            dual = linear - (sum(float(w_k @ z_k) for w_k, z_k in zip(w, z, strict=True)) + z_b**2) / 2
            xi = np.array([1 - Y[i] * f(i) for i in range(len(Y))])
            gap = float(np.sum(C * (np.maximum(xi, 0) ** self.q - alpha * xi + (self.q - 1) * alpha**2 / 4)))
            if gap <= self.inner_tol * max(abs(dual), abs(dual + gap)):
                break
        self.reached[head] = (
            [np.asarray(np.linalg.solve(Y_k, z_k), np.float64) for z_k, Y_k in zip(z, self.Upsilon, strict=True)],
            z_b * np.sqrt(self.P_b),
        )
        return float(linear - (max(a, default=0.0) ** 2 + z_b**2) / 2)

    def paper_step(self, xi: float, C: float, norm2: float) -> float:
        if xi <= 0:
            return 0.0
        return min(xi / (C * norm2), 1.0) if self.q == 1 else xi / (C * norm2 + 0.5)

    def exact_step(self, xi: Callable[[float], float], alpha: float) -> float:
        """The maximiser of the dual in alpha_i alone, less alpha_i: where the slope 1 - y f, less alpha_i/2 for q = 2,
        is zero, or the end of the domain. The slope falls with the step t."""
        slope = (lambda t: xi(t)) if self.q == 1 else (lambda t: xi(t) - (alpha + t) / 2)
        low, high = -alpha, (1 - alpha if self.q == 1 else max(0.0, 2 * xi(0.0) - alpha))
        if slope(low) <= 0:
            return low
        if slope(high) >= 0:
            return high
        for _ in range(64):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        return (low + high) / 2

    def weights(self) -> list[tuple[list[Array], float]]:
        """w of each head, in whitened coordinates, and its intercept."""
        found = []
        for z, z_b in self.reached:
            whitened = [Upsilon @ z_k for z_k, Upsilon in zip(z, [symmetric_root(P) for P in self.P], strict=True)]
            found.append((grad_Omega_star(whitened, self.sigma), z_b / np.sqrt(self.P_b)))
        return found


class FGM(SBCW):
    """FGM: the same cutting planes without covariance, Sigma = I, and each subproblem solved to convergence."""

    covariance = False

    def __init__(self, *args: Any, inner_passes: int = 50, **more: Any) -> None:
        super().__init__(*args, inner_passes=inner_passes, **more)
        self.exact = True

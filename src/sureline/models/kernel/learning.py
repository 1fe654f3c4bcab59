"""Lemma 1 without a budget: every example that made a step is stored.

With c_t = beta_t / (1 - beta_t v_t) a step adds c_t x_t x_t' to the inverse of the covariance. So after some steps
S = (I + X' C X)^-1 = I - X' (K + D)^-1 X with D = C^-1 and the kernel's matrix K, which means that

    pi = -(K + D)^-1.

The lemma's recurrence is the inverse of a bordered matrix written out. Here L of K + D = L L' is kept instead. With
l = L^-1 k the variance is k(x, x) - l.l, and the new row of L is l and 1 / sqrt(beta), since v + 1 / c = 1 / beta. The
mean is nu = L^-T z, where z gets one more number and the others stay. So a step writes n numbers, none of which is
ever changed again, and L is the factor of a positive definite matrix whatever rounding does to l.

If a model of two classes has become one of more, S and beta are a times these.
"""

from __future__ import annotations

import copy
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._inputs import Floats, Ints
from ..._native import _core
from .growing import Cholesky, Tail
from .kernels import Kernel, squares

if TYPE_CHECKING:
    from .model import KernelModel

BLOCK = 32  # rows that are taken together
_SUSPICIOUS = 1e-10  # of k(x, x): a variance below that may be all rounding
_RESOLUTION = 1e-12  # of k(x, x): a bound on the errors of thousands of steps


class Head:
    """The parts of a score: the examples that it stored, L, z, 1 / diag L, and the bound of S^-1."""

    def __init__(self) -> None:
        self.n = 0
        self.a = 1.0
        self.precision = 1.0
        self.factor = Cholesky()
        self._members, self._numbers = Tail(np.empty(0, np.int64)), Tail(np.empty((0, 2)))

    @property
    def members(self) -> Ints:
        return self._members.first(self.n)

    @property
    def z(self) -> Floats:
        return self._numbers.first(self.n)[:, 0]

    @property
    def b(self) -> Floats:
        return self._numbers.first(self.n)[:, 1]

    def restore(self, members: Ints, numbers: Floats, factor: Cholesky, a: float, precision: float) -> None:
        """Everything at once; numbers are z and b side by side."""
        self.n, self.a, self.precision, self.factor = len(members), a, precision, factor
        self._members, self._numbers = Tail(members), Tail(numbers)

    def append(self, member: int, row: Floats, z: float, b: float) -> None:
        self.factor = self.factor.appended(self.n, row, 1 / b)
        self._members = self._members.appended(self.n, np.array([member]))
        self._numbers = self._numbers.appended(self.n, np.array([[z, b]]))
        self.n += 1

    def scaled(self, sign: float, share: float) -> Head:
        head = copy.copy(self)
        head.a = self.a * share
        head._numbers = Tail(self._numbers.first(self.n) * [sign * share, 1.0])
        return head


class Block:
    """A block of rows to be learned.

    Contributions of earlier examples are matrix products. The steps then involve only the rows of the block: F has
    their scores, G has x_i' S x_j / a, and a step changes both. The products have the same shape wherever a caller's
    batch ends within the block, so batches do not change the bits: rows of an earlier call are present again if they
    were stored, and zeros otherwise.
    """

    def __init__(self, model: KernelModel, X: Any, at: int, first_row: int) -> None:
        self.model, self.X, self.at = model, X, at
        examples, born = model.examples, model.born.first(model.examples.n)
        self.n_before = int(np.searchsorted(born, model.begun))
        self.places = born[self.n_before :] - model.begun  # of the rows of this block that were kept
        self.stored: list[int] = []
        old, old2 = examples.rows[: self.n_before], examples.squares[: self.n_before]
        recent = examples.rows[self.n_before :]
        positions = np.concatenate([self.places, np.arange(at, at + X.shape[0])])
        K, inside = self._values(model.kernel, old, old2, recent, positions)
        self.kappa = inside.diagonal().copy()
        fine: Any = np.isfinite(K).all(axis=0) & np.isfinite(np.triu(inside)).all(axis=0)
        if not fine[at : at + X.shape[0]].all():
            raise _core.Refused(first_row + int(np.argmin(fine[at : at + X.shape[0]])), _core.Reason.score)
        if not model.kernel.is_named and (self.kappa < 0).any():
            raise ValueError(
                "The function passed as kernel is not positive definite: k(x, x) is negative for a row of X."
            )
        self.F = np.zeros((model.n_heads, BLOCK))
        self.G = np.empty((model.n_heads, BLOCK, BLOCK))
        self.L: list[Floats] = []
        self.rows: list[list[Floats]] = [[] for _ in model.heads]
        for h, head in enumerate(model.heads):
            n = int(np.searchsorted(head.members, self.n_before))
            L = head.factor.solve(K[head.members[:n]], n)
            self.L.append(L)
            np.matmul(head.z[:n], L, out=self.F[h])
            np.matmul(L.T, L, out=self.G[h])
            np.subtract(inside, self.G[h], out=self.G[h])
            for member, z, b in zip(head.members[n:], head.z[n:], head.b[n:], strict=True):
                self._step(h, int(self.places[member - self.n_before]), z, b)

    def _values(self, kernel: Kernel, old: Any, old2: Floats, recent: Any, positions: Any) -> tuple[Floats, Floats]:
        """k of the earlier examples with the rows of the block, and of those with each other; 0 for missing ones."""
        if kernel.is_named and not self.model.examples.is_sparse:
            rows = np.zeros((BLOCK, self.X.shape[1]))
            rows[positions] = np.concatenate([recent, self.X])
            rows2 = squares(rows)
            return kernel.between(old, rows, old2, rows2), kernel.within(rows, rows2)
        if self.model.examples.is_sparse:
            from scipy.sparse import vstack

            rows = vstack([recent, self.X], format="csr")
        else:
            rows = np.concatenate([recent, self.X])
        rows2 = squares(rows)
        K, inside = np.zeros((old.shape[0], BLOCK)), np.zeros((BLOCK, BLOCK))
        K[:, positions] = kernel.between(old, rows, old2, rows2)
        inside[np.ix_(positions, positions)] = kernel.within(rows, rows2)
        return K, inside

    def _step(self, h: int, j: int, z: float, b: float) -> None:
        row = b * self.G[h, j]
        self.F[h] += z * row
        self.G[h] -= np.multiply.outer(row, row)
        self.rows[h].append(row)

    def learn(self, rule: _core.Rule, i: int, label: int, s: float) -> None:
        """The turn of a row of X."""
        j, model, kappa = self.at + i, self.model, float(self.kappa[self.at + i])
        f = self.F[:, j].copy()
        told = np.array([head.a for head in model.heads]) * np.maximum(self.G[:, j, j], 0.0)
        moves = []
        for heads in model.problems(f, label):
            parts = []
            for h, _ in heads:
                head, computed = model.heads[h], float(self.G[h, j, j])
                if computed < -1e-6 * kappa and not model.kernel.is_named:
                    raise ValueError(
                        "The function passed as kernel is not positive definite: some combination of the rows has a "
                        "negative squared length."
                    )
                parts.append(head.a * sound_variance(computed, kappa, head.precision))
            v = sum(parts)
            step = step_of(rule, float(sum(sign * f[h] for h, sign in heads)), v, s)
            if step is None:
                continue
            for (h, sign), part in zip(heads, parts, strict=True):
                a = model.heads[h].a
                b, keep = sqrt(sound_beta(a * step.beta, kappa)), step.u / v + step.beta * (v - part)
                z, c = sign * step.alpha * a / b, a * step.beta / keep  # keep is 1 - beta v of this head alone
                if not (isfinite(z) and isfinite(kappa * c)):
                    raise _core.Refused(-1, _core.Reason.step)
                moves.append((h, z, b, kappa * c))
        for h, z, b, more in moves:
            head = model.heads[h]
            row = np.concatenate([self.L[h][:, j], [row[j] for row in self.rows[h]]])
            head.append(self.n_before + len(self.places) + len(self.stored), row, z, b)
            head.precision += more
            self._step(h, j, z, b)
        if moves:
            self.stored.append(i)
        model.count(f, told, label, moved=bool(moves))

    def store(self, seen: int) -> None:
        """Keep the rows that moved something."""
        if self.stored:
            n, model = self.model.examples.n, self.model
            model.examples = model.examples.appended(self.X[self.stored])
            model.born = model.born.appended(n, seen + np.array(self.stored))


def sound_variance(v: float, kappa: float, precision: float) -> float:
    """x'Sx / a, computed as a difference from k(x, x) = kappa, bounded against rounding errors.

    S^-1 a is I + sum c_t x_t x_t' over all steps so far, c = beta / (1 - beta x'Sx), of which no eigenvalue exceeds
    `precision` = 1 + sum c_t k(x_t, x_t). So x'Sx / a is at least kappa / precision, which is never 0.
    """
    return v if v > _SUSPICIOUS * kappa else max(v, kappa / precision)


def sound_variances(v: Floats, kappa: Floats, precision: float) -> Floats:
    return np.where(v > _SUSPICIOUS * kappa, v, np.maximum(v, kappa / precision))


def sound_beta(beta: float, kappa: float) -> float:
    """beta, bounded so that it does not magnify rounding errors: it multiplies x'Sy, known to some 1e-16 k(x, x)."""
    return min(beta, 1 / (_RESOLUTION * kappa))


def step_of(rule: _core.Rule, m: float, v: float, s: float) -> _core.Step | None:
    """The step for margin m, variance v and weight s; None if nothing moves. ValueError if it is not finite."""
    if not (np.isfinite(m) and np.isfinite(v)):
        raise _core.Refused(-1, _core.Reason.score)
    if not v > 0:  # a row of zeros
        return None
    step = rule.step(m, v, weight=s)
    if step.alpha == 0 and step.beta == 0:
        return None
    if not (np.isfinite(step.alpha) and 0 < step.beta < np.inf and np.isfinite(step.u)):
        raise _core.Refused(-1, _core.Reason.step)
    return step

"""A bounded number of examples: what is learned along the others is projected on the span of those that are kept.

The weights are kept in orthonormal coordinates of that span. R has the coordinates of the examples, R R' = K, and W is
its inverse: a row has the coordinates l = W k, and what is left of it has the squared length delta = k(x, x) - l.l. In
these coordinates, with one more for what is left of x, a step is that of the learner with a full covariance: S is a
matrix, and a in every other direction. So x'Sx = l'S l + a delta is a sum of positive numbers.

An example goes by a rotation of the coordinates, after which one of them is the direction e in which the example alone
has a component, and by dropping that coordinate. So what is left of S is a part of a positive definite matrix. The
rotation is a reflection, I - u u', which does not magnify rounding errors.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._native import _core
from ..numbers import UPDATES, Policy
from .kernels import Floats, Kernel, squares
from .model import Examples, KernelModel, sound_beta, sound_variance, sound_variances, step_of

DEPENDENT = 1e-10  # of k(x, x): what is left of a row that is taken for a combination of the others


class Projection(KernelModel):
    """At most `budget` examples. m[head] and S[head] are mean and covariance in the coordinates of W."""

    shape = "projection"

    def __init__(self, kernel: Kernel, examples: Examples, n_classes: int, policy: Policy, budget: int) -> None:
        super().__init__(kernel, examples, n_classes, policy)
        self.budget = budget
        n, H = examples.n, self.n_heads
        self.W = np.zeros((n, n))
        self.m = np.zeros((H, n))
        self.S = np.zeros((H, n, n))
        self.prior = np.ones(H)
        self.precision = np.ones(H)
        self.learned = np.zeros(n)  # -pi_pp, summed over the heads

    # -- learning --------------------------------------------------------------------------------------------

    def _after(self, rule: _core.Rule, X: Any, labels: npt.NDArray[np.int32], weight: Floats) -> None:
        room = _Room(self)
        x2 = squares(X)
        for row, (label, s) in enumerate(zip(labels.tolist(), weight.tolist(), strict=True)):
            try:
                room.learn(rule, X[row : row + 1], x2[row : row + 1], label, s)
            except _core.Refused as refused:
                raise _core.Refused(row, refused.reason) from None
        room.close()

    def _more_heads(self, n_classes: int, policy: Policy) -> None:
        if self.policy is Policy.binary:
            share = 0.5 if policy is Policy.rival else 1.0
            self.m = np.concatenate([-share * self.m, share * self.m])
            self.S = np.concatenate([share * self.S, share * self.S])
            self.prior, self.precision = np.full(2, share * self.prior[0]), np.repeat(self.precision, 2)
            self.learned = 2 * share * self.learned
        n, more = self.examples.n, n_classes - len(self.m)
        self.m = np.concatenate([self.m, np.zeros((more, n))])
        self.S = np.concatenate([self.S, np.tile(np.eye(n), (more, 1, 1))])
        self.prior, self.precision = (np.concatenate([x, np.ones(more)]) for x in (self.prior, self.precision))

    # -- answers ---------------------------------------------------------------------------------------------

    def nu(self) -> Floats:
        return self.m @ self.W

    def pi(self) -> Floats:
        eye = np.eye(self.examples.n)
        return np.stack([self.W.T @ (S - a * eye) @ self.W for S, a in zip(self.S, self.prior, strict=True)])

    def a(self) -> Floats:
        return self.prior

    def _variances(self, K: Floats, kappa: Floats) -> Floats:
        L = self.W @ K
        left = np.maximum(kappa - np.einsum("ij,ij->j", L, L), 0)
        v = np.empty((len(kappa), self.n_heads))
        for h, (S, a) in enumerate(zip(self.S, self.prior, strict=True)):
            inside = np.einsum("ij,ij->j", L, S @ L)
            v[:, h] = a * sound_variances(inside / a + left, kappa, float(self.precision[h]))
        return v


class _Room:
    """The arrays of a model with room for one example more than it may have, to be changed in place.

    Numbers behind the first n are of no meaning.
    """

    def __init__(self, model: Projection) -> None:
        self.model = model
        self.n = model.examples.n
        self.examples = model.examples
        self.precision = model.precision.copy()
        none: Floats = np.empty(0)
        self.W = self.m = self.S = self.learned = none
        self.capacity = -1

    def learn(self, rule: _core.Rule, x: Any, x2: Floats, label: int, s: float) -> None:
        model, n, kernel = self.model, self.n, self.model.kernel
        W, m, S = (model.W, model.m, model.S) if self.capacity < 0 else (self.W, self.m, self.S)
        W, m, S = W[:n, :n], m[:, :n], S[:, :n, :n]
        k = kernel.between(self.examples.rows, x, self.examples.squares, x2)[:, 0]
        kappa = float(kernel.diagonal(x, x2)[0])
        if not (np.isfinite(k).all() and isfinite(kappa)):
            raise _core.Refused(-1, _core.Reason.score)
        l = W @ k  # noqa: E741
        left = kappa - float(l @ l)
        if not kernel.is_named and (kappa < 0 or left < -1e-6 * kappa):
            raise ValueError(
                "The function passed as kernel is not positive definite: some combination of the rows has a negative "
                "squared length."
            )
        left = max(left, 0.0)
        f = m @ l
        moves = []
        for heads in model.problems(f, label):
            along = {h: S[h] @ l for h, _ in heads}
            parts = []
            for h, _ in heads:
                a = float(model.prior[h])
                parts.append(a * sound_variance(float(l @ along[h]) / a + left, kappa, float(self.precision[h])))
            v = sum(parts)
            step = step_of(rule, float(sum(sign * f[h] for h, sign in heads)), v, s)
            if step is None:
                continue
            for (h, sign), part in zip(heads, parts, strict=True):
                keep = step.u / v + step.beta * (v - part)  # 1 - beta v of this head alone
                a = float(model.prior[h])
                more = kappa * a * step.beta / keep
                if not (isfinite(more) and isfinite(step.alpha * sqrt(kappa))):
                    raise _core.Refused(-1, _core.Reason.step)
                moves.append((h, sign * step.alpha, sound_beta(a * step.beta, kappa) / a, more, along[h]))
        if moves:
            self._make_room()
            new = left > DEPENDENT * kappa
            if new:
                self._enter(x, l, sqrt(left))
            for h, alpha, beta, more, Sl in moves:
                self._step(h, alpha, beta, np.append(Sl, model.prior[h] * sqrt(left)) if new else Sl)
                self.precision[h] += more
            if self.n > model.budget:
                self._leave(self._least())
        model.count(f, label, moved=bool(moves))
        if moves and int(model.tally[:, UPDATES].sum()) % max(model.budget, 64) == 0:
            self._sum_up()

    def _make_room(self) -> None:
        """Copies of the model's arrays, larger than they are."""
        if self.n < self.capacity:
            return
        model, n = self.model, self.n
        capacity = min(max(2 * n, 32), model.budget + 1)
        old = (
            (model.W, model.m, model.S, model.learned) if self.capacity < 0 else (self.W, self.m, self.S, self.learned)
        )
        H = model.n_heads
        try:
            self.W, self.m, self.S, self.learned = (
                np.zeros(shape) for shape in ((capacity, capacity), (H, capacity), (H, capacity, capacity), (capacity,))
            )
        except MemoryError:
            raise MemoryError(f"there is no room for the covariance of {capacity} examples; lower the budget") from None
        self.W[:n, :n], self.m[:, :n], self.S[:, :n, :n], self.learned[:n] = (
            old[0][:n, :n],
            old[1][:, :n],
            old[2][:, :n, :n],
            old[3][:n],
        )
        self.capacity = capacity

    def _enter(self, x: Any, l: Floats, root: float) -> None:  # noqa: E741
        """One more example, and one more coordinate: the direction of what is left of it, of which nothing is known."""
        n = self.n
        W, S = self.W, self.S
        W[n, :n] = l @ W[:n, :n]
        W[n, :n] /= -root
        W[:n, n] = 0
        W[n, n] = 1 / root
        self.m[:, n] = 0
        S[:, n, :n] = S[:, :n, n] = 0
        S[:, n, n] = self.model.prior
        self.learned[n] = 0
        self.examples = self.examples.appended(x)
        self.n += 1

    def _step(self, h: int, alpha: float, beta: float, Sx: Floats) -> None:
        n = self.n
        self.m[h, :n] += alpha * Sx
        self._subtract(self.S[h, :n, :n], [beta * Sx], [Sx])
        self.learned[:n] += beta * (Sx @ self.W[:n, :n]) ** 2

    def _subtract(self, A: Floats, U: list[Floats], V: list[Floats]) -> None:
        """A -= the sum of u v'. In place where all the room is taken, which is where most of the time goes."""
        if self.n > self.model.budget:
            from scipy.linalg.blas import dgemm

            dgemm(-1.0, np.array(V).T, np.array(U).T, beta=1.0, c=A.T, trans_b=1, overwrite_c=1)
        else:
            A -= np.array(U).T @ np.array(V)

    def _least(self) -> int:
        """The example that matters least: the one with the smallest (sum of nu_p^2 - pi_pp) / (K^-1)_pp."""
        W = self.W[: self.n, : self.n]
        nu = self.m[:, : self.n] @ W
        matters = np.einsum("hp,hp->p", nu, nu) + np.maximum(self.learned[: self.n], 0)
        return int(np.argmin(matters / np.einsum("ij,ij->j", W, W)))

    def _leave(self, p: int) -> None:
        n, last = self.n, self.n - 1
        W, m, S = self.W[:n, :n], self.m[:, :n], self.S[:, :n, :n]
        u = W[:, p].copy()
        u[last] += np.copysign(np.linalg.norm(u), u[last])
        u *= sqrt(2) / np.linalg.norm(u)  # now I - u u' takes column p of W to a multiple of the last coordinate
        self._subtract(W, [u], [u @ W])
        m -= np.multiply.outer(m @ u, u)
        known = np.zeros(n)  # the last column of the sum of a I - S
        for S_h, a in zip(S, self.model.prior, strict=True):
            t = S_h @ u
            t -= (0.5 * float(u @ t)) * u
            self._subtract(S_h, [u, t], [t, u])
            known -= S_h[:, last]
            known[last] += a
        e = W[last]
        self.learned[:n] += e * (e * known[last] - 2 * (known @ W))
        if p < last:
            W[:, p] = W[:, last]
            self.learned[p] = self.learned[last]
        self.examples = self.examples.without(p)
        self.n = last

    def _sum_up(self) -> None:
        """-pi_pp computed anew, so that what rounding does to it does not add up."""
        n = self.n
        W = self.W[:n, :n]
        total = self.model.prior.sum() * np.eye(n) - self.S[:, :n, :n].sum(axis=0)
        self.learned[:n] = np.einsum("ij,ij->j", W, total @ W)

    def close(self) -> None:
        """Give the model what there is now."""
        n, model = self.n, self.model
        if self.capacity >= 0:
            model.W, model.m, model.S = self.W[:n, :n].copy(), self.m[:, :n].copy(), self.S[:, :n, :n].copy()
            model.learned = self.learned[:n].copy()
            model.examples = self.examples
        model.precision = self.precision

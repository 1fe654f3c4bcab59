"""A committee of learners by their predictions: how good each was, and the weights with which they vote.

Scores are an array of shape (rows, members, heads), of rows that nobody had learned from. With two classes a score f of
a member counts as log-odds c f of the second class, where c makes the labels most likely. With more the margin of the
true class over another counts so. The committee is

    sum of a_k c_k f_k,    a_k >= 0,

with the weights that minimise the log loss of the rows plus `SHRINKAGE` |a - a0|^2, where a0 is 1/3 for each of the
three best members. With few rows it is their mean, with many the best committee. It has no intercept but those of its
members: one more made it worse (docs/results/defaults.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._inputs import Floats

SHRINKAGE = 10.0  # in units of the log loss of a row
FIRST = 3  # members of the committee that it is shrunk to
MOST = 8  # members that are weighed
_SMALLEST = 1e-6  # of a scale c, in units of one over the mean size of the scores


@dataclass(frozen=True)
class Judged:
    """Predictions of rows before anybody learned from them, and how much each counts."""

    scores: Floats  # (rows, members, heads)
    labels: npt.NDArray[np.int32]
    weights: Floats

    def of(self, members: list[int]) -> Judged:
        return Judged(self.scores[:, members], self.labels, self.weights)

    @property
    def n_members(self) -> int:
        return int(self.scores.shape[1])

    def margins(self, rivals: npt.NDArray[np.intp] | None = None) -> Floats:
        """Of shape (rows, members): the score on the side of the label, over that of the rival if there are more."""
        f = self.scores
        if f.shape[2] == 1:
            of_two: Floats = np.where(self.labels == 1, 1.0, -1.0)[:, np.newaxis] * f[:, :, 0]
            return of_two
        at = np.arange(len(f))
        own = f[at, :, self.labels]
        if rivals is not None:
            against: Floats = own - f[at, :, rivals]
            return against
        others = f.copy()
        others[at, :, self.labels] = -np.inf
        margins: Floats = own - others.max(axis=2)
        return margins

    def wrong(self, margins: Floats) -> npt.NDArray[np.bool_]:
        """Which margins are mistakes: a score of exactly 0 is the first of two classes, and the first of equal ones."""
        if self.scores.shape[2] > 1:
            wrong: npt.NDArray[np.bool_] = margins < 0
            return wrong
        return np.where(self.labels[:, np.newaxis] == 1, margins <= 0, margins < 0)


def scales_of(judged: Judged) -> Floats:
    """For each member the factor c that makes log-odds of its scores."""
    margins, total = judged.margins(), max(float(judged.weights.sum()), 1e-300)
    size = np.maximum(judged.weights @ np.abs(margins) / total, 1e-300)
    z = margins / size
    c = np.ones(judged.n_members)
    # Newton on log c of the mean log loss plus a weak prior, for all members together.
    u = np.zeros(judged.n_members)
    for _ in range(30):
        c = np.exp(u)
        m = z * c
        p = 0.5 * (1 - np.tanh(0.5 * m))  # of the other side
        slope = -(judged.weights @ (p * m)) + 0.5 * u
        bend = judged.weights @ (p * (1 - p) * m * m) + np.maximum(-(judged.weights @ (p * m)), 0.0) + 0.5
        step = np.clip(slope / bend, -1.0, 1.0)
        u = np.clip(u - step, np.log(_SMALLEST), 12.0)
        if np.abs(step).max() < 1e-7:
            break
    scales: Floats = np.exp(u) / size
    return scales


def losses_of(judged: Judged, scales: Floats, metric: str) -> Floats:
    """The loss of each row and member by a metric, of shape (rows, members).

    By the error a mistake counts 1 and its log loss as much again: both in units of their least mean over the members.
    Mistakes are what is asked for, and log losses tell members apart that make as many.
    """
    margins = judged.margins()
    m = np.clip(margins * scales, -500, 500)
    log_loss = np.logaddexp(0, -m)
    if metric == "log_loss":
        return log_loss
    if metric == "brier":
        p = 0.5 * (1 - np.tanh(0.5 * m))
        squared: Floats = p * p
        return squared
    if metric == "auc" and judged.scores.shape[2] == 1:
        return _rank_losses(judged)
    wrong = judged.wrong(margins).astype(np.float64)
    total = max(float(judged.weights.sum()), 1e-300)
    errors, logs = judged.weights @ wrong / total, judged.weights @ log_loss / total
    least = max(float(errors.min()), 0.5 / len(m))  # half a mistake, where the best makes none
    joint: Floats = wrong / least + log_loss / max(float(logs.min()), 1e-9)
    return joint


def _rank_losses(judged: Judged) -> Floats:
    """For each row the share of the rows of the other class that it is on the wrong side of."""
    f, positive = judged.scores[:, :, 0], judged.labels == 1
    losses = np.zeros(f.shape)
    for k in range(f.shape[1]):
        above, below = np.sort(f[positive, k]), np.sort(f[~positive, k])
        if len(above) and len(below):
            for side, others in ((positive, below), (~positive, above)):
                low, high = (np.searchsorted(others, f[side, k], side=s) for s in ("left", "right"))
                share = (low + high) / (2 * len(others))
                losses[side, k] = 1 - share if side is positive else share
    return losses


@dataclass(frozen=True)
class Stack:
    """The votes of the members of a committee."""

    members: list[int]  # those that were weighed, the best first
    weights: Floats  # of the scores as they are: a_k c_k
    shares: Floats  # a_k, which tell what each contributes

    def scores(self, judged: Judged) -> Floats:
        """Those of the committee, of shape (rows, heads)."""
        f: Floats = np.einsum("nkh,k->nh", judged.scores[:, self.members], self.weights)
        return f

    def loss(self, judged: Judged, metric: str) -> float:
        """The mean loss of the committee: of mistakes by the error, else as members are judged."""
        both = Judged(self.scores(judged)[:, np.newaxis], judged.labels, judged.weights)
        margins = both.margins()
        losses = both.wrong(margins) if metric == "error" else losses_of(both, np.ones(1), metric)
        return float(judged.weights @ losses[:, 0]) / max(float(judged.weights.sum()), 1e-300)


def stacked(judged: Judged, scales: Floats, order: list[int]) -> Stack:
    """The committee of the best members, which `order` has in front."""
    members = order[:MOST]
    best, c = judged.of(members), scales[members]
    start = np.zeros(len(members))
    start[:FIRST] = 1 / min(FIRST, len(members))
    if best.scores.shape[2] == 1:
        a = _minimum(best.margins() * c, best.weights, start)
        return Stack(members, a * c, a)
    a = start
    for _ in range(3):  # the rival is that of the committee so far
        together = np.einsum("nkh,k->nh", best.scores, a * c)
        together[np.arange(len(together)), best.labels] = -np.inf
        a = _minimum(best.margins(together.argmax(axis=1)) * c, best.weights, start)
    return Stack(members, a * c, a)


def _minimum(Z: Floats, weights: Floats, start: Floats) -> Floats:
    """The a >= 0 that minimises the log loss of the margins Z a plus the shrinkage towards `start`.

    By Newton's method. Each step is a quadratic problem with bounds, which is solved one coordinate after the other.
    """
    a = start.copy()

    def loss(a: Floats) -> float:
        return float(weights @ np.logaddexp(0, -(Z @ a)) + SHRINKAGE * ((a - start) ** 2).sum())

    now = loss(a)
    for _ in range(50):
        p = 0.5 * (1 - np.tanh(0.5 * (Z @ a)))
        slope = -(Z.T @ (weights * p)) + 2 * SHRINKAGE * (a - start)
        H = (Z.T * (weights * p * (1 - p))) @ Z + 2 * SHRINKAGE * np.eye(len(a))
        towards = _bounded(H, H @ a - slope, a) - a
        size, then = 1.0, loss(a + towards)
        while then > now and size > 1e-4:
            size /= 2
            then = loss(a + size * towards)
        if then >= now:
            break
        a, gain, now = a + size * towards, now - then, then
        if gain < 1e-9 * max(now, 1.0):
            break
    return np.maximum(a, 0.0)


def _bounded(H: Floats, c: Floats, start: Floats) -> Floats:
    """The x >= 0 that minimises x'Hx / 2 - c.x."""
    x = np.maximum(start, 0.0)
    for _ in range(500):
        largest = 0.0
        for j in range(len(x)):
            to = max(x[j] + (c[j] - float(H[j] @ x)) / H[j, j], 0.0)
            largest, x[j] = max(largest, abs(to - x[j])), to
        if largest < 1e-10:
            break
    return x

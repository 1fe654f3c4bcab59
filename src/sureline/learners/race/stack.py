"""Committees of learners: the quality of each member's predictions, and the weights of their votes.

Scores are an array of shape (rows, members, heads), of rows that nobody had learned from. With two classes a score f of
a member counts as log-odds c f of the second class, where c makes the labels most likely. With more the margin of the
true class over another counts so. The committee is

    sum of a_k c_k f_k,    a_k >= 0,

with the weights that minimise the log loss of the rows plus `SHRINKAGE` |a - a0|^2, where a0 is 1/3 for each of the
three best members. With few rows it is their mean, with many the best committee. It has no intercept but those of its
members: one more made it worse (docs/results/defaults.md).

The log loss is not what is asked for, and where no linear model fits well its minimum can be far from that of the
mistakes. So the mean of the three best, and each member alone, stand beside the committee; and where mistakes are to be
few, the committee and the member with the fewest with another threshold: `options`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ..._inputs import Floats
from ..newton import newton

SHRINKAGE = 10.0  # in units of the log loss of a row
FIRST = 3  # members in the mean that the committee is shrunk to
MOST = 8  # members that are weighed
STEEP = 4.0  # of the sigmoid that stands for a mistake, per unit of log-odds
FARTHEST, STEP = 1.5, 0.025  # thresholds that are tried, in log-odds
_SMALLEST = 1e-6  # smallest scale c, in units of one over the mean size of the scores


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
        """Margins, of shape (rows, members): the score on the label's side, minus the rival's if any."""
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
        """True for margins that are mistakes; ties go to the first class."""
        if self.scores.shape[2] > 1:
            wrong: npt.NDArray[np.bool_] = margins < 0
            return wrong
        return np.where(self.labels[:, np.newaxis] == 1, margins <= 0, margins < 0)


def scales_of(judged: Judged) -> Floats:
    """The factor c of each member that turns its scores into log-odds."""
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

    For the error, mistakes and log losses are added, each relative to its least mean over the members: mistakes are the
    goal, and log losses separate members with equal mistakes.
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
    least = max(float(errors.min()), 0.5 / len(m))  # half a mistake if the best member makes none
    joint: Floats = wrong / least + log_loss / max(float(logs.min()), 1e-9)
    return joint


def _rank_losses(judged: Judged) -> Floats:
    """For each row the share of rows of the other class that are ranked wrongly against it."""
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

    members: list[int]  # its members, the best first
    weights: Floats  # of the scores as they are: a_k c_k
    shares: Floats  # a_k, the contribution of each member
    shift: float = 0.0  # of its scores

    def scores(self, judged: Judged) -> Floats:
        """Scores of the committee, of shape (rows, heads)."""
        f: Floats = np.einsum("nkh,k->nh", judged.scores[:, self.members], self.weights) + self.shift
        return f

    def losses(self, judged: Judged, metric: str) -> Floats:
        """The loss of the committee on each row: of mistakes by the error, else as members are judged."""
        both = Judged(self.scores(judged)[:, np.newaxis], judged.labels, judged.weights)
        if metric == "error":
            return both.wrong(both.margins())[:, 0].astype(np.float64)
        return losses_of(both, np.ones(1), metric)[:, 0]

    def loss(self, judged: Judged, metric: str) -> float:
        """The mean of its losses."""
        return float(judged.weights @ self.losses(judged, metric)) / max(float(judged.weights.sum()), 1e-300)


def options(judged: Judged, scales: Floats, order: list[int], *, threshold: bool = False) -> list[Stack]:
    """The committee of the best members (the first of `order`), their mean, and each of them alone.

    With `threshold`, for two classes, also the committee and the best member with a shifted threshold.
    """
    best = order[:FIRST]
    mean = np.full(len(best), 1 / len(best))
    alone = [Stack([k], scales[[k]], np.ones(1)) for k in order[:MOST]]
    found = [stacked(judged, scales, order), Stack(best, mean * scales[best], mean), *alone]
    if threshold:
        found += [moved(judged, one) for one in (found[0], min(alone, key=lambda one: one.loss(judged, "error")))]
    return found


def moved(judged: Judged, stack: Stack) -> Stack:
    """The same, with the threshold that makes the fewest mistakes.

    A sigmoid of the margin smooths mistakes, so that a few rows near the threshold do not decide.
    """
    side = np.where(judged.labels == 1, 1.0, -1.0)
    margins = side * stack.scores(judged)[:, 0]
    steps = round(FARTHEST / STEP)
    shifts = np.arange(-steps, steps + 1) * STEP
    mistakes = [judged.weights @ (1 - np.tanh(0.5 * STEEP * (margins + side * shift))) for shift in shifts]
    return replace(stack, shift=stack.shift + float(shifts[int(np.argmin(mistakes))]))


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
    for _ in range(3):  # the rival by the committee so far
        together = np.einsum("nkh,k->nh", best.scores, a * c)
        together[np.arange(len(together)), best.labels] = -np.inf
        a = _minimum(best.margins(together.argmax(axis=1)) * c, best.weights, start)
    return Stack(members, a * c, a)


def best_of(judged: Judged, teams: Sequence[Sequence[Stack]], metric: str, bounds: Sequence[int]) -> Stack:
    """The better committee; or the best option if it is better by a standard error.

    `teams` come from `options`. The standard error favours the committee on small data, since it varies least between
    samples.
    """
    weights, total = judged.weights, float(judged.weights.sum())
    losses = {id(stack): stack.losses(judged, metric) for stacks in teams for stack in stacks}
    means = {key: float(weights @ loss) / total for key, loss in losses.items()}
    committee = min((stacks[0] for stacks in teams), key=lambda stack: means[id(stack)])
    for stack in sorted((stack for stacks in teams for stack in stacks), key=lambda stack: means[id(stack)]):
        gain = means[id(committee)] - means[id(stack)]
        if gain <= 0:
            break
        rest = losses[id(committee)] - losses[id(stack)] - gain
        if gain > chance(weights, rest[:, np.newaxis], bounds)[0]:
            return stack
    return committee


def chance(weights: Floats, rest: Floats, bounds: Sequence[int]) -> Floats:
    """The standard error of the mean of each column: by its rows, or by its blocks if they differ by more.

    Rows of a stream that changes are not independent.
    """
    by_rows = (weights**2) @ rest**2
    starts = [start - bounds[0] for start, stop in pairwise(bounds) if stop > start]
    by_blocks = (np.add.reduceat(weights[:, np.newaxis] * rest, starts) ** 2).sum(axis=0)
    found: Floats = np.sqrt(np.maximum(by_rows, by_blocks)) / float(weights.sum())
    return found


def _minimum(Z: Floats, weights: Floats, start: Floats) -> Floats:
    """The a >= 0 that minimises the log loss of the margins Z a plus the shrinkage towards `start`.

    By Newton's method. Each step is a quadratic problem with bounds, which is solved one coordinate after the other.
    """

    def loss(a: Floats) -> float:
        return float(weights @ np.logaddexp(0, -(Z @ a)) + SHRINKAGE * ((a - start) ** 2).sum())

    def step(a: Floats) -> Floats:
        p = 0.5 * (1 - np.tanh(0.5 * (Z @ a)))
        slope = -(Z.T @ (weights * p)) + 2 * SHRINKAGE * (a - start)
        H = (Z.T * (weights * p * (1 - p))) @ Z + 2 * SHRINKAGE * np.eye(len(a))
        return _bounded(H, H @ a - slope, a) - a

    a, _ = newton(loss, step, start)
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

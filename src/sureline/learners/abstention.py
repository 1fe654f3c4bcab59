"""Abstention: which rows are answered so that the error stays within a promised bound.

The record has predictions that preceded their labels. Rows are answered down to the lowest confidence where an upper
bound of the error of all answers is within the promise. For k mistakes in n answers it is the 95 % bound of Clopper and
Pearson. If mistakes have costs c_i, it is the bound of Fay and Feuer for weighted Poisson counts.

A stream may change. So a row is answered only if its score also reaches the guard of the record (record.hpp), which
moves with the mistakes that the model makes now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log, log1p
from numbers import Real
from typing import Any, Protocol

import numpy as np

from .._inputs import Array, Flags, Floats
from ..models.record import Outcomes, guard, is_empty
from .calibration import Curve, curve_of, margins_of
from .cost import is_cost

CHANCE = 0.05  # that the bound is below the true error


class Recorded(Protocol):
    """A classifier with a record of its predictions."""

    classes_: Array

    @property
    def recorded(self) -> tuple[Floats | None, int]:
        """The record, or None, and the number of heads whose scores it has."""

    def as_recorded(self, scores: Floats, variances: Floats | None) -> tuple[Floats, Floats | None]:
        """Scores and variances as they are put on record."""


class AbstentionWarning(UserWarning):
    """Warns that no promise can be made, so no row is answered."""


@dataclass(frozen=True)
class Abstention:
    """The rows that are answered."""

    max_error: float
    curve: Curve | None  # None without a record
    least: float = inf  # the least log-odds of being right at which rows are answered
    guard: float = 0.0  # and the |score|
    coverage: float = 0.0  # the share of such rows on record
    why: str = ""  # nothing is answered

    @classmethod
    def of(
        cls, record: Floats | None, n_heads: int, max_error: float, cost: tuple[float, float] | None = None
    ) -> Abstention:
        """The rule from a learner's record. `cost` has the costs of a missed positive and of a false alarm."""
        if record is None or is_empty(record):
            return cls(max_error, None, why="no prediction is on record that preceded its label")
        curve, seen = curve_of(record, n_heads), Outcomes.of(record)
        ranked = _Ranked.of(curve, seen, n_heads, cost)
        kept = np.flatnonzero(ranked.bound() <= max_error)
        if len(kept) == 0:
            return cls(max_error, curve, why=ranked.why_not(max_error))
        last = int(kept[-1])
        least = -inf if last == len(ranked.odds) - 1 else float(ranked.odds[last])
        mistakes, paid = float(ranked.mistakes[last]), float(ranked.paid[last])
        typical = paid / mistakes if mistakes > 0 else ranked.dearest
        level = min(max_error / typical, 1.0)
        from_here = guard(record, level)
        answered = (ranked.odds >= least) & (ranked.sizes >= from_here)
        coverage = float(ranked.examples[answered].sum() / ranked.examples.sum())
        why = "" if coverage > 0 else "the last rows had more mistakes among the surest answers than that"
        return cls(max_error, curve, least, from_here, coverage, why)

    def answers(self, learner: Recorded, scores: Floats, variances: Floats | None) -> Flags:
        """True for each row that is answered, by its scores and variances."""
        if self.curve is None or self.why:
            return np.zeros(len(scores), np.bool_)
        odds, sizes = _odds_and_sizes(self.curve, *learner.as_recorded(scores, variances))
        answered: Flags = (odds >= self.least) & (sizes >= self.guard)
        return answered

    def in_words(self) -> str:
        """Why nothing is answered, as a sentence."""
        return f"An error of {self.max_error:g} cannot be promised, so no row is answered: {self.why}."


def errors_by_coverage(record: Floats | None, n_heads: int) -> list[tuple[float, float]]:
    """Coverage and error of the recorded predictions, the surest first; empty without a record."""
    if record is None or is_empty(record):
        return []
    ranked = _Ranked.of(curve_of(record, n_heads), Outcomes.of(record), n_heads, None)
    total = float(ranked.n[-1])
    at = np.unique(np.minimum(np.searchsorted(ranked.n, np.linspace(0.05, 1, 20) * total), len(ranked.n) - 1))
    return [(float(ranked.n[k] / total), float(ranked.mistakes[k] / ranked.n[k])) for k in at]


def _odds_and_sizes(curve: Curve, scores: Floats, variances: Floats | None) -> tuple[Floats, Floats]:
    """Log-odds that the answer is right, and the size of the score that it goes by."""
    if scores.shape[1] == 1:
        f = scores[:, 0]
        odds = curve.log_odds(f, None if variances is None else variances[:, 0])
        return np.where(f > 0, odds, -odds), np.abs(f)
    _, margins, of_margins = margins_of(scores, variances)
    return curve.log_odds(margins, of_margins), margins


@dataclass(frozen=True)
class _Ranked:
    """The cells of a record, the surest first; sums are cumulative."""

    odds: Floats
    sizes: Floats  # |score|
    examples: Floats
    n: Floats  # their sum
    mistakes: Floats
    paid: Floats  # the sum of the costs
    squares: Floats  # of the squared costs
    dearest: float
    even: bool  # every mistake costs as much

    @classmethod
    def of(cls, curve: Curve, seen: Outcomes, n_heads: int, cost: tuple[float, float] | None) -> _Ranked:
        odds = curve.log_odds(seen.score, seen.std**2 if seen.has_std else None)
        positive = (seen.score > 0) | (n_heads > 1)  # answered with the second class, or with the best of more
        odds = np.where(positive, odds, -odds)
        wrong = np.where(positive, seen.negative, seen.positive)
        missed, alarm = cost or (1.0, 1.0)
        price = np.where(positive, alarm, missed)
        order = np.argsort(-odds, kind="stable")
        examples = (seen.negative + seen.positive)[order]
        sums = [np.cumsum(some[order]) for some in (wrong, wrong * price, wrong * price**2)]
        return cls(
            odds[order],
            np.abs(seen.score)[order],
            examples,
            np.cumsum(examples),
            sums[0],
            sums[1],
            sums[2],
            max(missed, alarm),
            missed == alarm,
        )

    def bound(self) -> Floats:
        """Upper bound of the mean cost of an answer."""
        from scipy.special import betaincinv, gammaincinv

        bound: Floats
        if self.even:
            rest = np.maximum(self.n - self.mistakes, 1e-9)
            bound = self.dearest * betaincinv(self.mistakes + 1, rest, 1 - CHANCE)
        else:
            paid, squares = self.paid + self.dearest, self.squares + self.dearest**2
            bound = squares / paid * gammaincinv(paid**2 / squares, 1 - CHANCE) / self.n
        return bound

    def why_not(self, max_error: float) -> str:
        """The reason why no answer is within the promise."""
        n = float(self.n[-1])
        # A limit of the bound; no record has enough rows to go below.
        share = min(max(max_error / self.dearest, 1e-15), 0.999999)
        needed = ceil(log(CHANCE) / log1p(-share))
        if n < needed:
            return (
                f"that takes {needed:,} predictions without a mistake, and the record counts as {int(n):,} (later rows "
                "count more)"
            )
        best = int(np.argmin(self.bound()))
        return (
            f"of the {int(self.n[best]):,} surest predictions on record {self.mistakes[best]:.0f} were wrong, which "
            f"allows {self.bound()[best]:.2g} at least"
        )


def abstention_of(learner: Recorded, max_error: Any, cost: Any = None) -> Abstention:
    """The abstention rule of a learner for a promised error or mean cost; ValueError if the promise is invalid."""
    promised, pair = _checked(max_error, cost, len(learner.classes_))
    if len(learner.classes_) < 2:
        return Abstention(promised, None, why="the model knows one class only")
    return Abstention.of(*learner.recorded, promised, pair)


def _checked(max_error: Any, cost: Any, n_classes: int) -> tuple[float, tuple[float, float] | None]:
    """The promise as numbers; ValueError if it is invalid."""
    if isinstance(max_error, bool) or not isinstance(max_error, Real) or not 0 < float(max_error) < inf:
        raise ValueError(f"max_error must be a positive number. Got {max_error!r} instead.")
    if cost is None:
        if not float(max_error) < 1:
            raise ValueError(f"max_error must be below 1, as a share of the answers. Got {max_error!r} instead.")
        return float(max_error), None
    if n_classes != 2:
        raise ValueError(f"cost is for two classes, and the model has {n_classes}.")
    if not isinstance(cost, Sequence) or len(cost) != 2 or not all(is_cost(c) for c in cost):
        raise ValueError(
            f"cost must be a pair of positive numbers, of a missed positive and of a false alarm. Got {cost!r} instead."
        )
    return float(max_error), (float(cost[0]), float(cost[1]))

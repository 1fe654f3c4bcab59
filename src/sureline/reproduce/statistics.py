"""Means, their differences, the papers' paired t-test, and rules that decide claims."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .outcome import Mean


def mean_of(values: Sequence[float] | Iterable[float]) -> Mean:
    """The mean of runs and their standard deviation."""
    runs = np.asarray(list(values), dtype=np.float64)
    return Mean(float(runs.mean()), float(runs.std(ddof=1)) if len(runs) > 1 else None, len(runs))


def difference(ours: Mean, paper: Mean) -> float | None:
    """Our mean minus the paper's, in standard errors of the difference; None if unknown.

    The squared standard error is the sum of the squared ones of both means. The paper's includes rounding: a mean
    printed with last digit u has an error of u/sqrt(12), and a deviation printed as 0 counts as half of u. If only one
    mean has a deviation, it is used alone.
    """
    if ours.count is None or paper.count is None:
        return None
    squares = paper.unit**2 / 12
    if ours.sd is not None:
        squares += ours.sd**2 / ours.count
    if paper.sd is not None:
        squares += max(paper.sd, paper.unit / 2) ** 2 / paper.count
    if ours.sd is None and paper.sd is None:
        return None
    return (ours.mean - paper.mean) / math.sqrt(squares) if squares > 0 else None


def p_value(a: Sequence[float], b: Sequence[float]) -> float:
    """The two-sided paired t-test: the probability of differences as large as these if the means are equal."""
    differences = np.asarray(a, dtype=np.float64) - np.asarray(b, dtype=np.float64)
    if len(differences) < 2 or not differences.any():
        return 1.0
    if np.ptp(differences) <= 1e-12 * np.abs(differences).max():  # the same difference in every run, up to rounding
        return 0.0
    from scipy.stats import ttest_1samp

    return float(ttest_1samp(differences, 0.0).pvalue)


def best_of(runs: Mapping[str, Sequence[float] | Any], *, least: bool = True, level: float = 0.95) -> set[str]:
    """The least (or largest) mean, and those that the paired t-test cannot tell from it at that level.

    With one run, or unequal numbers of runs, nothing can be tested: then the mean alone decides.
    """
    if not runs:
        return set()
    means = {name: float(np.mean(values)) for name, values in runs.items()}
    best = min(means, key=lambda name: means[name] if least else -means[name])
    n = len(runs[best])
    tested = {name: values for name, values in runs.items() if len(values) == n > 1}
    return {name for name, values in tested.items() if p_value(runs[best], values) >= 1 - level} | {best}


# -- whether our runs decide a claim: True, False, or None where it cannot be told from them --------------------------


LONGER = 1.5  # a time is longer from this ratio on
SAME = 1.2  # and not longer up to this ratio

MEANS = (
    "In the verdicts means are compared by a paired t-test over the runs (95 %), unless the claim says how close "
    "counts as the same. With one run nothing can be told."
)
TIMES = (
    "Times are processor times on the machine of this run, and differ from run to run. In the verdicts a time counts "
    f"as longer than another from {LONGER:g} times on, and as no longer up to {SAME:g} times. Between them it cannot "
    "be told. Some claims have other bounds."
)


def lower(a: Sequence[float] | Any, b: Sequence[float] | Any) -> bool | None:
    """True if the mean of the runs `a` is below that of `b`, by the paired t-test at 95 %; with one run, None."""
    return bool(np.mean(a) < np.mean(b)) if p_value(a, b) < 0.05 else None


def longer(ratio: float, *, no: float = SAME, yes: float = LONGER) -> bool | None:
    """True if a time that is `ratio` times another counts as longer. Times vary from run to run: the margin is wide."""
    return True if ratio >= yes else False if ratio <= no else None


def opposite(told: bool | None) -> bool | None:
    return None if told is None else not told


def all_of(told: Iterable[bool | None]) -> bool | None:
    """True if all statements are true; False if one is false; otherwise None."""
    known = list(told)
    return False if False in known else True if known and None not in known else None


def any_of(told: Iterable[bool | None]) -> bool | None:
    """True if some of them is true."""
    return opposite(all_of(opposite(one) for one in told))


def most_of(told: Iterable[bool | None]) -> bool | None:
    """True if more than half of the statements are true, whatever the undecided ones are."""
    known = list(told)
    if known.count(True) > len(known) / 2:
        return True
    return False if known and known.count(False) >= len(known) / 2 else None


def how_many_hold(told: Iterable[bool | None]) -> str:
    """How many of several statements hold, as the beginning of the evidence; empty if all do, or for a single one."""
    known = list(told)
    if len(known) <= 1 or all(known):
        return ""
    unclear = known.count(None)
    return f"True of {known.count(True)} of {len(known)}{f', not to be told of {unclear}' if unclear else ''}. "

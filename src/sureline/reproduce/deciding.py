"""Whether our runs decide a claim: True, False, or None where it cannot be told from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .statistics import p_value

LONGER = 1.5  # from so many times another on, a time is longer
SAME = 1.2  # up to so many times, it is not

MEANS = (
    "In the verdicts means are compared by a paired t-test over the runs (95 %), unless the claim says how close "
    "counts as the same; with one run nothing can be told."
)
TIMES = (
    "Times are processor times on the machine of this run, and differ from run to run. In the verdicts a time counts "
    f"as longer than another from {LONGER:g} times on, and as no longer up to {SAME:g} times, unless the claim says "
    "otherwise; between them it cannot be told."
)


def lower(a: Sequence[float] | Any, b: Sequence[float] | Any) -> bool | None:
    """Whether the mean of the runs `a` is below that of `b`, by the paired t-test at 95 %; with one run, None."""
    return bool(np.mean(a) < np.mean(b)) if p_value(a, b) < 0.05 else None


def longer(ratio: float, *, no: float = SAME, yes: float = LONGER) -> bool | None:
    """Whether a time is longer that is `ratio` times another. What differs from run to run needs a wide margin."""
    return True if ratio >= yes else False if ratio <= no else None


def opposite(told: bool | None) -> bool | None:
    return None if told is None else not told


def all_of(told: Iterable[bool | None]) -> bool | None:
    """Whether all of some statements are true: one that is not decides, and then one that cannot be told."""
    known = list(told)
    return False if False in known else True if known and None not in known else None


def any_of(told: Iterable[bool | None]) -> bool | None:
    """Whether some of them is true."""
    return opposite(all_of(opposite(one) for one in told))


def most_of(told: Iterable[bool | None]) -> bool | None:
    """Whether more than half of them are true, whatever those are that cannot be told."""
    known = list(told)
    if known.count(True) > len(known) / 2:
        return True
    return False if known and known.count(False) >= len(known) / 2 else None


def in_words(told: Iterable[bool | None]) -> str:
    """How many of several statements are true, to begin the evidence with; nothing if all are, or if it is one."""
    known = list(told)
    if len(known) <= 1 or all(known):
        return ""
    unclear = known.count(None)
    return f"True of {known.count(True)} of {len(known)}{f', not to be told of {unclear}' if unclear else ''}. "

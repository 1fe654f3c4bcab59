"""Stability of feature selection: how alike the features are that are picked on different rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import nan
from typing import Any

import numpy as np


def jaccard(sets: Sequence[Any]) -> float:
    """The mean Jaccard index of all pairs of sets of columns: 1 if all are equal, 0 if none overlap.

    Two empty sets count as the same. Sets that are large for the number of columns overlap by chance; `stability` is
    corrected for that.

    Examples
    --------
    >>> from sureline.selection import jaccard
    >>> jaccard([[0, 1, 2], [1, 2, 3]])
    0.5
    """
    columns = _checked(sets)
    shares = []
    for a, b in combinations(columns, 2):
        both = len(np.intersect1d(a, b, assume_unique=True))
        shares.append(both / (len(a) + len(b) - both) if len(a) + len(b) else 1.0)
    return float(np.mean(shares))


def stability(sets: Sequence[Any], n_columns: int) -> float:
    """The stability of Nogueira, Sechidis & Brown: 1 if all sets are equal, 0 on average if they are random.

    "On the stability of feature selection algorithms", JMLR 18, 2018, definition 4: 1 less the mean over the columns of
    the variance of being in a set, divided by what that mean would be for random sets of as many columns. It can be
    negative, down to -1 / (number of sets - 1). It is NaN if every set has all columns, or none has any.

    Examples
    --------
    >>> from sureline.selection import stability
    >>> stability([[0, 1], [0, 1], [0, 1]], 10)
    1.0
    >>> stability([[0, 1], [2, 3]], 4)
    -1.0
    """
    columns = _checked(sets)
    n_sets = len(columns)
    share = sum(map(len, columns)) / (n_sets * n_columns)
    if not 0 < share < 1:
        return nan
    frequencies = np.unique(np.concatenate(columns), return_counts=True)[1] / n_sets
    variance = n_sets / (n_sets - 1) * float((frequencies * (1 - frequencies)).sum()) / n_columns
    return 1 - variance / (share * (1 - share))


def _checked(sets: Sequence[Any]) -> list[Any]:
    if len(sets) < 2:
        raise ValueError(f"It takes at least 2 sets to compare them. Got {len(sets)}.")
    return [np.unique(np.asarray(columns, dtype=np.int64)) for columns in sets]

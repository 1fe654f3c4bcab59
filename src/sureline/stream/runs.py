"""Label runs: rows whose equal labels come in longer runs than in random order.

Of N rows in random order, n of them with some label, the number of runs of that label has the hypergeometric
distribution of n draws from N, among which N - n + 1 are counted (Wald and Wolfowitz, 1940). Each label is looked at,
and the rate of false alarms is shared out among them. Counts of rows and runs add up over the pieces of a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, lgamma
from typing import Any

import numpy as np
import numpy.typing as npt

RATE = 1e-6  # of false alarms: data sets in random order that are said to have label runs, at most
SHARE = 0.8  # of the changes to be expected: with more than these the runs are too short to matter

_FEW = 8  # classes


class LabelRunsWarning(UserWarning):
    """Warns that rows come in runs of their labels, which an online learner follows and then forgets."""


class LabelRuns:
    """Rows and runs of each label along a stream."""

    def __init__(self, seen: Sequence[int] = (), runs: Sequence[int] = (), last: int = -1) -> None:
        self.seen, self.runs = np.array(seen, np.int64), np.array(runs, np.int64)
        self.last = last  # label of the latest row; -1 before the first

    @classmethod
    def of(cls, labels: npt.NDArray[Any]) -> LabelRuns:
        """Count the runs in these labels, integers from 0."""
        runs = cls()
        runs.add(labels)
        return runs

    def add(self, labels: npt.NDArray[Any]) -> None:
        """The labels of the rows that come next, integers from 0."""
        if len(labels) == 0:
            return
        n = max(len(self.seen), int(labels.max()) + 1)
        begins = labels[1:] != labels[:-1]
        if n <= _FEW:  # avoids sorting rows into classes, which costs more than a pass for each class
            of_class = [labels == k for k in range(n)]
            seen = np.array([np.count_nonzero(here) for here in of_class])
            runs = np.array([np.count_nonzero(here[1:] & begins) for here in of_class])
        else:
            seen, runs = np.bincount(labels, minlength=n), np.bincount(labels[1:][begins], minlength=n)
        self.seen = np.pad(self.seen, (0, n - len(self.seen))) + seen
        self.runs = np.pad(self.runs, (0, n - len(self.runs))) + runs
        first = int(labels[0])
        self.runs[first] += first != self.last
        self.last = int(labels[-1])

    @property
    def rows(self) -> int:
        return int(self.seen.sum())

    @property
    def changes(self) -> int:
        """The number of rows whose label differs from that of the row before."""
        return max(int(self.runs.sum()) - 1, 0)

    @property
    def expected(self) -> float:
        """The expected number of changes of these rows in random order."""
        return max(float((self.seen * (self.rows - self.seen + 1)).sum()) / max(self.rows, 1) - 1, 0.0)

    @property
    def found(self) -> bool:
        """True if there are label runs; for rows in random order with a probability of at most `RATE`."""
        if self.changes >= SHARE * self.expected:
            return False
        pairs = [(int(n), int(r)) for n, r in zip(self.seen, self.runs, strict=True) if n]
        return any(tail(self.rows, n, r) <= RATE / len(pairs) for n, r in pairs)

    @property
    def by_label(self) -> bool:
        """True if each label is a single run: of rows that were sorted by it, and are no stream in time."""
        return self.rows > 0 and bool((self.runs <= 1).all())

    def in_words(self, what: str = "The label changes") -> str:
        """The finding in a clause."""
        changes = "once" if self.changes == 1 else f"{self.changes:,} times"
        return (
            f"{what} {changes} in {self.rows:,} rows, where it would "
            f"about {round(self.expected):,} times in random order"
        )

    def to_dict(self) -> dict[str, Any]:
        """The counts, for JSON."""
        return {"rows": self.rows, "changes": self.changes, "expected": self.expected, "found": self.found}


def tail(rows: int, n: int, r: int) -> float:
    """An upper bound of the probability that n of `rows` rows in random order form r runs or fewer.

    The probabilities of r, r - 1 and so on fall at least as fast as a geometric series with the ratio of the first two.
    """
    gaps = rows - n + 1  # positions between the other rows, where a run can be
    ratio = r * (r - 1) / ((gaps - r + 1) * (n - r + 1))
    if ratio >= 1:
        return 1.0
    log = _log_choose(gaps, r) + _log_choose(n - 1, r - 1) - _log_choose(rows, n)
    return min(exp(min(log, 0.0)) / (1 - ratio), 1.0)


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)

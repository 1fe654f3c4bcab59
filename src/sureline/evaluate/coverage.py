"""Error against coverage: how many answers are wrong if only the surest rows are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .._inputs import Flags, Floats
from ..learners.abstention import Abstention, abstention_of
from ..learners.answers import Answers
from ..learners.learner import ClassLearner
from ..metrics import wilson
from .charts import Axis, Chart, Reference, Series

PROMISES = (0.005, 0.01, 0.02, 0.05)  # errors that are tried
_BINS, _STEEPEST = 4096, 16.0  # of log-odds
_SHARES = np.linspace(0.05, 1, 20)  # shares of the rows for which the error is told


class CoverageCurve:
    """Rows by their confidence, in bins of its log-odds, and how many of them were wrong."""

    def __init__(self) -> None:
        self.rows = np.zeros(_BINS, np.int64)
        self.wrong = np.zeros(_BINS, np.int64)

    def add(self, confidence: Floats, wrong: Flags) -> None:
        p = np.clip(confidence, 1e-12, 1 - 1e-12)
        odds = np.log(p) - np.log1p(-p)
        at = np.clip(((odds / _STEEPEST + 1) * (_BINS / 2)).astype(np.int64), 0, _BINS - 1)
        self.rows += np.bincount(at, minlength=_BINS)
        self.wrong += np.bincount(at[wrong], minlength=_BINS)

    def table(self) -> list[dict[str, float]]:
        """The error of the surest 5 %, 10 %, ... of the rows, with its 95 % interval, and the last confidence.

        Bins are answered as a whole, so the coverage is the next possible one.
        """
        rows, wrong = np.cumsum(self.rows[::-1]), np.cumsum(self.wrong[::-1])
        if rows[-1] == 0:
            return []
        at = np.unique(np.searchsorted(rows, _SHARES * rows[-1]))
        lower = ((_BINS - 1 - at) / (_BINS / 2) - 1) * _STEEPEST  # the low end of that bin
        return [
            _measured(int(rows[k]), int(wrong[k]), int(rows[-1])) | {"confidence": float(1 / (1 + np.exp(-odds)))}
            for k, odds in zip(at, lower, strict=True)
        ]


class Promises:
    """Promised errors, and the error that labelled rows show."""

    def __init__(self, learner: ClassLearner) -> None:
        self._learner = learner
        self._rules: list[Abstention] = [abstention_of(learner, max_error) for max_error in PROMISES]
        self._answered = np.zeros((len(PROMISES), 2), np.int64)  # rows, wrong ones
        self._rows = 0

    def add(self, answers: Answers, labelled: Flags, wrong: Flags) -> None:
        self._rows += int(labelled.sum())
        for sums, rule in zip(self._answered, self._rules, strict=True):
            kept = rule.answers(self._learner, answers.scores, answers.variances) & labelled
            sums += int(kept.sum()), int((kept & wrong).sum())

    def table(self) -> list[dict[str, float]]:
        """For each promised error: the share of answered rows, and the error among them."""
        return [
            {"max_error": rule.max_error} | _measured(int(n), int(wrong), self._rows)
            for rule, (n, wrong) in zip(self._rules, self._answered, strict=True)
        ]


def _measured(answered: int, wrong: int, rows: int) -> dict[str, Any]:
    low, high = wilson(wrong, answered)
    error = wrong / answered if answered else None
    return {"coverage": answered / max(rows, 1), "answered": answered, "error": error, "low": low, "high": high}


def error_against_coverage(result: Mapping[str, Any]) -> Chart:
    """Draw error against coverage from a result of `evaluate`: the error of the most confident share of rows."""
    curve, promises = result["coverage"]["curve"], [row for row in result["coverage"]["promises"] if row["answered"]]
    series = [
        Series(
            "the surest rows",
            [row["coverage"] for row in curve],
            [row["error"] for row in curve],
            markers=False,
            low=[row["low"] for row in curve],
            high=[row["high"] for row in curve],
        )
    ]
    if promises:
        series.append(
            Series(
                "promised errors",
                [row["coverage"] for row in promises],
                [row["error"] for row in promises],
                1,
                line=False,
                low=[row["low"] for row in promises],
                high=[row["high"] for row in promises],
                notes=[
                    f"{row['max_error']:.1%} promised, {row['error']:.2%} of {row['answered']:,} answers wrong"
                    for row in promises
                ],
            )
        )
    return Chart(
        "Error against coverage",
        Axis("coverage: share of rows answered", percent=True, limits=(0.0, 1.0)),
        Axis("error of the answers", percent=True),
        series,
        [Reference(f"{row['max_error']:.1%} promised", "y", row["max_error"]) for row in promises],
    )

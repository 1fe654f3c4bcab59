"""Answers compared with the labels that came back: how sure they were, alarms, and shadows beside the champion."""

from __future__ import annotations

import math
from typing import Any

import numpy.typing as npt

from .._inputs import Flags, Floats
from ..evaluate.coverage import CoverageCurve
from ..learners.alarms import Rises, What
from ..metrics import Z95, Calibration, wilson
from .sums import Stretches, packed, unpacked, whole

JSON = Any  # what the standard library's json writes

_MOST_ALARMS = 50


class Judged:
    """How sure answers were, and which were wrong, over some thousand labels."""

    def __init__(self) -> None:
        self.calibration, self.curve = Calibration(), CoverageCurve()
        self.answered = self.answered_wrong = 0

    def add(self, confidences: Floats, wrong: Flags, answered: Flags) -> None:
        self.calibration.add_confidence(confidences, ~wrong)
        self.curve.add(confidences, wrong)
        self.answered += int(answered.sum())
        self.answered_wrong += int((wrong & answered).sum())

    @classmethod
    def both(cls, one: Judged, other: Judged) -> Judged:
        made = cls()
        for part in (one, other):
            made.calibration.counts += part.calibration.counts
            made.calibration.right += part.calibration.right
            made.calibration.confidence += part.calibration.confidence
            made.curve.rows += part.curve.rows
            made.curve.wrong += part.curve.wrong
            made.answered += part.answered
            made.answered_wrong += part.answered_wrong
        return made

    def table(self, max_error: float | None) -> dict[str, JSON]:
        """As `evaluate` tells it, so that the same charts show it."""
        n = self.calibration.n
        promises = []
        if max_error is not None and n:
            low, high = wilson(self.answered_wrong, self.answered)
            error = self.answered_wrong / self.answered if self.answered else None
            shares = {"coverage": self.answered / n, "answered": self.answered, "error": error}
            promises = [{"max_error": max_error, **shares, "low": low, "high": high}]
        return {
            "labels": n,
            "expected_error": self.calibration.expected_error,
            "calibration": {"bins": self.calibration.table()},
            "coverage": {"curve": self.curve.table(), "promises": promises},
        }

    def to_state(self) -> dict[str, JSON]:
        arrays = (self.calibration.counts, self.calibration.right, self.calibration.confidence)
        return {
            "calibration": [packed(values) for values in arrays],
            "curve": [packed(self.curve.rows), packed(self.curve.wrong)],
            "answered": [self.answered, self.answered_wrong],
        }

    @classmethod
    def from_state(cls, state: Any) -> Judged:
        made = cls()
        counts, right, confidence = state["calibration"]
        made.calibration.counts = unpacked(counts, made.calibration.counts)
        made.calibration.right = unpacked(right, made.calibration.right)
        made.calibration.confidence = unpacked(confidence, made.calibration.confidence)
        rows, wrong = state["curve"]
        made.curve.rows, made.curve.wrong = unpacked(rows, made.curve.rows), unpacked(wrong, made.curve.wrong)
        made.answered, made.answered_wrong = map(whole, state["answered"])
        return made


class Alarms:
    """The latest alarms, and when they were noticed."""

    def __init__(self, rises: Rises) -> None:
        self.rises = rises
        self.noticed: list[float] = []

    def add(self, values: npt.NDArray[Any], now: float) -> None:
        if len(values):
            self.rises.add(values)
            self.noticed += [now] * (len(self.rises.alarms) - len(self.noticed))
            del self.rises.alarms[:-_MOST_ALARMS], self.noticed[:-_MOST_ALARMS]

    def table(self) -> list[dict[str, JSON]]:
        pairs = zip(self.rises.alarms, self.noticed, strict=True)
        return [{**alarm.to_dict(), "noticed": noticed} for alarm, noticed in pairs]

    def to_state(self) -> dict[str, JSON]:
        return {"rises": self.rises.to_dict(), "noticed": list(self.noticed)}

    @classmethod
    def from_state(cls, state: Any, what: What) -> Alarms:
        made = cls(Rises.from_dict(state["rises"], what))
        made.noticed = [float(value) for value in state["noticed"]]
        if len(made.noticed) != len(made.rises.alarms):
            raise ValueError("an alarm has no time")
        return made


class Shadow:
    """A model beside the champion, on the same labels."""

    def __init__(self, first: int) -> None:
        self.errors = Stretches(3, first)  # wrong; wrong of the champion; wrong of both

    def add(self, wrong: Flags, champion: Flags) -> None:
        self.errors.add(wrong, champion, wrong & champion)

    def table(self) -> dict[str, JSON]:
        """With the difference of the errors, and its 95 % interval from the rows on which the two differ."""
        n, (wrong, champion, both) = self.errors.rows, self.errors.sums.sum(axis=1).tolist()
        ends, labels, sums = self.errors.table()
        worse, better = wrong - both, champion - both
        difference = (wrong - champion) / n if n else 0.0
        spread = Z95 * math.sqrt(max(worse + better - (worse - better) ** 2 / n, 0.0)) / n if n else 0.0
        return {
            "labels": n,
            "wrong": int(wrong),
            "champion_wrong": int(champion),
            "difference": difference,
            "low": difference - spread,
            "high": difference + spread,
            "errors": {
                "to": ends.tolist(),
                "labels": labels.tolist(),
                "wrong": sums[0].astype(int).tolist(),
                "champion_wrong": sums[1].astype(int).tolist(),
            },
        }

    def to_state(self) -> dict[str, JSON]:
        return self.errors.to_state()

    @classmethod
    def from_state(cls, state: Any) -> Shadow:
        made = cls(0)
        made.errors = Stretches.from_state(state, 3)
        return made

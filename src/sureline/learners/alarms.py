"""Alarms along a stream: mistakes rise beyond chance, or rows differ from the training rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from .._native import _core

What = Literal["error", "unseen", "std"]
MOST = 1000  # alarms that are kept
_GAP = 320  # stretches of strange rows closer than this are joined


@dataclass(frozen=True)
class Alarm:
    """A stretch of a stream that differs from what came before.

    Attributes
    ----------
    what : {"error", "unseen", "std"}
        The error rises; features were never seen in training; scores are less sure than in training.
    first, last : int
        Its rows, counted from 1: where it began, about, and where it was noticed.
    before, after : float
        The error of the rows before, or what is to be expected; and that of the stretch.
    """

    what: What
    first: int
    last: int
    before: float
    after: float

    def __str__(self) -> str:
        rows = f"{self.first:,} to {self.last:,}"
        if self.what == "error":
            return f"The error rises beyond chance in rows {rows}: from {self.before:.2%} before to {self.after:.2%}."
        if self.what == "unseen":
            return (
                f"Rows {rows} differ from the training data: {self.after:.2%} of their features were never seen, and "
                f"at most {self.before:.2%} were to be expected."
            )
        return (
            f"Rows {rows} differ from the training data: {self.after:.2%} of their scores are less sure than 99 % of "
            "those in training."
        )

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "says": str(self)}


class Rises:
    """Finds where a mean rises beyond chance along a stream: core/alarms/rises.hpp.

    `values` are from 0 to 1, one a row. They are compared with those before, or with `expected` if that is known. How
    they come in batches makes no difference. On a stream that does not change there is less than one alarm in a million
    rows.
    """

    def __init__(self, what: What = "error", expected: float | None = None) -> None:
        self.what: What = what
        self.core = _core.Rises(-1.0 if expected is None else min(float(expected), 1.0))
        self.alarms: list[Alarm] = []

    def add(self, values: npt.NDArray[Any]) -> None:
        """The next rows."""
        values = np.ascontiguousarray(values, values.dtype if values.dtype == np.uint8 else np.float64)
        for first, last, before, after in self.core.add(values):
            latest = self.alarms[-1] if self.alarms else None
            if self.what != "error" and latest is not None and first - latest.last <= _GAP:
                n, m = latest.last - latest.first + 1, last - first
                mean = (n * latest.after + m * after) / (n + m)
                self.alarms[-1] = Alarm(self.what, latest.first, last, before, mean)
            elif len(self.alarms) < MOST:
                self.alarms.append(Alarm(self.what, first + 1, last, before, after))

    def to_dict(self) -> dict[str, Any]:
        """All that it takes to go on later."""
        told = [[a.first, a.last, a.before.hex(), a.after.hex()] for a in self.alarms]
        return {"what": self.what, "alarms": told, "numbers": [float(x).hex() for x in self.core.numbers]}

    @classmethod
    def from_dict(cls, values: Any, what: What = "error") -> Rises:
        """The watch of that kind that `to_dict` told of. ValueError if it cannot have been that."""
        if not isinstance(values, dict) or set(values) != {"what", "alarms", "numbers"} or values["what"] != what:
            raise ValueError("what it says of alarms is not that")
        rises = cls(what)
        try:
            numbers = np.array([float.fromhex(x) for x in values["numbers"]])
            rises.core = _core.Rises.restored(numbers)
            for first, last, before, after in values["alarms"]:
                if type(first) is not int or type(last) is not int or not 0 < first <= last:
                    raise ValueError("the rows of an alarm are none")
                rises.alarms.append(Alarm(what, first, last, float.fromhex(before), float.fromhex(after)))
        except (TypeError, OverflowError) as error:
            raise ValueError(f"its alarms are none: {error}") from None
        return rises


def in_words(alarms: Sequence[Alarm], most: int = 3) -> list[str]:
    """The first of them as sentences, and how many more there are."""
    said = [str(alarm) for alarm in alarms[:most]]
    more = len(alarms) - most
    if more > 0:
        said.append(f"{more:,} more such stretch{'es' if more > 1 else ''} follow.")
    return said

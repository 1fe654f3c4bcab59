"""Targets on a common scale: their centre is the first one, their unit the geometric mean of their steps so far.

A step is the difference of two targets that follow each other, if it is not 0. Few targets that are far off change its
geometric mean little. Sums are taken along the stream, one target after the other, so that they are the same bits
however it is cut.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import exp, isfinite, log
from typing import Any, NamedTuple

import numpy as np

from .._inputs import Floats


class Scaled(NamedTuple):
    """Targets as the core takes them."""

    targets: Floats
    told: Floats  # the same on the previous scale, by which predictions are judged
    units: Floats | None  # the factor of each prediction's loss; None for 1


@dataclass(frozen=True)
class TargetScale:
    """The shift and the divisor of a model's targets. Without an intercept there is no shift.

    `power` is the power of the unit in the loss; 0 if the step does not depend on the unit, and nothing is divided.
    """

    centred: bool = False
    power: int = 0
    n: int = 0
    first: float = 0.0
    last: float = 0.0
    steps: int = 0
    logs: float = 0.0  # of the sizes of the steps, in sum

    @property
    def centre(self) -> float:
        """The prediction for a score of 0."""
        return self.first if self.centred else 0.0

    @property
    def unit(self) -> float:
        """The difference that a score of 1 makes."""
        return exp(self.logs / self.steps) if self.steps else 1.0

    def after(self, targets: Floats, weight: Floats | None) -> tuple[TargetScale, Scaled]:
        """The scale after these targets in order, and the targets on it. Targets of weight 0 do not count."""
        if self == TargetScale():
            return self, Scaled(targets, targets, None)
        come = slice(None) if weight is None or weight.all() else weight > 0
        y = targets[come]
        if len(y) == 0:
            return self, Scaled(targets, targets, None)
        with np.errstate(all="ignore"):
            scale, scaled = self._after(y)
        if not isfinite(scale.logs) or not all(np.isfinite(part).all() for part in scaled[:2]):
            raise ValueError("The targets are too large, or lie too far apart; scale y to values of the order of 1.")
        if len(y) == len(targets):
            return scale, scaled
        spread = [np.zeros(len(targets)) for _ in range(3)]
        for room, part in zip(spread, scaled, strict=True):
            room[come] = 1.0 if part is None else part
        return scale, Scaled(*spread)

    def _after(self, y: Floats) -> tuple[TargetScale, Scaled]:
        first = self.first if self.n else float(y[0])
        centre = first if self.centred else 0.0
        d = y - centre
        scale = replace(self, n=self.n + len(y), first=first)
        before = np.full(len(y), centre)
        before[0] = self.centre  # 0 before the first target
        if not self.power:
            return scale, Scaled(d, y - before, None)
        sizes = np.abs(np.diff(y, prepend=self.last if self.n else y[0]))
        moved = sizes > 0
        # One by one: NumPy's logarithm may give other bits in a longer array.
        logs = _running(self.logs, np.array([log(size) if size > 0 else 0.0 for size in sizes.tolist()]))
        steps = self.steps + np.concatenate([[0], np.cumsum(moved)])
        means = (logs / np.maximum(steps, 1)).tolist()
        units = np.array([exp(mean) for mean in means])  # 1 before the first step
        scale = replace(scale, last=float(y[-1]), steps=int(steps[-1]), logs=float(logs[-1]))
        return scale, Scaled(d / units[1:], (y - before) / units[:-1], units[:-1] ** self.power)

    def back(self, scores: Any) -> Any:
        """Predictions in the units of the targets."""
        return scores if self == TargetScale() else self.centre + self.unit * scores

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, value: Any) -> TargetScale:
        """The inverse of `to_dict`. ValueError for any other value."""
        kinds = {name: type(part) for name, part in cls().to_dict().items()}
        if not isinstance(value, dict) or {name: type(part) for name, part in value.items()} != kinds:
            raise ValueError("the scale of the targets is none")
        if not all(map(isfinite, value.values())) or value["power"] not in (0, 1, 2):
            raise ValueError("the scale of the targets is none")
        if not 0 <= value["steps"] <= value["n"] or abs(value["logs"]) > 1000 * value["steps"]:
            raise ValueError("the scale of the targets is none")
        return cls(**value)


def _running(before: float, parts: Floats) -> Floats:
    """Cumulative sums with the previous one in front, added one after the other."""
    return np.cumsum(np.concatenate([[before], parts]))

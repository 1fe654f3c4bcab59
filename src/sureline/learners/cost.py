"""What a mistake costs, by the class it is made on."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Any

from .one import OnlineLearner


@dataclass(eq=False, repr=False, kw_only=True)
class CostSensitiveLearner(OnlineLearner):
    """Base of the learners with a `cost`."""

    cost: Any = None

    def check_parameters(self) -> None:
        super().check_parameters()
        _ = self.costs  # refuses what is no cost

    @property
    def costs(self) -> tuple[float, float] | None:
        if self.cost is None:
            return 1.0, 1.0
        if isinstance(self.cost, str) and self.cost == "balanced":
            return None
        pair = list(self.cost) if isinstance(self.cost, tuple | list) else []
        if len(pair) != 2 or not all(is_cost(c) for c in pair):
            raise ValueError(
                f"The 'cost' parameter of {type(self).__name__} must be None, 'balanced' or a pair of positive "
                f"numbers, the cost of a missed positive and that of a false alarm. Got {self.cost!r} instead."
            )
        positive, negative = pair
        return float(negative), float(positive)

    def _refuse_classes(self, n_classes: int) -> None:
        super()._refuse_classes(n_classes)
        costs = self.costs
        if n_classes > 2 and self.multi_class == "native" and costs is not None and costs[0] != costs[1]:
            raise ValueError(
                f"The 'cost' parameter of {type(self).__name__} is a pair of unequal costs, {self.cost!r}, which needs "
                f"two classes or multi_class='ovr'. Got {n_classes} classes and multi_class='native'; "
                "cost='balanced' works with any number of classes."
            )

    def _refuse_unnamed_classes(self) -> None:
        costs = self.costs
        if costs is not None and costs[0] != costs[1]:
            raise ValueError(
                f"The 'cost' parameter of {type(self).__name__} is a pair of unequal costs, {self.cost!r}, which needs "
                "classes=[...] in the first call of partial_fit, growing=True or not: the second of them in sorted "
                "order is the positive one, and without them it would be the one that happens to come second."
            )


def is_cost(value: Any) -> bool:
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return isfinite(value) and float(value) > 0
    except OverflowError:
        return False

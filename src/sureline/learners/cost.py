"""The costs of mistakes, by the class they are made on."""

from __future__ import annotations

from math import isfinite
from numbers import Real
from typing import Any

Pair = tuple[float, float]  # of a negative and of a positive example


class LabelCosts:
    """How the costs of the labels follow from a learner's parameters. Here all costs are 1."""

    remedy = ""  # advice for more than two classes
    reason = ""  # why classes must be named

    def pair(self, learner: Any) -> Pair | None:
        """Costs of a mistake on a negative and a positive example; None to balance them along the stream."""
        return 1.0, 1.0

    def uneven(self, learner: Any) -> str | None:
        """The parameters that treat the two classes differently, in words; None if they do not."""
        return None

    def refuse_classes(self, learner: Any, n_classes: int) -> None:
        """Raise ValueError if two classes differ, and there are more."""
        if n_classes > 2 and learner.multi_class == "native" and (uneven := self.uneven(learner)) is not None:
            raise ValueError(
                f"{uneven}, which needs two classes or multi_class='ovr'. Got {n_classes} classes and "
                f"multi_class='native'{self.remedy}."
            )

    def refuse_unnamed(self, learner: Any) -> None:
        """Raise ValueError if the positive class must be known from the start, and is not."""
        if (uneven := self.uneven(learner)) is not None:
            raise ValueError(
                f"{uneven}, which needs classes=[...] in the first call of partial_fit, growing=True or not: the "
                f"second of them in sorted order is the positive one{self.reason}."
            )


class CostParameter(LabelCosts):
    """The parameter `cost`: None, "balanced", or the costs of a positive and of a negative example."""

    remedy = "; cost='balanced' works with any number of classes"
    reason = ", and without them it would be the one that happens to come second"

    def pair(self, learner: Any) -> Pair | None:
        cost = learner.cost
        if cost is None:
            return 1.0, 1.0
        if isinstance(cost, str) and cost == "balanced":
            return None
        pair = list(cost) if isinstance(cost, tuple | list) else []
        if len(pair) != 2 or not all(is_cost(c) for c in pair):
            raise ValueError(
                f"The 'cost' parameter of {type(learner).__name__} must be None, 'balanced' or a pair of positive "
                f"numbers, the cost of a missed positive and that of a false alarm. Got {cost!r} instead."
            )
        positive, negative = pair
        return float(negative), float(positive)

    def uneven(self, learner: Any) -> str | None:
        costs = self.pair(learner)
        if costs is None or costs[0] == costs[1]:
            return None
        return f"The 'cost' parameter of {type(learner).__name__} is a pair of unequal costs, {learner.cost!r}"


class MarginParameters(LabelCosts):
    """The parameters `margin_pos` and `margin_neg`: the number that goes with a label is the margin it should have."""

    def pair(self, learner: Any) -> Pair:
        return float(learner.margin_neg), float(learner.margin_pos)

    def uneven(self, learner: Any) -> str | None:
        if learner.margin_pos == learner.margin_neg:
            return None
        return (
            f"The 'margin_pos' and 'margin_neg' parameters of {type(learner).__name__} differ, "
            f"{learner.margin_pos!r} and {learner.margin_neg!r}"
        )


def is_cost(value: Any) -> bool:
    """True for a positive number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return isfinite(value) and float(value) > 0
    except OverflowError:
        return False


EVEN, COST, MARGINS = LabelCosts(), CostParameter(), MarginParameters()

"""Metrics of a run by its mistakes or its probabilities, with their standard errors.

Those by mistakes are the mean of a loss over the examples, sum_k w_k (mistakes of class k) / n. They differ in the
weights alone: w_k = 1 for the error, the cost of a mistake on class k for the mean cost, and n / (K n_k) for 1 minus
the balanced accuracy over the K classes that came. So one test compares runs by any of them. Metrics by probabilities
(log_loss, brier, auc) come from the record of progressive predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import get_args

import numpy as np

from .._inputs import Floats, Ints
from ..learners.calibration import Quality
from ..learners.cost import is_cost
from ..metrics import Z95, wilson
from ..models.model import Model
from ..models.numbers import MISTAKES, SEEN
from ..models.record import is_empty
from .result import MetricName

Counts = Ints  # of each class

OF_RECORD = ("log_loss", "brier", "auc")
RISING = ("balanced_accuracy", "auc")  # the more, the better


@dataclass(frozen=True)
class Metric:
    """The measure that decides a tournament, and the costs of a missed positive and a false alarm."""

    name: MetricName = "error"
    cost: tuple[float, float] = (1.0, 1.0)

    def __post_init__(self) -> None:
        if self.name not in get_args(MetricName):
            raise ValueError(f"The metric must be one of {', '.join(get_args(MetricName))}. Got {self.name!r} instead.")
        pair = self.cost
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(is_cost(c) for c in pair):
            raise ValueError(
                f"The cost must be a pair of positive numbers, of a missed positive and of a false alarm. Got {pair!r}."
            )

    @property
    def of_record(self) -> bool:
        """True if probabilities decide, rather than mistakes."""
        return self.name in OF_RECORD

    def weights(self, seen: Counts) -> Floats:
        """Weight of a mistake on each class, after that many examples of each."""
        if self.name == "cost":
            return self.costs(len(seen))
        if self.name == "error" or self.of_record:
            return np.ones(len(seen))
        came = seen > 0
        weights: Floats = np.zeros(len(seen))
        weights[came] = seen.sum() / (came.sum() * seen[came])
        return weights

    def costs(self, n_classes: int) -> Floats:
        """Cost of a mistake on each class. Of two classes the second is positive; with more classes all costs are 1."""
        positive, negative = self.cost
        return np.array([negative, positive]) if n_classes == 2 else np.ones(n_classes)

    def loss(self, seen: Counts, mistakes: Counts) -> float:
        """The mean of an example, by the examples of each class and the mistakes on them."""
        known = mistakes[: len(seen)]
        return float((self.weights(seen)[: len(known)] * known).sum()) / max(int(seen.sum()), 1)

    def loss_of(self, model: Model) -> float:
        """The mean loss per example, by the model's counts or record."""
        if self.of_record:
            found = quality(model, self.name)
            return inf if found is None else 1 - found[0] if self.name in RISING else found[0]
        return self.loss(model.tally[:, SEEN], model.tally[:, MISTAKES])

    def value(self, loss: float) -> float:
        """The metric of a mean loss."""
        return 1 - loss if self.name in RISING else loss


def quality(model: Model, metric: str) -> tuple[float, float] | None:
    """A probability metric of a model, and its standard error; None without a record."""
    if model.record is None or is_empty(model.record):
        return None
    value, error = getattr(Quality.of(model.record, model.n_heads), metric)
    return float(value), float(error)


@dataclass(frozen=True)
class Measures:
    """The metrics of a run with their standard errors."""

    error: float
    error_se: float
    error_interval: tuple[float, float]
    balanced_accuracy: float
    balanced_accuracy_se: float
    cost: float
    cost_se: float

    @classmethod
    def of(cls, seen: Counts, mistakes: Counts, metric: Metric) -> Measures:
        """Measures from the examples of each class and the mistakes on them.

        The error is a share of independent trials, as far as its standard error goes: sqrt(p (1 - p) / n). A run gets
        better as it goes, which makes it smaller, so this is on the safe side. That of the cost is the same with the
        variance of the cost of an example. That of the balanced accuracy is the one of a mean of independent shares,
        the recalls, each with its own p (1 - p) / n. The interval is Wilson's.
        """
        n = max(int(seen.sum()), 1)
        p = float(mistakes.sum()) / n
        costs = metric.costs(len(seen))
        cost = float((costs * mistakes).sum()) / n
        came = seen > 0
        rates = mistakes[came] / seen[came]
        K = max(int(came.sum()), 1)
        return cls(
            error=p,
            error_se=sqrt(p * (1 - p) / n),
            error_interval=wilson(int(mistakes.sum()), n),
            balanced_accuracy=1 - float(rates.sum()) / K,
            balanced_accuracy_se=sqrt(float((rates * (1 - rates) / seen[came]).sum())) / K,
            cost=cost,
            cost_se=sqrt(max(float((costs**2 * mistakes).sum()) / n - cost**2, 0.0) / n),
        )

    def score(self, metric: MetricName) -> tuple[float, float]:
        """The value of a metric, and its standard error."""
        value, se = getattr(self, metric), getattr(self, metric + "_se")
        return float(value), float(se)


_ENOUGH_BLOCKS = 8


def tied(at: Ints, losses: Floats, squares: Floats) -> bool:
    """True if a run cannot be told from another at 95 %, by their differences from block to block.

    Parameters
    ----------
    at : array of shape (n_points,)
        The numbers of examples after which a block ends.
    losses : array of shape (n_points,)
        By how much the run's loss exceeds the other's until then.
    squares : array of shape (n_points,)
        The sum of both's squared losses until then: the variance of the difference is less.

    Notes
    -----
    A block of m examples has a difference d with the mean m delta and the variance m s^2, s^2 being estimated by
    sum (d - m delta)^2 / m over the blocks. The difference of all is compared with Student's t. Fewer than 8 blocks say
    little of s^2, and the bound stands for it.
    """
    sizes = np.diff(at, prepend=0).astype(np.float64)
    blocks = np.diff(losses, prepend=0.0)
    n, gap = float(at[-1]), float(losses[-1])
    late = sizes >= 8  # the first ones are of single examples
    if late.sum() < _ENOUGH_BLOCKS:
        return abs(gap) <= Z95 * sqrt(float(squares[-1]))
    from scipy.special import stdtrit

    rest = blocks[late] - sizes[late] * gap / n
    variance = float((rest**2 / sizes[late]).sum()) / (int(late.sum()) - 1)
    return abs(gap) <= float(stdtrit(int(late.sum()) - 1, 0.975)) * sqrt(variance * n)

"""Label budgets: which rows of a stream a learner asks the label of (docs/guide/label-budget.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._inputs import Floats, is_integer, is_number
from .._native import _core
from ..models.record import Outcomes

if TYPE_CHECKING:
    from .learner import ClassLearner, Learner

_NUMBERS = ("rate", "random", "seed", "rows", "asked", "total", "wrong")
_RANDOM = 0.25  # of the budget


def certainty(scores: Floats, variances: Floats | None) -> Floats:
    """The certainty of each row: the margin of its class over the next, in standard deviations if known."""
    if scores.shape[1] == 1:
        margin = np.abs(scores[:, 0])
        v = None if variances is None else variances[:, 0]
    else:
        two = np.argpartition(-scores, 1, axis=1)[:, :2]
        best = np.take_along_axis(scores, two, axis=1)
        margin = np.abs(best[:, 0] - best[:, 1])
        v = None if variances is None else np.take_along_axis(variances, two, axis=1).sum(axis=1)
    if v is None:
        return margin
    std = np.sqrt(v)
    return np.divide(margin, std, out=np.where(margin > 0, np.inf, 0.0), where=std > 0)


def certainty_below(record: Floats, rate: float) -> float | None:
    """The certainty that a share `rate` of the recorded predictions does not exceed; None if there are none.

    Within a cell of the record, certainty is taken to be uniform over the octave of its standard deviation.
    """
    outcomes = Outcomes.of(record)
    weight = outcomes.negative + outcomes.positive
    if not weight.sum() > 0:
        return None
    sure = np.abs(outcomes.score)
    if outcomes.has_std:
        spread = 2.0 ** np.linspace(-0.45, 0.45, 10)
        sure, weight = np.outer(sure / outcomes.std, spread).ravel(), np.repeat(weight / len(spread), len(spread))
    order = np.argsort(sure)
    below = np.cumsum(weight[order])
    at = int(np.searchsorted(below, rate * below[-1]))
    return float(sure[order[min(at, len(order) - 1)]])


def wanted(learner: ClassLearner, scores: Floats, variances: Floats | None, rate: float) -> npt.NDArray[np.bool_]:
    """True for the rows less sure than all but a share `rate` of the recorded predictions.

    Without a record, True for the least sure share `rate` of these rows.
    """
    sure = certainty(*learner.as_recorded(scores, variances))
    record = learner.model.record
    most = None if record is None else certainty_below(record, rate)
    if most is None:
        most = float(np.sort(sure)[max(int(np.ceil(rate * len(sure))) - 1, 0)]) if len(sure) else 0.0
    return np.asarray(sure <= most)


def checked_rate(rate: Any, name: str = "ask") -> float:
    """The share as a float; ValueError if it is not a share of the labels."""
    if not is_number(rate) or not 0 < rate <= 1:
        raise ValueError(f"{name} must be the share of the labels to ask for, above 0 and at most 1. Got {rate!r}.")
    return float(rate)


def refuse_asking(learner: Learner, asking: Asking | None) -> Asking | None:
    """Check a budget. ValueError if the learner cannot choose its labels, or makes more than one pass."""
    if asking is None:
        return None
    if getattr(learner, "passes", 1) > 1:
        raise ValueError("ask is for one pass over the rows: passes must be 1.")
    refuse = getattr(learner, "refuse_asking", None)
    if refuse is None:
        raise ValueError(
            f"ask is for classifiers that learn from one row after the other, and {type(learner).__name__} is none."
        )
    refuse()
    return asking


class Asking:
    """A budget of labels along a stream: of any number of rows at its beginning, at most a share `rate` is asked for.

    Most of it is spent on the least sure of the latest rows, and a part on random rows. A label that was asked for with
    probability p gets the weight 1 / p. With these weights the labels are a fair sample of the stream. The same seed
    and rows give the same choices.
    """

    def __init__(self, rate: float, seed: int = 0, *, random: float = _RANDOM) -> None:
        if not is_integer(seed) or not 0 <= seed < 1 << 63:
            raise ValueError(f"The seed must be an integer from 0 to 2^63 - 1. Got {seed!r}.")
        self.core = _core.Asker(checked_rate(rate), int(seed), random)

    @property
    def rate(self) -> float:
        return self.core.numbers[0]

    @property
    def seed(self) -> int:
        return self.core.numbers[2]

    @property
    def rows(self) -> int:
        """Number of rows seen; rows of weight 0 do not count."""
        return self.core.numbers[3]

    @property
    def asked(self) -> int:
        """Labels that were asked for."""
        return self.core.numbers[4]

    @property
    def error(self) -> float | None:
        """The share of all rows that were predicted wrongly, estimated from the labels that were asked for."""
        total, wrong = self.core.numbers[5:]
        return wrong / total if total else None

    def next(self, certainty: float) -> float:
        """The probability with which the next row's label is asked for; 0 if it is not."""
        return self.core.next(certainty)

    def told(self, wrong: bool, probability: float) -> None:
        """A label came that was asked for with this probability."""
        self.core.told(bool(wrong), 1 / probability)

    def to_dict(self) -> dict[str, Any]:
        """All that it takes to go on later."""
        numbers = dict(zip(_NUMBERS, self.core.numbers, strict=True))
        return {**numbers, "latest": [float(u).hex() for u in self.core.latest]}

    @classmethod
    def from_dict(cls, values: Any) -> Asking:
        """The budget that `to_dict` told of. ValueError if it cannot have been that."""
        if not isinstance(values, Mapping) or set(values) != {*_NUMBERS, "latest"}:
            raise ValueError("what it says of the labels that were asked for is not that")
        kinds = (float, float, int, int, int, float, float)
        numbers = tuple(values[name] for name in _NUMBERS)
        latest = values["latest"]
        if [type(number) for number in numbers] != list(kinds) or not 0 <= numbers[2] < 1 << 63:
            raise ValueError("the counts of the labels that were asked for are no numbers")
        if any(abs(number) >= 1 << 62 for number in numbers[3:5]):
            raise ValueError("the counts of the labels that were asked for are too large")
        if not isinstance(latest, list) or not all(type(one) is str for one in latest):
            raise ValueError("the latest rows are no list of numbers")
        asking = cls.__new__(cls)
        asking.core = _core.Asker.restored(numbers, np.array([float.fromhex(one) for one in latest], np.float64))
        return asking

"""The sparse online learning framework: learners whose models stay small.

Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", compare them with the learners of
`sparse_descent`, and cite the older ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from .._native import _core
from ..rules import SCHEDULES
from .budget import BUDGETS, budget_of
from .cost import COST as COST_PARAMETER
from .docstrings import BUDGET, COMMON, COST, COVARIANCE, LOSS, documented
from .gaussian import GaussianLearner
from .grids import PRICES, RATES, STEPS_TO_TRY, Settings
from .online import OnlineLearner
from .parameters import LOSSES, NOT_NEGATIVE, POSITIVE, OneOf
from .sharding import COUNTED, Sharding, scheduled

_SCHEDULES = OneOf(*SCHEDULES)
_DEVIATES = """ Theorem 3 of
        the paper takes "1/t"; the default deviates from it, so that the sparsity that is asked for lasts."""
_SCHEDULE = """schedule : {{"constant", "1/t", "t"}}, default="constant"
        How lambda_t follows from `lam`: {factor}lam as it is, over t, or times t. With "1/t" the penalty fades as the
        stream goes on, so that a `lam` that still cuts at its end is of the order of the number of examples.{more}
    """


@documented(_SCHEDULE.format(factor="eta ", more="") + COST + LOSS + BUDGET + COMMON)
@dataclass(eq=False, repr=False)
class FSOL(OnlineLearner):
    """First-order sparse online learning, and CS-FSOL if there is a `cost`.

    Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", Algorithms 3 and 6.

    theta is the sum of the steps, theta -= eta c (gradient), and the weights are soft(theta, lambda_t). Truncated
    weights keep their theta.

    Parameters
    ----------
    eta : float, default=1/32
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty, which makes weights zero: try 1, then up to tenfold, or `max_nonzero` instead. 1 is the size of one
        step, so that less leaves nearly all weights. What more leaves depends on the data.
    {common}
    """

    algorithm: ClassVar[str] = "first-order sparse online learning, CS-FSOL"
    paper: ClassVar[str] = "Wang, Wu, Zhao & Hoi, Algorithms 3, 6"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0}

    cost: Any = field(default=None, kw_only=True)
    loss: str = LOSSES.default("hinge", kw_only=True)
    max_nonzero: int | None = BUDGETS.default(None, kw_only=True)
    eta: float = POSITIVE.default(1 / 32)
    lam: float = NOT_NEGATIVE.default(0.0)
    schedule: str = _SCHEDULES.default("constant")

    _label_costs = COST_PARAMETER
    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": RATES}
    settings_to_try: ClassVar[Settings] = STEPS_TO_TRY

    def _initial_scalars(self) -> dict[str, Any]:
        return budget_of(self)

    @property
    def sharding(self) -> Sharding | None:
        return scheduled(super().sharding, self.schedule)

    def _rule(self) -> _core.CoordinateRule:
        return _core.FSOL(self.eta, self.lam, SCHEDULES[self.schedule], _core.Loss[self.loss])


@documented(_SCHEDULE.format(factor="", more=_DEVIATES) + COST + LOSS + BUDGET + COVARIANCE)
@dataclass(eq=False, repr=False)
class SSOL(GaussianLearner):
    """Second-order sparse online learning, and CS-SSOL if there is a `cost`.

    Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", Algorithms 4, 5 and 7.

    S starts as the identity and absorbs every example before its label is predicted: S -= S x x'S / (r + x'Sx). theta
    is the sum of the steps: theta -= eta c (gradient). The weights are soft(S theta, lambda_t). So frequent features
    move less, and rare ones are not lost among them. A sample weight s counts the gradient s times, and S absorbs x
    with r / s.

    `predict` uses the weights as they are. Only the labels counted in `n_mistakes_` are predicted after S has absorbed
    the example, as in the paper.

    Parameters
    ----------
    eta : float, default=0.18
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty, which makes weights zero: try the value of `eta`, then up to tenfold, or `max_nonzero` instead. One
        step makes a weight of about eta, so that less leaves nearly all. What more leaves depends on the data.
    r : float, default=128.0
        The larger, the more slowly S shrinks.
    {common}
    """

    algorithm: ClassVar[str] = "second-order sparse online learning, CS-SSOL"
    paper: ClassVar[str] = "Wang, Wu, Zhao & Hoi, Algorithms 4, 5, 7"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0, "r": 1.0, "schedule": "1/t"}

    cost: Any = field(default=None, kw_only=True)
    loss: str = LOSSES.default("hinge", kw_only=True)
    max_nonzero: int | None = BUDGETS.default(None, kw_only=True)
    eta: float = POSITIVE.default(0.18)
    lam: float = NOT_NEGATIVE.default(0.0)
    r: float = POSITIVE.default(128.0)
    schedule: str = _SCHEDULES.default("constant")

    _label_costs = COST_PARAMETER
    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"r": (*PRICES, 64.0, 128.0), "eta": RATES}
    settings_to_try: ClassVar[Settings] = (
        {"r": 256.0, "eta": 2.0**-5, "normalize": "scale"},
        {"r": 16.0, "eta": 1.0, "normalize": "none"},
        {"r": 256.0, "eta": 1.0, "normalize": "row"},
        {"r": 64.0, "eta": 0.5, "normalize": "row"},
        {"r": 2.0**-4, "eta": 2.0, "normalize": "row"},
    )

    def _initial_scalars(self) -> dict[str, Any]:
        return budget_of(self)

    @property
    def sharding(self) -> Sharding | None:
        return scheduled(super().sharding, self.schedule)

    def _rule(self) -> _core.CoordinateRule:
        return _core.SSOL(
            self.eta, self.lam, self.r, SCHEDULES[self.schedule], self.covariance == "full", _core.Loss[self.loss]
        )

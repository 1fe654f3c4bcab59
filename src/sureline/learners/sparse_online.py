"""The sparse online learning framework: learners whose models stay small.

All but FTRL are compared in Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", as are
the dates and papers of the older ones. A round costs what the row has nonzeros, whatever the width of the model: the
truncation of a weight is computed when the weight is needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Any, ClassVar, cast

from .._native import _core
from ..models.numbers import Shape
from ..models.state import State
from ..rules import SCHEDULES
from .cost import CostSensitiveLearner
from .docstrings import BUDGET, COMMON, COST, COVARIANCE, LOSS, documented
from .gaussian import GaussianLearner
from .grids import PRICES, RATES, RATES_TO_TRY, STEPS, STEPS_TO_TRY, Settings
from .one import OnlineLearner
from .parameters import LOSSES, NOT_NEGATIVE, POSITIVE, Constraint, Number, OneOf

_SCHEDULES = OneOf(*SCHEDULES)
_LIMIT, _DELTA = _core.RoundColumn.limit.value, _core.RoundColumn.delta.value


@dataclass(eq=False, repr=False, kw_only=True)
class _FrameworkLearner(OnlineLearner):
    """A learner with a coordinate rule."""

    loss: str = "hinge"

    _constraints: ClassVar[dict[str, Constraint]] = {
        **OnlineLearner._constraints,
        "loss": LOSSES,
    }

    def _shape(self) -> Shape:
        return cast(_core.CoordinateRule, self._rule()).shape


@dataclass(eq=False, repr=False, kw_only=True)
class _BudgetedLearner(_FrameworkLearner):
    """A learner that takes a budget of nonzero weights in place of its penalty `lam`."""

    max_nonzero: int | None = None

    _constraints: ClassVar[dict[str, Constraint]] = {
        **_FrameworkLearner._constraints,
        "max_nonzero": Number(1, integer=True, optional=True),
    }

    def _initial_scalars(self) -> dict[str, Any]:
        lam = getattr(self, "lam", 0.0)
        if self.max_nonzero is not None and lam != 0:
            raise ValueError(
                f"The 'max_nonzero' parameter of {type(self).__name__} chooses the penalty, so 'lam' must be 0 with "
                f"it. Got max_nonzero={self.max_nonzero!r} and lam={lam!r}."
            )
        return {"max_nonzero": None if self.max_nonzero is None else min(int(self.max_nonzero), 1 << 48)}


@documented(LOSS + COMMON)
@dataclass(eq=False, repr=False)
class STG(_FrameworkLearner):
    """Stochastic gradient descent with truncated gradient.

    Langford, Li & Zhang, "Sparse online learning via truncated gradient", JMLR 10, 2009.

    w -= eta (gradient); every K-th example, each weight of size at most theta is drawn towards zero by K eta lam.

    Parameters
    ----------
    eta : float, default=1/32
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty: the larger, the fewer nonzero weights.
    K : int, default=10
        How many examples there are from one truncation to the next.
    theta : float, default=inf
        Weights beyond this size are not truncated.
    {common}
    """

    eta: float = 1 / 32
    lam: float = 0.0
    K: int = 10
    theta: float = inf

    _constraints: ClassVar[dict[str, Constraint]] = {
        **_FrameworkLearner._constraints,
        "eta": POSITIVE,
        "lam": NOT_NEGATIVE,
        "K": Number(1, integer=True),
        "theta": Number(0),
    }
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": RATES}
    settings_to_try: ClassVar[Settings] = STEPS_TO_TRY

    def _rule(self) -> _core.CoordinateRule:
        return _core.STG(self.eta, self.lam, self.K, self.theta, _core.Loss[self.loss])

    def _shaped_by(self, state: State) -> list[tuple[str, bool]]:
        # Truncations that are still to be applied go by it.
        return [*super()._shaped_by(state), ("theta", state.view is None or state.view[0, _LIMIT] == self.theta)]


@documented(LOSS + COMMON)
@dataclass(eq=False, repr=False)
class FOBOS(_FrameworkLearner):
    """Forward-backward splitting with an l1 penalty.

    Duchi & Singer, "Efficient online and batch learning using forward backward splitting", JMLR 10, 2009.

    With eta_t = eta / sqrt(t), every example: w <- soft(w - eta_t (gradient), eta_t lam).

    Parameters
    ----------
    eta : float, default=0.7
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty: the larger, the fewer nonzero weights.
    {common}
    """

    eta: float = 0.7
    lam: float = 0.0

    _constraints: ClassVar[dict[str, Constraint]] = {
        **_FrameworkLearner._constraints,
        "eta": POSITIVE,
        "lam": NOT_NEGATIVE,
    }
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": RATES}
    settings_to_try: ClassVar[Settings] = RATES_TO_TRY

    def _rule(self) -> _core.CoordinateRule:
        return _core.FOBOS(self.eta, self.lam, _core.Loss[self.loss])


@documented(LOSS + COMMON)
@dataclass(eq=False, repr=False)
class RDA(_FrameworkLearner):
    """Regularised dual averaging with an l1 penalty, and its enhanced form.

    Xiao, "Dual averaging methods for regularized stochastic learning and online optimization", JMLR 11, 2010.

    With g the mean of all gradients so far, w = -(sqrt(t) / gamma) soft(g, lam + gamma rho / sqrt(t)).

    Parameters
    ----------
    gamma : float, default=1.0
        How much the weights resist: the inverse of a learning rate.
    lam : float, default=0.0
        The penalty: the larger, the fewer nonzero weights.
    rho : float, default=0.0
        The enhancement of the threshold.
    {common}
    """

    gamma: float = 1.0
    lam: float = 0.0
    rho: float = 0.0

    _constraints: ClassVar[dict[str, Constraint]] = {
        **_FrameworkLearner._constraints,
        "gamma": POSITIVE,
        "lam": NOT_NEGATIVE,
        "rho": NOT_NEGATIVE,
    }
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"gamma": tuple(1 / eta for eta in RATES)}
    settings_to_try: ClassVar[Settings] = (
        {"gamma": 0.125, "normalize": "scale"},
        {"gamma": 2.0, "normalize": "scale"},
        {"gamma": 8.0, "normalize": "scale"},
        {"gamma": 0.25, "normalize": "none"},
        {"gamma": 4.0, "normalize": "none"},
    )

    def _rule(self) -> _core.CoordinateRule:
        return _core.RDA(self.gamma, self.lam, self.rho, _core.Loss[self.loss])


@documented(LOSS + COMMON)
@dataclass(eq=False, repr=False)
class AdaFOBOS(_FrameworkLearner):
    """FOBOS with adaptive learning rates.

    Duchi, Hazan & Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 12,
    2011.

    With G the sum of the squared gradients of a weight and H = delta + sqrt(G), every example:
    w <- soft(w - eta (gradient) / H, eta lam / H).

    Parameters
    ----------
    eta : float, default=0.35
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty: the larger, the fewer nonzero weights.
    delta : float, default=0.5
        What H starts from.
    {common}
    """

    eta: float = 0.35
    lam: float = 0.0
    delta: float = 0.5

    _constraints: ClassVar[dict[str, Constraint]] = {
        **_FrameworkLearner._constraints,
        "eta": POSITIVE,
        "lam": NOT_NEGATIVE,
        "delta": POSITIVE,
    }
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"delta": PRICES, "eta": RATES}
    settings_to_try: ClassVar[Settings] = (
        {"delta": 1.0, "eta": 2.0**-4, "normalize": "scale"},
        {"delta": 0.125, "eta": 0.125, "normalize": "scale"},
        {"delta": 2.0**-10, "eta": 0.5, "normalize": "scale"},
        {"delta": 0.5, "eta": 1.0, "normalize": "none"},
        {"delta": 2.0**-10, "eta": 0.5, "normalize": "row"},
    )

    def _rule(self) -> _core.CoordinateRule:
        return _core.AdaFOBOS(self.eta, self.lam, self.delta, _core.Loss[self.loss])

    def _shaped_by(self, state: State) -> list[tuple[str, bool]]:
        # Truncations that are still to be applied go by it.
        return [*super()._shaped_by(state), ("delta", state.view is None or state.view[0, _DELTA] == self.delta)]


@documented(LOSS + BUDGET + COMMON)
@dataclass(eq=False, repr=False)
class AdaRDA(_BudgetedLearner):
    """Dual averaging with adaptive learning rates.

    Duchi, Hazan & Singer, "Adaptive subgradient methods for online learning and stochastic optimization", JMLR 12,
    2011.

    With u the sum of the gradients, G that of their squares and H = delta + sqrt(G) for each weight,
    w = -(eta t / H) soft(u / t, lam).

    Parameters
    ----------
    eta : float, default=0.35
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty: the larger, the fewer nonzero weights.
    delta : float, default=0.5
        What H starts from.
    {common}
    """

    eta: float = 0.35
    lam: float = 0.0
    delta: float = 0.5

    _constraints: ClassVar[dict[str, Constraint]] = {
        **_BudgetedLearner._constraints,
        "eta": POSITIVE,
        "lam": NOT_NEGATIVE,
        "delta": POSITIVE,
    }
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"delta": PRICES, "eta": RATES}
    settings_to_try: ClassVar[Settings] = (
        {"delta": 1.0, "eta": 2.0**-4, "normalize": "scale"},
        {"delta": 0.5, "eta": 0.125, "normalize": "scale"},
        {"delta": 0.125, "eta": 0.5, "normalize": "scale"},
        {"delta": 1.0, "eta": 1.0, "normalize": "none"},
        {"delta": 2.0**-10, "eta": 0.5, "normalize": "row"},
    )

    def _rule(self) -> _core.CoordinateRule:
        return _core.AdaRDA(self.eta, self.lam, self.delta, _core.Loss[self.loss])


@documented(LOSS.replace('"hinge"\n', '"log"\n').replace(" The hinge is what the paper uses.", "") + COMMON)
@dataclass(eq=False, repr=False)
class FTRL(_FrameworkLearner):
    """Follow the (proximally) regularised leader.

    McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013, Algorithm 1.

    For each weight n is the sum of the squared gradients g, and z that of g - sigma w with
    sigma = (sqrt(n + g^2) - sqrt(n)) / alpha. The weight is -soft(z, l1) / ((beta + sqrt(n)) / alpha + l2). The
    intercept has no l1.

    Parameters
    ----------
    alpha : float, default=0.25
        The learning rate. It depends on the scale of X: for rows of unit length try 1.
    beta : float, default=0.125
        How slowly the learning rate begins to fall.
    l1 : float, default=0.0
        The penalty that makes weights zero.
    l2 : float, default=0.0
        The penalty that makes them small.
    {common}
    """

    alpha: float = 0.25
    beta: float = 0.125
    l1: float = 0.0
    l2: float = 0.0
    loss: str = field(default="log", kw_only=True)

    _constraints: ClassVar[dict[str, Constraint]] = {
        **_FrameworkLearner._constraints,
        "alpha": POSITIVE,
        "beta": POSITIVE,
        "l1": NOT_NEGATIVE,
        "l2": NOT_NEGATIVE,
    }
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"alpha": STEPS, "beta": (0.125, 1.0)}
    settings_to_try: ClassVar[Settings] = (
        {"alpha": 2.0**-4, "beta": 1.0, "normalize": "scale"},
        {"alpha": 0.5, "beta": 0.125, "normalize": "scale"},
        {"alpha": 1.0, "beta": 0.125, "normalize": "none"},
        {"alpha": 2.0**-6, "beta": 0.125, "normalize": "none"},
        {"alpha": 1.0, "beta": 2.0**-6, "normalize": "row"},
    )

    def _rule(self) -> _core.CoordinateRule:
        return _core.FTRL(self.alpha, self.beta, self.l1, self.l2, _core.Loss[self.loss])


_SCHEDULE = """schedule : {{"constant", "1/t", "t"}}, default={default}
        How lambda_t follows from `lam`: {factor}lam as it is, over t, or times t. With "1/t" the penalty fades as the
        stream goes on, so that a `lam` that still cuts at its end is of the order of the number of examples.
    """


@documented(_SCHEDULE.format(default='"constant"', factor="eta ") + COST + LOSS + BUDGET + COMMON)
@dataclass(eq=False, repr=False)
class FSOL(_BudgetedLearner, CostSensitiveLearner):
    """First-order sparse online learning, and CS-FSOL if there is a `cost`.

    Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", Algorithms 3 and 6.

    theta is the sum of the steps, theta -= eta c (gradient), and the weights are soft(theta, lambda_t). What the
    truncation hides is not lost.

    Parameters
    ----------
    eta : float, default=1/32
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty: the larger, the fewer nonzero weights.
    {common}
    """

    eta: float = 1 / 32
    lam: float = 0.0
    schedule: str = "constant"

    _constraints: ClassVar[dict[str, Constraint]] = {
        **_BudgetedLearner._constraints,
        **CostSensitiveLearner._constraints,
        "eta": POSITIVE,
        "lam": NOT_NEGATIVE,
        "schedule": _SCHEDULES,
    }
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": RATES}
    settings_to_try: ClassVar[Settings] = STEPS_TO_TRY

    def _rule(self) -> _core.CoordinateRule:
        return _core.FSOL(self.eta, self.lam, SCHEDULES[self.schedule], _core.Loss[self.loss])


@documented(_SCHEDULE.format(default='"1/t"', factor="") + COST + LOSS + BUDGET + COVARIANCE)
@dataclass(eq=False, repr=False)
class SSOL(_BudgetedLearner, CostSensitiveLearner, GaussianLearner):
    """Second-order sparse online learning, and CS-SSOL if there is a `cost`.

    Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", Algorithms 4, 5 and 7.

    S starts as the identity and absorbs every example, S -= S x x'S / (r + x'Sx), before its label is predicted. theta
    is the sum of the steps, theta -= eta c (gradient), and the weights are soft(S theta, lambda_t): frequent features
    move less, and rare ones are not lost among them. A sample weight s counts the gradient s times, and S absorbs x
    with r / s.

    `predict` uses the weights as they are; only the labels counted in `n_mistakes_` were predicted after S had absorbed
    the example itself, as the paper has it.

    Parameters
    ----------
    eta : float, default=0.18
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty: the larger, the fewer nonzero weights.
    r : float, default=128.0
        How much S resists: the larger, the more slowly it shrinks.
    {common}
    """

    eta: float = 0.18
    lam: float = 0.0
    r: float = 128.0
    schedule: str = "1/t"

    _constraints: ClassVar[dict[str, Constraint]] = {
        **GaussianLearner._constraints,
        **CostSensitiveLearner._constraints,
        **_BudgetedLearner._constraints,
        "eta": POSITIVE,
        "lam": NOT_NEGATIVE,
        "r": POSITIVE,
        "schedule": _SCHEDULES,
    }
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"r": (*PRICES, 64.0, 128.0), "eta": RATES}
    settings_to_try: ClassVar[Settings] = (
        {"r": 256.0, "eta": 2.0**-5, "normalize": "scale"},
        {"r": 16.0, "eta": 1.0, "normalize": "none"},
        {"r": 256.0, "eta": 1.0, "normalize": "row"},
        {"r": 64.0, "eta": 0.5, "normalize": "row"},
        {"r": 2.0**-4, "eta": 2.0, "normalize": "row"},
    )

    def _rule(self) -> _core.CoordinateRule:
        return _core.SSOL(
            self.eta, self.lam, self.r, SCHEDULES[self.schedule], self.covariance == "full", _core.Loss[self.loss]
        )

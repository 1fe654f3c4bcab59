"""Descent with an l1 penalty: truncated gradients, forward-backward splitting, dual averaging, and FTRL.

A round costs what the row has nonzeros, whatever the width of the model: the truncation of a weight is computed when
the weight is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

from .._native import _core
from ..models.state import State
from .budget import BUDGETS, budget_of
from .docstrings import BUDGET, COMMON, LOSS, documented
from .grids import PRICES, RATES, RATES_TO_TRY, STEPS, STEPS_TO_TRY, Settings
from .online import OnlineLearner
from .parameters import LOSSES, NOT_NEGATIVE, POSITIVE, Number
from .sharding import Sharding

_LIMIT, _DELTA = _core.RoundColumn.limit.value, _core.RoundColumn.delta.value


@documented(LOSS + COMMON)
@dataclass(eq=False, repr=False)
class STG(OnlineLearner):
    """Stochastic gradient descent with truncated gradient.

    Langford, Li & Zhang, "Sparse online learning via truncated gradient", JMLR 10, 2009.

    w -= eta (gradient); every K-th example, each weight of size at most theta is drawn towards zero by K eta lam.

    Parameters
    ----------
    eta : float, default=1/32
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty, which makes weights zero: try 0.001, then tenfold more or less.
    K : int, default=10
        Number of examples between two truncations.
    theta : float, default=inf
        Weights beyond this size are not truncated.
    {common}
    """

    algorithm: ClassVar[str] = "truncated gradient"
    paper: ClassVar[str] = "Langford, Li & Zhang, JMLR 2009"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0}

    loss: str = LOSSES.default("hinge", kw_only=True)
    eta: float = POSITIVE.default(1 / 32)
    lam: float = NOT_NEGATIVE.default(0.0)
    K: int = Number(1, integer=True).default(10)
    theta: float = Number(0).default(inf)

    _sharding: ClassVar[Sharding | None] = Sharding(counted=False, powers={"eta": 1})
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": RATES}
    settings_to_try: ClassVar[Settings] = STEPS_TO_TRY

    def _rule(self) -> _core.CoordinateRule:
        return _core.STG(self.eta, self.lam, self.K, self.theta, _core.Loss[self.loss])

    def _shaped_by(self, state: State) -> list[tuple[str, bool]]:
        # Truncations that are still to be applied go by it.
        return [*super()._shaped_by(state), ("theta", state.rounds is None or state.rounds[0, _LIMIT] == self.theta)]


@documented(LOSS + COMMON)
@dataclass(eq=False, repr=False)
class FOBOS(OnlineLearner):
    """Forward-backward splitting with an l1 penalty.

    Duchi & Singer, "Efficient online and batch learning using forward backward splitting", JMLR 10, 2009.

    With eta_t = eta / sqrt(t), every example: w <- soft(w - eta_t (gradient), eta_t lam).

    Parameters
    ----------
    eta : float, default=0.7
        The learning rate. It depends on the scale of X: the paper tries the powers of 2 from 1/2 to 512.
    lam : float, default=0.0
        The penalty, which makes weights zero: try 0.001, then tenfold more or less.
    {common}
    """

    algorithm: ClassVar[str] = "forward-backward splitting"
    paper: ClassVar[str] = "Duchi & Singer, JMLR 2009"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0}

    loss: str = LOSSES.default("hinge", kw_only=True)
    eta: float = POSITIVE.default(0.7)
    lam: float = NOT_NEGATIVE.default(0.0)

    _sharding: ClassVar[Sharding | None] = Sharding(counted=False, powers={"eta": 0.5})
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": RATES}
    settings_to_try: ClassVar[Settings] = RATES_TO_TRY

    def _rule(self) -> _core.CoordinateRule:
        return _core.FOBOS(self.eta, self.lam, _core.Loss[self.loss])


@documented(LOSS + COMMON)
@dataclass(eq=False, repr=False)
class RDA(OnlineLearner):
    """Regularised dual averaging with an l1 penalty, and its enhanced form.

    Xiao, "Dual averaging methods for regularized stochastic learning and online optimization", JMLR 11, 2010.

    With g the mean of all gradients so far, w = -(sqrt(t) / gamma) soft(g, lam + gamma rho / sqrt(t)).

    Parameters
    ----------
    gamma : float, default=1.0
        Inverse of a learning rate: the larger, the more cautious.
    lam : float, default=0.0
        The penalty, which makes weights zero: try 0.001, then tenfold more or less.
    rho : float, default=0.0
        Enhancement of the threshold.
    {common}
    """

    algorithm: ClassVar[str] = "regularised dual averaging, enhanced for `rho > 0`"
    paper: ClassVar[str] = "Xiao, JMLR 2010"

    loss: str = LOSSES.default("hinge", kw_only=True)
    gamma: float = POSITIVE.default(1.0)
    lam: float = NOT_NEGATIVE.default(0.0)
    rho: float = NOT_NEGATIVE.default(0.0)

    _sharding: ClassVar[Sharding | None] = Sharding(counted=False, powers={"gamma": -0.5}, sums=True)
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
class AdaFOBOS(OnlineLearner):
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
        The penalty, which makes weights zero: try 0.001, then tenfold more or less.
    delta : float, default=0.5
        Initial value of H.
    {common}
    """

    algorithm: ClassVar[str] = "FOBOS with adaptive rates"
    paper: ClassVar[str] = "Duchi, Hazan & Singer, JMLR 2011"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0, "delta": 1.0}

    loss: str = LOSSES.default("hinge", kw_only=True)
    eta: float = POSITIVE.default(0.35)
    lam: float = NOT_NEGATIVE.default(0.0)
    delta: float = POSITIVE.default(0.5)

    _sharding: ClassVar[Sharding | None] = Sharding(counted=False, powers={"eta": 0.5, "delta": -0.5})
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
        return [*super()._shaped_by(state), ("delta", state.rounds is None or state.rounds[0, _DELTA] == self.delta)]


@documented(LOSS + BUDGET + COMMON)
@dataclass(eq=False, repr=False)
class AdaRDA(OnlineLearner):
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
        The penalty, which makes weights zero: try 0.001, then tenfold more or less, or `max_nonzero` instead.
    delta : float, default=0.5
        Initial value of H.
    {common}
    """

    algorithm: ClassVar[str] = "RDA with adaptive rates"
    paper: ClassVar[str] = "Duchi, Hazan & Singer, JMLR 2011"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0, "delta": 1.0}

    loss: str = LOSSES.default("hinge", kw_only=True)
    max_nonzero: int | None = BUDGETS.default(None, kw_only=True)
    eta: float = POSITIVE.default(0.35)
    lam: float = NOT_NEGATIVE.default(0.0)
    delta: float = POSITIVE.default(0.5)

    _sharding: ClassVar[Sharding | None] = Sharding(counted=False, powers={"eta": 0.5, "delta": -0.5}, sums=True)
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"delta": PRICES, "eta": RATES}
    settings_to_try: ClassVar[Settings] = (
        {"delta": 1.0, "eta": 2.0**-4, "normalize": "scale"},
        {"delta": 0.5, "eta": 0.125, "normalize": "scale"},
        {"delta": 0.125, "eta": 0.5, "normalize": "scale"},
        {"delta": 1.0, "eta": 1.0, "normalize": "none"},
        {"delta": 2.0**-10, "eta": 0.5, "normalize": "row"},
    )

    def _initial_scalars(self) -> dict[str, Any]:
        return budget_of(self)

    def _rule(self) -> _core.CoordinateRule:
        return _core.AdaRDA(self.eta, self.lam, self.delta, _core.Loss[self.loss])


@documented(LOSS.replace('"hinge"\n', '"log"\n').replace(" The hinge is what the paper uses.", "") + COMMON)
@dataclass(eq=False, repr=False)
class FTRL(OnlineLearner):
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
        Delay of the learning rate's decay: the larger, the later it falls.
    l1 : float, default=0.0
        The l1 penalty, which makes weights zero.
    l2 : float, default=0.0
        The l2 penalty, which makes weights small.
    {common}
    """

    algorithm: ClassVar[str] = "follow the proximally regularised leader"
    paper: ClassVar[str] = "McMahan et al., KDD 2013"
    published: ClassVar[dict[str, Any]] = {"alpha": 0.1, "beta": 1.0, "l1": 1.0, "l2": 1.0}

    loss: str = LOSSES.default("log", kw_only=True)
    alpha: float = POSITIVE.default(0.25)
    beta: float = POSITIVE.default(0.125)
    l1: float = NOT_NEGATIVE.default(0.0)
    l2: float = NOT_NEGATIVE.default(0.0)

    _sharding: ClassVar[Sharding | None] = Sharding(
        counted=False, powers={"alpha": 0.5, "beta": -0.5, "l1": -1, "l2": -1}, sums=True
    )
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

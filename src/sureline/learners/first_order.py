"""Learners without a covariance: their step goes along x."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from .._native import _core
from .docstrings import COMMON, LOSS, documented
from .grids import RATES, RATES_TO_TRY, STEPS, Settings
from .online import OnlineLearner
from .parameters import LOSSES, POSITIVE, Flag, Number, OneOf
from .sharding import COUNTED, Sharding, descending


@documented(COMMON)
@dataclass(eq=False, repr=False)
class Perceptron(OnlineLearner):
    """The Perceptron: on a mistake, w += y x.

    Rosenblatt, "The Perceptron", Psychological Review 65, 1958.

    An example moves the weights if its margin y w.x is not positive. A sample weight s makes the step s y x.

    Parameters
    ----------
    {common}
    """

    algorithm: ClassVar[str] = "Perceptron"
    paper: ClassVar[str] = "Rosenblatt 1958"

    _sharding: ClassVar[Sharding | None] = COUNTED
    settings_to_try: ClassVar[Settings] = ({"normalize": "none"}, {"normalize": "row"})

    def _rule(self) -> _core.Rule:
        return _core.Perceptron()


@documented(COMMON)
@dataclass(eq=False, repr=False)
class PA(OnlineLearner):
    """Passive-aggressive learning: the smallest step that gives the example a margin of one.

    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, "Online passive-aggressive algorithms", JMLR 7, 2006; section 2.2
    of Wang, Zhao & Hoi, ICML 2012.

    An example moves the weights if its hinge loss 1 - y w.x is positive: w += tau y x, where tau is loss / |x|^2
    ("hard"), min(C, loss / |x|^2) ("I") or loss / (|x|^2 + 1/(2C)) ("II").

    Parameters
    ----------
    variant : {{"I", "II", "hard"}}, default="I"
        PA-I (linear loss), PA-II (squared loss), or PA without slack.
    C : float, default=0.02
        Weight of the loss: the smaller, the more cautious. Unused by "hard".
    {common}
    """

    algorithm: ClassVar[str] = "passive-aggressive: PA, PA-I, PA-II"
    paper: ClassVar[str] = "Crammer et al., JMLR 2006"
    published: ClassVar[dict[str, Any]] = {"C": 1.0}

    variant: str = OneOf("I", "II", "hard").default("I")
    C: float = POSITIVE.default(0.02)

    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"C": STEPS}
    settings_to_try: ClassVar[Settings] = (
        {"C": 2.0**-7, "normalize": "scale"},
        {"C": 2.0, "normalize": "scale"},
        {"C": 2.0**-7, "normalize": "none"},
        {"C": 0.25, "normalize": "none"},
    )

    @property
    def sharding(self) -> Sharding | None:
        return None if self.variant == "hard" else super().sharding  # no loss that could count more than once

    def _rule(self) -> _core.Rule:
        return _core.PA(_core.PAVariant[self.variant], self.C)


@documented(COMMON)
@dataclass(eq=False, repr=False)
class ROMMA(OnlineLearner):
    """The relaxed online maximum margin algorithm, and agg-ROMMA.

    Li & Long, "The relaxed online maximum margin algorithm", Machine Learning 46, 2002.

    On a mistake (aggressive: on a positive hinge loss) w becomes the shortest vector with y w.x >= 1 and
    w.w_old >= |w_old|^2. Sample weights other than 0 change nothing: the problem has no loss term. On data that no w
    separates the length of w grows without limit; it is held at 1e30, where only the direction of w still matters.

    Parameters
    ----------
    aggressive : bool, default=True
        Update on every positive hinge loss instead of on mistakes only.
    {common}
    """

    algorithm: ClassVar[str] = "relaxed maximum margin: ROMMA, agg-ROMMA"
    paper: ClassVar[str] = "Li & Long, Machine Learning 2002"
    published: ClassVar[dict[str, Any]] = {"aggressive": False}

    aggressive: bool = Flag().default(True)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"aggressive": (False, True)}
    settings_to_try: ClassVar[Settings] = (
        {"aggressive": True, "normalize": "none"},
        {"aggressive": True, "normalize": "row"},
        {"aggressive": False, "normalize": "none"},
    )

    def _rule(self) -> _core.Rule:
        return _core.ROMMA(bool(self.aggressive))


@documented(COMMON)
@dataclass(eq=False, repr=False)
class ALMA(OnlineLearner):
    """The approximate large margin algorithm for the 2-norm.

    Gentile, "A new approximate maximal margin classification algorithm", JMLR 2, 2001.

    Examples count as x / |x|. The k-th update comes when y w.x <= (1 - alpha) B / sqrt(k): w += (C / sqrt(k)) y x,
    and then back into the unit ball.

    Parameters
    ----------
    alpha : float, default=0.6
        The margin reached is at least 1 - alpha of the best possible.
    B : float, default=None
        Scale of the required margin; 1 / alpha if None.
    C : float, default=0.5
        Scale of the steps.
    {common}
    """

    algorithm: ClassVar[str] = "approximate maximal margin, ALMA₂"
    paper: ClassVar[str] = "Gentile, JMLR 2001"
    published: ClassVar[dict[str, Any]] = {"alpha": 0.9, "C": 2**0.5}

    alpha: float = Number(0, 1, open="low").default(0.6)
    B: float | None = Number(0, open="both", optional=True).default(None)
    C: float = POSITIVE.default(0.5)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {
        "alpha": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
        "C": (0.25, 0.5, 1.0, 2**0.5),
    }
    settings_to_try: ClassVar[Settings] = (
        {"alpha": 0.5, "C": 0.5, "normalize": "scale"},
        {"alpha": 0.5, "C": 0.125, "normalize": "scale"},
        {"alpha": 0.7, "C": 0.5, "normalize": "none"},
        {"alpha": 0.7, "C": 1.0, "normalize": "none"},
    )

    def _rule(self) -> _core.Rule:
        return _core.ALMA(self.alpha, 1 / self.alpha if self.B is None else self.B, self.C)


@documented(LOSS + COMMON)
@dataclass(eq=False, repr=False)
class OGD(OnlineLearner):
    """Online gradient descent, also known as stochastic gradient descent.

    Zinkevich, "Online convex programming and generalized infinitesimal gradient ascent", ICML 2003.

    w moves against the gradient of the loss by eta / t^power_t, where t counts the examples.

    Parameters
    ----------
    eta : float, default=0.7
        The learning rate.
    power_t : float, default=0.5
        Exponent of the learning rate's decay with the number of examples; 0 for a constant rate.
    {common}
    """

    algorithm: ClassVar[str] = "online (stochastic) gradient descent"
    paper: ClassVar[str] = "Zinkevich, ICML 2003"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0}

    eta: float = POSITIVE.default(0.7)
    power_t: float = Number(0, 1).default(0.5)
    loss: str = LOSSES.default("hinge")

    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": RATES}
    settings_to_try: ClassVar[Settings] = RATES_TO_TRY

    @property
    def sharding(self) -> Sharding | None:
        return descending(super().sharding, self.power_t)

    def _rule(self) -> _core.Rule:
        return _core.OGD(self.eta, self.power_t, _core.Loss[self.loss])

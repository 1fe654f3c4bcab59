"""First-order learners for classes that are not equally important, without sparsity."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from .._native import _core
from ..models.numbers import Rule
from .cost import COST as COST_PARAMETER
from .cost import MARGINS
from .docstrings import COMMON, COST, LOSS, documented
from .grids import RATES, RATES_TO_TRY, STEPS, STEPS_TO_TRY, Settings
from .online import OnlineLearner
from .parameters import LOSSES, POSITIVE, Number, OneOf
from .sharding import COUNTED, Sharding, descending


@documented(LOSS + COST + COMMON)
@dataclass(eq=False, repr=False)
class CSOGD(OnlineLearner):
    """Cost-sensitive online gradient descent.

    Wang, Zhao & Hoi, "Cost-sensitive online classification", ICDM 2012.

    With c the cost of the example's label, the loss is c l(m) for ``form="slope"`` and l(m - c + 1) for
    ``form="margin"``; for the hinge these are c max(0, 1 - m) and max(0, c - m). w moves against its gradient by
    eta / t^power_t, where t counts the examples. Deviates: the source has a constant rate, which is ``power_t=0``.

    Parameters
    ----------
    eta : float, default=0.7
        The learning rate.
    form : {{"slope", "margin"}}, default="slope"
        Where the cost enters the hinge loss: as a factor, or as the required margin.
    power_t : float, default=0.5
        Exponent of the learning rate's decay with the number of examples; 0 for a constant rate.
    {common}
    """

    algorithm: ClassVar[str] = "cost-sensitive OGD"
    paper: ClassVar[str] = "Wang, Zhao & Hoi, ICDM 2012"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0}

    cost: Any = field(default=None, kw_only=True)
    eta: float = POSITIVE.default(0.7)
    form: str = OneOf("slope", "margin").default("slope")
    power_t: float = Number(0, 1).default(0.5)
    loss: str = LOSSES.default("hinge")

    _label_costs = COST_PARAMETER
    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": RATES}
    settings_to_try: ClassVar[Settings] = RATES_TO_TRY

    @property
    def sharding(self) -> Sharding | None:
        return descending(super().sharding, self.power_t)

    def _rule(self) -> Rule:
        return _core.OGD(self.eta, self.power_t, _core.Loss[self.loss], _core.Form[self.form])


@documented(COST + COMMON)
@dataclass(eq=False, repr=False)
class CPA(OnlineLearner):
    """Cost-sensitive passive-aggressive learning, prediction based.

    Crammer, Dekel, Keshet, Shalev-Shwartz & Singer, "Online passive-aggressive algorithms", JMLR 7, 2006, section 8.

    On a mistake, w += y x min(C, (sqrt(c) - m) / |x|^2): the required margin is the square root of the cost of the
    mistake. Deviates: a score of 0 counts as a mistake for both labels, although it predicts the negative class. The
    source makes no step for a negative example with score 0.

    Parameters
    ----------
    C : float, default=1/128
        Upper bound of a step.
    {common}
    """

    algorithm: ClassVar[str] = "cost-sensitive PA, prediction based"
    paper: ClassVar[str] = "Crammer et al., JMLR 2006"
    published: ClassVar[dict[str, Any]] = {"C": 1.0}

    cost: Any = field(default=None, kw_only=True)
    C: float = POSITIVE.default(1 / 128)

    _label_costs = COST_PARAMETER
    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"C": STEPS}
    settings_to_try: ClassVar[Settings] = (
        {"C": 2.0**-5, "normalize": "scale"},
        {"C": 2.0**-9, "normalize": "none"},
        {"C": 2.0**-7, "normalize": "none"},
        {"C": 0.125, "normalize": "none"},
    )

    def _rule(self) -> Rule:
        return _core.CPA(self.C)


@documented(COMMON)
@dataclass(eq=False, repr=False)
class PAUM(OnlineLearner):
    """The Perceptron with uneven margins.

    Li, Zaragoza, Herbrich, Shawe-Taylor & Kandola, "The Perceptron algorithm with uneven margins", ICML 2002.

    w += eta y x unless the margin y w.x exceeds that of the label.

    Parameters
    ----------
    eta : float, default=1/32
        The learning rate.
    margin_pos : float, default=1.0
        The margin that positive examples (the second class) should have: larger than the other if they are rare.
    margin_neg : float, default=1.0
        The margin that negative examples should have. With more than two classes the two may differ only with
        ``multi_class="ovr"``.
    {common}
    """

    algorithm: ClassVar[str] = "Perceptron with uneven margins"
    paper: ClassVar[str] = "Li et al., ICML 2002"
    published: ClassVar[dict[str, Any]] = {"eta": 1.0}

    eta: float = POSITIVE.default(1 / 32)
    margin_pos: float = Number(open="both").default(1.0)
    margin_neg: float = Number(open="both").default(1.0)

    _label_costs = MARGINS
    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": STEPS}
    settings_to_try: ClassVar[Settings] = STEPS_TO_TRY

    def _rule(self) -> Rule:
        return _core.PAUM(self.eta)

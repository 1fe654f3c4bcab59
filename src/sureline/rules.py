"""The rules alone, without data: what they make of scalars.

A margin rule gives the coefficients of a step as functions of margin and variance.

>>> from sureline import rules
>>> step = rules.AROW(r=1.0).step(m=0.25, v=2.0)  # m = y w.x, v = x'Sx
>>> round(step.alpha, 6), round(step.beta, 6)
(0.25, 0.333333)

The step is w <- kappa w + alpha y S x and S <- gamma (S - beta (S x)(S x)'). `SCW` takes phi = Phi^-1(eta); CW is SCW-I
with an infinite C. `OGD` and `CPA` take the cost of the example's label, `PAUM` in its place the label's margin.

A coordinate rule, of the sparse online learning framework, says what all weights share in round t. For FSOL a weight is
soft(theta, threshold):

>>> rules.FSOL(eta=0.5, lam=0.1, schedule="1/t").round(t=10).threshold
0.005
"""

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any

from . import _core
from ._core import (
    ALMA,
    AROW,
    CPA,
    FOFS,
    IELLIP,
    NAROW,
    NHERD,
    PAUM,
    ROMMA,
    SOP,
    CoordinateRule,
    Perceptron,
    Round,
    Rule,
    Step,
)

SCHEDULES = {"constant": _core.Schedule.constant, "1/t": _core.Schedule.inverse, "t": _core.Schedule.linear}


def _by_name(rule: Any, **names: Mapping[str, Enum]) -> Callable[..., None]:
    """What makes a rule whose enums are given by these names."""

    def value(parameter: str, given: Any) -> Any:
        known = names.get(parameter)
        if known is None or not isinstance(given, str):
            return given
        if given not in known:
            *others, last = map(repr, known)
            raise ValueError(f"{parameter} must be {', '.join(others)} or {last}, not {given!r}.")
        return known[given]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        by_place = [value(parameter, given) for parameter, given in zip(rule.parameters, args, strict=False)]
        by_name = {parameter: value(parameter, given) for parameter, given in kwargs.items()}
        rule.__init__(self, *by_place, *args[len(by_place) :], **by_name)

    return __init__


_LOSSES = {loss.name: loss for loss in (_core.Loss.hinge, _core.Loss.squared_hinge, _core.Loss.log)}


class PA(_core.PA):
    __init__ = _by_name(_core.PA, variant=_core.PAVariant.__members__)


class SCW(_core.SCW):
    __init__ = _by_name(_core.SCW, variant=_core.SCWVariant.__members__)


class OGD(_core.OGD):
    __init__ = _by_name(_core.OGD, loss=_LOSSES, form=_core.Form.__members__)


class FSOL(_core.FSOL):
    __init__ = _by_name(_core.FSOL, loss=_LOSSES, schedule=SCHEDULES)


class SSOL(_core.SSOL):
    __init__ = _by_name(_core.SSOL, loss=_LOSSES, schedule=SCHEDULES)


class RDA(_core.RDA):
    __init__ = _by_name(_core.RDA, loss=_LOSSES)


class AdaRDA(_core.AdaRDA):
    __init__ = _by_name(_core.AdaRDA, loss=_LOSSES)


class FTRL(_core.FTRL):
    __init__ = _by_name(_core.FTRL, loss=_LOSSES)


class STG(_core.STG):
    __init__ = _by_name(_core.STG, loss=_LOSSES)


class FOBOS(_core.FOBOS):
    __init__ = _by_name(_core.FOBOS, loss=_LOSSES)


class AdaFOBOS(_core.AdaFOBOS):
    __init__ = _by_name(_core.AdaFOBOS, loss=_LOSSES)


__all__ = [
    "ALMA",
    "AROW",
    "CPA",
    "FOBOS",
    "FOFS",
    "FSOL",
    "FTRL",
    "IELLIP",
    "NAROW",
    "NHERD",
    "OGD",
    "PA",
    "PAUM",
    "RDA",
    "ROMMA",
    "SCW",
    "SOP",
    "SSOL",
    "STG",
    "AdaFOBOS",
    "AdaRDA",
    "CoordinateRule",
    "Perceptron",
    "Round",
    "Rule",
    "Step",
]

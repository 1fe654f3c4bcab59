"""The update rules as functions of scalars.

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
from typing import TYPE_CHECKING, Any

from ._native import _core

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


SCHEDULES = {"constant": _core.Schedule.constant, "1/t": _core.Schedule.inverse, "t": _core.Schedule.linear}
_LOSSES = {loss.name: loss for loss in (_core.Loss.hinge, _core.Loss.squared_hinge, _core.Loss.log)}
_ENUMS: dict[str, Mapping[str, Enum]] = {
    "form": _core.Form.__members__,
    "loss": _LOSSES,
    "schedule": SCHEDULES,
}


def _by_name(rule: Any, enums: Mapping[str, Mapping[str, Enum]]) -> Callable[..., None]:
    """A constructor of `rule` whose enums may be given by their names."""

    def value(parameter: str, given: Any) -> Any:
        known = enums.get(parameter)
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


def _public(name: str, kind: Any) -> Any:
    """The bound class, or one that takes names for enums where it has such parameters."""
    variants = getattr(_core, f"{name}Variant", None)
    enums = _ENUMS if variants is None else {**_ENUMS, "variant": variants.__members__}
    if not enums.keys() & set(getattr(kind, "parameters", ())):
        return kind
    return type(name, (kind,), {"__init__": _by_name(kind, enums), "__doc__": kind.__doc__, "__module__": __name__})


# Every rule that is bound, and what a rule returns; but for that of `sureline.custom`.
_BOUND = {
    name: _public(name, kind)
    for name, kind in vars(_core).items()
    if isinstance(kind, type)
    and name != "PythonRule"
    and (issubclass(kind, _core.Rule | _core.CoordinateRule) or kind in (_core.Step, _core.Round))
}
globals().update(_BOUND)
__all__ = sorted(_BOUND, key=lambda name: (name != name.upper(), name))

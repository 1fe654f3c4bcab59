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

from typing import TYPE_CHECKING, Any

from ._native import _core

if TYPE_CHECKING:
    from ._core import *  # noqa: F403

# Every rule that is bound, and what a rule returns.
_BOUND: dict[str, Any] = {
    name: kind
    for name, kind in vars(_core).items()
    if isinstance(kind, type)
    and name != "PythonRule"  # that of `sureline.custom`
    and (issubclass(kind, _core.Rule | _core.CoordinateRule) or kind in (_core.Step, _core.Round))
}
globals().update(_BOUND)
__all__ = sorted(_BOUND, key=lambda name: (name != name.upper(), name))

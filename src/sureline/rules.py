"""The margin rules alone: the coefficients of a step as functions of two scalars.

>>> from sureline import rules
>>> step = rules.AROW(r=1.0).step(m=0.25, v=2.0)  # m = y w.x, v = x'Sx
>>> round(step.alpha, 6), round(step.beta, 6)
(0.25, 0.333333)

The step is w <- kappa w + alpha y S x and S <- gamma (S - beta (S x)(S x)'). `SCW` takes phi = Phi^-1(eta); CW is SCW-I
with an infinite C. `OGD` and `CPA` take the cost of the example's label, `PAUM` in its place the label's margin.
"""

from ._core import (
    ALMA,
    AROW,
    CPA,
    IELLIP,
    NAROW,
    NHERD,
    OGD,
    PA,
    PAUM,
    ROMMA,
    SCW,
    SOP,
    Perceptron,
    Rule,
    Step,
)

__all__ = [
    "ALMA",
    "AROW",
    "CPA",
    "IELLIP",
    "NAROW",
    "NHERD",
    "OGD",
    "PA",
    "PAUM",
    "ROMMA",
    "SCW",
    "SOP",
    "Perceptron",
    "Rule",
    "Step",
]

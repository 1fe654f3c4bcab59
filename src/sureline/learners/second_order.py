"""Learners with a covariance: their step is longest where least is known."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .._inputs import Floats
from .._native import _core
from ..models.numbers import Shape
from .docstrings import COVARIANCE, documented
from .gaussian import GaussianLearner
from .grids import CONFIDENCES, PRICES, Settings
from .parameters import POSITIVE, Number, OneOf
from .sharding import CAPPED, COUNTED, Sharding

CONFIDENCE = Number(0.5, 1, open="high")


def _phi(eta: float) -> float:
    from statistics import NormalDist  # imported in a tenth of the time of SciPy's

    return NormalDist().inv_cdf(eta)


@documented(COVARIANCE)
@dataclass(eq=False, repr=False)
class SOP(GaussianLearner):
    """The second-order Perceptron.

    Cesa-Bianchi, Conconi & Gentile, "A second-order Perceptron algorithm", SIAM J. Comput. 34, 2005.

    With S_0 = I/a the score is theta'Sx / (1 + x'Sx). On a mistake theta += y x and S absorbs x. The weights
    `coef_` are S theta; with more than two classes the scores are S theta.x without the denominator. A sample
    weight s makes the step s y x, and S absorbs x s times.

    With ``covariance="full"`` it is S theta that is kept, so a score of exactly 0, from a theta that has cancelled out,
    may come out as a rounding error of either sign.

    Parameters
    ----------
    a : float, default=1.0
        Strength of the prior: S starts as I / a.
    {common}
    """

    algorithm: ClassVar[str] = "second-order Perceptron"
    paper: ClassVar[str] = "Cesa-Bianchi, Conconi & Gentile, SIAM J. Comput. 2005"

    a: float = POSITIVE.default(1.0)

    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"a": PRICES}
    settings_to_try: ClassVar[Settings] = (
        {"a": 0.25, "normalize": "none"},
        {"a": 0.125, "normalize": "row"},
        {"a": 4.0, "normalize": "row"},
        {"a": 32.0, "normalize": "row"},
    )

    def _rule(self) -> _core.Rule:
        return _core.SOP()

    def _shape(self) -> Shape:
        return Shape.full if self.covariance == "full" else Shape.theta

    def _initial_scalars(self) -> dict[str, Any]:
        return {"covariance_scale": 1 / self.a}

    def _scores(self, rows: _core.Rows) -> npt.NDArray[np.float64]:
        scores = super()._scores(rows)
        return scores / (1 + self._fitted_state("scores").variances(rows)) if scores.shape[1] == 1 else scores

    def as_recorded(self, scores: Floats, variances: Floats | None) -> tuple[Floats, Floats | None]:
        assert variances is not None
        return (scores * (1 + variances) if scores.shape[1] == 1 else scores), variances


@documented(COVARIANCE)
@dataclass(eq=False, repr=False)
class IELLIP(GaussianLearner):
    """The improved ellipsoid method.

    Yang, Jin & Ye, "Online learning by ellipsoid method", ICML 2009.

    On a mistake, with g = y x / sqrt(x'Sx): w += ((1 - m) / sqrt(x'Sx)) S g and S <- (S - c S g g'S) / (1 - c); then
    c <- b c. Sample weights other than 0 change nothing: the problem has no loss term.

    Parameters
    ----------
    b : float, default=0.98
        Factor by which c shrinks with each update.
    c : float, default=0.7
        Share of the variance along x that the first update removes.
    {common}
    """

    algorithm: ClassVar[str] = "improved ellipsoid method"
    paper: ClassVar[str] = "Yang, Jin & Ye, ICML 2009"
    published: ClassVar[dict[str, Any]] = {"b": 0.3, "c": 0.1}

    b: float = Number(0, 1, open="high").default(0.98)
    c: float = Number(0, 1, open="both").default(0.7)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {
        "b": (0.1, 0.3, 0.5, 0.7, 0.9, 0.98),
        "c": (0.1, 0.3, 0.5, 0.7),
    }
    settings_to_try: ClassVar[Settings] = (
        {"b": 0.3, "c": 0.3, "normalize": "none"},
        {"b": 0.9, "c": 0.1, "normalize": "none"},
        {"b": 0.99, "c": 0.9, "normalize": "none"},
        {"b": 0.99, "c": 0.9, "normalize": "row"},
    )

    def _rule(self) -> _core.Rule:
        return _core.IELLIP(self.b)

    def _initial_scalars(self) -> dict[str, Any]:
        return {"c": self.c}


@documented(COVARIANCE)
@dataclass(eq=False, repr=False)
class CW(GaussianLearner):
    """Confidence-weighted learning, in its exact convex form.

    Crammer, Dredze & Pereira, "Exact convex confidence-weighted learning", NIPS 2008.

    The smallest change of the distribution, in Kullback-Leibler divergence, after which the example is right with
    probability eta: y w.x >= phi sqrt(x'Sx) with phi = Phi^-1(eta). It assumes that the data can be separated; see SCW
    for data with noise. Sample weights other than 0 change nothing: the problem has no loss term.

    Parameters
    ----------
    eta : float, default=0.75
        Required probability of a correct prediction, at least 0.5 and less than 1. At 0.5 itself no step is ever taken
        from w = 0.
    {common}
    """

    algorithm: ClassVar[str] = "confidence-weighted, exact convex form"
    paper: ClassVar[str] = "Crammer, Dredze & Pereira, NIPS 2008"
    published: ClassVar[dict[str, Any]] = {"eta": 0.7}

    eta: float = CONFIDENCE.default(0.75)

    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"eta": CONFIDENCES}
    settings_to_try: ClassVar[Settings] = (
        {"eta": 0.55, "normalize": "scale"},
        {"eta": 0.7, "normalize": "scale"},
        {"eta": 0.9, "normalize": "none"},
        {"eta": 0.95, "normalize": "none"},
    )

    def _rule(self) -> _core.Rule:
        return _core.SCW(_core.SCWVariant.I, inf, _phi(self.eta))


@documented(COVARIANCE)
@dataclass(eq=False, repr=False)
class AROW(GaussianLearner):
    """Adaptive regularisation of weights.

    Crammer, Kulesza & Dredze, "Adaptive regularization of weight vectors", NIPS 2009.

    An example moves the weights if its hinge loss 1 - m is positive: beta = 1 / (v + r), alpha = (1 - m) beta for the
    margin m = y w.x and the variance v = x'Sx.

    Parameters
    ----------
    r : float, default=1.0
        The larger, the more cautious.
    {common}
    """

    algorithm: ClassVar[str] = "adaptive regularisation of weights"
    paper: ClassVar[str] = "Crammer, Kulesza & Dredze, NIPS 2009"

    r: float = POSITIVE.default(1.0)

    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"r": PRICES}
    settings_to_try: ClassVar[Settings] = (
        {"r": 32.0, "normalize": "scale"},
        {"r": 2.0**-5, "normalize": "none"},
        {"r": 2.0, "normalize": "none"},
        {"r": 2.0**-5, "normalize": "row"},
        {"r": 0.5, "normalize": "row"},
    )

    def _rule(self) -> _core.Rule:
        return _core.AROW(self.r)


@documented(COVARIANCE)
@dataclass(eq=False, repr=False)
class NAROW(GaussianLearner):
    """AROW with a different r for each example.

    Orabona & Crammer, "New adaptive algorithms for online classification", NIPS 2010.

    The step of AROW with r = v / (b v - 1) where the variance v = x'Sx exceeds 1/b; no step elsewhere.

    Parameters
    ----------
    b : float, default=2.0
        The larger, the longer the variances keep shrinking.
    {common}
    """

    algorithm: ClassVar[str] = "AROW with an r for each example"
    paper: ClassVar[str] = "Orabona & Crammer, NIPS 2010"
    published: ClassVar[dict[str, Any]] = {"b": 1.0}

    b: float = POSITIVE.default(2.0)

    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"b": PRICES}
    settings_to_try: ClassVar[Settings] = (
        {"b": 2.0**-4, "normalize": "scale"},
        {"b": 1.0, "normalize": "scale"},
        {"b": 32.0, "normalize": "none"},
        {"b": 4.0, "normalize": "row"},
    )

    def _rule(self) -> _core.Rule:
        return _core.NAROW(self.b)


@documented(COVARIANCE)
@dataclass(eq=False, repr=False)
class NHERD(GaussianLearner):
    """Learning by Gaussian herding.

    Crammer & Lee, "Learning via Gaussian herding", NIPS 2010.

    On a positive hinge loss 1 - m: alpha = (1 - m) / (v + 1/C), beta = (C^2 v + 2C) / (1 + C v)^2.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss: the smaller, the more cautious.
    {common}
    """

    algorithm: ClassVar[str] = "Gaussian herding"
    paper: ClassVar[str] = "Crammer & Lee, NIPS 2010"

    C: float = POSITIVE.default(1.0)

    _sharding: ClassVar[Sharding | None] = COUNTED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"C": PRICES}
    settings_to_try: ClassVar[Settings] = (
        {"C": 2.0**-5, "normalize": "scale"},
        {"C": 0.125, "normalize": "scale"},
        {"C": 32.0, "normalize": "none"},
        {"C": 0.5, "normalize": "row"},
        {"C": 4.0, "normalize": "row"},
    )

    @property
    def sharding(self) -> Sharding | None:
        return None if self.covariance == "full" else super().sharding  # merged it errs more: docs/guide/scale-out.md

    def _rule(self) -> _core.Rule:
        return _core.NHERD(self.C)


@documented(COVARIANCE)
@dataclass(eq=False, repr=False)
class SCW(GaussianLearner):
    """Soft confidence-weighted learning.

    Wang, Zhao & Hoi, "Exact soft confidence-weighted learning", ICML 2012.

    Confidence-weighted learning that pays a price C for the loss max(0, phi sqrt(x'Sx) - y w.x) instead of forbidding
    it: linearly in SCW-I (proposition 1), squared in SCW-II (proposition 2).

    Parameters
    ----------
    variant : {{"I", "II"}}, default="I"
        SCW-I or SCW-II.
    C : float, default=0.5
        Weight of the loss: the smaller, the more cautious. SCW-I with a huge C is CW.
    eta : float, default=0.9
        Required probability of a correct prediction, at least 0.5 and less than 1. At 0.5 itself no step is ever
        taken from w = 0.
    {common}

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from sureline import SCW
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = SCW(C=1.0, eta=0.75).partial_fit(scale(X), y, classes=[0, 1])
    >>> bool(clf.n_mistakes_ < 40)  # of 569, each predicted before it was learned from
    True
    >>> clf.confidence(scale(X)).shape
    (569,)
    """

    algorithm: ClassVar[str] = "soft confidence-weighted: SCW-I, SCW-II"
    paper: ClassVar[str] = "Wang, Zhao & Hoi, ICML 2012"
    published: ClassVar[dict[str, Any]] = {"C": 1.0, "eta": 0.75}

    variant: str = OneOf("I", "II").default("I")
    C: float = POSITIVE.default(0.5)
    eta: float = CONFIDENCE.default(0.9)

    _sharding: ClassVar[Sharding | None] = CAPPED
    search_space: ClassVar[dict[str, tuple[Any, ...]]] = {"C": PRICES, "eta": CONFIDENCES}
    settings_to_try: ClassVar[Settings] = (
        {"C": 2.0**-5, "eta": 0.6, "normalize": "scale"},
        {"C": 0.125, "eta": 0.8, "normalize": "scale"},
        {"C": 0.5, "eta": 0.8, "normalize": "none"},
        {"C": 32.0, "eta": 0.95, "normalize": "none"},
        {"C": 0.5, "eta": 0.7, "normalize": "row"},
    )

    def _rule(self) -> _core.Rule:
        return _core.SCW(_core.SCWVariant[self.variant], self.C, _phi(self.eta))

"""Stochastic dual coordinate ascent over data in memory: SDCA, and the solver that it shares with SparseDCA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax
from sklearn.utils import check_random_state

from .._native import _core
from ..learners.class_weight import ClassWeight
from ..learners.docstrings import documented
from ..learners.learner import KINDS
from ..learners.parameters import DUAL_LOSSES, NOT_NEGATIVE, POSITIVE, Flag, Number, OneOf, refuse_apart
from ..models.rows import refusals
from ..models.scaling import DEFAULT
from .in_memory import ATTRIBUTES, Data, InMemoryClassifier, Solution, Weights, zeros


class Ascent:
    """The dual variables of one class against the rest, kept from one threshold to the next."""

    def __init__(self, data: Data, positive: int, objective: _core.SdcaObjective) -> None:
        self.rows, self.objective = data.rows, objective
        self.core = _core.Sdca(data.rows, data.labels, positive, data.weight, data.norms, objective)
        self.duals, self.v = np.zeros(len(data.labels)), zeros(data.X.shape[1] + 1)

    def climb(self, order: Any) -> None:
        """A step for each row in this order."""
        with refusals(self.rows):
            self.core.ascend(self.duals, self.v, order)

    def gap(self) -> float:
        """The duality gap."""
        with refusals(self.rows):
            return self.core.gap(self.duals, self.v)

    def weights(self) -> Weights:
        """The weights that belong to the dual variables."""
        if self.objective.regularizer == _core.Regularizer.kl:
            return Weights(np.arange(len(self.v) - 1), softmax(self.v[1:]), float(self.v[0]))
        scale, intercept = 1 / self.objective.scale, self.objective.intercept
        slots, values = _core.nonzero_truncated(self.v, self.core.threshold, scale, intercept)
        first = int(len(slots) > 0 and slots[0] == 0)
        return Weights(slots[first:] - 1, values[first:], float(values[0]) if first else 0.0)


@documented(ATTRIBUTES)
@dataclass(eq=False, repr=False)
class SDCA(InMemoryClassifier):
    """A linear classifier by stochastic dual coordinate ascent, with a bound on its distance from the optimum.

    Shalev-Shwartz & Zhang, "Stochastic dual coordinate ascent methods for regularized loss minimization", JMLR 14,
    2013; S-DCA in the paper on online dual coordinate ascent.

    Minimises 1/n sum_i s_i loss(y_i w.x_i) + rho R(w), where n is the sum of the sample weights s. Each row has a dual
    variable. A step maximises the dual objective in one of them, with the others fixed. It takes time proportional to
    the row's nonzeros, or with ``regularizer="kl"`` to its columns. All rows must be in memory.

    Parameters
    ----------
    rho : float, default=0.0001
        The weight of the regulariser.
    epochs : int, default=5
        Go over the rows this many times at most.
    loss : {"hinge", "squared_hinge", "log", "squared", "absolute", "huber"}, default="hinge"
        Of the margin m = y w.x: max(0, 1 - m), its square, ln(1 + exp(-m)), (1 - m)^2 / 2, |1 - m|, or Huber's, which
        is (1 - m)^2 / 2 as far as |1 - m| <= epsilon and goes on in a straight line.
    regularizer : {"l2", "elastic_net", "kl"}, default="l2"
        R(w): |w|^2 / 2; or delta |w|_1 more, which makes weights exactly zero; or sum_j w_j ln(w_j), with weights that
        are not negative and have the sum 1.
    delta : float or None, default=None
        Of the elastic net, for which None is 0.001.
    epsilon : float or None, default=None
        Of Huber's loss, for which None is 1.
    tol : float, default=0
        Stop after an epoch that leaves a duality gap of at most this. If it is positive and was not reached, there is a
        ConvergenceWarning.
    fit_intercept : bool, default=True
        Learn an intercept, as the weight of a feature that is always 1. Its regulariser is b^2 / 2 whatever R is.
    shuffle : bool, default=True
        Go over the rows in a new random order each time, as the theory has it; otherwise in theirs.
    random_state : int, RandomState instance or None, default=None
        For `shuffle`.
    {common}
    n_iter_ : int
        How often the rows were gone over.
    dual_gap_ : float
        The duality gap at the end: the objective is no further from its minimum. The largest of all classes.
    dual_gaps_ : array of shape (n_iter_,)
        That after each epoch.

    Examples
    --------
    >>> from sureline import SDCA
    >>> from sureline.datasets import make_sparse_gaussian
    >>> X, y = make_sparse_gaussian(2000, n_noise=0, random_state=0)
    >>> X.data /= 10
    >>> model = SDCA(rho=0.01, loss="log", epochs=20, tol=1e-6, random_state=0).fit(X, y)
    >>> model.n_iter_, bool(model.dual_gap_ <= 1e-6)
    (12, True)
    """

    algorithm: ClassVar[str] = "stochastic dual coordinate ascent, with its duality gap"
    paper: ClassVar[str] = "Shalev-Shwartz & Zhang, JMLR 2013"

    rho: float = POSITIVE.default(1e-4)
    epochs: int = Number(1, 1e9, integer=True).default(5)
    loss: str = DUAL_LOSSES.default("hinge")
    regularizer: str = OneOf("l2", "elastic_net", "kl").default("l2")
    delta: float | None = Number(0, open="both", optional=True).default(None)
    epsilon: float | None = Number(0, open="both", optional=True).default(None)
    tol: float = NOT_NEGATIVE.default(0.0)
    fit_intercept: bool = Flag().default(True)
    shuffle: bool = Flag().default(True)
    random_state: Any = None
    normalize: str = KINDS.default(DEFAULT)
    class_weight: Any = ClassWeight().default(None)  # noqa: RUF009

    def _check_parameters(self) -> None:
        super()._check_parameters()
        refuse_apart(self, (("delta", "regularizer", "elastic_net"), ("epsilon", "loss", "huber")))

    def _solve(self, data: Data) -> Solution:
        rng = check_random_state(self.random_state)
        regularizer = _core.Regularizer[self.regularizer]
        delta = 0.0
        if regularizer == _core.Regularizer.elastic_net:
            delta = 0.001 if self.delta is None else float(self.delta)
        objective = _core.SdcaObjective(
            loss=_core.Loss[self.loss],
            epsilon=1.0 if self.epsilon is None else float(self.epsilon),
            rho=float(self.rho),
            regularizer=regularizer,
            threshold=delta,
            intercept=bool(self.fit_intercept),
        )
        ascents = [Ascent(data, positive, objective) for positive in data.heads]
        here = data.present
        gaps: list[float] = []
        for _ in range(int(self.epochs)):
            order = rng.permutation(here) if self.shuffle else here
            gaps.append(0.0)
            for ascent in ascents:
                ascent.climb(order)
                gaps[-1] = max(gaps[-1], ascent.gap())
            if gaps[-1] <= self.tol:
                break
        self.dual_gaps_, self.dual_gap_ = np.array(gaps), gaps[-1]
        warning = ""
        if 0 < self.tol < self.dual_gap_:
            warning = (
                f"SDCA stopped after {len(gaps)} epochs with a duality gap of {self.dual_gap_:.2g}, which is above "
                f"tol={self.tol:g}; raise epochs, rho or tol."
            )
        return Solution([ascent.weights() for ascent in ascents], len(gaps), self.dual_gap_, warning)

"""Stochastic dual coordinate ascent over data that is in memory as a whole: the solver of SDCA and SparseDCA."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax

from .._native import _core
from ..models.rows import refusal
from .in_memory import Data, Weights, zeros


class Ascent:
    """The dual variables of one class against the rest. They go on from one threshold to the next."""

    def __init__(self, data: Data, positive: int, objective: _core.SdcaObjective) -> None:
        self.rows, self.objective = data.rows, objective
        self.core = _core.Sdca(data.rows, data.labels, positive, data.weight, data.norms, objective)
        self.duals, self.v = np.zeros(len(data.labels)), zeros(data.X.shape[1] + 1)

    def climb(self, order: Any) -> None:
        """A step for each row in this order."""
        self._refuse(*self.core.ascend(self.duals, self.v, order))

    def gap(self) -> float:
        """The duality gap."""
        row, why, gap = self.core.gap(self.duals, self.v)
        self._refuse(row, why)
        return gap

    def weights(self) -> Weights:
        """Those that belong to the dual variables."""
        if self.objective.regularizer == _core.Regularizer.kl:
            return Weights(np.arange(len(self.v) - 1), softmax(self.v[1:]), float(self.v[0]))
        truncated = _core.Round(1.0, self.core.threshold, 1 / self.objective.scale, 0.0, np.inf, 1.0, 0.0)
        slots, _, values = _core.nonzero("averaged", self.v, None, 1, self.objective.intercept, [truncated])
        first = int(len(slots) > 0 and slots[0] == 0)
        return Weights(slots[first:] - 1, values[first:], float(values[0]) if first else 0.0)

    def _refuse(self, row: int, why: str) -> None:
        if why:
            raise refusal(self.rows, row, why, np.float64)

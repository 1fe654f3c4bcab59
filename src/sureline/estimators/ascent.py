"""Stochastic dual coordinate ascent over data that is in memory as a whole: the solver of SDCA and SparseDCA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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
        with self._refusals():
            self.core.ascend(self.duals, self.v, order)

    def gap(self) -> float:
        """The duality gap."""
        with self._refusals():
            return self.core.gap(self.duals, self.v)

    def weights(self) -> Weights:
        """Those that belong to the dual variables."""
        if self.objective.regularizer == _core.Regularizer.kl:
            return Weights(np.arange(len(self.v) - 1), softmax(self.v[1:]), float(self.v[0]))
        scale, intercept = 1 / self.objective.scale, self.objective.intercept
        slots, values = _core.nonzero_truncated(self.v, self.core.threshold, scale, intercept)
        first = int(len(slots) > 0 and slots[0] == 0)
        return Weights(slots[first:] - 1, values[first:], float(values[0]) if first else 0.0)

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Name the row that the core refuses."""
        try:
            yield
        except _core.Refused as refused:
            raise refusal(self.rows, refused, np.float64) from None

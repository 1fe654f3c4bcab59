"""Online feature selection: only a few features have weights. m = y w.x is the margin, s the weight of the example."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from .learners import AROW
from .stream import Array, Learner


class Selecting(Learner):
    """The selected features of each head. Column 0 is the intercept, which is not among them."""

    n_features: int

    def start(self, n_heads: int, d: int) -> None:
        super().start(n_heads, d)
        self.selected: list[list[int]] = [[] for _ in range(n_heads)]

    def select(self, head: int, x: Array, key: Array) -> None:
        """After the step: the features of x come in one by one, and the largest key leaves if that is one too many.

        Of equal keys that of the feature that has just come, otherwise that of the last column.
        """
        selected = self.selected[head]
        for j in (np.flatnonzero(x[1:]) + 1).tolist():
            if j in selected:
                continue
            selected.append(j)
            if len(selected) > self.n_features:
                leaves = max(selected, key=lambda k: (key[k], k == j, k))
                selected.remove(leaves)
                self.w[head, leaves] = 0


class SOFS(Selecting, AROW):
    def __init__(self, n_features: int = 100, r: float = 1.0, **common: Any) -> None:
        super().__init__(r, "diag", **common)
        self.n_features = n_features

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        if not super().turn(x, heads, s):
            return False
        for head in heads:
            self.select(head, x, self.S[head])
        return True


class FOFS(Selecting):
    def __init__(self, n_features: int = 100, eta: float = 0.2, lam: float = 0.01, **common: Any) -> None:
        super().__init__(**common)
        self.n_features, self.eta, self.lam = n_features, eta, lam

    def turn(self, x: Array, heads: dict[int, int], s: float) -> bool:
        m, x2 = self.margin(x, heads), self.variance(x, heads)
        self.w *= 1 - self.lam * self.eta
        if m > 1 or x2 == 0:
            return False
        for head, sign in heads.items():
            self.w[head] += s * self.eta * sign * x
        length = float(np.linalg.norm(self.w))
        if sqrt(self.lam) * length > 1:
            self.w /= sqrt(self.lam) * length
        for head in heads:
            self.select(head, x, -np.abs(self.w[head]))
        return True

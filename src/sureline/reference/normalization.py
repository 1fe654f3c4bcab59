"""Rows divided as each value of the parameter `normalize` says, one row after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from .stream import Array


class Normalization:
    """Normalises rows: not at all, by their length, or each feature by its mean absolute value so far.

    Attributes
    ----------
    a : array
        The mean of |x_j| over the rows in which it was not zero.
    k : array
        How many these were.
    """

    def __init__(self, kind: str, n_features: int) -> None:
        self.kind = kind
        self.a = np.zeros(n_features)
        self.k = np.zeros(n_features)

    def learn(self, x: Any) -> Array:
        """The row for learning."""
        x = np.asarray(x, np.float64)
        if self.kind == "scale":
            for j in np.flatnonzero(x):
                self.k[j] += 1
                self.a[j] += (abs(x[j]) - self.a[j]) / self.k[j]
        return self.apply(x)

    def apply(self, x: Any) -> Array:
        """The row for prediction; scales are not updated."""
        divided: Array = np.array(x, np.float64)
        if self.kind == "row" and divided.any():
            divided /= np.sqrt((divided**2).sum())
        if self.kind == "scale":
            for j in np.flatnonzero(divided):
                divided[j] /= self.a[j] if self.k[j] > 0 else abs(divided[j])
        return divided

    def learn_rows(self, X: Any) -> Array:
        return np.array([self.learn(x) for x in X])

    def apply_rows(self, X: Any) -> Array:
        return np.array([self.apply(x) for x in X])

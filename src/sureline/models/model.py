"""The interface of every model: weights, counts and width, for any kind of arrays."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._inputs import Array, Floats, Ints


def nonzero_of(coefficients: Array) -> list[tuple[Ints, Array]]:
    """For each head the slots, ascending, and values of the nonzero weights."""
    return [(slots, weights[slots]) for weights in coefficients for slots in [np.flatnonzero(weights)]]


class Model(Protocol):
    """The interface of a model.

    There is one head, or one for each class. Slot 0 is the intercept and slot j + 1 is column j.
    """

    tally: Ints  # for each class: examples seen, mistakes, updates

    @property
    def record(self) -> Floats | None:
        """The record of progressive predictions (record.py); None for regression."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of rows."""

    @property
    def n_columns(self) -> int: ...

    @property
    def n_heads(self) -> int: ...

    def nonzero(self) -> list[tuple[Ints, Array]]:
        """For each head the slots, ascending, and values of the nonzero weights."""

    def count_nonzero(self) -> int:
        """Number of nonzero weights, without the intercepts."""

    def coefficients(self) -> Array:
        """Weights with the intercept in front: shape (heads, 1 + columns)."""

    def intercepts(self) -> Array:
        """The intercept of each head."""

    def weight_variances(self, slots: Ints, head: int) -> Floats | None:
        """Variances of the weights in these slots; None if the model has none."""

    def only_nonzero(self) -> Model:
        """A copy without features whose weights are zero in every head."""

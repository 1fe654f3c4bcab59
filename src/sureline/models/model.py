"""The interface of every model: weights, counts and width, whatever arrays are behind them."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from .._inputs import Array

Floats = npt.NDArray[np.float64]


class Model(Protocol):
    """The interface of a model.

    There is one head, or one for each class. Slot 0 is the intercept and slot j + 1 is column j.
    """

    tally: npt.NDArray[np.int64]  # for each class: examples seen, mistakes, updates

    @property
    def dtype(self) -> np.dtype[Any]:
        """That rows are read in."""

    @property
    def n_columns(self) -> int: ...

    @property
    def n_heads(self) -> int: ...

    def nonzero(self) -> list[tuple[npt.NDArray[np.int64], Array]]:
        """For each head the slots, ascending, and values of the weights that are not zero."""

    def count_nonzero(self) -> int:
        """How many weights are not zero, without the intercepts."""

    def coefficients(self) -> Array:
        """Weights with the intercept in front: shape (heads, 1 + columns)."""

    def intercepts(self) -> Array:
        """One for each head."""

    def weight_variances(self, slots: npt.NDArray[np.int64], head: int) -> Floats | None:
        """Variances of the weights in these slots; None if the model has none."""

    def only_nonzero(self) -> Model:
        """A copy that knows nothing of the features whose weights are zero in every head."""

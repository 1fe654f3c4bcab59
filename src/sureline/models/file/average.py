"""The average of the weights along a stream, as tensors, and back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from ..._inputs import Array
from ..._native import _core
from ..numbers import Shape
from ..state import State
from ..touched import Touched
from .checks import MOST_ROUNDS, everywhere, increasing, index_dtype
from .container import Tensor
from .errors import Refusal

AVERAGE = "average"  # the field of states with an average; its value is true


def tensors_of_average(state: State, average: _core.Average, sums: Array) -> dict[str, Tensor]:
    """The numbers that all weights share, and the sums of the weights where they are not zero."""
    scalars, born, problems, runs = (np.array(numbers, np.float64) for numbers in average.__getstate__())
    numbers = sums[: state.n_columns + 1].reshape(-1)
    touched = Touched(numbers)
    count, index = touched.count(), index_dtype(len(numbers))
    shared = {"average": scalars, "average_born": born}
    shared |= {"average_pasts": problems.reshape(-1, 3), "average_runs": runs.reshape(-1, 3)}
    return {name: Tensor.of(array) for name, array in shared.items()} | {
        "average_places": Tensor(index, (count,), partial(touched.pieces, lambda at: at.astype(index))),
        "average_sums": Tensor(np.dtype(np.float64), (count,), partial(touched.pieces, lambda at: numbers[at])),
    }


def checked_average(
    take: Callable[..., Array], shape: Shape, n_problems: int, n_heads: int, n_slots: int
) -> tuple[_core.Average, tuple[Array, Array]]:
    """The average, and the places and values of its sums."""
    scalars = take("average", "float64", (4,))
    born = take("average_born", "float64", (n_heads,))
    pasts = take("average_pasts", "float64", (n_problems, 3))
    runs = take("average_runs", "float64")
    if runs.ndim != 2 or runs.shape[1] != 3:
        raise Refusal("the runs of the average are no rows of three numbers")
    if shape.has_roots and not ((pasts[:, 0] == 0) | (pasts[:, 1] > 0)).all():
        raise Refusal("the average has a delta that is not positive")
    if not scalars[0] >= 0.01 or not 0 <= scalars[3] <= MOST_ROUNDS:
        raise Refusal("a scalar of the average is out of range")
    try:
        average = _core.Average.restored(scalars, born, pasts.reshape(-1), runs.reshape(-1))
    except ValueError:
        raise Refusal("the tensors of the average do not fit each other, or a number is out of range") from None
    places, sums = take("average_places", index_dtype(n_slots * n_heads)), take("average_sums", "float64")
    if places.ndim != 1 or sums.shape != places.shape or not increasing(places, n_slots * n_heads):
        raise Refusal("the places of the average do not ascend, or are out of range")
    if not everywhere(lambda block: np.abs(block) < 2.0**1000, sums):
        raise Refusal("a sum of the average is out of range")
    return average, (places, sums)

"""The memory of online dual coordinate ascent besides its weights, as tensors, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._inputs import Array
from ..._native import _core
from .checks import MOST_ROUNDS, everywhere, integer
from .errors import Refusal

WINDOW = "window"  # the field that says how many examples the sliding window holds
_NAMES = ("window_parts", "window_numbers", "window_heads", "window_coefficients", "window_columns", "window_values")
_DTYPES = ("int64", "int64", "int64", "float64", "int64", "float64")
_COLUMNS = len(_core.AscentColumn)  # of the scalars
_TOTAL = _core.AscentColumn.total.value
_GROWN = [_core.AscentColumn.growth.value, _core.AscentColumn.turned.value]
_MOST_LENGTH = 10**7
_NOTHING = (np.empty(0, np.int64),) * 3 + (np.empty(0), np.empty(0, np.int64), np.empty(0))  # a window without rows


def arrays_of_ascent(ascent: _core.DualMemory) -> dict[str, Array]:
    arrays: dict[str, Array] = {"ascent": ascent.scalars.reshape(-1, _COLUMNS)}
    if ascent.length > 0:
        arrays |= dict(zip(_NAMES, ascent.window(), strict=True))
    return arrays


def checked_ascent(
    length: Any, take: Callable[..., Array], n_problems: int, n_heads: int, n_columns: int
) -> _core.DualMemory:
    length = integer(length, "the length of the window", 0, _MOST_LENGTH)
    scalars = take("ascent", "float64", (n_problems, _COLUMNS))
    if (
        not np.isfinite(scalars).all()
        or not (scalars >= 0).all()
        or not (scalars[:, _TOTAL] <= MOST_ROUNDS).all()
        or not (scalars[:, _GROWN] > 0).all()
    ):
        raise Refusal("a scalar of the window is out of range")
    if length == 0:
        return _core.DualMemory.restored(scalars.reshape(-1), 0, _NOTHING)
    parts, numbers, heads, coefficients, columns, values = (
        take(name, dtype) for name, dtype in zip(_NAMES, _DTYPES, strict=True)
    )
    if any(array.ndim != 1 for array in (parts, numbers, heads, coefficients, columns, values)):
        raise Refusal("the tensors of the window are not lists")
    if not everywhere(lambda block: (block >= 0) & (block < n_heads), heads) or not everywhere(
        lambda block: (block >= 0) & (block < n_columns), columns
    ):
        raise Refusal("an example of the window has a head or a column that is out of range")
    if not everywhere(np.isfinite, coefficients) or not everywhere(np.isfinite, values):
        raise Refusal("a number in the window is not finite")
    try:
        window = (parts, numbers, heads, coefficients, columns, values)
        return _core.DualMemory.restored(scalars.reshape(-1), length, window)
    except ValueError:
        raise Refusal("the tensors of the window do not fit each other") from None

"""The checks that every kind of state needs when it is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._container import Array
from ._errors import Refusal

MOST_COLUMNS = 1 << 31
MOST_ROUNDS = 1 << 53  # up to here a float counts
_BLOCK = 1 << 16


def integer(value: Any, what: str, least: int, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Refusal(f"{what} is not an integer from {least} to {most}")
    return value


def take_tensor(tensors: dict[str, Array], name: str, dtype: Any, shape: tuple[int, ...] | None = None) -> Array:
    """The tensor of that name, which belongs to the state from now on."""
    array = tensors.pop(name, None)
    if array is None or array.dtype != dtype or shape not in (None, array.shape):
        raise Refusal(f"the tensor {name} is missing, or its type or shape does not fit the others")
    return array


def everywhere(check: Callable[[Array], Array], numbers: Array, overlap: int = 0) -> bool:
    """Whether the check holds everywhere, with no array as large as the numbers. Blocks may overlap."""
    return all(bool(check(numbers[i : i + _BLOCK + overlap]).all()) for i in range(0, len(numbers), _BLOCK))

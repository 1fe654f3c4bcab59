"""The record of predictions that preceded their labels, as tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._inputs import Array, Floats
from ..numbers import SEEN
from ..record import (
    CELLS,
    FIRST_MARGIN,
    GUARDS,
    HIGHEST_GUARD,
    LOGS,
    ROWS,
    SHAPE,
    SIZE,
    SQUARES,
    fresh_record,
    is_empty,
    places_and_numbers,
)
from .checks import MOST_ROUNDS, take_tensor
from .errors import Refusal

_PLACES, _NUMBERS = "record_places", "record_numbers"


def arrays_of_record(state: Any) -> dict[str, Array]:
    record: Floats | None = state.record
    if record is None or (is_empty(record) and record[ROWS] == state.tally[:, SEEN].sum()):
        return {}
    places, numbers = places_and_numbers(record)
    return {_PLACES: places, _NUMBERS: numbers}


def checked_record(tensors: dict[str, Array], state: Any) -> Floats | None:
    """Read back the tensors of `arrays_of_record`, everything checked.

    A file without them, as older versions wrote it, is of a model with nothing on record.
    """
    if state.record is None:
        return None
    if _PLACES not in tensors:
        return fresh_record(int(state.tally[:, SEEN].sum()))
    places = take_tensor(tensors, _PLACES, "uint32")
    numbers = take_tensor(tensors, _NUMBERS, "float64", places.shape)
    ascending = places.ndim == 1 and (places[1:] > places[:-1]).all()
    if not ascending or (len(places) > 0 and int(places[-1]) >= SIZE) or not (numbers != 0).all():
        raise Refusal("the places of the record do not ascend, are out of range, or have a zero")
    record = fresh_record()
    record[places] = numbers
    logs, cells, guards = record[LOGS], record[CELLS].reshape(SHAPE), record[GUARDS]
    margins = state.n_heads > 1
    rows, squares, total = float(record[ROWS]), float(record[SQUARES]), float(cells.sum())
    between = record[LOGS.stop : CELLS.start]
    if not (np.isfinite(record).all() and (logs <= 0).all() and (cells >= 0).all() and not between.any()):
        raise Refusal("a number of the record is out of range")
    if not ((guards >= 0) & (guards <= HIGHEST_GUARD)).all() or (guards.any() and not total > 0):
        raise Refusal("a guard of the record is out of range")
    if not (0 <= rows <= MOST_ROUNDS and rows == int(rows) and squares >= 0 and (squares > 0) == (total > 0)):
        raise Refusal("the counts of the record do not fit each other")
    # For weights w of n rows: (sum of w)^2 / n <= sum of w^2 <= (sum of w)^2, up to rounding.
    if squares > total * total * (1 + 1e-9) or squares * rows < total * total * (1 - 1e-9):
        raise Refusal("the counts of the record do not fit each other")
    if (not margins and logs.any()) or (margins and cells[:FIRST_MARGIN].any()):
        raise Refusal("the record is not of as many classes")
    return record

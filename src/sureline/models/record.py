"""The record of progressive predictions that a model carries: see core/confidence/record.hpp.

It is an array of less than 64 KiB: the number of rows, the sum of the squared weights, the log-likelihoods of
temperatures, and then for each bin of the score and of its standard deviation the weight of the rows whose label was
the first of two classes, or none of the best one, and of the others. Two records add up: that of a model which saw the
rows of both is their sum. Last are the guards of some levels of error, in octaves of the score, which follow a stream
that changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._inputs import Array, Floats
from .._native import _core

_AT = _core.RECORD
SIZE: int = _AT["size"]
ROWS: int = _AT["rows"]
SQUARES: int = _AT["squares"]
CELLS = slice(_AT["cells"], _AT["guards"])
GUARDS = slice(_AT["guards"], _AT["guards"] + _AT["levels"])
LOGS = slice(_AT["logs"], _AT["logs"] + _AT["temperatures"])
SHAPE = (_AT["score_bins"], _AT["std_bins"], 2)
FIRST_MARGIN = SHAPE[0] // 2 - 1  # the bin of score 0; margins begin here
HIGHEST_GUARD = SHAPE[0] // (2 * _AT["in_octave"])  # octaves
LARGEST_SCORE = 2.0 ** (_AT["lowest_score"] + SHAPE[0] // (2 * _AT["in_octave"]))
SMALLEST_SCORE = 2.0 ** _AT["lowest_score"]
SMALLEST_STD = 2.0 ** _AT["lowest_std"]
LARGEST_STD = 2.0 ** (_AT["lowest_std"] + SHAPE[1])
LEVELS = 2.0 ** (_AT["lowest_level"] + 0.5 * np.arange(_AT["levels"]))  # of error, of the guards
TEMPERATURES = 2.0 ** np.arange(_AT["lowest_temperature"], _AT["lowest_temperature"] + _AT["temperatures"])


def fresh_record(rows: int = 0) -> Floats:
    """An empty record after that many rows."""
    record = np.zeros(SIZE)
    record[ROWS] = rows
    return record


def begun_anew(record: Floats) -> Floats:
    """An empty record after as many rows, for a model whose question has changed."""
    return fresh_record(int(record[ROWS]))


def is_empty(record: Floats) -> bool:
    """True if no prediction is on it."""
    return not record[SQUARES] > 0


def merged(*records: Floats) -> Floats:
    """The record of models that learned from different rows, taken together."""
    both = fresh_record()
    guards = np.zeros(len(LEVELS))
    for record in records:
        both += record
        guards += record[ROWS] * record[GUARDS]
    both[GUARDS] = guards / max(both[ROWS], 1.0)  # they are no sums: the mean of a row
    return both


def score_of_bins() -> Floats:
    """The middle of each bin of scores."""
    magnitudes = np.arange(SHAPE[0] // 2)
    octave, part = np.divmod(magnitudes, _AT["in_octave"])
    middle = 2.0 ** (octave + _AT["lowest_score"]) * (1 + (part + 0.5) / _AT["in_octave"])
    return np.concatenate([-middle[::-1], middle])


def std_of_bins() -> Floats:
    """The middle of each bin of standard deviations."""
    middle: Floats = 2.0 ** (np.arange(SHAPE[1]) + _AT["lowest_std"] + 0.5)
    return middle


@dataclass(frozen=True)
class Outcomes:
    """The cells of a record that are not empty, in units of examples: as many as say the same by their variance."""

    score: Floats
    std: Floats
    negative: Floats
    positive: Floats
    has_std: bool  # else no score had a variance

    @classmethod
    def of(cls, record: Floats) -> Outcomes:
        cells = record[CELLS].reshape(SHAPE)
        size = examples_per_weight(record)
        scores, stds = np.nonzero(cells.sum(axis=2))
        return cls(
            score_of_bins()[scores],
            std_of_bins()[stds],
            cells[scores, stds, 0] * size,
            cells[scores, stds, 1] * size,
            bool((stds > 0).any()),
        )


def examples_per_weight(record: Floats) -> float:
    """(sum of w)^2 / (sum of w^2) examples for a weight of (sum of w) in all."""
    total, squares = float(record[CELLS].sum()), float(record[SQUARES])
    return total / squares if squares > 0 else 0.0


def log_likelihoods(record: Floats) -> Floats:
    """Log-likelihoods of the labels where the best class was wrong, per temperature, in units of examples."""
    logs: Floats = record[LOGS] * examples_per_weight(record)
    return logs


def guard(record: Floats, level: float) -> float:
    """The |score| from which on answers were wrong no more often than `level`, between two recorded levels."""
    if level > LEVELS[-1]:
        return 0.0
    guards = np.maximum.accumulate(record[GUARDS][::-1])[::-1]  # a guard for fewer errors is at least that for more
    octaves = float(np.interp(np.log2(level), np.log2(LEVELS), guards))
    whole = np.floor(octaves)  # within an octave they are linear in the score
    return float(SMALLEST_SCORE * 2.0**whole * (1 + octaves - whole)) if octaves > 0 else 0.0


def places_and_numbers(record: Floats) -> tuple[Array, Floats]:
    """The places of the numbers that are not zero, and these."""
    places = np.flatnonzero(record)
    return places.astype(np.uint32), record[places]

"""What the models of a tournament take in memory, before they take it."""

from __future__ import annotations

import numpy as np

from ..learners.feature_groups import FGM, SBCW
from ..learners.learner import ClassLearner
from ..learners.online import RuleLearner
from ..learners.online_batch import BCW
from ..models.precision.state import most_bytes


def model_bytes(learner: ClassLearner, n_columns: int, n_classes: int, n_rows: int, batch: int) -> int:
    """The most that a model of so many columns and classes takes until it has learned from so many rows.

    Memory that no feature has touched costs nothing, so that it may be much less. Rows that are kept, those of a
    sliding window and of a batch, are not counted.
    """
    slots, heads = n_columns + 1, n_classes if n_classes > 2 else 1
    size = np.dtype(learner.dtype).itemsize
    if isinstance(learner, RuleLearner):
        shape = learner._shape()
        factors = heads * slots * (slots + 1) // 2 if shape.has_factors else 0
        return size * (slots * heads * shape.width + factors)
    scales = 2 * scale_bytes(n_columns) if learner.normalize == "scale" else 0  # its own, before a batch and after it
    if isinstance(learner, BCW):
        return scales + most_bytes(slots, heads, n_rows)
    assert isinstance(learner, SBCW | FGM)
    return scales + learner.most_bytes(slots, heads, -(-n_rows // batch))


def scale_bytes(n_columns: int) -> int:
    """What the sizes of the features take that rows are divided by, which all learners of one dtype share."""
    return 16 * n_columns


def in_words(n_bytes: int) -> str:
    """Such as 208 MB."""
    for unit, size in (("GB", 10**9), ("MB", 10**6)):
        if n_bytes >= 10 * size or (unit == "MB" and n_bytes >= size):
            return f"{n_bytes / size:,.0f} {unit}"
        if n_bytes >= size:
            return f"{n_bytes / size:.1f} {unit}"
    return f"{max(round(n_bytes / 1000), 1):,} kB"

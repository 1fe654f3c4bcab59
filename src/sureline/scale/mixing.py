"""Classes of the rows of each shard: shards that have mostly one each learn little, and merging cannot mend that.

The share of the variance of a class that lies between shards is Light and Margolin's R² (1971). Of rows in random
order, (rows - 1)(classes - 1) R² has about the chi-square distribution with (shards - 1)(classes - 1) degrees.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from .._inputs import Ints
from ..stream.runs import SHARE

_QUANTILE = 4.753  # of the normal distribution: false alarms are one in a million, as of label runs


class ClassesOfShards:
    """Rows of each class in each shard of a training."""

    def __init__(self) -> None:
        self._counts: list[Ints] = []

    def add(self, counts: Ints) -> None:
        """The rows of each class in one more shard; classes may become more."""
        self._counts.append(counts)

    @property
    def unequal(self) -> float | None:
        """The share of the variance that lies between shards, if it is large and not by chance; otherwise None."""
        n_classes = max(map(len, self._counts), default=0)
        table = np.array([np.pad(each, (0, n_classes - len(each))) for each in self._counts if each.sum()], float)
        table = table[:, table.sum(axis=0) > 0] if len(table) else table.reshape(0, 0)
        shards, classes = table.shape
        if shards < 2 or classes < 2:
            return None
        rows, of_class = table.sum(), table.sum(axis=0)
        whole = rows - (of_class**2).sum() / rows
        within = rows - (table**2 / table.sum(axis=1, keepdims=True)).sum()
        between = 1 - within / whole
        degrees = (shards - 1) * (classes - 1)
        chance = degrees * (1 - 2 / (9 * degrees) + _QUANTILE * sqrt(2 / (9 * degrees))) ** 3  # Wilson & Hilferty
        large = between > 1 - SHARE and (rows - 1) * (classes - 1) * between > chance
        return float(between) if large else None

    def in_words(self) -> str | None:
        """The finding in a sentence; None if there is none."""
        between = self.unequal
        if between is None:
            return None
        return (
            f"{between:.0%} of the variance of the classes lies between the {len(self._counts):,} shards, each of "
            "which learned little about classes that it has few rows of: shuffle the rows before they are cut into "
            "shards"
        )

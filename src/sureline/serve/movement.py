"""The largest weights of a model, and how they moved lately."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..models.weights import Weight

_KEPT = 600.0  # seconds
_EVERY = 15.0  # seconds between what is kept


@dataclass(frozen=True)
class Moved:
    """A weight, and by how much it is another than it was; None if it was not among the largest then."""

    weight: Weight
    by: float | None

    @property
    def title(self) -> str:
        return self.weight.title


class Movement:
    """Remembers weights for some minutes.

    Attributes
    ----------
    since : float or None
        The time of the weights that the latest ones are compared with, and `labels` the number of labels then.
    """

    def __init__(self) -> None:
        self._kept: deque[tuple[float, int, dict[tuple[int, str], float]]] = deque()
        self.since: float | None = None
        self.labels = 0

    def of(self, weights: Sequence[Weight], labels: int, shown: int, now: float | None = None) -> list[Moved]:
        """The first of them with their movement, after so many labels."""
        now = time.time() if now is None else now
        kept = self._kept
        while len(kept) > 1 and kept[0][0] < now - _KEPT:
            kept.popleft()
        before: dict[tuple[int, str], float] = {}
        self.since = None
        if kept:
            self.since, self.labels, before = kept[0]
        if not kept or now - kept[-1][0] >= _EVERY:
            kept.append((now, labels, {_key(one): one.weight for one in weights}))
        moved = []
        for one in weights[:shown]:
            was = before.get(_key(one))
            moved.append(Moved(one, None if was is None else one.weight - was))
        return moved


def _key(weight: Weight) -> tuple[int, str]:
    label: Any = weight.label
    return weight.feature, repr(label)

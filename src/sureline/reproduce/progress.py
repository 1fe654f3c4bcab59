"""How far a reproduction has come."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """Work done and to be done, in units that take about equally long; the time so far; what is being done."""

    done: float
    total: float
    seconds: float
    what: str

    @property
    def seconds_left(self) -> float | None:
        """An estimate, or None before there is anything to go by."""
        return self.seconds * (self.total - self.done) / self.done if self.done > 0 else None


class Progress:
    """A protocol says how much there is to do, and then what it does. `on_progress` hears of each step."""

    def __init__(self, on_progress: Callable[[Step], None] | None = None) -> None:
        self._on_progress = on_progress
        self._began = time.monotonic()
        self._done = self._total = 0.0

    def expect(self, work: float) -> None:
        """So much more work is to be done."""
        self._total += work

    def advance(self, work: float, what: str) -> None:
        """So much of it has been done; `what` comes next or has just been done."""
        self._done += work
        if self._on_progress is not None:
            total = max(self._total, self._done)
            self._on_progress(Step(self._done, total, time.monotonic() - self._began, what))

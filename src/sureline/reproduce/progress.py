"""The progress of a reproduction."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """Finished and total work in units of about equal time, the time so far, and the current activity."""

    done: float
    total: float
    seconds: float
    what: str

    @property
    def seconds_left(self) -> float | None:
        """An estimate of the remaining seconds; None at the beginning."""
        return self.seconds * (self.total - self.done) / self.done if self.done > 0 else None


class Progress:
    """Collects the progress of a protocol; `on_progress` is called at each step."""

    def __init__(self, on_progress: Callable[[Step], None] | None = None) -> None:
        self._on_progress = on_progress
        self._began = time.monotonic()
        self._done = self._total = 0.0

    def expect(self, work: float) -> None:
        """Add work that is still to be done."""
        self._total += work

    def advance(self, work: float, what: str) -> None:
        """Note finished work; `what` is the current activity."""
        self._done += work
        if self._on_progress is not None:
            total = max(self._total, self._done)
            self._on_progress(Step(self._done, total, time.monotonic() - self._began, what))

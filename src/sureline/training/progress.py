"""The progress of a training, for reports on the way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The progress of a training."""

    examples: int
    mistakes: int | None  # None for a regressor; with a label budget an estimate from the asked labels
    seconds: float  # since this run began
    share: float | None  # of the stream that has been read, where its size is known
    pass_number: int
    losses: float | None = None  # for a regressor: the summed loss of its predictions
    frozen_error: float | None = None  # of the model at the end of a block on the next one; None for a regressor

    @property
    def error(self) -> float | None:
        """The progressive error so far; None for a regressor."""
        return None if self.mistakes is None else self.mistakes / max(self.examples, 1)

    @property
    def loss(self) -> float | None:
        """For a regressor: the mean progressive loss so far."""
        return None if self.losses is None else self.losses / max(self.examples, 1)


def since(before: tuple[int, float], now: tuple[int, float], *, classes: bool) -> dict[str, Any]:
    """Examples between two moments, and how they were predicted; each is examples, and mistakes or losses."""
    examples, wrong = now[0] - before[0], now[1] - before[1]
    share = wrong / max(examples, 1)
    return (
        {"examples": examples, "mistakes": int(wrong), "error": share}
        if classes
        else {
            "examples": examples,
            "loss": share,
        }
    )


def powers_of_two(after: int, up_to: int) -> list[int]:
    """Powers of two larger than `after` and not larger than `up_to`."""
    return [1 << k for k in range(up_to.bit_length()) if after < 1 << k <= up_to]

"""How a learner learns from a share of a stream as if from the whole stream.

K shards that each correct the same error overshoot when their steps are added, and learn too little when they are
averaged. So each shard learns with the step sizes and precisions of the whole stream, and the results are averaged:
a row of a shard with the share a of the stream counts m = 1 / a times. docs/guide/scale-out.md derives what that means.

- A learner whose loss has a weight (PA, AROW, ...) gets the sample weight m.
- Of SCW a weight is no more than a higher cap C of its steps, and those below the cap stay as they are. With C / a the
  cap would hardly ever hold, and a shard would follow noise as CW does. So m is sqrt(1 / a).
- The rate of an adaptive learner would cancel a weight: gradients that count m times in the sum and in the sum of
  squares are plain gradients with the rate times sqrt(m), if sums and sums of squares begin divided by m.
- Precisions that come from the rows alone (BCW) add up exactly, and each mean counts by its precision.
- A clock that the rate or the penalty follows begins divided by m, and the rate at t is that at m t.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Sharding:
    """The change of a learner whose rows count m times."""

    counted: bool = True  # by the sample weight m; otherwise only by the following
    powers: Mapping[str, float] = field(default_factory=dict)  # parameters that are multiplied by m to this power
    sums: bool = False  # theta is a sum of gradients that count once: it begins divided by m
    power: float = 1.0  # m is 1 / a to this power

    def part(self, share: float) -> float:
        """1 / m for a shard with this share of the stream."""
        return share if self.power == 1 else share**self.power


COUNTED = Sharding()
CAPPED = Sharding(power=0.5)


def descending(sharding: Sharding | None, power_t: float) -> Sharding | None:
    """For steps of eta / t^power_t: a row makes the steps of m equal rows in sequence."""
    return None if sharding is None else Sharding(powers={"eta": -power_t})


def scheduled(sharding: Sharding | None, schedule: str) -> Sharding | None:
    """For a penalty that follows the clock, which begins divided by m."""
    power = {"constant": 0, "1/t": -1, "t": 1}[schedule]
    return None if sharding is None else Sharding(powers={"lam": power})

"""Which labels of a stream are asked for, in plain Python: see docs/guide/label-budget.md."""

from __future__ import annotations

WINDOW, SAVED, HORIZON = 256, 2, 64
_BITS = (1 << 64) - 1


def uniform(seed: int, t: int) -> float:
    """A number from 0 to 1 for each row, by SplitMix64."""
    z = ((seed + 1) * 0x9E3779B97F4A7C15 + t * 0xD1342543DE82EF95) & _BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _BITS
    return ((z ^ (z >> 31)) >> 11) * 2.0**-53


class Asker:
    """Asks for at most rate t labels in t rows: for small u among the latest rows, and for some at random."""

    def __init__(self, rate: float, seed: int = 0, random: float = 0.25) -> None:
        self.rate, self.seed, self.random = rate, seed, random
        self.rows = self.asked = 0
        self.latest: list[float] = []

    def next(self, u: float) -> float:
        """The probability with which the next row's label is asked for; 0 if it is not."""
        t, n = self.rows, len(self.latest)
        below, equal = sum(other < u for other in self.latest), sum(other == u for other in self.latest)
        self.latest = [*self.latest, u][-WINDOW:]
        self.rows += 1
        allowed = self.rate * self.rows - self.asked
        if allowed < 1:
            return 0.0
        rho = self.random * self.rate
        share = (self.rate - rho) / (1 - rho) + (allowed - 1 - SAVED) / HORIZON
        q = min(max((share * (n + 1) - below) / (equal + 1), 0.0), 1.0)
        p = q + (1 - q) * rho
        if uniform(self.seed, t) >= p:
            return 0.0
        self.asked += 1
        return p

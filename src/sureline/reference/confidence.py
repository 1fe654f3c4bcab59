"""The record of progressive predictions, and the calibrated curve through it, in plain NumPy.

The grid of the record: 4 bins in each octave of |score| from 2^-12 to 2^16, mirrored for negative scores, and one for
each octave of the standard deviation from 2^-11 to 2^7. Values beyond belong to the last bin.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

SCORES, STDS, HEADER, TEMPERATURES = 224, 18, 32, 2.0 ** np.arange(-10, 15)
LEVELS = 2.0 ** (-9 + 0.5 * np.arange(16))  # of the guards
ALL_BELOW = 1 << 14  # the first rows, each of which is recorded


def step_after(t: int) -> int:
    """After t rows, one row of this many is recorded: 2^13 in each octave of t."""
    return 1 if t < ALL_BELOW else 1 << ((t // (ALL_BELOW // 2)).bit_length() - 1)


def score_bin(f: float) -> int:
    size, n = abs(f), SCORES // 2
    if size < 2.0**-12:
        k = 0
    else:
        mantissa, exponent = np.frexp(size)  # size = mantissa 2^exponent, mantissa from 1/2 to 1
        k = min(4 * (int(exponent) - 1 + 12) + int((2 * mantissa - 1) * 4), n - 1)
    return n + k if f > 0 else n - 1 - k


def std_bin(v: float) -> int:
    if v < 4.0**-11:
        return 0
    return min((int(np.frexp(v)[1]) - 1) // 2 + 11, STDS - 1)


def octaves(f: float) -> float:
    """The size of a score: 0 up to 2^-12, then 1 more in each octave and linear within it, up to 28."""
    if abs(f) < 2.0**-12:
        return 0.0
    mantissa, exponent = np.frexp(abs(f))
    return min(float(exponent - 1 + 12 + (2 * mantissa - 1)), 28.0)


class Record:
    """For two classes scores are those of the second; for more, each row has a score for each class."""

    def __init__(self) -> None:
        size = SCORES * STDS * 2
        self.numbers = np.zeros(HEADER + size + len(LEVELS))
        self.cells = self.numbers[HEADER : HEADER + size].reshape(SCORES, STDS, 2)
        self.guards = self.numbers[HEADER + size :]  # octaves

    def see(self, f: Floats, v: Floats, label: int, s: float = 1.0) -> None:
        """A row with scores f and variances v for its heads, before its label is learned from."""
        t = int(self.numbers[0])
        self.numbers[0] += 1
        step = step_after(t)
        if t % step:
            return
        w = (t + 1) * step * s
        if len(f) == 1:
            margin, variance, outcome = f[0], v[0], label == 1
            right = (f[0] > 0) == outcome
        else:
            best, following = np.argsort(-f, kind="stable")[:2]
            margin, variance, outcome = f[best] - f[following], v[best] + v[following], label == best
            right = outcome
            if not outcome:
                others = np.delete(f, best) - f[following]
                for i, T in enumerate(TEMPERATURES):
                    likelihood = (f[label] - f[following]) / T - np.log(np.exp(others / T).sum())
                    self.numbers[2 + i] += w * likelihood
        self.cells[score_bin(float(margin)), std_bin(float(variance)), int(outcome)] += w
        self.numbers[1] += w * w
        self._move_guards(octaves(float(margin)), bool(right), min(s, 4.0))

    def _move_guards(self, size: float, right: bool, s: float) -> None:
        """Adaptive conformal inference at 1.25 times each level: a wrong answer counts 1 - level, a right one -level.

        An answer below the guard is not given; the guard then sinks by a 64th of the step for a right one.
        """
        level, answered = 1.25 * LEVELS, size >= self.guards
        step = np.where(answered, -level, -level / 64) if right else np.where(answered, 1 - level, 0)
        self.guards[:] = np.clip(self.guards + 0.25 * s * step, 0, 28)


def log_odds(
    f: Floats, std: Floats, a: float, F: tuple[Floats, Floats], G: tuple[Floats, Floats], largest_std: float
) -> Floats:
    """The calibrated log-odds: a + (F(f) + G(f / std)) min(1, D / std), F and G linear between their knots."""
    risen = np.interp(f, *F) + np.interp(f / std, *G)
    return a + risen * np.minimum(1, largest_std / std)

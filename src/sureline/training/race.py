"""The racing rule: which settings are so far behind that they can be dropped early.

The curves of progressive loss are known at 1, 2, 4, ..., 64 examples and then at eight points an octave, whatever the
chunks of the stream are. At powers of two a setting is compared with the leader, the one with the least loss so far.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log2

import numpy as np
import numpy.typing as npt

from .._inputs import Floats

ERROR = 0.01  # of a whole race: that it drops the setting that would have won
FIRST = 1 << 11  # examples before the first look
SHARE = 32  # and at least this part of the stream, where its length is known: dropping earlier saves next to nothing
AHEAD = 3  # octaves assumed to be still to come, if unknown
_FIRST_OCTAVE = 6  # from 2^6 on an octave has eight points
_POINTS = 8

RULE = (
    "After 2,048, 4,096, 8,192, ... examples (from 1/32 of the stream on) each setting is compared with the "
    "leader, the one with the least loss so far. Its lag, the difference of their mean losses in the last octave "
    "(the latter half of the examples so far), is continued to the end of the stream; and once more under the "
    "assumption that with every octave to come the lag shrinks by as much as between the last two octaves. The "
    "setting is dropped if in both cases its loss at the end exceeds the leader's, even if chance had done to the "
    "measured lags, and will do to the rest, what is worth z standard errors. The variance of a difference is the "
    "larger of what the blocks of an eighth of an octave show and what it would be if the two never erred "
    "together and each erred once more. At the k-th look at a race of S settings z is that of a probability of "
    f"{ERROR:g} / (k (k + 1) S), so that all looks at all settings together err with a probability of at most "
    f"{ERROR:g}. Where the length of the stream is not known, three more octaves, which is seven times as many "
    "examples as came so far, are assumed to come."
)


def points(after: int, up_to: int) -> list[int]:
    """The points of the curves after `after` and up to `up_to` examples."""
    found = []
    for k in range(max(after.bit_length() - 1, 0), up_to.bit_length()):
        steps = 1 if k < _FIRST_OCTAVE else _POINTS
        found += [(1 << k) + i * (1 << k) // steps for i in range(steps)]
    return [n for n in found if after < n <= up_to]


def index_of(n: int) -> int:
    """The place of a power of two among the points."""
    k = n.bit_length() - 1
    return k if k <= _FIRST_OCTAVE else _FIRST_OCTAVE + _POINTS * (k - _FIRST_OCTAVE)


def row_of(index: int) -> int:
    """The number of examples at the point of that place."""
    if index <= _FIRST_OCTAVE:
        return 1 << index
    octave, step = divmod(index - _FIRST_OCTAVE, _POINTS)
    return (64 << octave) + step * (8 << octave)


@dataclass
class Race:
    """The looks at a race, each with a smaller part of the allowed error."""

    n_settings: int
    looks: int = 0

    def due(self, n: int, total: float | None) -> bool:
        """True if a look is due after n examples, of a stream of `total` if known."""
        return n >= FIRST and n & (n - 1) == 0 and (total is None or total / SHARE <= n < total)

    def behind(
        self, n: int, total: float | None, losses: Floats, squares: Floats, alive: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.bool_]:
        """The settings to drop after n examples, a power of two for which it is `due`.

        Parameters
        ----------
        losses, squares : arrays of shape (17, n_settings)
            The sums of the losses, and of their squares, at the points from n/4 to n.
        alive : array of shape (n_settings,)
            Those that are still in the race.
        """
        from scipy.special import ndtri

        self.looks += 1
        z = -float(ndtri(ERROR / (self.looks * (self.looks + 1) * self.n_settings)))
        leader = int(np.argmin(np.where(alive, losses[-1], np.inf)))
        gap = losses - losses[:, [leader]]
        middle, last = _POINTS, 2 * _POINTS
        lag_before = (gap[middle] - gap[0]) / (n / 4)
        lag = (gap[last] - gap[middle]) / (n / 2)
        left, shrunk = _to_come(n, total)

        # Variance of the difference of one example. One more mistake on each side is added against luck.
        unit = squares[last].max() / max(float(losses[last].max()), 1e-300)  # the weight of a mistake
        bound = (squares[last] - squares[middle] + unit) / (n / 2)
        bound = bound + bound[leader]
        blocks = np.diff(gap, axis=0)
        sizes = np.repeat([n / 32, n / 16], _POINTS)[:, np.newaxis]
        rest = blocks - sizes * np.repeat([lag_before, lag], _POINTS, axis=0)
        variance = np.maximum(bound, (rest**2 / sizes).sum(axis=0) / (2 * _POINTS - 2))

        as_it_is = gap[last] + left * lag
        noise = np.sqrt(variance * (left**2 / (n / 2) + left))
        catching_up = gap[last] + (left + shrunk) * lag - shrunk * lag_before
        more_noise = np.sqrt(variance * ((left + shrunk) ** 2 / (n / 2) + shrunk**2 / (n / 4) + left))
        out: npt.NDArray[np.bool_] = alive & (as_it_is > z * noise) & (catching_up > z * more_noise)
        return out


def _to_come(n: int, total: float | None) -> tuple[float, float]:
    """The examples still to come, and their number weighted by the gain per octave."""
    octaves = AHEAD if total is None else log2(max(total / n, 1.0))
    left = shrunk = 0.0
    for j in range(1, ceil(octaves) + 1):
        size = n * (2.0 ** min(j, octaves) - 2.0 ** (j - 1))
        left += size
        shrunk += j * size
    return left, shrunk

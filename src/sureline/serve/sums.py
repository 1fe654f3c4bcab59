"""Statistics of an endless stream in bounded memory: sums along it, and of its latest seconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Floats, Ints

_MOST = 128  # stretches
_FIRST_LENGTH = 8  # rows
KEPT = 300  # seconds
_PER_DECADE, _FASTEST, _BINS = 16, 1e-6, 144  # of times: from a microsecond to 1,000 seconds


class Stretches:
    """Sums of some columns along a stream, in stretches of one length, which doubles when there are too many."""

    def __init__(self, columns: int, first: int = 0) -> None:
        self.sums = np.zeros((columns, _MOST))
        self.rows = 0
        self.length = _FIRST_LENGTH
        self.first = first  # rows of the stream before these

    def add(self, *columns: npt.NDArray[Any]) -> None:
        """The next rows: a value of each column for each."""
        n = len(columns[0])
        while self.rows + n > self.length * _MOST:
            pairs = self.sums.reshape(len(self.sums), _MOST // 2, 2).sum(axis=2)
            self.sums = np.concatenate([pairs, np.zeros_like(pairs)], axis=1)
            self.length *= 2
        if n:
            at = np.arange(self.rows, self.rows + n) // self.length
            first, last = int(at[0]), int(at[-1])
            for sums, values in zip(self.sums, columns, strict=True):
                if first == last:
                    sums[first] += values.sum()
                else:
                    sums[first : last + 1] += np.bincount(at - first, weights=values, minlength=last - first + 1)
            self.rows += n

    def table(self, most: int = 64, least: int = 48) -> tuple[Ints, Ints, Floats]:
        """At most so many stretches, of at least so many rows if there are some: their ends, rows and sums."""
        used = -(-self.rows // self.length)
        each = 1
        while each < used and (-(-used // each) > most or each * self.length < least):
            each *= 2
        starts = np.arange(0, used, each)
        ends = np.minimum((starts + each) * self.length, self.rows)
        rows = ends - starts * self.length
        sums = np.add.reduceat(self.sums[:, :used], starts, axis=1) if used else self.sums[:, :0]
        if len(rows) > 1 and 2 * rows[-1] < rows[-2]:  # what has just begun says little as yet
            sums[:, -2] += sums[:, -1]
            ends, rows, sums = np.delete(ends, -2), np.append(rows[:-2], rows[-2:].sum()), sums[:, :-1]
        return ends + self.first, rows, sums

    def to_state(self) -> dict[str, Any]:
        return {"first": self.first, "rows": self.rows, "length": self.length, "sums": packed(self.sums)}

    @classmethod
    def from_state(cls, state: Any, columns: int) -> Stretches:
        made = cls(columns, whole(state["first"]))
        made.rows, made.length = whole(state["rows"]), whole(state["length"])
        made.sums = unpacked(state["sums"], made.sums)
        if made.length < 1 or made.rows > made.length * _MOST:
            raise ValueError(f"{made.rows} rows are more than {_MOST} stretches of {made.length}")
        return made


class Seconds:
    """Requests, rows and labels of each of the latest seconds, and how long requests took."""

    def __init__(self) -> None:
        self.second = np.full(KEPT, -1, np.int64)
        self.counts = np.zeros((KEPT, 3), np.int64)  # requests, rows, labels
        self.times = np.zeros((KEPT, _BINS), np.int64)

    def add(self, second: int, counts: tuple[int, int, int], times: Floats | None = None) -> None:
        at = second % KEPT
        if self.second[at] > second:  # the clock was set back
            return
        if self.second[at] < second:
            self.second[at], self.counts[at], self.times[at] = second, 0, 0
        self.counts[at] += counts
        if times is not None and len(times):
            bins = np.log10(np.maximum(times, _FASTEST) / _FASTEST) * _PER_DECADE
            self.times[at] += np.bincount(np.minimum(bins.astype(np.int64), _BINS - 1), minlength=_BINS)

    def set_back(self, second: int) -> None:
        """Forget what the clock, which was set back, has not come to yet."""
        self.second[self.second > second] = -1

    def latest(self, now: int, seconds: int, step: int) -> tuple[Ints, list[Floats]]:
        """Counts of the last whole `seconds` in steps, the earliest first; and quantiles 0.5 and 0.99 of the times."""
        wanted = np.arange(now - seconds, now)
        at = wanted % KEPT
        there = self.second[at] == wanted
        counts = np.where(there[:, np.newaxis], self.counts[at], 0).reshape(-1, step, 3).sum(axis=1)
        times = np.where(there[:, np.newaxis], self.times[at], 0).reshape(-1, step, _BINS).sum(axis=1)
        return counts, [_quantile(times, share) for share in (0.5, 0.99)]

    def to_state(self) -> dict[str, Any]:
        used = self.second >= 0
        of_them = [self.counts[used].tolist(), packed(self.times[used])] if used.any() else [[], packed(self.times[:0])]
        return {"second": self.second[used].tolist(), "counts": of_them[0], "times": of_them[1]}

    @classmethod
    def from_state(cls, state: Any) -> Seconds:
        made = cls()
        second = np.array([whole(value) for value in state["second"]], np.int64)
        if len(second):
            at = second % KEPT
            made.second[at] = second
            made.counts[at] = np.array(state["counts"], np.int64).reshape(len(second), 3)
            made.times[at] = unpacked(state["times"], made.times[at])
        return made


def _quantile(times: Ints, share: float) -> Floats:
    """Of each row of counts, in seconds; NaN without any."""
    sums = np.cumsum(times, axis=1)
    total = sums[:, -1]
    wanted = np.maximum(np.ceil(share * total), 1)
    at = (sums < wanted[:, np.newaxis]).sum(axis=1)
    middle = _FASTEST * 10 ** ((np.minimum(at, _BINS - 1) + 0.5) / _PER_DECADE)
    return np.where(total > 0, middle, np.nan)


def packed(values: npt.NDArray[Any]) -> dict[str, Any]:
    """An array for JSON: what is not zero."""
    flat = values.reshape(-1)
    at = np.flatnonzero(flat)
    return {"shape": list(values.shape), "at": at.tolist(), "values": flat[at].tolist()}


def unpacked(state: Any, like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The array that `packed` told of. ValueError if it has not that shape."""
    if tuple(state["shape"]) != like.shape:
        raise ValueError(f"an array has the shape {state['shape']} instead of {list(like.shape)}")
    made = np.zeros(like.size, like.dtype)
    at = np.array(state["at"], np.int64)
    if len(at) and (at.min() < 0 or at.max() >= like.size):
        raise ValueError("a value has a place beyond the end of its array")
    made[at] = np.array(state["values"], like.dtype)
    return made.reshape(like.shape)


def whole(value: Any) -> int:
    """A count, as JSON has it."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value

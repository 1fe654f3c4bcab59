"""States of shards, merged into one: the mathematics of learning a stream in shards.

Every shard begins with the same base, and its rows count several times (learners/sharding.py). With a_k the share of
shard k in the stream, and b_k the part of a row that is counted once in its shard, the merged numbers of a feature are

    w = w' + sum of a_k (w_k - w')                  weights, and sums of steps
    1 / S = 1 / S' + sum of b_k (1 / S_k - 1 / S')  variances, so that precisions are those of the whole stream
    theta = theta' + sum of (theta_k - b_k theta')  sums of gradients that count once; each shard began with b_k theta'
    G = G' + sum of (G_k - b_k G')                  sums of their squares, likewise

where w', S', theta' and G' are those of the base. A shard that never touched a feature has the base's numbers for it.
So a `Change` holds touched features only, and the changes of shards add up.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from .._inputs import Array, Floats, Ints
from .._native import _core
from .numbers import K, Rule, Shape, T, flip_one
from .record import CELLS, GUARDS, HIGHEST_GUARD
from .state import State
from .touched import Touched

_CUT = _core.MemoryColumn.cut.value
_BOUND = _core.MemoryColumn.bound.value
_MARKS = 1 << 28  # places, of which each can have a mark
_GAINED = (T, K)  # counters in the memory
_LIMIT, _DELTA = _core.RoundColumn.limit.value, _core.RoundColumn.delta.value


class Number(Enum):
    """A number of a weight, by how it is merged."""

    mean = "mean"
    precision = "precision"
    sum = "sum"
    root = "root"  # of a sum of squares
    cut = "cut"  # the truncation that a weight has had


_NUMBERS: dict[Shape, tuple[Number, ...]] = {
    Shape.identity: (Number.mean,),
    Shape.diagonal: (Number.mean, Number.precision),
    Shape.theta: (Number.mean, Number.precision),
    Shape.averaged: (Number.mean,),
    Shape.confident: (Number.mean, Number.precision),
    Shape.adaptive: (Number.mean, Number.root),
    Shape.proximal: (Number.mean, Number.root),
    Shape.truncated: (Number.mean, Number.cut),
    Shape.adaptive_truncated: (Number.mean, Number.root, Number.cut),
}


def numbers_of(shape: Shape, *, sums: bool) -> tuple[Number, ...]:
    """The numbers of a weight of this shape; with `sums` the first is a sum of gradients that count once."""
    first, *rest = _NUMBERS[shape]
    return (Number.sum if sums else first, *rest)


@dataclass(frozen=True)
class Change:
    """The change that shards made to a base, which `merged` puts into practice.

    Of one shard `numbers` and `memory` are the state's own; of several they are sums of what `merged` adds up.
    """

    shards: int
    n_columns: int
    places: Ints  # slot * heads + head of the weights that changed, ascending
    covered: Floats  # (places, 2): shares and parts of the shards that changed each, added up, of sums
    numbers: Array  # for each place
    memory: Floats
    tally: Ints  # what was counted
    record: Floats | None


def begun(base: State, part: float, *, sums: bool) -> State:
    """The state that a shard begins with whose rows count 1 / part times."""
    state = base.copy()
    if part == 1:
        return state
    state.memory[:, T] = np.floor(state.memory[:, T] * part)
    state.memory[:, _CUT] *= _cut_unit(base.shape, part)
    scale = [_begin_with(number, base.shape, part) for number in numbers_of(base.shape, sums=sums)]
    if any(factor != 1 for factor in scale):
        width = base.shape.width
        for slots in Touched(state.weights).rows():
            block = state.weights[slots].reshape(-1, base.n_heads, width).astype(np.float64) * scale
            state.weights[slots] = block.reshape(state.weights[slots].shape)
    return state


def _begin_with(number: Number, shape: Shape, part: float) -> float:
    factors = {Number.sum: part, Number.root: float(np.sqrt(part)), Number.cut: _cut_unit(shape, part)}
    return factors.get(number, 1.0)


def _cut_unit(shape: Shape, part: float) -> float:
    """Truncations of Ada-FOBOS are in units of sqrt(G), which a shard begins with a part of."""
    return float(np.sqrt(part)) if shape is Shape.adaptive_truncated else 1.0


def change(base: State, begin: State, end: State) -> Change:
    """The change that a shard made to its base: `begin` is `begun(base, part)`, and `end` what became of it."""
    width = base.shape.width
    parts: list[tuple[Ints, Array]] = []
    for slots in Touched(end.weights).rows():
        now = end.weights[slots].reshape(-1, end.n_heads, width)
        here = slots < len(begin.weights)
        before = np.zeros_like(now)
        before[here] = begin.weights[slots[here]].reshape(-1, end.n_heads, width)
        bits = f"u{now.itemsize}"
        differs = (now.view(bits) != before.view(bits)).any(axis=2)
        row, head = np.nonzero(differs)
        parts.append((slots[row] * end.n_heads + head, now[row, head]))
    return Change(
        shards=1,
        n_columns=end.n_columns,
        places=np.concatenate([np.empty(0, np.int64), *(places for places, _ in parts)]),
        covered=np.zeros((sum(len(places) for places, _ in parts), 2)),
        numbers=np.concatenate([np.empty((0, width), end.dtype), *(numbers for _, numbers in parts)]),
        memory=end.memory.copy(),
        tally=end.tally - base.tally,
        record=None if end.record is None else end.record.copy(),
    )


def addends(one: Change, base: State, share: float, part: float, *, sums: bool) -> Change:
    """The change of one shard as sums, ready to be added to others."""
    kinds = numbers_of(base.shape, sums=sums)
    out = np.empty(one.numbers.shape)
    for j, kind in enumerate(kinds):
        x = one.numbers[:, j]
        if kind is Number.precision:
            out[:, j] = part / flip_one(x).astype(np.float64)
        elif kind is Number.root:
            out[:, j] = x.astype(np.float64) ** 2
        else:
            out[:, j] = x.astype(np.float64) * (1.0 if kind is Number.sum else share)
    if Number.cut in kinds:
        cut, unit = _cuts(one.memory, one.places, base), _cut_unit(base.shape, part)
        out[:, 0] = share * _settled(one.numbers, cut, one.places, base, unit)
    memory = one.memory.copy()
    memory[:, [T, K]] -= base.memory[:, [T, K]] * [part, 1.0]
    memory[:, T] = np.ceil(memory[:, T])  # a clock begins rounded down
    memory[:, _CUT] *= share / _cut_unit(base.shape, part)
    record = None if one.record is None or base.record is None else one.record - base.record
    covered = np.full((len(one.places), 2), (share, part))
    return replace(one, covered=covered, numbers=out, memory=memory, record=record)


def _settled(numbers: Array, cut: Floats, places: Ints, base: State, unit: float = 1.0) -> Floats:
    """Weights at these places with the truncation up to `cut` that they still owe; `unit` is that of a shard."""
    assert base.rounds is not None
    w = numbers[:, 0].astype(np.float64)
    slots, heads = np.divmod(places, base.n_heads)
    problem = heads if len(base.rounds) > 1 else np.zeros_like(heads)
    owed = np.maximum(cut - numbers[:, -1].astype(np.float64), 0.0)
    if base.shape is Shape.adaptive_truncated:
        owed /= base.rounds[problem, _DELTA] * unit + numbers[:, 1].astype(np.float64)
    else:
        owed[np.abs(w) > base.rounds[problem, _LIMIT]] = 0.0
    owed[slots == 0] = 0.0  # no penalty shrinks an intercept
    soft: Floats = np.sign(w) * np.maximum(np.abs(w) - owed, 0.0)
    return soft


def _cuts(memory: Floats, places: Ints, base: State) -> Floats:
    """The truncation that weights at these places have had when nothing is owed, as they store it."""
    heads = places % base.n_heads
    cuts: Floats = memory[heads if len(memory) > 1 else np.zeros_like(heads), _CUT].astype(base.dtype)
    return cuts.astype(np.float64)


def total(parts: Sequence[Change]) -> Change:
    """Changes of several shards as sums, added up in their order."""
    places, rank = _union([part.places for part in parts])
    numbers, covered = np.zeros((len(places), parts[0].numbers.shape[1])), np.zeros((len(places), 2))
    memory, tally = np.zeros_like(parts[0].memory), np.zeros_like(parts[0].tally)
    record = None if parts[0].record is None else np.zeros_like(parts[0].record)
    for part in parts:
        at = rank(part.places)
        numbers[at] += part.numbers
        covered[at] += part.covered
        bound = np.maximum(memory[:, _BOUND], part.memory[:, _BOUND])
        memory += part.memory
        memory[:, _BOUND] = bound
        tally += part.tally
        if record is not None and part.record is not None:
            record += part.record
    return Change(
        shards=sum(part.shards for part in parts),
        n_columns=max(part.n_columns for part in parts),
        places=places,
        covered=covered,
        numbers=numbers,
        memory=memory,
        tally=tally,
        record=record,
    )


def _union(parts: Sequence[Ints]) -> tuple[Ints, Callable[[Ints], Array]]:
    """All places, ascending and each once, and where a place is among them."""
    end = max((int(places[-1]) + 1 for places in parts if len(places)), default=0)
    if end > _MARKS:
        every = np.unique(np.concatenate(parts))
        return every, lambda places: np.searchsorted(every, places)
    mark = np.zeros(end, bool)  # marking is many times as fast as sorting
    for places in parts:
        mark[places] = True
    every = np.flatnonzero(mark).astype(np.int64, copy=False)
    rank = np.empty(end, np.int32)  # only those of these places are touched
    rank[every] = np.arange(len(every), dtype=np.int32)
    return every, lambda places: rank[places]


def merged(base: State, changes: Change, rule: Rule, *, sums: bool) -> State:
    """The base with the changes of all shards of the stream."""
    state = base.copy()
    state.widen(changes.n_columns)
    flat = state.weights.reshape(-1, base.shape.width)
    if changes.shards == 1:
        flat[changes.places] = changes.numbers
        state.memory[:] = changes.memory
        state.record = changes.record
    else:
        _put(flat, changes, base, sums=sums)
        gained = changes.memory[:, _GAINED]
        state.memory[:, _GAINED] = base.memory[:, _GAINED] + gained
        state.memory[:, _CUT] = changes.memory[:, _CUT]
        state.memory[:, _BOUND] = np.maximum(base.memory[:, _BOUND], changes.memory[:, _BOUND])
        if state.record is not None and changes.record is not None:
            guards = state.record[GUARDS] + changes.record[GUARDS] / changes.shards  # no sums: the mean of the shards
            state.record += changes.record
            state.record[GUARDS] = np.clip(guards, 0.0, HIGHEST_GUARD)
            np.maximum(state.record[CELLS], 0.0, out=state.record[CELLS])
    state.tally += changes.tally
    state.refresh(rule)
    state.choose_anew()
    return state


def _put(flat: Array, changes: Change, base: State, *, sums: bool) -> None:
    """Write the merged numbers. What shards did not cover is the base's."""
    rest, left = (1 - changes.covered).T  # of the base: among means, and among sums
    before = flat[changes.places]
    kinds = numbers_of(base.shape, sums=sums)
    cut = _cuts(changes.memory, changes.places, base) if Number.cut in kinds else np.empty(0)
    for j, kind in enumerate(kinds):
        total = changes.numbers[:, j]
        x = before[:, j]
        if kind is Number.precision:
            precision = 1 / flip_one(x).astype(np.float64)
            variance = 1 / np.maximum(total + left * precision, precision)  # no row makes them less
            smallest = np.finfo(base.dtype).tiny
            now = flip_one(np.maximum(variance, smallest).astype(base.dtype))
        elif kind is Number.root:
            now = np.sqrt(np.maximum(total + left * x.astype(np.float64) ** 2, 0.0))
        elif kind is Number.cut:
            now = cut
        elif Number.cut in kinds:
            now = total + rest * _settled(before, cut, changes.places, base)
        else:
            now = total + (left if kind is Number.sum else rest) * x.astype(np.float64)
        flat[changes.places, j] = now

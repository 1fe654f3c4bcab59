"""States of shards, merged into one: the mathematics of learning a stream in shards.

Every shard begins with the same base, and its rows count several times (learners/sharding.py). With a_k the share of
shard k in the stream, and b_k the part of a row that is counted once in its shard, the merged numbers of a feature are

    w = w' + sum of a_k (w_k - w')                  weights, and sums of steps
    1 / S = 1 / S' + sum of b_k (1 / S_k - 1 / S')  variances, so that precisions are those of the whole stream
    theta = theta' + sum of (theta_k - b_k theta')  sums of gradients that count once; each shard began with b_k theta'
    G = G' + sum of (G_k - b_k G')                  sums of their squares, likewise

where w', S', theta' and G' are those of the base. A shard that never touched a feature has the base's numbers for it.
So a `Change` holds touched features only, and the changes of shards add up. The core adds those of the weights up
(core/merging); sureline/reference/merging.py is the same in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .._inputs import Array, Floats, Ints
from .._native import _core
from .numbers import BOUND, K, Rule, Shape, T
from .record import CELLS, GUARDS, HIGHEST_GUARD
from .state import State
from .touched import Touched

Merged = _core.Merged

_CUT = _core.MemoryColumn.cut.value
_GAINED = (T, K)  # counters in the memory


@dataclass(frozen=True)
class Change:
    """The change that a shard made to its base: the numbers that its state has in the end."""

    n_columns: int
    places: Ints  # slot * heads + head of the weights that changed, ascending
    numbers: Array  # for each place
    memory: Floats
    tally: Ints  # what was counted
    record: Floats | None


@dataclass(frozen=True)
class Learned:
    """The change of a shard with this share of the stream, whose rows counted 1 / part times."""

    change: Change
    share: float
    part: float


def begun(base: State, part: float, *, sums: bool) -> State:
    """The state that a shard begins with whose rows count 1 / part times."""
    state = base.copy()
    if part == 1:
        return state
    state.memory[:, T] = np.floor(state.memory[:, T] * part)
    state.memory[:, _CUT] *= _cut_unit(base.shape, part)
    scale = [_begin_with(number, base.shape, part) for number in _core.merged_numbers(base.shape, sums)]
    if any(factor != 1 for factor in scale):
        width = base.shape.width
        for slots in Touched(state.weights).rows():
            block = state.weights[slots].reshape(-1, base.n_heads, width).astype(np.float64) * scale
            state.weights[slots] = block.reshape(state.weights[slots].shape)
    return state


def _begin_with(number: Merged, shape: Shape, part: float) -> float:
    factors = {Merged.sum: part, Merged.root: float(np.sqrt(part)), Merged.cut: _cut_unit(shape, part)}
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
        n_columns=end.n_columns,
        places=np.concatenate([np.empty(0, np.int64), *(places for places, _ in parts)]),
        numbers=np.concatenate([np.empty((0, width), end.dtype), *(numbers for _, numbers in parts)]),
        memory=end.memory.copy(),
        tally=end.tally - base.tally,
        record=None if end.record is None else end.record.copy(),
    )


def merged(base: State, shards: Sequence[Learned], rule: Rule, *, sums: bool) -> State:
    """The base with the changes of all shards of the stream, added up in their order."""
    state = base.copy()
    changes = [shard.change for shard in shards]
    state.widen(max(change.n_columns for change in changes))
    if len(changes) == 1:
        state.weights.reshape(-1, base.shape.width)[changes[0].places] = changes[0].numbers
        state.memory[:] = changes[0].memory
        state.record = changes[0].record
    else:
        _merge_memory(state.memory, shards, base)
        of_core = [
            _core.ShardChange(
                shard.change.places,
                shard.change.numbers,
                np.ascontiguousarray(shard.change.memory[:, _CUT]),
                share=shard.share,
                part=shard.part,
            )
            for shard in shards
        ]
        _core.merge_changes(state.core, of_core, sums=sums)
        records = [change.record for change in changes if change.record is not None]
        state.record = None if base.record is None else merged_record(base.record, records)
    for change in changes:
        state.tally += change.tally
    state.refresh(rule)
    state.choose_anew()
    return state


def _merge_memory(memory: Floats, shards: Sequence[Learned], base: State) -> None:
    total = np.zeros_like(memory)
    for shard in shards:
        one = shard.change.memory.copy()
        one[:, [T, K]] -= base.memory[:, [T, K]] * [shard.part, 1.0]
        one[:, T] = np.ceil(one[:, T])  # a clock begins rounded down
        one[:, _CUT] *= shard.share / _cut_unit(base.shape, shard.part)
        bound = np.maximum(total[:, BOUND], one[:, BOUND])
        total += one
        total[:, BOUND] = bound
    memory[:, _GAINED] = base.memory[:, _GAINED] + total[:, _GAINED]
    memory[:, _CUT] = total[:, _CUT]
    memory[:, BOUND] = np.maximum(base.memory[:, BOUND], total[:, BOUND])


def merged_record(base: Floats, records: Sequence[Floats]) -> Floats:
    """The record with the predictions of all shards, each of which went on with that of the base."""
    gained = np.zeros_like(base)
    for record in records:
        gained += record - base
    merged: Floats = base + gained
    guards = base[GUARDS] + gained[GUARDS] / len(records)  # no sums: the mean of the shards
    merged[GUARDS] = np.clip(guards, 0.0, HIGHEST_GUARD)
    np.maximum(merged[CELLS], 0.0, out=merged[CELLS])
    return merged

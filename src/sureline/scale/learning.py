"""Learn a shard, and merge what shards have learned: pure functions of bytes.

Learning a shard depends on the model, the shard and nothing else, so a shard whose worker died is learned again by
another. Merging adds the deltas up in the order of the shards. So any engine with any number of workers ends with the
same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .._inputs import Floats, Ints, label_array
from ..learners.learner import ClassLearner, Learner
from ..learners.online import OnlineLearner
from ..learners.saving import learner_bytes, read_learner
from ..learners.sharding import Sharding
from ..models.file.container import digest_of
from ..models.merging import Change, addends, begun, change, merged, total
from ..models.scaling import Normalizer
from ..models.state import State
from ..stream import Chunk, Label
from ..stream.chunk import merged_names
from ..stream.classes import Classes
from ..training.chunks import LabelledChunk
from .delta import Delta, DeltaError
from .shards import Shard


def mergeable(learner: Learner) -> Sharding:
    """How a learner learns from a shard. ValueError if what shards of it have learned cannot be merged."""
    sharding = learner.sharding if isinstance(learner, OnlineLearner) and not learner.in_python else None
    if sharding is None:
        raise ValueError(
            f"{type(learner).__name__} with these parameters cannot be learned in shards: no merging of its models is "
            "known to keep what they have learned. arow, scw, pa, ftrl and ssol can."
        )
    return sharding


def begin(learner: Learner, labels: Sequence[Label]) -> bytes:
    """The model of a learner that has seen no row, for all shards to begin with."""
    mergeable(learner)
    assert isinstance(learner, ClassLearner)
    learner.begin(label_array(labels))
    learner.n_features_in_ = learner.model.n_columns
    return learner_bytes(learner)


def learn_shard(model: bytes, shard: Shard, *, first_pass: bool = True) -> bytes:
    """The delta of a shard: what it makes of a model.

    `first_pass` is False if the model has learned from these rows before: its predictions then say nothing of others.
    """
    base = read_learner(model).learner
    sharding = mergeable(base)
    assert isinstance(base, OnlineLearner)
    start = begun(base.model, shard.share, sums=sharding.sums)
    learner = in_shard(base, sharding, shard.share)
    whole = shard.count == 1
    start.refresh(learner.rule)
    learner.adopt(start.copy(), base.normalizer.copy())
    learner.classes_, learner.n_features_in_ = base.classes_, base.n_features_in_
    learner.origin = base.origin.copy()
    if not whole:
        learner.origin.names = None
    classes, rows, met = Classes(base.labels, fixed=False), 0, False
    chunks = shard.rows.chunks(base.dtype)
    for chunk in chunks:
        codes = classes.of(chunk, shard.rows.name, rows)
        rows += chunk.n_rows
        met = met or (not whole and len(classes.labels) > len(base.labels))
        if met or chunk.n_rows == 0:
            continue  # what is learned would have to be learned again with all labels
        labelled = LabelledChunk(_counted(chunk, sharding, shard.share), codes, classes.array())
        labelled.record = first_pass
        labelled.fit(learner, 0, chunk.n_rows)
        labelled.end(learner)
        learner.origin.names = merged_names(learner.origin.names, chunk)
    new = classes.labels[len(base.labels) :] if met else []
    delta = Delta(digest_of(model), shard.index, shard.count, shard.share, rows, new)
    if met:
        return delta.to_bytes()
    if whole:
        return replace(delta, model=learner_bytes(learner)).to_bytes()
    return replace(
        delta,
        change=change(base.model, start, learner.model, shard.share),
        scales=_changed_scales(base.normalizer, learner.normalizer),
        names=learner.origin.names,
    ).to_bytes()


def in_shard(base: OnlineLearner, sharding: Sharding, share: float) -> OnlineLearner:
    """The learner with the parameters with which it learns from a share of the stream as if it were the whole."""
    parameters = base.parameters()
    if share != 1:
        parameters |= {name: parameters[name] * (1 / share) ** power for name, power in sharding.powers.items()}
    return type(base)(**parameters)


def _counted(chunk: Chunk, sharding: Sharding, share: float) -> Chunk:
    """The rows, each counting as often as if this shard were the whole stream."""
    if share == 1 or not sharding.counted:
        return chunk
    weights = np.ones(chunk.n_rows) if chunk.weights is None else chunk.weights
    return replace(chunk, weights=weights / share)


def new_labels(deltas: Sequence[bytes]) -> list[Label]:
    """The labels that shards met and the model does not know, sorted: those of all shards, in whatever order."""
    found = {label for data in deltas for label in Delta.of(data).labels}
    return sorted(found, key=lambda label: (isinstance(label, str), label))


def with_labels(model: bytes, labels: Sequence[Label]) -> bytes:
    """The same model with room for more labels."""
    learner = read_learner(model).learner
    assert isinstance(learner, OnlineLearner)
    learner.add_labels(label_array([*learner.labels, *labels]))
    return learner_bytes(learner)


def merge(model: bytes, deltas: Sequence[bytes]) -> bytes:
    """The model with what all shards of a round have learned.

    Raises
    ------
    DeltaError
        If a delta is damaged, is of another model, is there twice, or is missing; or if shards met labels that the
        model does not know (`new_labels`, `with_labels`), so that they have to be learned again.
    """
    found = sorted((Delta.of(data) for data in deltas), key=lambda delta: delta.index)
    _check(model, found)
    if found[0].model is not None:
        return found[0].model
    learner = read_learner(model).learner
    sharding = mergeable(learner)
    base: Any = learner.model
    assert isinstance(base, State)
    level: list[Change] = []
    for delta in found:
        assert delta.change is not None
        _check_change(delta.change, base)
        level.append(addends(delta.change, base, delta.share, sums=sharding.sums))
    assert isinstance(learner, OnlineLearner)
    normalizer = _merged_scales(learner.normalizer, [delta.scales for delta in found if delta.scales is not None])
    learner.adopt(merged(base, total(level), learner.rule, sums=sharding.sums), normalizer)
    learner.n_features_in_ = learner.model.n_columns
    for delta in found:
        if delta.names is not None:
            if learner.origin.names is None:
                learner.origin.names = delta.names
            else:
                learner.origin.names.merge(delta.names)
    return learner_bytes(learner)


def _check(model: bytes, deltas: list[Delta]) -> None:
    if not deltas:
        raise DeltaError("There is nothing to merge: no delta was given.")
    count = deltas[0].count
    if any(delta.base != digest_of(model) for delta in deltas):
        raise DeltaError("A delta is of another model than the one it is to be merged into.")
    if [delta.index for delta in deltas] != list(range(count)) or any(delta.count != count for delta in deltas):
        raise DeltaError(
            f"A round of {count} shards needs each of its deltas once. Got {[delta.index for delta in deltas]}."
        )
    if labels := {label for delta in deltas for label in delta.labels}:
        raise DeltaError(f"Shards met labels that the model does not know: {sorted(map(str, labels))}.")


def _check_change(change: Change, base: State) -> None:
    """Of deltas that are whole, but made up."""
    n_places = (max(change.n_columns, base.n_columns) + 1) * base.n_heads
    if (
        change.numbers.shape[1] != base.shape.width
        or change.numbers.dtype != base.dtype
        or change.memory.shape != base.memory.shape
        or change.tally.shape != base.tally.shape
        or (len(change.places) > 0 and not (0 <= change.places[0] and change.places[-1] < n_places))
        or not np.isfinite(change.memory).all()
    ):
        raise DeltaError("A delta does not fit the model.")


def _changed_scales(before: Normalizer, after: Normalizer) -> tuple[Ints, Floats, Ints] | None:
    if after.kind != "scale":
        return None
    columns, means, counts = after.arrays()
    old_columns, _, old_counts = before.arrays()
    known = np.zeros(len(columns), np.int64)
    known[np.isin(columns, old_columns, assume_unique=True)] = old_counts
    new = counts != known
    return columns[new], means[new].astype(np.float64), counts[new]


def _merged_scales(base: Normalizer, changes: Sequence[tuple[Ints, Floats, Ints]]) -> Normalizer:
    """The mean sizes over the rows of all shards."""
    if base.kind != "scale":
        return base
    columns, means, counts = base.arrays()
    every = np.unique(np.concatenate([columns, *(changed for changed, _, _ in changes)]))
    total, count = np.zeros(len(every)), np.zeros(len(every), np.int64)
    at = np.searchsorted(every, columns)
    count[at] = counts
    total[at] = means.astype(np.float64) * counts
    old_total, old_count = total.copy(), count.copy()
    for changed, mean, n in changes:
        at = np.searchsorted(every, changed)
        total[at] += mean * n - old_total[at]
        count[at] += n - old_count[at]
    return Normalizer.restored(base.dtype, every, (total / count).astype(base.dtype), count)

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
import numpy.typing as npt

from .._inputs import Array, Floats, Ints, label_array
from ..learners.batch import BatchLearner
from ..learners.learner import ClassLearner, Learner
from ..learners.online import OnlineLearner
from ..learners.saving import learner_bytes, read_learner
from ..learners.sharding import Sharding
from ..models.file import ModelFileError
from ..models.file.container import digest_of
from ..models.merging import Change, Learned, begun, change, merged
from ..models.merging_full import merged_full
from ..models.precision.merging import merged as merged_precision
from ..models.scaling import Normalizer
from ..models.state import State
from ..stream import Chunk, Label, Stream
from ..stream.buffer import RowBuffer
from ..stream.chunk import merged_names
from ..stream.classes import Classes
from ..training.chunks import LabelledChunk
from ..training.room import refuse_batch
from ..training.train import BATCH
from .delta import Delta, DeltaError
from .shards import Shard
from .team import HeldBack, JudgingRows, Team

_MERGED = OnlineLearner | BatchLearner
_ROUNDING = 1e-6  # of the shares of all shards


def mergeable(learner: Learner) -> Sharding:
    """How a learner learns from a shard. ValueError if what shards of it have learned cannot be merged."""
    sharding = _sharding_of(learner)
    if sharding is None:
        raise ValueError(
            f"{type(learner).__name__} with these parameters cannot be learned in shards: no merging of its models is "
            "known to keep what they have learned. arow, scw, pa, ftrl and ssol can."
        )
    return sharding


def can_merge(learner: Learner) -> bool:
    """True if what shards have learned can be merged."""
    return _sharding_of(learner) is not None


def _sharding_of(learner: Learner) -> Sharding | None:
    return learner.sharding if isinstance(learner, _MERGED) and not learner.in_python else None


def _changes_few(model: Any) -> bool:
    """True if a shard changes the weights of its features and no others, so that a delta has these alone.

    Otherwise precisions are of all pairs of features, and a delta has the model of its shard.
    """
    return isinstance(model, State) and model.factors is None


def begin(learner: Learner, labels: Sequence[Label]) -> bytes:
    """The model of a learner that has seen no row, for all shards to begin with."""
    mergeable(learner)
    assert isinstance(learner, ClassLearner)
    learner.begin(label_array(labels))
    learner.n_features_in_ = learner.model.n_columns
    return learner_bytes(learner)


def learn_shard(model: bytes, shard: Shard, *, first_pass: bool = True) -> bytes:
    """Learn a shard: the change that it makes to a model, or to those of a team, as a delta.

    `first_pass` is False if the model has learned from these rows before: its predictions then say nothing of others.
    """
    team = Team.of(model)
    whole = shard.count == 1 and team is None  # new labels are then learned as they come
    pupils = [_Pupil(one, shard) for one in ((model,) if team is None else team.members)]
    first = pupils[0]
    back = None if team is None else HeldBack(shard.judging)
    classes, rows, met = Classes(first.labels, fixed=False), 0, False
    chunks = shard.rows.chunks(first.base.dtype)
    for chunk in chunks:
        codes = classes.of(chunk, shard.rows.name, rows)
        rows += chunk.n_rows
        met = met or (not whole and len(classes.labels) > len(first.labels))
        if met or chunk.n_rows == 0:
            continue  # what is learned would have to be learned again with all labels
        names = chunk
        if back is not None:
            chunk, codes = back.split(chunk, codes)
        for pupil in pupils:
            pupil.learn(chunk, codes, classes.array(), record=first_pass)
        first.learner.origin.names = merged_names(first.learner.origin.names, names)
    new = classes.labels[len(first.labels) :] if met else []
    faults = chunks.faults.count if isinstance(chunks, Stream) else 0
    delta = Delta(digest_of(model), shard.index, shard.count, shard.share, rows, new, faults)
    if met:
        return delta.to_bytes()
    if team is None:
        return first.finished(delta).to_bytes()
    both = zip(pupils, team.members, strict=True)
    parts = [replace(pupil.finished(delta), base=digest_of(one)) for pupil, one in both]
    held = back.rows if back is not None and first_pass else None
    return replace(delta, parts=tuple(part.to_bytes() for part in parts), held=held).to_bytes()


class _Pupil:
    """A learner in a shard."""

    def __init__(self, model: bytes, shard: Shard) -> None:
        base = read_learner(model).learner
        self.sharding, self.shard = mergeable(base), shard
        assert isinstance(base, _MERGED)
        self.base, self.labels = base, base.labels
        learner = in_shard(base, self.sharding, shard.share)
        self.start: Any = base.model
        if isinstance(base, OnlineLearner) and isinstance(learner, OnlineLearner):
            self.start = begun(base.model, self.sharding.part(shard.share), sums=self.sharding.sums)
            self.start.refresh(learner.rule)
        learner.adopt(self.start.copy() if isinstance(self.start, State) else self.start, base.normalizer.copy())
        learner.classes_, learner.n_features_in_ = base.classes_, base.n_features_in_
        if hasattr(base, "feature_names_in_"):
            learner.feature_names_in_ = base.feature_names_in_
        learner.origin = base.origin.copy()
        if shard.count > 1:
            learner.origin.names = None
        self.learner = learner
        self._rows, self._codes = RowBuffer(), np.empty(0, np.int32)  # of a batch that is to come
        self._classes = base.classes_

    def learn(self, chunk: Chunk, codes: npt.NDArray[np.int32], classes: Array, *, record: bool) -> None:
        chunk = _counted(chunk, self.sharding, self.shard.share)
        if isinstance(self.learner, BatchLearner):
            self._rows.add(chunk)
            self._codes, self._classes = np.concatenate([self._codes, codes]), classes
            self._learn_batches(last=False)
            return
        labelled = LabelledChunk(chunk, codes, classes)
        labelled.record = record
        labelled.fit(self.learner, 0, chunk.n_rows)
        labelled.end(self.learner)

    def _learn_batches(self, *, last: bool) -> None:
        """Learn from the rows that are pending; `last` from the rest, whatever its number."""
        learner, classes = self.learner, self._classes
        assert isinstance(learner, BatchLearner)
        for batch in self._rows.batches(BATCH, last=last):
            refuse_batch(learner, batch, len(classes))
            codes, self._codes = np.split(self._codes, [batch.n_rows])
            learner.take_batch(batch.X, codes, batch.weights, learner.weighing(len(classes), classes))
            learner.classes_ = classes
            self._rows.done(batch.n_rows)

    def finished(self, delta: Delta) -> Delta:
        """The delta with what was learned."""
        if isinstance(self.learner, BatchLearner):
            self._learn_batches(last=True)
        if self.shard.count == 1 or not _changes_few(self.start):
            return replace(delta, model=learner_bytes(self.learner))
        before: Any = self.base.model
        after: Any = self.learner.model
        return replace(
            delta,
            change=change(before, self.start, after),
            scales=_changed_scales(self.base.normalizer, self.learner.normalizer),
            names=self.learner.origin.names,
        )


def in_shard(base: OnlineLearner | BatchLearner, sharding: Sharding, share: float) -> OnlineLearner | BatchLearner:
    """The learner with the parameters with which it learns from a share of the stream."""
    parameters = base.parameters()
    if share != 1:
        m = 1 / sharding.part(share)
        parameters |= {name: parameters[name] * m**power for name, power in sharding.powers.items()}
    return type(base)(**parameters)


def _counted(chunk: Chunk, sharding: Sharding, share: float) -> Chunk:
    """The rows, each counting as often as its shard wants."""
    if share == 1 or not sharding.counted:
        return chunk
    weights = np.ones(chunk.n_rows) if chunk.weights is None else chunk.weights
    return replace(chunk, weights=weights / sharding.part(share))


def new_labels(deltas: Sequence[bytes]) -> list[Label]:
    """The labels of shards that the model does not know, sorted, whatever the order of the shards."""
    found = {label for data in deltas for label in Delta.of(data).labels}
    return sorted(found, key=lambda label: (isinstance(label, str), label))


def with_labels(model: bytes, labels: Sequence[Label]) -> bytes:
    """The same model, or team, with room for more labels."""
    if (team := Team.of(model)) is not None:
        return replace(team, members=tuple(with_labels(one, labels) for one in team.members)).to_bytes()
    learner = read_learner(model).learner
    assert isinstance(learner, _MERGED)
    learner.add_labels(label_array([*learner.labels, *labels]))
    return learner_bytes(learner)


def merge(model: bytes, deltas: Sequence[bytes]) -> bytes:
    """Merge the deltas of all shards of a round into a model, or a team.

    Raises
    ------
    DeltaError
        If a delta is damaged, is of another model, is there twice, or is missing; or if shards met labels that the
        model does not know (`new_labels`, `with_labels`), so that they have to be learned again.
    """
    found = sorted((Delta.of(data) for data in deltas), key=lambda delta: delta.index)
    _check(model, found)
    if (team := Team.of(model)) is not None:
        return _merged_team(team, found).to_bytes()
    if len(found) == 1 and found[0].model is not None:
        return _readable(found[0].model)
    learner = read_learner(model).learner
    sharding = mergeable(learner)
    assert isinstance(learner, _MERGED)
    try:
        return _readable(_merged(learner, found, sharding))
    except DeltaError:
        raise
    except (ValueError, OverflowError) as error:  # of counts, scales and names that were made up
        raise DeltaError(f"A delta does not fit the model: {str(error).rstrip('.')}.") from None


def _merged(learner: OnlineLearner | BatchLearner, deltas: Sequence[Delta], sharding: Sharding) -> bytes:
    """The model, all numbers of which are looked at when it is read."""
    base: Any = learner.model
    shares, parts = [delta.share for delta in deltas], [sharding.part(delta.share) for delta in deltas]
    with np.errstate(all="ignore"):
        if isinstance(learner, OnlineLearner) and _changes_few(base):
            changes = [_checked(delta, base) for delta in deltas]
            learned = [Learned(*each) for each in zip(changes, shares, parts, strict=True)]
            state: Any = merged(base, learned, learner.rule, sums=sharding.sums)
            names, scales = [delta.names for delta in deltas], [delta.scales for delta in deltas]
        else:
            ends = [_end_of(delta, learner) for delta in deltas]
            states = [end.model for end in ends]
            if isinstance(learner, OnlineLearner):
                state = merged_full(base, states, shares, parts, learner.rule)
            else:
                state = merged_precision(base, states, shares)
            names = [end.origin.names for end in ends]
            scales = [_changed_scales(learner.normalizer, end.normalizer) for end in ends]
    learner.adopt(state, _merged_scales(learner.normalizer, [each for each in scales if each is not None]))
    learner.n_features_in_ = learner.model.n_columns
    for each in names:
        if each is not None:
            if learner.origin.names is None:
                learner.origin.names = each
            else:
                learner.origin.names.merge(each)
    return learner_bytes(learner)


def _end_of(delta: Delta, base: OnlineLearner | BatchLearner) -> Any:
    """The learner that a shard ended with. DeltaError if it cannot have begun as this one."""
    try:
        end: Any = None if delta.model is None else read_learner(delta.model).learner
    except ModelFileError as error:
        raise DeltaError(f"A delta does not fit the model: its own {error.reason}.") from None
    if (
        type(end) is not type(base)
        or end.labels != base.labels
        or end.model.n_columns < base.model.n_columns
        or any(getattr(end, name) != getattr(base, name) for name in ("dtype", "normalize", "fit_intercept"))
        or getattr(end.model, "shape", None) != getattr(base.model, "shape", None)
    ):
        raise DeltaError("A delta does not fit the model: it has no model of the same learner.")
    return end


def _readable(model: bytes) -> bytes:
    """The same bytes, if they are those of a model: deltas may be made up."""
    try:
        read_learner(model)
    except ModelFileError as error:
        raise DeltaError(f"A delta does not fit the model: what comes of it {error.reason}.") from None
    return model


def _merged_team(team: Team, found: list[Delta]) -> Team:
    if any(len(delta.parts) != len(team.members) for delta in found):
        raise DeltaError("A delta has not learned what the members of the team are.")
    members = [merge(one, [delta.parts[k] for delta in found]) for k, one in enumerate(team.members)]
    held = [each for each in (team.held, *(delta.held for delta in found)) if each is not None]
    learner = read_learner(members[0]).learner
    if any((each.codes >= len(learner.labels)).any() or each.values.dtype != learner.dtype for each in held):
        raise DeltaError("A delta holds rows back that do not fit the team.")
    return replace(team, members=tuple(members), held=JudgingRows.together(held) if held else None)


def _check(model: bytes, deltas: list[Delta]) -> None:
    if not deltas:
        raise DeltaError("There is nothing to merge: no delta was given.")
    count = deltas[0].count
    if any(delta.base != digest_of(model) for delta in deltas):
        raise DeltaError("A delta is of another model than the one it is to be merged into.")
    found = [delta.index for delta in deltas]
    if found != list(range(len(deltas))) or any(delta.count != len(deltas) for delta in deltas):
        raise DeltaError(f"A round of {count:,} shards needs each of its deltas once. Got {found}.")
    if abs(sum(delta.share for delta in deltas) - 1) > _ROUNDING:
        raise DeltaError("The shares of the shards of a round must add up to 1.")
    if labels := {label for delta in deltas for label in delta.labels}:
        raise DeltaError(f"Shards met labels that the model does not know: {sorted(map(str, labels))}.")


def _checked(delta: Delta, base: State) -> Change:
    """The change of a shard. DeltaError if the delta is whole, but made up."""
    change = delta.change
    if change is None:
        raise DeltaError("A delta does not fit the model: it has no change.")
    if delta.model is not None:
        raise DeltaError("A delta does not fit the model: one of several shards has a change, and no model.")
    n_places = (max(change.n_columns, base.n_columns) + 1) * base.n_heads
    if (
        change.numbers.shape[1] != base.shape.width
        or change.numbers.dtype != base.dtype
        or change.memory.shape != base.memory.shape
        or change.tally.shape != base.tally.shape
        or (len(change.places) > 0 and not (0 <= change.places[0] and change.places[-1] < n_places))
        or (None if change.record is None else change.record.shape)
        != (None if base.record is None else base.record.shape)
        or not np.isfinite(change.memory).all()
        or not np.isfinite(change.numbers).all()
    ):
        raise DeltaError("A delta does not fit the model.")
    return change


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

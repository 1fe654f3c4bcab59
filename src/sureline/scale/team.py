"""A team: learners that learn the same shards, and held-back rows that judge them.

Where no learner is named, the best on the first rows learn all shards, each merged on its own. A shard holds a few of
its rows back. At the end the merged learners predict those and learn from them, as at the end of a race, and become one
model: the committee, or the best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats
from ..learners.online import OnlineLearner
from ..learners.race.race import Race
from ..learners.race.verdict import outcome
from ..learners.saving import learner_bytes, read_learner
from ..models.file.canonical import canonical, parse
from ..models.file.container import Tensor, container_bytes, container_of
from ..models.file.errors import ModelFileError, Refusal
from ..stream import Chunk
from ..stream.chunk import joined, keep_rows
from ..training.result import MetricName

FEW = 4  # members, as many as a race has after 131,072 rows
HELD = 1 << 15  # rows that all shards of a training hold back, at most
ENTRIES = 1 << 23  # not zero, in these
_EVERY, _RUN = 64, 4  # each shard holds back the last 4 of every 64 rows
_BLOCK = 1024  # rows that are predicted before they are learned from
_MARK = b'"members\\":'
_FIELDS = {"members", "metric", "n_columns"}
_ARRAYS = ("values", "indices", "indptr", "codes", "weights")


class HeldBack:
    """Takes rows from a shard that are to judge: some of each thousand, until there are enough."""

    def __init__(self, most: int) -> None:
        self._most, self._entries = most, ENTRIES * most // HELD
        self._at = self._n = 0
        self._taken: list[tuple[Chunk, npt.NDArray[np.int32]]] = []

    def split(self, chunk: Chunk, codes: npt.NDArray[np.int32]) -> tuple[Chunk, npt.NDArray[np.int32]]:
        """The rows of a chunk that are to be learned from."""
        row = np.arange(self._at, self._at + chunk.n_rows)
        self._at += chunk.n_rows
        held = row % _EVERY >= _EVERY - _RUN
        left = self._n + np.cumsum(held)
        held &= (left <= self._most) & (np.cumsum(np.diff(chunk.indptr) * held) <= self._entries)
        if not held.any():
            return chunk, codes
        taken = keep_rows(replace(chunk, names=None, tags=None, kept={}), held)
        self._n += taken.n_rows
        self._entries -= int(taken.indptr[-1])
        self._taken.append((taken, codes[held]))
        return keep_rows(chunk, ~held), codes[~held]

    @property
    def rows(self) -> JudgingRows | None:
        if not self._taken:
            return None
        none = [np.full(len(codes), -1, np.int32) for _, codes in self._taken]  # they have their own
        chunk = joined([replace(chunk, labels=(n, [])) for n, (chunk, _) in zip(none, self._taken, strict=True)])
        codes = np.concatenate([codes for _, codes in self._taken])
        weights = np.ones(chunk.n_rows) if chunk.weights is None else chunk.weights
        return JudgingRows(chunk.values, chunk.indices, chunk.indptr, codes, weights, chunk.n_columns)


@dataclass(frozen=True)
class JudgingRows:
    """Held-back rows in compressed form, with their labels as positions among the members' labels."""

    values: Array
    indices: Array
    indptr: Array
    codes: npt.NDArray[np.int32]
    weights: Floats
    n_columns: int

    def to_arrays(self) -> dict[str, Array]:
        return {f"held.{name}": getattr(self, name) for name in _ARRAYS}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array], n_columns: int, n_labels: int) -> JudgingRows | None:
        """Rows from arrays; None if there are none. Refusal if the arrays do not fit together."""
        if not any(name.startswith("held.") for name in arrays):
            return None
        try:
            values, indices, indptr, codes, weights = (arrays[f"held.{name}"] for name in _ARRAYS)
        except KeyError:
            raise Refusal("holds rows back, and not all of them") from None
        n = len(codes)
        sound = (
            values.dtype.kind == "f"
            and all(a.ndim == 1 for a in (values, indices, indptr, codes, weights))
            and all(array.dtype == np.int32 for array in (indices, indptr, codes))
            and weights.dtype == np.float64
            and len(indptr) == n + 1 == len(weights) + 1
            and indptr[0] == 0
            and indptr[-1] == len(indices) == len(values)
            and bool((np.diff(indptr) >= 0).all())
            and (len(indices) == 0 or (indices.min() >= 0 and indices.max() < n_columns))
            and (n == 0 or (codes.min() >= 0 and codes.max() < n_labels))
            and bool(np.isfinite(values).all() and np.isfinite(weights).all() and (weights >= 0).all())
        )
        if not sound:
            raise Refusal("holds rows back that are none")
        return cls(values, indices, indptr, codes, weights, n_columns)

    def chunk(self) -> Chunk:
        weights = None if (self.weights == 1).all() else self.weights
        return Chunk(self.values, self.indices, self.indptr, (self.codes, []), self.n_columns, weights)

    @classmethod
    def together(cls, some: Sequence[JudgingRows]) -> JudgingRows:
        none = [replace(each.chunk(), labels=(np.full(len(each.codes), -1, np.int32), [])) for each in some]
        chunk = joined(none)
        codes, weights = (np.concatenate([getattr(each, name) for each in some]) for name in ("codes", "weights"))
        return cls(chunk.values, chunk.indices, chunk.indptr, codes, weights, chunk.n_columns)


@dataclass(frozen=True)
class Team:
    """Models that learn the same shards, the best on the first rows in front, and the rows that they have not seen."""

    members: tuple[bytes, ...]
    metric: str
    held: JudgingRows | None = None

    def to_bytes(self) -> bytes:
        n_columns = 0 if self.held is None else self.held.n_columns
        words = {"members": len(self.members), "metric": self.metric, "n_columns": n_columns}
        tensors = {f"member.{k:02}": Tensor.of(np.frombuffer(one, np.uint8)) for k, one in enumerate(self.members)}
        held = {} if self.held is None else self.held.to_arrays()
        return container_bytes(canonical(words), tensors | {name: Tensor.of(array) for name, array in held.items()})

    @classmethod
    def of(cls, data: bytes) -> Team | None:
        """The team in these bytes; None if they are a single model."""
        if _MARK not in data[:512]:  # the words of a team begin here; the words of a model follow its checksum
            return None
        try:
            text, arrays = container_of(data)
            words = parse(text)
            if not isinstance(words, dict) or words.keys() != _FIELDS:
                return None
            members = tuple(array.tobytes() for name, array in sorted(arrays.items()) if name.startswith("member."))
            if type(words["n_columns"]) is not int or words["metric"] not in get_args(MetricName) or not members:
                raise Refusal("is no team of this version")
            n_labels = len(read_learner(members[0]).labels)
            return cls(members, words["metric"], JudgingRows.of_arrays(arrays, words["n_columns"], n_labels))
        except Refusal as refusal:
            raise ModelFileError("the bytes of a team", str(refusal)) from None

    def model(self) -> bytes:
        """The model that the members become: they predict the rows that were held back, and learn from them."""
        learners = [read_learner(one).learner for one in self.members]
        own = [learner for learner in learners if isinstance(learner, OnlineLearner)]
        first, held = own[0], self.held
        if held is None:
            return self.members[0]
        race = Race.of_trained(own, first.n_seen_, metric=self.metric)
        chunk = held.chunk()
        for start in range(0, len(chunk), _BLOCK):
            stop = min(start + _BLOCK, len(chunk))
            race.judge(chunk.part(start, stop), held.codes[start:stop], first.classes_)
        learner = outcome(race).learner
        learner.origin = first.origin
        if hasattr(first, "feature_names_in_"):
            learner.feature_names_in_ = first.feature_names_in_
        return learner_bytes(learner)


def members_of(model: bytes) -> tuple[bytes, ...]:
    """The models of a team; a single model is its own only member."""
    team = Team.of(model)
    return (model,) if team is None else team.members

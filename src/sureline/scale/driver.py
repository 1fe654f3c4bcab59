"""Rounds of shards on an engine: learn them all, merge, write a checkpoint, go on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._atomic import remove_stale, replacing
from .._native import _core
from ..learners.learner import ClassLearner, Learner
from ..learners.saving import read_learner
from ..models.file.canonical import canonical, parse
from ..models.file.container import Tensor, container_bytes, container_of
from ..models.file.errors import Refusal
from ..stream import Label, Stream
from ..stream.classes import Classes
from ..training.chunks import attach
from ..training.identity import facts_of
from .delta import Delta
from .learning import begin, learn_shard, merge, mergeable, new_labels, with_labels
from .shards import SHARD_SIZE, FileRows, Shard, shards_of

if TYPE_CHECKING:
    from ..estimators.saving import Estimator


@dataclass(frozen=True)
class Progress:
    """How far a training in shards has come."""

    round: int  # from 1
    rounds: int
    shards: int  # that are learned in this round
    of: int
    examples: int  # in all
    mistakes: int
    seconds: float

    @property
    def error(self) -> float:
        """Mistakes of the shards' models among the examples so far, each predicted before it was learned from."""
        return self.mistakes / max(self.examples, 1)


class Engine(Protocol):
    """Runs a function for each shard of a round, somewhere."""

    def learn(self, model: bytes, shards: Sequence[Shard], *, first_pass: bool) -> Iterable[bytes]:
        """The deltas of the shards, in any order, each as soon as it is there."""


class Local:
    """One shard after the other, in this process."""

    def learn(self, model: bytes, shards: Sequence[Shard], *, first_pass: bool) -> Iterable[bytes]:
        for shard in shards:
            yield learn_shard(model, shard, first_pass=first_pass)


@dataclass(frozen=True)
class Plan:
    """The rounds of a training: shards, and whether their rows come for the first time."""

    rounds: tuple[tuple[tuple[Shard, ...], bool], ...]

    @classmethod
    def of(cls, stream: Stream, *, size: int = SHARD_SIZE, rounds: int = 1, passes: int = 1) -> Plan:
        one_pass = [tuple(shards) for shards in shards_of(stream, size, rounds) if shards]
        return cls(tuple((shards, number == 0) for number in range(passes) for shards in one_pass))

    def checksum(self) -> str:
        """Of the shards and of the files behind them, so that a checkpoint is of these data."""
        facts: dict[str, Any] = {}
        told = []
        for shards, first in self.rounds:
            for shard in shards:
                rows = shard.rows
                if not isinstance(rows, FileRows):
                    raise ValueError("A training of partitions in memory has no checkpoints: train from files.")
                told.append([first, shard.index, shard.count, shard.share, rows.parts, rows.format, rows.options])
                for part in rows.stream("float64").parts:
                    facts.setdefault(part.source.path, facts_of(part.source, full=False))
        text = json.dumps([told, facts], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def run(
    model: bytes,
    plan: Plan,
    engine: Engine,
    *,
    checkpoint: Path | None = None,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> bytes:
    """The model after all rounds of a plan. With `checkpoint` each round is kept, and `resume` goes on after the last.

    Shards that meet labels which the model does not know are learned again once all new labels of the round are known.
    """
    started, done = time.monotonic(), 0
    mark = "" if checkpoint is None else plan.checksum()
    if checkpoint is not None and resume and checkpoint.exists():
        done, model = _read_checkpoint(checkpoint, mark, len(plan.rounds))
    for number, (shards, first_pass) in enumerate(plan.rounds[done:], start=done + 1):
        while True:
            seen, wrong = _counts(model)
            deltas: list[bytes] = []
            for data in engine.learn(model, shards, first_pass=first_pass):
                deltas.append(data)
                gained = _gained(data)
                seen, wrong = seen + gained[0], wrong + gained[1]
                if on_progress is not None:
                    seconds = time.monotonic() - started
                    on_progress(Progress(number, len(plan.rounds), len(deltas), len(shards), seen, wrong, seconds))
            if not (labels := new_labels(deltas)):
                break
            model = with_labels(model, labels)
        model = merge(model, deltas)
        if checkpoint is not None and number < len(plan.rounds):
            _write_checkpoint(checkpoint, mark, number, model)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
        remove_stale(checkpoint)
    return model


def _counts(model: bytes) -> tuple[int, int]:
    learner = read_learner(model).learner
    assert isinstance(learner, ClassLearner)
    return learner.n_seen_, learner.n_mistakes_


def _gained(data: bytes) -> tuple[int, int]:
    delta = Delta.of(data)
    if delta.change is None:
        return (0, 0) if delta.model is None else _counts(delta.model)
    columns = _core.TallyColumn.seen.value, _core.TallyColumn.mistakes.value
    return int(delta.change.tally[:, columns[0]].sum()), int(delta.change.tally[:, columns[1]].sum())


# -- checkpoints ------------------------------------------------------------------------------------------------------


def _write_checkpoint(path: Path, mark: str, done: int, model: bytes) -> None:
    words = canonical({"format": 1, "plan": mark, "done": done})
    data = container_bytes(words, {"model": Tensor.of(np.frombuffer(model, np.uint8))})
    with replacing(path) as out:
        out.write(data)


def _read_checkpoint(path: Path, mark: str, rounds: int) -> tuple[int, bytes]:
    try:
        text, arrays = container_of(path.read_bytes())
        words = parse(text)
        if not isinstance(words, dict) or words.keys() != {"format", "plan", "done"} or words["format"] != 1:
            raise Refusal("is not a checkpoint of a training in shards")
        if type(words["done"]) is not int or not 0 < words["done"] < rounds:
            raise Refusal("does not say which round it is of")
    except Refusal as refusal:
        raise ValueError(f"{path} {refusal}.") from None
    if words["plan"] != mark:
        raise ValueError(f"{path} is of other data, or of other shards, rounds or passes: it cannot be gone on with.")
    return words["done"], arrays["model"].tobytes()


# -- in one call ------------------------------------------------------------------------------------------------------


def start(learner: Learner, stream: Stream, labels: Sequence[Label] | None) -> bytes:
    """The model that all shards of a stream begin with: its labels are those of the first rows, unless they are given.

    They are sorted, as those of one training are; others follow as shards meet them.
    """
    mergeable(learner)
    attach(learner, stream, labels)
    learner.check_parameters()
    if labels is None:
        classes = Classes()
        for chunk in stream.peek(1, 1):
            classes.of(chunk, stream.paths[0], 0)
        labels = classes.labels
    return begin(learner, labels)


def estimator(model: bytes) -> Estimator:
    """The estimator of a model's bytes."""
    from ..estimators.saving import as_estimator

    return as_estimator(read_learner(model).learner)

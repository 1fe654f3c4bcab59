"""Rounds of shards on an engine: learn them all, merge, write a checkpoint, go on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._atomic import remove_stale, replacing
from .._inputs import Ints
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
from .mixing import ClassesOfShards
from .shards import SHARD_SIZE, FileRows, Shard, shards_of
from .team import HELD, Team, members_of

if TYPE_CHECKING:
    from ..estimators.saving import Estimator


@dataclass(frozen=True)
class Progress:
    """Progress of a training in shards."""

    round: int  # from 1
    rounds: int
    shards: int  # that are learned in this round
    of: int
    examples: int  # in all
    mistakes: int
    seconds: float
    skipped: int = 0  # lines that could not be read and were left out, with ``errors="skip"``
    before: int = 0  # examples of earlier runs, which this one goes on from

    @property
    def rate(self) -> float:
        """Examples a second in this run."""
        return (self.examples - self.before) / max(self.seconds, 1e-9)

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
    """The rounds of a training: shards, and whether their rows are new."""

    rounds: tuple[tuple[tuple[Shard, ...], bool], ...]

    @classmethod
    def of(cls, stream: Stream, *, size: int = SHARD_SIZE, rounds: int = 1, passes: int = 1) -> Plan:
        one_pass = [shards for shards in shards_of(stream, size, rounds) if shards]
        if not one_pass:
            return cls(())
        return cls.judged(one_pass, passes)

    @classmethod
    def judged(cls, one_pass: Sequence[Sequence[Shard]], passes: int) -> Plan:
        """The rounds of several passes, in each of which shards hold the same rows back, if a team learns them."""
        each = -(-HELD // sum(map(len, one_pass)))
        rounds = [tuple(replace(shard, judging=each) for shard in shards) for shards in one_pass]
        return cls(tuple((shards, number == 0) for number in range(passes) for shards in rounds))

    def checksum(self, model: bytes) -> str:
        """Of the shards, of the files behind them and of the learners of a model, so that a checkpoint is of these."""
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
        learners = [read_learner(one).learner for one in members_of(model)]
        what = [[type(learner).__name__, learner.parameters(), learner.labels] for learner in learners]
        team = Team.of(model)
        metric = None if team is None else team.metric
        text = json.dumps([told, facts, what, metric], sort_keys=True, default=repr)
        return hashlib.sha256(text.encode()).hexdigest()


def run(
    model: bytes,
    plan: Plan,
    engine: Engine,
    *,
    checkpoint: Path | None = None,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    classes: ClassesOfShards | None = None,
) -> bytes:
    """Run all rounds of a plan and return the model. `checkpoint` saves each round, and `resume` continues.

    `classes` is told of the rows of each class in each shard.

    Shards that meet labels which the model does not know are learned again once all new labels of the round are known.
    """
    started, done, skipped, kept = time.monotonic(), 0, 0, False
    mark = "" if checkpoint is None else plan.checksum(model)
    if checkpoint is not None and resume and checkpoint.exists():
        done, skipped, model = _read_checkpoint(checkpoint, mark, len(plan.rounds))
        kept = True
    before = _counts(model)[0]
    for number, (shards, first_pass) in enumerate(plan.rounds[done:], start=done + 1):
        while True:
            seen, wrong = base = _counts(model)
            left_out = skipped
            deltas: list[bytes] = []
            for data in engine.learn(model, shards, first_pass=first_pass):
                deltas.append(data)
                delta = Delta.of(data)
                gained = _gained(delta, base)
                seen, wrong = seen + gained[0], wrong + gained[1]
                left_out += delta.n_faults if first_pass else 0
                if on_progress is not None:
                    seconds = time.monotonic() - started
                    at = (number, len(plan.rounds), len(deltas), len(shards))
                    on_progress(Progress(*at, seen, wrong, seconds, left_out, before))
            if not (labels := new_labels(deltas)):
                break
            model = with_labels(model, labels)
        model, skipped = merge(model, deltas), left_out
        if classes is not None and first_pass:
            for data in deltas:
                classes.add(_seen(Delta.of(data)))
        if checkpoint is not None and number < len(plan.rounds):
            _write_checkpoint(checkpoint, mark, number, skipped, model)
            kept = True
    if checkpoint is not None and kept:  # not one of another training
        checkpoint.unlink(missing_ok=True)
        remove_stale(checkpoint)
    return model if (team := Team.of(model)) is None else team.model()


def _counts(model: bytes) -> tuple[int, int]:
    learner = read_learner(members_of(model)[0]).learner
    assert isinstance(learner, ClassLearner)
    return learner.n_seen_, learner.n_mistakes_


def _gained(delta: Delta, base: tuple[int, int]) -> tuple[int, int]:
    """Examples and mistakes of a shard, whose model began with the counts of `base`."""
    if delta.parts:
        delta = Delta.of(delta.parts[0])
    if delta.change is None:
        seen, mistakes = base if delta.model is None else _counts(delta.model)
        return seen - base[0], mistakes - base[1]
    columns = _core.TallyColumn.seen.value, _core.TallyColumn.mistakes.value
    return int(delta.change.tally[:, columns[0]].sum()), int(delta.change.tally[:, columns[1]].sum())


def _seen(delta: Delta) -> Ints:
    """Rows of each class in a shard; none of one that is the whole round, or that was empty."""
    change = (Delta.of(delta.parts[0]) if delta.parts else delta).change
    return np.zeros(0, np.int64) if change is None else change.tally[:, _core.TallyColumn.seen.value]


# -- checkpoints ------------------------------------------------------------------------------------------------------


def _write_checkpoint(path: Path, mark: str, done: int, skipped: int, model: bytes) -> None:
    words = canonical({"format": 1, "plan": mark, "done": done, "skipped": skipped})
    data = container_bytes(words, {"model": Tensor.of(np.frombuffer(model, np.uint8))})
    with replacing(path) as out:
        out.write(data)


def _read_checkpoint(path: Path, mark: str, rounds: int) -> tuple[int, int, bytes]:
    try:
        text, arrays = container_of(path.read_bytes())
        words = parse(text)
        known = {"format", "plan", "done", "skipped"}
        if not isinstance(words, dict) or words.keys() != known or words["format"] != 1:
            raise Refusal("is not a checkpoint of a training in shards")
        whole = all(type(words[name]) is int for name in ("skipped", "done"))
        if not whole or words["skipped"] < 0 or not 0 < words["done"] < rounds:
            raise Refusal("does not say which round it is of")
        if arrays.keys() != {"model"} or arrays["model"].dtype != np.uint8:
            raise Refusal("has no model")
    except Refusal as refusal:
        raise ValueError(f"{path} {refusal}.") from None
    if words["plan"] != mark:
        raise ValueError(
            f"{path} is of other data, of another learner, metric or parameters, or of other shards, rounds or "
            "passes: it cannot be gone on with."
        )
    return words["done"], words["skipped"], arrays["model"].tobytes()


# -- in one call ------------------------------------------------------------------------------------------------------


def start(
    learner: Learner | Sequence[Learner], stream: Stream, labels: Sequence[Label] | None, metric: str = "error"
) -> bytes:
    """The model that all shards start from; of several learners the team, which a metric judges.

    Its labels are those of the first rows, unless they are given. They are sorted, as those of one training are; others
    follow as shards meet them.
    """
    learners = [learner] if isinstance(learner, Learner) else learner
    for each in learners:
        mergeable(each)
        attach(each, stream, labels)
        each.check_parameters()
    if labels is None:
        classes = Classes()
        for chunk in stream.peek(1, 1):
            classes.of(chunk, stream.paths[0], 0)
        labels = classes.labels
    models = [begin(each, labels) for each in learners]
    return models[0] if len(models) == 1 else Team(tuple(models), metric).to_bytes()


def estimator(model: bytes) -> Estimator:
    """The estimator of a model's bytes."""
    from ..estimators.saving import as_estimator

    return as_estimator(read_learner(model).learner)

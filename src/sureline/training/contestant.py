"""A learner on its way through a tournament."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..learners.learner import ClassLearner
from ..models.groups import GroupState
from ..models.numbers import MISTAKES, UPDATES
from ..models.precision.state import PrecisionState
from ..models.state import State
from ..stream import Chunk
from .chunks import Lesson
from .grid import Entry
from .judge import Counts
from .reliability import Reliability
from .result import Status


@dataclass
class Turn:
    """A chunk as all contestants take it.

    `cuts` are the rows after which the curve has a point. `samples` has rows that are asked for before the rows from
    one cut to the next are learned from, by where those begin.
    """

    lesson: Lesson
    cuts: list[int]
    samples: dict[int, Chunk] = field(default_factory=dict)


class Contestant:
    """A learner, what is known of its mistakes at the points of the curve, and how it ended."""

    def __init__(self, entry: Entry, *, reliability: bool) -> None:
        self.name, self.learner, self.parameters = entry.name, entry.learner, entry.parameters
        self.others = entry.others
        self.status: Status = "finished"
        self.reason: str | None = None
        self.begun = False
        self.seconds = 0.0  # of the processor, for learning alone
        self.mistakes: list[Counts] = []  # of each class, at each point
        self.reliability = Reliability() if reliability and entry.learner.has_probabilities else None
        self.n_updates = self.n_features = self.n_bytes = 0
        self.n_nonzero: int | None = None

    @property
    def alive(self) -> bool:
        return self.status == "finished"

    def settings(self) -> list[ClassLearner]:
        """Learners like this one, as it is and with the settings that may take its place."""
        kind, given = type(self.learner), self.learner.parameters()
        return [kind(**{**given, **settings}) for settings in ({}, *self.others)]

    def adopt(self, settings: Mapping[str, Any]) -> None:
        """Take part with these, before it begins."""
        for name, value in settings.items():
            setattr(self.learner, name, value)
        self.parameters = {**self.parameters, **settings}

    def take(self, turn: Turn) -> None:
        """Learn from a chunk. A learner that refuses a row fails, and no other does."""
        lesson, learner = turn.lesson, self.learner
        begin = time.thread_time()
        try:
            if not self.begun:
                lesson.begin(learner)
                self.begun = True
            start = 0
            for stop in turn.cuts:
                self._learn(turn, start, stop)
                self.mistakes.append(learner._state.tally[:, MISTAKES].copy())
                start = stop
            self._learn(turn, start, lesson.chunk.n_rows)
            lesson.end(learner)
        except (ValueError, MemoryError) as error:
            self.leave("failed", str(error) or "out of memory")
        self.seconds += time.thread_time() - begin

    def _learn(self, turn: Turn, start: int, stop: int) -> None:
        if self.reliability is not None and start in turn.samples:
            rows = turn.samples[start]
            truth = turn.lesson.labels[rows.labels[0]].astype(np.int32, copy=False)
            begin = time.thread_time()
            with suppress(ValueError):  # a score that overflows: learning says so, if it matters there
                self.reliability.ask(self.learner, rows, truth)
            self.seconds -= time.thread_time() - begin
        turn.lesson.teach(self.learner, start, stop)

    def finish(self) -> None:
        """All of the stream has come."""

    def mistakes_by_class(self) -> Counts:
        """All of them so far, in the order of the tournament's classes."""
        found: Counts = self.learner._state.tally[:, MISTAKES]
        return found

    def leave(self, status: Status, reason: str) -> None:
        """Be done with it before the end; its memory is given back."""
        self.status, self.reason = status, reason
        self.tell()
        if self.begun:
            del self.learner._state
            self.learner.__dict__.pop("_normalizer", None)
            self.begun = False

    def tell(self) -> None:
        """Note what there is to be told of the model."""
        if self.begun:
            state = self.learner._state
            self.n_updates = int(state.tally[:, UPDATES].sum())
            self.n_nonzero = state.count_nonzero()
            self.n_features = state.n_columns
            assert isinstance(state, State | PrecisionState | GroupState)
            self.n_bytes = state.nbytes

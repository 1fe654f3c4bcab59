"""Which learner to use where none is named: the one that makes the fewest mistakes on the first rows of the stream."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any

import numpy as np

from ._labels import Classes
from ._learner import ClassLearner
from ._lesson import Lesson, Normalizers
from ._numbers import MISTAKES
from ._online import ClassRuleLearner
from .catalogue import LEARNERS
from .stream import Chunk, DataError, Label, Stream
from .stream._chunk import joined

AUTO = "auto"

# What is tried. No single setting is near the best on every kind of data: noisy tables, sparse text and streams that
# drift want different rates and measures. Between them these are; `make defaults` shows how near. All of them can tell
# how sure they are. The first one is used where the first rows cannot decide.
CANDIDATES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SCW", {}),
    ("SCW", {"C": 0.5, "eta": 0.75}),
    ("SCW", {"C": 0.125, "eta": 0.9}),
    ("SCW", {"C": 1.0, "eta": 0.95}),
    ("SCW", {"C": 1.0, "eta": 0.9, "normalize": "none"}),
    ("SCW", {"C": 1.0, "eta": 0.75, "normalize": "row"}),
    ("CW", {"eta": 0.95, "normalize": "none"}),
    ("AROW", {"r": 0.25, "normalize": "row"}),
    ("SSOL", {"r": 2.0**-4, "eta": 1.0, "normalize": "row"}),
    ("SOFS", {"r": 0.25}),
    ("FTRL", {"alpha": 0.2, "beta": 0.125}),
    ("FTRL", {"alpha": 0.5, "beta": 2.0**-6}),
    ("FTRL", {"alpha": 0.5, "beta": 1.0}),
    ("FTRL", {"alpha": 1.0, "beta": 2.0**-6, "normalize": "row"}),
    ("FTRL", {"alpha": 2.0**-6, "beta": 2.0**-6, "normalize": "none"}),
)

ROWS = 20_000
ENTRIES = 1 << 21  # not zero, in these rows
WEIGHTS = 1 << 22  # of a model that is tried: fewer rows are looked at if it would have more
FEWEST = 100  # rows on which anything can be decided


@dataclass(frozen=True)
class Choice:
    """A learner that has not begun, and why it is this one."""

    learner: ClassLearner
    tried: int
    rows: int  # on which; 0 if they could not decide
    mistakes: int

    def to_dict(self) -> dict[str, Any]:
        return {"tried": self.tried, "rows": self.rows, "mistakes": self.mistakes}


def candidates(parameters: dict[str, Any]) -> list[ClassLearner]:
    """What is tried, with these parameters, which must be such as all learners have."""
    shared = {field.name for field in fields(ClassRuleLearner)}
    if own := sorted(set(parameters) - shared):
        owners = [name.lower() for name, kind in LEARNERS.items() if own[0] in kind.__dataclass_fields__]
        if not owners:
            raise ValueError(f"There is no parameter {own[0]!r}.")
        raise ValueError(f"{own[0]} is a parameter of {', '.join(owners)}: name the one that is meant with algorithm.")
    found: dict[tuple[Any, ...], ClassLearner] = {}
    for name, settings in CANDIDATES:
        kind = LEARNERS[name]
        learner = kind(**{"dtype": kind.stream_dtype, **settings, **parameters})
        assert isinstance(learner, ClassLearner)
        learner.check_parameters()
        found.setdefault((name, *map(repr, learner.parameters().values())), learner)
    return list(found.values())


def choose(stream: Stream, labels: Sequence[Label] | None, parameters: dict[str, Any], *, rows: int = ROWS) -> Choice:
    """The learner of the candidates that makes the fewest mistakes on the first rows; nothing of the stream is lost."""
    learners = candidates(parameters)
    undecided = Choice(learners[0], len(learners), 0, 0)
    if len(learners) == 1:
        return undecided
    classes = Classes(labels)
    chunk = _first_rows(stream.peek(rows, ENTRIES), rows, classes, stream.paths[0])
    if chunk is None or chunk.n_rows < FEWEST or len(np.unique(chunk.labels[0])) < 2:
        return undecided
    lesson = Lesson(chunk, chunk.labels[0], classes.array(), Normalizers())
    for learner in learners:
        lesson.prepare(learner)
    mistakes = _mistakes(learners, lesson)
    best = int(np.argmin(mistakes))
    if mistakes[best] == inf:
        return undecided
    kind = type(learners[best])
    return Choice(kind(**learners[best].parameters()), len(learners), chunk.n_rows, int(mistakes[best]))


def _mistakes(learners: Iterable[ClassLearner], lesson: Lesson) -> list[float]:
    """How many each makes; infinitely many of one that overflows."""

    def of(learner: ClassLearner) -> float:
        try:
            lesson.begin(learner)
            lesson.teach(learner, 0, lesson.chunk.n_rows)
            return float(learner._state.tally[:, MISTAKES].sum())
        except ValueError:
            return inf
        finally:
            learner.__dict__.pop("_state", None)

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(cores, thread_name_prefix="sureline-choice") as pool:
        return list(pool.map(of, learners))


def _first_rows(chunks: Sequence[Chunk], most: int, classes: Classes, file: str) -> Chunk | None:
    """The first rows, with classes for labels and no column that does not occur in them."""
    parts, rows = [], 0
    for chunk in chunks:
        try:
            codes = classes.of(chunk, file, rows)
        except DataError:  # which training says, in its turn
            break
        parts.append(replace(chunk, labels=(codes, list(range(len(classes.labels)))), names=None, tags=None))
        rows += len(chunk)
    if not parts:
        return None
    chunk = joined(parts)
    n_classes = len(classes.labels)
    few = ENTRIES * 4 // max(n_classes, 4)  # every class has a score
    chunk = chunk.first(min(most, int(np.searchsorted(chunk.indptr, few, side="right")) - 1))
    while True:
        columns = np.unique(chunk.indices)
        if len(columns) * n_classes <= WEIGHTS or chunk.n_rows < FEWEST:
            break
        chunk = chunk.first(chunk.n_rows // 2)
    indices = np.searchsorted(columns, chunk.indices).astype(np.int32)
    return replace(chunk, indices=indices, n_columns=len(columns))

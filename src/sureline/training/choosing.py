"""Choose algorithm and settings by the progressive error on the first 20,000 rows of a stream.

Where no learner is named, the choice is among settings of several; where one is named and nothing of it, among its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Array
from .._system import threads
from ..learners.catalogue import LEARNERS, learner_named
from ..learners.learner import Learner
from ..learners.online import OnlineLearner
from ..learners.race.candidates import entrants
from ..learners.race.fold import goes_on
from ..learners.race.race import Race
from ..learners.race.verdict import outcome
from ..models.model import Model
from ..models.numbers import MISTAKES
from ..stream import Chunk, DataError, Label, Stream
from ..stream.chunk import joined
from ..stream.classes import Classes
from ..stream.shuffling import Shuffle
from .chunks import LabelledChunk, Normalizers
from .metric import Metric
from .result import MetricName

AUTO = "auto"

ROWS = 20_000
ENTRIES = 1 << 21  # not zero, in these rows
WEIGHTS = 1 << 22  # weights of a model that is tried; with more, fewer rows are used
MARKS = 1 << 24  # columns, up to which each can have a mark
FEWEST = 100  # rows needed for any decision


@dataclass(frozen=True)
class Choice:
    """A fresh learner, and the reason for its choice."""

    learner: Learner
    tried: int
    rows: int  # used; 0 if they could not decide
    metric: MetricName
    score: float  # by that; of "error" the number of mistakes

    @property
    def mistakes(self) -> int:
        """Mistakes on these rows, if they decided."""
        return int(self.score)

    def to_dict(self) -> dict[str, Any]:
        told: dict[str, Any] = {"tried": self.tried, "rows": self.rows}
        return told | ({"mistakes": self.mistakes} if self.metric == "error" else {self.metric: self.score})


_SHARED = {field.name for field in fields(OnlineLearner)}


def chosen(learner: Learner) -> dict[str, Any]:
    """The parameters that the first rows decide: the learner's own, and the normalisation."""
    return {name: value for name, value in learner.parameters().items() if name not in _SHARED - {"normalize"}}


def refuse_unknown(algorithm: Any, parameters: Collection[str], others: Collection[str]) -> None:
    """Refuse a parameter that no learner of this name has, with one that may be meant."""
    if not isinstance(algorithm, str):
        return
    auto = algorithm.lower() == AUTO
    kinds = [*LEARNERS.values()] if auto else [learner_named(algorithm)]
    known = {field.name for kind in kinds for field in fields(kind)}
    for name in parameters:
        if name not in known:
            near = get_close_matches(name, sorted({*known, *others}), 1)
            meant = f" (did you mean {near[0]!r}?)" if near else ""
            of = "" if auto else f" of {kinds[0].__name__}, of training or of reading"
            raise (ValueError if auto else TypeError)(f"There is no parameter {name!r}{of}{meant}.")


def settings_of(kind: type[Learner], parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """The settings to try of a named learner; the first are its defaults.

    A setting named by the caller is kept, with defaults for the rest.
    """
    if not issubclass(kind, OnlineLearner) or parameters.keys() - (_SHARED - {"normalize"}):
        return [parameters]
    return [parameters, *({**settings, **parameters} for settings in kind.settings_to_try)]


def chosen_before(path: Path, saved: Learner, candidates: Sequence[Learner]) -> Learner:
    """The candidate with a checkpoint's settings; common parameters may differ."""
    for learner in candidates:
        if type(learner) is type(saved) and chosen(learner) == chosen(saved):
            return learner
    kinds = {type(learner) for learner in candidates}
    if len(kinds) == 1 and type(saved) not in kinds:
        return candidates[0]  # its different algorithm will be refused
    usual = chosen(type(saved)())
    told = ", ".join(
        f"{name}={value!r}" for name, value in chosen(saved).items() if name == "normalize" or value != usual[name]
    )
    raise ValueError(
        f"{path} was saved by {type(saved).__name__} with {told}, which is not among the settings that are tried where "
        "none is named: name them to go on with it."
    )


def candidates(parameters: dict[str, Any]) -> list[OnlineLearner]:
    """The learners that race if none is named, with the common parameters."""
    if own := sorted(set(parameters) - _SHARED):
        owners = [name.lower() for name, kind in LEARNERS.items() if own[0] in kind.__dataclass_fields__]
        if not owners:
            raise ValueError(f"There is no parameter {own[0]!r}.")
        raise ValueError(f"{own[0]} is a parameter of {', '.join(owners)}: name the one that is meant with algorithm.")
    return entrants({"dtype": "float32", **parameters})


def choose(
    stream: Stream,
    labels: Sequence[Label] | None,
    learners: Sequence[Learner],
    *,
    rows: int = ROWS,
    metric: Metric | None = None,
    shuffle: Shuffle | None = None,
) -> Choice:
    """The learner that is best on the first rows, by mistakes or the given metric; the stream loses no rows."""
    first = FirstRows(stream, labels, rows, shuffle)
    metric = Metric() if metric is None else metric
    losses = first.losses(learners, metric.loss_of if metric.of_record else _mistakes)
    best = int(np.argmin(losses))
    if losses[best] == inf:
        return Choice(learners[0], len(learners), 0, metric.name, 0.0)
    kind = type(learners[best])
    score = metric.value(losses[best]) if metric.of_record else losses[best]
    return Choice(kind(**learners[best].parameters()), len(learners), first.n_rows, metric.name, score)


def best_of_race(
    stream: Stream, labels: Sequence[Label] | None, learners: Sequence[OnlineLearner], most: int, metric: MetricName
) -> list[OnlineLearner]:
    """The learners that are best in a race over the first rows, the best in front; nothing of the stream is lost.

    One of them can go on as their committee, if any of all can.
    """
    first = FirstRows(stream, labels)
    race = Race([type(learner)(**learner.parameters()) for learner in learners], metric=metric)
    ranked = first.ranked(race)
    team = ranked[:most]
    if not any(goes_on(learners[k]) for k in team):
        team[-1:] = [k for k in ranked if goes_on(learners[k])][:1] or team[-1:]
    return [learners[k] for k in team]


def _mistakes(model: Model) -> float:
    return float(model.tally[:, MISTAKES].sum())


class FirstRows:
    """The first rows of a stream, for trying learners; they stay in the stream. None if they cannot decide."""

    def __init__(
        self, stream: Stream, labels: Sequence[Label] | None, rows: int = ROWS, shuffle: Shuffle | None = None
    ) -> None:
        classes = Classes(labels)
        chunks = stream.peek(rows, ENTRIES) if shuffle is None else shuffle.first(stream)
        chunk = _first_rows(chunks, rows, classes, stream.paths[0])
        del chunks
        self._rows: LabelledChunk | None = None
        self.n_rows = self.n_columns = self.n_classes = 0
        if chunk is not None and chunk.n_rows >= FEWEST and len(np.unique(chunk.labels[0])) >= 2:
            self._rows = LabelledChunk(chunk, chunk.labels[0], classes.array(), Normalizers())
            self.n_rows, self.n_columns, self.n_classes = chunk.n_rows, chunk.n_columns, len(classes.labels)

    def losses(
        self, learners: Sequence[Learner], loss: Callable[[Model], float] = _mistakes, *, at_a_time: int | None = None
    ) -> list[float]:
        """Losses from each learner's own counts; infinite after an overflow, and for all if there are no rows.

        `at_a_time` learners run together, by default as many as cores. The learners keep no state.
        """
        if self._rows is None:
            return [inf] * len(learners)
        rows, chunk = self._rows, self._rows.chunk
        refused = set()
        with np.errstate(over="ignore", under="ignore"):
            values = {dtype: chunk.values.astype(dtype, copy=False) for dtype in {one.dtype for one in learners}}
        for learner in learners:  # before several threads ask for the rows
            try:
                rows.prepare(learner, values[learner.dtype])
            except ValueError:
                refused.add(id(learner))

        def of(learner: Learner) -> float:
            if id(learner) in refused:
                return inf
            try:
                rows.begin(learner)
                rows.fit(learner, 0, chunk.n_rows)
                return loss(learner.model)
            except ValueError:
                return inf
            finally:
                learner.forget()

        with threads(at_a_time) as pool:
            return list(pool.map(of, learners))

    def ranked(self, race: Race) -> list[int]:
        """The numbers of a race's learners over the rows, best first; those that left follow."""
        if self._rows is None:
            return list(range(len(race.members)))
        chunk, codes, classes = self._rows.chunk, self._rows.labels, self._rows.classes
        assert classes is not None
        start = 0
        while start < chunk.n_rows:
            stop = min(start + race.block_size, chunk.n_rows)
            race.learn(chunk.part(start, stop), codes[start:stop].astype(np.int32), classes)
            start = stop
        outcome(race)
        return [one.number for one in sorted(race.members, key=lambda one: (not one.alive, one.loss, one.number))]


def _first_rows(chunks: Sequence[Chunk], most: int, classes: Classes, file: str) -> Chunk | None:
    """The first rows, with classes for labels and no column that does not occur in them."""
    parts, rows = [], 0
    for chunk in chunks:
        try:
            codes = classes.of(chunk, file, rows)
        except DataError:  # training reports the error at that row
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
        columns = _distinct(chunk)
        if len(columns) * n_classes <= WEIGHTS or chunk.n_rows < FEWEST:
            break
        chunk = chunk.first(chunk.n_rows // 2)
    return replace(chunk, indices=_renumbered(chunk, columns), n_columns=len(columns))


def _distinct(chunk: Chunk) -> Array:
    """The columns that occur, ascending. Marking is many times as fast as sorting, if memory allows."""
    if chunk.n_columns > MARKS:
        return np.unique(chunk.indices)
    occurs = np.zeros(chunk.n_columns, bool)
    occurs[chunk.indices] = True
    return np.flatnonzero(occurs)


def _renumbered(chunk: Chunk, columns: Array) -> npt.NDArray[np.int32]:
    """The position of each entry's column among these."""
    if chunk.n_columns > MARKS:
        return np.searchsorted(columns, chunk.indices).astype(np.int32)
    places = np.empty(chunk.n_columns, np.int32)  # only these columns' pages are touched
    places[columns] = np.arange(len(columns), dtype=np.int32)
    return places[chunk.indices]

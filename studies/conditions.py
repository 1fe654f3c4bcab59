"""What comes out under other conditions, where a figure of table 3 is far from the paper's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sureline.reproduce import data as data_module
from sureline.reproduce.data import Rows
from sureline.reproduce.entry import DataSet, Entry, Learner
from sureline.reproduce.entry import entry as entry_of
from sureline.reproduce.learners import build, in_words, permutation, tuned
from sureline.reproduce.outcome import Cell, Column, Findings, Mean, Missing, Row, Table
from sureline.reproduce.progress import Progress
from sureline.reproduce.protocols import permutations
from sureline.reproduce.statistics import mean_of

from . import libol


@dataclass(frozen=True)
class Parameters:
    """What the protocol consists of.

    Attributes
    ----------
    of : str
        The entry whose data, learners, numbers and protocol these are.
    start : dict
        For each learner the parameters that LIBOL starts from.
    far : float
        From how many of the paper's deviations on a figure is far.
    search_rows : int
        The nearest point of a grid is looked for with as many permutations as have so many rows together.
    permutations : int
    data : tuple of str or None
        Only these data sets.
    """

    of: str
    start: dict[str, dict[str, float]]
    far: float
    search_rows: int
    permutations: int
    data: tuple[str, ...] | None = None


class Figures(NamedTuple):
    """Mistake rate and number of updates."""

    rate: Mean
    updates: Mean


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    table = entry_of(parameters.of)
    known = table.parameters(permutations.Parameters, quick=False)
    named = parameters.data or [one.name for one in table.data_sets if not one.stand_in]
    chosen = [one for one in table.data_sets if one.name in named]
    loaded = {one.name: (one, data_module.load(one, folder)) for one in chosen}
    there = [(one, rows.dense()) for one, rows in loaded.values() if not isinstance(rows, Missing)]
    for _, rows in there:
        progress.expect(len(table.learners) * rows.X.size)
    found = []
    for one, rows in there:
        for learner in table.learners:
            found += _Case(table, known, parameters, one, learner, rows).tried()
            progress.advance(rows.X.size, f"{one.name}, {learner.name}")
    columns = (
        Column("mistake rate", 4, compared=False),
        Column("deviations", compared=False),
        Column("updates", 1, compared=False),
        Column("deviations of updates", compared=False),
    )
    made = Table(
        f"Where a figure is {parameters.far:g} of the paper's deviations away or further",
        ("data", "learner", "tried"),
        columns,
        tuple(found),
    )
    return Findings(
        tables=(made,) if there else (),
        missing=tuple(rows for _, rows in loaded.values() if isinstance(rows, Missing)),
        notes=(entry.note,) if entry.note and there else (),
    )


@dataclass(frozen=True)
class _Case:
    """A learner on a data set."""

    entry: Entry
    known: permutations.Parameters
    parameters: Parameters
    data: DataSet
    learner: Learner
    rows: Rows

    @property
    def seeds(self) -> range:
        return range(self.known.first_seed, self.known.first_seed + self.parameters.permutations)

    @property
    def some_seeds(self) -> range:
        return self.seeds[: max(1, self.parameters.search_rows // len(self.rows.y))]

    def tried(self) -> list[Row]:
        point = tuned(
            self.entry,
            self.learner,
            self.rows,
            folds=self.known.folds,
            seed=self.known.tuning_seed,
            on_point=lambda: None,
        )
        ours = self._at(point, self.seeds)
        if max(map(abs, self._gaps(ours))) <= self.parameters.far:
            return []
        made = [(f"as in the table, {in_words(point)}", ours)]
        near = self._nearest(self.learner.points(), self._at)
        made.append((f"nearest on the grid, {in_words(near)}", self._at(near, self.seeds)))
        for words, other in (("one pass", self._by_one_pass()), ("one pass, first C, then eta", self._one_by_one())):
            if other not in (point, near):
                made.append((f"tuned by {words}, {in_words(other)}", self._at(other, self.seeds)))
        start = self.parameters.start[self.learner.name]
        made.append((f"LIBOL's defaults, {in_words(start)}", self._at(start, self.seeds)))
        if self.data.generator:
            made.append((f"other draws of the data, {in_words(point)}", self._other_draws(point)))
        if self.learner.name == "NAROW":
            near = self._nearest(self.learner.points(), self._counting_losses)
            for one in [point, *([near] if near != point else [])]:
                made.append(
                    (f"positive losses counted as updates, {in_words(one)}", self._counting_losses(one, self.seeds))
                )
        if self.learner.name == "SCW-II":
            near = self._nearest(self.learner.points(), self._with_libols_alpha)
            made.append((f"LIBOL's alpha, {in_words(near)}", self._with_libols_alpha(near, self.seeds)))
        return [self._row(words, figures) for words, figures in made]

    # -- runs ---------------------------------------------------------------------------------------------------------

    def _passes(self, seeds: Iterable[int], learn: Callable[[Any, Any], tuple[int, int]]) -> Figures:
        counts = []
        for seed in seeds:
            order = permutation(len(self.rows.y), seed)
            counts.append(learn(self.rows.X[order], self.rows.y[order]))
        return _figures(counts, len(self.rows.y))

    def _fit(self, point: dict[str, float], X: Any, y: Any) -> tuple[int, int]:
        model = build(self.entry, self.learner, point).fit(X, y)
        return model.n_mistakes_, model.n_updates_

    def _at(self, point: dict[str, float], seeds: Iterable[int]) -> Figures:
        return self._passes(seeds, lambda X, y: self._fit(point, X, y))

    def _counting_losses(self, point: dict[str, float], seeds: Iterable[int]) -> Figures:
        return self._passes(seeds, lambda X, y: libol.one_pass(libol.narow_step(**point), X, y))

    def _with_libols_alpha(self, point: dict[str, float], seeds: Iterable[int]) -> Figures:
        return self._passes(seeds, lambda X, y: libol.one_pass(libol.scw2_step(**point), X, y))

    def _other_draws(self, point: dict[str, float]) -> Figures:
        """New data for each run: how much depends on the one draw that all permutations share."""
        counts = []
        for seed in self.seeds:
            rows = data_module.load(self.data, None, random_state=seed)
            assert isinstance(rows, Rows)
            counts.append(self._fit(point, rows.X, rows.y))
        return _figures(counts, len(self.rows.y))

    # -- other ways to choose a point ---------------------------------------------------------------------------------

    def _nearest(self, points: list[dict[str, float]], at: Callable[..., Figures]) -> dict[str, float]:
        return min(points, key=lambda point: sum(gap**2 for gap in self._gaps(at(point, self.some_seeds))))

    def _mistakes(self, point: dict[str, float]) -> float:
        return self._at(point, [self.known.tuning_seed]).rate.mean

    def _fewest(self, points: list[dict[str, float]]) -> dict[str, float]:
        """The fewest mistakes in one pass; of equals the last, as in LIBOL."""
        counts = np.array([self._mistakes(point) for point in points])
        return points[int(np.flatnonzero(counts == counts.min())[-1])]

    def _by_one_pass(self) -> dict[str, float]:
        return self._fewest(self.learner.points())

    def _one_by_one(self) -> dict[str, float]:
        point = dict(self.parameters.start[self.learner.name])
        for name in self.learner.grid:
            values = dict.fromkeys(one[name] for one in self.learner.points())
            point = self._fewest([{**point, name: value} for value in values])
        return point

    # -- words --------------------------------------------------------------------------------------------------------

    def _gaps(self, ours: Figures) -> tuple[float, float]:
        """How many of the paper's deviations lie between the means; a deviation printed as 0 counts as half a digit."""

        def gap(mine: Mean, measure: str) -> float:
            paper = self.entry.paper_mean(self.data.name, self.learner.name, measure)
            assert paper is not None
            return (mine.mean - paper.mean) / max(paper.sd or 0.0, paper.unit / 2)

        return gap(ours.rate, "rate"), gap(ours.updates, "updates")

    def _row(self, words: str, ours: Figures) -> Row:
        rate_gap, updates_gap = self._gaps(ours)
        cells = Cell(ours.rate), Cell(text=f"{rate_gap:+.1f}"), Cell(ours.updates), Cell(text=f"{updates_gap:+.1f}")
        return Row((self.data.name, self.learner.name, words), cells)


def _figures(counts: list[tuple[int, int]], n_rows: int) -> Figures:
    return Figures(mean_of(mistakes / n_rows for mistakes, _ in counts), mean_of(updates for _, updates in counts))

"""The protocol "time against sparsity" of the paper on sparse online learning, section 5.4.

Each learner is tuned as for the errors, and gets the penalties with which its models come nearest to some sparsities.
Then one pass over the training rows with each of them is timed: rows in memory, one thread, processor time (which other
programs disturb less than a clock), the best of several.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..data import Effort, Split, efforts, split_of
from ..entry import DataSet, Entry
from ..learners import in_words
from ..outcome import Cell, Column, Findings, Mean, Missing, Picture, Row, Series, Table, Verdict
from ..progress import Progress
from ..statistics import LONGER, SAME, TIMES, all_of, any_of, how_many_hold, longer, opposite
from .penalty_paths import Candidate, Point, trace, tune
from .sparsity_curves import candidates, joined

_SECOND = ("Ada-FOBOS", "Ada-RDA", "SSOL")


@dataclass(frozen=True)
class Parameters:
    """The protocol. `effort` and `sets` are as for error against sparsity; the best of `repeats` passes counts."""

    folds: int
    tuning_seed: int
    first_seed: int
    repeats: int
    effort: dict[str, Any] = field(default_factory=dict)
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """A learner with several penalties, none first: sparsities of its models, seconds and updates of a pass."""

    name: str
    point: Point
    lams: tuple[float, ...]
    sparsity: tuple[float, ...]
    seconds: tuple[float, ...]
    updates: tuple[int, ...]

    def low_multiples(self) -> list[float]:
        """Times as multiples of that without a penalty, while at least half of the weights are left."""
        free = self.seconds[0]
        pairs = zip(self.sparsity[1:], self.seconds[1:], strict=True)
        return [seconds / free for sparsity, seconds in pairs if 1 - sparsity >= (1 - self.sparsity[0]) / 2]

    def at(self, level: float) -> float:
        """Seconds at a sparsity, between the models on both sides."""
        order = np.argsort(self.sparsity)
        return float(np.interp(level, np.array(self.sparsity)[order], np.array(self.seconds)[order]))


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    """Time every learner on every data set."""
    of_set = efforts(entry, parameters.effort, parameters.sets)
    progress.expect(len(entry.data_sets) * len(entry.learners))
    found = Findings(notes=(entry.note, TIMES))
    for data in entry.data_sets:
        effort = of_set[data.name]
        rows = split_of(data, effort, folder)
        if isinstance(rows, Missing):
            progress.advance(len(entry.learners), f"{data.name} is not there")
            found = joined(found, Findings(missing=(rows,)))
            continue
        rows_in_order, models = rows.shuffled(parameters.first_seed), []
        for candidate in candidates(entry, effort):
            progress.advance(0, f"{data.name}: {candidate.name}")
            models.append(chosen(candidate, rows, rows_in_order, effort, parameters))
            progress.advance(1, f"{data.name}: {candidate.name}")
        progress.advance(0, f"{data.name}: the passes that are timed")
        results = timed(models, rows_in_order, parameters.repeats)
        found = joined(found, _findings(entry, data, effort, parameters, rows, results))
    return found


@dataclass(frozen=True)
class Chosen:
    """A tuned learner, and the penalties to time it with, none first, with the sparsities of its models."""

    candidate: Candidate
    point: Point
    lams: tuple[float, ...]
    sparsity: tuple[float, ...]


def chosen(candidate: Candidate, rows: Split, in_order: Split, effort: Effort, parameters: Parameters) -> Chosen:
    point, _ = tune(candidate, rows, "test_error", folds=parameters.folds, seed=parameters.tuning_seed)
    curve = trace(candidate.build(point), in_order, "test_error", gap=effort.gap, limit=effort.limit)
    nearest = {int(np.argmin(np.abs(curve.sparsity - level))) for level in effort.levels if level < 1}
    indices = [curve.free, *sorted(nearest - {curve.free}, key=lambda i: (curve.sparsity[i], curve.lams[i]))]
    lams, sparsity = (tuple(float(values[i]) for i in indices) for values in (curve.lams, curve.sparsity))
    return Chosen(candidate, point, lams, sparsity)


def timed(models: list[Chosen], rows: Split, repeats: int) -> dict[str, Timed]:
    """The least time of several rounds. A round has one pass of each model, so disturbances hit all alike."""
    seconds = {(one.candidate.name, lam): float("inf") for one in models for lam in one.lams}
    updates = {}
    for _ in range(repeats):
        for one in models:
            for lam in one.lams:
                model, key = one.candidate.build({**one.point, "lam": lam}), (one.candidate.name, lam)
                began = time.process_time()
                model.fit(rows.X, rows.y)
                seconds[key] = min(seconds[key], time.process_time() - began)
                updates[key] = int(model.n_updates_)
    return {
        name: Timed(
            name,
            one.point,
            one.lams,
            one.sparsity,
            tuple(seconds[name, lam] for lam in one.lams),
            tuple(updates[name, lam] for lam in one.lams),
        )
        for one in models
        for name in [one.candidate.name]
    }


# -- findings ---------------------------------------------------------------------------------------------------------


def _findings(
    entry: Entry, data: DataSet, effort: Effort, parameters: Parameters, rows: Split, results: Mapping[str, Timed]
) -> Findings:
    label = rows.label(data.name)
    per_value = 1e9 / rows.X.nnz
    return Findings(
        tables=(_table(data, parameters, rows, results, per_value),),
        pictures=(
            Picture(
                name=data.name.lower(),
                title=f"{entry.where}: {label}",
                x_label="sparsity, %",
                y_label="processor time of a pass, ns a nonzero",
                series=tuple(
                    Series(
                        one.name,
                        tuple(100 * value for value in one.sparsity),
                        tuple(per_value * value for value in one.seconds),
                    )
                    for one in results.values()
                ),
                note=f"{rows.in_words()}. The best of {parameters.repeats} passes, one thread, rows in memory.",
                stand_in=rows.stand_in,
            ),
        ),
        verdicts=tuple(_verdicts(label, results)),
    )


def _table(data: DataSet, parameters: Parameters, rows: Split, results: Mapping[str, Timed], per_value: float) -> Table:
    columns = [
        Column("lam", compared=False),
        *(Column(name, digits, compared=False) for name, digits in (("sparsity, %", 2), ("ns a nonzero", 2))),
        Column("updates", 0, compared=False),
    ]
    made = []
    for one in results.values():
        for i, sparsity in enumerate(one.sparsity):
            made.append(
                Row(
                    (one.name, in_words(one.point)),
                    (
                        Cell(text=f"{one.lams[i]:.3g}"),
                        Cell(Mean(100 * sparsity)),
                        Cell(Mean(per_value * one.seconds[i])),
                        Cell(Mean(one.updates[i])),
                    ),
                )
            )
    return Table(
        title=f"{rows.label(data.name)}: time of a pass over the training rows",
        heads=("learner", "tuned"),
        columns=tuple(columns),
        rows=tuple(made),
        note=f"{rows.in_words()}. The best of {parameters.repeats} passes, one thread, rows in memory.",
        stand_in=rows.stand_in,
    )


def _verdicts(label: str, results: Mapping[str, Timed]) -> list[Verdict]:
    return [
        _stable(label, results),
        _grows(label, results),
        _faster(label, results, "SSOL", ("Ada-RDA", "Ada-FOBOS")),
        _faster(label, results, "FSOL", ("SSOL",)),
    ]


def _stable(label: str, results: Mapping[str, Timed]) -> Verdict:
    claim = (
        f"{label}: at low sparsity, while at least half of the weights are left, the time is stable (up to {SAME:g} "
        f"times more or less; {LONGER:g} times is not)."
    )
    found = {name: one.low_multiples() for name, one in results.items()}
    ratios = {name: some for name, some in found.items() if some}
    told = [opposite(longer(max(*some, *(1 / one for one in some)))) for some in ratios.values()]
    shown = ", ".join(f"{name} {_span(some)}" for name, some in ratios.items())
    lead = f"{how_many_hold(told)}These are multiples of the time without a penalty: {shown}." if ratios else ""
    others = ", ".join(name for name in found if name not in ratios)
    return Verdict(claim, all_of(told), f"{f'No such model: {others}. ' if others else ''}{lead}".strip())


def _grows(label: str, results: Mapping[str, Timed]) -> Verdict:
    grown = {name: results[name].seconds[-1] / results[name].seconds[0] for name in _SECOND if results[name].lams[1:]}
    more = ", ".join(f"{results[name].updates[-1] / max(results[name].updates[0], 1):.2f}" for name in grown)
    shown = ", ".join(f"{name} {growth:.2f}" for name, growth in grown.items())
    return Verdict(
        f"{label}: at high sparsity the time of some learners of second order grows.",
        any_of(longer(growth) for growth in grown.values()) if grown else None,
        f"At the highest sparsity {shown} times that without a penalty, with {more} times the updates."
        if grown
        else "There is no sparse model.",
    )


def _faster(label: str, results: Mapping[str, Timed], ours: str, others: tuple[str, ...]) -> Verdict:
    """A verdict: faster at every timed sparsity that both learners reach."""
    told: list[bool | None] = []
    shown = []
    for other in others:
        levels, ratios = _compared(results[ours], results[other])
        told += [longer(ratio) for ratio in ratios] or [None]
        if not levels:
            shown.append(f"{ours} and {other} reach no sparsity in common")
            continue
        where = f"{len(levels)} sparsities from {100 * levels[0]:.4g} to {100 * levels[-1]:.4g} %"
        shown.append(f"{other} takes {_span(ratios)} times as long as {ours}, at {where}")
    return Verdict(
        f"{label}: {ours} is faster than {' and '.join(others)}, at every sparsity that was timed.",
        all_of(told),
        f"{how_many_hold(told)}{'. '.join(shown)}.",
    )


def _compared(ours: Timed, theirs: Timed) -> tuple[list[float], list[float]]:
    """Sparsities, and the ratio of the other's time there, interpolated linearly between models."""
    lowest = max(min(ours.sparsity), min(theirs.sparsity))
    highest = min(max(ours.sparsity), max(theirs.sparsity))
    levels = sorted({level for level in ours.sparsity + theirs.sparsity if lowest <= level <= highest})
    return levels, [theirs.at(level) / ours.at(level) for level in levels]


def _span(ratios: list[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}" if len(ratios) > 1 else f"{ratios[0]:.2f}"

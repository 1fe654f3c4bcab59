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

from .efforts import Effort, efforts, split_of
from .entry import DataSet, Entry
from .learners import in_words
from .outcome import Cell, Column, Findings, Mean, Missing, Picture, Row, Series, Table, Verdict
from .penalty_paths import Candidate, Point, trace, tune
from .progress import Progress
from .sparsity_curves import candidates, joined
from .splits import Split

_SECOND = ("Ada-FOBOS", "Ada-RDA", "SSOL")
_SAME = 1.25  # a time that is at most so many times another counts as equal


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
    """A learner with several penalties, none first: sparsities of its models, seconds of a pass, the updates in it."""

    name: str
    point: Point
    lams: tuple[float, ...]
    sparsity: tuple[float, ...]
    seconds: tuple[float, ...]
    updates: tuple[int, ...]


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    """Time every learner on every data set."""
    of_set = efforts(entry, parameters.effort, parameters.sets)
    progress.expect(len(entry.data_sets) * len(entry.learners))
    times = "Times are processor times on the machine of this run, and differ from run to run."
    found = Findings(notes=(entry.note, times))
    for data in entry.data_sets:
        effort = of_set[data.name]
        rows = split_of(data, effort, folder)
        if isinstance(rows, Missing):
            progress.advance(len(entry.learners), f"{data.name} is not there")
            found = joined(found, Findings(missing=(rows,)))
            continue
        results = {}
        for candidate in candidates(entry, effort):
            progress.advance(0, f"{data.name}: {candidate.name}")
            results[candidate.name] = timed(candidate, rows, effort, parameters)
            progress.advance(1, f"{data.name}: {candidate.name}")
        found = joined(found, _findings(entry, data, effort, parameters, rows, results))
    return found


def timed(candidate: Candidate, rows: Split, effort: Effort, parameters: Parameters) -> Timed:
    point, _ = tune(candidate, rows, "test_error", folds=parameters.folds, seed=parameters.tuning_seed)
    rows = rows.shuffled(parameters.first_seed)
    curve = trace(candidate.build(point), rows, "test_error", gap=effort.gap, limit=effort.limit)
    nearest = {int(np.argmin(np.abs(curve.sparsity - level))) for level in effort.levels if level < 1}
    chosen = [curve.free, *sorted(nearest - {curve.free}, key=lambda i: (curve.sparsity[i], curve.lams[i]))]
    seconds, updates = [], []
    for i in chosen:
        times = []
        for _ in range(parameters.repeats):
            model = candidate.build({**point, "lam": float(curve.lams[i])})
            began = time.process_time()
            model.fit(rows.X, rows.y)
            times.append(time.process_time() - began)
        seconds.append(min(times))
        updates.append(int(model.n_updates_))
    lams, sparsity = (tuple(float(values[i]) for i in chosen) for values in (curve.lams, curve.sparsity))
    return Timed(candidate.name, point, lams, sparsity, tuple(seconds), tuple(updates))


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
        verdicts=tuple(_verdicts(label, results, per_value)),
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


def _verdicts(label: str, results: Mapping[str, Timed], per_value: float) -> list[Verdict]:
    free = {name: one.seconds[0] for name, one in results.items()}
    last = {name: one.seconds[-1] for name, one in results.items()}
    low = {
        name: max(seconds for sparsity, seconds in zip(one.sparsity, one.seconds, strict=True) if _low(one, sparsity))
        for name, one in results.items()
    }

    def of(names: Mapping[str, float], some: tuple[str, ...]) -> str:
        return ", ".join(f"{name} {per_value * names[name]:.1f}" for name in some)

    grown = {name: last[name] / free[name] for name in _SECOND}
    more = ", ".join(f"{results[name].updates[-1] / max(results[name].updates[0], 1):.2f}" for name in _SECOND)
    return [
        Verdict(
            f"{label}: at low sparsity the time is stable.",
            all(low[name] <= _SAME * free[name] for name in results),
            "The most while at least half of the weights are left, as a multiple of that without a penalty: "
            f"{', '.join(f'{name} {low[name] / free[name]:.2f}' for name in results)}.",
        ),
        Verdict(
            f"{label}: at high sparsity the time of some learners of second order grows.",
            any(growth > _SAME for growth in grown.values()),
            f"At the highest sparsity {', '.join(f'{name} {growth:.2f}' for name, growth in grown.items())} times that "
            f"without a penalty, with {more} times the updates.",
        ),
        Verdict(
            f"{label}: SSOL is faster than Ada-RDA and Ada-FOBOS.",
            all(free["SSOL"] < free[name] for name in ("Ada-RDA", "Ada-FOBOS")),
            f"Without a penalty {of(free, _SECOND)} ns a nonzero; at the highest sparsity {of(last, _SECOND)}.",
        ),
        Verdict(
            f"{label}: FSOL is faster than SSOL, at every sparsity.",
            free["FSOL"] < free["SSOL"] and last["FSOL"] < last["SSOL"],
            f"Without a penalty {of(free, ('FSOL', 'SSOL'))} ns a nonzero; at the highest sparsity "
            f"{of(last, ('FSOL', 'SSOL'))}.",
        ),
    ]


def _low(one: Timed, sparsity: float) -> bool:
    """At least half of the weights are left that there are without a penalty."""
    return 1 - sparsity >= (1 - one.sparsity[0]) / 2

"""The protocol "error against sparsity" of the paper on sparse online learning, section 5.1.

Each learner is tuned by folds of the training rows without a penalty; of equally good points the first on the grid is
taken. Then the training rows are gone through in several random orders, once each, for a path of penalties that is
refined where the sparsity jumps. Curves are means over the orders at common sparsities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from ...datasets import STREAM_SHAPES
from ..data import Effort, Split, efforts, split_of
from ..entry import DataSet, Entry, EntryError
from ..learners import in_words
from ..outcome import Cell, Column, Findings, Mean, Missing, Picture, Row, Series, Table
from ..progress import Progress
from ..statistics import MEANS, best_of, mean_of
from .penalty_paths import Candidate, Result, is_error, over_orders, tune
from .sparsity_claims import CLAIMS, kept_until

METRICS = {"test_error": "test error", "test_balanced_accuracy": "balanced accuracy on the test rows"}
_HIGH = 0.9  # from this sparsity on, the density is drawn on a logarithmic axis
_MODELS = 40  # models of a path, roughly, for the estimate of the remaining time


@dataclass(frozen=True)
class Parameters:
    """The protocol. `effort` is for all data sets, `sets` for single ones by name."""

    metric: str
    claims: str
    folds: int
    tuning_seed: int
    first_seed: int
    effort: dict[str, Any] = field(default_factory=dict)
    sets: dict[str, dict[str, Any]] = field(default_factory=dict)


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    """Tune and run every learner on every data set."""
    for kind, value, known in (("metric", parameters.metric, METRICS), ("claims", parameters.claims, CLAIMS)):
        if value not in known:
            raise EntryError(f"{entry.name}.toml: the {kind!r} must be one of {', '.join(known)}. Got {value!r}.")
    of_set = efforts(entry, parameters.effort, parameters.sets)
    for data in entry.data_sets:
        effort = of_set[data.name]
        progress.expect(sum(sum(_work(one, data, effort, parameters)) for one in candidates(entry, effort)))
    found = Findings(notes=(entry.note, MEANS))
    for data in entry.data_sets:
        effort = of_set[data.name]
        rows = split_of(data, effort, folder)
        if isinstance(rows, Missing):
            for candidate in candidates(entry, effort):
                progress.advance(sum(_work(candidate, data, effort, parameters)), f"{data.name} is not there")
            found = joined(found, Findings(missing=(rows,)))
            continue
        results = {}
        for candidate in candidates(entry, effort):
            results[candidate.name] = measured(candidate, data, rows, effort, parameters, progress)
        found = joined(found, _findings(entry, data, effort, parameters, rows, results))
    return found


def joined(a: Findings, b: Findings) -> Findings:
    return Findings(**{one.name: getattr(a, one.name) + getattr(b, one.name) for one in fields(Findings)})


# -- running ----------------------------------------------------------------------------------------------------------


def candidates(entry: Entry, effort: Effort) -> list[Candidate]:
    return [Candidate(entry, learner, effort.grid_step) for learner in entry.learners]


def _work(candidate: Candidate, data: DataSet, effort: Effort, parameters: Parameters) -> tuple[float, float]:
    """The work of tuning and of the path, roughly: passes over the rows times values touched by a pass."""
    points = float(np.prod([len(values) for values in candidate.grid.values()])) if candidate.grid else 0.0
    rows = effort.n_train or data.rows or 1000
    shape = STREAM_SHAPES.get(data.arguments.get("name", ""))
    # A new model of many millions of features takes its time even if few of them come.
    size = 50.0 * rows if shape is None else rows * shape.nonzeros_per_row + 0.2 * shape.n_features
    return size * points * (parameters.folds - 1), size * effort.permutations * (_MODELS if candidate.sparse else 1)


def measured(
    candidate: Candidate, data: DataSet, rows: Split, effort: Effort, parameters: Parameters, progress: Progress
) -> Result:
    """Tune the learner and run it."""
    to_tune, to_run = _work(candidate, data, effort, parameters)
    seeds = range(parameters.first_seed, parameters.first_seed + effort.permutations)

    def advance(work: float, what: str) -> None:
        progress.advance(work, f"{data.name}: {candidate.name}, {what}")

    advance(0, "tuning")
    tuned = tune(
        candidate,
        rows,
        parameters.metric,
        folds=parameters.folds,
        seed=parameters.tuning_seed,
        after_fold=lambda: advance(to_tune / parameters.folds, "tuning"),
    )
    return over_orders(
        candidate,
        tuned,
        rows,
        seeds,
        parameters.metric,
        gap=effort.gap,
        limit=effort.limit,
        after_each=lambda: advance(to_run / len(seeds), "paths"),
    )


# -- findings ---------------------------------------------------------------------------------------------------------


def _findings(
    entry: Entry, data: DataSet, effort: Effort, parameters: Parameters, rows: Split, results: Mapping[str, Result]
) -> Findings:
    levels = np.array(effort.levels)
    return Findings(
        tables=(_table(entry, data, effort, parameters, rows, results),),
        pictures=tuple(_picture(entry, data, parameters, rows, results, start) for start in (0.0, effort.zoom)),
        verdicts=tuple(CLAIMS[parameters.claims](rows.label(data.name), results, levels)),
    )


def _table(
    entry: Entry, data: DataSet, effort: Effort, parameters: Parameters, rows: Split, results: Mapping[str, Result]
) -> Table:
    least = is_error(parameters.metric)
    measures = {
        **({} if least else {"progressive": {name: one.progressive for name, one in results.items()}}),
        "no penalty": {name: one.free for name, one in results.items()},
        **{
            f"{100 * level:.4g} %": {name: one.at(level)[:, 0] for name, one in results.items() if one.curves}
            for level in effort.levels
            if level > 0
        },
    }
    columns = [Column("tuned", compared=False), Column("held out", digits=2, compared=False)]
    cells: dict[str, list[Cell]] = {
        name: [Cell(text=in_words(one.point) or "-"), _held_out(one)] for name, one in results.items()
    }
    for measure, runs in measures.items():
        known = {name: values for name, values in runs.items() if not np.isnan(values).any()}
        best = best_of(known, least=least)
        paper = {name: entry.paper_mean(data.name, name, measure) for name in results}
        theirs = any(one is not None for one in paper.values())
        columns.append(Column(measure, digits=2, compared=theirs, difference=False))
        for name in results:
            ours = _in_per_cent(known[name]) if name in known else None
            cells[name].append(Cell(ours, paper[name], best=name in best))
    if least:
        columns.append(Column("kept until", compared=False))
        for name, one in results.items():
            cells[name].append(Cell(text=f"{100 * kept_until(one):.4g} %"))
    kept = (
        ' "Kept until" is the highest sparsity whose mean error is at most half a point above that without a penalty.'
    )
    return Table(
        title=f"{rows.label(data.name)}: {METRICS[parameters.metric]}, %, by sparsity",
        heads=("learner",),
        columns=tuple(columns),
        rows=tuple(Row((name,), tuple(of_learner)) for name, of_learner in cells.items()),
        note=f"{rows.in_words()}{'; rows of unit length' if effort.unit_length else ''}. "
        f"{_over(effort.permutations)}{kept if least else ''}",
        stand_in=rows.stand_in,
    )


def _over(permutations: int) -> str:
    if permutations == 1:
        return "One order of the training rows."
    return f"Means ± standard deviations over {permutations} orders of the training rows."


def _held_out(result: Result) -> Cell:
    return Cell(text="-") if np.isnan(result.held_out) else Cell(Mean(100 * result.held_out))


def _in_per_cent(values: Any) -> Mean:
    return mean_of(100 * np.asarray(values))


def _picture(
    entry: Entry, data: DataSet, parameters: Parameters, rows: Split, results: Mapping[str, Result], start: float
) -> Picture:
    """All curves; or their part of high sparsity, against the density on a logarithmic axis."""
    left = start >= _HIGH
    levels = 1 - np.geomspace(1 - start, 1e-3 * (1 - start), 101) if left else np.linspace(start, 1, 101)[:-1]
    file_name = "".join(letter if letter.isalnum() else "-" for letter in data.name.lower())
    return Picture(
        name=file_name if start == 0 else f"{file_name}-high",
        title=f"{entry.where}: {rows.label(data.name)}" + (f", from a sparsity of {100 * start:g} %" if start else ""),
        x_label="weights that are not zero, %" if left else "sparsity, %",
        y_label=f"{METRICS[parameters.metric]}, %",
        series=tuple(_series(result, levels, left) for result in results.values()),
        x_log=left,
        note=f"Means over the orders of the training rows, with a band of one standard deviation. {rows.in_words()}.",
        stand_in=rows.stand_in,
    )


def _series(result: Result, levels: Any, left: bool) -> Series:
    x = 100 * (1 - levels) if left else 100 * levels
    if not result.curves:  # a model without penalty is drawn as a level
        level = 100 * float(result.free.mean())
        return Series(result.name, (float(x[0]), float(x[-1])), (level, level))
    values = 100 * result.at(levels)
    defined = ~np.isnan(values).any(axis=0)
    values, x = values[:, defined], x[defined]
    mean = values.mean(axis=0)
    if len(values) == 1:
        return Series(result.name, tuple(x.tolist()), tuple(mean.tolist()))
    deviation = values.std(axis=0, ddof=1)
    low, high = tuple((mean - deviation).tolist()), tuple((mean + deviation).tolist())
    return Series(result.name, tuple(x.tolist()), tuple(mean.tolist()), low, high)

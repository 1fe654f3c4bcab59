"""The protocol "sparsity under other conditions": a figure's data and learners again, where one thing is changed.

With one order of the training rows. It shows what the text of the paper leaves open, and what would explain a claim
that does not hold here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sureline._inputs import Floats
from sureline.metrics import tally
from sureline.reproduce.data import Effort, Split, efforts, split_of
from sureline.reproduce.entry import Entry, EntryError, built, values_of
from sureline.reproduce.entry import entry as entry_of
from sureline.reproduce.learners import in_words
from sureline.reproduce.outcome import Cell, Column, Findings, Mean, Missing, Row, Table
from sureline.reproduce.progress import Progress
from sureline.reproduce.protocols.penalty_paths import (
    Candidate,
    Curve,
    Point,
    Result,
    is_error,
    over_orders,
    tune,
)
from sureline.reproduce.protocols.sparsity_claims import kept_until
from sureline.reproduce.protocols.sparsity_curves import METRICS
from sureline.reproduce.protocols.sparsity_curves import Parameters as CurveParameters

THETA_FIRST = np.array([0, *np.geomspace(1e-5, 10, 31)])  # its penalties, which suit the data of this paper


@dataclass(frozen=True)
class Condition:
    """What is changed, in words and as parameters.

    Attributes
    ----------
    words : str
    learners : tuple of str
        To whom; all of the figure's if empty.
    tune : bool
        Tune them anew; otherwise they have the parameters of `points`.
    set, grid : dict
        Their other parameters, and other grids of some of them.
    arguments : dict
        Other arguments of the generator of the data.
    unit_length : bool
        Rows of unit length.
    change : {"", "through the mean", "scaled features", "theta first"}
        A key of `CHANGES`; or that SSOL truncates theta before it is multiplied by S.
    """

    words: str
    learners: tuple[str, ...] = ()
    tune: bool = False
    set: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, str | tuple[float, ...]] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)
    unit_length: bool = False
    change: str = ""


@dataclass(frozen=True)
class Parameters:
    """The protocol.

    Attributes
    ----------
    of, on : str
        The figure's entry and which of its data sets.
    effort : dict
        How much is done, over the effort of that entry.
    points : dict
        The tuned parameters of the learners, as the figure's entry found them.
    conditions : tuple of dict
        Each as `Condition` has it.
    kept_at : float or None
        A sparsity at which it is told how often the features come that the models keep.
    kept_by : tuple of str
        By whom.
    """

    of: str
    on: str
    points: dict[str, dict[str, float]]
    conditions: tuple[dict[str, Any], ...]
    effort: dict[str, Any] = field(default_factory=dict)
    kept_at: float | None = None
    kept_by: tuple[str, ...] = ()


# -- what is changed in the data --------------------------------------------------------------------------------------


def through_the_mean(rows: Split, n_effective: int = 100) -> Split:
    """Labels by the side of the plane through the mean of the effective features, with the mean as its normal."""
    effective, effective_test = (X[:, :n_effective].toarray() for X in (rows.X, rows.X_test))
    mean = effective.mean(axis=0)
    y, y_test = (np.where((X - mean) @ mean > 0, 1, -1) for X in (effective, effective_test))
    return replace(rows, y=y, y_test=y_test)


def scaled_features(rows: Split) -> Split:
    """Features of very different scales: each multiplied by exp(N(0, 4))."""
    scales = np.exp(np.random.default_rng(0).normal(0, 2, rows.X.shape[1])).astype(np.float32)
    X, X_test = rows.X.copy(), rows.X_test.copy()
    for part in (X, X_test):
        part.data *= scales[part.indices]
    return replace(rows, X=X, X_test=X_test)


CHANGES: dict[str, Callable[[Split], Split]] = {
    "": lambda rows: rows,
    "theta first": lambda rows: rows,
    "through the mean": through_the_mean,
    "scaled features": scaled_features,
}


# -- running ----------------------------------------------------------------------------------------------------------


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    """The learners of each condition, on the one data set."""
    figure = entry_of(parameters.of)
    of_figure = figure.parameters(CurveParameters, quick=False)
    conditions = [built(Condition, one, f"{entry.name}.toml: [protocol], a condition") for one in parameters.conditions]
    for condition in conditions:
        if condition.change not in CHANGES:
            raise EntryError(f"{entry.name}.toml: there is no change {condition.change!r}: {', '.join(CHANGES)}.")
    sets = {parameters.on: {**of_figure.sets.get(parameters.on, {}), **parameters.effort}}
    figure = replace(figure, data=tuple(data for data in figure.data if data["name"] == parameters.on), numbers={})
    effort = efforts(figure, of_figure.effort, sets)[parameters.on]
    (data,) = figure.data_sets
    names = [learner.name for learner in figure.learners]
    progress.expect(sum(len(condition.learners or names) for condition in conditions))
    plain = split_of(data, effort, folder)
    if isinstance(plain, Missing):
        return Findings(missing=(plain,))
    results = []
    for condition in conditions:
        rows = plain
        if condition.arguments:
            drawn = split_of(replace(data, arguments={**data.arguments, **condition.arguments}), effort, folder)
            rows = plain if isinstance(drawn, Missing) else drawn  # what a generator makes is never missing
        rows = CHANGES[condition.change](rows)
        rows = rows.of_unit_length() if condition.unit_length else rows
        for name in condition.learners or names:
            progress.advance(0, f"{condition.words}: {name}")
            results.append((condition, _once(figure, condition, name, rows, effort, of_figure, parameters)))
            progress.advance(1, f"{condition.words}: {name}")
    tables = [_table(figure, effort, of_figure.metric, plain, results)]
    if parameters.kept_at is not None:
        tables.append(_kept(figure, effort, of_figure, plain, parameters))
    return Findings(tables=tuple(tables), notes=(entry.note,))


def _once(
    figure: Entry,
    condition: Condition,
    name: str,
    rows: Split,
    effort: Effort,
    of_figure: CurveParameters,
    parameters: Parameters,
) -> Result:
    learner = next(one for one in figure.learners if one.name == name)
    thinned = {key: values_of(values)[:: effort.grid_step] for key, values in learner.grid.items()}
    grid: dict[str, str | tuple[float, ...]] = {**thinned, **condition.grid}
    candidate = Candidate(figure, replace(learner, parameters={**learner.parameters, **condition.set}, grid=grid))
    seeds = range(of_figure.first_seed, of_figure.first_seed + 1)
    if condition.tune:
        tuned = tune(candidate, rows, of_figure.metric, folds=of_figure.folds, seed=of_figure.tuning_seed)
    else:
        tuned = parameters.points[name], float("nan")
    if condition.change == "theta first":
        return _theta_first(name, tuned[0], rows.shuffled(seeds[0]), of_figure.metric)
    return over_orders(candidate, tuned, rows, seeds, of_figure.metric, gap=effort.gap, limit=effort.limit)


def _theta_first(name: str, point: Point, rows: Split, metric: str) -> Result:
    """SSOL or CS-SSOL in plain NumPy, with theta truncated and then multiplied by S instead of the other way around."""
    weights = [_theta_first_pass(rows, lam, name == "CS-SSOL", **point) for lam in THETA_FIRST]
    tallies = [tally(rows.y_test, np.where(rows.X_test @ w > 0, 1, -1), classes=[-1, 1]) for w in weights]
    values = np.array([getattr(counted, metric.removeprefix("test_")) for counted in tallies])
    sparsity = np.array([np.mean(w == 0) for w in weights])
    curve = Curve(THETA_FIRST, sparsity, values, np.full(len(values), np.nan))
    return Result(name, point, float("nan"), (curve,), values[:1], curve.progressive[:1])


def _theta_first_pass(rows: Split, lam: float, balanced: bool, eta: float, r: float) -> Floats:
    theta, S = np.zeros(rows.X.shape[1]), np.ones(rows.X.shape[1])
    seen = {-1: 0, 1: 0}
    for t, y in enumerate(rows.y.tolist(), start=1):
        row = slice(rows.X.indptr[t - 1], rows.X.indptr[t])
        j, x = rows.X.indices[row], rows.X.data[row]
        S[j] -= S[j] ** 2 * x**2 / (r + S[j] @ x**2)
        w = S[j] * np.sign(theta[j]) * np.maximum(np.abs(theta[j]) - lam * t, 0)
        seen[y] += 1
        if y * (w @ x) < 1:
            cost = seen[-1] / seen[1] if balanced and y > 0 and seen[-1] else 1
            theta[j] += eta * cost * y * x
    weights: Floats = S * np.sign(theta) * np.maximum(np.abs(theta) - lam * (len(rows.y) + 1), 0)
    return weights


# -- findings ---------------------------------------------------------------------------------------------------------


def _table(figure: Entry, effort: Effort, metric: str, rows: Split, results: list[tuple[Condition, Result]]) -> Table:
    levels = [level for level in effort.levels if level > 0]
    columns = ["tuned", "no penalty", *(f"{100 * level:.4g} %" for level in levels)]
    columns += ["kept until"] if is_error(metric) else []
    made = []
    for condition, result in results:
        values = [result.free[0], *(result.at(levels)[0] if result.curves else np.full(len(levels), np.nan))]
        cells = [Cell(text=in_words(result.point)), *(Cell() if np.isnan(v) else Cell(Mean(100 * v)) for v in values)]
        cells += [Cell(text=f"{100 * kept_until(result):.4g} %")] if is_error(metric) else []
        made.append(Row((condition.words, result.name), tuple(cells)))
    return Table(
        title=f"{rows.label(figure.data_sets[0].name)}: {METRICS[metric]}, %, by sparsity, where one thing is changed",
        heads=("condition", "learner"),
        columns=tuple(Column(name, 2, compared=False) for name in columns),
        rows=tuple(made),
        note=f"{rows.in_words()}. One order of the training rows.",
        stand_in=rows.stand_in,
    )


def _kept(figure: Entry, effort: Effort, of_figure: CurveParameters, rows: Split, parameters: Parameters) -> Table:
    """How often the features come that the sparse models keep."""
    frequency = np.bincount(rows.X.indices, minlength=rows.X.shape[1]) / rows.X.shape[0]
    part = rows.shuffled(of_figure.first_seed)
    made = [Row(("all that come",), _frequencies(frequency > 0, frequency))]
    for name in parameters.kept_by:
        result = _once(figure, Condition(""), name, rows, effort, of_figure, parameters)
        (curve,) = result.curves
        lam = float(curve.lams[np.argmin(np.abs(curve.sparsity - (parameters.kept_at or 0.0)))])
        candidate = Candidate(figure, next(one for one in figure.learners if one.name == name))
        model = candidate.build({**result.point, "lam": lam}).fit(part.X, part.y)
        made.append(Row((f"kept by {name}",), _frequencies(model.coef_[0] != 0, frequency)))
    columns = (Column("features", compared=False), Column("half of them come in less than", compared=False))
    title = (
        f"{rows.label(figure.data_sets[0].name)}: which features are kept at a sparsity near "
        f"{100 * (parameters.kept_at or 0):g} %"
    )
    return Table(title, ("features",), columns, tuple(made), "", rows.stand_in)


def _frequencies(kept: Any, frequency: Floats) -> tuple[Cell, ...]:
    often = f"{100 * float(np.median(frequency[kept])):.3f} % of the rows" if kept.any() else "-"
    return Cell(text=f"{int(kept.sum()):,}"), Cell(text=often)

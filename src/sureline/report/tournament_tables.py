"""The tables of a tournament: all runs, the largest weights, and the settings."""

from __future__ import annotations

import math
from typing import Any

from .._inputs import clean
from ..training.advice import MEASURES, called, guess_error, score_in_words, score_of
from ..training.metric import OF_RECORD, RISING
from ..training.result import Run, TournamentResult
from ..training.words import NOTHING, count, duration, number, percent, percent_range, sentence, shortened, size
from .blocks import (
    Badge,
    Block,
    Cell,
    Code,
    Column,
    Command,
    Fact,
    Facts,
    Folded,
    Interval,
    Link,
    Notice,
    Paragraph,
    Row,
    Section,
    Strong,
    Table,
)
from .tournament_figures import Figures, feature_name

_WEIGHTS_IN_SETTINGS = 6
_MOST_OF_ONE = 12  # settings of one learner that are listed singly


def table_of(result: TournamentResult, figures: Figures) -> Section:
    if not result.runs:
        return Section("All runs")
    runs = figures.runs
    with_cost = _costs_say_more(result)
    columns = [Column("learner"), Column("error", True, "95 % interval"), Column("balanced accuracy", True)]
    if with_cost:
        columns.append(Column("cost", True, "mean"))
    if result.metric in OF_RECORD:
        columns.append(Column(MEASURES[result.metric], True))
    columns += [Column("updates", True), Column("nonzeros", True), Column("time", True)]
    limits, places = _limits(runs), _places(runs)
    rows = [
        Row(
            _cells(result, run, figures, limits, places, with_cost),
            key=figures.keys[run.name],
            style=figures.style(run),
            marked=figures.recommended is not None and run.name == figures.recommended.name,
            pale=run.status != "finished",
        )
        for run in runs
    ]
    by = {"error": 1, "balanced_accuracy": 2, "cost": 3}.get(result.metric, 3 + with_cost)
    table = Table(
        columns,
        rows,
        "The best first. The headings sort." if len(rows) > 1 else "",
        sortable=len(rows) > 1,
        sorted_by=by,
        descending=result.metric in RISING,
    )
    return Section("All runs", [table, *_baseline(result)], "runs")


def _costs_say_more(result: TournamentResult) -> bool:
    """True if costs are something else than the share of wrong answers."""
    if result.metric == "cost":
        return True
    pairs = [(run.cost, run.error) for run in result.runs if run.cost is not None and run.error is not None]
    return any(abs(cost - error) > 1e-9 for cost, error in pairs)


def _baseline(result: TournamentResult) -> list[Block]:
    guess = guess_error(result)
    if guess is None:
        return []
    return [
        Paragraph(
            f"For comparison: always giving the most frequent answer has an error of {percent(guess)}.", quiet=True
        )
    ]


def _cells(
    result: TournamentResult,
    run: Run,
    figures: Figures,
    limits: tuple[float, float] | None,
    places: int,
    with_cost: bool,
) -> list[Cell]:
    badge = None
    if run.status != "finished":
        badge = Badge(run.status, "bad" if run.status == "failed" else "warn")
    elif figures.recommended is not None and run.name == figures.recommended.name:
        badge = Badge("use this", "good")
    elif run.name == result.best:
        badge = Badge("best", "plain")
    elif run.name in result.ties:
        badge = Badge("as good", "plain")
    remark = ""
    if run.status == "failed":
        remark = clean(run.reason or "")
    elif run.status == "dropped":
        remark = f"after {count(run.examples)} examples"
    nothing = run.examples == 0
    cells = [
        Cell([Link(called(run), figures.keys[run.name])], run.name.lower(), badge=badge, remark=remark),
        _error_cell(run, limits, places),
        Cell(percent(run.balanced_accuracy, places=places), run.balanced_accuracy),
    ]
    if with_cost:
        cells.append(Cell(number(run.cost), run.cost))
    if result.metric in OF_RECORD:
        cells.append(Cell(number(run.score), run.score))
    cells += [
        Cell(NOTHING if nothing else count(run.updates), None if nothing else run.updates),
        Cell(NOTHING if nothing else count(run.nonzeros), None if nothing else run.nonzeros),
        Cell(NOTHING if nothing else duration(run.seconds), None if nothing else run.seconds),
    ]
    return cells


def _error_cell(run: Run, limits: tuple[float, float] | None, places: int) -> Cell:
    if run.error is None:
        return Cell(NOTHING)
    drawn = None
    if limits is not None and run.interval is not None:
        drawn = Interval(run.error, *run.interval, limits)
    remark = percent_range(*run.interval, places=places) if run.interval is not None else ""
    return Cell(percent(run.error, places=places), run.error, remark=remark, interval=drawn)


def _places(runs: list[Run]) -> int:
    """Meaningful digits after the point: up to the first of the standard error in per cent, at least one."""
    known = [run.error_se for run in runs if run.error_se]
    return min(max(1, math.ceil(-math.log10(100 * min(known)))), 5) if known else 2


def _limits(runs: list[Run]) -> tuple[float, float] | None:
    """Limits of the small interval pictures: those of good runs, since bad ones would shrink them to points."""
    ends = [run.interval for run in runs if run.interval is not None and run.status == "finished"]
    if len(ends) < 2:
        return None
    highs = sorted(high for _, high in ends)
    low, high = min(low for low, _ in ends), highs[-1]
    cut = highs[(3 * len(highs)) // 4] if len(highs) > 3 else high
    return low, min(high, low + 2.5 * (cut - low))


def settings_of(result: TournamentResult, figures: Figures) -> Section:
    if not result.runs:
        return Section("The settings of every run")
    commands = any(run.train_command is not None for run in result.runs)
    blocks: list[Block] = [
        Paragraph(
            "All parameters of each run"
            + (", and the command that makes its model alone, to the same bits." if commands else "."),
            quiet=True,
        )
    ]
    for algorithm in dict.fromkeys(run.algorithm for run in figures.runs):
        members = [run for run in figures.runs if run.algorithm == algorithm]
        folded = [_folded(run, figures) for run in members]
        many = len(members) > _MOST_OF_ONE
        blocks += [Folded([Strong(algorithm), f": {count(len(members))} settings"], folded)] if many else folded
    return Section("The settings of every run", blocks, "settings")


def _folded(run: Run, figures: Figures) -> Folded:
    told: list[Any] = [Strong(run.name)]
    if run.status == "finished":
        told.append(f", error {percent(run.error)}")
        if figures.metric != "error":
            told.append(f", {figures.measure} {score_in_words(score_of(run, figures.metric), figures.metric)}")
    else:
        told.append(f", {run.status}")
    blocks: list[Block] = []
    if run.reason:
        blocks.append(Notice(sentence(run.reason), "bad" if run.status == "failed" else "warn"))
    facts = [
        Fact("examples", count(run.examples)),
        Fact("mistakes", count(run.mistakes)),
        Fact("standard error of the error", percent(run.error_se, 2)),
        *([] if run.frozen_error is None else [Fact("error of the frozen model", percent(run.frozen_error, 2))]),
        Fact("updates", count(run.updates)),
        Fact("memory", size(run.model_bytes)),
    ]
    if run.normalize is not None:
        facts.append(Fact("normalisation", run.normalize))
    blocks.append(Facts(facts))
    if run.all_parameters or run.parameters:
        blocks.append(Paragraph(_parameters(run)))
    if run.top_features:
        blocks.append(Paragraph(_weights(run), quiet=True))
    if run.train_command is not None:
        blocks.append(Command(run.train_command))
    return Folded(told, blocks, figures.keys[run.name])


def _parameters(run: Run) -> list[str | Strong | Code]:
    """All parameters; set ones stand out."""
    told: list[str | Strong | Code] = ["Parameters: "]
    for k, (name, value) in enumerate({**run.all_parameters, **run.parameters}.items()):
        words = f"{name}={value!r}"
        told += [", " if k else "", Strong(words) if name in run.parameters else words]
    return [*told, "."]


def _weights(run: Run) -> str:
    shown = [
        f"{shortened(feature_name(f), 36)} {number(f['weight'])}"
        + ("" if f["std"] is None else f" ± {number(f['std'], 2)}")
        for f in run.top_features[:_WEIGHTS_IN_SETTINGS]
    ]
    return f"Largest weights: {', '.join(shown)}."


def features_of(run: Run | None) -> list[Block]:
    """The numbers behind the bars."""
    if run is None or not run.top_features:
        return []
    several, sure = (
        any(f["class"] is not None for f in run.top_features),
        any(f["std"] is not None for f in run.top_features),
    )
    named = any(feature_name(f) == f["name"] for f in run.top_features)
    columns = [Column("feature"), *([Column("column", True)] if named else []), Column("weight", True)]
    columns += [Column("standard deviation", True)] if sure else []
    columns += [Column("speaks for")] if several else []
    rows = []
    for f in run.top_features:
        cells = [Cell(feature_name(f))] + ([Cell(str(f["column"]), f["column"])] if named else [])
        cells.append(Cell(number(f["weight"], 4), f["weight"]))
        cells += [Cell(number(f["std"]), f["std"])] if sure else []
        cells += [Cell(NOTHING if f["class"] is None else str(f["class"]))] if several else []
        rows.append(Row(cells))
    table = Table(columns, rows, f"The {count(len(rows))} largest weights of {called(run)}", sortable=len(rows) > 1)
    return [Folded("The largest weights in numbers", [table])]

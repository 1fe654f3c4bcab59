"""Learners along one pass: figure 1 of the SCW paper."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._inputs import Floats
from .. import data as data_module
from ..data import Rows
from ..entry import Entry, Learner
from ..learners import build, in_words, passes_of_tuning, permutation, tuned
from ..outcome import Cell, Column, Findings, Missing, Picture, Row, Series, Table, Verdict
from ..progress import Progress
from ..statistics import MEANS, any_of, best_of, how_many_hold, lower, mean_of, most_of, opposite


@dataclass(frozen=True)
class Parameters:
    """The parameters of the protocol."""

    permutations: int  # random orders of the rows
    first_seed: int
    folds: int  # of the cross validation that tunes each learner
    tuning_seed: int
    looks: int  # how often the counts are taken along a pass, evenly
    data: tuple[str, ...] | None = None  # only these data sets


@dataclass(frozen=True)
class Curves:
    """Mistakes, updates and seconds of each permutation (rows) at each number of examples (columns)."""

    point: dict[str, float]
    examples: npt.NDArray[np.intp]
    mistakes: Floats
    updates: Floats
    seconds: Floats

    @property
    def rates(self) -> Floats:
        return self.mistakes / self.examples

    def last(self, measure: str) -> list[float]:
        return [float(value) for value in getattr(self, measure)[:, -1]]


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    chosen = [one for one in entry.data_sets if parameters.data is None or one.name in parameters.data]
    loaded = {one.name: data_module.load(one, folder) for one in chosen}
    there = {name: rows.dense() for name, rows in loaded.items() if not isinstance(rows, Missing)}
    for rows in there.values():
        passes = [parameters.permutations + passes_of_tuning(one, parameters.folds) for one in entry.learners]
        progress.expect(sum(passes) * rows.X.size)
    tables, pictures, results = [], [], {}
    for name, rows in there.items():
        results[name] = {one.name: _curves(entry, one, name, rows, parameters, progress) for one in entry.learners}
        tables.append(_table(name, results[name], len(rows.y)))
        pictures += _pictures(name, results[name])
    return Findings(
        tables=tuple(tables),
        pictures=tuple(pictures),
        verdicts=tuple(verdicts(results)),
        missing=tuple(one for one in loaded.values() if isinstance(one, Missing)),
        notes=(entry.note, MEANS) if tables else (),
    )


def _curves(
    entry: Entry, learner: Learner, name: str, rows: Rows, parameters: Parameters, progress: Progress
) -> Curves:
    folds, size = parameters.folds, rows.X.size
    point = tuned(
        entry,
        learner,
        rows,
        folds=folds,
        seed=parameters.tuning_seed,
        on_point=lambda: progress.advance((folds - 1) * size, f"{name}, {learner.name}: tuning"),
    )
    looks = np.unique(np.linspace(0, len(rows.y), parameters.looks + 1).astype(np.intp)[1:])
    counts = np.zeros((3, parameters.permutations, len(looks)))
    for run in range(parameters.permutations):
        order = permutation(len(rows.y), parameters.first_seed + run)
        X, y = rows.X[order], rows.y[order]
        model, seen, seconds = build(entry, learner, point), 0, 0.0
        for i, look in enumerate(looks):
            began = time.process_time()
            model.partial_fit(X[seen:look], y[seen:look], classes=[-1, 1])
            seconds += time.process_time() - began
            counts[:, run, i] = model.n_mistakes_, model.n_updates_, seconds
            seen = int(look)
        progress.advance(size, f"{name}, {learner.name}")
    return Curves(point, looks, *counts)


def _table(name: str, curves: Mapping[str, Curves], n_rows: int) -> Table:
    measures = ("rates", "updates", "seconds")
    # On small data calls take most of the time, one per look, so no fastest learner is marked.
    best = {measure: best_of({who: one.last(measure) for who, one in curves.items()}) for measure in measures[:2]}
    rows = []
    for who, one in curves.items():
        cells = [Cell(mean_of(one.last(measure)), best=who in best.get(measure, ())) for measure in measures]
        rows.append(Row((who,), (Cell(text=in_words(one.point)), *cells)))
    columns = (
        Column("tuned", compared=False),
        Column("mistake rate", 4, compared=False),
        Column("updates", 1, compared=False),
        Column("CPU seconds", 4, compared=False),
    )
    n_runs = len(next(iter(curves.values())).mistakes)
    note = f"Means ± standard deviations over {n_runs} permutations of {n_rows:,} rows."
    return Table(f"{name}, at the end of the pass", ("learner",), columns, tuple(rows), note)


def _pictures(name: str, curves: Mapping[str, Curves]) -> list[Picture]:
    drawn = (
        ("rates", "mistakes", "mistake rate so far", True),
        ("updates", "updates", "updates so far", False),
        ("seconds", "time", "CPU seconds so far", False),
    )
    return [
        Picture(
            f"{name}-{short}",
            f"{name}: {words}",
            "examples",
            words,
            tuple(
                Series(
                    who,
                    tuple(map(float, one.examples)),
                    tuple(map(float, getattr(one, measure).mean(axis=0))),
                    faint=who in FIRST_ORDER,
                )
                for who, one in curves.items()
            ),
            y_log=log,
            note=f"In grey the first-order learners: {', '.join(who for who in curves if who in FIRST_ORDER)}.",
        )
        for measure, short, words, log in drawn
    ]


# -- what section 5.2 of the paper says about its figure 1, checked where a pass ends ---------------------------------


FIRST_ORDER = ("Perceptron", "ROMMA", "agg-ROMMA", "PA-I", "PA-II")
SECOND_ORDER = ("SOP", "IELLIP", "CW", "AROW", "NHERD", "NAROW", "SCW-I", "SCW-II")
NO_MARGIN = ("Perceptron", "ROMMA", "SOP", "IELLIP")
MARGIN = ("agg-ROMMA", "PA-I", "PA-II", "CW", "AROW", "NHERD", "NAROW", "SCW-I", "SCW-II")

Results = Mapping[str, Mapping[str, Curves]]


def verdicts(results: Results) -> Iterator[Verdict]:
    """`results` has the curves of each learner on each data set."""
    if not results:
        return
    yield _groups(
        results,
        "Second-order learners usually err less than first-order ones.",
        SECOND_ORDER,
        FIRST_ORDER,
        "second-order",
        "first-order",
    )
    yield _groups(
        results,
        "Learners that ask for a margin usually err less than those that do not.",
        MARGIN,
        NO_MARGIN,
        "with a margin",
        "without",
    )
    yield from _cw(results)
    yield _scw_among_the_best(results)


def _median(curves: Mapping[str, Curves], names: tuple[str, ...]) -> Any:
    """The median of a group of learners, in each permutation."""
    return np.median([curves[name].last("rates") for name in names], axis=0)


def _groups(
    results: Results, claim: str, a: tuple[str, ...], b: tuple[str, ...], a_words: str, b_words: str
) -> Verdict:
    """The median of each group is its typical value."""
    medians = {name: (_median(curves, a), _median(curves, b)) for name, curves in results.items()}
    told = [lower(ours, theirs) for ours, theirs in medians.values()]
    shown = "; ".join(
        f"{name} {ours.mean():.4f} against {theirs.mean():.4f}" for name, (ours, theirs) in medians.items()
    )
    evidence = f"Medians of the mistake rates, {a_words} against {b_words}. {shown}."
    return Verdict(claim, most_of(told), f"{how_many_hold(told)}{evidence}")


def _against_first_order(curves: Mapping[str, Curves], name: str) -> tuple[str, bool | None]:
    """The best first-order learner, and whether `name` errs less."""
    rival = min(FIRST_ORDER, key=lambda one: float(np.mean(curves[one].last("rates"))))
    return rival, lower(curves[name].last("rates"), curves[rival].last("rates"))


def _cw(results: Results) -> Iterator[Verdict]:
    said = []
    for name, curves in results.items():
        rival, better = _against_first_order(curves, "CW")
        ours, theirs = (float(np.mean(curves[one].last("rates"))) for one in ("CW", rival))
        said.append((name, better, f"{name}: CW {ours:.4f}, {rival} {theirs:.4f}"))
    clean = [(better, words) for name, better, words in said if name == "synthetic"]
    if clean:
        claim = "CW errs less than every first-order learner on the synthetic data without noise."
        yield Verdict(claim, clean[0][0], f"{clean[0][1]}.")
    other = [(better, words) for name, better, words in said if not name.startswith("synthetic")]
    if other:
        claim = "CW does not err less than the best first-order learner on some of the real data sets."
        yield Verdict(
            claim, any_of(opposite(better) for better, _ in other), f"{'; '.join(words for _, words in other)}."
        )


def _scw_among_the_best(results: Results) -> Verdict:
    """Best by the paired t-test, or within a tenth of the lowest mean."""
    good, shown = 0, []
    for name, curves in results.items():
        rates = {who: one.last("rates") for who, one in curves.items()}
        best = best_of(rates)
        lowest = min(float(np.mean(values)) for values in rates.values())
        ours = min(float(np.mean(rates[who])) for who in ("SCW-I", "SCW-II"))
        near = bool(best & {"SCW-I", "SCW-II"}) or ours <= 1.1 * lowest
        good += near
        shown.append(f"{name} {ours:.4f}, lowest {lowest:.4f} ({', '.join(sorted(best))})")
    claim = "SCW errs least of all or within a tenth of that on most data sets."
    return Verdict(claim, good > len(results) / 2, f"It does on {good} of {len(results)}. {'; '.join(shown)}.")

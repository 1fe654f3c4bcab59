"""Learners tuned on one random order of the rows and then run over others, one pass each: table 3 of the SCW paper."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import data as data_module
from ..data import Rows
from ..entry import Entry, Learner
from ..learners import build, fit_as_far_as_it_goes, in_words, passes_of_tuning, permutation, tuned
from ..outcome import Cell, Column, Findings, Missing, Row, Table, Verdict
from ..progress import Progress
from ..statistics import TIMES, all_of, best_of, difference, how_many_hold, longer, lower, mean_of, most_of, p_value


@dataclass(frozen=True)
class Parameters:
    """The parameters of the protocol."""

    permutations: int  # random orders of the rows, with the seeds from `first_seed` on
    folds: int  # of the cross validation, in the order that `tuning_seed` gives
    tuning_seed: int
    first_seed: int
    data: tuple[str, ...] | None = None  # only these data sets


@dataclass(frozen=True)
class Runs:
    """Results of each permutation for one learner on one data set."""

    point: dict[str, float]
    rate: list[float]
    updates: list[float]
    seconds: list[float]
    stopped: list[bool] = field(default_factory=list)  # whether it could not learn from all rows

    def of(self, measure: str) -> list[float]:
        return list(getattr(self, measure))


MEASURES = ("rate", "updates", "seconds")
COLUMNS = (
    Column("tuned", compared=False),
    Column("mistake rate", 4, 3),
    Column("updates", 1, 1),
    Column("CPU seconds", 4, 3, difference=False),
)


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    chosen = [one for one in entry.data_sets if parameters.data is None or one.name in parameters.data]
    loaded = {one.name: data_module.load(one, folder) for one in chosen}
    there = {name: rows.dense() for name, rows in loaded.items() if not isinstance(rows, Missing)}
    for rows in there.values():
        progress.expect(len(entry.learners) * _work(rows, parameters.permutations))
        progress.expect(sum(_work(rows, passes_of_tuning(one, parameters.folds)) for one in entry.learners))
    tables, all_runs = [], {}
    for name, rows in there.items():
        label = rows.label(name)
        all_runs[label] = {one.name: _learned(entry, one, name, rows, parameters, progress) for one in entry.learners}
        tables.append(table_of(entry, name, all_runs[label], rows))
    return Findings(
        tables=tuple(tables),
        verdicts=tuple(verdicts(entry, all_runs)),
        missing=tuple(one for one in loaded.values() if isinstance(one, Missing)),
        notes=(entry.note, TIMES) if tables else (),
    )


def _work(rows: Rows, passes: float) -> float:
    return passes * len(rows.y) * float(10 + rows.X.shape[1])


def _learned(entry: Entry, learner: Learner, name: str, rows: Rows, parameters: Parameters, progress: Progress) -> Runs:
    folds = parameters.folds
    point = tuned(
        entry,
        learner,
        rows,
        folds=folds,
        seed=parameters.tuning_seed,
        on_point=lambda: progress.advance(_work(rows, folds - 1), f"{name}, {learner.name}: tuning"),
    )
    made = Runs(point, [], [], [], [])
    for seed in range(parameters.first_seed, parameters.first_seed + parameters.permutations):
        order = permutation(len(rows.y), seed)
        X, y = rows.X[order], rows.y[order]
        model = build(entry, learner, point)
        began = time.process_time()
        learned = fit_as_far_as_it_goes(model, X, y)
        made.seconds.append(time.process_time() - began)
        made.stopped.append(learned < len(y))
        rest = np.count_nonzero(model.predict(X[learned:]) != y[learned:]) if made.stopped[-1] else 0
        made.rate.append((model.n_mistakes_ + rest) / len(y))
        made.updates.append(float(model.n_updates_))
        progress.advance(_work(rows, 1), f"{name}, {learner.name}")
    return made


def table_of(entry: Entry, name: str, runs: dict[str, Runs], data: Rows) -> Table:
    """Our numbers and the paper's; for stand-ins without differences."""
    best = {measure: best_of({learner: made.of(measure) for learner, made in runs.items()}) for measure in MEASURES}
    rows = []
    for learner, made in runs.items():
        cells = [Cell(text=in_words(made.point))]
        for measure in MEASURES:
            ours, paper = mean_of(made.of(measure)), entry.paper_mean(name, learner, measure)
            comparable = paper is not None and not data.stand_in and measure != "seconds"
            gap = difference(ours, paper) if paper is not None and comparable else None
            cells.append(Cell(ours, paper, gap, learner in best[measure]))
        rows.append(Row((learner,), tuple(cells)))
    n_runs = len(next(iter(runs.values())).rate)
    note = f"Ours: means ± standard deviations over {n_runs} permutations of {len(data.y):,} rows."
    for learner, made in runs.items():
        if any(made.stopped):
            note += (
                f" {learner} stopped learning in {sum(made.stopped)} of {n_runs}, where a step was larger than its "
                "numbers can hold, and predicted the rest of the rows with the weights that it had."
            )
    return Table(data.label(name), ("learner",), COLUMNS, tuple(rows), note, data.stand_in)


# -- what section 5.2 of the paper says about its table 3 -------------------------------------------------------------


Results = Mapping[str, Mapping[str, Runs]]


def verdicts(entry: Entry, results: Results) -> Iterator[Verdict]:
    """`results` has the runs of each learner on each data set. Stand-ins have another name than the paper's data."""
    if not results:
        return
    yield _same_numbers(entry, results, "rate", "mistake rates")
    yield _same_numbers(entry, results, "updates", "numbers of updates")
    yield _compared(
        results,
        "SCW-I errs significantly less than CW on most data sets.",
        "rate",
        ["SCW-I"],
        ["CW"],
        "most",
    )
    yield _compared(
        results,
        "The better of SCW-I and SCW-II errs less than the best of AROW, NAROW and NHERD, or not significantly more, "
        "on most data sets.",
        "rate",
        ["SCW-I", "SCW-II"],
        ["AROW", "NAROW", "NHERD"],
        "most no worse",
    )
    yield _compared(
        results,
        "SCW-I makes significantly fewer updates than AROW on every data set.",
        "updates",
        ["SCW-I"],
        ["AROW"],
        "all",
    )
    yield _compared(
        results,
        "AROW, without the adaptive margin, makes significantly more updates than CW on every data set.",
        "updates",
        ["CW"],
        ["AROW"],
        "all",
    )
    yield _faster(results, "SCW-I", "AROW")
    if "synthetic-noise" in results:
        runs = results["synthetic-noise"]
        rates = {name: float(np.mean(made.rate)) for name, made in runs.items()}
        worst = max(rates, key=lambda name: rates[name])
        told = [lower(made.rate, runs["CW"].rate) for name, made in runs.items() if name != "CW"]
        yield Verdict(
            "CW suffers most of all from labels that are wrong: with 0.1 noise its mistake rate is the highest, by the "
            "paired t-test (95 %).",
            all_of(told),
            f"{how_many_hold(told)}The highest is that of {worst}, {rates[worst]:.3f}; CW has {rates['CW']:.3f}.",
        )


def _same_numbers(entry: Entry, results: Results, measure: str, words: str) -> Verdict:
    far: dict[str, list[str]] = {}
    n = 0
    for data, runs in results.items():
        for learner, made in runs.items():
            paper = entry.paper_mean(data, learner, measure)
            gap = None if paper is None else difference(mean_of(made.of(measure)), paper)
            if gap is not None:
                n += 1
                if abs(gap) > 3:
                    far.setdefault(data, []).append(f"{learner} {gap:+.1f}")
    claim = f"The {words} are the paper's: nine of ten differ by no more than three standard errors."
    if not n:
        return Verdict(claim, None, "None of the paper's data sets was there.")
    n_far = sum(map(len, far.values()))
    listed = "; ".join(f"{data}: {', '.join(gaps)}" for data, gaps in far.items())
    others = f" Others are further away. {listed}." if far else ""
    return Verdict(claim, n_far <= n / 10, f"{n - n_far} of {n} do.{others}")


def _faster(results: Results, ours: str, theirs: str) -> Verdict:
    ratios = {data: np.median(runs[theirs].seconds) / np.median(runs[ours].seconds) for data, runs in results.items()}
    told = [longer(ratio) for ratio in ratios.values()]
    shown = ", ".join(f"{data} {ratio:.2f}" for data, ratio in ratios.items())
    return Verdict(
        f"{ours} takes less time than {theirs} on most data sets.",
        most_of(told),
        f"{how_many_hold(told)}{theirs} takes so many times as long (medians): {shown}.",
    )


def _compared(
    results: Results,
    claim: str,
    measure: str,
    ours: list[str],
    theirs: list[str],
    how_many: str,
) -> Verdict:
    """Compare the best of `ours` with the best of `theirs` on each data set, paired by permutation.

    They are to be better on "all" or "most" of the data sets, or "most no worse".
    """
    better, equal, worse = [], [], []
    for data, runs in results.items():
        a, b = (min((runs[name].of(measure) for name in group), key=np.mean) for group in (ours, theirs))
        if p_value(a, b) >= 0.05:
            equal.append(data)
        elif np.mean(a) < np.mean(b):
            better.append(data)
        else:
            worse.append(data)
    n = len(results)
    holds = {"all": len(better) == n, "most": len(better) > n / 2, "most no worse": len(worse) < n / 2}[how_many]
    parts = [
        f"{word} on {', '.join(sets)}"
        for word, sets in (("so", better), ("not to be told apart", equal), ("the other way round", worse))
        if sets
    ]
    return Verdict(claim, holds, f"This is by the paired t-test (95 %). {'; '.join(parts)}.")

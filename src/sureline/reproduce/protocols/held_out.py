"""Learners judged on held-out rows, after training in several orders: table 2 of the SBCW paper."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from .. import data as data_module
from ..data import Rows, Split
from ..entry import Entry, Learner
from ..learners import build, fit_as_far_as_it_goes, in_words, passes_of_tuning, permutation, tuned
from ..outcome import Cell, Column, Findings, Missing, Row, Table, Verdict
from ..progress import Progress
from ..statistics import LONGER, SAME, TIMES, all_of, best_of, difference, how_many_hold, longer, lower, mean_of


@dataclass(frozen=True)
class Parameters:
    """The parameters of the protocol."""

    orders: int  # random orders of the training rows
    first_seed: int
    folds: int  # folds of the cross validation over the first of the training rows
    tuning_seed: int
    tuning_rows: int
    split_seed: int  # seed of the random order whose last rows are for testing
    test_share: dict[str, float]  # test share of each data set
    train_rows: dict[str, int] = field(default_factory=dict)  # number of training rows, if not all others
    only: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the learners that the paper has, if not all
    one_run: tuple[str, ...] = ()  # learners that ignore the order of the rows
    fewer_orders: dict[str, int] = field(default_factory=dict)  # for data sets on which a pass takes minutes
    fewer_tuning_rows: dict[str, int] = field(default_factory=dict)
    data: tuple[str, ...] | None = None  # only these data sets
    rows: int | None = None  # most rows of each

    def orders_of(self, learner: Learner, data: str) -> int:
        return 1 if learner.name in self.one_run else min(self.orders, self.fewer_orders.get(data, self.orders))

    def tuning_rows_of(self, data: str) -> int:
        return min(self.tuning_rows, self.fewer_tuning_rows.get(data, self.tuning_rows))


@dataclass(frozen=True)
class Runs:
    """Test error and seconds of each run."""

    point: dict[str, float]
    error: list[float]
    seconds: list[float]
    stopped: list[bool] = field(default_factory=list)  # whether it could not learn from all rows


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    chosen = [one for one in entry.data_sets if parameters.data is None or one.name in parameters.data]
    missing, tables, results = [], [], {}
    for one in chosen:
        progress.expect(sum(_passes(who, one.name, parameters) for who in _learners(entry, one.name, parameters)))
    for one in chosen:
        learners = _learners(entry, one.name, parameters)
        progress.advance(0, f"{one.name}: loading")
        rows = data_module.load(one, folder)
        if isinstance(rows, Missing):
            missing.append(rows)
            progress.advance(sum(_passes(who, one.name, parameters) for who in learners), f"{one.name}: not there")
            continue
        split = _split(one.name, rows.dense(), parameters)
        label = rows.label(one.name)
        results[label] = {who.name: _runs(entry, who, one.name, split, parameters, progress) for who in learners}
        tables.append(table_of(entry, one.name, results[label], split, parameters))
    return Findings(
        tables=tuple(tables),
        verdicts=tuple(verdicts(results)),
        missing=tuple(missing),
        notes=(entry.note, TIMES) if tables else (),
    )


def _learners(entry: Entry, data: str, parameters: Parameters) -> list[Learner]:
    named = parameters.only.get(data)
    return [one for one in entry.learners if named is None or one.name in named]


def _passes(learner: Learner, data: str, parameters: Parameters) -> float:
    """The work in fits on all training rows. A tuning fit counts a tenth: it has fewer rows."""
    return parameters.orders_of(learner, data) + passes_of_tuning(learner, parameters.folds) / 10


def _split(name: str, rows: Rows, parameters: Parameters) -> Split:
    rows = rows.first(parameters.rows)
    n_test = round(parameters.test_share[name] * len(rows.y))
    order = permutation(len(rows.y), parameters.split_seed)
    train = order[: len(order) - n_test][: parameters.train_rows.get(name)]
    test = order[len(order) - n_test :]
    return Split(rows.X[train], rows.y[train], rows.X[test], rows.y[test], rows.stand_in)


def _runs(entry: Entry, learner: Learner, name: str, split: Split, parameters: Parameters, progress: Progress) -> Runs:
    from sklearn.exceptions import ConvergenceWarning

    folds = parameters.folds
    with warnings.catch_warnings():  # the linear SVM may reach its limit of iterations, which the protocol allows
        warnings.simplefilter("ignore", ConvergenceWarning)
        point = tuned(
            entry,
            learner,
            Rows(split.X, split.y).first(parameters.tuning_rows_of(name)),
            folds=folds,
            seed=parameters.tuning_seed,
            on_point=lambda: progress.advance((folds - 1) / 10, f"{name}, {learner.name}: tuning"),
        )
        made = Runs(point, [], [])
        for seed in range(parameters.first_seed, parameters.first_seed + parameters.orders_of(learner, name)):
            order = permutation(len(split.y), seed)
            X, y = split.X[order], split.y[order]
            model = build(entry, learner, point)
            began = time.process_time()
            learned = fit_as_far_as_it_goes(model, X, y)
            made.stopped.append(learned < len(y))
            made.seconds.append(time.process_time() - began)
            made.error.append(1 - float(model.score(split.X_test, split.y_test)))
            progress.advance(1, f"{name}, {learner.name}")
    return made


def table_of(entry: Entry, name: str, runs: Mapping[str, Runs], split: Split, parameters: Parameters) -> Table:
    stand_in = split.stand_in
    best = best_of({who: made.error for who, made in runs.items()})
    rows = []
    for who, made in runs.items():
        cells = [Cell(text=in_words(made.point))]
        for measure in ("error", "seconds"):
            ours, paper = mean_of(getattr(made, measure)), entry.paper_mean(name, who, measure)
            comparable = paper is not None and not stand_in and measure == "error"
            gap = difference(ours, paper) if paper is not None and comparable else None
            cells.append(Cell(ours, paper, gap, measure == "error" and who in best))
        rows.append(Row((who,), tuple(cells)))
    columns = (
        Column("tuned", compared=False),
        Column("test error", 4, 4),
        Column("CPU seconds", 3, 2, difference=False),
    )
    shape = f"{len(split.y):,} rows for training, {len(split.y_test):,} for testing"
    title = f"{split.label(name)}: {shape}, {split.X.shape[1]:,} features"
    orders = max(len(made.error) for made in runs.values())
    once = "".join(f"; {who}: one run" for who in parameters.one_run if who in runs and orders > 1)
    note = (
        f"Ours: means ± standard deviations over {orders} orders of the training rows{once}. Tuned on the "
        f"first {min(parameters.tuning_rows_of(name), len(split.y)):,} of them, by {parameters.folds} folds."
    )
    for who, made in runs.items():
        if any(made.stopped):
            note += (
                f" {who} stopped learning in {sum(made.stopped)} of {len(made.stopped)} orders, at a step larger than "
                "its numbers can hold. It is judged by the weights until there, and its time counts those rows twice."
            )
    return Table(title, ("learner",), columns, tuple(rows), note, stand_in)


# -- what the paper says about its table 2 ----------------------------------------------------------------------------


BCW = ("BCWL1", "BCWL2")
FIRST_ORDER = ("PA", "DCD")
NEAR = 0.003  # the largest difference of comparable errors; the paper calls 0.002 comparable

Results = Mapping[str, Mapping[str, Runs]]


def verdicts(results: Results) -> Iterator[Verdict]:
    """`results` has the runs of each learner on each data set."""
    if not results:
        return
    yield _time(
        results,
        "BCW trains much faster, in less than a fifth of the time (more than a quarter is not; between them it cannot "
        "be told), than every second-order learner that changes its covariance with each row.",
        lambda name: name not in BCW + FIRST_ORDER,
        no=4.0,
        yes=5.0,
    )
    yield _time(results, "BCW trains faster than DCD, a linear SVM.", lambda name: name == "DCD")
    yield _accuracy(results)
    yield _pa(results)


def _means(runs: Mapping[str, Runs], measure: str) -> dict[str, float]:
    return {name: float(np.mean(getattr(made, measure))) for name, made in runs.items()}


def _time(
    results: Results, claim: str, is_rival: Callable[[str], bool], no: float = SAME, yes: float = LONGER
) -> Verdict:
    """The slower of the two BCW against the fastest of its rivals, by the medians of their runs."""
    shown, holds = [], []
    for data, runs in results.items():
        seconds = {name: float(np.median(made.seconds)) for name, made in runs.items()}
        rivals = {name: value for name, value in seconds.items() if is_rival(name)}
        ours = [seconds[name] for name in BCW if name in seconds]
        if not rivals or not ours:
            continue
        fastest = min(rivals, key=lambda name: rivals[name])
        holds.append(longer(rivals[fastest] / max(ours), no=no, yes=yes))
        shown.append(f"{data}: BCW {max(ours):.3g} s, {fastest} {rivals[fastest]:.3g} s")
    evidence = f"{how_many_hold(holds)}{'; '.join(shown)}." if shown else "Nothing to compare."
    return Verdict(claim, all_of(holds), evidence)


def _accuracy(results: Results) -> Verdict:
    shown, holds = [], []
    for data, runs in results.items():
        errors = _means(runs, "error")
        ours = {name: errors[name] for name in BCW if name in errors}
        rivals = {name: value for name, value in errors.items() if name not in BCW}
        best = min(rivals, key=lambda name: rivals[name])
        holds.append(min(ours.values()) <= rivals[best] + NEAR)
        words = ", ".join(f"{name} {value:.4f}" for name, value in ours.items())
        shown.append(f"{data}: {words}, against {best} {rivals[best]:.4f}")
    claim = f"The better of the two BCW has a test error comparable to the lowest of all others (at most {NEAR} more)."
    return Verdict(claim, all(holds), f"{'; '.join(shown)}.")


def _pa(results: Results) -> Verdict:
    shown, holds = [], []
    for data, runs in results.items():
        errors = _means(runs, "error")
        if "PA" in errors and "AROW" in errors:
            holds.append(lower(np.array(runs["AROW"].error) + NEAR, runs["PA"].error))
            shown.append(f"{data}: PA {errors['PA']:.4f}, AROW {errors['AROW']:.4f}")
    claim = f"PA, which knows of no covariance, errs more than AROW, by more than {NEAR} (paired t-test, 95 %)."
    evidence = f"{how_many_hold(holds)}{'; '.join(shown)}." if shown else "Nothing to compare."
    return Verdict(claim, all_of(holds), evidence)

"""Selectors of features, by the number of features that they select: figure 1 of the SBCW paper."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .. import data as data_module
from ..data import Rows
from ..entry import DataSet, Entry, EntryError, Learner
from ..learners import build, in_words, permutation
from ..outcome import Cell, Column, Findings, Missing, Picture, Row, Series, Table, Verdict, labelled
from ..progress import Progress
from ..statistics import MEANS, TIMES, best_of, how_many_hold, longer, lower, mean_of, most_of, opposite


@dataclass(frozen=True)
class Days:
    """Rows in time order, in days: a file is a day, or a fixed number of rows of a single file."""

    split: str  # "next": trained on one day, tested on the next; "even to odd": trained on even days, tested on odd
    rows: int

    def __post_init__(self) -> None:
        if self.split not in ("next", "even to odd"):
            raise EntryError(f"[protocol.days], 'split', must be 'next' or 'even to odd'. Got {self.split!r} instead.")

    def draws(self, wanted: int) -> int:
        """Number of draws: there are many pairs of days, but one split into even and odd."""
        return wanted if self.split == "next" else 1

    def of(self, rows: Rows, draw: int) -> tuple[Rows, Rows]:
        sizes = rows.sizes if len(rows.sizes) > 1 else (self.rows,) * (len(rows.y) // self.rows)
        day = np.repeat(np.arange(len(sizes)), sizes)
        train, test = (day == draw, day == draw + 1) if self.split == "next" else (day % 2 == 0, day % 2 == 1)
        X, y = rows.X[: len(day)], rows.y[: len(day)]
        return Rows(X[train], y[train]), Rows(X[test], y[test])


@dataclass(frozen=True)
class Parameters:
    """The parameters of the protocol."""

    counts: tuple[int, ...]  # numbers of features to select
    # The number of draws, and the first seed. For generated data a draw is a new set of rows; for files a random split.
    draws: int
    first_seed: int
    test_share: float  # share of the rows for testing
    # Learners with a grid use its best point at this number of features: on the last fifth of the training rows of the
    # first draw, after training on the others.
    tuning_count: int
    days: dict[str, Days] = field(default_factory=dict)  # data sets in time order
    data: tuple[str, ...] | None = None  # only these data sets
    rows: int | None = None  # most rows of each


@dataclass(frozen=True)
class Curves:
    """Accuracy, seconds and nonzero weights, a row for each draw and a column for each number of features."""

    point: dict[str, float]
    accuracy: Any
    seconds: Any
    nonzeros: Any


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    chosen = [one for one in entry.data_sets if parameters.data is None or one.name in parameters.data]
    missing, tables, pictures, results = [], [], [], {}
    tuning = sum(_tuning_fits(one) for one in entry.learners)
    fits = {one.name: _draws(one, parameters) * len(parameters.counts) * len(entry.learners) + tuning for one in chosen}
    progress.expect(sum(fits.values()))
    for one in chosen:
        found = _paths(entry, one, parameters, folder, progress)
        if isinstance(found, Missing):
            missing.append(found)
            progress.advance(fits[one.name], f"{one.name}: not there")
            continue
        shape, stand_in, paths = found
        label = labelled(one.name, stand_in)
        results[label] = paths
        tables += _tables(f"{label}: {shape}", paths, parameters.counts, stand_in)
        pictures += _pictures(one.name, label, paths, parameters.counts, stand_in)
    return Findings(
        tables=tuple(tables),
        pictures=tuple(pictures),
        verdicts=tuple(verdicts(results, parameters.counts)),
        missing=tuple(missing),
        notes=(entry.note, MEANS, TIMES) if tables else (),
    )


def _draws(data: DataSet, parameters: Parameters) -> int:
    days = parameters.days.get(data.name)
    return parameters.draws if days is None else days.draws(parameters.draws)


def _tuning_fits(learner: Learner) -> int:
    points = len(learner.points())
    return 0 if points == 1 else points


def _paths(
    entry: Entry, data: DataSet, parameters: Parameters, folder: Path | None, progress: Progress
) -> tuple[str, str | None, dict[str, Curves]] | Missing:
    size = _draws(data, parameters), len(parameters.counts)
    days = parameters.days.get(data.name)
    paths: dict[str, Curves] = {}
    shape, stand_in = "", None
    for draw in range(size[0]):
        seed = parameters.first_seed + draw
        progress.advance(0, f"{data.name}: loading")
        if draw == 0 or stand_in:
            found = data_module.load(data, folder, random_state=seed)
            if isinstance(found, Missing):
                return found
            rows = found
        if days is None:
            train, test = _split(rows.first(parameters.rows), parameters.test_share, seed)
        else:
            train, test = days.of(rows, draw)
        stand_in = rows.stand_in
        shape = f"{len(train.y):,} rows for training, {len(test.y):,} for testing, {rows.X.shape[1]:,} features"
        for learner in entry.learners:
            what = f"{data.name}, {learner.name}"
            if draw == 0:
                point = _tuned(entry, learner, train, parameters.tuning_count, progress, what)
                paths[learner.name] = Curves(point, np.zeros(size), np.zeros(size), np.zeros(size))
            path = paths[learner.name]
            for i, count in enumerate(parameters.counts):
                measured = _fitted(entry, learner, {**path.point, "n_features": count}, train, test)
                path.accuracy[draw, i], path.seconds[draw, i], path.nonzeros[draw, i] = measured
                progress.advance(1, what)
    return shape, stand_in, paths


def _split(rows: Rows, test_share: float, seed: int) -> tuple[Rows, Rows]:
    order = permutation(len(rows.y), seed)
    n_test = round(test_share * len(order))
    train, test = order[n_test:], order[:n_test]
    return Rows(rows.X[train], rows.y[train]), Rows(rows.X[test], rows.y[test])


def _tuned(entry: Entry, learner: Learner, train: Rows, count: int, progress: Progress, what: str) -> dict[str, float]:
    points = learner.points()
    if len(points) == 1:
        return points[0]
    n = len(train.y) * 4 // 5
    fitted, judged = train.first(n), Rows(train.X[n:], train.y[n:])
    accuracies = []
    for point in points:
        accuracies.append(_fitted(entry, learner, {**point, "n_features": count}, fitted, judged)[0])
        progress.advance(1, f"{what}: tuning")
    return points[int(np.argmax(accuracies))]


def _fitted(
    entry: Entry, learner: Learner, point: Mapping[str, float], train: Rows, test: Rows
) -> tuple[float, float, float]:
    """Accuracy, seconds, and number of features with a weight: a selected feature may have none."""
    from sklearn.exceptions import ConvergenceWarning

    model = build(entry, learner, point)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.process_time()
        model.fit(train.X, train.y)
        seconds = time.process_time() - began
    return float(model.score(test.X, test.y)), seconds, float(model.sparse_coef_.nnz)


_MEASURES = (
    ("accuracy", "test accuracy", 4),
    ("seconds", "CPU seconds of training", 3),
    ("nonzeros", "nonzero weights", 1),
)


def _tables(title: str, paths: Mapping[str, Curves], counts: tuple[int, ...], stand_in: str | None) -> list[Table]:
    columns = [Column(f"{count:,} features", compared=False) for count in counts]
    made = []
    for measure, words, digits in _MEASURES:
        values = {who: getattr(path, measure) for who, path in paths.items()}
        best = [
            best_of({who: runs[:, i].tolist() for who, runs in values.items()}, least=measure == "seconds")
            if measure != "nonzeros"
            else set()
            for i in range(len(counts))
        ]
        rows = [
            Row(
                (who, in_words(paths[who].point)),
                tuple(Cell(mean_of(runs[:, i]), best=who in best[i]) for i in range(len(counts))),
            )
            for who, runs in values.items()
        ]
        shown = tuple(Column(column.name, digits, compared=False) for column in columns)
        n_draws = len(next(iter(values.values())))
        note = (
            f"Means ± standard deviations over {n_draws} draws of the rows for training and testing."
            if n_draws > 1
            else "One run."
        )
        made.append(Table(f"{title}; {words}", ("selector", "tuned"), shown, tuple(rows), note, stand_in))
    return made


def _pictures(
    name: str, label: str, paths: Mapping[str, Curves], counts: tuple[int, ...], stand_in: str | None
) -> list[Picture]:
    x = tuple(float(count) for count in counts)

    def curves(measure: str) -> tuple[Series, ...]:
        return tuple(
            Series(who, x, tuple(map(float, getattr(path, measure).mean(axis=0)))) for who, path in paths.items()
        )

    return [
        Picture(
            f"{name}-accuracy", f"{label}: accuracy", "features", "test accuracy", curves("accuracy"), stand_in=stand_in
        ),
        Picture(
            f"{name}-time",
            f"{label}: time",
            "features",
            "CPU seconds of training",
            curves("seconds"),
            y_log=True,
            stand_in=stand_in,
        ),
    ]


# -- what the paper says about its figure 1 ---------------------------------------------------------------------------


OURS = "SBCW"
NEAR = 0.005  # accuracies no further apart are comparable

Results = Mapping[str, Mapping[str, Curves]]


def verdicts(results: Results, counts: tuple[int, ...]) -> Iterator[Verdict]:
    """`results` has the path of each selector on each data set."""
    if not results:
        return
    for who in sorted({name for paths in results.values() for name in paths if name.startswith(OURS)}):
        yield _accuracy(results, counts, who)
        yield _time(results, counts, who)
    yield _against(results, "FGM", "which has no covariance")
    yield _against(results, "SOFS", "which sets small weights to zero along the stream")


def _rivals(paths: Mapping[str, Curves]) -> list[str]:
    return [name for name in paths if not name.startswith(OURS)]


def _accuracy(results: Results, counts: tuple[int, ...], who: str) -> Verdict:
    """Comparable to the best rival at most points of the picture."""
    good, n, shown = 0, 0, []
    for data, paths in results.items():
        ours = paths[who].accuracy.mean(axis=0)
        best = np.max([paths[name].accuracy.mean(axis=0) for name in _rivals(paths)], axis=0)
        good += int(np.sum(ours >= best - NEAR))
        n += len(counts)
        shown.append(f"{data}: {ours[-1]:.4f} with {counts[-1]:,} features, best of the others {best[-1]:.4f}")
    claim = (
        f"{who} is as accurate as the best of the others with the same number of features, or more (at most {NEAR} "
        "less, at most points)."
    )
    return Verdict(claim, good > n / 2, f"At {good} of {n} points. {'; '.join(shown)}.")


def _time(results: Results, counts: tuple[int, ...], who: str) -> Verdict:
    told: list[bool | None] = []
    shown = []
    for data, paths in results.items():
        seconds = {name: np.median(paths[name].seconds, axis=0) for name in [who, *_rivals(paths)]}
        fastest = np.min([seconds[name] for name in _rivals(paths)], axis=0)
        told += [opposite(longer(ratio)) for ratio in seconds[who] / fastest]
        shown.append(f"{data}: " + ", ".join(f"{name} {times[-1]:.3g} s" for name, times in seconds.items()))
    claim = f"{who} trains as fast as the fastest of the others, or faster, at most points."
    evidence = f"These are times with {counts[-1]:,} features. {'; '.join(shown)}."
    return Verdict(claim, most_of(told), f"{how_many_hold(told)}{evidence}")


def _against(results: Results, rival: str, what: str) -> Verdict:
    told: list[bool | None] = []
    shown = []
    for data, paths in results.items():
        if rival not in paths or OURS not in paths:
            continue
        ours, theirs = (paths[name].accuracy for name in (OURS, rival))
        told += [lower(theirs[:, i], ours[:, i]) for i in range(ours.shape[1])]
        shown.append(f"{data}: mean accuracy {ours.mean():.4f} against {theirs.mean():.4f}")
    claim = f"{OURS} is more accurate than {rival}, {what}, at most points."
    return Verdict(claim, most_of(told), f"{how_many_hold(told)}{'; '.join(shown)}." if told else "Nothing to compare.")

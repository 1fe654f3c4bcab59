"""Tuning by cross-validation, and a metric against sparsity over an adaptive path of penalties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from ..._inputs import Floats
from ...evaluate.sparsity_path import sparsity_path
from ...evaluate.sparsity_path_result import SparsityPath
from ...metrics import tally
from ..data import Split
from ..entry import Entry, Learner, values_of
from ..learners import build

Point = dict[str, float]

# The first penalties of the search, which continues upwards until a model has no weights.
START = [10.0**k for k in range(-8, 9, 2)]


@dataclass(frozen=True)
class Candidate:
    """A learner of an entry, with every `step`-th value of each parameter of its grid."""

    entry: Entry
    learner: Learner
    step: int = 1

    @property
    def name(self) -> str:
        return self.learner.name

    @property
    def sparse(self) -> bool:
        """True if it has a penalty to vary."""
        return "lam" in self.build({}).get_params()

    @property
    def grid(self) -> dict[str, tuple[float, ...]]:
        return {name: values_of(values)[:: self.step] for name, values in self.learner.grid.items()}

    def build(self, point: Mapping[str, float]) -> Any:
        return build(self.entry, self.learner, point)


def tune(
    candidate: Candidate,
    rows: Split,
    metric: str,
    *,
    folds: int,
    seed: int,
    after_fold: Callable[[], None] = lambda: None,
) -> tuple[Point, float]:
    """The point of the grid with the best mean over the held-out folds, after one pass over the others.

    Of equally good points the first one on the grid is taken.
    """
    if not candidate.grid:
        return {}, float("nan")
    from sklearn.model_selection import KFold

    rows = rows.shuffled(seed)
    *names, last = candidate.grid
    values = candidate.grid[last]
    found: dict[tuple[tuple[str, float], ...], list[float]] = {}
    for train, held_out in KFold(folds).split(rows.y):
        X, y, X_test, y_test = rows.X[train], rows.y[train], rows.X[held_out], rows.y[held_out]
        for others in product(*(candidate.grid[name] for name in names)):
            point = dict(zip(names, others, strict=True))
            # The last parameter takes all its values in one pass.
            path = sparsity_path(candidate.build(point), X, y, values, parameter=last, X_test=X_test, y_test=y_test)
            for value, result in zip(values, getattr(path, metric), strict=True):
                found.setdefault((*point.items(), (last, value)), []).append(float(result))
        after_fold()
    means = {point: float(np.mean(results)) for point, results in found.items()}
    best = (min if is_error(metric) else max)(means, key=lambda point: means[point])
    return dict(best), means[best]


def is_error(metric: str) -> bool:
    """True if smaller values are better."""
    return metric.endswith("error")


# -- one curve --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A metric against sparsity, for one order of the training rows."""

    lams: Floats
    sparsity: Floats
    values: Floats
    progressive: Floats

    @property
    def free(self) -> int:
        """The place of the model without penalty."""
        return int(np.flatnonzero(self.lams == 0)[0])

    def at(self, levels: Floats) -> Floats:
        """The metric at these sparsities, between the models on both sides; NaN below the model without penalty."""
        # Models of equal sparsity are averaged; without a penalty only that model counts.
        free = self.sparsity[self.free]
        sparser = self.sparsity > free
        sparsities = np.unique(self.sparsity[sparser])
        means = [self.values[sparser & (self.sparsity == one)].mean() for one in sparsities]
        values = np.interp(levels, [free, *sparsities], [self.values[self.free], *means])
        return np.where(levels < free, np.nan, values)


def trace(estimator: Any, rows: Split, metric: str, *, gap: float, limit: int, batch: int = 8) -> Curve:
    """The path of a learner: powers of ten, then penalties between neighbours whose models differ too much.

    They differ too much if their sparsity differs by more than `gap` times the density of the model without penalty. At
    high sparsity they do if one has less than half as many nonzeros as the other.
    """
    width = rows.X.shape[1]
    paths: list[SparsityPath] = []

    def run(lams: list[float]) -> None:
        for start in range(0, len(lams), batch):  # all models of a call are in memory at once
            some = lams[start : start + batch]
            paths.append(sparsity_path(estimator, rows.X, rows.y, some, X_test=rows.X_test, y_test=rows.y_test))

    def too_far(a: float, b: float, most: int) -> bool:
        step = abs(a - b)
        return step > gap * most or (min(a, b) < 0.1 * most and step > max(a, b) / 2 and max(a, b) > 0.002 * width)

    run([0.0, *START])
    while paths[-1].nonzero[-1] > 0 and paths[-1].lams[-1] < 1e30:
        run([100 * float(paths[-1].lams[-1])])
    while True:
        lams = np.concatenate([path.lams for path in paths])
        nonzero = np.concatenate([path.nonzero for path in paths])
        order = np.argsort(lams)
        known = list(zip(lams[order].tolist(), nonzero[order].tolist(), strict=True))
        wanted = [
            (low * high) ** 0.5 if low else high / 100
            for (low, a), (high, b) in pairwise(known)
            if too_far(a, b, known[0][1]) and (high > 1.002 * low if low else high > 1e-30)
        ]
        if not wanted or len(known) >= limit:
            return _joined(paths, metric)
        run(wanted[: limit - len(known)])


def _joined(paths: list[SparsityPath], metric: str) -> Curve:
    names = ("lams", "sparsity", metric, metric.removeprefix("test_"))
    columns = [np.concatenate([getattr(path, name) for path in paths]) for name in names]
    order = np.argsort(columns[0])
    return Curve(*(column[order] for column in columns))


# -- several orders ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """The results of a learner: a curve for each order of the rows if it is sparse, otherwise a number."""

    name: str
    point: Point
    held_out: float
    curves: tuple[Curve, ...]
    free: Floats  # without penalty, on the test set
    progressive: Floats  # without penalty, before learning from each example

    def at(self, levels: Any) -> Floats:
        """The metric at these sparsities, for each order of the rows."""
        levels = np.atleast_1d(np.asarray(levels, float))
        if not self.curves:
            return np.repeat(self.free[:, None], len(levels), axis=1)
        return np.array([curve.at(levels) for curve in self.curves])


def over_orders(
    candidate: Candidate,
    tuned: tuple[Point, float],
    rows: Split,
    seeds: range,
    metric: str,
    *,
    gap: float,
    limit: int,
    after_each: Callable[[], None] = lambda: None,
) -> Result:
    """Train with the rows in the order of each seed."""
    curves, free, progressive = [], [], []
    name, (point, held_out) = metric.removeprefix("test_"), tuned
    for seed in seeds:
        part = rows.shuffled(seed)
        if candidate.sparse:
            curve = trace(candidate.build(point), part, metric, gap=gap, limit=limit)
            curves.append(curve)
            free.append(curve.values[curve.free])
            progressive.append(curve.progressive[curve.free])
        else:
            model = candidate.build(point).fit(part.X, part.y)
            free.append(getattr(tally(part.y_test, model.predict(part.X_test)), name))
            progressive.append(getattr(model.progressive_, name))
        after_each()
    return Result(candidate.name, point, held_out, tuple(curves), np.array(free), np.array(progressive))

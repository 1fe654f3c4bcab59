"""Tuning by cross-validation, and error against sparsity over a path of penalties that is chosen as it goes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold
from sol_paper import Data, Learner, Params

from sureline import sparsity_path
from sureline.metrics import tally
from sureline.sparsity import SparsityPath

Floats = npt.NDArray[np.float64]

TUNING_SEED = 20150901
FIRST_SEED = 1
# What the search for penalties starts from; it goes on upwards until a model has no weights left.
START = [10.0**k for k in range(-8, 9, 2)]


def shuffled(data: Data, seed: int) -> Data:
    """The training rows in another order."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    return data._replace(X=data.X[order], y=data.y[order])


def better(metric: str, value: Any) -> Any:
    """The metric as a number that is better when it is larger."""
    return -value if metric.endswith("error") else value


def tune(learner: Learner, data: Data, metric: str, folds: int = 5) -> tuple[Params, float]:
    """The point of the grid with the best mean over the held-out folds, after one pass over the others each."""
    if not learner.grid:
        return {}, float("nan")
    data = shuffled(data, TUNING_SEED)
    *_, last = learner.grid
    values = learner.grid[last]
    found: dict[tuple[tuple[str, float], ...], list[float]] = {}
    for train, held_out in KFold(folds).split(data.y):
        X, y, X_test, y_test = data.X[train], data.y[train], data.X[held_out], data.y[held_out]
        for params in learner.points_but_last():
            path = sparsity_path(learner.build(params), X, y, values, parameter=last, X_test=X_test, y_test=y_test)
            for value, result in zip(values, getattr(path, metric), strict=True):
                found.setdefault((*params.items(), (last, value)), []).append(float(result))
    means = {point: float(np.mean(results)) for point, results in found.items()}
    best = max(means, key=lambda point: better(metric, means[point]))
    return dict(best), means[best]


# -- one curve --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Curve:
    """A metric against sparsity, for one order of the training rows."""

    lams: Floats
    sparsity: Floats
    values: Floats
    progressive: Floats

    def at(self, levels: Floats) -> Floats:
        """The metric at these sparsities, between the models on both sides; NaN below the model without penalty."""
        # Of several models that are equally sparse the mean, but without a penalty only that one counts.
        free = self.sparsity[self.lams == 0][0]
        sparser = self.sparsity > free
        sparsities = np.unique(self.sparsity[sparser])
        means = [self.values[sparser & (self.sparsity == one)].mean() for one in sparsities]
        levels = np.asarray(levels)
        values = np.interp(levels, [free, *sparsities], [self.values[self.lams == 0][0], *means])
        return np.where(levels < free, np.nan, values)


def joined(paths: list[SparsityPath], metric: str) -> Curve:
    progressive = metric.removeprefix("test_")
    names = ("lams", "sparsity", metric, progressive)
    columns = [np.concatenate([getattr(path, name) for path in paths]) for name in names]
    order = np.argsort(columns[0])
    return Curve(*(column[order] for column in columns))


def trace(estimator: Any, data: Data, metric: str, *, gap: float = 0.02, limit: int = 80, batch: int = 8) -> Curve:
    """The path of a learner: every so many powers of ten, then between neighbours whose models differ too much.

    They differ too much if their sparsity differs by more than `gap` of what the model without penalty has nonzero, or,
    where it is high, if one has less than half as many nonzeros as the other.
    """
    width = data.X.shape[1]
    paths: list[SparsityPath] = []

    def run(lams: list[float]) -> None:
        for start in range(0, len(lams), batch):  # all models of a call are in memory at once
            some = lams[start : start + batch]
            paths.append(sparsity_path(estimator, data.X, data.y, some, X_test=data.X_test, y_test=data.y_test))

    def too_far(a: float, b: float, most: int) -> bool:
        step = abs(a - b)
        return step > gap * most or (min(a, b) < 0.1 * most and step > max(a, b) / 2 and max(a, b) > 0.002 * width)

    run([0.0, *START])
    while paths[-1].nonzero[-1] > 0 and paths[-1].lams[-1] < 1e30:
        run([100 * paths[-1].lams[-1]])
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
            return joined(paths, metric)
        run(wanted[: limit - len(known)])


# -- several orders ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """What a learner reached: a curve for each order of the rows if it is sparse, else a number."""

    learner: Learner
    params: Params
    held_out: float
    curves: list[Curve]
    free: Floats  # without penalty, on the test set
    progressive: Floats  # without penalty, before learning from each example

    def at(self, levels: Any) -> Floats:
        """For each order of the rows, the metric at these sparsities."""
        levels = np.atleast_1d(np.asarray(levels, float))
        if not self.curves:
            return np.repeat(self.free[:, None], len(levels), axis=1)
        return np.array([curve.at(levels) for curve in self.curves])


def evaluate(
    learner: Learner, params: Params, held_out: float, data: Data, seeds: list[int], metric: str, **options: Any
) -> Result:
    curves, alone, progressive = [], [], []
    for seed in seeds:
        part = shuffled(data, seed)
        if learner.sparse:
            curve = trace(learner.build(params), part, metric, **options)
            curves.append(curve)
            alone.append(curve.values[curve.lams == 0][0])
            progressive.append(curve.progressive[curve.lams == 0][0])
        else:
            model = learner.build(params).fit(part.X, part.y)
            name = metric.removeprefix("test_")
            alone.append(getattr(tally(part.y_test, model.predict(part.X_test)), name))
            progressive.append(getattr(model.progressive_, name))
    return Result(learner, params, held_out, curves, np.array(alone), np.array(progressive))

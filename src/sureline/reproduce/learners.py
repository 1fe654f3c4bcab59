"""The learners of an entry: built, and tuned by cross validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..models.rows import RefusedRow
from .data import Rows
from .entry import Entry, Learner

Order = npt.NDArray[np.intp]


def build(entry: Entry, learner: Learner, point: Mapping[str, Any] | None = None) -> Any:
    """The estimator at a point of its grid, with the entry's fixed and common parameters."""
    kind = _estimator(learner.estimator)
    known = inspect.signature(kind).parameters
    common = {name: value for name, value in entry.common.items() if name in known}
    tuned = dict(point or {})
    tuned.update({name: tuned[other] for name, other in learner.same.items()})
    return kind(**{**common, **learner.parameters, **tuned})


def _estimator(name: str) -> Any:
    if name == "LinearSVC":
        from sklearn.svm import LinearSVC

        return LinearSVC
    import sureline

    return getattr(sureline, name)


def fit_as_far_as_it_goes(model: Any, X: Any, y: Any) -> int:
    """Fit as many rows as possible; returns their number. A step may overflow.

    CW's variances shrink with every label that is wrong, and its weights then grow without bound.
    """
    try:
        model.fit(X, y)
    except RefusedRow as refused:
        if refused.row == 0:
            raise
        model.fit(X[: refused.row], y[: refused.row])
        return refused.row
    return len(y)


def permutation(n_rows: int, seed: int) -> Order:
    return np.random.default_rng(seed).permutation(n_rows)


def in_words(point: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in point.items())


def tuned(
    entry: Entry, learner: Learner, rows: Rows, *, folds: int, seed: int, on_point: Callable[[], None]
) -> dict[str, float]:
    """The point of the grid with the lowest mean error on the held-out folds, after one pass over the others.

    The folds are contiguous in the random order of the seed. For equally good points the last one is taken, like in
    LIBOL, the library of the SCW paper's authors. A grid with one point is not tuned.
    """
    points = learner.points()
    if len(points) == 1:
        return points[0]
    order = permutation(len(rows.y), seed)
    X, y = rows.X[order], rows.y[order]
    parts = np.array_split(np.arange(len(y)), folds)
    errors = []
    for point in points:
        errors.append(np.mean([_held_out_error(entry, learner, point, X, y, part) for part in parts]))
        on_point()
    return points[int(np.flatnonzero(np.array(errors) == min(errors))[-1])]


def passes_of_tuning(learner: Learner, folds: int) -> int:
    """The cost of `tuned` in passes over all rows."""
    points = len(learner.points())
    return 0 if points == 1 else points * (folds - 1)


def _held_out_error(entry: Entry, learner: Learner, point: dict[str, float], X: Any, y: Any, part: Order) -> float:
    rest = np.ones(len(y), bool)
    rest[part] = False
    model = build(entry, learner, point)
    fit_as_far_as_it_goes(model, X[rest], y[rest])
    return 1 - float(model.score(X[part], y[part]))

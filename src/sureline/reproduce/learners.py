"""The learners of an entry: built, tuned and run."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from .entry import Entry, Learner

Order = npt.NDArray[np.intp]


def build(entry: Entry, learner: Learner, point: Mapping[str, Any] | None = None) -> Any:
    """The estimator at a point of its grid, with what the entry fixes for it and for all learners that have it."""
    kind = _estimator(learner.estimator)
    known = inspect.signature(kind).parameters
    common = {name: value for name, value in entry.common.items() if name in known}
    return kind(**{**common, **learner.parameters, **(point or {})})


def _estimator(name: str) -> Any:
    if name == "LinearSVC":
        from sklearn.svm import LinearSVC

        return LinearSVC
    import sureline

    return getattr(sureline, name)


def permutation(n_rows: int, seed: int) -> Order:
    return np.random.default_rng(seed).permutation(n_rows)


def in_words(point: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in point.items())

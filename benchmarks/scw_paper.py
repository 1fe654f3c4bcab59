"""What table 3 of the SCW paper was made of: its learners and their grids, its data sets, and its figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from sureline import AROW, CW, NAROW, NHERD, SCW
from sureline.datasets import make_rotated_gaussian

Floats = npt.NDArray[np.float64]
Order = npt.NDArray[np.intp]
Params = dict[str, float]
Loader = Callable[[Path], tuple[Floats, Floats]]

POWERS = [2.0**k for k in range(-4, 5)]
ETAS = [round(0.55 + 0.05 * k, 2) for k in range(9)]


class Figure(NamedTuple):
    """A mean and its deviation over the permutations."""

    mean: float
    std: float


class Outcome(NamedTuple):
    """Mistake rate and number of updates."""

    rate: Figure
    updates: Figure


@dataclass(frozen=True)
class Learner:
    """An algorithm of the table, its grid, and the parameters that LIBOL starts from."""

    name: str
    make: Callable[..., Any]
    grid: dict[str, list[float]]
    start: Params

    def build(self, params: Params) -> Any:
        return self.make(**params, covariance="full", fit_intercept=False, dtype="float64")

    def points(self) -> list[Params]:
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]


def _scw(variant: str) -> Callable[..., Any]:
    return lambda **params: SCW(variant=variant, **params, normalize="none")


LEARNERS = [
    Learner("CW", CW, {"eta": ETAS}, {"eta": 0.7}),
    Learner("NHERD", NHERD, {"C": POWERS}, {"C": 1}),
    Learner("AROW", AROW, {"r": POWERS}, {"r": 1}),
    Learner("NAROW", NAROW, {"b": POWERS}, {"b": 1}),
    Learner("SCW-I", _scw("I"), {"C": POWERS, "eta": ETAS}, {"C": 1, "eta": 0.75}),
    Learner("SCW-II", _scw("II"), {"C": POWERS, "eta": ETAS}, {"C": 1, "eta": 0.9}),
]


# -- data -------------------------------------------------------------------------------------------------------------


def _files(*names: str, rows: int | None = None) -> Loader:
    """A loader of LIBSVM files, one below the other; the larger of the two labels is the positive one."""

    def load(folder: Path) -> tuple[Floats, Floats]:
        parts = [load_svmlight_file(str(folder / name), dtype=np.float64) for name in names]
        width = max(X.shape[1] for X, _ in parts)
        for X, _ in parts:
            X.resize(X.shape[0], width)
        X = sparse.vstack([X for X, _ in parts]).toarray()[:rows]
        y = np.concatenate([y for _, y in parts])[:rows]
        return X, np.where(y == y.max(), 1.0, -1.0)

    return load


def synthetic(noise: float, seed: int = 0) -> Loader:
    def load(folder: Path) -> tuple[Floats, Floats]:
        X, y = make_rotated_gaussian(noise=noise, random_state=seed)
        return X, np.where(y == 1, 1.0, -1.0)

    return load


@dataclass(frozen=True)
class Dataset:
    """A data set of the table, and the paper's figures: rate, deviation, updates, deviation for each learner."""

    name: str
    load: Loader
    paper: list[tuple[float, float, float, float]]

    def figures(self, position: int) -> Outcome:
        rate, rate_std, updates, updates_std = self.paper[position]
        return Outcome(Figure(rate, rate_std), Figure(updates, updates_std))


DATASETS = [
    Dataset(
        "svmguide3",
        _files("svmguide3.svm.bz2"),
        [
            (0.294, 0.011, 702.6, 13.5),
            (0.224, 0.012, 1170.3, 21.6),
            (0.218, 0.005, 1174.7, 15.7),
            (0.308, 0.096, 1229.7, 8.1),
            (0.209, 0.007, 540.4, 13.2),
            (0.213, 0.008, 954.2, 50.9),
        ],
    ),
    Dataset(
        "splice",
        _files("splice.bz2", rows=1000),
        [
            (0.271, 0.009, 555.4, 9.6),
            (0.245, 0.010, 805.6, 22.3),
            (0.241, 0.006, 741.5, 24.9),
            (0.269, 0.015, 717.9, 35.2),
            (0.229, 0.006, 541.1, 8.9),
            (0.240, 0.010, 479.8, 12.4),
        ],
    ),
    Dataset(
        "mushrooms",
        _files("mushrooms.bz2"),
        [
            (0.002, 0.000, 315.8, 18.0),
            (0.002, 0.001, 3724.4, 448.3),
            (0.002, 0.000, 1815.0, 185.5),
            (0.002, 0.000, 3340.8, 386.0),
            (0.002, 0.000, 327.6, 21.1),
            (0.002, 0.000, 152.7, 5.7),
        ],
    ),
    Dataset(
        "ijcnn1",
        _files("ijcnn1.bz2", "ijcnn1.t.bz2"),
        [
            (0.093, 0.001, 30678.0, 146.9),
            (0.084, 0.001, 85104.4, 4283.4),
            (0.081, 0.000, 73082.1, 1272.3),
            (0.099, 0.020, 105937.2, 8231.1),
            (0.058, 0.002, 10561.5, 704.5),
            (0.072, 0.003, 21792.1, 3840.6),
        ],
    ),
    Dataset(
        "synthetic",
        synthetic(0.0),
        [
            (0.017, 0.001, 262.9, 6.7),
            (0.120, 0.016, 3202.9, 292.6),
            (0.026, 0.003, 2128.0, 167.3),
            (0.101, 0.019, 3302.0, 315.0),
            (0.018, 0.001, 317.9, 8.6),
            (0.020, 0.001, 326.0, 6.6),
        ],
    ),
    Dataset(
        "synthetic-noise",
        synthetic(0.1),
        [
            (0.293, 0.005, 2811.1, 33.9),
            (0.208, 0.017, 4114.6, 150.7),
            (0.133, 0.003, 4122.8, 60.7),
            (0.236, 0.024, 4242.8, 171.8),
            (0.135, 0.002, 1373.1, 38.9),
            (0.145, 0.005, 2138.9, 211.7),
        ],
    ),
]
NOISE = {"synthetic": 0.0, "synthetic-noise": 0.1}

"""What section 5 of the paper on sparse online learning was made of: its learners and their grids, and its data.

Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import normalize

from sureline import CPA, CSOGD, FOBOS, FSOL, OGD, PA, PAUM, SSOL, STG, AdaFOBOS, AdaRDA, Perceptron
from sureline.datasets import make_sparse_gaussian, make_stream_like

Params = dict[str, float]
Labels = npt.NDArray[np.int64]

RATES = [2.0**k for k in range(-1, 10)]
OTHERS = [2.0**k for k in range(-5, 6)]


@dataclass(frozen=True)
class Learner:
    """An algorithm of table 1 and its grid. `plain` names the form of it that knows of no costs."""

    name: str
    make: Callable[..., Any]
    grid: dict[str, list[float]]
    sparse: bool = True
    plain: str | None = None
    fit_intercept: bool = False

    def build(self, params: Params) -> Any:
        return self.make(**params, fit_intercept=self.fit_intercept)

    def thinned(self, step: int) -> Learner:
        """With every so many-th point of the grid."""
        return replace(self, grid={name: values[::step] for name, values in self.grid.items()})

    def points_but_last(self) -> list[Params]:
        """All points of the grid without its last parameter, which one pass over the data can vary."""
        names = list(self.grid)[:-1]
        return [dict(zip(names, values, strict=True)) for values in product(*(self.grid[name] for name in names))]


def with_costs(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **params: make(cost="balanced", **params)


TRUNCATED = ["STG", "FOBOS", "Ada-FOBOS"]
AVERAGED = ["FSOL", "Ada-RDA", "SSOL"]
SPARSE = [
    Learner("STG", STG, {"eta": RATES}),
    Learner("FOBOS", FOBOS, {"eta": RATES}),
    Learner("Ada-FOBOS", AdaFOBOS, {"delta": OTHERS, "eta": RATES}),
    Learner("Ada-RDA", AdaRDA, {"delta": OTHERS, "eta": RATES}),
    Learner("FSOL", FSOL, {"eta": RATES}),
    Learner("SSOL", SSOL, {"r": OTHERS, "eta": RATES}),
]
COST_SENSITIVE = [
    Learner("CS-FSOL", with_costs(FSOL), {"eta": RATES}, plain="FSOL"),
    Learner("CS-SSOL", with_costs(SSOL), {"r": OTHERS, "eta": RATES}, plain="SSOL"),
    Learner("CS-OGD", with_costs(CSOGD), {"eta": RATES}, sparse=False, plain="OGD"),
    Learner("CPA", with_costs(CPA), {"C": OTHERS}, sparse=False, plain="PA"),
    Learner("PAUM", PAUM, {"margin_neg": OTHERS, "margin_pos": OTHERS}, sparse=False, plain="Perceptron"),
]
PLAIN = [
    Learner("OGD", OGD, {"eta": RATES}, sparse=False),
    Learner("PA", PA, {"C": OTHERS}, sparse=False),
    Learner("Perceptron", Perceptron, {}, sparse=False),
]


# -- data -------------------------------------------------------------------------------------------------------------


class Data(NamedTuple):
    X: Any
    y: Labels
    X_test: Any
    y_test: Labels


def split(X: Any, y: Labels, n_train: int) -> Data:
    return Data(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


def synthetic(n_train: int = 100_000, noise_scale: float = 100.0, seed: int = 0) -> Data:
    X, y = make_sparse_gaussian(n_train + n_train // 10, noise_scale=noise_scale, random_state=seed)
    return split(X, y, n_train)


def of_unit_length(data: Data) -> Data:
    return data._replace(X=normalize(data.X), X_test=normalize(data.X_test))


def stream(name: str, n_train: int, n_test: int, seed: int = 0) -> Data:
    """A stand-in for one of the two imbalanced sets."""
    return split(*make_stream_like(name, n_train + n_test, random_state=seed), n_train)


def imbalanced_file(path: Path, positive: Callable[[Any], Any], seed: int = 0, ratio: int = 99) -> Data:
    """A real data set with one positive for `ratio` negatives in training, as the paper made its two.

    Two thirds of the negatives are for training. The positives that are left over all go to the test rows, as a
    balanced accuracy does not depend on how many there are and is better known with more.
    """
    X, labels = load_svmlight_file(str(path), dtype=np.float64)
    X, y = X.tocsr(), positive(labels).astype(np.int64)
    rng = np.random.default_rng(seed)
    negatives, positives = (rng.permutation(np.flatnonzero(y == label)) for label in (0, 1))
    n_negatives = 2 * len(negatives) // 3
    n_positives = round(n_negatives / ratio)
    train = rng.permutation(np.concatenate([negatives[:n_negatives], positives[:n_positives]]))
    test = np.concatenate([negatives[n_negatives:], positives[n_positives:]])
    return Data(X[train], y[train], X[test], y[test])

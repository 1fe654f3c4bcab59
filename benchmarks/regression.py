"""R² of the regressors beside ridge regression, on tables that ship with scikit-learn or are generated.

    python benchmarks/regression.py

Five-fold cross-validation over rows in random order. Ridge gets standardised columns; the others get them as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_friedman1, make_regression
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sureline import AROWRegressor, ODCARegressor


def houses(n: int = 5000, seed: int = 0) -> tuple[Any, Any]:
    """Prices by income, age, rooms, bedrooms, population, occupancy and place: units from 1 to thousands, skewed."""
    rng = np.random.default_rng(seed)
    income, age, rooms = rng.lognormal(1.2, 0.45, n), rng.integers(1, 52, n), np.exp(rng.normal(1.6, 0.3, n))
    bedrooms, population = rooms * rng.normal(0.2, 0.02, n), rng.lognormal(7, 0.7, n)
    occupancy, latitude = rng.lognormal(1.05, 0.2, n), rng.uniform(32.5, 42, n)
    longitude = -119.5 - 0.8 * (latitude - 36) + rng.normal(0, 1, n)
    y = 4e4 * income + 900 * age - 9e3 * rooms + 9e4 * bedrooms - 2e4 * (latitude - 35)
    y = y + 1e5 * np.exp(-((latitude - 34) ** 2)) + rng.normal(0, 5e4, n)
    return np.column_stack([income, age, rooms, bedrooms, population, occupancy, latitude, longitude]), y


def tables() -> Iterator[tuple[str, Any, Any]]:
    """Name, X and y of each."""
    yield "diabetes", *load_diabetes(return_X_y=True)
    yield "diabetes, as measured", *load_diabetes(return_X_y=True, scaled=False)
    yield "houses (generated)", *houses()
    yield "friedman1 (generated)", *make_friedman1(2000, 10, noise=1.0, random_state=0)
    X, y = make_regression(1000, 50, n_informative=20, noise=50.0, random_state=1)
    yield "50 columns, y around 1e5", X, y + 1e5
    wine, cells = load_wine().data, load_breast_cancer().data
    yield "wine: proline", wine[:, :-1], wine[:, -1]
    yield "cells: radius", np.delete(cells, [0, 2, 3, 10, 12, 13, 20, 22, 23], 1), cells[:, 0]
    rng = np.random.default_rng(3)
    X = rng.poisson(2, (2000, 30)).astype(float)
    yield "counts (generated)", X, np.exp(0.05 * X @ rng.normal(size=30)) * 100 + rng.normal(0, 20, 2000)


IN_RANDOM_ORDER: dict[str, Any] = {"shuffle": True, "random_state": 0}
MODELS = {
    "Ridge": make_pipeline(StandardScaler(), Ridge()),
    "AROWRegressor": AROWRegressor(**IN_RANDOM_ORDER),
    "diag": AROWRegressor(covariance="diag", **IN_RANDOM_ORDER),
    "ODCARegressor": ODCARegressor(**IN_RANDOM_ORDER),
    "10 passes": ODCARegressor(passes=10, **IN_RANDOM_ORDER),
    "huber": ODCARegressor(loss="huber", passes=10, **IN_RANDOM_ORDER),
}


def main() -> None:
    print("| table | " + " | ".join(MODELS) + " |")
    print("|---|" + "---:|" * len(MODELS))
    for name, X, y in tables():
        folds = KFold(5, shuffle=True, random_state=0)
        scores = (cross_val_score(model, X, y, cv=folds).mean() for model in MODELS.values())
        print(f"| {name} | " + " | ".join(f"{score:.3f}" for score in scores) + " |", flush=True)


if __name__ == "__main__":
    main()

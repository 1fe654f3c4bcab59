"""Rows for training and rows for testing."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .data import Rows
from .outcome import labelled


@dataclass(frozen=True)
class Split:
    """Rows (CSR) and labels of -1 and +1, for training and for testing; `stand_in` as in `Rows`."""

    X: Any
    y: npt.NDArray[np.int64]
    X_test: Any
    y_test: npt.NDArray[np.int64]
    stand_in: str | None = None

    def label(self, name: str) -> str:
        """The name of the data set, for all that is said of it."""
        return labelled(name, self.stand_in)

    def shuffled(self, seed: int) -> Split:
        """The training rows in another order."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        return replace(self, X=self.X[order], y=self.y[order])

    def of_unit_length(self) -> Split:
        from sklearn.preprocessing import normalize

        return replace(self, X=normalize(self.X), X_test=normalize(self.X_test))

    def in_words(self) -> str:
        """What there is of it."""
        n, n_features = self.X.shape
        positive, positive_test = int((self.y > 0).sum()), int((self.y_test > 0).sum())
        return (
            f"{n:,} rows for training ({positive:,} positive) and {len(self.y_test):,} for testing ({positive_test:,} "
            f"positive), {n_features:,} features, {self.X.nnz / n:.0f} nonzeros a row"
        )


def first_rows(rows: Rows, n_train: int, n_test: int) -> Split:
    """The first rows for training, and those after them for testing."""
    X, y, stop = rows.X, rows.y, n_train + n_test
    return Split(X[:n_train], y[:n_train], X[n_train:stop], y[n_train:stop], rows.stand_in)


def shuffled_rows(rows: Rows, n_train: int, n_test: int, seed: int) -> Split:
    """The same of rows that come in an order that means something."""
    order = np.random.default_rng(seed).permutation(len(rows.y))[: n_train + n_test]
    return first_rows(Rows(rows.X[order], rows.y[order], rows.stand_in), n_train, n_test)


def imbalanced(rows: Rows, ratio: int, seed: int, n_train: int | None = None, n_test: int | None = None) -> Split:
    """Rows with one positive for `ratio` negatives in training.

    Two thirds of the negatives are for training, or as many as `n_train` rows have. The positives that are left over
    all go to the test rows, as a balanced accuracy does not depend on how many there are and is better known with
    more; unless `n_test` says how many test rows there are, of the same ratio.
    """
    rng = np.random.default_rng(seed)
    negatives, positives = (rng.permutation(np.flatnonzero(rows.y == label)) for label in (-1, 1))
    n_negatives = 2 * len(negatives) // 3 if n_train is None else n_train - n_train // (1 + ratio)
    n_positives = round(n_negatives / ratio)
    train = rng.permutation(np.concatenate([negatives[:n_negatives], positives[:n_positives]]))
    others, rare = negatives[n_negatives:], positives[n_positives:]
    if n_test is not None:
        others, rare = others[: n_test - n_test // (1 + ratio)], rare[: n_test // (1 + ratio)]
    test = np.concatenate([others, rare])
    return Split(rows.X[train], rows.y[train], rows.X[test], rows.y[test], rows.stand_in)

"""Cases shared by the tests on a fake device and on a real one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sureline import BCW
from sureline.models.record import CELLS, ROWS, SQUARES

ANSWERS = ("decision_function", "decision_std", "predict", "predict_proba", "confidence", "belief")


def data(n: int, d: int, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    scores = X @ rng.standard_normal((d, n_classes)) + 0.5 * rng.standard_normal((n, n_classes))
    return X, scores.argmax(axis=1)


def assert_same(there: Any, here: Any, tolerance: float = 1e-9) -> None:
    for name in ("coef_", "intercept_", "covariance_", "intercept_variance_"):
        np.testing.assert_allclose(
            getattr(there, name), getattr(here, name), rtol=tolerance, atol=tolerance, err_msg=name
        )
    # Binary problems that had no row of their own yet are equal, and rounding errors choose between them.
    ties = len(here.classes_) if here.multi_class == "ovr" and len(here.classes_) > 2 else 0
    assert abs(there.n_mistakes_ - here.n_mistakes_) <= ties
    assert (there.n_seen_, there.n_updates_) == (here.n_seen_, here.n_updates_)
    ours, theirs = there.model.record, here.model.record
    np.testing.assert_allclose(ours[[ROWS, SQUARES]], theirs[[ROWS, SQUARES]], rtol=1e-12)
    if there.n_seen_ > 200:  # rounding errors may move a score of 0 to the other side
        assert np.abs(ours[CELLS] - theirs[CELLS]).sum() <= 0.03 * theirs[CELLS].sum()


def taught_alike(seed: int, device: Callable[[Any], Any], widths: list[int], sizes: list[int]) -> tuple[Any, Any]:
    """Two models of a drawn configuration and the same batches: one learned on the device, the other on the host."""
    rng = np.random.default_rng(seed)
    d, n_classes = int(rng.choice(widths)), int(rng.choice([2, 2, 3, 5]))
    parameters: dict[str, Any] = {
        "C": float(10.0 ** rng.integers(-3, 3)),
        "q": int(rng.integers(1, 3)),
        "fit_intercept": bool(rng.integers(2)),
        "multi_class": str(rng.choice(["native", "ovr"])),
        "normalize": str(rng.choice(["none", "row", "scale"])),
        "class_weight": [None, "balanced"][int(rng.integers(2))],
    }
    there, here = BCW(**parameters), BCW(**parameters)
    classes = np.arange(n_classes)
    for k in range(int(rng.integers(1, 4))):
        X, y = data(int(rng.choice(sizes)), d, n_classes, seed=100 * seed + k)
        X = X.astype(rng.choice([np.float32, np.float64]))
        weight = rng.choice([0.0, 0.5, 2.0], len(y)) if rng.integers(2) else None
        if weight is not None:
            weight[0] = 1.0
        of_weight = None if weight is None else device(weight)
        there.partial_fit(device(X), device(y), classes=classes, sample_weight=of_weight)
        here.partial_fit(X, y, classes=classes, sample_weight=weight)
    return there, here


def assert_answers_alike(there: Any, here: Any, device: Callable[[Any], Any], values_of: Callable[[Any], Any]) -> None:
    """Answers for rows on the device and on the host, by both models."""
    X, _ = data(50, there.n_features_in_, seed=7)
    for answer in ANSWERS:
        ours = getattr(there, answer)(X)
        theirs = values_of(getattr(there, answer)(device(X)))
        if answer != "predict" or there.n_seen_ > 20:  # few rows leave ties, which rounding errors decide
            np.testing.assert_allclose(theirs, ours, rtol=1e-7, atol=1e-9)
        if answer == "predict":  # one of the best, where several are
            scores = np.reshape(here.decision_function(X), (len(X), -1))
            scores = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
            chosen = scores[np.arange(len(X)), np.searchsorted(here.classes_, ours)]
            np.testing.assert_allclose(chosen, scores.max(axis=1), rtol=1e-7, atol=1e-9)
        elif answer not in ("predict_proba", "confidence"):  # calibrated by records, which may differ
            np.testing.assert_allclose(ours, getattr(here, answer)(X), rtol=1e-7, atol=1e-9)


def bad_values(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    X = X.copy()
    X[7, 3] = np.nan
    return X, y


REFUSED = {
    "a value": bad_values,
    "one dimension": lambda X, y: (X[:, 0], y),
    "three dimensions": lambda X, y: (X[:, :, np.newaxis], y),
    "no rows": lambda X, y: (X[:0], y[:0]),
    "other rows": lambda X, y: (X[:-1], y),
    "other columns": lambda X, y: (X[:, :-1], y),
    "another class": lambda X, y: (X, y + 5),
    "too long": lambda X, y: (X * 4e307, y),
}

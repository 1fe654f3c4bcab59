"""Every learner with every covariance and variant: what most tests go over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import sureline
from sureline import reference


@dataclass(frozen=True)
class Case:
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{v}" for v in self.parameters.values())])

    @property
    def gaussian(self) -> bool:
        return "covariance" in self.parameters

    def make(self, **more: Any) -> Any:
        return getattr(sureline, self.name)(**{**self.parameters, **more})

    def reference(self, **more: Any) -> Any:
        return getattr(reference, self.name)(**{**self.parameters, **more})


FIRST_ORDER = [
    Case("Perceptron"),
    Case("PA", {"variant": "hard"}),
    Case("PA", {"variant": "I", "C": 0.5}),
    Case("PA", {"variant": "II", "C": 0.5}),
    Case("ROMMA", {"aggressive": False}),
    Case("ROMMA", {"aggressive": True}),
    Case("ALMA", {"alpha": 0.8}),
]
GAUSSIAN = [
    Case(name, {**parameters, "covariance": covariance})
    for covariance in ("diag", "full")
    for name, parameters in [
        ("SOP", {"a": 2.0}),
        ("IELLIP", {"b": 0.4, "c": 0.2}),
        ("CW", {"eta": 0.7}),
        ("AROW", {"r": 0.5}),
        ("NAROW", {"b": 2.0}),
        ("NHERD", {"C": 0.5}),
        ("SCW", {"variant": "I", "C": 0.3, "eta": 0.75}),
        ("SCW", {"variant": "II", "C": 0.3, "eta": 0.8}),
    ]
]
ALL = FIRST_ORDER + GAUSSIAN

every_case = pytest.mark.parametrize("case", ALL, ids=str)
every_gaussian = pytest.mark.parametrize("case", GAUSSIAN, ids=str)


def stream(n_rows: int = 300, n_columns: int = 12, n_classes: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Half-empty rows with some noise in the labels, one row of zeros among them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_columns)) * (rng.random((n_rows, n_columns)) < 0.6)
    X[n_rows // 2] = 0
    scores = X @ rng.standard_normal((n_columns, n_classes)) + 0.5 * rng.standard_normal((n_rows, n_classes))
    return X, scores.argmax(axis=1)


def everything(model: Any) -> list[Any]:
    """All that was learned, for comparing to the bit."""
    state = model._state
    arrays = [state.weights, state.memory, state.tally] + ([] if state.factors is None else [state.factors])
    counters = [model.n_seen_, model.n_mistakes_, model.n_updates_, model.n_features_in_, model.classes_.tolist()]
    return [a.tobytes() for a in arrays] + counters

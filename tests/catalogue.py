"""Every learner with every covariance and variant: what most tests go over."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import sureline
from sureline import reference


def as_published(kind: Any, **parameters: Any) -> Any:
    """A learner with its paper's parameters and unscaled rows, except for these parameters."""
    return kind(**{"normalize": "none", **kind.published, **parameters})


@dataclass(frozen=True)
class Case:
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{v}" for v in self.parameters.values())])

    @property
    def gaussian(self) -> bool:
        return "covariance" in self.parameters or self.name == "SOFS"

    @property
    def needs_two_classes(self) -> bool:
        """More are refused, unless each is learned against the rest."""
        return isinstance(self.parameters.get("cost"), tuple) or "margin_pos" in self.parameters

    @property
    def fixed(self) -> bool:
        """All classes and columns must be known from the start."""
        return self.parameters.get("regularizer") == "kl"

    def make(self, **more: Any) -> Any:
        """Parameters as published: unscaled rows unless said otherwise."""
        return as_published(getattr(sureline, self.name), **self._settings(more))

    def reference(self, **more: Any) -> Any:
        return getattr(reference, self.name)(**self._settings(more))

    def _settings(self, more: dict[str, Any]) -> dict[str, Any]:
        return {**self.parameters, **more, **({"multi_class": "ovr"} if self.needs_two_classes else {})}


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
COST_SENSITIVE = [
    Case("CSOGD", {"eta": 0.5, "form": "slope", "cost": (3.0, 0.5)}),
    Case("CSOGD", {"eta": 0.02, "form": "margin", "cost": (3.0, 0.5), "loss": "squared_hinge", "power_t": 0.7}),
    Case("CPA", {"C": 0.5, "cost": (4.0, 0.5)}),
    Case("CPA", {"C": 0.5, "cost": "balanced"}),
    Case("PAUM", {"eta": 0.5, "margin_pos": 2.0, "margin_neg": 0.5}),
]
SPARSE = [
    Case("OGD", {"eta": 0.5, "loss": "log"}),
    Case("OGD", {"eta": 0.5, "loss": "hinge", "power_t": 0.0}),
    Case("STG", {"eta": 0.1, "lam": 0.02, "K": 7}),
    Case("STG", {"eta": 0.1, "lam": 0.1, "K": 1, "theta": 0.2, "loss": "log"}),
    Case("FOBOS", {"eta": 0.7, "lam": 0.05}),
    Case("FOBOS", {"eta": 0.7, "lam": 0.02, "loss": "log"}),
    Case("RDA", {"gamma": 2.0, "lam": 0.01}),
    Case("RDA", {"gamma": 2.0, "lam": 0.005, "rho": 0.1, "loss": "log"}),
    Case("AdaFOBOS", {"eta": 0.5, "lam": 0.02, "delta": 0.5}),
    Case("AdaFOBOS", {"eta": 0.5, "lam": 0.01, "delta": 0.5, "loss": "squared_hinge"}),
    Case("AdaRDA", {"eta": 0.5, "lam": 0.02, "delta": 0.5}),
    Case("AdaRDA", {"eta": 0.5, "lam": 0.01, "delta": 0.5, "loss": "log"}),
    Case("FTRL", {"alpha": 0.3, "l1": 0.5, "l2": 0.1}),
    Case("FTRL", {"alpha": 0.3, "l1": 0.5, "l2": 0.1, "loss": "hinge"}),
    Case("FSOL", {"eta": 0.1, "lam": 2.0}),
    Case("FSOL", {"eta": 0.1, "lam": 0.01, "schedule": "t", "cost": "balanced"}),
    Case("FSOL", {"eta": 0.1, "lam": 50.0, "schedule": "1/t", "loss": "log"}),
    Case("SSOL", {"eta": 0.5, "lam": 3.0, "r": 2.0, "covariance": "diag"}),
    Case("SSOL", {"eta": 0.5, "lam": 3.0, "r": 2.0, "covariance": "full"}),
    Case("SSOL", {"eta": 0.5, "lam": 0.02, "r": 2.0, "covariance": "diag", "schedule": "constant", "cost": "balanced"}),
    Case("SSOL", {"eta": 0.5, "lam": 1e-4, "covariance": "full", "schedule": "t", "cost": (3.0, 0.5), "loss": "log"}),
]
SELECTING = [
    Case("SOFS", {"n_features": 5, "r": 0.5}),
    Case("FOFS", {"n_features": 5, "eta": 0.2, "lam": 0.01}),
    Case("FOFS", {"n_features": 6, "eta": 0.3, "lam": 0.2}),
    Case("FOFS", {"n_features": 7, "eta": 0.05, "lam": 0.0}),
]
ONLINE_DUAL = [
    Case("ODCA", {"rho": 0.05}),
    Case("ODCA", {"rho": 0.02, "window": "exponential", "beta": 0.97}),
    Case("ODCA", {"rho": 0.2, "window": "sliding", "length": 60}),
    Case("ODCA", {"rho": 0.02, "loss": "log", "regularizer": "elastic_net", "delta": 0.2}),
    Case("ODCA", {"rho": 0.05, "window": "exponential", "half_life": 30, "regularizer": "elastic_net", "delta": 0.5}),
    Case("ODCA", {"rho": 0.2, "window": "sliding", "length": 80, "regularizer": "elastic_net", "loss": "huber"}),
    Case("ODCA", {"rho": 0.05, "window": "exponential", "beta": 0.9, "loss": "squared_hinge", "smoothing": 0.95}),
    Case("ODCA", {"rho": 0.05, "window": "sliding", "length": 30, "loss": "absolute", "smoothing": 1.0}),
    Case(
        "ODCA",
        {
            "rho": 0.05,
            "window": "exponential",
            "beta": 0.95,
            "regularizer": "elastic_net",
            "delta": 0.3,
            "smoothing": 0.9,
        },
    ),
]
SIMPLEX = [
    Case("ODCA", {"rho": 0.2, "regularizer": "kl", "loss": "log"}),
    Case("ODCA", {"rho": 0.2, "regularizer": "kl", "window": "exponential", "beta": 0.97, "smoothing": 0.5}),
    Case("ODCA", {"rho": 0.2, "regularizer": "kl", "window": "sliding", "length": 40, "loss": "squared"}),
]
# The same once more with a budget, for which there is no reference: what must hold of it is in test_budget.py.
BUDGETED = [
    Case("FSOL", {"eta": 0.1, "max_nonzero": 7}),
    Case("AdaRDA", {"eta": 0.5, "max_nonzero": 7}),
    Case("SSOL", {"r": 2.0, "covariance": "diag", "max_nonzero": 7}),
    Case("SSOL", {"r": 2.0, "covariance": "full", "max_nonzero": 7}),
]
# One of each kind of numbers, and of each way in which a threshold moves.
AVERAGED = [
    Case("PA", {"variant": "I", "C": 0.5, "average": True}),
    Case("ROMMA", {"aggressive": True, "average": 20.0}),
    Case("ALMA", {"alpha": 0.8, "average": True}),
    Case("SOP", {"a": 2.0, "covariance": "diag", "average": 40.0}),
    Case("AROW", {"r": 0.5, "covariance": "diag", "average": True}),
    Case("AROW", {"r": 0.5, "covariance": "full", "average": 0.5}),
    Case("STG", {"eta": 0.1, "lam": 0.1, "K": 3, "theta": 0.2, "average": True}),
    Case("FOBOS", {"eta": 0.7, "lam": 0.05, "average": 30.0}),
    Case("RDA", {"gamma": 2.0, "lam": 0.005, "rho": 0.1, "loss": "log", "average": True}),
    Case("AdaFOBOS", {"eta": 0.5, "lam": 0.02, "delta": 0.5, "average": True}),
    Case("AdaRDA", {"eta": 0.5, "lam": 0.02, "delta": 0.5, "average": 50.0}),
    Case("FTRL", {"alpha": 0.3, "l1": 0.5, "l2": 0.1, "average": True}),
    Case("FSOL", {"eta": 0.1, "lam": 50.0, "schedule": "1/t", "loss": "log", "average": 30.0}),
    Case("SSOL", {"eta": 0.5, "lam": 3.0, "r": 2.0, "covariance": "diag", "average": True}),
    Case("SSOL", {"eta": 0.5, "lam": 3.0, "r": 2.0, "covariance": "full", "average": True}),
    Case("ODCA", {"rho": 0.05, "regularizer": "elastic_net", "delta": 0.2, "average": 30.0}),
]
WITH_REFERENCE = FIRST_ORDER + GAUSSIAN + COST_SENSITIVE + SPARSE + SELECTING + ONLINE_DUAL + SIMPLEX + AVERAGED
ALL = WITH_REFERENCE + BUDGETED
GAUSSIAN = GAUSSIAN + [case for case in SPARSE + SELECTING + AVERAGED if case.gaussian]

every_case = pytest.mark.parametrize("case", ALL, ids=str)
# What two labels mean must be said before the first comes.
every_case_that_grows = pytest.mark.parametrize(
    "case", [case for case in ALL if not case.needs_two_classes and not case.fixed], ids=str
)
every_case_with_reference = pytest.mark.parametrize("case", WITH_REFERENCE, ids=str)
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
    if state.sums is not None:
        arrays.append(state.sums[: state.n_columns + 1])
    parts = [None if part is None else part.__getstate__() for part in (state.extras, state.average)]
    return [a.tobytes() for a in arrays] + [*counters, *parts]

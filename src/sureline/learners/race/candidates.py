"""The candidates of a race where no learner is named, as data."""

from __future__ import annotations

from typing import Any

from ..catalogue import LEARNERS
from ..online import OnlineLearner

# No single setting is near the best on every kind of data. Noisy tables, sparse text and drifting streams want
# different rates, memories and scales; this list has a setting for each. `benchmarks/defaults.py` chooses them. The
# first one is used if the rows cannot decide; if there is no room for all, the last ones are left out.
CANDIDATES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("SCW", {}),
    ("SCW", {"eta": 0.75, "normalize": "row"}),
    ("AdaFOBOS", {"eta": 0.125}),
    ("SCW", {"eta": 0.75, "covariance": "full"}),
    ("SCW", {"C": 2.0**-5, "eta": 0.6}),
    ("CW", {"eta": 0.95, "normalize": "none"}),
    ("SSOL", {"r": 2.0**-4, "eta": 1.0, "normalize": "row"}),
    ("AROW", {"r": 16.0, "covariance": "full"}),
    ("FTRL", {"alpha": 1.0, "beta": 2.0**-6, "normalize": "row"}),
    ("SOFS", {"r": 0.25}),
    ("AROW", {"r": 0.125, "covariance": "full", "normalize": "none"}),
    ("CW", {"eta": 0.95, "normalize": "row"}),
    ("FTRL", {"alpha": 2.0**-6, "beta": 2.0**-6}),
    ("PA", {"C": 0.5, "average": True}),
    ("SCW", {"C": 2.0**-5, "eta": 0.6, "normalize": "none"}),
    ("CW", {"eta": 0.95}),
    ("FTRL", {"alpha": 2.0**-6, "beta": 2.0**-6, "normalize": "none"}),
    ("AROW", {"r": 2.0}),
    ("AROW", {"r": 1.0, "covariance": "full"}),
    ("PA", {"C": 0.5, "average": True, "normalize": "none"}),
    ("ODCA", {"rho": 1e-2, "loss": "log"}),
    ("SCW", {"eta": 0.75, "normalize": "none"}),
    ("FTRL", {"alpha": 0.25, "beta": 0.125, "normalize": "row"}),
    ("AROW", {"r": 2.0, "normalize": "none"}),
    ("AdaFOBOS", {"eta": 0.5, "normalize": "row"}),
    ("SCW", {"eta": 0.75}),
)

NARROW = 100  # columns, up to which full covariances take part


def entrants(parameters: dict[str, Any]) -> list[OnlineLearner]:
    """The learners of the candidates, with parameters that all learners have; no two of them are the same."""
    found: dict[tuple[Any, ...], OnlineLearner] = {}
    for name, settings in CANDIDATES:
        learner = LEARNERS[name](**{**settings, **parameters})
        assert isinstance(learner, OnlineLearner)
        learner.check_parameters()
        found.setdefault((name, *map(repr, learner.parameters().values())), learner)
    return list(found.values())

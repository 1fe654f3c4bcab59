"""Every learner by its name: the classes with a `paper` in the modules of algorithms."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from .learner import Learner

# In the order of their modules and, there, of their definitions.
_MODULES = (
    *("first_order", "second_order", "sparse_descent", "sparse_online", "cost_sensitive", "online_selection"),
    *("online_dual", "least_squares", "online_batch", "feature_groups", "kernel"),
)


def _algorithms(module: str) -> list[type[Learner]]:
    found = import_module(f".{module}", __package__)
    return [
        kind
        for kind in vars(found).values()
        if isinstance(kind, type) and issubclass(kind, Learner) and "paper" in vars(kind)
        # imported classes are listed by their own module
        if kind.__module__ == found.__name__
    ]


EVERY_LEARNER: dict[str, type[Learner]] = {kind.__name__: kind for module in _MODULES for kind in _algorithms(module)}
LEARNERS = {name: kind for name, kind in EVERY_LEARNER.items() if kind.has_command}
# Learners for small data: they cannot train from a stream, but have model files.
WITHOUT_COMMAND = {name: kind for name, kind in EVERY_LEARNER.items() if not kind.has_command}
# Learners that go over their data many times are estimators only: their modules in `sureline.estimators`.
IN_MEMORY = {"L1SVM": "l1", "SDCA": "sdca", "SparseDCA": "l1"}

_BY_PLAIN_NAME = {name.lower(): learner for name, learner in LEARNERS.items()}
_NOT_FROM_STREAMS = {name.lower() for name in (*WITHOUT_COMMAND, *IN_MEMORY)}


def learner_of(estimator: Learner) -> type[Learner]:
    """The class that learns from a stream in the place of an estimator: the learner of the same name."""
    return type(estimator) if estimator.in_python else learner_named(type(estimator).__name__)


def learner_named(name: str) -> type[Learner]:
    """The learner of that name, written in any case, with or without a hyphen: "ssol", "Ada-RDA"."""
    try:
        return _BY_PLAIN_NAME[name.lower().replace("-", "").replace("_", "")]
    except KeyError:
        if name.lower() in _NOT_FROM_STREAMS:
            raise ValueError(
                f"{name!r} is for data that is in memory, and does not learn from streams: use it from Python."
            ) from None
        near = get_close_matches(name.lower(), _BY_PLAIN_NAME, 1)
        meant = f" (did you mean {near[0]}?)" if near else ""
        known = ", ".join(sorted(_BY_PLAIN_NAME))
        raise ValueError(f"There is no algorithm {name!r}{meant}; there are {known}.") from None

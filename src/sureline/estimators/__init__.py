"""The learners as scikit-learn estimators: the classes that users see.

Each class is created at its first use, from the learner of the same name. `tools/generated.py` writes `__init__.pyi`
for type checkers.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    from ..learners.catalogue import EVERY_LEARNER, IN_MEMORY

    if name in EVERY_LEARNER:
        from .derived import estimator_of

        value = estimator_of(EVERY_LEARNER[name], __name__)
    elif name in IN_MEMORY:
        value = getattr(import_module(f".{IN_MEMORY[name]}", __name__), name)
    elif name == "__all__":
        return [*EVERY_LEARNER, *IN_MEMORY]
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, value)


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})

"""Names for several estimators that a caller passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def named(
    estimators: Mapping[Any, Any] | Sequence[Any], name: Callable[[Any, Sequence[Any]], str], twice: str
) -> dict[str, Any]:
    """Estimators by the caller's names; for a list, `name` makes them, given all estimators.

    `twice` is the message for a repeated name.
    """
    if isinstance(estimators, Mapping):
        return {str(key): estimator for key, estimator in estimators.items()}
    names = [name(estimator, estimators) for estimator in estimators]
    for key in names:
        if names.count(key) > 1:
            raise ValueError(twice.format(key))
    return dict(zip(names, estimators, strict=True))

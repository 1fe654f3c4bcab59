"""Names for several estimators that a caller passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any


def named(
    estimators: Mapping[Any, Any] | Sequence[Any], name: Callable[[Any, Sequence[Any]], str], twice: str
) -> dict[str, Any]:
    """Estimators by the caller's names; those of a list by what `name` makes of each, given all of them.

    `twice` is the message for a name that comes twice.
    """
    if isinstance(estimators, Mapping):
        return {str(key): estimator for key, estimator in estimators.items()}
    names = [name(estimator, estimators) for estimator in estimators]
    for key in names:
        if names.count(key) > 1:
            raise ValueError(twice.format(key))
    return dict(zip(names, estimators, strict=True))

"""A budget of nonzero weights, in place of a penalty."""

from __future__ import annotations

from typing import Any

from .parameters import Number

BUDGETS = Number(1, integer=True, optional=True)  # of `max_nonzero`


def budget_of(learner: Any) -> dict[str, Any]:
    """The budget of nonzero weights that takes the place of the penalty `lam`, for the state to start with."""
    if learner.max_nonzero is not None and learner.lam != 0:
        raise ValueError(
            f"The 'max_nonzero' parameter of {type(learner).__name__} chooses the penalty, so 'lam' must be 0 with "
            f"it. Got max_nonzero={learner.max_nonzero!r} and lam={learner.lam!r}."
        )
    return {"max_nonzero": None if learner.max_nonzero is None else min(int(learner.max_nonzero), 1 << 48)}

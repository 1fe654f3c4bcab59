"""A budget of nonzero weights, in place of a penalty."""

from __future__ import annotations

from typing import Any

from .parameters import Number

BUDGETS = Number(1, integer=True, optional=True)  # of `max_nonzero`
_FEW_CUT = 0.1  # a penalty that leaves more than all but this share of the weights is not what it was set for


def budget_of(learner: Any) -> dict[str, Any]:
    """The budget of nonzero weights that takes the place of the penalty `lam`, for the state to start with."""
    if learner.max_nonzero is not None and learner.lam != 0:
        raise ValueError(
            f"The 'max_nonzero' parameter of {type(learner).__name__} chooses the penalty, so 'lam' must be 0 with "
            f"it. Got max_nonzero={learner.max_nonzero!r} and lam={learner.lam!r}."
        )
    return {"max_nonzero": None if learner.max_nonzero is None else min(int(learner.max_nonzero), 1 << 48)}


def idle_penalty(learner: Any) -> str | None:
    """A warning if a penalty leaves nearly all weights, in a learner that has a budget in place of it."""
    if not getattr(learner, "lam", 0) or not hasattr(learner, "max_nonzero") or learner.average:
        return None
    left, without = learner.nonzero_, _without_penalty(learner)
    if left <= (1 - _FEW_CUT) * without:
        return None
    return (
        f"lam={learner.lam:g} left {left:,} of {without:,} weights nonzero: a larger lam leaves fewer, and max_nonzero "
        "(--max-nonzero N) says how many"
    )


def _without_penalty(learner: Any) -> int:
    """How many weights the same sums of steps make without a penalty."""
    twin = type(learner)(**learner.parameters() | {"lam": 0.0})
    return int(learner.model.count_nonzero_by(twin.rule))

"""Figure 1 under other readings of the paper, and with what else could explain it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from sol_claims import kept_until
from sol_curves import FIRST_SEED, Result, evaluate, tune
from sol_paper import SPARSE, Data, Learner, of_unit_length, synthetic

from sureline import FOBOS, FSOL, SSOL, STG

LEVELS = [0.0, 0.5, 0.8, 0.85, 0.9, 0.95]
METRIC = "test_error"
TINY = [2.0**k for k in range(-24, 0, 2)]


def reasons_of_figure1(results: dict[str, Result], data: Data) -> str:
    """A table, of one order of the rows each."""
    head = ["condition", "learner", "tuned", *(f"{100 * level:g} %" for level in LEVELS), "kept until"]
    lines = ["### Other conditions\n", "The same, with one order of the rows, where one thing is changed.\n"]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for condition, result in _conditions(results, data):
        tuned = ", ".join(f"{name}={value:g}" for name, value in result.params.items())
        errors = [f"{100 * error:.2f}" for error in result.at(LEVELS)[0]]
        lines.append(
            "| "
            + " | ".join([condition, result.learner.name, tuned, *errors, f"{100 * kept_until(result):.1f} %"])
            + " |"
        )
        print(lines[-1], flush=True)
    return "\n".join(lines)


def _conditions(results: dict[str, Result], data: Data) -> Iterator[tuple[str, Result]]:
    for learner in SPARSE:
        yield "as above", _once(learner, data, results[learner.name].params)
    # Whether each example tells the truncation what to keep: the other schedules, at the parameters found above.
    for make, name, schedules in ((FSOL, "FSOL", ("1/t", "t")), (SSOL, "SSOL", ("constant", "t"))):
        for schedule in schedules:
            learner = replace(_named(name), make=_with(make, schedule=schedule))
            yield f"lambda_t by {schedule!r}", _once(learner, data, results[name].params)
    yield from _all("another draw of the data", synthetic(seed=1), results)
    yield from _all("100 as the variance of the noise", synthetic(noise_scale=10))
    yield from _all("rows of unit length", of_unit_length(data))
    yield from _all("the plane goes through the mean; with intercept", _through_the_mean(data), intercept=True)
    for name, make in (("STG", STG), ("FOBOS", FOBOS), ("FSOL", FSOL)):
        learner = Learner(name, make, {"eta": TINY})
        yield "learning rates below the grid, 2^-24 to 2^-2", _once(learner, data)
    for name, make in (("STG", STG),):
        for K in (1, 100):
            learner = Learner(name, _with(make, K=K), {"eta": [1.0]})
            yield f"truncation every {K} examples", _once(learner, data, results[name].params)


def _named(name: str) -> Learner:
    return next(learner for learner in SPARSE if learner.name == name)


def _with(make: Any, **fixed: Any) -> Any:
    return lambda **params: make(**{**params, **fixed})


def _all(
    condition: str, data: Data, known: dict[str, Result] | None = None, intercept: bool = False
) -> Iterator[tuple[str, Result]]:
    """Every learner, tuned anew on every other power of two unless its parameters are known."""
    for learner in SPARSE:
        params = None if known is None else known[learner.name].params
        yield condition, _once(replace(learner.thinned(2), fit_intercept=intercept), data, params)


def _once(learner: Learner, data: Data, params: dict[str, float] | None = None) -> Result:
    held_out = float("nan")
    if params is None:
        params, held_out = tune(learner, data, METRIC)
    return evaluate(learner, params, held_out, data, [FIRST_SEED], METRIC, gap=0.03, limit=60)


def _through_the_mean(data: Data, n_effective: int = 100) -> Data:
    """Labels by the side of the plane through the mean of the effective features, with the mean as its normal."""
    effective, effective_test = (np.asarray(X[:, :n_effective].todense()) for X in (data.X, data.X_test))
    mean = effective.mean(axis=0)
    y, y_test = (((X - mean) @ mean > 0).astype(np.int64) for X in (effective, effective_test))
    return data._replace(y=y, y_test=y_test)

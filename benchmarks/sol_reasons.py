"""What comes out under other readings of the paper, and with what else could explain a difference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sol_claims import kept_until
from sol_curves import FIRST_SEED, Curve, Result, evaluate, shuffled, tune
from sol_paper import COST_SENSITIVE, SPARSE, Data, Learner, Params, of_unit_length, synthetic

from sureline import FOBOS, FSOL, SSOL, STG
from sureline.metrics import tally

LEVELS = [0.0, 0.5, 0.8, 0.85, 0.9, 0.95]
BALANCED = "test_balanced_accuracy"
THETA_FIRST = "theta is truncated before S: w = S soft(theta, lam t)"
TINY = [2.0**k for k in range(-24, 0, 2)]


def reasons_of_figure1(results: dict[str, Result], data: Data) -> str:
    head = ["condition", "learner", "tuned", *(f"{100 * level:g} %" for level in LEVELS), "kept until"]
    rows = (
        [*_cells(condition, result, LEVELS), f"{100 * kept_until(result):.1f} %"]
        for condition, result in _conditions(results, data)
    )
    return _table("The same, with one order of the rows, where one thing is changed.", head, rows)


def reasons_of_figures45(results: dict[str, Result], data: Data, levels: list[float]) -> str:
    head = ["condition", "learner", "tuned", "no penalty", *(f"{100 * level:.4g} %" for level in levels)]
    few = data.X.shape[1] < 100_000
    conditions = _other_truncations(results, data) if few else _other_streams(results, data)
    rows = (_cells(condition, result, levels, free=True) for condition, result in conditions)
    text = "With one order of the rows, where one thing is changed."
    if few:
        text += " " + _kept_features(results, data, levels)
    return _table(text, head, rows)


def _cells(condition: str, result: Result, levels: list[float], free: bool = False) -> list[str]:
    tuned = ", ".join(f"{name}={value:g}" for name, value in result.params.items())
    values = [*(result.free if free else []), *result.at(levels)[0]]
    if not result.curves:
        values = [*result.free]
    shown = ["" if np.isnan(value) else f"{100 * value:.2f}" for value in values]
    return [condition, result.learner.name, tuned, *shown, *[""] * (len(levels) + free - len(shown))]


def _table(text: str, head: list[str], rows: Iterable[list[str]]) -> str:
    lines = ["### Other conditions\n", f"{text}\n", f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    for cells in rows:
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


def _conditions(results: dict[str, Result], data: Data) -> Iterator[tuple[str, Result]]:
    for learner in SPARSE:
        yield "as above", _once(learner, data, results[learner.name].params)
    # Other thresholds, at the parameters found above.
    for make, name, schedules in ((FSOL, "FSOL", ("1/t", "t")), (SSOL, "SSOL", ("constant", "t"))):
        for schedule in schedules:
            learner = replace(_named(name), make=_with(make, schedule=schedule))
            yield f"lambda_t by {schedule!r}", _once(learner, data, results[name].params)
    yield THETA_FIRST, _theta_first(_named("SSOL"), results["SSOL"].params, data, "test_error")
    yield from _all("another draw of the data", synthetic(seed=1), results)
    yield from _all("100 as the variance of the noise", synthetic(noise_scale=10))
    yield from _all("rows of unit length", of_unit_length(data))
    both = "100 as the variance of the noise, rows of unit length"
    yield from _all(both, of_unit_length(synthetic(noise_scale=10)))
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


def _once(learner: Learner, data: Data, params: Params | None = None, metric: str = "test_error") -> Result:
    held_out = float("nan")
    if params is None:
        params, held_out = tune(learner, data, metric)
    gap, limit = (0.03, 60) if data.X.shape[1] < 100_000 else (0.08, 30)
    return evaluate(learner, params, held_out, data, [FIRST_SEED], metric, gap=gap, limit=limit)


def _through_the_mean(data: Data, n_effective: int = 100) -> Data:
    """Labels by the side of the plane through the mean of the effective features, with the mean as its normal."""
    effective, effective_test = (np.asarray(X[:, :n_effective].todense()) for X in (data.X, data.X_test))
    mean = effective.mean(axis=0)
    y, y_test = (((X - mean) @ mean > 0).astype(np.int64) for X in (effective, effective_test))
    return data._replace(y=y, y_test=y_test)


# -- figures 4 and 5 --------------------------------------------------------------------------------------------------


def _other_truncations(results: dict[str, Result], data: Data) -> Iterator[tuple[str, Result]]:
    """CS-FSOL and CS-SSOL, and what CS-SSOL would be with other thresholds."""
    for name in ("CS-FSOL", "CS-SSOL"):
        yield "as above", _once(results[name].learner, data, results[name].params, BALANCED)
    params = results["CS-SSOL"].params
    for schedule in ("constant", "t"):
        learner = Learner("CS-SSOL", _with(SSOL, schedule=schedule, cost="balanced"), {})
        yield f"lambda_t by {schedule!r}", _once(learner, data, params, BALANCED)
    yield THETA_FIRST, _theta_first(results["CS-SSOL"].learner, params, data, BALANCED)


def _other_streams(results: dict[str, Result], data: Data) -> Iterator[tuple[str, Result]]:
    """Beyond the grid, and a stream whose features are not all of one scale."""
    wide = Learner("CS-SSOL", _with(SSOL, cost="balanced"), {"r": [2.0**8, 2.0**11, 2.0**14], "eta": [0.5, 16, 512]})
    yield "r beyond the grid, 2^8, 2^11 or 2^14", _once(wide, data, None, BALANCED)
    scales = np.exp(np.random.default_rng(0).normal(0, 2, data.X.shape[1])).astype(np.float32)
    X, X_test = (rows @ sparse.diags(scales, format="csr") for rows in (data.X, data.X_test))
    scaled = data._replace(X=X.tocsr(), X_test=X_test.tocsr())
    for name in ("CS-FSOL", "CS-SSOL", "CS-OGD"):
        learner = next(one for one in COST_SENSITIVE if one.name == name).thinned(5)
        yield "features scaled by exp(N(0, 4))", _once(learner, scaled, None, BALANCED)


def _kept_features(results: dict[str, Result], data: Data, levels: list[float]) -> str:
    """How often the features come that the sparse models keep, where CS-SSOL is furthest behind CS-FSOL."""
    frequency = np.bincount(data.X.indices, minlength=data.X.shape[1]) / data.X.shape[0]
    behind = results["CS-FSOL"].at(levels).mean(axis=0) - results["CS-SSOL"].at(levels).mean(axis=0)
    level = levels[int(np.nanargmax(behind))]
    parts = []
    for name in ("CS-FSOL", "CS-SSOL"):
        curve = results[name].curves[0]
        lam = float(curve.lams[np.argmin(np.abs(curve.sparsity - level))])
        model = results[name].learner.build({**results[name].params, "lam": lam})
        part = shuffled(data, FIRST_SEED)
        kept = model.fit(part.X, part.y).coef_[0] != 0
        often = 100 * np.median(frequency[kept])
        parts.append(f"the {kept.sum():,} that {name} keeps in less than {often:.3f} %")
    median = 100 * np.median(frequency[frequency > 0])
    return (
        f"Half of the features come in less than {median:.3f} % of the rows; at a sparsity of {100 * level:.4g} % half "
        f"of {' and half of '.join(parts)}."
    )


def _theta_first(learner: Learner, params: Params, data: Data, metric: str) -> Result:
    """SSOL or CS-SSOL in plain NumPy, with theta truncated and then multiplied by S instead of the other way around."""
    part = shuffled(data, FIRST_SEED)
    lams = np.array([0, *np.geomspace(1e-5, 10, 31)])
    weights = [_theta_first_pass(part, lam, metric == BALANCED, **params) for lam in lams]
    tallies = [tally(part.y_test, (part.X_test @ w > 0).astype(int), classes=[0, 1]) for w in weights]
    values = np.array([getattr(counted, metric.removeprefix("test_")) for counted in tallies])
    sparsities = np.array([np.mean(w == 0) for w in weights])
    curve = Curve(lams, sparsities, values, np.full(len(lams), np.nan))
    return Result(learner, params, float("nan"), [curve], values[:1], curve.progressive[:1])


def _theta_first_pass(data: Data, lam: float, balanced: bool, eta: float, r: float) -> Any:
    theta, S = np.zeros(data.X.shape[1]), np.ones(data.X.shape[1])
    seen = [0, 0]
    for t, label in enumerate(data.y.tolist(), start=1):
        row = slice(data.X.indptr[t - 1], data.X.indptr[t])
        j, x = data.X.indices[row], data.X.data[row]
        S[j] -= S[j] ** 2 * x**2 / (r + S[j] @ x**2)
        w = S[j] * np.sign(theta[j]) * np.maximum(np.abs(theta[j]) - lam * t, 0)
        y = 2 * label - 1
        seen[label] += 1
        if y * (w @ x) < 1:
            cost = seen[0] / seen[1] if balanced and label and seen[0] else 1
            theta[j] += eta * cost * y * x
    return S * np.sign(theta) * np.maximum(np.abs(theta) - lam * (len(data.y) + 1), 0)

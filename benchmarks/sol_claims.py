"""What sections 5.2 and 5.5 of the paper say about its figures, as checks with numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sol_curves import Floats, Result
from sol_paper import AVERAGED, TRUNCATED

HIGH = np.array([0.8, 0.85, 0.9])
TOLERANCE = 0.005  # half a point more still counts as the same error


class Verdict(NamedTuple):
    claim: str
    holds: list[bool]  # for each learner, or whatever else it is about
    numbers: str


def mean_and_deviation(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0


def per_cent(values: Floats) -> str:
    mean, deviation = mean_and_deviation(values)
    return "" if np.isnan(mean) else f"{100 * mean:.2f} ± {100 * deviation:.2f}"


def kept_until(result: Result) -> float:
    """The highest sparsity whose error is, in the mean, at most half a point above that without a penalty."""
    levels = np.linspace(0, 1, 201)
    rise = np.nanmean(result.at(levels) - result.free[:, None], axis=0)
    return float(levels[rise <= TOLERANCE].max())


def claims_of_figure1(results: dict[str, Result]) -> list[Verdict]:
    until = {name: kept_until(result) for name, result in results.items()}
    error = {name: result.at([0, 0.5, *HIGH, 0.95, 0.975]).mean(axis=0) for name, result in results.items()}

    def told(names: list[str], text: str) -> str:
        return "; ".join(f"{name} " + text.format(*(100 * error[name]), until=100 * until[name]) for name in names)

    others = {name: error[name] for name in results if name != "SSOL"}
    next_best = [min(others, key=lambda name: others[name][i]) for i in range(6)]
    leads = ", ".join(
        f"{100 * error['SSOL'][i]:.2f} against {100 * others[name][i]:.2f} ({name}) at {level:.0%}"
        for i, (name, level) in enumerate(zip(next_best, [0, 0.5, *HIGH, 0.95], strict=True))
    )
    return [
        Verdict(
            "(a) dual averaging keeps its error, or lowers it, up to a sparsity of 90 %",
            [until[name] >= 0.9 for name in AVERAGED],
            told(AVERAGED, "{0:.1f} → {4:.1f} (kept until {until:.1f} %)"),
        ),
        Verdict(
            "(b) truncated gradient loses it as the sparsity grows",
            [until[name] < 0.5 and error[name][1] > error[name][0] + 0.1 for name in TRUNCATED],
            told(TRUNCATED, "{0:.1f} → {1:.1f} at 50 % (kept until {until:.1f} %)"),
        ),
        Verdict(
            "(c) SSOL has the lowest error up to a sparsity of 90 %",
            [bool(error["SSOL"][i] < others[name][i]) for i, name in enumerate(next_best[:5])],
            "SSOL " + leads,
        ),
        Verdict(
            "(d) above 90 % the error of dual averaging rises dramatically",
            [error[name][6] > 2 * error[name][4] for name in AVERAGED],
            told(AVERAGED, "{3:.1f} at 85 %, {4:.1f} at 90 %, {5:.1f} at 95 %, {6:.1f} at 97.5 %"),
        ),
    ]


def claims_of_figures45(results: dict[str, Result], levels: Floats) -> list[Verdict]:
    pairs = [(result, results[result.learner.plain]) for result in results.values() if result.learner.plain in results]
    free = {name: float(result.free.mean()) for name, result in results.items()}
    at = {name: result.at(levels).mean(axis=0) for name, result in results.items() if result.curves}
    # What the costs bring a sparse learner, where both it and its plain form have models that sparse.
    gains = {
        costs.learner.name: at[costs.learner.name] - at[plain.learner.name] for costs, plain in pairs if costs.curves
    }
    order = sorted(free, key=lambda name: -free[name])
    best = [max(at, key=lambda name: -1 if np.isnan(at[name][i]) else at[name][i]) for i in range(len(levels))]
    second, first = ["Ada-FOBOS", "Ada-RDA", "SSOL"], ["FOBOS", "FSOL", "FSOL"]

    def listed(names: list[str]) -> str:
        return ", ".join(f"{name} {100 * free[name]:.1f}" for name in names)

    return [
        Verdict(
            "(e) every cost-sensitive learner beats its plain form",
            [bool(costs.free.mean() > plain.free.mean()) for costs, plain in pairs],
            "; ".join(
                f"{costs.learner.name} {100 * costs.free.mean():.1f} against {100 * plain.free.mean():.1f}, in "
                f"{(costs.free > plain.free).sum()} of {len(costs.free)} orders (progressive "
                f"{100 * costs.progressive.mean():.1f} against {100 * plain.progressive.mean():.1f})"
                for costs, plain in pairs
            ),
        ),
        Verdict(
            "(f) CS-FSOL and CS-SSOL are better than FSOL and SSOL, and never worse, at all of these sparsities",
            [bool(np.nanmin(gain) >= 0 and np.nanmax(gain) > 0) for gain in gains.values()],
            "; ".join(
                f"{name} by {100 * np.nanmin(gain):.1f} to {100 * np.nanmax(gain):.1f}" for name, gain in gains.items()
            ),
        ),
        Verdict("(g) without penalty CS-SSOL is the best of all", [order[0] == "CS-SSOL"], listed(order[:5])),
        Verdict(
            "(h) CS-SSOL is the best sparse learner at all of these sparsities",
            [name == "CS-SSOL" for name in best],
            ", ".join(
                f"{name} {100 * at[name][i]:.1f} at {100 * level:.4g} %"
                for i, (name, level) in enumerate(zip(best, levels, strict=True))
            ),
        ),
        Verdict(
            "(i) of the plain sparse learners those of second order are better",
            [free[name] > free[other] for name, other in zip(second, first, strict=True)],
            f"{listed(second)} against {listed(first[:2])}",
        ),
    ]

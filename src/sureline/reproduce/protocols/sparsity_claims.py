"""Claims of sections 5.2, 5.3 and 5.5 of the paper on sparse online learning about its figures, checked by numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from ..._inputs import Floats
from ..outcome import Verdict
from ..statistics import all_of, how_many_hold, lower
from .penalty_paths import Result

TRUNCATED = ("STG", "FOBOS", "Ada-FOBOS")
AVERAGED = ("FSOL", "Ada-RDA", "SSOL")
SECOND_AVERAGED = ("Ada-RDA", "SSOL")
PLAIN = {"CS-FSOL": "FSOL", "CS-SSOL": "SSOL", "CS-OGD": "OGD", "CPA": "PA", "PAUM": "Perceptron"}
TOLERANCE = 0.005  # half a point more still counts as the same error

Results = Mapping[str, Result]


# Sparsities to look at: every thousandth, and closer and closer to 1, where wide models live.
_SPARSITIES = np.concatenate([np.linspace(0, 0.99, 991), 1 - np.geomspace(0.01, 1e-6, 101)[1:]])


def kept_until(result: Result) -> float:
    """The highest sparsity whose mean error is at most half a point above that without a penalty."""
    at = result.at(_SPARSITIES)
    known = ~np.isnan(at).any(axis=0)
    rise = (at[:, known] - result.free[:, None]).mean(axis=0)
    kept = _SPARSITIES[known][rise <= TOLERANCE]
    return float(kept.max()) if len(kept) else 0.0


def _verdict(claim: str, holds: Iterable[bool | None], evidence: str) -> Verdict:
    """The verdict on several statements that must all hold; if only some do, the evidence begins with their number."""
    told = list(holds)
    return Verdict(claim, all_of(told), how_many_hold(told) + evidence)


def _lowest(runs: Mapping[str, Floats], ours: str) -> bool | None:
    """True if a learner is below all others, over the orders of the rows."""
    return all_of(lower(runs[ours], runs[other]) for other in runs if other != ours)


def _highest(runs: Mapping[str, Floats], ours: str) -> bool | None:
    return all_of(lower(runs[other], runs[ours]) for other in runs if other != ours)


def _per_cent(value: float) -> str:
    return f"{100 * value:.4g} %"


# -- figure 1 ---------------------------------------------------------------------------------------------------------


def synthetic(data: str, results: Results, levels: Floats) -> list[Verdict]:
    until = {name: kept_until(result) for name, result in results.items()}
    runs = {name: result.at([0, 0.5, 0.8, 0.85, 0.9, 0.95, 0.975]) for name, result in results.items()}
    error = {name: values.mean(axis=0) for name, values in runs.items()}

    def told(names: Sequence[str], text: str) -> str:
        parts = (f"{name} " + text.format(*(100 * error[name]), until=100 * until[name]) for name in names)
        return "; ".join(parts) + "."

    others = {name: error[name] for name in results if name != "SSOL"}
    next_best = [min(others, key=lambda name: others[name][i]) for i in range(6)]
    leads = "; ".join(
        f"{100 * error['SSOL'][i]:.2f} against {100 * others[name][i]:.2f} ({name}) at {level} %"
        for i, (name, level) in enumerate(zip(next_best, (0, 50, 80, 85, 90, 95), strict=True))
    )
    return [
        _verdict(
            f"{data}: dual averaging keeps its error, or lowers it, up to a sparsity of 90 %.",
            [until[name] >= 0.9 for name in AVERAGED],
            told(AVERAGED, "{0:.1f} → {4:.1f} (kept until {until:.1f} %)"),
        ),
        _verdict(
            f"{data}: truncated gradient loses it as the sparsity grows.",
            [until[name] < 0.5 and error[name][1] > error[name][0] + 0.1 for name in TRUNCATED],
            told(TRUNCATED, "{0:.1f} → {1:.1f} at 50 % (kept until {until:.1f} %)"),
        ),
        _verdict(
            f"{data}: SSOL has the lowest error up to a sparsity of 90 %.",
            [_lowest({name: values[:, i] for name, values in runs.items()}, "SSOL") for i in range(5)],
            f"SSOL against the lowest of the others. {leads}.",
        ),
        _verdict(
            f"{data}: above 90 % the error of dual averaging rises dramatically (at 97.5 % it is more than twice that "
            "at 90 %).",
            [error[name][6] > 2 * error[name][4] for name in AVERAGED],
            told(AVERAGED, "{3:.1f} at 85 %, {4:.1f} at 90 %, {5:.1f} at 95 %, {6:.1f} at 97.5 %"),
        ),
    ]


# -- figure 2 ---------------------------------------------------------------------------------------------------------


def large_sets(data: str, results: Results, levels: Floats) -> list[Verdict]:
    until = {name: kept_until(result) for name, result in results.items()}
    most = max(float(curve.sparsity[curve.free]) for result in results.values() for curve in result.curves)
    runs = {name: result.at(levels) for name, result in results.items()}
    at = {name: values.mean(axis=0) for name, values in runs.items()}
    high = [i for i, level in enumerate(levels) if level >= max(most, levels[len(levels) // 2])]
    last = {name: float(values[high[-1]]) for name, values in at.items()}
    free = {name: float(result.free.mean()) for name, result in results.items()}
    # With a tenth of the weights that are left at the threshold: has the error risen by more than a point?
    beyond = {name: float(one.at(1 - (1 - until[name]) / 10).mean() - free[name]) for name, one in results.items()}
    first_group = [name for name in results if name not in SECOND_AVERAGED]

    def errors(i: int) -> str:
        best_other = min(first_group, key=lambda name: at[name][i])
        shown = ", ".join(f"{name} {100 * at[name][i]:.2f}" for name in SECOND_AVERAGED)
        return f"{shown} against {100 * at[best_other][i]:.2f} ({best_other}) at {_per_cent(levels[i])}"

    listed = "; ".join(f"{name} {_per_cent(until[name])}" for name in results)
    return [
        _verdict(
            f"{data}: most learners keep their error up to a high sparsity (here: at least 4 of 6 up to 80 %).",
            [sum(value >= max(0.8, most) for value in until.values()) >= 4],
            f"Without a penalty up to {_per_cent(most)} are zero. The error is kept, within half a point, up to these "
            f"sparsities. {listed}.",
        ),
        _verdict(
            f"{data}: each has a threshold beyond which the error gets worse quickly (by more than a point).",
            [rise > 0.01 for rise in beyond.values()],
            "With a tenth of the weights left there, the error is higher by so many points. "
            + "; ".join(f"{name} {100 * rise:.1f}" for name, rise in beyond.items())
            + ".",
        ),
        _verdict(
            f"{data}: Ada-RDA and SSOL have a lower error than the other four at high sparsity.",
            [
                all_of(lower(runs[one][:, i], runs[other][:, i]) for one in SECOND_AVERAGED for other in first_group)
                for i in high
            ],
            "; ".join(errors(i) for i in high) + ".",
        ),
        _verdict(
            f"{data}: at high sparsity SSOL has the lowest error of all.",
            [_lowest({name: values[:, i] for name, values in runs.items()}, "SSOL") for i in high],
            f"At {_per_cent(levels[high[-1]])} SSOL has {100 * last['SSOL']:.2f}, the best of the others "
            f"{100 * min(value for name, value in last.items() if name != 'SSOL'):.2f}.",
        ),
    ]


# -- figures 4 and 5 --------------------------------------------------------------------------------------------------


def _free(results: Results) -> dict[str, float]:
    return {name: float(result.free.mean()) for name, result in results.items()}


def _listed(free: Mapping[str, float], names: Iterable[str]) -> str:
    return ", ".join(f"{name} {100 * free[name]:.1f}" for name in names)


def _costs_help(data: str, results: Results) -> Verdict:
    pairs = [(results[costs], results[plain]) for costs, plain in PLAIN.items()]
    return _verdict(
        f"{data}: every cost-sensitive learner is better than its plain form, without penalty.",
        [lower(plain.free, costs.free) for costs, plain in pairs],
        "; ".join(
            f"{costs.name} {100 * costs.free.mean():.1f} against {100 * plain.free.mean():.1f}, in "
            f"{(costs.free > plain.free).sum()} of {len(costs.free)} orders (progressive "
            f"{100 * costs.progressive.mean():.1f} against {100 * plain.progressive.mean():.1f})"
            for costs, plain in pairs
        )
        + ".",
    )


def _costs_help_when_sparse(data: str, results: Results, levels: Floats) -> Verdict:
    claim = f"{data}: CS-FSOL and CS-SSOL are better than FSOL and SSOL, and never worse, at all of these sparsities."
    gains, told = {}, []
    for name in ("CS-FSOL", "CS-SSOL"):
        costs, plain = results[name].at(levels), results[PLAIN[name]].at(levels)
        known = ~np.isnan(costs + plain).any(axis=0)  # where both it and its plain form have models that sparse
        gains[name] = (costs - plain)[:, known].mean(axis=0)
        told.append(_never_worse(plain[:, known], costs[:, known]))
    if not all(len(gain) for gain in gains.values()):
        return Verdict(claim, None, "There are no models that are equally sparse.")
    shown = (f"{name} by {100 * gain.min():.1f} to {100 * gain.max():.1f}" for name, gain in gains.items())
    return _verdict(claim, told, "; ".join(shown) + " points.")


def _never_worse(plain: Floats, costs: Floats) -> bool | None:
    """True if better at some sparsity, and worse at none."""
    told = [lower(plain[:, i], costs[:, i]) for i in range(plain.shape[1])]
    if False in told:
        return False
    return True if True in told and bool(np.all(costs.mean(axis=0) >= plain.mean(axis=0))) else None


def _best_of_all(data: str, results: Results, levels: Floats) -> list[Verdict]:
    free = _free(results)
    order = sorted(free, key=lambda name: -free[name])
    best: dict[str, bool | None] = {}
    for level in levels:
        runs = {name: result.at(level)[:, 0] for name, result in results.items() if result.curves}
        known = {name: values for name, values in runs.items() if not np.isnan(values).any()}
        if known:
            name = max(known, key=lambda name: float(known[name].mean()))
            shown = f"{name} {100 * known[name].mean():.1f} at {_per_cent(level)}"
            best[shown] = _highest(known, "CS-SSOL") if "CS-SSOL" in known else None
    return [
        _verdict(
            f"{data}: without penalty CS-SSOL is the best of all.",
            [_highest({name: result.free for name, result in results.items()}, "CS-SSOL")],
            _listed(free, order[:5]) + ".",
        ),
        _verdict(
            f"{data}: CS-SSOL is the best sparse learner at all of these sparsities.",
            best.values(),
            "; ".join(best) + ".",
        ),
    ]


def _second_order(data: str, results: Results, pairs: Mapping[str, str], which: str) -> Verdict:
    free = _free(results)
    return _verdict(
        f"{data}: of the {which} sparse learners those of second order are better, without penalty.",
        [lower(results[first].free, results[second].free) for second, first in pairs.items()],
        "; ".join(f"{_listed(free, [second])} against {_listed(free, [first])}" for second, first in pairs.items())
        + ".",
    )


_SECOND_AND_FIRST = {"Ada-FOBOS": "FOBOS", "Ada-RDA": "FSOL", "SSOL": "FSOL"}


def rare_urls(data: str, results: Results, levels: Floats) -> list[Verdict]:
    return [
        _costs_help(data, results),
        _costs_help_when_sparse(data, results, levels),
        _second_order(data, results, _SECOND_AND_FIRST, "plain"),
        *_best_of_all(data, results, levels),
    ]


def rare_spam(data: str, results: Results, levels: Floats) -> list[Verdict]:
    free = _free(results)
    sparse, dense = ("SSOL", "Ada-RDA"), ("CPA", "PAUM")
    return [
        _verdict(
            f"{data}: SSOL and Ada-RDA, without costs, are better than CPA and PAUM, which have them.",
            [lower(results[other].free, results[one].free) for one in sparse for other in dense],
            f"{_listed(free, sparse)} against {_listed(free, dense)}.",
        ),
        _second_order(data, results, _SECOND_AND_FIRST, "plain"),
        _second_order(data, results, {"CS-SSOL": "CS-FSOL"}, "cost-sensitive"),
        *_best_of_all(data, results, levels),
        _costs_help(data, results),
    ]


CLAIMS: dict[str, Callable[[str, Results, Floats], list[Verdict]]] = {
    "synthetic": synthetic,
    "large sets": large_sets,
    "rare URLs": rare_urls,
    "rare spam": rare_spam,
}

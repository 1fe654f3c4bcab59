"""What section 5.2 of the SCW paper says about its figure 1, checked where a pass ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .deciding import any_of, in_words, lower, most_of, opposite
from .outcome import Verdict
from .statistics import best_of

FIRST_ORDER = ("Perceptron", "ROMMA", "agg-ROMMA", "PA-I", "PA-II")
SECOND_ORDER = ("SOP", "IELLIP", "CW", "AROW", "NHERD", "NAROW", "SCW-I", "SCW-II")
NO_MARGIN = ("Perceptron", "ROMMA", "SOP", "IELLIP")
MARGIN = ("agg-ROMMA", "PA-I", "PA-II", "CW", "AROW", "NHERD", "NAROW", "SCW-I", "SCW-II")

Results = Mapping[str, Mapping[str, Any]]


def verdicts(results: Results) -> Iterator[Verdict]:
    """`results` has the curves of each learner on each data set."""
    if not results:
        return
    yield _groups(
        results,
        "Second-order learners usually err less than first-order ones.",
        SECOND_ORDER,
        FIRST_ORDER,
        "second-order",
        "first-order",
    )
    yield _groups(
        results,
        "Learners that ask for a margin usually err less than those that do not.",
        MARGIN,
        NO_MARGIN,
        "with a margin",
        "without",
    )
    yield from _cw(results)
    yield _scw_among_the_best(results)


def _median(curves: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """What is usual in a group of learners, in each permutation."""
    return np.median([curves[name].last("rates") for name in names], axis=0)


def _groups(
    results: Results, claim: str, a: tuple[str, ...], b: tuple[str, ...], a_words: str, b_words: str
) -> Verdict:
    """The median of a group stands for what is usual in it."""
    medians = {name: (_median(curves, a), _median(curves, b)) for name, curves in results.items()}
    told = [lower(ours, theirs) for ours, theirs in medians.values()]
    shown = ", ".join(
        f"{name} {ours.mean():.4f} against {theirs.mean():.4f}" for name, (ours, theirs) in medians.items()
    )
    evidence = f"Medians of the mistake rates, {a_words} against {b_words}: {shown}."
    return Verdict(claim, most_of(told), f"{in_words(told)}{evidence}")


def _against_first_order(curves: Mapping[str, Any], name: str) -> tuple[str, bool | None]:
    """The best first-order learner, and whether `name` errs less."""
    rival = min(FIRST_ORDER, key=lambda one: float(np.mean(curves[one].last("rates"))))
    return rival, lower(curves[name].last("rates"), curves[rival].last("rates"))


def _cw(results: Results) -> Iterator[Verdict]:
    said = []
    for name, curves in results.items():
        rival, better = _against_first_order(curves, "CW")
        ours, theirs = (float(np.mean(curves[one].last("rates"))) for one in ("CW", rival))
        said.append((name, better, f"{name}: CW {ours:.4f}, {rival} {theirs:.4f}"))
    clean = [(better, words) for name, better, words in said if name == "synthetic"]
    if clean:
        claim = "CW errs less than every first-order learner on the synthetic data without noise."
        yield Verdict(claim, clean[0][0], f"{clean[0][1]}.")
    other = [(better, words) for name, better, words in said if not name.startswith("synthetic")]
    if other:
        claim = "CW does not err less than the best first-order learner on some of the real data sets."
        yield Verdict(
            claim, any_of(opposite(better) for better, _ in other), f"{'; '.join(words for _, words in other)}."
        )


def _scw_among_the_best(results: Results) -> Verdict:
    """Best by the paired t-test, or within a tenth of the lowest mean."""
    good, shown = 0, []
    for name, curves in results.items():
        rates = {who: one.last("rates") for who, one in curves.items()}
        best = best_of(rates)
        lowest = min(float(np.mean(values)) for values in rates.values())
        ours = min(float(np.mean(rates[who])) for who in ("SCW-I", "SCW-II"))
        near = bool(best & {"SCW-I", "SCW-II"}) or ours <= 1.1 * lowest
        good += near
        shown.append(f"{name} {ours:.4f}, lowest {lowest:.4f} ({', '.join(sorted(best))})")
    claim = "SCW errs least of all or within a tenth of that on most data sets."
    return Verdict(claim, good > len(results) / 2, f"On {good} of {len(results)}: {'; '.join(shown)}.")

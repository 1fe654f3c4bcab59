"""What section 5.2 of the SCW paper says about its table 3, checked on our runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .deciding import all_of, in_words, longer, lower, most_of
from .entry import Entry
from .outcome import Verdict
from .statistics import difference, mean_of, p_value

Results = Mapping[str, Mapping[str, Any]]


def verdicts(entry: Entry, results: Results) -> Iterator[Verdict]:
    """`results` has the runs of each learner on each data set. Stand-ins have another name than the paper's data."""
    if not results:
        return
    yield _same_numbers(entry, results, "rate", "mistake rates")
    yield _same_numbers(entry, results, "updates", "numbers of updates")
    yield _compared(
        results,
        "SCW-I errs significantly less than CW on most data sets.",
        "rate",
        ["SCW-I"],
        ["CW"],
        "most",
    )
    yield _compared(
        results,
        "The better of SCW-I and SCW-II errs less than the best of AROW, NAROW and NHERD, or not significantly more, "
        "on most data sets.",
        "rate",
        ["SCW-I", "SCW-II"],
        ["AROW", "NAROW", "NHERD"],
        "most no worse",
    )
    yield _compared(
        results,
        "SCW-I makes significantly fewer updates than AROW on every data set.",
        "updates",
        ["SCW-I"],
        ["AROW"],
        "all",
    )
    yield _compared(
        results,
        "AROW, without the adaptive margin, makes significantly more updates than CW on every data set.",
        "updates",
        ["CW"],
        ["AROW"],
        "all",
    )
    yield _faster(results, "SCW-I", "AROW")
    if "synthetic-noise" in results:
        runs = results["synthetic-noise"]
        rates = {name: float(np.mean(made.rate)) for name, made in runs.items()}
        worst = max(rates, key=lambda name: rates[name])
        told = [lower(made.rate, runs["CW"].rate) for name, made in runs.items() if name != "CW"]
        yield Verdict(
            "CW suffers most of all from labels that are wrong: with 0.1 noise its mistake rate is the highest, by the "
            "paired t-test (95 %).",
            all_of(told),
            f"{in_words(told)}The highest is that of {worst}, {rates[worst]:.3f}; CW has {rates['CW']:.3f}.",
        )


def _same_numbers(entry: Entry, results: Results, measure: str, words: str) -> Verdict:
    far, n = [], 0
    for data, runs in results.items():
        for learner, made in runs.items():
            paper = entry.paper_mean(data, learner, measure)
            gap = None if paper is None else difference(mean_of(made.of(measure)), paper)
            if gap is not None:
                n += 1
                far += [f"{data} {learner} {gap:+.1f}"] if abs(gap) > 3 else []
    claim = f"The {words} are the paper's: nine of ten differ by no more than three standard errors."
    if not n:
        return Verdict(claim, None, "None of the paper's data sets was there.")
    others = f" Further away: {', '.join(far)}." if far else ""
    return Verdict(claim, len(far) <= n / 10, f"{n - len(far)} of {n} do.{others}")


def _faster(results: Results, ours: str, theirs: str) -> Verdict:
    ratios = {data: np.median(runs[theirs].seconds) / np.median(runs[ours].seconds) for data, runs in results.items()}
    told = [longer(ratio) for ratio in ratios.values()]
    shown = ", ".join(f"{data} {ratio:.2f}" for data, ratio in ratios.items())
    return Verdict(
        f"{ours} takes less time than {theirs} on most data sets.",
        most_of(told),
        f"{in_words(told)}{theirs} takes so many times as long (medians): {shown}.",
    )


def _compared(
    results: Results,
    claim: str,
    measure: str,
    ours: list[str],
    theirs: list[str],
    how_many: str,
) -> Verdict:
    """Compare the best of `ours` with the best of `theirs` on each data set, paired by permutation.

    They are to be better on "all" or "most" of the data sets, or "most no worse".
    """
    better, equal, worse = [], [], []
    for data, runs in results.items():
        a, b = (min((runs[name].of(measure) for name in group), key=np.mean) for group in (ours, theirs))
        if p_value(a, b) >= 0.05:
            equal.append(data)
        elif np.mean(a) < np.mean(b):
            better.append(data)
        else:
            worse.append(data)
    n = len(results)
    holds = {"all": len(better) == n, "most": len(better) > n / 2, "most no worse": len(worse) < n / 2}[how_many]
    parts = [
        f"{word} on {', '.join(sets)}"
        for word, sets in (("so", better), ("not to be told apart", equal), ("the other way round", worse))
        if sets
    ]
    return Verdict(claim, holds, f"By the paired t-test (95 %): {'; '.join(parts)}.")

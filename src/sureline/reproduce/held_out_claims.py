"""What the SBCW paper says about its table 2, checked on our runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .deciding import LONGER, SAME, all_of, in_words, longer, lower
from .outcome import Verdict

BCW = ("BCWL1", "BCWL2")
FIRST_ORDER = ("PA", "DCD")
NEAR = 0.003  # errors no further apart are comparable; the paper calls so what is 0.002 apart

Results = Mapping[str, Mapping[str, Any]]


def verdicts(results: Results) -> Iterator[Verdict]:
    """`results` has the runs of each learner on each data set."""
    if not results:
        return
    yield _time(
        results,
        "BCW trains much faster, in less than a fifth of the time (more than a quarter is not; between them it cannot "
        "be told), than every second-order learner that changes its covariance with each row.",
        lambda name: name not in BCW + FIRST_ORDER,
        no=4.0,
        yes=5.0,
    )
    yield _time(results, "BCW trains faster than DCD, a linear SVM.", lambda name: name == "DCD")
    yield _accuracy(results)
    yield _pa(results)


def _means(runs: Mapping[str, Any], measure: str) -> dict[str, float]:
    return {name: float(np.mean(getattr(made, measure))) for name, made in runs.items()}


def _time(results: Results, claim: str, is_rival: Any, no: float = SAME, yes: float = LONGER) -> Verdict:
    """The slower of the two BCW against the fastest of its rivals, by the medians of their runs."""
    shown, holds = [], []
    for data, runs in results.items():
        seconds = {name: float(np.median(made.seconds)) for name, made in runs.items()}
        rivals = {name: value for name, value in seconds.items() if is_rival(name)}
        ours = [seconds[name] for name in BCW if name in seconds]
        if not rivals or not ours:
            continue
        fastest = min(rivals, key=lambda name: rivals[name])
        holds.append(longer(rivals[fastest] / max(ours), no=no, yes=yes))
        shown.append(f"{data}: BCW {max(ours):.3g} s, {fastest} {rivals[fastest]:.3g} s")
    return Verdict(claim, all_of(holds), f"{in_words(holds)}{'; '.join(shown)}." if shown else "Nothing to compare.")


def _accuracy(results: Results) -> Verdict:
    shown, holds = [], []
    for data, runs in results.items():
        errors = _means(runs, "error")
        ours = {name: errors[name] for name in BCW if name in errors}
        rivals = {name: value for name, value in errors.items() if name not in BCW}
        best = min(rivals, key=lambda name: rivals[name])
        holds.append(min(ours.values()) <= rivals[best] + NEAR)
        words = ", ".join(f"{name} {value:.4f}" for name, value in ours.items())
        shown.append(f"{data}: {words}; {best} {rivals[best]:.4f}")
    claim = f"The better of the two BCW has a test error comparable to the lowest of all others (at most {NEAR} more)."
    return Verdict(claim, all(holds), f"{'. '.join(shown)}.")


def _pa(results: Results) -> Verdict:
    shown, holds = [], []
    for data, runs in results.items():
        errors = _means(runs, "error")
        if "PA" in errors and "AROW" in errors:
            holds.append(lower(np.array(runs["AROW"].error) + NEAR, runs["PA"].error))
            shown.append(f"{data}: PA {errors['PA']:.4f}, AROW {errors['AROW']:.4f}")
    claim = f"PA, which knows of no covariance, errs more than AROW, by more than {NEAR} (paired t-test, 95 %)."
    return Verdict(claim, all_of(holds), f"{in_words(holds)}{'; '.join(shown)}." if shown else "Nothing to compare.")

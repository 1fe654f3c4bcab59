"""What the SBCW paper says about its figure 1, checked on our runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from .deciding import in_words, longer, lower, most_of, opposite
from .outcome import Verdict

OURS = "SBCW"
NEAR = 0.005  # accuracies no further apart are comparable

Results = Mapping[str, Mapping[str, Any]]


def verdicts(results: Results, counts: tuple[int, ...]) -> Iterator[Verdict]:
    """`results` has the path of each selector on each data set."""
    if not results:
        return
    for who in sorted({name for paths in results.values() for name in paths if name.startswith(OURS)}):
        yield _accuracy(results, counts, who)
        yield _time(results, counts, who)
    yield _against(results, "FGM", "which has no covariance")
    yield _against(results, "SOFS", "which sets small weights to zero along the stream")


def _rivals(paths: Mapping[str, Any]) -> list[str]:
    return [name for name in paths if not name.startswith(OURS)]


def _accuracy(results: Results, counts: tuple[int, ...], who: str) -> Verdict:
    """Comparable to the best rival at most points of the picture."""
    good, n, shown = 0, 0, []
    for data, paths in results.items():
        ours = paths[who].accuracy.mean(axis=0)
        best = np.max([paths[name].accuracy.mean(axis=0) for name in _rivals(paths)], axis=0)
        good += int(np.sum(ours >= best - NEAR))
        n += len(counts)
        shown.append(f"{data}: {ours[-1]:.4f} with {counts[-1]:,} features, best of the others {best[-1]:.4f}")
    claim = (
        f"{who} is as accurate as the best of the others with the same number of features, or more (at most {NEAR} "
        "less, at most points)."
    )
    return Verdict(claim, good > n / 2, f"At {good} of {n} points. {'; '.join(shown)}.")


def _time(results: Results, counts: tuple[int, ...], who: str) -> Verdict:
    told: list[bool | None] = []
    shown = []
    for data, paths in results.items():
        seconds = {name: np.median(paths[name].seconds, axis=0) for name in [who, *_rivals(paths)]}
        fastest = np.min([seconds[name] for name in _rivals(paths)], axis=0)
        told += [opposite(longer(ratio)) for ratio in seconds[who] / fastest]
        shown.append(f"{data}: " + ", ".join(f"{name} {times[-1]:.3g} s" for name, times in seconds.items()))
    claim = f"{who} trains as fast as the fastest of the others, or faster, at most points."
    evidence = f"With {counts[-1]:,} features: {'; '.join(shown)}."
    return Verdict(claim, most_of(told), f"{in_words(told)}{evidence}")


def _against(results: Results, rival: str, what: str) -> Verdict:
    told: list[bool | None] = []
    shown = []
    for data, paths in results.items():
        if rival not in paths or OURS not in paths:
            continue
        ours, theirs = (paths[name].accuracy for name in (OURS, rival))
        told += [lower(theirs[:, i], ours[:, i]) for i in range(ours.shape[1])]
        shown.append(f"{data}: mean accuracy {ours.mean():.4f} against {theirs.mean():.4f}")
    claim = f"{OURS} is more accurate than {rival}, {what}, at most points."
    return Verdict(claim, most_of(told), f"{in_words(told)}{'; '.join(shown)}." if told else "Nothing to compare.")

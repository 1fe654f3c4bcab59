"""The pool that the candidates of `sureline train` are chosen from, and the choice with each data set left out in turn.

Every setting of the pool goes over the training rows in the blocks of a race: it predicts a block, and then learns from
it. These predictions and those of the test rows are kept in a file for each set, so that rules and candidates can be
tried in seconds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from default_sets import Set

import sureline
from sureline.learners.race.candidates import CANDIDATES, NARROW
from sureline.learners.race.race import BLOCK
from sureline.learners.race.stack import Judged, best_of, losses_of, options, scales_of
from sureline.stream.runs import LabelRuns

Setting = tuple[str, dict[str, Any]]
NORMALIZATIONS = ("none", "row", "scale")
SEEDS = 2  # of the candidates, which are always in: a Gaussian learner for each kind of rows
LEAST = 0.002  # errors below count as this one


def pool() -> list[Setting]:
    """The settings of all kinds of learners, and the candidates themselves."""
    found: list[Setting] = []
    for kind in NORMALIZATIONS:
        some: list[Setting] = [
            *(("AROW", {"r": r}) for r in (2.0**-5, 0.25, 2.0, 16.0)),
            *(("SCW", {"C": C, "eta": eta}) for C, eta in ((0.125, 0.9), (0.5, 0.75), (1.0, 0.95), (2.0**-5, 0.6))),
            ("SCW", {}),
            ("CW", {"eta": 0.95}),
            ("NHERD", {"C": 0.25}),
            ("SSOL", {"r": 2.0**-4, "eta": 1.0}),
            ("SOFS", {"r": 0.25}),
            *(("PA", {"C": C}) for C in (2.0**-7, 2.0**-4, 0.5)),
            *(("OGD", {"eta": eta}) for eta in (2.0**-5, 0.5)),
            *(("AdaFOBOS", {"eta": eta}) for eta in (2.0**-6, 0.125, 0.5)),
            *(
                ("FTRL", {"alpha": alpha, "beta": beta})
                for alpha, beta in ((2.0**-6, 2.0**-6), (0.1, 0.125), (0.25, 0.125), (0.5, 1.0), (1.0, 2.0**-6))
            ),
            *(("ODCA", {"rho": rho, "loss": "log"}) for rho in (1e-4, 1e-2)),
            *(("ODCA", {"rho": rho}) for rho in (1e-5, 1e-3, 1e-1)),
            *(
                ("ODCA", {"rho": rho, "window": "exponential", "half_life": float(half)})
                for rho, half in ((1e-3, 500), (1e-2, 2000), (1e-3, 5000))
            ),
            *(("OGD", {"eta": eta, "average": True}) for eta in (2.0**-6, 0.0625, 0.25, 1.0)),
            *(("AdaFOBOS", {"eta": eta, "average": True}) for eta in (0.125, 0.5)),
            *(("PA", {"C": C, "average": True}) for C in (2.0**-4, 0.5)),
            ("AROW", {"r": 2.0, "average": True}),
            ("FTRL", {"alpha": 1.0, "beta": 2.0**-6, "average": True}),
        ]
        found += [(name, {**settings, "normalize": kind}) for name, settings in some]
    for kind, r in (("scale", 1.0), ("scale", 16.0), ("none", 0.125)):
        found.append(("AROW", {"r": r, "covariance": "full", "normalize": kind}))
    found.append(("SCW", {"C": 0.5, "eta": 0.75, "covariance": "full", "normalize": "scale"}))
    words = {in_words(one) for one in found}
    return found + [one for one in CANDIDATES if in_words(one) not in words]


def in_words(setting: Setting) -> str:
    """A setting with all parameters that differ from those of its class, and the normalisation."""
    name, parameters = setting
    learner = getattr(sureline, name)(**parameters)
    usual = getattr(sureline, name)().get_params()
    told = {k: v for k, v in learner.get_params().items() if v != usual[k] or k == "normalize"}
    return " ".join([name, *(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in sorted(told.items()))])


def blocks(n: int) -> list[int]:
    """The ends of the blocks of a race over n rows."""
    ends = [0, 16, 32, 64]
    while ends[-1] < n:
        ends.append(ends[-1] + min(max(1 << (ends[-1].bit_length() - 4), 8), BLOCK))
    return [end for end in ends if end < n] + [n]


def predictions(a_set: Set, folder: Path, most_rows: int) -> dict[str, Any]:
    """Of every setting: scores of the training rows before their block was learned from, and of the test rows."""
    path = folder / f"{a_set.name.replace(' ', '_')}.npz"
    if not path.exists():
        X, y, Z, z = a_set.split(most_rows)
        runs = LabelRuns.of(y)
        if runs.found:  # as `train` and `Auto()` learn from them
            order = np.random.default_rng(0).permutation(len(y))
            X, y = X[order], y[order]
        n_classes = int(max(y.max(), z.max())) + 1
        some = [one for one in pool() if one[1].get("covariance") != "full" or X.shape[1] <= NARROW]
        n_heads, ends = 1 if n_classes == 2 else n_classes, blocks(len(y))
        P = np.full((len(y), len(some), n_heads), np.nan, np.float32)
        T = np.full((len(z), len(some), n_heads), np.nan, np.float32)
        for k, (name, parameters) in enumerate(some):
            learner = getattr(sureline, name)(**parameters)
            try:
                for start, stop in pairwise(ends):
                    if start:
                        P[start:stop, k] = learner.decision_function(X[start:stop]).reshape(stop - start, -1)
                    learner.partial_fit(X[start:stop], y[start:stop], classes=np.arange(n_classes))
                T[:, k] = learner.decision_function(Z).reshape(len(z), -1)
            except ValueError:  # it overflowed
                continue
        mixed = runs.found and not runs.by_label
        np.savez(path, P=P, T=T, y=y, z=z, names=np.array([in_words(one) for one in some]), mixed=mixed)
    return dict(np.load(path))


class Judgement:
    """The predictions of a set, and what committees of its settings make of them."""

    def __init__(self, found: dict[str, Any]) -> None:
        n = len(found["y"])
        start = next(end for end in blocks(n)[1:] if end >= n // 2)
        fine = np.isfinite(found["P"][start:]).all((0, 2)) & np.isfinite(found["T"]).all((0, 2))
        self.mixed = bool(found["mixed"])  # rows of all times: nothing takes the place of the committee
        self.names = [str(name) for name in found["names"][fine]]
        self.bounds = [end - start for end in blocks(n) if end >= start]
        self.late = _judged(found["P"][start:, fine], found["y"][start:])
        self.test = _judged(found["T"][:, fine], found["z"])
        self.scales = scales_of(self.late)
        self.errors = dict(zip(self.names, self.test.wrong(self.test.margins()).mean(axis=0).tolist(), strict=True))

    def committee(self, names: Sequence[str]) -> float:
        """The test error of what a race makes of these settings, if none of them is dropped."""
        known = [self.names.index(name) for name in names if name in self.names]
        means = losses_of(self.late.of(known), self.scales[known], "error").mean(axis=0)
        order = [known[k] for k in np.argsort(means, kind="stable")]
        teams = [[k for k in order if ("normalize=row" in self.names[k]) == by_length] for by_length in (False, True)]
        two = self.late.scores.shape[2] == 1
        stacks = [options(self.late, self.scales, team, threshold=two) for team in teams if team]
        if self.mixed:
            stacks = [some[:1] for some in stacks]
        return best_of(self.late, stacks, "error", self.bounds).loss(self.test, "error")


def _judged(scores: Any, labels: Any) -> Judged:
    return Judged(np.clip(scores.astype(np.float64), -1e30, 1e30), labels.astype(np.int32), np.ones(len(labels)))


def selected(sets: Sequence[Judgement], n: int) -> list[str]:
    """The n settings, one after the other, whose three best on each set come nearest to the best of the pool."""
    names = sorted({name for one in sets for name in one.errors})
    errors = np.array([[max(one.errors.get(name, 1.0), LEAST) for name in names] for one in sets])
    lag = np.minimum(np.log(errors / errors.min(axis=1, keepdims=True)), 1.0)
    chosen = [names.index(in_words(one)) for one in CANDIDATES[:SEEDS]]
    while len(chosen) < n:
        rest = [k for k in range(len(names)) if k not in chosen]
        chosen.append(min(rest, key=lambda k: float(_best_three(lag[:, [*chosen, k]]))))
    return [names[k] for k in chosen]


def _best_three(lag: Any) -> float:
    best = np.sort(lag, axis=1)[:, :3]
    return float((best * np.array([0.6, 0.25, 0.15])[: best.shape[1]]).sum(axis=1).mean())


def left_out(sets: dict[str, Judgement], n: int) -> Iterator[tuple[str, float]]:
    """For each set the error of the committee whose candidates were chosen by the other sets."""
    for name, one in sets.items():
        others = [other for key, other in sets.items() if key != name]
        yield name, one.committee(selected(others, n))

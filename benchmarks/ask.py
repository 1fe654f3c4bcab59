"""Label budgets: the error with a tenth and a twentieth of the labels, beside that with all of them.

    python benchmarks/ask.py [--data DIR] [--sets NAME ...] [--learners NAME ...] [--quick]
                             [--cache DIR] [--output docs/results/label-budget.md]

Each learner sees the rows of a set once, split as in `make defaults`: at most 30,000 of them, and tested on others. It
learns from all labels; from those that it asks for, at most a tenth or a twentieth at any time; and from as many at
random. Numbers are errors over that with all labels, means of two seeds, or of six on fewer than 20,000 rows. ECE is
the calibration error of the confidences in 15 bins of as many rows each, with all labels and with a tenth.

The part of the budget that is spent at random is also chosen anew for each set: an eighth, a quarter or a half. The
mean of the logarithms of the errors on all other sets decides.
"""

# What was measured is kept in the cache folder (out/ask), so that the page can be made of several runs.

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from default_sets import Set, all_sets

import sureline
from sureline.estimators.asking import learn_asking
from sureline.learners.asking import Asking

NAMES = ("AROW", "SCW", "FTRL", "PA")
RATES = (0.1, 0.05)
ROOT = Path(__file__).resolve().parents[1]
RANDOM = (0.125, 0.25, 0.5)  # the second is in use
MOST_ROWS, LARGE = 30_000, 20_000
SEEDS, SEEDS_OF_FEW_ROWS = 2, 6


@dataclass(frozen=True)
class Found:
    set: str
    learner: str
    rows: int
    full: float
    asked: dict[float, float]  # by rate: errors over the full one
    random: dict[float, float]
    by_part: tuple[float, ...]  # log of the error at a tenth, for each of RANDOM
    ece_full: float
    ece_asked: float

    @classmethod
    def from_dict(cls, name: str, values: dict[str, Any]) -> Found:
        by_rate = {key: {float(rate): x for rate, x in values[key].items()} for key in ("asked", "random")}
        return cls(**{**values, **by_rate, "set": name})


@lru_cache(maxsize=1)
def split(one: Set, most_rows: int) -> Any:
    return one.split(most_rows)


def measure(name: str, X: Any, y: Any, Xt: Any, yt: Any) -> Found:
    make, classes = getattr(sureline, name), np.unique(y)
    least = 0.5 / len(yt)  # of a model without a mistake
    seeds = SEEDS if len(y) >= LARGE else SEEDS_OF_FEW_ROWS

    def asked(rate: float, part: float = RANDOM[1]) -> tuple[float, float]:
        errors, eces = [], []
        for seed in range(seeds):
            clf = make()
            learn_asking(clf, Asking(rate, seed, random=part), X, y, classes)
            right = clf.predict(Xt) == yt
            errors.append(1 - right.mean())
            eces.append(calibration_error(clf.confidence(Xt), right))
        return max(float(np.mean(errors)), least), float(np.mean(eces))

    def at_random(rate: float) -> float:
        errors = []
        for seed in range(seeds):
            some = np.sort(np.random.default_rng(seed).permutation(len(y))[: int(rate * len(y))])
            errors.append(1 - make().partial_fit(X[some], y[some], classes=classes).score(Xt, yt))
        return max(float(np.mean(errors)), least)

    clf = make().partial_fit(X, y, classes=classes)
    right = clf.predict(Xt) == yt
    full = max(1 - float(right.mean()), least)
    tenth = asked(RATES[0])
    by_part = tuple(np.log(tenth[0] if part == RANDOM[1] else asked(RATES[0], part)[0]) for part in RANDOM)
    return Found(
        "",
        name,
        len(y),
        full,
        {RATES[0]: tenth[0] / full, RATES[1]: asked(RATES[1])[0] / full},
        {rate: at_random(rate) / full for rate in RATES},
        by_part,
        calibration_error(clf.confidence(Xt), right),
        tenth[1],
    )


def calibration_error(confidence: Any, right: Any, bins: int = 15) -> float:
    parts = [part for part in np.array_split(np.argsort(confidence, kind="stable"), bins) if len(part)]
    return float(sum(abs(confidence[part].mean() - right[part].mean()) * len(part) for part in parts) / len(right))


def left_out(found: list[Found]) -> float:
    """The error with the random part that is best on all other sets, over that with the one in use."""
    logs = []
    for name in {f.set for f in found}:
        others = np.array([f.by_part for f in found if f.set != name])
        best = int(others.mean(axis=0).argmin()) if len(others) else 1
        logs += [f.by_part[best] - f.by_part[1] for f in found if f.set == name]
    return float(np.exp(np.mean(logs)))


def page(found: list[Found]) -> str:
    large = [f for f in found if f.rows >= LARGE]

    def share(rate: float, most: float, some: list[Found]) -> str:
        return f"{sum(f.asked[rate] <= most for f in some)} of {len(some)}"

    better = {n: sum(f.asked[0.1] < f.random[0.1] for f in found if f.learner == n) for n in NAMES}
    n_sets = len({f.set for f in found})
    by_learner = "; ".join(f"{n} {better[n]} of {n_sets}" for n in NAMES if better[n])
    above = [f for f in large if f.asked[0.1] > 1.2]
    lost = {n: [f.set for f in found if f.learner == n and f.asked[0.1] >= f.random[0.1]] for n in NAMES}
    worse = [f"{n} on {', '.join(sets)}" for n, sets in lost.items() if sets] or ["nowhere"]
    lines = [
        "# Label budgets on real data",
        "",
        f"Written by `make confidence` (benchmarks/ask.py) with sureline {sureline.__version__} on "
        f"{datetime.now(UTC):%Y-%m-%d}.",
        "",
        *(line for line in (__doc__ or "").split("\n\n", 2)[2].strip().splitlines()),
        "",
        "## What holds",
        "",
        f"Sets of at least {LARGE:,} rows to learn from: {', '.join(sorted({f.set for f in large})) or 'none'}.",
        "",
        "| promise | held by |",
        "|---|---|",
        f"| a tenth of the labels: error at most 1.05 times that with all, on four of five large sets | "
        f"{share(0.1, 1.05, large)} |",
        f"| and never above 1.2 times | {share(0.1, 1.2, large)} |",
        f"| a twentieth: at most 1.1 times, on four of five large sets | {share(0.05, 1.1, large)} |",
        f"| better than as many labels at random, on all sets but two | {by_learner} |",
        f"| error with the random part chosen on the other sets, over that in use | {left_out(found):.3f} |",
        f"| median ECE with all labels, and with a tenth | {np.median([f.ece_full for f in found]):.3f}, "
        f"{np.median([f.ece_asked for f in found]):.3f} |",
        "",
        "## Where it does not hold",
        "",
        *(
            f"- {f.set}, {f.learner}: {f.asked[0.1]:.2f} times with a tenth, {f.asked[0.05]:.2f} with a twentieth."
            for f in large
            if f.asked[0.1] > 1.05 or f.asked[0.05] > 1.1
        ),
        "",
        f"Above 1.2 times with a tenth: {', '.join(f'{f.set} ({f.learner})' for f in above) or 'none'}. "
        "Learners without a covariance go by the score alone, which says nothing of features that are new. "
        "With many classes each has few labels of its own. Small sets, below, are far from all labels because a "
        "tenth of them is few.",
        "",
        "A tenth at random is as good or better for these:",
        "",
        *(f"- {one}" for one in worse),
        "",
        "Most of these are streams whose concept changes. A likely reason, not tested: steps of AROW, SCW and FTRL "
        "become shorter with what they have learned, and the least sure rows teach most. So the model is the slower "
        "to leave the old concept. On several of these streams a tenth at random does better than all labels, too. "
        "It was tried to spend more at random where the surest rows are wrong as often as the least sure ones (27 "
        "sets, six seeds). AROW then beats random labels on 22 of them instead of 20, PA on 23 instead of 22, SCW "
        "and FTRL on as many as before. With a twentieth AROW loses one, SCW and FTRL two, and PA gains two. The "
        "error of SCW on elec2 grows from 1.21 to 1.44 times. Four more ways were tried on eight sets each, and "
        "were no better. So the part stays a quarter.",
        "",
        "The calibration rests on the quarter of the labels that is asked for at random. Each of them stands for many "
        "rows, so the ECE is larger than with all labels.",
        "",
        "## All numbers",
        "",
        "| set | rows | learner | error, all labels | a tenth | at random | a twentieth | at random | ECE | a tenth |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *(
            f"| {f.set} | {f.rows:,} | {f.learner} | {f.full:.4f} | {f.asked[0.1]:.2f} | {f.random[0.1]:.2f} | "
            f"{f.asked[0.05]:.2f} | {f.random[0.05]:.2f} | {f.ece_full:.3f} | {f.ece_asked:.3f} |"
            for f in found
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--learners", nargs="*", default=NAMES)
    parser.add_argument("--quick", action="store_true", help="sets that need no files, at most 2,000 rows")
    parser.add_argument("--cache", type=Path, default=ROOT / "out" / "ask")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    data = options.data or Path(os.environ.get("SURELINE_DATA") or ROOT.parent / "shared" / "data")
    found = []
    for one in all_sets(data):
        if (options.sets and one.name not in options.sets) or (options.quick and one.files):
            continue
        if absent := [path for path in one.files if not path.exists()]:
            print(f"{one.name}: {absent[0]} is not there, so it is left out.", file=sys.stderr)
            continue
        most_rows = 2000 if options.quick else MOST_ROWS
        for name in options.learners:
            kept = options.cache / f"{one.name}-{name}-{most_rows}.json".replace(" ", "_")
            if not kept.exists():
                kept.write_text(json.dumps(asdict(measure(name, *split(one, most_rows)))))
            found.append(Found.from_dict(one.name, json.loads(kept.read_text())))
            print(found[-1], file=sys.stderr, flush=True)
    made = page(found)
    if options.output is None:
        print(made)
    else:
        options.output.write_text(made)
        print(options.output)


if __name__ == "__main__":
    main()

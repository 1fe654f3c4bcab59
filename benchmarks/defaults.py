"""How good the defaults are: the error of every learner as it comes, beside the best that tuning finds.

    python benchmarks/defaults.py [--data DIR] [--sets NAME ...] [--learners NAME ...] [--jobs N] [--quick]
                                  [--output docs/results/defaults.md]

Errors are progressive, each label predicted before it is learned from, in one pass over seeded orders of each set: five
where a set is small, else three, of at most 20,000 rows (news20 5,000, as it has 20 classes). "Tuned" is the best mean
over the learner's search space, made wider where that is too narrow, and over the three normalisations, chosen with
hindsight on the same rows: it is what a newcomer could have had. Penalties, budgets and costs stay at their defaults.
"Untuned" is `sureline train --algorithm NAME` with nothing else said, which takes the best of a few settings of that
learner on the first rows; "auto" is `sureline train` without --algorithm, which chooses among settings of several.
"The constants" are the defaults of the class, which an estimator has that is made without parameters.

`--quick` takes the sets that need no files, one order and at most 2,000 rows.

The data folder is `--data`, else the environment variable SURELINE_DATA, else ../shared/data beside the repository.
A set whose file is not there is skipped with a line that says so.
"""

from __future__ import annotations

import argparse
import bz2
import os
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

import sureline
from sureline import datasets
from sureline.learners.catalogue import LEARNERS
from sureline.learners.learner import Learner
from sureline.stream.arrays import rows_of
from sureline.training.choosing import AUTO, CANDIDATES, ROWS, candidates, choose, settings_of
from sureline.training.grid import every_learner

ROOT = Path(__file__).resolve().parent.parent
NORMALIZATIONS = ("none", "row", "scale")
CLOSE, CLOSE_TO_ALL = (
    1.10,
    1.05,
)  # what the defaults of a learner may cost, and those of the learner that is the default
MOST_ROWS = 20_000

Params = dict[str, Any]
Rows = tuple[Any, np.ndarray]


# -- the sets ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Set:
    """A data set, or a stream that is made with the seed of the order."""

    name: str
    make: Callable[[int], Rows]
    file: Path | None = None
    orders: int = 3
    most_rows: int = MOST_ROWS
    ordered: bool = False  # as a stream is that was made in its order

    def rows(self, seed: int, most_rows: int) -> Rows:
        X, y = self.make(seed)
        order = np.arange(len(y)) if self.ordered else np.random.default_rng(seed).permutation(len(y))
        order = order[: min(most_rows, self.most_rows)]
        return csr_matrix(X, dtype=np.float64)[order], np.unique(y, return_inverse=True)[1][order]


def from_file(path: Path, zero_based: bool | str, seed: int) -> Rows:
    from sklearn.datasets import load_svmlight_file

    with bz2.open(path) as file:
        X, y = load_svmlight_file(file, zero_based=zero_based)
    return X, y


def from_scikit_learn(name: str, seed: int) -> Rows:
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, name)(return_X_y=True)
    return X, y


def mail(seed: int) -> Rows:
    from sklearn.feature_extraction.text import HashingVectorizer

    texts, labels = datasets.make_mail(MOST_ROWS, random_state=seed)
    counts = HashingVectorizer(n_features=2**18, alternate_sign=False, norm=None)
    return counts.transform(texts), np.array(labels)


def sparse_stream(seed: int) -> Rows:
    return datasets.make_stream_like("rcv1", MOST_ROWS, random_state=seed)


def rotated(seed: int) -> Rows:
    return datasets.make_rotated_gaussian(5000, 20, random_state=seed)


def sparse_gaussian(seed: int) -> Rows:
    return datasets.make_sparse_gaussian(5000, random_state=seed)


def drift(seed: int) -> Rows:
    return datasets.make_drift(MOST_ROWS, random_state=seed)


def all_sets(data: Path) -> list[Set]:
    def file(name: str, file_name: str, orders: int = 3, *, zero_based: bool | str = "auto", **how: Any) -> Set:
        path = data / f"{file_name}.bz2"
        return Set(name, partial(from_file, path, zero_based), path, orders, **how)

    return [
        file("a9a", "a9a"),
        file("w8a", "w8a"),
        file("mushrooms", "mushrooms", 5),
        file("ijcnn1", "ijcnn1"),
        file("splice", "splice", 5),
        file("svmguide3", "svmguide3.svm", 5),
        file("phishing", "phishing"),
        file("spambase", "spambase.svm", 5),
        file("pcmac", "pcmac.svm", 5),
        file("amazon books", "amazon_books_train.svm", 5, zero_based=True),
        file("amazon dvd", "amazon_dvd_train.svm", 5, zero_based=True),
        file("sms spam", "sms_spam.svm", 5),
        file("news20", "news20.multi", most_rows=5000),
        Set("breast cancer", partial(from_scikit_learn, "load_breast_cancer"), orders=5),
        Set("digits", partial(from_scikit_learn, "load_digits"), orders=5),
        Set("sparse stream", sparse_stream, ordered=True),
        Set("rotated Gaussian", rotated, ordered=True),
        Set("sparse Gaussian", sparse_gaussian, ordered=True),
        Set("mail", mail, ordered=True),
        Set("drift", drift, ordered=True),
    ]


# -- the learners and their search spaces -----------------------------------------------------------------------------


def powers(first: int, last: int, step: int = 1) -> tuple[float, ...]:
    return tuple(2.0**k for k in range(first, last + 1, step))


# Where the search space of a learner, which is the papers', would leave out what is best for rows that are longer than
# one, or a parameter that matters: the reference must not be easier to reach than what there is.
LOW_RATES = powers(-9, 9)
ADAPTIVE = {"delta": (2.0**-10, 0.125, 0.5, 1.0), "eta": powers(-7, 4)}
WIDER: dict[str, dict[str, tuple[Any, ...]]] = {
    "PA": {"C": powers(-9, 5)},
    "ALMA": {"C": (0.125, 0.25, 0.5, 1.0, 2**0.5)},
    "OGD": {"eta": LOW_RATES},
    "IELLIP": {"b": (0.3, 0.9, 0.95, 0.98, 0.99), "c": (0.1, 0.3, 0.5, 0.7, 0.9)},
    "STG": {"eta": LOW_RATES},
    "FOBOS": {"eta": LOW_RATES},
    "RDA": {"gamma": LOW_RATES},
    "AdaFOBOS": ADAPTIVE,
    "AdaRDA": ADAPTIVE,
    "FTRL": {"beta": (2.0**-6, 0.125, 1.0), "alpha": powers(-7, 4)},
    "FSOL": {"eta": LOW_RATES},
    "SSOL": {"r": powers(-4, 8, 2), "eta": powers(-5, 8)},
    "CSOGD": {"eta": LOW_RATES},
    "CPA": {"C": powers(-9, 5)},
    "PAUM": {"eta": powers(-9, 5)},
    "FOFS": {"eta": powers(-9, 3)},
    "ODCA": {"smoothing": (0.0, 0.99), "rho": powers(-17, 3, 2)},
}
SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    name: {**LEARNERS[name].search_space, **WIDER.get(name, {})} for name in every_learner()
}


def points(name: str) -> Iterator[Params]:
    space = SPACES[name]
    for values in product(*space.values()):
        yield dict(zip(space, values, strict=True))


def defaults(name: str) -> Params:
    """The defaults of what is searched through, and how the rows are normalised."""
    learner = getattr(sureline, name)()
    return {key: getattr(learner, key) for key in [*SPACES[name], "normalize"]}


# -- running ----------------------------------------------------------------------------------------------------------


def error(name: str, params: Params, X: Any, y: np.ndarray) -> float:
    """The progressive error of one pass; 1 if the learner diverges until numbers overflow."""
    try:
        return float(getattr(sureline, name)(**params).fit(X, y).n_mistakes_ / len(y))
    except ValueError as refusal:
        if "cannot hold" in str(refusal):
            return 1.0
        raise


Errors = dict[str, list[float]]  # of a learner: chosen by the first rows, by fewer, its constants, each point in order
EARLY = 5000  # rows on which the choice is made a second time, to see what hindsight is worth


def chosen(learners: list[Learner], X: Any, y: np.ndarray) -> list[float]:
    """The errors of what is chosen by the first rows, and by fewer of them."""
    found = []
    for rows in (ROWS, EARLY):
        stream, labels = rows_of((X, y), "float64", None)
        learner = choose(stream, labels, learners, rows=rows).learner
        found.append(error(type(learner).__name__, learner.parameters(), X, y))
    return found


def one_order(a_set: Set, seed: int, most_rows: int, names: list[str]) -> Errors:
    X, y = a_set.rows(seed, most_rows)
    errors = {AUTO: chosen([*candidates({"dtype": "float64"})], X, y)}
    for name in names:
        kind = LEARNERS[name]
        errors[name] = [
            *chosen([kind(**settings) for settings in settings_of(kind, {"dtype": "float64"})], X, y),
            error(name, {}, X, y),
            *(error(name, {**p, "normalize": n}, X, y) for n in NORMALIZATIONS for p in points(name)),
        ]
    return errors


@dataclass(frozen=True)
class Outcome:
    """Mean errors over the orders of a set."""

    untuned: float
    early: float  # if fewer rows choose
    constants: float
    tuned: float
    best: Params

    def ratio(self, error: float) -> float:
        return error / self.tuned if self.tuned > 0 else 1.0 if error == 0 else np.inf


def outcome(name: str, runs: list[list[float]]) -> Outcome:
    untuned, early, constants, *tuned = map(float, np.mean(runs, axis=0))
    settings = [{**p, "normalize": n} for n in NORMALIZATIONS for p in points(name)]
    best = int(np.argmin(tuned))
    if constants < tuned[best]:  # the defaults need not be on the grid
        return Outcome(untuned, early, constants, constants, defaults(name))
    return Outcome(untuned, early, constants, tuned[best], settings[best])


Table = dict[str, dict[str, Outcome]]  # for each set and learner


def run(
    sets: list[Set], names: list[str], most_rows: int, orders: int, jobs: int
) -> tuple[Table, dict[str, list[float]]]:
    """The table, and for each set the mean errors of what is chosen where no learner is named."""
    table: Table = {}
    automatic: dict[str, list[float]] = {}
    with ProcessPoolExecutor(jobs) as pool:
        waiting = {
            s.name: [pool.submit(one_order, s, seed, most_rows, names) for seed in range(min(s.orders, orders))]
            for s in sets
        }
        for set_name, orders_of_set in waiting.items():
            runs = [order.result() for order in orders_of_set]
            table[set_name] = {name: outcome(name, [r[name] for r in runs]) for name in names}
            automatic[set_name] = np.mean([r[AUTO] for r in runs], axis=0).tolist()
            print(f"{time.strftime('%H:%M:%S')} {set_name}", file=sys.stderr, flush=True)
    return table, automatic


# -- the page ---------------------------------------------------------------------------------------------------------


def in_words(params: Params) -> str:
    return ", ".join(
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in params.items()
    )


def markdown(header: list[str], rows: list[list[str]]) -> list[str]:
    return ["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]]


def page(table: Table, automatic: dict[str, list[float]], names: list[str], command: str) -> list[str]:
    sets = list(table)
    summary, constants = [], []
    for name in names:
        outcomes = [table[s][name] for s in sets]
        ratios, early, fixed = (
            np.array([o.ratio(e) for o, e in zip(outcomes, errors, strict=True)])
            for errors in zip(*((o.untuned, o.early, o.constants) for o in outcomes), strict=True)
        )
        summary.append(
            [name, str(len(settings_of(LEARNERS[name], {}))), *near(ratios, sets), f"{(early <= CLOSE).sum()}"]
        )
        constants.append([name, in_words(defaults(name)), *near(fixed, sets)])
    within = [f"within {CLOSE - 1:.0%}", "on 9 of 10", "median ratio", "worst ratio"]
    return [
        "# The defaults, untuned against tuned",
        "",
        f"sureline {sureline.__version__}, {datetime.now(UTC):%Y-%m-%d}, made by `{command}`.",
        "",
        *" ".join((__doc__ or "").split("\n\n")[2].split()).splitlines(),
        "",
        f"## `sureline train --algorithm NAME` against the same learner tuned: on how many sets within {CLOSE - 1:.0%}",
        "",
        f"Nothing else is said, so the best on the first rows, at most {ROWS:,}, of the settings that stand beside the "
        "class (`settings_to_try`) is trained; on these sets these are nearly all rows. The last column counts the "
        f"sets within {CLOSE - 1:.0%} if only the first {EARLY:,} choose. The settings were picked with the help of "
        "these sets.",
        "",
        *markdown(["learner", "settings", *within, f"{EARLY:,} rows choose"], summary),
        "",
        "## The constants against the same learner tuned",
        "",
        "What an estimator has that is made without parameters, and a training that names `--normalize scale` alone.",
        "",
        *markdown(["learner", "defaults", *within], constants),
        "",
        "## The ratio of the untuned to the tuned error",
        "",
        *ratio_table(table, names, lambda outcome: outcome.untuned),
        "",
        "## The ratio of the error with the constants to the tuned one",
        "",
        *ratio_table(table, names, lambda outcome: outcome.constants),
        "",
        "## The tuned error in percent",
        "",
        *markdown(["set", *names], [[s, *(f"{100 * table[s][n].tuned:.2f}" for n in names)] for s in sets]),
        *(against_all(table, automatic, names) if len(names) > 1 else []),
    ]


def near(ratios: np.ndarray, sets: list[str]) -> list[str]:
    """On how many sets, whether that is enough, and how near in the middle and at the worst."""
    worst, count = int(ratios.argmax()), int((ratios <= CLOSE).sum())
    verdict = "yes" if count >= 0.9 * len(sets) else "no"
    numbers = [f"{np.median(ratios):.2f}", f"{ratios[worst]:.2f} ({sets[worst]})"]
    return [f"{count} of {len(sets)}", verdict, *numbers]


def ratio_table(table: Table, names: list[str], error: Callable[[Outcome], float]) -> list[str]:
    rows = [[s, *(f"{outcomes[n].ratio(error(outcomes[n])):.2f}" for n in names)] for s, outcomes in table.items()]
    return markdown(["set", *names], rows)


def against_all(table: Table, automatic: dict[str, list[float]], names: list[str]) -> list[str]:
    """What `sureline train` without --algorithm gives, against the best of all learners, tuned."""
    rows, ratios, early_ratios = [], [], []
    for set_name, outcomes in table.items():
        best = min(names, key=lambda name: outcomes[name].tuned)
        theirs = outcomes[best].tuned
        ours, early = automatic[set_name]
        ratios.append(ours / theirs if theirs else np.inf if ours else 1.0)
        early_ratios.append(early / theirs if theirs else np.inf if early else 1.0)
        setting = f"{best} ({in_words(outcomes[best].best)})"
        numbers = [f"{100 * ours:.2f}", f"{100 * theirs:.2f}", setting, f"{ratios[-1]:.2f}", f"{early_ratios[-1]:.2f}"]
        rows.append([set_name, *numbers])
    within, early_within = (sum(ratio <= CLOSE_TO_ALL for ratio in some) for some in (ratios, early_ratios))
    ours_on_average = np.mean([errors[0] for errors in automatic.values()])
    theirs_on_average = np.mean([min(outcomes[name].tuned for name in names) for outcomes in table.values()])
    return [
        "",
        "## `sureline train` without --algorithm against the best of all, tuned",
        "",
        f"Of {len(CANDIDATES)} settings it takes the one with the fewest mistakes on the first rows, at most {ROWS:,}: "
        f"on these sets nearly all. Its error is within {CLOSE_TO_ALL - 1:.0%} of the best of all on {within} of "
        f"{len(rows)} sets; the median ratio is {np.median(ratios):.2f}, the mean error over the sets "
        f"{100 * ours_on_average:.2f} % against {100 * theirs_on_average:.2f} %. If only the first {EARLY:,} rows "
        f"choose (the last column), it is within {CLOSE_TO_ALL - 1:.0%} on {early_within}. The settings were picked "
        "with the help of these sets. The best of all was chosen with hindsight among all settings of all learners.",
        "",
        *markdown(["set", "auto %", "best %", "by", "ratio", f"ratio, {EARLY:,} rows choose"], rows),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--learners", nargs="+", choices=list(SPACES), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    data = Path(arguments.data or os.environ.get("SURELINE_DATA") or ROOT.parent / "shared" / "data")

    sets = all_sets(data)
    if arguments.sets and (strangers := set(arguments.sets) - {s.name for s in sets}):
        parser.error(f"There is no set {strangers.pop()!r}; there are {', '.join(s.name for s in sets)}.")
    sets = [s for s in sets if not arguments.sets or s.name in arguments.sets]
    sets = [s for s in sets if not arguments.quick or s.file is None]
    for missing in [s for s in sets if s.file is not None and not s.file.exists()]:
        print(f"{missing.name} is skipped: there is no {missing.file}.", file=sys.stderr)
        sets.remove(missing)
    if not sets:
        parser.error("No set is left.")
    names = arguments.learners or list(SPACES)

    most_rows, orders = (2000, 1) if arguments.quick else (MOST_ROWS, 5)
    table, automatic = run(sets, names, most_rows, orders, arguments.jobs)
    given = [f"--sets {shlex.join(arguments.sets)}"] if arguments.sets else []
    given += [f"--learners {shlex.join(arguments.learners)}"] if arguments.learners else []
    given += ["--quick"] if arguments.quick else []
    command = " ".join(["python benchmarks/defaults.py", *given])
    text = "\n".join(page(table, automatic, names, command)) + "\n"
    if arguments.output is not None:
        arguments.output.parent.mkdir(parents=True, exist_ok=True)
        arguments.output.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()

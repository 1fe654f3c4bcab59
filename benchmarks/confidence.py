"""How good confidences are: calibration error, log loss and ranking on rows that the model has not seen.

    python benchmarks/confidence.py [--data DIR] [--sets NAME ...] [--learners NAME ...] [--jobs N] [--quick]
                                    [--cache DIR] [--output docs/results/confidence.md]

Each learner sees the rows of a set once, in a seeded order, with the defaults of its class and with the settings that
`sureline train --algorithm NAME` chooses. It is measured on the other rows of the set, three of ten or more.
At most 20,000 rows are learned from, and at most 20,000 tested. "Averaged" are the defaults with `average=True`, which
predicts with the mean of the weights along the stream. They have a column of their own in the summary.

- ECE: the mean distance of the confidence from the share of answers that are right, over 15 bins of as many rows each.
  It is compared with 0.02. With few test rows the bound is higher: a perfectly calibrated model would stay below it 19
  times of 20 on as many rows. To find it, labels are drawn 200 times with the model's probabilities.
- Log loss, beside that of scikit-learn's CalibratedClassifierCV(cv=5) around the same learner, which needs five fits.
- AUC of the confidence for "the answer is right", beside that of |score| (with more classes, of the margin).

- Promises: errors of 0.5, 1, 2 and 5 % are promised, and the error of the rows that are answered is measured. Coverage
  is compared with that of the best threshold in hindsight, which has seen the test labels.
- Streams in the order of time: rows are answered before they are learned from, one by one (at most 10,000 rows). Or
  labels come late: 100 rows, or 1 % of those so far, at a time. The error of all answers so far is compared with the
  promise, from where that allows ten mistakes.

The prior of the curve is also chosen anew for each set, by the log losses of all other sets, and compared with the one
that is used. So is the chance with which a bound fails, by the promises that are kept on all other sets.
"""

# What was fitted is kept in the cache folder (out/confidence): the records and the scores of the test rows, the log
# losses of five fits, and the answers along streams. Another run takes it from there, so that the page can be made of
# several runs, and made again in minutes when only the reading of the record has changed.

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from confidence_page import CHANCES, LEVELS, NAMES, SETTINGS, Found, Running, page
from default_sets import Set, all_sets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import roc_auc_score

import sureline
import sureline.learners.abstention as abstention
from sureline.learners.abstention import Abstention, abstention_of
from sureline.learners.calibration import Curve, curve_of, margins_of
from sureline.learners.catalogue import LEARNERS
from sureline.models.record import guard
from sureline.stream.arrays import rows_of
from sureline.training.choosing import choose, settings_of

ROOT = Path(__file__).resolve().parent.parent
MOST_ROWS, MOST_TEST_ROWS = 20_000, 20_000
WIDEST_BATCH = 2000  # columns up to which BCW takes part
PRIORS = (0.0625, 0.25, 1.0, 4.0)
ONE_BY_ONE = 10_000  # rows of a stream at most
STREAMS = ("elec2", "spam drift", "abrupt drift", "gradual drift")
# Their rows change with time, so nothing is promised of what comes later; or there are too many of that kind.
NOT_MEASURED = (*STREAMS, "turning plane", "sparse drift")


@lru_cache(maxsize=1)
def rows(one: Set, most_rows: int = 10**9) -> tuple[Any, Any]:
    """All rows of a set in the order that it is learned in, with classes 0, 1, ... for labels."""
    from scipy.sparse import csr_matrix

    X, y = one.make()
    order = np.arange(len(y)) if one.ordered else np.random.default_rng(0).permutation(len(y))
    return csr_matrix(X, dtype=np.float64)[order[:most_rows]], np.unique(y, return_inverse=True)[1][order[:most_rows]]


def split(one: Set, most_rows: int) -> tuple[Any, Any, Any, Any]:
    """Rows to learn from and rows to be measured on."""
    X, y = rows(one)
    cut = min(len(y) * 7 // 10, most_rows)
    return X[:cut], y[:cut], X[cut : cut + MOST_TEST_ROWS], y[cut : cut + MOST_TEST_ROWS]


def chosen_settings(name: str, X: Any, y: Any) -> dict[str, Any]:
    """What `sureline train --algorithm NAME` chooses."""
    kind = LEARNERS[name]
    tried = [kind(**one) for one in settings_of(kind, {})]
    stream, labels = rows_of((X, y), "float64", None)
    return choose(stream, labels, tried).learner.parameters() if len(tried) > 1 else {}


@dataclass(frozen=True)
class Task:
    """A learner on a set."""

    set: Set
    learner: str
    settings: str  # one of SETTINGS
    most_rows: int
    cache: Path
    late: bool = False  # of a stream
    from_cache: bool = False  # no five fits that are not there

    def path(self, what: str, ending: str) -> Path:
        words = (what, self.set.name, self.learner, self.settings, str(self.most_rows))
        return self.cache / ("-".join(words).replace(" ", "_") + ending)

    def made(self, X: Any, y: Any) -> Any | None:
        """The estimator, not yet fitted; None if it is the one with the defaults, or there is none."""
        kind = getattr(sureline, self.learner)
        if self.settings == "defaults":
            return kind()
        if self.settings == "averaged":
            return kind(average=True) if "average" in kind.__dataclass_fields__ else None
        path = self.path("settings", ".json")
        if not path.exists():
            path.write_text(json.dumps(chosen_settings(self.learner, X, y)))
        parameters = json.loads(path.read_text())
        return kind(**parameters) if parameters else None


@dataclass(frozen=True)
class Answers:
    """The scores of the test rows, and what is on record. For `Abstention` it is a learner."""

    classes_: Any
    recorded: tuple[Any, int]
    scores: Any
    variances: Any
    labels: Any

    @classmethod
    def of(cls, task: Task) -> Answers | None:
        """From the cache, or fitted; None for settings that are the defaults, or a set too wide for BCW."""
        path = task.path("fit", ".npz")
        if not path.exists():
            X, y, Xt, yt = split(task.set, task.most_rows)
            wide = task.learner == "BCW" and X.shape[1] > WIDEST_BATCH
            clf = None if wide else task.made(X, y)
            kept: dict[str, Any] = {}
            if clf is not None:
                clf.fit(X, y)
                scores, variances = clf.as_recorded(*clf.judge(Xt, variances=clf.has_variances))
                record, n_heads = clf.recorded
                kept = {"classes": clf.classes_, "record": record, "n_heads": n_heads, "scores": scores, "labels": yt}
                kept |= {} if variances is None else {"variances": variances}
            np.savez(path, **kept)
        with np.load(path) as at:
            if not at.files:
                return None
            record = at["record"], int(at["n_heads"])
            return cls(at["classes"], record, at["scores"], at.get("variances"), at["labels"])

    def as_recorded(self, scores: Any, variances: Any) -> tuple[Any, Any]:
        return scores, variances

    def kept(self, chance: float) -> list[tuple[float, float]]:
        """The error of the answers and the coverage, for each promise."""
        wrong = ~self.right
        before = abstention.CHANCE
        abstention.CHANCE = chance
        try:
            rules = [Abstention.of(*self.recorded, level) for level in LEVELS]
        finally:
            abstention.CHANCE = before
        masks = [rule.answers(self, self.scores, self.variances) for rule in rules]
        return [(float(wrong[mask].mean()) if mask.any() else 0.0, float(mask.mean())) for mask in masks]

    @property
    def right(self) -> Any:
        best = self.scores.argmax(axis=1) if self.scores.shape[1] > 1 else (self.scores[:, 0] > 0).astype(int)
        return self.classes_[best] == self.labels

    def found(self, task: Task, five_fits: float) -> Found:
        curve, n = curve_of(*self.recorded), len(self.classes_)
        right, judged = self.right, (self.scores, self.variances)
        at = np.searchsorted(self.classes_, self.labels)
        confidence = curve.confidences(*judged)
        size = np.abs(self.scores[:, 0]) if self.scores.shape[1] == 1 else margins_of(*judged)[1]
        promises = self.kept(abstention.CHANCE)
        return Found(
            task.set.name,
            task.learner,
            task.settings,
            len(right),
            calibration_error(confidence, right),
            perfect(confidence),
            log_loss(curve.probabilities(*judged, n), at),
            five_fits,
            area(confidence, right),
            area(size, right),
            tuple(log_loss(Curve.of(*self.recorded, p).probabilities(*judged, n), at) for p in PRIORS),
            tuple(promises),
            best_coverages(confidence, ~right),
            tuple(
                tuple(error <= level for (error, _), level in zip(self.kept(chance), LEVELS, strict=True))
                for chance in CHANCES
            ),
        )


def of_five_fits(task: Task) -> float:
    """The log loss of CalibratedClassifierCV, from the cache if it is there; nan if that is all there may be."""
    path = task.path("five", ".json")
    if not path.exists():
        if task.from_cache:
            return float("nan")
        X, y, Xt, yt = split(task.set, task.most_rows)
        proba = CalibratedClassifierCV(task.made(X, y), cv=5).fit(X, y).predict_proba(Xt)
        path.write_text(json.dumps(log_loss(proba, yt)))
    return float(json.loads(path.read_text()))


def measure(task: Task) -> Found | None:
    warnings.simplefilter("ignore")
    answers = Answers.of(task)
    found = None if answers is None else answers.found(task, of_five_fits(task))
    print(found, file=sys.stderr, flush=True)
    return found


def calibration_error(confidence: Any, right: Any) -> float:
    order = np.argsort(confidence, kind="stable")
    return error_of_sorted(confidence[order], right[order])


def error_of_sorted(confidence: Any, right: Any, bins: int = 15) -> float:
    starts = [part[0] for part in np.array_split(np.arange(len(right)), bins) if len(part)]
    return float(np.abs(np.add.reduceat(confidence - right, starts)).sum() / len(right))


def perfect(confidence: Any, times: int = 200) -> float:
    """What a model that is right as often as it says stays below 19 times of 20."""
    rng, order = np.random.default_rng(0), np.argsort(confidence, kind="stable")
    drawn = [rng.random(len(confidence)) < confidence for _ in range(times)]
    return float(np.quantile([error_of_sorted(confidence[order], right[order]) for right in drawn], 0.95))


def log_loss(proba: Any, labels: Any) -> float:
    return float(-np.log(np.maximum(proba[np.arange(len(labels)), labels], 1e-15)).mean())


def area(value: Any, right: Any) -> float:
    return float(roc_auc_score(right, value)) if 0 < right.sum() < len(right) else float("nan")


def best_coverages(confidence: Any, wrong: Any) -> tuple[float, ...]:
    errors = np.cumsum(wrong[np.argsort(-confidence, kind="stable")]) / np.arange(1, len(wrong) + 1)
    return tuple(float((np.flatnonzero(errors <= level)[-1:] + 1).sum()) / len(wrong) for level in LEVELS)


# -- streams ----------------------------------------------------------------------------------------------------------


def run_along(task: Task) -> list[Running]:
    """A learner that answers a stream before it learns from it."""
    warnings.simplefilter("ignore")
    path = task.path("late" if task.late else "along", ".json")
    if not path.exists():
        X, y = rows(task.set, task.most_rows if task.late else min(task.most_rows, ONE_BY_ONE))
        clf = task.made(X[:4000], y[:4000])
        path.write_text(json.dumps([] if clf is None else [asdict(one) for one in answered_along(task, clf, X, y)]))
    return [Running(**one) for one in json.loads(path.read_text())]


def answered_along(task: Task, clf: Any, X: Any, y: Any) -> list[Running]:
    clf.partial_fit(X[:100], y[:100], classes=np.unique(y))
    answered, wrong = np.zeros((2, len(LEVELS), len(y)), bool)
    start = 100
    while start < len(y):
        part = slice(start, start + max(100, start // 100))
        (answer_block if task.late else answer_rows)(clf, X, y, part, answered, wrong)
        start = part.stop
    found = []
    for k, level in enumerate(LEVELS):
        n, m = np.cumsum(answered[k]), np.cumsum(wrong[k])
        told = n * level >= 10
        worst = float((m[told] / n[told]).max() / level) if told.any() else float("nan")
        error = float(m[-1] / max(n[-1], 1))
        whose = task.set.name, task.learner, task.settings
        found.append(Running(*whose, level, int(n[-1]), len(y), error, worst, task.late))
        print(found[-1], file=sys.stderr, flush=True)
    return found


def answer_block(clf: Any, X: Any, y: Any, part: slice, answered: Any, wrong: Any) -> None:
    mistakes = clf.predict(X[part]) != y[part]
    for k, level in enumerate(LEVELS):
        answered[k, part] = ~clf.predict_or_abstain(X[part], level).mask
        wrong[k, part] = answered[k, part] & mistakes
    clf.partial_fit(X[part], y[part])


def answer_rows(clf: Any, X: Any, y: Any, part: slice, answered: Any, wrong: Any) -> None:
    """One by one. The guards move with each row; the threshold is that of the beginning, to save time."""
    rules = [abstention_of(clf, level) for level in LEVELS]
    for row in range(part.start, min(part.stop, len(y))):
        x = X[row]
        scores, variances = clf.judge(x, variances=clf.has_variances)
        mistake = clf.classes_[clf.chosen(scores)[0]] != y[row]
        for k, (rule, level) in enumerate(zip(rules, LEVELS, strict=True)):
            if not rule.why and replace(rule, guard=guard(clf.model.record, level)).answers(clf, scores, variances)[0]:
                answered[k, row], wrong[k, row] = True, mistake
        clf.partial_fit(x, y[row : row + 1])


# -- all of it --------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--learners", nargs="*", default=NAMES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="sets that need no files, at most 2,000 rows")
    parser.add_argument("--cache", type=Path, default=ROOT / "out" / "confidence")
    parser.add_argument("--no-five-fits", action="store_true", help="but for those that are in the cache")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    options.cache.mkdir(parents=True, exist_ok=True)
    data = options.data or Path(os.environ.get("SURELINE_DATA") or ROOT.parent / "shared" / "data")
    sets = [one for one in all_sets(data) if not options.sets or one.name in options.sets]
    if options.quick:
        sets = [one for one in sets if not one.files]
    for one in [one for one in sets if not all(file.exists() for file in one.files)]:
        print(f"{one.name}: {one.files[0]} is not there, so it is left out.", file=sys.stderr)
        sets.remove(one)

    def tasks(some: list[Set], names: list[str], kinds: Any, most_rows: int, **how: bool) -> list[Task]:
        return [
            Task(one, name, kind, 2000 if options.quick else most_rows, options.cache, **how)
            for one in some
            for name in names
            for kind in kinds
        ]

    fixed = [one for one in sets if one.name not in NOT_MEASURED]
    measured = tasks(fixed, options.learners, SETTINGS, MOST_ROWS, from_cache=options.no_five_fits)
    streams = [one for one in sets if one.name in STREAMS]
    online = [name for name in options.learners if name != "BCW"]  # which learns from batches
    along = [task for late in (False, True) for task in tasks(streams, online, SETTINGS[:2], 10**9, late=late)]
    each: Callable[..., Any] = map
    with ProcessPoolExecutor(options.jobs) as pool:
        if options.jobs > 1:
            each = partial(pool.map, chunksize=1)
        found = [one for one in each(measure, measured) if one is not None]
        running = [one for some in each(run_along, along) for one in some]
    made = page(found, running, (__doc__ or "").split("\n\n", 2)[2].strip())
    if options.output is None:
        print(made)
    else:
        options.output.write_text(made)
        print(f"{options.output.relative_to(ROOT) if options.output.is_absolute() else options.output}")


if __name__ == "__main__":
    main()

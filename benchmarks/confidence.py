"""How good confidences are: calibration error, log loss and ranking on rows that the model has not seen.

    python benchmarks/confidence.py [--data DIR] [--sets NAME ...] [--learners NAME ...] [--jobs N] [--quick]
                                    [--output docs/results/confidence.md]

Each learner sees the rows of a set once, in a seeded order, with the defaults of its class and with the settings that
`sureline train --algorithm NAME` chooses. It is measured on the other rows of the set, three of ten or more.
At most 20,000 rows are learned from (news20 5,000).

- ECE: the mean distance of the confidence from the share of answers that are right, over 15 bins of as many rows each.
  It is compared with 0.02 or, where there are few test rows, with what a perfectly calibrated model would stay below 19
  times of 20 on as many rows: labels are drawn 200 times with the probabilities that the model says.
- Log loss, beside that of scikit-learn's CalibratedClassifierCV(cv=5) around the same learner, which needs five fits.
- AUC of the confidence for "the answer is right", beside that of |score| (with more classes, of the margin).

- Promises: errors of 0.5, 1, 2 and 5 % are promised, and the error of the rows that are answered is measured. Coverage
  is compared with that of the best threshold in hindsight, which has seen the test labels.
- Streams in the order of time: rows are answered before they are learned from, one by one (at most 10,000 rows), or as
  if labels came late, 100 rows or 1 % of those so far at a time. The error of all answers so far is compared with the
  promise, from where that allows ten mistakes.

The prior of the curve is also chosen anew for each set, by the log losses of all other sets, and compared with the one
that is used. So is the chance with which a bound fails, by the promises that are kept on all other sets.
"""

from __future__ import annotations

import argparse
import bz2
import os
import shlex
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from defaults import ROOT, Set, all_sets
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import roc_auc_score

import sureline
from sureline.learners import abstention
from sureline.learners.calibration import Curve
from sureline.learners.catalogue import LEARNERS
from sureline.models.record import guard
from sureline.stream.arrays import rows_of
from sureline.training.choosing import choose, settings_of

NAMES = ("SCW", "AROW", "PA", "FTRL", "SSOL", "BCW", "ODCA")
MOST_ROWS, MOST_TEST_ROWS = 20_000, 20_000
WIDEST_BATCH = 2000  # columns up to which BCW takes part
PRIORS = (0.0625, 0.25, 1.0, 4.0)
OTHER_SOURCE = ("drift",)
LEVELS = (0.005, 0.01, 0.02, 0.05)  # promised errors
CHANCES = (0.02, 0.05, 0.1, 0.2)  # that a bound is below the true error
ONE_BY_ONE = 10_000  # rows of a stream at most
STREAMS = {"elec2": "elec2.svm", "mail in time order": "spam_katakis_drift.svm"}
TEXT = ("sms spam", "pcmac", "amazon books", "amazon dvd", "news20", "mail", "sparse stream", "phishing urls")


@dataclass(frozen=True)
class Found:
    """The measures of one learner on one set."""

    set: str
    learner: str
    chosen: bool
    rows: int
    ece: float
    bound: float
    log_loss: float
    five_fits: float
    auc: float
    auc_of_score: float
    by_prior: tuple[float, ...]
    promises: tuple[tuple[float, float], ...]  # for each level the error of the answers and the coverage
    hindsight: tuple[float, ...]  # and the best coverage
    by_chance: tuple[tuple[bool, ...], ...]  # for each chance of a bound: which promises are kept


@dataclass(frozen=True)
class Running:
    """The promises of one learner along a stream."""

    set: str
    learner: str
    chosen: bool
    level: float
    answered: int
    rows: int
    error: float
    worst: float  # of the running error, over the promise; nan if it allows fewer than ten mistakes
    late: bool  # labels came in blocks


def kept(clf: Any, Xt: Any, wrong: Any, chance: float) -> list[tuple[float, float]]:
    """The error of the answers and the coverage, for each promise."""
    before = abstention.CHANCE
    abstention.CHANCE = chance
    try:
        masks = [~clf.predict_or_abstain(Xt, level).mask for level in LEVELS]
    finally:
        abstention.CHANCE = before
    return [(float(wrong[mask].mean()) if mask.any() else 0.0, float(mask.mean())) for mask in masks]


def best_coverages(confidence: Any, wrong: Any) -> tuple[float, ...]:
    errors = np.cumsum(wrong[np.argsort(-confidence, kind="stable")]) / np.arange(1, len(wrong) + 1)
    return tuple(float((np.flatnonzero(errors <= level)[-1:] + 1).sum()) / len(wrong) for level in LEVELS)


def run_along(task: tuple[Set, str, int, bool]) -> list[Running]:
    """A learner that answers a stream before it learns from it."""
    one, name, most_rows, late = task
    warnings.simplefilter("ignore")
    X, y = one.rows(0, most_rows if late else min(most_rows, ONE_BY_ONE))
    found = []
    for is_chosen in (False, True):
        parameters = settings(name, X[:4000], y[:4000]) if is_chosen else {}
        if is_chosen and not parameters:
            continue
        clf = getattr(sureline, name)(**parameters)
        clf.partial_fit(X[:100], y[:100], classes=np.unique(y))
        answered, wrong = np.zeros((2, len(LEVELS), len(y)), bool)
        start = 100
        while start < len(y):
            part = slice(start, start + max(100, start // 100))
            (answer_block if late else answer_rows)(clf, X, y, part, answered, wrong)
            start = part.stop
        for k, level in enumerate(LEVELS):
            n, m = np.cumsum(answered[k]), np.cumsum(wrong[k])
            told = n * level >= 10
            worst = float((m[told] / n[told]).max() / level) if told.any() else float("nan")
            error = float(m[-1] / max(n[-1], 1))
            found.append(Running(one.name, name, is_chosen, level, int(n[-1]), len(y), error, worst, late))
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
    rules = [abstention.abstention_of(clf, level) for level in LEVELS]
    for row in range(part.start, min(part.stop, len(y))):
        x = X[row]
        scores, variances = clf.judge(x, variances=clf.has_variances)
        mistake = clf.classes_[clf.chosen(scores)[0]] != y[row]
        for k, (rule, level) in enumerate(zip(rules, LEVELS, strict=True)):
            if not rule.why and replace(rule, guard=guard(clf.model.record, level)).answers(clf, scores, variances)[0]:
                answered[k, row], wrong[k, row] = True, mistake
        clf.partial_fit(x, y[row : row + 1])


def calibration_error(confidence: Any, right: Any, bins: int = 15) -> float:
    parts = [part for part in np.array_split(np.argsort(confidence, kind="stable"), bins) if len(part)]
    return float(sum(abs(confidence[part].mean() - right[part].mean()) * len(part) for part in parts) / len(right))


def perfect(confidence: Any, times: int = 200) -> float:
    """What a model that is right as often as it says stays below 19 times of 20."""
    rng = np.random.default_rng(0)
    return float(
        np.quantile(
            [calibration_error(confidence, rng.random(len(confidence)) < confidence) for _ in range(times)], 0.95
        )
    )


def log_loss(proba: Any, labels: Any) -> float:
    return float(-np.log(np.maximum(proba[np.arange(len(labels)), labels], 1e-15)).mean())


def area(value: Any, right: Any) -> float:
    return float(roc_auc_score(right, value)) if 0 < right.sum() < len(right) else float("nan")


def split(one: Set, most_rows: int) -> tuple[Any, Any, Any, Any]:
    """Rows to learn from and rows to be measured on."""
    X, y = one.rows(0, 10**9 if one.most_rows > 5000 else one.most_rows)
    cut = min(len(y) * 7 // 10, most_rows)
    return X[:cut], y[:cut], X[cut : cut + MOST_TEST_ROWS], y[cut : cut + MOST_TEST_ROWS]


def settings(name: str, X: Any, y: Any) -> dict[str, Any]:
    """What `sureline train --algorithm NAME` chooses."""
    kind = LEARNERS[name]
    tried = [kind(**one) for one in settings_of(kind, {})]
    stream, labels = rows_of((X, y), "float64", None)
    return choose(stream, labels, tried).learner.parameters() if len(tried) > 1 else {}


def measure(task: tuple[Set, str, int]) -> list[Found]:
    one, name, most_rows = task
    warnings.simplefilter("ignore")
    X, y, Xt, yt = split(one, most_rows)
    if name == "BCW" and X.shape[1] > WIDEST_BATCH:
        return []
    found = []
    for is_chosen in (False, True):
        parameters = settings(name, X, y) if is_chosen else {}
        if is_chosen and not parameters:
            continue
        make = partial(getattr(sureline, name), **parameters)
        clf = make().fit(X, y)
        right = clf.predict(Xt) == yt
        confidence, proba = clf.confidence(Xt), clf.predict_proba(Xt)
        scores = clf.decision_function(Xt)
        size = np.abs(scores) if scores.ndim == 1 else np.diff(np.sort(scores, axis=1)[:, -2:], axis=1)[:, 0]
        by_prior = []
        for precision in PRIORS:
            curve = Curve.of(clf.model.record, clf.model.n_heads, precision)
            judged = clf.judge(Xt, variances=clf.has_variances)
            by_prior.append(log_loss(curve.probabilities(*judged, len(clf.classes_)), yt))
        others = CalibratedClassifierCV(make(), cv=5).fit(X, y).predict_proba(Xt)
        found.append(
            Found(
                one.name,
                name,
                is_chosen,
                len(yt),
                calibration_error(confidence, right),
                perfect(confidence),
                log_loss(proba, yt),
                log_loss(others, yt),
                area(confidence, right),
                area(size, right),
                tuple(by_prior),
                tuple(kept(clf, Xt, ~right, abstention.CHANCE)),
                best_coverages(confidence, ~right),
                tuple(
                    tuple(error <= level for (error, _), level in zip(kept(clf, Xt, ~right, c), LEVELS, strict=True))
                    for c in CHANCES
                ),
            )
        )
        print(found[-1], file=sys.stderr, flush=True)
    return found


def page(found: list[Found], running: list[Running], part: str) -> str:
    judged = [f for f in found if f.set not in OTHER_SOURCE]
    fine = [f for f in judged if f.ece <= max(0.02, f.bound)]
    large = [f for f in judged if f.bound <= 0.02]
    ratios = [f.log_loss / f.five_fits for f in judged]
    close = [r for r in ratios if r <= 1.02]
    ranked = [f for f in found if f.auc == f.auc and f.auc >= f.auc_of_score - 0.0005]
    told = [f for f in found if f.auc == f.auc]
    gaps = [f.auc - f.auc_of_score for f in told]
    text = [f for f in told if f.set in TEXT and f.learner in ("SCW", "AROW", "SSOL")]
    median = float(np.median([f.ece for f in judged]))
    lines = [
        "# Confidences on rows that the model has not seen",
        "",
        f"Written by `make confidence`{part} with sureline {sureline.__version__} on {datetime.now(UTC):%Y-%m-%d}.",
        "",
        *(line for line in (__doc__ or "").split("\n\n", 2)[2].strip().splitlines()),
        "",
        "## What holds",
        "",
        "| promise | held by |",
        "|---|---|",
        f"| ECE at most 0.02, or what a perfect model shows on as few rows | {len(fine)} of {len(judged)} |",
        f"| median of the ECE at most 0.01 | median {median:.4f} of all; "
        f"{np.median([f.ece for f in large]) if large else float('nan'):.4f} where test rows are enough to tell 0.02 |",
        f"| log loss at most 1.02 times that of five fits | {len(close)} of {len(ratios)}; "
        f"geometric mean {np.exp(np.mean(np.log(ratios))):.3f} |",
        f"| AUC of the confidence not below that of the score | {len(ranked)} of {len(told)}; "
        f"difference {np.mean(gaps):+.3f} on average, {min(gaps):+.3f} at worst |",
        f"| AUC above it on sparse text, for learners with a covariance | "
        f"{sum(f.auc > f.auc_of_score for f in text)} of {len(text)} |",
        f"| log loss with the prior chosen on the other sets, over that with the one in use | {left_out(judged):.4f} |",
        *promises(judged, running),
        "",
        "## Where it does not hold",
        "",
    ]
    missed = [f for f in judged if f not in fine]
    lines += [
        f"- {f.set}, {f.learner} ({'chosen' if f.chosen else 'defaults'}): ECE {f.ece:.3f}, allowed "
        f"{max(0.02, f.bound):.3f}."
        for f in sorted(missed, key=lambda f: -f.ece)
    ] or ["Nowhere."]
    lines += [
        "",
        "The reason is the same in most cases: the last weights are no typical ones. A learner whose weights still "
        "move by a large step at every mistake (PA, SSOL and SCW with their defaults on noisy data) is on record with "
        "the errors of all its weights, and is measured with the last of them. On small sets the learner has also "
        "become better since most of the predictions on record.",
        "",
        *broken(judged, running),
        "The log loss of five fits is that of five models whose probabilities are averaged. Where the last weights "
        "are not typical, the mean of five is a better model than one, and no curve makes up for that. The AUC falls "
        "below that of the score mostly on small sets, where the record has too few rows to tell how the two classes, "
        "or rows with large and small standard deviations, differ.",
        "",
        "## All numbers",
        "",
        "| set | learner | settings | test rows | ECE | perfect | log loss | five fits | AUC | AUC of score |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {f.set}{' *' if f.set in OTHER_SOURCE else ''} | {f.learner} | {'chosen' if f.chosen else 'defaults'} | "
        f"{f.rows:,} | {f.ece:.4f} | {f.bound:.4f} | {f.log_loss:.4f} | {f.five_fits:.4f} | {f.auc:.4f} | "
        f"{f.auc_of_score:.4f} |"
        for f in sorted(found, key=lambda f: (f.set, NAMES.index(f.learner), f.chosen))
    ]
    lines += ["", "\\* The set changes with time, so nothing is promised for what comes later.", ""]
    lines += [
        "## Promised errors",
        "",
        "For each promise: the error of the answers / the rows answered / the best threshold in hindsight.",
        "",
        "| set | learner | settings | 0.5 % | 1 % | 2 % | 5 % |",
        "|---|---|---|---|---|---|---|",
    ]
    for f in sorted(judged, key=lambda f: (f.set, NAMES.index(f.learner), f.chosen)):
        cells = [f"{e:.2%} / {c:.0%} / {b:.0%}" for (e, c), b in zip(f.promises, f.hindsight, strict=True)]
        lines.append(f"| {f.set} | {f.learner} | {'chosen' if f.chosen else 'defaults'} | {' | '.join(cells)} |")
    lines += [
        "",
        "## Streams in the order of time",
        "",
        "| stream | labels | learner | settings | promised | answered | error | worst running error over the promise |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.set} | {'late' if r.late else 'at once'} | {r.learner} | {'chosen' if r.chosen else 'defaults'} | "
        f"{r.level:.1%} | {r.answered / r.rows:.1%} | {r.error:.2%} | "
        f"{'too few' if r.worst != r.worst else f'{r.worst:.2f}'} |"
        for r in running
    ]
    return "\n".join(lines) + "\n"


def promises(found: list[Found], running: list[Running]) -> list[str]:
    """The rows on promised errors of the table of what holds."""
    held = [error <= level for f in found for (error, _), level in zip(f.promises, LEVELS, strict=True)]
    pairs = [(c, b, f) for f in found for (_, c), b in zip(f.promises, f.hindsight, strict=True)]
    ratio = float(np.mean([c for c, _, _ in pairs]) / np.mean([b for _, b, _ in pairs]))
    each = float(np.mean([min(c / b, 1.0) for c, b, _ in pairs if b > 0.02]))
    large = [(c, b) for c, b, f in pairs if f.rows >= 3000]
    of_large = float(np.mean([c for c, _ in large]) / np.mean([b for _, b in large])) if large else float("nan")
    chosen = []
    for name in {f.set for f in found}:
        others = np.array([f.by_chance for f in found if f.set != name])
        shares = others.mean(axis=(0, 2)) if len(others) else np.ones(len(CHANCES))
        best = max((k for k in range(len(CHANCES)) if shares[k] >= 0.95), default=0)
        chosen += [one for f in found if f.set == name for one in f.by_chance[best]]
    told = [r for r in running if r.worst == r.worst]
    return [
        f"| promised errors kept, 95 % | {sum(held)} of {len(held)} ({np.mean(held):.1%}) |",
        f"| coverage at least 0.85 of the best threshold in hindsight | {ratio:.2f} as a ratio of means "
        f"({of_large:.2f} with at least 3,000 test rows), {each:.2f} as a mean of ratios |",
        f"| promises kept with the chance of the bound chosen on the other sets | {np.mean(chosen):.1%} |",
        *(
            f"| running error on streams within 1.5 times the promise, {when} | at the end "
            f"{sum(r.error <= 1.5 * r.level for r in some)} of {len(some)}, at any time "
            f"{sum(r.worst <= 1.5 for r in some)} |"
            for when, some in (
                ("one by one", [r for r in told if not r.late]),
                ("labels late", [r for r in told if r.late]),
            )
        ),
    ]


def broken(found: list[Found], running: list[Running]) -> list[str]:
    """The promises that were not kept, and why."""
    lines = ["Promises that were not kept, with more than a tenth too many mistakes:", ""]
    lines += [
        f"- {f.set}, {f.learner} ({'chosen' if f.chosen else 'defaults'}): {level:.1%} promised, {error:.2%} of "
        f"{round(coverage * f.rows):,} answers wrong."
        for f in found
        for (error, coverage), level in zip(f.promises, LEVELS, strict=True)
        if error > 1.1 * level
    ] or ["None."]
    return [
        *lines,
        "",
        "A bound fails by chance, and the error on few test rows differs from the true one. The rest is again the last "
        "weights. Coverage below the best threshold in hindsight is the price of a bound: with few rows it is far from "
        "the estimate, most of all for 0.5 %, and the best threshold in hindsight knows the test labels.",
        "",
        "Where labels come late and in runs (elec2), a model that follows the last labels is on record with answers "
        "that it cannot give to rows further on. The record has predictions of the next row, and promises nothing for "
        "rows whose labels are long in coming.",
        "",
        "On streams the guards allow an excess of mistakes that is bounded, some dozens, whatever comes. Where a "
        "promise allows few mistakes in all, that shows. At any time the error also has its chance: ten mistakes "
        "allowed are often fifteen.",
        "",
    ]


def left_out(found: list[Found]) -> float:
    """The log loss with the prior that is best on all other sets, over that with the one in use: geometric mean."""
    used = PRIORS.index(0.25)
    logs = []
    for name in {f.set for f in found}:
        others = np.array([np.log(f.by_prior) for f in found if f.set != name])
        best = int(others.mean(axis=0).argmin()) if len(others) else used
        logs += [np.log(f.by_prior[best] / f.by_prior[used]) for f in found if f.set == name]
    return float(np.exp(np.mean(logs))) if logs else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sets", nargs="*")
    parser.add_argument("--learners", nargs="*", default=NAMES)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--quick", action="store_true", help="sets that need no files, at most 2,000 rows")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    data = options.data or Path(os.environ.get("SURELINE_DATA") or ROOT.parent / "shared" / "data")
    sets = [one for one in sets_of(data) if not options.sets or one.name in options.sets]
    if options.quick:
        sets = [one for one in sets if not one.files]
    for one in [one for one in sets if not all(file.exists() for file in one.files)]:
        print(f"{one.name}: {one.files[0]} is not there, so it is left out.", file=sys.stderr)
        sets.remove(one)
    tasks = [(one, name, 2000 if options.quick else MOST_ROWS) for one in sets for name in options.learners]
    along = [
        (one, name, 2000 if options.quick else 10**9, late)
        for late in (False, True)
        for one in streams_of(data)
        if (not one.files or (not options.quick and all(file.exists() for file in one.files)))
        and (not options.sets or one.name in options.sets)
        for name in options.learners
        if name != "BCW"  # it learns from batches
    ]
    if options.jobs == 1:
        parts, runs = [measure(task) for task in tasks], [run_along(task) for task in along]
    else:
        with ProcessPoolExecutor(options.jobs) as pool:
            parts, runs = list(pool.map(measure, tasks)), list(pool.map(run_along, along))
    sets_named = f" (benchmarks/confidence.py --sets {shlex.join(options.sets)})" if options.sets else ""
    made = page([f for part in parts for f in part], [r for run in runs for r in run], sets_named)
    if options.output is None:
        print(made)
    else:
        options.output.write_text(made)
        print(f"{options.output.relative_to(ROOT) if options.output.is_absolute() else options.output}")


def sets_of(data: Path) -> list[Set]:
    """Those of `make defaults`, and some more."""
    more = {"covtype": "covtype.binary.svm", "mnist": "mnist.svm", "usps": "usps.svm"}
    more["phishing urls"] = "phishing_url_char4gram.svm"
    known = all_sets(data)
    names = {one.name for one in known}
    return known + [
        Set(name, partial(_from_file, data / f"{file}.bz2"), data / f"{file}.bz2")
        for name, file in more.items()
        if name not in names
    ]


def streams_of(data: Path) -> list[Set]:
    """Those in the order of time."""
    real = [
        Set(name, partial(_from_file, data / f"{file}.bz2"), data / f"{file}.bz2", most_rows=10**9, ordered=True)
        for name, file in STREAMS.items()
    ]
    return [*real, *(one for one in all_sets(data) if one.name == "drift")]


def _from_file(path: Path, seed: int) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file

    with bz2.open(path) as file:
        return load_svmlight_file(file)  # type: ignore[no-any-return]


if __name__ == "__main__":
    main()

"""Reproduce figure 1 of Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", 2015, and
figures 4 and 5 with stand-ins for their data.

    python benchmarks/sol_figures.py figure1 [--sets NAME ...] [--permutations 5] [--quick] [--reasons] [--resume]
                                             [--output FILE]
    python benchmarks/sol_figures.py figures45 [--data DIR] [--sets NAME ...] [--permutations 5] [--quick] [--reasons]
                                               [--resume] [--output FILE]

Each learner is tuned as section 5.1 says: five folds of the training rows with lam = 0, learning rates 2^-1, ..., 2^9
and other parameters 2^-5, ..., 2^5. What counts is the error on the held-out fold (figures 4 and 5: the balanced
accuracy) after one pass over the other four; of equally good points the first on the grid is taken. Then the training
rows are gone through in five random orders, once each, for a path of penalties that is refined where the sparsity
jumps. Curves are the means over the orders at common sparsities. No intercept, the hinge loss, float64.

`figure1` draws out/figure1.png and checks what section 5.2 says about it, then does so again with rows of unit length,
which the paper does not mention (`figure1-unit-length`). `figures45` does the same for section 5.5.
With `--output` the tables replace those of the same heading in that file; what was written by hand is kept.
`--reasons` adds tables of what comes out under other readings of the paper. `--quick` takes a fifth of the
rows, two orders and a coarse grid. What a learner reached is also kept in out/; with `--resume` it is not run again.

The real URL2 and WEBSPAM2 are not to be had here. `url2` and `webspam2` are random streams of their shape (see
`sureline.datasets.make_stream_like`), with fewer rows. `w8a` and `news20` are real data, made as imbalanced as the
paper's by leaving out positives; they are skipped if the data folder does not have them. The grids of `figures45` are
thinned out to every other power of two, those of the two streams to every third; `url2` has three
orders and `webspam2` two.

The data folder is `--data`, else the environment variable SURELINE_DATA, else ../shared/data beside the repository.
"""

from __future__ import annotations

import argparse
import os
import pickle
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sol_claims import Verdict, claims_of_figure1, claims_of_figures45, kept_until, per_cent
from sol_curves import FIRST_SEED, Floats, Result, evaluate, tune
from sol_paper import (
    COST_SENSITIVE,
    PLAIN,
    SPARSE,
    Data,
    Learner,
    Params,
    imbalanced_file,
    of_unit_length,
    stream,
    synthetic,
)
from sol_picture import draw
from sol_reasons import reasons_of_figure1, reasons_of_figures45

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out"


@dataclass(frozen=True)
class Experiment:
    """A set of data, and how much is done with it."""

    name: str
    heading: str
    load: Callable[[Path, bool], Data]
    metric: str
    levels: tuple[float, ...]
    zoom: float
    top: float | None = None  # of the second panel
    grid_step: int = 1
    permutations: int = 5
    gap: float = 0.02
    limit: int = 80

    @property
    def is_figure1(self) -> bool:
        return self.metric == "test_error"


FIGURE1 = Experiment(
    "figure1",
    "Figure 1: the synthetic set",
    lambda folder, quick: synthetic(20_000 if quick else 100_000),
    "test_error",
    (0.0, 0.5, 0.8, 0.85, 0.9, 0.95),
    zoom=0.8,
    top=0.25,
)
UNIT_LENGTH = replace(
    FIGURE1,
    name="figure1-unit-length",
    heading="Figure 1 with rows of unit length",
    load=lambda folder, quick: of_unit_length(synthetic(20_000 if quick else 100_000)),
)
FIGURES45 = [
    Experiment(
        "url2",
        "Figure 4, a stand-in: a random stream of the shape of URL2",
        lambda folder, quick: stream("url2", 20_000 if quick else 100_000, 100_000),
        "test_balanced_accuracy",
        (0.8, 0.9, 0.95, 0.99, 0.999, 0.9999),
        zoom=0.95,
        grid_step=3,
        permutations=3,
        gap=0.08,
        limit=30,
    ),
    Experiment(
        "webspam2",
        "Figure 5, a stand-in: a random stream of the shape of WEBSPAM2",
        lambda folder, quick: stream("webspam2", 4_000 if quick else 20_000, 10_000),
        "test_balanced_accuracy",
        (0.8, 0.9, 0.95, 0.99, 0.999, 0.9999),
        zoom=0.95,
        grid_step=3,
        permutations=2,
        gap=0.1,
        limit=20,
    ),
    Experiment(
        "w8a",
        "As figures 4 and 5 on real data: w8a",
        lambda folder, quick: imbalanced_file(folder / "w8a.bz2", lambda labels: labels > 0),
        "test_balanced_accuracy",
        (0.2, 0.4, 0.6, 0.8, 0.9, 0.95),
        zoom=0.8,
        grid_step=2,
        gap=0.03,
    ),
    Experiment(
        "news20",
        "As figures 4 and 5 on real data: news20, the last class against the others, rows of unit length",
        lambda folder, quick: of_unit_length(
            imbalanced_file(folder / "news20.multi.bz2", lambda labels: labels == labels.max())
        ),
        "test_balanced_accuracy",
        (0.8, 0.9, 0.95, 0.99, 0.995, 0.999),
        zoom=0.9,
        grid_step=2,
        gap=0.04,
    ),
]
EXPERIMENTS = [FIGURE1, UNIT_LENGTH, *FIGURES45]


# -- running ----------------------------------------------------------------------------------------------------------


def data_folder(given: str | None) -> Path:
    return Path(given or os.environ.get("SURELINE_DATA") or ROOT.parent / "shared" / "data")


def measure(
    experiment: Experiment, learners: list[Learner], data: Data, options: argparse.Namespace
) -> dict[str, Result]:
    """Tune and run every learner; say so as it goes."""
    results = {}
    seeds = list(range(FIRST_SEED, FIRST_SEED + experiment.permutations))
    for full in learners:
        learner = full.thinned(experiment.grid_step)
        kept = OUT / "sol_figures" / f"{experiment.name}{'-quick' if options.quick else ''}-{learner.name}.pickle"
        if options.resume and kept.exists():
            params, held_out, *measured = pickle.loads(kept.read_bytes())
            result = Result(learner, params, held_out, *measured)
        else:
            params, held_out = tune(learner, data, experiment.metric)
            result = evaluate(
                learner,
                params,
                held_out,
                data,
                seeds,
                experiment.metric,
                gap=experiment.gap,
                limit=experiment.limit,
            )
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(pickle.dumps([params, held_out, result.curves, result.free, result.progressive]))
        results[learner.name] = result
        print(table_row(result, experiment), flush=True)
    return results


# -- writing ----------------------------------------------------------------------------------------------------------


def show(params: Params) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in params.items()) or "-"


def table_head(experiment: Experiment) -> list[str]:
    levels = [f"{100 * level:.4g} %" for level in experiment.levels]
    if not experiment.is_figure1:
        levels = ["progressive", "no penalty", *levels]
    last = ["kept until"] if experiment.is_figure1 else []
    cells = ["learner", "tuned", "held out", *levels, *last]
    return ["| " + " | ".join(cells) + " |", "|---" * len(cells) + "|"]


def table_row(result: Result, experiment: Experiment) -> str:
    held_out = "" if np.isnan(result.held_out) else f"{100 * result.held_out:.2f}"
    cells = [result.learner.name, show(result.params), held_out]
    if not experiment.is_figure1:
        cells += [per_cent(result.progressive), per_cent(result.free)]
    cells += [per_cent(column) if result.curves else "" for column in result.at(experiment.levels).T]
    if experiment.is_figure1:
        cells.append(f"{100 * kept_until(result):.1f} %")
    return "| " + " | ".join(cells) + " |"


def verdict_rows(verdicts: list[Verdict]) -> list[str]:
    rows = ["| claim | holds | numbers |", "|---|---|---|"]
    for one in verdicts:
        holds = "yes" if all(one.holds) else f"**{'in part' if any(one.holds) else 'no'}**"
        rows.append(f"| {one.claim} | {holds} | {one.numbers} |")
    return rows


def section(experiment: Experiment, data: Data, results: dict[str, Result], verdicts: list[Verdict], more: str) -> str:
    n_train, n_features = data.X.shape
    measure_name = "Test error" if experiment.metric == "test_error" else "Balanced accuracy on the test rows"
    intro = (
        f"{n_train:,} rows for training ({data.y.sum():,} positive) and {len(data.y_test):,} for testing "
        f"({data.y_test.sum():,} positive), {n_features:,} features, {data.X.nnz / n_train:.0f} nonzeros a row. "
        f"{measure_name} in per cent, mean ± standard deviation over {experiment.permutations} orders of the training "
        "rows, at these sparsities."
    )
    rows = [*table_head(experiment), *(table_row(result, experiment) for result in results.values())]
    parts = [
        f"## {experiment.heading}\n",
        intro + "\n",
        "\n".join(rows) + "\n",
        "\n".join(verdict_rows(verdicts)) + "\n",
    ]
    return "\n".join([*parts, more + "\n"] if more else parts)


def write(path: Path, heading: str, text: str, command: str) -> None:
    """Put a section into the file, in the place of the one with that heading or before what was written by hand."""
    old = path.read_text() if path.exists() else ""
    parts = re.split(r"^(?=## )", old, flags=re.MULTILINE)
    start = parts[0] or preamble()
    sections = {part.split("\n", 1)[0]: part for part in parts[1:]}
    sections[f"## {heading}"] = f"{text.rstrip()}\n\nBy `{command}`.\n\n"
    order = [f"## {one.heading}" for one in EXPERIMENTS]
    known = sorted(sections, key=lambda name: order.index(name) if name in order else len(order))
    path.write_text((start + "".join(sections[name] for name in known)).rstrip() + "\n")


def preamble() -> str:
    return "\n".join(
        [
            "# Figures of the paper on sparse online learning\n",
            'Wang, Wu, Zhao & Hoi, "A framework of sparse online learning and its applications", 2015.\n',
            "How the parameters were tuned and the penalties chosen is in the docstring of",
            '`benchmarks/sol_figures.py`. "Kept until" is the highest sparsity whose mean error is at most half a',
            "point above that without a penalty. A yes or no is about the means over the orders.\n\n",
        ]
    )


def arguments(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Reproduce figures of the paper on sparse online learning.")
    parser.add_argument("figure", choices=["figure1", "figures45"])
    parser.add_argument("--data", help="folder with the LIBSVM files")
    parser.add_argument(
        "--sets", nargs="+", choices=[one.name for one in EXPERIMENTS], help="default all of the figure"
    )
    parser.add_argument("--permutations", type=int, help="default 5, of url2 3, of webspam2 2, with --quick 2")
    parser.add_argument("--quick", action="store_true", help="fewer rows, two orders, a coarse grid")
    parser.add_argument("--reasons", action="store_true", help="also under other readings of the paper")
    parser.add_argument("--resume", action="store_true", help="keep what an earlier run left in out/")
    parser.add_argument("--output", type=Path, help="markdown file to write")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    options = arguments(argv)
    for one in EXPERIMENTS:
        if one.is_figure1 != (options.figure == "figure1") or (options.sets and one.name not in options.sets):
            continue
        learners = SPARSE if one.is_figure1 else SPARSE + COST_SENSITIVE + PLAIN
        experiment = replace(one, permutations=options.permutations or one.permutations)
        if options.quick:
            experiment = replace(experiment, permutations=2, grid_step=5, gap=2 * one.gap)
        try:
            data = experiment.load(data_folder(options.data), options.quick)
        except FileNotFoundError as missing:
            print(f"{experiment.name}: skipped, there is no file {missing.filename}")
            continue
        print("\n".join([f"\n{experiment.heading}", *table_head(one)]), flush=True)
        results = measure(experiment, learners, data, options)
        levels: Floats = np.array(experiment.levels)
        verdicts = claims_of_figure1(results) if one.is_figure1 else claims_of_figures45(results, levels)
        print("\n".join(["", *verdict_rows(verdicts)]), flush=True)
        more = ""
        if options.reasons and one is FIGURE1:
            more = reasons_of_figure1(results, data)
        elif options.reasons and one.name in ("url2", "w8a", "news20"):
            more = reasons_of_figures45(results, data, list(experiment.levels))

        print("Drawn:", draw(experiment, results, OUT))
        if options.output:
            command = f"python benchmarks/sol_figures.py {options.figure}"
            command += f" --sets {one.name}" + (" --reasons" if more else "")
            text = section(experiment, data, results, verdicts, more)
            write(options.output, experiment.heading, text, f"{command} --output benchmarks/sol_figures.md")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The learners side by side on one stream: ``python -m sureline.demo``.

Prints a table in the manner of table 3 of Wang, Zhao & Hoi (ICML 2012) and draws the online error curves of its
figure 1; then what sparsity costs the learners of the sparse online learning framework, after figure 1 of Wang, Wu,
Zhao & Hoi.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ._estimator import OnlineClassifier
from .datasets import make_rotated_gaussian, make_sparse_gaussian
from .first_order import ALMA, PA, ROMMA, Perceptron
from .second_order import AROW, CW, IELLIP, NAROW, NHERD, SCW, SOP
from .sparse_online import FOBOS, FSOL, SSOL, STG, AdaFOBOS, AdaRDA
from .sparsity import SparsityPath, plot_sparsity_paths, sparsity_path

POWERS = [2.0**k for k in range(-4, 5)]
LEVELS = [k / 100 for k in range(50, 100, 5)]
FULL = {"covariance": ["full"]}

# Each learner with the values that its parameters are chosen from: the grids of the paper's section 5.1.
LEARNERS: dict[str, tuple[type[OnlineClassifier], dict[str, list[Any]]]] = {
    "Perceptron": (Perceptron, {}),
    "ROMMA": (ROMMA, {}),
    "agg-ROMMA": (ROMMA, {"aggressive": [True]}),
    "ALMA": (ALMA, {}),
    "PA-I": (PA, {"variant": ["I"], "C": POWERS}),
    "PA-II": (PA, {"variant": ["II"], "C": POWERS}),
    "SOP": (SOP, FULL),
    "IELLIP": (IELLIP, {**FULL, "b": [k / 10 for k in range(1, 10)]}),
    "CW": (CW, {**FULL, "eta": LEVELS}),
    "NHERD": (NHERD, {**FULL, "C": POWERS}),
    "AROW": (AROW, {**FULL, "r": POWERS}),
    "NAROW": (NAROW, {**FULL, "b": POWERS}),
    "SCW-I": (SCW, {**FULL, "variant": ["I"], "C": POWERS, "eta": LEVELS}),
    "SCW-II": (SCW, {**FULL, "variant": ["II"], "C": POWERS, "eta": LEVELS}),
}

# The sparse ones with the learning rates of the other paper's section 5.1, and penalties from none to all.
RATES = [2.0**k for k in range(-1, 10)]
SPARSE_LEARNERS: dict[str, tuple[Any, list[float]]] = {
    "STG": (STG, [0.0, *np.geomspace(1e-5, 1e2, 30)]),
    "FOBOS": (FOBOS, [0.0, *np.geomspace(1e-3, 1e2, 30)]),
    "Ada-FOBOS": (AdaFOBOS, [0.0, *np.geomspace(1e-3, 1e2, 30)]),
    "Ada-RDA": (AdaRDA, [0.0, *np.geomspace(1e-2, 1e1, 30)]),
    "FSOL": (FSOL, [0.0, *np.geomspace(1e1, 1e5, 30)]),
    "SSOL": (SSOL, [0.0, *np.geomspace(1e0, 1e5, 30)]),
}
LEVELS_OF_SPARSITY = (0.0, 0.5, 0.8, 0.9, 0.95)


@dataclass
class Result:
    """Of one learner on one stream; an entry for each permutation of the rows."""

    parameters: dict[str, Any]
    updates: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    curves: list[npt.NDArray[np.float64]] = field(default_factory=list)  # mistake rate after each chunk


def tuned(name: str, X: Any, y: Any) -> dict[str, Any]:
    """The parameters from the learner's grid that make the fewest mistakes on one pass over the rows."""
    estimator, grid = LEARNERS[name]
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if len(settings) == 1:
        return settings[0]
    return min(settings, key=lambda parameters: estimator(fit_intercept=False, **parameters).fit(X, y).n_mistakes_)


def run(X: Any, y: Any, permutations: int, cuts: npt.NDArray[np.int64]) -> dict[str, Result]:
    """Every learner once over each of several permutations of the rows, in chunks that end at `cuts`."""
    classes = np.unique(y)
    results = {name: Result(tuned(name, X, y)) for name in LEARNERS}
    for seed in range(permutations):
        order = np.random.default_rng(seed).permutation(len(y))
        rows, labels = X[order], y[order]
        for name, result in results.items():
            estimator = LEARNERS[name][0]
            model = estimator(fit_intercept=False, **result.parameters)
            curve, start = [], 0
            for stop in cuts:
                model.partial_fit(rows[start:stop], labels[start:stop], classes=classes)
                curve.append(model.n_mistakes_ / model.n_seen_)
                start = stop
            result.updates.append(model.n_updates_)
            result.curves.append(np.array(curve))
            model = estimator(fit_intercept=False, **result.parameters)
            begin = time.perf_counter()  # the whole stream in one call, which gives the same model
            model.partial_fit(rows, labels, classes=classes)
            result.seconds.append(time.perf_counter() - begin)
    return results


def table(title: str, results: dict[str, Result]) -> str:
    """Mistake rate, updates and time, each with its standard deviation over the permutations."""
    lines = [title, f"  {'Algorithm':<12}{'Mistake rate':<17}{'Updates':<19}{'Time (ms)':<15}Parameters"]
    best = min(np.mean([curve[-1] for curve in result.curves]) for result in results.values())
    for name, result in results.items():
        rates, updates = [curve[-1] for curve in result.curves], result.updates
        milliseconds = 1000 * np.array(result.seconds)
        chosen = ", ".join(f"{key}={value:g}" for key, value in result.parameters.items() if isinstance(value, float))
        mark = "*" if np.mean(rates) == best else " "
        lines.append(
            f"{mark} {name:<12}{np.mean(rates):.3f} ± {np.std(rates):.3f}"
            f"{np.mean(updates):>10.1f} ± {np.std(updates):<6.1f}"
            f"{np.mean(milliseconds):>8.2f} ± {np.std(milliseconds):<6.2f}{chosen}".rstrip()
        )
    return "\n".join(lines)


def draw(path: Path, panels: dict[str, dict[str, Result]], cuts: npt.NDArray[np.int64]) -> None:
    """Online mistake rates against the number of examples, a panel for each stream."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(panels), figsize=(12, 5.2), layout="constrained", squeeze=False)
    colours = plt.get_cmap("tab20")
    for axis, (title, results) in zip(axes[0], panels.items(), strict=True):
        for i, (name, result) in enumerate(results.items()):
            second_order = "covariance" in LEARNERS[name][1]
            axis.plot(
                cuts,
                np.mean(result.curves, axis=0),
                label=name,
                color=colours(i),
                linestyle="-" if second_order else "--",
                linewidth=4 if name.startswith("SCW") else 1.4,
                zorder=1 if name.startswith("SCW") else 2,  # broad, and below those that run along it
            )
        axis.set(title=title, xlabel="Examples seen", ylabel="Online mistake rate", xscale="log")
        axis.set_xlim(cuts[0], cuts[-1])
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    figure.legend(
        *axes[0][0].get_legend_handles_labels(),
        loc="outside lower center",
        ncols=7,
        frameon=False,
        title="solid: with a covariance; dashed: without; broad: SCW",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def sparsity_of(X: Any, y: Any, X_test: Any, y_test: Any) -> dict[str, tuple[float, SparsityPath]]:
    """For each sparse learner its best learning rate without a penalty, and its path over the penalties with that."""
    results = {}
    for name, (estimator, penalties) in SPARSE_LEARNERS.items():
        rates = [estimator(eta=rate, fit_intercept=False).fit(X, y).n_mistakes_ for rate in RATES]
        rate = RATES[int(np.argmin(rates))]
        learner = estimator(eta=rate, fit_intercept=False)
        results[name] = rate, sparsity_path(learner, X, y, penalties, X_test=X_test, y_test=y_test)
    return results


def table_of_sparsity(title: str, results: dict[str, tuple[float, SparsityPath]]) -> str:
    """Test error at some levels of sparsity, interpolated between the penalties next to them."""
    lines = [title, f"  {'Algorithm':<12}" + "".join(f"{f'{level:.0%} zeros':>12}" for level in LEVELS_OF_SPARSITY)]
    for name, (rate, path) in results.items():
        order = np.argsort(path.sparsity, kind="stable")
        errors = np.interp(LEVELS_OF_SPARSITY, path.sparsity[order], np.asarray(path.test_error)[order])
        lines.append(f"  {name:<12}" + "".join(f"{error:>12.3f}" for error in errors) + f"   eta={rate:g}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m sureline.demo", description="The learners side by side on one stream."
    )
    parser.add_argument(
        "--output", type=Path, default=Path("sureline-demo.png"), help="the picture, PNG or SVG (default: %(default)s)"
    )
    parser.add_argument(
        "--permutations", type=int, default=20, help="how often the rows are shuffled anew (default: %(default)s)"
    )
    parser.add_argument("--examples", type=int, default=5000, help="length of the stream (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.output.suffix.lower() not in (".png", ".svg"):
        parser.error(f"--output must end in .png or .svg. Got {str(options.output)!r} instead.")
    if options.permutations < 1:
        parser.error(f"--permutations must be at least 1. Got {options.permutations} instead.")
    if options.examples < 50:
        parser.error(f"--examples must be at least 50. Got {options.examples} instead.")

    cuts = np.unique(np.geomspace(20, options.examples, 40).astype(np.int64))
    panels = {}
    print("Data: sureline.datasets.make_rotated_gaussian, after the paper's synthetic data\n")
    for title, noise in (("synthetic data", 0.0), ("synthetic data with 10 % of the labels flipped", 0.1)):
        X, y = make_rotated_gaussian(options.examples, noise=noise, random_state=0)
        panels[title] = run(X, y, options.permutations, cuts)
        heading = f"{title}: {X.shape[0]} examples, {X.shape[1]} features, {options.permutations} permutations"
        print(table(heading, panels[title]), end="\n\n")
    print("Mean ± standard deviation over the permutations; * has the fewest mistakes. A mistake is a label predicted")
    print(
        "wrongly just before it was learned from. Parameters are the best of the paper's grid on a pass of their own."
    )

    n_train, n_test = 4 * options.examples, options.examples
    X, y = make_sparse_gaussian(n_train + n_test, random_state=0)
    paths = sparsity_of(X[:n_train], y[:n_train], X[n_train:], y[n_train:])
    print("\nData: sureline.datasets.make_sparse_gaussian, 100 features that matter and 900 that do not\n")
    print(table_of_sparsity(f"Test error by sparsity: one pass over {n_train} examples, {n_test} to test", paths))

    guess = min(np.mean(y[n_train:] == 0), np.mean(y[n_train:] == 1))
    print("\nInterpolated between the penalties next to each level. eta is the best of the paper's grid without a")
    print(f"penalty, on a pass of its own. To predict the more frequent class always would be an error of {guess:.3f}.")

    sparsity_picture = options.output.with_name(f"{options.output.stem}-sparsity{options.output.suffix}")
    try:
        draw(options.output, panels, cuts)
        plot_sparsity_paths({name: path for name, (_, path) in paths.items()}).savefig(sparsity_picture, dpi=130)
    except ImportError:
        print("The pictures need matplotlib: pip install 'sureline[plot]'.", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"The picture could not be written to {options.output}: {error.strerror}.", file=sys.stderr)
        return 1
    print(f"\nOnline error curves: {options.output.resolve()}\nError and sparsity:  {sparsity_picture.resolve()}")
    return 0


if __name__ == "__main__":
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # end quietly under `| head`
    sys.exit(main())

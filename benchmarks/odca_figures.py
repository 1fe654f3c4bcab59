"""Reproduce figures 1 and 2 of Ying, Yuan & Sayed, "Online dual coordinate ascent learning", 2015: test error against
iterations.

    python benchmarks/odca_figures.py [figure1] [figure2] [--data DIR] [--orders N] [--quick]

Three learners minimise the hinge loss with an l2 regulariser of weight rho, and see one row an iteration: O-DCA with an
exponential window (`ODCA`), the sub-gradient method (46) with mu = (1 - beta) / rho, both over the training rows once,
and S-DCA (the steps of `SDCA`) over the first fifth of them for five epochs. Each is run over the rows in several
random orders; curves are means, with a band of one standard deviation on both sides. The level they approach is that of
LinearSVC, which minimises the same objective over all training rows: C = 1 / (rho N); the paper has LIBSVM there.
Nothing has an intercept, as in the paper's equations (44) to (46), and nothing is smoothed (27).

Figure 1 is Adult: the first 11,220 rows of a9a, which are the paper's a6a, for training, and the other 21,341 for
testing; rho = 0.001, beta = 0.99995. It needs a9a.bz2 in the data folder, which is `--data`, else the environment
variable SURELINE_DATA, else ../shared/data beside the repository; without it the figure is skipped.

Figure 2 is NOT the paper's RCV1, which is not to be had here, but a random stream of its shape: 20,242 rows for training
and 47,236 features with 74 nonzeros a row (`sureline.datasets.make_sparse_stream`, 1,000 informative features, 5 % of
the labels flipped), and 50,000 rows for testing; rho = 0.0001, beta = 0.99998.

The pictures are out/odca-figure1.png and out/odca-figure2.png. The script ends with 1 if O-DCA ends above the error of
the sub-gradient method. `--quick` takes 2 orders, and a quarter of the rows for testing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.datasets import load_svmlight_file
from sklearn.svm import LinearSVC

import sureline
from sureline import _core
from sureline._rows import as_rows, squared_norms
from sureline.datasets import make_sparse_stream

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out"
Floats = npt.NDArray[np.float64]
EPOCHS = 5  # of S-DCA, over one fifth of the rows
N_LOOKS = 60
STYLES = {"O-DCA": ("#0072B2", "-"), "S-DCA": ("#009E73", "--"), "sub-gradient": ("#D55E00", "-.")}


@dataclass(frozen=True)
class Data:
    """Rows in float64, and labels of -1 and +1."""

    X: Any
    y: npt.NDArray[np.int64]
    X_test: Any
    y_test: npt.NDArray[np.int64]

    def error(self, w: Floats) -> float:
        return float(np.mean(np.where(self.X_test @ w > 0, 1, -1) != self.y_test))


@dataclass(frozen=True)
class Figure:
    name: str
    title: str
    load: Callable[[Path, bool], Data | None]
    rho: float
    beta: float
    orders: int

    @property
    def mu(self) -> float:
        return (1 - self.beta) / self.rho


def adult(folder: Path, quick: bool) -> Data | None:
    path = folder / "a9a.bz2"
    if not path.exists():
        print(f"figure1 is skipped: there is no {path}.")
        return None
    X, y = load_svmlight_file(str(path), n_features=123)
    n_test = 5_335 if quick else 21_341
    y = y.astype(np.int64)
    return Data(X[:11_220], y[:11_220], X[11_220 : 11_220 + n_test], y[11_220 : 11_220 + n_test])


def like_rcv1(folder: Path, quick: bool) -> Data | None:
    n_train, n_test = 20_242, 12_500 if quick else 50_000
    X, y = make_sparse_stream(n_train + n_test, 47_236, 74, n_informative=1000, noise=0.05, random_state=0)
    X, y = X.astype(np.float64), 2 * y - 1
    return Data(X[:n_train], y[:n_train], X[n_train:], y[n_train:])


FIGURES = [
    Figure("figure1", "Adult (a6a): 11,220 rows, 123 features", adult, 1e-3, 0.99995, 10),
    Figure(
        "figure2", "A random stream of the shape of RCV1: 20,242 rows, 47,236 features", like_rcv1, 1e-4, 0.99998, 5
    ),
]


# -- the learners: from rows in an order to the test error at each of the looks --------------------------------------


def online(figure: Figure, data: Data, order: npt.NDArray[np.int64], looks: npt.NDArray[np.int64]) -> list[float]:
    model = sureline.ODCA(
        rho=figure.rho, window="exponential", beta=figure.beta, loss="hinge", regularizer="l2", fit_intercept=False
    )
    errors, seen = [], 0
    for look in looks:
        rows = order[seen:look]
        model.partial_fit(data.X[rows], data.y[rows], classes=[-1, 1])
        errors.append(data.error(model.coef_[0]))
        seen = look
    return errors


def sub_gradient(figure: Figure, data: Data, order: npt.NDArray[np.int64], looks: npt.NDArray[np.int64]) -> list[float]:
    """Eq. (46), with w = scale v so that a row costs its nonzeros."""
    X, y, mu, shrink = data.X, data.y, figure.mu, 1 - figure.mu * figure.rho
    v, scale, errors, seen = np.zeros(X.shape[1]), 1.0, [], 0
    for look in looks:
        for row in order[seen:look]:
            part = slice(X.indptr[row], X.indptr[row + 1])
            columns, values = X.indices[part], X.data[part]
            hit = 1 - y[row] * scale * (values @ v[columns]) >= 0
            scale *= shrink
            if hit:
                v[columns] += mu * y[row] / scale * values
        errors.append(data.error(scale * v))
        seen = look
    return errors


def finite(figure: Figure, data: Data, order: npt.NDArray[np.int64], looks: npt.NDArray[np.int64]) -> list[float]:
    """The steps of SDCA, stopped within an epoch to look. The order gives the fifth and the seed of the epochs."""
    here = order[: len(order) // EPOCHS]
    rows = as_rows(data.X[here], np.float64)
    labels, weight = (data.y[here] == 1).astype(np.int32), np.ones(len(here))
    problem = _core.FiniteDual(rows, labels, 1, weight, squared_norms(rows), figure.rho, "hinge", 1.0, "l2", 0.0, False)
    rng = np.random.default_rng(order[0])
    steps = np.concatenate([rng.permutation(len(here)) for _ in range(EPOCHS)]).astype(np.int64)
    b, w_prime, errors, done = np.zeros(len(here)), np.zeros(data.X.shape[1] + 1), [], 0
    for look in looks:
        problem.ascend(b, w_prime, steps[done:look])
        errors.append(data.error(w_prime[1:]))
        done = look
    return errors


LEARNERS = {"O-DCA": online, "S-DCA": finite, "sub-gradient": sub_gradient}


# -- one figure ------------------------------------------------------------------------------------------------------


def run(figure: Figure, data: Data, n_orders: int) -> bool:
    n = data.X.shape[0]
    print(f"\n{figure.title}; {len(data.y_test):,} test rows, {n_orders} orders")
    print(f"rho = {figure.rho:g}, beta = {figure.beta:g}, mu = {figure.mu:g}, no intercept\n")
    svm = LinearSVC(
        C=1 / (figure.rho * n), loss="hinge", dual=True, fit_intercept=False, tol=1e-5, max_iter=100_000, random_state=0
    )
    level = data.error(svm.fit(data.X, data.y).coef_[0])
    looks = np.unique(np.linspace(0, n, N_LOOKS + 1).round().astype(np.int64))[1:]
    orders = [np.random.default_rng(seed).permutation(n) for seed in range(n_orders)]
    curves = {}
    for name, learner in LEARNERS.items():
        begin = time.perf_counter()
        curves[name] = np.array([learner(figure, data, order, looks) for order in orders])
        print(f"  {name} took {time.perf_counter() - begin:.1f} s", flush=True)
    shown = [np.searchsorted(looks, n * share) for share in (0.1, 0.5)]
    print(f"\n{'test error, %':<14}{'after 10 %':>12}{'after 50 %':>12}{'at the end':>12}{'deviation':>11}")
    for name, curve in curves.items():
        errors = [100 * curve[:, look].mean() for look in [*shown, -1]]
        deviation = 100 * curve[:, -1].std(ddof=1) if n_orders > 1 else 0.0
        print(f"{name:<14}" + "".join(f"{error:>12.2f}" for error in errors) + f"{deviation:>11.2f}")
    print(f"{'LinearSVC':<14}{100 * level:>36.2f}")
    path = draw(figure, looks, curves, level)
    ours, theirs = (float(curves[name][:, -1].mean()) for name in ("O-DCA", "sub-gradient"))
    lower = int((curves["O-DCA"][:, -1] <= curves["sub-gradient"][:, -1]).sum())
    verdict = "holds" if ours <= theirs else "DOES NOT HOLD"
    print(f"\nO-DCA ends at or below the sub-gradient method's error: {verdict} ({ours:.2%} against {theirs:.2%};")
    print(f"in {lower} of {n_orders} orders). Drawn in {path.relative_to(ROOT)}")
    return ours <= theirs


def draw(figure: Figure, looks: npt.NDArray[np.int64], curves: dict[str, Floats], level: float) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    canvas, ax = pyplot.subplots(figsize=(7, 4.8), layout="constrained")
    for name, curve in curves.items():
        colour, style = STYLES[name]
        mean = 100 * curve.mean(axis=0)
        spread = 100 * curve.std(axis=0, ddof=1) if len(curve) > 1 else 0 * mean
        ax.plot(looks, mean, style, color=colour, linewidth=1.6, label=name)
        ax.fill_between(looks, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
    ax.axhline(100 * level, color="0.3", linewidth=1.2, linestyle=":", label="LinearSVC, all training rows")
    top = max(float(np.quantile(100 * curve.mean(axis=0), 0.98)) for curve in curves.values())
    low = min(100 * level, *(100 * float(curve.mean(axis=0).min()) for curve in curves.values()))
    ax.set_ylim(low - 0.08 * (top - low), top + 0.05 * (top - low))
    ax.set_xlim(0, looks[-1])
    ax.set_xlabel("Iterations")
    ax.set_ylabel("Test error (%)")
    ax.set_title(f"{figure.title}\nrho = {figure.rho:g}, beta = {figure.beta:g}, mu = {figure.mu:g}", fontsize=10)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False)
    OUT.mkdir(exist_ok=True)
    path = OUT / f"odca-{figure.name}.png"
    canvas.savefig(path, dpi=110)
    pyplot.close(canvas)
    return path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", choices=[[], *(figure.name for figure in FIGURES)], default=[])
    parser.add_argument("--data", type=Path, help="the folder of a9a.bz2")
    parser.add_argument("--orders", type=int, help="random orders of the rows: 10 for figure 1, 5 for figure 2")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    if options.orders is not None and options.orders < 1:
        parser.error(f"--orders must be at least 1. Got {options.orders} instead.")
    folder = options.data or Path(os.environ.get("SURELINE_DATA") or ROOT.parent / "shared" / "data")
    holds = []
    for figure in FIGURES:
        if options.figures and figure.name not in options.figures:
            continue
        data = figure.load(folder, options.quick)
        if data is not None:
            holds.append(run(figure, data, options.orders or (2 if options.quick else figure.orders)))
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())

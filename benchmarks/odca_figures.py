"""Reproduce figures 1 and 2 of Ying, Yuan & Sayed, "Online dual coordinate ascent learning", EUSIPCO 2016: test error
against iterations.

    python benchmarks/odca_figures.py [figure1] [figure2] [--data DIR] [--orders N] [--quick]

Three learners minimise the hinge loss with an l2 regulariser of weight rho, and see one row an iteration: O-DCA with an
exponential window (`ODCA`), the sub-gradient method (46) with mu = (1 - beta) / rho, both over the training rows once,
and S-DCA (the steps of `SDCA`) over the first fifth of them for five epochs. Each is run over the rows in several
random orders; curves are means, with a band of one standard deviation on both sides. The level they approach is that of
LinearSVC, which minimises the same objective over all training rows: C = 1 / (rho N); the paper has LIBSVM there.
Nothing has an intercept, as in the paper's equations (44) to (46).

The paper recommends to smooth the output where the loss has a kink, eq. (27), and does not say whether the figures do,
nor with which kappa. Drawn are O-DCA and the sub-gradient method both as they are and smoothed with kappa = beta, which
averages over as many weights as the window has rows; a table has more values of kappa for both.

Figure 1 is Adult: the first 11,220 rows of a9a, which are the paper's a6a, for training, and the other 21,341 for
testing; rho = 0.001, beta = 0.99995. It needs a9a.bz2 in the data folder, which is `--data`, else the environment
variable SURELINE_DATA, else ../shared/data beside the repository; without it the figure is skipped.

Figure 2 is NOT the paper's RCV1, which is not to be had here, but a random stream of its shape: 20,242 rows for
training and 47,236 features with 74 nonzeros a row (`sureline.datasets.make_sparse_stream`, 1,000 informative features,
5 % of the labels flipped), and 50,000 rows for testing; rho = 0.0001, beta = 0.99998.

The pictures are out/odca-figure1.png and out/odca-figure2.png. The script ends with 1 if O-DCA, smoothed, ends above
the error of the sub-gradient method (46). `--quick` takes 2 orders, and a quarter of the rows for testing.
"""

from __future__ import annotations

import argparse
import os
import sys
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
Order = npt.NDArray[np.int64]
EPOCHS = 5  # of S-DCA, over one fifth of the rows
N_LOOKS = 60
STYLES = {
    "O-DCA": ("#0072B2", ":"),
    "O-DCA, smoothed": ("#0072B2", "-"),
    "S-DCA, a fifth": ("#009E73", "--"),
    "sub-gradient": ("#D55E00", ":"),
    "sub-gradient, smoothed": ("#D55E00", "-"),
}


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

    @property
    def kappas(self) -> tuple[float, ...]:
        return 0.0, 0.99, 0.999, self.beta


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
        "figure2",
        "A stand-in for RCV1, a random stream of its shape: 20,242 rows, 47,236 features",
        like_rcv1,
        1e-4,
        0.99998,
        5,
    ),
]


# -- the learners: from rows in an order to the test errors, a row for each kappa and a column for each look ---------


def online(figure: Figure, data: Data, order: Order, looks: Order) -> Floats:
    return np.array([_online(figure, data, order, looks, kappa) for kappa in figure.kappas])


def _online(figure: Figure, data: Data, order: Order, looks: Order, kappa: float) -> list[float]:
    model = sureline.ODCA(
        rho=figure.rho,
        window="exponential",
        beta=figure.beta,
        smoothing=kappa,
        loss="hinge",
        fit_intercept=False,
        normalize="none",
    )
    errors, seen = [], 0
    for look in looks:
        rows = order[seen:look]
        model.partial_fit(data.X[rows], data.y[rows], classes=[-1, 1])
        errors.append(data.error(model.coef_[0]))
        seen = look
    return errors


def sub_gradient(figure: Figure, data: Data, order: Order, looks: Order) -> Floats:
    """Eq. (46), and its weights smoothed by (27)."""
    X, y, mu = data.X, data.y, figure.mu
    w, errors, seen = np.zeros(X.shape[1]), [], 0
    kappas = figure.kappas
    sums, S = [np.zeros_like(w) for _ in kappas], np.zeros(len(kappas))
    for look in looks:
        for row in order[seen:look]:
            part = slice(X.indptr[row], X.indptr[row + 1])
            columns, values = X.indices[part], X.data[part]
            hit = 1 - y[row] * (values @ w[columns]) >= 0
            w *= 1 - mu * figure.rho
            if hit:
                w[columns] += mu * y[row] * values
            for k, kappa in enumerate(kappas):
                if kappa > 0:
                    sums[k] *= kappa
                    sums[k] += w
                    S[k] = kappa * S[k] + 1
        errors.append([data.error(w if kappa == 0 else sums[k] / S[k]) for k, kappa in enumerate(kappas)])
        seen = look
    return np.array(errors).T


def finite(figure: Figure, data: Data, order: Order, looks: Order) -> Floats:
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
    return np.array([errors])


# -- one figure ------------------------------------------------------------------------------------------------------


def run(figure: Figure, data: Data, n_orders: int) -> bool:
    n = data.X.shape[0]
    print(f"\n{figure.title}; {len(data.y_test):,} test rows, {n_orders} orders")
    print(f"rho = {figure.rho:g}, beta = {figure.beta:g}, mu = {figure.mu:g}, no intercept", flush=True)
    svm = LinearSVC(
        C=1 / (figure.rho * n), loss="hinge", dual=True, fit_intercept=False, tol=1e-5, max_iter=100_000, random_state=0
    )
    level = data.error(svm.fit(data.X, data.y).coef_[0])
    looks = np.unique(np.linspace(0, n, N_LOOKS + 1).round().astype(np.int64))[1:]
    orders = [np.random.default_rng(seed).permutation(n) for seed in range(n_orders)]

    def over_orders(learner: Callable[..., Floats]) -> Floats:
        """Kappas x orders x looks."""
        return np.stack([learner(figure, data, order, looks) for order in orders], axis=1)

    ours, theirs = over_orders(online), over_orders(sub_gradient)
    curves = {
        "O-DCA": ours[0],
        "O-DCA, smoothed": ours[-1],
        "S-DCA, a fifth": over_orders(finite)[0],
        "sub-gradient": theirs[0],
        "sub-gradient, smoothed": theirs[-1],
    }
    print_errors(figure, looks, curves, level)
    print("\nAt the end, %, by kappa  " + "".join(f"{kappa:>10g}" for kappa in figure.kappas))
    for name, errors in (("O-DCA", ours), ("sub-gradient", theirs)):
        print(f"{name:<25}" + "".join(f"{100 * error:>10.2f}" for error in errors[:, :, -1].mean(axis=1)))
    path = draw(figure, looks, curves, level)
    print(f"\nDrawn in {path.relative_to(ROOT)}. O-DCA ends at or below the error of the sub-gradient method:")
    holds = judged("  smoothed, against (46)", curves["O-DCA, smoothed"], curves["sub-gradient"])
    judged("  both as they are", curves["O-DCA"], curves["sub-gradient"])
    judged("  both smoothed", curves["O-DCA, smoothed"], curves["sub-gradient, smoothed"])
    return holds


def print_errors(figure: Figure, looks: Order, curves: dict[str, Floats], level: float) -> None:
    shown = [*(int(np.searchsorted(looks, looks[-1] * share)) for share in (0.1, 0.5)), -1]
    print(f"\n{'Test error, %':<25}{'after 10 %':>12}{'after 50 %':>12}{'at the end':>12}{'deviation':>11}")
    for name, curve in curves.items():
        deviation = 100 * curve[:, -1].std(ddof=1) if len(curve) > 1 else 0.0
        errors = "".join(f"{100 * curve[:, look].mean():>12.2f}" for look in shown)
        print(f"{name:<25}{errors}{deviation:>11.2f}")
    print(f"{'LinearSVC':<25}{100 * level:>36.2f}")


def judged(what: str, ours: Floats, theirs: Floats) -> bool:
    mine, other = float(ours[:, -1].mean()), float(theirs[:, -1].mean())
    in_orders = int((ours[:, -1] <= theirs[:, -1]).sum())
    verdict = "holds" if mine <= other else "DOES NOT HOLD"
    print(f"{what:<25}{verdict:<15}{mine:.2%} against {other:.2%}, in {in_orders} of {len(ours)} orders")
    return mine <= other


def draw(figure: Figure, looks: Order, curves: dict[str, Floats], level: float) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    canvas, ax = pyplot.subplots(figsize=(7, 5.2), layout="constrained")
    for name, curve in curves.items():
        colour, style = STYLES[name]
        mean = 100 * curve.mean(axis=0)
        spread = 100 * curve.std(axis=0, ddof=1) if len(curve) > 1 else 0 * mean
        ax.plot(looks, mean, style, color=colour, linewidth=1.6, label=name)
        ax.fill_between(
            looks, mean - spread, mean + spread, color=colour, alpha=0.07 if style == ":" else 0.15, linewidth=0
        )
    ax.axhline(100 * level, color="0.3", linewidth=1.2, linestyle="-", label="LinearSVC, all training rows")
    top = max(float(np.quantile(100 * curve.mean(axis=0), 0.98)) for curve in curves.values())
    low = min(100 * level, *(100 * float(curve.mean(axis=0).min()) for curve in curves.values()))
    ax.set_ylim(low - 0.08 * (top - low), top + 0.05 * (top - low))
    ax.set_xlim(0, looks[-1])
    ax.set_xlabel("Iterations")
    ax.set_ylabel("Test error (%)")
    ax.set_title(f"{figure.title}\nrho = {figure.rho:g}, beta = {figure.beta:g}, mu = {figure.mu:g}", fontsize=10)
    ax.grid(alpha=0.3)
    canvas.legend(loc="outside lower center", ncols=3, frameon=False)
    OUT.mkdir(exist_ok=True)
    path = OUT / f"odca-{figure.name}.png"
    canvas.savefig(path, dpi=110)
    pyplot.close(canvas)
    return path


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="figure1 | figure2", help="both if none is named")
    parser.add_argument("--data", type=Path, help="the folder of a9a.bz2")
    parser.add_argument("--orders", type=int, help="random orders of the rows: 10 for figure 1, 5 for figure 2")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args(arguments)
    for name in options.figures:
        if name not in [figure.name for figure in FIGURES]:
            parser.error(f"a figure must be figure1 or figure2. Got {name!r} instead.")
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

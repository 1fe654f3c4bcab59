"""The protocol "error against iterations" of the paper on online dual coordinate ascent, section IV.

Three learners minimise the hinge loss with an l2 regulariser of weight rho, and see one row an iteration: O-DCA with an
exponential window (`ODCA`), the sub-gradient method (46) with mu = (1 - beta) / rho, both over the training rows once,
and S-DCA (the steps of `SDCA`) over the first fifth of them for five epochs. Each is run over the rows in several
random orders; curves are means. The level they approach is that of LinearSVC, which minimises the same objective over
all training rows: C = 1 / (rho N); the paper has LIBSVM there. Nothing has an intercept, as in equations (44) to (46).

The paper recommends to smooth the output where the loss has a kink, eq. (27), and does not say whether the figures do,
nor with which kappa. So O-DCA and the sub-gradient method are run both as they are and smoothed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..._inputs import Floats, Ints
from ..._native import _core
from ...models.rows import as_rows, squared_norms
from ..data import Effort, Split, split_of
from ..entry import Entry
from ..learners import build
from ..outcome import Cell, Column, Findings, Mean, Missing, Picture, Row, Series, Table, Verdict, labelled
from ..progress import Progress
from ..statistics import best_of, lower, mean_of, p_value

SMOOTHED = "smooth O-DCA"
PLAIN = "O-DCA"
GRADIENT = "SGD"
GRADIENT_SMOOTHED = "smooth SGD"
FINITE = "S-DCA (1/5)"


@dataclass(frozen=True)
class Parameters:
    """The protocol."""

    rho: float  # of the objective
    beta: float  # of the window; the step of the sub-gradient method is (1 - beta) / rho
    # Averages for smoothing. The first must be 0 (none); the last one is drawn: beta averages over as many weights as
    # the window has rows.
    kappas: tuple[float, ...]
    epochs: int  # of S-DCA, over as small a part of the rows
    orders: int  # random orders of the rows
    first_seed: int
    looks: int  # how often the test error is looked at
    near: float  # how close to the level of LinearSVC an error has to come to count as converged
    n_train: int
    n_test: int
    file_test: int | None = None  # for files with more rows

    @property
    def mu(self) -> float:
        return (1 - self.beta) / self.rho


def run(entry: Entry, parameters: Parameters, folder: Path | None, progress: Progress) -> Findings:
    """Run the three learners on the one data set of the entry."""
    progress.expect(parameters.orders * (len(parameters.kappas) + 2))
    (data,) = entry.data_sets
    rows = split_of(
        data, Effort(parameters.n_train, parameters.n_test, parameters.n_train, parameters.file_test), folder
    )
    if isinstance(rows, Missing):
        return Findings(missing=(rows,))
    n = rows.X.shape[0]
    level = _error(rows, _batch(entry, parameters, rows))
    looks = np.unique(np.linspace(0, n, parameters.looks + 1).round().astype(np.int64))[1:]
    seeds = range(parameters.first_seed, parameters.first_seed + parameters.orders)
    ours, theirs, finite_ones = [], [], []
    for seed in seeds:
        order = np.random.default_rng(seed).permutation(n)
        ours.append(online(entry, parameters, rows, order, looks))
        progress.advance(len(parameters.kappas), f"order {seed}: O-DCA")
        theirs.append(sub_gradient(parameters, rows, order, looks))
        progress.advance(1, f"order {seed}: sub-gradient")
        finite_ones.append(finite(parameters, rows, order, looks))
        progress.advance(1, f"order {seed}: S-DCA")
    of_odca, of_gradient = np.stack(ours, axis=1), np.stack(theirs, axis=1)  # kappas x orders x looks
    curves = {
        PLAIN: of_odca[0],
        SMOOTHED: of_odca[-1],
        FINITE: np.array(finite_ones),
        GRADIENT: of_gradient[0],
        GRADIENT_SMOOTHED: of_gradient[-1],
    }
    note = (
        f'{rows.in_words()}. SGD is the sub-gradient method (46). "Smooth" is either method averaged by (27) with '
        f"kappa = {parameters.kappas[-1]:g}. S-DCA (1/{parameters.epochs}) makes {parameters.epochs} passes over that "
        f"part of the rows; LinearSVC has all of them. The parameters are rho = {parameters.rho:g}, "
        f"beta = {parameters.beta:g} and mu = {parameters.mu:g}, with {parameters.orders} orders of the training rows "
        "and no intercept."
    )
    return Findings(
        tables=(
            _errors(looks, curves, level, note, rows.stand_in),
            _by_kappa(parameters, {PLAIN: of_odca, GRADIENT: of_gradient}, rows.stand_in),
        ),
        pictures=(_picture(entry, looks, curves, level, note, rows.stand_in),),
        verdicts=tuple(_verdicts(looks, curves, level, parameters, "(stand-in) " if rows.stand_in else "")),
        notes=(entry.note,),
    )


# -- the learners: from rows in an order to the test errors, a row for each kappa and a column for each look ----------


def online(entry: Entry, parameters: Parameters, rows: Split, order: Ints, looks: Ints) -> Floats:
    return np.array([_online(entry, parameters, rows, order, looks, kappa) for kappa in parameters.kappas])


def _online(entry: Entry, parameters: Parameters, rows: Split, order: Ints, looks: Ints, kappa: float) -> list[float]:
    settings = {"rho": parameters.rho, "beta": parameters.beta, "smoothing": kappa}
    model = build(entry, _learner(entry, "O-DCA"), settings)
    errors, seen = [], 0
    for look in looks:
        part = order[seen:look]
        model.partial_fit(rows.X[part], rows.y[part], classes=[-1, 1])
        errors.append(_error(rows, model.coef_[0]))
        seen = look
    return errors


def sub_gradient(parameters: Parameters, rows: Split, order: Ints, looks: Ints) -> Floats:
    """Eq. (46), and its weights smoothed by (27)."""
    X, y, mu, kappas = rows.X, rows.y, parameters.mu, parameters.kappas
    w, errors, seen = np.zeros(X.shape[1]), [], 0
    sums, S = [np.zeros_like(w) for _ in kappas], np.zeros(len(kappas))
    for look in looks:
        for row in order[seen:look]:
            part = slice(X.indptr[row], X.indptr[row + 1])
            columns, values = X.indices[part], X.data[part].astype(np.float64)
            hit = 1 - y[row] * (values @ w[columns]) >= 0
            w *= 1 - mu * parameters.rho
            if hit:
                w[columns] += mu * y[row] * values
            for k, kappa in enumerate(kappas):
                if kappa > 0:
                    sums[k] *= kappa
                    sums[k] += w
                    S[k] = kappa * S[k] + 1
        errors.append([_error(rows, w if kappa == 0 else sums[k] / S[k]) for k, kappa in enumerate(kappas)])
        seen = look
    return np.array(errors).T


def finite(parameters: Parameters, rows: Split, order: Ints, looks: Ints) -> Floats:
    """The steps of SDCA, stopped within an epoch to look. The order gives the part and the seed of the epochs."""
    here = order[: len(order) // parameters.epochs]
    some = as_rows(rows.X[here], np.float64)
    labels, weight = (rows.y[here] == 1).astype(np.int32), np.ones(len(here))
    objective = _core.SdcaObjective(
        loss=_core.Loss.hinge, rho=parameters.rho, regularizer=_core.Regularizer.l2, intercept=False
    )
    problem = _core.Sdca(some, labels, 1, weight, squared_norms(some), objective)
    rng = np.random.default_rng(order[0])
    steps = np.concatenate([rng.permutation(len(here)) for _ in range(parameters.epochs)]).astype(np.int64)
    b, w_prime, errors, done = np.zeros(len(here)), np.zeros(rows.X.shape[1] + 1), [], 0
    for look in looks:
        problem.ascend(b, w_prime, steps[done:look])
        errors.append(_error(rows, w_prime[1:]))
        done = look
    return np.array(errors)


def _batch(entry: Entry, parameters: Parameters, rows: Split) -> Floats:
    svm = build(entry, _learner(entry, "LinearSVC"), {"C": 1 / (parameters.rho * len(rows.y))})
    weights: Floats = svm.fit(rows.X, rows.y).coef_[0]
    return weights


def _learner(entry: Entry, name: str) -> Any:
    return next(learner for learner in entry.learners if learner.name == name)


def _error(rows: Split, w: Floats) -> float:
    return float(np.mean(np.where(rows.X_test @ w > 0, 1, -1) != rows.y_test))


# -- findings ---------------------------------------------------------------------------------------------------------


def _errors(looks: Ints, curves: dict[str, Floats], level: float, note: str, stand_in: str | None) -> Table:
    shown = {f"after {share:.0%}": int(np.searchsorted(looks, looks[-1] * share)) for share in (0.1, 0.5)}
    shown["at the end"] = len(looks) - 1
    best = {
        title: best_of({name: curve[:, look].tolist() for name, curve in curves.items()})
        for title, look in shown.items()
    }
    made = [
        Row(
            (name,),
            tuple(Cell(mean_of(100 * curve[:, look]), best=name in best[title]) for title, look in shown.items()),
        )
        for name, curve in curves.items()
    ]
    made.append(Row(("LinearSVC",), (Cell(), Cell(), Cell(Mean(100 * level)))))
    columns = tuple(Column(title, 2, compared=False) for title in shown)
    return Table("Test error, %", ("learner",), columns, tuple(made), note, stand_in)


def _by_kappa(parameters: Parameters, curves: dict[str, Floats], stand_in: str | None) -> Table:
    columns = tuple(Column(f"{kappa:g}", 2, compared=False) for kappa in parameters.kappas)
    made = tuple(
        Row((name,), tuple(Cell(mean_of(100 * errors[k, :, -1])) for k in range(len(parameters.kappas))))
        for name, errors in curves.items()
    )
    return Table("Test error at the end, %, by the kappa of the smoothing", ("learner",), columns, made, "", stand_in)


def _picture(
    entry: Entry, looks: Ints, curves: dict[str, Floats], level: float, note: str, stand_in: str | None
) -> Picture:
    x = tuple(float(look) for look in looks)
    series = []
    for name, curve in curves.items():
        mean = 100 * curve.mean(axis=0)
        deviation = 100 * curve.std(axis=0, ddof=1) if len(curve) > 1 else 0 * mean
        series.append(
            Series(
                name, x, tuple(mean.tolist()), tuple((mean - deviation).tolist()), tuple((mean + deviation).tolist())
            )
        )
    series.append(Series("LinearSVC", (x[0], x[-1]), (100 * level, 100 * level)))
    return Picture(
        name="errors",
        title=f"{entry.where}: {labelled(entry.data_sets[0].name, stand_in)}",
        x_label="iterations",
        y_label="test error, %",
        series=tuple(series),
        note=f"Means, with a band of one standard deviation. {note}",
        stand_in=stand_in,
    )


def _verdicts(
    looks: Ints, curves: dict[str, Floats], level: float, parameters: Parameters, prefix: str
) -> list[Verdict]:
    pairs = (
        ("smoothed, against (46) as it is", SMOOTHED, GRADIENT),
        ("both as they are", PLAIN, GRADIENT),
        ("both smoothed", SMOOTHED, GRADIENT_SMOOTHED),
    )
    return [
        *(_more_accurate(prefix, words, curves[one], curves[other]) for words, one, other in pairs),
        *(_faster(prefix, words, curves[one], curves[other], looks, level, parameters) for words, one, other in pairs),
        _more_accurate(
            prefix, "smoothed, against S-DCA with a fifth of the rows", curves[SMOOTHED], curves[FINITE], "S-DCA"
        ),
    ]


def _more_accurate(
    prefix: str, words: str, ours: Floats, theirs: Floats, other: str = "the sub-gradient method"
) -> Verdict:
    mine, yours = ours[:, -1], theirs[:, -1]
    p = p_value(mine.tolist(), yours.tolist())
    return Verdict(
        f"{prefix}O-DCA ends with a lower error than {other} ({words}).",
        lower(mine, yours),
        f"{mine.mean():.2%} against {yours.mean():.2%}, lower in {(mine < yours).sum()} of {len(mine)} orders (paired "
        f"t-test: p = {p:.2g}; up to 0.05 counts).",
    )


def _faster(
    prefix: str, words: str, ours: Floats, theirs: Floats, looks: Ints, level: float, parameters: Parameters
) -> Verdict:
    mine, yours = ours.mean(axis=1), theirs.mean(axis=1)
    near, far = (_when(_first_near(curve, looks, level + parameters.near)) for curve in (ours, theirs))
    return Verdict(
        f"{prefix}O-DCA converges faster than the sub-gradient method ({words}).",
        lower(mine, yours),
        f"Over all iterations the mean error is {ours.mean():.2%} against {theirs.mean():.2%}, lower in "
        f"{(mine < yours).sum()} of {len(mine)} orders (p = {p_value(mine, yours):.2g}). It stays within "
        f"{100 * parameters.near:g} point of that of LinearSVC {near}, against {far}.",
    )


def _first_near(curve: Floats, looks: Ints, bound: float) -> float:
    """The first look from which on the mean error stays below the bound; infinity if there is none."""
    above = np.flatnonzero(curve.mean(axis=0) > bound)
    if len(above) == 0:
        return float(looks[0])
    return float(looks[above[-1] + 1]) if above[-1] + 1 < len(looks) else float("inf")


def _when(iterations: float) -> str:
    return "never" if iterations == float("inf") else f"from iteration {iterations:,.0f} on"

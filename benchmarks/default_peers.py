"""Peers of `make defaults`: one-pass learners of Vowpal Wabbit and scikit-learn, tuned, and logistic regression.

A peer is tuned on the training rows alone: each setting learns from the first four fifths in one pass, and is judged on
the last fifth. The best one then learns from all of them. Rows come in the same order as for sureline.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, diags

Predictor = Callable[[Any], np.ndarray]
Fit = Callable[[Any, np.ndarray, int], Predictor]


def peers() -> dict[str, list[Fit]]:
    """For each peer its settings, as functions that fit one."""
    found: dict[str, list[Fit]] = {
        "VW hinge": [vowpal_wabbit("hinge", *s) for s in product(RATES, POWERS)],
        "VW logistic": [vowpal_wabbit("logistic", *s) for s in product(RATES, POWERS)],
    }
    for average in (False, True):
        name = "SGD averaged" if average else "SGD"
        found[name] = [sgd(average, *s) for s in product(("hinge", "log_loss"), ALPHAS, (False, True))]
    try:
        import vowpalwabbit  # noqa: F401
    except ImportError:
        return {name: fits for name, fits in found.items() if not name.startswith("VW")}
    return found


RATES, POWERS = (0.02, 0.1, 0.5, 2.0, 8.0), (0.0, 0.5)
ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)


def lines_of(X: csr_matrix, y: np.ndarray, n_classes: int) -> Iterator[str]:
    for i, label in enumerate(y.tolist()):
        here = slice(X.indptr[i], X.indptr[i + 1])
        told = label + 1 if n_classes > 2 else 2 * label - 1
        pairs = zip(X.indices[here].tolist(), X.data[here].tolist(), strict=True)
        yield f"{told} |f " + " ".join(f"{j}:{v:.9g}" for j, v in pairs) + "\n"


def vowpal_wabbit(loss: str, rate: float, power: float) -> Fit:
    def fit(X: Any, y: np.ndarray, n_classes: int) -> Predictor:
        import vowpalwabbit

        folder = tempfile.TemporaryDirectory()
        path = Path(folder.name)
        (path / "rows").write_text("".join(lines_of(X, y, n_classes)))
        bits = max(18, int(X.shape[1] * max(1, n_classes if n_classes > 2 else 1)).bit_length())
        many = f"--oaa {n_classes}" if n_classes > 2 else ""
        vowpalwabbit.Workspace(
            f"-d {path / 'rows'} -f {path / 'model'} --loss_function {loss} -l {rate} --power_t {power} -b {bits} "
            f"--quiet {many}"
        ).finish()

        def predict(Z: Any) -> np.ndarray:
            (path / "more").write_text("".join(lines_of(Z, np.zeros(Z.shape[0], int), n_classes)))
            vowpalwabbit.Workspace(f"-d {path / 'more'} -t -i {path / 'model'} -p {path / 'said'} --quiet").finish()
            folder.name  # noqa: B018  # is kept as long as this is
            said = np.loadtxt(path / "said", ndmin=1)
            return said.astype(int) - 1 if n_classes > 2 else (said > 0).astype(int)

        return predict

    return fit


def sgd(average: bool, loss: str, alpha: float, scaled: bool) -> Fit:
    def fit(X: Any, y: np.ndarray, n_classes: int) -> Predictor:
        from sklearn.linear_model import SGDClassifier

        sizes = np.maximum(abs(X).max(axis=0).toarray()[0], 1e-12) if scaled else np.ones(X.shape[1])
        scale = diags(1 / sizes)
        model = SGDClassifier(
            loss=loss, alpha=alpha, average=average, max_iter=1, tol=None, shuffle=False, random_state=0
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X @ scale, y)
        return lambda Z: model.predict(Z @ scale)

    return fit


def tuned_error(fits: list[Fit], X: Any, y: np.ndarray, Z: Any, z: np.ndarray) -> float:
    """The test error of the setting that is best on the last fifth of the training rows."""
    n_classes, n = int(max(y.max(), z.max())) + 1, int(0.8 * len(y))
    errors = []
    for fit in fits:
        try:
            errors.append(float(np.mean(fit(X[:n], y[:n], n_classes)(X[n:]) != y[n:])))
        except ValueError:  # it diverged
            errors.append(1.0)
    best = fits[int(np.argmin(errors))](X, y, n_classes)
    return float(np.mean(best(Z) != z))


def logistic_regression(X: Any, y: np.ndarray, Z: Any, z: np.ndarray) -> float:
    """The test error of the batch reference, its penalty chosen by cross-validation."""
    from sklearn.linear_model import LogisticRegressionCV

    sizes = np.maximum(abs(X).max(axis=0).toarray()[0], 1e-12)
    scale = diags(1 / sizes)
    solver = "liblinear" if len(np.unique(y)) == 2 else "lbfgs"
    model = LogisticRegressionCV(Cs=6, cv=3, solver=solver, max_iter=100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X @ scale, y)
    return float(np.mean(model.predict(Z @ scale) != z))

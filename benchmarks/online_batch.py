"""Online-batch learning (BCW) against a covariance that changes with every row and against a linear SVM.

``make bench-batch`` compares on a table shaped like covtype and on dense rows of 2000 features; ``make bench-large``
is the whole of epsilon, 400,000 rows, alone: time, memory, and the share of the machine's matrix-product speed.
Everything is generated; with ``--data DIR`` the real covtype.libsvm.binary.scale (plain or bz2) is taken from there.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from ratios import failures, report, shortest
from scipy.linalg import blas
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from sureline import AROW, BCW
from sureline.datasets import make_cover_type, make_epsilon


def timed(make: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    made = make()
    return time.perf_counter() - begin, made


def svm(X: Any, y: Any) -> Any:
    """Dual coordinate descent for the hinge loss, with the tolerance and the most iterations it has by default."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(loss="hinge", dual=True, random_state=0).fit(X, y)


def error(model: Any, X: Any, y: Any) -> float:
    return 1 - float(model.score(X, y))


def cover_type(data: Path | None) -> tuple[Any, Any, Any, Any, str]:
    n_train = 450_000
    for name in ("covtype.libsvm.binary.scale", "covtype.libsvm.binary.scale.bz2"):
        if data is not None and (data / name).exists():
            from sureline import stream

            chunks = [(chunk.X, chunk.y) for chunk in stream.read(data / name, dtype="float64")]
            X = np.concatenate([rows[:, 1:55].toarray() for rows, _ in chunks])  # its indices start at 1
            y = np.concatenate([labels for _, labels in chunks])
            order = np.random.default_rng(0).permutation(len(y))
            X, y = X[order], (y[order] == y.max()).astype(int)
            return X[:n_train], y[:n_train], X[n_train:], y[n_train:], name
    return *make_cover_type(n_train, random_state=0), *make_cover_type(131_012, random_state=1), "shaped like covtype"


def compare_cover_type(data: Path | None) -> None:
    X, y, X_test, y_test, name = cover_type(data)
    print(f"\n{name}: {X.shape[0]:,} x {X.shape[1]}, one batch, float64")
    bcw, arow = shortest(
        lambda: BCW(normalize="none").fit(X, y), lambda: AROW(covariance="full", normalize="none").fit(X, y), rounds=7
    )
    t_svm, linear = timed(lambda: svm(X, y))
    errors = [
        error(m, X_test, y_test)
        for m in (BCW(normalize="none").fit(X, y), AROW(covariance="full", normalize="none").fit(X, y), linear)
    ]
    report("BCW / AROW with a full covariance, time", bcw / arow, 0.2, detail=f"{bcw:.3f} s, {arow:.3f} s")
    report("BCW / LinearSVC (hinge, dual), time", bcw / t_svm, 0.2, detail=f"{t_svm:.2f} s")
    report(
        "BCW's test error less that of the better of them",
        errors[0] - min(errors[1:]),
        0.003,
        detail="BCW {:.4f}, AROW {:.4f}, SVM {:.4f}".format(*errors),
    )


def compare_epsilon(n_rows: int, dtype: str, limit: float) -> None:
    X, y = make_epsilon(n_rows, dtype=dtype, random_state=0)
    X_test, y_test = make_epsilon(20_000, dtype=dtype, random_state=1)
    print(f"\nshaped like epsilon: {n_rows:,} x 2000, one batch, {dtype}")
    bcw = shortest(lambda: BCW(dtype=dtype, normalize="none").fit(X, y), rounds=3)[0]
    t_svm, linear = timed(lambda: svm(X, y))
    errors = [error(m, X_test, y_test) for m in (BCW(dtype=dtype, normalize="none").fit(X, y), linear)]
    detail = f"{bcw:.1f} s, {t_svm:.1f} s; error {errors[0]:.4f}, {errors[1]:.4f}"
    report("BCW / LinearSVC (hinge, dual), time", bcw / t_svm, limit, detail=detail)


def whole_epsilon() -> None:
    n, d = 400_000, 2000
    X, y = make_epsilon(n, d, random_state=0)
    square = np.asfortranarray(X[:d])
    speed = 2 * float(d) ** 3 / shortest(lambda: blas.sgemm(1.0, square, square), rounds=5)[0]
    before = _peak()
    seconds, model = timed(lambda: BCW(dtype="float32", normalize="none").fit(X, y))
    beside = _peak() - X.nbytes
    X_test, y_test = make_epsilon(20_000, d, random_state=1)
    # Both the Gram matrix and the whitening take one multiplication and one addition for half of all pairs of features.
    products = 2 * n * float(d + 1) ** 2
    print(f"\nshaped like epsilon, all of it: {n:,} x {d:,}, float32, {X.nbytes / 2**30:.2f} GiB, one batch")
    print(f"  {seconds:.1f} s, test error {error(model, X_test, y_test):.4f}")
    print(
        f"  {products / seconds / 1e9:.0f} of the {speed / 1e9:.0f} GFLOP/s that this machine multiplies matrices with"
    )
    print(f"  peak memory before fit {before / 2**20:.0f} MiB, after {_peak() / 2**20:.0f} MiB")
    limit = 0.3 * X.nbytes + 300 * 2**20
    report("memory beside the data / (0.3 data + 300 MiB)", beside / limit, 1.0, detail=f"{beside / 2**20:.0f} MiB")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--data", type=Path, help="folder with the real covtype")
    parser.add_argument("--large", action="store_true", help="the whole of epsilon, and nothing else")
    options = parser.parse_args()
    if options.large:
        whole_epsilon()
    else:
        compare_cover_type(options.data)
        compare_epsilon(50_000, "float64", 1.0)
        compare_epsilon(200_000, "float32", 0.4)
    if failures:
        sys.exit(f"\nNot met: {'; '.join(failures)}.")


if __name__ == "__main__":
    main()

"""Selectors of features, compared: what they recover, how long they take, and how much memory.

recovery   100 relevant features among 100,000, correlated in groups: how many of them are among the 100 selected?
wide       500 features from 100,000 rows with 115 nonzeros in 3.2 million columns, mostly binary, against one l1 SVM

The l1 SVM is scikit-learn's LinearSVC(penalty="l1", dual=False), at a C that was searched for beforehand.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from ratios import failures, report
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import sureline
from sureline.datasets import make_correlated_groups, make_sparse_stream

SELECTORS = ("SBCW", "SBCW-covariance", "FGM", "L1SVM", "SparseDCA", "SOFS", "FOFS")
PARAMETERS: dict[str, dict[str, Any]] = {
    "SBCW-covariance": {"pick": "covariance"},  # the other way to pick features
    "L1SVM": {"random_state": 0},
    "SparseDCA": {"random_state": 0},
}

N_RELEVANT = 100
N_WIDE_ROWS, N_WIDE_COLUMNS, N_WIDE_NONZEROS, N_WIDE_FEATURES = 100_000, 3_200_000, 115, 500
WIDE_SEED = 0
WIDE_C = 0.014  # leaves about 500 features of the wide data with this seed


def named_selector(name: str, n_features: int) -> Any:
    """The selector of that name, or None if this version has none."""
    kind = getattr(sureline, name.split("-")[0], None)
    return None if kind is None else kind(n_features=n_features, normalize="none", **PARAMETERS.get(name, {}))


def timed_fit(model: Any, X: Any, y: Any) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        begin = time.perf_counter()
        model.fit(X, y)
        return time.perf_counter() - begin


# -- recovery -------------------------------------------------------------------------------------------------


def recovery(names: list[str], n_rows: int, n_draws: int) -> None:
    print(
        f"\nOf {N_RELEVANT} relevant features among 100,000, in groups of 5: how many are among {N_RELEVANT} that were "
        f"selected from {n_rows:,} rows? Means of {n_draws} draws"
    )
    results: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    one_fit = []
    for draw in range(n_draws):
        X, y, relevant = make_correlated_groups(n_rows + 2000, random_state=draw)
        X_test, y_test, X, y = X[n_rows:], y[n_rows:], X[:n_rows], y[:n_rows]
        for name in names:
            model = named_selector(name, N_RELEVANT)
            seconds = timed_fit(model, X, y)
            found = np.isin(model.get_support(indices=True), relevant).sum()
            results[name].append((float(found), 1 - model.score(X_test, y_test), seconds))
            if name == "L1SVM":
                svm = LinearSVC(penalty="l1", dual=False, C=model.C_, random_state=0)
                one_fit.append(timed_fit(svm, X, y))
    means = {name: np.mean(rows, axis=0) for name, rows in results.items()}
    print(f"  {'':<16}{'recovered':>10}{'test error':>12}{'seconds':>10}")
    for name, (found, error, seconds) in means.items():
        print(f"  {name:<16}{found:>10.1f}{error:>12.4f}{seconds:>10.2f}")
    if one_fit:
        print(f"  {'one fit of L1SVM at the C that was found':<38}{np.mean(one_fit):>10.2f}")
    if "SBCW" in means:
        for rival in sorted({"FGM", "L1SVM"} & set(means)):
            report(f"recovered by SBCW / by {rival}", means["SBCW"][0] / means[rival][0], 1, at_least=True)
        if one_fit:
            report("seconds of SBCW / of one fit of L1SVM", means["SBCW"][2] / float(np.mean(one_fit)), 1)


# -- wide data ------------------------------------------------------------------------------------------------


def wide_data(n_rows: int) -> tuple[Any, Any]:
    """Rows like those of URLs: features by a power law, 19 of 20 columns binary, and labels by a thousand of them."""
    X, _ = make_sparse_stream(n_rows, N_WIDE_COLUMNS, N_WIDE_NONZEROS, random_state=WIDE_SEED)
    rng = np.random.default_rng(WIDE_SEED)
    binary = rng.random(N_WIDE_COLUMNS) < 0.95
    X.data *= np.float32(np.sqrt(N_WIDE_NONZEROS))
    X.data[binary[X.indices]] = 1
    weights = np.zeros(N_WIDE_COLUMNS, np.float32)
    informative = np.unique(rng.choice(X.indices, 1000))  # often the popular ones, some of them rare
    weights[informative] = rng.standard_normal(len(informative))
    scores = X @ weights
    y = (scores > np.median(scores)).astype(np.int64)
    flipped = rng.permutation(n_rows)[: n_rows // 20]
    y[flipped] = 1 - y[flipped]
    return X, y


def peak() -> float:
    """The largest resident set of this process so far, in bytes."""
    with open("/proc/self/status") as status:
        return next(float(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))


def measure_wide(name: str, folder: Path, C: float) -> None:
    """In a process of its own, whose peak is its own: fit one selector, and print what was measured."""
    before = peak()
    arrays = [np.load(folder / f"{part}.npy") for part in ("data", "indices", "indptr", "y")]
    X = sparse.csr_matrix(tuple(arrays[:3]), shape=(len(arrays[2]) - 1, N_WIDE_COLUMNS))
    y = arrays[3]
    size = sum(array.nbytes for array in arrays[:3])
    model = (
        LinearSVC(penalty="l1", dual=False, C=C, random_state=0)
        if name == "LinearSVC"
        else named_selector(name, N_WIDE_FEATURES)
    )
    seconds = timed_fit(model, X, y)
    multiple = (peak() - before) / size
    n_selected = int(np.count_nonzero(model.coef_)) if name == "LinearSVC" else len(model.get_support(indices=True))
    parts = tuple(np.load(folder / f"test_{part}.npy") for part in ("data", "indices", "indptr"))
    X_test = sparse.csr_matrix(parts, shape=(len(parts[2]) - 1, N_WIDE_COLUMNS))
    error = 1 - model.score(X_test, np.load(folder / "test_y.npy"))
    print(json.dumps({"seconds": seconds, "memory": multiple, "selected": n_selected, "error": error}))


def wide(names: list[str], n_rows: int, C: float) -> None:
    print(
        f"\n{N_WIDE_FEATURES} features of {N_WIDE_COLUMNS:,}, from {n_rows:,} rows with {N_WIDE_NONZEROS} nonzeros; "
        "memory is the growth of the peak resident set, X included, as a multiple of the CSR arrays"
    )
    results: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        n_test = n_rows // 5
        X, y = wide_data(n_rows + n_test)
        for prefix, rows in (("", slice(n_rows)), ("test_", slice(n_rows, None))):
            part = X[rows]
            for field in ("data", "indices", "indptr"):
                np.save(folder / f"{prefix}{field}.npy", getattr(part, field))
            np.save(folder / f"{prefix}y.npy", y[rows])
        del X, part
        print(f"  {'':<16}{'selected':>10}{'test error':>12}{'seconds':>10}{'memory':>10}")
        for name in ["LinearSVC", *names]:
            command = [sys.executable, __file__, "--measure", name, "--folder", temporary, "--C", str(C)]
            run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if run.returncode:
                failures.append(name)
                print(f"  {name:<16}  failed")
                continue
            results[name] = r = json.loads(run.stdout)
            print(
                f"  {name:<16}{r['selected']:>10}{r['error']:>12.4f}{r['seconds']:>10.2f}{r['memory']:>10.2f}",
                flush=True,
            )
    if {"SBCW", "LinearSVC"} <= set(results):
        ours, theirs = results["SBCW"], results["LinearSVC"]
        report("seconds of SBCW / of one fit of LinearSVC", ours["seconds"] / theirs["seconds"], 1)
        report("test error of SBCW / of LinearSVC", ours["error"] / theirs["error"], 1)
        report("peak memory of SBCW / CSR arrays", ours["memory"], 3)


def main() -> int:
    parser = argparse.ArgumentParser(description="Selectors of features, compared.")
    parser.add_argument("part", nargs="?", choices=["recovery", "wide"], help="one of the two only")
    parser.add_argument("--selectors", nargs="+", default=SELECTORS, help="their names (default: all that there are)")
    parser.add_argument("--rows", type=int, default=3000, help="rows of the recovery (default: %(default)s)")
    parser.add_argument("--draws", type=int, default=3, help="draws of the recovery (default: %(default)s)")
    parser.add_argument("--wide-rows", type=int, default=N_WIDE_ROWS, help="rows of wide (default: %(default)s)")
    parser.add_argument("--C", type=float, default=WIDE_C, help="of LinearSVC on wide (default: %(default)s)")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure_wide(options.measure, options.folder, options.C)
        return 0
    missing = [name for name in options.selectors if named_selector(name, 1) is None]
    if missing:
        print(f"This version of sureline has no {', '.join(missing)}.")
    names = [name for name in options.selectors if name not in missing]
    if options.part != "wide":
        recovery(names, options.rows, options.draws)
    if options.part != "recovery":
        wide(names, options.wide_rows, options.C)
    print(f"\n{len(failures)} limits not met{': ' + ', '.join(failures) if failures else '.'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

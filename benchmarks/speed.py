"""Speed as ratios, measured in one run: ``make bench`` or ``python benchmarks/speed.py``.

Everything is generated here and nothing is fetched. Each pair of things is timed in turns, several times over, and the
ratio is that of the shortest times, since the machine may have other work. A line ends in "ok" where the ratio is
within its limit.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from sureline import AROW, PA, Perceptron, _core
from sureline._rows import as_rows
from sureline.datasets import make_sparse_stream

HERE = Path(__file__).parent
failures: list[str] = []


def shortest(*actions: Callable[[], Any], rounds: int = 7) -> list[float]:
    """The shortest time of each action, all of them done in turns."""
    times = np.full((rounds, len(actions)), np.inf)
    for round_ in range(rounds):
        for i, action in enumerate(actions):
            begin = time.perf_counter()
            action()
            times[round_, i] = time.perf_counter() - begin
    return list(times.min(axis=0))


def report(what: str, ratio: float, limit: float, *, at_least: bool = False, detail: str = "") -> None:
    ok = ratio >= limit if at_least else ratio <= limit
    if not ok:
        failures.append(what)
    sign = ">=" if at_least else "<="
    print(f"  {what:<58}{ratio:>8.2f}   {sign} {limit:<6g}{'ok' if ok else 'NOT MET':<9}{detail}", flush=True)


def compiled_floors() -> ctypes.CDLL:
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        sys.exit("The benchmark needs a C++ compiler for the loops it compares with: install g++ or clang++.")
    library = Path(tempfile.mkdtemp()) / "floors.so"
    flags = ["-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(HERE / "floors.cpp"), "-o", str(library)], check=True)
    floors = ctypes.CDLL(str(library))
    for name in ("floor_perceptron", "floor_pa", "floor_arow", "floor_traffic"):
        getattr(floors, name).restype = ctypes.c_double if name == "floor_traffic" else ctypes.c_int64
    return floors


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def sparse_rows(floors: ctypes.CDLL, title: str, shape: tuple[int, int, int], arow_limit: float) -> None:
    X, y = make_sparse_stream(*shape, random_state=0)
    signs = (2 * y - 1).astype(np.int8)
    print(
        f"\n{title}: {X.shape[0]:,} x {X.shape[1]:,}, {X.nnz // X.shape[0]} nonzeros a row, one pass in memory, float32"
    )
    size = ctypes.c_int64(X.shape[0]), ctypes.c_int64(X.shape[1])
    arguments = (pointer(X.data), pointer(X.indices), pointer(X.indptr), pointer(signs), *size)
    learners = [("AROW", AROW, arow_limit), ("Perceptron", Perceptron, 0.65), ("PA", PA, 0.65)]

    def sgd(shuffle: bool) -> Any:
        return SGDClassifier(loss="hinge", max_iter=1, tol=None, shuffle=shuffle).fit(X, y)

    actions: list[Callable[[], Any]] = [lambda: sgd(True), lambda: sgd(False)]
    rows, labels = as_rows(X, "float32"), y.astype(np.int32)

    def pass_over_rows(model: Any) -> None:  # what fit does between checking y and setting attributes
        model._fresh_state(X.shape[1], 2).learn(model._rule(), rows, labels, None, None, journal=False)

    for name, estimator, _ in learners:
        actions.append(lambda estimator=estimator: estimator(dtype="float32").fit(X, y))
        actions.append(lambda estimator=estimator: pass_over_rows(estimator(dtype="float32")))
        actions.append(lambda name=name: getattr(floors, f"floor_{name.lower()}")(*arguments))
    times = shortest(*actions)
    print(
        f"  {'SGDClassifier(loss=hinge), one epoch':<58}{1e3 * times[0]:>8.1f} ms   unshuffled {1e3 * times[1]:.1f} ms"
    )
    for i, (name, estimator, limit) in enumerate(learners):
        ours, core, floor = times[2 + 3 * i : 5 + 3 * i]
        updates = estimator(dtype="float32").fit(X, y).n_updates_
        detail = f"{1e3 * ours:6.1f} ms, {1e9 * ours / X.nnz:.1f} ns/nonzero, {updates / len(y):.0%} updates"
        report(f"{name} / SGDClassifier", ours / times[0], limit, detail=detail)
        print(f"  {f'{name} / SGDClassifier(shuffle=False)':<58}{ours / times[1]:>8.2f}")
        detail = f"{1e3 * core:6.1f} ms against {1e3 * floor:.1f} ms; all of fit {ours / floor:.2f}"
        report(f"{name}, the pass over the rows / bare loop", core / floor, 1.25, detail=detail)


def full_covariance(floors: ctypes.CDLL) -> None:
    d, n = 500, 2000
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n, d)) / np.sqrt(d), rng.integers(0, 2, n)
    square, packed = np.ones(d * d), np.ones((d + 1) * (d + 2) // 2)
    print(f"\nFull covariance: AROW on {n:,} x {d} dense rows, float64")
    updates = AROW(covariance="full").fit(X, y).n_updates_

    def traffic(S: Any) -> Any:
        return floors.floor_traffic(pointer(S), ctypes.c_int64(S.size), ctypes.c_int64(updates))

    ours, whole, half = shortest(
        lambda: AROW(covariance="full").fit(X, y), lambda: traffic(square), lambda: traffic(packed), rounds=5
    )
    detail = f"{1e6 * ours / n:.1f} us an example, {updates / n:.0%} updates"
    report("speed / what the traffic of a d x d matrix allows", whole / ours, 0.8, at_least=True, detail=detail)
    print(f"  {'speed / what the traffic of its packed half allows':<58}{half / ours:>8.2f}")


TIMED = """
import time
import numpy as np
from sureline import AROW
from sureline.datasets import make_sparse_stream
rng = np.random.default_rng(0)
dense = rng.standard_normal((2000, 500)) / 22, rng.integers(0, 2, 2000)
sparse = make_sparse_stream(40_000, 47_236, 74, random_state=0)
models = (AROW(covariance="full"), dense), (AROW(), dense), (AROW(dtype="float32"), sparse)
for model, (X, y) in models:
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        model.fit(X, y)
        times.append(time.perf_counter() - begin)
    print(min(times))
"""


def instruction_sets() -> None:
    """What the wider instruction sets are worth, each in a process of its own."""
    print("\nInstruction sets: speed relative to the baseline (AROW)")
    print(f"  {'':<20}{'full, dense':>14}{'diagonal, dense':>18}{'diagonal, sparse':>18}")
    baseline = np.ones(3)
    for name in ("baseline", "avx2", "avx512"):
        environment = {**os.environ, "SURELINE_INSTRUCTION_SET": name}
        run = subprocess.run([sys.executable, "-c", TIMED], env=environment, capture_output=True, text=True)
        if run.returncode:
            print(f"  {name:<20}{'not on this machine':>14}")
            continue
        times = np.array([float(line) for line in run.stdout.split()])
        baseline = times if name == "baseline" else baseline
        full, diagonal, sparse = baseline / times
        print(f"  {name:<20}{full:>14.2f}{diagonal:>18.2f}{sparse:>18.2f}", flush=True)


def river(shape: tuple[int, int, int]) -> None:
    try:
        from river import linear_model
    except ImportError:
        print("\nRiver is not installed (pip install river): its line is left out.")
        return
    rows = 400
    X, y = make_sparse_stream(20_000, *shape[1:], random_state=0)
    examples = [
        (dict(zip(X[i].indices.tolist(), X[i].data.tolist(), strict=True)), bool(y[i])) for i in range(rows)
    ]  # made beforehand: only learning is timed

    def loop() -> None:
        model = linear_model.PAClassifier(C=1.0, mode=1)
        for x, label in examples:
            model.predict_one(x)
            model.learn_one(x, label)

    theirs, ours = shortest(loop, lambda: PA(dtype="float32").fit(X, y), rounds=3)
    print(f"\nRiver, one example at a time: PA-I, {shape[2]} nonzeros a row")
    ratio = (theirs / rows) / (ours / X.shape[0])
    detail = f"{1e6 * theirs / rows:.0f} us against {1e6 * ours / X.shape[0]:.2f} us an example"
    report("time of River's PAClassifier / time of PA", ratio, 100, at_least=True, detail=detail)


def imports() -> None:
    """In processor time, which other work on the machine disturbs least."""

    def of(module: str) -> float:
        program = f"import time; begin = time.process_time(); import {module}; print(time.process_time() - begin)"
        return float(subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout)

    times = np.array([[of("sureline"), of("sklearn.linear_model")] for _ in range(11)])
    ours, theirs = times.min(axis=0)
    print("\nImport, processor time")
    detail = f"{ours:.2f} s against {theirs:.2f} s"
    report("import sureline / import sklearn.linear_model", ours / theirs, 1.0, detail=detail)


def main() -> int:
    parser = argparse.ArgumentParser(description="Speed as ratios, measured in one run.")
    parser.add_argument("--rows", type=int, default=160_000, help="rows of the sparse matrices (default: %(default)s)")
    options = parser.parse_args()
    if options.rows < 1000:
        parser.error(f"--rows must be at least 1000. Got {options.rows} instead.")
    floors = compiled_floors()
    print(f"instruction set: {_core.instruction_set()}")
    narrow, wide = (options.rows, 47_236, 74), (options.rows, 3_200_000, 115)
    sparse_rows(floors, "rcv1-like", narrow, 0.9)
    sparse_rows(floors, "url-like", wide, 1.2)
    full_covariance(floors)
    instruction_sets()
    river(narrow)
    imports()
    print(f"\n{len(failures)} limits not met{': ' + ', '.join(failures) if failures else '.'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

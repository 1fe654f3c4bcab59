"""BCW on a CUDA device: ``make bench-gpu``. Data on the device, float64 throughout.

Every part is timed, then the whole, against targets that were set for an H200. Beside it: two cores of the CPU, and
what people use for a linear probe today, L-BFGS in PyTorch (and cuML where it is installed), to the same accuracy.

A part that fails prints its traceback, and the rest goes on. `--quick` leaves out the CPU and the rivals.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from typing import Any

import numpy as np

SIZES = ((400_000, 2000, 0.14), (1_000_000, 1024, 0.18), (1_000_000, 768, None), (450_000, 54, None))
CPU = """
import sys, time, numpy as np
from sureline import BCW
n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
X = rng.standard_normal((n, d), np.float32)
y = (X @ rng.standard_normal(d, np.float32) > 0).astype(int)
begin = time.perf_counter()
BCW(normalize="none", fit_intercept=False).fit(X, y)
print(time.perf_counter() - begin)
"""
failures: list[str] = []
times: dict[tuple[int, int], float] = {}
cpu_times: dict[tuple[int, int], float | str] = {}


@contextmanager
def part(name: str) -> Any:
    """Something that may fail without the rest."""
    try:
        yield
    except Exception:
        failures.append(name)
        print(f"FAILED: {name}")
        traceback.print_exc(file=sys.stdout)
    sys.stdout.flush()


def data(n: int, d: int) -> tuple[Any, Any, Any, Any]:
    """Embeddings of float32 and noisy labels, to learn from and to judge by, on the device."""
    import cupy

    rng = cupy.random.default_rng(0)
    X = rng.standard_normal((n + 20_000, d), dtype=np.float32) / np.float32(d**0.5)
    w = rng.standard_normal(d, dtype=np.float32)
    y = (X @ w + 0.3 * rng.standard_normal(len(X), dtype=np.float32) > 0).astype(np.int64)
    return X[:n], y[:n], X[n:], y[n:]


def timed(action: Callable[[], Any], rounds: int = 3) -> tuple[float, Any]:
    """The shortest time that it takes until the device is done, and what came of it."""
    import cupy

    best, made = float("inf"), None
    for _ in range(rounds):
        cupy.cuda.Device().synchronize()
        begin = time.perf_counter()
        made = action()
        cupy.cuda.Device().synchronize()
        best = min(best, time.perf_counter() - begin)
    return best, made


def measure_cpu(sizes: list[tuple[int, int]], cores: list[int]) -> None:
    """The same on two cores of its own, while the device works."""
    few = {**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    for n, d in sizes:
        command = ["taskset", "-c", ",".join(map(str, cores)), sys.executable, "-c", CPU, str(n), str(d)]
        try:
            done = subprocess.run(command, env=few, capture_output=True, text=True, timeout=150, check=False)
            cpu_times[n, d] = float(done.stdout) if done.returncode == 0 else done.stderr
        except (OSError, subprocess.SubprocessError) as error:
            cpu_times[n, d] = str(error)


def rate_of_products(d: int) -> float:
    """Operations a second of the library's product of rows with a square matrix, in float64."""
    import cupy

    a, b = cupy.random.standard_normal((16_384, d)), cupy.random.standard_normal((d, d))
    out = cupy.empty((16_384, d))
    cupy.matmul(a, b, out=out)
    seconds, _ = timed(lambda: [cupy.matmul(a, b, out=out) for _ in range(5)])
    return 5 * 2 * 16_384 * d * d / seconds


def times_of_parts(X: Any, y: Any) -> None:
    """What each part of a batch takes, by itself."""
    import cupy

    from sureline.models.device.cuda import cuda_space
    from sureline.models.device.precision import TriangleThere, absorbed, pass_over, whitened
    from sureline.models.device.rows import DeviceRows, Measured
    from sureline.models.device.space import ROWS, Pass
    from sureline.models.numbers import Policy

    space, (n, d), double = cuda_space(), X.shape, np.dtype(np.float64)
    rows = Measured(DeviceRows(space, X), d, False)
    identity, prices = TriangleThere(space, cupy.eye(d)), cupy.ones(n)

    def work() -> Pass:
        labels = y.astype(np.int32)
        return Pass(labels, prices, 1, Policy.binary, cupy.zeros((1, n)), cupy.zeros((1, n)), cupy.zeros(n))

    def every(blocks: Any) -> None:
        for _ in blocks:
            pass

    gram, triangle = timed(lambda: absorbed(identity, rows, prices, True, double))
    W = triangle.whitener(double)  # type: ignore[union-attr]
    room = cupy.empty((space.chunk_rows(rows.width), rows.width))
    white, _ = timed(lambda: every(whitened(W, rows, lambda n_rows, _: room[:n_rows])))
    ready, _ = timed(lambda: every(rows.blocks(double)))
    inverse, _ = timed(lambda: TriangleThere(space, triangle.there).W)
    print(f"    Gram matrix and its factor {gram:.4f}, inverse of the factor {inverse:.4f}, whitening {white:.4f}")
    print(f"    rows made ready {ready:.4f}, in the Gram matrix and in whitening")
    Z = cupy.random.standard_normal(room.shape) / d**0.5
    n_blocks, w = len(Z) // ROWS, cupy.zeros((1, rows.width))
    G = cupy.empty((n_blocks, ROWS, ROWS))
    inner, _ = timed(lambda: space.inner_products(Z, G))
    one = work()
    one.labels = cupy.resize(one.labels, len(Z))
    one.C, one.f, one.a, one.squares = cupy.ones(len(Z)), *(cupy.zeros((1, len(Z))) for _ in "fa"), cupy.zeros(len(Z))
    memory = cupy.empty((rows.width // 32, ROWS)), cupy.empty(2, np.uint64)
    chunk, _ = timed(lambda: space.learn_chunk(Z, G, w, 0, one, *memory))
    us = 1e6 / n_blocks
    print(f"    a block of {ROWS} rows: inner products {us * inner:.2f} us, steps and scores {us * chunk:.2f} us")
    passed, _ = timed(lambda: pass_over(triangle, np.zeros((1, d)), rows, work(), double))
    print(f"    whitening and the pass, beside each other {passed:.4f}", flush=True)


def probe_by_lbfgs(X: Any, y: Any, X_test: Any, y_test: Any, wanted: float) -> None:
    """Logistic regression in PyTorch, until it is as accurate on other rows."""
    import torch

    rows, labels = torch.from_dlpack(X), torch.from_dlpack(y).float()
    others, truth = torch.from_dlpack(X_test), torch.from_dlpack(y_test)

    def learned(most: int) -> tuple[float, int]:
        w = torch.zeros(rows.shape[1], device="cuda", requires_grad=True)
        optimizer = torch.optim.LBFGS([w], lr=1, max_iter=5, history_size=10, line_search_fn="strong_wolfe")

        def loss() -> Any:
            optimizer.zero_grad()
            value = torch.nn.functional.binary_cross_entropy_with_logits(rows @ w, labels) + 1e-6 * (w @ w)
            value.backward()
            return value

        for k in range(most):
            optimizer.step(loss)
            reached = float(((others @ w.detach() > 0) == (truth > 0)).float().mean())
            if reached >= wanted:
                return reached, 5 * (k + 1)
        return reached, 5 * most

    learned(1)
    seconds, (reached, iterations) = timed(lambda: learned(40), rounds=2)
    print(f"    L-BFGS in PyTorch (float32): {seconds:.3f} s, {iterations} iterations, accuracy {reached:.4f}")


def probe_by_cuml(X: Any, y: Any, X_test: Any, y_test: Any) -> None:
    try:
        from cuml.linear_model import LogisticRegression
    except ImportError:
        print("    cuML is not installed, so its LogisticRegression was not measured.")
        return
    seconds, model = timed(lambda: LogisticRegression().fit(X, y), rounds=2)
    print(f"    cuML's LogisticRegression: {seconds:.3f} s, accuracy {float(model.score(X_test, y_test)):.4f}")


def measure(n: int, d: int, target: float | None, quick: bool) -> None:
    """One size: the whole, its parts, and what people use today."""
    from sureline import BCW

    X, y, X_test, y_test = data(n, d)
    plain = BCW(normalize="none", fit_intercept=False)
    plain.fit(X[:2000], y[:2000])
    seconds, model = timed(lambda: plain.fit(X, y), rounds=5)
    times[n, d] = seconds
    rate = rate_of_products(d)
    products = 2 * 2 * n * d * d / rate
    fine = "" if target is None else f", target {target} s: {'met' if seconds <= target else 'MISSED'}"
    print(f"    fit {seconds:.4f} s{fine}; both products at {rate / 1e12:.1f} TFLOP/s {products:.4f} s, ratio "
          f"{seconds / products:.2f}")  # fmt: skip
    accuracy = float((model.predict(X_test) == y_test).mean())
    print(f"    accuracy {accuracy:.4f}, mistakes {model.n_mistakes_:,}, updates {model.n_updates_:,}")
    with part("defaults"):
        seconds, _ = timed(lambda: BCW().fit(X, y))
        print(f"    with the defaults (scales, intercept) {seconds:.4f} s")
    with part("answers"):
        seconds, _ = timed(lambda: model.decision_std(X))
        of_proba, _ = timed(lambda: model.predict_proba(X))
        print(f"    decision_std {seconds:.4f} s, predict_proba {of_proba:.4f} s", flush=True)
    with part("rows of the host"):
        host = X.get()
        crossing = BCW(device="cuda", normalize="none", fit_intercept=False)
        seconds, _ = timed(lambda: crossing.fit(host, y.get()), 2)
        print(f"    from {host.nbytes / 2**30:.1f} GiB in the memory of the host {seconds:.3f} s", flush=True)
    with part("parts"):
        times_of_parts(X, y)
    if not quick:
        with part("L-BFGS"):
            probe_by_lbfgs(X, y, X_test, y_test, accuracy)
        with part("cuML"):
            probe_by_cuml(X, y, X_test, y_test)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rows", type=float, default=1.0, help="a share of the rows")
    asked = parser.parse_args()

    import cupy

    from sureline.models.device.cuda import cuda_space

    properties = cupy.cuda.runtime.getDeviceProperties(0)
    print(f"{properties['name'].decode()}, CuPy {cupy.__version__}, CUDA {cupy.cuda.runtime.runtimeGetVersion()}")
    cuda_space()
    sizes = [(int(n * asked.rows), d, target) for n, d, target in SIZES]
    cores = sorted(os.sched_getaffinity(0))[-2:]
    of_cpu = [] if asked.quick else [(n, d) for n, d, target in sizes if target]
    on_cpu = threading.Thread(target=measure_cpu, args=(of_cpu, cores))
    on_cpu.start()
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:-2]) or set(cores))
    for n, d, target in sizes:
        print(f"{n:,} x {d}", flush=True)
        with part(f"{n} x {d}"):
            measure(n, d, target, asked.quick)
        cupy.get_default_memory_pool().free_all_blocks()
    on_cpu.join()
    for (n, d), found in cpu_times.items():
        with part(f"two cores, {n} x {d}"):
            if isinstance(found, str):
                raise RuntimeError(found)
            print(f"two cores, {n:,} x {d}: {found:.1f} s, {found / times[n, d]:.0f} times as long (target 100)")
    print("failed: " + ", ".join(failures) if failures else "nothing failed")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())

"""Time a row and memory of a model as the width grows: ``make bench-width`` or ``python benchmarks/width.py``.

The learner is SSOL in float32, which keeps a pair of numbers for each feature and rewrites them with every row that the
feature is in, whether the row is an error or not.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from speed import Stream, compiled_floors, failures, report, shortest

import sureline
from sureline.datasets import make_sparse_stream

WIDTHS = [2**16, 2**18, 2**20, 2**22, 2**24]
NONZEROS = 64
LAM = 1.0


def make() -> Any:
    return sureline.SSOL(eta=1.0, lam=LAM, r=1.0, dtype="float32", normalize="none")


def table(floors: ctypes.CDLL, streams: list[Stream]) -> list[float]:
    """A line for each stream. Returns the times of the last relative to those of the first: of a further pass, of a
    first one over fresh memory, and of the bare loop, which has fresh memory too."""
    actions: list[Callable[[], Any]] = []
    for stream in streams:
        model, d = make(), stream.X.shape[1]
        state = model.fresh_state(d, 2)

        def again(state: Any = state, model: Any = model, stream: Stream = stream) -> None:
            state.learn(model.rule, stream.rows, stream.labels, None, None, journal=False)

        again()
        actions += [
            again,
            lambda stream=stream: stream.pass_over_rows(make()),
            lambda stream=stream: stream.bare_loop(floors, "SSOL", LAM),
        ]
    times = np.array(shortest(*actions, rounds=40)).reshape(len(streams), 3)
    print(f"  {'features':>12}{'occurring':>12}{'a further pass':>26}{'the first pass':>24}{'bare loop':>24}")
    for stream, seconds in zip(streams, times, strict=True):
        cells = (
            f"{1e9 * s / stream.X.nnz:.2f} ns/nonzero {r:5.2f}"
            for s, r in zip(seconds, seconds / times[0], strict=True)
        )
        print(f"  {stream.X.shape[1]:>12,}{stream.occurring:>12,}{''.join(f'{cell:>25}' for cell in cells)}")
    return list(times[-1] / times[0])


def spread(X: Any, width: int) -> Any:
    """The same rows with their columns spread over `width`, in runs as long as a page of memory.

    So a pass touches as many cache lines and as many pages at any width, up to one for each end of a run, and a
    difference in time cannot be one of caches. The runs lie at random places: powers of two would meet in few
    sets of the caches.
    """
    run = 4096 // 8
    n_runs = X.shape[1] // run
    places = np.sort(np.random.default_rng(0).choice(width // run, n_runs, replace=False))
    columns = places[X.indices // run] * run + X.indices % run
    return sparse.csr_matrix((X.data, columns.astype(np.int32), X.indptr), shape=(X.shape[0], width))


def times_by_width(floors: ctypes.CDLL, n_rows: int) -> None:
    print(f"\nSSOL, {n_rows:,} rows of {NONZEROS} nonzeros, times relative to those of {WIDTHS[0]:,} features")
    print(
        f"All rows from the same {WIDTHS[0]:,} columns, spread over the width: as much memory is touched at any width"
    )
    X, y = make_sparse_stream(n_rows, WIDTHS[0], NONZEROS, random_state=0)
    further, first, _ = table(floors, [Stream("spread", spread(X, width), y) for width in WIDTHS])
    report("time at 16.8 million features / at 65,536", further, 1.15)
    print(f"  {'the same for the first pass over fresh memory':<58}{first:>8.2f}")
    print("Popular and rare features among all of them: the memory touched grows, and its misses are those of any loop")
    draws = (make_sparse_stream(n_rows, width, NONZEROS, random_state=0) for width in WIDTHS)
    further, _, _ = table(floors, [Stream("drawn", *draw) for draw in draws])
    print(f"  {'time at 16.8 million features / at 65,536':<58}{further:>8.2f}")


# Each of these is run in a process of its own. Peaks are counted from where reset() was called.
RESIDENT = """
import json, re
import numpy as np
from scipy import sparse
from sureline import SSOL

def resident(what):
    with open("/proc/self/status") as status:
        return int(re.search(rf"{what}:\\s+(\\d+) kB", status.read())[1]) / 1024

def reset():
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")

rng = np.random.default_rng(0)
"""

ALL_OCCUR = """
d, nonzeros = 2**24, 64
columns = rng.permutation(d).astype(np.int32).reshape(-1, nonzeros)
columns.sort(axis=1)
starts = np.arange(0, d + 1, nonzeros, dtype=np.int32)
X = sparse.csr_matrix((np.full(d, 0.125, np.float32), columns.ravel(), starts), shape=(len(columns), d))
y = np.arange(len(columns)) % 2
SSOL(eta=1.0, lam=1.0, r=1.0, dtype="float32", normalize="none").fit(X[:100], y[:100])
reset()
before = resident("VmRSS")
model = SSOL(eta=1.0, lam=1.0, r=1.0, dtype="float32", normalize="none").fit(X, y)
assert model.n_seen_ == len(y)
grown, peak = resident("VmRSS") - before, resident("VmHWM") - before
print(json.dumps({"state": model.model.nbytes / 2**20, "grown": grown, "peak": peak}))
"""

FEW_OCCUR = """
d, occurring, nonzeros = 2**31, 100_000, 50
columns = np.unique(np.concatenate([rng.integers(0, d, occurring + 1000), [d - 1]]))
columns = np.concatenate([rng.choice(columns[:-1], occurring - 1, replace=False), columns[-1:]])
columns = np.concatenate([rng.permutation(columns) for _ in range(10)]).reshape(-1, nonzeros)
columns.sort(axis=1)
starts = np.arange(0, columns.size + 1, nonzeros)
X = sparse.csr_matrix((np.full(columns.size, 0.125, np.float32), columns.ravel(), starts), shape=(len(columns), d))
y = np.arange(len(columns)) % 2
before = resident("VmHWM")
model = SSOL(eta=1.0, lam=1.0, r=1.0, dtype="float32", normalize="none")
half = len(y) // 2
model.partial_fit(X[:half], y[:half], classes=[0, 1])
model.partial_fit(X[half:], y[half:])
assert model.n_seen_ == len(y) and X.indices.max() == d - 1 and len(np.unique(X.indices)) == occurring
model.predict(X)
print(json.dumps({"peak": resident("VmHWM"), "before": before, "state": model.model.nbytes / 2**20}))
"""


def measured(program: str) -> dict[str, float] | None:
    """What the program prints. It is ended where it takes far more than it may, before it takes all there is."""
    run = subprocess.Popen([sys.executable, "-c", RESIDENT + program], stdout=subprocess.PIPE, text=True)
    most = 0
    while run.poll() is None:
        with contextlib.suppress(OSError, TypeError):  # it may have ended meanwhile
            status = Path(f"/proc/{run.pid}/status").read_text()
            most = max(most, int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) // 1024)
        if most > 4096:
            run.kill()
        time.sleep(0.05)
    if run.returncode:
        failures.append("memory")
        print(f"  NOT MET: {'ended at ' if most > 4096 else 'failed after '}{most:,} MiB")
        return None
    assert run.stdout is not None
    result: dict[str, float] = json.loads(run.stdout.read())
    return result


def memory() -> None:
    if sys.platform != "linux":
        print("\nMemory is measured on Linux only.")
        return
    print("\nSSOL over 16,777,216 features, all of which occur: MiB")
    if sizes := measured(ALL_OCCUR):
        report("state", sizes["state"], 160)
        report("growth of the resident set, after fit", sizes["grown"], 160)
        report("growth of the resident set, at its peak", sizes["peak"], 160)
    print("\nSSOL over 2,147,483,648 features, of which 100,000 occur, two batches and a prediction: MiB")
    if sizes := measured(FEW_OCCUR):
        detail = f"{sizes['before']:.0f} before learning; {sizes['state']:,.0f} mapped"
        report("peak resident set of the process", sizes["peak"], 1024, detail=detail)


def main() -> int:
    parser = argparse.ArgumentParser(description="Time a row and memory, as the width grows.")
    parser.add_argument("--rows", type=int, default=40_000, help="rows of each stream (default: %(default)s)")
    options = parser.parse_args()
    if options.rows < 1000:
        parser.error(f"--rows must be at least 1000. Got {options.rows} instead.")
    times_by_width(compiled_floors(), options.rows)
    memory()
    print(f"\n{len(failures)} limits not met{': ' + ', '.join(failures) if failures else '.'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

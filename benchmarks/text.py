"""From a file of text to a model, end to end: ``make bench`` or ``python benchmarks/text.py``.

Files of at least 500 MB are generated, with the shapes of the other benchmarks: 47 thousand features with values of six
digits, and 3.2 million that are mostly binary. All programs run as processes of their own, start-up included, in turns;
the ratio is that of the shortest times.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ratios import compiled, failures, pointer, report
from speed import Stream, recording_times

from sureline.datasets import make_stream_like

HERE = Path(__file__).parent
IN_MEMORY = 160_000  # rows whose recording is timed
SCIKIT = """
import sys
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier
X, y = load_svmlight_file(sys.argv[1])
X.indices, X.indptr = X.indices.astype("int32"), X.indptr.astype("int32")  # int64, which SGD refuses, for a large file
SGDClassifier(loss="hinge", max_iter=1, tol=None).fit(X, y)
"""
VW = """
import sys, vowpalwabbit
w = vowpalwabbit.Workspace(f"-d {sys.argv[1]} --sgd --loss_function hinge --binary -b {sys.argv[2]} --quiet")
print(w.get_weighted_examples())
w.finish()
"""


@dataclass
class Run:
    """A program that has run: wall clock, and the most memory that it had at a time."""

    seconds: float
    peak: float  # MiB
    output: str


# Between the benchmark and a program that it measures: a process also counts the memory of the one that started it.
BETWEEN = """
import os, subprocess, sys, time
begin = time.perf_counter()
process = subprocess.Popen(sys.argv[2:])
_, status, usage = os.wait4(process.pid, 0)
with open(sys.argv[1], "w") as out:
    print(time.perf_counter() - begin, usage.ru_maxrss, file=out)
sys.exit(os.waitstatus_to_exitcode(status) != 0)
"""

AS_TYPED = ("--algorithm", "arow")  # settings and the normalisation are chosen on the first rows
AS_PUBLISHED = (*AS_TYPED, "--normalize", "none")
SCALED = (*AS_TYPED, "--normalize", "scale")


def run(*command: str | Path) -> Run:
    with tempfile.NamedTemporaryFile("r") as measured:
        between = [sys.executable, "-S", "-c", BETWEEN, measured.name, *map(str, command)]
        done = subprocess.run(between, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(map(str, command))} failed.")
        seconds, kilobytes = measured.read().split()
        return Run(float(seconds), int(kilobytes) / 1024, done.stdout)


def files(folder: Path, shape: str, megabytes: int) -> tuple[Path, Path, int, int]:
    """The rows as LIBSVM and as VW text; how many rows there are, and nonzeros."""
    writer = compiled("text_files.cpp", folder)
    writer.write_rows.restype = ctypes.c_int64
    bytes_a_row = {"rcv1": 1150, "url": 1150}[shape]
    X, y = make_stream_like(shape, int(megabytes * 1e6) // bytes_a_row, random_state=0)
    if shape == "url":  # binary features beside a few measured ones
        rng = np.random.default_rng(0)
        X.data *= np.float32(np.sqrt(X.nnz / X.shape[0]))  # from unit length to values of the order of 1
        X.data = np.where(rng.random(X.nnz) < 0.95, np.float32(1), X.data)
        y = labels_of(X, rng)
    signs = np.where(y, 1, -1).astype(np.int8)
    paths = folder / f"{shape}.svm", folder / f"{shape}.vw"
    for vw, path in enumerate(paths):
        arrays = [pointer(a) for a in (X.data, X.indices, X.indptr, signs)]
        if writer.write_rows(str(path).encode(), *arrays, ctypes.c_int64(X.shape[0]), vw) < 0:
            sys.exit(f"{path} could not be written; is there room for it?")
    return *paths, X.shape[0], X.nnz


def labels_of(X: Any, rng: np.random.Generator) -> Any:
    """Whether a linear function of some three thousand features, popular and rare, exceeds its median; 2 % wrong."""
    by_popularity = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]))
    informative = by_popularity[np.unique(np.geomspace(1, 200_000, 3000).astype(int))]
    w = np.zeros(X.shape[1], np.float32)
    w[informative] = rng.standard_normal(len(informative))
    scores = X @ w
    return (scores > np.median(scores)) ^ (rng.random(len(scores)) < 0.02)


def compare(folder: Path, shape: str, options: argparse.Namespace) -> None:
    svm, vw, n_rows, nonzeros = files(folder, shape, options.megabytes)
    size = svm.stat().st_size
    print(
        f"\n{shape}-like text: {size / 1e6:,.0f} MB, {n_rows:,} rows, {nonzeros // n_rows} nonzeros a row", flush=True
    )
    sureline = [sys.executable, "-m", "sureline"]
    threads = str(len(os.sched_getaffinity(0)))
    bare = folder / "bare_parser"
    if not bare.exists():
        compiled("bare_parser.cpp", folder, program=bare)
    tiny = folder / "tiny.svm"
    with svm.open("rb") as source:
        tiny.write_bytes(b"".join(source.readline() for _ in range(100)))
    model, arrow, tiny_arrow = folder / "m.sureline", folder / f"{shape}.arrow", folder / "tiny.arrow"

    def train(data: Path, algorithm: tuple[str, ...] = AS_PUBLISHED) -> Run:
        return run(*sureline, "train", data, *algorithm, "--model", model, "--quiet", "--json")

    run(*sureline, "convert", svm, arrow)
    run(*sureline, "convert", tiny, tiny_arrow)
    have_vw = vw is not None and subprocess.run([sys.executable, "-c", "import vowpalwabbit"]).returncode == 0
    text_runs, arrow_runs, bare_runs, vw_runs, text_starts, arrow_starts, typed, scaled = [], [], [], [], [], [], [], []
    for _ in range(options.rounds):
        text_runs.append(train(svm))
        bare_runs.append(run(bare, svm, threads))
        arrow_runs.append(train(arrow))
        typed.append(train(svm, AS_TYPED))
        scaled.append(train(svm, SCALED).seconds)
        text_starts.append(train(tiny).seconds)
        arrow_starts.append(train(tiny_arrow).seconds)  # Arrow's library is loaded
        if have_vw:
            vw_runs.append(run(sys.executable, "-c", VW, vw, str(22 if shape == "url" else 18)))
    ours = min(r.seconds for r in text_runs)
    summary = json.loads(text_runs[0].output)
    state = 8 * (summary["features"] + 1) / 2**20
    print(
        f"  train --algorithm arow --normalize none: {ours:.2f} s, {size / 1e6 / ours:,.0f} MB/s, "
        f"error {summary['error']:.4f}",
        flush=True,
    )
    chosen, as_typed = json.loads(typed[0].output), min(r.seconds for r in typed)
    print(f"  train --algorithm arow, as typed: {as_typed:.2f} s, error {chosen['error']:.4f}", flush=True)
    some = Stream(shape, *make_stream_like(shape, min(n_rows, IN_MEMORY), random_state=0))
    without, recorded = recording_times(some)
    share = (recorded - without) * n_rows / some.X.shape[0] / ours
    report("time to put predictions on record / train", share, 0.02, detail=f"{1e3 * (recorded - without):.1f} ms")
    report("train --normalize scale / --normalize none", min(scaled) / ours, 1.15, detail=f"{min(scaled):.2f} s")
    if have_vw:
        theirs = min(r.seconds for r in vw_runs)
        report("Vowpal Wabbit --sgd hinge / train", theirs / ours, 3, at_least=True, detail=f"{theirs:.2f} s")
        report("Vowpal Wabbit --sgd hinge / train as typed", theirs / as_typed, 3, at_least=True)
    else:
        print("  Vowpal Wabbit is not installed (pip install vowpalwabbit): its line is left out.")
    parsing = min(r.seconds for r in bare_runs)
    report("rate of train / rate of a bare parser", parsing / ours, 0.7, at_least=True, detail=f"{parsing:.2f} s")
    text_start, arrow_start = min(text_starts), min(arrow_starts)
    from_arrow = min(r.seconds for r in arrow_runs)
    detail = f"{from_arrow:.2f} s; start-up, {text_start:.2f} and {arrow_start:.2f} s, aside"
    ratio = (ours - text_start) / (from_arrow - arrow_start)
    report("train from text / from Arrow", ratio, 3, at_least=True, detail=detail)
    for what, runs in (("text", text_runs), ("Arrow", arrow_runs)):
        peak = max(r.peak for r in runs)
        detail = f"peak {peak:.0f} MiB, of which the state has {state:.0f}"
        report(f"peak memory from {what} without the state, MiB", peak - state, 200, detail=detail)
    if not options.skip_scikit:
        theirs = run(sys.executable, "-c", SCIKIT, svm).seconds
        report("load_svmlight_file + SGDClassifier / train", theirs / ours, 25, at_least=True, detail=f"{theirs:.1f} s")
    if shape == "rcv1":
        contests(svm, folder, options)
    for path in (svm, vw, arrow):
        path.unlink()


LEARNERS = [
    *("perceptron", "pa", "romma", "alma", "ogd", "sop", "cw", "arow", "nherd", "scw"),
    *("adafobos", "adarda", "fsol", "ssol"),
]


def contests(svm: Path, folder: Path, options: argparse.Namespace) -> None:
    """Many models in one reading, against as many readings; of 500 MB of the file."""
    part, model = folder / "part.svm", folder / "m.sureline"
    with svm.open("rb") as source, part.open("wb") as target:
        while target.tell() < 500e6 and (block := source.read(1 << 24)):
            target.write(block + source.readline())
    sureline = [sys.executable, "-m", "sureline"]

    def train(algorithm: str, *settings: str) -> float:
        named = ("--algorithm", algorithm, *settings, "--model", model)
        return run(*sureline, "train", part, *named, "--quiet").seconds

    alone = {name: train(name) for name in LEARNERS}
    slowest = max(LEARNERS, key=alone.__getitem__)
    times: dict[str, list[float]] = {"slowest": [], "compare": [], "scw": [], "tune": []}
    for _ in range(options.rounds):
        times["slowest"].append(train(slowest))
        compared = run(*sureline, "compare", part, "--algorithm", ",".join(LEARNERS), "--quiet")
        times["compare"].append(compared.seconds)
        times["scw"].append(train("scw", "--C", "1"))  # nothing is chosen where all are told
        tuned = run(*sureline, "tune", part, "--algorithm", "scw", "--quiet", "--json")
        times["tune"].append(tuned.seconds)
    one, many, scw, tune = (min(times[name]) for name in ("slowest", "compare", "scw", "tune"))
    detail = f"{many:.2f} s; train --algorithm {slowest}: {one:.2f} s"
    report(f"compare of {len(LEARNERS)} learners / train of the slowest", many / one, 6, detail=detail)
    runs = json.loads(tuned.output)["runs"]
    dropped = sum(each["status"] == "dropped" for each in runs)
    detail = f"{tune:.2f} s, {dropped} dropped on the way; train --algorithm scw: {scw:.2f} s"
    report(f"{len(runs)} trainings of SCW / tune over them", len(runs) * scw / tune, 10, at_least=True, detail=detail)
    part.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description="From text to a model, end to end, as ratios measured in one run.")
    parser.add_argument("--megabytes", type=int, default=2000, help="of text (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="how often each program runs (default: %(default)s)")
    parser.add_argument("--skip-scikit", action="store_true", help="leave out scikit-learn, which takes a minute")
    parser.add_argument("--shapes", default="rcv1,url", help="which files (default: %(default)s)")
    parser.add_argument("--folder", type=Path, help="for the files (default: a temporary one)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        free = shutil.disk_usage(folder).free / 1e6
        if free < 4 * options.megabytes:
            sys.exit(
                f"{folder} has {free:.0f} MB free; {4 * options.megabytes} are needed. Name another with --folder."
            )
        for shape in options.shapes.split(","):
            compare(Path(folder), shape, options)
    print(f"\n{len(failures)} limits not met{': ' + ', '.join(failures) if failures else '.'}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

"""What shards cost, and what they gain: errors, times and what happens beyond one machine.

    python benchmarks/scale.py [--parts errors speed beyond] [--rows N] [--sets NAME ...]
                               [--learners NAME ...] [--data DIR] [--output FILE]

The parts:

- errors: error of merged shards relative to one machine, beside plain averaging, on streams and on the larger real data
  sets. Settings are chosen on the first 20,000 rows, as `sureline train --algorithm NAME` does.
- speed: two workers against one, what Dask adds, and Spark's LogisticRegression on the same rows.
- beyond: bytes on the wire, times of merging and errors for more shards than this machine has workers.

Each part keeps its numbers in the cache folder (out/scale). `--output` writes a page of all numbers that are there.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scale_sets import FILES, SHAPES, real, stream

import sureline
from sureline.learners.saving import read_learner
from sureline.scale import ArrayRows, Local, Plan, Shard, learning, run, start
from sureline.scale.train import begun_by, learners_of
from sureline.stream.arrays import rows_of

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("arow", "scw", "pa", "auto", "ftrl", "ssol")
COUNTS = (8, 64)


def shards(X: Any, y: Any, n: int) -> list[Shard]:
    cuts = np.linspace(0, len(y), n + 1).astype(int)
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    return [Shard(k, n, (p.stop - p.start) / len(y), ArrayRows(X[p], y[p])) for k, p in enumerate(parts)]


def error(learner: Any, X: Any, y: Any) -> float:
    values = X.data.astype(learner.dtype)
    scores, _ = learner.judge_rows(values, X.indices.astype(np.int32), X.indptr.astype(np.int32), X.shape[1])
    return float(np.mean(learner.chosen(scores) != y))


def chosen(name: str, X: Any, y: Any) -> list[Any]:
    """The learner that does best on the first rows, or those of a team, as a training in shards chooses them."""
    first, labels = rows_of((X[:20_000], y[:20_000]), "float32", None)
    return begun_by(first, labels, learners_of(name, {}), "error")


def merged(learners: list[Any], X: Any, y: Any, n: int, *, plain: bool = False) -> Any:
    """The learner that n shards make, each of them counted `plain` as a stream of its own or as the whole one."""
    first, _ = rows_of((X[:100], y[:100]), "float32", None)
    base = start(learners, first, list(range(int(y.max()) + 1)))
    known = learning.mergeable
    if plain:
        learning.mergeable = lambda one: replace(  # type: ignore
            known(one), counted=False, powers={}, sums=False, power=1.0
        )
    try:
        return read_learner(run(base, Plan.judged([shards(X, y, n)], 1), Local())).learner
    finally:
        learning.mergeable = known


def errors_on(
    name: str, data: tuple[Any, np.ndarray, Any, np.ndarray], algorithms: Sequence[str]
) -> Iterator[dict[str, Any]]:
    X, y, rest, truth = data
    for algorithm in algorithms:
        begun, learners = time.monotonic(), chosen(algorithm, X, y)
        if algorithm == "auto":  # the race over all rows, as one machine does it
            alone: Any = sureline.Auto(dtype="float32", shuffle=False).fit(X, y).model_
        else:
            alone = merged(learners, X, y, 1)
        one = error(alone, rest, truth)
        row: dict[str, Any] = {"set": name, "algorithm": algorithm, "rows": len(y), "one": one}
        for n in COUNTS:
            row[str(n)] = error(merged(learners, X, y, n), rest, truth) / one
            row[f"plain {n}"] = error(merged(learners, X, y, n, plain=True), rest, truth) / one
        row["learner"] = type(learners[0]).__name__
        cells = ", ".join(f"{n} shards {row[str(n)]:.3f} (plain {row[f'plain {n}']:.3f})" for n in COUNTS)
        print(f"{name:<8}{algorithm:<6}{one:.4f}  {cells}  {time.monotonic() - begun:.0f} s", flush=True)
        yield row


def errors(rows: int, sets: Sequence[str], algorithms: Sequence[str], data: Path, file: Path) -> None:
    """Those of the sets, each learner as soon as it is done; the others that were measured before are kept."""
    found = json.loads(file.read_text()) if file.exists() else []

    def add(name: str, each: tuple[Any, np.ndarray, Any, np.ndarray]) -> None:
        for row in errors_on(name, each, algorithms):
            key = (row["set"], row["rows"], row["algorithm"])
            found[:] = [*(old for old in found if (old["set"], old["rows"], old["algorithm"]) != key), row]
            file.write_text(json.dumps(found, indent=1))

    for shape in SHAPES:
        if shape in sets:
            add(shape, stream(shape, rows))
    for name, each in real(data, sets):
        add(name, each)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--parts", nargs="*", choices=("errors", "speed", "beyond"), default=["errors", "speed", "beyond"]
    )
    parser.add_argument("--rows", type=int, default=2_000_000, help="of the streams")
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SURELINE_DATA", ROOT.parent / "shared/data")))
    parser.add_argument("--cache", type=Path, default=ROOT / "out/scale")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--sets", nargs="*", default=[*SHAPES, *FILES], help="of the errors")
    parser.add_argument("--learners", nargs="*", choices=NAMES, default=NAMES, help="of the errors")
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    for part in given.parts:
        file = given.cache / f"{part}.json"
        if part == "errors":
            errors(given.rows, given.sets, given.learners, given.data, file)
        else:
            module = importlib.import_module(f"scale_{part}")
            module.measure(lambda found, file=file: file.write_text(json.dumps(found, indent=1)))
    if given.output is not None:
        from scale_page import page

        given.output.write_text(page(given.cache))


if __name__ == "__main__":
    main()

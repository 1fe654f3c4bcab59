"""Error of merged shards relative to one machine, beside plain averaging, and the time of merging."""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from sureline import datasets
from sureline.learners.catalogue import learner_named
from sureline.learners.saving import read_learner
from sureline.scale import ArrayRows, Shard, learn_shard, learning, merge
from sureline.stream.arrays import rows_of
from sureline.training.choosing import choose, settings_of

NAMES = ("arow", "scw", "pa", "ftrl", "ssol")


def shards(X: Any, y: Any, n: int) -> list[Shard]:
    cuts = np.linspace(0, len(y), n + 1).astype(int)
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    return [Shard(k, n, (p.stop - p.start) / len(y), ArrayRows(X[p], y[p])) for k, p in enumerate(parts)]


def error(model: bytes, X: Any, y: Any) -> float:
    learner: Any = read_learner(model).learner
    values = X.data.astype(learner.dtype)
    scores, _ = learner.judge_rows(values, X.indices.astype(np.int32), X.indptr.astype(np.int32), X.shape[1])
    return float(np.mean(learner.chosen(scores) != y))


def chosen(name: str, X: Any, y: Any) -> dict[str, Any]:
    """The settings that do best on the first rows, as `train --algorithm` chooses them."""
    stream, labels = rows_of((X[:20_000], y[:20_000]), "float32", None)
    kind = learner_named(name)
    learner = choose(stream, labels, [kind(**{"dtype": "float32", **own}) for own in settings_of(kind, {})]).learner
    return learner.parameters()


def trained(name: str, settings: dict[str, Any], X: Any, y: Any, n: int, *, plain: bool = False) -> bytes:
    learner = learner_named(name)(**settings)
    base = learning.begin(learner, [0, 1])
    known = learning.mergeable
    if plain:  # as if the shards were streams of their own
        learning.mergeable = lambda one: replace(known(one), counted=False, powers={}, sums=False)  # type: ignore
    try:
        return merge(base, [learn_shard(base, shard) for shard in shards(X, y, n)])
    finally:
        learning.mergeable = known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--shapes", nargs="*", default=["rcv1", "url"])
    parser.add_argument("--shards", type=int, nargs="*", default=[8, 64])
    arguments = parser.parse_args()
    print(f"error relative to one machine, {arguments.rows:,} rows, one round; in brackets plain averaging\n")
    print("| stream | learner | one machine |", " | ".join(f"{n} shards" for n in arguments.shards), "|")
    print("|---|---|---|" + "---|" * len(arguments.shards))
    for shape in arguments.shapes:
        X, y = datasets.make_stream_like(shape, arguments.rows + 40_000, random_state=1)
        X, rest, y, truth = X[: arguments.rows], X[arguments.rows :], y[: arguments.rows], y[arguments.rows :]
        for name in NAMES:
            settings = chosen(name, X, y)
            one = error(trained(name, settings, X, y, 1), rest, truth)
            cells = []
            for n in arguments.shards:
                ours = error(trained(name, settings, X, y, n), rest, truth) / one
                plain = error(trained(name, settings, X, y, n, plain=True), rest, truth) / one
                cells.append(f"{ours:.2f} ({plain:.2f})")
            print(f"| {shape} | {name} | {one:.4f} |", " | ".join(cells), "|", flush=True)
    times_of_merging()


def times_of_merging(n: int = 8, width: int = 1 << 24, share: float = 0.05) -> None:
    """8 deltas of 2^24 features of which 5 % were touched."""
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(0)
    base = learning.begin(learner_named("arow")(dtype="float32", normalize="none"), [0, 1])
    deltas = []
    for k in range(n):
        columns = np.flatnonzero(rng.random(width) < share)
        rows = 1000
        cuts = np.linspace(0, len(columns), rows + 1).astype(np.int64)
        X = csr_matrix((np.ones(len(columns)), columns, cuts), shape=(rows, width))
        y = rng.integers(0, 2, rows)
        deltas.append(learn_shard(base, Shard(k, n, 1 / n, ArrayRows(X, y))))
    started = time.perf_counter()
    merge(base, deltas)
    seconds = time.perf_counter() - started
    print(f"\nmerging {n} deltas of {width:,} features, {share:.0%} touched each: {seconds:.2f} s")


if __name__ == "__main__":
    main()

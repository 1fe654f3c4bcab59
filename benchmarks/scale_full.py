"""Errors of merged shards relative to one machine, of learners that keep the precision of all pairs of features.

    python benchmarks/scale_full.py [--data DIR] [--shards 8]

The table of docs/guide/scale-out.md: 8 shards in one round and in four, and plain averaging in brackets.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scale import ROOT, error, shards
from scale_sets import real
from scipy.sparse import csr_matrix

from sureline import datasets
from sureline.learners.catalogue import learner_named
from sureline.learners.saving import read_learner
from sureline.scale import learn_shard, learning, merge

FOLDED = 400  # columns
REST = 8_000  # rows of the stream to test on
FULL: dict[str, Any] = {"covariance": "full"}
LEARNERS: list[tuple[str, dict[str, Any]]] = [
    ("BCW", {"C": 0.1}),
    ("BCW", {"C": 0.1, "q": 2}),
    ("AROW", FULL),
    ("SCW", {"C": 0.1} | FULL),
    ("SSOL", FULL),
    ("NAROW", FULL),
    ("SOP", FULL),
]


def folded(rows: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Rows like those of RCV1, each column added to one of a few, and rows to test on."""
    X, y = datasets.make_stream_like("rcv1", rows + REST, random_state=1)
    of = np.random.default_rng(0).integers(0, FOLDED, X.shape[1])
    X = csr_matrix(X @ csr_matrix((np.ones(len(of)), (np.arange(len(of)), of))), dtype=np.float32)
    X.sort_indices()
    return X[:rows], y[:rows], X[rows:], y[rows:]


def merged(
    name: str, own: dict[str, Any], X: Any, y: np.ndarray, n: int, rounds: int = 1, *, plain: bool = False
) -> Any:
    known = learning.mergeable
    if plain:
        learning.mergeable = lambda one: replace(known(one), counted=False, power=1.0)  # type: ignore
    try:
        model = learning.begin(learner_named(name)(dtype="float32", **own), list(range(int(y.max()) + 1)))
        for some in np.array_split(np.arange(len(y)), rounds):
            part = slice(some[0], some[-1] + 1)
            model = merge(model, [learn_shard(model, shard) for shard in shards(X[part], y[part], n)])
        return read_learner(model).learner
    finally:
        learning.mergeable = known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("SURELINE_DATA", ROOT.parent / "shared/data")))
    parser.add_argument("--shards", type=int, default=8)
    given = parser.parse_args()
    sets = dict(real(given.data, ["a9a", "covtype"]))
    for name, own in LEARNERS:
        few = name != "BCW"
        for data, (X, y, rest, truth) in {**sets, "rcv1": folded(20_000 if few else 40_000)}.items():
            rows = slice(0, 60_000 if few else None)
            one = error(merged(name, own, X[rows], y[rows], 1), rest, truth)
            ways: list[dict[str, Any]] = [{}, {"rounds": 4}, {"plain": True}]
            found = [error(merged(name, own, X[rows], y[rows], given.shards, **way), rest, truth) / one for way in ways]
            print(f"{name} {own} {data:<8}{one:.4f}  {found[0]:.3f}, {found[1]:.3f} ({found[2]:.3f})", flush=True)


if __name__ == "__main__":
    main()

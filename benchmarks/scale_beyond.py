"""More shards than this machine has workers: deltas and merges that are real, and sums of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from sureline import datasets
from sureline.learners.catalogue import learner_named
from sureline.learners.saving import read_learner
from sureline.scale import ArrayRows, Shard, learn_shard, learning, merge

WORKERS, BYTES = 1_000, 10e12
TEXT = 12.0  # bytes of an entry such as 1234567:0.123
SHARES = (0.01, 0.05)  # of the features, touched by a shard
FEW_ROWS = 4_000  # of a shard, to see what their number does
COUNTS = (8, 32, 128, 500)


def touched(width: int, share: float, seed: int) -> tuple[Any, np.ndarray]:
    """A thousand rows that touch this share of the features."""
    draw = np.random.default_rng(seed)
    n = int(width * share)
    columns = np.unique(draw.integers(0, width, int(n * 1.05)))[:n].astype(np.int32)
    cuts = np.linspace(0, len(columns), 1001).astype(np.int64)
    return csr_matrix((np.ones(len(columns), np.float32), columns, cuts), (1000, width)), draw.integers(0, 2, 1000)


def merging(width: int, share: float, n: int = 8) -> dict[str, Any]:
    """Bytes of a delta and seconds of a processor for a merge of n of them, the least of three."""
    base = learning.begin(learner_named("arow")(dtype="float32", normalize="none"), [0, 1])
    deltas = []
    for k in range(n):
        X, y = touched(width, share, k)
        deltas.append(learn_shard(base, Shard(k, n, 1 / n, ArrayRows(X, y))))
    times, model = [], b""
    for _ in range(3):
        begun = time.process_time()
        model = merge(base, deltas)
        times.append(time.process_time() - begun)
    seconds = min(times)
    row = {"width": width, "share": share, "n": n, "seconds": seconds, "model": len(model)}
    row["delta"] = float(np.mean([len(delta) for delta in deltas]))
    print(row, flush=True)
    return row


def growth() -> list[dict[str, Any]]:
    """Error of merged AROW models relative to one machine, as more shards of the same size are merged."""
    n = max(COUNTS) * FEW_ROWS
    X, y = datasets.make_stream_like("rcv1", n + 40_000, random_state=1)
    rest, truth, found = X[n:], y[n:], []

    def error(model: bytes) -> float:
        learner: Any = read_learner(model).learner
        scores, _ = learner.judge_rows(
            rest.data, rest.indices.astype(np.int32), rest.indptr.astype(np.int32), X.shape[1]
        )
        return float(np.mean(learner.chosen(scores) != truth))

    for count in COUNTS:
        base = learning.begin(learner_named("arow")(dtype="float32", r=10.0), [0, 1])
        cuts = [slice(k * FEW_ROWS, (k + 1) * FEW_ROWS) for k in range(count)]
        deltas = [learn_shard(base, Shard(k, count, 1 / count, ArrayRows(X[c], y[c]))) for k, c in enumerate(cuts)]
        whole = slice(0, count * FEW_ROWS)
        one = error(learn_one(base, X[whole], y[whole]))
        found.append({"shards": count, "rows": FEW_ROWS, "one": one, "ratio": error(merge(base, deltas)) / one})
        print(found[-1], flush=True)
    return found


def learn_one(base: bytes, X: Any, y: Any) -> bytes:
    return merge(base, [learn_shard(base, Shard(0, 1, 1.0, ArrayRows(X, y)))])


def measure(keep: Callable[[Any], None]) -> None:
    found: dict[str, Any] = {"merging": [], "growth": []}
    for share in SHARES:
        found["merging"].append(merging(1 << 24, share))
        keep(found)
    found["growth"] = growth()
    keep(found)


if __name__ == "__main__":
    measure(lambda found: None)

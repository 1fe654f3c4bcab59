"""Train and predict on a Dask cluster: shards are tasks, and the result has the bits of any other engine.

    from dask.distributed import Client
    import sureline.dask

    client = Client("tcp://scheduler:8786")
    clf = sureline.dask.train("logs/*.svm.zst", "arow", client=client)

Workers need sureline and the files. Install with ``pip install 'sureline[dask]'``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from . import scale
from .scale import ArrayRows, Plan, Progress, Shard, learn_shard, run, start
from .scale.driver import estimator
from .scale.train import learners_of
from .stream.arrays import rows_of

if TYPE_CHECKING:
    from .estimators.saving import Estimator

__all__ = ["DaskEngine", "Distributed", "connected", "local_client", "predict", "train"]

_TRIES = 100  # of a shard whose workers die


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError("sureline.dask needs dask and distributed: pip install 'sureline[dask]'.") from None
    return distributed


class DaskEngine:
    """Learns shards as tasks of a Dask client. A shard whose worker dies is learned by another."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def learn(self, model: bytes, shards: Sequence[Shard], *, first_pass: bool) -> Iterable[bytes]:
        distributed, left, tries = _distributed(), {shard.index: shard for shard in shards}, 0
        while left:
            base = self._held(model)
            futures = {self._submitted(base, shard, first_pass): shard for shard in left.values()}
            try:
                for future in distributed.as_completed(list(futures)):
                    try:
                        data: bytes = future.result()
                    except (distributed.KilledWorker, distributed.client.FutureCancelledError):
                        continue  # a worker died once too often, or the model was lost with it: another round
                    del left[futures[future].index]
                    yield data
            finally:
                self.client.cancel([*futures, base], force=True)
            tries += 1
            if left and tries >= _TRIES:
                raise RuntimeError(f"{len(left)} shards could not be learned: their workers died {tries} times.")

    def _held(self, model: bytes) -> Any:
        """The model on the cluster: as a task, which is done again if the worker that holds it dies."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.submit(_same, model, pure=False)

    def _submitted(self, base: Any, shard: Shard, first_pass: bool) -> Any:
        rows = shard.rows
        if isinstance(rows, _Partition):
            plain = replace(shard, rows=ArrayRows(None, np.empty(0)))
            return self.client.submit(
                _learn_partition, base, plain, rows.X, rows.y, first_pass=first_pass, pure=False, retries=0
            )
        return self.client.submit(learn_shard, base, shard, first_pass=first_pass, pure=False, retries=0)


@dataclass(frozen=True)
class _Partition:
    """Blocks of Dask arrays, as futures."""

    X: Any
    y: Any

    @property
    def name(self) -> str:
        return "a block of a Dask array"

    def chunks(self, dtype: str) -> Iterator[Any]:
        raise TypeError("A block of a Dask array is read by a worker.")


def _learn_partition(model: bytes, shard: Shard, X: Any, y: Any, *, first_pass: bool) -> bytes:
    return learn_shard(model, replace(shard, rows=ArrayRows(X, np.asarray(y))), first_pass=first_pass)


@contextmanager
def local_client(workers: int) -> Iterator[Any]:
    """A client of so many processes on this machine, which end with it. Nothing outside the machine can connect."""
    distributed = _distributed()
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )
    try:
        with distributed.Client(cluster) as client:
            yield client
    finally:
        cluster.close()


def connected(address: str) -> Any:
    """A client of the scheduler at an address. OSError if there is none."""
    return _distributed().Client(address, timeout=10)


def train(
    data: Any,
    algorithm: str | Estimator,
    *,
    client: Any = None,
    labels: Sequence[Any] | None = None,
    rounds: int = 1,
    passes: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Estimator:
    """Train on a Dask cluster.

    Parameters
    ----------
    data : path, glob, list of them, sureline.stream.Stream, or pair of Dask arrays
        Of a pair (X, y) each block of rows is a shard; X may have blocks of SciPy CSR matrices.
    algorithm : str or estimator
    client : dask.distributed.Client, default=None
        None for the current one.
    labels, rounds, passes, on_progress
        As for `sureline.scale.train`. The blocks of arrays make one round.
    **options
        As for `sureline.scale.train`: `shard_size`, `model`, `checkpoint`, `resume`, parameters of the algorithm, and
        options of reading.

    Returns
    -------
    estimator
        The trained estimator.
    """
    client = _distributed().get_client() if client is None else client
    engine = DaskEngine(client)
    if not isinstance(data, tuple):
        return scale.train(
            data,
            algorithm,
            engine=engine,
            labels=labels,
            rounds=rounds,
            passes=passes,
            on_progress=on_progress,
            **options,
        )
    if len(data) != 2 or rounds != 1:
        raise ValueError("Dask arrays must come as a pair (X, y), and are learned from in one round a pass.")
    X, y = data
    learner = learners_of(algorithm, options)[0]
    shards, first = _blocks(client, X, y)
    stream, found = rows_of(first, learner.dtype, labels)
    base = start(learner, stream, found if labels is None else labels)
    plan = Plan(tuple((tuple(shards), number == 0) for number in range(passes)))
    return estimator(run(base, plan, engine, on_progress=on_progress))


def _blocks(client: Any, X: Any, y: Any) -> tuple[list[Shard], tuple[Any, Any]]:
    """A shard for each block of rows, and the first rows."""
    if X.ndim != 2 or y.ndim != 1 or len(X.chunks[1]) != 1:
        raise ValueError("X must be a Dask array of two dimensions with all columns in each block, and y one of one.")
    if X.chunks[0] != y.chunks[0]:
        y = y.rechunk((X.chunks[0],))
    parts_X, parts_y = client.compute(list(X.to_delayed().ravel())), client.compute(list(y.to_delayed().ravel()))
    sizes = list(client.gather(client.map(_n_rows, parts_y, pure=False)))
    kept = [k for k, size in enumerate(sizes) if size]
    if not kept:
        raise ValueError("There is nothing to learn from: X has no rows.")
    total = sum(sizes)
    shards = [
        Shard(index, len(kept), sizes[k] / total, _Partition(parts_X[k], parts_y[k])) for index, k in enumerate(kept)
    ]
    first = client.submit(_first, parts_X[kept[0]], parts_y[kept[0]], pure=False).result()
    return shards, first


def _same(model: bytes) -> bytes:
    return model


def _n_rows(block: Any) -> int:
    return int(block.shape[0])


def _first(X: Any, y: Any) -> tuple[Any, Any]:
    return X[:1000], np.asarray(y[:1000])


def predict(model: Estimator, X: Any, *, probabilities: bool = False) -> Any:
    """The labels of the rows of a Dask array, or with `probabilities` those of each class: a lazy Dask array."""
    method = model.predict_proba if probabilities else model.predict
    labels = np.asarray(model.classes_)
    if probabilities:
        chunks = (X.chunks[0], (len(labels),))
        return X.map_blocks(_answer, method, dtype=np.float64, chunks=chunks, meta=np.empty((0, 0)))
    return X.map_blocks(_answer, method, dtype=labels.dtype, drop_axis=1, meta=labels[:0])


def _answer(block: Any, method: Callable[[Any], Any]) -> Any:
    return method(block)


class Distributed:
    """An estimator that is fitted on a Dask cluster: ``Distributed(AROW()).fit(X, y)`` with Dask arrays.

    Parameters
    ----------
    estimator : estimator
        Its parameters are used; it is not changed.
    client : dask.distributed.Client, default=None
        None for the current one.
    passes : int, default=1

    Attributes
    ----------
    estimator_ : estimator
        The fitted one.
    """

    def __init__(self, estimator: Estimator, client: Any = None, passes: int = 1) -> None:
        self.estimator, self.client, self.passes = estimator, client, passes

    def __repr__(self) -> str:
        return f"Distributed({self.estimator!r})"

    def fit(self, X: Any, y: Any) -> Distributed:
        """Learn from the rows of Dask arrays, a block at a time."""
        self.estimator_ = train((X, y), self.estimator, client=self.client, passes=self.passes)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Labels, as a lazy Dask array."""
        return predict(self.estimator_, X)

    def predict_proba(self, X: Any) -> Any:
        """Calibrated probabilities, as a lazy Dask array."""
        return predict(self.estimator_, X, probabilities=True)

    def save(self, path: str | Path) -> None:
        """Write the model that was fitted."""
        from .estimators.saving import save

        save(self.estimator_, path)

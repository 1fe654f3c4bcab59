"""Train and predict on a Dask cluster. The result has the same bits as with any other engine.

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
from functools import partial
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from . import scale
from .scale import Progress, Shard, learn_shard
from .scale.partitions import Held, Rows, Table, Text, learn_held, same, train_held, without_rows

if TYPE_CHECKING:
    from .estimators.saving import Estimator

__all__ = ["DaskEngine", "Distributed", "connected", "local_client", "predict", "train"]

_TRIES = 100  # attempts for a shard whose workers die


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ImportError("sureline.dask needs dask and distributed: pip install 'sureline[dask]'.") from None
    return distributed


class DaskEngine:
    """Learns shards as tasks of a Dask client. If a worker dies, another learns its shard."""

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
                    except self._lost:
                        continue  # a worker died once too often, or the model was lost with it: another round
                    del left[futures[future].index]
                    yield data
            finally:
                self.client.cancel([*futures, base], force=True)
            tries += 1
            if left and tries >= _TRIES:
                raise RuntimeError(f"{len(left)} shards could not be learned: their workers died {tries} times.")
            self._again([each.rows.handles for each in left.values() if isinstance(each.rows, Held)])

    def apply(self, function: Callable[..., Any], held: Sequence[tuple[Any, ...]]) -> list[Any]:
        for tries in range(_TRIES):
            try:
                futures = [self.client.submit(function, *each, pure=False) for each in held]
                return list(self.client.gather(futures))
            except self._lost:
                if tries + 1 == _TRIES:
                    raise
                self._again(held)
        raise AssertionError

    @property
    def _lost(self) -> tuple[type[BaseException], ...]:
        """The exception types of a future whose workers died."""
        distributed = _distributed()
        return distributed.KilledWorker, distributed.client.FutureCancelledError

    def _again(self, held: Sequence[tuple[Any, ...]]) -> None:
        """Compute partitions again that were given up because their workers died."""
        handles = [each for handles in held for each in handles if isinstance(each, _distributed().Future)]
        if lost := [each for each in handles if each.status == "error"]:
            self.client.retry(lost)

    def _held(self, model: bytes) -> Any:
        """The model on the cluster, as a task: it runs again if the worker that holds it dies."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")
            return self.client.submit(same, model, pure=False)

    def _submitted(self, base: Any, shard: Shard, first_pass: bool) -> Any:
        rows, how = shard.rows, {"pure": False, "retries": 0}
        if isinstance(rows, Held):
            bare = without_rows(shard)
            return self.client.submit(learn_held, base, bare, rows.made, first_pass, *rows.handles, **how)
        return self.client.submit(learn_shard, base, shard, first_pass=first_pass, **how)


@contextmanager
def local_client(workers: int) -> Iterator[Any]:
    """A client with worker processes on this machine, which end with it. Other machines cannot connect."""
    distributed = _distributed()
    cluster = distributed.LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )
    cluster.adapt(minimum=workers, maximum=workers)  # a worker killed during its start is replaced too
    try:
        with distributed.Client(cluster) as client:
            yield client
    finally:
        cluster.close()


def connected(address: str) -> Any:
    """A client of the scheduler at an address; OSError if there is none."""
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
    data : path, glob, URL, list of them, sureline.stream.Stream, DataFrame, Bag, (X, y) or (X, y, sample_weight)
        Of Dask collections each partition, or block of rows, is a shard. A DataFrame is a table with a column of labels
        (``label="label"``, and other options of reading). A Bag has lines of text or dicts. Of (X, y), X is an Array,
        whose blocks may be dense, SciPy matrices or those of pydata/sparse, or a DataFrame of numbers.
    algorithm : str or estimator
    client : dask.distributed.Client, default=None
        None for the current one.
    labels, rounds, passes, on_progress
        As for `sureline.scale.train`.
    **options
        As for `sureline.scale.train`: `model`, `metric`, parameters of the algorithm, and options of reading; for files
        also `shard_size`, `checkpoint` and `resume`.

    Returns
    -------
    estimator
        The trained estimator.
    """
    client = _distributed().get_client() if client is None else client
    engine = DaskEngine(client)
    how: dict[str, Any] = {"labels": labels, "rounds": rounds, "passes": passes, "on_progress": on_progress, **options}
    if not isinstance(data, tuple) and not _is_collection(data):
        return scale.train(data, algorithm, engine=engine, **how)
    return train_held(_partitions(client, data), algorithm, engine, **how)


def _is_collection(data: Any) -> bool:
    return hasattr(data, "__dask_graph__")


def _partitions(client: Any, data: Any) -> list[Held]:
    """The partitions of a collection, or of several side by side, as futures."""
    given = data if isinstance(data, tuple) else (data,)
    if len(given) > 3 or not all(map(_is_collection, given)):
        raise ValueError("Dask collections come as one, as (X, y), or as (X, y, sample_weight).")
    if isinstance(data, tuple):
        made: Any = Rows.of
        word = "partition" if _is_frame(given[0]) else "block"
    elif _is_frame(data):
        made, word = Table.of, "partition"
    elif hasattr(data, "to_delayed") and not hasattr(data, "chunks"):
        made, word = Text.of, "partition"
    else:
        raise ValueError("An array has no labels: pass (X, y).")
    columns = [client.compute(pieces) for pieces in _pieces(given)]
    return [
        Held(handles, partial(made, f"{word} {k + 1}"), f"{word} {k + 1}")
        for k, handles in enumerate(zip(*columns, strict=True))
    ]


def _pieces(given: Sequence[Any]) -> list[list[Any]]:
    """The delayed blocks of rows of each collection, equally many of each."""
    X = given[0]
    chunks: Any = getattr(X, "chunks", None)
    if chunks is not None and (X.ndim != 2 or len(chunks[1]) != 1):
        raise ValueError("X must be a Dask array of two dimensions with all columns in each block: rechunk it.")
    found = []
    for each in given:
        same = not hasattr(each, "chunks") or chunks is None or each.chunks[0] == chunks[0]
        if not same and not any(isnan(n) for n in (*each.chunks[0], *chunks[0])):
            each = each.rechunk((chunks[0], *each.chunks[1:]))
        pieces = each.to_delayed()
        found.append(list(pieces.ravel() if hasattr(pieces, "ravel") else pieces))
    if len({len(pieces) for pieces in found}) > 1:
        counts = ", ".join(str(len(pieces)) for pieces in found)
        raise ValueError(f"X, y and sample_weight must have the same partitions. They have {counts}.")
    return found


def _is_frame(data: Any) -> bool:
    return hasattr(data, "map_partitions") and hasattr(data, "dtypes")


def predict(model: Estimator, X: Any, *, probabilities: bool = False) -> Any:
    """Predict labels lazily, or with `probabilities` the probability of each class.

    Parameters
    ----------
    model : estimator
    X : Dask Array, DataFrame or Bag
        As the model was trained from.
    probabilities : bool, default=False

    Returns
    -------
    Array, Series, DataFrame or Bag
        Of an Array an Array; of a DataFrame a Series of labels, or a DataFrame with a column of probabilities for each
        class; of a Bag a Bag.
    """
    method = model.predict_proba if probabilities else model.predict
    labels = np.asarray(model.classes_)
    if _is_frame(X):
        import pandas as pd  # type: ignore[import-untyped]  # has no types

        columns = labels if probabilities else None
        empty = pd.DataFrame(columns=columns, dtype=float) if probabilities else pd.Series(labels[:0])
        return X.map_partitions(_answer_frame, method, columns, meta=empty)
    if not hasattr(X, "chunks"):
        return X.map_partitions(_answer_items, method)
    if probabilities:
        chunks = (X.chunks[0], (len(labels),))
        return X.map_blocks(_answer, method, dtype=np.float64, chunks=chunks, meta=np.empty((0, 0)))
    return X.map_blocks(_answer, method, dtype=labels.dtype, drop_axis=1, meta=labels[:0])


def _answer(block: Any, method: Callable[[Any], Any]) -> Any:
    return method(Rows.of("", block, ()).X)


def _answer_frame(frame: Any, method: Callable[[Any], Any], columns: Any) -> Any:
    import pandas as pd

    found = method(frame) if len(frame) else []
    if columns is None:
        return pd.Series(found, index=frame.index)
    return pd.DataFrame(found, index=frame.index, columns=columns)


def _answer_items(items: Any, method: Callable[[Any], Any]) -> list[Any]:
    items = list(items)
    found: list[Any] = method(items).tolist() if items else []
    return found


class Distributed(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator that is fitted on a Dask cluster: ``Distributed(AROW()).fit(X, y)`` with Dask collections.

    Parameters
    ----------
    estimator : estimator
        Its parameters are used; it is not changed.
    client : dask.distributed.Client, default=None
        None for the current one.
    passes, rounds : int, default=1
        As for `train`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted one.
    classes_ : array
    """

    def __init__(self, estimator: Estimator, client: Any = None, passes: int = 1, rounds: int = 1) -> None:
        self.estimator, self.client, self.passes, self.rounds = estimator, client, passes, rounds

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Distributed:
        """Learn from the rows of Arrays or DataFrames, each part a shard; y is None if X has the labels."""
        given = tuple(each for each in (X, y, sample_weight) if each is not None)
        if y is None and sample_weight is not None:
            raise ValueError("sample_weight needs y. A column of weights is named by train(..., weight=...).")
        how: Any = {"client": self.client, "passes": self.passes, "rounds": self.rounds}
        self.estimator_ = train(X if y is None else given, self.estimator, **how)
        self.classes_ = self.estimator_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Labels, lazily."""
        return predict(self.estimator_, X)

    def predict_proba(self, X: Any) -> Any:
        """Calibrated probabilities, lazily."""
        return predict(self.estimator_, X, probabilities=True)

    def save(self, path: str | Path) -> None:
        """Write the model that was fitted."""
        from .estimators.saving import save

        save(self.estimator_, path)

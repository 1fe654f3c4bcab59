"""Train and predict on a Ray cluster. The result has the same bits as with any other engine.

    import ray
    import sureline.ray

    ray.init(address="auto")
    clf = sureline.ray.train("logs/*.svm.zst", "arow")

Workers need sureline and the files. Install with ``pip install 'sureline[ray]'``.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from . import scale
from .scale import Progress, Shard, learn_shard
from .scale.partitions import Held, Table, learn_held, train_held, without_rows

if TYPE_CHECKING:
    from .estimators.saving import Estimator

__all__ = ["SHARD_ROWS", "RayEngine", "connected", "predict", "train"]

SHARD_ROWS = 250_000
_TRIES = 100  # attempts for a shard whose workers die


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise ImportError("sureline.ray needs ray: pip install 'sureline[ray]'.") from None
    return ray


class RayEngine:
    """Learns shards as tasks of the connected Ray cluster.

    A shard whose worker dies is learned by another.
    """

    def __init__(self) -> None:
        self._tasks: dict[Any, Any] = {}  # each function is sent to the workers once

    def learn(self, model: bytes, shards: Sequence[Shard], *, first_pass: bool) -> Iterable[bytes]:
        ray = _ray()
        base = ray.put(model)
        left = [self._submitted(base, shard, first_pass) for shard in shards]
        try:
            while left:
                done, left = ray.wait(left, num_returns=1)
                yield from self._got(done)
        finally:
            for each in left:
                ray.cancel(each, force=True)

    def apply(self, function: Callable[..., Any], held: Sequence[tuple[Any, ...]]) -> list[Any]:
        return self._got([self._task(function).remote(*each) for each in held])

    def _got(self, references: Sequence[Any]) -> list[Any]:
        ray = _ray()
        try:
            return list(ray.get(list(references)))
        except ray.exceptions.RayTaskError as error:  # that of the task, as it was raised there
            raise (error.cause or error) from None
        except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError):
            raise RuntimeError(f"A shard could not be learned: its workers died {_TRIES} times.") from None

    def _submitted(self, base: Any, shard: Shard, first_pass: bool) -> Any:
        rows = shard.rows
        if isinstance(rows, Held):
            task = self._task(learn_held)
            return task.remote(base, without_rows(shard), rows.made, first_pass, *rows.handles)
        return self._task(learn_shard).remote(base, shard, first_pass=first_pass)

    def _task(self, function: Callable[..., Any]) -> Any:
        if function not in self._tasks:
            how = {"num_cpus": 1, "max_retries": _TRIES, "retry_exceptions": False}
            self._tasks[function] = _ray().remote(**how)(function)
        return self._tasks[function]


@contextmanager
def connected(address: str) -> Iterator[None]:
    """Make this process a driver of the cluster at an address, or with "auto" of one on this machine.

    OSError if there is none.
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():  # Ray itself would try for minutes
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    ray = _ray()
    try:
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (RuntimeError, SystemExit) as error:
        raise ConnectionError(str(error)) from None
    try:
        yield
    finally:
        ray.shutdown()


def train(
    data: Any,
    algorithm: str | Estimator,
    *,
    shard_rows: int = SHARD_ROWS,
    labels: Sequence[Any] | None = None,
    rounds: int = 1,
    passes: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Estimator:
    """Train on a Ray cluster: the one that this process is connected to, or else what ``ray.init()`` finds or starts.

    Parameters
    ----------
    data : path, glob, URL, list of them, sureline.stream.Stream, or ray.data.Dataset
        A Dataset is a table with a column of labels (``label="label"``, and other options of reading).
    algorithm : str or estimator
    shard_rows : int, default=250,000
        Rows of a shard of a Dataset. How many blocks Ray made of it, which depends on the cluster, does not matter.
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
    ray = _ray()
    if not ray.is_initialized():
        ray.init(log_to_driver=False, logging_level="ERROR")
    engine = RayEngine()
    how: dict[str, Any] = {"labels": labels, "rounds": rounds, "passes": passes, "on_progress": on_progress, **options}
    if not hasattr(data, "iter_internal_ref_bundles"):
        if shard_rows != SHARD_ROWS:
            raise ValueError("shard_rows is for Datasets: shards of files have a shard_size.")
        return scale.train(data, algorithm, engine=engine, **how)
    if shard_rows < 1:
        raise ValueError(f"shard_rows must be a number of rows, at least 1. Got {shard_rows!r} instead.")
    blocks = _blocks(data)
    partitions, lengths = _partitions(blocks, engine.apply(_n_rows, [(each,) for each in blocks]), shard_rows)
    return train_held(partitions, algorithm, engine, lengths=lengths, **how)


def _blocks(data: Any) -> list[Any]:
    """The blocks of a Dataset as tables of Arrow, in its order."""
    options = data.context.execution_options
    before = options.preserve_order
    options.preserve_order = True
    try:
        return list(data.materialize().to_arrow_refs())
    finally:
        options.preserve_order = before


def _partitions(blocks: Sequence[Any], counts: Sequence[int], size: int) -> tuple[list[Held], list[int]]:
    """Pieces of `size` rows, independent of the blocks, and their rows."""
    total, held, lengths = sum(counts), [], []
    for begin in range(0, total, size):
        end, at = min(begin + size, total), 0
        parts, spans = [], []
        for block, count in zip(blocks, counts, strict=True):
            low, high = max(begin - at, 0), min(end - at, count)
            if low < high:
                parts.append(block)
                spans.append((low, high))
            at += count
        name = f"rows {begin + 1} to {end}"
        held.append(Held(tuple(parts), partial(_table, name, spans), name))
        lengths.append(end - begin)
    return held, lengths


def _table(name: str, spans: Sequence[tuple[int, int]], *blocks: Any) -> Table:
    import pyarrow as pa

    pieces = [block.slice(low, high - low) for block, (low, high) in zip(blocks, spans, strict=True)]
    return Table.of(name, pa.concat_tables(pieces, promote_options="permissive"))


def _n_rows(block: Any) -> int:
    return int(block.num_rows)


def predict(model: Estimator, data: Any, *, probabilities: bool = False) -> Any:
    """Predict the labels of a Dataset, with `probabilities` also the probability of each class: a lazy Dataset.

    Its columns are `label`, and with `probabilities` one for each class, such as `probability of spam`. They are in the
    order of the rows: `preserve_order` is set for `data` and what is made of it.
    """
    how = {"model": model, "probabilities": probabilities}
    answers = data.map_batches(_answer, fn_kwargs=how, batch_format="pandas")
    answers.context.execution_options.preserve_order = True  # otherwise blocks come as they are done
    return answers


def _answer(frame: Any, model: Any, probabilities: bool) -> Any:
    import pandas as pd  # type: ignore[import-untyped]  # has no types

    answers = {"label": model.predict(frame)}
    if probabilities:
        found = model.predict_proba(frame)
        answers |= {f"probability of {label}": found[:, k] for k, label in enumerate(model.classes_)}
    return pd.DataFrame(answers)

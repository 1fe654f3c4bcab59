"""Shards as tasks of Spark, and the rows of a DataFrame as shards. The public part is `sureline.spark`."""

from __future__ import annotations

import math
import os
import pickle
import re
import shutil
import socket
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

from .learning import learn_shard
from .partitions import Held, Piece, learn_held, without_rows
from .shards import Shard

SHARD_ROWS = 250_000
_TRIES = 100  # attempts for a shard whose workers die
_JOBS = 256  # at once: each has a thread here

# Spark's messages about jobs that lost their workers, or the rows on them.
_LOST = re.compile(
    r"Python worker (exited|failed)|Python daemon failed|PYTHON_WORKER|ExecutorLost|FetchFailed|FETCH_FAILED|"
    r"EOFException|java\.net\.Socket|ClosedChannelException|Connection reset|Broken pipe"
)


@dataclass(frozen=True)
class _Part:
    """A partition of an RDD."""

    rdd: Any
    index: int


class SparkEngine:
    """Learns shards as tasks of a Spark session. A shard whose worker dies is learned by another."""

    def __init__(self, session: Any) -> None:
        from pyspark.sql import is_remote

        if is_remote():
            raise ValueError(
                "Spark Connect runs no tasks of other libraries: use a session of the cluster itself, "
                "SparkSession.builder.master(...)."
            )
        self.session, self._context = session, session.sparkContext

    def learn(self, model: bytes, shards: Sequence[Shard], *, first_pass: bool) -> Iterable[bytes]:
        base = self._context.broadcast(model)
        try:
            if isinstance(shards[0].rows, Held):
                known = [each.rows for each in shards if isinstance(each.rows, Held)]
                bare = {each.handles[0].index: without_rows(shard) for each, shard in zip(known, shards, strict=True)}
                made = {each.handles[0].index: each.made for each in known}
                rdd, indices = known[0].handles[0].rdd, sorted(made)
                work: Callable[[int, list[Any]], Any] = partial(_learn_rows, base, bare, made, first_pass)
            else:
                rdd, indices = self._context.parallelize(shards, len(shards)), list(range(len(shards)))
                work = partial(_learn_files, base, first_pass)
            for _, delta in self._results(rdd, work, indices):
                yield delta
        finally:
            base.destroy()

    def apply(self, function: Callable[..., Any], held: Sequence[tuple[Any, ...]]) -> list[Any]:
        calls = {each[-1].index: partial(function, *each[:-1]) for each in held}
        found = dict(self._results(held[0][-1].rdd, partial(_called, calls), sorted(calls)))
        return [found[each[-1].index] for each in held]

    def tried(self, run: Callable[[], Any], over: Event | None = None) -> Any:
        """The result of a Spark action, which is repeated if workers die."""
        for _ in range(_TRIES):
            try:
                return run()
            except Exception as error:
                said = str(error)
                if "Traceback (most recent call last)" in said:  # of Python on a worker
                    raise RuntimeError(f"A worker of Spark could not go on: {_last_line(said)}") from error
                if (over is not None and over.is_set()) or not _LOST.search(said) or not self._runs():
                    raise
        raise RuntimeError(f"A shard could not be learned: its workers died {_TRIES} times.")

    def _runs(self) -> bool:
        try:
            return bool(self._context.defaultParallelism)
        except Exception:  # the exception's type differs between Python and Java
            return False

    def _results(
        self, rdd: Any, work: Callable[[int, list[Any]], Any], indices: Sequence[int]
    ) -> Iterator[tuple[int, Any]]:
        """Yield index and result of each partition when it is complete. Raises exceptions of workers."""
        from pyspark import InheritableThread

        size = math.ceil(len(indices) / _JOBS)
        jobs: SimpleQueue[Sequence[int]] = SimpleQueue()
        for at in range(0, len(indices), size):
            jobs.put(indices[at : at + size])
        done: SimpleQueue[Any] = SimpleQueue()
        over, tag, outcomes = Event(), f"sureline-{uuid.uuid4()}", rdd.mapPartitionsWithIndex(partial(_outcome, work))

        def run_jobs() -> None:
            self._context.addJobTag(tag)
            while not over.is_set():
                try:
                    some = jobs.get_nowait()
                    done.put(self.tried(partial(self._context.runJob, outcomes, list, some), over))
                except Empty:
                    return
                except Exception as error:
                    done.put(error)

        threads = [InheritableThread(target=run_jobs, session=self.session) for _ in range(jobs.qsize())]
        for thread in threads:
            thread.start()
        left = len(indices)
        try:
            while left:
                found = done.get()
                if isinstance(found, Exception):
                    raise found
                for index, result, error in found:
                    if error is not None:
                        raise pickle.loads(error)
                    left -= 1
                    yield index, result
        finally:
            over.set()
            if left and self._runs():
                self._context.cancelJobsWithTag(tag)
            for thread in threads:
                thread.join()


def _last_line(said: str) -> str:
    lines = said.partition("Traceback (most recent call last)")[2].splitlines()
    errors = [line for line in lines if re.match(r"[\w.]+(Error|Exception|Interrupt)\b", line)]
    return errors[0] if errors else lines[0]


@contextmanager
def connected(master: str) -> Iterator[Any]:
    """A session of the cluster at an address, such as spark://host:7077 or local[4], which ends with the block.

    What Spark itself would print is not shown. With a local master nothing outside the machine can connect. OSError if
    there is no such cluster, RuntimeError if there is no Java.
    """
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java", path=str(Path(home) / "bin") if home else None) is None:
        raise RuntimeError("Spark needs Java 17 or newer: on Debian and Ubuntu apt install openjdk-17-jre-headless.")
    for host, port in re.findall(r"(?:spark://|,)([^,]+):(\d+)", master):  # Spark itself would try for a minute
        socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
    settings = {"spark.log.level": "OFF", "spark.ui.showConsoleProgress": "false"}
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        own = "127.0.0.1"
        settings |= {"spark.driver.host": own, "spark.driver.bindAddress": own, "spark.ui.enabled": "false"}
    from pyspark.sql import SparkSession

    with _errors_kept() as said:
        try:
            session = SparkSession.builder.appName("sureline").master(master).config(map=settings).getOrCreate()
        except Exception as error:
            java = getattr(error, "java_exception", None)
            why = str(error) if java is None else str(java.getMessage())
            told = re.search(r"^(?:Exception|Error).*?: (.*)", said(), re.MULTILINE)  # by a Java that has ended
            raise ConnectionError(told[1] if told else why.splitlines()[0]) from None
    try:
        yield session
    finally:
        session.stop()


@contextmanager
def _errors_kept() -> Iterator[Callable[[], str]]:
    """Redirect standard error of processes started in this block to a file: Java writes warnings there."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)

        def said() -> str:
            file.seek(0)
            return file.read().decode(errors="replace")

        try:
            yield said
        finally:
            os.dup2(kept, 2)
            os.close(kept)


# -- on a worker ------------------------------------------------------------------------------------------------------


def _outcome(work: Callable[[int, list[Any]], Any], index: int, items: Iterator[Any]) -> list[tuple[int, Any, Any]]:
    """The result for a partition, or the error as bytes: Spark would make text of it."""
    try:
        return [(index, work(index, list(items)), None)]
    except Exception as error:
        try:
            data = pickle.dumps(error)
            pickle.loads(data)
        except Exception:
            data = pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
        return [(index, None, data)]


def _learn_files(base: Any, first_pass: bool, index: int, items: list[Shard]) -> bytes:
    return learn_shard(base.value, items[0], first_pass=first_pass)


def _learn_rows(
    base: Any,
    bare: Mapping[int, Shard],
    made: Mapping[int, Callable[..., Piece]],
    first_pass: bool,
    index: int,
    items: list[Any],
) -> bytes:
    return learn_held(base.value, bare[index], made[index], first_pass, items)


def _called(calls: Mapping[int, Callable[..., Any]], index: int, items: list[Any]) -> Any:
    return calls[index](items)


# -- the rows of a DataFrame ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stretches:
    """The rows of a DataFrame as shards."""

    held: list[Held]
    lengths: list[int]
    labels: list[Any]  # of the label column, if there is one
    engine: SparkEngine


@contextmanager
def stretches(
    frame: Any, made: Callable[[str, Any], Piece], size: int, label: str | None = None
) -> Iterator[Stretches]:
    """Stretches of `size` rows in order, across partitions. Spark keeps them until the block ends.

    `made` gets a name and a table of Arrow, and gives the rows. `label` is a column whose values are wanted.
    """
    from pyspark import StorageLevel

    if size < 1:
        raise ValueError(f"The rows of a shard must be a number, at least 1. Got {size!r} instead.")
    engine = SparkEngine(frame.sparkSession)
    kind = "string" if label is None else dict(frame.dtypes)[label]
    packed = frame.mapInArrow(
        partial(_packed, label), f"part int, place int, n long, labels array<{kind}>, rows binary"
    )
    packed = packed.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        counted = engine.tried(packed.select("part", "place", "n", "labels").collect)
        begins, total = {}, 0
        for row in sorted(counted, key=lambda row: (row.part, row.place)):
            begins[row.part, row.place] = total
            total += row.n
        held, lengths = [], []
        if total:
            count = math.ceil(total / size)
            cut = packed.mapInArrow(partial(_cut, begins, size), "shard int, begin long, rows binary")
            rdd = cut.repartitionById(count, "shard").rdd
            for k in range(count):
                begin, end = k * size, min((k + 1) * size, total)
                name = f"rows {begin + 1} to {end}"
                held.append(Held((_Part(rdd, k),), partial(_piece, made, name), name))
                lengths.append(end - begin)
        yield Stretches(held, lengths, _sorted({each for row in counted for each in row.labels}, label), engine)
    finally:
        packed.unpersist()


def _sorted(labels: set[Any], column: str | None) -> list[Any]:
    if any(each is None or each != each for each in labels):
        raise ValueError(f"The column {column!r} has rows without a label. Fill them, or leave these rows out.")
    return sorted(labels)


def _packed(label: str | None, batches: Iterable[Any]) -> Iterator[Any]:
    """The batches of a partition, each as the bytes of one row."""
    import pyarrow as pa
    from pyspark import TaskContext

    part = TaskContext.get().partitionId()
    for place, batch in enumerate(batches):
        labels = pa.nulls(0, pa.string()) if label is None else batch.column(label).unique()
        yield pa.RecordBatch.from_pydict(
            {
                "part": pa.array([part], pa.int32()),
                "place": pa.array([place], pa.int32()),
                "n": pa.array([batch.num_rows], pa.int64()),
                "labels": pa.ListArray.from_arrays(pa.array([0, len(labels)], pa.int32()), labels),
                "rows": pa.array([_bytes_of(batch)], pa.binary()),
            }
        )


def _cut(begins: Mapping[tuple[int, int], int], size: int, batches: Iterable[Any]) -> Iterator[Any]:
    """The same rows, each piece with its shard and the number of its first row."""
    import pyarrow as pa

    for batch in batches:
        for row in batch.select(["part", "place", "rows"]).to_pylist():
            begin, rows = begins[row["part"], row["place"]], _table_of(row["rows"])
            at = 0
            while at < rows.num_rows:
                shard = (begin + at) // size
                n = min(rows.num_rows - at, (shard + 1) * size - begin - at)
                (piece,) = rows.slice(at, n).to_batches()
                columns = [
                    pa.array([shard], pa.int32()),
                    pa.array([begin + at], pa.int64()),
                    pa.array([_bytes_of(piece)], pa.binary()),
                ]
                yield pa.RecordBatch.from_arrays(columns, ["shard", "begin", "rows"])
                at += n


def _piece(made: Callable[[str, Any], Piece], name: str, items: Sequence[Any]) -> Piece:
    import pyarrow as pa

    return made(name, pa.concat_tables([_table_of(row.rows) for row in sorted(items, key=lambda row: row.begin)]))


def _bytes_of(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue())


def _table_of(data: bytes) -> Any:
    import pyarrow as pa

    return pa.ipc.open_stream(data).read_all()

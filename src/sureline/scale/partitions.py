"""Partitions held by an engine: each is a shard, made into rows by the worker that holds it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .._atomic import replacing
from ..stream import READING, Chunk, Label, Stream, read
from ..stream.arrays import ArrayStream, rows_of
from ..stream.formats.frames import FrameSource, arrow_table
from ..stream.held import HeldText
from ..stream.options import DELIMITED
from ..stream.outputs import check_outputs
from ..stream.reading import Part
from ..training.choosing import ROWS
from ..training.result import MetricName
from .driver import Engine, Plan, Progress, estimator, run, start
from .learning import learn_shard, mergeable
from .mixing import ClassesOfShards
from .shards import ArrayRows, Shard, options_of, told
from .train import begun_by, learners_of, tell_doubts

if TYPE_CHECKING:
    from ..estimators.saving import Estimator

_NOT_OF_PARTITIONS = ("shard_size", "checkpoint", "resume")


class Piece(Protocol):
    """A partition in a worker's memory."""

    @property
    def name(self) -> str: ...

    def __len__(self) -> int: ...

    def head(self, n: int) -> Piece:
        """The first n rows."""

    def with_options(self, options: dict[str, Any]) -> Piece:
        """Read as the first rows have shown it should be."""

    def chunks(self, dtype: str) -> Iterable[Chunk]: ...


@dataclass(frozen=True)
class Rows(ArrayRows):
    """Matrices: a block of an array, dense, of SciPy or of pydata/sparse; or a frame of numbers, as estimators take."""

    where: str = "a partition"

    @property
    def name(self) -> str:
        return self.where

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def head(self, n: int) -> Rows:
        weights = None if self.weights is None else self.weights[:n]
        X = self.X.iloc[:n] if hasattr(self.X, "iloc") else self.X[:n]
        return replace(self, X=X, y=self.y[:n], weights=weights)

    def with_options(self, options: dict[str, Any]) -> Rows:
        return self

    @staticmethod
    def of(where: str, X: Any, y: Any, weights: Any = None) -> Rows:
        X = X.to_scipy_sparse() if hasattr(X, "to_scipy_sparse") else X
        X = X.tocsr() if hasattr(X, "tocsr") else X
        return Rows(X, np.asarray(y), None if weights is None else np.asarray(weights), where)


@dataclass(frozen=True)
class Table:
    """A pandas data frame or a pyarrow table, whose columns become features like those of a file."""

    frame: Any
    name: str
    options: dict[str, Any] | None = None

    def __len__(self) -> int:
        return len(self.frame)

    def head(self, n: int) -> Table:
        return replace(self, frame=arrow_table(self.frame).slice(0, n))

    def with_options(self, options: dict[str, Any]) -> Table:
        return replace(self, options=options)

    def chunks(self, dtype: str) -> Stream:
        source = FrameSource(self.frame)
        source.path = self.name
        return Stream([Part(source, (0, source.size or 0))], "arrow", options_of(self.options or {}, dtype))

    @staticmethod
    def of(where: str, frame: Any) -> Table:
        return Table(frame, where)


@dataclass(frozen=True)
class Text:
    """Lines of text, or dicts, which are read like JSON lines."""

    text: bytes
    lines: int
    name: str
    options: dict[str, Any] | None = None

    def __len__(self) -> int:
        return self.lines

    def head(self, n: int) -> Text:
        lines = self.text.splitlines(keepends=True)[:n]
        return replace(self, text=b"".join(lines), lines=len(lines))

    def with_options(self, options: dict[str, Any]) -> Text:
        return replace(self, options=options)

    def chunks(self, dtype: str) -> Stream:
        options = dict(self.options or {})
        source, format = HeldText(self.name, self.text), options.pop("format")
        return Stream([Part(source, (0, len(self.text)))], format, options_of(options, dtype))

    @staticmethod
    def of(where: str, items: Any) -> Text:
        items = list(items)
        text = b"".join(_line(each, where) for each in items)
        return Text(text, len(items), where)


def _line(item: Any, where: str) -> bytes:
    if isinstance(item, dict):
        return json.dumps(item, ensure_ascii=False, default=_plain).encode() + b"\n"
    if not isinstance(item, str | bytes):
        raise TypeError(f"Items of {where} must be lines of text or dicts. Got a {type(item).__name__} instead.")
    line = item.encode() if isinstance(item, str) else item
    return line if line.endswith(b"\n") else line + b"\n"


def _plain(value: Any) -> Any:
    """A number of NumPy as JSON has it."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"A {type(value).__name__} is no value of a row.")


@dataclass(frozen=True)
class Held:
    """A partition by the engine's handles, and the function that makes rows of it on a worker.

    Attributes
    ----------
    handles : tuple
        Futures or references, which the engine replaces by what they stand for.
    made : callable
        Called with that, it gives a `Piece`.
    """

    handles: tuple[Any, ...]
    made: Callable[..., Piece]
    name: str

    def chunks(self, dtype: str) -> Iterator[Chunk]:
        raise TypeError(f"{self.name} is read by a worker.")


class Holding(Engine, Protocol):
    """An engine that holds partitions."""

    def apply(self, function: Callable[..., Any], held: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Results of the function, one for the values behind each tuple of handles."""


def learn_held(model: bytes, shard: Shard, made: Callable[..., Piece], first_pass: bool, *partition: Any) -> bytes:
    """The delta of a shard whose partition is on this worker: `learn_shard` for engines."""
    return learn_shard(model, replace(shard, rows=made(*partition)), first_pass=first_pass)


def same(model: bytes) -> bytes:
    """Returns the model; a task for engines that keep results of tasks."""
    return model


def without_rows(shard: Shard) -> Shard:
    """The shard without rows, for the worker that has them."""
    return replace(shard, rows=_NOTHING)


_NOTHING = Text(b"", 0, "nothing")


def _length(made: Callable[..., Piece], *partition: Any) -> int:
    return len(made(*partition))


def _head(made: Callable[..., Piece], n: int, *partition: Any) -> Piece:
    return made(*partition).head(n)


def _read(made: Callable[..., Piece], options: dict[str, Any], *partition: Any) -> Piece:
    return made(*partition).with_options(options)


def train_held(
    partitions: Sequence[Held],
    algorithm: str | Estimator,
    engine: Holding,
    *,
    lengths: Sequence[int] | None = None,
    model: str | Path | None = None,
    labels: Sequence[Label] | None = None,
    rounds: int = 1,
    passes: int = 1,
    metric: MetricName = "error",
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Estimator:
    """Train on partitions held by an engine; each is a shard. Parameters are those of `train`.

    `lengths` are their rows, if they are known. With several rounds, those of round r are r, r + rounds, and so on.
    """
    if wrong := [name for name in _NOT_OF_PARTITIONS if name in options]:
        raise ValueError(f"{wrong[0]} is for files: a partition is a shard, and nobody can find it again later.")
    if rounds < 1 or passes < 1:
        raise ValueError(f"rounds and passes must be integers from 1. Got {rounds!r} and {passes!r} instead.")
    check_outputs([], {} if model is None else {"model": model})
    reading = {name: options.pop(name) for name in READING if name in options}
    learners = learners_of(algorithm, options)
    learner = learners[0]
    mergeable(learner)
    if lengths is None:
        lengths = engine.apply(_length, [(each.made, *each.handles) for each in partitions])
    kept = [(each, n) for each, n in zip(partitions, lengths, strict=True) if n]
    if not kept:
        raise ValueError("There is nothing to learn from: the partitions have no rows.")
    stream, labels, read_as = _first_rows(kept, engine, learner.dtype, labels, reading)
    learners = begun_by(stream, labels, learners, metric)
    names = stream.column_names if isinstance(stream, ArrayStream) else None
    for each in learners:
        if names is not None and not each.growing:
            each.feature_names_in_ = names
    shards = [_shards(kept[r::rounds], read_as) for r in range(rounds)]
    plan = Plan.judged([some for some in shards if some], passes)
    classes = ClassesOfShards()
    done = run(start(learners, stream, labels, metric), plan, engine, on_progress=on_progress, classes=classes)
    tell_doubts(done, stream, classes)
    if model is not None:
        with replacing(Path(model)) as out:
            out.write(done)
    return estimator(done)


def _shards(kept: Sequence[tuple[Held, int]], read_as: dict[str, Any]) -> list[Shard]:
    total = sum(n for _, n in kept)
    return [
        Shard(k, len(kept), n / total, replace(each, made=partial(_read, each.made, read_as)))
        for k, (each, n) in enumerate(kept)
    ]


def _first_rows(
    kept: Sequence[tuple[Held, int]],
    engine: Holding,
    dtype: str,
    labels: Sequence[Label] | None,
    reading: dict[str, Any],
) -> tuple[Stream, Sequence[Label] | None, dict[str, Any]]:
    """The first 20,000 rows as a stream, their labels if they are sorted there, and the options to read the rest by."""
    pieces: list[Any] = []
    left = ROWS
    for each, n in kept:
        pieces += engine.apply(_head, [(each.made, left, *each.handles)])
        left -= n
        if left <= 0:
            break
    if isinstance(pieces[0], Rows):
        if reading:
            raise TypeError(f"{', '.join(reading)} has no meaning for arrays.")
        stream, found = rows_of(_joined(pieces), dtype, labels)
        return stream, found if labels is None else labels, {}
    given: Any
    if isinstance(pieces[0], Table):
        import pyarrow as pa

        given = pa.concat_tables([piece.frame for piece in pieces], promote_options="permissive")
    else:
        given = HeldText("the first rows", b"".join(piece.text for piece in pieces))
    first = read(given, dtype=dtype, **{"collect_names": True, **reading})
    if first.format in DELIMITED and first.options.header:
        raise ValueError("Lines of CSV in partitions have no header: pass header=False.")
    _ = first.schema  # guessed now, so that the options include it
    return first, labels, {**told(first.options), **({"format": first.format} if isinstance(given, HeldText) else {})}


def _joined(pieces: Sequence[Rows]) -> tuple[Any, ...]:
    if len(pieces) == 1:
        piece = pieces[0]
        return (piece.X, piece.y) if piece.weights is None else (piece.X, piece.y, piece.weights)
    X: Any
    if all(hasattr(each.X, "iloc") for each in pieces):
        import pandas as pd  # type: ignore[import-untyped]  # has no types

        X = pd.concat([each.X for each in pieces])
    else:
        from scipy.sparse import csr_matrix, vstack

        X = vstack([each.X if hasattr(each.X, "tocsr") else csr_matrix(np.asarray(each.X)) for each in pieces])
    y = np.concatenate([each.y for each in pieces])
    if pieces[0].weights is None:
        return X, y
    return X, y, np.concatenate([each.weights for each in pieces if each.weights is not None])

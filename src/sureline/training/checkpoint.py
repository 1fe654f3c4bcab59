"""Checkpoints of a training: how far it had come, in which files, and whether these are still the same."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._atomic import remove_stale
from .._inputs import label_array
from ..learners.learner import Learner
from ..learners.saving import ModelFile
from ..stream import Label, Position, Stream


@dataclass
class Checkpointing:
    """The file of checkpoints, and their interval in examples or seconds."""

    path: Path
    examples: int | None = None
    seconds: float | None = None
    last_examples: int = 0
    last_time: float = field(default_factory=time.monotonic)

    def due(self, examples: int) -> bool:
        return (self.examples is not None and examples - self.last_examples >= self.examples) or (
            self.seconds is not None and time.monotonic() - self.last_time >= self.seconds
        )

    def done(self, examples: int) -> None:
        self.last_examples, self.last_time = examples, time.monotonic()


@dataclass(frozen=True)
class Checkpoint:
    """How far a training had come."""

    position: Position  # the end of the last chunk that was learned from whole
    rows_ahead: int  # and rows after it that were
    pass_number: int
    labels: list[Label]
    batch: int | None  # rows of a batch, for the learners that take batches

    def to_dict(self, stream: Stream) -> dict[str, Any]:
        """For a file, with what the stream was."""
        place = {
            "position": self.position.to_dict(),
            "pass": self.pass_number,
            "paths": stream.paths,
            "files": fingerprints(stream.paths[: self.position.file + 1]),
            "labels": self.labels,
        }
        if self.batch is not None:
            place |= {"batch": self.batch, "rows_ahead": self.rows_ahead}
        return place

    @classmethod
    def of(cls, path: Path, saved: ModelFile) -> Checkpoint:
        """The checkpoint in a file that was read."""
        if saved.place is None:
            raise ValueError(f"{path} is a model and no checkpoint; name it with --model, or train anew.")
        try:
            labels: list[Label] = list(saved.place["labels"])
            batch = saved.place.get("batch")
            place = cls(
                Position.from_dict(saved.place["position"]),
                int(saved.place.get("rows_ahead", 0)),
                int(saved.place["pass"]),
                labels,
                None if batch is None else int(batch),
            )
            if label_array(labels).tolist() != saved.labels:
                raise ValueError("its labels are not those of the model")
            if place.rows_ahead < 0:
                raise ValueError("it is before the place that it is after")
            if not isinstance(saved.place["files"], list) or not isinstance(saved.place["paths"], list):
                raise ValueError("its files are no lists")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} does not say where the training was: {error}.") from None
        return place


def refuse_other_job(
    path: Path, saved: ModelFile, *, learner: Learner, stream: Stream, labels: Sequence[Label] | None
) -> None:
    """Raise ValueError if a checkpoint is not of this learner on this stream; `labels` are those that were fixed."""
    assert saved.place is not None
    now, then = type(learner).__name__, type(saved.learner).__name__
    if now != then:
        raise ValueError(f"{path} was saved by {then}, and cannot be gone on with by {now}.")
    for name, value in learner.parameters().items():
        before = saved.learner.parameters()[name]
        if value != before:
            raise ValueError(f"{path} was saved with {name}={before!r}, and cannot be gone on with {name}={value!r}.")
    if labels is not None and saved.labels != label_array(labels).tolist():
        raise ValueError(f"{path} was saved with the labels {saved.labels}, not {list(labels)}.")
    paths, files = saved.place["paths"], saved.place["files"]
    if stream.paths != paths:
        raise ValueError(f"{path} was saved while reading {', '.join(paths)}, not {', '.join(stream.paths)}.")
    for name, value in stream.model_options.items():
        if saved.input_options.get(name) != value:
            raise ValueError(
                f"{path} was saved while reading with {name}={saved.input_options.get(name)!r}, not {value!r}."
            )
    here = fingerprints(stream.paths[: len(files)])
    for file, then_, now_ in zip(stream.paths, files, here, strict=False):
        if then_ != now_:
            raise ValueError(f"{file} is no longer what it was when {path} was saved, so reading cannot go on in it.")


def fingerprints(paths: Sequence[str]) -> list[Any]:
    """Size of each file and checksums of its beginning and its end; nothing of what is no file."""
    found: list[Any] = []
    for path in paths:
        if path == "-" or not os.path.isfile(path):
            found.append(None)
            continue
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            head = zlib.crc32(file.read(1 << 16))
            file.seek(max(size - (1 << 16), 0))
            found.append([size, head, zlib.crc32(file.read(1 << 16))])
    return found


def done_with(path: Path) -> None:
    """Remove a checkpoint that is no longer needed, and what a run that was killed while writing one has left."""
    path.unlink(missing_ok=True)
    remove_stale(path)

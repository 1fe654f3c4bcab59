"""Train one learner on a stream of any size, with checkpoints on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._atomic import remove_stale
from ..learners.batch import BatchLearner
from ..learners.learner import ClassLearner, Learner
from ..learners.regression import TargetLearner
from ..learners.rule import RuleLearner
from ..learners.saving import read_learner, write_learner
from ..stream import Chunk, DataError, Label, Position, Stream
from ..stream.chunk import merged_names
from ..stream.classes import Classes, targets_of
from .checkpoint import Checkpoint, Checkpointing, refuse_other_job
from .choosing import Choice, choose, chosen_before
from .chunks import LabelledChunk, RowBuffer, attach
from .frozen import FrozenError
from .identity import Files, Verify
from .metric import Metric
from .order import Order
from .room import refuse_too_large
from .start import Start

BATCH = 100_000  # rows, for the learners that take batches


@dataclass(frozen=True)
class Progress:
    """The progress of a training."""

    examples: int
    mistakes: int | None  # None of a regressor
    seconds: float  # since this run began
    share: float | None  # of the stream that has been read, where its size is known
    pass_number: int
    losses: float | None = None  # of a regressor: the sum of those of its predictions
    frozen_error: float | None = None  # of the model at the end of a block on the next one; None of a regressor

    @property
    def error(self) -> float | None:
        """Mistakes among the examples so far, each predicted before it was learned from; None of a regressor."""
        return None if self.mistakes is None else self.mistakes / max(self.examples, 1)

    @property
    def loss(self) -> float | None:
        """Of a regressor: the mean loss of its predictions so far, each made before it was learned from."""
        return None if self.losses is None else self.losses / max(self.examples, 1)


class Training:
    """A learner on its way through a stream. All that it takes to go on later is in `save_checkpoint`."""

    def __init__(
        self,
        learner: Learner,
        stream: Stream,
        *,
        labels: Sequence[Label] | None = None,
        batch: int | None = None,
        verify: Verify = "sample",
        start: Start | None = None,
        order: Order | None = None,
    ) -> None:
        learner = learner if start is None else start.learner
        if batch is not None and not isinstance(learner, BatchLearner):
            raise ValueError(
                f"{type(learner).__name__} learns from one row after the other: batch is for learners of batches."
            )
        if batch is not None and batch < 1:
            raise ValueError(f"batch must be a number of rows, at least 1. Got {batch!r} instead.")
        known = labels if start is None or not learner.labels else learner.labels
        names = learner.origin.names
        attach(learner, stream, known)
        self.learner = learner
        if start is not None:
            learner.origin.names = names
        self.start = None if start is None else start.mark()
        self.batch = BATCH if batch is None else batch
        self.buffer = RowBuffer()
        self.stream = stream
        self.files = Files(stream, verify)
        self.order = order or Order()
        self._source = stream if self.order.shuffle is None else self.order.shuffle.pieces(stream)
        self.frozen = FrozenError()
        self.classes = Classes(known, fixed=labels is not None)
        self.position = Position()
        self.pass_number = 1
        self.rows_of_a_pass: int | None = None  # known after the first one
        self._own_checkpoints: set[Path] = set()  # written, or gone on from
        self.begun = start is not None
        self._before = self._measures()
        self._learning = False
        self._stop_asked = False

    # -- which learner ---------------------------------------------------------------------------------------

    def choose(self, learners: Sequence[Learner], metric: Metric | None = None) -> Choice:
        """Before it begins, take the one of these learners that makes the fewest mistakes on the first rows."""
        labels = self.labels if self.classes.fixed else None
        choice = choose(self._source, labels, learners, metric=metric, shuffle=self.order.shuffle)
        self.learner = choice.learner
        attach(self.learner, self.stream, self.labels if self.classes.fixed else None)
        return choice

    # -- the loop --------------------------------------------------------------------------------------------

    def run(
        self,
        *,
        checkpointing: Checkpointing | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Learn from what is left of the stream.

        `on_progress` is called after the first example, the second, the fourth and so on, and after each chunk.
        Raises KeyboardInterrupt, between two chunks, if `interrupt` was called: the training can then be saved.
        """
        started = time.monotonic()
        if checkpointing is not None:
            checkpointing.done(self.examples)

        def tell() -> None:
            if on_progress is not None:
                on_progress(self.progress(time.monotonic() - started))

        if self.passes > 1:
            self.files.first(len(self.stream.paths))
        while True:
            chunks = self._chunks()
            try:
                for chunk in chunks:
                    self._learning = True
                    self._take(chunk, tell)
                    self._learning = False
                    tell()
                    if checkpointing is not None and checkpointing.due(self.examples):
                        self.save_checkpoint(checkpointing.path)
                        checkpointing.done(self.examples)
                    if self._stop_asked:
                        raise KeyboardInterrupt
                if self.buffer.n_rows > 0:
                    self._learning = True
                    self._learn_batches(last=True)
                    self._learning = False
                    tell()
            finally:
                chunks.close()
            self._end_pass()
            if self.pass_number >= self.passes:
                break
            self._learning = True  # not to be interrupted between the two
            self.pass_number += 1
            self.position = Position()
            self._learning = False
        if self.rows_of_a_pass == 0:
            raise DataError(self.stream.paths[0], "there are no examples")

    def _chunks(self) -> Generator[Chunk, None, None]:
        """The rest of this pass, in its order."""
        shuffle = self.order.shuffle
        if shuffle is None:
            return self._source.read_from(self.position)
        return shuffle.chunks(self._source, self.position, self.pass_number)

    def _end_pass(self) -> None:
        """See that what is read again is what was read before."""
        rows = self.position.rows
        if self.passes > 1:
            self.files.refuse_changed()
        if self.rows_of_a_pass not in (None, rows):
            raise DataError(
                self.stream.paths[0],
                f"pass {self.pass_number} had {rows:,} rows, and the first {self.rows_of_a_pass:,}",
            )
        self.rows_of_a_pass = rows

    def interrupt(self) -> None:
        """Stop after the chunk at hand; at once, with KeyboardInterrupt, if the stream is being waited for."""
        if self._learning:
            self._stop_asked = True
        else:
            raise KeyboardInterrupt

    @property
    def passes(self) -> int:
        """Number of passes over the stream."""
        return self.learner.passes if isinstance(self.learner, RuleLearner) else 1

    @property
    def can_be_saved(self) -> bool:
        """True if something has been learned, and the latest chunk whole."""
        return self.begun and not self._learning

    def _take(self, chunk: Chunk, tell: Callable[[], None]) -> None:
        if isinstance(self.learner, BatchLearner):
            if not self.buffer.add(chunk):
                raise ValueError("The checkpoint is not of these data: its batches end after other rows.")
            self._learn_batches()
            return
        if chunk.n_rows:
            batch = self._labelled(chunk)
            width = max(chunk.n_columns, self.learner.n_features_in_ if self.begun else 0)
            refuse_too_large(self.learner, self.stream, width, len(self.labels))
            if not self.begun:
                batch.begin(self.learner)
                self.begun = True
            start, seen_before = 0, self.examples
            for stop in _powers_of_two(seen_before, seen_before + chunk.n_rows):
                self._fit(batch, start, stop - seen_before)
                start = stop - seen_before
                if start < chunk.n_rows:  # the end of the chunk is told by the caller
                    tell()
            self._fit(batch, start, chunk.n_rows)
            batch.end(self.learner)
        self._pass(chunk)

    def _fit(self, batch: LabelledChunk, start: int, stop: int) -> None:
        if self.pass_number == 1:
            self.frozen.look(self.learner, batch.chunk, batch.labels, start, stop)
        batch.fit(self.learner, start, stop)

    def _labelled(self, chunk: Chunk) -> LabelledChunk:
        if isinstance(self.learner, TargetLearner):
            return LabelledChunk(chunk, targets_of(chunk, self._file(chunk), self.position.rows))
        codes = self._class_codes(chunk)
        labelled = LabelledChunk(chunk, codes, self.classes.array())
        labelled.record = self.pass_number == 1  # predictions of what was learned from say nothing of others
        return labelled

    def _pass(self, chunk: Chunk) -> None:
        """All of this chunk has been learned from."""
        self.learner.origin.names = merged_names(self.learner.origin.names, chunk)
        self.position = chunk.end

    def _learn_batches(self, *, last: bool = False) -> None:
        """Learn from the rows that are pending in batches; `last` with the rest of them, whatever their number."""
        learner = self.learner
        if not isinstance(learner, BatchLearner):
            return
        for batch in self.buffer.batches(self.batch, last=last):
            codes = self._class_codes(batch)
            if not self.begun:
                learner.begin(self.classes.array(), batch.n_columns)
                self.begun = True
            self.frozen.look(learner, batch, codes, 0, batch.n_rows)
            learner.take_batch(batch.X, codes, batch.weights)
            learner.classes_ = self.classes.array()
            for chunk in self.buffer.done(batch.n_rows):
                self._pass(chunk)

    def _class_codes(self, chunk: Chunk) -> npt.NDArray[np.int32]:
        return self.classes.of(chunk, self._file(chunk), self.position.rows + self.buffer.ahead)

    def _file(self, chunk: Chunk) -> str:
        return self._source.paths[min(chunk.end.file, len(self._source.paths) - 1)]

    @property
    def warning(self) -> str | None:
        """The reason why the model is worse than its progressive error, in a sentence; None if there is none."""
        return self.order.warning(self.classes.runs)

    # -- where it stands -------------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        return self.learner.n_seen_ if self.begun else 0

    @property
    def labels(self) -> list[Label]:
        """The classes so far; none of a regressor."""
        return self.classes.labels

    @property
    def mistakes(self) -> int | None:
        """None of a regressor."""
        if not isinstance(self.learner, ClassLearner):
            return None
        return self.learner.n_mistakes_ if self.begun else 0

    @property
    def losses(self) -> float | None:
        """The sum of the losses of a regressor's predictions; None of a classifier."""
        if not isinstance(self.learner, TargetLearner):
            return None
        return self.learner.total_loss if self.begun else 0.0

    def _measures(self) -> tuple[int, float]:
        """Examples, and the mistakes or losses of their predictions."""
        return self.examples, (self.losses or 0.0) if self.mistakes is None else self.mistakes

    @property
    def since_start(self) -> dict[str, Any] | None:
        """Of a training that went on from a model: examples since then, and how they were predicted."""
        if self.start is None:
            return None
        (before, wrong_before), (now, wrong) = self._before, self._measures()
        examples, wrong = now - before, wrong - wrong_before
        share = wrong / max(examples, 1)
        if self.mistakes is None:
            return {"examples": examples, "loss": share}
        return {"examples": examples, "mistakes": int(wrong), "error": share}

    def progress(self, seconds: float = 0.0) -> Progress:
        """Progress so many seconds after the run began."""
        frozen = self.frozen.error
        return Progress(self.examples, self.mistakes, seconds, self._share(), self.pass_number, self.losses, frozen)

    def _share(self) -> float | None:
        share = self._source.progress
        return None if share is None else (self.pass_number - 1 + share) / self.passes

    # -- saving and going on ---------------------------------------------------------------------------------

    def save_model(self, path: Path, *, compact: bool = False) -> None:
        """Write what has been learned so far; `compact` as for `sureline.save`."""
        write_learner(path, self.learner, compact=compact)

    def save_checkpoint(self, path: Path) -> None:
        """Write all that is needed to go on as if nothing had happened."""
        if not self.can_be_saved:
            raise ValueError("There is nothing to go on from: the training has not begun, or stopped inside a chunk.")
        paths = self.stream.paths
        in_order = self.pass_number == 1 and self.order.shuffle is None
        begun = min(self.position.file + 1, len(paths)) if in_order else len(paths)
        place = Checkpoint(
            position=self.position,
            rows_ahead=self.buffer.ahead,
            pass_number=self.pass_number,
            rows_of_a_pass=self.rows_of_a_pass if self.pass_number > 1 else None,
            labels=list(self.labels),
            batch=self._batch_size,
            paths=paths,
            files=self.files.first(begun),
            start=self.start,
            shuffle=self.order.shuffle,
            runs=self.classes.runs,
            frozen=self.frozen,
        )
        self._own_checkpoints.add(path)
        write_learner(path, self.learner, place=place.to_dict(self.learner.n_seen_))

    def done_with(self, path: Path) -> None:
        """Remove a checkpoint that this training wrote or went on from, and what a killed run has left of one.

        One of another training is left.
        """
        if path in self._own_checkpoints:
            path.unlink(missing_ok=True)
        remove_stale(path)

    def resume(self, path: Path, *, candidates: Sequence[Learner] = (), decided: bool = False) -> None:
        """Go on where the checkpoint in `path` was saved.

        The learner and the stream must be those of then: another algorithm, parameter or file is refused. A learner
        that was to be chosen among the `candidates` is the one of them that the checkpoint has. If the order of
        rows was `decided` by the data, it is that of the checkpoint.
        """
        saved = read_learner(path)
        place = Checkpoint.of(path, saved)
        fixed = self.labels if self.classes.fixed else None
        if len(candidates) > 1:
            self.learner = chosen_before(path, saved.learner, candidates)
            attach(self.learner, self.stream, fixed)
        if decided and (self.order.shuffle is None) != (place.shuffle is None):
            self.order = Order(place.shuffle, self.order.whole)
            self._source = self.stream if place.shuffle is None else place.shuffle.pieces(self.stream)
        job = self.learner, self.stream, self.start, self.order.shuffle
        refuse_other_job(path, saved, place, job, files=self.files, labels=fixed)
        if place.batch != self._batch_size:
            raise ValueError(
                f"{path} was saved with batches of {place.batch} rows, and cannot be gone on with {self._batch_size}."
            )
        self.learner = saved.learner
        self.classes.labels = place.labels
        self.classes.runs, self.frozen = place.runs, place.frozen
        self.position = place.position
        self.buffer = RowBuffer(place.rows_ahead)
        self.pass_number, self.rows_of_a_pass = place.pass_number, place.rows_of_a_pass
        self.begun = True
        self._own_checkpoints.add(path)

    @property
    def _batch_size(self) -> int | None:
        return self.batch if isinstance(self.learner, BatchLearner) else None


def _powers_of_two(after: int, up_to: int) -> list[int]:
    """Powers of two larger than `after` and not larger than `up_to`."""
    return [1 << k for k in range(up_to.bit_length()) if after < 1 << k <= up_to]

"""Training from a pipe, which may have no end: available rows are saved on time, and at a stop.

A file is learned from block by block, and its first rows decide on labels, settings and order. A pipe is treated in the
same way, so the same rows give the same model. For a checkpoint or a report, a copy of the learner also learns the rows
of an incomplete block; the learner itself learns them later, with their block.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

from ..learners.batch import BatchLearner
from ..learners.saving import read_learner
from ..stream import Chunk, Position, Stream
from .beginning import Beginning
from .checkpoint import Checkpoint, Checkpointing
from .progress import Progress
from .start import twin
from .train import Training

_SHARE = 10  # reports on an incomplete block take at most this part of the time
_TELL = 0.5  # seconds


class RowsSoFar(Stream):
    """The rows of a pipe so far, as a stream."""

    def __init__(self, stream: Stream, chunks: Sequence[Chunk]) -> None:
        super().__init__(stream.parts, stream.format, stream.options)
        self._chunks = chunks

    @property
    def model_options(self) -> dict[str, Any]:
        return {"format": self.format, **self.options.of_model(self.format)}

    def read_from(self, position: Position) -> Generator[Chunk, None, None]:
        yield from self._chunks


class LiveTraining:
    """A training from a stream that may have no end, looked after while rows are waited for.

    Parameters
    ----------
    stream : Stream
    path : Path
        The checkpoint.
    begin : callable
        Makes a training of a stream by its first rows: order, learner, settings.
    checkpointing : Checkpointing or None
        When to write the checkpoint.
    quick : bool
        True if `begin` takes no more time than learning from the rows.
    """

    def __init__(
        self,
        stream: Stream,
        path: Path,
        begin: Callable[[Stream], Training],
        checkpointing: Checkpointing | None,
        *,
        quick: bool,
    ) -> None:
        self._stream, self._path, self._begin, self._checkpointing = stream, path, begin, checkpointing
        self._quick = quick
        self._training: Training | None = None
        self._tell: Callable[[Progress], None] | None = None
        self._started = time.monotonic()
        self._next_tell = 0.0
        self._told = 0  # rows of an incomplete block that were reported
        self._stop = self._wrote = False
        self.saved: int | None = None  # examples in the checkpoint that was written when it was stopped
        self.reached: Training | None = None  # with all that has come, while its progress is told
        stream.while_waiting = self._while_waiting

    def run(self, training: Training, on_progress: Callable[[Progress], None]) -> None:
        """Learn from the stream to its end. Raises KeyboardInterrupt if it is stopped earlier."""
        self._training, self._tell = training, on_progress
        if self._stop:
            training.ask_to_stop()
        try:
            training.run(checkpointing=self._checkpointing, on_progress=on_progress)
        finally:
            if self._wrote:
                training.own_checkpoints.add(self._path)

    def interrupt(self) -> None:
        """Stop after the rows that have come; a followed file ends there."""
        if self._stream.stop_following():
            return
        if not self._stream.under_way:  # it waits for the first byte
            raise KeyboardInterrupt
        self._stop = True
        if self._training is not None:
            self._training.ask_to_stop()

    def _while_waiting(self) -> None:
        if self._stop:
            self.saved = self._save()
            raise KeyboardInterrupt
        checkpointing = self._checkpointing
        if checkpointing is not None:
            seen = 0 if self._training is None else self._training.rows
            if checkpointing.due(seen):
                self._save()
                checkpointing.done(seen)
        if time.monotonic() >= self._next_tell:
            before = time.monotonic()
            come = sum(map(len, self._stream.come_so_far()))  # and a line that cannot be read ends the training
            if self._tell is not None and self._quick and come > self._told:
                self.reached = self._with_rows_so_far()
                if self.reached is not None:
                    self._tell(self.reached.progress(time.monotonic() - self._started))
                self.reached = None
            self._told = come
            self._next_tell = time.monotonic() + max(_TELL, _SHARE * (time.monotonic() - before))

    def _save(self) -> int | None:
        """Write a checkpoint with all available rows. Returns its examples; None if there are none."""
        reached = self._with_rows_so_far()
        if reached is None or not reached.can_be_saved:
            return None
        first = Beginning()
        if not self._learned_a_block:
            for chunk in self._stream.come_so_far():
                first.add(chunk)
        self._wrote = True
        reached.save_checkpoint(self._path, beginning=None if self._learned_a_block else first)
        return reached.rows

    @property
    def _learned_a_block(self) -> bool:
        return self._training is not None and self._training.begun and self._training.position.rows > 0

    def _with_rows_so_far(self) -> Training | None:
        """A copy of the training with all available rows; None if there are none."""
        training, chunks = self._training, self._stream.come_so_far()
        if training is not None and self._learned_a_block:
            # Rows of a batch, a shuffle buffer or a race wait for others.
            waits = training.order.shuffle is not None or training.racing is not None
            if not chunks or waits or isinstance(training.learner, BatchLearner):
                return training
            return _with_rows(training, chunks[-1])
        if not chunks:
            return None
        rehearsal = self._begin(RowsSoFar(self._stream, chunks))
        rehearsal.run()
        return rehearsal


def _with_rows(training: Training, chunk: Chunk) -> Training:
    """A copy of a training that has also learned from these rows, the first of a later chunk.

    Names and label runs are added with the complete chunk, so that they are counted once.
    """
    other = copy(training)
    other.learner = twin(training.learner, type(training.learner))
    other.classes, other.frozen = deepcopy(training.classes), deepcopy(training.frozen)
    other.asking = deepcopy(training.asking)
    other.take_whole(chunk, lambda: None)
    other.classes.runs, other.frozen = training.classes.runs, training.frozen
    other.ahead = chunk.n_rows
    return other


def beginning_of(path: Path) -> Beginning | None:
    """The rows that a checkpoint was saved after, if they are the first and nothing was decided by them yet."""
    return Checkpoint.of(path, read_learner(path)).beginning

"""Train one learner on a stream of any size, with checkpoints on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._native import _core
from ..learners.batch import BatchLearner
from ..learners.catalogue import learner_named, learner_of
from ..learners.learner import ClassLearner, Learner
from ..learners.regression import TargetLearner
from ..learners.rule import RuleLearner
from ..learners.saving import read_learner, write_learner
from ..stream import READING, Chunk, DataError, Label, Position, Stream, read
from ..stream.chunk import merged_names
from ..stream.classes import Classes, targets_of
from .checkpoint import Checkpoint, Checkpointing, done_with, refuse_other_job
from .choosing import AUTO, Choice, candidates, choose, chosen_before, settings_of
from .chunks import LabelledChunk, RowBuffer, attach

if TYPE_CHECKING:
    from ..estimators.saving import Estimator

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
        self, learner: Learner, stream: Stream, *, labels: Sequence[Label] | None = None, batch: int | None = None
    ) -> None:
        if batch is not None and not isinstance(learner, BatchLearner):
            raise ValueError(
                f"{type(learner).__name__} learns from one row after the other: batch is for learners of batches."
            )
        if batch is not None and batch < 1:
            raise ValueError(f"batch must be a number of rows, at least 1. Got {batch!r} instead.")
        attach(learner, stream, labels)
        self.learner = learner
        self.batch = BATCH if batch is None else batch
        self.buffer = RowBuffer()
        self.stream = stream
        self.classes = Classes(labels)
        self.names: _core.NameTable | None = None
        self.position = Position()
        self.pass_number = 1
        self.begun = False
        self._learning = False
        self._stop_asked = False

    # -- which learner ---------------------------------------------------------------------------------------

    def choose(self, learners: Sequence[Learner]) -> Choice:
        """Before it begins, take the one of these learners that makes the fewest mistakes on the first rows."""
        choice = choose(self.stream, self.labels if self.classes.fixed else None, learners)
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

        while True:
            chunks = self.stream.read_from(self.position)
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
            if self.pass_number >= self.passes:
                break
            self._learning = True  # not to be interrupted between the two
            self.pass_number += 1
            self.position = Position()
            self._learning = False
        if not self.begun:
            raise DataError(self.stream.paths[0], "there are no examples")

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
            self.buffer.add(chunk)
            self._learn_batches()
            return
        if chunk.n_rows:
            batch = self._labelled(chunk)
            if not self.begun:
                batch.begin(self.learner)
                self.begun = True
            start, seen_before = 0, self.examples
            for stop in _powers_of_two(seen_before, seen_before + chunk.n_rows):
                batch.fit(self.learner, start, stop - seen_before)
                start = stop - seen_before
                if start < chunk.n_rows:  # the end of the chunk is told by the caller
                    tell()
            batch.fit(self.learner, start, chunk.n_rows)
            batch.end(self.learner)
        self._pass(chunk)

    def _labelled(self, chunk: Chunk) -> LabelledChunk:
        if isinstance(self.learner, TargetLearner):
            return LabelledChunk(chunk, targets_of(chunk, self._file(chunk), self.position.rows))
        codes = self._class_codes(chunk)
        return LabelledChunk(chunk, codes, self.classes.array())

    def _pass(self, chunk: Chunk) -> None:
        """All of this chunk has been learned from."""
        self.names = merged_names(self.names, chunk)
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
            learner.take_batch(batch.X, codes, batch.weights)
            learner.classes_ = self.classes.array()
            for chunk in self.buffer.done(batch.n_rows):
                self._pass(chunk)

    def _class_codes(self, chunk: Chunk) -> npt.NDArray[np.int32]:
        return self.classes.of(chunk, self._file(chunk), self.position.rows + self.buffer.ahead)

    def _file(self, chunk: Chunk) -> str:
        return self.stream.paths[min(chunk.end.file, len(self.stream.paths) - 1)]

    @property
    def looks_sorted(self) -> bool:
        """True if the label changed far less often than in rows that come in any order."""
        if not self.begun or not isinstance(self.learner, ClassLearner):
            return False
        return self.classes.look_sorted(self.learner.progressive_.seen)

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

    def progress(self, seconds: float = 0.0) -> Progress:
        """Progress so many seconds after the run began."""
        return Progress(self.examples, self.mistakes, seconds, self._share(), self.pass_number, self.losses)

    def _share(self) -> float | None:
        share = self.stream.progress
        return None if share is None else (self.pass_number - 1 + share) / self.passes

    # -- saving and going on ---------------------------------------------------------------------------------

    def save_model(self, path: Path, *, compact: bool = False) -> None:
        """Write what has been learned so far; `compact` as for `sureline.save`."""
        options = self.stream.model_options
        write_learner(path, self.learner, names=self.names, input_options=options, compact=compact)

    def save_checkpoint(self, path: Path) -> None:
        """Write all that is needed to go on as if nothing had happened."""
        if not self.can_be_saved:
            raise ValueError("There is nothing to go on from: the training has not begun, or stopped inside a chunk.")
        place = Checkpoint(self.position, self.buffer.ahead, self.pass_number, list(self.labels), self._batch_size)
        write_learner(
            path,
            self.learner,
            names=self.names,
            input_options=self.stream.model_options,
            place=place.to_dict(self.stream),
        )

    def resume(self, path: Path, *, candidates: Sequence[Learner] = ()) -> None:
        """Go on where the checkpoint in `path` was saved.

        The learner and the stream must be those of then: another algorithm, parameter or file is refused. A learner
        that was to be chosen among the `candidates` is the one of them that the checkpoint has.
        """
        saved = read_learner(path)
        place = Checkpoint.of(path, saved)
        fixed = self.labels if self.classes.fixed else None
        if len(candidates) > 1:
            self.learner = chosen_before(path, saved.learner, candidates)
            attach(self.learner, self.stream, fixed)
        refuse_other_job(path, saved, learner=self.learner, stream=self.stream, labels=fixed)
        if place.batch != self._batch_size:
            raise ValueError(
                f"{path} was saved with batches of {place.batch} rows, and cannot be gone on with {self._batch_size}."
            )
        self.learner = saved.learner
        self.classes.labels = place.labels
        self.names = saved.names
        self.position = place.position
        self.buffer = RowBuffer(place.rows_ahead)
        self.pass_number = place.pass_number
        self.begun = True

    @property
    def _batch_size(self) -> int | None:
        return self.batch if isinstance(self.learner, BatchLearner) else None


def _powers_of_two(after: int, up_to: int) -> list[int]:
    """Powers of two larger than `after` and not larger than `up_to`."""
    return [1 << k for k in range(up_to.bit_length()) if after < 1 << k <= up_to]


# -- in one call ---------------------------------------------------------------------------------------------


def train(
    data: str | Path | Sequence[str | Path] | Stream,
    algorithm: str | Estimator = AUTO,
    *,
    model: str | Path | None = None,
    labels: Sequence[Label] | None = None,
    batch: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 1_000_000,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Estimator:
    """Train a learner on a stream, which need not fit into memory: what ``sureline train`` does.

    Parameters
    ----------
    data : path, glob, list of them, or sureline.stream.Stream
    algorithm : str or estimator, default="auto"
        A name such as "scw" or "ssol", or an estimator whose parameters are used; it is not changed. "auto" tries some
        settings of several learners on the first rows, at most 20,000, and trains the one with the fewest mistakes. So
        does a name, with settings of that learner, if none of its own parameters is given, nor `normalize`.
    model : path, default=None
        Where to write the model, if anywhere.
    labels : sequence, default=None
        All labels, the negative one first. Without them those of the first chunk of the stream are sorted, so that
        the larger of two is the positive one, and others follow as they come. Not for a regressor, to which a label is
        the number to be predicted.
    batch : int, default=None
        Rows of a batch for the learners that take batches (BCW, SBCW); 100,000 if it is not given. What is left over at
        the end of the stream is a smaller one.
    checkpoint : path, default=None
        Where to save, every `checkpoint_every` examples, what it takes to go on after a crash. The file is removed
        when all is done.
    resume : bool, default=False
        Go on where `checkpoint` was saved; from the beginning if there is none.
    on_progress : callable, default=None
        Is called with a Progress now and then.
    **options
        Parameters of the algorithm, if it is given by name (with "auto" those that all learners have), and options of
        `sureline.stream.read` such as `format`, `label` and `bits`. `dtype` is "float32" unless it is set ("float64"
        for ODCA and ODCARegressor): in a model of millions of features it saves half of the memory.

    Returns
    -------
    estimator
        With everything learned, ready for predict and partial_fit.
    """
    from ..estimators.saving import as_estimator

    reading = {name: options.pop(name) for name in READING if name in options}
    parameters = options
    learners: Sequence[Learner]
    if isinstance(algorithm, str) and algorithm.lower() == AUTO:
        learners = candidates(parameters)
    elif isinstance(algorithm, str):
        kind = learner_named(algorithm)
        learners = [kind(**{"dtype": kind.stream_dtype, **settings}) for settings in settings_of(kind, parameters)]
    elif parameters:
        raise TypeError(f"{', '.join(parameters)} must be set on the estimator that is passed as algorithm.")
    elif isinstance(algorithm, Learner):
        learners = [learner_of(algorithm)(**algorithm.parameters())]
    else:
        raise TypeError(f"algorithm must be a name or an estimator of sureline. Got {algorithm!r} instead.")
    learner = learners[0]
    if isinstance(data, Stream):
        if reading:
            raise TypeError(f"{', '.join(reading)} must be set where the stream is made, by sureline.stream.read.")
        stream = data if data.dtype == learner.dtype else data.with_options(dtype=learner.dtype)
    else:
        stream = read(data, dtype=learner.dtype, **{"collect_names": True, **reading})
    training = Training(learner, stream, labels=labels, batch=batch)
    path = None if checkpoint is None else Path(checkpoint)
    if resume:
        if path is None:
            raise ValueError("resume needs the path of a checkpoint.")
        if path.exists():
            training.resume(path, candidates=learners)
    if len(learners) > 1 and not training.begun:
        training.choose(learners)
    training.run(
        checkpointing=None if path is None else Checkpointing(path, examples=checkpoint_every), on_progress=on_progress
    )
    if model is not None:
        training.save_model(Path(model))
    if path is not None:
        done_with(path)
    return as_estimator(training.learner)

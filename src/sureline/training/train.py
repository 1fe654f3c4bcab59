"""Train one learner on a stream of any size, with checkpoints on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._atomic import remove_stale
from ..learners.alarms import Rises
from ..learners.asking import Asking, refuse_asking
from ..learners.batch import BatchLearner
from ..learners.class_weight import either
from ..learners.learner import ClassLearner, Learner
from ..learners.online import OnlineLearner, watch
from ..learners.race.race import Race
from ..learners.race.verdict import Verdict, outcome
from ..learners.regression import TargetLearner
from ..learners.rule import RuleLearner
from ..learners.saving import write_learner
from ..stream import Chunk, DataError, Label, Position, Stream
from ..stream.buffer import RowBuffer
from ..stream.chunk import merged_names
from ..stream.classes import Classes, targets_of
from .beginning import Beginning
from .checkpoint import Checkpointing
from .choosing import Choice, choose
from .chunks import LabelledChunk, attach, refuse_batch_size
from .doubts import doubts
from .frozen import FrozenError
from .identity import Files, Verify
from .metric import Metric
from .order import Order
from .progress import Progress, powers_of_two, since
from .racing import Racing, is_long, race_on
from .result import MetricName
from .resuming import resume, save_checkpoint
from .room import refuse_batch, refuse_too_large
from .start import Start

BATCH = 100_000  # rows, for the learners that take batches


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
        ask: Asking | None = None,
    ) -> None:
        learner = learner if start is None else start.learner
        self.asking = refuse_asking(learner, ask)
        refuse_batch_size(learner, batch)
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
        self.use_order(order or Order())
        self.frozen = FrozenError()
        self.rises = Rises()  # of the error, along the first pass
        self.classes = Classes(known, fixed=labels is not None)
        self.position = Position()
        self.pass_number = 1
        self.rows_of_a_pass: int | None = None  # known after the first one
        self.own_checkpoints: set[Path] = set()  # written, or gone on from
        self.racing: Racing | None = None  # as long as learners race
        self.verdict: Verdict | None = None  # of a race that is over
        self.begun = start is not None
        self._before = self._measures()
        self._learning = False
        self._stop_asked = False
        self.ahead = 0  # rows of the next chunk that have been learned from

    def use_order(self, order: Order) -> None:
        """Read the rows in this order."""
        self.order = order
        self.source = order.pieces(self.stream)

    # -- which learner ---------------------------------------------------------------------------------------

    def choose(self, learners: Sequence[Learner], metric: Metric | None = None) -> Choice:
        """Before it begins, choose the learner with the fewest mistakes on the first rows."""
        labels = self.labels if self.classes.fixed else None
        choice = choose(self.source, labels, learners, metric=metric, shuffle=self.order.shuffle)
        self.learner = choice.learner
        attach(self.learner, self.stream, self.labels if self.classes.fixed else None)
        return choice

    def enter(self, learners: Sequence[OnlineLearner], metric: MetricName = "error", *, committee: bool = True) -> None:
        """Before it begins, let these learners race along the stream; the model is their committee's."""
        for learner in learners:
            attach(learner, self.stream, self.labels if self.classes.fixed else None)
        of_stream = {"long": is_long(self.stream), "mixed": self.order.mixes_times}
        self.racing = Racing(Race(learners, metric=metric, committee=committee, **of_stream))
        self.lead(learners[0])

    def lead(self, learner: Learner) -> None:
        """Another learner is in front: it has the names of the stream from now on."""
        learner.origin, self.learner = self.learner.origin, learner

    # -- the loop --------------------------------------------------------------------------------------------

    def run(
        self,
        *,
        checkpointing: Checkpointing | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> None:
        """Learn from the rest of the stream.

        `on_progress` is called after the first example, the second, the fourth and so on, and after each chunk. Raises
        KeyboardInterrupt between two chunks after `interrupt`; the training can then be saved.
        """
        started = time.monotonic()
        if checkpointing is not None:
            checkpointing.done(self.rows)

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
                    if checkpointing is not None and checkpointing.due(self.rows):
                        self.save_checkpoint(checkpointing.path)
                        checkpointing.done(self.rows)
                    if self._stop_asked:
                        raise KeyboardInterrupt
                if self.buffer.n_rows > 0:
                    self._learning = True
                    self._learn_blocks(last=True)
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
        if self.examples == 0 and self.asking is None:
            raise DataError(self.stream.paths[0], "every row has the weight 0, so there is nothing to learn from")
        self.end_race()

    def _chunks(self) -> Generator[Chunk, None, None]:
        """The rest of this pass, in its order."""
        return self.order.chunks(self.source, self.position, self.pass_number)

    def _end_pass(self) -> None:
        """Check that data read again are unchanged."""
        rows = self.position.rows
        if self.passes > 1:
            self.files.refuse_changed()
        if self.rows_of_a_pass not in (None, rows):
            raise DataError(
                self.stream.paths[0],
                f"pass {self.pass_number} had {rows:,} rows, and the first {self.rows_of_a_pass:,}",
            )
        self.rows_of_a_pass = rows

    def ask_to_stop(self) -> None:
        """Stop after the chunk at hand."""
        self._stop_asked = True

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
        if self.racing is not None or isinstance(self.learner, BatchLearner):
            if not self.buffer.add(chunk):
                raise ValueError("The checkpoint is not of these data: its batches end after other rows.")
            self._learn_blocks(tell)
            return
        self.take_whole(chunk, tell)
        self.ahead = 0
        self.pass_over(chunk)

    def take_whole(self, chunk: Chunk, tell: Callable[[], None]) -> None:
        """Learn from a chunk row by row, except for rows already learned when it was incomplete."""
        if chunk.n_rows:
            batch = self._labelled(chunk)
            width = max(chunk.n_columns, self.learner.n_features_in_ if self.begun else 0)
            refuse_too_large(self.learner, self.stream, width, len(self.labels))
            if not self.begun:
                batch.begin(self.learner)
                self.begun = True
            start, before = self.ahead, self.rows - self.ahead
            if start > chunk.n_rows:
                raise ValueError("The checkpoint is not of these data: its rows end after other ones.")
            for stop in powers_of_two(self.rows, before + chunk.n_rows):
                self._fit(batch, start, stop - before)
                start = stop - before
                if start < chunk.n_rows:  # the end of the chunk is told by the caller
                    tell()
            self._fit(batch, start, chunk.n_rows)
            batch.end(self.learner)

    def _fit(self, batch: LabelledChunk, start: int, stop: int) -> None:
        if self.asking is not None and isinstance(self.learner, OnlineLearner):
            batch.fit_asking(self.learner, self.asking, start, stop)
            return
        if self.pass_number == 1:
            self.frozen.measure(self.learner, batch.chunk, batch.labels, start, stop)
            watch(self.learner, self.rises)
        batch.fit(self.learner, start, stop)
        watch(self.learner, None)

    def _labelled(self, chunk: Chunk) -> LabelledChunk:
        if isinstance(self.learner, TargetLearner):
            return LabelledChunk(chunk, targets_of(chunk, self._file(chunk), self.position.rows, self.stream.schema))
        codes = self.codes_of(chunk)
        labelled = LabelledChunk(chunk, codes, self.classes.array())
        labelled.record = self.pass_number == 1  # predictions of learned rows say nothing about others
        return labelled

    def pass_over(self, chunk: Chunk) -> None:
        """All of this chunk has been learned from."""
        self.learner.origin.names = merged_names(self.learner.origin.names, chunk)
        self.position = chunk.end

    def _learn_blocks(self, tell: Callable[[], None] = lambda: None, *, last: bool = False) -> None:
        """Learn from the rows that are pending in batches or blocks; `last` with the rest, whatever its number."""
        learner = self.learner
        if self.racing is not None:
            race_on(self, self.racing, tell, last=last)
        if self.racing is not None or not isinstance(learner, BatchLearner):
            return
        for batch in self.buffer.batches(self.batch, last=last):
            codes = self.codes_of(batch)
            refuse_batch(learner, batch, len(self.labels))
            if not self.begun:
                learner.begin(self.classes.array(), batch.n_columns)
                self.begun = True
            self.frozen.measure(learner, batch, codes, 0, batch.n_rows)
            weighing = learner.weighing(len(self.labels), self.classes.array())
            learner.take_batch(batch.X, codes, batch.weights, weighing)
            learner.classes_ = self.classes.array()
            for chunk in self.buffer.done(batch.n_rows):
                self.pass_over(chunk)

    def end_race(self) -> None:
        """Go on with the model of a race, if there is one."""
        if self.racing is not None and self.begun:
            self.verdict = outcome(self.racing.race)
            self.lead(self.verdict.learner)
            self.racing = None

    def codes_of(self, chunk: Chunk) -> npt.NDArray[np.int32]:
        """The class of each row of the chunk that comes next."""
        return self.classes.of(chunk, self._file(chunk), self.position.rows + self.buffer.ahead)

    def _file(self, chunk: Chunk) -> str:
        return self.source.paths[min(chunk.end.file, len(self.source.paths) - 1)]

    @property
    def warning(self) -> str | None:
        """The reason why the model is worse than its progressive error; None if there is none."""
        runs = None if self.asking is not None else self.order.warning(self.classes.runs)
        return either(runs, doubts(self.learner, self.labels, self.stream))

    # -- where it stands -------------------------------------------------------------------------------------

    @property
    def examples(self) -> int:
        return self.learner.n_seen_ if self.begun else 0

    @property
    def rows(self) -> int:
        """Rows that have come; with a label budget not all of them are examples."""
        return self.examples if self.asking is None else self.asking.rows

    @property
    def labels(self) -> list[Label]:
        """The classes so far; None for a regressor."""
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
        """After a continued training: examples since the start, and how they were predicted."""
        if self.start is None:
            return None
        return since(self._before, self._measures(), classes=self.mistakes is not None)

    def progress(self, seconds: float = 0.0) -> Progress:
        """Progress at a time, in seconds since the run began."""
        mistakes = self.mistakes if self.asking is None else round((self.asking.error or 0.0) * self.rows)
        told = seconds, self._share(), self.pass_number, self.losses, self.frozen.error
        return Progress(self.rows, mistakes, *told)

    def _share(self) -> float | None:
        share = self.source.progress
        return None if share is None else (self.pass_number - 1 + share) / self.passes

    # -- saving and going on ---------------------------------------------------------------------------------

    def save_model(self, path: Path, *, compact: bool = False) -> None:
        """Write the model so far; `compact` as for `sureline.save`."""
        write_learner(path, self.learner, compact=compact)

    def save_checkpoint(self, path: Path, *, beginning: Beginning | None = None) -> None:
        """Write a checkpoint; at the `beginning` of a pipe, where nothing is decided, training restarts there."""
        if not self.can_be_saved:
            raise ValueError("There is nothing to go on from: the training has not begun, or stopped inside a chunk.")
        save_checkpoint(self, path, beginning)
        self.own_checkpoints.add(path)

    def done_with(self, path: Path) -> None:
        """Remove checkpoints that this training wrote or continued, and leftovers of a killed run. Others' are kept."""
        if path in self.own_checkpoints:
            path.unlink(missing_ok=True)
        remove_stale(path)

    def resume(self, path: Path, *, candidates: Sequence[Learner] = (), decided: bool = False) -> None:
        """Go on where the checkpoint in `path` was saved.

        The learner and the stream must be those of then: another algorithm, parameter or file is refused. A learner
        that was to be chosen among the `candidates` is the one of them that the checkpoint has, and a race goes on. If
        the order of rows was `decided` by the data, it is that of the checkpoint.
        """
        resume(self, path, candidates, decided=decided)
        self.begun = True
        self.own_checkpoints.add(path)

    @property
    def batch_size(self) -> int | None:
        """Rows of a batch; None for learners without batches."""
        return self.batch if isinstance(self.learner, BatchLearner) else None

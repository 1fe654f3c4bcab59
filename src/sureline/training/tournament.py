"""Many learners over one reading of a stream."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, pairwise
from math import inf

import numpy as np
import numpy.typing as npt

from .._native import _core
from .._system import cores, threads, usable_memory
from ..learners.batch import BatchLearner
from ..learners.class_weight import either
from ..stream import Chunk, DataError, Label, Position, Stream
from ..stream.chunk import merged_names
from ..stream.classes import Classes
from .candidate import BatchCandidate, Candidate
from .choosing import FirstRows
from .chunks import LabelledChunk, Normalizers, attach
from .grid import Entry
from .metric import Counts, Metric
from .order import Order
from .race import Race, index_of, points, row_of
from .reliability import Sampler
from .room import AsFloat32, in_words, model_bytes, scale_bytes, shared_scale_bytes
from .train import BATCH

_UNKNOWN_MEMORY = 8 << 30  # assumed if the system does not tell


@dataclass(frozen=True)
class Standing:
    """The progress of a tournament."""

    examples: int
    seconds: float
    share: float | None  # of the stream that has been read, where its size is known
    alive: int  # learners that are still in it
    leader: str | None
    score: float | None  # of the leader, by the metric


class Tournament:
    """Trains many learners on the chunks of a stream.

    Each chunk is parsed once, and its labels and rows are made once. Threads take learners from a queue, slowest first,
    while the next chunks are parsed. Each learner sees all chunks in order, and ends with the bits of training alone.
    """

    def __init__(
        self,
        entries: Sequence[Entry],
        stream: Stream,
        *,
        metric: Metric | None = None,
        labels: Sequence[Label] | None = None,
        race: bool = False,
        memory: int | None = None,
        batch: int = BATCH,
        reliability: bool = True,
        workers: int | None = None,
        order: Order | None = None,
    ) -> None:
        self.stream, self.order = stream, Order() if order is None else order
        self.source = self.order.pieces(stream)
        self.metric = Metric() if metric is None else metric
        self.labels = None if labels is None else list(labels)
        self.classes = Classes(labels)
        if batch < 1:
            raise ValueError(f"batch must be a number of rows, at least 1. Got {batch!r} instead.")
        self.candidates = [
            BatchCandidate(entry, self.classes, batch, reliability=reliability)
            if isinstance(entry.learner, BatchLearner)
            else Candidate(entry, reliability=reliability)
            for entry in entries
        ]
        for candidate in self.candidates:
            attach(candidate.learner, stream, labels)
            candidate.learner.warm_up()
        # A race is decided by mistakes from block to block.
        self.race = Race(len(entries)) if race and not self.metric.of_record else None
        self.batch = batch
        self.limit = (usable_memory() or _UNKNOWN_MEMORY) // 2 if memory is None else memory
        self.workers = workers or cores()
        self.date = datetime.now(UTC).isoformat(timespec="seconds")
        self.names: _core.NameTable | None = None
        self.rows = self.nonzeros = self.columns = 0
        self.seen: Counts = np.zeros(0, np.int64)  # examples of each class
        self.at: list[int] = []  # the examples at the points of the curves
        self.seen_at: list[Counts] = []  # and of each class
        self.memory_bytes = 0
        self.chosen_by = 0  # rows, where settings were chosen
        self.seconds = 0.0
        self.complete = False
        self.problem: str | None = None
        self._float32 = AsFloat32(stream, [candidate.learner for candidate in self.candidates], self.order)
        self._normalizers = Normalizers()
        self._sampler = Sampler()
        self._learning = False
        self._stop_asked = False

    # -- the loop --------------------------------------------------------------------------------------------

    def run(
        self,
        *,
        on_begin: Callable[[str], None] | None = None,
        on_progress: Callable[[Standing], None] | None = None,
    ) -> None:
        """Read the stream. An error in the data ends the tournament, and is told in `problem`.

        `on_begin` is called before learning begins, with a sentence on the memory limit. Raises KeyboardInterrupt after
        `interrupt`; results so far remain available.
        """
        started = time.monotonic()
        try:
            self._settle()
            with (
                closing(self.order.chunks(self.source, Position(), 1)) as chunks,
                threads(self.workers) as pool,
            ):
                for chunk in chunks:
                    self._learning = True
                    self._take(chunk, pool, on_begin)
                    self._learning = False
                    self.seconds = time.monotonic() - started
                    if on_progress is not None:
                        on_progress(self.standing())
                    if self._stop_asked:
                        raise KeyboardInterrupt
                    if not self._alive():
                        self.problem = "no learner is left, so the rest of the stream was not read"
                        return
                self._learning = True
                self._spread(lambda candidate: candidate.finish(), pool)
                self._learning = False
            self._end()
        except DataError as error:
            self.problem = str(error)
        except KeyboardInterrupt:
            self.problem = f"it was stopped after {self.rows:,} rows"
            raise
        finally:
            self._float32.close()
            self.seconds = time.monotonic() - started

    def interrupt(self) -> None:
        """Stop after the chunk at hand; at once, with KeyboardInterrupt, if the stream is being waited for."""
        if self._learning:
            self._stop_asked = True
        else:
            raise KeyboardInterrupt

    def _settle(self) -> None:
        """Choose settings by the first rows, for learners without parameters."""
        open_ones = [candidate for candidate in self.candidates if candidate.others]
        if not open_ones:
            return
        first = FirstRows(self.source, self.labels, shuffle=self.order.shuffle)
        tried = [candidate.settings() for candidate in open_ones]
        learners = [*chain(*tried)]
        largest = max(model_bytes(one, first.n_columns, first.n_classes, first.n_rows, self.batch) for one in learners)
        scales = scale_bytes(first.n_columns) * len({one.dtype for one in learners})
        at_a_time = min(self.workers, max(0, self.limit - scales) // largest)
        if at_a_time == 0:  # there is no room at all, which is reported later
            return
        losses = iter(
            first.losses(
                learners,
                self.metric.loss_of,
                at_a_time=at_a_time,
            )
        )
        for candidate, settings in zip(open_ones, tried, strict=True):
            best = int(np.argmin([next(losses) for _ in settings]))
            if best > 0:
                candidate.use(candidate.others[best - 1])
        self.chosen_by = first.n_rows

    def _end(self) -> None:
        """The stream has been read to its end."""
        self.complete = bool(self.seen.any())
        if self.rows == 0:
            self.problem = f"{self.stream.paths[0]}: there are no examples"
        elif np.count_nonzero(self.seen) < 2:
            only = [label for label, n in zip(self.classes.labels, self.seen, strict=False) if n]
            alone = f"only one class came, {only[0]!r}, so there was nothing to tell apart" if only else None
            self.problem = alone or "every row has the weight 0, so there was nothing to learn from"
        elif len(self.classes.labels) > 2 and self.metric.cost != (1.0, 1.0):
            self.problem = (
                "the costs of a missed positive and of a false alarm are for two classes, and "
                f"{len(self.classes.labels)} came: every mistake has counted 1"
            )
        elif said := either(self.order.found, self.order.warning(self.classes.runs)):
            self.problem = f"{said[0].lower()}{said[1:].removesuffix('.')}"

    def _take(self, chunk: Chunk, pool: ThreadPoolExecutor, on_begin: Callable[[str], None] | None) -> None:
        """Teach a chunk to all learners, up to a row with a refused label, then raise the refusal."""
        good = self.classes.before_refusal(chunk)
        file = self.source.paths[min(chunk.end.file, len(self.source.paths) - 1)]
        if good.n_rows:
            self._learn(good, file, pool, on_begin)
        if good.n_rows < chunk.n_rows:
            self.classes.of(chunk.part(good.n_rows, chunk.n_rows), file, self.rows)

    def _learn(self, chunk: Chunk, file: str, pool: ThreadPoolExecutor, on_begin: Callable[[str], None] | None) -> None:
        codes = self.classes.of(chunk, file, self.rows)
        batch = LabelledChunk(chunk, codes, self.classes.array(), self._normalizers)
        self._make_room(chunk, on_begin)
        self._prepare(batch)
        batch.cuts = cuts = [n - self.rows for n in points(self.rows, self.rows + chunk.n_rows)]
        if any(candidate.reliability is not None for candidate in self._alive()):
            batch.samples = self._sampler.samples(chunk, cuts, self.rows, self.nonzeros)
        self._spread(lambda candidate: candidate.fit(batch), pool)
        self._count(chunk, codes, cuts)
        self.names = merged_names(self.names, chunk)
        if self.race is not None:
            self._look(self.race, len(self.at) - len(cuts))

    def _prepare(self, batch: LabelledChunk) -> None:
        """Make the rows that the learners need, before several threads ask for them."""
        float32, why = None, ""
        try:
            float32 = self._float32.values(batch.chunk)
        except ValueError as error:
            why = str(error)
        for candidate in self._alive():
            is_float32 = candidate.learner.dtype == self._float32.dtype
            try:
                if is_float32 and why:
                    raise ValueError(why)
                batch.prepare(candidate.learner, float32 if is_float32 else None)
            except ValueError as error:
                candidate.leave("failed", str(error))

    def _spread(self, task: Callable[[Candidate], None], pool: ThreadPoolExecutor) -> None:
        """Do something with each learner, over the cores."""
        list(pool.map(task, sorted(self._alive(), key=lambda candidate: -candidate.seconds)))

    def _count(self, chunk: Chunk, codes: npt.NDArray[np.int32], cuts: list[int]) -> None:
        """Count the examples of each class, at the points of the curves and in all."""
        n_classes = max(len(self.classes.labels), 2)
        counted = codes if chunk.weights is None else np.where(chunk.weights > 0, codes, n_classes)
        seen = np.zeros(n_classes, np.int64)
        seen[: len(self.seen)] = self.seen
        bounds = [0, *cuts, chunk.n_rows]
        for i, (start, stop) in enumerate(pairwise(bounds)):
            seen = seen + np.bincount(counted[start:stop], minlength=n_classes)[:n_classes]
            if i < len(cuts):
                self.at.append(int(seen.sum()))
                self.seen_at.append(seen)
        self.seen = seen
        self.rows += chunk.n_rows
        self.nonzeros += int(chunk.indptr[-1] - chunk.indptr[0])
        self.columns = max(self.columns, chunk.n_columns)

    # -- memory ----------------------------------------------------------------------------------------------

    def _make_room(self, chunk: Chunk, on_begin: Callable[[str], None] | None) -> None:
        """Announce the memory limit; remove learners above it, the largest first, and among equals the worst.

        Learners that grow with the rows (BCW) count with their size after this chunk; at the start after the whole
        stream, if its length is known.
        """
        n_columns, n_classes = max(self.columns, chunk.n_columns), len(self.classes.labels)
        n_rows = self.rows + chunk.n_rows
        if self.rows == 0 and (share := self.source.progress):
            n_rows = max(n_rows, round(n_rows / share))
        sizes = {
            candidate: model_bytes(candidate.learner, n_columns, n_classes, n_rows, self.batch)
            for candidate in self._alive()
        }
        total, shared = _together(sizes, n_columns)
        if self.rows == 0:
            self.memory_bytes = total
            models = f"{len(sizes)} model{'s' if len(sizes) != 1 else ''} of {n_columns:,} columns"
            if total > self.limit:
                largest = max(sizes, key=lambda candidate: sizes[candidate])
                most = f" ({largest.name} alone {in_words(sizes[largest])})" if sizes[largest] > total / 2 else ""
                raise ValueError(
                    f"{models} may take {in_words(total)}{most if len(sizes) > 1 else ''}, and the limit is "
                    f"{in_words(self.limit)}: let fewer take part, or raise the limit (memory)."
                )
            if on_begin is not None:
                on_begin(f"{models}: up to {in_words(total)}")
        while total > self.limit and sizes:
            last_first = reversed(sizes)
            goes = max(last_first, key=lambda candidate: (sizes[candidate], self._loss_so_far(candidate)))
            with_scales = f", {in_words(shared)} of it to put rows on a common scale" if shared else ""
            goes.leave(
                "failed",
                f"after {self.rows:,} rows the models would have taken {in_words(total)} for {n_columns:,} columns"
                f"{with_scales}, more than the limit of {in_words(self.limit)}; this one would have taken "
                f"{in_words(sizes.pop(goes))}",
            )
            total, shared = _together(sizes, n_columns)
            self._normalizers.keep_those_of(candidate.learner for candidate in sizes)

    def _loss_so_far(self, candidate: Candidate) -> float:
        return self._loss(candidate) if candidate.begun else inf

    # -- where it stands -------------------------------------------------------------------------------------

    def _alive(self) -> list[Candidate]:
        return [candidate for candidate in self.candidates if candidate.alive]

    def _total(self) -> float | None:
        """About how many rows the stream has."""
        share = self.source.progress
        return self.rows / share if share else None

    def standing(self) -> Standing:
        """Progress of the tournament, with the leader so far."""
        leader = self.best()
        score = None if leader is None else self.metric.value(self._loss(leader))
        name = None if leader is None else leader.name
        return Standing(int(self.seen.sum()), self.seconds, self.source.progress, len(self._alive()), name, score)

    def best(self) -> Candidate | None:
        """The run with the least loss among complete ones; None if there is nothing to compare."""
        finished = [candidate for candidate in self.candidates if self.has_seen_all(candidate)]
        if not finished or np.count_nonzero(self.seen) < 2:
            return None
        return min(finished, key=self._loss)

    def has_seen_all(self, candidate: Candidate) -> bool:
        """True for a run that is not dropped and has learned all rows read."""
        waits = isinstance(candidate, BatchCandidate) and candidate.done < self.rows
        return candidate.alive and candidate.begun and not waits

    def _loss(self, candidate: Candidate) -> float:
        if self.metric.of_record:
            return self.metric.loss_of(candidate.learner.model)
        return self.metric.loss(self.seen, candidate.mistakes_by_class())

    def losses(
        self, candidates: Sequence[Candidate], first: int, last: int
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Sums of losses and of their squares at the points from first to last, weighed as at the last one.

        Both are of shape (points, candidates).
        """
        weights = self.metric.weights(self.seen_at[last])
        sums = np.zeros((last - first + 1, len(candidates)))
        squares = np.zeros_like(sums)
        for j, candidate in enumerate(candidates):
            for i, mistakes in enumerate(candidate.mistakes[first : last + 1]):
                known = mistakes[: len(weights)]
                sums[i, j] = weights[: len(known)] @ known
                squares[i, j] = weights[: len(known)] ** 2 @ known
        return sums, squares

    def _look(self, race: Race, first_new: int) -> None:
        """Drop those that are clearly behind, by the points of the chunk at hand."""
        total = self._total()
        for i in range(first_new, len(self.at)):
            n = row_of(i)
            last = index_of(n)
            alive = [candidate for candidate in self._alive() if len(candidate.mistakes) > last]
            if len(alive) < 2 or not race.due(n, total):
                continue
            losses, squares = self.losses(alive, last - 16, last)
            out = race.behind(n, total, losses, squares, np.ones(len(alive), bool))
            leader = int(np.argmin(losses[-1]))
            seen = max(self.at[last], 1)
            ahead = self.metric.value(losses[-1, leader] / seen)
            for candidate, goes, loss in zip(alive, out, losses[-1], strict=True):
                if goes:
                    del candidate.mistakes[last + 1 :]
                    candidate.leave(
                        "dropped",
                        f"clearly behind after {self.at[last]:,} examples: {self.metric.name.replace('_', ' ')} "
                        f"{self.metric.value(loss / seen):.4f} against {ahead:.4f} of {alive[leader].name}",
                    )


def _together(sizes: Mapping[Candidate, int], n_columns: int) -> tuple[int, int]:
    """Total bytes of models of these sizes, and the bytes of scales that they share."""
    shared = shared_scale_bytes((candidate.learner for candidate in sizes), n_columns)
    return sum(sizes.values()) + shared, shared

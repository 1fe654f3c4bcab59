"""Compares the confidences of a run with outcomes, on a sample of examples before they are learned."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from .._inputs import Floats
from ..learners.answers import answerable
from ..learners.learner import ClassLearner
from ..metrics import Calibration
from ..stream import Chunk
from .result import ReliabilityBin

EVERY = 1 << 21  # nonzeros that are learned from between two samples: asking takes some time, however few the rows are
SHARE = 64  # one of so many rows is predicted
FIRST = 256  # examples before the first sample; then powers of two, until enough nonzeros lie in between
LEAST = 64  # rows of a sample


def sample(chunk: Chunk, start: int, stop: int, size: int) -> Chunk:
    """A sample of rows between start and stop, evenly spread: `size` of them, or all."""
    rows = np.unique(np.linspace(start, stop - 1, max(min(size, stop - start), 1)).astype(np.int64))
    lengths = np.diff(chunk.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(chunk.indptr.dtype)
    within = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)
    at = np.repeat(chunk.indptr[rows], lengths) + within
    return Chunk(
        values=chunk.values[at],
        indices=chunk.indices[at],
        indptr=indptr,
        labels=(rows.astype(np.int32), []),  # where they were
        n_columns=chunk.n_columns,
    )


class Sampler:
    """Chooses the rows that learners predict before they learn from them.

    At powers of two, and then when enough has been learned since the last time for the question to cost little.
    """

    def __init__(self) -> None:
        self._asked = 0  # nonzeros at the last sample

    def samples(self, chunk: Chunk, cuts: Sequence[int], rows: int, nonzeros: int) -> dict[int, Chunk]:
        """Samples of a chunk, which comes after that many rows and nonzeros of the stream.

        The keys are the starts of the parts between cuts; each sample is predicted before its part is learned.
        """
        found: dict[int, Chunk] = {}
        for start, stop in pairwise([0, *cuts, chunk.n_rows]):
            row = rows + start
            read = nonzeros + int(chunk.indptr[start])
            power = row >= FIRST and row & (row - 1) == 0
            if start < stop and (power or read - self._asked >= EVERY):
                since = max(read - self._asked, 0) * chunk.n_rows // max(int(chunk.indptr[-1]), 1)
                found[start] = sample(chunk, start, stop, max(since // SHARE, LEAST))
                self._asked = read
        return found


class Reliability:
    """Confidence against accuracy, in ten bins."""

    def __init__(self) -> None:
        self._calibration = Calibration()

    def ask(self, learner: ClassLearner, rows: Chunk, truth: npt.NDArray[np.int32]) -> None:
        """Let a learner predict rows that it has not yet learned from."""
        start = 0
        for part in answerable(learner, rows):
            judged = learner.judge_rows(part.values, part.indices, part.indptr, part.n_columns)
            self.add(learner, *judged, truth[start : start + len(part)])
            start += len(part)

    def add(
        self, learner: ClassLearner, scores: Floats, variances: Floats | None, truth: npt.NDArray[np.int32]
    ) -> None:
        """Add the predictions of a learner."""
        self._calibration.add_confidence(learner.confidences(scores, variances), learner.chosen(scores) == truth)

    def table(self) -> list[ReliabilityBin]:
        """The bins that are not empty."""
        return [
            ReliabilityBin(confidence=row["confidence"], accuracy=row["right"], count=int(row["examples"]))
            for row in self._calibration.table()
        ]

"""How the confidences of a run compare with what happened, on a sample of the examples before they are learned from."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..learners.learner import ClassLearner, Floats
from ..metrics import Calibration
from ..stream import Chunk
from .result import ReliabilityBin

EVERY = 1 << 21  # nonzeros that are learned from between two samples: asking takes some time, however few the rows are
SHARE = 64  # one row of so many is asked for
FIRST = 256  # examples before the first sample; then at powers of two, until there are so many nonzeros in between
LEAST = 64  # rows of a sample


def sample(chunk: Chunk, start: int, stop: int, size: int) -> Chunk:
    """Some rows between start and stop, evenly spread: `size` of them, if there are so many."""
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


class Reliability:
    """Confidence against accuracy, in ten bins from 1/2 to 1 (what the confidence is: in the label rather than in its
    best rival, so that it is never less than 1/2)."""

    def __init__(self) -> None:
        self._calibration = Calibration(low=0.5)

    def ask(self, learner: ClassLearner, rows: Chunk, truth: npt.NDArray[np.int32]) -> None:
        """Let a learner predict rows that it has not yet learned from."""
        self.add(learner, *learner.judge_rows(rows.values, rows.indices, rows.indptr, rows.n_columns), truth)

    def add(
        self, learner: ClassLearner, scores: Floats, variances: Floats | None, truth: npt.NDArray[np.int32]
    ) -> None:
        """What a learner has predicted."""
        self._calibration.add_confidence(learner.confidences(scores, variances), learner.chosen(scores) == truth)

    def table(self) -> list[ReliabilityBin]:
        """The bins that are not empty."""
        return [
            ReliabilityBin(confidence=row["confidence"], accuracy=row["right"], count=int(row["examples"]))
            for row in self._calibration.table()
        ]

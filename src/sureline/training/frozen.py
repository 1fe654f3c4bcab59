"""The error of the frozen model on the next block: its worth without further labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..learners.learner import ClassLearner, Learner
from ..stream import Chunk
from ..stream.shuffling import permuted

_LEAST, _SHARE = 64, 128  # rows predicted per block: all of a small one, one of 128 of a large one


@dataclass
class FrozenError:
    """Mistakes of the model at the end of a block, on a sample of the next block.

    A progressive error belongs to a model that has just learned the row before. If labels come in runs, it flatters
    learners that follow them. Blocks are the rows from one power of two to the next, and chunks of the stream after
    that.
    """

    rows: int = 0  # of all blocks
    wrong: float = 0.0  # of them, by the share of the sample that was

    def measure(self, learner: Learner, chunk: Chunk, labels: Any, start: int, stop: int) -> None:
        """Predict a sample of the rows from `start` to `stop`, before they are learned."""
        n = stop - start
        if n < 1 or not isinstance(learner, ClassLearner) or not learner.n_seen_:
            return
        m = min(n, max(_LEAST, n // _SHARE))
        rows = start + np.arange(m, dtype=np.int64) * n // m
        some = permuted(chunk, rows)
        scores, _ = learner.judge_rows(some.values, some.indices, some.indptr, some.n_columns)
        self.rows += n
        self.wrong += n * float(np.mean(learner.chosen(scores) != labels[rows]))

    @property
    def error(self) -> float | None:
        """The error; None before the second block."""
        return self.wrong / self.rows if self.rows else None

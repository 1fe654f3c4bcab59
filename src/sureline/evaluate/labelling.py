"""Which rows to label next: the least sure ones, without near duplicates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Floats
from ..learners.answers import answer, answerable
from ..learners.asking import certainty
from ..learners.learner import ClassLearner
from ..stream import Chunk
from ..stream.chunk import joined, keep_rows
from ..stream.shuffling import permuted

_TIMES = 10  # candidates held per wanted row


@dataclass(frozen=True)
class RowToLabel:
    """A row worth labelling: its number from 1, its tag, the model's answer and certainty.

    Bytes of a tag that are no UTF-8 are halves of surrogate pairs, as ``surrogateescape`` has them.
    """

    row: int
    tag: str | None
    label: Any
    confidence: float
    certainty: float  # the margin, in standard deviations where the learner knows them


class ToLabel:
    """The rows of a stream that are worth a label, in the memory of some times as many as are wanted.

    The first choice is the least sure row. Each further choice maximises its angle to the rows chosen before, times its
    distance from the sure end of the candidates. So copies of a row are asked for once.
    """

    def __init__(self, learner: ClassLearner, best: int) -> None:
        self._learner, self._best = learner, best
        self._held: list[Chunk] = []
        self._numbers = np.empty(0, np.int64)
        self._sure = np.empty(0)
        self._known: set[int] = set()  # rows that were held
        self.rows = 0

    def add(self, chunk: Chunk) -> None:
        """The next rows of the stream."""
        for part in answerable(self._learner, chunk):
            self._add(part)

    def _add(self, chunk: Chunk) -> None:
        answers = answer(self._learner, chunk)
        sure = certainty(answers.scores, answers.variances)
        numbers = self.rows + 1 + np.arange(len(chunk))
        self.rows += len(chunk)
        most = self._most()
        if most is not None:  # rows that cannot be among the least sure are not held
            keep = sure < most
            chunk, sure, numbers = keep_rows(chunk, keep), sure[keep], numbers[keep]
        order = np.argsort(sure, kind="stable")[: _TIMES * self._best * 10]  # bounds the search for copies
        order = np.sort(order[[self._is_new(chunk, int(k)) for k in order]]) if len(order) else order
        if not len(order):
            return
        chunk, sure, numbers = permuted(chunk, order), sure[order], numbers[order]
        self._held.append(chunk)
        self._sure, self._numbers = np.concatenate([self._sure, sure]), np.concatenate([self._numbers, numbers])
        if len(self._sure) > 2 * _TIMES * self._best:
            self._shrink()

    def _is_new(self, chunk: Chunk, row: int) -> bool:
        """True if no copy of the row was held before."""
        start, stop = chunk.indptr[row], chunk.indptr[row + 1]
        key = hash((chunk.indices[start:stop].tobytes(), chunk.values[start:stop].tobytes()))
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def _most(self) -> float | None:
        size = _TIMES * self._best
        return float(np.partition(self._sure, size - 1)[size - 1]) if len(self._sure) >= size else None

    def _shrink(self) -> None:
        order = np.argsort(self._sure, kind="stable")[: _TIMES * self._best]
        order.sort()
        self._held = [permuted(joined(self._held), order)]
        self._sure, self._numbers = self._sure[order], self._numbers[order]

    def best(self) -> list[RowToLabel]:
        """The rows to label, the most wanted first."""
        if not self._held:
            return []
        self._shrink()
        chunk = self._held[0]
        order = np.argsort(self._sure, kind="stable")
        chosen = order[farthest(self._directions(permuted(chunk, order)), min(self._best, len(order)))]
        labels, found = self._learner.labels, []
        for part in answerable(self._learner, permuted(chunk, chosen)):
            answers = answer(self._learner, part)
            found += list(zip(answers.chosen.tolist(), answers.confidence.tolist(), strict=True))
        return [
            RowToLabel(
                int(self._numbers[k]),
                None if chunk.tags is None else chunk.tags[k].decode(errors="surrogateescape"),
                labels[label],
                confidence,
                float(self._sure[k]),
            )
            for k, (label, confidence) in zip(chosen, found, strict=True)
        ]

    def _directions(self, chunk: Chunk) -> Any:
        """The rows as the model sees them, of length 1."""
        from scipy import sparse

        values = self._learner.normalizer.apply_values(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
        X = sparse.csr_matrix((values.astype(np.float64), chunk.indices, chunk.indptr), (len(chunk), chunk.n_columns))
        lengths = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
        return sparse.diags(1 / np.where(lengths > 0, lengths, 1)) @ X


def farthest(X: Any, n: int) -> npt.NDArray[np.intp]:
    """n rows of X that are far from each other and early; rows have length 1 and come in the order of their worth."""
    size = X.shape[0]
    worth: Floats = 1 - np.arange(size) / size
    nearest = np.full(size, -1.0)  # cosine with the nearest that was chosen
    chosen = [0]
    while len(chosen) < n:
        nearest = np.maximum(nearest, np.asarray((X @ X[chosen[-1]].T).todense()).ravel())
        gain = np.maximum(1 - nearest, 0) * worth
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
    return np.array(chosen[:n], np.intp)

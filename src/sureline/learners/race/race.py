"""A race along a stream: all candidates start together, poor ones leave, and the others become one linear model.

Rows come in blocks, cut by their number alone. All members predict rows of a block before any learns from it, which
measures them on unseen rows. Only the last half of these predictions counts.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._inputs import Array, Floats
from ..._native import _core
from ..._system import default_memory, threads
from ...models.scaling import Normalizer
from ...stream import Chunk
from ...stream.shuffling import permuted
from ..online import OnlineLearner
from .candidates import NARROW
from .fold import goes_on, same_rows
from .predictions import Block, Sample
from .stack import FIRST, Judged, chance, losses_of, scales_of

BLOCK = 8192  # rows of a block at most
ENTRIES = 1 << 22  # not zero, in a block
JUDGED = 1 << 14  # predictions of a member that judge it, at most
PAGE = 4096  # bytes
FEWEST = 50  # and at least, else nothing can be decided
Z = 4.0  # standard errors that a member must be behind
# The number of members allowed after a number of rows, with a committee (None: no look) and without.
LEFT: tuple[tuple[int, int | None, int], ...] = (
    (1 << 13, None, 8),
    (1 << 14, 16, 5),
    (1 << 15, 12, 2),
    (1 << 16, 8, 1),
    (1 << 17, 4, 1),
)

RULE = (
    "After 16,384, 32,768, 65,536, ... rows a member leaves if its mean loss exceeds the least by more than 4 standard "
    "errors of the difference, on the judged predictions and on each half of them, but for the three best of a "
    "committee; or if a better one predicts just the same. A standard error is that of rows, or of blocks if they "
    "differ by more. Of the others at most 16, 12 and 8 stay after 16,384, 32,768 and 65,536 rows, and 4 from 131,072 "
    "rows on: those with the least loss. Where one learner is to be chosen, 8, 5, 2 and 1 stay after 8,192, 16,384, "
    "32,768 and 65,536 rows. The best of the learners that a committee can go on with always stays. Along a pipe or a "
    "file of more than 256 MB, members with a full covariance learn from the first 131,072 rows, and vote after that; "
    "where one learner is to be chosen they leave after 8,192. "
    "At the end the members vote, with weights that are not negative, and minimise the log loss. The mean of the three "
    "best, or one of them alone, takes their place if its loss is less by more than a standard error. With two "
    "classes, and where mistakes are judged, so does the committee or one member with the intercept that errs least. "
    "Rows whose labels come in runs are learned from in random order, and it is not known what comes after them: "
    "nothing takes the place of the committee there, unless they were sorted by label."
)


@dataclass
class Member:
    """A learner in the race."""

    number: int  # among the candidates
    learner: OnlineLearner
    loss: float = 0.0  # at the last look
    looked: bool = False
    left: int | None = None  # the number of rows after which it left
    why: str = ""

    @property
    def alive(self) -> bool:
        return self.left is None


class Race:
    """Candidates on their way through a stream."""

    def __init__(
        self,
        learners: Sequence[OnlineLearner],
        *,
        metric: str = "error",
        committee: bool = True,
        limit: int | None = None,
        long: bool = False,
        mixed: bool = False,
    ) -> None:
        self.members = [Member(k, learner) for k, learner in enumerate(learners)]
        self.metric, self.committee, self.long = metric, committee, long
        self.mixed = mixed  # early and late rows of a stream whose order has no meaning
        self.limit = default_memory() if limit is None else limit
        self.rows = self.nonzeros = 0
        self.memory_bytes = 0  # that the models may take, at the width of the first rows
        self.blocks: list[Block] = []
        self.normalizers: dict[str, Normalizer] = {}  # by kind; members share them

    @classmethod
    def of_trained(cls, learners: Sequence[OnlineLearner], rows: int, *, metric: str) -> Race:
        """A race of learners that have all learned from this many rows, and are to be judged by others: see `judge`."""
        race = cls(learners, metric=metric)
        race.rows = rows
        for learner in learners:
            race.normalizers.setdefault(learner.normalize, learner.normalizer)
        race._share()
        return race

    def judge(self, block: Chunk, labels: npt.NDArray[np.int32], classes: Array) -> None:
        """Let all members predict all rows of a block, and then learn from it."""
        weights = np.ones(block.n_rows) if block.weights is None else block.weights
        self._take(block, labels, classes, Sample(block, labels, weights), again=False)
        self.rows += block.n_rows

    def copy(self) -> Race:
        """An independent copy."""
        twin = copy.copy(self)
        twin.members = [
            replace(member, learner=copy.deepcopy(member.learner) if member.alive else member.learner)
            for member in self.members
        ]
        twin.blocks = [*self.blocks]
        twin.normalizers = {kind: normalizer.copy() for kind, normalizer in self.normalizers.items()}
        twin._share()
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._share()

    def _share(self) -> None:
        """Give one normalizer to members that divide rows in the same way."""
        for member in self.alive:
            if member.learner.has_begun:
                member.learner.normalizer = self.normalizers[member.learner.normalize]

    # -- where it stands -------------------------------------------------------------------------------------

    @property
    def alive(self) -> list[Member]:
        return [member for member in self.members if member.alive]

    @property
    def leader(self) -> Member:
        """The member with the least loss so far; the first one before any loss is known. It has seen all rows."""
        alive = self.alive
        return min([member for member in alive if not self._rests(member)] or alive, key=lambda member: member.loss)

    def _rests(self, member: Member) -> bool:
        """True for a member that only votes: a full covariance costs too much along a long stream."""
        enough = LEFT[-1][0] if self.committee else LEFT[0][0]
        return self.long and self.rows >= enough and member.learner.shape.has_factors

    @property
    def block_size(self) -> int:
        """Rows of the next block: 16 at first, then an eighth of the octave, as many as are not too many."""
        if self.rows < 64:
            return max(16, self.rows)
        size = max(1 << (self.rows.bit_length() - 4), 8)
        return max(8, min(size, BLOCK, ENTRIES * self.rows // max(self.nonzeros, 1)))

    @property
    def over(self) -> bool:
        """True if one learner was to be chosen, and has been."""
        return not self.committee and len(self.alive) == 1

    # -- learning --------------------------------------------------------------------------------------------

    def learn(self, block: Chunk, labels: npt.NDArray[np.int32], classes: Array, *, again: bool = False) -> None:
        """Let all predict a block, and then learn from it; `again` if they have learned from its rows before.

        Raises ValueError if a row is refused by all of them.
        """
        n_classes = len(classes)
        first = self.rows == 0
        self._make_room(block, n_classes)
        if first:
            for member in self.alive:
                member.learner.begin(classes, block.n_columns)
                member.learner.normalizer = self.normalizer_of(member.learner)
        sample = None if first or again else self._sample(block, labels, n_classes)
        self._take(block, labels, classes, sample, again=again)
        for member in self.alive:
            member.learner.classes_ = classes
        if again:
            return
        before, self.rows = self.rows, self.rows + block.n_rows
        self.nonzeros += int(block.indptr[-1] - block.indptr[0])
        self.blocks = [one for one in self.blocks if one.start >= self.rows // 2]
        for rows, many, _ in LEFT:
            if before < rows <= self.rows and (many is not None or not self.committee):
                self._look()
        if before >= LEFT[-1][0] and before.bit_length() < self.rows.bit_length():
            self._look()

    def normalizer_of(self, learner: OnlineLearner) -> Normalizer:
        """The normalizer of a learner's rows, shared by all members that divide them in the same way."""
        return self.normalizers.setdefault(learner.normalize, learner.fresh_normalizer())

    def _sample(self, block: Chunk, labels: npt.NDArray[np.int32], n_classes: int) -> Sample | None:
        """Predictions on a sample of a block; None if the models do not know all classes yet."""
        n_heads = self.alive[0].learner.model.n_heads
        if n_heads != (n_classes if n_classes > 2 else 1):
            self.blocks.clear()  # scores for other heads
            return None
        most = min(JUDGED, max(1024, (1 << 18) // n_heads))
        stride = max(1, 1 << max(self.rows // most, 1).bit_length() - 1)
        at = np.arange(-self.rows % stride, block.n_rows, stride, dtype=np.int64)
        if len(at) == 0:
            return None
        rows = block if stride == 1 else permuted(block, at)
        weights = np.ones(len(at)) if rows.weights is None else rows.weights.astype(np.float64)
        return Sample(rows, labels[at].astype(np.int32), weights)

    def _take(
        self, block: Chunk, labels: npt.NDArray[np.int32], classes: Array, sample: Sample | None, *, again: bool
    ) -> None:
        alive = self.alive
        width = alive[0].learner.model.n_columns
        asked: dict[str, tuple[_core.Rows, Floats | None]] = {}
        divided: dict[str, Chunk] = {}
        refused: dict[str, ValueError] = {}
        for kind, normalizer in self.normalizers.items():  # before several threads ask for them
            if not any(member.learner.normalize == kind for member in alive):
                continue
            try:
                if sample is not None:
                    asked[kind] = sample.rows_for(normalizer, width)
                values = normalizer.learn_values(
                    block.values, block.indices, block.indptr, block.n_columns, block.weights
                )
                divided[kind] = block if kind == "none" else replace(block, values=values)
                divided[kind].rows()
            except ValueError as error:
                refused[kind] = error
        answers: dict[int, tuple[Floats, Floats | None]] = {}

        def task(member: Member) -> ValueError | None:
            learner = member.learner
            if learner.normalize in refused:
                return refused[learner.normalize]
            try:
                if sample is not None:
                    rows, beyond = asked[learner.normalize]
                    answers[member.number] = learner.judge_made(rows, beyond, variances=goes_on(learner))
                if not self._rests(member):
                    rows_of = divided[learner.normalize].rows
                    about = block.n_columns, labels, block.weights, None, len(classes)
                    learner.take(rows_of, *about, classes=classes, record=not again)
            except ValueError as error:
                return error
            return None

        if int(block.indptr[-1] - block.indptr[0]) > 1 << 14:
            with threads() as pool:
                failures = list(pool.map(task, alive))
        else:
            failures = [task(member) for member in alive]
        if all(failures):
            raise next(failure for failure in failures if failure is not None)
        left = [k for k, failure in enumerate(failures) if failure is None]
        for member, failure in zip(alive, failures, strict=True):
            if failure is not None:
                self._leave(member, str(failure))
        if len(left) < len(alive):
            self.blocks = [one.of(left) for one in self.blocks]
        if sample is not None:
            self._keep(sample, [answers[alive[k].number] for k in left])

    def _keep(self, sample: Sample, answers: list[tuple[Floats, Floats | None]]) -> None:
        scores = np.stack([scores for scores, _ in answers], axis=1)
        variances = np.stack([np.zeros_like(f) if v is None else v for f, v in answers], axis=1)
        with np.errstate(over="ignore"):
            block = Block(
                self.rows, sample.labels, sample.weights, scores.astype(np.float32), variances.astype(np.float32)
            )
        self.blocks.append(block)

    # -- who stays -------------------------------------------------------------------------------------------

    def _leave(self, member: Member, why: str) -> None:
        member.left, member.why = self.rows, why
        member.learner.forget()

    def _drop(self, numbers: dict[int, str]) -> None:
        """Remove members, each with its reason; remaining ones keep their predictions."""
        alive = self.alive
        self.blocks = [
            one.of([k for k, member in enumerate(alive) if member.number not in numbers]) for one in self.blocks
        ]
        for member in alive:
            if member.number in numbers:
                self._leave(member, numbers[member.number])
        kinds = {member.learner.normalize for member in self.alive}
        self.normalizers = {kind: normalizer for kind, normalizer in self.normalizers.items() if kind in kinds}

    def _make_room(self, block: Chunk, n_classes: int) -> None:
        """Remove members that exceed the memory, or that suit narrow tables only: the last ones, or the worst.

        A model has a page of memory for each nonzero of the rows at most: the others were never touched.
        """
        width = block.n_columns if self.rows == 0 else max(block.n_columns, self.alive[0].learner.model.n_columns)
        pages = PAGE * (self.nonzeros + int(block.indptr[-1] - block.indptr[0]) + block.n_rows)
        gone = {
            member.number: f"its covariance is for at most {NARROW} columns"
            for member in self.alive
            if width > NARROW and member.learner.shape.has_factors and len(self.alive) > 1
        }
        staying = [member for member in self.alive if member.number not in gone]
        most = {member.number: member.learner.most_bytes(width, n_classes) for member in staying}
        sizes = {number: min(size, pages) for number, size in most.items()}
        shared = min(16 * width, pages) if any(member.learner.normalize == "scale" for member in staying) else 0
        staying.sort(key=lambda member: (member.loss, member.number))
        while len(staying) > 1 and sum(sizes.values()) + shared > self.limit:
            goes = staying.pop(-1 if any(goes_on(member.learner) for member in staying[:-1]) else 0)
            del sizes[goes.number]
            gone[goes.number] = f"there is no room for it among {width:,} columns"
        if self.rows == 0:
            self.memory_bytes = sum(most[number] for number in sizes) + 16 * width * (shared > 0)
        if gone:
            self._drop(gone)

    def _late(self) -> list[Block]:
        return [one for one in self.blocks if one.start >= self.rows // 2]

    @property
    def bounds(self) -> list[int]:
        """Bounds of the blocks among the judged predictions."""
        return [0, *np.cumsum([len(one.labels) for one in self._late()]).tolist()]

    def judged(self) -> Judged | None:
        """The judged predictions; None if there are too few, or all of one class."""
        blocks = self._late()
        if not blocks:
            return None
        scores = np.concatenate([one.scores for one in blocks]).astype(np.float64)
        labels = np.concatenate([one.labels for one in blocks])
        weights = np.concatenate([one.weights for one in blocks])
        some = weights > 0
        if some.sum() < FEWEST or len(np.unique(labels[some])) < 2:
            return None
        return Judged(np.clip(scores, -1e30, 1e30), labels, weights)

    def _look(self) -> None:
        """Remove members that are behind. If one is to be chosen, members that cannot learn to the end leave first."""
        resting = [member.number for member in self.alive if self._rests(member)]
        if not self.committee and 0 < len(resting) < len(self.alive):
            self._drop(dict.fromkeys(resting, "a full covariance costs too much along a long stream"))
        judged, alive = self.judged(), self.alive
        if judged is None or len(alive) < 2:
            return
        losses = losses_of(judged, scales_of(judged), self.metric)
        total = float(judged.weights.sum())
        means = judged.weights @ losses / total
        best = int(np.argmin(means))
        behind = self._behind(judged.weights, losses)
        for member, mean in zip(alive, means.tolist(), strict=True):
            member.loss, member.looked = mean, True
        order = sorted(range(len(alive)), key=lambda k: (means[k], alive[k].number))
        limits = (many if self.committee else one for rows, many, one in LEFT if self.rows >= rows)
        most = min(limit for limit in limits if limit is not None)
        base = next((k for k in order if goes_on(alive[k].learner) and self._fits(alive, order, k)), None)
        gone = {}
        for place, k in enumerate(order):
            is_behind = behind[k] and (place >= FIRST or not self.committee)
            twin = next((j for j in order[:place] if (losses[:, j] == losses[:, k]).all()), None)
            if (is_behind or twin is not None or place >= most) and not (self.committee and k == base):
                why = "clearly behind" if is_behind else f"at most {most} go on"
                gone[alive[k].number] = f"{why}: loss {means[k]:.4g} against {means[best]:.4g}"
                if twin is not None:
                    gone[alive[k].number] = f"the same predictions as number {alive[twin].number + 1}"
        if gone:
            self._drop(gone)

    def _behind(self, weights: Floats, losses: Floats) -> npt.NDArray[np.bool_]:
        """True for columns clearly behind the best one, on all rows and on each half of them.

        After a change of the stream who was best before is behind for a while.
        """
        bounds = self.bounds
        middle = len(bounds) // 2
        found = np.ones(losses.shape[1], np.bool_)
        for first, last in ((0, len(bounds) - 1), (0, middle), (middle, len(bounds) - 1)):
            part, rows = slice(bounds[first], bounds[last]), bounds[first : last + 1]
            w, some = weights[part], losses[part]
            total = float(w.sum())
            if total <= 0:
                continue
            means = w @ some / total
            gaps = some - some[:, [int(np.argmin(means))]]
            lag = means - means.min()
            found &= lag > Z * np.maximum(chance(w, gaps - lag, rows), 1e-12)
        return found

    @staticmethod
    def _fits(alive: list[Member], order: list[int], k: int) -> bool:
        return same_rows(alive[k].learner, alive[order[0]].learner)

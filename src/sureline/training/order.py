"""The order in which a training reads its rows: the given one, or a random one if labels come in runs."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Literal

from ..learners.learner import ClassLearner, Learner
from ..stream import Chunk, Position, Stream
from ..stream.runs import LabelRuns
from ..stream.shuffling import BUFFER, Shuffle, can_be_cut, runs_of, sampled_runs
from ..stream.source import STDIN

Asked = bool | Literal["auto"]


@dataclass(frozen=True)
class Order:
    """An order, and how it was decided on."""

    shuffle: Shuffle | None = None
    whole: bool = True  # pieces of all files come in random order; otherwise only a buffer mixes rows
    runs: LabelRuns | None = None  # of the rows that were looked at before

    @property
    def notice(self) -> str | None:
        """The order in a sentence; None for the given order."""
        if self.shuffle is None:
            return None
        how = f"in random order (seed {self.shuffle.seed})"
        if not self.whole:
            how = f"in random order within a buffer of {self.shuffle.buffer:,} (seed {self.shuffle.seed})"
        why = "The rows" if self.runs is None else f"{self.runs.in_words()}; the rows"
        keep = "" if self.runs is None else "; --no-shuffle keeps their own order"
        limit = ". A buffer cannot mix runs longer than itself; a file that is not compressed has no such limit"
        alone = "" if self.whole else limit
        return f"{why} are learned from {how}{keep}{alone}."

    @property
    def found(self) -> str | None:
        """The notice if the order is random because labels come in runs; otherwise None."""
        return None if self.runs is None else self.notice

    @property
    def mixes_times(self) -> bool:
        """True if rows are in random order because labels come in runs, and are not sorted by label."""
        return self.shuffle is not None and self.runs is not None and not self.runs.by_label

    def warning(self, runs: LabelRuns) -> str | None:
        """A warning about label runs along a training; None if there were none."""
        if not runs.found:
            return None
        remedy = "--shuffle learns from the rows in random order"
        if not self.whole:
            remedy = "a file that is not compressed can be learned from in random order"
        return (
            f"{runs.in_words()}. The progressive error flatters a model that follows the labels, and a pass ends with "
            f"the last ones alone: {remedy}."
        )

    def pieces(self, stream: Stream) -> Stream:
        """The stream as `chunks` takes it: its pieces in this order."""
        return stream if self.shuffle is None else self.shuffle.pieces(stream)

    def chunks(self, pieces: Stream, position: Position, number: int) -> Generator[Chunk, None, None]:
        """The rows from a position on, in pass `number`."""
        if self.shuffle is None:
            return pieces.read_from(position)
        return self.shuffle.chunks(pieces, position, number)

    def to_dict(self) -> dict[str, Any]:
        """The order as a dict for JSON."""
        shuffled = None if self.shuffle is None else "files" if self.whole else "buffer"
        return {"shuffled": shuffled, "runs": None if self.runs is None else self.runs.to_dict()}


def decide(stream: Stream, learner: Learner, asked: Asked, *, buffer: int = BUFFER, seed: int = 0) -> Order:
    """The order of a training: the one asked for, or by the labels of rows sampled from the files.

    For data that can be read only once, or only from the beginning, the first rows decide: as many as the buffer holds,
    or the first ones available in a pipe.
    """
    if not isinstance(asked, bool) and asked != "auto":
        raise ValueError(f"The 'shuffle' parameter must be True, False or 'auto'. Got {asked!r} instead.")
    if asked is False:
        return Order()
    if asked is True:
        return Order(Shuffle(seed, buffer), can_be_cut(stream))
    if not isinstance(learner, ClassLearner):
        return Order()
    whole = can_be_cut(stream, to_look=True)
    if whole:
        runs = sampled_runs(stream)
    else:
        once = stream.size is None or STDIN in stream.paths
        runs = runs_of(iter(stream.peek(1 if once else buffer, 1 << 24)))
    return Order(Shuffle(seed, buffer), can_be_cut(stream), runs) if runs.found else Order(None, whole, runs)

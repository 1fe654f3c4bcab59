"""A race of learners along a training: blocks of rows for it, and its part of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._inputs import Array
from ..learners.learner import Learner
from ..learners.online import watch
from ..learners.race.race import Race
from ..learners.race.saving import restore, to_words
from ..models.file import ModelFileError
from ..stream import Chunk, Stream
from ..stream.buffer import RowBuffer
from .room import refuse_too_large

if TYPE_CHECKING:
    from .train import Training

LONG = 1 << 28  # bytes of a stream above which a race must be cheap
_TENSORS = "race."


def is_long(stream: Stream) -> bool:
    """True for a large stream, or one of unknown size."""
    return stream.size is None or stream.size > LONG


class Racing:
    """A race in a training, and its saved form."""

    def __init__(self, race: Race) -> None:
        self.race = race

    def next_block(self, buffer: RowBuffer, *, last: bool) -> Chunk | None:
        """The rows of the next block; None if incomplete, unless they are the `last` ones."""
        size = min(self.race.block_size, buffer.n_rows) if last else self.race.block_size
        return buffer.next(size) if 0 < size <= buffer.n_rows else None

    # -- a checkpoint ----------------------------------------------------------------------------------------

    @property
    def words(self) -> dict[str, Any]:
        return to_words(self.race)[0]

    @property
    def tensors(self) -> dict[str, Array]:
        return {_TENSORS + name: array for name, array in to_words(self.race)[1].items()}

    def member_of(self, path: Path, words: Mapping[str, Any]) -> Learner:
        """The leader when a checkpoint was saved, with the file's parameters."""
        try:
            leader: Learner = self.race.members[words["leader"]].learner
        except (IndexError, KeyError, TypeError):
            raise ModelFileError(str(path), "does not say who led its race") from None
        return leader

    def resume(self, path: Path, words: Any, tensors: Mapping[str, Array], saved: Learner) -> None:
        """Go on where a checkpoint was saved."""
        own = {name.removeprefix(_TENSORS): array for name, array in tensors.items() if name.startswith(_TENSORS)}
        try:
            restore(self.race, words, own, saved.classes_)  # type: ignore[attr-defined]  # it has classes
        except ValueError as error:
            raise ModelFileError(str(path), f"does not go on: {error}") from None


def race_on(training: Training, racing: Racing, tell: Callable[[], None], *, last: bool) -> None:
    """Hand available blocks of a training to a race. When it is over, its winner learns the rest."""
    buffer, race = training.buffer, racing.race
    if not training.labels and buffer.n_rows:  # the labels of the first chunk are sorted, not of the first block
        training.classes.register(buffer.next(buffer.n_rows), training.stream.paths[0], 0)
    while block := racing.next_block(buffer, last=last):
        codes = training.codes_of(block)
        refuse_too_large(training.learner, training.stream, block.n_columns, len(training.labels))
        if training.begun and training.pass_number == 1:
            training.frozen.measure(training.learner, block, codes, 0, block.n_rows)
        if block.memory is not None and block.memory.limit is not None:
            race.limit = min(race.limit, block.memory.limit // 2)
        leader = race.leader.learner
        watch(leader, training.rises if training.pass_number == 1 else None)
        race.learn(block, codes, training.classes.array(), again=training.pass_number > 1)
        watch(leader, None)
        if block.memory is not None:
            block.memory.check()
        training.begun = True
        training.lead(race.leader.learner)
        for chunk in buffer.done(block.n_rows):
            training.pass_over(chunk)
        tell()
        if race.over:
            training.end_race()
            if (n := buffer.n_rows) > 0:
                training.take_whole(buffer.next(n), tell)
                for chunk in buffer.done(n):
                    training.pass_over(chunk)
            return

"""A champion and its shadows: what the records of a log do to them, in a service and when it is replayed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..learners.learner import Learner
from ..learners.saving import read_learner
from ..models.file import ModelFileError
from ..stream import Chunk
from .errors import Refused, StateError
from .members import Member
from .records import Entry, Learned, Promoted, Replaced, Shadowed, Unshadowed

PREVIOUS = "previous"  # the champion before
Judge = Callable[[str | None, Member, list[Chunk | None], list[Learned]], None]


class Lineup:
    """The models of one name after some record of its log.

    Attributes
    ----------
    seq : int
        The number of that record.
    calibrated : int
        The number of the record after which the confidences were last fitted.
    """

    def __init__(self, folder: Path, seq: int, champion: Learner, shadows: dict[str, Learner]) -> None:
        self._folder = folder
        self.seq = self.calibrated = seq
        self.champion = Member(champion, seq)
        self.shadows = {name: Member(learner, seq) for name, learner in shadows.items()}
        self.files: dict[str, int] = {}  # that records since the oldest snapshot refer to, with their number

    @property
    def members(self) -> list[tuple[str | None, Member]]:
        """The champion, which has no name, and the shadows."""
        return [(None, self.champion), *self.shadows.items()]

    def read(self, member: Member, rows: Sequence[object], chunk: Chunk | None = None) -> Chunk | None:
        """The rows as a member reads them; None if it cannot. `chunk` has them as the champion does."""
        if chunk is not None and (member is self.champion or member.rows.same_as(self.champion.rows)):
            return chunk
        try:
            return member.rows.read(rows)
        except Refused:
            return None

    # -- records ---------------------------------------------------------------------------------------------

    def learn(
        self, batch: Sequence[tuple[int, Learned]], chunks: Sequence[Chunk | None], judge: Judge | None = None
    ) -> list[list[str | None]]:
        """Learn from records in their order. For each of their rows why the champion refused it, or None.

        `judge` gets each member before it learns.
        """
        entries = [entry for _, entry in batch]
        told: list[list[str | None]] = []
        by_champion = [self.read(self.champion, entry.x, chunk) for entry, chunk in zip(entries, chunks, strict=True)]
        for name, member in self.members:
            read = (
                by_champion
                if name is None
                else [self.read(member, entry.x, chunk) for entry, chunk in zip(entries, by_champion, strict=True)]
            )
            if judge is not None:
                judge(name, member, read, entries)
            for entry, chunk in zip(entries, read, strict=True):
                refused = member.learn(chunk, entry.y, entry.w) if chunk is not None else member.refuse(len(entry.y))
                if name is None:
                    told.append(refused)
        self.seq = batch[-1][0]
        if any(member.outgrew_calibration for _, member in self.members):
            self.calibrate()
        return told

    def change(self, seq: int, entry: Entry) -> None:
        """Another record than rows. Refused if it cannot be, and then nothing is changed but the number."""
        self.seq = seq
        shadows = self.shadows
        if isinstance(entry, Shadowed):
            self.files[entry.digest] = seq
            shadows[entry.name] = Member(self._model(entry.digest), seq)
        elif isinstance(entry, Replaced):
            self.files[entry.digest] = seq
            shadows[PREVIOUS], self.champion = self.champion, Member(self._model(entry.digest), seq)
        elif isinstance(entry, Unshadowed | Promoted):
            if entry.name not in shadows:
                raise Refused(404, f"There is no shadow {entry.name}.")
            member = shadows.pop(entry.name)
            if isinstance(entry, Promoted):
                shadows[PREVIOUS], self.champion = self.champion, member
        self.calibrate()

    def calibrate(self) -> None:
        """Fit the confidences to what is on record now."""
        self.calibrated = self.seq
        for _, member in self.members:
            member.calibration = member.calibrated(self.seq)

    def _model(self, digest: str) -> Learner:
        path = model_path(self._folder, digest)
        try:
            return read_learner(path).learner
        except ModelFileError as error:
            raise StateError(f"{error}.") from None
        except OSError as error:
            raise StateError(f"{path}: {error.strerror or error}.") from None


def model_path(folder: Path, digest: str) -> Path:
    """An uploaded model that records refer to."""
    return folder / f"model-{digest}.sureline"


def together(chunks: Sequence[Chunk]) -> Chunk:
    """The rows of several chunks in one, without their names and labels."""
    if len(chunks) == 1:
        return chunks[0]
    ends = np.cumsum([0, *(int(chunk.indptr[-1]) for chunk in chunks)])
    indptr = [chunk.indptr[:-1] + start for chunk, start in zip(chunks, ends[:-1], strict=True)]
    n_rows = sum(map(len, chunks))
    return replace(
        chunks[0],
        values=np.concatenate([chunk.values for chunk in chunks]),
        indices=np.concatenate([chunk.indices for chunk in chunks]),
        indptr=np.concatenate([*indptr, ends[-1:]]).astype(np.int32),
        labels=(np.full(n_rows, -1, np.int32), []),
        n_columns=max(chunk.n_columns for chunk in chunks),
        names=None,
        tags=None,
        weights=None,
        kept={},
    )

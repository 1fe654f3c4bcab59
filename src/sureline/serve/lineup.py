"""A champion and its shadows: what the records of a log do to them, in a service and when it is replayed."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..learners.learner import Learner
from ..learners.saving import read_learner
from ..models.file import ModelFileError
from ..stream import Chunk
from .errors import Refused, StateError
from .members import FAULT, Member
from .records import Absent, Entry, Learned, Promoted, Replaced, Shadowed, Unshadowed
from .rows import Rows

PREVIOUS = "previous"  # the champion before
Judge = Callable[[str | None, Member, list[Chunk | None], list[Learned]], None]


class Read(NamedTuple):
    """Rows of a record, and who has read them."""

    by: Rows
    chunk: Chunk


@dataclass(frozen=True)
class Lesson:
    """A record of rows: its number, what was read of it already, and which rows each model missed when it was new."""

    seq: int
    entry: Learned
    read: Read | None = None
    missed: Absent | None = None

    def missed_by(self, name: str | None) -> Sequence[int]:
        """Rows that a model is not to learn from."""
        return () if self.missed is None else self.missed.get(name or "", ())

    def misses_all(self, name: str | None) -> bool:
        """True if a model missed all of it."""
        return self.missed is not None and len(self.missed_by(name)) == len(self.entry.y)


class Fault(Exception):
    """Something of ours failed while models learned: the rows that each did not learn from, by record and model.

    Attributes
    ----------
    told : list of list of str or None
        As `Lineup.learn` returns it.
    """

    def __init__(self, told: list[list[str | None]]) -> None:
        super().__init__("a fault in learning")
        self.told, self.rows = told, dict[int, dict[str, list[int]]]()

    def add(self, seq: int, name: str | None, rows: Sequence[int], error: Exception) -> None:
        """Rows of a record that were missed."""
        if rows:
            self.rows.setdefault(seq, {})[name or ""] = list(rows)
            self.__cause__ = self.__cause__ or error

    def __str__(self) -> str:
        cause = self.__cause__
        frames = traceback.extract_tb(None if cause is None else cause.__traceback__)[-3:]
        places = ", ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames)  # and nothing of the rows
        records = ", ".join(f"{seq:,}" for seq in list(self.rows)[:5])
        return f"rows of record {records} were not learned from, by a fault: {type(cause).__name__} at {places}"

    def has(self, seq: int, name: str | None) -> bool:
        return (name or "") in self.rows.get(seq, {})


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

    def read(self, member: Member, rows: Sequence[object], read: Read | None = None) -> Chunk | None:
        """The rows as a member reads them; None if it cannot. `read` has them as some reader does."""
        if read is not None and (member.rows is read.by or member.rows.same_as(read.by)):
            return read.chunk
        try:
            return member.rows.read(rows)
        except Refused:
            return None

    # -- records ---------------------------------------------------------------------------------------------

    def learn(self, lessons: Sequence[Lesson], judge: Judge | None = None) -> list[list[str | None]]:
        """Learn from records in their order. For each of their rows why the champion refused it, or None.

        `judge` gets each member before it learns. Raises Fault if something else than a refusal kept a model from
        learning: then these models are not those of the log.
        """
        entries = [lesson.entry for lesson in lessons]
        told: list[list[str | None]] = []
        faults = Fault(told)
        by_champion: list[Read | None] = [lesson.read for lesson in lessons]
        for name, member in self.members:
            read: list[Chunk | None] = []
            for k, lesson in enumerate(lessons):
                chunk = None
                try:
                    if not lesson.misses_all(name):
                        chunk = self.read(member, lesson.entry.x, by_champion[k])
                except Exception as error:
                    faults.add(lesson.seq, name, range(len(lesson.entry.y)), error)
                read.append(chunk)
                if name is None and chunk is not None:
                    by_champion[k] = Read(member.rows, chunk)
            if judge is not None:
                judge(name, member, read, entries)
            for lesson, chunk in zip(lessons, read, strict=True):
                entry, missed = lesson.entry, lesson.missed_by(name)
                if chunk is not None:
                    refused = member.learn(chunk, entry.y, entry.w, missed)
                    if member.fault is not None:
                        failed = [k for k, why in enumerate(refused) if why is FAULT and k not in missed]
                        faults.add(lesson.seq, name, failed, member.fault)
                elif lesson.misses_all(name) or faults.has(lesson.seq, name):
                    refused = [FAULT] * len(entry.y)
                else:
                    refused = member.refuse(len(entry.y))
                if name is None:
                    told.append(refused)
        self.seq = lessons[-1].seq
        if faults.rows:
            raise faults
        if any(member.outgrew_calibration for _, member in self.members):
            self.calibrate()
        return told

    def change(self, seq: int, entry: Entry, learner: Learner | None = None) -> None:
        """Another record than rows, with the model of its file if that was read already.

        Refused if it cannot be, and then nothing is changed but the number.
        """
        self.seq = seq
        champion, shadows, files = self.champion, dict(self.shadows), dict(self.files)
        if isinstance(entry, Shadowed):
            files[entry.digest] = seq
            shadows[entry.name] = Member(learner or self._model(entry.digest), seq)
        elif isinstance(entry, Replaced):
            files[entry.digest] = seq
            shadows[PREVIOUS], champion = champion, Member(learner or self._model(entry.digest), seq)
        elif isinstance(entry, Unshadowed | Promoted):
            if entry.name not in shadows:
                raise Refused(404, f"There is no shadow {entry.name}.")
            member = shadows.pop(entry.name)
            if isinstance(entry, Promoted):
                shadows[PREVIOUS], champion = champion, member
        else:  # it is about an earlier record
            return
        members = [champion, *shadows.values()]
        calibrations = [member.calibrated(seq) for member in members]
        self.champion, self.shadows, self.files, self.calibrated = champion, shadows, files, seq
        for member, calibration in zip(members, calibrations, strict=True):
            member.calibration = calibration

    def calibrate(self) -> None:
        """Fit the confidences to what is on record now."""
        made = [member.calibrated(self.seq) for _, member in self.members]
        self.calibrated = self.seq
        for (_, member), calibration in zip(self.members, made, strict=True):
            member.calibration = calibration

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

"""A name that is served: its models, its log, its snapshots, and the predictions that wait for labels."""

from __future__ import annotations

import asyncio
import copy
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from ..learners.learner import Learner
from .errors import Refused, StateError
from .judging import Judging
from .lineup import Fault, Lesson, Lineup, Read, model_path
from .log import Log, read_log, segments
from .members import Calibration, Member
from .predictions import Predictions
from .records import Entry, Learned, Missed, history, packed
from .snapshots import (
    file_digest,
    newest_snapshot,
    read_json,
    remove_left_behind,
    remove_snapshot,
    snapshots,
    write_json,
    write_snapshot,
)
from .watch import Watch
from .writer import Writer, Writing

_AT_ONCE, _CALIBRATED = 64, 2048  # rows of a log that are judged together when it is read again, and that calibrate


@dataclass(frozen=True)
class Keeping:
    """How a service keeps what it learns. Sizes are bytes."""

    durability: str = "fsync"
    snapshot_every: int = 16 << 20  # of the log
    most_log: int = 1 << 30
    kept_snapshots: int = 2
    predictions: int = 256 << 20
    most_predictions: int = 1_000_000
    max_error: float | None = None  # the promise that the page watches


@dataclass(frozen=True)
class Learnt:
    """The outcome of a record of rows: the version after it, and why rows were refused, or None."""

    version: str
    refused: list[str | None]


class Served:
    """One name. All of it runs in one thread, that of the event loop; another one writes."""

    def __init__(self, name: str, folder: Path, lineup: Lineup, lineage: str, watch: Watch, keeping: Keeping) -> None:
        self.name, self.folder, self.lineage, self.watch, self.keeping = name, folder, lineage, watch, keeping
        self._lineup = lineup
        self.log: Log | None = None  # of one that is open
        self.predictions: Predictions | None = None
        self._writer: Writer | None = None
        self._snapshot_seq = lineup.seq
        self._since_snapshot = 0  # bytes of log
        self.log_bytes = 0
        self.waiting = 0  # rows on their way to the disk
        self._writing_snapshot = False
        self.notes: list[str] = []  # what was found when it was opened
        self.snapshot_failed: str | None = None
        self.log_failed: str | None = None  # why the latest record could not be written
        self.closed = False
        self.parted: str | None = None  # why the models may be others than those of the log
        self._say: Callable[[str], None] = self.notes.append

    # -- a folder --------------------------------------------------------------------------------------------

    @staticmethod
    def create(folder: Path, file: Path, told: dict[str, Any]) -> None:
        """Make the folder of a name with this model, complete or not at all."""
        digest = file_digest(file)
        temporary = folder.with_name(f".{folder.name}.new")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(mode=0o700, parents=True)
        write_snapshot(temporary, 0, file, {}, {"lineage": digest[:12]})
        write_json(temporary / "name.json", {"format": 1, "lineage": digest[:12], **told})
        os.rename(temporary, folder)

    @classmethod
    def open(cls, folder: Path, keeping: Keeping, *, repair: bool = True, at_most: int | None = None) -> Served:
        """The newest snapshot, or that with `at_most` so many records, to go on from. StateError if there is none."""
        told = read_json(folder / "name.json")
        lineage = str(told.get("lineage"))
        notes = []
        if repair:
            torn = Log.repaired(folder)
            notes += [] if torn is None else [str(torn)]
        snapshot, wrong = newest_snapshot(folder, at_most)
        notes += wrong
        lineup = Lineup(folder, snapshot.seq, snapshot.champion, snapshot.shadows)
        lineup.files = dict(snapshot.facts.get("files", {}))
        watch = None
        with suppress(ValueError):
            watch = Watch.from_state(snapshot.facts["watch"]) if "watch" in snapshot.facts else None
        watch = watch or Watch(lineup.champion.labels, keeping.max_error)
        served = cls(folder.name, folder, lineup, lineage, watch, keeping)
        served.notes = notes
        return served

    def recover(self, until: int | None = None) -> None:
        """Apply the records after the snapshot, or those of them up to `until`. Raises Fault if one cannot be."""
        batch: list[Lesson] = []
        rows = since = 0

        def flush() -> None:
            nonlocal rows, since
            if batch:
                self._learn(batch)
                batch.clear()
            rows, since = 0, since + rows
            if since >= _CALIBRATED:  # so that the page tells of these labels about what it told of them before
                self._lineup.calibrate()
                since = 0

        for seq, entry, missed, size in history(self.folder, self._lineup.seq):
            if until is not None and seq > until:
                break
            self._since_snapshot += size
            if isinstance(entry, Learned):
                batch.append(Lesson(seq, entry, None, missed))
                rows += len(entry.y)
                if rows >= _AT_ONCE:
                    flush()
            else:
                flush()
                if missed is not None:
                    self._lineup.seq = seq
                    continue
                with suppress(Refused):
                    self._lineup.change(seq, entry)
        flush()
        self._lineup.calibrate()

    def _recover_or_note(self) -> None:
        """Recover. A row that a model cannot learn from by a fault is noted in the log as missed, and passed over."""
        while True:
            try:
                return self.recover()
            except Fault as fault:
                cause = fault.__cause__
                if isinstance(cause, MemoryError | OSError):  # of the machine, not of the row, which was acknowledged
                    reason = str(cause) or "there is too little memory"
                    raise StateError(f"{self.folder}: the log cannot be applied: {reason}.") from None
                last = max((record.seq for record in read_log(self.folder, self._snapshot_seq)), default=0)
                log = Log(self.folder, last + 1, "fsync", 1 << 16)
                log.append([packed(Missed(seq, rows)) for seq, rows in fault.rows.items()])
                log.close()
                self.notes.append(str(fault))
                again = Served.open(self.folder, self.keeping)
                self._lineup, self.watch, self._since_snapshot = again.lineup, again.watch, 0

    def begin(self, writer: Writer, say: Callable[[str], None]) -> None:
        """Be ready for records and predictions."""
        keeping, self._say = self.keeping, say
        if self.predictions is None:
            self.predictions = Predictions(
                self.folder, writer, max_bytes=keeping.predictions, max_count=keeping.most_predictions
            )
        self._recover_or_note()
        remove_left_behind(self.folder, [model_path(self.folder, digest) for digest in self._lineup.files])
        self.champion.warm_up()
        self._writer = writer
        size = max(keeping.snapshot_every // 4, 1 << 16)
        self.log = Log(self.folder, self._lineup.seq + 1, keeping.durability, size)
        self.log_bytes = sum(path.stat().st_size for _, path in segments(self.folder))

    # -- what it is ------------------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """The model that answers: where it began, records since then, and records by which it is calibrated."""
        return f"{self.lineage}.{self._lineup.seq}.{self._lineup.calibrated}"

    @property
    def seq(self) -> int:
        """Records of the log that were applied."""
        return self._lineup.seq

    @property
    def lineup(self) -> Lineup:
        return self._lineup

    @property
    def champion(self) -> Member:
        return self._lineup.champion

    @property
    def labels(self) -> list[Any]:
        return self.champion.labels

    def shadows(self) -> list[str]:
        """Names of the shadows."""
        return list(self._lineup.shadows)

    def describe(self) -> dict[str, Any]:
        """The models and how much they have learned, for JSON."""
        return {
            "name": self.name,
            "version": self.version,
            **self.champion.describe(),
            "log_bytes": self.log_bytes,
            "durability": self.keeping.durability,
            "shadows": [{"name": name, **member.describe()} for name, member in self._lineup.shadows.items()],
        }

    # -- learning --------------------------------------------------------------------------------------------

    async def learn(self, entry: Learned, read: Read | None) -> Learnt:
        """Learn from rows when they are in the log as durably as was asked for."""
        self.refuse_unteachable()
        future = self.put(entry, read)
        self.begin_labels(entry)
        future.add_done_callback(
            lambda done: self.end_labels(entry, learned=not done.cancelled() and done.exception() is None)
        )
        outcome: Learnt = await asyncio.shield(future)  # if whoever asked has gone, the record goes its way
        return outcome

    def begin_labels(self, entry: Learned) -> None:
        """Labels are on their way to the log."""
        assert self.predictions is not None
        self.waiting += len(entry.y)
        for prediction in entry.p or ():
            self.predictions.begin_label(prediction)

    def end_labels(self, entry: Learned, *, learned: bool) -> None:
        """They are there, or will not be."""
        assert self.predictions is not None
        self.waiting -= len(entry.y)
        for prediction in entry.p or ():
            self.predictions.end_label(prediction, learned=learned)

    def refuse_unteachable(self) -> None:
        """Refused if the champion does not learn from one row after the other."""
        if not self.champion.can_learn:
            kind = type(self.champion.learner).__name__
            raise Refused(409, f"{kind} learns from batches or from all rows at once: it answers, and does not learn.")

    async def change(self, entry: Entry, learner: Learner | None = None) -> str:
        """Promote, replace, add or remove a model, which was read from its file; the version after that."""
        await asyncio.shield(self.put(entry, learner))
        return self.version

    def put(self, entry: Entry, read: Read | Learner | None) -> asyncio.Future[Any]:
        """Have a record logged, and then applied; the future has what comes of it. Refused if that cannot be."""
        payload = packed(entry)
        if self.parted is not None:
            raise Refused(503, self.parted)
        if self.closed or self._writer is None or self.log is None:
            raise Refused(503, "The service is stopping.")
        if self.log_bytes + len(payload) > self.keeping.most_log:
            why = f" No snapshot could be written: {self.snapshot_failed}." if self.snapshot_failed else ""
            raise Refused(507, f"The log has reached its bound of {self.keeping.most_log:,} bytes.{why}")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._writer.put(Writing(self.log, payload, (self, entry, read, future, len(payload))))
        return future

    def apply(self, lessons: Sequence[Lesson]) -> list[list[str | None]]:
        """Learn from records of rows that are in the log. For each of their rows why it was refused, or None."""
        try:
            return self._learn(lessons)
        except Fault as fault:
            self._note(fault.rows, str(fault), lessons[-1].seq)
            return fault.told

    def alter(self, seq: int, entry: Entry, learner: Learner | None) -> None:
        """Another record than rows, which is in the log. Refused if it cannot be."""
        try:
            self._lineup.change(seq, entry, learner)
        except Refused:
            raise
        except Exception as error:
            self._note({seq: {}}, f"record {seq:,}: a change failed by {type(error).__name__}", seq)
            raise Refused(500, "The change was not made, by a fault of the service; its log says which.") from error

    def _learn(self, lessons: Sequence[Lesson]) -> list[list[str | None]]:
        judging = Judging(self.watch, self.keeping.max_error, self._say, again=self.log is None)
        try:
            return self._lineup.learn(lessons, judging)
        finally:
            for prediction in (one for lesson in lessons for one in lesson.entry.p or ()):
                if self.predictions is not None:
                    self.predictions.mark(prediction)
                self.watch.labelled(prediction)

    def _note(self, missed: dict[int, dict[str, list[int]]], why: str, last: int) -> None:
        """Have the log say what a fault kept from being done, and go on with the models that a restart would have.

        Nobody knows what a model is that failed half way, and a fault of the moment may not come again.
        """
        self._say(f"{self.name}: {why}")
        writer, log, old = self._writer, self.log, self._lineup
        assert writer is not None
        assert log is not None
        try:
            for seq, rows in missed.items():
                entry = Missed(seq, rows)
                payload = packed(entry)
                future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
                writer.put_and_wait(Writing(log, payload, (self, entry, None, future, len(payload))))
            again = Served.open(self.folder, self.keeping, repair=False, at_most=last)
            again.recover(last)
        except Exception as error:
            self.parted = (
                f"{self.name} learns no more until the service is restarted: after a fault its models could not be "
                f"made again from its log ({type(error).__name__})."
            )
            self._say(self.parted)
            return
        self._lineup = again.lineup
        before = dict(old.members)
        for name, member in self._lineup.members:
            if name in before:
                member.counts_of(before[name])

    # -- calibration and snapshots ---------------------------------------------------------------------------

    def calibrations_wanted(self) -> list[tuple[Any, ...] | None] | None:
        """The arrays of the next calibration, for `Calibration.of`; None if nothing was learned since the last."""
        if self._lineup.calibrated == self.seq:
            return None
        return [member.facts(self.seq) for _, member in self._lineup.members]

    def install(self, members: list[Member], seq: int, calibrations: list[Calibration | None]) -> None:
        """Answer by these from now on, unless the models are others or have been calibrated meanwhile."""
        now = [member for _, member in self._lineup.members]
        if now != members or self._lineup.calibrated >= seq:
            return
        for member, calibration in zip(members, calibrations, strict=True):
            if calibration is not None and member.outgrew(calibration):
                return
        for member, calibration in zip(members, calibrations, strict=True):
            member.calibration = calibration
        self._lineup.calibrated = seq

    @property
    def wants_snapshot(self) -> bool:
        return not self._writing_snapshot and self._since_snapshot >= self.keeping.snapshot_every

    async def snapshot(self) -> None:
        """Write a snapshot, and drop what of the log no kept snapshot needs."""
        if self._writing_snapshot or self.seq == self._snapshot_seq:
            return
        self._writing_snapshot = True
        seq, lineup = self.seq, self._lineup
        self._since_snapshot = 0
        champion = copy.copy(lineup.champion.learner)
        shadows = {name: copy.copy(member.learner) for name, member in lineup.shadows.items()}
        facts = {"lineage": self.lineage, "files": dict(lineup.files), "watch": self.watch.to_state()}
        try:
            await asyncio.to_thread(write_snapshot, self.folder, seq, champion, shadows, facts)
            self._snapshot_seq, self.snapshot_failed = seq, None
            self._prune()
        except OSError as error:
            self.snapshot_failed = str(error.strerror or error)
        finally:
            self._writing_snapshot = False

    def _prune(self) -> None:
        kept = snapshots(self.folder)
        for seq in kept[: -self.keeping.kept_snapshots]:
            remove_snapshot(self.folder, seq)
        oldest = snapshots(self.folder)[0]
        found = segments(self.folder)
        for (_, path), (following, _) in pairwise(found):
            if following <= oldest + 1:
                with suppress(OSError):
                    path.unlink()
        for digest, seq in list(self._lineup.files.items()):
            if seq <= oldest:
                with suppress(OSError):
                    model_path(self.folder, digest).unlink()
                del self._lineup.files[digest]
        self.log_bytes = sum(path.stat().st_size for _, path in segments(self.folder))

    def grown(self, size: int) -> None:
        """So many bytes were appended to the log."""
        self.log_bytes += size
        self._since_snapshot += size

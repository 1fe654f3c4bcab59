"""A name that is served: its models, its log, its snapshots, and the predictions that wait for labels."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..learners.learner import ClassLearner
from ..models.weights import Weight
from ..stream import Chunk
from .errors import Refused
from .lineup import Lineup, model_path, together
from .log import Log, read_log, segments
from .members import Calibration, Member
from .predictions import Predictions
from .records import Entry, Learned, entry_of, packed
from .snapshots import (
    newest_snapshot,
    read_json,
    remove_snapshot,
    snapshots,
    write_json,
    write_snapshot,
)
from .watch import Watch
from .writer import Writer, Writing

_AT_ONCE, _ROWS = 256, 4096  # records that are judged together when a log is read again, and their rows


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
        self.closed = False

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
    def open(cls, folder: Path, keeping: Keeping, *, repair: bool = True) -> Served:
        """Go on where the log ends. StateError if that cannot be."""
        told = read_json(folder / "name.json")
        lineage = str(told.get("lineage"))
        notes = []
        if repair:
            torn = Log.repaired(folder)
            notes += [] if torn is None else [str(torn)]
        snapshot, wrong = newest_snapshot(folder)
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

    def recover(self) -> int:
        """Apply the records after the snapshot; how many there were."""
        batch: list[tuple[int, Learned]] = []
        n = rows = 0

        def flush() -> None:
            nonlocal rows
            if batch:
                self.apply(batch, [None] * len(batch))
                batch.clear()
            rows = 0

        for record in read_log(self.folder, self._lineup.seq):
            n += 1
            self._since_snapshot += len(record.payload)
            entry = entry_of(self.folder, record)
            if isinstance(entry, Learned):
                batch.append((record.seq, entry))
                rows += len(entry.y)
                if len(batch) >= _AT_ONCE or rows >= _ROWS:
                    flush()
            else:
                flush()
                with suppress(Refused):
                    self._lineup.change(record.seq, entry)
        flush()
        self._lineup.calibrate()
        return n

    def begin(self, writer: Writer) -> None:
        """Be ready for records and predictions."""
        keeping = self.keeping
        if self.predictions is None:
            self.predictions = Predictions(
                self.folder, writer, max_bytes=keeping.predictions, max_count=keeping.most_predictions
            )
        self.recover()
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
            **_facts(self.champion),
            "log_bytes": self.log_bytes,
            "durability": self.keeping.durability,
            "shadows": [{"name": name, **_facts(member)} for name, member in self._lineup.shadows.items()],
        }

    def top_features(self, n: int) -> list[tuple[str, float, float | None]]:
        """The largest weights: name, weight, standard deviation."""
        learner = self.champion.learner
        weights: list[Weight] = learner.top_weights(n, learner.origin.names)
        return [(weight.title, weight.weight, weight.std) for weight in weights]

    # -- learning --------------------------------------------------------------------------------------------

    async def learn(self, entry: Learned, chunk: Chunk | None) -> Learnt:
        """Learn from rows when they are in the log as durably as was asked for."""
        self.refuse_unteachable()
        predictions, n = self.predictions, len(entry.y)
        assert predictions is not None
        future = self._put(entry, chunk)
        self.waiting += n
        for prediction in entry.p or ():
            predictions.begin_label(prediction)

        def end(future: asyncio.Future[Any]) -> None:
            self.waiting -= n
            learned = not future.cancelled() and future.exception() is None
            for prediction in entry.p or ():
                predictions.end_label(prediction, learned=learned)

        future.add_done_callback(end)
        outcome: Learnt = await asyncio.shield(future)  # if whoever asked has gone, the record goes its way
        return outcome

    def refuse_unteachable(self) -> None:
        """Refused if the champion does not learn from one row after the other."""
        if not self.champion.can_learn:
            kind = type(self.champion.learner).__name__
            raise Refused(409, f"{kind} learns from batches or from all rows at once: it answers, and does not learn.")

    async def change(self, entry: Entry) -> str:
        """Promote, replace, add or remove a model; the version after that."""
        await asyncio.shield(self._put(entry, None))
        return self.version

    def _put(self, entry: Entry, chunk: Chunk | None) -> asyncio.Future[Any]:
        payload = packed(entry)
        if self.closed or self._writer is None or self.log is None:
            raise Refused(503, "The service is stopping.")
        if self.log_bytes + len(payload) > self.keeping.most_log:
            why = f" No snapshot could be written: {self.snapshot_failed}." if self.snapshot_failed else ""
            raise Refused(507, f"The log has reached its bound of {self.keeping.most_log:,} bytes.{why}")
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._writer.put(Writing(self.log, payload, (self, entry, chunk, future, len(payload))))
        return future

    def apply(self, batch: Sequence[tuple[int, Learned]], chunks: Sequence[Chunk | None]) -> list[list[str | None]]:
        """Learn from records of rows that are in the log. For each of their rows why it was refused, or None."""
        told = self._lineup.learn(batch, chunks, self._judge)
        if self.predictions is not None:
            for _, entry in batch:
                for prediction in entry.p or ():
                    self.predictions.mark(prediction)
                    self.watch.labelled(prediction)
        return told

    def _judge(self, name: str | None, member: Member, chunks: list[Chunk | None], entries: list[Learned]) -> None:
        """Compare the labels with what is predicted before they are learned from."""
        if not member.is_classifier:
            return
        labels = [label for entry in entries for label in entry.y]
        right = np.zeros(len(labels), np.bool_)
        confidences = np.zeros(len(labels))
        read = [chunk for chunk in chunks if chunk is not None]
        verdicts = None
        if read:
            there = np.concatenate(
                [np.full(len(entry.y), chunk is not None) for entry, chunk in zip(entries, chunks, strict=True)]
            )
            try:
                verdicts = member.judge(together(read))
                told = list(zip(verdicts.labels, verdicts.confidences.tolist(), strict=True))
            except Refused:  # for one of its rows, which is a mistake
                told = [_alone(member, chunk.part(k, k + 1)) for chunk in read for k in range(len(chunk))]
            known = [label for label, here in zip(labels, there.tolist(), strict=True) if here]
            right[there] = [a == b for (a, _), b in zip(told, known, strict=True)]
            confidences[there] = [confidence for _, confidence in told]
            member.wrong += int(len(labels) - right.sum())
        if name is None:
            answered = None
            if self.keeping.max_error is not None and len(read) == len(chunks) and verdicts is not None:
                answered = member.answered(verdicts, self.keeping.max_error)
            self.watch.learned(right=right, confidences=confidences, answered=answered)
        else:
            self.watch.shadow(name, right=right)

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


def _alone(member: Member, row: Chunk) -> tuple[Any, float]:
    """The label and the confidence of one row; no label if there is no telling."""
    try:
        verdict = member.judge(row)
    except Refused:
        return None, 0.0
    return verdict.labels[0], float(verdict.confidences[0])


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _facts(member: Member) -> dict[str, Any]:
    learner = member.learner
    return {
        "learner": type(learner).__name__,
        "parameters": learner.parameters(),
        "format": learner.origin.options.get("format"),
        "labels": member.labels if isinstance(learner, ClassLearner) else None,
        "learns": member.can_learn,
        "rows": learner.n_seen_,
        "learned": member.learned,
        "wrong": member.wrong,
        "refused": member.refused,
        "features": learner.model.n_columns,
        "bytes": learner.model.nbytes if hasattr(learner.model, "nbytes") else None,
    }

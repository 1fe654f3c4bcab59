"""Answers again, offline: the model of a version, from a snapshot and the log, and what it says to a request."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ..learners.learner import Learner
from .answering import Wanted, answers_of
from .bodies import UNSET, Predict, decoded
from .errors import Refused, StateError
from .limits import Limits
from .lineup import Fault, Lesson, Lineup
from .members import Calibration
from .names import is_name
from .records import Learned, history
from .replies import encode
from .snapshots import newest_snapshot, read_json, snapshots

_VERSION = re.compile(r"([0-9a-f]{12})\.([0-9]{1,18})\.([0-9]{1,18})")
_predict = msgspec.json.Decoder(Predict)
_OF_SERVICE = ("prediction_id",)  # what an answer says besides the model's


@dataclass(frozen=True, order=True)
class Version:
    """Records that were applied, and those by which confidences were fitted, since the model of that digest."""

    lineage: str
    seq: int
    calibrated: int

    @classmethod
    def of(cls, text: Any) -> Version:
        """Of a version as answers name it; StateError if it is none."""
        found = _VERSION.fullmatch(text) if isinstance(text, str) else None
        if found is None or int(found[3]) > int(found[2]):
            raise StateError(f"{text!r} is no version, such as ed951c614f51.1204.1152.")
        return cls(found[1], int(found[2]), int(found[3]))


class Past:
    """The models of one name as they were, in the order of their versions.

    `versions` are all that will be asked for. Confidences were fitted before the records that came last, so what they
    were fitted to is kept on the way.
    """

    def __init__(self, folder: Path, versions: Sequence[Version]) -> None:
        if not (folder / "name.json").exists():
            raise StateError(f"{folder} is not the state of a model.")
        lineage = str(read_json(folder / "name.json").get("lineage"))
        if other := next((version for version in versions if version.lineage != lineage), None):
            raise StateError(f"Version {other.lineage} is of another model than {folder}, {lineage}.")
        first = min(version.calibrated for version in versions)
        kept = snapshots(folder)
        if not kept or kept[0] > first:
            oldest = f"since record {kept[0]:,}" if kept else "of no time"
            raise StateError(f"{folder} keeps models {oldest}, and the version needs record {first:,}.")
        snapshot, _ = newest_snapshot(folder, first)
        self._folder = folder
        self._lineup = Lineup(folder, snapshot.seq, snapshot.champion, snapshot.shadows)
        self._entries = history(folder, snapshot.seq)
        self._uses = Counter(version.calibrated for version in versions)
        self._calibrations: dict[int, list[Calibration | None]] = {}

    def at(self, version: Version) -> Lineup:
        """The models of that version, which is none before the last one. StateError if the log ends before."""
        lineup = self._lineup
        self._calibrate_if_needed()
        while lineup.seq < version.seq:
            seq, entry, missed, _ = next(self._entries, (0, None, None, 0))
            if entry is None:
                raise StateError(f"{self._folder}: the log ends with record {lineup.seq:,}, before {version.seq:,}.")
            if isinstance(entry, Learned):
                try:
                    lineup.learn([Lesson(seq, entry, None, missed)])
                except Fault as fault:
                    why = type(fault.__cause__).__name__
                    raise StateError(f"{self._folder}: record {seq:,} cannot be learned from: {why}.") from None
            elif missed is not None:
                lineup.seq = seq
            else:
                with suppress(Refused):
                    lineup.change(seq, entry)
            self._calibrate_if_needed()
        made = self._calibrations[version.calibrated]
        self._uses[version.calibrated] -= 1
        if not self._uses[version.calibrated]:
            del self._calibrations[version.calibrated]
        for (_, member), calibration in zip(lineup.members, made, strict=True):
            member.calibration = calibration
        lineup.calibrated = version.calibrated
        return lineup

    def _calibrate_if_needed(self) -> None:
        seq = self._lineup.seq
        if self._uses[seq] > 0 and seq not in self._calibrations:
            self._calibrations[seq] = [member.calibrated(seq) for _, member in self._lineup.members]


def model_at(state: Path, name: str, version: str) -> Learner:
    """The champion of a version."""
    wanted = Version.of(version)
    return copy.copy(Past(_folder(state, name), [wanted]).at(wanted).champion.learner)


@dataclass(frozen=True)
class Asked:
    """An answer that is to be given again."""

    line: int
    name: str
    version: Version
    request: dict[str, Any]
    answer: Any  # None if it is not known


@dataclass(frozen=True)
class Replayed:
    """The answer, as JSON, and whether it is the one that was given; None if that is not known."""

    line: int
    answer: bytes
    same: bool | None


def asked_of(lines: Iterable[bytes], source: str) -> list[Asked]:
    """Lines with model, version, request and answer. StateError says which one is none."""
    asked = []
    for number, text in enumerate(lines, 1):
        if not text.strip():
            continue
        where = f"{source}, line {number}"
        try:
            line = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as error:
            raise StateError(f"{where} is no JSON: {error}.") from None
        if not isinstance(line, dict) or not isinstance(line.get("request"), dict) or not is_name(line.get("model")):
            raise StateError(f"{where}: it has model, request (what was sent), and version or answer (what came back).")
        answer = line.get("answer")
        version = line.get("version", answer.get("version") if isinstance(answer, dict) else None)
        try:
            asked.append(Asked(number, line["model"], Version.of(version), line["request"], answer))
        except StateError as error:
            raise StateError(f"{where}: {error}") from None
    return asked


def replayed(state: Path, asked: Iterable[Asked], source: str) -> Iterator[Replayed]:
    """The answers, in the order of their versions, so that each log is read once."""
    of_names: dict[str, list[Asked]] = {}
    for one in sorted(asked, key=lambda one: (one.name, one.version.seq, one.line)):
        of_names.setdefault(one.name, []).append(one)
    for name, several in of_names.items():
        try:
            past = Past(_folder(state, name), [one.version for one in several])
        except StateError as error:
            raise StateError(f"{source}: {error}") from None
        for one in several:
            try:
                told = _answer(past.at(one.version), one)
            except (Refused, StateError) as error:
                raise StateError(f"{source}, line {one.line}: {error}") from None
            yield _compared(one, told)


def _compared(one: Asked, told: dict[str, Any]) -> Replayed:
    same = None if one.answer is None else encode(_comparable(one.answer)) == encode(_comparable(told))
    return Replayed(one.line, encode(told), same)


def _answer(lineup: Lineup, one: Asked) -> dict[str, Any]:
    limits = Limits(rows=1 << 40, body=1 << 40)
    body = decoded(encode(one.request), _predict, limits)
    wanted = Wanted(body.probabilities, body.novelty, body.explain, body.max_error, body.shadows)
    several = body.rows is not UNSET
    rows = body.rows if several else [body.row]
    assert isinstance(rows, list)
    answers, _, _ = answers_of(lineup, rows, wanted)
    version = f"{one.version.lineage}.{one.version.seq}.{one.version.calibrated}"
    if several:
        return {"version": version, "answers": answers}
    return {**answers[0], "version": version}


def _comparable(answer: Any) -> Any:
    """An answer without the ids that a service gives, its keys in order."""
    if isinstance(answer, dict):
        return {key: _comparable(answer[key]) for key in sorted(answer) if key not in _OF_SERVICE}
    return [_comparable(each) for each in answer] if isinstance(answer, list) else answer


def _folder(state: Path, name: str) -> Path:
    if not is_name(name):
        raise StateError(f"{name!r} is not the name of a model.")
    if not (state / name).is_dir():
        raise StateError(f"{state} has no model {name}.")
    return state / name

"""Checkpoints of a training: its position, its files, and a check that they are unchanged."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .._inputs import label_array
from ..learners.alarms import Rises
from ..learners.asking import Asking
from ..learners.batch import BatchLearner
from ..learners.learner import Learner
from ..learners.rule import RuleLearner
from ..learners.saving import UNWRITTEN, ModelFile
from ..models.file import ModelFileError
from ..models.file.canonical import canonical
from ..stream import Label, Position, Stream
from ..stream.options import BINARY
from ..stream.runs import LabelRuns
from ..stream.shuffling import Shuffle
from .beginning import Beginning
from .frozen import FrozenError
from .identity import Files, checked_facts

# Versions of a checkpoint's fields. The second had no start, and no order but the rows' own; the third no label budget,
# no race and no alarms.
VERSION = 4
_FIELDS = {
    *("version", "position", "rows_ahead", "pass", "rows_of_a_pass", "labels", "batch", "paths", "files", "start"),
    *("shuffle", "runs", "frozen", "asking", "race", "rises", "seal"),
}
_NEW = {"asking", "race", "rises"}
_NOT_IN = {2: {"start", "shuffle", "runs", "frozen"} | _NEW, 3: _NEW, VERSION: set[str]()}


@dataclass
class Checkpointing:
    """The file of checkpoints, and their interval in examples or seconds."""

    path: Path
    examples: int | None = None
    seconds: float | None = None
    last_examples: int = 0
    last_time: float = field(default_factory=time.monotonic)

    def due(self, examples: int) -> bool:
        return (self.examples is not None and examples - self.last_examples >= self.examples) or (
            self.seconds is not None and time.monotonic() - self.last_time >= self.seconds
        )

    def done(self, examples: int) -> None:
        self.last_examples, self.last_time = examples, time.monotonic()


@dataclass(frozen=True)
class Checkpoint:
    """The position of a training, and the data it has read."""

    position: Position  # the end of the last chunk that was learned from whole
    rows_ahead: int  # and rows after it that were
    pass_number: int
    rows_of_a_pass: int | None  # known after the first pass
    labels: list[Label]
    batch: int | None  # rows of a batch, for the learners that take batches
    paths: list[str]
    files: list[dict[str, Any] | None]  # facts about the files begun so far
    start: dict[str, int] | None = None  # facts about the model that the training went on from
    shuffle: Shuffle | None = None  # the position is then among the pieces of the files
    runs: LabelRuns = field(default_factory=LabelRuns)
    frozen: FrozenError = field(default_factory=FrozenError)
    asking: Asking | None = None  # the label budget, and how it was spent
    race: dict[str, Any] | None = None  # a race that is not over; it checks the value itself
    beginning: Beginning | None = None  # of a pipe whose rows decide nothing yet: training restarts at its beginning
    rises: Rises = field(default_factory=Rises)  # of the error so far

    def to_dict(self, examples: int) -> dict[str, Any]:
        """A dict for a file, with the number of examples learned from."""
        place = {
            "version": VERSION,
            "position": self.position.to_dict(),
            "rows_ahead": self.rows_ahead,
            "pass": self.pass_number,
            "rows_of_a_pass": self.rows_of_a_pass,
            "labels": self.labels,
            "batch": self.batch,
            "paths": self.paths,
            "files": self.files,
            "start": self.start,
            "shuffle": None if self.shuffle is None else asdict(self.shuffle),
            "runs": {"seen": self.runs.seen.tolist(), "runs": self.runs.runs.tolist(), "last": self.runs.last},
            "frozen": asdict(self.frozen),
            "asking": None if self.asking is None else self.asking.to_dict(),
            "race": self.race,
            "rises": self.rises.to_dict(),
        }
        if self.beginning is not None:
            place["beginning"] = self.beginning.to_dict()
        return place | {"seal": _seal(place, examples)}

    @classmethod
    def of(cls, path: Path, saved: ModelFile) -> Checkpoint:
        """The checkpoint in a file that was read, every field checked."""
        if saved.place is None:
            raise ValueError(f"{path} is a model and no checkpoint; name it with --model, or train anew.")
        if "version" not in saved.place:
            raise ValueError(
                f"{path} was saved by an older version, which kept too little to know the data again: train anew."
            )
        try:
            return _checked(cls, saved.place, saved)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ModelFileError(str(path), f"does not say where the training was: {error}") from None


def _checked(kind: type[Checkpoint], place: dict[str, Any], saved: ModelFile) -> Checkpoint:
    version, seal = place["version"], _seal({k: v for k, v in place.items() if k != "seal"}, saved.learner.n_seen_)
    if type(version) is not int or version not in _NOT_IN:
        raise ValueError(f"it is in version {version!r}, and this sureline reads version {VERSION}")
    if not _NOT_IN[version] & set(place):
        place = {**dict.fromkeys(_NOT_IN[version]), **place}
    if set(place) - {"beginning"} != _FIELDS:
        raise ValueError(f"it must have {', '.join(sorted(_FIELDS))}")
    beginning = Beginning.from_dict(place["beginning"]) if "beginning" in place else None
    start, shuffle = _checked_start(place["start"]), _checked_shuffle(place["shuffle"])
    runs, frozen = _checked_runs(place["runs"]), _checked_frozen(place["frozen"])
    asking = None if place["asking"] is None else Asking.from_dict(place["asking"])
    rises = Rises() if place["rises"] is None else Rises.from_dict(place["rises"])
    position, labels = Position.from_dict(place["position"]), place["labels"]
    pass_number = _count(place, "pass", 1)
    rows_of_a_pass = None if place["rows_of_a_pass"] is None else _count(place, "rows_of_a_pass", 1)
    batch = None if place["batch"] is None else _count(place, "batch", 1)
    ahead = _count(place, "rows_ahead", 0)
    paths, files = place["paths"], checked_facts(place["files"])
    if not isinstance(paths, list) or not paths or not all(type(one) is str for one in paths):
        raise ValueError("its paths are no list of text")
    if not isinstance(labels, list) or not all(_is_label(label) for label in labels):
        raise ValueError("its labels are no list of numbers and text")
    if not _same(label_array(labels).tolist() if labels else [], saved.labels):
        raise ValueError("its labels are not those of the model")
    all_begun = pass_number > 1 or shuffle is not None
    in_files = shuffle is not None or position.file < len(paths)
    if not in_files or len(files) != (len(paths) if all_begun else position.file + 1):
        raise ValueError("its position is not in one of its files, or there are not facts about each that was read")
    race = place["race"]
    if race is not None and not isinstance(race, dict):
        raise ValueError("its race is none")
    may_be_ahead = race is not None or pass_number == 1
    if (batch is not None) != isinstance(saved.learner, BatchLearner) or (ahead and not may_be_ahead):
        raise ValueError("batches do not fit the learner")
    passes = saved.learner.passes if isinstance(saved.learner, RuleLearner) else 1
    if pass_number > passes or (rows_of_a_pass is None) != (pass_number == 1):
        raise ValueError(f"pass {pass_number} is not one of {passes}, or the rows of a pass are not known")
    before, seen = 0 if start is None else start["examples"], saved.learner.n_seen_
    learned = before + (pass_number - 1) * (rows_of_a_pass or 0) + position.rows + ahead
    if asking is not None:  # of all rows, and of those whose label was asked for
        learned, seen = learned - before, asking.rows if before + asking.asked == seen else -1
    fits = seen <= learned if _may_be_weighted(saved.input_options) else seen == learned
    if not fits or position.rows > (rows_of_a_pass or position.rows):
        raise ValueError(f"it is after {learned:,} examples, and the model has seen {seen:,}")
    if position.line > position.offset or (position.before is not None and position.offset == 0):
        raise ValueError("its position has more lines than bytes, or text before the beginning")
    if place["seal"] != seal:
        raise ValueError("its fields do not belong together")
    more = start, shuffle, runs, frozen, asking, race, beginning, rises
    return kind(position, ahead, pass_number, rows_of_a_pass, labels, batch, paths, files, *more)


def _checked_start(start: Any) -> dict[str, int] | None:
    if start is not None and (not isinstance(start, dict) or set(start) != {"examples", "checksum"}):
        raise ValueError("what it says of the model that the training went on from is no pair of numbers")
    return None if start is None else {name: _count(start, name, 0) for name in ("examples", "checksum")}


def _checked_shuffle(values: Any) -> Shuffle | None:
    if values is not None and (not isinstance(values, dict) or set(values) != {"seed", "buffer"}):
        raise ValueError("what it says of the order of the rows is no seed and buffer")
    return None if values is None else Shuffle(_count(values, "seed", 0), _count(values, "buffer", 1))


def _checked_runs(values: Any) -> LabelRuns:
    if values is None:  # an older checkpoint
        return LabelRuns()
    if not isinstance(values, dict) or set(values) != {"seen", "runs", "last"}:
        raise ValueError("what it says of the runs of labels is not that")
    seen, runs, last = values["seen"], values["runs"], values["last"]
    counts = isinstance(seen, list) and isinstance(runs, list) and len(seen) == len(runs) <= 1 << 16
    if not counts or not all(type(n) is int and 0 <= n < 1 << 62 for n in (*seen, *runs)):
        raise ValueError("the runs of labels are no counts")
    if type(last) is not int or not -1 <= last < max(len(seen), 1):
        raise ValueError(f"the last label is {last!r}")
    return LabelRuns(seen, runs, last)


def _checked_frozen(values: Any) -> FrozenError:
    if values is None:  # an older checkpoint
        return FrozenError()
    if not isinstance(values, dict) or set(values) != {"rows", "wrong"}:
        raise ValueError("what it says of the frozen model is not that")
    rows, wrong = _count(values, "rows", 0), values["wrong"]
    if type(wrong) is not float or not 0 <= wrong <= rows:
        raise ValueError(f"the mistakes of the frozen model are {wrong!r}")
    return FrozenError(rows, wrong)


def _seal(place: Mapping[str, Any], examples: int) -> int:
    """A checksum of all fields, which detects any single change."""
    return zlib.crc32(canonical({"examples": examples, **place}).encode())


def _may_be_weighted(input_options: Mapping[str, Any]) -> bool:
    """True if rows may have weight zero, which some learners do not count."""
    return input_options.get("format") in ("vw", *BINARY) or input_options.get("weight") is not None


def _count(place: Mapping[str, Any], name: str, least: int) -> int:
    value = place[name]
    if type(value) is not int or not least <= value < 1 << 63:
        raise ValueError(f"its {name} is {value!r}")
    return value


def _is_label(label: Any) -> bool:
    return type(label) in (int, str) or (type(label) is float and math.isfinite(label))


def _same(some: Sequence[Any], others: Sequence[Any]) -> bool:
    """True if they are equal and of the same types, unlike 1 and True."""
    pairs = zip(some, others, strict=False)
    return len(some) == len(others) and all(type(a) is type(b) and a == b for a, b in pairs)


def refuse_other_budget(path: Path, then: Asking | None, now: Asking | None) -> None:
    """Raise ValueError if a checkpoint is of another label budget."""
    was, to_be = (None if one is None else (one.rate, one.seed) for one in (then, now))
    if was != to_be:
        words = ["all labels" if one is None else f"ask={one[0]:g} and seed {one[1]}" for one in (was, to_be)]
        raise ValueError(f"{path} was saved with {words[0]}, and cannot be gone on with {words[1]}.")


def refuse_other_job(
    path: Path,
    saved: ModelFile,
    place: Checkpoint,
    job: tuple[Learner, Stream, dict[str, int] | None, Shuffle | None],
    *,
    files: Files,
    labels: Sequence[Label] | None,
) -> None:
    """Raise ValueError if a checkpoint belongs to another job; `labels` are fixed ones.

    The job is a learner, a stream, facts about the model that the training went on from, if there was one, and the
    random order of the rows, if they do not come in their own.
    """
    learner, stream, start, shuffle = job
    if (start is None) != (place.start is None):
        how = "from the beginning" if place.start is None else "from a model (--from)"
        raise ValueError(f"{path} is of a training that began {how}, and this one does not.")
    if start != place.start:
        raise ValueError(f"{path} is of a training that went on from another model than this one.")
    if shuffle != place.shuffle:
        then, now = (
            "their own order" if one is None else f"random order by seed {one.seed} and a buffer of {one.buffer} rows"
            for one in (place.shuffle, shuffle)
        )
        raise ValueError(f"{path} was saved while rows were read in {then}, and cannot be gone on with in {now}.")
    now, then = type(learner).__name__, type(saved.learner).__name__
    if now != then:
        raise ValueError(f"{path} was saved by {then}, and cannot be gone on with by {now}.")
    for name, value in learner.parameters().items():
        before = saved.learner.parameters()[name]
        if value != before and name not in UNWRITTEN:
            raise ValueError(f"{path} was saved with {name}={before!r}, and cannot be gone on with {name}={value!r}.")
    if labels is not None and saved.labels != label_array(labels).tolist():
        raise ValueError(f"{path} was saved with the labels {saved.labels}, not {list(labels)}.")
    if stream.paths != place.paths:
        raise ValueError(f"{path} was saved while reading {', '.join(place.paths)}, not {', '.join(stream.paths)}.")
    # The format in the options does not tell: for a converted file it is that of the original.
    if place.position.offset and (place.position.before is None) != (stream.format in BINARY):
        raise ModelFileError(
            str(path), "does not say where the training was: the text before its position is not known"
        )
    for name, value in stream.model_options.items():
        if saved.input_options.get(name) != value:
            raise ValueError(
                f"{path} was saved while reading with {name}={saved.input_options.get(name)!r}, not {value!r}."
            )
    for k, facts in enumerate(place.files):
        if difference := files.difference(k, facts):
            raise ValueError(
                f"{stream.paths[k]} is no longer what it was when {path} was saved, so reading cannot go on in it: "
                f"{difference}."
            )

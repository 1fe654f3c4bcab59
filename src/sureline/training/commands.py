"""The command that makes a run's model alone."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from typing import Any

from ..learners.batch import BatchLearner
from ..learners.learner import Learner
from ..stream import Label, Stream, from_text
from ..stream.arrays import ArrayStream
from ..stream.formats.frames import FrameSource
from ..stream.source import STDIN
from .train import BATCH

_SWITCHES = {"zero_based": "--zero-based", "keep_case": "--keep-case", "header": "--no-header"}
_READING = (
    *("zero_based", "duplicates", "bits", "label", "weight", "errors", "max_error_share"),
    *("max_line", "max_label", "max_name", "max_features"),
    *("numeric", "categorical", "text", "timestamp", "ignore", "id", "interact", "ngrams", "chars", "keep_case"),
    *("header", "delimiter", "quote"),
)


def flag(name: str) -> str:
    """The option of the command line that a parameter has."""
    return "--" + name.removeprefix("n_").replace("_", "-")


ONLY_PYTHON = ("growing", "shuffle", "random_state")  # parameters that the command has no option for, nor a use


def options_of(learner: Any, given: Collection[str] = ()) -> list[str] | None:
    """Options of ``sureline train`` for this learner; None if the command line cannot express it.

    Default values are left out unless `given`. But the normalisation is kept if the command would otherwise choose
    settings.
    """
    if learner.in_python:
        return None
    given = {*given, "normalize"} if getattr(learner, "settings_to_try", ()) else given
    parameters = learner.parameters()
    defaults = {field.name: field.default for field in fields(learner)}
    if any(name in parameters and parameters[name] != defaults[name] for name in ONLY_PYTHON):
        return None
    words = ["--algorithm", type(learner).__name__.lower()]
    for name, value in parameters.items():
        default = learner.stream_dtype if name == "dtype" else defaults[name]
        if name != "bits" and (value != default or (name in given and name != "dtype")):
            option = _option(name, value)
            if option is None:
                return None
            words += option
    return words


def _option(name: str, value: Any) -> list[str] | None:
    if name == "average" and isinstance(value, bool):
        return [flag(name), "all" if value else "none"]
    if isinstance(value, bool):
        return [flag(name) if value else "--no-" + name.replace("_", "-")]
    if value is None:
        return None
    if isinstance(value, Mapping):  # class_weight
        pairs = [f"{label}={weight!r}" for label, weight in value.items()]
        whole = all("," not in str(label) and from_text(str(label)) == label for label in value)
        return [flag(name), ",".join(pairs)] if whole and pairs else None
    if isinstance(value, tuple | list):
        return [flag(name), ",".join(map(repr, value))]
    return [f"{flag(name)}={value!r}"] if isinstance(value, float | int) and value < 0 else [flag(name), str(value)]


def _text(value: Any) -> str | None:
    """A reading option on the command line; None if that is impossible."""
    if not isinstance(value, tuple):
        return str(value)
    if all(type(each) is int for each in value):
        return "-".join(map(str, value))
    parts = [[each] if isinstance(each, str) else list(each) for each in value]
    if any("," in name or (":" in name and len(part) > 1) for part in parts for name in part):
        return None
    return ",".join(":".join(part) for part in parts)


class TrainCommands:
    """``sureline train ...`` for learners of one stream."""

    def __init__(
        self, stream: Stream, labels: Sequence[Label] | None = None, batch: int = BATCH, *, shuffle: bool | None = None
    ) -> None:
        self._batch = [] if batch == BATCH else ["--batch", str(batch)]
        self._data: list[str] | None = None
        self._reading: list[str] = []
        if isinstance(stream, ArrayStream) or any(isinstance(source, FrameSource) for source in stream.sources):
            return
        for field in fields(stream.options):
            value = getattr(stream.options, field.name)
            if field.name in _READING and value != field.default:
                text = _text(value)
                if text is None:
                    return
                self._reading += [_SWITCHES[field.name]] if field.name in _SWITCHES else [flag(field.name), text]
        if shuffle is not None:
            self._reading.append("--shuffle" if shuffle else "--no-shuffle")
        if not stream.options.collect_names:
            self._reading.append("--no-names")
        if labels is not None:
            texts = [str(label) for label in labels]
            if any("," in text or text != text.strip() or from_text(text) not in labels for text in texts):
                return
            self._reading.append(f"--labels={','.join(texts)}")  # labels may begin with a minus sign
        paths = [f"./{path}" if path.startswith("-") and path != STDIN else path for path in stream.paths]
        format = [] if stream.format_recognised else ["--format", stream.format]
        self._data = ["sureline", "train", *paths, *format]

    def of(self, learner: Learner, given: Mapping[str, Any]) -> str | None:
        """The command for this model, to the bit; None if the command line cannot express it."""
        if self._data is None:
            return None
        options = options_of(learner, given)
        if options is None:
            return None
        words = [*self._data, *options]
        if isinstance(learner, BatchLearner):
            words += self._batch
        return shlex.join([*words, *self._reading, "--model", f"{type(learner).__name__.lower()}.sureline"])

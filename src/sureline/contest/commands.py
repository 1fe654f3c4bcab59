"""The command that makes the model of a run alone."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from .._batch import BatchLearner
from .._learner import Learner
from .._parameters import flag, options_of
from ..stream import DataError, Label, Stream, from_text
from ..stream._recognise import recognise
from ..stream._source import STDIN, Source
from ..training import BATCH
from .arrays import ArrayStream

_SWITCHES = {"zero_based": "--zero-based"}
_READING = ("zero_based", "duplicates", "bits", "label", "weight", "errors", "max_error_share", "max_line")


class TrainCommands:
    """``sureline train ...`` for learners of one stream."""

    def __init__(self, stream: Stream, labels: Sequence[Label] | None = None, batch: int = BATCH) -> None:
        self._batch = [] if batch == BATCH else ["--batch", str(batch)]
        self._data: list[str] | None = None
        self._reading: list[str] = []
        if isinstance(stream, ArrayStream):
            return
        for field in fields(stream._options):
            value = getattr(stream._options, field.name)
            if field.name in _READING and value != field.default:
                self._reading += [_SWITCHES[field.name]] if field.name in _SWITCHES else [flag(field.name), str(value)]
        if not stream._options.collect_names:
            self._reading.append("--no-names")
        if labels is not None:
            texts = [str(label) for label in labels]
            if any("," in text or text != text.strip() or from_text(text) not in labels for text in texts):
                return
            self._reading.append(f"--labels={','.join(texts)}")  # which may begin with a minus sign
        paths = [f"./{path}" if path.startswith("-") and path != STDIN else path for path in stream.paths]
        self._data = ["sureline", "train", *paths, *_format(stream)]

    def of(self, learner: Learner, given: Mapping[str, Any]) -> str | None:
        """The one that makes this model, to the bit; None if the command line cannot say it."""
        if self._data is None:
            return None
        options = options_of(learner, given)
        if options is None:
            return None
        words = [*self._data, *options]
        if isinstance(learner, BatchLearner):
            words += self._batch
        return shlex.join([*words, *self._reading, "--model", f"{type(learner).__name__.lower()}.sureline"])


def _format(stream: Stream) -> list[str]:
    """Which one, unless it is recognised."""
    try:
        if STDIN not in stream.paths and recognise([Source(path) for path in stream.paths]) == stream.format:
            return []
    except (DataError, OSError):
        pass
    return ["--format", stream.format]

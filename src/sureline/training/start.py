"""The model that a training goes on from: that of yesterday."""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._inputs import label_array
from ..learners.catalogue import learner_of
from ..learners.learner import ClassLearner, Learner
from ..learners.saving import UNWRITTEN, read_learner
from ..stream import Label

_OF_THE_LOOP = ("passes", *UNWRITTEN)  # parameters that say nothing of the model


@dataclass(frozen=True)
class Start:
    """A learner with a model that training continues, and its mark in checkpoints."""

    name: str  # the path of its file, or "start"
    learner: Learner

    @classmethod
    def read(cls, path: str | Path) -> Start:
        """Read it from a model file."""
        saved = read_learner(Path(path))
        if saved.place is not None and not _of_a_pipe(saved.place):
            raise ValueError(f"{path} is a checkpoint of a training that was stopped; go on with it by resuming that.")
        if saved.compact:
            raise ValueError(
                f"{path} is compact: nothing is known of features whose weight is zero, and going on needs that. Go on "
                "from a model that was written whole."
            )
        return cls(str(path), saved.learner)

    @classmethod
    def of(cls, start: Any) -> Start:
        """Make it from a path, a learner or an estimator (which is copied)."""
        if isinstance(start, str | Path):
            return cls.read(start)
        if not isinstance(start, Learner):
            raise TypeError(f"start must be the path of a model, or a model of sureline. Got {start!r} instead.")
        if not start.has_begun:
            raise ValueError(f"start must be a model that has learned something. Got {start!r}, which has not.")
        return cls("start", twin(start, learner_of(start)))

    @property
    def examples(self) -> int:
        return self.learner.n_seen_

    def mark(self) -> dict[str, int]:
        """Facts that identify a model: its examples, and a checksum of counts and intercepts."""
        model = self.learner.model
        counts = np.ascontiguousarray(model.tally, np.int64).tobytes()
        numbers = np.ascontiguousarray(model.intercepts(), np.float64).tobytes()
        return {"examples": self.examples, "checksum": zlib.crc32(numbers, zlib.crc32(counts, model.count_nonzero()))}

    def refuse_other(
        self,
        *,
        kind: type[Learner] | None,
        parameters: Mapping[str, Any],
        labels: Sequence[Label] | None,
    ) -> None:
        """Raise ValueError if other arguments contradict the model. Sets the parameters of the loop."""
        own, name = self.learner.parameters(), type(self.learner).__name__
        if kind is not None and kind.__name__ != name:
            raise ValueError(f"{self.name} is a model of {name}, and cannot be gone on with by {kind.__name__}.")
        for parameter, value in parameters.items():
            if parameter in _OF_THE_LOOP and parameter in own:
                setattr(self.learner, parameter, value)
            elif parameter not in own:
                raise ValueError(f"{self.name} is a model of {name}, which has no parameter {parameter!r}.")
            elif own[parameter] != value:
                raise ValueError(
                    f"{self.name} was trained with {parameter}={own[parameter]!r}, and cannot be gone on with "
                    f"{parameter}={value!r}."
                )
        if labels is not None and label_array(labels).tolist() != self.learner.labels:
            raise ValueError(f"{self.name} has the labels {self.learner.labels}, not {list(labels)}.")


def _of_a_pipe(place: Mapping[str, Any]) -> bool:
    """True for a checkpoint whose rows cannot be read again unless they are sent again."""
    files = place.get("files")
    return isinstance(files, list) and None in files


def refuse_finished(model: Path, checkpoint: Path, start: str | None, option: str) -> None:
    """Raise ValueError if there is nothing to resume, but a finished model that would be replaced.

    `start` is the path of the model to continue from, perhaps the same one, and `option` is its option's name.
    """
    same = start is not None and os.path.exists(start) and model.exists() and os.path.samefile(start, model)
    if model.exists() and not same:
        raise ValueError(
            f"There is no checkpoint {checkpoint} to resume, and {model} is a finished model: {option}{model} goes on "
            "learning from it; without resuming, the training begins anew and replaces it."
        )


def twin(learner: Learner, kind: type[Learner]) -> Learner:
    """A learner of this class with the same parameters, and a copy of all that was learned."""
    copy = kind(**learner.parameters())
    model: Any = learner.model
    copy.adopt(model.copy() if hasattr(model, "copy") else model, learner.normalizer.copy())
    for attribute in ("n_features_in_", "feature_names_in_"):
        if hasattr(learner, attribute):
            setattr(copy, attribute, getattr(learner, attribute))
    if isinstance(copy, ClassLearner) and isinstance(learner, ClassLearner):
        copy.classes_ = learner.classes_
    copy.origin = learner.origin.copy()
    return copy

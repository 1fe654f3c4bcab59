"""Predictions in one call, from files and data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._inputs import Array
from ..learners.answers import answer, answerable
from ..learners.learner import ClassLearner, Learner
from ..learners.saving import read_learner
from ..stream import Chunk, Stream, read
from ..stream.formats.frames import is_frame

if TYPE_CHECKING:
    from ..estimators.saving import Estimator


def predict(
    model: str | Path | Estimator | Learner,
    data: str | Path | Sequence[str | Path] | Sequence[Mapping[str, Any]] | Stream | Any,
    *,
    confidence: bool = False,
    probabilities: bool = False,
    **options: Any,
) -> Array | dict[str, Array]:
    """Predict every row of files or of a data frame, as ``sureline predict`` does.

    Parameters
    ----------
    model : path, estimator or learner
        A model that was trained from a stream: by `train`, or by the command line.
    data : path, glob, list of them, data frame, list of dicts, or sureline.stream.Stream
        The rows. They are read as those of the training were, and their labels are not looked at. A table must have
        the columns of the model; other columns are left out. A data frame may be one of pandas or Polars, also a lazy
        one, a table of pyarrow, or anything else with the Arrow C stream interface.
    confidence : bool, default=False
        Return score and confidence as well.
    probabilities : bool, default=False
        Return the probability of each label as well.
    **options
        Options of `sureline.stream.read`, such as `format`, `delimiter` and `header`.

    Returns
    -------
    array or dict of arrays
        The predicted labels, one for each row; of a regressor, numbers. With `confidence` or `probabilities` a dict
        of such arrays, which ``pandas.DataFrame`` and ``polars.DataFrame`` take: "label", "score", "confidence" and
        "probability of LABEL"; of a regressor "value".
    """
    learner = read_learner(Path(model)).learner if isinstance(model, str | Path) else model
    if not isinstance(learner, Learner):
        raise TypeError(f"model must be the path of a model, or a model of sureline. Got {model!r} instead.")
    if not learner.has_begun:
        raise ValueError(f"model must have learned something. Got {model!r}, which has not.")
    if not learner.origin.options:
        raise ValueError("The model was trained from arrays, and not from files or tables: call its own predict.")
    if isinstance(data, Stream) and options:
        raise TypeError(f"{', '.join(options)} must be set where the stream is made, by sureline.stream.read.")
    classes = isinstance(learner, ClassLearner)
    if probabilities and not classes:
        raise ValueError(f"probabilities is for classifiers, and {type(learner).__name__} predicts numbers.")
    chunks = (part for chunk in _chunks(learner, data, options) for part in answerable(learner, chunk))
    parts = [_columns(learner, chunk, probabilities=probabilities) for chunk in chunks]
    parts = parts or [_columns(learner, _nothing(learner), probabilities=probabilities)]
    columns = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    if not confidence and not probabilities:
        return columns["label" if classes else "value"]
    if not confidence and classes:
        del columns["score"], columns["confidence"]
    return columns


def _chunks(learner: Learner, data: Any, options: dict[str, Any]) -> Any:
    origin, dtype = learner.origin, str(learner.model.dtype)
    if isinstance(data, Sequence) and not isinstance(data, str) and data and all(map(_is_record, data)):
        return [origin.chunk(data, dtype)]
    if isinstance(data, Stream):
        stream = data.with_options(dtype=dtype, need_label=False)
    else:
        if not is_frame(data) and hasattr(data, "shape"):
            raise TypeError("The model was trained from a stream: data must be files or a data frame, not an array.")
        trained = {name: value for name, value in origin.options.items() if name not in options}
        if is_frame(data):
            trained.pop("format", None)
        stream = read(data, dtype=dtype, fallback=trained, **{"need_label": False, **options})
    origin.refuse_other(stream)
    return stream


def _is_record(each: Any) -> bool:
    return isinstance(each, Mapping)


def _columns(learner: Learner, chunk: Chunk, *, probabilities: bool) -> dict[str, Array]:
    if not isinstance(learner, ClassLearner):
        scores, _ = learner.judge_rows(chunk.values, chunk.indices, chunk.indptr, chunk.n_columns)
        return {"value": scores[:, 0]}
    answers = answer(learner, chunk)
    columns = {
        "label": learner.classes_[answers.chosen],
        "score": answers.score,
        "confidence": answers.confidence,
    }
    if probabilities:
        columns |= {f"probability of {label}": answers.probabilities[:, k] for k, label in enumerate(learner.labels)}
    return columns


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _nothing(learner: Learner) -> Chunk:
    """A chunk without rows, of the model's width."""
    dtype = learner.model.dtype
    none = np.zeros(0, np.int32)
    return Chunk(np.zeros(0, dtype), none, np.zeros(1, np.int32), (none, []), learner.model.n_columns)

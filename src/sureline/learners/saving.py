"""Learners to files and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from .._inputs import Array, label_array
from .._native import _core
from ..models.file import ModelContents, ModelFileError, model_bytes, read_model, write_model
from ..models.groups import GroupState
from ..models.scaling import Normalizer
from ..models.state import State
from ..stream.options import checked_model_options
from .catalogue import EVERY_LEARNER
from .class_weight import packed, unpacked
from .guarded import asking
from .learner import ClassLearner, Learner
from .origin import Origin
from .regression import TargetLearner
from .targets import TargetScale

UNWRITTEN = ("device",)  # parameters of a learner that say nothing of its model
_NAMES = "names."  # prefix of the tensors with the table of names


@dataclass(frozen=True)
class ModelFile:
    """The contents of a file."""

    learner: Learner
    labels: list[Any]  # empty for a regressor
    names: _core.NameTable | None
    input_options: dict[str, Any]  # how the rows were read that it was trained with
    place: dict[str, Any] | None  # of a checkpoint: how far the training had come
    library: str  # the version of sureline that wrote it
    compact: bool = False  # leaves out features whose weight is zero
    tensors: Mapping[str, Array] = field(default_factory=dict)  # other tensors in the file


def write_learner(
    path: Path,
    learner: Learner,
    *,
    place: Mapping[str, Any] | None = None,
    compact: bool = False,
    tensors: Mapping[str, Array] | None = None,
) -> None:
    """Write a learner, with how its rows were read and their names, and further `tensors`.

    With a `place` it is a checkpoint.
    """
    if learner.in_python:
        raise ValueError(
            f"{type(learner).__name__} is written in Python, and a model file holds no code: pickle the estimator "
            "instead."
        )
    with asking(learner):
        kind = "model" if place is None else "checkpoint"
        write_model(path, kind=kind, **_parts_of(learner, place, compact, tensors or {}))


def learner_bytes(learner: Learner) -> bytes:
    """The bytes of the file of a learner."""
    with asking(learner):
        return model_bytes(**_parts_of(learner, None, False, {}))


def _parts_of(
    learner: Learner, place: Mapping[str, Any] | None, compact: bool, more: Mapping[str, Array]
) -> dict[str, Any]:
    """The arguments of `write_model`."""
    state: Any = learner._fitted_state("state to write")
    scales, names = learner.normalizer, learner.origin.names
    if compact:
        if names is not None and learner.has_weights:
            columns = [slots[slots > 0] - 1 for slots, _ in state.nonzero()]
            names = _only(names, np.unique(np.concatenate(columns)))
        state = state.only_nonzero()
        if isinstance(state, GroupState) or (isinstance(state, State) and state.forgets):
            scales = scales.only(np.concatenate([slots[slots > 0] - 1 for slots, _ in state.nonzero()]))
    metadata: dict[str, Any] = {"input": dict(learner.origin.options)}
    if compact:
        metadata["compact"] = True
    if place is not None:
        metadata["place"] = dict(place)
    if isinstance(learner, TargetLearner):
        metadata["targets"] = learner.target_scale.to_dict()
    if hasattr(learner, "feature_names_in_"):
        metadata["feature_names"] = learner.feature_names_in_.tolist()
    tensors = {} if names is None else {_NAMES + key: array for key, array in names.to_arrays().items()}
    return {
        "class_name": type(learner).__name__,
        "parameters": _parameters_to_write(learner),
        "labels": learner.labels,
        "state": state,
        "extra_metadata": metadata,
        "extra_tensors": {**tensors, **more},
        "scales": scales,
    }


def read_learner(path: Path | bytes) -> ModelFile:
    """Read back the output of `write_learner` or `learner_bytes`, everything checked."""
    contents = read_model(path)

    def refuse(reason: str) -> NoReturn:
        raise ModelFileError("the bytes of a model" if isinstance(path, bytes) else str(path), reason)

    known = EVERY_LEARNER
    if contents.class_name not in known:
        refuse(f"is a model of the class {contents.class_name}, which this version does not know")
    has_classes = issubclass(known[contents.class_name], ClassLearner)
    if (has_classes and not contents.labels) or (contents.kind == "checkpoint") != ("place" in contents.metadata):
        refuse("has no labels, or is no checkpoint where it says so")
    if contents.labels and not has_classes:
        refuse(f"has labels, and {contents.class_name} predicts numbers")
    try:
        learner = known[contents.class_name](**_parameters(contents))
        learner.check_parameters()
        normalizer = _normalizer(learner, contents.scales)
        if isinstance(learner, ClassLearner):
            learner.refuse_classes(len(contents.labels))
            learner.classes_ = label_array(contents.labels)
        if isinstance(learner, TargetLearner) and "targets" in contents.metadata:
            learner.target_scale = TargetScale.of(contents.metadata["targets"])
        learner.adopt(contents.state, normalizer)
        learner.n_features_in_ = contents.state.n_columns
        names = _names(contents.tensors)
    except (TypeError, ValueError) as error:
        refuse(f"does not fit together: {error}")
    feature_names = contents.metadata.get("feature_names")
    if feature_names is not None:
        if not isinstance(feature_names, list) or not all(isinstance(name, str) for name in feature_names):
            refuse("has feature names that are not text")
        learner.feature_names_in_ = np.array(feature_names, object)
    input_options, place = contents.metadata.get("input", {}), contents.metadata.get("place")
    compact = contents.metadata.get("compact", False)
    if not isinstance(compact, bool):
        refuse("does not say whether it is compact")
    if not isinstance(place, dict | None):
        refuse("has a place that is no object")
    try:
        checked_model_options(input_options)
    except ValueError as error:
        refuse(f"has options of reading that are none: {error}")
    learner.origin = Origin(input_options, names)
    more = {name: array for name, array in contents.tensors.items() if not name.startswith(_NAMES)}
    return ModelFile(learner, learner.labels, names, input_options, place, contents.library, compact, more)


def _normalizer(learner: Learner, scales: Normalizer | None) -> Normalizer:
    fresh = learner.fresh_normalizer()
    if (fresh.kind == "scale") != (scales is not None) or (scales is not None and scales.dtype != fresh.dtype):
        raise ValueError(f"normalize={fresh.kind!r} and the scales")
    return fresh if scales is None else scales


def _only(names: _core.NameTable, columns: npt.NDArray[np.int64]) -> _core.NameTable:
    """The names of these columns, as tensors."""
    arrays = names.to_arrays()
    kind, bits = int(arrays["totals"][1]), int(arrays["totals"][2])
    hashes = arrays["hashes"].astype(np.int64)
    if kind != 0:  # as FeatureHasher has it: the magnitude of the hash as a signed number
        hashes = np.where(hashes >= 1 << 31, (1 << 32) - hashes, hashes)
    keep = np.flatnonzero(np.isin(hashes & ((1 << bits) - 1), columns)).tolist()
    blob, offsets = arrays["names"], arrays["offsets"]
    pieces = [blob[offsets[k] : offsets[k + 1]] for k in keep]
    arrays["names"] = np.concatenate([*pieces, blob[:0]])
    arrays["offsets"] = np.cumsum([0, *map(len, pieces)]).astype(offsets.dtype)
    for key in ("hashes", "counts"):
        arrays[key] = arrays[key][keep]
    if arrays["totals"][4] == 0:  # nothing was dropped before, so every counted name is here
        arrays["totals"][3] = arrays["counts"].sum()
    return _core.NameTable.from_arrays(arrays)


def _parameters_to_write(learner: Learner) -> dict[str, Any]:
    parameters = {name: value for name, value in learner.parameters().items() if name not in UNWRITTEN}
    given = packed(parameters.pop("class_weight", None))
    return parameters if given is None else {**parameters, "class_weight": given}


def _parameters(contents: ModelContents) -> dict[str, Any]:
    """The parameters of the learner, also from files of earlier versions."""
    parameters = {"normalize": "none"} | contents.parameters
    if "targets" not in contents.metadata and issubclass(EVERY_LEARNER[contents.class_name], TargetLearner):
        parameters.setdefault("scale_target", False)  # absent in earlier files
    if "class_weight" in parameters:
        parameters["class_weight"] = unpacked(parameters["class_weight"])
    if contents.class_name == "KernelSCW" and parameters.get("budget", 0) is None:
        del parameters["budget"]  # formerly a bound on the stored examples; None was no bound
    # JSON has no tuples; the pair of costs is one.
    return {name: tuple(value) if isinstance(value, list) else value for name, value in parameters.items()}


def _names(tensors: Mapping[str, Array]) -> _core.NameTable | None:
    arrays = {key.removeprefix(_NAMES): array for key, array in tensors.items() if key.startswith(_NAMES)}
    return _core.NameTable.from_arrays(arrays) if arrays else None

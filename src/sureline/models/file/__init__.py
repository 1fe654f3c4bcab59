"""Model files: safe to load, whole or not there, and specified byte by byte in docs/model-file.md.

Loading runs no code and trusts nothing: changed, truncated or forged files are refused with a reason.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._atomic import WriteError, remove_stale
from ..._inputs import Array
from ..scaling import Normalizer
from .canonical import canonical, pack, parse, unpack
from .codec import MOST_BYTES, AnyState, decode, encode
from .container import Tensor, container_bytes, container_of, read_container, write_container
from .errors import ModelFileError, Refusal
from .record import arrays_of_record, checked_record
from .scales import arrays_of_scales, checked_scales

__all__ = [
    "MOST_BYTES",
    "ModelContents",
    "ModelFileError",
    "WriteError",
    "model_bytes",
    "read_model",
    "remove_stale",
    "write_model",
]

FORMAT = 1  # the version written, and the only one read
_FIELDS = {"format", "library", "kind", "class", "parameters", "labels", "state", "extra"}
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]{0,99}")
_PRINTABLE = re.compile("[ -~]{1,100}")
_EXTRA = "extra."

Label = bool | int | float | str


@dataclass(frozen=True)
class ModelContents:
    """The contents of a model file."""

    kind: str  #: "model", or another kind given on writing
    class_name: str  #: the learner: any identifier, which callers look up in a list
    parameters: dict[str, Any]
    labels: list[Label]  #: one for each class, all different
    state: AnyState
    metadata: dict[str, Any]  #: the `extra_metadata` given on writing
    tensors: dict[str, Array]  #: and as `extra_tensors`
    library: str  #: the writer, such as "sureline 0.1.0"
    scales: Normalizer | None = None  #: the divisors of features, if there are any


def write_model(
    path: str | os.PathLike[str],
    *,
    class_name: str,
    parameters: Mapping[str, Any],
    labels: Sequence[Label] | Array,
    state: AnyState,
    kind: str = "model",
    extra_metadata: Mapping[str, Any] | None = None,
    extra_tensors: Mapping[str, Array] | None = None,
    scales: Normalizer | None = None,
) -> None:
    """Write a model atomically: the file at `path` is replaced when the new one is complete on the disk.

    Parameters
    ----------
    path : str or path-like
    class_name : str
    parameters : mapping of str
        To numbers, text, True, False, None, and lists, tuples and mappings of them.
    labels : sequence of bool, int, float or str, or such an array
    state : State, PrecisionState, GroupState or KernelModel
        Must not change meanwhile.
    kind : str, default="model"
    extra_metadata : mapping of str, default=None
        As for parameters.
    extra_tensors : mapping of str to arrays, default=None
        Of float64, float32, int64, int32, uint64, uint32 or uint8; names of lower-case letters, digits, dots and _.
    scales : Normalizer, default=None
        What features are divided by. Must not change meanwhile.

    Raises
    ------
    TypeError, ValueError
        If a file cannot hold that.
    WriteError
        If the file could not be written. It is an OSError, and the old file is as it was.
    """
    write_container(path, *_encoded(class_name, parameters, labels, state, kind, extra_metadata, extra_tensors, scales))


def model_bytes(
    *,
    class_name: str,
    parameters: Mapping[str, Any],
    labels: Sequence[Label] | Array,
    state: AnyState,
    extra_metadata: Mapping[str, Any] | None = None,
    extra_tensors: Mapping[str, Array] | None = None,
    scales: Normalizer | None = None,
) -> bytes:
    """The bytes of the file that `write_model` writes."""
    return container_bytes(
        *_encoded(class_name, parameters, labels, state, "model", extra_metadata, extra_tensors, scales)
    )


def _encoded(
    class_name: str,
    parameters: Mapping[str, Any],
    labels: Sequence[Label] | Array,
    state: AnyState,
    kind: str,
    extra_metadata: Mapping[str, Any] | None,
    extra_tensors: Mapping[str, Array] | None,
    scales: Normalizer | None,
) -> tuple[str, dict[str, Tensor]]:
    """The metadata and the tensors."""
    for name in (class_name, kind):
        if not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"{name!r} is not a name that a model file can hold.")
    for name in parameters:
        if not _IDENTIFIER.fullmatch(name):
            raise ValueError(f"{name!r} is not a name that a parameter can have.")
    names = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    metadata: dict[str, Any] = {
        "format": FORMAT,
        "library": f"sureline {_version()}",
        "kind": kind,
        "class": class_name,
        "parameters": {name: pack(value, f"The parameter {name!r}") for name, value in parameters.items()},
        "labels": [pack(name, "A label") for name in names],
        "extra": pack(dict(extra_metadata or {}), "The extra metadata"),
    }
    if reason := _wrong_with_labels(unpack(metadata["labels"], "")):
        raise ValueError(f"{reason[0].upper()}{reason[1:]}.")
    metadata["state"], tensors = encode(state)
    for arrays in (arrays_of_scales(scales), arrays_of_record(state)):
        tensors |= {name: Tensor.of(array) for name, array in arrays.items()}
    for name, array in (extra_tensors or {}).items():
        tensors[_EXTRA + name] = Tensor.of(np.asarray(array))
    return canonical(metadata), tensors


def read_model(path: str | os.PathLike[str] | bytes) -> ModelContents:
    """The contents of a model file, or of the bytes of one.

    Raises
    ------
    ModelFileError
        If the file is not exactly what `write_model` wrote. It is a ValueError.
    OSError
        If there is no such file, or it cannot be read.
    """
    name = "the bytes of a model" if isinstance(path, bytes) else os.fsdecode(path)
    try:
        return _contents(*(container_of(path) if isinstance(path, bytes) else read_container(path)))
    except Refusal as refusal:
        raise ModelFileError(name, str(refusal)) from None
    except MemoryError:
        raise ModelFileError(name, "needs more memory than there is") from None


def _contents(text: str, tensors: dict[str, Array]) -> ModelContents:
    metadata = parse(text)
    version = metadata.get("format") if isinstance(metadata, dict) else None
    if type(version) is not int or not 1 <= version < 1 << 31:
        raise Refusal("the metadata does not say which format it is in")
    if version != FORMAT:
        raise Refusal(f"is in format {version}, and sureline {_version()} reads only format {FORMAT}")
    if metadata.keys() != _FIELDS:
        raise Refusal("the metadata does not have the fields it should have")
    for field, pattern in (("kind", _IDENTIFIER), ("class", _IDENTIFIER), ("library", _PRINTABLE)):
        if not isinstance(metadata[field], str) or not pattern.fullmatch(metadata[field]):
            raise Refusal(f"the {field} is not a name")
    parameters, labels, extra = (
        unpack(metadata[field], f"the field {field}") for field in ("parameters", "labels", "extra")
    )
    if not isinstance(parameters, dict) or not all(_IDENTIFIER.fullmatch(name) for name in parameters):
        raise Refusal("the parameters are not an object of names and values")
    if not isinstance(extra, dict):
        raise Refusal("the extra metadata is not an object")
    if reason := _wrong_with_labels(labels):
        raise Refusal(reason)
    state = decode(metadata["state"], tensors, len(labels))
    scales = checked_scales(tensors, state)
    state.record = checked_record(tensors, state)
    for name in tensors:
        if not name.startswith(_EXTRA):
            raise Refusal(f"the tensor {name} does not belong to this model")
    return ModelContents(
        kind=metadata["kind"],
        class_name=metadata["class"],
        parameters=parameters,
        labels=labels,
        state=state,
        metadata=extra,
        tensors={name.removeprefix(_EXTRA): array for name, array in tensors.items()},
        library=metadata["library"],
        scales=scales,
    )


def _wrong_with_labels(labels: Any) -> str | None:
    if not isinstance(labels, list) or not all(isinstance(label, bool | int | float | str) for label in labels):
        return "a label is not text, a number, true or false"
    if len(set(labels)) != len(labels) or any(label != label for label in labels):
        return "a label is there twice, or is not a number"
    return None


def _version() -> str:
    from ... import __version__

    return __version__

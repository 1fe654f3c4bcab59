"""Metadata that `convert` writes to Arrow files: the source of the rows, and names of columns."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from ..._native import _core
from ..options import FORMATS, checked_model_options

METADATA = b"sureline"  # the key of the description of a file's source
NAMES = b"sureline.names"  # the key of the table of names, in the metadata of the last batch


def pyarrow() -> Any:
    """The package, or a sentence on how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError("Arrow and Parquet files need pyarrow: pip install 'sureline[arrow]'") from None
    return pyarrow


def pack_names(names: _core.NameTable) -> bytes:
    """A table of names as text: a description, then its arrays in sequence."""
    arrays = names.to_arrays()
    header = json.dumps({name: [str(array.dtype), len(array)] for name, array in arrays.items()})
    return base64.b64encode(header.encode() + b"\n" + b"".join(array.tobytes() for array in arrays.values()))


def unpack_names(packed: bytes) -> _core.NameTable:
    """The table of names from `pack_names`; ValueError if the text is invalid."""
    header, _, content = base64.b64decode(packed, validate=True).partition(b"\n")
    arrays = {}
    at = 0
    try:
        for name, (kind, n) in json.loads(header).items():
            arrays[name] = np.frombuffer(
                content, np.dtype({"uint8": "u1", "uint32": "<u4", "int64": "<i8"}[kind]), n, at
            )
            at += arrays[name].nbytes
    except (TypeError, AttributeError, KeyError, RecursionError):
        raise ValueError("its table of names is not one") from None
    return _core.NameTable.from_arrays(arrays)


def stated_width(schema: Any) -> int:
    """The number of columns that names were hashed to, according to `convert`; 0 if unknown."""
    try:
        about = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        width = about.get("n_columns")
    except (ValueError, AttributeError, RecursionError):
        return 0
    return width if isinstance(width, int) and 0 < width <= 1 << 30 else 0


def stated_origin(schema: Any) -> dict[str, Any]:
    """Format and options of the source, according to `convert`; empty if unknown."""
    try:
        about = json.loads((schema.metadata or {}).get(METADATA, b"{}"))
        format, shift = about.get("format"), about.get("shift")
    except (ValueError, AttributeError, RecursionError):
        return {}
    if format == "libsvm":
        return {"format": format, "zero_based": shift == 1}
    bits = stated_width(schema).bit_length() - 1
    if format not in FORMATS or not 1 <= bits <= 30:
        return {}
    origin = {"format": format, "bits": bits, **(about.get("words") or {})}
    if about.get("schema") is not None:
        origin["schema"] = about["schema"]
    try:
        return checked_model_options(origin)
    except (ValueError, TypeError) as error:
        raise ValueError(f"its {METADATA.decode()} metadata are none: {error}") from None

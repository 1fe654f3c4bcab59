"""The stream that a model was learned from: how its rows were read, and the names behind its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._native import _core
from ..stream import Chunk, DataError, Stream
from ..stream.chunk import merged_names
from ..stream.examples import parsed

# What the columns of a format are. Those of Arrow and Parquet are what they were made of.
_COLUMNS = {
    "libsvm": "numbered in the file",
    "vw": "hashed as Vowpal Wabbit does it",
    **dict.fromkeys(("csv", "tsv", "jsonl", "text"), "hashed names"),
}


@dataclass(eq=False)
class Origin:
    """Options that the rows of a stream were read with, none if they came as arrays, and names of its columns."""

    options: dict[str, Any] = field(default_factory=dict)
    names: _core.NameTable | None = None

    @property
    def numbered(self) -> bool:
        """True if rows may be of any width: their columns are numbered in files, which need not have the last ones."""
        return self.options.get("format") == "libsvm"

    @property
    def takes_names(self) -> bool:
        """True if columns are the hashes of names that single examples may come with: not those of LIBSVM and VW."""
        return self.options.get("format") not in ("libsvm", "vw")

    def reads(self, x: Any) -> bool:
        """True if this example is written in the words of the format, rather than as columns and values."""
        if not self.options:
            return False
        return isinstance(x, str) or (
            isinstance(x, Mapping) and not self.numbered and all(isinstance(name, str) for name in x)
        )

    def chunk(self, examples: Sequence[Any], dtype: Any) -> Chunk:
        """Rows of examples that are written in the words of the format, as a file would give them."""
        return parsed(examples, self.options, dtype=str(np.dtype(dtype)), names=self.names is not None)

    def learned(self, chunk: Chunk | None) -> None:
        """These rows have been learned from: their names belong to the model from now on."""
        if chunk is not None and self.names is not None:
            self.names = merged_names(self.names, chunk)

    def copy(self) -> Origin:
        """One whose names grow on their own."""
        names = None
        if self.names is not None:
            names = _core.NameTable.from_arrays(self.names.to_arrays())
        return Origin(dict(self.options), names)

    def refuse_other(self, stream: Stream) -> None:
        """Raise DataError if the columns of a stream cannot mean what those of the model mean."""
        trained, now = self.options.get("format", ""), stream.model_options
        if trained in _COLUMNS and stream.format in _COLUMNS and _COLUMNS[trained] != _COLUMNS[stream.format]:
            raise DataError(
                stream.paths[0],
                f"its format is {stream.format}, whose columns are {_COLUMNS[stream.format]}; the model was trained "
                f"from {trained}, whose columns are {_COLUMNS[trained]}, so they do not mean the same",
            )
        if "bits" in now and now["bits"] != self.options.get("bits", now["bits"]):
            raise DataError(
                stream.paths[0],
                f"its names are hashed to 2^{now['bits']} columns (bits), and those of the model to "
                f"2^{self.options['bits']}, so they do not mean the same",
            )

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options, "names": None if self.names is None else self.names.to_arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.options = state["options"]
        self.names = None if state["names"] is None else _core.NameTable.from_arrays(state["names"])

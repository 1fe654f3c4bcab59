"""The stream that a model was learned from: how its rows were read, and the names behind its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._native import _core
from ..stream import Chunk, DataError, Stream, read
from ..stream.chunk import joined, merged_names
from ..stream.examples import ExampleParser
from ..stream.options import BINARY, TABLES

# The meaning of a format's columns. List columns of Arrow and Parquet have that of their source.
_COLUMNS = {
    "libsvm": "numbered in the file",
    "vw": "hashed as Vowpal Wabbit does it",
    "text": "hashed words",
    **dict.fromkeys(TABLES, "hashed names of a table"),
}


@dataclass(eq=False)
class Origin:
    """Reading options of a stream's rows (none for arrays), and names of its columns."""

    options: dict[str, Any] = field(default_factory=dict)
    names: _core.NameTable | None = None
    _parser: tuple[Any, ...] | None = field(default=None, init=False, repr=False)

    @property
    def numbered(self) -> bool:
        """True if rows may have any width, because files number their columns and may lack the last ones."""
        return self.options.get("format") == "libsvm"

    @property
    def takes_names(self) -> bool:
        """True if columns are hashes of names that single examples may use, as in no LIBSVM or VW file."""
        return self.options.get("format") not in ("libsvm", "vw")

    def reads(self, x: Any) -> bool:
        """True if this example is written in the words of the format, rather than as columns and values."""
        if not self.options:
            return False
        if isinstance(x, str):  # a text is refused for models of a table, with the form an example must have
            return True
        return isinstance(x, Mapping) and not self.numbered and all(isinstance(name, str) for name in x)

    @property
    def of_table(self) -> bool:
        """True for columns of a table, so that data frames with these columns can be read."""
        return "schema" in self.options

    def chunk(self, examples: Sequence[Any], dtype: Any) -> Chunk:
        """Rows of examples that are written in the words of the format, as a file would give them."""
        return self.parser(dtype)(examples)

    def parser(self, dtype: Any) -> ExampleParser:
        """The reader of such examples: made once, since a call of `learn_one` takes less time than to make it."""
        made, key = self._parser, (str(np.dtype(dtype)), self.names is not None)
        if made is None or made[0] != key or made[1] is not self.options:
            parser = ExampleParser(self.options, dtype=key[0], names=key[1])
            self._parser = key, self.options, parser
            return parser
        found: ExampleParser = made[2]
        return found

    def frame_chunk(self, frame: Any, dtype: Any) -> Chunk:
        """Rows of a data frame with the columns of the table."""
        options = dict(self.options, format=None)
        stream = read(
            frame,
            dtype=str(np.dtype(dtype)),
            need_label=False,
            collect_names=self.names is not None,
            threads=1,
            fallback={name: value for name, value in options.items() if name != "weight"},
        )
        chunks = list(stream)
        if not chunks:
            raise ValueError("There must be at least one row.")
        return joined(chunks)

    def learned(self, chunk: Chunk | None) -> None:
        """Add the names of learned rows to the model's names."""
        if chunk is not None and self.names is not None:
            self.names = merged_names(self.names, chunk)

    def copy(self) -> Origin:
        """A copy whose names grow on their own."""
        names = None
        if self.names is not None:
            names = _core.NameTable.from_arrays(self.names.to_arrays())
        return Origin(dict(self.options), names)

    def refuse_other(self, stream: Stream) -> None:
        """Raise DataError if the columns of a stream differ in meaning from the model's."""
        trained, now = self.options.get("format", ""), stream.model_options
        listed = stream.format in BINARY and "schema" not in now
        format = now.get("format", stream.format) if listed else stream.format
        known = trained in _COLUMNS and format in _COLUMNS and not (listed and format in BINARY)
        if known and trained in BINARY and "schema" not in self.options:
            known = False  # list columns without a note on their source
        if known and _COLUMNS[trained] != _COLUMNS[format]:
            raise DataError(
                stream.paths[0],
                f"its format is {format}, whose columns are {_COLUMNS[format]}; the model was trained "
                f"from {trained}, whose columns are {_COLUMNS[trained]}, so they do not mean the same",
            )
        if known and trained in TABLES and not listed and "schema" not in self.options:
            raise DataError(
                stream.paths[0],
                f"the model was trained from {trained} by a version that kept no schema of its columns; train it anew",
            )
        if known and listed and "schema" in now and now["schema"] != self.options.get("schema"):
            raise DataError(stream.paths[0], "it was converted from a table whose columns are not those of the model")
        if "bits" in now and now["bits"] != self.options.get("bits", now["bits"]):
            raise DataError(
                stream.paths[0],
                f"its names are hashed to 2^{now['bits']} columns (bits), and those of the model to "
                f"2^{self.options['bits']}, so they do not mean the same",
            )
        stream.refuse_strangers()

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options, "names": None if self.names is None else self.names.to_arrays()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.options, self._parser = state["options"], None
        self.names = None if state["names"] is None else _core.NameTable.from_arrays(state["names"])

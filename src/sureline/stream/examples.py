"""Single examples in the words of a format, read by the parser of the format: the rows that its files would give."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .chunk import Chunk
from .formats.json_lines import JsonLines
from .formats.native import NativeParser
from .formats.tables import TextLines
from .options import NATIVE, TABLES, Options, restored

_IN_VW = "a name in VW text has no space, tab, newline, colon or bar"


def parsed(examples: Sequence[Any], model_options: Mapping[str, Any], *, dtype: str, names: bool = False) -> Chunk:
    """Parse examples like the rows of a model's training stream; one row per example.

    An example of text, VW or LIBSVM is a line without its label. One of VW may be a dict of names such as "a^x", and
    one of a table is a dict of its columns, or a text if it has one column of text and no other. ValueError says which
    example is wrong, and why.
    """
    return ExampleParser(model_options, dtype=dtype, names=names)(examples)


class ExampleParser:
    """Reads examples like `parsed`, many times; options are evaluated once."""

    def __init__(self, model_options: Mapping[str, Any], *, dtype: str, names: bool = False) -> None:
        own = {name: value for name, value in restored(model_options).items() if name not in ("format", "weight")}
        options = Options(**own, dtype=dtype, need_label=False, collect_names=names, threads=1)
        self.format: str = model_options["format"]
        self._model_options = model_options
        self._parse = _parser(self.format, options)

    def __call__(self, examples: Sequence[Any]) -> Chunk:
        format, parse = self.format, self._parse
        lines = [_line(example, format, self._model_options, number) for number, example in enumerate(examples)]
        chunk: Chunk = parse(_block(lines), 0)
        if chunk.block.n_faults or chunk.n_rows != len(lines):
            for number, line in enumerate(lines):  # the number of the example
                alone = parse(_block([line]), 0)
                if alone.block.n_faults or alone.n_rows != 1:
                    faults = alone.block.faults
                    reason = faults[0].reason if faults else f"it is {alone.n_rows} rows, and must be one"
                    raise ValueError(f"Example {number} cannot be read as {format}: {reason}.")
        return chunk

    @property
    def reads_json_lines(self) -> bool:
        """True for rows of a table, so that `lines` reads JSON lines."""
        return self.format in TABLES

    def lines(self, block: bytes) -> Chunk:
        """The rows of whole lines, up to the first unreadable one, which is in `block.faults`."""
        chunk: Chunk = self._parse(memoryview(block), 0)
        return chunk


def _parser(format: str, options: Options) -> Any:
    if format in NATIVE:
        return NativeParser(format, options)
    return TextLines(options) if format == "text" else JsonLines(options)


def _block(lines: list[str]) -> memoryview:
    return memoryview(("\n".join(lines) + "\n" if lines else "").encode(errors="surrogatepass"))


def _line(example: Any, format: str, options: Mapping[str, Any], number: int) -> str:
    if format == "text" and isinstance(example, str):
        return "\t" + example.translate(_SPACES)
    if format == "vw" and isinstance(example, Mapping):
        return _vw_line(example, number)
    if format in NATIVE and isinstance(example, str):
        first = example.split(maxsplit=1)[0] if example.strip() else ":"
        return f"0 {example}" if format == "libsvm" and ":" in first else example
    if format not in (*NATIVE, "text") and isinstance(example, Mapping):
        special = {options.get("label"), options.get("weight")}
        return _json({name: _plain(value) for name, value in example.items() if name not in special}, number)
    if isinstance(example, str) and (column := _only_text(options)) is not None:
        return _json({column: example}, number)
    wanted = {"text": "a text", "vw": "a line, or a dict of names and numbers", "libsvm": "a line"}
    raise TypeError(
        f"Example {number} must be {wanted.get(format, 'a dict of the columns of the table')}: the model was trained "
        f"from {format}. Got {type(example).__name__} instead."
    )


def _only_text(options: Mapping[str, Any]) -> str | None:
    """The name of the text column, if it is the only feature of a table."""
    columns = options.get("schema", {}).get("columns", [])
    return columns[0]["name"] if len(columns) == 1 and columns[0]["kind"] == "text" else None


_SPACES = str.maketrans("\t\r\n", "   ")


def _json(record: Mapping[str, Any], number: int) -> str:
    try:
        return json.dumps(record)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Example {number} cannot be read as a row of a table: {error}.") from None


def _plain(value: Any) -> Any:
    """A value in JSON's types: converts NumPy's numbers and arrays, times, and missing values."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if hasattr(value, "isoformat"):
        return None if value != value else value.isoformat()
    if hasattr(value, "tolist"):
        value = value.tolist()
        return value.isoformat() if hasattr(value, "isoformat") else value
    if isinstance(value, tuple):
        return list(value)
    return None if type(value).__name__ == "NAType" else value


def _vw_line(example: Mapping[str, Any], number: int) -> str:
    """Names as `inspect` shows them, "namespace^feature", as a line: each namespace once."""
    spaces: dict[str, list[str]] = {}
    for name, value in example.items():
        if not isinstance(name, str) or not name or any(c in " \t\r\n:|" for c in name):
            raise ValueError(f"Example {number} has the name {name!r}, and {_IN_VW}.")
        space, caret, feature = name.partition("^")
        if isinstance(value, str):
            raise ValueError(f"Example {number} has {value!r} for {name!r}, and a value in VW text is a number.")
        spaces.setdefault(space if caret else "", []).append(f"{feature if caret else name}:{float(value)!r}")
    return " ".join(f"|{space} {' '.join(features)}" for space, features in spaces.items()) or "|"

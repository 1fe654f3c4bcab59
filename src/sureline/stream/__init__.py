"""Rows from files of any size, chunk by chunk: LIBSVM, VW, CSV, JSON lines, text, Arrow and Parquet."""

from ._chunk import Chunk
from ._convert import convert
from ._errors import DataError, Faults
from ._labels import Label, from_text
from ._options import READING
from ._position import Position
from ._stream import Stream, read

__all__ = ["READING", "Chunk", "DataError", "Faults", "Label", "Position", "Stream", "convert", "from_text", "read"]

"""Rows from files of any size, chunk by chunk: LIBSVM, VW, CSV, JSON lines, text, Arrow and Parquet."""

from .chunk import Chunk
from .conversion import convert
from .errors import DataError, Faults
from .labels import Label, from_text
from .opening import read
from .options import READING
from .position import Position
from .stream import Stream

__all__ = ["READING", "Chunk", "DataError", "Faults", "Label", "Position", "Stream", "convert", "from_text", "read"]

"""Rows in random order, in bounded memory: pieces of files are permuted, and a buffer mixes their rows.

The rows of a buffer are permuted by the seed, the pass and the rows that came before. So reading that goes on after
any buffer gives the same rows.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .chunk import Chunk, joined
from .errors import DataError
from .labels import Label
from .position import Position
from .reading import Part
from .runs import LabelRuns
from .shards import cut, is_cut, rows_are_lines
from .stream import Stream

BUFFER = 100_000  # rows
_ENTRIES = 1 << 24  # nonzeros at which a buffer is full, whatever its number of rows
_PIECE = 1 << 18  # bytes of a file; of small files there are more pieces than that would give
_PIECES = 256
_MOST_PIECES = 1 << 16
_PLACES, _LOOK = 64, 1 << 15  # positions in a stream where labels are sampled, and bytes at each


@dataclass(frozen=True)
class Shuffle:
    """A random order: the seed, and the rows of the buffer."""

    seed: int = 0
    buffer: int = BUFFER

    def pieces(self, stream: Stream) -> Stream:
        """The stream with its files cut into pieces in random order; uncuttable files stay whole."""
        if stream.size is None:
            return stream
        if not can_be_cut(stream):
            return stream
        parts = _cut(stream, max(min(_PIECE, stream.size // _PIECES), stream.size // _MOST_PIECES, 1))
        order = np.random.default_rng([self.seed, 1]).permutation(len(parts))
        return stream.of_parts([parts[k] for k in order])

    def first(self, pieces: Stream) -> list[Chunk]:
        """The rows of the first buffer in their random order; the next pass has them again."""
        held = pieces.peek(self.buffer, _ENTRIES)
        return [self._mixed(held, 1)] if held else []

    def chunks(self, pieces: Stream, position: Position, number: int) -> Generator[Chunk, None, None]:
        """The rows from a position on, a chunk for each buffer, in pass `number`."""
        reading = pieces.read_from(position)
        held: list[Chunk] = []
        wrong: DataError | None = None
        pieces.hold(held)
        try:
            for chunk in reading:
                held.append(chunk)
                if sum(map(len, held)) >= self.buffer or sum(len(c.indices) for c in held) >= _ENTRIES:
                    mixed = self._mixed(held, number)
                    held.clear()
                    yield mixed
                    del mixed
                del chunk
        except DataError as error:
            wrong = error  # after the rows before it
        finally:
            reading.close()
        if held:
            yield self._mixed(held, number)
        if wrong is not None:
            raise wrong

    def _mixed(self, held: list[Chunk], number: int) -> Chunk:
        if held[0].memory is not None:
            held[0].memory.check(2 * sum(chunk.nbytes for chunk in held))  # joined, and then permuted
        chunk = joined(held)
        before = held[0].end.rows - len(held[0])
        return permuted(chunk, np.random.default_rng([self.seed, 2, number, before]).permutation(len(chunk)))


def permuted(chunk: Chunk, order: npt.NDArray[np.int64]) -> Chunk:
    """The rows of a chunk in this order, or some of them."""
    starts, lengths = chunk.indptr[:-1][order].astype(np.int64), np.diff(chunk.indptr)[order]
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    entries = np.repeat(starts - indptr[:-1], lengths) + np.arange(indptr[-1])
    return replace(
        chunk,
        values=chunk.values[entries],
        indices=chunk.indices[entries],
        indptr=indptr.astype(chunk.indptr.dtype),
        labels=(chunk.labels[0][order], chunk.labels[1]),
        weights=None if chunk.weights is None else chunk.weights[order],
        tags=None if chunk.tags is None else [chunk.tags[k] for k in order],
    )


def can_be_cut(stream: Stream, *, to_look: bool = False) -> bool:
    """True if pieces of the files can be read in any order; for sampling, if this holds for most of them.

    A quoted cell of CSV may hold a newline, which is known only after reading all of it.
    """
    if stream.size is None or not all(is_cut(part, stream.format) for part in stream.parts):
        return False
    return to_look or all(rows_are_lines(part, stream.format, stream.options) for part in stream.parts)


def sampled_runs(stream: Stream) -> LabelRuns:
    """Rows and runs of the labels at places all over a stream that can be cut; of a small one, of all of it.

    Rows at some places of a random order are in random order as well, so that the rate of false alarms holds.
    """
    size = stream.size or 0
    parts = stream.parts
    if size > 2 * _PLACES * _LOOK:
        pieces = _cut(stream, _LOOK if len(parts) == 1 else max(_LOOK, size >> 17))
        parts = [pieces[len(pieces) * k // _PLACES] for k in range(min(_PLACES, len(pieces)))]
    quiet = stream.with_options(errors="skip", max_error_share=1.0, collect_names=0).of_parts(parts)
    return runs_of(quiet)


def runs_of(chunks: Iterator[Chunk] | Stream) -> LabelRuns:
    """The label runs of these chunks; rows without a label do not count."""
    runs, known = LabelRuns(), dict[Label, int]()
    for chunk in chunks:
        codes, names = chunk.labels
        table = np.array([known.setdefault(name, len(known)) for name in names] + [-1], np.int32)
        found = table[codes]
        runs.add(found[found >= 0])
    return runs


def _cut(stream: Stream, size: int) -> list[Part]:
    """All parts of a stream, cut into pieces of about `size` bytes, in order."""
    pieces = []
    for part in stream.parts:
        assert part.span is not None
        length = part.span[1] - part.span[0]
        shards = cut([part], stream.format, length, max(length // size, 1), rows_are_lines=True)
        pieces += [piece for shard in shards for piece in shard]
    return pieces

"""Streams of rows from files."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from typing import Any

from .chunk import Chunk, joined
from .errors import DataError, Faults
from .follow import Followed
from .formats.arrow import origin_of, width_of
from .options import BINARY, Options
from .position import Position
from .reading import Part, Reading, again
from .recognise import recognise
from .sampling import guessed, left_out, refuse_strangers
from .schema import Schema
from .shards import cut
from .source import Source


class Stream:
    """The rows of one or several files, in chunks. Made by `read`.

    Iterating gives `Chunk` objects, which unpack as X and y. Files can be gone over any number of times; pipes and
    standard input once. A stream of files can be pickled, for other processes to read their shards.

    Attributes
    ----------
    paths : list of str
        The files, with globs expanded.
    format : str
        As given or recognised.
    options : Options
        The options of `read`.
    faults : Faults
        What was left out in the latest pass, with ``errors="skip"``: `count`, and `first`, a list of up to 20 errors.
    """

    def __init__(
        self, parts: list[Part], format: str, options: Options, *, format_recognised: bool | None = None
    ) -> None:
        self._parts, self.format, self.options = parts, format, options
        self.paths = [part.source.path for part in parts]
        self._model_options: dict[str, Any] | None = None
        self._format_recognised = format_recognised
        self._looked = False
        self._left_out: dict[str, str] | None = None

    # Options for pipes, set before a pass begins. With `rows_at_once` a chunk has the rows available when it is asked
    # for. `while_waiting` is called from time to time while a reader waits, and may call `come_so_far`; `look` is
    # called with every chunk that is read.
    rows_at_once = False
    while_waiting: Callable[[], None] | None = None
    look: Callable[[Chunk], None] | None = None

    _reading: Reading | None = None
    _held: Sequence[Chunk] = ()  # chunks not yet handed over
    _begun: Generator[Chunk, None, None] | None = None  # a pass whose first chunks were peeked at

    def __repr__(self) -> str:
        return f"<sureline.stream.Stream of {self.format}: {', '.join(self.paths)}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reading": None, "_begun": None}

    @property
    def schema(self) -> Schema | None:
        """The columns of a table: the model's, or guessed from the first rows. None for other formats."""
        if self.options.schema is None and not self._looked:
            self._looked = True
            found = guessed(self.sources, self.format, self.options, self.rows_at_once)
            if found is not None:
                self.options = replace(self.options, schema=found)
        return self.options.schema

    def left_out(self) -> dict[str, str]:
        """Columns that the schema does not have, so that they are not read, each with the first file that has it."""
        if self._left_out is None:
            self._left_out = left_out(self.sources, self.format, self.options)
        return self._left_out

    def refuse_strangers(self) -> None:
        """Raise DataError for files whose columns are all others than those of the model."""
        if self.format == "jsonl" and self.options.schema is not None:
            refuse_strangers(self.sources, self.options, self.options.schema)

    @property
    def sources(self) -> list[Source]:
        """The files."""
        return [part.source for part in self._parts]

    @property
    def parts(self) -> list[Part]:
        """The files, or parts of them, in reading order."""
        return self._parts

    def of_parts(self, parts: list[Part]) -> Stream:
        """A stream of other parts of the same files, with the same options."""
        return self._derived(parts, self._known())

    def _derived(self, parts: list[Part], options: Options) -> Stream:
        """A stream of the same files, which need no second recognition."""
        stream = Stream(parts, self.format, options, format_recognised=self._format_recognised)
        stream._looked = self._looked
        return stream

    def _known(self) -> Options:
        """The options with the schema, so that all parts of a stream are read by the same."""
        return self.options if self.schema is None else replace(self.options, schema=self.schema)

    @property
    def dtype(self) -> str:
        """The dtype of the values."""
        return self.options.dtype

    @property
    def duplicates(self) -> str:
        """The treatment of an index that comes twice in a row: "error" or "sum"."""
        return self.options.duplicates

    @property
    def format_recognised(self) -> bool:
        """True if the format is recognised from the files alone. They are opened only if it was given, or ambiguous."""
        if self._format_recognised is None:
            try:
                sources = [part.source for part in self._parts]
                self._format_recognised = all(s.regular for s in sources) and recognise(sources) == self.format
            except (DataError, OSError):
                self._format_recognised = False
        return self._format_recognised

    @property
    def size(self) -> int | None:
        """The bytes of the files on disk, or of the shard's share; None for pipes."""
        spans = [part.span for part in self._parts]
        return None if None in spans else sum(end - begin for begin, end in spans)  # type: ignore[misc]

    @property
    def progress(self) -> float | None:
        """The share of `size` that the latest pass has reached, from 0 to 1; None without a size."""
        size = self.size
        if size is None:
            return None
        if self._reading is None:
            return 0.0
        file, consumed = self._reading.consumed
        done = 0
        for i, part in enumerate(self._parts):
            assert part.span is not None
            begin, end = part.span
            done += end - begin if i < file else min(max(consumed - begin, 0), end - begin) if i == file else 0
        return done / size if size else 1.0

    @property
    def model_options(self) -> dict[str, Any]:
        """The format, and options that define columns; for a converted file those of the original."""
        if self._model_options is None:
            self._model_options = {"format": self.format, **self._known().of_model(self.format)}
            source = self._parts[0].source
            if self.format in BINARY and source.regular:
                self._model_options |= origin_of(source, self.format, self.options)
        return dict(self._model_options)

    @property
    def faults(self) -> Faults:
        return Faults() if self._reading is None else self._reading.faults

    def __iter__(self) -> Iterator[Chunk]:
        return self.read_from(Position())

    def read_from(self, position: Position) -> Generator[Chunk, None, None]:
        """The chunks after the chunk whose `end` is the position.

        Files must be as they were. Standard input must give the same content again; its beginning is left out.
        """
        begun, self._begun = self._begun, None
        if begun is not None and position == Position():
            return begun
        reading = Reading(
            self._parts,
            self.format,
            self._known(),
            position,
            rows_at_once=self.rows_at_once,
            while_waiting=self.while_waiting,
            look=self.look,
        )
        self._reading = reading
        return reading.chunks()

    def head(self, n: int) -> Chunk | None:
        """The first n rows, or all if there are fewer; None if there are none."""
        if n < 1:
            raise ValueError(f"The 'n' parameter of head must be an integer from 1. Got {n!r} instead.")
        chunks: list[Chunk] = []
        chunk_iterator = self.read_from(Position())
        for chunk in chunk_iterator:
            chunks.append(chunk.first(n))
            n -= len(chunks[-1])
            if n == 0:
                break
        chunk_iterator.close()
        return joined(chunks) if chunks else None

    def peek(self, rows: int, entries: int) -> list[Chunk]:
        """The first chunks, until they have that many rows or entries; before unreadable rows, fewer.

        The next pass from the beginning repeats them, so a pipe loses nothing.
        """
        chunks = self.read_from(Position())
        held: list[tuple[Chunk, tuple[int, int]]] = []
        wrong: DataError | None = None
        reading = self._reading
        looked_at: list[Chunk] = []
        self.hold(looked_at)
        try:
            while rows > 0 and entries > 0:
                chunk = next(chunks)
                looked_at.append(chunk)
                held.append((chunk, (0, 0) if reading is None else reading.consumed))
                rows -= len(chunk)
                entries -= len(chunk.indices) + sum(map(len, chunk.tags or ())) // 8  # a long tag counts like entries
        except StopIteration:
            pass
        except DataError as error:
            wrong = error
        finally:
            self.hold(())
        self._begun = again(held, chunks, wrong, reading)
        return looked_at

    @property
    def endless(self) -> bool:
        """True if a source can be read only once, and so may have no end."""
        return not all(part.source.regular for part in self._parts)

    @property
    def may_have_tags(self) -> bool:
        """True if rows may have tags where the first have none: tables with ids, and VW that comes row by row."""
        schema = self.schema
        return bool(schema.ids) if schema is not None else self.endless and self.format == "vw"

    def stop_following(self) -> bool:
        """End a followed file after the rows that have come. False if none is followed."""
        followed = [part.source for part in self._parts if isinstance(part.source, Followed)]
        for source in followed:
            source.end()
        return bool(followed)

    @property
    def under_way(self) -> bool:
        """True in the middle of a pass."""
        return self._reading is not None and self._reading.under_way

    def come_so_far(self) -> list[Chunk]:
        """Rows that have come but were not handed over, including peeked ones.

        To be called by `while_waiting`. The next chunks have these rows again.
        """
        last = None if self._reading is None else self._reading.come_so_far()
        return [*self._held, *([] if last is None else [last])]

    def hold(self, chunks: Sequence[Chunk]) -> None:
        """Report these chunks as held back from the reader. The list may grow."""
        self._held = chunks

    @property
    def looked_at(self) -> bool:
        """True if `peek` has kept chunks for the next pass."""
        return self._begun is not None

    def shards(self, n: int) -> list[Stream]:
        """n streams that together have exactly the rows of this one, in its order, and about as many bytes each.

        A file of text that is not compressed is cut anywhere, and a row belongs to the shard in which its first byte
        is. Arrow and Parquet files are cut between batches and row groups; CSV, TSV and compressed files are not cut.
        So some shards may have no rows.
        """
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise ValueError(f"The 'n' parameter of shards must be an integer from 1. Got {n!r} instead.")
        size = self.size
        if size is None:
            if n == 1:
                return [self]
            raise ValueError("Pipes, standard input and topics cannot be cut into shards.")
        known = self._known()
        return [self._derived(parts, known) for parts in cut(self._parts, self.format, size, n)]

    def with_options(self, **changes: Any) -> Stream:
        """The same files, read with some options of `read` changed."""
        return self._derived(self._parts, replace(self._known(), **changes))

    def hashed_width(self) -> int:
        """Columns that names are hashed to, or were before the files were converted; 0 if columns are numbered."""
        if self.format not in BINARY:
            return 0 if self.format == "libsvm" else 1 << self.options.bits
        return width_of(self._parts[0].source, self.format, self.options) if self._parts else 0

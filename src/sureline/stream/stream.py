"""Streams of rows from files."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from .chunk import Chunk, joined
from .errors import DataError, Faults
from .formats.arrow import origin_of, pyarrow, width_of
from .options import BINARY, FORMATS, TEXT, Options
from .position import Position
from .reading import Part, Reading
from .recognise import recognise
from .shards import cut
from .source import PATH, STDIN, Source, expand


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

    _reading: Reading | None = None
    _begun: Generator[Chunk, None, None] | None = None  # a pass whose first chunks were looked at

    def __repr__(self) -> str:
        return f"<sureline.stream.Stream of {self.format}: {', '.join(self.paths)}>"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_reading": None, "_begun": None}

    @property
    def sources(self) -> list[Source]:
        """The files."""
        return [part.source for part in self._parts]

    @property
    def parts(self) -> list[Part]:
        """The files, or parts of them, in the order in which they are read."""
        return self._parts

    def of_parts(self, parts: list[Part]) -> Stream:
        """A stream of other parts of the same files, read in the same way."""
        return Stream(parts, self.format, self.options, format_recognised=self._format_recognised)

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
        """True if `read` finds the format by the files alone. They are opened only if it was given, or helped."""
        if self._format_recognised is None:
            try:
                sources = [part.source for part in self._parts]
                self._format_recognised = all(s.regular for s in sources) and recognise(sources) == self.format
            except (DataError, OSError):
                self._format_recognised = False
        return self._format_recognised

    @property
    def size(self) -> int | None:
        """The bytes of the files as they are on the disk, or of the shard's share in them; None for pipes."""
        spans = [part.span for part in self._parts]
        return None if None in spans else sum(end - begin for begin, end in spans)  # type: ignore[misc]

    @property
    def progress(self) -> float | None:
        """The share of `size` that the latest pass has come to, from 0 to 1; None where the size is not known."""
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
        """The format, and the options that decide what a column means; of a converted file those of the original."""
        if self._model_options is None:
            self._model_options = {"format": self.format, **self.options.of_model(self.format)}
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
        """The chunks from a position on: those that come after the chunk whose `end` it is.

        Files must be as they were. Standard input must give the same content again; its beginning is left out.
        """
        begun, self._begun = self._begun, None
        if begun is not None and position == Position():
            return begun
        reading = Reading(self._parts, self.format, self.options, position)
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
        """The first chunks, until they have so many rows or entries; of what cannot be read, those before it.

        The next pass from the beginning has them again and reads on, so that nothing of a pipe is lost.
        """
        chunks = self.read_from(Position())
        held: list[tuple[Chunk, tuple[int, int]]] = []
        wrong: DataError | None = None
        reading = self._reading
        try:
            while rows > 0 and entries > 0:
                chunk = next(chunks)
                held.append((chunk, (0, 0) if reading is None else reading.consumed))
                rows -= len(chunk)
                entries -= len(chunk.indices)
        except StopIteration:
            pass
        except DataError as error:
            wrong = error
        looked_at = [chunk for chunk, _ in held]
        self._begun = _again(held, chunks, wrong, reading)
        return looked_at

    @property
    def looked_at(self) -> bool:
        """True if first chunks, which `peek` has given, are kept for the next pass."""
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
            raise ValueError("Pipes and standard input cannot be cut into shards.")
        return [Stream(parts, self.format, self.options) for parts in cut(self._parts, self.format, size, n)]

    def with_options(self, **changes: Any) -> Stream:
        """The same files, read with some options of `read` changed."""
        return Stream(
            self._parts, self.format, replace(self.options, **changes), format_recognised=self._format_recognised
        )

    def hashed_width(self) -> int:
        """Columns that names are hashed to, or were before the files were converted; 0 if columns are numbered."""
        if self.format not in BINARY:
            return 0 if self.format == "libsvm" else 1 << self.options.bits
        return width_of(self._parts[0].source, self.format, self.options) if self._parts else 0


def _again(
    held: list[tuple[Chunk, tuple[int, int]]],
    rest: Generator[Chunk, None, None],
    wrong: DataError | None,
    reading: Reading | None,
) -> Generator[Chunk, None, None]:
    """The chunks that were looked at, then the rest of the pass. Each comes with how far the pass had come by then."""
    come_to = (0, 0) if reading is None else reading.consumed
    try:
        while held:
            chunk, consumed = held.pop(0)
            if reading is not None:
                reading.consumed = consumed
            yield chunk
            del chunk
            if reading is not None:
                reading.memory.check()
        if reading is not None:
            reading.consumed = come_to
        if wrong is not None:
            raise wrong
        yield from rest
    finally:
        rest.close()


def _recognised(sources: list[Source], before: str | None) -> str:
    """The format, where that of earlier data helps if there is doubt."""
    try:
        format = recognise(sources)
    except DataError:
        if before in TEXT:
            return before
        raise
    return "text" if (format, before) == ("tsv", "text") else format


def read(
    paths: PATH | Iterable[PATH],
    *,
    format: str | None = None,
    dtype: str = "float64",
    zero_based: bool = False,
    duplicates: str = "error",
    errors: str = "stop",
    max_error_share: float = 0.01,
    bits: int = 20,
    label: str = "label",
    weight: str | None = None,
    need_label: bool = True,
    collect_names: int = 0,
    threads: int | None = None,
    max_line: int | None = None,
    max_label: int = 1000,
    max_name: int = 1 << 16,
    max_features: int = 1 << 20,
    memory: int | None = None,
    fallback: Mapping[str, Any] | None = None,
) -> Stream:
    """Rows and labels from files of any size, chunk by chunk.

    Parameters
    ----------
    paths : str, Path or a sequence of them
        Files, globs (in sorted order), "-" for standard input. What is compressed (gz, bz2, xz, zst) is recognised by
        content and decompressed on the way.
    format : str or None, default=None
        "libsvm", "vw", "csv", "tsv", "jsonl", "text" (label TAB text), "arrow" or "parquet"; None recognises it by the
        ending of the name, or else by the content.
    dtype : {"float64", "float32"}, default="float64"
        Of the values. Numbers are read exactly and rounded once.
    zero_based : bool, default=False
        Add 1 to the indices of LIBSVM, because the file counts from 0. By default indices are taken as written.
    duplicates : {"error", "sum"}, default="error"
        What to do where an index comes twice in a row (LIBSVM, list columns).
    errors : {"stop", "skip"}, default="stop"
        Stop with a DataError at the first line that cannot be read, after the rows before it; or leave such lines out
        and account for them in `Stream.faults`.
    max_error_share : float, default=0.01
        With ``errors="skip"``, stop with a DataError if more than this share of the rows cannot be read. It is looked
        at from the hundredth such line on, after each chunk, and at the end of the stream. Lines that are no rows,
        such as empty ones and comments, do not count.
    bits : int, default=20
        Names are hashed to 2**bits columns (all formats but LIBSVM and list columns).
    label, weight : str, str or None, default="label", None
        The columns or keys that hold label and weight of a row (CSV, TSV, JSON lines, Arrow, Parquet).
    need_label : bool, default=True
        Whether a row without a label is an error (all formats but LIBSVM, where every row has one). If it is not, its
        code is -1.
    collect_names : int or bool, default=0
        Count the names behind the columns in `Chunk.names`, where columns have names: those of every row with 1, of
        every k-th with k. True is 1, except that of VW text it is 16 after the first 16 MiB of a file.
    threads : int or None, default=None
        How many threads read and parse; None for as many as there are cores, up to 16. CSV, TSV, JSON lines and text
        take one.
    max_line : int or None, default=None
        The longest line in bytes, at least 1 MiB; None for 64 MiB, and for 8 MiB in CSV, TSV, JSON lines and text. A
        longer one is an error, also with ``errors="skip"``. A row of CSV counts as one line.
    max_label, max_name, max_features : int, default=1000, 65536, 1048576
        The longest label, the longest name of a feature (both in bytes; a text counts as "name=text"), and the most
        features of a row. What exceeds them is a line that cannot be read.
    memory : int or None, default=None
        Bytes that the process may take more than at the beginning of a pass, looked at after each chunk: beyond, the
        pass ends with a MemoryError. It also bounds how many threads parse, and what one row may become. None looks
        at nothing, and bounds as half of the usable memory would.
    fallback : mapping or None, default=None
        Values for options that are at their defaults, such as `Stream.model_options` of the stream that a model was
        trained with. What has no meaning for the format is left out.

    Returns
    -------
    Stream
        Iterate over it for chunks, which unpack as X and y.

    Notes
    -----
    A label that reads as a number is that number, so that +1, 1 and 1.0 are the same; any other is text.

    CSV, TSV, JSON lines and wide Arrow or Parquet columns give the rows that scikit-learn's ``FeatureHasher`` gives
    for a dict of each: numbers under their names, a text as "name=text", and nothing for what is empty or null. JSON
    objects in objects are flattened with dots, lists of texts are several texts, and booleans are 0 and 1. "text"
    gives the rows of ``HashingVectorizer(norm=None)``.

    Arrow and Parquet with the list columns `indices` and `values` are rows as they are; `label`, `weight` and `tag`
    are then found by these names.
    """
    options = Options(
        dtype=dtype,
        zero_based=zero_based,
        duplicates=duplicates,
        errors=errors,
        max_error_share=max_error_share,
        bits=bits,
        label=label,
        weight=weight,
        need_label=need_label,
        collect_names=collect_names,
        threads=threads,
        max_line=max_line,
        max_label=max_label,
        max_name=max_name,
        max_features=max_features,
        memory=memory,
    )
    if format is not None and format not in FORMATS:
        raise ValueError(
            f"The 'format' parameter of read must be None or one of {', '.join(FORMATS)}. Got {format!r} instead."
        )
    sources = [Source(path) for path in expand(paths)]
    before = (fallback or {}).get("format")
    recognised = True if format is None and before is None and STDIN not in [s.path for s in sources] else None
    format = format or _recognised(sources, before)
    options.check_format(format)
    options = options.with_fallback(format, fallback or {})
    if format in BINARY:
        pyarrow()
    parts = [Part(source, None if source.size is None else (0, source.size)) for source in sources]
    return Stream(parts, format, options, format_recognised=recognised)

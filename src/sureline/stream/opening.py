"""Files, and data frames, as streams."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .follow import Followed
from .formats.arrow_metadata import pyarrow
from .formats.frames import FrameSource, is_frame
from .kafka import is_topic
from .options import BINARY, FORMATS, MESSAGES, TEXT, Options
from .reading import Part
from .recognise import recognised, refuse_foreign
from .remote import source_at
from .source import PATH, STDIN, Source, expand
from .stream import Stream
from .topic import TopicSource


def read(
    paths: PATH | Iterable[PATH] | Any,
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
    numeric: Sequence[str] = (),
    categorical: Sequence[str] = (),
    text: Sequence[str] = (),
    timestamp: Sequence[str] = (),
    ignore: Sequence[str] = (),
    id: Sequence[str] = (),
    interact: Sequence[str | Sequence[str]] = (),
    keep: Sequence[str] = (),
    ngrams: int = 1,
    chars: str | tuple[int, int] | None = None,
    keep_case: bool = False,
    header: bool = True,
    delimiter: str | None = None,
    quote: str | None = None,
    need_label: bool = True,
    collect_names: int = 0,
    threads: int | None = None,
    max_line: int | None = None,
    max_label: int = 1000,
    max_name: int = 1 << 16,
    max_features: int = 1 << 20,
    memory: int | None = None,
    fallback: Mapping[str, Any] | None = None,
    follow: PATH | None = None,
) -> Stream:
    """Rows and labels from files of any size, chunk by chunk.

    Parameters
    ----------
    paths : str, Path, a sequence of them, or a data frame
        Files, globs (in sorted order), URLs (s3://, gs://, hdfs://, https:// and others that fsspec has a driver for;
        globs of them as well), topics (kafka://broker:port/topic), "-" for standard input.
        What is compressed (gz, bz2, xz, zst) is recognised by content and decompressed on the way.
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
    numeric, categorical, text, timestamp, ignore, id : sequences of str, default=()
        Columns of a table by what they are, as names or patterns such as ``price_*``. Those that are not named are
        guessed from the first rows. How numbers and times are written is guessed too, unless it follows a colon:
        ``price:comma``, ``when:day-first``, ``epoch:ms``; docs/guide/tables.md has all of them.
    interact : sequence, default=()
        Columns whose values count together, as ``"city:device"`` or a tuple of names; ``"all"`` for each pair.
    keep : sequence of str, default=()
        Columns of a table whose cells `Chunk.kept` hands through as they are.
    ngrams : int, default=1
        Words that follow each other count together, up to so many (text, and columns of text).
    chars : str, tuple or None, default=None
        Lengths of the character n-grams of a text, such as ``"3-5"``, in place of words.
    keep_case : bool, default=False
        Tell upper case from lower case in texts.
    header : bool, default=True
        Whether the first row of CSV and TSV has the names of the columns. If not, they are called 1, 2, ...
    delimiter, quote : str or None, default=None
        The characters between cells and around them; None recognises them.
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
    follow : str, Path or None, default=None
        A file of text that grows, or a topic, read after all others and without an end, as ``tail -F`` does: when
        another file takes its name, or it is cut off, reading goes on at the beginning. `paths` may then be empty.

    Returns
    -------
    Stream
        Iterate over it for chunks, which unpack as X and y.

    Notes
    -----
    A label that reads as a number is that number, so that +1, 1 and 1.0 are the same; any other is text.

    Tables (CSV, TSV, JSON lines, wide Arrow or Parquet, data frames) have a schema: `Stream.schema`. The same values
    give the same features whatever holds them, hashed as scikit-learn's ``FeatureHasher`` does it; docs/guide/tables.md
    has the rules. JSON objects in objects are flattened with dots. "text" gives the rows of
    ``HashingVectorizer(norm=None)``.

    Arrow and Parquet with the list columns `indices` and `values` are rows as they are; `label`, `weight` and `tag`
    are then found by these names.
    """
    given: Any = label
    if type(given) is int and given in getattr(paths, "columns", ()):  # pandas may call columns by numbers
        label = str(given)
    options = Options(
        dtype=dtype,
        zero_based=zero_based,
        duplicates=duplicates,
        errors=errors,
        max_error_share=max_error_share,
        bits=bits,
        label=label,
        weight=weight,
        numeric=numeric,  # type: ignore[arg-type]  # the options make tuples of them
        categorical=categorical,  # type: ignore[arg-type]
        text=text,  # type: ignore[arg-type]
        timestamp=timestamp,  # type: ignore[arg-type]
        ignore=ignore,  # type: ignore[arg-type]
        id=id,  # type: ignore[arg-type]
        interact=interact,  # type: ignore[arg-type]
        keep=keep,  # type: ignore[arg-type]
        ngrams=ngrams,
        chars=chars,  # type: ignore[arg-type]
        keep_case=keep_case,
        header=header,
        delimiter=delimiter,
        quote=quote,
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
    if is_frame(paths):
        pyarrow()
        if format is not None or follow is not None:
            raise ValueError("The 'format' and 'follow' parameters of read are for files, and this is a data frame.")
        sources: list[Source] = [FrameSource(paths)]
        format = "arrow"
    elif isinstance(paths, Mapping) or (isinstance(paths, list) and any(isinstance(each, Mapping) for each in paths)):
        raise TypeError("Rows and columns in dicts are no data frame: pandas.DataFrame(data) makes one of them.")
    elif hasattr(paths, "__array__") and not isinstance(paths, str):  # arrays have it
        raise TypeError(
            "An array has no columns with names: pandas.DataFrame(data) gives it some, and fit takes it as is."
        )
    elif isinstance(paths, Source):  # text in memory
        sources = [paths]
    else:
        named = expand(paths) if follow is None or isinstance(paths, (str, bytes, os.PathLike)) or list(paths) else []
        sources = [*(source_at(path) for path in named), *([] if follow is None else [_followed(os.fspath(follow))])]
    before = (fallback or {}).get("format")
    by_files = True if format is None and before is None and STDIN not in [s.path for s in sources] else None
    if format in TEXT and sources:
        refuse_foreign(sources[0])
    format = format or recognised(sources, before)
    options.check_format(format)
    options = options.with_fallback(format, fallback or {})
    topics = [source.path for source in sources if source.extent is not None]
    if topics and format not in MESSAGES:
        raise ValueError(
            f"{topics[0]}: messages of a topic are {', '.join(MESSAGES)}, a row each, and the format is {format}."
        )
    if format in BINARY:
        if follow is not None:
            raise ValueError(f"The 'follow' parameter of read is for text, and the format is {format}.")
        pyarrow()
    parts = [Part(source, None if source.size is None else (0, source.size)) for source in sources]
    return Stream(parts, format, options, format_recognised=by_files)


def _followed(path: str) -> Source:
    return TopicSource(path, follow=True) if is_topic(path) else Followed(path)

"""Recognises the format of data."""

from __future__ import annotations

import re
from functools import partial

from .errors import DataError
from .formats.delimited import is_table
from .options import FORMATS, TEXT
from .source import Source, ending_of

LOOK = 1 << 16  # bytes that are looked at

_ENDINGS = {
    "svm": "libsvm",
    "libsvm": "libsvm",
    "svmlight": "libsvm",
    "vw": "vw",
    "csv": "csv",
    "tsv": "tsv",
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "arrow": "arrow",
    "arrows": "arrow",
    "ipc": "arrow",
    "feather": "arrow",
    "parquet": "parquet",
    "pq": "parquet",
}
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_NUMBERS = rf"{_NUMBER}(?:\s+{_NUMBER}){{0,2}}\s+"
_VW = re.compile(rf"(?:{_NUMBERS})?(?:'[^\s|]*\s*)?\||{_NUMBERS}[^\s|]+\|")
_LIBSVM = re.compile(r"[^\s:|{,]+(?:\s+qid:[0-9]+)?(?P<entries>(?:\s+[0-9]+:[^\s:]+)*)\s*(?:#.*)?")
_TEXT = re.compile(r"\S+\t[^\t]*[^\W\d_]{2}[^\t]*")


def recognise(sources: list[Source], before: str | None = None) -> str:
    """The format of the first file that has content, by the ending of its name and by the content.

    The content decides between text and the binary formats, and where the name says nothing. Of a pipe no more lines
    are waited for than it takes: one, if that of earlier data (`before`) is known as well.
    """
    named = None
    for source in sources:
        named = named or _ENDINGS.get(ending_of(source.path))
        head = source.peek(LOOK, partial(_enough, named=named, before=before))
        if head:
            if (reason := foreign(head)) is not None:
                raise DataError(source.path, reason)
            found = _binary(head) or named or _text(head)
            if found is None:
                array = "; of a JSON array, jq -c '.[]' makes JSON lines" if head.lstrip().startswith(b"[") else ""
                raise DataError(
                    source.path,
                    "the format is not recognised by the name or the content; "
                    f"say which it is with format= or --format: {', '.join(FORMATS)}{array}",
                )
            return found
    if named is None:
        raise DataError(
            sources[0].path,
            f"the file is empty, so its format cannot be recognised; say which it is with format= or --format: "
            f"{', '.join(FORMATS)}",
        )
    return named


def foreign(head: bytes) -> str | None:
    """The reason why a file is no text in UTF-8, and how to make that of it; None if nothing is known against it."""
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return "the file is an archive or a spreadsheet; unpack it, or save the spreadsheet as CSV"
    big, *_, little = zeros = [not any(head[k:256:4]) for k in range(4)]  # which of four bytes no letter takes
    if len(head) < 8 or all(zeros):
        big = little = False
    marks = ("UTF-32", (b"\xff\xfe\0\0", b"\0\0\xfe\xff"), 3), ("UTF-16", (b"\xff\xfe", b"\xfe\xff"), 2)
    for encoding, mark, unused in marks:
        marked = head.startswith(mark)
        if marked or ((big or little) and sum(zeros) == unused):
            name = encoding if marked else encoding + ("BE" if big else "LE")
            return f"the file is {encoding}; iconv -f {name} -t UTF-8 makes UTF-8 of it"
    return None


def refuse_foreign(source: Source) -> None:
    """Raise DataError if a file at hand is known to be no text in UTF-8, whatever its format is said to be."""
    if source.regular and source.status is not None:
        try:
            reason = foreign(source.peek(LOOK, bool))
        except (DataError, OSError):  # it is said where it is read
            return
        if reason is not None:
            raise DataError(source.path, reason)


def _refuse_mixed(sources: list[Source]) -> None:
    """Raise DataError for files whose names say that they are of different formats: all are read in the same way."""
    named = [(format, source.path) for source in sources if (format := _ENDINGS.get(ending_of(source.path)))]
    for format, path in named:
        if format != named[0][0]:
            raise DataError(
                path,
                f"the name says {format}, and that of {named[0][1]} says {named[0][0]}: files that are read together "
                "have one format, which --format names if their names do not",
            )


def recognised(sources: list[Source], before: str | None) -> str:
    """The format; the format of earlier data decides if there is doubt."""
    _refuse_mixed(sources)
    try:
        format = recognise(sources, before)
    except DataError:
        if before in TEXT:
            return before
        raise
    return "text" if (format, before) == ("tsv", "text") else format


def _enough(head: bytes, named: str | None, before: str | None) -> bool:
    """True if more of a pipe would not change the answer, or need not."""
    if len(head) < 12 and b"\n" not in head:  # Arrow or Parquet, perhaps
        return False
    lines = head.rpartition(b"\n")[0]
    known = _binary(head) or named or (lines and before)
    return bool(known or (lines and _text(lines)))


def _binary(head: bytes) -> str | None:
    if head.startswith((b"ARROW1\0\0", b"\xff\xff\xff\xff")):
        return "arrow"
    if head.startswith(b"PAR1") and head[4:12].translate(None, b"\t\n\r") < b" ":  # no text goes on like that
        return "parquet"
    return None


def _text(head: bytes) -> str | None:
    whole = len(head) < LOOK
    text = head.decode("utf-8", errors="replace").removeprefix("\ufeff")
    lines = text.split("\n")
    if not whole:
        lines.pop()  # is cut off somewhere
    lines = [line.strip() for line in lines]
    lines = [line for line in lines if line and not line.startswith("#")][:100]
    if not lines:
        return None
    if lines[0].startswith("{"):
        return "jsonl"
    if all(_VW.match(line) for line in lines):
        return "vw"
    matches = [_LIBSVM.fullmatch(line) for line in lines]
    if all(matches) and any(match and match["entries"] for match in matches):
        return "libsvm"
    if all(_TEXT.fullmatch(line) for line in lines):
        return "text"
    return "csv" if is_table(head, whole) else None

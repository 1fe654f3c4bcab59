"""Standard output and standard error, for text that others have written: names, labels, tags, paths, parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

from .._inputs import printable


class Printable:
    """A text stream without control characters, and without what its encoding has no room for: they are escaped.

    Newlines, tabs and no-break spaces stay. A live line is drawn on `unescaped`. Bytes go to `buffer` as they are.
    """

    def __init__(self, stream: Any) -> None:
        self.unescaped = stream

    def write(self, text: str) -> int:
        text = printable(text, but="\n\t\N{NO-BREAK SPACE}")
        encoding = getattr(self.unescaped, "encoding", None) or "utf-8"
        self.unescaped.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unescaped, name)


@contextmanager
def printable_streams() -> Iterator[None]:
    """All that is printed in here is printable."""
    with redirect_stdout(Printable(sys.stdout)), redirect_stderr(Printable(sys.stderr)):
        yield

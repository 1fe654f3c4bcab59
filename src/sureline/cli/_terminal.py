"""Standard output and error for untrusted text: names, labels, tags, paths, parameters."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any

_KEPT = "\n\t\N{NO-BREAK SPACE}"
_NO_LAYOUT = str.maketrans("", "", _KEPT)


class Printable:
    """A text stream that escapes control characters, and characters that its encoding lacks.

    Newlines, tabs and no-break spaces stay. Live lines are drawn on `unescaped`. `buffer` takes bytes unchanged.
    """

    def __init__(self, stream: Any) -> None:
        self.unescaped = stream

    def write(self, text: str) -> int:
        if not text.translate(_NO_LAYOUT).isprintable():
            from .._inputs import printable  # with NumPy, which would double the time of --version

            text = printable(text, but=_KEPT)
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
    """Within this block, all printed text is escaped."""
    with redirect_stdout(Printable(sys.stdout)), redirect_stderr(Printable(sys.stderr)):
        yield

"""Progress on the terminal while a command runs."""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TextIO, TypeVar

from .._inputs import printable
from ..stream import Stream
from ..training.choosing import ROWS
from ..training.progress import Progress

T = TypeVar("T")

_SLOW_START = 3.0  # seconds


class LiveLine(Generic[T]):
    """Progress as a line that is drawn over and over on a terminal; elsewhere as plain lines; if quiet, not at all.

    Parameters
    ----------
    parts : callable
        What the line says of what it is called with.
    at : callable, default=None
        Whether that is worth a plain line. There are none if None.

    Attributes
    ----------
    live, plain : bool
        Whether it is on a terminal, or elsewhere; neither if quiet.
    """

    def __init__(
        self,
        parts: Callable[[T], Iterable[str]],
        at: Callable[[T], bool] | None = None,
        *,
        quiet: bool = False,
        out: TextIO | None = None,
    ) -> None:
        self._parts, self._at = parts, at
        out = sys.stderr if out is None else out
        self._out = getattr(out, "unescaped", out)  # to draw on
        self.live = not quiet and self._out.isatty()
        self.plain = not quiet and not self.live
        self._drawn = 0.0
        self._shown = False

    def __call__(self, state: T) -> None:
        if self.live and time.monotonic() - self._drawn >= 0.1:
            self._drawn = time.monotonic()
            self._shown = True
            line = printable("  ".join(self._parts(state)))
            self._write("\r\x1b[2K" + line[: shutil.get_terminal_size().columns - 1])
        elif self.plain and self._at is not None and self._at(state):
            self.say("  ".join(self._parts(state)))

    def say(self, text: str) -> None:
        """Print a line that stays, unless quiet."""
        if self.live or self.plain:
            self._write(printable(text, but="\n\t") + "\n")

    def close(self) -> None:
        """Erase the live line."""
        if self._shown:
            self._write("\r\x1b[2K")

    def _write(self, text: str) -> None:
        try:
            self._out.write(text)
            self._out.flush()
        except OSError:  # the terminal is gone; the work goes on without it
            self.live = self.plain = self._shown = False


class Doublings:
    """Tells once when 1, 2, 4, ... examples have come; counts up to `begin` are skipped."""

    def __init__(self, begin: int = 0) -> None:
        self._next = 1 << begin.bit_length()

    def reached(self, examples: int) -> bool:
        if examples < self._next:
            return False
        self._next = 1 << examples.bit_length()
        return True


class Reporter:
    """Progress of a training: a live line on a terminal, otherwise lines at 1, 2, 4, ... examples.

    Optionally a log in JSON lines.
    """

    def __init__(
        self,
        count_nonzero: Callable[[], int],
        *,
        begin: Progress | None = None,
        quiet: bool = False,
        log: Path | None = None,
        out: TextIO | None = None,
    ) -> None:
        self._count_nonzero = count_nonzero
        self._line = LiveLine(self._parts, quiet=quiet, out=out)
        self._log: TextIO | None = None if log is None else log.open("a", encoding="utf-8")
        self._last = Progress(0, 0, 0.0, None, 1) if begin is None else begin
        self._began = self._last.examples
        self._lines = Doublings(self._began)  # a resumed training has printed the earlier ones
        self._nonzero = 0
        self._next_count = 0.0
        self._headed = False

    def __call__(self, progress: Progress) -> None:
        if self._lines.reached(progress.examples):
            self._row(progress)
        self._line(progress)

    def _rate(self, progress: Progress) -> float:
        return (progress.examples - self._began) / max(progress.seconds, 1e-9)

    def _row(self, progress: Progress) -> None:
        """A row of the table and of the log."""
        told = _Told.of(progress)
        recent = (told.total - _Told.of(self._last).total) / max(progress.examples - self._last.examples, 1)
        self._last = progress
        nonzero = self._count_nonzero() if self._line.plain or self._log else 0
        if self._line.plain:
            if not self._headed:
                measures = f"{told.word:>{told.width}} {'since last':>10}"
                self._line.say(f"{'examples':>14} {measures} {'nonzeros':>12} {'examples/s':>12}")
                self._headed = True
            measures = f"{told.shown(told.mean):>{told.width}} {told.shown(recent):>10}"
            self._line.say(f"{progress.examples:>14,} {measures} {nonzero:>12,} {self._rate(progress):>12,.0f}")
        if self._log:
            self._write_log(
                examples=progress.examples,
                **({} if progress.mistakes is None else {"mistakes": progress.mistakes}),
                **{told.word: told.mean, f"{told.word}_since_last": recent},
                nonzeros=nonzero,
                seconds=round(progress.seconds, 6),
                share=progress.share,
                **{"pass": progress.pass_number},
            )

    def _write_log(self, **entry: Any) -> None:
        if self._log:
            self._log.write(json.dumps(entry) + "\n")
            self._log.flush()

    def _parts(self, progress: Progress) -> list[str]:
        now = time.monotonic()
        if now >= self._next_count:  # counting goes over all weights: it may take a hundredth of the time
            self._nonzero = self._count_nonzero()
            self._next_count = time.monotonic() + 100 * (time.monotonic() - now)
        told = _Told.of(progress)
        parts = [
            f"{progress.examples:,} examples",
            f"{self._rate(progress):,.0f}/s",
            f"{told.word} {told.shown(told.mean)}",
            f"{self._nonzero:,} nonzeros",
        ]
        if progress.share:
            left = progress.seconds * (1 - progress.share) / progress.share
            parts += [f"{bar(progress.share)} {progress.share:.0%}", f"{clock(left)} left"]
        return parts

    def close(self, **last: Any) -> None:
        """Clear the live line, and write a last entry to the log."""
        self._line.close()
        if self._log:
            if last:
                self._write_log(**last)
            self._log.close()


class _Told(NamedTuple):
    """The report on the predictions so far."""

    word: str
    total: float  # of all examples
    mean: float

    @classmethod
    def of(cls, progress: Progress) -> _Told:
        if progress.loss is not None and progress.losses is not None:
            return cls("loss", progress.losses, progress.loss)
        return cls("error", progress.mistakes or 0, progress.error or 0.0)

    @property
    def width(self) -> int:
        return 8 if self.word == "error" else 10

    def shown(self, number: float) -> str:
        """An error is a share; a loss is of any scale."""
        return f"{number:.4f}" if self.word == "error" else f"{number:.4g}"


class SlowStartNotice:
    """Says what the command waits for, if the first rows of a slow stream are long in coming."""

    def __init__(self, stream: Stream, *, quiet: bool, waits: bool = True) -> None:
        self._stream, self._over = stream, threading.Event()
        if waits and not quiet:
            threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(_SLOW_START):
            if not self._stream.looked_at:
                self._say()
                return
            # The time is spent on trying settings, or on a look at the labels: check again later.

    def _say(self) -> None:
        print(
            f"Waiting for the first {ROWS:,} rows, or the end, to choose settings by; with a learner and one of its "
            "parameters or --normalize named it begins at once.",
            file=sys.stderr,
            flush=True,
        )

    def over(self) -> None:
        """Note that the rows have come."""
        self._over.set()


def bar(share: float, width: int = 12) -> str:
    """A bar such as [###---------] for a quarter."""
    done = round(width * min(max(share, 0.0), 1.0))
    return f"[{'#' * done}{'-' * (width - done)}]"


def clock(seconds: float) -> str:
    """A duration such as 1:05 or 2:00:00."""
    minutes, seconds = divmod(int(seconds + 0.5), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"

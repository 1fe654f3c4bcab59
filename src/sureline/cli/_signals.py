"""Ctrl-C and SIGTERM, while something long is going on."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def signals_to(interrupt: Callable[[], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM call `interrupt`, which ends what goes on in good order; a second Ctrl-C ends it at once."""

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        interrupt()

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

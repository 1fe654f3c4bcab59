"""Written records, applied in their order and told to whoever waits."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from .errors import Refused, StateError
from .lineup import Lesson
from .log import FULL
from .records import Learned
from .served import Learnt
from .writer import Writing


def deliver(outcomes: Sequence[tuple[Writing, int | OSError]]) -> None:
    """Apply what the writer has written, in its order, and tell whoever waits."""
    outcomes = list(outcomes)
    at = 0
    while at < len(outcomes):
        writing, seq = outcomes[at]
        served, entry, read, future, size = writing.told
        served.log_failed = (seq.strerror or str(seq)) if isinstance(seq, OSError) else None
        if isinstance(seq, OSError):
            _tell(future, refusal_of(seq))
            at += 1
            continue
        if not isinstance(entry, Learned):
            served.grown(size)
            try:
                served.alter(seq, entry, read)
                _tell(future, None)
            except (Refused, StateError) as error:
                _tell(future, error if isinstance(error, Refused) else Refused(500, str(error)))
            at += 1
            continue
        group = []
        while at < len(outcomes):
            writing, seq = outcomes[at]
            if isinstance(seq, OSError) or writing.told[0] is not served or not isinstance(writing.told[1], Learned):
                break
            group.append((seq, writing.told))
            at += 1
        for _, (_, _, _, _, size) in group:
            served.grown(size)
        try:
            told = served.apply([Lesson(seq, one[1], one[2]) for seq, one in group])
        except Exception as error:  # those who wait get an answer, and so do those after them
            for _, (_, _, _, future, _) in group:
                _tell(future, error)
            continue
        for (_, (_, _, _, future, _)), refused in zip(group, told, strict=True):
            _tell(future, Learnt(served.version, refused))


def _tell(future: asyncio.Future[Any], outcome: Any) -> None:
    if future.done():
        return
    if isinstance(outcome, Exception):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def refusal_of(error: OSError) -> Refused:
    """Why a label could not be kept."""
    reason = error.strerror or str(error)
    if error.errno in FULL:
        return Refused(507, f"The label could not be kept: {reason}. Nothing was learned; answers go on.")
    return Refused(503, f"The label could not be kept: {reason}. Nothing was learned; answers go on.")

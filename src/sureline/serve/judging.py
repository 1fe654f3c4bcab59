"""Labels that came back, compared with what the models predict before they learn from them: for the live page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..stream import Chunk
from .errors import Refused
from .lineup import together
from .members import Member
from .records import Learned
from .watch import Watch


class Judging:
    """Tells a watch which labels were as predicted. Whatever fails in that is said, and keeps nothing from learning."""

    def __init__(self, watch: Watch, max_error: float | None, say: Callable[[str], None], *, again: bool) -> None:
        self.watch, self._max_error, self._say, self._again = watch, max_error, say, again

    def __call__(self, name: str | None, member: Member, chunks: list[Chunk | None], entries: list[Learned]) -> None:
        try:
            self._judge(name, member, chunks, entries)
        except Exception as error:
            self._say(f"labels could not be judged for the page: {type(error).__name__}")

    def _judge(self, name: str | None, member: Member, chunks: list[Chunk | None], entries: list[Learned]) -> None:
        if not member.is_classifier:
            return
        labels = [label for entry in entries for label in entry.y]
        right = np.zeros(len(labels), np.bool_)
        confidences = np.zeros(len(labels))
        read = [chunk for chunk in chunks if chunk is not None]
        verdicts = None
        if read:
            there = np.concatenate(
                [np.full(len(entry.y), chunk is not None) for entry, chunk in zip(entries, chunks, strict=True)]
            )
            try:
                verdicts = member.judge(together(read))
                told = list(zip(verdicts.labels, verdicts.confidences.tolist(), strict=True))
            except Refused:  # for one of its rows, which is a mistake
                told = [_alone(member, chunk.part(k, k + 1)) for chunk in read for k in range(len(chunk))]
            known = [label for label, here in zip(labels, there.tolist(), strict=True) if here]
            right[there] = [a == b for (a, _), b in zip(told, known, strict=True)]
            confidences[there] = [confidence for _, confidence in told]
            member.wrong += int(len(labels) - right.sum())
        if name is None:
            answered = None
            if self._max_error is not None and len(read) == len(chunks) and verdicts is not None:
                answered = member.answered(verdicts, self._max_error)
            self.watch.learned(right=right, confidences=confidences, answered=answered, again=self._again)
        else:
            self.watch.shadow(name, right=right)


def _alone(member: Member, row: Chunk) -> tuple[Any, float]:
    """The label and the confidence of one row; no label if there is no telling."""
    try:
        verdict = member.judge(row)
    except Refused:
        return None, 0.0
    return verdict.labels[0], float(verdict.confidences[0])

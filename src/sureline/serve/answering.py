"""Answers to rows, with what was asked for besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..stream import Chunk
from .errors import Refused
from .lineup import Lineup, Read
from .members import Member, Verdicts

MOST_EXPLAINED = 1000  # features of a row


@dataclass(frozen=True)
class Wanted:
    """The parts of an answer besides its label and confidence."""

    probabilities: bool = False
    novelty: bool = False
    explain: int = 0
    max_error: float | None = None
    shadows: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.explain <= MOST_EXPLAINED:
            raise Refused(422, f"explain is a number of features from 0 to {MOST_EXPLAINED:,}.")
        if self.max_error is not None and not 0 < self.max_error < 1:
            raise Refused(422, "max_error is a share of the answers, above 0 and below 1.")

    @property
    def plain(self) -> bool:
        """True if it is nothing."""
        return self == PLAIN


PLAIN = Wanted()


def answers_of(lineup: Lineup, rows: Sequence[Any], wanted: Wanted) -> tuple[list[dict[str, Any]], Chunk, Verdicts]:
    """An answer for each row, without its version; and the rows as the champion reads them. Refused if one is none."""
    champion = lineup.champion
    chunk = champion.rows.read(rows)
    answers, verdicts = answers_to(champion, chunk, wanted)
    if wanted.shadows:
        beside: list[dict[str, Any]] = [{} for _ in answers]
        for name, member in lineup.shadows.items():
            read = lineup.read(member, rows, Read(champion.rows, chunk))
            told = [None] * len(answers) if read is None else _plain(member, member.judge(read))
            for each, one in zip(beside, told, strict=True):
                each[name] = one
        for answer, each in zip(answers, beside, strict=True):
            answer["shadows"] = each
    return answers, chunk, verdicts


def answers_to(champion: Member, chunk: Chunk, wanted: Wanted) -> tuple[list[dict[str, Any]], Verdicts]:
    """An answer for each row of a chunk."""
    verdicts = champion.judge(chunk)
    answers = _plain(champion, verdicts)
    if wanted.plain:
        return answers, verdicts
    if wanted.probabilities:
        for answer, row in zip(answers, champion.probabilities(verdicts).tolist(), strict=True):
            answer["probabilities"] = [
                {"label": label, "probability": share} for label, share in zip(champion.labels, row, strict=True)
            ]
    if wanted.max_error is not None:
        for answer, answered in zip(answers, champion.answered(verdicts, wanted.max_error).tolist(), strict=True):
            answer["answered"] = answered
            if not answered:
                answer["label"] = None
    if wanted.novelty:
        unseen, ratios = champion.novelty(chunk, verdicts)
        told = [None] * len(answers) if ratios is None else ratios.tolist()
        for answer, share, ratio in zip(answers, unseen.tolist(), told, strict=True):
            answer["novelty"] = {"unseen": share, "std_ratio": ratio}
    if wanted.explain:
        for answer, explanation in zip(answers, champion.explain(chunk, wanted.explain), strict=True):
            answer["explanation"] = explanation.to_dict()
    return answers, verdicts


def _plain(member: Member, verdicts: Verdicts) -> list[dict[str, Any]]:
    if not member.is_classifier:
        return [{"value": value} for value in verdicts.labels]
    return [
        {"label": label, "confidence": confidence}
        for label, confidence in zip(verdicts.labels, verdicts.confidences.tolist(), strict=True)
    ]

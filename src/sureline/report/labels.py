"""Where words go in a picture, so that none lies on another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Box:
    """A rectangle; the top has the smaller number."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        return (
            self.left < other.right and other.left < self.right and self.top < other.bottom and other.top < self.bottom
        )

    def within(self, other: Box) -> bool:
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


def place(
    x: float, y: float, width: float, size: float, taken: list[Box], bounds: Box, avoided: Sequence[Box] = ()
) -> Box | None:
    """A box for words of that width beside the point, clear of what is taken; None if there is none.

    What is `avoided` is kept clear if that can be done.
    """
    for others in ((*taken, *avoided), taken) if avoided else (taken,):
        found = _clear(x, y, width, size, others, bounds)
        if found is not None:
            return found
    return None


def _clear(x: float, y: float, width: float, size: float, taken: Sequence[Box], bounds: Box) -> Box | None:
    height, gap = size + 4, 8.0
    middle, centre = y - height / 2, x - width / 2
    for left, top in (
        (x + gap, middle),
        (x - gap - width, middle),
        (centre, y - gap - height + 2),
        (centre, y + gap - 2),
        (x + gap - 2, y - gap - height + 6),
        (x + gap - 2, y + gap - 6),
        (x - gap + 2 - width, y - gap - height + 6),
        (x - gap + 2 - width, y + gap - 6),
    ):
        box = Box(left, top, left + width, top + height)
        if box.within(bounds) and not any(box.meets(other) for other in taken):
            return box
    return None


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Heights as near to those wanted as they can be with so much between them, from `low` to `high`.

    Neighbours that are too near are joined into a block, whose middle is the mean of what its members want, until no
    two blocks meet.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    blocks: list[list[int]] = []
    tops: list[float] = []
    for i in order:
        blocks.append([i])
        tops.append(_top([wanted[i]], gap, low, high))
        while len(blocks) > 1 and tops[-2] + gap * len(blocks[-2]) > tops[-1] + 1e-9:
            joined = blocks.pop()
            blocks[-1] += joined
            tops.pop()
            tops[-1] = _top([wanted[j] for j in blocks[-1]], gap, low, high)
    heights = [0.0] * len(wanted)
    for block, top in zip(blocks, tops, strict=True):
        for k, i in enumerate(block):
            heights[i] = top + k * gap
    return heights


def _top(wanted: list[float], gap: float, low: float, high: float) -> float:
    """Where the first of a block goes."""
    extent = gap * (len(wanted) - 1)
    middle = sum(wanted) / len(wanted) - extent / 2
    return max(min(middle, high - extent), low)

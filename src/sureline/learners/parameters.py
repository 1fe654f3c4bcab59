"""Constraints of parameters, as data on the class that has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np


class Constraint(ABC):
    """A set of values, and how to speak of it."""

    @abstractmethod
    def accepts(self, value: Any) -> bool: ...

    @abstractmethod
    def __str__(self) -> str: ...

    def check(self, name: str, owner: str, value: Any) -> None:
        if not self.accepts(value):
            raise ValueError(f"The {name!r} parameter of {owner} must be {self}. Got {value!r} instead.")


@dataclass(frozen=True)
class Number(Constraint):
    """A number from `low` to `high`; an end that is open does not belong to it."""

    low: float = -inf
    high: float = inf
    open: Literal["", "low", "high", "both"] = ""
    integer: bool = False
    optional: bool = False  # None is welcome too

    def accepts(self, value: Any) -> bool:
        if value is None:
            return self.optional
        if isinstance(value, bool | np.bool_) or not isinstance(value, Integral if self.integer else Real):
            return False
        try:
            value = float(value)
        except OverflowError:  # an integer beyond the largest float
            return False
        above = value > self.low if self.open in ("low", "both") else value >= self.low
        below = value < self.high if self.open in ("high", "both") else value <= self.high
        return bool(above and below)

    def __str__(self) -> str:
        left = "(" if self.open in ("low", "both") or self.low == -inf else "["
        right = ")" if self.open in ("high", "both") or (self.high == inf and not self._holds_infinity) else "]"
        kind = "an int" if self.integer else "a float"
        return f"{kind} in the range {left}{self.low:g}, {self.high:g}{right}" + (" or None" if self.optional else "")

    @property
    def _holds_infinity(self) -> bool:
        return not self.integer and self.open in ("", "low")


@dataclass(frozen=True)
class OneOf(Constraint):
    """One of a few words."""

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return "a str among {" + ", ".join(repr(word) for word in self.words) + "}"


@dataclass(frozen=True)
class Flag(Constraint):
    """True or False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_)

    def __str__(self) -> str:
        return "a bool"


POSITIVE = Number(0, open="both")
NOT_NEGATIVE = Number(0, open="high")
LOSSES = OneOf("hinge", "squared_hinge", "log")

"""Constraints of parameters, as data of the fields that have them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import MISSING, dataclass, field, fields
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

    def default(self, value: Any, *, kw_only: Any = MISSING) -> Any:
        """A field of a dataclass: a parameter under this constraint, with its default."""
        return field(default=value, kw_only=kw_only, metadata={Constraint: self})

    def check(self, name: str, owner: str, value: Any) -> None:
        if not self.accepts(value):
            raise ValueError(f"The {name!r} parameter of {owner} must be {self}. Got {value!r} instead.")


def constraints_of(owner: type[Any]) -> dict[str, Constraint]:
    """The constraints of the parameters of a dataclass, by name."""
    return {one.name: one.metadata[Constraint] for one in fields(owner) if Constraint in one.metadata}


def refuse_apart(owner: Any, pairs: Iterable[tuple[str, str, str]]) -> None:
    """Raise ValueError if a parameter is given without the value of another that it goes with."""
    for parameter, other, value in pairs:
        if getattr(owner, parameter) is not None and getattr(owner, other) != value:
            raise ValueError(
                f"The {parameter!r} parameter of {type(owner).__name__} goes with {other}={value!r}. Got "
                f"{parameter}={getattr(owner, parameter)!r} with {other}={getattr(owner, other)!r}."
            )


@dataclass(frozen=True)
class Number(Constraint):
    """A number from `low` to `high`; open ends are excluded."""

    low: float = -inf
    high: float = inf
    open: Literal["", "low", "high", "both"] = ""
    integer: bool = False
    optional: bool = False  # None is valid too

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
    """One of several words."""

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


@dataclass(frozen=True)
class AutoFlag(Constraint):
    """True, False, or "auto"."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "auto")

    def __str__(self) -> str:
        return "a bool or 'auto'"


@dataclass(frozen=True)
class FlagOrNumber(Constraint):
    """True, False, or a number."""

    number: Number

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool | np.bool_) or self.number.accepts(value)

    def __str__(self) -> str:
        return f"a bool or {self.number}"


POSITIVE = Number(0, open="both")
NOT_NEGATIVE = Number(0, open="high")
LOSSES = OneOf("hinge", "squared_hinge", "log")
DUAL_LOSSES = OneOf(*LOSSES.words, "squared", "absolute", "huber")

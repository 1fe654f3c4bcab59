"""Labels, independent of their notation.

A label that reads as a decimal number is that number: "+1", "1", "1.0" and "1e0" are the integer 1, "-0" is 0, and
"0.5" a float. Integers are exact, however long. Anything else is text. Other notations of Python's numbers ("1_000",
digits of other scripts) are text too; nan and inf are refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import label_array

Label = int | float | str
Codes = npt.NDArray[np.int32]

_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
# The usual form of numbers; a regression has one in every row.
_SHORT = re.compile(rb"[+-]?[0-9]{1,15}(\.[0-9]{1,15})?")
_NOT_FINITE = re.compile(r"[+-]?(?:nan|inf|infinity)", re.IGNORECASE)
_CACHED = 10_000


class BadLabel(ValueError):
    """Raised for an invalid label, with the reason."""


def from_number(number: int | float) -> Label:
    """The label that a number is."""
    if isinstance(number, int):
        return int(number)
    if not math.isfinite(number):
        raise BadLabel(f"the label is {number}")
    return int(number) if number.is_integer() else float(number)


def from_text(text: str) -> Label:
    """The label that a text stands for."""
    if _DECIMAL.fullmatch(text):
        number = float(text)
        if math.isinf(number):
            raise BadLabel("the label is too large a number")
        if _INTEGER.fullmatch(text):  # Python refuses thousands of digits; those can only be leading zeros
            digits = int(text.lstrip("+-").lstrip("0") or "0")
            return -digits if text[0] == "-" else digits
        return from_number(number)
    if _NOT_FINITE.fullmatch(text):
        raise BadLabel(f"the label is {text}")
    if not text:
        raise BadLabel("the label is empty")
    if text[0] == "\ufeff":  # files with such marks, put together
        raise BadLabel("the label begins with a byte order mark")
    return text


def refuse_long(label: str | bytes, longest: int) -> None:
    """Raise BadLabel if a label has more than `longest` bytes."""
    if len(label) > longest or (4 * len(label) > longest and isinstance(label, str) and _size(label) > longest):
        raise BadLabel(f"the label is longer than {longest} bytes (max_label)")


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))


def as_written(text: str) -> Label:
    """The text of a label, also of a number: in a table with decimal commas 1.844 is no decimal fraction."""
    from_text(text)  # raises BadLabel
    return text


def from_bytes(token: bytes, longest: int = 1000, *, as_text: bool = False) -> Label:
    """The label that a token of a file is."""
    short = None if as_text else _SHORT.fullmatch(token)
    if short is not None:
        return int(token) if short[1] is None else from_number(float(token))
    refuse_long(token, longest)
    try:
        return (as_written if as_text else from_text)(token.decode())
    except UnicodeDecodeError:
        raise BadLabel("the label is not valid UTF-8") from None


def to_text(label: Label) -> str:
    """A text that `from_text` turns into the same label."""
    return label if isinstance(label, str) else repr(label)


class LabelReader:
    """Converts coded tokens to coded labels, and remembers earlier results."""

    def __init__(self, longest: int = 1000, *, as_text: bool = False) -> None:
        self._known: dict[bytes, Label] = {}
        self._longest, self._as_text = longest, as_text

    def _label(self, token: bytes) -> Label:
        label = self._known.get(token)
        if label is None:
            label = from_bytes(token, self._longest, as_text=self._as_text)
            if len(self._known) < _CACHED and len(token) < 100:
                self._known[token] = label
        return label

    def read(self, codes: Codes, tokens: Sequence[bytes]) -> tuple[Codes, list[Label], dict[int, str]]:
        """Codes, labels in the order of their first token, and the codes of tokens that are no labels, with reasons."""
        labels: dict[Label, int] = {}
        table = []
        bad = {}
        for code, token in enumerate(tokens):
            try:
                table.append(labels.setdefault(self._label(token), len(labels)))
            except BadLabel as error:
                table.append(-1)
                bad[code] = str(error)
        if len(labels) < len(tokens):
            codes = np.array([*table, -1], np.int32)[codes]  # the last is of rows without a label
        return codes, list(labels), bad


def coded(labels: Iterable[Label | None]) -> tuple[Codes, list[Label]]:
    """Codes and distinct labels in the order of their appearance; None gets the code -1."""
    names: dict[Label, int] = {}
    codes = [-1 if label is None else names.setdefault(label, len(names)) for label in labels]
    return np.array(codes, np.int32), list(names)


def as_array(codes: Codes, labels: Sequence[Label]) -> npt.NDArray[Any]:
    """A label for each row: integers, floats or text if all are, otherwise objects; None for a missing label."""
    plain = (
        all(isinstance(label, str) for label in labels)
        or all(isinstance(label, int) and -(2**63) <= label < 2**63 for label in labels)
        or all(isinstance(label, float) or (isinstance(label, int) and abs(label) < 2**53) for label in labels)
    )
    if plain and labels and not (codes < 0).any():
        return label_array(labels, len(codes))[codes]
    objects = np.empty(len(labels) + 1, object)  # the last is the None of the code -1
    objects[:-1] = labels
    return objects[codes]

"""Errors of model files."""

from __future__ import annotations


class ModelFileError(ValueError):
    """A refused model file. The message is ``FILE: reason``.

    Attributes
    ----------
    path : str
    reason : str
        One of those that docs/model-file.md lists.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Refusal(Exception):
    """A reason without the file's name, which a caller adds."""

"""Refusals of a service, each with its status."""

from __future__ import annotations


class Refused(Exception):
    """A request that is not done: an HTTP status, and one sentence that says why."""

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.headers = status, message, headers or {}


class StateError(ValueError):
    """A folder of a service that cannot be gone on with. The message is one sentence."""

"""Each operation of the interface once: its route, who may call it, and what its documentation says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from .tokens import Right

Endpoint = Callable[[Request], Awaitable[Response]]
JSON, NDJSON, OCTETS, TEXT = "application/json", "application/x-ndjson", "application/octet-stream", "text/plain"


@dataclass(frozen=True)
class Operation:
    """An endpoint.

    Attributes
    ----------
    body : dict of str to str
        The schema of the body by media type; none if there is no body.
    answer : dict of str to str
        The schema of the answer by media type.
    also : tuple of int
        Statuses besides those that follow from the rest.
    query : dict of str to dict
        Parameters of the query, as OpenAPI has them.
    listed : bool
        False if the description does not tell of it.
    """

    method: str
    path: str
    endpoint: Endpoint
    right: Right
    summary: str
    text: str = ""
    body: dict[str, str] = field(default_factory=dict)
    answer: dict[str, str] = field(default_factory=lambda: {JSON: "Object"})
    status: int = 200
    also: tuple[int, ...] = ()
    query: dict[str, dict[str, Any]] = field(default_factory=dict)
    tag: str = "models"
    listed: bool = True

    @property
    def statuses(self) -> tuple[int, ...]:
        """All of them."""
        found = {self.status, 403, 408, 431, 503, *self.also}
        if self.right is not Right.NOTHING:
            found |= {401}
        if "{" in self.path:
            found |= {404}
        if self.body:
            found |= {400, 413, 415, 422}
        else:
            found |= {422}
        return tuple(sorted(found))

"""Checks of every request: where it may come from, and what is told of it."""

from __future__ import annotations

import time
from collections.abc import Callable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .errors import Refused
from .replies import refusal

_MOST_KNOWN = 100
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Guard:
    """Refuses what a browser sends on behalf of another page, and writes a line for each request if that is wanted.

    A page of anybody's can have a browser send requests to this machine. They say where they come from; and if the name
    of that page was made to point here, they ask for a host that is not this one. Where there are tokens neither
    matters: no page knows them, and no browser adds them by itself.
    """

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str] | None, same_origin: bool) -> None:
        self._app, self._hosts, self._same_origin = app, hosts, same_origin
        self._known: set[bytes] = set()  # hosts that were asked for and are served

    def _serves(self, host: bytes) -> bool:
        if self._hosts is not None and _without_port(host.decode("latin-1").lower()) not in self._hosts:
            return False
        if len(self._known) < _MOST_KNOWN:
            self._known.add(host)
        return True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (self._hosts is not None or self._same_origin):
            host = origin = None
            for name, text in scope["headers"]:
                if name == b"host":
                    host = text if host is None else b""  # two of them are none that is served
                elif name == b"origin":
                    origin = text
            if host is not None and host not in self._known and not self._serves(host):
                await refusal(Refused(403, "This host is not served here."))(scope, receive, send)
                return
            if (
                self._same_origin
                and origin is not None
                and origin.lower().partition(b"://")[2] != (host or b"").lower()
            ):
                await refusal(Refused(403, "A page of another origin may not ask."))(scope, receive, send)
                return
        await self._app(scope, receive, send)


class AccessLog:
    """A line for each request: who, what, status and time. Of bodies and queries only if examples may be logged."""

    def __init__(self, app: ASGIApp, say: Callable[[str], None], *, examples: bool) -> None:
        self._app, self._say, self._examples = app, say, examples

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, body = time.perf_counter(), 0, b""

        async def watched_receive() -> Message:
            nonlocal body
            message = await receive()
            if len(body) < _MOST_LOGGED:
                body += message.get("body", b"")[:_MOST_LOGGED]
            return message

        async def watched_send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, watched_receive if self._examples else receive, watched_send)
        finally:
            client = scope.get("client") or ("-", 0)
            path = printable_path(scope["path"])
            milliseconds = 1000 * (time.perf_counter() - began)
            more = f" {body[:_MOST_LOGGED].decode('ascii', 'backslashreplace')!r}" if self._examples else ""
            self._say(f"{client[0]} {scope['method']} {path} {status} {milliseconds:.1f} ms{more}")


_MOST_LOGGED = 2000


def printable_path(path: str) -> str:
    """A path without what a terminal would take for a command."""
    return path[:200].encode("ascii", "backslashreplace").decode() if path.isprintable() else repr(path[:200])


def loopback_hosts(host: str) -> frozenset[str]:
    """The names of the host that a request to a service on this machine alone may use."""
    return _LOOPBACK | {f"[{host}]" if ":" in host else host}


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]

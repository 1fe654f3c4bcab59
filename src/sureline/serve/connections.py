"""Connections that are no harm: how many there are, how long their heads may be, and how long those may take."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from .errors import Refused
from .limits import Limits
from .replies import refusal

_CLOSE = {"Connection": "close"}


def protocol_with(limits: Limits) -> type[HttpToolsProtocol]:
    """The protocol of uvicorn within these limits."""
    too_large = Refused(431, f"The line and headers of a request have at most {limits.head:,} bytes.", _CLOSE)
    too_slow = Refused(408, f"The head of a request takes at most {limits.head_time:g} s.", _CLOSE)
    too_many = Refused(503, f"There are {limits.sockets:,} connections already.", {**_CLOSE, "Retry-After": "1"})

    class Patient(HttpToolsProtocol):
        """One connection."""

        def __init__(self, *positional: Any, **named: Any) -> None:
            super().__init__(*positional, **named)
            self._timer: asyncio.TimerHandle | None = None
            self._in_head = True
            self._come = self._piece = self._unfinished = (
                0  # bytes: at most of this head, of the latest, of no whole head
            )

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > limits.sockets:
                self._refuse(too_many)
                return
            self._wait()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            self._piece = len(data)
            self._come += self._piece
            super().data_received(data)
            if self._in_head and self.transport is not None and not self.transport.is_closing():
                self._unfinished += self._piece
                if self._unfinished > limits.head:
                    self._refuse(too_large)
                else:
                    self._wait()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._in_head, self._unfinished = True, 0

        def on_headers_complete(self) -> None:
            self._in_head = False
            self._stop()
            come, self._come = self._come, self._piece  # what is left of the piece may have the next head
            if come > limits.head and self._head_bytes() > limits.head:
                app, self.app = self.app, refusal(too_large)
                super().on_headers_complete()
                self.app = app
            else:
                super().on_headers_complete()

        def _head_bytes(self) -> int:
            return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

        def _wait(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(limits.head_time, self._give_up)

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            self._timer = None
            self._refuse(too_slow)

        def _refuse(self, refused: Refused) -> None:
            if self.transport.is_closing():
                return
            sent = refusal(refused)
            head = [f"HTTP/1.1 {refused.status} Refused".encode()]
            head += [name + b": " + text for name, text in sent.raw_headers]
            self.transport.write(b"\r\n".join([*head, b"", bytes(sent.body)]))
            self.transport.close()

    return Patient

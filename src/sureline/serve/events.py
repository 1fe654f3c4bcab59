"""Server-sent events: the parts of the live page, as often as they change and as fast as the page takes them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress

from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .errors import Refused
from .limits import Limits
from .models import House
from .parts import Parts, Templates
from .replies import SAFE, encode
from .served import Served

MOST_PAGES = 100  # that are shown the same model at a time
_EVERY, _SHARE = 0.5, 20  # seconds between looks; and one in so many of the time, at most
_BEAT = 10.0  # seconds until a page that nothing happens on hears that the service is there


class Feed:
    """The latest parts of a model, for all pages that show it: made once for all, and only while one does."""

    def __init__(self, house: House, served: Served, templates: Templates) -> None:
        self.house, self.served, self.templates = house, served, templates
        self.parts: dict[str, bytes] = {}
        self.made_at = 0.0
        self._maker = Parts(house, served, templates)
        self._pages = 0
        self._task: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()

    @property
    def full(self) -> bool:
        return self._pages >= MOST_PAGES

    async def _make(self) -> None:
        house, served = self.house, self.served
        self.parts, self.made_at = self._maker.at_once(), time.time()  # charts take a second for the first page
        self._wake()
        try:
            while self._pages and not house.stopping and served.name in house.names():
                parts = await self._maker.now()
                if parts != self.parts:
                    self.parts, self.made_at = parts, time.time()
                    self._wake()
                await asyncio.sleep(max(_EVERY, _SHARE * self._maker.cost))
        finally:
            self._task, self.parts = None, {}
            self._wake()

    def _wake(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def follow(self) -> AsyncIterator[bytes]:
        """Events for one page, until the service or the model ends."""
        sent: dict[str, bytes] = {}
        templates: set[str] = set()
        self._pages += 1
        try:
            if self._task is None:
                self._task = asyncio.create_task(self._make())
            while self._task is not None:
                changed, parts = self._changed, self.parts
                new = {name: part for name, part in parts.items() if sent.get(name) != part}
                if new:
                    yield b"".join(self._events(new, templates))
                    sent |= new
                try:
                    await asyncio.wait_for(changed.wait(), _BEAT)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._pages -= 1

    def _events(self, parts: dict[str, bytes], templates: set[str]) -> list[bytes]:
        """An event for each part, and before it the template of its chart if that is new to the page."""
        found = []
        for name, part in parts.items():
            of_it = part[13:29].decode() if part.startswith(b'{"template":"') else None
            made = None if of_it is None or of_it in templates else self.templates[of_it]
            if of_it is not None and made is not None:
                templates.add(of_it)
                found.append(_event(f"template-{of_it}", made))
            found.append(_event(name, part))
        return [*found, _event("now", encode({"at": self.made_at}))]


def _event(name: str, data: bytes) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class Events(Response):
    """The events of a feed, until either side has gone."""

    def __init__(self, feed: Feed, limits: Limits) -> None:
        self.status_code, self.background = 200, None
        # Proxies such as nginx would keep events back until there are many.
        self.raw_headers = [(b"content-type", b"text/event-stream"), (b"x-accel-buffering", b"no"), *SAFE]
        self._feed, self._limits = feed, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        gone = asyncio.create_task(_gone(receive))
        sending = asyncio.create_task(self._send(send))
        try:
            await asyncio.wait([gone, sending], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (gone, sending):
                task.cancel()
            await asyncio.gather(gone, sending, return_exceptions=True)

    async def _send(self, send: Send) -> None:
        events = self._feed.follow()
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        with suppress(ClientDisconnect, TimeoutError):
            async for part in events:
                async with asyncio.timeout(self._limits.idle_time):  # for whoever does not read
                    await send({"type": "http.response.body", "body": part, "more_body": True})
        await events.aclose()  # type: ignore[attr-defined]
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


class Feeds:
    """A feed for each model that a page shows."""

    def __init__(self, house: House, limits: Limits) -> None:
        self._house, self._limits = house, limits
        self._templates = Templates()
        self._feeds: dict[str, Feed] = {}

    def events(self, name: str) -> Events:
        """The events of a model. Refused if there is none, or too many pages show it."""
        served = self._house.get(name)
        feed = self._feeds.get(name)
        if feed is None or feed.served is not served:
            self._feeds = {each: one for each, one in self._feeds.items() if each in self._house.names()}
            self._feeds[name] = feed = Feed(self._house, served, self._templates)
        if feed.full:
            raise Refused(503, f"{MOST_PAGES} pages show this model already.", {"Retry-After": "5"})
        return Events(feed, self._limits)

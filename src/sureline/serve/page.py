"""The live page at /: its files, which say nothing of any model, and the events that fill it."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import sys
from functools import cache
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from ..evaluate.charts.colours import variables
from .errors import Refused
from .events import Feeds
from .limits import Limits
from .models import House
from .operations import Operation
from .service import refuse_query
from .tokens import Right

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_SCRIPTS = ("page.js", "page_charts.js", "page_form.js", "page_queue.js")
_TYPES = {"html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
# The libraries that draw charts, joined in a process of its own: what joins them takes a hundred megabytes.
_JOIN = "import sys; from sureline.evaluate.charts.base import javascript; sys.stdout.write(javascript(sys.argv[1]))"
_LIBRARY = "globalThis.vegaEmbed = vegaEmbed;"
_libraries: list[bytes] = []  # one, when it was made


class Page:
    """Answers to what a browser fetches."""

    def __init__(self, house: House, limits: Limits) -> None:
        self._feeds = Feeds(house, limits)
        self._joining = asyncio.Lock()

    def operations(self) -> list[Operation]:
        """Those of the page. They are for browsers, and no part of the description of the interface."""
        nothing, page = Right.NOTHING, {"tag": "page", "listed": False}
        found: list[tuple[str, Any, Right, str]] = [
            ("/", self.index, nothing, "The live page"),
            ("/page.css", self.style, nothing, "Its style"),
            ("/page.js", self.script, nothing, "Its script"),
            ("/charts.js", self.library, nothing, "What draws its charts"),
            ("/v1/models/{name}/events", self.events, Right.READ, "What it shows"),
        ]
        return [Operation("GET", path, endpoint, right, words, **page) for path, endpoint, right, words in found]  # type: ignore[arg-type]

    async def index(self, request: Request) -> Response:
        return _file(request, _text("page.html"), "html")

    async def style(self, request: Request) -> Response:
        return _file(request, variables() + _text("page.css"), "css")

    async def script(self, request: Request) -> Response:
        return _file(request, "".join(map(_text, _SCRIPTS)), "js")

    async def library(self, request: Request) -> Response:
        """The libraries of charts, made when the first page asks for them."""
        async with self._joining:
            if not _libraries:
                _libraries.append(await _joined())
        return _zipped(request, _libraries[0], "js")

    async def events(self, request: Request) -> Response:
        """Server-sent events with the parts of the page."""
        refuse_query(request)
        return self._feeds.events(request.path_params["name"])


async def _joined() -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        _JOIN,
        _LIBRARY,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    made, said = await process.communicate()
    if process.returncode != 0:
        why = said.decode(errors="replace").strip().rpartition("\n")[2]
        raise Refused(503, f"The libraries of charts could not be joined: {why}")
    return await asyncio.to_thread(gzip.compress, made, 6, mtime=0)


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


@cache
def _packed(text: str) -> bytes:
    return gzip.compress(text.encode(), 9, mtime=0)


def _file(request: Request, text: str, kind: str) -> Response:
    return _zipped(request, _packed(text), kind)


def _zipped(request: Request, data: bytes, kind: str) -> Response:
    """A file that browsers keep, and ask each time whether it is still the same."""
    tag = f'"{hashlib.sha256(data).hexdigest()[:20]}"'
    headers = {
        "Content-Type": _TYPES[kind],
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
        "Vary": "Accept-Encoding",
        "ETag": tag,
    }
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(data, headers={**headers, "Content-Encoding": "gzip"})
    return Response(gzip.decompress(data), headers=headers)

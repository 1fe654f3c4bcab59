"""Models in and out: files, shadows, and which of them is the champion."""

from __future__ import annotations

import asyncio
import copy
import os
import secrets
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from ..learners.saving import learner_bytes
from .bytes_in import pieces
from .errors import Refused
from .limits import Limits
from .models import House
from .names import checked_name
from .records import Promoted, Unshadowed
from .replies import SAFE, reply
from .served import Served
from .service import media_type, refuse_query

OCTETS = "application/octet-stream"


class Administration:
    """Requests that take the right to administer."""

    def __init__(self, house: House, limits: Limits) -> None:
        self.house, self.limits = house, limits

    def served(self, request: Request) -> Served:
        return self.house.get(request.path_params["name"])

    async def models(self, request: Request) -> Response:
        """All models."""
        refuse_query(request)
        return reply({"models": [self.house.get(name).describe() for name in self.house.names()]})

    async def describe(self, request: Request) -> Response:
        """One model."""
        refuse_query(request)
        return reply(self.served(request).describe())

    async def download(self, request: Request) -> Response:
        """The file of the champion, or of a shadow."""
        refuse_query(request, "shadow")
        served = self.served(request)
        member, shadow = served.champion, request.query_params.get("shadow")
        if shadow is not None:
            if shadow not in served.lineup.shadows:
                raise Refused(404, "There is no shadow of that name.")
            member = served.lineup.shadows[shadow]
        version, learner = served.version, copy.copy(member.learner)
        body = await asyncio.to_thread(learner_bytes, learner)
        response = Response(body)
        response.raw_headers = [
            (b"content-length", str(len(body)).encode("ascii")),
            (b"content-type", OCTETS.encode("ascii")),
            (b"content-disposition", f'attachment; filename="{shadow or served.name}.sureline"'.encode("ascii")),
            (b"x-sureline-version", version.encode("ascii")),
            *SAFE,
        ]
        return response

    async def upload(self, request: Request) -> Response:
        """A model file as a new model, or in place of a champion."""
        refuse_query(request, "name", "replace")
        name = checked_name(request.query_params.get("name"))
        replace = request.query_params.get("replace", "false")
        if replace not in ("true", "false"):
            raise Refused(422, "replace is true or false.")
        file = await self._received(request, self.house.state)
        try:
            served = await self.house.upload(name, file, replace=replace == "true")
        finally:
            await asyncio.to_thread(file.unlink, True)
        return reply(served.describe(), 201)

    async def remove(self, request: Request) -> Response:
        """Serve a model no more."""
        refuse_query(request)
        await self.house.remove(self.served(request))
        return reply({"models": self.house.names()})

    async def add_shadow(self, request: Request) -> Response:
        """A model file as a shadow."""
        refuse_query(request, "name")
        served = self.served(request)
        name = checked_name(request.query_params.get("name"))
        file = await self._received(request, served.folder)
        try:
            version = await self.house.add_shadow(served, name, file)
        finally:
            await asyncio.to_thread(file.unlink, True)
        return reply({"version": version, "shadows": served.shadows()}, 201)

    async def remove_shadow(self, request: Request) -> Response:
        """A shadow no more."""
        refuse_query(request)
        served = self.served(request)
        name = self._shadow(served, request)
        version = await served.change(Unshadowed(name))
        served.watch.forget_shadow(name)
        return reply({"version": version, "shadows": served.shadows()})

    async def promote(self, request: Request) -> Response:
        """A shadow as the champion."""
        refuse_query(request)
        served = self.served(request)
        name = self._shadow(served, request)
        version = await served.change(Promoted(name))
        served.watch.forget_shadow(name)
        return reply({"version": version, "shadows": served.shadows()})

    @staticmethod
    def _shadow(served: Served, request: Request) -> str:
        name: str = request.path_params["shadow"]
        if name not in served.lineup.shadows:
            raise Refused(404, "There is no shadow of that name.")
        return name

    async def _received(self, request: Request, folder: Path) -> Path:
        """The body as a file in that folder."""
        if media_type(request) != OCTETS:
            raise Refused(415, f"Content-Type must be {OCTETS}.")
        path = folder / f".upload-{secrets.token_hex(8)}.new"
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            async for piece in pieces(request, self.limits, self.limits.upload, steady=True):
                await asyncio.to_thread(_put, fd, piece)
            await asyncio.to_thread(os.fsync, fd)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise Refused(507, f"The file could not be kept: {error.strerror}.") from None
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(fd)
        return path


def _put(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]

"""A service from its first socket to its last snapshot."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import os
import signal
import socket
import ssl
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import uvicorn
import uvloop
from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from .app import Application
from .connections import protocol_with
from .errors import StateError
from .guard import AccessLog, Guard, loopback_hosts
from .limits import Limits
from .models import House
from .served import Keeping
from .tcp import LineServer
from .tokens import Tokens

_SWITCH = 0.0005  # seconds that another thread, which calibrates or writes, may keep answers waiting
# What a request leaves behind is freed by counting references. A search for cycles through all that was imported would
# keep answers waiting, so that it comes seldom, and what is there at the start is left out of it.
_COLLECT = (20_000, 20, 50)
_GRACE = 10  # seconds for requests that are under way when the service ends
Pages = Callable[[House], Sequence[BaseRoute]]


@dataclass(frozen=True)
class Settings:
    """The settings that a service is started with.

    Attributes
    ----------
    files : sequence of (name, file)
        Models that are served; those of the state are served as well.
    tcp : int or None
        The port of the line protocol, and `tcp_model` what answers there: the first model if None.
    anybody : bool
        True if a service without tokens may listen for other machines.
    """

    state: Path
    files: Sequence[tuple[str, Path]] = ()
    host: str = "127.0.0.1"
    port: int = 8765
    tcp: int | None = None
    tcp_model: str | None = None
    tokens: Tokens = field(default_factory=Tokens)
    anybody: bool = False
    limits: Limits = field(default_factory=Limits)
    keeping: Keeping = field(default_factory=Keeping)
    certificate: Path | None = None
    key: Path | None = None
    access_log: bool = False
    log_examples: bool = False


def say(text: str) -> None:
    """A line for whoever looks after the service."""
    print(f"sureline serve: {text}", file=sys.stderr, flush=True)


def run(settings: Settings, pages: Pages = lambda house: ()) -> None:
    """Serve until a signal ends it."""
    sys.setswitchinterval(_SWITCH)
    gc.set_threshold(*_COLLECT)
    with (
        contextlib.closing(Running(settings, pages)) as running,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        gc.collect()
        gc.freeze()
        loop = runner.get_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, running.stop)
        runner.run(running.serve())


class _Server(uvicorn.Server):
    """Leaves signals to others: there is something to save after the last request."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Running:
    """A service that is ready to run. It raises StateError if it cannot.

    Attributes
    ----------
    house : House
    port, tcp_port : int or None
        Where it listens.
    """

    def __init__(self, settings: Settings, pages: Pages = lambda house: ()) -> None:
        local = _is_loopback(settings.host)
        if not local and not settings.tokens and not settings.anybody:
            raise StateError(
                f"Without a token, everybody who can reach {settings.host} could ask, teach and replace the models: "
                "give --token-file, or say --without-token."
            )
        self.settings = settings
        self.house = house = House(settings.state, settings.keeping, settings.limits, say)
        try:
            house.take(settings.files)
            house.open()
            self._tcp_model = self._model_of_lines()
            self._sock = _listening(settings.host, settings.port)
        except BaseException:
            house.release()
            raise
        self.port: int = self._sock.getsockname()[1]
        self.tcp_port: int | None = None
        made: ASGIApp = Application(house, settings.tokens, settings.limits).asgi(pages(house))
        if not settings.tokens:
            made = Guard(made, hosts=loopback_hosts(settings.host) if local else None, same_origin=True)
        if settings.access_log or settings.log_examples:
            made = AccessLog(made, say, examples=settings.log_examples)
        config = uvicorn.Config(
            made,
            http=protocol_with(settings.limits),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=int(settings.limits.idle_time),
            timeout_graceful_shutdown=_GRACE,
            ssl_certfile=settings.certificate,
            ssl_keyfile=settings.key,
        )
        try:
            config.load()  # whatever is wrong with a certificate, before anything is promised
        except OSError as error:
            self.close()
            files = f"--tls-cert {settings.certificate} and --tls-key {settings.key}"
            if isinstance(error, ssl.SSLError):
                raise StateError(f"{files} must be a certificate and its key in PEM, and are not.") from None
            raise StateError(f"{files} cannot be read: {error.strerror or error}.") from None
        self._server = _Server(config)

    def _model_of_lines(self) -> str | None:
        settings, names = self.settings, self.house.names()
        if settings.tcp is None:
            return None
        name = settings.tcp_model or (names[0] if names else None)
        if name not in names:
            raise StateError(f"--tcp answers with a model, and there is no {name or 'model yet'}.")
        return name

    async def serve(self) -> None:
        """Answer until `stop` is called, and save."""
        settings, house, lines = self.settings, self.house, None
        try:
            house.start()
            if self._tcp_model is not None and settings.tcp is not None:
                server = LineServer(house, self._tcp_model, settings.tokens, settings.limits)
                lines = await server.start(settings.host, settings.tcp)
                self.tcp_port = lines.sockets[0].getsockname()[1]
                say(f"lines for {self._tcp_model} on {settings.host}:{self.tcp_port}")
            scheme = "http" if settings.certificate is None else "https"
            host = f"[{settings.host}]" if ":" in settings.host else settings.host
            names = ", ".join(house.names()) or "no model yet"
            say(f"{scheme}://{host}:{self.port}/ answers for {names}; state in {settings.state}")
            await self._server.serve(sockets=[self._sock])
        finally:
            if lines is not None:
                lines.close()
            await house.stop()
            say("stopped")

    @property
    def started(self) -> bool:
        """True as soon as requests are answered."""
        return self._server.started

    def stop(self) -> None:
        """End after the requests that are under way; the second time at once."""
        self._server.force_exit = self._server.should_exit
        self._server.should_exit = self.house.stopping = True

    def close(self) -> None:
        """Give everything back."""
        self._sock.close()
        self.house.release()


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except socket.gaierror as error:
        raise StateError(f"--host {host}: {error.strerror}.") from None
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise StateError(f"{host}:{port} cannot be listened on: {reason}.") from None


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

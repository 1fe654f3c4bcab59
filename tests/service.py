"""Services for tests: in a thread of this process, or in a process of their own that can be killed."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from sureline.serve.running import Running, Settings

PATIENCE = 120  # seconds: machines that run tests may be busy
NDJSON = {"Content-Type": "application/x-ndjson"}


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.body.splitlines()]


def ask(port: int, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
    """Send one request on its own connection. A body that is not bytes is sent as JSON."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    with contextlib.closing(connection):
        return ask_on(connection, method, path, body, headers)


def ask_on(
    connection: http.client.HTTPConnection,
    method: str,
    path: str,
    body: Any = None,
    headers: dict[str, str] | None = None,
) -> Reply:
    given = {"Content-Type": "application/json"} if body is not None else {}
    data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, data, {**given, **(headers or {})})
    answer = connection.getresponse()
    return Reply(answer.status, {name.lower(): text for name, text in answer.getheaders()}, answer.read())


class Here:
    """A service in a thread."""

    def __init__(self, settings: Settings) -> None:
        self.running = Running(replace(settings, port=0))
        self.port = self.running.port
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        until = time.monotonic() + PATIENCE
        while not self.running.started:
            assert self._thread.is_alive(), "the service has ended"
            assert time.monotonic() < until, "the service does not start"
            time.sleep(0.01)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self.running.serve())

    def __call__(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        return ask(self.port, method, path, body, headers)

    def stop(self) -> None:
        self.running.stop()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self.running.close()


@contextlib.contextmanager
def serving(settings: Settings) -> Iterator[Here]:
    here = Here(settings)
    try:
        yield here
    finally:
        here.stop()


class There:
    """A service in a process."""

    def __init__(
        self, *options: object, environment: dict[str, str] | None = None, preexec: Any = None, port: int = 0
    ) -> None:
        words = [sys.executable, "-m", "sureline", "serve", *map(str, options), "--port", str(port)]
        self.process = subprocess.Popen(
            words, stderr=subprocess.PIPE, text=True, env=os.environ | (environment or {}), preexec_fn=preexec
        )
        self.said: list[str] = []
        self.port = -1
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))
            if found := re.search(r"https?://(?:127\.0\.0\.1|0\.0\.0\.0):(\d+)/ answers", line):
                self.port = int(found[1])
                break
        else:
            self.process.wait(PATIENCE)
            return
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line.rstrip("\n"))

    def __call__(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Reply:
        return ask(self.port, method, path, body, headers)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        return status


@contextlib.contextmanager
def process(*options: object, **more: Any) -> Iterator[There]:
    there = There(*options, **more)
    try:
        yield there
    finally:
        if there.process.poll() is None:
            there.kill()
        if there.process.stderr is not None:
            there.process.stderr.close()


def model_bits(folder: Path) -> bytes:
    """The bytes of the model of the newest snapshot of a name."""
    newest = max(folder.glob("snapshot-*"))
    return (newest / "champion.sureline").read_bytes()

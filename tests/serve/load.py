"""Many connections at once that ask, teach and send nonsense, and an account of what came back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

WORDS = ("red", "green", "blue", "sky", "sea", "tree", "house", "car", "train", "bird")
_WRONG: tuple[tuple[str, bytes, int], ...] = (
    ("predict", b'{"row": {"red": 1.0}', 400),
    ("predict", b'{"row": {"red": 1.0}, "rows": []}', 422),
    ("predict", b'{"row": {"red": 1.0}, "explain": -1}', 422),
    ("predict", b'{"row": {"red": "\xff"}}', 400),
    ("learn", b'{"row": {"red": 1.0}}', 422),
    ("learn", b'{"prediction_id": "none", "label": "a"}', 404),
    ("ask", b'{"row": {"red": 1.0}, "rate": 2}', 422),
)


@dataclass
class Account:
    """A question and its answer."""

    statuses: Counter[int] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)  # names of features that only one learned row has
    answers: list[dict[str, Any]] = field(default_factory=list)  # a sample, as `sureline replay` reads them
    sent: int = 0


class Gone(Exception):
    """The service has gone in the middle of a request."""


class Connection:
    """One connection that is kept alive, with as little as it takes."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)

    async def ask(self, path: str, body: bytes, kind: str = "application/json") -> tuple[int, bytes]:
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            self._writer.write(head.encode() + body)
            told = await self._reader.readuntil(b"\r\n\r\n")
            status = int(told[9:12])
            lower = told.lower()
            at = lower.find(b"content-length:")
            if at >= 0:
                return status, await self._reader.readexactly(int(lower[at + 15 : lower.index(b"\r\n", at)]))
            parts = []
            while size := int(await self._reader.readuntil(b"\r\n"), 16):
                parts.append((await self._reader.readexactly(size + 2))[:-2])
            await self._reader.readexactly(2)
            return status, b"".join(parts)
        except (OSError, asyncio.IncompleteReadError) as error:
            raise Gone from error

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()


class Load:
    """Send requests to the model `names` on many connections, and keep a sample of the answers."""

    def __init__(self, port: int, requests: int, connections: int, kept: int, seed: object) -> None:
        self.account = Account()
        self._port, self._requests, self._connections = port, requests, connections
        self._share, self._seed = kept / requests, seed

    async def run(self) -> None:
        """Send them all, or as many as are taken until the service has gone."""
        told = await asyncio.gather(*map(self._one, range(self._connections)), return_exceptions=True)
        for outcome in told:
            if isinstance(outcome, BaseException) and not isinstance(outcome, Gone | OSError):
                raise outcome

    async def _one(self, k: int) -> None:
        rng, account = random.Random(f"{self._seed}.{k}"), self.account
        connection = Connection(self._port)
        await connection.open()
        remembered: list[Any] = []
        try:
            while account.sent < self._requests:
                account.sent += 1
                await self._request(connection, rng, f"row{self._seed}.{k}.{account.sent}", remembered)
        finally:
            await connection.close()

    async def _request(self, connection: Connection, rng: random.Random, name: str, remembered: list[Any]) -> None:
        row = {word: rng.randrange(4) / 2 for word in rng.sample(WORDS, 3)}
        label, account, draw = rng.choice("ab"), self.account, rng.random()
        if draw < 0.2:  # learn
            given = {**row, name: 1.0}
            status, _ = await self._post(connection, "learn", {"row": given, "label": label}, 200)
            if status == 200:
                account.acknowledged.append(name)
        elif draw < 0.25 and remembered:
            one, unique = remembered.pop()
            status, _ = await self._post(connection, "learn", {"prediction_id": one, "label": label}, 200)
            if status == 200:
                account.acknowledged.append(unique)
        elif draw < 0.27:
            names = [f"{name}.{j}" for j in range(5)]
            lines = b"".join(json.dumps({"row": {**row, each: 1.0}, "label": label}).encode() + b"\n" for each in names)
            status, told = await self._post(connection, "learn", lines, 200)
            learned = [json.loads(line) for line in told.splitlines()] if status == 200 else []
            account.acknowledged += [each for each, line in zip(names, learned, strict=False) if "error" not in line]
        elif draw < 0.30:
            lines = b"".join(json.dumps({**row, "sea": j / 7}).encode() + b"\n" for j in range(20))
            _, told = await self._post(connection, "predict", lines, 200)
            if told.count(b"\n") != 20:
                account.unexpected.append(f"{told.count(10)} answers to 20 lines")
        elif draw < 0.33:
            await self._post(connection, "ask", {"rows": [row, {"red": 1.0}]}, 200)
        elif draw < 0.36:
            path, body, status = rng.choice(_WRONG)
            await self._post(connection, path, body, status)
        else:
            await self._predict(connection, rng, {**row, name: 1.0}, name, remembered)

    async def _predict(
        self, connection: Connection, rng: random.Random, row: dict[str, float], name: str, remembered: list[Any]
    ) -> None:
        draw = rng.random()
        body: dict[str, Any] = {"row": row}
        if draw < 0.1:
            body = {"rows": [row, {"red": 1.0}], "probabilities": True, "explain": 2}
        elif draw < 0.2:
            body |= {"novelty": True, "max_error": 0.05, "shadows": True}
        status, told = await self._post(connection, "predict", body, 200)
        if status != 200:
            return
        answer = json.loads(told)
        if draw >= 0.9:
            remembered.append((answer["prediction_id"], name))
        if rng.random() < 2 * self._share:
            self.account.answers.append({"model": "names", "request": body, "answer": answer})

    async def _post(self, connection: Connection, what: str, body: Any, expected: int) -> tuple[int, bytes]:
        nd = isinstance(body, bytes) and body.endswith(b"\n")
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        kind = "application/x-ndjson" if nd else "application/json"
        status, told = await connection.ask(f"/v1/models/names/{what}", data, kind)
        self.account.statuses[status] += 1
        if status != expected:
            self.account.unexpected.append(f"{what}: {status} {told[:200]!r}, not {expected}")
        return status, told

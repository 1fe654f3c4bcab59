"""The thread that writes: what waits for the disk at one time goes there together."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol

from .log import Log

KEEP_SECONDS = 0.01  # how long what nobody waits for may wait: each time that a thread wakes delays the answers
_LONGEST_WAIT = 30.0  # seconds
BATCH_SECONDS = 0.05  # with the durability "batch": how long a record may be on its way to the disk


class Keeper(Protocol):
    """A file with bytes to write that nobody waits for."""

    def write(self) -> None:
        """Write what has come since."""


Done = Callable[[list[tuple["Writing", int | OSError]]], None]


class Writing:
    """A record on its way to the disk, what is `told` of it when it is there, and who waits for that meanwhile."""

    __slots__ = ("log", "outcome", "payload", "there", "told")

    def __init__(self, log: Log, payload: bytes, told: Any) -> None:
        self.log, self.payload, self.told = log, payload, told
        self.there: threading.Event | None = None
        self.outcome: int | OSError = 0


class Writer:
    """One thread for all logs. `done` gets what was written, in the order in which it was handed over."""

    def __init__(self, done: Done) -> None:
        self._done = done
        self._entries: deque[Writing] = deque()
        self._keepers: dict[int, Keeper] = {}
        self._unsynced: dict[int, Log] = {}
        self._wake = threading.Condition()
        self._stop = False
        self._keep_at = 0.0
        self.batches = self.records = 0
        self.seconds = 0.0  # spent in writing records
        self._thread = threading.Thread(target=self._run, name="sureline-log", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        """Records that wait."""
        return len(self._entries)

    def put(self, writing: Writing) -> None:
        with self._wake:
            self._entries.append(writing)
            self._wake.notify()

    def put_and_wait(self, writing: Writing) -> None:
        """Have a record written before anything else is done. OSError if that failed."""
        writing.there = threading.Event()
        self.put(writing)
        if not writing.there.wait(_LONGEST_WAIT):
            raise TimeoutError("the disk does not answer")
        if isinstance(writing.outcome, OSError):
            raise writing.outcome

    def keep(self, keeper: Keeper) -> None:
        """Have a keeper write soon, and before any record that comes later."""
        if id(keeper) in self._keepers:
            return
        with self._wake:
            self._keepers[id(keeper)] = keeper
            self._keep_at = time.monotonic() + KEEP_SECONDS
            self._wake.notify()

    def close(self) -> None:
        """Write what waits, and end."""
        with self._wake:
            self._stop = True
            self._wake.notify()
        self._thread.join()

    def _run(self) -> None:
        synced = time.monotonic()
        while True:
            with self._wake:
                while not (self._entries or self._keepers or self._stop):
                    if not self._wake.wait(BATCH_SECONDS if self._unsynced else None):
                        break
                entries, self._entries = list(self._entries), deque()
                stop = self._stop
                left = self._keep_at - time.monotonic() if self._keepers else 0.0
                if left > 0 and not entries and not stop:
                    self._wake.wait(left)
                    continue
                keepers: list[Keeper] = []
                if left <= 0 or entries or stop:
                    keepers, self._keepers = list(self._keepers.values()), {}
            for keeper in keepers:  # first, so that a prediction whose label was acknowledged is known after a kill
                keeper.write()
            if entries:
                outcomes = self._write(entries)
                self._done(outcomes)
                for writing, outcome in outcomes:
                    if writing.there is not None:
                        writing.outcome = outcome
                        writing.there.set()
            if self._unsynced and (stop or time.monotonic() - synced >= BATCH_SECONDS):
                for log in self._unsynced.values():
                    with suppress(OSError):
                        log.sync()
                self._unsynced.clear()
                synced = time.monotonic()
            if stop and not entries and not keepers:
                return

    def _write(self, entries: list[Writing]) -> list[tuple[Writing, int | OSError]]:
        """Append the records of each log at once."""
        began = time.monotonic()
        by_log: dict[int, list[Writing]] = {}
        for entry in entries:
            by_log.setdefault(id(entry.log), []).append(entry)
        outcome: dict[int, int | OSError] = {}
        for several in by_log.values():
            log = several[0].log
            try:
                first = log.append([entry.payload for entry in several])
                outcome |= {id(entry): first + k for k, entry in enumerate(several)}
                if log.durability == "batch":
                    self._unsynced[id(log)] = log
            except OSError as error:
                outcome |= {id(entry): error for entry in several}
        self.batches += 1
        self.records += len(entries)
        self.seconds += time.monotonic() - began
        return [(entry, outcome[id(entry)]) for entry in entries]

"""Single labels that come at the same time, learned as one record: what a record costs is paid once."""

from __future__ import annotations

import asyncio
from typing import Any

from .errors import Refused
from .lineup import Read
from .records import Learned
from .served import Learnt, Served


class Teaching:
    """Labels for one name. Those that arrive in one turn of the event loop are one record of the log.

    With the durability "fsync" so are those that arrive while records are on their way to the disk, which
    they would wait for anyway.
    """

    def __init__(self, served: Served) -> None:
        self._served = served
        self._waiting: list[tuple[Learned, asyncio.Future[Learnt]]] = []
        self._under_way = 0  # records
        self._patient = served.keeping.durability == "fsync"

    def learn(self, entry: Learned) -> asyncio.Future[Learnt]:
        """Learn from a record of one row, with others; the outcome is its own."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Learnt] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._flush)
        self._served.begin_labels(entry)
        self._waiting.append((entry, future))
        return future

    def _flush(self) -> None:
        if self._under_way and self._patient:
            return
        waiting, self._waiting = self._waiting, []
        for by_prediction in (False, True):
            group = [one for one in waiting if (one[0].p is not None) is by_prediction]
            if not group:
                continue
            try:
                self._teach(group)
            except Exception as error:
                if len(group) == 1 or not isinstance(error, Refused):
                    for one in group:
                        self._end(one, error)
                    continue
                for one in group:  # which of them it is
                    try:
                        self._teach([one])
                    except Exception as alone:
                        self._end(one, alone)

    def _teach(self, group: list[tuple[Learned, asyncio.Future[Learnt]]]) -> None:
        entries = [entry for entry, _ in group]
        together = entries[0]
        if len(entries) > 1:
            weights = None
            if any(entry.w is not None for entry in entries):
                weights = [1.0 if entry.w is None else entry.w[0] for entry in entries]
            ids = None if together.p is None else [one for entry in entries for one in entry.p or ()]
            together = Learned([entry.x[0] for entry in entries], [entry.y[0] for entry in entries], weights, ids)
        rows = self._served.champion.rows
        read = Read(rows, rows.read(together.x))
        record = self._served.put(together, read)
        self._under_way += 1

        def end(record: asyncio.Future[Any]) -> None:
            self._under_way -= 1
            error = asyncio.CancelledError() if record.cancelled() else record.exception()
            for k, one in enumerate(group):
                if error is not None:
                    self._end(one, error)
                else:
                    outcome: Learnt = record.result()
                    self._end(one, Learnt(outcome.version, [outcome.refused[k]]))
            if self._waiting:
                self._flush()

        record.add_done_callback(end)

    def _end(self, one: tuple[Learned, asyncio.Future[Learnt]], outcome: Learnt | BaseException) -> None:
        entry, future = one
        self._served.end_labels(entry, learned=isinstance(outcome, Learnt))
        if future.done():
            return
        if isinstance(outcome, Learnt):
            future.set_result(outcome)
        else:
            future.set_exception(outcome)

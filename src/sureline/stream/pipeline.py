"""Work that is cut off piece by piece, done on several threads, and handed over in order.

Cutting needs to know where the last piece ended, so the workers take turns at it: whoever has the turn reads (and
decompresses) the next piece into memory of his own, passes the turn on, and parses. Decompression therefore goes on
while the others parse and the consumer learns, and nobody needs more memory than one piece at a time.
"""

from __future__ import annotations

import atexit
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from .chunk import Chunk
from .position import Places
from .source import Passage, Stop

_WAKE_UP = 0.05  # seconds


class Room:
    """The memory of a worker, used again for every piece."""

    def __init__(self, wanted: Callable[[], bool] = bool) -> None:
        self.buffer = bytearray()
        self.wanted = wanted  # True if the consumer waits for the very piece that is being cut

    def make(self, n: int, keep: int = 0) -> bytearray:
        """At least n bytes, the first `keep` of which are as before. What a very long line took is given back."""
        if not n <= len(self.buffer) <= 4 * n:
            buffer = bytearray(max(n, 2 * keep))
            buffer[:keep] = self.buffer[:keep]
            self.buffer = buffer
        return self.buffer

    def give_back(self) -> None:
        """Let go of the room of a long line, which each of many workers would keep."""
        if len(self.buffer) > 1 << 24:
            self.buffer = bytearray()


@dataclass
class Task:
    """A piece of a stream: of which file, from where to where, and what makes rows of it.

    `consumed` is how far into the file as it is on the disk one had to read for it, and `size` what it weighs in
    memory. `line` is how many lines come before it, said with the first piece of each file. `passage` are the messages
    of a topic that it has.
    """

    file: int
    start: int
    end: int
    consumed: int
    size: int
    run: Callable[[], Chunk]
    line: int | None = None
    passage: Passage | None = None

    def places(self, rows_end: int | None) -> Places | None:
        """The places at which a topic is read on after this piece, or after the rows of it that could be read."""
        if self.passage is None:
            return None
        return self.passage.places_at(self.end if rows_end is None else self.start + rows_end)


class Tasks(Protocol):
    """The pieces of a stream in order."""

    def next(self, room: Room) -> Task | None: ...

    def close(self) -> None: ...


class Pipeline:
    """Tasks with the chunks that they gave, in order.

    Parameters
    ----------
    tasks : Tasks
        Closed at the end, together with `stop`.
    stop : Stop
        Set when nobody wants the rest.
    threads : int
        How many work on them.
    limit : int
        No further piece is cut while those that are not yet consumed weigh as much.
    while_waiting : callable, default=None
        Called by the consumer every now and then while it waits for the next piece. What it raises ends the waiting.
    """

    def __init__(
        self,
        tasks: Tasks,
        stop: Stop,
        threads: int,
        limit: int,
        while_waiting: Callable[[], None] | None = None,
    ) -> None:
        self._tasks, self._stop, self._limit = tasks, stop, limit
        self._turn = threading.Lock()
        self._lock = threading.Lock()  # of everything below
        self._next_done = threading.Condition(self._lock)  # for the consumer
        self._lighter = threading.Condition(self._lock)  # for whoever has the turn
        self._done: dict[int, tuple[Task, Chunk] | BaseException | None] = {}
        self._wanted = 0
        self._waits = False  # the consumer
        self._while_waiting = while_waiting
        self._n_cut = 0
        self._weight = 0
        self._all_cut = False
        self._threads: list[threading.Thread] = []
        self._closed = False
        _running.add(self)
        try:
            for _ in range(threads):
                thread = threading.Thread(target=self._work, name="sureline-reader", daemon=True)
                thread.start()
                self._threads.append(thread)
        except BaseException:
            self.close()
            raise

    def _work(self) -> None:
        room = Room(self.nothing_under_way)
        while True:
            with self._turn:
                ticket = self._n_cut
                with self._lock:
                    while self._weight >= self._limit and not self._stop.is_set:
                        self._lighter.wait()
                if self._stop.is_set or self._all_cut:
                    return
                try:
                    task = self._tasks.next(room)
                except BaseException as error:
                    self._all_cut = True
                    self._hand_over(ticket, error)
                    return
                if task is None:
                    self._all_cut = True
                    self._hand_over(ticket, None)
                    return
                self._n_cut += 1
                with self._lock:
                    self._weight += task.size
            try:
                chunk = task.run()
                weight, task.size = task.size, max(task.size, chunk.nbytes)  # what it has become counts from now on
                task.run = _done  # which holds the text, or the columns
                with self._lock:
                    self._weight += task.size - weight
                self._hand_over(ticket, (task, chunk))
                del chunk
            except BaseException as error:
                self._hand_over(ticket, error)
            del task
            room.give_back()

    def _hand_over(self, ticket: int, result: tuple[Task, Chunk] | BaseException | None) -> None:
        with self._lock:
            self._done[ticket] = result
            if ticket == self._wanted:
                self._next_done.notify()

    def nothing_under_way(self) -> bool:
        """True if the consumer waits, and has had all pieces that were cut."""
        return self._waits and self._wanted == self._n_cut

    def _wait(self) -> None:
        """Until the next piece is done."""
        seconds = None if self._while_waiting is None else _WAKE_UP
        while True:
            with self._lock:
                self._waits = self._wanted not in self._done
                if self._waits:
                    self._next_done.wait(seconds)
                    self._waits = self._wanted not in self._done
                if not self._waits:
                    return
                self._waits = True
            if self._while_waiting is not None:
                self._while_waiting()

    def __iter__(self) -> Iterator[tuple[Task, Chunk]]:
        while True:
            self._wait()
            with self._lock:
                result = self._done.pop(self._wanted)
                self._wanted += 1
                if isinstance(result, tuple):
                    self._weight -= result[0].size
                    self._lighter.notify()
            if result is None:
                return
            if isinstance(result, BaseException):
                try:
                    raise result
                finally:
                    del result  # or it would keep this frame, and all that it holds, alive
            yield result
            del result  # rows that the consumer is done with

    def close(self) -> None:
        """Stop the workers and wait for them."""
        if self._closed:
            return
        self._closed = True
        with self._lock:
            self._stop.set()
            self._lighter.notify()
        for thread in self._threads:
            thread.join()
        self._done.clear()  # an error that nobody came for would keep the frames, and with them all this, alive
        self._tasks.close()
        self._stop.close()


def _done() -> Chunk:
    raise RuntimeError("A task is run once.")


# A thread that is in the core when the interpreter goes away would take the whole process down with it.
_running: weakref.WeakSet[Pipeline] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pipeline in list(_running):
        pipeline.close()

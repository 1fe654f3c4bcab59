"""Ordered work on several threads: pieces are cut one by one, processed in parallel, and returned in order.

Cutting depends on the end of the previous piece, so workers take turns. The worker whose turn it is reads (and
decompresses) the next piece into its own memory, passes the turn on, and parses. So decompression, parsing and learning
run in parallel, and each worker needs memory for one piece.
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
        self.wanted = wanted  # True if the consumer waits for the piece being cut

    def make(self, n: int, keep: int = 0) -> bytearray:
        """A buffer of at least n bytes that keeps its first `keep` bytes. Memory of a very long line is released."""
        if not n <= len(self.buffer) <= 4 * n:
            buffer = bytearray(max(n, 2 * keep))
            buffer[:keep] = self.buffer[:keep]
            self.buffer = buffer
        return self.buffer

    def give_back(self) -> None:
        """Release the memory of a long line, which every worker would otherwise keep."""
        if len(self.buffer) > 1 << 24:
            self.buffer = bytearray()


@dataclass
class Task:
    """A piece of a stream: its file, its range, and the function that makes rows of it.

    `consumed` is the position in the file on disk after reading it, and `size` its bytes in memory. `line` is the
    number of lines before it, set for the first piece of each file. `passage` has its messages if the source is a
    topic.
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
        """The places in a topic where reading continues after this piece, or after its readable rows."""
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
        self._lighter = threading.Condition(self._lock)  # for the worker whose turn it is
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
                weight, task.size = task.size, max(task.size, chunk.nbytes)  # from now on its result counts
                task.run = _done  # it holds the text, or the columns
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
        self._done.clear()  # an unclaimed error would keep its frames, and with them this object, alive
        self._tasks.close()
        self._stop.close()


def _done() -> Chunk:
    raise RuntimeError("A task is run once.")


# A thread that is still in the core when the interpreter ends would abort the process.
_running: weakref.WeakSet[Pipeline] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for pipeline in list(_running):
        pipeline.close()

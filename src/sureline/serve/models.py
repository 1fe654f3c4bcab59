"""All models of a service by name: the folder of its state, and what goes on beside the answers."""

from __future__ import annotations

import asyncio
import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..learners.learner import Learner
from ..learners.saving import read_learner
from ..models.file import ModelFileError
from .delivery import deliver
from .errors import Refused, StateError
from .limits import Limits
from .lineup import model_path
from .members import Calibration
from .names import RULE, checked_name, is_name
from .records import Replaced, Shadowed
from .served import Keeping, Served
from .snapshots import file_digest, read_json
from .writer import Writer, Writing

_EVERY = 0.25  # seconds between looks at what is to be calibrated or saved
_OURS = re.compile(
    r"\.?name\.json(\.[0-9a-f]{16}\.tmp)?$|\.?(snapshot|log|model|predictions|upload)-"
)  # files in the folder of a name
_UPLOAD = re.compile(r"\.upload-[0-9a-f]{16}\.new")
_SHARE = 20  # of the processor's time, one in so many may go into calibrations


class House:
    """The models of a service."""

    def __init__(self, state: Path, keeping: Keeping, limits: Limits, say: Callable[[str], None]) -> None:
        self.state, self.keeping, self.limits, self._say = state, keeping, limits, say
        self._served: dict[str, Served] = {}
        self._lock: int | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.writer: Writer | None = None
        self._coming: set[str] = set()  # names that are being uploaded
        self._tasks: set[asyncio.Task[None]] = set()
        self.ready = False
        self.stopping = False  # what goes on without an end has to end now

    # -- folders ---------------------------------------------------------------------------------------------

    def take(self, files: Sequence[tuple[str, Path]]) -> None:
        """Have the state for oneself, and add these models to it. StateError if that cannot be."""
        self.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(self.state / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise StateError(f"{self.state} is in use by another service.") from None
        for path in self.state.iterdir():  # what a crash has left of one that was being made or removed
            if _is_left_behind(path):
                shutil.rmtree(path, ignore_errors=True)
            elif _UPLOAD.fullmatch(path.name) and path.is_file() and not path.is_symlink():
                path.unlink(missing_ok=True)
        for name, file in files:
            if not is_name(name):
                raise StateError(f"{file}: a model's name has {RULE}; give another one with NAME=FILE.")
            self._add(name, file)

    def _add(self, name: str, file: Path) -> None:
        """A model of the command line: what was learned since it was first served is gone on with."""
        folder, digest = self.state / name, file_digest(file)
        read_learner(file)  # refused if it is none
        if not folder.exists():
            Served.create(folder, file, {"file": digest})
            return
        told = read_json(folder / "name.json")
        if told.get("file") != digest:
            raise StateError(
                f"{file} is not the file that {name} in {self.state} began with. To go on with what was learned, leave "
                f"it out; to begin anew with it, name another --state or another name, or upload it to the service."
            )

    def names_on_disk(self) -> list[str]:
        """Names that the state has."""
        return sorted(path.parent.name for path in self.state.glob("*/name.json") if is_name(path.parent.name))

    def open(self) -> None:
        """Read all of it."""
        for name in self.names_on_disk():
            self._served[name] = Served.open(self.state / name, self.keeping)

    # -- running ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Go on where the logs end, and begin to write; within the event loop."""
        loop = self._loop = asyncio.get_running_loop()

        def done(outcomes: list[tuple[Writing, int | OSError]]) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(deliver, outcomes)

        self.writer = Writer(done)
        for served in self._served.values():
            self._begin(served)
        self._tasks.add(asyncio.create_task(self._look_after()))
        self.ready = True

    def _begin(self, served: Served) -> None:
        assert self.writer is not None
        began = time.monotonic()
        served.begin(self.writer, self._say)
        for note in served.notes:
            self._say(note)
        seconds = time.monotonic() - began
        self._say(f"{served.name}: version {served.version}, {served.seq:,} records, in {seconds:.1f} s")

    async def _look_after(self) -> None:
        """Calibrate and save, now and then."""
        calibrate_at = 0.0
        while True:
            if time.monotonic() >= calibrate_at:
                seconds = [await self._calibrate(served) for served in list(self._served.values())]
                calibrate_at = time.monotonic() + _SHARE * sum(seconds)
            for served in list(self._served.values()):
                if served.wants_snapshot:
                    await self._snapshot(served)
            await asyncio.sleep(_EVERY)

    @staticmethod
    async def _calibrate(served: Served) -> float:
        """The processor time that it took."""
        facts = served.calibrations_wanted()
        if facts is None:
            return 0.0
        seq, members = served.seq, [member for _, member in served.lineup.members]
        made = [(None, 0.0) if each is None else await asyncio.to_thread(_calibration, each) for each in facts]
        served.install(members, seq, [calibration for calibration, _ in made])
        return sum(seconds for _, seconds in made)

    async def _snapshot(self, served: Served) -> None:
        failed = served.snapshot_failed
        await served.snapshot()
        if served.snapshot_failed and served.snapshot_failed != failed:
            self._say(f"{served.name}: no snapshot could be written: {served.snapshot_failed}")

    async def stop(self) -> None:
        """Take no more labels, write what is under way, and save."""
        self.ready = False
        for task in self._tasks:
            task.cancel()
        for served in self._served.values():
            served.closed = True
        if self.writer is not None:
            await asyncio.to_thread(self.writer.close)
            for _ in range(3):  # what was delivered, and who waits for it
                await asyncio.sleep(0)
        for served in self._served.values():
            await self._snapshot(served)
            if served.log is not None:
                served.log.close()

    def release(self) -> None:
        """Let another service have the state."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    # -- models ----------------------------------------------------------------------------------------------

    def names(self) -> list[str]:
        return list(self._served)

    def get(self, name: str) -> Served:
        """The model of that name; Refused if there is none."""
        served = self._served.get(name)
        if served is None:
            raise Refused(404, "There is no model of that name.")
        return served

    async def upload(self, name: str, file: Path, *, replace: bool) -> Served:
        """Serve the model of a file, which is taken away, as a new name or in place of a champion."""
        checked_name(name)
        learner = await asyncio.to_thread(_readable, file)
        if name in self._served:
            if not replace:
                raise Refused(409, f"There is a model {name}; replace=true replaces it.")
            served = self._served[name]
            digest = await asyncio.to_thread(_taken_in, served.folder, file)
            await self._referred(served, Replaced(digest), digest, learner)
            return served
        if len(self._served) + len(self._coming) >= self.limits.models:
            raise Refused(409, f"There are {len(self._served)} models, and no more are taken.")
        folder = self.state / name
        if name in self._coming:
            raise Refused(409, f"A model {name} is being uploaded already.")
        if folder.exists():
            raise Refused(409, f"There is something else called {name} in the state.")
        self._coming.add(name)
        try:
            await asyncio.to_thread(Served.create, folder, file, {"file": None})
            served = await asyncio.to_thread(Served.open, folder, self.keeping)
            self._begin(served)
            self._served[name] = served
        except OSError as error:
            raise Refused(507, f"The model could not be kept: {error.strerror or error}.") from None
        finally:
            self._coming.discard(name)
        return served

    async def add_shadow(self, served: Served, name: str, file: Path) -> str:
        """Have a model learn and answer beside the champion."""
        checked_name(name)
        learner = await asyncio.to_thread(_readable, file)
        if name not in served.lineup.shadows and len(served.lineup.shadows) >= self.limits.models:
            raise Refused(409, f"There are {self.limits.models} shadows, and no more are taken.")
        digest = await asyncio.to_thread(_taken_in, served.folder, file)
        return await self._referred(served, Shadowed(name, digest), digest, learner)

    @staticmethod
    async def _referred(served: Served, entry: Shadowed | Replaced, digest: str, learner: Learner) -> str:
        """Have a record refer to a file, which goes if that cannot be."""
        try:
            return await served.change(entry, learner)
        except Refused:
            if digest not in served.lineup.files:
                await asyncio.to_thread(model_path(served.folder, digest).unlink, True)
            raise

    async def remove(self, served: Served) -> None:
        """Serve it no more, and remove what was kept of it."""
        del self._served[served.name]
        served.closed = True
        while served.waiting:
            await asyncio.sleep(0.01)
        if served.log is not None:
            served.log.close()
        gone = self.state / f".{served.name}.gone"
        await asyncio.to_thread(shutil.rmtree, gone, True)  # of a removal that did not come to its end
        os.rename(served.folder, gone)
        await asyncio.to_thread(shutil.rmtree, gone, True)


def _calibration(facts: tuple[Any, ...]) -> tuple[Calibration, float]:
    """A calibration, and the processor time that it took."""
    began = time.thread_time()
    return Calibration.of(*facts), time.thread_time() - began


def _is_left_behind(path: Path) -> bool:
    """True of the folder of a name that was not made or removed to the end, and of nothing else that lies there."""
    name, ending = path.name[1:].removesuffix(path.suffix), path.suffix
    if not path.name.startswith(".") or ending not in (".new", ".gone") or not is_name(name):
        return False
    if path.is_symlink() or not path.is_dir():
        return False
    return all(_OURS.match(each.name) for each in path.iterdir())


def _readable(file: Path) -> Learner:
    try:
        return read_learner(file).learner
    except ModelFileError as error:
        it = "" if error.reason.startswith("its ") else "it "
        raise Refused(422, f"That is no model: {it}{error.reason}.") from None


def _taken_in(folder: Path, file: Path) -> str:
    """Put an uploaded file where records refer to it, on the disk; its digest."""
    digest = file_digest(file)
    os.rename(file, model_path(folder, digest))
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    return digest

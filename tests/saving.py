"""Saves models while the disk fails or the process is killed: `test_atomic.py` runs this in its own process.

    python saving.py FOLDER fail              every call fails once, with each error, under failing_disk.c
    python saving.py FOLDER kill-at-calls     killed right before and right after every call, under failing_disk.c
    python saving.py FOLDER kill COUNT SEED   killed COUNT times at random moments
    python saving.py FOLDER race COUNT        several at once, COUNT times each

What is left is looked at each time. The last line of the output is what happened, as JSON.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

from sureline.modelfile import WriteError, read_model, remove_stale, write_model
from sureline.models.numbers import Shape
from sureline.models.state import State

FAIL, FAIL_FROM_HERE_ON, KILL_BEFORE, KILL_AFTER, WRITE_HALF = range(5)


def save(path: Path, version: int, n_columns: int = 4000) -> None:
    """A model that says in all its parts which one it is."""
    state = State(Shape.identity, "float64", n_columns, True)
    state.weights[...] = version
    write_model(path, class_name="PA", parameters={"version": version}, labels=["a", "b"], state=state)


def saved(path: Path) -> int:
    """Which model is in the file. Anything but a whole one is an error."""
    contents = read_model(path)
    version = contents.parameters["version"]
    assert (contents.state.weights == version).all()
    return int(version)


def files(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


class Disk:
    def __init__(self) -> None:
        self._shim = ctypes.CDLL(None)
        self._shim.failing_disk_fired.restype = ctypes.c_char_p

    def arm(self, n: int, how: int, error: int) -> None:
        self._shim.failing_disk_arm(n, how, error)

    def disarm(self) -> str:
        fired = self._shim.failing_disk_fired().decode()
        self._shim.failing_disk_arm(0, 0, 0)
        return fired


def fail(folder: Path) -> dict[str, int]:
    """Fail at every call, with and without an old model: the message names the present one; nothing is left over."""
    disk, happened = Disk(), Counter()
    path = folder / "model.sureline"
    for how, error in [(FAIL, errno.EIO), (FAIL, errno.ENOSPC), (FAIL_FROM_HERE_ON, errno.ENOSPC), (WRITE_HALF, 0)]:
        for with_old in (True, False):
            n, fired = 0, "yes"
            while fired:
                n += 1
                path.unlink(missing_ok=True)
                if with_old:
                    save(path, 1)
                disk.arm(n, how, error)
                message = None
                try:
                    save(path, 2)
                except WriteError as refused:
                    message = str(refused)
                    assert refused.errno == error
                    assert refused.filename == str(path)
                fired = disk.disarm()
                left = files(folder)
                if message is None:
                    assert saved(path) == 2
                    # What fails here without harm: closing what is on the disk already.
                    assert fired in ("", "close") or how == WRITE_HALF, fired
                else:
                    assert how != WRITE_HALF
                    assert message.startswith(str(path)), message
                    assert message.endswith(f": {os.strerror(error)}"), message
                    assert message.count("\n") == 0
                    if "may not survive" in message:  # renamed, and the disk refuses to confirm that
                        assert (fired, saved(path)) == ("fsync", 2)
                        assert ("was replaced" if with_old else "was written") in message
                    elif with_old:
                        assert "is as it was" in message
                        assert saved(path) == 1, (n, fired)
                    else:
                        assert not path.exists(), (n, fired)
                if fired != "unlink":
                    assert [name for name in left if name != path.name] == [], (n, fired, left)
                remove_stale(path)
                assert [name for name in files(folder) if name != path.name] == [], (n, fired)
                happened[fired or "nothing"] += 1
                assert n < 1000
    return happened


def kill_at_calls(folder: Path) -> dict[str, int]:
    """Killed at every call: the old model or the new one, and no litter after the next start."""
    disk, happened = Disk(), Counter()
    path = folder / "model.sureline"
    for how in (KILL_BEFORE, KILL_AFTER):
        for with_old in (True, False):
            n, status = 0, 1
            while status != 0:
                n += 1
                path.unlink(missing_ok=True)
                if with_old:
                    save(path, 1)
                pid = os.fork()
                if pid == 0:
                    disk.arm(n, how, 0)
                    save(path, 2)
                    os._exit(0)
                status = os.waitpid(pid, 0)[1]
                assert status in (0, signal.SIGKILL), status
                version = saved(path) if with_old or path.exists() else 0
                assert version in (int(with_old), 2)
                happened["litter"] += len(files(folder)) > 1
                remove_stale(path)
                assert files(folder) == ([path.name] if version else []), (n, files(folder))
                happened[f"version {version}"] += 1
                assert n < 1000
    return happened


def kill(folder: Path, count: int, seed: int) -> dict[str, int]:
    """Killed at random moments of saving one model after the other."""
    rng, happened = random.Random(seed), Counter()
    path = folder / "model.sureline"
    size = 200_000
    save(path, 1, size)
    started = time.perf_counter()
    save(path, 2, size)
    takes = time.perf_counter() - started
    version = 2
    for _ in range(count):
        pid = os.fork()
        if pid == 0:
            for later in range(version + 1, version + 1000):
                save(path, later, size)
            os._exit(1)
        time.sleep(rng.uniform(0, 3 * takes))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        now = saved(path)
        assert now >= version
        happened["replaced" if now > version else "kept"] += 1
        happened["litter"] += len(files(folder)) > 1
        version = now
        save(path, version, size)  # the next start
        assert files(folder) == [path.name]
    return happened


def race(folder: Path, count: int) -> dict[str, int]:
    """Several save to the same path, and each clears away what is stale: nobody takes the file of another for that."""
    path = folder / "model.sureline"
    children = []
    for version in (1, 2, 3):
        pid = os.fork()
        if pid == 0:
            for _ in range(count):
                save(path, version)
                saved(path)
            os._exit(0)
        children.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in children] == [0, 0, 0]
    assert files(folder) == [path.name]
    return {"version": saved(path)}


def main(arguments: list[str]) -> None:
    folder, what, *more = arguments
    np.seterr(all="raise")
    tests = {"fail": fail, "kill-at-calls": kill_at_calls, "kill": kill, "race": race}
    print(json.dumps(tests[what](Path(folder), *(int(n) for n in more))))


if __name__ == "__main__":
    main(sys.argv[1:])

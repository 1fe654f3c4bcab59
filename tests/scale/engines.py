"""Engines under contract: each as the checks of test_engine_contract.py need it.

An engine takes part by a class with the interface of `UnderContract`, and its name in ENGINES.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

MARK = "SURELINE_TESTED_BY"  # a variable that workers of Spark inherit: the process of the tests


class UnderContract(Protocol):
    """A cluster of two workers on this machine, which ends with the tests."""

    command: tuple[str, ...]  # options with which `sureline train` uses the same cluster

    def train(self, data: Any, algorithm: str, **options: Any) -> Any:
        """`sureline.ENGINE.train` on the cluster."""

    def workers(self) -> list[int]:
        """The processes that learn shards as of now. They may be killed and stopped."""


class OnDask:
    def __init__(self, client: Any) -> None:
        self.client = client
        self.command = ("--engine", "dask", "--scheduler", client.scheduler.address)

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[OnDask]:
        pytest.importorskip("distributed")
        from sureline.dask import local_client

        with local_client(2) as client:
            yield cls(client)

    def train(self, data: Any, algorithm: str, **options: Any) -> Any:
        import sureline.dask

        return sureline.dask.train(data, algorithm, client=self.client, **options)

    def workers(self) -> list[int]:
        pids = [nanny.pid for nanny in self.client.cluster.workers.values()]
        return [pid for pid in pids if pid is not None]


class OnRay:
    def __init__(self, address: str) -> None:
        self.command = ("--engine", "ray", "--address", address)

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[OnRay]:
        # On loopback, without statistics of usage, and not behind all that runs besides.
        own = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0", "RAY_worker_niceness": "0"}
        with pytest.MonkeyPatch.context() as patch:
            for name, value in own.items():
                patch.setenv(name, value)
            ray = pytest.importorskip("ray")
            store = 256 << 20
            quiet = {"log_to_driver": False, "logging_level": "ERROR"}
            context = ray.init(num_cpus=2, include_dashboard=False, object_store_memory=store, **quiet)
            try:
                address = context.address_info["gcs_address"]
                assert address.startswith("127.0.0.1:")
                yield cls(address)
            finally:
                ray.shutdown()

    def train(self, data: Any, algorithm: str, **options: Any) -> Any:
        import sureline.ray

        return sureline.ray.train(data, algorithm, **options)

    def workers(self) -> list[int]:
        found = descendants(os.getpid()).items()
        return [pid for pid, command in found if command.startswith("ray::") and "Agent" not in command]


class OnSpark:
    command = ("--engine", "spark", "--master", "local[2]")

    def __init__(self, session: Any) -> None:
        self.session = session

    @classmethod
    @contextmanager
    def started(cls) -> Iterator[OnSpark]:
        pytest.importorskip("pyspark")
        if shutil.which("java") is None:
            pytest.skip("Spark needs Java")
        from sureline.spark import connected

        with pytest.MonkeyPatch.context() as patch:
            patch.setenv(MARK, str(os.getpid()))
            with connected("local[2]") as session:
                yield cls(session)

    def train(self, data: Any, algorithm: str, **options: Any) -> Any:
        import sureline.spark

        return sureline.spark.train(data, algorithm, session=self.session, **options)

    def workers(self) -> list[int]:
        # A worker whose parent was killed goes on as an orphan. It still has the variable of the session.
        mark = f"{MARK}={os.getpid()}"
        return [pid for pid, (_, command) in processes().items() if "pyspark.daemon" in command and has(pid, mark)]


ENGINES: dict[str, Any] = {"dask": OnDask, "ray": OnRay, "spark": OnSpark}


def started(name: str) -> AbstractContextManager[UnderContract]:
    """The engine of this name, until the end of a with block."""
    running: AbstractContextManager[UnderContract] = ENGINES[name].started()
    return running


def processes() -> dict[int, tuple[int, str]]:
    """The parent and the command of every process."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        found[int(folder.name)] = parent, command
    return found


def has(pid: int, variable: str) -> bool:
    """Whether the environment of a process has this variable with this value, `NAME=VALUE`."""
    try:
        return variable.encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def descendants(ancestor: int) -> dict[int, str]:
    """The processes below one, and their commands."""
    known = processes()
    found: dict[int, str] = {}
    for pid in known:
        at = pid
        while at in known and at != ancestor:
            at = known[at][0]
        if at == ancestor and pid != ancestor:
            found[pid] = known[pid][1]
    return found

"""Usable cores and memory, as the machine and its control groups (containers) allow."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

_GROUPS = Path("/sys/fs/cgroup")
_OWN_GROUPS = Path("/proc/self/cgroup")


def cores() -> int:
    """Cores that this process may use, at least 1."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    for folder in _folders("cpu"):
        with suppress(OSError, ValueError):  # no such file, or no limit
            quota, period = (folder / "cpu.max").read_text().split()
            there = min(there, -(-int(quota) // int(period)))
        with suppress(OSError, ValueError):
            quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
            if int(quota) > 0:
                there = min(there, -(-int(quota) // int(period)))
    return max(there, 1)


def threads(n: int | None = None) -> ThreadPoolExecutor:
    """A pool of n threads, as many as there are cores if None, for learners that learn at the same time.

    They run side by side, since the core lets go of Python's lock.
    """
    return ThreadPoolExecutor(n or cores(), thread_name_prefix="sureline-learner")


def usable_memory() -> int | None:
    """Bytes of memory that this process may use: the least of machine, control groups and `ulimit -v`.

    None if the system does not tell.
    """
    try:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    for folder in _folders("memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            with suppress(OSError, ValueError):  # no such file, or "max"
                there = min(there, int((folder / name).read_text()))
    with suppress(ImportError):  # no such limits on this system
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            there = min(there, limit)
    return there


def default_memory() -> int:
    """Half of the usable memory; 4 GiB if it is unknown."""
    return (usable_memory() or 8 << 30) // 2


def resident_memory() -> int | None:
    """Bytes of memory that this process has, without pages of files; None if the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            _, resident, shared, *_ = map(int, file.read().split())
    except (OSError, ValueError):
        return None
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE")


def _folders(controller: str) -> Iterator[Path]:
    """Folders of the control groups that limit this process: its own, and those that contain it."""
    try:
        lines = _OWN_GROUPS.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        root = _GROUPS / controller if controllers else _GROUPS
        group = root / path.lstrip("/")
        yield from (group, *(parent for parent in group.parents if parent.is_relative_to(root)))

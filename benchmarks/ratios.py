"""What the benchmarks share: ratios with their limits, and C++ beside them that is compiled on the spot."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
failures: list[str] = []


def shortest(*actions: Callable[[], Any], rounds: int = 7) -> list[float]:
    """The shortest time of each action, all of them done in turns."""
    times = np.full((rounds, len(actions)), np.inf)
    for round_ in range(rounds):
        for i, action in enumerate(actions):
            begin = time.perf_counter()
            action()
            times[round_, i] = time.perf_counter() - begin
    return list(times.min(axis=0))


def report(what: str, ratio: float, limit: float, *, at_least: bool = False, detail: str = "") -> None:
    ok = ratio >= limit if at_least else ratio <= limit
    if not ok:
        failures.append(what)
    sign = ">=" if at_least else "<="
    print(f"  {what:<58}{ratio:>8.2f}   {sign} {limit:<6g}{'ok' if ok else 'NOT MET':<9}{detail}", flush=True)


def compiled(source: str, folder: Path, *, program: Path | None = None) -> ctypes.CDLL:
    """A library made from a file beside this one, or a program."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        sys.exit("The benchmark needs a C++ compiler for what it compares with: install g++ or clang++.")
    target = program or folder / (source.removesuffix(".cpp") + ".so")
    flags = ["-std=c++20", "-O3", "-march=native", "-ffp-contract=off", "-pthread"]
    if program is None:
        flags += ["-shared", "-fPIC"]
    subprocess.run([compiler, *flags, HERE / source, "-o", target], check=True)
    return ctypes.CDLL(None if program else str(target))


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)

"""Processor time of the race, relative to one learner: ``make bench`` or ``python benchmarks/race.py``.

Two files of LIBSVM text are generated: sparse text of 47 thousand features, and a table of 54 columns. ``sureline
train`` learns from them as a race, with ``--no-committee`` and with ``--algorithm arow``, in turns. The time is that
of all cores, start-up included. The ratio is that of the shortest times.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from ratios import compiled, failures, pointer, report
from scipy import sparse
from text import files

from sureline.datasets import make_cover_type

LEAST_ROWS = 100_000  # of the table, before it is repeated
COMMANDS = {"auto": (), "--no-committee": ("--no-committee",), "arow": ("--algorithm", "arow")}
LIMITS = {"auto": 3.0, "--no-committee": 2.0}


def table_file(folder: Path, megabytes: int) -> Path:
    """A table like Covertype as LIBSVM text, repeated up to the size."""
    X, y = make_cover_type(LEAST_ROWS, random_state=0)
    rows = sparse.csr_matrix(X, dtype=np.float32)
    arrays = (
        rows.data,
        rows.indices.astype(np.int32),
        rows.indptr.astype(np.int32),
        np.where(y, 1, -1).astype(np.int8),
    )
    block, path = folder / "block.svm", folder / "table.svm"
    writer = compiled("text_files.cpp", folder)
    if writer.write_rows(str(block).encode(), *map(pointer, arrays), rows.shape[0], 0) < 0:
        sys.exit(f"{block} could not be written; is there room for it?")
    with path.open("wb") as out:
        while out.tell() < megabytes * 1e6:
            with block.open("rb") as source:
                shutil.copyfileobj(source, out)
    return path


def processor_seconds(data: Path, options: tuple[str, ...], folder: Path) -> float:
    """Processor time of a training."""
    command = [sys.executable, "-m", "sureline", "train", data, *options, "--model", folder / "m", "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def compare(data: Path, folder: Path, rounds: int) -> None:
    print(f"\n{data.name}, {data.stat().st_size / 1e6:,.0f} MB:", flush=True)
    seconds: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, options in COMMANDS.items():
            seconds[name].append(processor_seconds(data, options, folder))
    least = {name: min(times) for name, times in seconds.items()}
    for name, limit in LIMITS.items():
        ratio, detail = least[name] / least["arow"], f"{least[name]:.1f} s, arow {least['arow']:.1f} s"
        report(f"processor time of {name} relative to --algorithm arow", ratio, limit, detail=detail)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=550, help="of each file")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for data in (files(folder, "rcv1", options.megabytes)[0], table_file(folder, options.megabytes)):
            compare(data, folder, options.rounds)
            data.unlink()
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())

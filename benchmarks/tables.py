"""Tables at a third of Polars' speed or better: ``make bench`` or ``python benchmarks/tables.py``.

A CSV file of 50 mixed columns is generated: 25 of decimals, 10 of integers, 12 of categories, one each of hexadecimal
identifiers, booleans and times, besides the label. Polars reads it into a data frame, and sureline makes rows of it, in
processes of their own and in turns. The time is that of reading, without start-up; the ratio is that of the best.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from ratios import failures, report

POLARS = """
import sys, time, polars
begin = time.perf_counter()
rows = len(polars.read_csv(sys.argv[1]))
"""
SURELINE = """
import sys, time, sureline.stream
begin = time.perf_counter()
rows = sum(map(len, sureline.stream.read(sys.argv[1], dtype="float32", {options})))
"""
TOLD = """
import resource
print(time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, rows)
"""
BLOCK = 20_000  # rows that are generated at a time
MOST_MEMORY = 300  # MiB, with the interpreter and its libraries


def write_table(path: Path, size: int) -> int:
    """Write a file of about so many bytes; the number of its rows."""
    rng = np.random.default_rng(0)
    magnitudes = 10.0 ** rng.integers(0, 4, 25)
    bounds = 10 ** rng.integers(1, 7, 10)
    names = [f"decimal{k}" for k in range(25)] + [f"integer{k}" for k in range(10)]
    names += [f"category{k}" for k in range(12)] + ["session", "vip", "when", "label"]
    words = np.array([f"value{k:x}" for k in range(2000)])
    rows = 0
    with path.open("w") as out:
        out.write(",".join(names) + "\n")
        while out.tell() < size:
            columns = [np.char.mod("%.4f", rng.normal(size=BLOCK) * m) for m in magnitudes]
            columns += [rng.integers(0, bound, BLOCK).astype(str) for bound in bounds]
            columns += [words[rng.integers(0, 2000, BLOCK)] for _ in range(12)]
            columns.append(np.char.mod("%08x", rng.integers(0, 2**32, BLOCK)))
            columns.append(np.where(rng.random(BLOCK) < 0.5, "true", "false"))
            seconds = rng.integers(1_700_000_000, 1_730_000_000, BLOCK)
            columns.append(np.datetime_as_string(seconds.astype("datetime64[s]")))
            columns.append(rng.integers(0, 2, BLOCK).astype(str))
            out.write("\n".join(map(",".join, zip(*columns, strict=True))) + "\n")
            rows += BLOCK
    return rows


def run(script: str, path: Path) -> tuple[float, float, int]:
    """Seconds, MiB, and rows of a reader in its own process."""
    done = subprocess.run([sys.executable, "-c", script + TOLD, str(path)], capture_output=True, text=True, check=True)
    seconds, memory, rows = done.stdout.split()
    return float(seconds), float(memory), int(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    scripts = {
        "Polars": POLARS,
        "sureline": SURELINE.format(options=""),
        "with names": SURELINE.format(options="collect_names=True"),
    }
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        rows = write_table(path, arguments.megabytes * 1_000_000)
        size = path.stat().st_size / 1e6
        print(f"CSV, 50 columns and a label, {rows:,} rows, {size:.0f} MB")
        best = dict.fromkeys(scripts, np.inf)
        memory = dict.fromkeys(scripts, 0.0)
        for _ in range(arguments.rounds):
            for name, script in scripts.items():
                seconds, peak, found = run(script, path)
                assert found == rows, (name, found)
                best[name], memory[name] = min(best[name], seconds), max(memory[name], peak)
        for name in scripts:
            print(f"  {name:<12}{size / best[name]:7.0f} MB/s {memory[name]:7.0f} MiB")
        for name in ("sureline", "with names"):
            report(f"{name}: speed as a share of Polars'", best["Polars"] / best[name], 1 / 3, at_least=True)
        report("memory in MiB", memory["with names"], MOST_MEMORY)
    if failures:
        sys.exit(1)


if __name__ == "__main__":
    main()

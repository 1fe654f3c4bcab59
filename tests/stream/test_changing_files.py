"""Files that change while they are read: an error or the rows as they were, and never the end of the process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from stream_files import COMPRESSIONS

from sureline import stream

pytestmark = pytest.mark.torture

CHANGES = {
    "cut off": "os.truncate(path, size // 3)",
    "emptied": "open(path, 'wb').close()",
    "overwritten by ones": "file = open(path, 'r+b'); file.seek(99); file.write(b'\\xff' * (size - 99)); file.close()",
    "overwritten by zeros": "file = open(path, 'r+b'); file.write(bytes(size)); file.close()",
    "grown": "file = open(path, 'ab'); file.write(b'\\xff' * size); file.close()",
    "replaced": "os.replace(path, path + '.old'); open(path, 'wb').close()",
    "removed": "os.remove(path)",
}

# Chunks are kept and used to the end, as a learner on another thread would.
PROGRAM = """
import os, sys
import numpy as np
import sureline
from sureline import stream
path, change, after = sys.argv[1], sys.argv[2], int(sys.argv[3])
size = os.path.getsize(path)
learner = sureline.SCW(growing=True, dtype="float64")
kept = []
try:
    for k, chunk in enumerate(stream.read(path, dtype="float64", threads=2)):
        if k == after:
            exec(change)
        kept.append(chunk)
        for one in kept[-3:]:
            learner.partial_fit(*one)
    said = "rows"
except (stream.DataError, OSError) as error:
    said = f"{type(error).__name__}: {error}"
for chunk in kept:
    assert np.isfinite(chunk.values).all() and (chunk.indices >= 0).all() and (chunk.indices < 100).all()
    assert (np.diff(chunk.indptr) == 4).all()
print(said, sum(map(len, kept)))
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("changing") / "rows.svm"
    lines = [f"{i % 2} " + " ".join(f"{j * 9 + (i + j) % 9}:{j}.25" for j in range(4)) for i in range(140_000)]
    path.write_text("\n".join(lines) + "\n")
    return path


def made(rows: Path, kind: str, folder: Path) -> Path:
    path = folder / f"rows.{kind}"
    if kind == "svm":
        path.write_bytes(rows.read_bytes())
    elif kind == "gz":
        path.write_bytes(COMPRESSIONS[".gz"](rows.read_bytes()))
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        stream.convert(stream.read(rows), folder / "rows.arrow")
        if kind == "parquet":
            parquet.write_table(pa.ipc.open_file(folder / "rows.arrow").read_all(), path, row_group_size=20_000)
    return path


@pytest.mark.parametrize("kind", ["arrow", "parquet", "svm", "gz"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changes(kind: str, change: str, rows: Path, tmp_path: Path) -> None:
    source = made(rows, kind, tmp_path)
    content = source.read_bytes()
    for after in (0,):
        source.write_bytes(content)
        command = [sys.executable, "-c", PROGRAM, str(source), CHANGES[change], str(after)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, (done.returncode, done.stderr[-1500:])
        said = done.stdout.strip()
        if change in ("grown", "removed", "replaced") and kind in ("arrow", "svm"):
            assert re.fullmatch(r"rows 140000|DataError: .*", said), said
        assert re.match(r"rows \d+|DataError: |OSError: |FileNotFoundError: ", said), said
        if change in ("cut off", "emptied") and kind in ("arrow", "parquet"):
            # Only what was read before may pass for the whole.
            assert said.startswith(("DataError", "OSError", "rows 140000")), said


def test_nothing_is_mapped() -> None:
    """Whoever maps a file that others may change has to show here why that is safe."""
    root = Path(__file__).parents[2] / "src"
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".cpp", ".hpp"):
            for line in path.read_text().splitlines():
                mapped = re.search(r"\bmmap\b|memory_map=True|memmap\(|mmap_mode", line)
                if mapped and not line.lstrip().startswith(("//", "#")):
                    anonymous = "MAP_ANONYMOUS" in line or "sys/mman.h" in line
                    assert anonymous, f"{path}: {line}"

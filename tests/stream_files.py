"""Files for the tests of streams, and their rows in a comparable form."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
from pathlib import Path
from typing import Any

from scipy.sparse import csr_matrix

from sureline import stream
from sureline.stream import DataError
from sureline.stream.decompress import zstd_module

zstd = zstd_module()

COMPRESSIONS = {
    "": lambda data: data,
    ".gz": lambda data: gzip.compress(data, mtime=0),
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": lambda data: zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: True}),
}


def libsvm_of(X: Any, y: Any) -> bytes:
    """Rows in LIBSVM text, columns as they are."""
    X = csr_matrix(X)
    lines = []
    for i in range(X.shape[0]):
        pairs = zip(X[i].indices.tolist(), X[i].data.tolist(), strict=True)
        lines.append(f"{y[i]} " + " ".join(f"{j}:{v!r}" for j, v in pairs) + "\n")
    return "".join(lines).encode()


def write_rows(path: Path, X: Any, y: Any) -> Path:
    path.write_bytes(libsvm_of(X, y))
    return path


def write(path: Path, data: bytes | str, compression: str = "") -> Path:
    """Write data, compressed as the ending says, which becomes part of the name."""
    path = path.with_name(path.name + compression)
    path.write_bytes(COMPRESSIONS[compression](data.encode() if isinstance(data, str) else data))
    return path


def rows_of(chunks) -> list:
    """Every row: label, weight, tag, indices, and the bytes of the values."""
    rows = []
    for chunk in chunks:
        codes, names = chunk.labels
        for i in range(len(chunk)):
            low, high = chunk.indptr[i : i + 2]
            rows.append(
                (
                    None if codes[i] < 0 else names[codes[i]],
                    1.0 if chunk.weights is None else float(chunk.weights[i]),
                    b"" if chunk.tags is None else chunk.tags[i],
                    tuple(chunk.indices[low:high].tolist()),
                    chunk.values[low:high].tobytes(),
                )
            )
    return rows


def outcome(source: stream.Stream) -> tuple[list, str | None]:
    """The rows before the first error, and its place and reason without the name of the file."""
    chunks = []
    try:
        for chunk in source:
            chunks.append(chunk)
    except DataError as error:
        return rows_of(chunks), f"{error.line}:{error.column}: {error.reason}"
    return rows_of(chunks), None


def libsvm(n: int, seed: int = 0) -> str:
    """Rows of LIBSVM text with all that is allowed in them."""
    draw = random.Random(seed)
    lines = []
    for _ in range(n):
        columns = sorted(draw.sample(range(1, 60), draw.randrange(7)))
        if draw.random() < 0.1:
            draw.shuffle(columns)
        pairs = " ".join(f"{j}:{draw.gauss(0, 1):.{draw.randrange(1, 8)}g}" for j in columns)
        comment = " # of no interest" if draw.random() < 0.1 else ""
        lines.append(f"{draw.choice(['+1', '-1', '1', '1.0'])} {pairs}{comment}{draw.choice(['', '', chr(13)])}")
        if draw.random() < 0.05:
            lines.append(draw.choice(["", "# a comment", "  "]))
    return "\n".join(lines) + "\n"


def csv(n: int, seed: int = 0) -> str:
    """Rows of CSV with quoted cells, some with newlines and quotes inside."""
    draw = random.Random(seed)
    lines = ['label,age,"city, or ""town""",note']
    for _ in range(n):
        city = draw.choice(["Rome", '"Bonn, am Rhein"', '"the ""Eternal"" City"', "", '"two\nlines"'])
        note = draw.choice(["", "x", '"a\r\nb\n\nc"', '",,"'])
        lines.append(f"{draw.choice(['spam', 'ham'])},{draw.choice(['', '3', '4.5', '-1e-3'])},{city},{note}")
        if draw.random() < 0.05:
            lines.append("")
    return "\n".join(lines) + "\n"


def vw(n: int, seed: int = 0) -> str:
    """Rows of VW text with weights, tags and several namespaces."""
    draw = random.Random(seed)
    lines = []
    for i in range(n):
        head = draw.choice(["1", "-1", "1 2.5", f"-1 0.5 'row{i}"])
        words = " ".join(
            f"w{draw.randrange(99)}" + draw.choice(["", ":0.25", ":3"]) for _ in range(draw.randrange(1, 6))
        )
        lines.append(f"{head} |text {words} |n x:{draw.random():.3f}")
    return "\n".join(lines) + "\n"

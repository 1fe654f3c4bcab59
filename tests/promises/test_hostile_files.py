"""Files of every format, changed at random: every command ends with status 0, or in one clear line."""

from __future__ import annotations

import gzip
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from torture import times

from sureline import cli

pytestmark = pytest.mark.torture

ROWS = 120
TRIES = times(60)
JUNK = [b"\0", b"\n", b"\r", b"\xff", b"\xef\xbb\xbf", b'"', b",", b":", b"|", b"{", b"}", b"nan", b"1e999", b"-", b" "]
JUNK += [b"9" * 40, b"\t", b"\\ud800", b"#", b"'", b"\x1b[2J", "\u202e".encode(), b"0x1", b"''", b"1_0"]


def line(format: str, a: float, b: str, c: int, label: int) -> str:
    match format:
        case "libsvm":
            return f"{label} 1:{a:.3f} {2 + 'xyz'.index(b)}:1 {10 + c}:1\n"
        case "vw":
            return f"{2 * label - 1} 'tag{c} |n a:{a:.3f} b={b} c{c}\n"
        case "jsonl":
            return json.dumps({"label": label, "a": round(a, 3), "b": b, "c": {"d": c}}) + "\n"
        case "text":
            return f"{label}\tw{b} v{c}\n"
    cells = f"{a:.3f}", b, str(label), str(c)
    return (", " if format == "csv" else "\t").join(cells).replace(", ", ",") + "\n"


def seeds() -> dict[str, bytes]:
    """A good file of each format."""
    rng = random.Random(0)
    rows = [(rng.gauss(0, 1), rng.choice("xyz"), rng.randrange(50)) for _ in range(ROWS)]
    found: dict[str, bytes] = {}
    for format in ("libsvm", "vw", "csv", "tsv", "jsonl", "text"):
        head = {"csv": "a,b,label,c\n", "tsv": "a\tb\tlabel\tc\n"}.get(format, "")
        found[format] = (head + "".join(line(format, a, b, c, int(a > 0)) for a, b, c in rows)).encode()
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        return found
    a, b, _ = zip(*rows, strict=True)
    table = pa.table({"label": [int(value > 0) for value in a], "a": a, "b": b})
    out = io.BytesIO()
    parquet.write_table(table, out)
    found["parquet"] = out.getvalue()
    out = io.BytesIO()
    with pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    found["arrow"] = out.getvalue()
    return found


def changed(content: bytes, rng: random.Random) -> bytes:
    text = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(5):
            case 0:
                del text[at : at + rng.randrange(1, 30)]
            case 1:
                text[at:at] = rng.choice(JUNK)
            case 2:
                text[at : at + 1] = bytes([rng.randrange(256)])
            case 3:
                start = rng.randrange(len(text) + 1)
                text[at:at] = text[start : start + rng.randrange(60)]
            case 4:
                text[at : at + 3] = rng.choice(JUNK)
    if rng.random() < 0.2:
        packed = bytearray(gzip.compress(bytes(text)))
        if rng.random() < 0.5:
            packed[rng.randrange(len(packed))] ^= 1 << rng.randrange(8)
        return bytes(packed)
    return bytes(text)


def test_every_command_ends_well(tmp_path: Path, capsys: Any) -> None:
    good, models = seeds(), {}
    for format, content in good.items():
        path, models[format] = tmp_path / f"good.{format}", tmp_path / f"m.{format}"
        path.write_bytes(content)
        words = ["train", path, "--format", format, "--algorithm", "pa", "--model", models[format], "--quiet"]
        assert cli.run(list(map(str, words))) == 0
    statuses = set()
    for seed in range(TRIES):
        rng = random.Random(seed)
        format = rng.choice(sorted(good))
        path, out = tmp_path / f"rows.{format}", tmp_path / "out.arrow"
        path.write_bytes(changed(good[format], rng))
        known, model = ["--format", format], ["--model", models[format]]
        algorithm = rng.choice(["pa", "scw", "bcw", "auto"])
        command = rng.choice(
            [
                ["train", path, *known, "--algorithm", algorithm, "--model", tmp_path / "new", "--quiet"],
                ["train", path, "--errors", "skip", "--max-error-share", "1", "--model", tmp_path / "new", "--quiet"],
                ["predict", path, *known, *model, "--output", tmp_path / "out"],
                ["evaluate", path, *known, *model],
                ["compare", path, *known, "--algorithm", "pa,scw", "--quiet"],
                ["convert", path, *known, out],
            ]
        )
        capsys.readouterr()
        status = cli.run(list(map(str, command)))
        said = capsys.readouterr().err
        statuses.add(status)
        assert status in (0, 1, 2), (seed, said)
        assert "internal error" not in said, (seed, said)
        assert status == 0 or 1 <= said.count("\n") <= 3, (seed, said)
        assert all(c.isprintable() or c in "\n\N{NO-BREAK SPACE}" for c in said), (seed, said)
    assert statuses >= {0, 1}

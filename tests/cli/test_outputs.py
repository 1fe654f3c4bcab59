"""Files that predict writes: the format and the compression are in the name."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from pathlib import Path

import numpy as np
import pytest
from command_line import fail, succeed

import sureline
from sureline.cli._progress import bar
from sureline.stream.decompress import zstd_module

X = np.random.default_rng(0).normal(size=(60, 4))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("outputs")
    rows = [f"{int(x[0] > 0)} " + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(x)) + "\n" for x in X]
    (folder / "a.svm").write_text("".join(rows))
    succeed("train", folder / "a.svm", "--algorithm", "scw", "--C", "1", "--quiet", "--model", folder / "m.sureline")
    return folder


def written(folder: Path, name: str) -> Path:
    succeed("predict", folder / "a.svm", "--model", folder / "m.sureline", "--explain", 2, "--output", folder / name)
    return folder / name


def test_text_by_name_and_compressed(folder: Path) -> None:
    plain = written(folder, "a.csv").read_bytes()
    assert plain.startswith(b"label,score,confidence,explanation\n")
    assert gzip.decompress(written(folder, "a.csv.gz").read_bytes()) == plain
    assert bz2.decompress(written(folder, "a.csv.bz2").read_bytes()) == plain
    assert lzma.decompress(written(folder, "a.csv.xz").read_bytes()) == plain
    lines = zstd_module().decompress(written(folder, "a.jsonl.zst").read_bytes()).decode().splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 60
    clf = sureline.load(folder / "m.sureline")
    assert [row["label"] for row in rows] == [int(line.split(b",")[0]) for line in plain.splitlines()[1:]]
    for row in rows[:5]:
        told = row["explanation"]
        assert len(told["contributions"]) == 2
        total = told["intercept"] + sum(c["contribution"] for c in told["contributions"]) + told["rest"]
        assert total == pytest.approx(row["score"], abs=1e-5)
    assert clf.classes_.tolist() == [0, 1]


def test_parquet_and_arrow(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    from pyarrow import parquet

    table = parquet.read_table(written(folder, "a.parquet"))
    assert table.schema.field("label").type == pa.int64()
    assert table.num_rows == 60
    with pa.ipc.open_file(written(folder, "a.arrow")) as file:
        assert file.read_all().equals(table)
    first = table.slice(0, 1).to_pylist()[0]
    assert len(first["explanation"]) == 2


def test_what_cannot_be_written(folder: Path) -> None:
    command = ["predict", folder / "a.svm", "--model", folder / "m.sureline"]
    assert "is compressed inside" in fail(2, *command, "--output", folder / "b.parquet.gz")
    assert "is to be parquet" in fail(2, *command, "--json", "--output", folder / "b.parquet")
    assert not (folder / "b.parquet").exists()


def test_row_numbers(folder: Path) -> None:
    command = ["predict", folder / "a.svm", "--model", folder / "m.sureline", "--row-numbers"]
    lines = succeed(*command).splitlines()
    assert lines[0] == "row,label,score,confidence"
    assert [line.split(",")[0] for line in lines[1:]] == [str(k) for k in range(1, 61)]


def test_the_bar_of_a_known_size() -> None:
    assert [bar(share) for share in (0.0, 0.25, 1.0)] == ["[------------]", "[###---------]", "[############]"]


def test_a_missing_column_is_told_with_the_first_and_the_last_ones(tmp_path: Path) -> None:
    names = [f"c{k}" for k in range(40)]
    (tmp_path / "a.csv").write_text(",".join(names) + "\n" + ",".join(["1"] * 40) + "\n")
    said = fail(1, "train", tmp_path / "a.csv", "--algorithm", "scw", "--model", tmp_path / "m")
    assert "there is no column 'label' among the columns c0, c1," in said
    assert "c14, ..., c35, c36, c37, c38, c39" in said

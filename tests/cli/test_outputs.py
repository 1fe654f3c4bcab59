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


def test_what_is_not_written_is_refused_before_any_work(folder: Path) -> None:
    for name in ("a.xlsx", "a.tsv", "a.json", "a.tsv.gz"):
        words = ["predict", folder / "a.svm", "--model", folder / "m.sureline", "--output", folder / name]
        ending = "." + name.split(".")[1]
        assert f"and not {ending}." in fail(2, *words)
        assert not (folder / name).exists()
    succeed(*words[:-1], folder / "a.json", "--json")
    assert json.loads((folder / "a.json").read_text().splitlines()[0])["label"] in (0, 1)


def test_names_of_columns_are_no_formulas_either(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("=1+1,label\nx,1\ny,0\n")
    succeed("train", tmp_path / "a.csv", "--algorithm", "pa", "--quiet", "--model", tmp_path / "m")
    words = ["predict", tmp_path / "a.csv", "--model", tmp_path / "m", "--keep", "=1+1"]
    assert succeed(*words).startswith("=1+1,label,")
    assert succeed(*words, "--csv-safe").startswith("'=1+1,label,")


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


def test_a_label_that_is_not_answered_is_missing_from_tables(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    data = tmp_path / "a.svm"
    data.write_text("yes 1:1\nno 2:1\n" * 20)
    succeed("train", data, "--algorithm", "pa", "--quiet", "--model", tmp_path / "m")
    succeed("predict", data, "--model", tmp_path / "m", "--max-error", "0.001", "--output", tmp_path / "o.parquet")
    assert set(parquet.read_table(tmp_path / "o.parquet")["label"].to_pylist()) == {None}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_an_error_halfway_is_one_line_and_leaves_the_old_file(ending: str, tmp_path: Path) -> None:
    """One sentence, not the traceback of a writer whose file is closed."""
    data, out = tmp_path / "a.svm", tmp_path / f"o.{ending}"
    data.write_text("yes 1:1\nno 2:1\n" * 20)
    (tmp_path / "bad.svm").write_text("yes 1:1\nno 2:x\n")
    succeed("train", data, "--algorithm", "pa", "--quiet", "--model", tmp_path / "m")
    out.write_text("old")
    said = fail(1, "predict", data, tmp_path / "bad.svm", "--model", tmp_path / "m", "--output", out)
    assert "bad.svm:2:" in said
    assert said.count("\n") == 1
    assert out.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.svm", "bad.svm", "m", out.name]


def test_tags_that_come_late_are_not_dropped(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("1 | a\n-1 | b\n" * 20)
    (tmp_path / "b.vw").write_text("1 'tag | a\n-1 | b\n")
    succeed("train", tmp_path / "a.vw", "--algorithm", "pa", "--quiet", "--model", tmp_path / "m")
    words = ["--model", tmp_path / "m", "--output", tmp_path / "o.csv"]
    said = fail(1, "predict", tmp_path / "a.vw", tmp_path / "b.vw", *words)
    assert "b.vw: rows have tags, and the output was begun without" in said
    assert "cat FILES | sureline predict -" in said
    succeed("predict", tmp_path / "b.vw", tmp_path / "a.vw", *words)
    assert (tmp_path / "o.csv").read_text().startswith("tag,label")


def test_the_columns_of_a_pipe_do_not_depend_on_its_first_rows(tmp_path: Path) -> None:
    """Tags that come late have a place in the output, as have ids that the first rows lack."""
    (tmp_path / "a.vw").write_text("1 | a\n-1 | b\n" * 20)
    succeed("train", tmp_path / "a.vw", "--algorithm", "pa", "--quiet", "--model", tmp_path / "m")
    for rows, tags in [("| a\n", [""]), ("| a\n1 'late | b\n", ["", "late"])]:
        said = succeed("predict", "-", "--model", tmp_path / "m", stdin=rows.encode())
        assert said.splitlines()[0].startswith("tag,label")
        assert [line.split(",")[0] for line in said.splitlines()[1:]] == tags
    row = '{"y": %d, "x": %d%s}\n'
    (tmp_path / "a.jsonl").write_text("".join(row % (k % 2, k % 2, f', "key": "k{k}"') for k in range(40)))
    succeed(
        "train", tmp_path / "a.jsonl", "--label", "y", "--id", "key", "--algorithm", "pa", "--model", tmp_path / "m"
    )
    for source in ("-", tmp_path / "late.jsonl"):
        text = row % (1, 1, "")
        (tmp_path / "late.jsonl").write_text(text)
        said = succeed("predict", source, "--model", tmp_path / "m", stdin=text.encode())
        assert said.splitlines()[0].startswith("tag,label")


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

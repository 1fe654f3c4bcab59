"""Columns of the data that predict hands through."""

from __future__ import annotations

import csv
import datetime
import json
from pathlib import Path

import pytest
from command_line import fail, succeed

ROWS = [
    {
        "when": f"2024-03-0{i % 9 + 1}",
        "who": 'Ann, "A"' if i % 2 else "Bö",
        "x": i - 20,
        "label": "no" if i < 20 else "yes",
    }
    for i in range(40)
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept")
    with open(folder / "a.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, ["when", "who", "x", "label"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(ROWS)
    nested = [{**row, "of": {"id": i}} if i else row for i, row in enumerate(ROWS)]
    (folder / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in nested))
    learner = ("--algorithm", "arow", "--r", 1, "--shuffle", "--quiet")
    succeed("train", folder / "a.csv", "--ignore", "when,who", *learner, "--model", folder / "m.sureline")
    return folder


def predicted(folder: Path, data: str, keep: str, output: str, *more: object) -> Path:
    args = ("--model", folder / "m.sureline", "--keep", keep, "--output", folder / output)
    succeed("predict", folder / data, *args, *more)
    return folder / output


def test_csv_keeps_cells_as_they_are_and_tells_two_labels_apart(folder: Path) -> None:
    with open(predicted(folder, "a.csv", "who,when,label", "out.csv"), newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["who", "when", "input label", "label", "score", "confidence"]
    assert [row["who"] for row in rows] == [row["who"] for row in ROWS]
    assert [row["input label"] for row in rows] == [row["label"] for row in ROWS]
    assert {row["label"] for row in rows} == {"no", "yes"}


def test_rows_that_are_skipped_have_no_cells(folder: Path) -> None:
    (folder / "bad.csv").write_text("\ufeffwhen,who,x\na,b,1\nc,d\n\ne,f,2\n", encoding="utf-8")
    out = predicted(folder, "bad.csv", "when", "bad.out.csv", "--errors", "skip", "--max-error-share", 0.5)
    assert [line.split(",")[0] for line in out.read_text().splitlines()] == ["when", "a", "e"]


def test_json_lines_keep_values_and_nested_names(folder: Path) -> None:
    rows = [json.loads(line) for line in predicted(folder, "a.jsonl", "x,of.id", "out.jsonl").read_text().splitlines()]
    assert [row["x"] for row in rows] == [row["x"] for row in ROWS]
    assert [row["of.id"] for row in rows] == [None, *range(1, 40)]


def test_arrow_keeps_types(folder: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    days = [datetime.datetime(2024, 3, 1) + datetime.timedelta(days=i) for i in range(40)]
    columns = {"x": [row["x"] for row in ROWS], "day": days, "who": [row["who"] for row in ROWS]}
    parquet.write_table(pa.table(columns), folder / "a.parquet")
    table = parquet.read_table(predicted(folder, "a.parquet", "day,x,who", "out.parquet"))
    assert table.column("day").to_pylist() == days
    assert table.schema.field("x").type == pa.int64()
    assert table.column("who").to_pylist() == columns["who"]
    text = predicted(folder, "a.parquet", "day", "day.jsonl").read_text().splitlines()
    assert json.loads(text[0])["day"] == "2024-03-01 00:00:00"
    from_text = parquet.read_table(predicted(folder, "a.jsonl", "x", "text.parquet"))
    assert from_text.column("x").to_pylist() == [str(row["x"]) for row in ROWS]


@pytest.mark.parametrize("data", ["a.csv", "a.jsonl", "a.parquet"])
def test_an_unknown_column_is_named(folder: Path, data: str) -> None:
    if data == "a.parquet":
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table({"x": [1, 2]}), folder / "a.parquet")
    said = fail(1, "predict", folder / data, "--model", folder / "m.sureline", "--keep", "wo")
    assert data in said
    assert "there is no column 'wo'" in said
    assert "--keep" in said


def test_what_is_no_table_has_no_columns_to_keep(folder: Path) -> None:
    (folder / "a.svm").write_text("1 1:1\n0 2:1\n")
    succeed("train", folder / "a.svm", "--algorithm", "arow", "--r", 1, "--quiet", "--model", folder / "s.sureline")
    said = fail(2, "predict", folder / "a.svm", "--model", folder / "s.sureline", "--keep", "a")
    assert "'keep' parameter of read is for csv" in said


def test_names_that_would_come_twice_are_refused(folder: Path) -> None:
    (folder / "twice.csv").write_text("label,input label,x\nno,1,2\n")
    said = fail(2, "predict", folder / "twice.csv", "--model", folder / "m.sureline", "--keep", "label,input label")
    assert "two columns 'input label'" in said

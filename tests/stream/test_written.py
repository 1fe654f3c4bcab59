"""Tables as spreadsheets and programs write them: decimal commas, dates, epochs, numbers far from 0, names left out."""

from __future__ import annotations

import json
import random
import warnings

import numpy as np
import pytest
from command_line import fail, run, succeed
from stream_files import outcome, rows_of, write

import sureline
from sureline import stream
from sureline.stream import DataError, guessing
from sureline.stream.classes import targets_of
from sureline.stream.guessing import guess
from sureline.stream.options import Options
from sureline.stream.schema import Column, Schema

RANDOM = random.Random(0)
PRICES = [RANDOM.expovariate(0.001) for _ in range(100)]
DAYS = [(RANDOM.randrange(1, 29), RANDOM.randrange(1, 13)) for _ in range(100)]


def column_of(cells: list, **options) -> Column:
    (column,) = guess("f", {"a": cells}, Options(**options)).columns
    return column


def comma(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(",.", ".,"))


@pytest.mark.parametrize(
    ("cells", "kind", "how"),
    [
        ([comma(n) for n in PRICES], "numeric", "comma"),
        ([f"{n:.1f}".replace(".", ",") for n in PRICES], "numeric", "comma"),
        ([f"{n:,.2f}" for n in PRICES], "numeric", "grouped"),
        (["1'234.50", "12.50"], "numeric", "grouped"),
        (["1\N{NO-BREAK SPACE}234,5", "12,5"], "numeric", "comma"),
        (["$1,234.50", "-$12.00", "$-1"], "numeric", "grouped"),
        (["12,5 €", "1.300 €"], "numeric", "comma"),
        (["12%", "5 %"], "numeric", "grouped"),
        (["$", "5"], "categorical", ""),
        (["123 456", "789 123"], "categorical", ""),  # a telephone
        (["1,2,3", "4,5,6"], "categorical", ""),
        (["0,125", "7,250"], "numeric", "comma"),  # no group begins with 0
        ([f"{37 * n:,}" for n in range(100)], "numeric", "grouped"),  # 950 has no mark, 1,234 has one
        ([f"{37 * n:,} €".replace(",", ".") for n in range(100)], "numeric", "comma"),
        ([f"{37 * n:,}" for n in range(30, 100)], "categorical", ""),  # they may all have three decimals
        ([f"{d:02}.{m:02}.2024" for d, m in DAYS], "timestamp", "day-first"),
        ([f"{d}/{m}/2024 17:30" for d, m in DAYS], "timestamp", "day-first"),
        ([f"{m}/{d}/2024 5:30:00 PM" for d, m in DAYS], "timestamp", "month-first"),
        (["Feb 29, 2024", "March 1, 2024"], "timestamp", "month-first"),
        (["29-FEB-2024", "01-MAR-2024"], "timestamp", "day-first"),
        (["29/Feb/2024:13:05:00 +0000"], "timestamp", "day-first"),
        (["2024/02/29", "2024/03/01"], "timestamp", ""),
        (["31.02.2024", "01.03.2024"], "categorical", ""),
        (["12345678901234567890", "12345678901234567891"], "categorical", ""),  # doubles cannot tell them apart
        ([2**63 - 1, 2**63 - 2], "categorical", ""),
        (["9007199254740992", "1"], "numeric", ""),
    ],
)
def test_how_cells_are_written(cells, kind, how):
    column = column_of(cells)
    assert (column.kind, column.how) == (kind, how)


def test_columns_with_the_same_cells_are_the_same():
    schema = guess("f", {name: ["1,5", "2,5"] for name in "abc"}, Options())
    assert [(column.kind, column.how) for column in schema.columns] == [("numeric", "comma")] * 3


def test_the_table_decides_where_a_column_leaves_it_open():
    open = {"a": ["1,234", "5,678"], "when": ["01/02/2024", "03/04/2024"]}
    schema = guess("f", open, Options())
    assert [column.kind for column in schema.columns] == ["categorical"] * 2
    assert "--numeric a:comma or --numeric a:grouped says which" in schema.doubtful["a"]
    assert "--timestamp when:day-first or" in "\n".join(schema.lines("label", None))
    assert "doubtful" not in schema.to_dict()
    schema = guess("f", open | {"b": ["1,5", "2,5"], "c": ["31/12/2024", "30/12/2024"]}, Options())
    assert [column.how for column in schema.columns] == ["comma", "day-first", "comma", "day-first"]
    assert not schema.doubtful
    schema = guess("f", open | {"b": ["1,000.5", "2.5"], "c": ["12/31/2024", "12/30/2024"]}, Options())
    assert [column.how for column in schema.columns] == ["grouped", "month-first", "grouped", "month-first"]
    schema = guess("f", open, Options(numeric=["a:comma"], timestamp=["when:month-first"]))
    assert [column.how for column in schema.columns] == ["comma", "month-first"]


def test_how_targets_are_written_can_be_said(tmp_path):
    """Thousands alone may be decimals. The error names the option, and the option is for numbers to be predicted."""
    text = "y;x\n" + "".join(f"{200_000 + 1_000 * k:,};{k}\n" for k in range(60))
    path = write(tmp_path / "a.csv", text)
    options = {"label": "y", "covariance": "diag"}
    with pytest.raises(DataError, match="'200,000' may be read in two ways; --numeric y:comma or --numeric y:grouped"):
        sureline.train(path, "arow-regressor", **options)
    for way, least in [("grouped", 200_000), ("comma", 200)]:
        reg = sureline.train(path, "arow-regressor", numeric=[f"y:{way}"], **options)
        assert least < reg.predict_one({"x": 30}) < 1.3 * least
    with pytest.raises(ValueError, match="the targets of a regressor are written: AROW takes labels as they are"):
        sureline.train(path, "arow", r=1, numeric=["y:grouped"], label="y")
    with pytest.raises(DataError, match="--text names the column 'y', which is the label"):
        sureline.train(path, "arow", r=1, text=["y"], label="y")


@pytest.mark.parametrize(
    ("cells", "asked", "how"),
    [
        (["1709227800", "1709227801"], "a", "s"),
        ([1709227800, 1709227801], "a", "s"),
        (["1709227800000", "1709227801000"], "a", "ms"),
        (["1709227800000000", "1709227801000000"], "a", "us"),
        ([1709227800000000000], "a", "ns"),
        (["20240229", "20240301"], "a", "yyyymmdd"),
        ([20240229, 20240301], "a", "yyyymmdd"),
        (["1709227800000"], "a:s", None),
        (["29.02.2024"], "a:day-first", "day-first"),
        (["soon", "later"], "a", None),
        (["01/02/2024"], "a", None),
    ],
)
def test_times_that_are_asked_for(cells, asked, how):
    if how is None:
        with pytest.raises(DataError, match=r"--timestamp a:WAY says how they are written: day-first, month-first"):
            column_of(cells, timestamp=[asked])
        return
    column = column_of(cells, timestamp=[asked])
    assert (column.kind, column.how) == ("timestamp", how)
    assert str(np.datetime64(column.reference, "us")).startswith("2024-02-29")


def test_a_table_of_a_spreadsheet_is_the_plain_table(tmp_path):
    """Its rows are those of the same values in plain writing; and so are those of JSON and of a data frame."""
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    plain = "price,when,epoch,label\n" + "".join(
        f"{n:.2f},2024-{m:02}-{d:02}T17:30:00,{1709227800 + k},{k % 2}\n"
        for k, (n, (d, m)) in enumerate(zip(PRICES, DAYS, strict=True))
    )
    excel = "\ufeffprice;when;epoch;label\r\n" + "".join(
        f"{comma(n)};{d:02}.{m:02}.2024 17:30;{1709227800 + k};{k % 2}\r\n"
        for k, (n, (d, m)) in enumerate(zip(PRICES, DAYS, strict=True))
    )
    expected = rows_of(stream.read(write(tmp_path / "plain.csv", plain), timestamp=["epoch"]))
    path = write(tmp_path / "excel.csv", excel)
    assert rows_of(stream.read(path, timestamp=["epoch"])) == expected
    frame = pandas.read_csv(path, sep=";", dtype={"price": str, "when": str})
    assert rows_of(stream.read(frame, timestamp=["epoch"])) == expected
    lines = "".join(json.dumps(record) + "\n" for record in frame.to_dict("records"))
    assert rows_of(stream.read(write(tmp_path / "a.jsonl", lines), timestamp=["epoch"])) == expected


def test_a_cell_that_is_written_otherwise_is_told_with_its_place(tmp_path):
    path = write(tmp_path / "a.csv", "a;when;label\n" + "1,5;31.12.2024;0\n" * 1500 + "1.5;31.12.2024;1\n")
    _, error = outcome(stream.read(path))
    assert error.startswith(
        "1502:1: '1.5' is not a number such as 1.234,5, and the first rows of the column 'a' were; "
    )
    path = write(tmp_path / "a.csv", "a;when;label\n" + "1,5;31.12.2024;0\n" * 1500 + "1,5;12/31/2024;1\n")
    _, error = outcome(stream.read(path))
    assert error.startswith("1502:5: '12/31/2024' is not a time such as 29.02.2024 17:30")


def test_the_way_is_kept_and_forged_ways_are_refused():
    schema = Schema((Column("a", "numeric", how="comma", center=2010.0), Column("t", "timestamp", how="ms")))
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert [line.split("  ")[-1].strip() for line in schema.lines(None, None)] == [
        "numeric (1.234,5, less 2010)",
        "timestamp (ms since 1970: weekday, age in days since 1970-01-01)",
    ]
    for forged in (
        {"name": "a", "kind": "numeric", "how": "ms"},
        {"name": "a", "kind": "categorical", "how": "comma"},
        {"name": "a", "kind": "timestamp", "how": ["ms"]},
        {"name": "a", "kind": "numeric", "center": "1"},
        {"name": "a", "kind": "numeric", "center": float("inf")},
        {"name": "a", "kind": "text", "center": 1.0},
    ):
        with pytest.raises(ValueError, match=r"'a'"):
            Schema.from_dict({"columns": [forged]})


# -- numbers far from 0 --------------------------------------------------------------------------------------


def test_numbers_far_from_zero_have_a_center():
    assert column_of([2000 + k % 20 for k in range(100)]).center == 2010
    assert column_of([str(-122.4 + 0.01 * (k % 20)) for k in range(100)]).center == pytest.approx(-122.31)
    assert column_of([1_700_000_000 + 1000 * k for k in range(100)]).center == 1_700_050_000
    for near in (range(100), [0, 0, 0, 5] * 25, [-1.0, 1.0] * 50, [7] * 100, [3, 4] * 5):
        assert column_of(list(near)).center == 0


@pytest.mark.parametrize(("mean", "spread"), [(0, 1), (10, 1), (2010, 6), (1.7e9, 1e7)])
@pytest.mark.parametrize("algorithm", ["scw", "arow", "ftrl"])
def test_where_numbers_lie_does_not_matter(algorithm, mean, spread):
    """Years, longitudes and epochs are learned from as columns around 0 are; logistic regression has 0.89 to 0.91."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 6000))
    y = (x + z + rng.normal(0, 0.5, 6000) > 0).astype(int)
    frame = pandas.DataFrame({"x": mean + spread * x, "z": z, "label": y})
    model = sureline.train(frame[:5000], algorithm)
    assert (sureline.predict(model, frame[5000:]) == frame["label"][5000:]).mean() > 0.86


# -- what else comes out of programs -------------------------------------------------------------------------


def test_columns_without_a_name(tmp_path):
    """pandas and R write their index so, and other programs a delimiter at the end of each line."""
    path = write(tmp_path / "a.csv", ",city,label\n" + "".join(f"{k},Rome,{k % 2}\n" for k in range(30)))
    schema = stream.read(path).schema
    assert (schema.ids, schema.names) == (("column 1",), ["city"])
    path = write(tmp_path / "a.csv", "city,label,\nRome,1,\nOslo,0,\n")
    assert stream.read(path).schema.names == ["city", "column 3"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"sep=;\na;label\n1;2\n", r"1:1: the line is for Excel.*--delimiter ';'"),
        ("a.csv", "a,label\n1,2\n".encode("utf-16"), r"the file is UTF-16; iconv -f UTF-16 -t UTF-8"),
        ("a.csv", "a,label\n1,2\n".encode("utf-16-le"), r"the file is UTF-16; iconv -f UTF-16LE -t UTF-8"),
        ("a.csv", "a,label\n1,2\n".encode("utf-16-be"), r"the file is UTF-16; iconv -f UTF-16BE -t UTF-8"),
        ("a.csv", "a,label\n1,2\n".encode("utf-32"), r"the file is UTF-32; iconv -f UTF-32 -t UTF-8"),
        ("a.csv", "a,label\n1,2\n".encode("utf-32-be"), r"the file is UTF-32; iconv -f UTF-32BE -t UTF-8"),
        (
            "a.csv",
            b"PK\x03\x04" + bytes(60),
            r"is an archive or a spreadsheet; unpack it, or save the spreadsheet as CSV",
        ),
        ("a.xlsx", b"PK\x03\x04" + bytes(60), r"is an archive or a spreadsheet; unpack it, or save the spreadsheet as"),
        (
            "a.csv",
            "city,label\nKöln,2\n".encode("cp1252"),
            r"2:2: the line is not valid UTF-8; .*iconv -f WINDOWS-1252",
        ),
        ("a.csv", "größe,label\n1,2\n".encode("cp1252"), r"1:3: the line is not valid UTF-8; .*iconv -f WINDOWS-1252"),
        ("a.csv", b"a,label\r1,2\r3,2\r", r"1:1: the lines end in carriage returns alone"),
        ("a.csv", b"a, label\n1,2\n", r"among the columns a, ' label'; --label names it"),
        ("a.json", b'[{"a": 1, "label": 2}]', r"jq -c '\.\[\]' makes JSON lines"),
        ("a.jsonl", b'[{"a": 1, "label": 2}]', r"must be a JSON object; of an array, jq -c '\.\[\]' makes lines"),
        ("a.jsonl", b'{"a": [[1]], "label": 2}\n', r"the list 'a' holds something else .*--ignore a leaves it out"),
    ],
)
def test_an_error_says_what_to_do(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=words):
        rows_of(stream.read(path))
    if "UTF-16" in words or "UTF-32" in words:
        with pytest.raises(DataError, match=words):
            stream.read(path, format="text")


def test_lists_that_cannot_be_read_can_be_ignored(tmp_path):
    lines = '{"a": [[1], [2]], "items": [{"b": 1}], "c": 2, "label": 1}\n' * 30
    path = write(tmp_path / "a.jsonl", lines)
    assert len(rows_of(stream.read(path, ignore=["a", "items"]))) == 30


def test_tables_are_recognised_by_content(tmp_path):
    for delimiter in ",;|":
        path = write(tmp_path / "a.data", f"a{delimiter}label\n1{delimiter}x\n2{delimiter}y\n")
        assert stream.read(path).schema.names == ["a"]


def test_frames_of_pandas_with_other_types():
    pandas = pytest.importorskip("pandas")
    n = 60
    frame = pandas.DataFrame({"label": np.arange(n) % 2})
    frame["month"] = pandas.period_range("2020-01", periods=n, freq="M")
    frame["bin"] = pandas.cut(np.arange(n) % 7, 3)
    frame[3] = 1.5
    schema = stream.read(frame).schema
    assert [(column.name, column.kind) for column in schema.columns] == [
        ("month", "timestamp"),
        ("bin", "categorical"),
        ("3", "numeric"),
    ]
    assert stream.read(frame, label=3).options.label == "3"


@pytest.mark.parametrize("data", [{"a": [1], "label": [0]}, [{"a": 1, "label": 0}], np.ones((2, 2))])
def test_values_that_are_no_frame_are_refused_with_a_hint(data):
    with pytest.raises(TypeError, match=r"pandas\.DataFrame\(data\)"):
        stream.read(data)
    with pytest.raises(FileNotFoundError):
        stream.read(np.str_("nowhere.csv"))


def test_one_class_alone_is_told(tmp_path):
    path = write(tmp_path / "a.csv", "a,label\n" + "1,x\n" * 100)
    model = tmp_path / "m.sureline"
    told = run("train", path, "--algorithm", "arow", "--r", "1", "--model", model)
    assert "only one class came, 'x': there was nothing to tell apart" in told.stderr
    told = succeed("train", path, "--algorithm", "arow", "--r", "1", "--json", "--quiet", "--model", model)
    assert "only one class came" in json.loads(told)["warnings"][0]
    with pytest.warns(UserWarning, match="only one class came"):
        sureline.train(path, "arow", r=1)


def test_a_label_that_says_missing_is_told(tmp_path):
    path = write(tmp_path / "a.csv", "a,label\n" + "1,1\n0,0\n0,NA\n" * 50)
    with pytest.warns(UserWarning, match="the label 'NA' is a class like any other"):
        model = sureline.train(path, "arow", r=1)
    assert list(model.classes_) == ["0", "1", "NA"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sureline.train(write(tmp_path / "a.csv", "a,label\n" + "1,1\n0,0\n" * 50), "arow", r=1)


def test_options_of_times_on_the_command_line(tmp_path):
    path = write(tmp_path / "a.csv", "t,label\n" + "".join(f"{1709227800 + 3600 * k},{k % 2}\n" for k in range(60)))
    model = tmp_path / "m.sureline"
    told = run("train", path, "--timestamp", "t", "--algorithm", "arow", "--r", "1", "--model", model)
    assert "timestamp (s since 1970: weekday, hour, age in days since 2024-02-29)" in told.stderr
    told = succeed("inspect", model, "--top", "30")
    assert "t.hour=17" in told
    assert "columns of the table: t (timestamp, s since 1970)" in told
    told = fail(1, "train", path, "--timestamp", "t:ns", "--numeric", "t", "--algorithm", "arow", "--model", model)
    assert "both name the column 't'" in told


def test_columns_that_come_later_are_named(tmp_path):
    """They are not learned from: nothing is guessed a second time."""
    pandas, _ = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    first = write(tmp_path / "1.csv", "a,label\n" + "1,1\n0,0\n" * 50)
    second = write(tmp_path / "2.csv", "b,a,label\n" + "7,1,1\n7,0,0\n" * 50)
    words = r"b of .*2\.csv is not a column of the model"
    model = sureline.train(first, "arow", r=1)
    with pytest.warns(UserWarning, match=words):
        sureline.train(second, start=model)
    with pytest.warns(UserWarning, match=words):
        sureline.train([first, second], "arow", r=1)
    frame = pandas.read_csv(second)
    with pytest.warns(UserWarning, match="b of .DataFrame. is not a column"):
        sureline.train(frame.assign(), start=model)
    frame.to_parquet(tmp_path / "2.parquet")
    with pytest.warns(UserWarning, match=r"b of .*2\.parquet is not"):
        sureline.train(tmp_path / "2.parquet", start=model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sureline.train(second, "arow", r=1, ignore=["b"])
        assert (sureline.predict(model, second) == frame["label"]).all()


@pytest.mark.parametrize("format", ["csv", "jsonl", "parquet"])
def test_thousands_among_targets_with_decimal_commas_are_thousands(tmp_path, format):
    written = ["1.844", "1.420,6", "900", "2.001,25", "0,5"] * 60
    numbers = np.array([1844, 1420.6, 900, 2001.25, 0.5] * 60)
    if format == "csv":
        path = write(tmp_path / "a.csv", "a;label\n" + "".join(f"{k % 7};{y}\n" for k, y in enumerate(written)))
    elif format == "jsonl":
        lines = [f'{{"a": {k % 7}, "label": "{y}"}}\n' for k, y in enumerate(written)]
        path = write(tmp_path / "a.jsonl", "".join(lines))
    else:
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        path = tmp_path / "a.parquet"
        parquet.write_table(pa.table({"a": [k % 7 for k in range(len(written))], "label": written}), path)
    source = stream.read(path)
    assert source.schema.target == "comma"
    found = np.concatenate([targets_of(chunk, str(path), 0, source.schema) for chunk in source])
    np.testing.assert_array_equal(found, numbers)


def test_thousands_of_a_table_with_decimal_commas(tmp_path):
    cells = ["900", "1.200", "12.500", "1.000.000"]
    lines = "".join(f"1.1{k % 9}0,5{k % 10};{cells[k % 4]};{k % 3}.{k % 7};{k % 2}\n" for k in range(100))
    path = write(tmp_path / "a.csv", "price;pieces;version;label\n" + lines)
    price, pieces, version = stream.read(path, bits=8).schema.columns
    assert (price.how, pieces.how, version.how) == ("comma", "comma", "")
    plain = write(tmp_path / "b.csv", "pieces,label\n" + "".join(f"{cells[k % 3]},{k % 2}\n" for k in range(100)))
    assert stream.read(plain).schema.columns[0].how == ""


def test_numbers_whose_squares_overflow_have_no_center(tmp_path):
    for cells in (["1.5e308"] * 100, ["1e200", "-3e220"] * 50):
        path = write(tmp_path / "a.csv", "x,label\n" + "".join(f"{cell},{k % 2}\n" for k, cell in enumerate(cells)))
        (column,) = stream.read(path).schema.columns
        assert (column.kind, column.center) == ("numeric", 0)


def test_what_is_said_of_a_column_comes_before_a_pattern(tmp_path):
    lines = "".join(f"{k % 9 + 1},5;1.{k:03d},5;{k % 2}\n" for k in range(100))
    path = write(tmp_path / "a.csv", "price_a;price_b;label\n" + lines)
    first, second = stream.read(path, numeric=["price_*", "price_b:comma"]).schema.columns
    assert (first.kind, second.kind, second.how) == ("numeric", "numeric", "comma")


def test_regressors_read_targets_as_they_are_written_and_classifiers_leave_labels(tmp_path):
    rows = [(k % 7, 10.5 * (k % 7) + 1000) for k in range(200)]
    path = write(tmp_path / "a.csv", "a;label\n" + "".join(f"{a};{comma(y)}\n" for a, y in rows))
    plain = write(tmp_path / "b.csv", "a,label\n" + "".join(f"{a},{y:.2f}\n" for a, y in rows))
    options = {"algorithm": "arowregressor", "covariance": "diag"}
    model, same = sureline.train(path, **options), sureline.train(plain, **options)
    assert model.predict_one({"a": 3}) == same.predict_one({"a": 3}) == pytest.approx(1031.5, abs=2)
    sureline.save(model, tmp_path / "m.sureline")
    told = succeed("evaluate", path, "--model", tmp_path / "m.sureline", "--json")
    assert json.loads(told)["r2"] > 0.9
    wrong = write(tmp_path / "c.csv", "a;label\n" + "1;1,5\n" * 200 + "1;1.5.2\n")
    with pytest.raises(DataError, match=r"row 201 has the label '1\.5\.2', which is no number"):
        sureline.train(wrong, **options)
    labels = write(tmp_path / "d.csv", "a;label\n" + "1;1,5\n2;2,5\n" * 50)
    assert list(sureline.train(labels, "arow", r=1).classes_) == ["1,5", "2,5"]
    with pytest.raises(ValueError, match="the labels are written in the way 'ms'"):
        Schema.from_dict({"columns": [], "target": "ms"})


def test_columns_of_plain_numbers_take_one_look(monkeypatch):
    """It is what a table of half a million columns has. The guess is that of the look at each cell."""
    draw = random.Random(1)
    plain = ["0", "7", "-3", "12.50", "0.001", "123456789012345"]
    others = [
        "1e3",
        "07",
        "+1",
        ".5",
        "1.",
        "",
        "NA",
        "1\n2",
        "9007199254740993",
        "true",
        "1,5",
        "2024-01-01",
        "a",
        "-0",
    ]
    columns = {
        f"c{k}": [draw.choice(plain if k % 2 else plain + others) for _ in range(1 + k % 40)] for k in range(400)
    }
    columns["far"] = [str(2000 + k % 10) for k in range(50)]
    quick = guess("f", columns, Options())
    with monkeypatch.context() as patch:
        patch.setattr(guessing, "_are_plain_numbers", lambda texts: False)
        assert guess("f", columns, Options()) == quick
    monkeypatch.setattr(guessing, "_missing", lambda cell: pytest.fail("each cell is looked at"))
    assert {c.kind for c in guess("f", {k: columns[k] for k in ("c1", "c399", "far")}, Options()).columns} == {
        "numeric"
    }


def test_files_of_several_formats_are_not_read_together(tmp_path):
    table = write(tmp_path / "a.csv", "label,x\n1,2\n0,3\n")
    write(tmp_path / "b.jsonl", '{"label": 1, "x": 2}\n')
    with pytest.raises(DataError, match=r"b.jsonl: the name says jsonl, and that of .*a.csv says csv"):
        stream.read([table, tmp_path / "b.jsonl"])
    write(tmp_path / "b.data", "label,x\n1,2\n")
    assert len(rows_of(stream.read([table, tmp_path / "b.data"]))) == 3
    write(tmp_path / "c.vw", "label,x\n1,2\n")
    assert len(rows_of(stream.read([table, tmp_path / "c.vw"], format="csv"))) == 3


@pytest.mark.parametrize(("word", "hint"), [("NA", ": leave out rows that have none"), ("dear", "predicted$")])
def test_a_target_that_is_missing(tmp_path, word, hint):
    path = write(tmp_path / "a.csv", f"label,x\n1,2\n{word},3\n,4\n")
    with pytest.raises(DataError, match=f"row 2 has the label '{word}', which is no number to be .*{hint}"):
        sureline.train(path, "odca-regressor", errors="skip", max_error_share=1)
    path = write(tmp_path / "a.csv", "label,x\n1,2\n,3\n")
    assert sureline.train(path, "odca-regressor", errors="skip", max_error_share=1).n_seen_ == 1

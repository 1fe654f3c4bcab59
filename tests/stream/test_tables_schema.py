"""The guess at the columns of a table, what overrides it, and how it is kept."""

from __future__ import annotations

import json
import random

import pytest
from stream_files import outcome, rows_of, write

import sureline
from sureline import stream
from sureline.stream import DataError
from sureline.stream.guessing import guess
from sureline.stream.options import Options, checked_model_options
from sureline.stream.schema import Column, Schema, Words

RANDOM = random.Random(0)
HEX = [f"{RANDOM.getrandbits(32):08x}" for _ in range(200)]


def kind(cells: list, name: str = "a", **options) -> str:
    schema = guess("f", {name: cells}, Options(**options))
    if schema.ids or schema.ignored:
        return "id" if schema.ids else "ignored"
    return schema.columns[0].kind


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2.5", "-3e-4", " 7 "], "numeric"),
        ([1, 2.5, True, None], "numeric"),
        (["1", "inf", "1e999"], "numeric"),  # refused where they stand, and not taken for categories
        ([str(n) for n in range(200)] + ["oops"], "numeric"),  # and so is a single word
        (["1", "oops"], "categorical"),
        (HEX, "categorical"),
        ([*[text for text in HEX if text.isdigit()][:3], "04258293", "12345678"], "categorical"),
        (["7e091613", "12345678"], "categorical"),
        (["12e4", "5678", "0123"], "categorical"),
        (["12e4", "5678"], "categorical"),
        (["1e4", "56", "1e-3"], "numeric"),
        (["1e+20", "2.5"], "numeric"),
        (["01234", "56789"], "categorical"),  # a postal code
        (["0", "0.5", "10"], "numeric"),
        (["true", "False", ""], "boolean"),
        ([True, False, None], "boolean"),
        (["2024-01-31", "1999-12-31T23:59:59.5+02:00"], "timestamp"),
        (["2024-02-30"], "categorical"),
        (["[1, 2]", "[3, 4]"], "list"),
        ([[1.0, 2.0], [3.0, 4.0]], "list"),
        (['["a", "b"]', "[]"], "list"),
        (["Rome", "Oslo", "Rome"], "categorical"),
        (["New York", "San Francisco"], "categorical"),
        (["free cash now", "see you at six then", "call me"], "text"),
        (["", "NA", None, "NaN", float("nan"), "null", "?"], "mixed"),
    ],
)
def test_the_guess(cells, expected):
    assert kind(cells) == expected


def test_names_of_rows_are_no_features():
    assert kind([str(n) for n in range(100)], "ID") == "id"
    assert kind(list(range(100)), "id") == "id"
    assert kind([n // 2 for n in range(100)], "id") == "numeric"  # they do not tell rows apart
    assert kind([str(n) for n in range(100)], "id", numeric=["id"]) == "numeric"


def test_details_of_columns():
    (column,) = guess("f", {"t": ["2024-01-02T10:00:00Z", "2024-01-01", None]}, Options()).columns
    assert column == Column("t", "timestamp", hours=True, reference=1704067200 * 10**6)
    assert not guess("f", {"t": ["2024-01-02", "2024-01-01"]}, Options()).columns[0].hours
    assert guess("f", {"v": [[1, 2, 3], [4, 5, 6]]}, Options()).columns[0].length == 3
    assert guess("f", {"v": [[1, 2, 3], [4, 5]]}, Options()).columns[0].length is None
    assert not guess("f", {"rare": ["x"] + [None] * 20}, Options()).columns[0].missing
    assert guess("f", {"usual": ["x"] * 20 + [None]}, Options()).columns[0].missing


def test_overrides():
    samples = {"label": ["x"], "price_a": ["1"], "price_b": ["2"], "city": ["Rome"], "note": ["a b c d"], "key": ["k"]}
    schema = guess(
        "f",
        samples,
        Options(categorical=["price_*"], text="city", ignore=["note"], id=["key"], interact=["price_a:city"]),
    )
    assert [(c.name, c.kind) for c in schema.columns] == [
        ("price_a", "categorical"),
        ("price_b", "categorical"),
        ("city", "text"),
    ]
    assert (schema.ids, schema.ignored, schema.interact) == (("key",), ("note",), (("price_a", "city"),))
    every = guess("f", samples, Options(interact="all", id="key")).interact
    assert every == (("price_a", "price_b"), ("price_a", "city"), ("price_b", "city"))
    for wrong, words in (
        ({"numeric": ["prize"]}, "--numeric names 'prize', and there is no such column among label, price_a"),
        ({"numeric": ["city"], "text": ["c*"]}, "--text and --numeric both name the column 'city'"),
        ({"interact": ["city:town"]}, "interact has 'town', which is no column of features"),
        ({"interact": ["city"]}, "an interaction has two columns or more"),
        ({"interact": ["city:label"]}, "interact has 'label'"),
    ):
        with pytest.raises(DataError, match=words):
            guess("f", samples, Options(**wrong))


@pytest.mark.parametrize(
    "wrong",
    [
        {"numeric": [1]},
        {"text": 3},
        {"ngrams": 11},
        {"ngrams": 0},
        {"chars": "5-3"},
        {"chars": "a"},
        {"chars": (0, 2)},
        {"delimiter": "ab"},
        {"delimiter": "x"},
        {"quote": "\n"},
        {"header": 1},
        {"schema": {}},
        {"interact": [[]]},
    ],
)
def test_options_that_are_none(wrong):
    with pytest.raises(ValueError, match=f"'{next(iter(wrong))}'"):
        Options(**wrong)


SCHEMA = Schema(
    (
        Column("a", "numeric"),
        Column("t", "timestamp", missing=False, hours=True, reference=-5),
        Column("v", "list", length=3),
        Column("s", "text"),
    ),
    ids=("i",),
    ignored=("j",),
    interact=(("a", "t"), ("a", "t", "s")),
    words=Words(2, (3, 5), True),
)


def test_a_schema_survives_json():
    kept = json.loads(json.dumps(SCHEMA.to_dict()))
    assert Schema.from_dict(kept) == SCHEMA
    assert Schema.from_dict(Schema((Column("a", "mixed"),)).to_dict()) == Schema((Column("a", "mixed"),))


@pytest.mark.parametrize(
    "change",
    [
        {"columns": None},
        {"columns": [3]},
        {"columns": [{"name": "a"}]},
        {"columns": [{"name": "a", "kind": "number"}]},
        {"columns": [{"name": 1, "kind": "numeric"}]},
        {"columns": [{"name": "a", "kind": "numeric", "evil": 1}]},
        {"columns": [{"name": "a", "kind": "numeric", "missing": 1}]},
        {"columns": [{"name": "a", "kind": "list", "length": -1}]},
        {"columns": [{"name": "a", "kind": "timestamp", "reference": 1 << 61}]},
        {"columns": [{"name": "a", "kind": "timestamp", "reference": 1.5}]},
        {"columns": [{"name": "a", "kind": "numeric"}] * 2},
        {"ids": ["a"]},
        {"ids": "a"},
        {"interact": [["a"]]},
        {"interact": [["a", "a"]]},
        {"interact": [["a", "z"]]},
        {"interact": ["at"]},
        {"words": {"ngrams": "2"}},
        {"words": {"chars": 3}},
        {"words": {"chars": [3]}},
        {"words": {"keep_case": 1}},
        {"words": []},
        {"more": 1},
    ],
)
def test_forged_schemas_are_refused(change):
    with pytest.raises(ValueError, match=r"\w"):
        Schema.from_dict(SCHEMA.to_dict() | change)
    with pytest.raises(ValueError, match=r"\w"):
        checked_model_options({"format": "csv", "schema": SCHEMA.to_dict() | change})


def test_a_word_among_numbers_is_told_with_its_place(tmp_path):
    path = write(tmp_path / "a.csv", "label,price\n" + "1,2\n" * 1500 + "1,cheap\n1,3\n")
    rows, error = outcome(stream.read(path))
    assert len(rows) == 1500
    assert error.startswith("1502:3: 'cheap' is not a number, and the first rows of the column 'price' were; ")
    assert "--categorical price" in error
    assert len(rows_of(stream.read(path, categorical=["price"]))) == 1502
    assert len(rows_of(stream.read(path, errors="skip"))) == 1501


def test_one_line_for_each_column():
    lines = list(SCHEMA.lines("y", "w"))
    assert [line.split()[0] for line in lines] == ["y", "w", "a", "t", "v", "s", "i", "j", "interactions:"]
    assert "list of 3 numbers" in lines[4]
    assert "timestamp (weekday, hour, age in days since 1969-12-31)" in lines[3]
    many = Schema(tuple(Column(f"c{k}", "numeric" if k % 2 else "text") for k in range(500)))
    lines = list(many.lines("y", None))
    assert len(lines) == 101
    assert lines[-1] == "  and 201 numeric, 200 text columns"


def test_messages_that_repeat_are_text_if_there_is_nothing_else():
    """Files of labels and texts need no option, even if a few texts come again and again."""
    few = ["free cash now", "see you", "call me back later"] * 50
    (alone,) = guess("f", {"label": [], "message": few}, Options()).columns
    assert alone.kind == "text"
    beside = guess("f", {"message": few, "x": ["1"] * 150}, Options()).columns
    assert [column.kind for column in beside] == ["categorical", "numeric"]
    (asked,) = guess("f", {"message": few}, Options(categorical=["message"])).columns
    assert asked.kind == "categorical"
    (city,) = guess("f", {"city": ["Rome", "New York", "Oslo"] * 50}, Options()).columns
    assert city.kind == "categorical"


def test_json_lines_of_another_table_are_refused(tmp_path):
    """A row may lack any column of the model. Where none has one, it is another file than was meant."""
    ours = write(tmp_path / "ours.jsonl", '{"x": 1, "label": 1}\n{"x": 2, "label": 0}\n' * 20)
    other = write(tmp_path / "other.jsonl", '{"y": 1, "label": 1}\n{"z": 2, "label": 0}\n' * 20)
    clf = sureline.train(ours, "arow", r=1, shuffle=False)
    said = "its first rows have none of the columns of the model: they have y, label, z, and the model x"
    with pytest.raises(DataError, match=said):
        sureline.predict(clf, other)
    with pytest.raises(DataError, match=said):
        sureline.train(other, start=clf)
    some = write(tmp_path / "some.jsonl", '{"y": 1}\n{"x": 1}\n{}\n')
    assert len(sureline.predict(clf, some)) == 3

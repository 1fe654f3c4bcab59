"""CSV, TSV, JSON lines and raw text: the rows of scikit-learn's hashers, and clear errors."""

import json

import numpy as np
import pytest
import table_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from stream_files import csv, outcome, rows_of, write

from sureline import stream
from sureline.stream import DataError


def same(X, Y) -> None:
    assert X.shape == Y.shape
    assert X.dtype == Y.dtype
    assert (X != Y).nnz == 0


def hashed(rows, bits=20, dtype=np.float64):
    return FeatureHasher(2**bits, dtype=dtype).transform(rows)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_csv_is_what_the_hasher_makes_of_dicts(tmp_path, dtype):
    text = 'age,city,label,note\n3,Rome,1,\n,"a, b",-1,"say ""hi"""\n-1.5e-3,,1,"two\nlines"\r\n\n0,x,+1,y\n'
    rows = [
        {"age": 3, "city": "Rome", "note=": 1},
        {"age=": 1, "city": "a, b", "note": 'say "hi"'},
        {"age": -1.5e-3, "city=": 1, "note": "two\nlines"},
        {"age": 0, "city": "x", "note": "y"},
    ]
    for name, data in (("a.csv", text), ("a.tsv", text.replace(", ", "; ").replace(",", "\t").replace("; ", ", "))):
        (chunk,) = stream.read(write(tmp_path / name, data), bits=12, dtype=dtype)
        same(chunk.X, hashed(rows, 12, np.dtype(dtype).type))
        assert chunk.y.tolist() == [1, -1, 1, 1]
        assert chunk.end.line == text.count("\n")


def test_csv_columns_by_name(tmp_path):
    path = write(tmp_path / "a.csv", "\ufeffy,w,a\nspam,2,1\nham,0.5,2\n")
    (chunk,) = stream.read(path, label="y", weight="w")
    assert chunk.y.tolist() == ["spam", "ham"]
    assert chunk.weights.tolist() == [2, 0.5]
    same(chunk.X, hashed([{"a": 1}, {"a": 2}]))
    with pytest.raises(DataError, match=r"a.csv:1:4: there is no column 'label' among the columns y, w, a; --label"):
        list(stream.read(path))
    with pytest.raises(DataError, match=r"a.csv:1:4: there is no column 'v' among the columns y, w, a; --weight"):
        list(stream.read(path, label="y", weight="v"))
    (chunk,) = stream.read(path, need_label=False)
    assert chunk.y.tolist() == [None, None]
    same(chunk.X, hashed([{"y": "spam", "w": 2, "a": 1}, {"y": "ham", "w": 0.5, "a": 2}]))


@pytest.mark.parametrize(
    ("row", "line", "words"),
    [
        ("1,2", 3, "the row has 2 cells, and the header 3"),
        ("1,2,3,4", 3, "the row has 4 cells"),
        ("1,-inf,3", 3, "-inf is not a number"),
        ("1,Infinity,3", 3, "Infinity is not a number"),
        ("1,1e999,3", 3, "1e999 is not a number"),
        (",2,3", 3, "the row has no label"),
        ("nan,2,3", 3, "the label is nan"),
        ('1,2"x,3"', 3, "a quote is in the middle of a cell"),
        ('1,"2"x,3', 3, "a quote is in the middle of a cell"),
        ('1,"2,3', 3, "a quote is not closed"),
        (b"1,\xff,3", 3, "the line is not valid UTF-8"),
    ],
)
def test_csv_rows_that_cannot_be_read(tmp_path, row, line, words):
    row = row if isinstance(row, bytes) else row.encode()
    path = tmp_path / "a.csv"
    path.write_bytes(b'label,a,b\n1,"7",2\n' + row + (b"" if row.count(b'"') % 2 else b"\n0,5,6\n"))
    rows, error = outcome(stream.read(path))
    assert len(rows) == 1
    assert error.startswith(f"{line}:")
    assert words in error
    source = stream.read(path, errors="skip", max_error_share=1)
    assert len(rows_of(source)) == (1 if "closed" in words else 2)
    assert source.faults.first[0].line == line


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("label,,column 2", "'column 2' more than once"),
        ("label,a,a", "'a' more than once"),
        ('label,"a', "a quote is not closed"),
    ],
)
def test_csv_headers_that_cannot_be_read(tmp_path, header, words):
    with pytest.raises(DataError, match=f"a.csv:1.*{words}"):
        list(stream.read(write(tmp_path / "a.csv", f"{header}\n1,2,3\n")))


def test_csv_cells_that_only_look_like_numbers(tmp_path):
    cells = ["1_000", "٣", "0x10", "1e", "-", ".", "nano", "+x", "1 2"]
    path = write(tmp_path / "a.csv", "label,a\n" + "".join(f"1,{cell}\n" for cell in cells))
    (chunk,) = stream.read(path)
    same(chunk.X, hashed([{"a": cell} for cell in cells]))


def test_csv_lines_are_counted_as_an_editor_does(tmp_path):
    text = csv(50).encode()
    lines = text.count(b"\n")
    path = write(tmp_path / "a.csv", text + b"too,few\n")
    for block in (None, 100):
        rows, error = outcome(stream.read(path).with_options(block=block))
        assert len(rows) == 50
        assert error.startswith(f"{lines + 1}:8: the row has 2 cells")


def test_a_float32_cannot_hold_everything(tmp_path):
    for name, text in (("a.csv", "label,a\n1,2\n1,1e300\n"), ("a.jsonl", '{"label":1,"a":2}\n{"label":1,"a":1e300}\n')):
        path = write(tmp_path / name, text)
        assert len(rows_of(stream.read(path))) == 2
        rows, error = outcome(stream.read(path, dtype="float32"))
        assert len(rows) == 1
        assert error.startswith(f"{text.count(chr(10))}:{text.splitlines()[-1].index('1e300') + 1}: ")
        source = stream.read(path, dtype="float32", errors="skip", max_error_share=1)
        assert rows_of(source) == rows
        assert source.faults.count == 1


# JSON lines


def test_json_is_what_the_hasher_makes_of_dicts(tmp_path):
    lines = [
        '{"label": "spam", "a": 1.5, "b": {"c": "x", "d": {"e": true}}, "n": null}',
        "",
        '  {"label": 1.0, "tags": ["u", "v", "u"], "f": false, "g": "", "z": []}  ',
        '{"a": "\\u00fc", "label": 12345678901234567890, "b": {}}',
    ]
    path = write(tmp_path / "a.jsonl", "\ufeff" + "\r\n".join(lines))
    (chunk,) = stream.read(path)
    assert chunk.y.tolist() == ["spam", 1, 12345678901234567890]
    first = {"a=1.5": 1, "b.c": "x", "b.d.e": 1, "tags=": 1, "f=": 1, "z=": 1}
    last = {"a": "ü", "b.c=": 1, "b.d.e=": 1, "tags=": 1, "f=": 1, "z=": 1}
    same(chunk.X, hashed([first, {"a=": 1, "b.c=": 1, "b.d.e=": 1, "tags=u": 2, "tags=v": 1, "f": 0}, last]))


def test_json_weights(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"y": 1, "w": 2}\n{"y": 0, "w": 0}\n')
    (chunk,) = stream.read(path, label="y", weight="w")
    assert chunk.weights.tolist() == [2, 0]
    for wrong in ('{"y": 1}', '{"y": 1, "w": -1}', '{"y": 1, "w": "x"}', '{"y": 1, "w": null}'):
        rows, error = outcome(stream.read(write(tmp_path / "b.jsonl", wrong), label="y", weight="w"))
        assert rows == []
        assert "the weight must be a number that is finite and not negative" in error


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        ('{"label": 1, "a": }', "2:19", "not JSON: Expecting value"),
        ('{"label": 1, "ü": }', "2:20", "not JSON"),
        ('{"label": 1} x', "2:14", "not JSON: Extra data"),
        ("[1]", "2:1", "must be a JSON object"),
        ("  3", "2:3", "must be a JSON object"),
        ('{"label": 1, "a": -Infinity}', "2:19", "-Infinity is not a number"),
        ('{"label": 1, "a": 1e999}', "2:19", "inf is not a number"),
        ('{"label": 1, "a": ' + "9" * 400 + "}", "2:19", "is out of range"),
        ('{"label": 1, "a": ' + "9" * 5000 + "}", "2:19", "not JSON: Exceeds the limit"),
        ('{"label": ' + "9" * 400 + "}", "2:11", "a number is too large"),
        ('{"label": 1, "a": 1, "a": 2}', "2:22", "the key 'a' comes twice"),
        ('{"label": 1, "a.b": 1, "a": {"b": 2}}', "2:30", "the name 'a.b' comes twice"),
        ('{"label": 1, "a": [1, "b"]}', "2:19", "holds something else than texts alone, or numbers alone"),
        ('{"label": 1, "a": [[1]]}', "2:19", "holds something else than texts alone, or numbers alone"),
        ('{"label": [1]}', "2:11", "the label must be a number or text"),
        ('{"label": {}}', "2:11", "the label must be a number or text"),
        ('{"a": 1}', "2:1", "the row has no label"),
        ('{"label": null}', "2:11", "the row has no label"),
        ('{"label": "nan"}', "2:11", "the label is nan"),
        ('{"label": "\\ud800"}', "2:11", "half of a surrogate pair"),
        ('{"label": 1, "a": "\\ud800"}', "2:19", "surrogate"),
        ('{"label": 1, "\\udfff": 2}', "2:24", "surrogate"),
        ('{"label": 1, "a": ' + '{"a":' * 200 + "1" + "}" * 200 + "}", "2:514", "nested too deeply"),
        ('{"label": 1, "a": ' + "[" * 100_000, "2:119", "nested too deeply"),
        ('{"label": 1, "a": ' + '{"a":' * 100_000, "2:519", "nested too deeply"),
        (b'{"label": 1, "a": "\xff"}', "2:20", "not valid UTF-8"),
        ('{"label": 1, "a": "\t"}', "2:20", "not JSON: Invalid control character"),
    ],
)
def test_json_lines_that_cannot_be_read(tmp_path, line, place, words):
    line = line if isinstance(line, bytes) else line.encode()
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"label": 1}\n' + line + b'\n{"label": 2}\n')
    rows, error = outcome(stream.read(path))
    assert [row[0] for row in rows] == [1]
    assert error.startswith(f"{place}: ")
    assert words in error
    source = stream.read(path, errors="skip", max_error_share=1)
    assert [row[0] for row in rows_of(source)] == [1, 2]
    assert source.faults.count == 1


def test_lines_end_at_newlines_only(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"label": 1, "a": "x\u2028y\x85z"}\n')
    (chunk,) = stream.read(path, categorical=["a"])
    same(chunk.X, hashed([{"a": "x\u2028y\x85z"}]))


values = st.one_of(
    st.integers(-(10**6), 10**6),
    st.floats(-1e6, 1e6, allow_nan=False),
    st.text(st.characters(blacklist_categories=["Cs"]), min_size=1, max_size=6).filter(lambda t: not t[0].isdigit()),
)
records = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c", "ü"]), values, max_size=4), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(records=records, block=st.sampled_from([None, 16, 100]))
def test_json_of_any_records(tmp_path, records, block):
    text = "".join(json.dumps({"label": i, **record}) + "\n" for i, record in enumerate(records))
    source = stream.read(write(tmp_path / "a.jsonl", text)).with_options(block=block)
    chunks = list(source)
    assert [row[0] for row in rows_of(chunks)] == list(range(len(records)))
    expected = hashed([table_rows.row(record, source.schema) for record in records])
    at = 0
    for chunk in chunks:
        same(chunk.X, expected[at : at + len(chunk)])
        at += len(chunk)


# Text

TEXTS = [
    "Cheap pills ONLINE, cheap!",
    "a I x",
    "",
    "naïve café ÜBER straße İstanbul",
    "foo_bar 12 3 4x4 don't",
    "漢字 かな кириллица",
    "tab\there and\ttabs",
    "x" * 5000,
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bits", [3, 10, 20])
def test_text_is_what_the_vectorizer_makes_of_it(tmp_path, dtype, bits):
    path = write(tmp_path / "a.txt", "".join(f"{i % 3}\t{text}\n" for i, text in enumerate(TEXTS)))
    (chunk,) = stream.read(path, format="text", bits=bits, dtype=dtype)
    vectorizer = HashingVectorizer(n_features=2**bits, norm=None, alternate_sign=True, dtype=np.dtype(dtype).type)
    same(chunk.X, vectorizer.transform(TEXTS))
    assert chunk.y.tolist() == [i % 3 for i in range(len(TEXTS))]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\n\r"), max_size=60))
def test_any_text(tmp_path, text):
    (chunk,) = stream.read(write(tmp_path / "a.txt", f"spam\t{text}\n"), format="text", bits=12)
    same(chunk.X, HashingVectorizer(n_features=2**12, norm=None).transform([text]))


def test_text_that_cannot_be_read(tmp_path):
    for line, words in ((b"no tab here", "no tab"), (b"1\t\xff", "not valid UTF-8"), (b"\ttext", "no label")):
        path = tmp_path / "a.txt"
        path.write_bytes(b"1\tx y\r\n\n" + line + b"\n")
        rows, error = outcome(stream.read(path, format="text"))
        assert len(rows) == 1
        assert error.startswith("3:")
        assert words in error
    (chunk,) = stream.read(write(tmp_path / "b.txt", "no tab here\n1\tx\n"), format="text", need_label=False)
    assert chunk.y.tolist() == [None, 1]


def test_the_names_behind_the_columns(tmp_path):
    path = write(tmp_path / "a.txt", "1\tcheap pills\n0\tcheap talk\n")
    (chunk,) = stream.read(path, format="text", collect_names=True)
    assert {(name, count) for _, name, count, _ in chunk.names.top(9)} == {("cheap", 2), ("pills", 1), ("talk", 1)}
    (chunk,) = stream.read(path, format="text")
    assert chunk.names is None

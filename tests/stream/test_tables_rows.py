"""One table in every container: the same features, the same models; and cells of every kind."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import datetime

import numpy as np
import pytest
import table_rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher
from stream_files import outcome, rows_of, write

import sureline
from sureline import stream
from sureline.stream import DataError

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
from pyarrow import parquet  # noqa: E402

N = 120
WORDS = ["free", "cash", "Naïve", "prize", "meeting", "lunch", "Zürich", "call", "42"]


def table(seed: int = 0, n: int = N) -> dict[str, list]:
    """A column of every kind, with gaps."""
    rng = np.random.default_rng(seed)

    def gaps(values):
        return [None if rng.random() < 0.1 else value for value in values]

    times = [datetime(2024, 1, 1 + int(d), int(h), 30, 0, 250000) for d, h in rng.integers(0, 24, (n, 2))]
    return {
        "price": gaps([round(float(x), 3) for x in rng.normal(size=n) * 100]),
        "count": gaps([int(x) for x in rng.integers(-5, 1000, n)]),
        "city": gaps([["Rome", "Bonn, am Rhein", 'the "City"', "ü", "nil"][k] for k in rng.integers(0, 5, n)]),
        "session": [f"{x:08x}" for x in rng.integers(0, 2**32, n)],
        "vip": gaps([bool(x) for x in rng.integers(0, 2, n)]),
        "when": gaps(times),
        "text": gaps([" ".join(rng.choice(WORDS, 5)) + f" {k}x" for k in range(n)]),
        "vector": [[round(float(x), 4) for x in row] for row in rng.normal(size=(n, 3))],
        "label": [["ham", "spam"][k] for k in rng.integers(0, 2, n)],
    }


def delimited(columns: dict[str, list], delimiter: str) -> str:
    """CSV by Python's writer, with lists as JSON."""

    def text(value):
        if value is None:
            return ""
        return (
            json.dumps(value)
            if isinstance(value, list)
            else value.isoformat()
            if hasattr(value, "isoformat")
            else value
        )

    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([[text(value) for value in row] for row in zip(*columns.values(), strict=True)])
    return out.getvalue()


def copies(columns: dict[str, list], folder) -> dict:
    """The table in every container."""
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    lines = "\n".join(json.dumps(record, default=lambda time: time.isoformat()) for record in records)
    arrow = pa.table(columns)
    encoded = arrow.set_column(arrow.schema.names.index("city"), "city", arrow["city"].dictionary_encode())
    parquet.write_table(encoded, folder / "t.parquet")
    with pa.ipc.new_file(folder / "t.arrow", arrow.schema) as writer:
        writer.write_table(arrow, max_chunksize=50)
    return {
        "csv": write(folder / "t.csv", delimited(columns, ",")),
        "tsv": write(folder / "t.tsv", delimited(columns, "\t")),
        "semicolons": write(folder / "s.csv", delimited(columns, ";")),
        "jsonl": write(folder / "t.jsonl", lines),
        "parquet": folder / "t.parquet",
        "arrow": folder / "t.arrow",
        "pandas": pd.DataFrame(columns),
        "polars": pl.DataFrame(columns),
        "lazy": pl.DataFrame(columns).lazy(),
        "pyarrow": arrow,
    }


@pytest.mark.parametrize(
    "options", [{}, {"ngrams": 2, "chars": "3-5"}, {"interact": ["city:vip", "price:city:when"], "keep_case": True}]
)
def test_the_same_rows_from_every_container(tmp_path, options):
    columns = table()
    schemas, rows = {}, {}
    for name, copy in copies(columns, tmp_path).items():
        source = stream.read(copy, bits=18, **options)
        rows[name] = rows_of(source)
        schemas[name] = source.schema
    assert {name for name in rows if rows[name] != rows["csv"]} == set()
    assert {name for name in schemas if schemas[name] != schemas["csv"]} == set()
    kinds = {column.name: column.kind for column in schemas["csv"].columns}
    assert kinds == {
        "price": "numeric",
        "count": "numeric",
        "city": "categorical",
        "session": "categorical",
        "vip": "boolean",
        "when": "timestamp",
        "text": "text",
        "vector": "list",
    }
    # And they are what plain Python says.
    (chunk,) = stream.read(tmp_path / "t.csv", bits=18, **options)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    expected = FeatureHasher(2**18).transform([table_rows.row(record, schemas["csv"]) for record in records])
    assert abs(chunk.X - expected).max() < 1e-12


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10**6), interact=st.sampled_from([[], ["city:vip"], ["all"]]))
def test_the_same_model_from_every_container(tmp_path, seed, interact):
    """Property: models of copies of one table are the same, bit for bit, and so are their predictions."""
    columns = table(seed, 60)
    scores = {}
    for name, copy in copies(columns, tmp_path).items():
        model = sureline.train(copy, "arow", r=0.5, bits=16, interact=interact, shuffle=False)
        weights = model.model.nonzero()
        answers = sureline.predict(model, copy, confidence=True)
        scores[name] = (
            [part.tobytes() for pair in weights for part in pair],
            answers["score"].tobytes(),
            answers["label"].tolist(),
        )
    assert {name for name in scores if scores[name] != scores["csv"]} == set()


def test_integers_with_gaps_are_the_same_categories(tmp_path):
    """pandas makes doubles of them, and writes 1.0."""
    values = [1, None, 30, 2]
    frame = pd.DataFrame({"shop": values, "label": [0, 1, 0, 1]})
    assert frame["shop"].dtype == float
    text = frame.to_csv(index=False)
    assert "30.0" in text
    of_frame = rows_of(stream.read(frame, categorical=["shop"]))
    for content in (text, text.replace(".0", "")):
        assert rows_of(stream.read(write(tmp_path / "a.csv", content), categorical=["shop"])) == of_frame
    large = pa.table({"shop": [2**63 - 1, 2**63 - 2], "label": [0, 1]})
    first, second = rows_of(stream.read(large, categorical=["shop"]))
    assert first[3] != second[3]  # all digits count


def test_nested_values(tmp_path):
    records = [{"meta": {"y": k % 2, "w": 2.0}, "user": {"city": "Rome", "tags": ["a", "b"]}, "x": k} for k in range(6)]
    lines = write(tmp_path / "a.jsonl", "\n".join(map(json.dumps, records)))
    options = {"label": "meta.y", "weight": "meta.w"}
    expected = rows_of(stream.read(lines, **options))
    assert [row[:2] for row in expected] == [(k % 2, 2.0) for k in range(6)]
    arrow = pa.Table.from_pylist(records)
    assert rows_of(stream.read(arrow, **options)) == expected
    parquet.write_table(arrow, tmp_path / "a.parquet")
    assert rows_of(stream.read(tmp_path / "a.parquet", **options)) == expected
    assert [column.name for column in stream.read(arrow, **options).schema.columns] == ["user.city", "user.tags", "x"]


def test_texts_and_categories_as_polars_has_them(tmp_path):
    n = 40
    values = {
        "city": (["Rome", "Oslo", None, "Bern"] * (n // 4), [pl.Categorical, pl.Enum(["Rome", "Oslo", "Bern"])]),
        "tags": ([["a", None], ["b"], [], None] * (n // 4), [pl.List(pl.String)]),
    }
    for name, (cells, types) in values.items():
        plain = {name: cells, "label": ["ham", "spam"] * (n // 2)}
        expected = rows_of(stream.read(pa.table(plain)))
        for type in types:
            frame = pl.DataFrame({name: pl.Series(cells, dtype=type), "label": plain["label"]})
            in_pieces = pl.concat([frame[:16], frame[16:]], rechunk=False)
            frame.write_ipc(tmp_path / "a.arrow")
            for data in (frame, frame.lazy(), in_pieces, tmp_path / "a.arrow"):
                assert rows_of(stream.read(data)) == expected
        labelled = frame.with_columns(pl.col("label").cast(pl.Categorical))
        assert rows_of(stream.read(labelled)) == expected


def test_what_is_no_table_is_refused_with_its_type():
    for data in (pl.Series([1, 2]), pd.Series([1, 2]), pl.DataFrame({"a": pl.Series([1, 2], dtype=pl.Int128)})):
        with pytest.raises(TypeError, match=f"^A {type(data).__name__} must be a table with columns that pyarrow can"):
            sureline.train(data)
    with pytest.raises(
        TypeError, match=r"^Rows and columns in dicts are no data frame: pandas\.DataFrame\(data\) makes one of them\.$"
    ):
        sureline.train({"a": [1, 2], "label": [0, 1]})


def test_files_without_a_header(tmp_path):
    path = write(tmp_path / "a.csv", "1,Rome,2.5\n0,Oslo,3\n1,Rome,4\n")
    source = stream.read(path, header=False, label="1")
    assert [row[0] for row in rows_of(source)] == [1, 0, 1]
    assert [(c.name, c.kind) for c in source.schema.columns] == [("2", "categorical"), ("3", "numeric")]
    with pytest.raises(DataError, match=r"there is no column 'label' among the columns 1, 2, 3; --label names it$"):
        list(stream.read(path, header=False))
    model = sureline.train(path, "arow", r=1, header=False, label="1")  # which keeps that there is none
    sureline.save(model, tmp_path / "m")
    assert sureline.predict(tmp_path / "m", path).tolist() == [1, 0, 1]
    assert sureline.train(path, start=tmp_path / "m").n_seen_ == 6
    assert model.predict_one({"2": "Rome", "3": 4.0}) == 1
    write(tmp_path / "b.csv", "4,Rome\n")
    with pytest.raises(DataError, match=r":1:1: the column '3' of the model is not in the rows$"):
        sureline.predict(model, tmp_path / "b.csv")


@pytest.mark.parametrize(
    ("name", "content", "options", "hint"),
    [
        (
            "a.csv",
            "1,Rome\n0,Oslo\n",
            {},
            "columns 1, Rome; --label names it; if the first line is a row, say",
        ),
        ("a.csv", "y|a\n1|2\n", {"delimiter": ";", "label": "y"}, "names it; --delimiter says what is between cells"),
        ("a.tsv", "spam\tfree cash\nham\thello\n", {}, "a label, a tab and a text, say --format text"),
        ("a.csv", 'label,size\n1,3"x"\n', {}, "in the middle of a cell; --quote none reads quotes as they are"),
        ("a.jsonl", '{"m": {"y": 1}, "x": [1, 2]}\n', {}, "no key is 'label' among m, m.y, x; --label names it"),
    ],
)
def test_an_error_names_the_option_that_helps(tmp_path, name, content, options, hint):
    with pytest.raises(DataError) as wrong:
        list(stream.read(write(tmp_path / name, content), **options))
    assert hint in str(wrong.value)


def test_a_table_of_one_text_takes_texts(tmp_path):
    path = write(tmp_path / "a.csv", "label,text\n" + "spam,free cash for you\nham,see you at noon\n" * 30)
    model = sureline.train(path, "arow", r=1, text=["text"])
    assert model.predict(["free cash", "noon"]).tolist() == ["spam", "ham"]
    assert model.predict_one("free cash") == model.predict_one({"text": "free cash"}) == "spam"
    path = write(tmp_path / "b.csv", "label,text,n\n" + "spam,free cash for you,1\nham,see you at noon,2\n" * 30)
    with pytest.raises(TypeError, match="must be a dict of the columns of the table"):
        sureline.train(path, "arow", r=1, text=["text"]).predict_one("free cash")


NOTE = '"a, b; c|d\te"'


@pytest.mark.parametrize("delimiter", [";", "|", "\t"])
def test_delimiters_are_seen(tmp_path, delimiter):
    content = 'label,city,note\n1,Rome,"a, b; c|d\te"\n0,Oslo,x\n'
    expected = rows_of(stream.read(write(tmp_path / "a.csv", content)))
    other = "\n".join(
        delimiter.join(cells)
        for cells in (["label", "city", "note"], ["1", "Rome", '"a, b; c|d\te"'], ["0", "Oslo", "x"])
    )
    path = write(tmp_path / "b.csv", other)
    assert rows_of(stream.read(path)) == expected
    assert rows_of(stream.read(path, delimiter=delimiter)) == expected


def test_delimiters_that_are_not_seen(tmp_path):
    path = write(tmp_path / "a.csv", "label#city\n1#Rome\n")
    with pytest.raises(DataError, match="there is no column 'label'"):
        list(stream.read(path))
    assert len(rows_of(stream.read(path, delimiter="#"))) == 1
    path = write(tmp_path / "b.csv", "label\n1\n0\n")  # one column
    assert [row[0] for row in rows_of(stream.read(path))] == [1, 0]


def test_quotes(tmp_path):
    expected = rows_of(stream.read(write(tmp_path / "a.csv", 'label,city\n1,"Bonn, am\nRhein"\n0,it\n')))
    path = write(tmp_path / "b.csv", "label,city\n1,'Bonn, am\nRhein'\n0,it\n")
    assert rows_of(stream.read(path, quote="'")) == expected
    assert rows_of(stream.read(path)) == expected  # nothing else gives a table
    path = write(tmp_path / "c.csv", 'label,size\n1,3"\n0,5"\n')
    with pytest.raises(DataError, match="a quote is in the middle of a cell"):
        list(stream.read(path))
    assert len(rows_of(stream.read(path, quote="none"))) == 2


def test_columns_at_prediction(tmp_path):
    columns = table()
    model = sureline.train(pd.DataFrame(columns), "arow", r=1.0, bits=16)
    frame = pd.DataFrame(columns)
    plain = sureline.predict(model, frame)
    assert (sureline.predict(model, frame.drop(columns="label")) == plain).all()
    assert (sureline.predict(model, frame[frame.columns[::-1]].assign(more=1)) == plain).all()  # order, one more
    path = write(tmp_path / "a.csv", delimited({"more": columns["count"], **columns}, ","))
    assert (sureline.predict(model, path) == plain).all()
    with pytest.raises(DataError, match="the column 'city' of the model is not among the columns price, count"):
        sureline.predict(model, frame.drop(columns="city"))
    path = write(tmp_path / "b.csv", delimited({k: v for k, v in columns.items() if k != "city"}, ","))
    with pytest.raises(DataError, match=r"b.csv:1:1: the column 'city' of the model is not in the header"):
        sureline.predict(model, path)
    with pytest.raises(DataError, match=r"row 1: 'a' is not a number, and the first rows of the column 'price'"):
        sureline.predict(model, frame.assign(price="a"))
    with pytest.raises(DataError, match="a list' is not a number"):
        sureline.predict(model, frame.assign(price=frame["vector"]))
    shorter = frame.assign(vector=[[1.0, 2.0]] * N)
    with pytest.raises(DataError, match="column 'vector' has 2 numbers, and in the first rows it had 3"):
        sureline.predict(model, shorter)
    with pytest.raises(ValueError, match="'numeric' parameter of read cannot be set here"):
        sureline.predict(model, path, numeric=["price"])


def test_models_answer_in_the_words_of_their_table(tmp_path):
    columns = table()
    frame = pd.DataFrame(columns)
    model = sureline.train(frame, "arow", r=1.0, bits=16)
    labels = sureline.predict(model, frame)
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    assert (model.predict(frame) == labels).all()
    assert (model.predict(pl.DataFrame(columns)) == labels).all()
    assert (model.predict(records) == labels).all()
    assert (sureline.predict(model, records) == labels).all()
    assert [model.predict_one(record) for record in records[:20]] == labels[:20].tolist()
    gone = {name: (np.nan if name == "price" else value) for name, value in records[0].items()}
    missing = {name: value for name, value in records[0].items() if name != "price"}
    assert model.decision_function([gone]) == model.decision_function([missing])
    sureline.save(model, tmp_path / "m.sureline")
    assert (sureline.predict(tmp_path / "m.sureline", frame) == labels).all()
    again = sureline.load(tmp_path / "m.sureline")
    again.learn_one(records[0], "ham")
    with pytest.raises(ValueError, match="Example 1 cannot be read"):
        model.predict([records[0], {**records[0], "price": "cheap"}])


def test_what_predict_returns(tmp_path):
    frame = pd.DataFrame(table())
    model = sureline.train(frame, "arow", r=1.0, bits=16)
    answers = sureline.predict(model, frame, confidence=True, probabilities=True)
    assert list(answers) == ["label", "score", "confidence", "probability of ham", "probability of spam"]
    assert pd.DataFrame(answers).shape == (N, 5)
    assert list(sureline.predict(model, frame, probabilities=True)) == list(answers)[:1] + list(answers)[3:]
    assert len(sureline.predict(model, frame[:0])) == 0
    number = sureline.train(frame.drop(columns="label").dropna(), "odcaregressor", label="price", bits=12)
    assert sureline.predict(number, frame).shape == (N,)
    assert list(sureline.predict(number, frame, confidence=True)) == ["value"]
    with pytest.raises(TypeError, match="not an array"):
        sureline.predict(model, np.zeros((2, 3)))
    with pytest.raises(ValueError, match="trained from arrays"):
        sureline.predict(sureline.AROW().fit([[1.0], [2.0]], [0, 1]), frame)


def test_a_frame_is_not_looked_for_among_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").write_text("nothing to read")
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0] * 10, "y": ["a", "b", "b"] * 10})
    model = sureline.train(frame, "arow", r=1.0, label="y")
    assert set(sureline.predict(model, frame)) <= {"a", "b"}
    with pytest.raises(DataError, match=r"\(DataFrame\): there is no column 'label' among the columns x, y; --label"):
        sureline.train(frame, "arow", r=1.0)


def test_a_frame_sorted_by_label_is_shuffled():
    frame = pd.DataFrame({"x": np.arange(40_000) / 4e4, "y": ["a"] * 20_000 + ["b"] * 20_000})
    with pytest.warns(sureline.LabelRunsWarning, match="in random order"):
        model = sureline.train(frame, "arow", r=1.0, label="y")
    assert (sureline.predict(model, frame) == frame["y"]).mean() > 0.95


def test_ids_are_handed_through(tmp_path):
    content = "key,x,label\nk1,1,a\n,2,b\nk3,3,a\n"
    for name, data in (("a.csv", content), ("a.tsv", content.replace(",", "\t"))):
        (chunk,) = stream.read(write(tmp_path / name, data), id=["key"])
        assert chunk.tags == [b"k1", b"", b"k3"]
    (chunk,) = stream.read(pd.read_csv(tmp_path / "a.csv"), id="key")
    assert chunk.tags == [b"k1", b"", b"k3"]
    lines = '{"key": "k1", "label": 1}\n{"key": 7, "label": 1}\n'
    (chunk,) = stream.read(write(tmp_path / "a.jsonl", lines), id="key")
    assert chunk.tags == [b"k1", b"7"]


def test_converted_tables_keep_their_schema(tmp_path):
    columns = table()
    path = write(tmp_path / "a.csv", delimited(columns, ","))
    stream.convert(stream.read(path, bits=16, id=["session"], interact="city:vip"), tmp_path / "a.arrow", "float32")
    straight = sureline.train(path, "arow", r=1.0, bits=16, id=["session"], interact="city:vip")
    model = sureline.train(tmp_path / "a.arrow", "arow", r=1.0)
    assert model.origin.options["schema"] == straight.origin.options["schema"]
    scores = [sureline.predict(each, path, confidence=True)["score"].tolist() for each in (model, straight)]
    assert scores[0] == scores[1]


def test_features_of_texts(tmp_path):
    content = "label,text\n1,Free cash NOW free\n0,see you there then\n"
    path = write(tmp_path / "a.csv", content)
    (chunk,) = stream.read(path, ngrams=2, collect_names=1)
    names = {name: count for _, name, count, _ in chunk.names.top(50)}
    assert {"text=free", "text=free cash", "text=now free", "text=see you"} <= set(names)
    (chunk,) = stream.read(path, keep_case=True, ngrams=0, chars="3", collect_names=1)
    assert {"text~Fre", "text~W f", "text~see"} <= {name for _, name, _, _ in chunk.names.top(80)}
    lines = write(tmp_path / "a.txt", content.partition("\n")[2].replace(",", "\t"))
    (raw,) = stream.read(lines, format="text", ngrams=2, collect_names=1)
    assert {f"text={name}" for _, name, _, _ in raw.names.top(50)} == set(names)


def test_values_that_are_not_finite(tmp_path):
    for value in (math.inf, -math.inf):
        rows, error = outcome(stream.read(pd.DataFrame({"a": [1.0, value], "label": [0, 1]})))
        assert len(rows) == 1
        assert f"row 2: {value} is not a number that can be learned from" in error


def test_what_a_look_at_the_first_rows_finds_is_said_with_the_file(tmp_path):
    codes = pa.array([0, 9] * 20, pa.int8())
    beyond = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
    for columns in ({"c": beyond, "label": [0, 1] * 20}, {"label": beyond, "c": [0, 1] * 20}):
        table = pa.table(columns)
        with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
            writer.write_table(table)
        with pytest.raises(DataError, match=r"a\.arrow: the file is damaged: Dictionary indices invalid"):
            list(stream.read(tmp_path / "a.arrow"))
    twice = pa.table([pa.array([1, 2]), pa.array([3, 4]), pa.array([0, 1])], names=["a", "a", "label"])
    for data in (twice, pd.DataFrame([[1, 3, 0], [2, 4, 1]], columns=["a", "a", "label"])):
        with pytest.raises(DataError, match="the column 'a' comes more than once"):
            sureline.train(data, "arow")

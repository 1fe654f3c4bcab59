"""A label comes back as it was, or is refused with its place: through every format, every file and every estimator."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sureline
from sureline import cli, metrics, stream
from sureline.stream import DataError
from sureline.stream.arrays import rows_of

pytestmark = pytest.mark.torture

# Labels that something on the way could take for the same.
PAIRS = {
    "NUL at the end": ("a\0", "a"),
    "only NULs": ("\0", "\0\0"),
    "NUL inside": ("a\0b", "ab"),
    "normalisation": (unicodedata.normalize("NFC", "é"), unicodedata.normalize("NFD", "é")),
    "case": ("ß", "SS"),
    "no-break space": ("\u00a0a", "a"),
    "unit separator": ("a\x1f", "a"),
    "zero width": ("a\u200b", "a"),
    "mark inside": ("a\ufeffb", "ab"),
    "not a number": ("1_000", 1000),
    "other digits": ("\u0661", 1),
    "large integers": (2**63, 2**63 + 1),
    "large and negative": (-1, 2**64 - 1),
    "integers beside a fraction": (2**53 + 1, 0.5),
}


def rows(format: str, labels: tuple[Any, Any]) -> bytes:
    lines = []
    for i in range(60):
        label = labels[i % 2]
        x = 1 + i % 2
        lines.append(
            {
                "libsvm": f"{label} {x}:1",
                "csv": f"{label},w{x},b",
                "tsv": f"{label}\tw{x}\tb",
                "jsonl": json.dumps({"label": label, f"n{x}": 1}),
                "text": f"{label}\tword{x} word",
            }[format]
        )
    header = {"csv": "label,n,m\n", "tsv": "label\tn\tm\n"}.get(format, "")
    return (header + "\n".join(lines) + "\n").encode()


FORMATS = ("libsvm", "csv", "tsv", "jsonl", "text", "arrow", "parquet")


def written(folder: Path, format: str, labels: tuple[Any, Any]) -> Path:
    path = folder / f"rows.{format}"
    if format in ("arrow", "parquet"):
        pytest.importorskip("pyarrow")
        source = written(folder, "jsonl", labels)
        made = folder / "rows.arrow"
        stream.convert(stream.read(source), made)
        if format == "parquet":
            import pyarrow as pa
            from pyarrow import parquet

            parquet.write_table(pa.ipc.open_file(made).read_all(), path)
        return path
    path.write_bytes(rows(format, labels))
    return path


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", PAIRS)
def test_two_labels_stay_two(kind: str, format: str, tmp_path: Path, capsys: Any) -> None:
    labels = PAIRS[kind]
    path = written(tmp_path, format, labels)
    options = ["--format", format]
    got = [label for chunk in stream.read(path, format=format) for label in chunk.y.tolist()]
    assert got == [labels[i % 2] for i in range(60)]
    model, out = tmp_path / "m", tmp_path / "out.jsonl"
    assert cli.run(["train", str(path), *options, "--algorithm", "pa", "--model", str(model), "--quiet"]) == 0
    assert cli.run(["predict", str(path), *options, "--model", str(model), "--output", str(out), "--json"]) == 0
    told = [json.loads(line)["label"] for line in out.read_text().splitlines()]
    # Where one of two labels is text, both are.
    wanted = list(labels) if len({isinstance(label, str) for label in labels}) == 1 else [str(x) for x in labels]
    assert told == [wanted[i % 2] for i in range(60)]
    saved = sureline.load(model)
    assert sorted(saved.classes_.tolist()) == sorted(wanted)


@pytest.mark.parametrize(
    ("format", "content", "place"),
    [
        ("libsvm", b"1 1:1\n\xef\xbb\xbf-1 1:1\n", (2, 1)),
        ("csv", b"label,a\n1,2\n\xef\xbb\xbflabel,a\n", (3, 1)),
        ("csv", b"a,label\n1,2\n\xef\xbb\xbf3,4\n", (3, 1)),
        ("tsv", b"a\tlabel\n1\t2\n\xef\xbb\xbf3\t4\n", (3, 1)),
        ("jsonl", b'{"label": 1}\n\xef\xbb\xbf{"label": 2}\n', (2, 1)),
        ("jsonl", b'{"label": 1}\n{"a": 1, "label": "\\ufeff2"}\n', (2, 19)),
        ("text", b"1\ta word\n\xef\xbb\xbf2\ta word\n", (2, 1)),
        ("vw", b"1 | a\n\xef\xbb\xbf-1 | a\n", (2, 1)),
        ("libsvm", b"1 1:1\n  \xff 1:1\n", (2, 3)),
        ("csv", b"a,label\n1,2\n3,x\xff\n", (3, 4)),
        ("jsonl", b'{"label": 1}\n{"label": "\\ud800"}\n', (2, 11)),
        ("jsonl", b'{"label": 1}\n{"label": "\xed\xa0\x80"}\n', (2, 12)),
        ("text", b"1\ta word\n\xc3\x28\ta word\n", (2, 1)),
    ],
)
def test_what_is_no_label_is_refused_with_its_place(
    format: str, content: bytes, place: tuple[int, int], tmp_path: Path
) -> None:
    path = tmp_path / "rows"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        list(stream.read(path, format=format))
    assert (caught.value.line, caught.value.column) == place, caught.value


TEXTS = {name: pair for name, pair in PAIRS.items() if all(isinstance(label, str) for label in pair)}


def made_as(kind: str) -> Any:
    """The functions that turn a list of labels into an array."""
    if kind == "polars":
        return pytest.importorskip("polars").Series
    if kind == "pyarrow":
        return pytest.importorskip("pyarrow").array
    if kind.startswith("pandas"):
        pd = pytest.importorskip("pandas")
        return lambda y: pd.Series(y, dtype=kind.partition(" ")[2] or None)
    return {"list": list, "tuple": tuple, "objects": lambda y: np.array(y, object)}[kind]


MADE = ["list", "objects", "tuple", "polars", "pyarrow", "pandas", "pandas string", "pandas category"]


@pytest.mark.parametrize("how", MADE)
@pytest.mark.parametrize("kind", TEXTS)
def test_estimators_keep_them(kind: str, how: str, tmp_path: Path) -> None:
    labels, made = TEXTS[kind], made_as(how)
    y = [labels[i % 2] for i in range(40)]
    X = np.array([[i % 2, 1.0 - i % 2] for i in range(40)])
    kept = np.empty(40, object)
    kept[:] = y
    fitted = sureline.PA().fit(X, made(y))
    parted = sureline.PA().partial_fit(X, made(y), classes=list(labels))
    grown = sureline.PA(growing=True).partial_fit(X[:1], made(y[:1])).partial_fit(X, made(y))
    in_memory = sureline.SparseDCA().fit(X, made(y)) if hasattr(sureline, "SparseDCA") else fitted
    for model in (fitted, parted, grown, in_memory):
        assert sorted(model.classes_.tolist()) == sorted(labels)
        assert model.predict(X).tolist() == y
        assert model.score(X, kept) == 1
    path = tmp_path / "m"
    sureline.save(fitted, path)
    again = sureline.load(path)
    assert again.predict(X).tolist() == y
    assert again.partial_fit(X, made(y)).predict(X).tolist() == y
    assert [label for chunk in rows_of((X, made(y)), "float64", None)[0] for label in chunk.y.tolist()] == y
    assert metrics.balanced_accuracy(made(y), made(y[::-1])) == 0


@pytest.mark.parametrize("labels", [["a", 1], ["1", 1], ["a", b"a"], ["a", None], [1.5, "1.5"]], ids=str)
def test_labels_of_several_types_are_refused(labels: list[Any]) -> None:
    """NumPy would make text of them all, and one label of two."""
    X = np.arange(20.0).reshape(10, 2)
    for y in (labels * 5, tuple(labels * 5), np.array(labels * 5, object)):
        with pytest.raises(ValueError, match="of one type"):
            sureline.PA().fit(X, y)
    with pytest.raises(ValueError, match="of one type"):
        sureline.PA().partial_fit(X, ["a"] * 10, classes=labels)


def test_what_is_no_label_in_a_frame_is_refused() -> None:
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    X = np.arange(20.0).reshape(10, 2)
    for y in (pd.Series(["a", None] * 5, dtype="string"), pd.Series([1, None] * 5, dtype="Int64")):
        with pytest.raises(ValueError, match="y contains NaN or other missing labels"):
            sureline.PA().fit(X, y)
    dates = np.array(["2020-01-01", "2021-01-01"] * 5, "datetime64[us]")
    for when in (dates, pd.Series(dates), pl.Series(dates), dates - dates[0]):
        with pytest.raises(ValueError, match="y has dates or times"):
            sureline.PA().fit(X, when)
    flags = sureline.PA().fit(X, pd.Series([True, False] * 5, dtype="category")).classes_
    assert flags.dtype == bool


@pytest.mark.parametrize("kind", TEXTS)
def test_one_at_a_time(kind: str) -> None:
    model = sureline.PA()
    for _ in range(3):
        for k, label in enumerate(TEXTS[kind]):
            model.learn_one({f"f{k}": 1.0}, label)
    assert model.classes_.tolist() == list(TEXTS[kind])
    assert [model.predict_one({f"f{k}": 1.0}) for k in range(2)] == list(TEXTS[kind])


@pytest.mark.parametrize("wrong", [({"a": float("nan")}, "new", 1.0), ({"a": 1.0}, "new", -1.0)])
def test_a_refused_row_brings_no_class(wrong: tuple[Any, Any, Any]) -> None:
    model = sureline.AROW().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    before = model.predict_proba_one({"a": 1.0, "b": 0.5})
    with pytest.raises(ValueError, match=r"finite|negative"):
        model.learn_one(*wrong)
    assert model.classes_.tolist() == ["x", "y"]
    assert model.predict_proba_one({"a": 1.0, "b": 0.5}) == before
    model.learn_one({"c": 1.0}, "z")
    assert model.classes_.tolist() == ["x", "y", "z"]


def test_numbers_that_one_type_cannot_hold() -> None:
    model = sureline.PA().learn_one({"a": 1.0}, 0.5)
    with pytest.raises(ValueError, match="cannot hold"):
        model.learn_one({"a": 1.0}, 2**53 + 1)
    assert model.classes_.tolist() == [0.5]


def test_long_labels_are_not_copied_for_every_row() -> None:
    """900 short ones and one of 8 MB would be 27 GB in an array of text."""
    y = [f"label {i % 30}" for i in range(900)] + ["x" * 8_000_000]
    X = np.random.default_rng(0).standard_normal((901, 4))
    model = sureline.PA().fit(X, y)
    assert model.classes_.dtype == object
    assert set(model.predict(X).tolist()) <= set(y)
    assert [label for chunk in rows_of((X, y), "float64", None)[0] for label in chunk.y.tolist()] == y


def test_integers_that_no_model_holds_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_text(f"1 1:1\n{2**64} 1:1\n")
    with pytest.raises(DataError, match=r"the label '18446744073709551616' has more than 64 bits \(row 2\)"):
        sureline.train(path, "pa")
    sureline.train(path, "odca-regressor")

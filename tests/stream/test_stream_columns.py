"""Arrow and Parquet: list columns and wide ones, and files that `convert` wrote."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from stream_files import COMPRESSIONS, csv, libsvm, outcome, rows_of, vw, write

from sureline import stream
from sureline._native import _core
from sureline.stream import DataError
from sureline.stream.formats.columns import ColumnLayout
from sureline.stream.options import Options

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402


def save(path, table, **options):
    """An IPC file, an IPC stream or a Parquet file, by the ending."""
    if path.suffix == ".parquet":
        parquet.write_table(table, path, **options)
    else:
        new = pa.ipc.new_file if path.suffix == ".arrow" else pa.ipc.new_stream
        with new(path, table.schema, **options) as writer:
            writer.write_table(table)
    return path


INT32, FLOAT64 = pa.int32(), pa.float64()


def lists(indices, values, label=None, index=INT32, value=FLOAT64, kind=pa.list_, **more):
    label = list(range(len(indices))) if label is None else label
    return pa.table(
        {"indices": pa.array(indices, kind(index)), "values": pa.array(values, kind(value)), "label": label, **more}
    )


ENDINGS = ["arrow", "arrows", "parquet"]


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_list_columns_of_any_type(tmp_path, ending, kind):
    indices, values = [[1, 5], [], [0, 2, 7]], [[1, 2], [], [3, 4, 5]]
    for index in (pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64()):
        for value in (pa.int16(), pa.float16(), pa.float32(), pa.float64()):
            numbers = [[np.float16(v) for v in row] for row in values] if value == pa.float16() else values
            table = lists(indices, numbers, index=index, value=value, kind=kind)
            for dtype in ("float32", "float64"):
                (chunk,) = stream.read(save(tmp_path / f"a.{ending}", table), dtype=dtype)
                assert chunk.indices.dtype == np.int32
                assert chunk.values.dtype == dtype
                assert chunk.X.toarray().tolist() == [[0, 1, 0, 0, 0, 2, 0, 0], [0] * 8, [3, 0, 4, 0, 0, 0, 0, 5]]
                assert chunk.y.tolist() == [0, 1, 2]


def test_plain_rows_are_seen_at_one_look(monkeypatch):
    """The quick look and the thorough one give the same rows, from any part of a batch."""
    rng = np.random.default_rng(0)
    lengths = rng.integers(0, 6, 200)
    rows = [np.sort(rng.choice(50, n, replace=False)).tolist() for n in lengths]
    for value, dtype in ((pa.float32(), "float32"), (FLOAT64, "float64")):
        values = [rng.normal(size=n).astype(dtype).tolist() for n in lengths]
        batch = lists(rows, values, value=value).to_batches()[0]
        layout = ColumnLayout("f", batch.schema, Options(dtype=dtype))
        for begin, end in ((0, 200), (0, 0), (7, 8), (50, 199)):
            piece = batch.slice(begin, end - begin)
            quick = layout._plain_rows(piece)
            assert quick is not None
            with monkeypatch.context() as patch:
                patch.setattr(ColumnLayout, "_plain_rows", lambda self, batch: None)
                slow = layout.parse(piece)
            assert quick.n_columns == slow.n_columns
            for name in ("values", "indices", "indptr"):
                one, other = getattr(quick, name), getattr(slow, name)
                assert (one.dtype, one.tolist()) == (other.dtype, other.tolist())
        assert (
            ColumnLayout("f", batch.schema, Options(dtype="float32" if dtype == "float64" else "float64"))._plain_rows(
                batch
            )
            is None
        )


@pytest.mark.parametrize(
    ("indices", "values"),
    [
        ([[1], [3, 2]], [[1], [2, 3]]),
        ([[1], [2, 2]], [[1], [2, 3]]),
        ([[-1]], [[1]]),
        ([[2**31 - 1]], [[1]]),
        ([[1, None]], [[1, 2]]),
        ([None, [1]], [[], [2]]),
        ([[1], [2]], [[1, 2], []]),
        ([[1], [2]], [[1], []]),
        ([[1, 2]], [[1.0, np.nan]]),
        ([[1, 2]], [[-np.inf, 1.0]]),
    ],
)
def test_rows_that_need_a_second_look(indices, values):
    batch = lists(indices, values).to_batches()[0]
    assert ColumnLayout("f", batch.schema, Options(dtype="float64"))._plain_rows(batch) is None


def test_offsets_that_are_damaged():
    indices, values, starts = np.arange(4, dtype=np.int32), np.ones(4), np.empty(3, np.int32)
    for offsets, fine in (([0, 2, 4], True), ([0, 3, 2], False), ([-1, 2, 4], False), ([0, 2, 5], False)):
        array = np.array(offsets, np.int32)
        good = np.array([0, 2, 4], np.int32)
        for first, second in ((array, good), (good, array)):
            assert (_core.list_rows(indices, first, values, second, starts) >= 0) == fine
    assert starts.tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="as many as there are rows"):
        _core.list_rows(indices, good, values, good[:2], starts)
    with pytest.raises(ValueError, match="not in the table"):
        _core.recode(np.array([0, 2], np.int32), np.array([5, 6], np.int32), np.empty(2, np.int32))


def test_no_copy_is_made(tmp_path):
    rng = np.random.default_rng(0)
    indices = pa.ListArray.from_arrays(
        np.arange(0, 1001, 10, dtype=np.int32), np.tile(np.arange(10, dtype=np.int32), 100)
    )
    values = pa.ListArray.from_arrays(indices.offsets, rng.random(1000, dtype=np.float32))
    path = save(tmp_path / "a.arrow", pa.table({"indices": indices, "values": values, "label": [1, -1] * 50}))
    (chunk,) = stream.read(path, dtype="float32")
    # Both lie in the memory that their batch was read into.
    assert abs(chunk.indices.ctypes.data - chunk.values.ctypes.data) < path.stat().st_size
    assert not chunk.indices.flags.owndata
    assert not chunk.values.flags.owndata


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (pa.array([1, -1, 1], pa.int8()), [1, -1, 1]),
        (pa.array([1.0, 0.5, -0.0]), [1, 0.5, 0]),
        (pa.array(["spam", "ham", "spam"]), ["spam", "ham", "spam"]),
        (pa.array(["+1", "-1", "1.0"], pa.large_string()), [1, -1, 1]),
        (pa.array(["b", "a", "b"]).dictionary_encode(), ["b", "a", "b"]),
        (pa.array([True, False, True]), [1, 0, 1]),
        (pa.array([2**63 + 1, 2**63, 5], pa.uint64()), [2**63 + 1, 2**63, 5]),
    ],
)
@pytest.mark.parametrize("ending", ENDINGS)
def test_labels_of_any_type(tmp_path, ending, labels, expected):
    (chunk,) = stream.read(save(tmp_path / f"a.{ending}", lists([[1], [2], [3]], [[1], [2], [3]], labels)))
    assert [row[0] for row in rows_of([chunk])] == expected
    assert chunk.labels[1] == list(dict.fromkeys(expected)), "in the order of their appearance"


def test_weights_and_tags(tmp_path):
    table = lists([[1], [2]], [[1], [2]], weight=[2, 1], tag=[b"x", None])
    (chunk,) = stream.read(save(tmp_path / "a.arrow", table))
    assert chunk.weights.tolist() == [2, 1]
    assert chunk.tags == [b"x", b""]
    table = lists([[1], [2]], [[1], [2]], weight=[1.0, 1.0], importance=pa.array([0.5, 3], pa.float32()))
    path = save(tmp_path / "a.arrow", table)
    assert next(iter(stream.read(path))).weights is None
    assert next(iter(stream.read(path, weight="importance"))).weights.tolist() == [0.5, 3]


def test_unsorted_indices_and_duplicates(tmp_path):
    table = lists([[5, 1, 3], [2, 2, 1], [7]], [[1, 2, 3], [1, 2, 4], [9]])
    for ending in ENDINGS:
        path = save(tmp_path / f"a.{ending}", table)
        rows, error = outcome(stream.read(path))
        assert [row[3] for row in rows] == [(1, 3, 5)]
        assert np.frombuffer(rows[0][4]).tolist() == [2, 3, 1]
        assert error == "None:None: row 2: the row has an index more than once"
        assert [row[3] for row in rows_of(stream.read(path, errors="skip", max_error_share=1))] == [(1, 3, 5), (7,)]
        (chunk,) = stream.read(path, duplicates="sum")
        assert chunk.indices.tolist() == [1, 3, 5, 1, 2, 7]
        assert chunk.values.tolist() == [2, 3, 1, 4, 3, 9]
        assert chunk.indptr.tolist() == [0, 3, 5, 6]


@pytest.mark.parametrize(
    ("indices", "values", "more", "words"),
    [
        ([-1], [1], {}, "an index outside 0 to 2147483646"),
        ([2**31 - 1], [1], {}, "an index outside 0 to 2147483646"),
        ([1, 2], [1], {}, "more indices than values, or fewer"),
        ([1], [1, 2], {}, "more indices than values, or fewer"),
        ([1], [float("nan")], {}, "not a number that float32 can hold"),
        ([1], [1e300], {}, "not a number that float32 can hold"),
        ([None], [1], {}, "a null among its indices or values"),
        ([1], [None], {}, "a null among its indices or values"),
        ([1], [1], {"label": None}, "no label"),
        ([1], [1], {"label": "inf"}, "the label is inf"),
        ([1], [1], {"weight": -1.0}, "the weight must be"),
        ([1], [1], {"weight": None}, "the weight must be"),
    ],
)
def test_rows_that_cannot_be_read(tmp_path, indices, values, more, words):
    label, weight = more.get("label", "x"), more.get("weight", 1.0)
    table = lists(
        [[1, 2], indices, [3]], [[1, 2], values, [3]], ["a", label, "c"], index=pa.int64(), weight=[0.5, weight, 2]
    )
    for ending in ENDINGS:
        path = save(tmp_path / f"a.{ending}", table)
        rows, error = outcome(stream.read(path, dtype="float32"))
        assert len(rows) == 1
        assert error.startswith("None:None: row 2: ")
        assert words in error
        source = stream.read(path, dtype="float32", errors="skip", max_error_share=1)
        assert [row[:4] for row in rows_of(source)] == [("a", 0.5, b"", (1, 2)), ("c", 2.0, b"", (3,))]
        assert (source.faults.count, str(source.faults.first[0])) == (1, f"{path}: {error.removeprefix('None:None: ')}")


def test_rows_without_labels(tmp_path):
    table = lists([[1], [2]], [[1], [2]], pa.array(["x", None]))
    assert [row[0] for row in rows_of(stream.read(save(tmp_path / "a.arrow", table), need_label=False))] == ["x", None]
    path = save(tmp_path / "b.arrow", table.drop_columns("label"))
    assert [row[0] for row in rows_of(stream.read(path, need_label=False))] == [None, None]
    with pytest.raises(DataError, match=r"there is no column 'label' among the columns indices, values; --label"):
        list(stream.read(path))


def test_null_lists_are_empty_rows(tmp_path):
    for ending in ENDINGS:
        path = save(tmp_path / f"a.{ending}", lists([[1], None, [2]], [[1], None, [2]]))
        assert [row[3] for row in rows_of(stream.read(path))] == [(1,), (), (2,)]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"indices": [[1]], "label": [1]}, "list columns for both"),
        (
            {"indices": [["a"]], "values": [[1]], "label": [1]},
            "indices must be lists of integers; they are lists of string",
        ),
        ({"indices": [[1]], "values": [["a"]], "label": [1]}, "values must be lists of numbers"),
        ({"indices": [[1]], "values": [[1]], "label": [[1]]}, "the labels must be numbers or text"),
        ({"raw": pa.array([b"x"], pa.binary()), "label": [1]}, "'raw' has the type binary.*--ignore raw"),
        ({"a": [1], "label": [1], "w": ["x"]}, "'w' must be numbers"),
    ],
)
def test_schemas_that_cannot_be_read(tmp_path, table, words):
    path = save(tmp_path / "a.arrow", pa.table(table))
    with pytest.raises(DataError, match=words):
        list(stream.read(path, weight="w" if "w" in table else None))


def test_one_table_in_every_format(tmp_path):
    """CSV, TSV, JSON lines, Arrow and Parquet give the same rows."""
    rng = np.random.default_rng(0)
    n = 300
    age = [None if rng.random() < 0.2 else int(rng.integers(0, 99)) for _ in range(n)]
    height = [None if rng.random() < 0.2 else round(float(rng.normal()), 3) for _ in range(n)]
    city = [
        None if rng.random() < 0.2 else str(rng.choice(["Rome", "Bonn, am Rhein", 'the "City"', "ü", "nil"]))
        for _ in range(n)
    ]
    label = [str(rng.choice(["spam", "ham"])) for _ in range(n)]
    weight = [round(float(rng.random()), 2) for _ in range(n)]
    table = {"age": age, "height": height, "city": city, "label": label, "w": weight}

    def cell(value):
        text = "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\t') else text

    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    for name, delimiter in (("a.csv", ","), ("a.tsv", "\t")):
        lines = [delimiter.join(table), *(delimiter.join(cell(value) for value in row.values()) for row in rows)]
        write(tmp_path / name, "\n".join(lines))
    write(tmp_path / "a.jsonl", "\n".join(json.dumps(row) for row in rows))
    columns = pa.table({**table, "city": pa.array(city).dictionary_encode()})
    for ending in ENDINGS:
        save(tmp_path / f"b.{ending}", columns)
    expected = rows_of(stream.read(tmp_path / "a.csv", weight="w", bits=16))
    assert len(expected) == n
    for name in ("a.tsv", "a.jsonl", "b.arrow", "b.arrows", "b.parquet"):
        assert rows_of(stream.read(tmp_path / name, weight="w", bits=16)) == expected, name


def test_wide_columns_that_cannot_be_learned_from(tmp_path):
    path = save(tmp_path / "a.arrow", pa.table({"a": [1.0, float("inf"), 2.0], "label": [1, 2, 3]}))
    rows, error = outcome(stream.read(path))
    assert len(rows) == 1
    assert error.startswith("None:None: row 2: ")
    assert [row[0] for row in rows_of(stream.read(path, errors="skip", max_error_share=1))] == [1, 3]


def test_compressed_and_piped_columns(tmp_path):
    table = lists([[1], [2, 3]] * 500, [[1], [2, 3]] * 500)
    for ending in ("arrow", "arrows"):
        path = save(tmp_path / f"a.{ending}", table)
        expected = rows_of(stream.read(path))
        assert len(expected) == 1000
        for compression in COMPRESSIONS:
            assert rows_of(stream.read(write(path, path.read_bytes(), compression))) == expected
        script = "from sureline import stream; s = stream.read('-'); print(s.format, sum(map(len, s)))"
        with path.open("rb") as file:
            done = subprocess.run([sys.executable, "-c", script], stdin=file, capture_output=True, check=True)
        assert done.stdout == b"arrow 1000\n"
    packed = save(tmp_path / "b.arrow", table, options=pa.ipc.IpcWriteOptions(compression="zstd"))
    assert rows_of(stream.read(packed)) == expected
    zipped = write(tmp_path / "a.parquet", save(tmp_path / "b.parquet", table).read_bytes(), ".gz")
    with pytest.raises(DataError, match="Parquet can only be read from a file"):
        list(stream.read(zipped))


def test_compressed_columns_cut_off(tmp_path):
    data = save(tmp_path / "a.arrow", lists([[1], [2, 3]] * 50, [[1], [2, 3]] * 50)).read_bytes()
    whole = COMPRESSIONS[".gz"](data)
    path = tmp_path / "b.arrow.gz"
    for n in range(20, len(whole), 7):
        path.write_bytes(whole[:n])
        rows, error = outcome(stream.read(path))
        assert error is not None
        assert len(rows) in (0, 100)


def test_without_pyarrow(tmp_path, monkeypatch):
    path = save(tmp_path / "a.arrow", lists([[1]], [[1]]))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"pip install 'sureline\[arrow\]'"):
        stream.read(path)
    text = stream.read(write(tmp_path / "a.svm", "1 1:1\n"))
    with pytest.raises(ImportError, match=r"pip install 'sureline\[arrow\]'"):
        stream.convert(text, tmp_path / "b.arrow")
    assert len(rows_of(text)) == 1


def test_pandas_is_not_imported(tmp_path):
    """pyarrow likes to, which would take longer than most files."""
    save(tmp_path / "a.arrow", lists([[1], [2, 3]], [[1], [2, None]], ["x", None], weight=[1, None]))
    script = (
        "import sys, sureline; before = set(sys.modules); from sureline import stream\n"
        "options = dict(need_label=False, errors='skip', max_error_share=1)\n"
        "stream.convert(stream.read(sys.argv[1], **options), sys.argv[2])\n"
        "print('pandas' in set(sys.modules) - before)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a.arrow"), str(tmp_path / "b.arrow")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def resident() -> int:
    """The pages of files that this process holds, in bytes."""
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("RssFile"))


def test_pages_are_given_back(tmp_path):
    """Only the working part of a mapped file stays in memory."""
    rows = 100_000
    starts = pa.array(np.arange(0, 100 * rows + 1, 100, dtype=np.int32))
    columns = np.tile(np.arange(0, 1000, 10, dtype=np.int32), rows)
    table = pa.table(
        {
            "indices": pa.ListArray.from_arrays(starts, columns),
            "values": pa.ListArray.from_arrays(starts, np.ones(100 * rows)),
            "label": np.ones(rows, np.int32),
        }
    )
    for batch_rows in (4000, rows):  # small batches, and one of 120 MB
        path = tmp_path / "a.arrow"
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=batch_rows)
        assert path.stat().st_size > 100 << 20
        peaks = []
        for _ in range(3):  # pages of libraries that are used for the first time count too
            before, most, seen = resident(), 0, 0
            for chunk in stream.read(path, threads=1):
                seen += int(chunk.values.sum())
                most = max(most, resident() - before)
            assert seen == 100 * rows
            peaks.append(most)
        assert min(peaks) < 48 << 20


# Conversion


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("content", [libsvm, vw, csv])
def test_converting_changes_nothing(tmp_path, content, dtype):
    ending = {"libsvm": "svm"}.get(content.__name__, content.__name__)
    source = stream.read(write(tmp_path / f"a.{ending}", content(700), ".gz"), dtype=dtype).with_options(block=2000)
    path = tmp_path / "a.arrow"
    assert stream.convert(source, path) == 700
    back = stream.read(path, dtype=dtype)
    assert rows_of(back) == rows_of(source)
    if content is not libsvm:
        assert {chunk.n_columns for chunk in back} == {chunk.n_columns for chunk in source} == {2**20}
    stream.convert(back, tmp_path / "b.arrow")
    assert rows_of(stream.read(tmp_path / "b.arrow", dtype=dtype)) == rows_of(source)
    about = json.loads(pa.ipc.open_file(tmp_path / "a.arrow").schema.metadata[b"sureline"])
    assert (about["format"], about["dtype"]) == (source.format, dtype)


def test_converting_rounds_once(tmp_path):
    source = stream.read(write(tmp_path / "a.svm", libsvm(100)))
    stream.convert(source, tmp_path / "a.arrow", dtype="float32")
    back = stream.read(tmp_path / "a.arrow", dtype="float32")
    assert rows_of(back) == rows_of(stream.read(tmp_path / "a.svm", dtype="float32"))
    assert pa.ipc.open_file(tmp_path / "a.arrow").schema.field("values").type == pa.list_(pa.float32())


def test_labels_that_turn_from_numbers_to_text(tmp_path):
    labels = ["1", "-1", "2.50", "1e20", "spam", "10", "ü"]
    source = stream.read(write(tmp_path / "a.svm", "".join(f"{label} 1:1\n" for label in labels))).with_options(block=8)
    stream.convert(source, tmp_path / "a.arrow")
    back = [row[0] for row in rows_of(stream.read(tmp_path / "a.arrow"))]
    assert back == [row[0] for row in rows_of(source)] == [1, -1, 2.5, 10**20, "spam", 10, "ü"]
    assert [type(label) for label in back] == [int, int, float, int, str, int, str]


def test_converting_keeps_the_names(tmp_path):
    source = stream.read(write(tmp_path / "a.vw", vw(300)), collect_names=1).with_options(block=1000)
    stream.convert(source, tmp_path / "a.arrow")
    stream.convert(stream.read(tmp_path / "a.arrow", collect_names=1), tmp_path / "b.arrow")
    whole = source.head(300).names.top(1000)
    for name in ("a.arrow", "b.arrow"):
        tables = [chunk.names for chunk in stream.read(tmp_path / name, collect_names=1)]
        assert [table.top(1000) for table in tables if table is not None] == [whole]
        assert {chunk.names for chunk in stream.read(tmp_path / name)} == {None}


def test_the_batches_are_of_a_good_size(tmp_path):
    stream.convert(stream.read(write(tmp_path / "a.svm", "1 1:1\n" * 200_000)), tmp_path / "a.arrow")
    file = pa.ipc.open_file(tmp_path / "a.arrow")
    sizes = [file.get_batch(i).num_rows for i in range(file.num_record_batches)]
    assert sum(sizes) == 200_000
    assert max(sizes) <= 2**18
    assert len(sizes) < 10


def test_what_goes_wrong_leaves_what_was_there(tmp_path):
    good = stream.read(write(tmp_path / "a.svm", "1 1:1\n"))
    bad = stream.read(write(tmp_path / "b.svm", "1 1:1\n1 x\n"))
    path = tmp_path / "out.arrow"
    with pytest.raises(DataError):
        stream.convert(bad, path)
    assert sorted(os.listdir(tmp_path)) == ["a.svm", "b.svm"]
    stream.convert(good, path)
    before = path.read_bytes()
    with pytest.raises(DataError):
        stream.convert(bad, path)
    assert path.read_bytes() == before
    (tmp_path / ".out.arrow.0123456789abcdef.tmp").write_bytes(b"from a crash" * 1000)
    stream.convert(good, path)
    assert path.read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.svm", "b.svm", "out.arrow"]


def test_where_convert_cannot_write(tmp_path):
    path = write(tmp_path / "a.svm", "1 1:1\n")
    source = stream.read(path)
    with pytest.raises(ValueError, match="among the files that are read"):
        stream.convert(source, path)
    with pytest.raises(OSError, match="not a regular file"):
        stream.convert(source, tmp_path)
    with pytest.raises(OSError, match="not a regular file"):
        stream.convert(source, "/dev/null")
    with pytest.raises(OSError, match=r"such\.arrow could not be written: No such file or directory"):
        stream.convert(source, tmp_path / "no" / "such.arrow")
    link = tmp_path / "link.arrow"
    link.symlink_to(tmp_path / "real.arrow")
    stream.convert(source, link)
    assert link.is_symlink()
    assert len(rows_of(stream.read(tmp_path / "real.arrow"))) == 1

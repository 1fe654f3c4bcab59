"""Reading a stream: rows, positions, and messages for data that cannot be read."""

import io
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest
from stream_files import COMPRESSIONS, libsvm, outcome, rows_of, vw, write

from sureline import stream
from sureline.stream import DataError, Position
from sureline.stream.labels import BadLabel, as_array, coded, from_bytes, from_text, to_text


def test_chunks_are_rows_labels_and_a_position(tmp_path):
    path = write(tmp_path / "a.svm", "+1 1:0.5 7:2\n# nothing\n-1\n1.0 3:1e-3\n")
    (chunk,) = stream.read(path)
    X, y = chunk
    assert X.shape == (3, 8)
    assert X.toarray()[0, [1, 7]].tolist() == [0.5, 2]
    assert y.tolist() == [1, -1, 1]
    assert y.dtype == np.int64
    assert len(chunk) == chunk.n_rows == 3
    assert chunk.weights is None
    assert chunk.tags is None
    assert chunk.end == Position(file=0, offset=path.stat().st_size, line=4, rows=3)
    assert chunk.rows().n_columns == 8
    assert chunk.rows(100).n_columns == 100
    assert chunk.values.dtype == np.float64
    (single,) = stream.read(path, dtype="float32")
    assert single.values.dtype == np.float32


def test_iterating_again_gives_the_same(tmp_path):
    source = stream.read(write(tmp_path / "a.svm", libsvm(500)))
    assert rows_of(source) == rows_of(source)
    assert len(rows_of(source)) == 500


def test_indices_are_as_written_unless_the_file_counts_from_zero(tmp_path):
    path = write(tmp_path / "a.svm", "1 0:1 4:2\n")
    assert next(iter(stream.read(path))).indices.tolist() == [0, 4]
    assert next(iter(stream.read(path, zero_based=True))).indices.tolist() == [1, 5]


def test_duplicates(tmp_path):
    path = write(tmp_path / "a.svm", "1 3:1 3:2\n")
    assert outcome(stream.read(path))[1] is not None
    assert next(iter(stream.read(path, duplicates="sum"))).values.tolist() == [3]


def test_vw_has_weights_and_tags(tmp_path):
    path = write(tmp_path / "a.vw", "1 2 'first |f a b\n-1 |f c\n|f a\n")
    (chunk,) = stream.read(path, bits=18, need_label=False)
    assert chunk.y.tolist() == [1, -1, None]
    assert chunk.weights.tolist() == [2, 1, 1]
    assert chunk.tags == [b"first", b"", b""]
    assert chunk.n_columns == 2**18
    rows, error = outcome(stream.read(path))
    assert len(rows) == 2
    assert error == "3:1: the row has no label"


def test_several_files_and_globs(tmp_path):
    write(tmp_path / "b.svm", "1 1:1\n", ".gz")
    write(tmp_path / "a.svm", "2 1:2")
    write(tmp_path / "c.svm", "")
    write(tmp_path / "d.svm", "3 1:3\n")
    source = stream.read(str(tmp_path / "*.svm*"))
    assert [os.path.basename(path) for path in source.paths] == ["a.svm", "b.svm.gz", "c.svm", "d.svm"]
    chunks = list(source)
    assert [label for label, *_ in rows_of(chunks)] == [2, 1, 3]
    assert [(c.end.file, c.end.line, c.end.rows) for c in chunks] == [(0, 1, 1), (1, 1, 2), (3, 1, 3)]
    listed = stream.read([tmp_path / "d.svm", str(tmp_path / "a.svm")])
    assert [label for label, *_ in rows_of(listed)] == [3, 2]


def test_a_name_that_looks_like_a_glob_is_a_name(tmp_path):
    assert len(rows_of(stream.read(write(tmp_path / "a[1].svm", "1 1:1\n")))) == 1


@pytest.mark.parametrize(
    ("paths", "error", "words"),
    [
        ("no/such/file.svm", FileNotFoundError, "no/such/file.svm"),
        ("no/such/*.svm", FileNotFoundError, "No file matches 'no/such/"),
        ([], ValueError, "at least one file"),
        (["-", "-"], ValueError, "only once"),
        (b"a.svm", TypeError, "path"),
        ("", FileNotFoundError, "No such file"),
    ],
)
def test_paths_that_are_none(paths, error, words):
    with pytest.raises(error, match=words.replace("*", r"\*")):
        stream.read(paths)


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="folder"):
        stream.read(tmp_path)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_compression_is_recognised_by_content(tmp_path, compression):
    text = libsvm(300)
    plain = rows_of(stream.read(write(tmp_path / "plain.svm", text)))
    misnamed = tmp_path / "misnamed.svm"
    misnamed.write_bytes(COMPRESSIONS[compression](text.encode()))
    assert rows_of(stream.read(misnamed)) == plain


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_members_follow_each_other(tmp_path, compression):
    compress = COMPRESSIONS[compression]
    path = tmp_path / "a.svm"
    path.write_bytes(compress(b"1 1:1\n2 2:") + compress(b"") + compress(b"2\n3 3:3\n"))
    assert [(label, indices) for label, _, _, indices, _ in rows_of(stream.read(path))] == [
        (1, (1,)),
        (2, (2,)),
        (3, (3,)),
    ]


def test_padding_of_gzip_and_xz(tmp_path):
    for compression, padding in ((".gz", 7), (".xz", 8)):
        data = COMPRESSIONS[compression](b"1 1:1\n")
        path = tmp_path / "a.svm"
        path.write_bytes(data + b"\0" * padding + data)
        assert len(rows_of(stream.read(path))) == 2
        path.write_bytes(data + b"\0" * padding)
        assert len(rows_of(stream.read(path))) == 1


def test_standard_input(tmp_path):
    script = (
        "from sureline import stream; s = stream.read('-');"
        "print(s.format, s.size, s.progress, sum(map(len, s)));"
        "\ntry: list(s)\nexcept ValueError as e: print(e)"
    )
    for compression in ("", ".zst"):
        data = COMPRESSIONS[compression](libsvm(1000).encode())
        done = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True)
        assert done.stdout.decode() == "libsvm None None 1000\nStandard input can be read only once.\n"


def test_what_stands_in_for_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"1 1:1\n2 1:1\n")))
    assert [label for label, *_ in rows_of(stream.read("-"))] == [1, 2]


def test_no_standard_input(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(ValueError, match="There is no standard input"):
        stream.read("-")


def test_a_pipe_by_its_name(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    text = libsvm(3000)
    writer = threading.Thread(target=lambda: fifo.write_text(text))
    writer.start()
    source = stream.read(fifo)
    assert source.format == "libsvm"
    assert len(rows_of(source)) == 3000
    writer.join()
    with pytest.raises(ValueError, match="only once"):
        list(source)
    with pytest.raises(ValueError, match="shards"):
        source.shards(2)
    with pytest.raises(TypeError, match="only once"):
        pickle.dumps(source)


def test_standard_input_can_be_resumed_when_it_gives_the_same_again(monkeypatch):
    text = libsvm(200)

    def again():
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return stream.read("-", format="libsvm").with_options(block=256)

    chunks = list(again())
    assert rows_of(again().read_from(chunks[3].end)) == rows_of(chunks[4:])


# Recognition


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("1 1:2 3:4\n", "libsvm"),
        ("1\n-1\n1 1:2\n", "libsvm"),
        ("# a comment\n1 qid:3 1:2 # another\n", "libsvm"),
        ("\ufeffspam 1:2\n", "libsvm"),
        ("1 |f a b:2\n", "vw"),
        ("1 2 'tag |f a\n-1 |f a\n", "vw"),
        ("| a b\n", "vw"),
        ("1 1.0 tag|f a\n", "vw"),
        ('{"label": 1}\n', "jsonl"),
        ("  {}\n", "jsonl"),
        ("a,b\n1,2\n", "csv"),
        ("a;b\n1;2\n", "csv"),
    ],
)
def test_formats_recognised_by_content(tmp_path, text, format):
    assert stream.read(write(tmp_path / "data", text)).format == format
    assert stream.read(write(tmp_path / "data.txt", text, ".gz")).format == format


@pytest.mark.parametrize("text", ["a,b\n", "hello\n", "1|2|3\n", "\0\0\0", "1 2 3\n", "a\tb\n", "\n\n", "1\n2\n"])
def test_formats_not_recognised(tmp_path, text):
    with pytest.raises(DataError, match=r"--format: libsvm, vw, csv, tsv, jsonl, text, arrow, parquet$"):
        stream.read(write(tmp_path / "data", text))


def test_formats_recognised_by_name(tmp_path):
    for name, format in [
        ("a.svm", "libsvm"),
        ("a.VW", "vw"),
        ("a.csv", "csv"),
        ("a.tsv", "tsv"),
        ("a.ndjson", "jsonl"),
    ]:
        for compression in ("", ".gz", ".zst"):
            assert stream.read(write(tmp_path / name, "{", compression)).format == format
    with pytest.raises(DataError, match="empty"):
        stream.read(write(tmp_path / "empty", ""))
    assert list(stream.read(write(tmp_path / "empty.svm", ""))) == []


def test_the_name_does_not_hide_a_binary_format(tmp_path):
    stream.convert(stream.read(write(tmp_path / "a.svm", "1 1:1\n")), tmp_path / "b.svm")
    assert stream.read(tmp_path / "b.svm").format == "arrow"
    assert stream.read(write(tmp_path / "c.csv", "PAR1,label\n1,2\n")).format == "csv"


# Errors


def test_an_error_says_where_and_why(tmp_path):
    path = write(tmp_path / "a.svm", "1 1:1\n\n-1 2:x\n1 1:1\n")
    rows, _ = outcome(stream.read(path))
    assert len(rows) == 1, "the rows before it come first"
    with pytest.raises(DataError, match=rf"^{path}:3:\d+: ") as caught:
        list(stream.read(path))
    error = caught.value
    assert (error.file, error.line) == (str(path), 3)
    assert str(error) == f"{error.file}:{error.line}:{error.column}: {error.reason}"
    assert isinstance(error, ValueError)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.line) == (str(error), 3)


def test_the_rows_before_an_error_do_not_depend_on_the_blocks(tmp_path):
    lines = libsvm(200).split("\n")
    lines[150] = "1 7:oops"
    path = write(tmp_path / "a.svm", "\n".join(lines))
    whole = outcome(stream.read(path))
    assert whole[1].startswith("151:")
    for block in (64, 300, 5000):
        assert outcome(stream.read(path).with_options(block=block)) == whole


def test_reading_goes_on_at_the_error(tmp_path):
    path = write(tmp_path / "a.svm", "1 1:1\n2 2:2\nbad bad\n4 4:4\n")
    source = stream.read(path)
    chunks = []
    with pytest.raises(DataError):
        chunks.extend(source)
    for chunk in source:
        assert chunk.end == Position(0, 12, 2, 2, 0)
        break
    with pytest.raises(DataError, match=":3:"):
        list(source.read_from(Position(0, 12, 2, 2, 0)))


def test_skipping_accounts_for_what_it_leaves_out(tmp_path):
    lines = ["1 1:1"] * 3000
    for i in range(0, 3000, 120):
        lines[i] = "1 x"
    source = stream.read(write(tmp_path / "a.svm", "\n".join(lines)), errors="skip")
    for block in (None, 1000):
        source = source.with_options(block=block)
        chunks = list(source)
        assert len(rows_of(chunks)) == 2975
        assert source.faults.count == 25
        assert [fault.line for fault in source.faults.first] == [1 + 120 * i for i in range(20)]
        assert chunks[-1].end == Position(0, len("\n".join(lines)), 3000, 2975, 25)


def test_skipping_stops_past_the_stated_share(tmp_path):
    few = write(tmp_path / "few.svm", "1 1:1\n" * 98 + "x y\n" * 2)
    with pytest.raises(DataError, match=r"2 of 100 rows so far .* 0.01 .* the first: .*few.svm:99:"):
        list(stream.read(few, errors="skip"))
    assert len(rows_of(stream.read(few, errors="skip", max_error_share=0.02))) == 98
    many = write(tmp_path / "many.svm", "x y\n" * 150 + "1 1:1\n" * 100_000)
    source = stream.read(many, errors="skip").with_options(block=1000)
    with pytest.raises(DataError, match=r"of \d\d\d rows so far"):
        list(source)
    first = write(tmp_path / "first.svm", "x y\n" * 90 + "1 1:1\n" * 10_000)
    assert len(rows_of(stream.read(first, errors="skip"))) == 10_000, "a few at the beginning say nothing"


def test_the_share_goes_on_after_resuming(tmp_path):
    path = write(tmp_path / "a.svm", ("1 1:1\n" * 9 + "x y\n") * 200)
    source = stream.read(path, errors="skip", max_error_share=0.1).with_options(block=500)
    chunks = list(source)
    assert source.faults.count == 200
    rest = list(source.read_from(chunks[5].end))
    assert [chunk.end for chunk in rest] == [chunk.end for chunk in chunks[6:]]
    assert source.faults.count == 200


@pytest.mark.parametrize("token", ["nan", "-inf", "Infinity", "NaN", "1e999", "\udcff"])
def test_labels_that_are_none(tmp_path, token):
    data = b"# a comment\n1 1:1\n\n  " + token.encode("utf-8", "surrogateescape") + b" 2:2\n3 3:3\n"
    path = tmp_path / "a.svm"
    path.write_bytes(data)
    rows, error = outcome(stream.read(path))
    assert [row[0] for row in rows] == [1]
    assert error.startswith("4:3: the label is ")
    source = stream.read(path, errors="skip", max_error_share=1)
    assert [row[0] for row in rows_of(source)] == [1, 3]
    assert source.faults.count == 1
    assert source.faults.first[0].line == 4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"format": "arff"}, "'format' parameter of read must be None or one of libsvm, vw"),
        ({"dtype": "float16"}, "'dtype' parameter of read must be 'float32' or 'float64'. Got 'float16' instead"),
        ({"errors": "ignore"}, "'errors' parameter"),
        ({"duplicates": "last"}, "'duplicates' parameter"),
        ({"max_error_share": 1.5}, "'max_error_share' parameter"),
        ({"bits": 0}, "'bits' parameter of read must be an integer from 1 to 30"),
        ({"bits": 18.0}, "'bits' parameter"),
        ({"threads": 0}, "'threads' parameter"),
        ({"max_line": 10}, "'max_line' parameter"),
        ({"label": 3}, "'label' parameter"),
        ({"weight": "label"}, "'weight' parameter"),
        ({"zero_based": 1}, "'zero_based' parameter"),
        ({"collect_names": -1}, "'collect_names' parameter"),
        ({"bits": 18}, "'bits' parameter of read is for vw, csv"),
        ({"format": "vw", "zero_based": True}, "'zero_based' parameter of read is for libsvm, and the format is vw"),
        ({"format": "vw", "label": "y"}, "'label' parameter of read is for csv"),
    ],
)
def test_options_that_are_none(tmp_path, options, words):
    path = write(tmp_path / "a.svm", "1 1:1\n")
    with pytest.raises(ValueError, match=words):
        stream.read(path, **options)


@pytest.mark.parametrize("text", ["1 1:1 " + "2:2 " * 400_000, "1 " + "x" * 1_600_000])
def test_the_longest_line(tmp_path, text):
    for compression in ("", ".gz"):
        path = write(tmp_path / "a.svm", f"1 1:1\n{text}\n1 1:1\n", compression)
        rows, error = outcome(stream.read(path, max_line=1 << 20, duplicates="sum"))
        assert len(rows) == 1
        assert error == "2:None: the line is longer than 1048576 bytes, the most that max_line allows"
        rows, error = outcome(stream.read(path, duplicates="sum"))
        assert (len(rows) == 3) == ("2:2" in text) == (error is None)


# Labels


def test_the_same_label_however_it_is_written():
    for text in ("1", "+1", "1.0", "1e0", "01", "10e-1", "1."):
        assert from_text(text) == 1
        assert type(from_text(text)) is int
    assert [from_text(t) for t in ("-0", "0.5", "-1", "1e20", ".5")] == [0, 0.5, -1, 10**20, 0.5]
    assert from_text("9007199254740993") == 9007199254740993
    assert from_text("0" * 9000 + "7") == 7
    assert from_text("1e300") == int(1e300)
    for text in ("1_0", "٣", "spam", "0x1", "1 ", "nano", "information"):
        assert from_text(text) == text
    for text in ("nan", "inf", "-Infinity", "+NAN", "1e999", "9" * 5000, ""):
        with pytest.raises(BadLabel):
            from_text(text)
    for label in (1, -3, 0.1, 1e-320, 10**30, "spam", "ü"):
        assert from_text(to_text(label)) == label


def test_short_numbers_are_read_as_all_others_are() -> None:
    texts = ["0", "-0", "+1", "007", "-12", "1.0", "-0.0", "1.50", "+0.125", "3.", ".5", "1e3", "1_0", "1.5x", "-"]
    texts += ["9" * 15, "9" * 16, "1" * 15 + "." + "1" * 15, "0." + "0" * 14 + "1", "٣", "1.٣", "0x1", "1 "]
    for text in texts:
        expected = from_text(text)
        label = from_bytes(text.encode())
        assert (label, type(label)) == (expected, type(expected))


def test_labels_as_an_array():
    assert as_array(*coded([1, -1, 1])).dtype == np.int64
    assert as_array(*coded([1, 0.5])).tolist() == [1.0, 0.5]
    assert as_array(*coded(["a", "b", "a"])).tolist() == ["a", "b", "a"]
    assert as_array(*coded(["a", 1, None])).tolist() == ["a", 1, None]
    assert as_array(*coded(["a", "a\0"])).tolist() == ["a", "a\0"]
    assert as_array(*coded([2**70, 0.5])).tolist() == [2**70, 0.5]
    assert len(as_array(*coded([]))) == 0


def test_positions_as_json():
    position = Position(1, 2, 3, 4, 5)
    assert Position.from_dict(position.to_dict()) == position
    for wrong in ({"file": 1}, {**position.to_dict(), "line": -1}, {**position.to_dict(), "rows": 1.5}):
        with pytest.raises(ValueError, match="position"):
            Position.from_dict(wrong)


def test_head(tmp_path):
    source = stream.read(write(tmp_path / "a.vw", vw(300))).with_options(block=500)
    everything = rows_of(source)
    for n in (1, 7, 299, 300, 1000):
        assert rows_of([source.head(n)]) == everything[:n]
    assert stream.read(write(tmp_path / "empty.vw", "")).head(3) is None
    with pytest.raises(ValueError, match="head"):
        source.head(0)


def test_progress(tmp_path):
    for compression in ("", ".gz"):
        paths = [write(tmp_path / f"{i}.svm", libsvm(20_000, i), compression) for i in range(3)]
        source = stream.read(paths).with_options(block=1 << 14)
        assert source.size == sum(path.stat().st_size for path in paths)
        assert source.progress == 0
        seen = [source.progress for _ in source]
        assert seen == sorted(seen)
        assert 0 < seen[0] < 0.4
        assert source.progress == 1


def test_other_imports_are_not_needed():
    script = (
        "import sys, sureline; before = set(sys.modules); import sureline.stream\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(new & {'sklearn', 'scipy', 'pyarrow', 'isal', 'backports', 'pandas', 'rich', 'click'})"
    )
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "set()\n"
    )

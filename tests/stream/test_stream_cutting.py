"""However a file is cut, compressed, resumed or shared out: the same rows; and nothing is left behind."""

import contextlib
import gc
import os
import pickle
import subprocess
import sys
import threading
import time
from itertools import pairwise

import pytest
from stream_files import COMPRESSIONS, csv, libsvm, outcome, rows_of, vw, write

from sureline import stream
from sureline.stream import DataError, Position

CONTENT = {"svm": libsvm, "vw": vw, "csv": csv}


def columnar(tmp_path, format: str, n: int = 3000):
    """A file of that format with several batches or row groups."""
    text = stream.read(write(tmp_path / "source.svm", libsvm(n)))
    path = tmp_path / "a.arrow"
    stream.convert(text, path)
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pa.ipc.open_file(path).read_all()
    if format == "parquet":
        path = tmp_path / "a.parquet"
        parquet.write_table(table, path, row_group_size=700)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=400)
    return path


@pytest.mark.parametrize("content", CONTENT)
@pytest.mark.parametrize("compression", ["", ".gz", ".zst"])
def test_cut_at_every_byte(tmp_path, content, compression):
    """The file is cut, and so is what is then compressed."""
    whole = CONTENT[content](7).encode()
    source = stream.read(write(tmp_path / f"whole.{content}", whole))
    everything = outcome(source)[0]
    assert len(everything) == 7
    for n in range(len(whole)):
        plain = outcome(stream.read(write(tmp_path / f"a.{content}", whole[:n])))
        path = write(tmp_path / f"b.{content}", whole[:n], compression)
        assert outcome(stream.read(path).with_options(block=64)) == plain
        if source.schema is not None:  # fewer rows may say something else about a column
            plain = outcome(stream.read(tmp_path / f"a.{content}").with_options(schema=source.schema))
            assert outcome(stream.read(path).with_options(block=64, schema=source.schema)) == plain
        if plain[1] is None:
            assert plain[0][:-1] == everything[: max(0, len(plain[0]) - 1)]


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
@pytest.mark.parametrize("content", CONTENT)
def test_compressed_data_cut_at_every_byte(tmp_path, content, compression):
    """The rows go as far as the data, and the end is never taken for the end."""
    path = write(tmp_path / f"a.{content}", CONTENT[content](12), compression)
    data = path.read_bytes()
    source = stream.read(path)
    everything = rows_of(source)
    most = 0
    for n in range(13, len(data)):  # of fewer bytes nobody can say what they are
        path.write_bytes(data[:n])
        rows, error = outcome(stream.read(path).with_options(block=100))
        if source.schema is not None:  # fewer rows may say something else about a column
            guessed, said = rows, error
            rows, error = outcome(stream.read(path).with_options(block=100, schema=source.schema))
            assert (len(rows), error) == (len(guessed), said)
        assert error is not None
        assert rows == everything[: len(rows)]
        most = max(most, len(rows))
        assert "cut off after" in error
    assert most > 0 or compression in (".bz2", ".xz"), "these two give nothing before a block is whole"


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_trailing_garbage(tmp_path, compression):
    path = write(tmp_path / "a.svm", libsvm(50), compression)
    data = path.read_bytes()
    for garbage in (b"x", b"garbage", b"1 1:1\n" * 100, data[:-1]):
        path.write_bytes(data + garbage)
        rows, error = outcome(stream.read(path))
        assert len(rows) >= 50 - 1
        assert error.startswith("None:None: the ")


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_damage(tmp_path, compression):
    """A flipped byte is noticed, wherever it is; it may show in the text before the check does."""
    path = write(tmp_path / "a.svm", libsvm(300), compression)
    data = path.read_bytes()
    everything = rows_of(stream.read(path))
    for at in range(4, len(data), 97):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        rows, error = outcome(stream.read(path))
        if error is None:  # in a field that means nothing, such as a time in the header
            assert rows == everything


def test_zlib_does_what_isal_does(tmp_path, monkeypatch):
    path = write(tmp_path / "a.svm", libsvm(2000), ".gz")
    data = path.read_bytes()
    variants = [data, data[:-3], data + b"x", data + data, data[:100] + b"\0" + data[101:]]
    results = []
    for without in (False, True):
        if without:
            monkeypatch.setitem(sys.modules, "isal", None)
        results.append([])
        for variant in variants:
            path.write_bytes(variant)
            rows, error = outcome(stream.read(path))
            results[-1].append((rows, error and error.partition("(")[0]))
    assert results[0][:4] == results[1][:4]
    assert all("damaged" in result[4][1] for result in results)


@pytest.mark.parametrize("content", CONTENT)
def test_blocks_of_any_size_give_the_same_rows(tmp_path, content):
    for compression in ("", ".gz"):
        path = write(tmp_path / f"a.{content}", CONTENT[content](400), compression)
        everything = rows_of(stream.read(path))
        assert len(everything) == 400
        for block in (16, 61, 200, 1000, 9999):
            for threads in (1, 3):
                assert rows_of(stream.read(path, threads=threads).with_options(block=block)) == everything


@pytest.mark.parametrize("content", CONTENT)
@pytest.mark.parametrize("end", [b"\n", b""])
def test_blocks_do_not_depend_on_compression(tmp_path, content, end):
    text = CONTENT[content](100).encode().rstrip(b"\n") + end
    for block in (*range(50, 60), len(text) - 1, len(text), len(text) + 1):
        ends = []
        for compression in COMPRESSIONS:
            path = write(tmp_path / f"a.{content}", text, compression)
            ends.append([chunk.end for chunk in stream.read(path).with_options(block=block)])
        assert ends.count(ends[0]) == len(ends)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("content", CONTENT)
def test_resuming_after_any_chunk(tmp_path, content, compression):
    paths = [write(tmp_path / f"{i}.{content}", CONTENT[content](60, i), compression) for i in range(3)]
    source = stream.read(paths).with_options(block=300)
    chunks = list(source)
    assert len(chunks) > 15
    for i, chunk in enumerate(chunks):
        position = Position.from_dict(chunk.end.to_dict())
        rest = list(source.read_from(position))
        assert [c.end for c in rest] == [c.end for c in chunks[i + 1 :]]
        assert rows_of(rest) == rows_of(chunks[i + 1 :])


@pytest.mark.parametrize("format", ["arrow", "arrow.gz", "parquet"])
def test_resuming_columns(tmp_path, format, monkeypatch):
    monkeypatch.setattr("sureline.stream.formats.arrow.PIECE", 300)
    path = columnar(tmp_path, format.removesuffix(".gz"))
    if format.endswith(".gz"):
        path = write(tmp_path / "b.arrow", path.read_bytes(), ".gz")
    source = stream.read([path, path])
    chunks = list(source)
    assert len(chunks) > 10
    assert len(rows_of(chunks)) == 6000
    for i in range(0, len(chunks), 1 + len(chunks) // 12):
        rest = list(source.read_from(chunks[i].end))
        assert [c.end for c in rest] == [c.end for c in chunks[i + 1 :]]
        assert rows_of(rest) == rows_of(chunks[i + 1 :])


def test_resuming_where_there_is_nothing(tmp_path):
    for path in (
        write(tmp_path / "a.svm", "1 1:1\n"),
        write(tmp_path / "b.svm", "1 1:1\n", ".gz"),
        columnar(tmp_path, "arrow", 5),
        columnar(tmp_path, "parquet", 5),
    ):
        with pytest.raises(DataError, match="there are only"):
            list(stream.read(path).read_from(Position(0, 100_000, 7, 7)))
        with pytest.raises(ValueError, match="file number 2"):
            list(stream.read(path).read_from(Position(2, 0)))
        assert list(stream.read(path).read_from(Position(1, 0))) == []


@pytest.mark.parametrize("n", range(1, 10))
@pytest.mark.parametrize("content", ["svm", "vw", "csv", "arrow", "parquet", "mixed"])
def test_shards_have_exactly_the_rows(tmp_path, content, n):
    if content in ("arrow", "parquet"):
        paths = [columnar(tmp_path, content)]
    elif content == "mixed":
        paths = [write(tmp_path / f"{i}.svm", libsvm(40 * i, i), c) for i, c in enumerate(COMPRESSIONS)]
        paths.append(write(tmp_path / "last.svm", libsvm(77).rstrip("\n")))
    else:
        paths = [write(tmp_path / f"{i}.{content}", CONTENT[content](40 * i, i)) for i in range(4)]
    source = stream.read(paths)
    shards = pickle.loads(pickle.dumps(source.shards(n)))
    assert len(shards) == n
    assert sum(shard.size for shard in shards) == source.size
    assert rows_of([chunk for shard in shards for chunk in shard]) == rows_of(source)
    again = [piece for shard in shards for piece in shard.shards(3)]
    assert rows_of([chunk for shard in again for chunk in shard]) == rows_of(source)
    for shard in shards:
        chunks = list(shard.with_options(block=500))
        for i, chunk in enumerate(chunks[:3]):
            assert rows_of(shard.with_options(block=500).read_from(chunk.end)) == rows_of(chunks[i + 1 :])
        assert shard.progress in (0, 1)


def test_shards_cut_at_every_byte(tmp_path):
    text = "1 1:1\n\n# x\n-1 2:2 3:3\n1\n2 4:4"
    source = stream.read(write(tmp_path / "a.svm", text))
    everything = rows_of(source)
    for n in range(1, len(text) + 5):
        shards = [rows_of(shard) for shard in source.shards(n)]
        assert [row for shard in shards for row in shard] == everything
        starts = [0, 11, 22, 24]  # of the rows
        bounds = [len(text) * i // n for i in range(n + 1)]
        expected = [sum(low <= start < high for start in starts) for low, high in pairwise(bounds)]
        assert [len(shard) for shard in shards] == expected


def test_a_shard_knows_the_lines_of_the_file(tmp_path):
    lines = ["1 1:1"] * 100
    lines[80] = "1 x"
    source = stream.read(write(tmp_path / "a.svm", "\n".join(lines)))
    errors = [outcome(shard)[1] for shard in source.shards(3)]
    assert errors[:2] == [None, None]
    assert errors[2].startswith("81:")
    pa = pytest.importorskip("pyarrow")
    table = pa.table(
        {"indices": [[1]] * 100, "values": [[1.0]] * 80 + [[float("nan")]] + [[1.0]] * 19, "label": [1] * 100}
    )
    with pa.ipc.new_file(tmp_path / "a.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=10)
    errors = [outcome(shard)[1] for shard in stream.read(tmp_path / "a.arrow").shards(3)]
    assert errors[:2] == [None, None]
    assert errors[2].startswith("None:None: row 81: ")
    for n in (0, 1.5, True):
        with pytest.raises(ValueError, match="shards"):
            source.shards(n)


# Nothing is left behind


def left_over() -> tuple[int, int]:
    gc.collect()
    return threading.active_count(), len(os.listdir("/proc/self/fd"))


def assert_nothing_more_than(before: tuple[int, int]) -> None:
    """Others may close theirs in the meantime."""
    threads, files = left_over()
    assert threads <= before[0]
    assert files <= before[1]


@pytest.fixture
def files(tmp_path):
    """One of each kind. What others imported and made is left out of the collections, which are many."""
    gc.collect()
    gc.freeze()
    yield [
        *(write(tmp_path / "a.svm", libsvm(4000), compression) for compression in COMPRESSIONS),
        write(tmp_path / "a.csv", csv(4000)),
        columnar(tmp_path, "arrow"),
        columnar(tmp_path, "parquet"),
    ]
    gc.unfreeze()


def test_nothing_is_left_at_the_end(files):
    before = left_over()
    for path in files:
        source = stream.read(path).with_options(block=1 << 14)
        list(source)
        source.head(3)
        source.shards(3)
        for _ in source:
            break
        iter(source)
        next(iter(source))
        chunks = iter(source)
        next(chunks)
        with pytest.raises(ZeroDivisionError):
            chunks.throw(ZeroDivisionError)
    del chunks, source
    assert_nothing_more_than(before)


def test_nothing_is_left_after_an_error(tmp_path, files):
    before = left_over()
    for path in files:
        data = path.read_bytes()
        path.write_bytes(data[: len(data) // 2] + b'\n\xff "x:\n' + data[len(data) // 2 :])
        try:
            source = stream.read(path).with_options(block=1 << 14)
        except DataError:
            continue
        with pytest.raises(DataError):
            list(source)
        os.unlink(path)
        with pytest.raises(FileNotFoundError):
            list(source)
    source = None
    assert_nothing_more_than(before)


def cycles_of(path):
    """The number of objects that only the garbage collector could free after a whole reading."""
    gc.collect()
    gc.disable()
    try:
        with contextlib.suppress(DataError):  # a damaged table is refused when its columns are looked at
            outcome(stream.read(path).with_options(block=1 << 14))
        return gc.collect()
    finally:
        gc.enable()


def test_an_error_keeps_nothing_alive(files):
    """No cycles, which would hold large buffers until the garbage collector runs."""
    for path in files:
        data = path.read_bytes()
        for content in (
            data,
            data[: len(data) // 2],
            data[: len(data) // 2] + b'\n\xff "x:\n' + data[len(data) // 2 :],
        ):
            path.write_bytes(content)
            # What is imported on the way leaves cycles of its own, once: ours would come back each time.
            assert 0 in [cycles_of(path) for _ in range(3)]


def test_leaving_in_the_middle(tmp_path):
    """The interpreter goes away while workers are at work, in whatever way."""
    path = write(tmp_path / "a.svm", libsvm(30_000))
    reading = f"iter(stream.read({str(path)!r}).with_options(block=9999))"
    start = f"from sureline import stream; chunks = {reading}; next(chunks); "
    for end, status in (("", 0), ("raise SystemExit(3)", 3), ("1 / 0", 1)):
        done = subprocess.run([sys.executable, "-c", start + end], capture_output=True, timeout=60)
        assert done.returncode == status


def test_a_file_that_cannot_be_read(tmp_path):
    """A folder opens like a file, and then does not read like one."""
    source = stream.read(write(tmp_path / "a.svm", "1 1:1\n", ".gz"))
    os.unlink(tmp_path / "a.svm.gz")
    os.mkdir(tmp_path / "a.svm.gz")
    with pytest.raises(IsADirectoryError, match=r"a.svm.gz"):
        list(source)


def test_stopping_while_a_pipe_is_silent(tmp_path):
    """The writer neither writes nor closes; the consumer has had enough."""
    before = left_over()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    keep = os.open(fifo, os.O_RDWR)
    os.write(keep, b"1 1:1\n" * 100)
    chunks = iter(stream.read(fifo, format="libsvm").with_options(block=60))
    assert len(next(chunks)) == 10
    chunks.close()  # which would wait for ever
    os.close(keep)
    del chunks
    assert_nothing_more_than(before)


def test_a_slow_consumer_holds_little(tmp_path):
    """Workers wait when there is enough to do: a pipe is not read far ahead."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    written = 0

    def write_forever():
        nonlocal written
        with contextlib.suppress(BrokenPipeError), fifo.open("wb", buffering=0) as file:
            while True:
                written += file.write(b"1 1:1\n" * 1000)

    writer = threading.Thread(target=write_forever)
    writer.start()
    block = 1 << 16
    chunks = iter(stream.read(fifo, format="libsvm", threads=2).with_options(block=block))
    try:
        for _ in range(10):
            end = next(chunks).end.offset
            time.sleep(0.05)
            assert written <= end + 9 * block + (1 << 16) + 6000, "eight ready or at work, one begun, what a pipe holds"
    finally:
        chunks.close()
        writer.join()

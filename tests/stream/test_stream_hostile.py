"""Any bytes end in rows or in one clear error, soon."""

import bz2
import gzip
import lzma
import random
import time

import numpy as np
import pytest
from stream_files import COMPRESSIONS, csv, libsvm, vw, write

from sureline import stream
from sureline.stream import DataError
from sureline.stream.decompress import zstd_module
from sureline.stream.options import FORMATS

MEGABYTE = 1_000_000
PLAIN = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zst": zstd_module().open}  # Python's own readers

ALPHABETS = {
    "bytes": bytes(range(256)),
    "newlines": b"\n",
    "quotes": b'"',
    "quotes and newlines": b'"\n',
    "commas": b",",
    "tabs": b"\t",
    "brackets": b"[",
    "braces": b'{"a":',
    "numbers": b"0123456789:. \n",
    "digits": b"9",
    "words": b"ab1:|\t,\n' ",
    "zeros": b"\0",
    "json": b'{}[]",:1a\n',
}

MAGIC = {
    "gz": COMPRESSIONS[".gz"](b"1 1:1\n")[:10],
    "zst": COMPRESSIONS[".zst"](b"1 1:1\n")[:5],
    "bz2": COMPRESSIONS[".bz2"](b"1 1:1\n")[:10],
    "xz": COMPRESSIONS[".xz"](b"1 1:1\n")[:12],
    "arrow": b"ARROW1\0\0",
    "stream": b"\xff\xff\xff\xff",
    "parquet": b"PAR1",
}

HEADER = {"csv": b"label,a\n", "tsv": b"label\ta\n"}


def read_all(path, seconds: float = 2, **options) -> None:
    """Read to the end or the first error, in so much processor time; what comes out is fit for the learning loops."""
    start = time.process_time()
    try:
        for chunk in stream.read(path, **options):
            assert np.isfinite(chunk.values).all()
            assert chunk.rows().n_rows == len(chunk)
    except (DataError, ImportError) as error:
        assert len(str(error)) < 2000
        assert "\n" not in str(error)
    assert time.process_time() - start < seconds


def some(alphabet: bytes, n: int, seed: int = 0) -> bytes:
    draw = np.random.default_rng(seed)
    return np.frombuffer(alphabet, np.uint8)[draw.integers(0, len(alphabet), n)].tobytes()


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("alphabet", ALPHABETS)
def test_a_megabyte_of_anything(tmp_path, format, alphabet):
    path = tmp_path / "data"
    if alphabet in ("braces",):
        data = ALPHABETS[alphabet] * (MEGABYTE // len(ALPHABETS[alphabet]))
    else:
        data = some(ALPHABETS[alphabet], MEGABYTE)
    path.write_bytes(HEADER.get(format, b"") + data)
    read_all(path, format=format)
    read_all(path, format=format, errors="skip", max_error_share=1)


@pytest.mark.parametrize("magic", MAGIC)
def test_a_megabyte_of_anything_that_begins_well(tmp_path, magic):
    path = tmp_path / "data.svm"
    path.write_bytes(MAGIC[magic] + some(bytes(range(256)), MEGABYTE))
    read_all(path)
    path.write_bytes(MAGIC[magic] * (MEGABYTE // len(MAGIC[magic])))
    read_all(path)


@pytest.mark.parametrize("compression", [".gz", ".bz2", ".xz", ".zst"])
def test_many_small_members_and_large_content(tmp_path, compression):
    compress = COMPRESSIONS[compression]
    path = tmp_path / "a.svm"
    empty = compress(b"")
    for content in (empty * (MEGABYTE // len(empty)), compress(b"1 1:1\n") * 5000):
        path.write_bytes(content)
        # Each member takes a decompressor of its own, and a start without rows is read twice, to recognise the format.
        # Python's own readers show what that costs on this machine now.
        start = time.process_time()
        with PLAIN[compression](path) as file:
            file.read()
        read_all(path, seconds=max(2, 4 * (time.process_time() - start)))


def test_what_unpacks_to_very_much_is_refused_in_little_memory(tmp_path):
    """A line that has no end: 200 MB of zeros in a few KB."""
    for compression in (".gz", ".zst"):
        path = write(tmp_path / "a.svm", b"1 1:" + bytes(200_000_000), compression)
        start = time.process_time()
        with pytest.raises(DataError, match="longer than"):
            list(stream.read(path, max_line=1 << 20))
        assert time.process_time() - start < 1


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_damaged_columns(tmp_path, format):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    source = tmp_path / "whole.arrow"
    stream.convert(stream.read(write(tmp_path / "a.vw", vw(200)), collect_names=True), source)
    if format == "parquet":
        table = pa.ipc.open_file(source).read_all()
        source = tmp_path / "whole.parquet"
        parquet.write_table(table, source, row_group_size=50)
    data = source.read_bytes()
    draw = random.Random(0)
    path = tmp_path / f"a.{format}"
    for i in range(500):
        damaged = bytearray(data)
        if i % 3 == 0:
            damaged = damaged[: draw.randrange(len(data))]
        for _ in range(draw.randrange(1, 6)):
            if damaged:
                at = draw.randrange(len(damaged))
                damaged[at] = draw.choice([0, 1, 127, 128, 255, draw.randrange(256)])
        path.write_bytes(damaged)
        read_all(path, format=format, collect_names=True)


@pytest.mark.parametrize("content", [libsvm, vw, csv])
def test_damaged_text(tmp_path, content):
    data = content(60).encode()
    draw = random.Random(1)
    path = tmp_path / f"a.{content.__name__}"
    for _ in range(150):
        damaged = bytearray(data)
        for _ in range(draw.randrange(1, 9)):
            damaged[draw.randrange(len(damaged))] = (
                draw.choice(b'\0\n\r"\xff:| ,0') if draw.random() < 0.7 else draw.randrange(256)
            )
        path.write_bytes(damaged)
        read_all(path, errors="skip", max_error_share=1)

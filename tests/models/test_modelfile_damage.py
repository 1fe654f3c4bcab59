"""Damaged and foreign files: each is refused, with a reason, and at no cost."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from forge import canonical, put_together, reason_for, sealed, take_apart
from peak_memory import PEAK

from sureline.modelfile import ModelFileError, read_model, write_model
from sureline.models.file import container as _container
from sureline.models.numbers import Shape
from sureline.models.state import State

ROOT = Path(__file__).parents[2]
GOLDEN = [(Path(__file__).parent / "golden" / f"{name}.sureline").read_bytes() for name in ("sparse", "full")]
SPARSE, FULL = 0, 1


# -- damage --------------------------------------------------------------------------------------------------


def damaged(data: bytes, rng: random.Random) -> bytes:
    """The file with something changed in it."""
    at, other = rng.randrange(len(data)), rng.randrange(len(data))
    n = min(rng.choice([1, 1, 2, 8, 64, 1000]), len(data) - at)
    header = 8 + int.from_bytes(data[:8], "little")
    flipped = bytes([data[at] ^ 1 << rng.randrange(8)])
    match rng.randrange(12):
        case 0 | 1 | 2:  # a bit
            return data[:at] + flipped + data[at + 1 :]
        case 3:  # a byte
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 4:  # the end is missing
            return data[:at]
        case 5:  # something is missing
            return data[:at] + data[at + n :]
        case 6:  # something is there twice
            return data[: at + n] + data[at:]
        case 7:  # something came in between
            return data[:at] + rng.randbytes(n) + data[at:]
        case 8:  # two bytes changed places
            changed = bytearray(data)
            changed[at], changed[other] = changed[other], changed[at]
            return bytes(changed)
        case 9:  # zeros, as after a power failure
            return data[:at] + bytes(n) + data[at + n :]
        case 10:  # a character of the header
            at = rng.randrange(8, header)
            return data[:at] + rng.choice(b' {}[]",:0123456789abcdef\\').to_bytes(1, "little") + data[at + 1 :]
        case _:  # the beginning is missing
            return data[at:]


def test_ten_thousand_damaged_files_are_all_refused(tmp_path: Path) -> None:
    rng, path, n = random.Random(0), tmp_path / "m", 0
    while n < 10_000:
        original = GOLDEN[n % len(GOLDEN)]
        data = damaged(original, rng)
        if data != original:
            assert reason_for(data, path) is not None, n
            n += 1


@pytest.mark.parametrize("data", GOLDEN, ids=["sparse", "full"])
def test_every_byte_counts(data: bytes, tmp_path: Path) -> None:
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << at % 8
        assert reason_for(bytes(changed), tmp_path / "m") is not None, at
        assert reason_for(data[:at], tmp_path / "m") is not None, at
    assert reason_for(data, tmp_path / "m") is None


def test_a_header_that_means_the_same_is_refused(tmp_path: Path) -> None:
    (data,) = GOLDEN[:1]
    start = 8 + int.from_bytes(data[:8], "little")

    def with_header(change: Callable[[str], str]) -> bytes:
        text = change(data[8:start].decode().rstrip(" ")).replace("END", str(len(data) - start))
        text += " " * (-len(text) % 8)
        return sealed(len(text).to_bytes(8, "little") + text.encode() + data[start:])

    assert with_header(str) == data
    more = ',"extra.z":{"dtype":"U8","shape":[0],"data_offsets":[END,END]}}'  # an array more is no other form
    assert reason_for(with_header(lambda text: text[:-1] + more), tmp_path / "m") is None
    changes: list[Callable[[str], str]] = [
        lambda text: text + " " * 8,
        lambda text: text[:-1] + " }",
        lambda text: text.replace('"dtype":', '"dtype": ', 1),
        lambda text: re.sub(r'("dtype":"\w+"),("shape":\[[\d,]*\])', r"\2,\1", text, count=1),
        lambda text: text.replace('"shape":[', '"shape":[0', 1),
        lambda text: text.replace('\\"kind\\"', "\\u0022kind\\u0022", 1),
        lambda text: text.replace('"sureline":', '"sureline":"","sureline":'),
        lambda text: text.replace('"F32"', '"f32"', 1),
        lambda text: text[:-1] + ',"x":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}',
        lambda text: text[:-1] + text[text.rindex(',"extra.names"') : -1] + "}",  # the last one twice
        lambda text: text[:-1] + ',"extra.names":{"dtype":"U8","shape":[0],"data_offsets":[END,END]}}',  # a name twice
        lambda text: text[:-1] + ',"extra.z":{"dtype":"F64","shape":[0],"data_offsets":[END,END]}}',  # larger elements
        lambda text: text[:-1] + ',"extra.a":{"dtype":"U8","shape":[0],"data_offsets":[END,END]}}',  # not in order
        lambda text: text.replace('"sureline":', '"other":', 1),
        lambda text: text.replace("}", "\u00a0}", 1),
    ]
    for i, change in enumerate(changes):
        assert reason_for(with_header(change), tmp_path / "m") == "its header is not what a model file has", i


def test_what_is_no_model_file(tmp_path: Path) -> None:
    data = GOLDEN[SPARSE]
    path = tmp_path / "m"
    header = int.from_bytes(data[:8], "little")
    assert reason_for(b"", path) == "is empty"
    for other in (b"x", b"PK\x03\x04" + bytes(200), bytes(200), data[1:], data[:98], b"\x80\x04" * 100):
        assert reason_for(other, path) == "is not a sureline model file"
    for length in (0, 96, 104, header + 1, header - 8, 1 << 26, (1 << 26) + 8, (1 << 64) - 8):
        changed = sealed(length.to_bytes(8, "little") + data[8:])
        assert str(reason_for(changed, path)).split(":")[0] in (
            "the length of its header is wrong",
            "is cut short",
            "its header is not what a model file has",
        )
    assert reason_for(data[:200], path) == "is cut short: it ends in its header, after 200 bytes"
    assert reason_for(data[:-1], path) == f"is cut short: it has {len(data) - 1} of {len(data)} bytes"
    assert reason_for(sealed(data + b"ab"), path) == "has 2 bytes too many at its end"
    assert (
        reason_for(data[:-1] + b"\xff", path) == "has been changed or damaged: its checksum does not match its contents"
    )
    upper = data[:35] + data[35:99].upper() + data[99:]
    assert reason_for(upper, path) == "has been changed or damaged: its checksum does not match its contents"
    os.mkfifo(tmp_path / "fifo")
    for other_path, reason in [(tmp_path, "is a folder"), (tmp_path / "fifo", "is not a regular file")]:
        with pytest.raises(ModelFileError, match=reason):
            read_model(other_path)
    with pytest.raises(ModelFileError, match="is not a regular file"):
        read_model("/dev/zero")


def test_a_file_that_becomes_shorter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m"
    path.write_bytes(GOLDEN[SPARSE])
    parsed = _container._parsed

    def shorten(header: bytes) -> Any:
        os.truncate(path, len(GOLDEN[SPARSE]) - 100)
        return parsed(header)

    monkeypatch.setattr(_container, "_parsed", shorten)
    with pytest.raises(ModelFileError, match="became shorter while it was read"):
        read_model(path)


# -- what a file may cost ------------------------------------------------------------------------------------


def test_nothing_is_allocated_that_is_not_in_the_file(tmp_path: Path) -> None:
    metadata, tensors = take_apart(GOLDEN[FULL])
    giant = put_together(canonical(metadata), tensors).replace(b'"shape":[3,21]', b'"shape":[3,21000000000]')
    wide_metadata = {**metadata, "state": {**metadata["state"], "n_columns": 1 << 30}}
    no_room = ('{"__metadata__":{"sha256":"' + "0" * 64 + '","sureline":"{}"},"weights":{"dtype":"F64",'
               '"shape":[1000000000000],"data_offsets":[0,8000000000000]}}').encode()  # fmt: skip
    no_room += b" " * (-len(no_room) % 8)
    long_header = (1 << 26).to_bytes(8, "little") + GOLDEN[FULL][8:]
    for data in (
        giant,
        put_together(canonical(wide_metadata), tensors),
        sealed(len(no_room).to_bytes(8, "little") + no_room),
        long_header,
    ):
        tracemalloc.start()
        reason = reason_for(data, tmp_path / "m")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert reason is not None
        assert peak < 1_000_000


def test_empty_arrays_of_any_shape(tmp_path: Path) -> None:
    metadata, tensors = take_apart(GOLDEN[FULL])
    for shape in ([0], [0, 10**18], [0, 10**18, 10**18], [10**9, 10**9, 0, 10**9], [0] * 8, [0] * 9):
        tensors["extra.empty"] = "F64", shape, b""
        reason = reason_for(put_together(canonical(metadata), tensors), tmp_path / "m")
        assert (reason is None) == (shape in ([0], [0] * 8))


def test_a_megabyte_takes_no_time(tmp_path: Path) -> None:
    metadata, tensors = take_apart(GOLDEN[SPARSE])
    many = {f"extra.{i}": ("U8", [0], b"") for i in range(15_000)}
    texts = [canonical({**metadata, "extra": {"a": [[]] * 330_000}}), canonical({**metadata, "labels": [0] * 500_000})]
    texts += ['"' + "\\" * 1_000_000, "[" * 1_000_000, "1" * 1_000_000, '{"a":' * 200_000]
    files = [put_together(text, tensors) for text in texts]
    files += [put_together(canonical(metadata), {**tensors, **many}), bytes(1_000_000), GOLDEN[0] + bytes(1_000_000)]
    files += [put_together(canonical(metadata), {**tensors, "extra.x": ("U8", [1_000_000], bytes(1_000_000))})]
    for i, data in enumerate(files):
        started = time.process_time()
        reason_for(data, tmp_path / "m")
        assert time.process_time() - started < 2, i


def test_a_model_wider_than_the_addresses(tmp_path: Path) -> None:
    script = (
        PEAK + "import resource, sys\n"
        "from sureline.modelfile import ModelFileError, read_model\n"
        "print(read_model(sys.argv[1]).state.n_columns)\n"
        "print(peak() < 4 << 10)\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.RLIM_INFINITY))\n"
        "try: read_model(sys.argv[1])\n"
        "except ModelFileError as error: print(error.reason)\n"
    )
    wide = State(Shape.diagonal, "float64", 5, True)
    path = tmp_path / "m"
    write_model(path, class_name="AROW", parameters={}, labels=[0, 1], state=wide)
    metadata, tensors = take_apart(path.read_bytes())
    metadata["state"]["n_columns"] = 1 << 31
    path.write_bytes(put_together(canonical(metadata), tensors))
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout == f"{1 << 31}\nTrue\nneeds more memory than there is\n"

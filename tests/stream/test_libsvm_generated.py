"""LIBSVM text by the thousand: Python's float() and scikit-learn's loader to the bit, cut anywhere, and any bytes."""

import io
import random
import struct
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from libsvm import parse, rows_of, same
from sklearn.datasets import load_svmlight_file


def decimal(rng: random.Random) -> str:
    """A number as somebody might write it, or nobody would."""
    kind = rng.randrange(12)
    if kind < 2:
        return f"{rng.random():.6f}"
    if kind == 2:
        return f"{rng.gauss(0, 100):.6g}"
    if kind == 3:
        return repr(rng.gauss(0, 1))
    if kind == 4:
        bits = rng.getrandbits(64)
        x = struct.unpack("<d", struct.pack("<Q", bits))[0]
        return repr(x) if x - x == 0 else "1"
    if kind == 5:
        return str(rng.getrandbits(rng.randrange(1, 90)))
    if kind == 6:
        return f"{rng.choice('+-')}{rng.getrandbits(rng.randrange(1, 70))}.{rng.getrandbits(rng.randrange(1, 70))}"
    if kind == 7:
        return (
            f"{rng.getrandbits(rng.randrange(1, 70))}{rng.choice('eE')}{rng.choice(['', '+', '-'])}{rng.randrange(30)}"
        )
    if kind == 8:
        return f"{rng.randrange(10 ** rng.randrange(1, 30))}.{rng.randrange(1000)}e{rng.randint(-345, 330)}"
    if kind == 9:
        return "0." + "0" * rng.randrange(340) + str(rng.getrandbits(rng.randrange(1, 64)))
    if kind == 10:  # between two doubles, or just beside the middle
        m, e = rng.getrandbits(53) | 1 << 52, rng.randint(-80, 40)
        middle = 2 * m + 1
        digits, exponent = (middle << e, 0) if e >= 0 else (middle * 5**-e, e)
        return f"{digits * 10 + rng.choice([-1, 0, 0, 1])}e{exponent - 1}"
    return rng.choice(["0", "-0", ".5", "5.", "-.25", "007", "1e22", "1e23", "9007199254740993", "1e-400", "5e-324"])


@pytest.fixture(scope="module")
def decimals() -> list[str]:
    rng = random.Random(5)
    return [decimal(rng) for _ in range(200_000)]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numbers_are_those_of_python(decimals: list[str], dtype: str) -> None:
    with np.errstate(over="ignore"):
        expected = np.array([float(x) for x in decimals]).astype(dtype)
    finite = np.isfinite(expected)
    assert 100 < np.sum(~finite) < 20_000
    # A line each, and those that are too large are refused.
    chunk = parse("".join(f"1 7:{x}\n" for x in decimals).encode(), dtype, skip_faults=True)
    assert chunk.n_faults == np.sum(~finite)
    assert chunk.values.dtype == dtype
    assert chunk.values.tobytes() == expected[finite].tobytes()
    # Many to a line.
    kept = [x for x, is_finite in zip(decimals, finite.tolist(), strict=True) if is_finite]
    text = "".join(
        "1 " + " ".join(f"{i}:{x}" for i, x in enumerate(kept[k : k + 150])) + "\n" for k in range(0, len(kept), 150)
    )
    assert parse(text.encode(), dtype).values.tobytes() == expected[finite].tobytes()


def test_very_long_numbers_are_those_of_python() -> None:
    numbers = [
        "0." + "0" * 5000 + "1e5001",
        "1" + "0" * 5000 + "e-5000",
        "9" * 3000 + "e-2990",
        "9007199254740993" + "0" * 900,
        "9007199254740992." + "9" * 900,
        "9007199254740993." + "0" * 900 + "1",
        "2.4703282292062327208" + "2" * 900 + "e-324",
        "0e" + "9" * 400,
        "1e-" + "9" * 400,
        "0" * 3000 + "5",
    ]
    numbers = [x for x in numbers if np.isfinite(float(x))]
    assert len(numbers) == 9
    chunk = parse("".join(f"1 1:{x}\n" for x in numbers).encode())
    assert chunk.values.tobytes() == np.array([float(x) for x in numbers]).tobytes()
    chunk = parse(b"1 1:1e" + b"9" * 400)
    assert chunk.faults == [(1, 5, "the value '1e" + "9" * 38 + "...' is too large for float64")]


def valid_file(rng: random.Random) -> bytes:
    """A small file with all that scikit-learn reads too: so no text for labels, and ascending indices."""
    newline = rng.choice(["\n", "\n", "\r\n"])
    plain = rng.random() < 0.5  # one shape of number for the whole file, as most files have
    blank = " " if plain else rng.choice([" ", "  ", "\t", " \t"])
    lines = []
    for _ in range(rng.randint(1, 5)):
        kind = rng.random()
        if kind < 0.05 and not plain:
            lines.append(rng.choice(["", " ", "\t", "# comment 1:2", " # 1 2:3", "#"]))
            continue
        line = rng.choice(["1", "-1", "+1", "0", "2", "1.0", "-3.5", "1e2", "0001"])
        if rng.random() < 0.1:
            line += f"{blank}qid:{rng.randint(0, 99)}"
        index = -1
        for _ in range(rng.randrange(1, 25) if plain else rng.randrange(12)):
            index += rng.randint(1, rng.choice([1, 2, 100, 10_000, 1_000_000, 30_000_000]))
            if plain:
                value = rng.choice(["1", f"{rng.random():.6f}", f"{rng.gauss(0, 1):.6g}", str(rng.randrange(300))])
            else:
                value = decimal(rng)
                while not np.isfinite(float(value)):
                    value = decimal(rng)
            line += f"{blank}{'0' * rng.randrange(3) if not plain else ''}{index}:{value}"
        if not plain:
            line = rng.choice(["", "", " "]) + line + rng.choice(["", "", " ", "\t", " # note", "#"])
        lines.append(line)
    if not any(line.split("#")[0].strip() for line in lines):
        lines.append("1 0:1")
    return (newline.join(lines) + rng.choice([newline, newline, ""])).encode()


def test_twenty_thousand_files_as_scikit_learn_reads_them() -> None:
    rng = random.Random(7)
    n_values = 0
    for _ in range(20_000):
        text = valid_file(rng)
        chunk = parse(text)
        assert chunk.n_faults == 0, (text, chunk.faults)
        X, y = load_svmlight_file(io.BytesIO(text), dtype=np.float64, zero_based=True)
        assert chunk.values.tobytes() == X.data.tobytes(), text
        np.testing.assert_array_equal(chunk.indices, X.indices)
        np.testing.assert_array_equal(chunk.indptr, X.indptr)
        labels = [float(name) for name in chunk.label_names]
        assert [labels[code] for code in chunk.labels.tolist()] == y.tolist()
        n_values += len(X.data)
    assert n_values > 100_000


def test_cut_at_every_byte() -> None:
    rng = random.Random(3)
    text = b"".join(valid_file(rng) + b"\r\n# x\n\n" for _ in range(40))
    text += b"spam qid:1 9:1 3:2 # end\r\nham 1:x\n\n1 5:5 5:5\n-1 7:0.5"
    whole = parse(text, skip_faults=True)
    rows = rows_of(whole)
    assert (whole.n_faults, len(rows) > 60, len(text) > 5000) == (2, True, True)
    one, last = whole, -1
    for at in range(len(text) + 1):
        cut = text.rfind(b"\n", 0, at) + 1
        # A reader holds back what follows the last newline; the others do not depend on it.
        short = parse(text[:at], skip_faults=True)
        if cut == last:
            assert short.n_lines == one.n_lines + 1
            assert short.values[: len(one.values)].tobytes() == one.values.tobytes()
            assert short.indptr[: len(one.indptr)].tobytes() == one.indptr.tobytes()
            continue
        one, two, last = parse(text[:cut], skip_faults=True), parse(text[cut:], skip_faults=True), cut
        assert same(short, one)
        assert rows_of(one) + rows_of(two) == rows
        assert one.n_lines + two.n_lines == whole.n_lines
        faults = one.faults + [(line + one.n_lines, column, reason) for line, column, reason in two.faults]
        assert faults == whole.faults


@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [b"1", b"-1", b" ", b":", b"12:0.5", b"7:1", b"3:-2.25 ", b"\n", b"\r\n", b"#", b"\t", b"qid:1", b"."]
        )
        | st.binary(max_size=3),
        max_size=60,
    ).map(b"".join),
    st.sampled_from(["float32", "float64"]),
    st.booleans(),
)
def test_any_bytes_give_valid_rows_or_faults(text: bytes, dtype: str, sum_duplicates: bool) -> None:
    chunk = parse(text, dtype, sum_duplicates=sum_duplicates, skip_faults=True)
    indptr = chunk.indptr
    assert (indptr[0], indptr[-1], len(indptr)) == (0, len(chunk.values), chunk.n_rows + 1)
    assert np.all(np.diff(indptr) >= 0)
    assert np.all(np.isfinite(chunk.values))
    assert np.all(chunk.indices >= 0)
    for begin, end in pairwise(indptr):
        assert np.all(np.diff(chunk.indices[begin:end]) > 0)
    assert chunk.n_faults == len(chunk.faults) or chunk.n_faults > 20 == len(chunk.faults)
    lines = text.split(b"\n")
    assert all(1 <= column <= len(lines[line - 1]) + 1 for line, column, _ in chunk.faults)

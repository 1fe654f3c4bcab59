"""The hash, and rows of names: columns and values of scikit-learn's FeatureHasher."""

import mmh3
import numpy as np
import pytest
from hashed_rows import NO_COLUMNS, hashed
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher

from sureline._native import _core
from sureline.stream.schema import Column, Schema

# Its hash is -2^31, the one number whose magnitude an int32 does not hold.
LEAST_HASH = "f523b4766"

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Sums of few of these are exact, so that their order, which SciPy leaves open, does not show.
numbers = st.one_of(st.integers(-1000, 1000), st.integers(-64, 64).map(lambda k: k / 8), st.just(0), st.just(-0.0))
dicts = st.dictionaries(names, numbers, max_size=40)


def assert_same(rows, bits, dtype):
    chunk = hashed(rows, bits, dtype)
    X = FeatureHasher(2**bits, dtype=np.dtype(dtype)).transform(rows)
    assert X.dtype == chunk.values.dtype == dtype
    np.testing.assert_array_equal(chunk.indptr, X.indptr)
    np.testing.assert_array_equal(chunk.indices, X.indices)
    np.testing.assert_array_equal(chunk.values.view(np.uint8), X.data.view(np.uint8))


@given(st.binary(max_size=40), st.integers(0, 2**32 - 1))
def test_the_hash_is_that_of_mmh3(text, seed):
    assert _core.murmur3(text, seed) == mmh3.hash(text, seed)


@pytest.mark.parametrize("length", [*range(20), 1000, 1001, 1002, 1003])
def test_the_hash_at_every_length(length):
    text = bytes((37 * i + 200) % 256 for i in range(length))
    assert _core.murmur3(text) == mmh3.hash(text, 0)


@given(st.lists(dicts, min_size=1, max_size=4), st.sampled_from([1, 4, 10, 20, 30]))
def test_numbers_by_name(rows, bits):
    assert_same(rows, bits, "float64")
    assert_same(rows, bits, "float32")


@given(st.lists(st.dictionaries(names, names.map("t{}".format), max_size=40), min_size=1, max_size=4))
def test_texts_by_name(rows):
    stripped = [{name: text.strip(" \t") for name, text in row.items()} for row in rows]
    assert_same(stripped, 20, "float32")


@pytest.mark.parametrize("n", [1, 10, 16, 17, 100, 1000, 5000])
@pytest.mark.parametrize("bits", [1, 6, 12, 18, 30])
def test_long_rows(n, bits):
    rng = np.random.default_rng(n)
    rows = [{f"name {rng.integers(10**9)}": float(rng.integers(-99, 99)) for _ in range(n)} for _ in range(3)]
    assert_same(rows, bits, "float64")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_bit_of_a_value(value):
    assert_same([{"a": value}], 20, "float64")


@pytest.mark.parametrize("bits", [1, 10, 20, 30])
def test_the_least_hash(bits):
    assert mmh3.hash(LEAST_HASH, 0) == -(2**31)
    assert_same([{LEAST_HASH: 2.0}], bits, "float64")
    assert hashed([{LEAST_HASH: 2.0}], bits).indices.tolist() == [0]


def test_what_a_chunk_of_them_says():
    chunk = hashed([{"a": 1}, {}, {"a": 0}], 20, "float32")
    assert isinstance(chunk, _core.Chunk)
    assert chunk.indptr.tolist() == [0, 1, 1, 1]
    assert chunk.labels.tolist() == [-1, -1, -1]
    assert (chunk.label_names, chunk.weights, chunk.tags, chunk.names) == ([], None, None, None)
    assert chunk.n_columns == chunk.indices[0] + 1
    assert (chunk.n_faults, chunk.faults) == (0, [])
    assert hashed([], 20).n_rows == 0


def of_one_sign(bits, n):
    """Names that share a column and a sign."""
    by_place = {}
    for k in range(1 << 20):
        h = mmh3.hash(f"w{k}", 0)
        found = by_place.setdefault((abs(h) % 2**bits, h >= 0), [])
        found.append(f"w{k}")
        if len(found) == n:
            return found, 1 if h >= 0 else -1
    raise AssertionError


def test_sums_are_made_in_the_order_of_appearance():
    shared, sign = of_one_sign(10, 4)
    row = dict(zip(shared, [1e16, 1.0, -1e16, 1.0], strict=True))
    assert hashed([row], 10).values.tolist() == [sign * (((1e16 + 1.0) - 1e16) + 1.0)]


def test_a_sum_of_zero_stays():
    (one, other), _ = of_one_sign(10, 2)
    assert hashed([{one: 1.0, other: -1.0}], 10).values.tolist() == [0.0]


def test_a_sum_beyond_the_numbers_is_refused():
    (one, other), _ = of_one_sign(10, 2)
    chunk, _ = _core.encode_rows(NO_COLUMNS, [{one: 3e38, other: 3e38}], True, _core.Scalar.float32, 10)
    assert chunk.indptr.tolist() == [0, 0]
    ((_, _, reason),) = chunk.faults
    assert "add up to infinity" in reason


class Restless(int):
    """A number that takes the row to pieces when its digits are asked for."""

    def __new__(cls, change):
        made = super().__new__(cls, 7)
        made.change = change
        return made

    def __str__(self):
        self.change()
        return "7"


def test_rows_that_change_while_they_are_read():
    """What a row refers to stays until it is read, whatever code of the user's does meanwhile."""
    column = Schema((Column("a", "categorical"),)).table
    for length in range(30, 400):
        row, junk = {}, []

        def change(row=row, junk=junk):
            row.clear()
            junk += ["#" * n for n in range(30, 400) for _ in range(4)]

        row.update({"a": Restless(change), "b": "x" * length, "y" * length: 1.0})
        chunk, wrong = _core.encode_rows(column, [row], True, _core.Scalar.float64, 20, collect_names=1)
        assert wrong == [""]
        assert row == {}
        found = {mmh3.hash(name, 0, signed=False) for name in ("a=7", "b=" + "x" * length, "y" * length)}
        assert set(chunk.names.to_arrays()["hashes"].tolist()) == found


@pytest.mark.parametrize("bits", [0, -1, 31, 64])
def test_bad_bits(bits):
    for call in (
        lambda: hashed([{}], bits),
        lambda: _core.parse_vw(b"", _core.Scalar.float32, bits),
    ):
        with pytest.raises(ValueError, match=rf"^bits must be from 1 to 30. Got {bits} instead\.$"):
            call()


def test_bad_options():
    with pytest.raises(TypeError):
        _core.encode_rows(NO_COLUMNS, [{}], True, "float32", 20)
    with pytest.raises(ValueError, match="collect_names must be from 0 to 1000000"):
        hashed([{}], 20, collect_names=-1)
    with pytest.raises(TypeError):
        _core.encode_rows(NO_COLUMNS, {"a": 1}, True, _core.Scalar.float32, 20)

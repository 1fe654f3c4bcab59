"""The hash, and rows made of Python's dicts, lists and pairs: columns and values of scikit-learn's FeatureHasher."""

import decimal
import fractions
import math

import mmh3
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher

from sureline._native import _core

# Its hash is -2^31, the one number whose magnitude an int32 does not hold.
LEAST_HASH = "f523b4766"

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
# Sums of few of these are exact, so that their order, which SciPy leaves open, does not show.
numbers = st.one_of(
    st.integers(-1000, 1000), st.booleans(), st.integers(-64, 64).map(lambda k: k / 8), st.just(0), st.just(-0.0)
)
dicts = st.dictionaries(names, st.one_of(numbers, names), max_size=40)
pairs = st.lists(st.tuples(names, st.one_of(numbers, names)), max_size=40)


def assert_same(rows, kind, bits, dtype, signed):
    chunk = _core.hash_rows(rows, bits, _core.Scalar[dtype], signed=signed)
    X = FeatureHasher(2**bits, input_type=kind, dtype=np.dtype(dtype), alternate_sign=signed).transform(rows)
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


@given(st.lists(dicts, min_size=1, max_size=4), st.sampled_from([1, 4, 10, 20, 30]), st.booleans())
def test_dicts(rows, bits, signed):
    assert_same(rows, "dict", bits, "float64", signed)
    assert_same(rows, "dict", bits, "float32", signed)


@given(st.lists(pairs, min_size=1, max_size=4), st.sampled_from([1, 4, 20]), st.booleans())
def test_pairs(rows, bits, signed):
    assert_same(rows, "pair", bits, "float64", signed)


@given(st.lists(st.lists(names, max_size=40), min_size=1, max_size=4), st.sampled_from([1, 4, 20]), st.booleans())
def test_lists_of_strings(rows, bits, signed):
    assert_same(rows, "string", bits, "float32", signed)


@pytest.mark.parametrize("n", [1, 10, 16, 17, 100, 1000, 5000])
@pytest.mark.parametrize("bits", [1, 6, 12, 18, 30])
def test_long_rows(n, bits):
    rng = np.random.default_rng(n)
    rows = [{f"name {rng.integers(10**9)}": float(rng.integers(-99, 99)) for _ in range(n)} for _ in range(3)]
    assert_same(rows, "dict", bits, "float64", True)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_bit_of_a_value(value):
    assert_same([{"a": value}], "dict", 20, "float64", True)


@pytest.mark.parametrize("bits", [1, 10, 20, 30])
def test_the_least_hash(bits):
    assert mmh3.hash(LEAST_HASH, 0) == -(2**31)
    assert_same([{LEAST_HASH: 2.0}], "dict", bits, "float64", True)
    assert _core.hash_rows([{LEAST_HASH: 2.0}], bits, _core.Scalar.float64).indices.tolist() == [0]


def test_numbers_of_other_types():
    row = {
        "a": np.float32(0.1),
        "b": np.float64(0.1),
        "c": np.int8(-3),
        "d": np.bool_(True),
        "e": decimal.Decimal("0.1"),
        "f": fractions.Fraction(1, 3),
        "g": np.str_("text"),
        "h": 10**300,
    }
    assert_same([row], "dict", 20, "float64", True)


def test_a_row_may_be_a_tuple_and_mix_strings_and_pairs():
    chunk = _core.hash_rows([("a", ("b", 2.0)), ["a", ("b", 2.0)], {"a": 1, "b": 2}], 20, _core.Scalar.float64)
    assert chunk.n_rows == 3
    for array in (chunk.indices, chunk.values):
        first, second, third = np.split(array, 3)
        np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(first, third)


def test_what_a_chunk_of_them_says():
    chunk = _core.hash_rows([{"a": 1}, {}, {"a": 0}], 20, _core.Scalar.float32)
    assert isinstance(chunk, _core.Chunk)
    assert chunk.indptr.tolist() == [0, 1, 1, 1]
    assert chunk.labels.tolist() == [-1, -1, -1]
    assert (chunk.label_names, chunk.weights, chunk.tags, chunk.names) == ([], None, None, None)
    assert chunk.n_columns == chunk.indices[0] + 1
    assert (chunk.n_faults, chunk.faults) == (0, [])
    assert _core.hash_rows([], 20, _core.Scalar.float32).n_rows == 0


def test_sums_are_made_in_the_order_of_appearance():
    row = [("a", 1e16), ("a", 1.0), ("a", -1e16), ("a", 1.0)]
    sign = np.sign(mmh3.hash("a", 0))
    assert _core.hash_rows([row], 20, _core.Scalar.float64).values.tolist() == [sign * (((1e16 + 1.0) - 1e16) + 1.0)]


def test_a_sum_of_zero_stays():
    assert _core.hash_rows([[("a", 1.0), ("a", -1.0)]], 20, _core.Scalar.float64).values.tolist() == [0.0]


class Restless:
    """A value that changes the rows when it is asked for its number."""

    def __init__(self, change):
        self.change = change

    def __float__(self):
        self.change()
        return 1.0


def test_rows_that_change_while_they_are_read():
    row = {}
    row.update(a=Restless(lambda: row.update({str(i): 1.0 for i in range(1000)})), b=1.0)
    items = []
    items.extend([("a", Restless(lambda: items.extend(["b"] * 1000))), "c"])
    cleared = {}
    cleared.update(a=Restless(cleared.clear), b="text")
    rows = [{"a": Restless(lambda: rows.clear())}, {"b": 1.0}]
    for bad in ([row], [items], [cleared], rows):
        with pytest.raises(RuntimeError, match=r"^The rows changed while they were read\.$"):
            _core.hash_rows(bad, 20, _core.Scalar.float64)


class Wrong:
    def __float__(self):
        raise ZeroDivisionError("its own")


BAD = [
    ({"a": 1.0}, "b", TypeError, "row 1 must be a dict, a list of strings or a list of pairs, not str."),
    ({"a": 1.0}, 3, TypeError, "row 1 must be a dict, a list of strings or a list of pairs, not int."),
    ({}, {"good": 1.0, 2: 1.0}, TypeError, "row 1: the name of a feature must be a string, not int."),
    ({}, {2: "text"}, TypeError, "row 1: the name of a feature must be a string, not int."),
    ({}, {b"a": 1.0}, TypeError, "row 1: the name of a feature must be a string, not bytes."),
    ({}, {"x": None}, TypeError, "row 1: the value of feature 'x' must be a number or a string, not NoneType."),
    ({}, {"x": [1]}, TypeError, "row 1: the value of feature 'x' must be a number or a string, not list."),
    ({}, {"x": 1j}, TypeError, "row 1: the value of feature 'x' must be a number or a string, not complex."),
    ({}, {"x": b"y"}, TypeError, "row 1: the value of feature 'x' must be a number or a string, not bytes."),
    ({}, [3], TypeError, "row 1: an item of a list must be a string or a pair of a string and a value, not int."),
    (
        {},
        [("x",)],
        TypeError,
        "row 1: an item of a list must be a string or a pair of a string and a value, not tuple.",
    ),
    ({}, {"é": math.nan}, ValueError, r"row 1: the value of feature '\xe9' must be a finite number."),
    ({}, {"x": -math.inf}, ValueError, "row 1: the value of feature 'x' must be a finite number."),
    ({}, {"x": 10**400}, ValueError, "row 1: the value of feature 'x' is out of range."),
    ({}, {"x": 1e39}, ValueError, "row 1: the value of feature 'x' is out of range."),
    ({}, [("x", 3e38), ("x", 3e38)], ValueError, "row 1: the values that share column 6939 add up to infinity."),
    ({}, {"\ud800": 1.0}, ValueError, r"row 1: the name '\ud800' has a lone surrogate and is no UTF-8."),
    ({}, {"x": "\udfff"}, ValueError, r"row 1: the value '\udfff' has a lone surrogate and is no UTF-8."),
    ({}, {"x" * 100: math.nan}, ValueError, f"row 1: the value of feature '{'x' * 56}... must be a finite number."),
    ({}, {"x": Wrong()}, ZeroDivisionError, "its own"),
]


@pytest.mark.parametrize(("good", "bad", "error", "message"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_rows(good, bad, error, message):
    with pytest.raises(error) as caught:
        _core.hash_rows([good, bad], 14, _core.Scalar.float32)
    assert str(caught.value) == message


@pytest.mark.parametrize("bits", [0, -1, 31, 64])
def test_bad_bits(bits):
    for call in (
        lambda: _core.hash_rows([{}], bits, _core.Scalar.float32),
        lambda: _core.parse_vw(b"", _core.Scalar.float32, bits),
    ):
        with pytest.raises(ValueError, match=rf"^bits must be from 1 to 30. Got {bits} instead\.$"):
            call()


def test_bad_options():
    with pytest.raises(TypeError):
        _core.hash_rows([{}], 20, "float32")
    with pytest.raises(ValueError, match="collect_names must be from 0 to 1000000"):
        _core.hash_rows([{}], 20, _core.Scalar.float32, collect_names=-1)
    with pytest.raises(TypeError):
        _core.hash_rows({"a": 1}, 20, _core.Scalar.float32)

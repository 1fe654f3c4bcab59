"""The table of names: its promises, its bound, the same after a resume, and its refusals."""

import collections
import copy
import pickle
import random
import re
import time

import mmh3
import numpy as np
import pytest
from hashed_rows import hashed, names_of
from hypothesis import given
from hypothesis import strategies as st

from sureline._native import _core

NameTable = _core.NameTable


def counted(table):
    return {name: count for _, name, count, _ in table.top(10**9)}


def assert_equal(first, second):
    first, second = first.to_arrays(), second.to_arrays()
    assert first.keys() == second.keys()
    for key in first:
        assert first[key].dtype == second[key].dtype
        np.testing.assert_array_equal(first[key], second[key])


def zipf_rows(n_rows, n_words, seed=0):
    rng = np.random.default_rng(seed)
    ranks = np.exp(rng.random((n_rows, 50)) * np.log(n_words)).astype(int)
    return [[f"word{i}" for i in row] for row in ranks]


def test_counts_are_exact_while_all_names_fit():
    rows = zipf_rows(400, 5000)
    table = NameTable(5000)
    for i in range(0, 400, 7):
        table.merge(names_of(rows[i : i + 7]))
    truth = collections.Counter(word for row in rows for word in row)
    assert counted(table) == truth
    assert (table.total, table.error, len(table), table.exact) == (400 * 50, 0, len(truth), True)
    assert [count for _, _, count, _ in table.top(20)] == sorted(truth.values(), reverse=True)[:20]
    assert table.top(0) == table.top(-1) == []


@pytest.mark.parametrize("capacity", [1, 2, 3, 10, 100, 1000])
@pytest.mark.parametrize("n_words", [50, 20_000])
def test_the_promise_when_they_do_not(capacity, n_words):
    rows = zipf_rows(600, n_words, seed=capacity)
    table = NameTable(capacity)
    for i in range(0, 600, 11):
        table.merge(names_of(rows[i : i + 11]))
        assert len(table) <= capacity
    truth = collections.Counter(word for row in rows for word in row)
    counts = counted(table)
    assert table.total == 600 * 50
    assert table.error <= table.total / (capacity / 2 + 1)
    assert all(count <= truth[name] <= count + table.error for name, count in counts.items())
    assert all(name in counts for name, count in truth.items() if count > table.error)
    assert (table.error > 0) == (len(truth) > capacity)


def by_the_rule(counts, error, more, capacity):
    """Misra and Gries's rule as it is written at the top of names.hpp."""
    counts = counts + more
    if len(counts) > capacity:
        subtracted = sorted(counts.values(), reverse=True)[(capacity + 1) // 2]
        counts = collections.Counter({name: n - subtracted for name, n in counts.items() if n > subtracted})
        error += subtracted
    return counts, error


@pytest.mark.parametrize("capacity", [1, 2, 5, 40])
def test_the_rule(capacity):
    table, counts, error = NameTable(capacity), collections.Counter(), 0
    for row in zipf_rows(100, 500, seed=1):
        table.merge(names_of([row]))
        counts, error = by_the_rule(counts, error, collections.Counter(row), capacity)
        assert (counted(table), table.error) == (counts, error)


def test_the_promise_within_a_chunk():
    """A chunk's own table drops names too, here with more than 65,536 of them."""
    rows = [["often", *(f"w{i}" for i in range(j, j + 1000))] for j in range(0, 150_000, 1000)]
    chunk = names_of(rows)
    table = NameTable()
    table.merge(chunk)
    for names in (chunk, table):
        assert len(names) <= names.capacity == 65536
        assert 0 < names.error <= names.total / 32769
        assert names.total == 150 * 1001
        ((_, name, count, _),) = names.top(1)
        assert name == "often"
        assert count <= 150 <= count + names.error


def test_every_k_th_row_counts_k_times():
    rows = [["a", "b"], ["a", "c"], ["a", "d"], ["a", "e"], ["a", "f"]]
    table = hashed([dict.fromkeys(row, 1.0) for row in rows], 20, collect_names=2).names
    assert counted(table) == {"a": 6, "b": 2, "d": 2, "f": 2}
    text = "".join(f"1 | {' '.join(row)}\nx | fault\n\n" for row in rows).encode()
    assert counted(_core.parse_vw(text, _core.Scalar.float32, 20, skip_faults=True, collect_names=2).names) == {
        "a": 6,
        "b": 2,
        "d": 2,
        "f": 2,
    }


def test_nothing_is_collected_if_not_asked_for():
    assert _core.parse_vw(b"1 | a", _core.Scalar.float32, 18).names is None
    assert hashed([{"a": 1.0}], 18).names is None


def test_names_as_vowpal_wabbit_shows_them():
    text = b"1 |ns a 5 :2 c:red :0 :3 | a 5 :2 c:red z:0\n"
    chunk = _core.parse_vw(text, _core.Scalar.float32, 18, collect_names=1)
    expected = {"ns^a", "ns^5", "ns^:0", "ns^:2", "ns^c^red", "a", "5", ":0", "c^red"}
    assert set(counted(chunk.names)) == expected
    assert {index for index, _, _, _ in chunk.names.top(99)} == set(chunk.indices.tolist())
    assert all(sign == 1 for _, _, _, sign in chunk.names.top(99))


def test_names_of_faulty_lines_are_not_counted():
    chunk = _core.parse_vw(b"1 | a\n1 | b c:nan\n1 | a\n", _core.Scalar.float32, 18, skip_faults=True, collect_names=1)
    assert counted(chunk.names) == {"a": 2}


def test_lookup_gives_the_sign():
    words = [f"w{i}" for i in range(100)]
    chunk = hashed([{word: 1.0} for word in words], 20, collect_names=1)
    for word, index, value in zip(words, chunk.indices.tolist(), chunk.values.tolist(), strict=True):
        assert chunk.names.lookup(index) == [(word, 1, int(value))]
        assert value == (1 if mmh3.hash(word, 0) >= 0 else -1)
    for index in (-1, -(2**40), 2**20, 2**31, 2**63 - 1):
        assert chunk.names.lookup(index) == []


def test_lookup_of_a_shared_column():
    table = names_of([["a", "b", "b", "c"]], bits=1)
    by_column = collections.defaultdict(list)
    for word, count in (("b", 2), ("a", 1), ("c", 1)):
        by_column[abs(mmh3.hash(word, 0)) % 2].append((word, count))
    for column in range(2):
        assert sorted((name, count) for name, count, _ in table.lookup(column)) == sorted(by_column[column])
        assert [count for _, count, _ in table.lookup(column)] == sorted(dict(by_column[column]).values(), reverse=True)
    table.merge(names_of([["d"] * 5], bits=1))
    assert table.lookup(abs(mmh3.hash("d", 0)) % 2)[0][:2] == ("d", 5)


def shared_columns(words, bits):
    columns = collections.Counter(abs(h) % 2**bits for h in {mmh3.hash(word, 0) for word in words})
    return len(columns), sum(count > 1 for count in columns.values())


@pytest.mark.parametrize("bits", [1, 5, 10, 14, 20])
def test_collisions_are_counted(bits):
    words = [f"w{i}" for i in range(3000)]
    table = NameTable()
    for i in range(0, 3000, 100):
        table.merge(names_of([words[i : i + 100], words[:50]], bits))
    assert table.exact
    assert (table.n_columns, table.n_collisions) == shared_columns(words, bits)


@pytest.mark.parametrize("bits", [1, 10, 14])
def test_collisions_stay_exact_with_few_columns_whatever_was_dropped(bits):
    words = [f"w{i}" for i in range(40_000)]
    table = NameTable(100)
    for i in range(0, 40_000, 1000):
        table.merge(names_of([words[i : i + 1000]], bits))
    assert table.error > 0
    assert table.exact
    assert (table.n_columns, table.n_collisions) == shared_columns(words, bits)


@pytest.mark.parametrize("bits", [17, 20])
def test_collisions_are_estimated_beyond(bits):
    words = [f"w{i}" for i in range(150_000)]
    table = NameTable(1000)
    for i in range(0, 150_000, 10_000):
        table.merge(names_of([words[i : i + 10_000], words[:100]], bits))
    assert not table.exact
    n_columns, n_shared = shared_columns(words, bits)
    assert table.n_columns == pytest.approx(n_columns, rel=0.05)
    assert table.n_collisions == pytest.approx(n_shared, rel=0.15)


def test_a_chunk_that_dropped_names_hands_its_sample_on():
    words = [f"w{i}" for i in range(100_000)]
    table, direct = NameTable(), names_of([words], bits=18)
    assert direct.error > 0
    table.merge(names_of([["w0"]], bits=18))
    table.merge(direct)
    assert (table.n_columns, table.n_collisions) == (direct.n_columns, direct.n_collisions)
    assert table.n_collisions == pytest.approx(shared_columns(words, 18)[1], rel=0.15)


@given(st.lists(st.lists(st.integers(0, 30).map(str), max_size=20), max_size=8), st.integers(1, 12), st.integers(0, 8))
def test_a_resumed_table_goes_on_as_if_nothing_had_happened(chunks, capacity, stop):
    whole, resumed = NameTable(capacity), NameTable(capacity)
    for i, words in enumerate(chunks):
        whole.merge(names_of([words], bits=4))
        if i == stop:
            resumed = NameTable.from_arrays(resumed.to_arrays())
        resumed.merge(NameTable.from_arrays(names_of([words], bits=4).to_arrays()))
    assert_equal(whole, resumed)


def test_a_resumed_table_with_a_sample():
    rows = [[f"w{i}" for i in range(j, j + 2000)] for j in range(0, 60_000, 1500)]
    whole, resumed = NameTable(3000), NameTable(3000)
    for row in rows:
        whole.merge(names_of([row], bits=18))
        resumed.merge(names_of([row], bits=18))
        resumed = NameTable.from_arrays(resumed.to_arrays())
    assert not whole.exact
    assert_equal(whole, resumed)


def test_copies():
    table = names_of([["a", "b", "a"]])
    for other in (pickle.loads(pickle.dumps(table)), copy.copy(table), copy.deepcopy(table)):
        assert_equal(table, other)
        other.merge(names_of([["c"]]))
        assert len(table) == 2


def test_a_chunk_lives_as_long_as_its_names():
    names = _core.parse_vw(b"1 | a b", _core.Scalar.float32, 18, collect_names=1).names
    assert len(names) == 2
    assert set(counted(names)) == {"a", "b"}


def test_merging_with_itself_and_with_nothing():
    table = names_of([["a", "b", "a"]])
    table.merge(NameTable())
    table.merge(table)
    assert counted(table) == {"a": 4, "b": 2}
    empty = NameTable(7)
    assert (empty.bits, empty.total, empty.n_columns, empty.n_collisions, empty.top(3)) == (None, 0, 0, 0, [])
    empty.merge(NameTable())
    assert_equal(empty, NameTable(7))
    assert_equal(empty, NameTable.from_arrays(empty.to_arrays()))


def test_names_that_were_hashed_otherwise():
    table = names_of([["a"]])
    with pytest.raises(ValueError, match=r"^The names were hashed in another way or to another number of bits\.$"):
        table.merge(names_of([["a"]], bits=19))
    with pytest.raises(ValueError, match="hashed in another way"):
        table.merge(_core.parse_vw(b"| a", _core.Scalar.float32, 20, collect_names=1).names)
    assert counted(table) == {"a": 1}


def test_names_chosen_to_make_it_slow():
    """65,000 names that all belong into 32 of the 131,072 slots, by the first multiplier of hash_slots.hpp."""
    multiplier, modulus, width = 0x9E3779B97F4A7C15, 2**64, 2**52
    up = next(k for k in range(1, 10**6) if k * multiplier % modulus < width)
    down = next(k for k in range(1, 10**6) if -k * multiplier % modulus < width)
    numbers = [0]
    while len(numbers) < 65_000:
        numbers.append(
            next(k for k in (numbers[-1] + step for step in (up, down, up + down)) if k * multiplier % modulus < width)
        )
    assert numbers[-1] < 2**32
    text = b"| " + b" ".join(b"%d" % number for number in numbers)
    started = time.process_time()
    table = _core.parse_vw(text, _core.Scalar.float32, 30, collect_names=1).names
    assert time.process_time() - started < 1  # some hundredths; over four if the slots stayed as they are
    assert len(table) == 65_000
    assert table.lookup(numbers[777]) == [(str(numbers[777]), 1, 1)]


def test_totals_do_not_overflow():
    arrays = names_of([["a"]]).to_arrays()
    arrays["counts"][0] = arrays["totals"][3] = 2**62
    table = NameTable.from_arrays(arrays)
    with pytest.raises(ValueError, match=r"^The tables counted too much to be merged\.$"):
        table.merge(names_of([["a"]]))
    assert counted(table) == {"a": 2**62}


def test_long_names_are_cut():
    long, exact = "x" * 65, "y" * 64
    for name, shown in [
        (long, "x" * 61 + "…"),
        (exact, exact),
        ("é" * 32, "é" * 32),
        ("é" * 33, "é" * 30 + "…"),
        ("日" * 30, "日" * 20 + "…"),
        ("🙂" * 17, "🙂" * 15 + "…"),
    ]:
        table = names_of([{name: 1.0}])
        assert counted(table) == {shown: 1}
        assert len(table.to_arrays()["names"]) <= 64
    assert counted(names_of([{"k": "v" * 100}])) == {"k=" + "v" * 59 + "…": 1}


def test_names_that_are_no_text():
    table = _core.parse_vw(b"| \xff\xfe ok", _core.Scalar.float32, 18, collect_names=1).names
    assert set(counted(table)) == {"\ufffd\ufffd", "ok"}


def test_the_arrays():
    arrays = names_of([["b", "a", "b"]], bits=12).to_arrays()
    order = sorted(["a", "b"], key=lambda word: mmh3.hash(word, 0, signed=False))
    assert arrays["hashes"].tolist() == [mmh3.hash(word, 0, signed=False) for word in order]
    assert arrays["names"].tobytes().decode() == "".join(order)
    assert arrays["offsets"].tolist() == [0, 1, 2]
    assert arrays["counts"].tolist() == [{"a": 1, "b": 2}[word] for word in order]
    assert arrays["totals"].tolist() == [65536, 2, 12, 3, 0, 0]
    assert {key: str(array.dtype) for key, array in arrays.items()} == {
        "names": "uint8",
        "offsets": "int64",
        "hashes": "uint32",
        "counts": "int64",
        "sampled_hashes": "uint32",
        "sampled_shared": "uint8",
        "totals": "int64",
    }


def some_arrays(capacity=3):
    table = NameTable(capacity)
    for words in ("a b c a b", "d a e b f a g b", "h b i a j a k b"):
        table.merge(names_of([words.split()], bits=4))
    return table.to_arrays()


def changed(key, change):
    arrays = some_arrays()
    arrays[key] = change(arrays[key])
    return arrays


def put(index, value):
    def change(array):
        array = array.copy()
        array[index] = value
        return array

    return change


DAMAGED = [
    (lambda: {}, "'names' is missing"),
    (lambda: {key: array for key, array in some_arrays().items() if key != "counts"}, "'counts' is missing"),
    (lambda: {**some_arrays(), "more": np.zeros(1)}, "it must have 7 arrays"),
    (lambda: changed("names", lambda a: a.astype(np.int8)), "'names' must be a one-dimensional array of uint8"),
    (lambda: changed("names", list), "'names' must be a one-dimensional array of uint8"),
    (lambda: changed("hashes", lambda a: a.astype(np.int64)), "'hashes' must be a one-dimensional array of uint32"),
    (lambda: changed("counts", lambda a: a[None]), "'counts' must be a one-dimensional array of int64"),
    (lambda: changed("totals", lambda a: a[:5]), "'totals' must have 6 entries"),
    (lambda: changed("totals", put(0, 0)), "its capacity must be from 1 to 1048576"),
    (lambda: changed("totals", put(0, 2**62)), "its capacity must be from 1 to 1048576"),
    (lambda: changed("totals", put(0, 1)), "it has more names than its capacity"),
    (lambda: changed("totals", put(1, 3)), "there is no such kind of hashing"),
    (lambda: changed("totals", put(1, -1)), "there is no such kind of hashing"),
    (lambda: changed("totals", put(1, 258)), "there is no such kind of hashing"),
    (lambda: changed("totals", put(2, 31)), "bits must be from 1 to 30"),
    (lambda: changed("totals", put(2, 2**32 + 4)), "bits must be from 1 to 30"),
    (lambda: changed("totals", put(2, 0)), "it has names, but no bits"),
    (lambda: changed("totals", put(3, -1)), "a total is out of range"),
    (lambda: changed("totals", put(3, 2**63 - 1)), "a total is out of range"),
    (lambda: changed("totals", put(3, 2)), "the counts do not fit their total"),
    (lambda: changed("totals", put(4, -1)), "a total is out of range"),
    (lambda: changed("totals", put(4, 10)), "the counts do not fit the error"),
    (lambda: changed("totals", put(4, 0)), "the counts do not fit the error"),
    (lambda: changed("totals", put(5, 32)), "the level of the sample is out of range"),
    (lambda: changed("totals", put(5, -1)), "the level of the sample is out of range"),
    (lambda: changed("totals", put(5, 4)), "the columns of the sample are not ascending, or are not of its level"),
    (lambda: changed("offsets", put(0, 1)), "the offsets do not fit the names"),
    (lambda: changed("offsets", put(-1, 2**40)), "the offsets do not fit the names"),
    (lambda: changed("offsets", put(1, 2**40)), "a name is longer than 64 bytes or has less than none"),
    (lambda: changed("offsets", put(1, -1)), "a name is longer than 64 bytes or has less than none"),
    (lambda: changed("offsets", lambda a: a[:0]), "its arrays differ in length"),
    (lambda: changed("counts", put(0, 0)), "the counts do not fit their total"),
    (lambda: changed("counts", put(0, 2**63 - 1)), "the counts do not fit their total"),
    (lambda: changed("counts", lambda a: a[1:]), "its arrays differ in length"),
    (lambda: changed("hashes", lambda a: a[::-1].copy()), "the hashes are not ascending"),
    (lambda: changed("sampled_hashes", lambda a: a[1:]), "the sample is too large or its arrays differ in length"),
    (lambda: changed("sampled_hashes", lambda a: a[::-1].copy()), "the columns of the sample are not ascending"),
    (lambda: changed("sampled_shared", put(0, 2)), "a column of the sample must be shared or not, 1 or 0"),
]


@pytest.mark.parametrize("number", range(len(DAMAGED)))
def test_damaged_arrays(number):
    assert len(NameTable.from_arrays(some_arrays())) == 2
    make, message = DAMAGED[number]
    with pytest.raises(ValueError, match=f"^The table of names is damaged: {re.escape(message)}"):
        NameTable.from_arrays(make())


def test_a_sample_must_know_the_names():
    arrays = some_arrays()
    arrays["sampled_hashes"] = arrays["sampled_hashes"][:0]
    arrays["sampled_shared"] = arrays["sampled_shared"][:0]
    with pytest.raises(ValueError, match="a name is missing in the sample"):
        NameTable.from_arrays(arrays)
    exact = names_of([["a"]], bits=4).to_arrays()
    exact["sampled_hashes"], exact["sampled_shared"] = exact["hashes"], np.zeros(1, np.uint8)
    with pytest.raises(ValueError, match="it has a sample, but nothing was dropped"):
        NameTable.from_arrays(exact)


def test_mutated_arrays_are_refused_or_make_a_sound_table():
    rng = random.Random(0)
    refused = 0
    for _ in range(3000):
        arrays = {key: array.copy() for key, array in some_arrays(rng.choice([3, 100])).items()}
        for _ in range(rng.choice([1, 1, 2, 3])):
            key = rng.choice(list(arrays))
            array = arrays[key].view(np.uint8)
            if len(array) and rng.random() < 0.8:
                array[rng.randrange(len(array))] = rng.randrange(256)
            else:
                arrays[key] = arrays[key][: rng.randrange(len(arrays[key]) + 1)]
        try:
            table = NameTable.from_arrays(arrays)
        except ValueError as error:
            assert str(error).startswith("The table of names is damaged: ")
            refused += 1
            continue
        written = table.to_arrays()
        for key, array in arrays.items():
            np.testing.assert_array_equal(written[key], array)
        table.lookup(3)
        if table.bits == 4:
            try:
                table.merge(names_of([["a", "z"]], bits=4))
            except ValueError as error:
                assert "hashed in another way" in str(error)
        assert len(table) <= table.capacity
    assert refused > 1000


def test_bad_capacity():
    for capacity in (0, -1, 2**20 + 1):
        with pytest.raises(ValueError, match=rf"^capacity must be from 1 to 1048576\. Got {capacity} instead\.$"):
            NameTable(capacity)

"""Vowpal Wabbit's text: the rows that Vowpal Wabbit makes of it, and a fault where it would repair or guess."""

import importlib.util
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from vw_lines import GOLDEN, LINES, by_vowpal_wabbit

from sureline._native import _core

has_vowpal_wabbit = pytest.mark.skipif(
    importlib.util.find_spec("vowpalwabbit") is None, reason="needs the package vowpalwabbit"
)


def parse(text, dtype="float64", bits=18, **options):
    return _core.parse_vw(text if isinstance(text, bytes) else text.encode(), _core.Scalar[dtype], bits, **options)


def rows_of(chunk):
    """(label, weight, tag, columns, values) of each row."""
    return [
        (
            chunk.label_names[code] if code >= 0 else None,
            1.0 if chunk.weights is None else chunk.weights[i],
            b"" if chunk.tags is None else chunk.tags[i],
            chunk.indices[chunk.indptr[i] : chunk.indptr[i + 1]].tolist(),
            chunk.values[chunk.indptr[i] : chunk.indptr[i + 1]].tolist(),
        )
        for i, code in enumerate(chunk.labels)
    ]


def assert_like_vowpal_wabbit(line, bits, golden):
    label, weight, tag, row = golden
    chunk = parse(line, "float32", bits)
    assert chunk.faults == []
    ((own_label, own_weight, own_tag, columns, values),) = rows_of(chunk)
    assert columns == sorted(row)
    # It reads numbers in single precision and a little off, so a value may differ in its last bits.
    np.testing.assert_allclose(values, [row[column] for column in columns], rtol=3e-7)
    assert (None if own_label is None else float(own_label)) == label
    assert np.float32(own_weight) == weight
    assert own_tag.decode() == tag


@pytest.mark.parametrize("number", range(len(LINES)))
def test_golden(number):
    bits, line = LINES[number]
    assert_like_vowpal_wabbit(line, bits, GOLDEN[number])


def test_golden_as_one_block():
    lines = [line for bits, line in LINES if bits == 18]
    single = [rows_of(parse(line))[0] for line in lines]
    assert rows_of(parse("\n".join(lines))) == single
    assert rows_of(parse("".join(line + "\r\n" for line in lines))) == single
    assert rows_of(parse("\n \n\t\n\r\n".join(lines) + "\n\n")) == single


@has_vowpal_wabbit
def test_golden_is_what_vowpal_wabbit_says():
    lines = [(bits, line) for bits, line in LINES if bits <= 24]
    assert by_vowpal_wabbit(lines) == [row for (bits, _), row in zip(LINES, GOLDEN, strict=True) if bits <= 24]


def some_line(rng):
    def word():
        parts = ["a", "b", "foo", "12", "0", "7x", "é", "x_y", "4294967297", "+3", "1e5", ".5", "red", "n", "\x01q"]
        return "".join(rng.choice(parts) for _ in range(rng.choice([1, 1, 1, 2])))

    text = rng.choice(["", "1 ", "-1  ", "0.5 2 ", "1 0.25 0 ", "+1 1 0.0  "])
    text += rng.choice(["", "", "'tag ", "tag", "'"])
    for _ in range(rng.randrange(1, 4)):
        text += "|" + rng.choice(["", word(), word() + rng.choice([":2", ":-0.5", ":1e2", ":0"])])
        for _ in range(rng.randrange(6)):
            name, value = rng.choice([word(), word(), word(), ""]), rng.choice(["", "", ":2", ":-0.5", ":1e-2", ":red"])
            text += rng.choice([" ", " ", "  ", "\t"]) + name + value
        text += rng.choice(["", " "])
    return text


@has_vowpal_wabbit
def test_generated_lines():
    rng = random.Random(0)
    lines = [(rng.choice([8, 18, 24]), some_line(rng)) for _ in range(2000)]
    for (bits, line), golden in zip(lines, by_vowpal_wabbit(lines), strict=True):
        assert_like_vowpal_wabbit(line, bits, golden)


@has_vowpal_wabbit
def test_it_learns_the_same_from_the_rows():
    """With columns as numbers, Vowpal Wabbit predicts the same as with names that it hashes itself."""
    import vowpalwabbit

    rng = random.Random(1)
    words = [f"w{i}" for i in range(30)]
    lines = []
    for _ in range(200):
        chosen = rng.sample(words, 8)
        label = 1 if "w0" in chosen or "w1" in chosen else -1
        lines.append(
            f"{label} |f {' '.join(chosen[:4])} |g:2 {' '.join(f'{w}:{rng.random():.2f}' for w in chosen[4:])}"
        )
    chunk = parse("\n".join(lines), bits=24)
    numbered = [
        f"{label.decode()} | " + " ".join(f"{i}:{v!r}" for i, v in zip(columns, values, strict=True))
        for label, _, _, columns, values in rows_of(chunk)
    ]
    predictions = []
    for text in (lines, numbered):
        workspace = vowpalwabbit.Workspace("--quiet --noconstant -b 24 --loss_function hinge")
        predictions.append([])
        for line in text:
            predictions[-1].append(workspace.predict(line))
            workspace.learn(line)
        workspace.finish()
    assert max(map(abs, predictions[0])) > 0.5
    np.testing.assert_allclose(predictions[0], predictions[1], rtol=1e-4, atol=1e-5)


FAULTS = [
    ("1", 1, "there is no '|' in the line, so it has no features"),
    ("  1 2:3", 3, "there is no '|' in the line, so it has no features"),
    ("spam | a", 1, "the label 'spam' is not a number"),
    ("  spam | a", 3, "the label 'spam' is not a number"),
    ("nan | a", 1, "the label 'nan' is not a number"),
    ("inf | a", 1, "the label 'inf' is not a number"),
    ("1x | a", 1, "the label '1x' is not a number"),
    ("0x10 | a", 1, "the label '0x10' is not a number"),
    ("\x80\xff | a".encode("latin1"), 1, "the label '\\x80\\xff' is not a number"),
    ("x" * 50 + " | a", 1, f"the label '{'x' * 40}...' is not a number"),
    ("1e999 | a", 1, "the label is out of range"),
    ("1:0.5 | a", 1, "'1:0.5' is not a simple label: those with costs, actions or several classes are not read"),
    ("1:2 2:3 | a", 1, "'1:2' is not a simple label: those with costs, actions or several classes are not read"),
    ("shared | a", 1, "the label 'shared' is not a number"),
    ("1 x | a", 3, "the weight 'x' is not a number"),
    ("1 -2 | a", 3, "the weight of the row is negative"),
    ("1 1e999 | a", 3, "the weight is out of range"),
    ("1 2 0.5 | a", 5, "the initial prediction must be 0, since the learners here have none"),
    ("1 2 x | a", 5, "the initial prediction 'x' is not a number"),
    ("1 2 0 4 | a", 7, "there are more words before the '|' than a label can have"),
    ("1 2 0 4 5 6 7 'tag | a", 7, "there are more words before the '|' than a label can have"),
    ("1 'x y | a", 3, "the weight ''x' is not a number"),
    ("1\t| a", 2, "there is a tab before the first '|', where only spaces separate"),
    ("\t1 | a", 1, "there is a tab before the first '|', where only spaces separate"),
    ("1\r| a", 2, "there is a carriage return inside the line"),
    ("1 | a\rb", 6, "there is a carriage return inside the line"),
    ("1 |\r a", 4, "there is a carriage return inside the line"),
    ("1 | a:red\rb", 10, "there is a carriage return inside the line"),
    ("1 | a b:", 9, "there is no value after the colon"),
    ("1 | a: 2", 7, "there is no value after the colon"),
    ("1 | a:|b", 7, "there is no value after the colon"),
    ("1 | a :", 8, "there is no value after the colon"),
    ("1 | a:1x b", 7, "the value '1x' is not a finite number"),
    ("1 | a:1:2 b", 7, "the value '1:2' is not a finite number"),
    ("1 | a:0x10", 7, "the value '0x10' is not a finite number"),
    ("1 | a:1e", 7, "the value '1e' is not a finite number"),
    ("1 | a:nan", 7, "the value 'nan' is not a finite number"),
    ("1 | a:-NaN", 7, "the value '-NaN' is not a finite number"),
    ("1 | a:inf", 7, "the value 'inf' is not a finite number"),
    ("1 | a:Infinity|b", 7, "the value 'Infinity' is not a finite number"),
    ("1 | a:information", 7, "the value 'information' is not a finite number"),
    ("1 | a:-", 7, "the value '-' is not a finite number"),
    ("1 | a:. b", 7, "the value '.' is not a finite number"),
    ("1 | a:E b", 7, "the value 'E' is not a finite number"),
    ("1 | a:-.e-12", 7, "the value '-.e-12' is not a finite number"),
    ("1 | a:\x0b3", 7, "the value '\\x0b3' is not a finite number"),
    ("1 | a:1e999", 7, "the value is out of range"),
    ("1 |f:1e200 a:1e200", 12, "the value is out of range"),
    ("1 | a:1.7e308 b a:1.7e308", 1, "the values that share column 92594 add up to infinity"),
    ("1 |:2 a", 4, "a namespace has a scale but no name"),
    ("1 |f: a", 6, "there is no value after the colon"),
    ("1 |f:red a", 6, "the value 'red' is not a finite number"),
    ("1 |f:inf a", 6, "the value 'inf' is not a finite number"),
    ("1 |f:2:3 a", 6, "the value '2:3' is not a finite number"),
    (b"\xef\xbb\xbf1 | a", 1, "the label '\\xef\\xbb\\xbf1' is not a number"),
]


@pytest.mark.parametrize(("line", "column", "reason"), FAULTS, ids=[str(i) for i in range(len(FAULTS))])
def test_faults(line, column, reason):
    line = line if isinstance(line, bytes) else line.encode()
    good = b"1 |f a b\n\n"
    chunk = parse(good + line + b"\n-1 |f c\n")
    assert (chunk.n_faults, chunk.faults) == (1, [(3, column, reason)])
    assert rows_of(chunk) == rows_of(parse(good))
    chunk = parse(good + line + b"\n-1 |f c\n", skip_faults=True)
    assert (chunk.n_faults, chunk.faults, chunk.n_lines) == (1, [(3, column, reason)], 4)
    assert rows_of(chunk) == rows_of(parse(good + b"-1 |f c"))


def test_single_precision_has_a_smaller_range():
    assert parse("| a:1e39 b:1e-60").values.tolist() == [1e39, 1e-60]
    assert parse("| a:1e39", "float32").faults == [(1, 3, "the value is out of range")]
    assert parse("| a:1e-60 b", "float32").values.tolist() == [1.0]


def test_all_faults_are_counted_and_some_described():
    chunk = parse("x | a\n" * 50 + "1 | a\n", skip_faults=True)
    assert (chunk.n_faults, len(chunk.faults), chunk.n_rows, chunk.n_lines) == (50, 20, 1, 51)


def test_byte_order_mark():
    text = b"\xef\xbb\xbf1 | a\n"
    assert rows_of(parse(text, first_block=True)) == rows_of(parse("1 | a"))
    assert parse(text).n_faults == 1
    assert parse(b"1 | a\n" + text, first_block=True).faults[0][:2] == (2, 1)
    assert parse(b"\xef\xbb\xbfx | a", first_block=True).faults[0][:2] == (1, 4)
    assert parse(b"\xef\xbb\xbf", first_block=True).n_rows == 0


def test_labels_are_kept_as_written():
    chunk = parse("1 | a\n+1 | a\n1.0 | a\n| a\n1 | a\n12345678901 | a\n")
    assert chunk.label_names == [b"1", b"+1", b"1.0", b"12345678901"]
    assert chunk.labels.tolist() == [0, 1, 2, -1, 0, 3]


def test_weights_and_tags_are_there_if_a_row_has_one():
    chunk = parse("1 | a\n1 | a\n1 1 | a")
    assert (chunk.weights, chunk.tags) == (None, None)
    chunk = parse("1 | a\n1 0 | a\n1 'x| a\n1 | a")
    assert chunk.weights.tolist() == [1, 0, 1, 1]
    assert chunk.tags == [b"", b"", b"x", b""]


def test_values_are_exact():
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, 123456789.123456789, 2.5]
    chunk = parse("| " + " ".join(f"{i}:{value!r}" for i, value in enumerate(values)))
    assert chunk.values.tolist() == values


def test_numbers_in_order_need_no_sorting_and_others_get_it():
    rng = np.random.default_rng(0)
    for n in (1, 5, 16, 17, 100, 3000):
        columns = rng.choice(2**18, n, replace=False)
        text = "| " + " ".join(f"{i}:{i + 1}" for i in columns)
        for shuffled in (text, "| " + " ".join(sorted(text[2:].split(), key=lambda t: int(t.split(":")[0])))):
            chunk = parse(shuffled)
            assert chunk.indices.tolist() == sorted(columns)
            assert chunk.values.tolist() == [i + 1 for i in sorted(columns)]


def test_clustered_columns_are_sorted_too():
    columns = list(range(1000))
    random.Random(0).shuffle(columns)
    assert parse("| " + " ".join(map(str, columns)), bits=30).indices.tolist() == list(range(1000))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, lambda text: np.frombuffer(text, np.uint8)])
def test_any_buffer(kind):
    assert rows_of(parse_buffer(kind(b"1 | a\n"))) == rows_of(parse("1 | a\n"))


def parse_buffer(buffer):
    return _core.parse_vw(buffer, _core.Scalar.float64, 18)


pieces = st.sampled_from(["1", "-1", " ", "|", "|", ":", "a", "foo", "2.5", "'", "\t", "\n", "\r\n", "e", "é", "\0"])
texts = st.one_of(st.lists(pieces, max_size=60).map(lambda parts: "".join(parts).encode()), st.binary(max_size=60))


@given(texts, st.sampled_from(["float32", "float64"]), st.integers(1, 30))
def test_any_bytes(text, dtype, bits):
    chunk = parse(text, dtype, bits, skip_faults=True, collect_names=1)
    assert chunk.indptr[0] == 0
    assert chunk.indptr[-1] == len(chunk.indices) == len(chunk.values)
    assert np.isfinite(chunk.values).all()
    assert ((0 <= chunk.indices) & (chunk.indices < 2**bits)).all()
    for _, weight, _, columns, _ in rows_of(chunk):
        assert weight >= 0
        assert columns == sorted(set(columns))
    assert chunk.n_columns == max(chunk.indices, default=-1) + 1
    assert chunk.n_rows + chunk.n_faults <= chunk.n_lines


@given(texts)
def test_cutting_at_a_newline_changes_nothing(text):
    whole = parse(text, skip_faults=True)
    for cut in [i + 1 for i, byte in enumerate(text) if byte == ord("\n")]:
        first, second = parse(text[:cut], skip_faults=True), parse(text[cut:], skip_faults=True)
        assert rows_of(first) + rows_of(second) == rows_of(whole)
        assert first.n_lines + second.n_lines == whole.n_lines
        assert first.n_faults + second.n_faults == whole.n_faults

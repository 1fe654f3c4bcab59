"""LIBSVM text: rows, refusals and their places, and the chunks that Python sees."""

import mmap
import random
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from libsvm import parse, rows_of, same

from sureline._native import _core

LARGEST = 2147483646


# What is read: a name, the text, options, the rows.
READ = [
    ("nothing", b"", {}, []),
    ("a row", b"1 2:3\n", {}, [(b"1", {2: 3})]),
    ("no last newline", b"1 2:3", {}, [(b"1", {2: 3})]),
    ("indices as written", b"1 0:5 1:6\n", {}, [(b"1", {0: 5, 1: 6})]),
    ("shifted down", b"1 1:5 3:6\n", {"shift": -1}, [(b"1", {0: 5, 2: 6})]),
    ("shifted up", b"1 0:5\n", {"shift": 7}, [(b"1", {7: 5})]),
    ("the largest index", b"1 2147483646:1\n", {}, [(b"1", {LARGEST: 1})]),
    ("the largest after a shift", b"1 2147483645:1\n", {"shift": 1}, [(b"1", {LARGEST: 1})]),
    ("zeros before an index", b"1 007:1 000000000000000000000008:1\n", {}, [(b"1", {7: 1, 8: 1})]),
    ("comments", b"1 2:3 # 4:5\n# 1 2:3\n-1 1:1#x\n", {}, [(b"1", {2: 3}), (b"-1", {1: 1})]),
    ("a comment after a label", b"1#2:3\n", {}, [(b"1", {})]),
    ("a comment holds anything", b"1 1:1 #\r\x00\xff:::\n", {}, [(b"1", {1: 1})]),
    (
        "queries",
        b"1 qid:7 2:3\n2 qid:-1\n3\tqid:+12345678901234567890\t4:5\n",
        {},
        [(b"1", {2: 3}), (b"2", {}), (b"3", {4: 5})],
    ),
    ("tabs", b"1\t2:3\t\t4:5 \t 6:7\t\n", {}, [(b"1", {2: 3, 4: 5, 6: 7})]),
    ("blanks before a label", b"  \t1 2:3\n", {}, [(b"1", {2: 3})]),
    (
        "CRLF",
        b"1 2:3\r\n-1\r\n\r\n1 4:5 \r\n1 6:7\r",
        {},
        [(b"1", {2: 3}), (b"-1", {}), (b"1", {4: 5}), (b"1", {6: 7})],
    ),
    ("a byte order mark", b"\xef\xbb\xbf1 2:3\n", {"first_block": True}, [(b"1", {2: 3})]),
    ("a byte order mark and nothing", b"\xef\xbb\xbf", {"first_block": True}, []),
    ("no byte order mark later", b"\xef\xbb\xbf1 2:3\n", {}, [(b"\xef\xbb\xbf1", {2: 3})]),
    ("none in the second line", b"1\n\xef\xbb\xbf1\n", {"first_block": True}, [(b"1", {}), (b"\xef\xbb\xbf1", {})]),
    ("rows of a label", b"1\n-1 \n", {}, [(b"1", {}), (b"-1", {})]),
    ("lines without a row", b"\n \n\t\n# x\n1 2:3\n\n", {}, [(b"1", {2: 3})]),
    ("unsorted", b"1 9:1 2:2 5:3\n", {}, [(b"1", {2: 2, 5: 3, 9: 1})]),
    ("sums", b"1 9:1 2:2 9:3 2:-2\n", {"sum_duplicates": True}, [(b"1", {2: 0, 9: 4})]),
    ("sums as written", b"1 1:1e16 1:1 1:-1e16\n", {"sum_duplicates": True}, [(b"1", {1: 0})]),
    (
        "labels of text",
        b"spam 1:1\nham 1:1\nspam 2:1\n\xff\x00 3:1\n",
        {},
        [(b"spam", {1: 1}), (b"ham", {1: 1}), (b"spam", {2: 1}), (b"\xff\x00", {3: 1})],
    ),
    ("labels as written", b"1\n+1\n1.0\n01\n", {}, [(b"1", {}), (b"+1", {}), (b"1.0", {}), (b"01", {})]),
    ("explicit zeros", b"1 1:0 2:-0.0\n", {}, [(b"1", {1: 0, 2: -0.0})]),
    (
        "numbers",
        b"1 1:+1 2:1. 3:.5 4:-1e-3 5:2E+2 6:1e-999 7:00012 8:5e-324\n",
        {},
        [(b"1", {1: 1, 2: 1, 3: 0.5, 4: -1e-3, 5: 200, 6: 0, 7: 12, 8: 5e-324})],
    ),
]


@pytest.mark.parametrize(("text", "options", "rows"), [case[1:] for case in READ], ids=[case[0] for case in READ])
@pytest.mark.parametrize("surroundings", [b"", b"# " + b"x" * 80 + b"\n"], ids=["alone", "in a block"])
def test_what_is_read(text: bytes, options: dict, rows: list, surroundings: bytes) -> None:
    if surroundings:
        text += b"\n" + surroundings
        if "first_block" not in options:
            text = surroundings + text
    chunk = parse(text, **options)
    assert (chunk.n_faults, chunk.faults) == (0, [])
    assert rows_of(chunk) == rows
    assert chunk.n_rows == len(rows)
    assert chunk.n_lines == text.count(b"\n") + (not text.endswith(b"\n") and text != b"")
    assert chunk.n_columns == max((max(pairs) + 1 for _, pairs in rows if pairs), default=0)
    assert (chunk.weights, chunk.tags) == (None, None)


# What is refused: a name, the text, options, column, reason.
RANGE = "is not a whole number from 0 to 2147483646"
REFUSED = [
    ("a number with a tail", b"1 2:1.5xyz", {}, 5, "the value '1.5xyz' is not a finite number"),
    ("a control character after a value", b"1 2:1\x0b 3:1", {}, 5, "the value '1\\x0b' is not a finite number"),
    ("no value", b"1 3:", {}, 5, "there is no value after the colon"),
    ("no value before another", b"1 3: 4:1", {}, 5, "there is no value after the colon"),
    ("no value but a comment", b"1 3:# 4", {}, 5, "there is no value after the colon"),
    ("no index", b"1 2:1 :3", {}, 7, "':3' has no index before the colon"),
    ("two colons", b"1 3:4:5", {}, 5, "the value '4:5' is not a finite number"),
    ("blanks around the colon", b"1 3 : 4", {}, 3, "'3' is not a pair index:value"),
    ("a word", b"1 1:1 word", {}, 7, "'word' is not a pair index:value"),
    ("no label", b"1:0.5 2:3", {}, 1, "'1:0.5' is where the label must be"),
    ("no label after blanks", b"  :3", {}, 3, "':3' is where the label must be"),
    ("an index of letters", b"1 a:1", {}, 3, f"the index 'a' {RANGE}"),
    ("a negative index", b"1 -1:1", {}, 3, f"the index '-1' {RANGE}"),
    ("an index with a plus", b"1 +1:1", {}, 3, f"the index '+1' {RANGE}"),
    ("an index with a point", b"1 1.0:1", {}, 3, f"the index '1.0' {RANGE}"),
    ("the first index too large", b"1 1:1 2147483647:1", {}, 7, f"the index '2147483647' {RANGE}"),
    ("2^32 and 1", b"1 4294967297:1", {}, 3, f"the index '4294967297' {RANGE}"),
    ("2^64 and 1", b"1 18446744073709551617:1", {}, 3, f"the index '18446744073709551617' {RANGE}"),
    (
        "too large after the shift",
        b"1 1:1 2147483646:1",
        {"shift": 1},
        7,
        "the index '2147483646' shifted by 1 is not from 0 to 2147483646",
    ),
    ("negative after the shift", b"1 0:1", {"shift": -1}, 3, "the index '0' shifted by -1 is not from 0 to 2147483646"),
    ("nan", b"1 1:nan", {}, 5, "the value 'nan' is not a finite number"),
    ("inf", b"1 1:-inf", {}, 5, "the value '-inf' is not a finite number"),
    ("infinity", b"1 1:Infinity", {}, 5, "the value 'Infinity' is not a finite number"),
    ("hexadecimal", b"1 1:0x1p3", {}, 5, "the value '0x1p3' is not a finite number"),
    ("an underscore", b"1 1:1_000", {}, 5, "the value '1_000' is not a finite number"),
    ("a comma", b"1 1:1,5", {}, 5, "the value '1,5' is not a finite number"),
    ("only a sign", b"1 1:-", {}, 5, "the value '-' is not a finite number"),
    ("only a point", b"1 1:.", {}, 5, "the value '.' is not a finite number"),
    ("an exponent without digits", b"1 1:1e+", {}, 5, "the value '1e+' is not a finite number"),
    ("too large", b"1 1:1e309", {}, 5, "the value '1e309' is too large for float64"),
    (
        "hardly too large",
        b"1 1:1.7976931348623159e308",
        {},
        5,
        "the value '1.7976931348623159e308' is too large for float64",
    ),
    ("too large for float32", b"1 1:-3.5e38", {"dtype": "float32"}, 5, "the value '-3.5e38' is too large for float32"),
    ("twice", b"1 3:1 3:2", {}, 7, "the index 3 comes twice in the row"),
    ("twice, not side by side", b"1 3:1 9:1 5:1 03:2 9:1", {}, 15, "the index 3 comes twice in the row"),
    ("twice, shifted", b"1 qid:1 3:1 3:2", {"shift": -1}, 13, "the index 3 comes twice in the row"),
    (
        "too large together",
        b"1 2:1 3:1e308 4:1 3:1e308",
        {"sum_duplicates": True},
        7,
        "the values of the index 3 add up to more than float64 can hold",
    ),
    (
        "too large together in float32",
        b"1 3:3e38 3:3e38",
        {"sum_duplicates": True, "dtype": "float32"},
        3,
        "the values of the index 3 add up to more than float32 can hold",
    ),
    ("a query of letters", b"1 qid:x 1:1", {}, 3, "'qid:x' is not qid: and a whole number"),
    ("a query without a number", b"1 qid: 1:1", {}, 3, "'qid:' is not qid: and a whole number"),
    ("a query with a point", b"1 qid:1.5 1:1", {}, 3, "'qid:1.5' is not qid: and a whole number"),
    ("a late query", b"1 1:1 qid:3", {}, 7, "'qid:3' does not come right after the label"),
    ("two queries", b"1 qid:1 qid:2", {}, 9, "'qid:2' does not come right after the label"),
    ("a carriage return between pairs", b"1 1:1\r2:1", {}, 6, "there is a carriage return in the middle of the line"),
    ("a carriage return first", b"\r1", {}, 1, "there is a carriage return in the middle of the line"),
    ("two carriage returns", b"1 1:1\r\r\n", {}, 6, "there is a carriage return in the middle of the line"),
    ("a zero byte", b"1 \x00:1", {}, 3, f"the index '\\x00' {RANGE}"),
    ("a long word", b"1 " + b"\xc3\xa4" * 40, {}, 3, "'" + "\\xc3\\xa4" * 20 + "...' is not a pair index:value"),
]


@pytest.mark.parametrize(
    ("text", "options", "column", "reason"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
@pytest.mark.parametrize("good", [b"", b"1 17:0.125 90:-2.5 470:1 5001:3\n" * 3], ids=["alone", "among good lines"])
def test_what_is_refused(text: bytes, options: dict, column: int, reason: str, good: bytes) -> None:
    text = good + text.removesuffix(b"\n") + b"\n" + good
    line = good.count(b"\n") + 1
    stopped = parse(text, **options)
    assert stopped.faults == [(line, column, reason)]
    assert (stopped.n_faults, stopped.n_rows, stopped.n_lines) == (1, line - 1, line)
    skipped = parse(text, skip_faults=True, **options)
    assert skipped.faults == stopped.faults
    assert (skipped.n_rows, skipped.n_lines) == (2 * (line - 1), text.count(b"\n"))
    if good:
        assert same(skipped, parse(good + good, **options))


def test_all_faults_are_counted_and_some_described() -> None:
    chunk = parse(b"1 1:x\n1 1:1\n" * 1000, skip_faults=True)
    assert (chunk.n_rows, chunk.n_faults, chunk.n_lines) == (1000, 1000, 2000)
    assert chunk.faults == [(2 * i + 1, 5, "the value 'x' is not a finite number") for i in range(20)]


def test_many_labels_keep_their_numbers() -> None:
    rng = random.Random(1)
    names = [str(i).encode() for i in range(3000)] + [b"a-long-label-%d" % i for i in range(3000)]
    labels = names + rng.choices(names, k=20_000)
    chunk = parse(b"".join(name + b" 1:1\n" for name in labels))
    assert chunk.label_names == names
    assert [names[code] for code in chunk.labels.tolist()] == labels


def test_a_long_unsorted_row() -> None:
    rng = random.Random(2)
    pairs = [(index, float(rng.randrange(1000))) for index in rng.sample(range(1_000_000), 20_000)]
    text = b"1 " + b" ".join(b"%d:%g" % pair for pair in pairs) + b"\n"
    assert rows_of(parse(text)) == [(b"1", dict(sorted(pairs)))]
    twice = text[:-1] + b" " + text[2:]
    doubled = {index: 2 * value for index, value in sorted(pairs)}
    assert rows_of(parse(twice, sum_duplicates=True)) == [(b"1", doubled)]
    assert parse(twice).faults == [(1, len(text) + 1, f"the index {pairs[0][0]} comes twice in the row")]


def test_any_buffer_is_read_where_it_is() -> None:
    text = b"1 2:0.5 3:1\n" * 10
    expected = parse(text)
    noise = b"\x00\x01" + text + b"\x02"
    with tempfile.TemporaryFile() as file:
        file.write(text)
        file.flush()
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            assert same(parse(mapped), expected)
    for block in (bytearray(text), memoryview(noise)[2:-1], np.frombuffer(noise, np.uint8)[2:-1]):
        assert same(parse(block), expected)
    with pytest.raises(ValueError, match="not C-contiguous"):
        parse(np.frombuffer(text, np.uint8)[::2])
    with pytest.raises(BufferError):
        parse(memoryview(text)[::2])
    with pytest.raises(TypeError):
        parse(text.decode())
    with pytest.raises(TypeError):
        _core.parse_libsvm(text, "float32")  # an enum, not its name
    for shift in (LARGEST + 1, -LARGEST - 1):
        with pytest.raises(ValueError, match="shift must be an integer between"):
            parse(text, shift=shift)


def test_arrays_outlive_the_chunk_and_are_not_reused_before_that() -> None:
    def block(i: int) -> bytes:
        return b"".join(b"%d %d:%d.5 %d:1\n" % (i, 3 * k, k + i, 3 * k + 1 + i % 2) for k in range(20_000))

    expected = [parse(block(i)).values.copy() for i in range(4)]
    kept = parse(block(0)).values
    with ThreadPoolExecutor(4) as threads:
        for i, chunk in enumerate(threads.map(parse, [block(i % 4) for i in range(40)])):
            np.testing.assert_array_equal(chunk.values, expected[i % 4])
    np.testing.assert_array_equal(kept, expected[0])


MEGABYTES = {
    "digits": b"1 1:" + b"7" * 2**20,
    "zeros": b"1 1:0." + b"0" * 2**20 + b"1",
    "an index of digits": b"1 " + b"7" * 2**20 + b":1",
    "colons": b":" * 2**20,
    "newlines": b"\n" * 2**20,
    "blanks": b"1" + b" " * 2**20,
    "comments": b"#\n" * 2**19,
    "carriage returns": b"\r" * 2**20,
    "labels": b"".join(b"%x\n" % i for i in range(190_000)),
    "long labels with one beginning": b"".join(b"%01000d\n" % i for i in range(1000)),
    "one label": b"x" * 2**20,
    "a descending row": b"1 " + b" ".join(b"%d:1" % i for i in range(120_000, 0, -1)),
    "a repeated pair": b"1" + b" 1:1" * 2**18,
    "faults": b"1 1:x 2:2\n" * 100_000,
    "faults at the end": b"".join(b"1" + b" 5:1" * 2000 + b"\n" for _ in range(130)),
    "zero bytes": b"\x00" * 2**20,
    "all bytes": bytes(range(256)) * 4096,
}


@pytest.mark.parametrize("name", MEGABYTES)
def test_no_megabyte_takes_long(name: str) -> None:
    for options in ({"skip_faults": True}, {"skip_faults": True, "sum_duplicates": True, "shift": -1}):
        begin = time.process_time()
        chunk = parse(MEGABYTES[name], **options)
        assert time.process_time() - begin < 2
        assert chunk.n_rows + chunk.n_faults <= chunk.n_lines

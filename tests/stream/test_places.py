"""Every fault of a line of text is told with file, line and column, in bytes from 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from sureline import stream
from sureline.stream import DataError

pytestmark = pytest.mark.torture
HEAD = b"a,label,w\n1,2,3\n"

# Format, content, line, column, and a part of the reason.
FAULTS: list[tuple[str, bytes, int, int, str]] = [
    ("csv", HEAD + b"1,2\n", 3, 4, "2 cells"),
    ("csv", HEAD + b"1,2,3,4\n", 3, 7, "4 cells"),
    ("csv", HEAD + "é,2,3,4\n".encode(), 3, 8, "4 cells"),
    ("csv", HEAD + b"inf,2,3\n", 3, 1, "inf is not a number"),
    ("csv", HEAD + 30 * b"1,2,3\n" + 30 * b"1,2,4\n" + b"two,2,3\n", 63, 1, "'two' is not a number"),
    ("csv", HEAD + b"1,2,-inf\n", 3, 5, "-inf is not a number"),
    ("csv", HEAD + b"1,nan,3\n", 3, 3, "the label is nan"),
    ("csv", HEAD + b"1,,3\n", 3, 3, "the row has no label"),
    ("csv", HEAD + b'"x,y",,3\n', 3, 7, "the row has no label"),
    ("csv", HEAD + b'1,"2,3\n', 3, 3, "a quote is not closed"),
    ("csv", HEAD + b'1,2"2"2,3\n', 3, 3, "a quote is in the middle"),
    ("csv", HEAD + b"1,2,\xff\n", 3, 5, "not valid UTF-8"),
    ("csv", HEAD + b"1,2,1e400\n", 3, 5, "1e400 is not a number"),
    ("csv", b"a,label,a\n", 1, 9, "'a' more than once"),
    ("csv", b"\xef\xbb\xbfa,label,a\n", 1, 12, "'a' more than once"),
    ("csv", b"a,,column 2\n", 1, 4, "more than once"),
    ("csv", b"a,b\n1,2\n", 1, 1, "no column 'label'"),
    ("csv", b'a,label\n"1\n1",2\nx,\n', 4, 3, "no label"),
    ("tsv", b"a\tlabel\n1\t2\ninf\t2\n", 3, 1, "inf"),
    ("tsv", b"a\tlabel\n1\t2\n1\t\n", 3, 3, "no label"),
    ("jsonl", b'{"label": 1}\n[]\n', 2, 1, "must be a JSON object"),
    ("jsonl", b'{"label": 1}\n  {"label": 1,}\n', 2, 15, "not JSON"),
    ("jsonl", b'{"label": 1}\n{"a": 1, "label": 1, "a": 2}\n', 2, 22, "the key 'a' comes twice"),
    ("jsonl", b'{"label": 1, "b": {"x": 1, "x": 1}}\n', 1, 28, "the key 'x' comes twice"),
    ("jsonl", '{"é": {"b": 1}, "é.b": 2, "label": 1}\n'.encode(), 1, 18, "'é.b' comes twice"),
    ("jsonl", b'{"label": 1, "b": [1, "x"]}\n', 1, 19, "the list 'b' holds"),
    ("jsonl", b'{"label": 1, "b": Infinity}\n', 1, 19, "Infinity is not a number"),
    ("jsonl", b'{"label": 1, "b": {"c": -Infinity}}\n', 1, 25, "-Infinity is not a number"),
    ("jsonl", b'{"label": 1, "b": 1e999}\n', 1, 19, "inf is not a number"),
    ("jsonl", b'{"label": 1e999}\n', 1, 11, "too large"),
    ("jsonl", b'{"label": [1]}\n', 1, 11, "must be a number or text"),
    ("jsonl", b'{"label": null}\n', 1, 11, "no label"),
    ("jsonl", b'{"a": 1}\n', 1, 1, "no label"),
    ("jsonl", b'{"label": 1, "b": ' + b"9" * 5000 + b"}\n", 1, 19, "not JSON"),
    ("jsonl", b'{"label": 1, "b\\ud800": 1}\n', 1, 25, "surrogate"),
    ("jsonl", b'{"label": 1, "b": "\\ud800"}\n', 1, 19, "surrogate"),
    ("jsonl", b'{"label": 1, "b": ' + b'{"c": ' * 101 + b"1" + b"}" * 102 + b"\n", 1, 0, "nested too deeply"),
    ("text", b"1\ta word\nno tab\n", 2, 7, "no tab"),
    ("text", b"1\ta word\n  inf\ta word\n", 2, 3, "the label is inf"),
    ("text", b"1\ta word\n\ta word\n", 2, 1, "no label"),
    ("libsvm", b"1 1:1\n1 1:x\n", 2, 5, "not a finite number"),
    ("libsvm", b"1 1:1\n nan 1:1\n", 2, 2, "the label is nan"),
    ("vw", b"1 | a\n1 | a:nan\n", 2, 7, "not a finite number"),
    ("vw", b"1 | a\n | a\n", 2, 2, "no label"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault[0]}: {fault[4]}")
@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
def test_every_fault_has_a_place(fault: tuple[str, bytes, int, int, str], ending: str, tmp_path: Path) -> None:
    format, content, line, column, reason = fault
    path = tmp_path / f"rows.{format}"
    path.write_bytes(content.replace(b"\n", ending.encode()) if b'"1\n1"' not in content else content)
    with pytest.raises(DataError) as caught:
        list(stream.read(path, format=format, dtype="float64"))
    error = caught.value
    assert reason in error.reason
    assert error.line == line, error
    assert error.column == column or (column == 0 and error.column is not None and error.column > 500), error
    assert str(error).startswith(f"{path}:{line}:{error.column}: ")
    # The same places, where such lines are left out.
    faults = stream.read(path, format=format, errors="skip", max_error_share=1)
    if line > 1 or format not in ("csv", "tsv"):
        list(faults)
        assert (faults.faults.first[0].line, faults.faults.first[0].column) == (line, error.column)


def test_values_that_float32_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"a,b,label\n1,2,3\n1,1e39,0\n")
    with pytest.raises(DataError, match=r"rows\.csv:3:3: the value of feature 'b' is out of range"):
        list(stream.read(path, dtype="float32"))
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"label": 1, "x": {"b": 1}, "c": 3e38}\n{"label": 1, "x": {"a": 2, "b": 1e39}}\n')
    with pytest.raises(DataError, match=r"rows\.jsonl:2:33: the value of feature 'x\.b' is out of range"):
        list(stream.read(path, dtype="float32"))

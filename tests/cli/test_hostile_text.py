"""Text of others on its way out: terminals, spreadsheets, and bytes that are no characters."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_line import SURELINE, run

import sureline
from sureline import cli
from sureline._inputs import printable

pytestmark = pytest.mark.torture
EVIL = "\x1b[31mred\x07\x9b2J\u202e"
ROWS = 40


def on_a_terminal(*arguments: Any, cwd: Path) -> str:
    """The output of a command on a terminal, both streams together."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*SURELINE, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=follower, stderr=follower, cwd=cwd
    )
    os.close(follower)
    pieces = []
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # nobody has the other side any more
            break
        if not piece:
            break
        pieces.append(piece)
    process.wait(60)
    os.close(leader)
    return b"".join(pieces).decode()


def assert_harmless(said: str) -> None:
    for own in ("\r\x1b[2K", "\r\n"):  # what is drawn over and over, and the terminal's newlines
        said = said.replace(own, "\n" if own == "\r\n" else "")
    assert all(c.isprintable() or c in "\n\t\N{NO-BREAK SPACE}" for c in said), repr(said)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Data, a model and file names full of control characters."""
    lines = [
        json.dumps({"label": f"{EVIL}{k % 3}", f"name{EVIL}{k % 2}": 1, "text": f"{EVIL}{k % 3}"}) for k in range(ROWS)
    ]
    (tmp_path / f"data{EVIL}.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / f"bad{EVIL}.jsonl").write_text(f'{{"label": 1}}\n{{"label": 1, "a{EVIL}": [1]}}\n')
    (tmp_path / "rows.vw").write_bytes(
        b"".join(b"%d 'tag\x1b[31m%d |f\x1b[2J a\x07\n" % (k % 2, k) for k in range(ROWS))
    )
    run("train", tmp_path / f"data{EVIL}.jsonl", "--algorithm", "scw", "--model", tmp_path / "m", "--quiet")
    run("train", tmp_path / "rows.vw", "--algorithm", "scw", "--model", tmp_path / "v", "--quiet")
    return tmp_path


COMMANDS: list[list[Any]] = [
    ["train", f"data{EVIL}.jsonl", "--algorithm", "pa", "--model", f"made{EVIL}"],
    ["train", f"bad{EVIL}.jsonl", "--model", "x"],
    ["train", f"missing{EVIL}", "--model", "x"],
    ["train", f"data{EVIL}.jsonl", "--label", f"no{EVIL}", "--model", "x"],
    ["train", f"data{EVIL}.jsonl", "--labels", f"a{EVIL},b", "--algorithm", "pa", "--model", "x"],
    ["predict", f"data{EVIL}.jsonl", "--model", "m"],
    ["predict", f"data{EVIL}.jsonl", "--model", "m", "--json"],
    ["predict", "rows.vw", "--model", "v"],
    ["predict", "rows.vw", "--model", f"m{EVIL}"],
    ["evaluate", f"data{EVIL}.jsonl", "--model", "m"],
    ["evaluate", f"data{EVIL}.jsonl", "--model", "m", "--json"],
    ["evaluate", "rows.vw", "--model", "m"],
    ["inspect", "m"],
    ["inspect", "m", "--json"],
    ["inspect", "v"],
    ["compare", f"data{EVIL}.jsonl", "--quiet"],
    ["convert", f"data{EVIL}.jsonl", f"out{EVIL}.arrow"],
    [f"com{EVIL}mand"],
    ["train", f"--opt{EVIL}ion"],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(printable(word) for word in words[:4]))
def test_nothing_controls_the_terminal(command: list[Any], folder: Path) -> None:
    said = on_a_terminal(*command, cwd=folder)
    assert said.strip()
    assert_harmless(said)


def test_what_goes_into_a_file_stays_as_it_is(folder: Path) -> None:
    done = run("predict", folder / f"data{EVIL}.jsonl", "--model", folder / "m")
    assert {row["label"] for row in csv.DictReader(io.StringIO(done.stdout))} <= {f"{EVIL}{k}" for k in range(3)}


def test_printable() -> None:
    assert printable("plain, é, 漢字, 😀") == "plain, é, 漢字, 😀"
    assert printable("a\x1b[31m\x7f\x9b\n\u202e") == "a\\u001b[31m\\u007f\\u009b\\n\\u202e"
    assert json.loads(f'"{printable(EVIL)}"') == EVIL
    assert printable("a\nb\tc\r", but="\n\t") == "a\nb\tc\\r"
    assert printable("\udcff") == "\\udcff"


def test_an_encoding_without_room(tmp_path: Path) -> None:
    data = tmp_path / "a.svm"
    data.write_text("é 1:1\nü 2:1\n" * 20)
    done = subprocess.run(
        [*SURELINE, "train", str(data), "--algorithm", "pa", "--model", str(tmp_path / "m"), "--quiet"],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0
    assert b"labels: \\xe9 (negative), \\xfc (positive)" in done.stdout


TAGS = [b"a\xff", b"a\xfe", b"\xc3\xa9", b"plain", b"=1+1", b"-1", b"+cmd|' /C calc'!A0", b"@SUM(A1)", b"'quoted"]


@pytest.fixture
def tagged(tmp_path: Path) -> Path:
    path = tmp_path / "rows.vw"
    path.write_bytes(
        b"".join(
            b"%d '%s | a%d\n" % (k % 2 * 2 - 1, t.replace(b"|", b"").replace(b" ", b""), k % 2)
            for k, t in enumerate(TAGS)
        )
    )
    assert cli.run(["train", str(path), "--algorithm", "pa", "--model", str(tmp_path / "m"), "--quiet"]) == 0
    return path


def test_tags_keep_their_bytes(tagged: Path) -> None:
    out = tagged.with_name("out.csv")
    assert cli.run(["predict", str(tagged), "--model", str(tagged.with_name("m")), "--output", str(out)]) == 0
    told = [line.split(b",")[0] for line in out.read_bytes().splitlines()[1:]]
    assert told[:4] == TAGS[:4]
    assert len(set(told)) == len(TAGS)


def test_json_refuses_tags_that_are_no_text(tagged: Path, capsys: Any) -> None:
    out = tagged.with_name("out.jsonl")
    words = ["predict", str(tagged), "--model", str(tagged.with_name("m")), "--json", "--output", str(out)]
    assert cli.run(words) == 1
    assert f"{tagged}: the tag of row 1 is no UTF-8" in capsys.readouterr().err
    assert not out.exists()


def test_ask_keeps_bytes_too(tagged: Path) -> None:
    lines = [line.replace(b"| a", b"| a%d a" % k) for k, line in enumerate(tagged.read_bytes().splitlines())]
    rows = tagged.with_name("ask.vw")  # none like another
    rows.write_bytes(b"\n".join(lines) + b"\n")
    words = ["ask", str(rows), "--model", str(tagged.with_name("m")), "--best", str(len(TAGS))]
    done = subprocess.run([*SURELINE, *words], capture_output=True)
    assert done.returncode == 0
    told = list(csv.DictReader(io.StringIO(done.stdout.decode(errors="surrogateescape"), newline="")))
    assert len({row["tag"] for row in told}) == len(TAGS)
    assert all(row["text"].encode(errors="surrogateescape") == lines[int(row["row"]) - 1] for row in told)
    safe = subprocess.run([*SURELINE, *words, "--csv-safe"], capture_output=True).stdout
    assert b",'=1+1," in safe
    assert b",'@SUM(A1)," in safe
    done = subprocess.run([*SURELINE, *words, "--json"], capture_output=True)
    assert done.returncode == 1
    assert b"is no UTF-8, which CSV alone can hold" in done.stderr


def test_a_label_that_is_no_text_is_told(tmp_path: Path, capsys: Any) -> None:
    X, y = np.eye(2).repeat(10, 0), ["a", "\ud800"] * 10
    sureline.save(sureline.PA(normalize="none").fit(X, y), tmp_path / "m")
    (tmp_path / "rows.svm").write_text("1 0:1\n")
    predict = ["predict", str(tmp_path / "rows.svm"), "--model", str(tmp_path / "m"), "--output"]
    export = ["export", str(tmp_path / "m"), "--onnx", str(tmp_path / "m.onnx")]
    for words in ([*predict, str(tmp_path / "o.csv")], [*predict, str(tmp_path / "o.parquet")], export):
        assert cli.run(words) == 1
        assert "half of a surrogate pair" in capsys.readouterr().err
    assert cli.run([*predict, str(tmp_path / "o.jsonl")]) == 0
    assert json.loads((tmp_path / "o.jsonl").read_text())["label"] in y


def test_identifiers_that_are_no_text_are_refused(tmp_path: Path) -> None:
    """Both would be the same question mark."""
    path = tmp_path / "rows.jsonl"
    path.write_text('{"label":1,"id":"\\ud800","a":1}\n{"label":0,"id":"\\ud801","a":2}\n')
    with pytest.raises(sureline.stream.DataError, match=r":1:17: .* half of a surrogate pair"):
        list(sureline.stream.read(path, id="id"))


def test_csv_for_spreadsheets(tagged: Path, tmp_path: Path, capsys: Any) -> None:
    out = tagged.with_name("out.csv")
    words = ["predict", str(tagged), "--model", str(tagged.with_name("m")), "--output", str(out)]
    assert cli.run([*words, "--csv-safe"]) == 0
    rows = list(csv.reader(io.StringIO(out.read_bytes().decode(errors="surrogateescape"), newline="")))[1:]
    assert [row[0] for row in rows[3:]] == [
        "plain",
        "'=1+1",
        "-1",
        "'+cmd'/C calc'!A0".replace(" ", ""),
        "'@SUM(A1)",
        "'quoted",
    ]
    for row in rows:
        assert float(row[1]) in (-1, 1)  # labels that are numbers stay numbers, and so do scores
        float(row[2])
    for first in "=+-@\t\r\n\uff1d":
        X, y = np.eye(2).repeat(5, 0), np.array([f"{first}HYPERLINK(1)", "a"], object).repeat(5)
        sureline.save(sureline.PA().fit(X, y), tmp_path / "evil")
        (tmp_path / "e.svm").write_text("1 0:1\n1 1:1\n")
        assert (
            cli.run(
                [
                    "predict",
                    str(tmp_path / "e.svm"),
                    "--model",
                    str(tmp_path / "evil"),
                    "--output",
                    str(out),
                    "--csv-safe",
                ]
            )
            == 0
        )
        told = {row[0] for row in list(csv.reader(io.StringIO(out.read_bytes().decode(), newline="")))[1:]}
        assert told == {f"'{first}HYPERLINK(1)", "a"}
    capsys.readouterr()
    assert cli.run([*words, "--csv-safe", "--json"]) == 2
    assert "--csv-safe is for CSV" in capsys.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes there")
def test_a_path_that_is_no_text(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/a\xff.svm"
    with open(path, "wb") as file:
        file.write(b"1 1:1\n2 2:1\n" * 20)
    done = subprocess.run([*SURELINE, "train", path, "--algorithm", "pa", "--model", path + b".m"], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert rb"a\udcff.svm.m" in done.stdout


def test_no_break_spaces_are_not_escaped(folder: Path) -> None:
    said = run("compare", folder / "rows.vw", "--algorithm", "pa,scw").stdout
    assert "\N{NO-BREAK SPACE}%" in said
    assert "\\u00a0" not in said

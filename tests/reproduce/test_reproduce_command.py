"""``sureline reproduce``: its options, output and files, and the kept results."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from sureline import cli, reproduce
from sureline.reproduce.pages import write_files

NAMES = reproduce.names()


def test_the_command_lists_what_there_is(capsys) -> None:
    assert cli.run(["reproduce", "--list"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in NAMES)
    assert cli.run(["reproduce", "--list", "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)] == NAMES


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["scw-table9"],
        ["scw-table1", "--data", "/no/such/folder"],
        ["scw-table1", "--report", "/no/such/r.html"],
        ["scw-table1", "--output", "/proc/foo"],
    ],
)
def test_the_command_refuses_what_it_does_not_know(arguments: list[str], capsys) -> None:
    assert cli.run(["reproduce", *arguments]) == 2
    said = capsys.readouterr()
    assert said.err.startswith("sureline reproduce: ")
    assert said.out == ""  # before anything is run


def test_names_may_be_written_in_any_letters_and_nearly(capsys) -> None:
    assert cli.run(["reproduce", "SCW-Table1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "scw-table1"
    assert cli.run(["reproduce", "scw-tabl3"]) == 2
    assert "There is no 'scw-tabl3'; did you mean scw-table3? There are scw-figure1, " in capsys.readouterr().err


def test_what_can_be_written_is_written(tmp_path: Path, capsys, monkeypatch) -> None:
    folder = tmp_path / "good"

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("sureline.reproduce.pages.write_page", full)
    arguments = ["reproduce", "scw-table1", "--report", str(tmp_path / "x.html"), "--output", str(folder)]
    assert cli.run(arguments) == 1
    assert sorted(path.name for path in folder.iterdir()) == ["scw-table1.json", "scw-table1.md"]
    assert f"sureline: {tmp_path}/x.html could not be written: No space left on device\n" in capsys.readouterr().err
    (folder / "scw-table1.md").write_bytes(b"\xff")
    written, (sentence,) = write_files(reproduce.run("scw-table1"), folder)
    assert [path.suffix for path in written] == [".json"]
    assert sentence.startswith(f"{folder}/scw-table1.md is not text in UTF-8")


def test_a_quick_run_does_not_replace_a_full_one(tmp_path: Path, capsys) -> None:
    arguments = ["reproduce", "scw-table1", "--output", str(tmp_path)]
    assert cli.run([*arguments, "--quick"]) == 0
    assert cli.run([*arguments, "--quick"]) == 0
    assert cli.run(arguments) == 0
    before = (tmp_path / "scw-table1.md").read_bytes()
    capsys.readouterr()
    assert cli.run([*arguments, "--quick"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"{tmp_path} has a full run of scw-table1, which --quick would replace: name another folder." in said.err
    assert (tmp_path / "scw-table1.md").read_bytes() == before
    (tmp_path / "scw-table1.md").write_bytes(b"\xff")
    assert cli.run(arguments) == 2
    assert "scw-table1.md is not text in UTF-8" in capsys.readouterr().err


def test_the_command_that_is_printed_does_without_the_folders_name(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.delenv("SURELINE_DATA", raising=False)
    assert cli.run(["reproduce", "scw-table1", "--data", str(tmp_path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["command"] == "sureline reproduce scw-table1 --data DIR"
    monkeypatch.setenv("SURELINE_DATA", str(tmp_path))
    assert cli.run(["reproduce", "scw-table1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["command"] == "sureline reproduce scw-table1 --data DIR"


def test_the_command_makes_numbers_a_page_and_files(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.delenv("SURELINE_DATA", raising=False)
    page, folder = tmp_path / "page.html", tmp_path / "out"
    arguments = ["reproduce", "scw-table1", "--quick", "--json", "--report", str(page), "--output", str(folder)]
    assert cli.run(arguments) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["command"] == "sureline reproduce scw-table1 --quick"
    assert made["quick"] is True
    assert len(made["findings"]["verdicts"]) == 4
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in folder.iterdir()) == ["scw-table1.json", "scw-table1.md"]


def test_the_command_ends_with_1_if_nothing_could_be_run(tmp_path: Path, capsys, monkeypatch) -> None:
    entry = reproduce.entry("scw-table3")
    files_only = replace(entry, data=tuple(one for one in entry.data if "generator" not in one))
    monkeypatch.setattr(reproduce, "entry", lambda name: files_only)
    assert cli.run(["reproduce", "scw-table3", "--data", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "Not run, for want of data:" in out
    assert "svmguide3: there is no file svmguide3 (also with .svm" in out
    assert "datasets/binary.html#svmguide3" in out


# -- what is kept -----------------------------------------------------------------------------------------------------


def test_the_index_of_the_results_is_true() -> None:
    folder = Path(__file__).parents[2] / "docs" / "results"
    index = (folder / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", index)
    assert [link for link in links if not (folder / link).is_file()] == []
    assert [page.stem for page in folder.glob("*.md") if page.stem not in index and page.stem != "README"] == []
    assert [name for name in NAMES if not re.search(rf"\b{name}\b", index)] == []


@pytest.mark.parametrize("module", ["altair", "vl_convert", "jinja2"])
def test_what_is_not_installed_is_said_before_the_work(tmp_path: Path, capsys, monkeypatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    (tmp_path / "a.svm").write_text("1 1:1\n0 2:1\n")
    page = tmp_path / "page.html"
    for arguments in (
        ["reproduce", "scw-table1", "--report", page],
        ["reproduce", "scw-table1", "--output", tmp_path / "out"],
        ["compare", tmp_path / "a.svm", "--report", page],
    ):
        assert cli.run([str(argument) for argument in arguments]) == 1
        said = capsys.readouterr()
        assert said.out == ""
        package = module.replace("vl_convert", "vl-convert-python")
        assert f"{arguments[2]} needs {package}: pip install 'sureline[report]'." in said.err
    assert not page.exists()


def test_seeds_and_numbers_of_runs_can_be_said(capsys) -> None:
    assert cli.run(["reproduce", "scw-table3", "--quick", "--runs", "2", "--seed", "7", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["protocol"]["permutations"], told["protocol"]["first_seed"]) == (2, 7)
    assert told["command"].endswith("--quick --seed 7 --runs 2")
    entry = reproduce.varied(reproduce.entry("sol-figure4"), runs=3)
    assert entry.protocol["sets"]["w8a"]["permutations"] == entry.quick["sets"]["w8a"]["permutations"] == 3
    assert cli.run(["reproduce", "sol-table2", "--runs", "3"]) == 2
    assert "sol-table2 has no number of runs" in capsys.readouterr().err


def test_an_entry_of_ones_own_is_run(tmp_path: Path, capsys) -> None:
    theirs = (Path(reproduce.__file__).parent / "entries" / "scw-table1.toml").read_text()
    mine = tmp_path / "mine.toml"
    mine.write_text(theirs.replace('name = "scw-table1"', 'name = "mine"', 1))
    assert cli.run(["reproduce", str(mine), "--quick", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "mine"
    assert cli.run(["reproduce", str(tmp_path / "no.toml")]) == 2
    assert "There is no file" in capsys.readouterr().err
    mine.write_text("name = 3")
    assert cli.run(["reproduce", str(mine)]) == 2
    assert "mine.toml" in capsys.readouterr().err


def test_a_file_may_have_another_name_and_other_labels(tmp_path: Path) -> None:
    from sureline.reproduce.data import load
    from sureline.reproduce.entry import DataSet

    data = DataSet(
        "d", files=("a.binary|a",), source="x", rows=2, features=2, labels=(1.0, 2.0), labels_too=(-1.0, 1.0)
    )
    for name, lines in (("a.binary", "1 1:1\n2 2:1\n"), ("a.svm", "-1 1:1\n+1 2:1\n")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / name).write_text(lines)
        assert load(data, folder).y.tolist() == [-1, 1]

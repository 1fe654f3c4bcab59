"""No output is an input, and unwritable outputs are refused before any work: for every option that names a file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

import sureline
from sureline import cli
from sureline.cli._paths import Data, Module, Read, ReadFolder, Written, WrittenFolder, beside
from sureline.stream.outputs import OutputError, check_outputs

OURS = (Data, Read, Module, Written, ReadFolder, WrittenFolder)


def commands() -> dict[str, click.Command]:
    context = click.Context(cli.sureline)
    found = {name: cli.sureline.get_command(context, name) for name in cli.sureline.list_commands(context)}
    return {name: command for name, command in found.items() if command is not None}


def files_of(command: click.Command) -> list[click.Parameter]:
    return [param for param in command.params if isinstance(param.type, click.Path | click.File)]


# Every output of every command, by the one that names it, with every input that it could be; but a model may take the
# place of the one that it went on from, which was read whole.
PAIRS = [
    (name, written, read)
    for name, command in commands().items()
    for written in files_of(command)
    if isinstance(written.type, Written)
    for read in files_of(command)
    if isinstance(read.type, Data | Read | Module)
    if not (isinstance(read.type, Read) and read.type.replaced_by in written.opts)
]
# A model that a training goes on from may be replaced by the one that comes of it.
REPLACED = [pair for pair in PAIRS if getattr(pair[2].type, "replaced_by", None) in pair[1].opts]
OUTPUTS = sorted({(name, str(written.name)) for name, written, _ in PAIRS} | {("reproduce", "report")})


def test_every_option_that_names_a_file_says_what_for() -> None:
    for name, command in commands().items():
        for param in files_of(command):
            assert isinstance(param.type, OURS), f"{name} {param.name}: say what it is for, with a type of cli/_paths"
        if files_of(command):
            assert type(command).__name__ == "FileCommand", name
    assert len(PAIRS) >= 10


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("paths") / "m"
    rng = np.random.default_rng(0)
    sureline.save(sureline.AROW().fit(rng.standard_normal((30, 4)), np.arange(30) % 2), path)
    return path.read_bytes()


pytestmark = pytest.mark.torture
ROWS = b"".join(b"%d 1:%d 2:1\n" % (i % 2, i % 5) for i in range(60))
CODE = b"from sureline.custom import Learner\n"


def command_line(name: str, values: dict[str, str]) -> list[str]:
    """The command with these files, and others that are needed besides."""
    words: list[str] = [name]
    for param in commands()[name].params:
        if param.name not in values:
            continue
        if isinstance(param, click.Option):
            words += [param.opts[-1]]
        words += [values[param.name]]
    if name == "reproduce":
        words[1:1] = ["odca-figure1"]
    return words


def content(param: click.Parameter, model: bytes) -> bytes:
    return ROWS if isinstance(param.type, Data) else CODE if isinstance(param.type, Module) else model


def others(name: str, folder: Path, model: bytes, *but: str) -> dict[str, str]:
    """Files that the command also needs."""
    values = {}
    for param in files_of(commands()[name]):
        needed = param.required or (isinstance(param.type, Data) and "follow" not in but)  # DATA or --follow
        if param.name in but or not needed:
            continue
        path = folder / f"other-{param.name}"
        if isinstance(param.type, Data | Read):
            path.write_bytes(content(param, model))
        elif not isinstance(param.type, Written):  # the folder of a service
            path.mkdir(exist_ok=True)
        values[str(param.name)] = str(path.with_suffix(".arrow") if param.name == "output" else path)
    return values


def everything(folder: Path) -> dict[str, Any]:
    return {
        str(path): (os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None)
        for path in sorted(folder.rglob("*"))
    }


def refused(capsys: Any, arguments: list[str], status: int = 2) -> str:
    capsys.readouterr()
    got = cli.run(arguments)
    out, err = capsys.readouterr()
    assert got == status, (arguments, got, err)
    assert out == ""
    assert err.count("\n") == 1
    assert "internal error" not in err
    return str(err)


WAYS: dict[str, Callable[[Path, Path], Any]] = {
    "same": lambda _, __: None,
    "hard link": lambda path, target: os.link(path, target),
    "link": lambda path, target: target.symlink_to(path),
    "link to a link": lambda path, target: (
        target.with_name("between").symlink_to(path.name),
        target.symlink_to("between"),
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("name", "written", "read"),
    [pair for pair in PAIRS if pair not in REPLACED],
    ids=[f"{pair[0]}-{pair[1].name}-{pair[2].name}" for pair in PAIRS if pair not in REPLACED],
)
def test_no_output_is_an_input(
    name: str,
    written: click.Parameter,
    read: click.Parameter,
    way: str,
    model: bytes,
    tmp_path: Path,
    capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    source = tmp_path / (
        "code.py" if isinstance(read.type, Module) else "rows.arrow" if name == "convert" else "rows.svg"
    )
    source.write_bytes(content(read, model))
    target = source if way == "same" else tmp_path / ("target.arrow" if name == "convert" else "target.svg")
    WAYS[way](source, target)
    values = others(name, tmp_path, model, str(written.name), str(read.name))
    values[str(written.name)] = str(target)
    values[str(read.name)] = "code:Own" if isinstance(read.type, Module) else str(source)
    before = everything(tmp_path)
    said = refused(capsys, command_line(name, values))
    assert "must not be written over" in said
    assert everything(tmp_path) == before


@pytest.mark.parametrize(
    ("name", "written"), [(n, w) for n, w, r in PAIRS if isinstance(r.type, Data)], ids=lambda x: getattr(x, "name", x)
)
def test_what_a_glob_matches_is_read(
    name: str, written: click.Parameter, model: bytes, tmp_path: Path, capsys: Any
) -> None:
    for k in range(3):
        (tmp_path / f"g{k}.arrow").write_bytes(ROWS)
    values = others(name, tmp_path, model, str(written.name), "data")
    values |= {"data": str(tmp_path / "g*.arrow"), str(written.name): str(tmp_path / "g1.arrow")}
    before = everything(tmp_path)
    assert "must not be written over" in refused(capsys, command_line(name, values))
    (tmp_path / "sub").symlink_to(tmp_path, target_is_directory=True)
    values[str(written.name)] = str(tmp_path / "sub" / "g2.arrow")
    assert "must not be written over" in refused(capsys, command_line(name, values))
    (tmp_path / "sub").unlink()
    assert everything(tmp_path) == before


def beside_it(path: Path, written: click.Parameter) -> Iterator[Path]:
    """The names that are written, or cleared away, with a file."""
    assert isinstance(written.type, Written)
    yield path.with_name(f".{path.name}.{'0a' * 8}.tmp")
    for ending in written.type.beside:
        yield beside(path, ending)
        yield path.with_name(f".{path.name}{ending}.{'0a' * 8}.tmp")


@pytest.mark.parametrize(
    ("name", "written", "read"), [pair for pair in PAIRS if isinstance(pair[2].type, Data | Read)], ids=str
)
def test_nothing_beside_an_output_is_an_input(
    name: str, written: click.Parameter, read: click.Parameter, model: bytes, tmp_path: Path, capsys: Any
) -> None:
    target = tmp_path / ("x.arrow" if name == "convert" else "x.svg")
    for source in beside_it(target, written):
        source.write_bytes(content(read, model))
        values = others(name, tmp_path, model, str(written.name), str(read.name))
        values |= {str(written.name): str(target), str(read.name): str(source)}
        before = everything(tmp_path)
        assert "is read" in refused(capsys, command_line(name, values)), source
        assert everything(tmp_path) == before
        source.unlink()


@pytest.mark.parametrize("name", ["train", "tune"])
def test_two_outputs_are_two_files(name: str, model: bytes, tmp_path: Path, capsys: Any) -> None:
    outputs = [str(param.name) for param in files_of(commands()[name]) if isinstance(param.type, Written)]
    assert len(outputs) >= 2
    data = tmp_path / "rows.svm"
    data.write_bytes(ROWS)
    same = str(tmp_path / "x")
    for pair in combinations(outputs, 2):
        values = {"data": str(data), **dict.fromkeys(pair, same)}
        values.setdefault("model_path", str(tmp_path / "model"))
        assert "would write the same file" in refused(capsys, command_line(name, values)), pair
    if name == "train":
        values = {"data": str(data), "model_path": same, "log": same + ".checkpoint"}
        assert "would write the same file" in refused(capsys, command_line(name, values))
    assert [path.name for path in tmp_path.iterdir()] == ["rows.svm"]


def unwritable(folder: Path) -> Iterator[Path]:
    """Targets that nothing can be written to."""
    (folder / "null").symlink_to("/dev/null")
    yield folder / "null"
    yield Path("/dev/null")
    os.mkfifo(folder / "fifo")
    yield folder / "fifo"
    (folder / "loop").symlink_to("loop")
    yield folder / "loop"
    (folder / "loop2").symlink_to("loop3")
    (folder / "loop3").symlink_to("loop2")
    yield folder / "loop2"
    (folder / "folder.arrow").mkdir()
    yield folder / "folder.arrow"
    yield folder / "no" / "such"
    (folder / "file").write_bytes(b"")
    yield folder / "file" / "below"
    yield folder / ("n" * 256)
    yield Path("/proc/nothing")  # a folder that even root writes nothing into
    yield from map(Path, (".", "..", "/", ""))  # without a name of their own


@pytest.mark.parametrize(("name", "written"), OUTPUTS)
def test_what_cannot_be_written_is_refused_before_any_work(
    name: str, written: str, model: bytes, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError("it began")

    monkeypatch.setattr(sureline.stream.stream.Stream, "read_from", work)
    values = others(name, tmp_path, model, written)
    for target in unwritable(tmp_path):
        before = {path: os.lstat(path).st_mtime_ns for path in tmp_path.rglob("*")}
        said = refused(capsys, command_line(name, values | {written: str(target)}))
        assert "cannot be written: " in said or "there is no folder" in said, (target, said)
        assert {path: os.lstat(path).st_mtime_ns for path in tmp_path.rglob("*")} == before
    # The checkpoint of a model is a file like the model.
    if (name, written) == ("train", "model_path"):
        (tmp_path / "m.checkpoint").mkdir()
        assert "checkpoint of --model" in refused(capsys, command_line(name, values | {written: str(tmp_path / "m")}))
        long = str(tmp_path / ("n" * 250))
        assert "checkpoint of --model" in refused(capsys, command_line(name, values | {written: long}))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize(("name", "written"), OUTPUTS)
def test_a_folder_that_must_not_be_changed(name: str, written: str, model: bytes, tmp_path: Path, capsys: Any) -> None:
    values = others(name, tmp_path, model, written)
    closed = tmp_path / "closed"
    closed.mkdir()
    closed.chmod(stat.S_IRUSR | stat.S_IXUSR)
    assert "cannot be written" in refused(capsys, command_line(name, values | {written: str(closed / "x.arrow")}))


def test_reproduce_does_not_write_over_its_data(tmp_path: Path, capsys: Any) -> None:
    entry = next(
        e for e in map(sureline.reproduce.entry, sureline.reproduce.names()) for one in e.data_sets if one.files
    )
    file = next(one for one in entry.data_sets if one.files).files[0]
    data = tmp_path / f"{file}.svm"
    data.write_bytes(ROWS)
    words = ["reproduce", entry.name, "--quick", "--data", str(tmp_path)]
    assert "must not be written over" in refused(capsys, [*words, "--report", str(data)])
    out = tmp_path / "out"
    out.mkdir()
    for made in ("json", "md"):
        (out / f"{entry.name}.{made}").symlink_to(data)
        assert "must not be written over" in refused(capsys, [*words, "--output", str(out)])
        (out / f"{entry.name}.{made}").unlink()
    (out / f"{entry.name}-picture.svg").symlink_to(data)
    assert "must not be written over" in refused(capsys, [*words, "--output", str(out)])
    assert data.read_bytes() == ROWS


def test_reproduce_does_not_write_over_its_entry_or_twice_over_one_file(tmp_path: Path, capsys: Any) -> None:
    name = sureline.reproduce.names()[0]
    own = tmp_path / "own.toml"
    source = Path(sureline.reproduce.__file__).parent / "entries" / f"{name}.toml"
    own.write_text(source.read_text().replace(f'name = "{name}"', 'name = "own"'))
    (tmp_path / "link.html").symlink_to(own)
    out = tmp_path / "out"
    out.mkdir()
    before = everything(tmp_path)
    words = ["reproduce", str(own), "--quick", "--data", str(tmp_path)]
    for target in (own, tmp_path / "link.html"):
        assert "must not be written over" in refused(capsys, [*words, "--report", str(target)])
    for made in ("own.json", "own.md", "own-picture.svg"):
        twice = [*words, "--output", str(out), "--report", str(out / made)]
        assert "would write the same file" in refused(capsys, twice)
    assert everything(tmp_path) == before


def test_replay_does_not_write_over_the_state_that_it_reads(tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("msgspec")
    snapshot = tmp_path / "state" / "m" / "1.sureline"
    snapshot.parent.mkdir(parents=True)
    snapshot.write_bytes(ROWS)
    (tmp_path / "link").symlink_to(snapshot)
    words = ["replay", str(tmp_path / "state"), "--model", "m", "--version", "1", "--output"]
    for target in (snapshot, tmp_path / "link"):
        assert "must not be written over" in refused(capsys, [*words, str(target)])
    assert snapshot.read_bytes() == ROWS


def test_python_refuses_as_the_command_line_does(tmp_path: Path) -> None:
    data = tmp_path / "x.checkpoint"
    data.write_bytes(ROWS)
    with pytest.raises(OutputError, match=r"checkpoint: .* is read, and must not be written over"):
        sureline.train(data, "pa", model=tmp_path / "x", checkpoint=data, format="libsvm")
    with pytest.raises(ValueError, match=r"model: .* is read, and must not be written over"):
        sureline.train(data, "pa", model=data, format="libsvm")
    with pytest.raises(ValueError, match="model: /dev/null cannot be written: it is not a regular file"):
        sureline.train(data, "pa", model="/dev/null", format="libsvm")
    source = sureline.stream.read(data, format="libsvm")
    litter = tmp_path / f".y.arrow.{'0a' * 8}.tmp"
    litter.symlink_to(data)
    os.link(data, tmp_path / "hard.arrow")
    with pytest.raises(ValueError, match="among the files that are read"):
        sureline.stream.convert(source, tmp_path / "hard.arrow")
    assert data.read_bytes() == ROWS


def test_standard_output_is_an_output(tmp_path: Path) -> None:
    data = tmp_path / "rows.svm"
    data.write_bytes(ROWS)
    keep = os.dup(1)
    with data.open("ab") as file:
        os.dup2(file.fileno(), 1)
        try:
            with pytest.raises(OutputError, match=r"standard output: it goes to .*rows\.svm, which is read"):
                check_outputs([str(data)], {})
        finally:
            os.dup2(keep, 1)
            os.close(keep)


def test_standard_input_is_an_input(tmp_path: Path) -> None:
    data = tmp_path / "rows.svm"
    data.write_bytes(ROWS)
    keep = os.dup(0)
    with data.open("rb") as file:
        os.dup2(file.fileno(), 0)
        try:
            with pytest.raises(OutputError, match="is read, and must not be written over"):
                check_outputs(["-"], {"--model": str(data)})
        finally:
            os.dup2(keep, 0)
            os.close(keep)


def test_a_log_grows_only_what_is_one(tmp_path: Path, capsys: Any) -> None:
    data, model, log = tmp_path / "rows.svm", tmp_path / "m", tmp_path / "log"
    data.write_bytes(ROWS)
    words = ["train", str(data), "--algorithm", "pa", "--quiet", "--model"]
    assert cli.run([*words, str(model)]) == 0
    before = model.read_bytes()
    assert f"{model} is no log of progress" in refused(capsys, [*words, str(tmp_path / "n"), "--log", str(model)])
    assert model.read_bytes() == before
    for _ in range(2):
        assert cli.run([*words, str(model), "--log", str(log)]) == 0
    assert log.read_text().count('"examples": 1,') == 2


def test_a_log_may_lie_in_a_folder_where_nothing_is_made(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"")
    before = tmp_path.stat().st_mtime_ns
    check_outputs([], {"--log": log}, ["--log"])
    assert tmp_path.stat().st_mtime_ns == before

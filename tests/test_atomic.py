"""Saving: the old model or the new one, whatever happens, and no litter."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import pickle
import shutil
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from torture import times

from sureline._atomic import replacing
from sureline.modelfile import WriteError, remove_stale

HERE = Path(__file__).parent
KILLS = times(20)
pytestmark = pytest.mark.torture
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="preloads a library")


def run(folder: Path, *arguments: str, shim: Path | None = None) -> dict[str, int]:
    """The report of saving.py."""
    environment = dict(os.environ)
    if shim is not None:
        environment |= {"LD_PRELOAD": str(shim), "FAILING_DISK_UNDER": str(folder)}
    command = [sys.executable, str(HERE / "saving.py"), str(folder), *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    happened: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return happened


@pytest.fixture(scope="session")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("there is no C compiler")
    library = tmp_path_factory.mktemp("shim") / "failing_disk.so"
    options = ["-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run([compiler, *options, "-o", library, HERE / "failing_disk.c", "-ldl"], check=True)
    return library


@linux_only
def test_a_disk_that_fails_at_every_call(tmp_path: Path, shim: Path) -> None:
    happened = run(tmp_path, "fail", shim=shim)
    # Each kind of call failed; "nothing" is the round after the last call, once for each of eight ways to fail.
    assert happened.keys() >= {"open", "flock", "fchmod", "write", "fsync", "rename", "close"}
    assert happened["nothing"] == 8
    assert happened["fsync"] == 16  # of the file and of the folder


@linux_only
def test_killed_at_every_call(tmp_path: Path, shim: Path) -> None:
    happened = run(tmp_path, "kill-at-calls", shim=shim)
    assert min(happened[key] for key in ("litter", "version 0", "version 1", "version 2")) > 4


def test_killed_at_random_moments(tmp_path: Path) -> None:
    happened = run(tmp_path, "kill", str(KILLS), "0")
    assert happened.get("replaced", 0) + happened.get("kept", 0) == KILLS
    assert happened["litter"] > 0  # else the moments were not those of saving


def test_several_save_to_the_same_path(tmp_path: Path) -> None:
    assert run(tmp_path, "race", "30")["version"] in (1, 2, 3)


# -- one at a time -------------------------------------------------------------------------------------------


def put(path: Path, content: bytes) -> None:
    with replacing(path) as output:
        output.write(content)


def put_half(path: Path, error: type[BaseException]) -> None:
    with replacing(path) as output:
        output.write(b"new")
        raise error


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


def test_content(tmp_path: Path) -> None:
    path = tmp_path / "model"
    with replacing(path) as output:
        output.write(b"0123456789")
        output.write(memoryview(b"abcdef"))
        output.overwrite(3, b"xyz")
        assert not path.exists()
    assert path.read_bytes() == b"012xyz6789abcdef"
    put(path, b"")
    assert path.read_bytes() == b""


def test_the_disk_has_the_file_before_the_name_and_then_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []

    def recorded(name: str) -> None:
        call = getattr(os, name)

        def record(*arguments: object, **more: object) -> object:
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(arguments[0]).st_mode)  # type: ignore[arg-type]
            events.append(f"{name} of the folder" if folder else name)
            return call(*arguments, **more)

        monkeypatch.setattr(os, name, record)

    for name in ("write", "pwrite", "fsync", "rename", "unlink"):
        recorded(name)
    path = tmp_path / "model"
    for _ in range(2):
        with replacing(path) as output:
            output.write(b"new")
            output.overwrite(0, b"N")
    assert events == 2 * ["write", "pwrite", "fsync", "rename", "fsync of the folder"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, ZeroDivisionError])
def test_an_error_meanwhile_leaves_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "model"
    put(path, b"old")
    with pytest.raises(error):
        put_half(path, error)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["model"]


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_permissions(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "model"
    before = os.umask(umask)
    try:
        put(path, b"new")
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
        for mode in (0o640, 0o666, 0o444):
            path.chmod(mode)
            put(path, b"newer")
            assert stat.S_IMODE(path.stat().st_mode) == mode
    finally:
        os.umask(before)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    path, target = tmp_path / "model", tmp_path / "there" / "target"
    path.symlink_to(target)
    for content in (b"first", b"second"):  # the link leads nowhere at first
        put(path, content)
        assert path.is_symlink()
        assert target.read_bytes() == content
    assert names(tmp_path) == ["model", "there"]
    assert names(tmp_path / "there") == ["target"]


def test_other_names_of_the_old_file_keep_it(tmp_path: Path) -> None:
    path, other = tmp_path / "model", tmp_path / "other"
    put(path, b"old")
    other.hardlink_to(path)
    put(path, b"new")
    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"old")


@pytest.mark.parametrize("name", ["m", "mod.el", "a b", "ü" * 100, "n" * 255, "-", ".hidden", "$(x)[a-z]*"])
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    put(path, b"old")
    with replacing(path) as output:
        (temporary,) = set(names(tmp_path)) - {name}
        output.write(b"new")
    assert temporary.startswith(".")
    assert temporary.endswith(".tmp")
    assert path.read_bytes() == b"new"
    (tmp_path / temporary).write_bytes(b"left by a crash")
    remove_stale(path)
    assert names(tmp_path) == [name]


def test_only_stale_files_are_removed(tmp_path: Path) -> None:
    path = tmp_path / "model"
    token = "0123456789abcdef"
    stale = [f".model.{token}.tmp", f".model.{token[::-1]}.tmp"]
    strange = [
        f".model2.{token}.tmp",
        f"model.{token}.tmp",
        f".model.{token}.tmp2",
        ".model.tmp",
        f".MODEL.{token}.tmp",
    ]
    for name in stale + strange:
        (tmp_path / name).write_bytes(b"")
    with replacing(path), open(tmp_path / strange[0]):
        during = names(tmp_path)
        assert set(stale).isdisjoint(during)
        remove_stale(path)  # as another process would
        assert names(tmp_path) == during
    assert set(names(tmp_path)) == {"model", *strange}


def test_a_locked_file_is_somebody_elses(tmp_path: Path) -> None:
    held = tmp_path / ".model.0123456789abcdef.tmp"
    with held.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        put(tmp_path / "model", b"new")
        assert held.exists()
    put(tmp_path / "model", b"newer")
    assert names(tmp_path) == ["model"]


def test_a_file_removed_before_its_lock_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another process may take the new file for stale between its creation and its lock.
    flock, removed = fcntl.flock, []

    def remove_first(fd: int, how: int) -> None:
        if len(removed) < 3:
            (temporary,) = [name for name in names(tmp_path) if name.endswith(".tmp")]
            (tmp_path / temporary).unlink()
            removed.append(temporary)
        flock(fd, how)

    put(tmp_path / "model", b"old")
    monkeypatch.setattr(fcntl, "flock", remove_first)
    put(tmp_path / "model", b"new")
    assert (tmp_path / "model").read_bytes() == b"new"
    assert names(tmp_path) == ["model"]
    assert len(set(removed)) == 3


def test_file_systems_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.ENOTSUP, "not here")

    monkeypatch.setattr(fcntl, "flock", refuse)
    for content in (b"old", b"new"):
        put(tmp_path / "model", content)
        assert (tmp_path / "model").read_bytes() == content
    assert names(tmp_path) == ["model"]


def test_a_rename_that_the_disk_does_not_confirm_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model"
    fsync = os.fsync

    def not_for_folders(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EIO, "broken")
        fsync(fd)

    monkeypatch.setattr(os, "fsync", not_for_folders)
    for content, done in ((b"first", "written"), (b"second", "replaced")):
        with pytest.raises(WriteError, match=rf"model was {done}, but may not survive a power failure: "):
            put(path, content)
        assert path.read_bytes() == content
    assert names(tmp_path) == ["model"]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path, reason in [
        (tmp_path, "Is a directory"),
        (tmp_path / "no" / "model", "No such file or directory"),
        (tmp_path / "fifo", "it is not a regular file"),
        (tmp_path / ("n" * 256), "File name too long"),
        (tmp_path / "fifo" / "model", "Not a directory"),
        (tmp_path / "loop", "Too many levels of symbolic links"),
    ]:
        with pytest.raises(WriteError) as refused:
            put(path, b"new")
        assert str(refused.value) == f"{path} could not be written: {reason}"
        assert isinstance(refused.value, OSError)
        assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)
    assert names(tmp_path) == ["fifo", "loop"]


def test_a_file_grown_too_large(tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from sureline._atomic import replacing\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n"
        "    with replacing(sys.argv[1]) as output: output.write(bytes(2000))\n"
        "except OSError as error: print(error)\n"
    )
    path = tmp_path / "model"
    put(path, b"old")
    done = subprocess.run([sys.executable, "-c", script, path], capture_output=True, text=True, check=True)
    assert done.stdout == f"{path} is as it was, the new one could not be written: File too large\n"
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["model"]


def test_threads(tmp_path: Path) -> None:
    path = tmp_path / "model"

    def save(content: bytes) -> None:
        for _ in range(20):
            put(path, content)

    threads = [threading.Thread(target=save, args=(bytes([65 + i]) * 10_000,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    content = path.read_bytes()
    assert content == content[:1] * 10_000
    assert names(tmp_path) == ["model"]

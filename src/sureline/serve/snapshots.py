"""Snapshots of a served model: model files that are complete or not there, and the place in the log after them.

A snapshot is a folder ``snapshot-SEQ`` with ``champion.sureline``, ``shadow-NAME.sureline`` and ``facts.json``. It is
written under another name, brought to the disk and then renamed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..learners.learner import Learner
from ..learners.saving import read_learner, write_learner
from ..models.file import ModelFileError
from .errors import StateError
from .names import is_digest, is_name

CHAMPION = "champion.sureline"
FORMAT = 1
_LEFT = re.compile(r"\.upload-[0-9a-f]{16}\.new|\.snapshot-[0-9]{16}\.(tmp|gone)")
_MODEL = re.compile(r"model-[0-9a-f]{64}\.sureline")


@dataclass(frozen=True)
class Snapshot:
    """Models as they were after record `seq`."""

    seq: int
    champion: Learner
    shadows: dict[str, Learner]
    facts: dict[str, Any] = field(default_factory=dict)


def snapshot_path(folder: Path, seq: int) -> Path:
    return folder / f"snapshot-{seq:016d}"


def snapshots(folder: Path) -> list[int]:
    """The numbers of the snapshots, the oldest first."""
    names = (path.name[9:] for path in folder.glob("snapshot-*"))
    return sorted(int(name) for name in names if len(name) == 16 and name.isdigit())


def write_snapshot(
    folder: Path,
    seq: int,
    champion: Learner | Path,
    shadows: Mapping[str, Learner],
    facts: Mapping[str, Any],
) -> None:
    """Write a snapshot; of a `champion` that is a file the file itself. OSError if that cannot be done."""
    target = snapshot_path(folder, seq)
    temporary = folder / f".{target.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(mode=0o700)
        if isinstance(champion, Path):
            _copy(champion, temporary / CHAMPION)
        else:
            write_learner(temporary / CHAMPION, champion)
        for name, learner in shadows.items():
            write_learner(temporary / f"shadow-{name}.sureline", learner)
        write_json(temporary / "facts.json", {"format": FORMAT, "shadows": list(shadows), **facts})
        sync_folder(temporary)
        if target.exists():  # of the same models
            shutil.rmtree(target)
        os.rename(temporary, target)
        sync_folder(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read_snapshot(folder: Path, seq: int) -> Snapshot:
    """Read a snapshot; StateError if it is damaged."""
    path = snapshot_path(folder, seq)
    try:
        facts = read_json(path / "facts.json")
        if facts.get("format") != FORMAT:
            raise StateError(f"{path} is in format {facts.get('format')!r}, and this version reads {FORMAT}.")
        names = facts.get("shadows", [])
        if not isinstance(names, list) or not all(map(is_name, names)):
            raise StateError(f"{path / 'facts.json'} names shadows that cannot be.")
        files = facts.get("files", {})
        if not isinstance(files, dict) or not all(is_digest(key) and type(at) is int for key, at in files.items()):
            raise StateError(f"{path / 'facts.json'} names files that cannot be.")
        champion = read_learner(path / CHAMPION).learner
        shadows = {name: read_learner(path / f"shadow-{name}.sureline").learner for name in names}
    except ModelFileError as error:
        raise StateError(f"{error}.") from None
    except OSError as error:
        raise StateError(f"{error.filename or path}: {error.strerror or error}.") from None
    return Snapshot(seq, champion, shadows, facts)


def newest_snapshot(folder: Path, at_most: int | None = None) -> tuple[Snapshot, list[str]]:
    """The newest snapshot that can be read, and what is wrong with those after it."""
    wrong: list[str] = []
    for seq in reversed(snapshots(folder)):
        if at_most is not None and seq > at_most:
            continue
        try:
            return read_snapshot(folder, seq), wrong
        except StateError as error:
            wrong.append(str(error))
    reason = f": {wrong[0]}" if wrong else "."
    raise StateError(f"{folder} has no snapshot that can be read{reason}")


def remove_snapshot(folder: Path, seq: int) -> None:
    """Remove one; errors are passed over."""
    path = snapshot_path(folder, seq)
    gone = folder / f".{path.name}.gone"
    with suppress(OSError):
        os.rename(path, gone)  # so that no half of it is taken for one
    shutil.rmtree(gone, ignore_errors=True)


def remove_left_behind(folder: Path, files: Sequence[Path]) -> None:
    """Remove what a crash has left of uploads and snapshots, and models of which none of these files is one."""
    for path in folder.iterdir():
        with suppress(OSError):
            if _LEFT.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif _LEFT.fullmatch(path.name) or (_MODEL.fullmatch(path.name) and path not in files):
                path.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write JSON to the disk."""
    with path.open("w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())


def read_json(path: Path) -> dict[str, Any]:
    """An object that `write_json` wrote; StateError if it is none."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise StateError(f"{path} is damaged.")
    return value


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _copy(source: Path, target: Path) -> None:
    with source.open("rb") as old, target.open("xb") as new:
        shutil.copyfileobj(old, new, 1 << 20)
        new.flush()
        os.fsync(new.fileno())

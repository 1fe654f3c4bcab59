"""Checks of outputs before any work is done: they can be written, and are not among the inputs."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from .._atomic import is_temporary_of, try_to_write, why
from .source import PATH, STDIN
from .urls import is_url

_STANDARD = {1: "standard output", 2: "standard error"}
_Key = tuple[int, int, str]  # device, inode, and the name of a file that does not exist yet


class OutputError(ValueError):
    """A file that must not or cannot be written; `name` is the option or parameter that names it."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(name, reason)
        self.name, self.reason = name, reason

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


def check_outputs(
    inputs: Iterable[PATH],
    outputs: Mapping[str, PATH],
    appended: Collection[str] = (),
    replaced: Mapping[str, PATH] | None = None,
) -> None:
    """Refuse outputs that would overwrite an input or another output, or that cannot be written.

    Files are identified by device and inode, so links count as their targets. Names of temporary files count too.

    Parameters
    ----------
    inputs : iterable of paths
        With globs expanded; "-" is standard input.
    outputs : mapping of str to path
        By the option or parameter that names them. Some may be derived from another one, as a checkpoint is.
    appended : collection of str, default=()
        The names of those that are not replaced but grow.
    replaced : mapping of str to path, default=None
        The inputs that an output may take the place of: they are read whole before, and replaced in one step.

    Raises
    ------
    OutputError
        With the first that is wrong. Nothing has been changed then.
    """
    read = list(_found(inputs))
    keys: dict[_Key, str] = {}
    for name, path in outputs.items():
        if is_url(path):
            raise OutputError(name, f"{path} is a URL, and only data are read from URLs: write a file, and copy it.")
        key = _key(name, path)
        spared = (replaced or {}).get(name)
        _refuse_read(name, path, key, [each for each in read if not _is_spared(each, spared, key)])
        if key in keys:
            raise OutputError(name, f"{keys[key]} and {name} would write the same file, {os.fspath(path)}.")
        keys[key] = name
    for name, path in outputs.items():
        _refuse_unwritable(name, path, append=name in appended)
    for fd, word in _STANDARD.items():
        with suppress(OSError):  # closed
            status = os.fstat(fd)
            for source, there in read:
                if stat.S_ISREG(status.st_mode) and os.path.samestat(status, there):
                    raise OutputError(word, f"it goes to {source}, which is read, and must not be written over.")


def _is_spared(each: tuple[str, os.stat_result], spared: PATH | None, key: _Key) -> bool:
    """True of the input that the output itself takes the place of."""
    source, there = each
    return spared is not None and source == os.fspath(spared) and key == (there.st_dev, there.st_ino, "")


def _found(inputs: Iterable[PATH]) -> Iterator[tuple[str, os.stat_result]]:
    """The existing inputs. Opening the others reports the error."""
    for path in inputs:
        with suppress(OSError):
            yield os.fspath(path), os.fstat(0) if path == STDIN else os.stat(path)


def _key(name: str, path: PATH) -> _Key:
    """The identity of an output: its own inode, or its folder's inode and its name."""
    shown = os.fspath(path)
    try:
        there = os.stat(path)
        return there.st_dev, there.st_ino, ""
    except FileNotFoundError:
        folder, file = os.path.split(os.path.realpath(path))
    except OSError as error:  # circular links, or a name that is too long
        raise OutputError(name, f"{shown} cannot be written: {why(error)}.") from None
    try:
        holds = os.stat(folder)
    except OSError:
        raise OutputError(name, f"there is no folder {folder} to write {shown} into.") from None
    return holds.st_dev, holds.st_ino, file


def _refuse_read(name: str, path: PATH, key: _Key, read: list[tuple[str, os.stat_result]]) -> None:
    target = os.path.realpath(path)
    for source, there in read:
        if key == (there.st_dev, there.st_ino, ""):
            also = "" if source in (os.fspath(path), STDIN) else f" as {source}"
            raise OutputError(name, f"{os.fspath(path)} is read{also}, and must not be written over.")
        if is_temporary_of(os.path.realpath(source), target):
            raise OutputError(
                name, f"{source} is read, and is a name that {os.fspath(path)} may have while it is written."
            )


def _refuse_unwritable(name: str, path: PATH, *, append: bool) -> None:
    shown = os.fspath(path)
    try:
        try_to_write(path, append=append)
        if append and os.path.exists(path):
            with open(path, "rb") as file:
                if file.read(1) not in (b"", b"{"):
                    raise OutputError(name, f"{shown} is no log of progress, and would be spoiled by one.")
    except NotADirectoryError:
        raise OutputError(name, f"there is no folder {os.path.dirname(shown)} to write {shown} into.") from None
    except OSError as error:
        raise OutputError(name, f"{shown} cannot be written: {why(error)}.") from None

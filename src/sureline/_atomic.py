"""Atomic file replacement: the old file stays until the new one is complete."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_NO_LOCKS = {errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS}  # errors of file systems without locks
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_LONGEST_NAME = 200


class WriteError(OSError):
    """A file that could not be written. The message also says what is at the path now.

    Attributes
    ----------
    errno : int
    strerror : str
    filename : str
    """

    def __init__(self, errno: int, strerror: str, filename: str, outcome: str = "could not be written") -> None:
        super().__init__(errno, strerror, filename)
        self.outcome = outcome

    def __str__(self) -> str:
        return f"{self.filename} {self.outcome}: {self.strerror}"

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self.errno, self.strerror, self.filename, self.outcome)


def why(error: OSError) -> str:
    """The system's error message, without number and path."""
    return os.strerror(error.errno) if error.errno else str(error)


class Output:
    """The file that `replacing` yields: bytes are appended, or written at an offset.

    Closed after the block: a writer that is collected later cannot write to a reused file descriptor.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def write(self, data: bytes | memoryview) -> None:
        rest = memoryview(data if self._fd >= 0 else b"").cast("B")
        while rest:
            rest = rest[os.write(self._fd, rest) :]

    def flush(self) -> None:
        """Nothing is kept back."""

    @property
    def closed(self) -> bool:
        return False

    def end(self) -> None:
        """Refuse further writes."""
        self._fd = -1

    def overwrite(self, offset: int, data: bytes) -> None:
        while data and self._fd >= 0:
            written = os.pwrite(self._fd, data, offset)
            offset, data = offset + written, data[written:]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Output]:
    """Write a file that replaces or creates `path` when the block ends without an error.

    It is written to a temporary file in the same folder, ``.NAME.<16 hex digits>.tmp``, synced and then renamed. After
    an error or a crash, the old file is unchanged. There is one exception: if the disk fails to confirm the rename, the
    new file is in place, and the error says so. The next call for the same path removes temporary files that a crash
    left behind. A lock marks files that another process is still writing. If `path` is a link, its target is replaced.
    The new file has the permissions of the old one.

    Raises
    ------
    WriteError
        If the system refused anything: no space left, no permission, a broken disk.
    """
    shown, target = os.fsdecode(path), os.path.realpath(os.fsdecode(path))
    outcome = "could not be written"
    try:
        old = _old_file(target)
        if old is not None:
            outcome = "is as it was, the new one could not be written"
        remove_stale(target)
        fd, temporary = _new_file(target, 0o666 if old is None else stat.S_IMODE(old.st_mode) & 0o777)
        output = Output(fd)
        try:
            if old is not None:
                _take_over(fd, old)
            yield output
            os.fsync(fd)
            _put_in_place(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        finally:
            output.end()
            with suppress(OSError):  # an error of close cannot undo what fsync has confirmed
                os.close(fd)
    except _Unconfirmed as error:
        outcome = f"was {'written' if old is None else 'replaced'}, but may not survive a power failure"
        raise WriteError(error.errno or 0, why(error), shown, outcome) from None
    except OSError as error:
        raise WriteError(error.errno or 0, why(error), shown, outcome) from None


class _Unconfirmed(OSError):
    """The new file is in place, but the disk did not confirm that."""


def remove_stale(path: str | os.PathLike[str]) -> None:
    """Remove temporary files that a crash left beside `path`. Errors are ignored."""
    folder, name = os.path.split(os.path.realpath(os.fsdecode(path)))
    pattern = _temporary_names(name)
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if pattern.fullmatch(entry.name):
                _remove_unless_locked(entry.path)


def is_temporary_of(path: str, target: str) -> bool:
    """True if `target` could be a temporary file of `path`. Links are not followed."""
    folder, name = os.path.split(target)
    return os.path.dirname(path) == folder and bool(_temporary_names(name).fullmatch(os.path.basename(path)))


def try_to_write(path: str | os.PathLike[str], *, append: bool = False) -> None:
    """Raise the OSError that `replacing` would raise, as far as it can be known without changing `path`.

    With `append` the file stays, so no temporary file is tried.
    """
    target = os.path.realpath(os.fsdecode(path))
    if _old_file(target) is not None:
        os.close(os.open(target, os.O_WRONLY | os.O_CLOEXEC | os.O_NONBLOCK))  # fails if the file may not be written
        if append:
            return
    fd, temporary = _new_file(target, 0o600)
    os.unlink(temporary)
    os.close(fd)


def _temporary_names(name: str) -> re.Pattern[str]:
    return re.compile(rf"\.{re.escape(_short(name))}\.[0-9a-f]{{16}}\.tmp", re.DOTALL)


def _remove_unless_locked(temporary: str) -> None:
    with suppress(OSError):
        fd = os.open(temporary, _READ)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(temporary)  # under the lock, so that a process waiting for it notices
        finally:
            os.close(fd)


def _old_file(target: str) -> os.stat_result | None:
    try:
        old = os.stat(target)
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(old.st_mode):
        raise OSError("it is not a regular file")
    return old


def _short(name: str) -> str:
    """The name, or a hash of it if it would be too long with an added suffix."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_NAME else hashlib.sha256(encoded).hexdigest()


def _temporary_name(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{_short(name)}.{secrets.token_hex(8)}.tmp")


def _new_file(target: str, mode: int) -> tuple[int, str]:
    """Create a locked file with a temporary name."""
    while True:
        temporary = _temporary_name(target)
        fd = os.open(temporary, _CREATE, mode)
        try:
            if _lock(fd, temporary):
                return fd, temporary
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            os.close(fd)
            raise
        os.close(fd)


def _lock(fd: int, temporary: str) -> bool:
    """Lock the file. False if another process removed it as stale first."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    try:
        return os.path.samestat(os.fstat(fd), os.stat(temporary, follow_symlinks=False))
    except FileNotFoundError:
        return False


def _take_over(fd: int, old: os.stat_result) -> None:
    """Copy permissions and, where permitted, owner of the old file."""
    new = os.fstat(fd)
    if (new.st_uid, new.st_gid) != (old.st_uid, old.st_gid):
        with suppress(PermissionError):
            os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & 0o777)


def _put_in_place(temporary: str, target: str) -> None:
    """Rename, and sync the folder to disk."""
    folder = os.open(os.path.dirname(target), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.rename(temporary, target)
        try:
            os.fsync(folder)
        except OSError as error:
            raise _Unconfirmed(error.errno, why(error)) from None
    finally:
        with suppress(OSError):
            os.close(folder)

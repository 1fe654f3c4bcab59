"""Files in object stores and on the web, by URL: fsspec's drivers, with retries and uniform errors."""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

T = TypeVar("T")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("abfs", "abfss", "az", "adl"), "adlfs"),
    **dict.fromkeys(("http", "https"), "aiohttp"),
    "hdfs": "pyarrow",
    "sftp": "paramiko",
}
_WEB = ("http", "https")
_TRIES, _FIRST_PAUSE = 7, 0.1  # pauses double: 6.3 seconds in all
_FINAL = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    NotImplementedError,
    ImportError,
    TypeError,
)
_TRY_AGAIN = (408, 429)  # among the answers 400 to 499
_CHANGED = ("LastModified", "last_modified", "mtime", "modified", "updated", "created", "Last-Modified")
_FINGERPRINTS = ("ETag", "etag", "md5Hash", "crc32c", "checksum")


def is_url(path: object) -> bool:
    """True of a text such as s3://bucket/key."""
    return isinstance(path, str) and _URL.match(path) is not None


def local_path(path: str) -> str:
    """The path of a file://... URL; other paths unchanged."""
    return path[len("file://") :] if path.startswith("file:///") else path


def filesystem(url: str) -> tuple[Any, str]:
    """The driver of a URL, and the driver's name for the file. ValueError if there is none."""
    try:
        import fsspec
    except ImportError:
        raise ValueError(f"{url}: reading URLs needs fsspec: pip install 'sureline[remote]'.") from None
    found = _URL.match(url)
    assert found is not None
    scheme = found[1].lower()
    try:
        fs, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        package = _PACKAGES.get(scheme)
        how = f"{scheme}:// needs {package}: pip install {package}" if package else str(error).rstrip(".")
        raise ValueError(f"{url}: {how}.") from None
    except ValueError as error:
        raise ValueError(f"{url}: {error}. URLs such as s3://, gs://, hdfs:// and https:// are known.") from None
    except Exception as error:  # for example an unreachable name node
        raise OSError(errno.EIO, _reason(error), url) from None
    return fs, path


def has_magic(url: str) -> bool:
    """True of a glob. In the address of a web page a question mark begins a query."""
    return "*" in url if url.partition("://")[0].lower() in _WEB else bool(re.search(r"[*?\[]", url))


def matches(url: str) -> list[str]:
    """The files of a glob, sorted; a name that exists is no glob."""
    fs, path = filesystem(url)

    def found() -> list[str]:
        fs.invalidate_cache()
        if fs.isfile(path):
            return [url]
        return sorted(
            str(fs.unstrip_protocol(name))
            for name, info in fs.glob(path, detail=True).items()
            if info["type"] == "file"
        )

    return retried(url, found)


def facts(url: str) -> tuple[int, int, int, int | None]:
    """Size, modification time in nanoseconds, identity, and the store's fingerprint of the content if there is one."""
    fs, path = filesystem(url)

    def look() -> dict[str, Any]:
        fs.invalidate_cache()
        return dict(fs.info(path))

    info = retried(url, look)
    if info.get("type") == "directory":
        raise IsADirectoryError(f"{url} is a folder; name the files in it, as in {url.rstrip('/')}/*.")
    size = info.get("size")
    if not isinstance(size, int):
        raise ValueError(f"{url}: the server does not say how many bytes it has, so it cannot be read in ranges.")
    mark = next((str(info[name]) for name in _FINGERPRINTS if info.get(name)), None)
    fingerprint = None if mark is None else _number(mark)
    return (
        size,
        _nanoseconds(next((info[name] for name in _CHANGED if info.get(name)), 0)),
        fingerprint or 0,
        fingerprint,
    )


def fetched(url: str, begin: int, end: int, pause: Callable[[float], object] = time.sleep) -> bytes:
    """A range of bytes, fetched alone; shorter only at the end of the file."""
    fs, path = filesystem(url)
    data: bytes = retried(url, lambda: fs.cat_file(path, start=begin, end=end), pause)
    if len(data) > end - begin:
        raise ValueError(
            f"{url}: the server answers a request for {end - begin} bytes with {len(data)}: it knows no ranges. "
            "Download the file."
        )
    return data


def retried(url: str, action: Callable[[], T], pause: Callable[[float], object] = time.sleep) -> T:
    """Call an action, and repeat it once after transient errors: broken connections, failing or busy servers."""
    seconds = _FIRST_PAUSE
    for left in reversed(range(_TRIES)):
        try:
            return action()
        except Exception as error:
            final = _told(url, error)
            if final is not None:
                raise final from None
            if not left:
                raise OSError(errno.EIO, f"{_reason(error)}, {_TRIES} times in a row", url) from None
        pause(seconds)
        seconds *= 2
    raise AssertionError


def _told(url: str, error: Exception) -> Exception | None:
    """The error to raise; None if it may be transient."""
    status = getattr(error, "status", None)
    if isinstance(error, FileNotFoundError) or status == 404:
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    if isinstance(error, PermissionError) or status in (401, 403) or "Credentials" in type(error).__name__:
        return PermissionError(errno.EACCES, f"{os.strerror(errno.EACCES)} ({_reason(error)})", url)
    client = isinstance(status, int) and 400 <= status < 500 and status not in _TRY_AGAIN
    if client or isinstance(error, _FINAL):
        return OSError(errno.EIO, _reason(error), url)
    return None


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()).rstrip(".")[:300]
    return text or type(error).__name__


def _number(text: str) -> int:
    """A text as 63 bits."""
    import hashlib

    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little") >> 1


def _nanoseconds(when: Any) -> int:
    """A time as stores write it."""
    if isinstance(when, datetime):
        when = when.timestamp()
    return int(when * 1e9) if isinstance(when, (int, float)) else _number(str(when))

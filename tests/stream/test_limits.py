"""Numbers that are just inside a limit, and just outside of it."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from sureline import stream
from sureline.stream import urls

LIMITS = {
    "bits": (1, 30),
    "collect_names": (0, 1_000_000),
    "threads": (1, 1024),
    "max_line": (1 << 20, 2**31 - 1),
    "max_label": (1, 2**31 - 1),
    "max_name": (1, 2**31 - 1),
    "max_features": (1, 2**31 - 1),
}


@pytest.fixture
def rows(tmp_path: Any) -> str:
    path = tmp_path / "rows.csv"
    path.write_text("label,price\n1,2\n0,3\n")
    return str(path)


@pytest.mark.parametrize("name", LIMITS)
def test_options_that_are_numbers(rows: str, name: str) -> None:
    least, most = LIMITS[name]
    for value in (least, most):
        stream.read(rows, **{name: value})
    for value in (least - 1, most + 1, float(least + 1), *([True] if name != "collect_names" else [])):
        with pytest.raises(ValueError, match=name):
            stream.read(rows, **{name: value})


class Status(Exception):
    def __init__(self, status: int) -> None:
        super().__init__("no")
        self.status = status


@pytest.mark.parametrize("status", [400, 404, 410, 499, 401, 403])
def test_what_is_wrong_with_a_request_is_asked_for_once(status: int) -> None:
    assert isinstance(urls._told("http://x", Status(status)), OSError)


@pytest.mark.parametrize("status", [399, 408, 429, 500, 503, 599])
def test_what_may_pass_is_asked_for_again(status: int) -> None:
    assert urls._told("http://x", Status(status)) is None


def test_rights_and_absence_have_their_own_errors() -> None:
    assert [urls._told("u", Status(s)).errno for s in (401, 403, 404, 400)] == [  # type: ignore[union-attr]
        errno.EACCES, errno.EACCES, errno.ENOENT, errno.EIO,
    ]  # fmt: skip

"""The write-ahead log: its contents are the written ones, even if a crash damaged its end."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sureline.serve.errors import StateError
from sureline.serve.log import MAGIC, Log, read_log, read_segment, segments

PAYLOADS = [b"", b"a", b"\0" * 50, os.urandom(1000), b"SLr\n" * 20, b"last"]


def written(folder: Path, payloads: list[bytes] = PAYLOADS, **options: object) -> Log:
    log = Log(folder, 1, "fsync", 1 << 20)
    for payload in payloads:
        log.append([payload])
    log.close()
    return log


def held(folder: Path, after: int = 0) -> list[bytes]:
    return [record.payload for record in read_log(folder, after)]


@pytest.mark.parametrize("durability", ["fsync", "batch", "none"])
def test_records_come_back_in_their_order_and_from_any_of_them_on(tmp_path: Path, durability: str) -> None:
    log = Log(tmp_path, 1, durability, 1 << 20)
    assert log.append(PAYLOADS[:3]) == 1
    assert log.append(PAYLOADS[3:]) == 4
    log.sync()
    log.close()
    assert held(tmp_path) == PAYLOADS
    assert [held(tmp_path, after) for after in range(7)] == [PAYLOADS[after:] for after in range(7)]
    assert [record.seq for record in read_log(tmp_path, 2)] == [3, 4, 5, 6]


def test_a_log_has_segments_and_goes_on_in_a_new_one(tmp_path: Path) -> None:
    log = Log(tmp_path, 1, "fsync", 100)
    for payload in PAYLOADS:
        log.append([payload])
    log.close()
    assert [first for first, _ in segments(tmp_path)] == [1, 4, 5, 6]
    again = Log(tmp_path, 7, "fsync", 100)
    again.append([b"new"])
    again.close()
    assert held(tmp_path) == [*PAYLOADS, b"new"]
    segments(tmp_path)[0][1].unlink()  # what a snapshot made superfluous
    assert held(tmp_path, 3) == [*PAYLOADS[3:], b"new"]
    with pytest.raises(StateError, match="records 1 to 3 of the log are missing"):
        held(tmp_path)
    segments(tmp_path)[1][1].unlink()
    with pytest.raises(StateError, match="records 5 to 5 of the log are missing"):
        held(tmp_path, 3)


def test_a_tail_that_is_torn_anywhere_is_cut_and_told(tmp_path: Path) -> None:
    written(tmp_path)
    [(_, path)] = segments(tmp_path)
    whole = path.read_bytes()
    ends = [len(MAGIC), *(record.end for record in read_segment(path, 1)[0])]
    for size in range(len(whole) - 1, -1, -7):
        path.write_bytes(whole[:size])
        kept = sum(end <= size for end in ends[1:])
        assert held(tmp_path) == PAYLOADS[:kept]
        torn = Log.repaired(tmp_path)
        assert (torn is None) == (size in ends)
        if torn is not None:
            assert "are no whole record and were cut" in str(torn)
            assert torn.size == size - max([end for end in ends if end <= size], default=0)
        assert Log.repaired(tmp_path) is None
        log = Log(tmp_path, kept + 1, "fsync", 1 << 20)  # the same number is given again
        log.append([b"after"])
        log.close()
        assert held(tmp_path) == [*PAYLOADS[:kept], b"after"]
        for _, each in segments(tmp_path):
            each.unlink()


def test_a_tail_of_zeros_or_of_another_log_is_cut(tmp_path: Path) -> None:
    written(tmp_path)
    [(_, path)] = segments(tmp_path)
    whole = path.read_bytes()
    for tail in (bytes(500), os.urandom(500), whole[len(MAGIC) :]):
        path.write_bytes(whole + tail)
        torn = Log.repaired(tmp_path)
        assert torn is not None
        assert torn.size == len(tail)
        assert path.read_bytes() == whole


def test_damage_to_what_was_acknowledged_is_refused(tmp_path: Path) -> None:
    written(tmp_path)
    [(_, path)] = segments(tmp_path)
    whole = path.read_bytes()
    records, _ = read_segment(path, 1)
    before_last = records[-2].end
    for place in range(len(MAGIC), before_last, 11):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(StateError, match="is damaged at byte"):
            held(tmp_path)
        with pytest.raises(StateError, match="is damaged at byte"):
            Log.repaired(tmp_path)
    path.write_bytes(whole[:-1] + b"x")  # of the last one nobody knows that it was acknowledged
    assert held(tmp_path) == PAYLOADS[:-1]


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log-0000000000000001.wal").write_bytes(b"something else, and long enough")
    with pytest.raises(StateError, match="is not the log of a service"):
        held(tmp_path)


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EFBIG, errno.EIO])
def test_a_write_that_fails_in_the_middle_leaves_the_log_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    log = Log(tmp_path, 1, "fsync", 1 << 20)
    log.append([b"kept"])
    write = os.write

    def half(fd: int, data: memoryview) -> int:
        if len(data) > 40:
            return write(fd, data[:40])
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", half)
        with pytest.raises(OSError, match=os.strerror(code)):
            log.append([b"x" * 100])
    assert log.append([b"next"]) == 2
    log.close()
    assert held(tmp_path) == [b"kept", b"next"]
    assert Log.repaired(tmp_path) is None


def test_a_log_whose_end_is_not_known_takes_nothing_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(tmp_path, 1, "fsync", 1 << 20)
    log.append([b"kept"])

    def fails(*arguments: object) -> None:
        raise OSError(errno.EIO, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fails)
        with pytest.raises(OSError, match="broken"):
            log.append([b"lost"])
    with pytest.raises(OSError, match="broken"):
        log.append([b"more"])
    log.close()
    assert held(tmp_path) == [b"kept"]

"""A service under load from many connections: no failure, no lost label, answers that can be given again.

Short in `make test`. `make torture-serve` sends a million requests on 256 connections, kills the service 50 times, and
says what it found.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from load import Load
from service import Settings, There, process, serving

import sureline
from sureline import cli
from sureline.serve.log import read_log
from sureline.serve.records import Learned, unpacked

LONG = os.environ.get("SURELINE_TORTURE_SERVE") == "1"
REQUESTS, CONNECTIONS, SAMPLED, KILLS = (1_000_000, 256, 10_000, 50) if LONG else (1500, 64, 200, 2)
# All snapshots are kept, so that all of the log is.
KEEPING = (
    "--snapshot-every",
    "65536" if not LONG else "4000000",
    "--keep-snapshots",
    "1000",
    "--max-waiting",
    "100000",
)


def learned_rows(folder: Path) -> tuple[int, list[tuple[Any, Any]]]:
    """Records of the log, and the rows and labels in them."""
    rows: list[tuple[Any, Any]] = []
    records = 0
    for record in read_log(folder, 0):
        entry = unpacked(record.payload)
        assert isinstance(entry, Learned)
        records += 1
        rows += list(zip(entry.x, entry.y, strict=True))
    return records, rows


def undisturbed(file: Path, rows: list[tuple[Any, Any]], to: Path) -> bytes:
    model = sureline.load(file)
    for row, label in rows:
        model.learn_one(row, label)
    sureline.save(model, to)
    return to.read_bytes()


def tell(text: str, capfd: pytest.CaptureFixture[str] | None = None) -> None:
    if LONG:
        with contextlib.nullcontext() if capfd is None else capfd.disabled():
            print(text, flush=True)


def test_mixed_requests(models: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    state = tmp_path / "state"
    with process(models["names"], "--state", state, *KEEPING) as service:
        load = Load(service.port, REQUESTS, CONNECTIONS, SAMPLED, 0)
        began = time.monotonic()
        asyncio.run(load.run())
        seconds, account = time.monotonic() - began, load.account
        version = service("GET", "/v1/models/names").json["version"]
        learned = service("GET", "/v1/models/names").json["learned"]
        final = service("GET", "/v1/models/names/model").body
        assert service.stop() == 0
    tell(f"{account.sent:,} requests on {CONNECTIONS} connections in {seconds:.0f} s: {dict(account.statuses)}", capfd)
    assert account.unexpected == []
    assert sum(account.statuses.values()) >= REQUESTS
    records, rows = learned_rows(state / "names")
    tell(f"{len(account.acknowledged):,} labels acknowledged, {len(rows):,} in the log, {learned:,} learned", capfd)
    assert sorted(account.acknowledged) == sorted(next(reversed(row)) for row, _ in rows)
    assert learned == len(rows)
    assert version.split(".")[1] == str(records)
    assert final == undisturbed(models["names"], rows, tmp_path / "undisturbed.sureline")
    answers = account.answers if len(account.answers) < SAMPLED else random.Random(0).sample(account.answers, SAMPLED)
    if LONG:
        assert len(answers) == SAMPLED
    requests = tmp_path / "answers.jsonl"
    requests.write_text("".join(json.dumps(one) + "\n" for one in answers))
    capfd.readouterr()
    assert cli.run(["replay", str(state), str(requests)]) == 0
    said = capfd.readouterr().err
    tell(said, capfd)
    assert f"{len(answers):,} of them compared and the same" in said


def test_killed_under_load(models: dict[str, Path], tmp_path: Path) -> None:
    state, rng = tmp_path / "state", random.Random(1)
    acknowledged: list[str] = []
    for life in range(KILLS):
        with process(models["names"], "--state", state, *KEEPING) as service:
            load = Load(service.port, 1 << 30, min(CONNECTIONS, 64), 1, life)
            thread = threading.Thread(target=asyncio.run, args=(load.run(),))
            thread.start()
            until = time.monotonic() + 60
            while len(load.account.acknowledged) < 50 and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(rng.random())
            service.kill()
            thread.join(60)
            assert not thread.is_alive()
        assert load.account.unexpected == []
        assert len(load.account.acknowledged) >= 50
        acknowledged += load.account.acknowledged
    _, rows = learned_rows(state / "names")
    there = [next(reversed(row)) for row, _ in rows]
    missing = set(acknowledged) - set(there)
    tell(f"{KILLS} kills: {len(acknowledged):,} labels acknowledged, {len(there):,} in the log, {len(missing)} missing")
    assert not missing
    assert len(set(there)) == len(there)
    expected = undisturbed(models["names"], rows, tmp_path / "undisturbed.sureline")
    with serving(Settings(state)) as again:
        assert again("GET", "/v1/models/names/model").body == expected


@pytest.mark.skipif(not LONG or os.geteuid() != 0, reason="mounting a file system needs root, in make torture-serve")
def test_a_disk_that_is_full(models: dict[str, Path], tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", small], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.decode().strip()}")
    try:
        with process(models["names"], "--state", small / "state") as service:
            fill_and_free(service, small)
    finally:
        subprocess.run(["umount", "-l", small], check=True)


def fill_and_free(service: There, small: Path) -> None:
    """Learn until nothing fits any more, ask, make room, and learn again."""
    ballast = small / "ballast"
    ballast.write_bytes(bytes(100_000))
    row = {f"word{k}": 1.0 for k in range(500)}
    statuses = [service("POST", "/v1/models/names/learn", {"row": row, "label": "a"}).status for _ in range(200)]
    learned = statuses.count(200)
    assert set(statuses) == {200, 507}
    assert statuses == sorted(statuses)
    reply = service("POST", "/v1/models/names/learn", {"row": row, "label": "a"})
    assert "No space left on device" in reply.json["error"]
    for _ in range(100):
        assert service("POST", "/v1/models/names/predict", {"row": {"red": 1.0}}).status == 200
    assert service("GET", "/v1/models/names").json["version"].split(".")[1] == str(learned)
    ballast.unlink()
    assert service("POST", "/v1/models/names/learn", {"row": row, "label": "a"}).status == 200
    tell(f"full disk: {learned} labels learned, then {statuses.count(507)} refused with 507: {reply.json['error']}")

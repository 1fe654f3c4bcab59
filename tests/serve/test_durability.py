"""No acknowledged label is lost: killed, with a torn log, on a full disk; and answers can be given again."""

from __future__ import annotations

import json
import resource
import shutil
import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import rows_of
from service import NDJSON, Settings, ask, process, serving

import sureline
from sureline import cli
from sureline.serve.log import read_log, segments
from sureline.serve.records import Learned, unpacked
from sureline.serve.served import Keeping


def learned_from(folder: Path) -> list[tuple[Any, Any]]:
    """The rows and labels of the log."""
    found = []
    for record in read_log(folder, 0):
        entry = unpacked(record.payload)
        assert isinstance(entry, Learned)
        found += list(zip(entry.x, entry.y, strict=True))
    return found


def undisturbed(file: Path, rows: list[tuple[Any, Any]], to: Path) -> bytes:
    """The file of a model that learned from these rows by itself."""
    model = sureline.load(file)
    for row, label in rows:
        model.learn_one(row, label)
    sureline.save(model, to)
    return to.read_bytes()


class Told(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def command(capfd: pytest.CaptureFixture[str], *words: object) -> Told:
    """A command, in this process."""
    capfd.readouterr()
    return Told(cli.run([str(word) for word in words]), *capfd.readouterr())


class Load:
    """Threads that teach and ask, until the service has gone."""

    def __init__(self, port: int, first: int) -> None:
        self.acknowledged: list[str] = []
        self.answers: list[dict[str, Any]] = []
        self._port, self._first = port, first
        self.enough = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(k,), daemon=True) for k in range(6)]
        for thread in self._threads:
            thread.start()

    def _run(self, k: int) -> None:
        try:
            for j in range(10_000):
                name = f"row{self._first}.{k}.{j}"
                row = {name: 1.0, "red": float(j % 3), "blue": 1.0}
                told = ask(self._port, "POST", "/v1/models/names/learn", {"row": row, "label": "ab"[j % 2]})
                assert told.status == 200, told.body
                self.acknowledged.append(name)
                body = {"row": row, "probabilities": j % 2 == 0}
                answer = ask(self._port, "POST", "/v1/models/names/predict", body)
                assert answer.status == 200, answer.body
                self.answers.append({"model": "names", "request": body, "answer": answer.json})
                if len(self.acknowledged) >= 60:
                    self.enough.set()
        except (OSError, EOFError, ValueError):  # it has gone
            pass
        except Exception as error:
            if "IncompleteRead" not in type(error).__name__ and "Disconnected" not in type(error).__name__:
                raise

    def join(self) -> None:
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.parametrize(("durability", "lives"), [("fsync", 2), ("batch", 1), ("none", 1)])
def test_a_service_that_is_killed_under_load_loses_nothing(
    models: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str], durability: str, lives: int
) -> None:
    state, folder = tmp_path / "state", tmp_path / "state" / "names"
    acknowledged: list[str] = []
    answers: list[dict[str, Any]] = []
    for life in range(lives):
        with process(models["names"], "--state", state, "--durability", durability) as service:
            load = Load(service.port, life)
            assert load.enough.wait(120)
            service.kill()
            load.join()
        acknowledged += load.acknowledged
        answers += load.answers
    rows = learned_from(folder)
    assert len(acknowledged) >= 60 * lives
    assert set(acknowledged) <= {next(iter(row)) for row, _ in rows}
    expected = undisturbed(models["names"], rows, tmp_path / "undisturbed.sureline")
    with serving(Settings(state, keeping=Keeping(durability))) as again:
        records = len(list(read_log(folder, 0)))  # labels that came together are one
        assert again("GET", "/v1/models/names").json["version"].split(".")[1] == str(records)
        assert again("GET", "/v1/models/names/model").body == expected
    requests = tmp_path / "answers.jsonl"
    requests.write_text("".join(json.dumps(one) + "\n" for one in answers))
    told = command(capfd, "replay", state, requests)
    assert told.returncode == 0, told.stderr
    assert f"{len(answers)} answers, {len(answers)} of them compared and the same" in told.stderr
    assert len(told.stdout.splitlines()) == len(answers)


def test_a_torn_tail_is_cut_and_told_and_damage_is_refused(models: dict[str, Path], tmp_path: Path) -> None:
    state, folder = tmp_path / "state", tmp_path / "state" / "names"
    rows = rows_of("names", 30)
    with process(models["names"], "--state", state) as service:
        for row, label in rows:
            assert service("POST", "/v1/models/names/learn", {"row": row, "label": label}).status == 200
        service.kill()
    [(_, log)] = segments(folder)
    whole = log.read_bytes()
    log.write_bytes(whole + whole[-20:])
    with process(models["names"], "--state", state) as service:
        assert any("the last 20 bytes" in line and "were cut" in line for line in service.said)
        assert service("GET", "/v1/models/names").json["version"].split(".")[1] == "30"
        assert service.stop() == 0
    expected = undisturbed(models["names"], rows, tmp_path / "undisturbed.sureline")
    assert (max(folder.glob("snapshot-*")) / "champion.sureline").read_bytes() == expected
    shutil.rmtree(max(folder.glob("snapshot-*")))
    [(_, log)] = segments(folder)
    log.write_bytes(whole[:200] + b"?" + whole[201:])
    with process(models["names"], "--state", state) as service:
        assert service.process.wait(60) == 1
        [said] = service.said
        assert "is damaged at byte" in said


def test_a_full_disk_stops_learning_and_nothing_else(models: dict[str, Path], tmp_path: Path) -> None:
    most = 400_000

    def full_soon() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))

    row = {f"{word}{k}": 1.0 for k in range(400) for word in ("red", "blue")}
    with process(models["names"], "--state", tmp_path / "state", preexec=full_soon) as service:
        path, learned = "/v1/models/names", 0
        for _ in range(100):
            reply = service("POST", f"{path}/learn", {"row": row, "label": "a"})
            if reply.status != 200:
                break
            learned += 1
        assert reply.status == 507
        assert reply.json["error"] == (
            "The label could not be kept: File too large. Nothing was learned; answers go on."
        )
        before = service("GET", f"{path}/model").body
        version = service("GET", path).json["version"].split(".")[:2]
        assert version[1] == str(learned)
        for _ in range(3):
            assert service("POST", f"{path}/learn", {"row": row, "label": "b"}).status == 507
            answer = service("POST", f"{path}/predict", {"row": {"red": 1.0}})
            assert answer.status == 200
            assert answer.json["version"].split(".")[:2] == version
        lines = service("POST", f"{path}/learn", json.dumps({"row": row, "label": "b"}).encode() + b"\n", NDJSON).lines
        assert "File too large" in lines[0]["error"]
        assert service("GET", f"{path}/model").body == before
        ready = service("GET", "/readyz")
        assert (ready.status, ready.json["no_labels"]) == (200, ["names"])
        assert service("POST", f"{path}/learn", {"row": {"red": 1.0}, "label": "b"}).status in (200, 507)  # a short one
        short = int(service("GET", path).json["version"].split(".")[1]) - learned
        resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert service("POST", f"{path}/learn", {"row": row, "label": "b"}).status == 200
        assert service("GET", "/readyz").json["no_labels"] == []
        service.kill()
    rows = [(row, "a")] * learned + [({"red": 1.0}, "b")] * short + [(row, "b")]
    assert learned_from(tmp_path / "state" / "names") == rows
    expected = undisturbed(models["names"], rows, tmp_path / "undisturbed.sureline")
    with serving(Settings(tmp_path / "state")) as again:
        assert again("GET", "/v1/models/names/model").body == expected


def test_a_log_is_bounded_by_snapshots_and_what_is_kept_can_be_replayed(
    models: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    keeping = Keeping("none", snapshot_every=1 << 17, most_log=1 << 20)
    state, folder = tmp_path / "state", tmp_path / "state" / "text"
    rows = rows_of("text", 400, seed=11)
    answers: list[dict[str, Any]] = []
    settings = Settings(state, [("text", models["text"])], keeping=keeping)
    with serving(settings) as service:
        shutil.copy(models["text"], tmp_path / "shadow.sureline")
        octets = {"Content-Type": "application/octet-stream"}
        file = models["text"].read_bytes()
        for round in range(200):
            kept = sorted(int(path.name[9:]) for path in folder.glob("snapshot-*"))
            calibrated = int(answers[-1]["answer"]["version"].split(".")[2]) if answers else 0
            if round >= 24 and kept[0] > 1 and calibrated >= kept[-1]:  # those that are kept at the end tell of it
                break
            time.sleep(0 if round < 24 else 0.2)  # snapshots are written beside the learning: some come late
            if round == 5:
                assert service("POST", "/v1/models/text/shadows?name=other", file, octets).status == 201
            if round == 15:
                assert service("POST", "/v1/models/text/shadows/other/promote").status == 200
            body = {"rows": [f"{row} {round}" for row, _ in rows], "labels": [label for _, label in rows]}
            assert service("POST", "/v1/models/text/learn", body).status == 200
            for request in (
                {"row": rows[round % len(rows)][0]},
                {"rows": [row for row, _ in rows[:5]], "novelty": True, "explain": 3, "max_error": 0.05},
                {"row": rows[round % len(rows)][0], "shadows": True, "probabilities": True},
            ):
                reply = service("POST", "/v1/models/text/predict", request)
                answers.append({"model": "text", "request": request, "answer": reply.json})
            assert sum(path.stat().st_size for _, path in segments(folder)) < 1 << 20
        reply = service("GET", "/v1/models/text/model")  # a calibration may come after the last of the answers
        version, final = reply.headers["x-sureline-version"], reply.body
    kept = sorted(int(path.name[9:]) for path in folder.glob("snapshot-*"))
    assert len(kept) == 2
    assert segments(folder)[0][0] > 1  # the first of them has gone
    recent = [one for one in answers if int(one["answer"]["version"].split(".")[2]) >= kept[0]]
    old = [one for one in answers if int(one["answer"]["version"].split(".")[2]) < kept[0]]
    assert recent
    assert old
    requests = tmp_path / "answers.jsonl"
    requests.write_text("".join(json.dumps(one) + "\n" for one in recent))
    told = command(capfd, "replay", state, requests)
    assert told.returncode == 0, told.stderr
    requests.write_text(json.dumps(old[0]) + "\n")
    told = command(capfd, "replay", state, requests)
    assert told.returncode == 1
    assert "keeps models since record" in told.stderr
    wrong = {**recent[0], "answer": {**recent[0]["answer"], "confidence": 0.5}}
    requests.write_text(json.dumps(wrong) + "\n")
    told = command(capfd, "replay", state, requests)
    assert (told.returncode, "1 of 1 answers are not what came back: line 1" in told.stderr) == (1, True)
    output = tmp_path / "model.sureline"
    told = command(capfd, "replay", state, "--model", "text", "--version", version, "--output", output)
    assert told.returncode == 0, told.stderr
    assert output.read_bytes() == final


def test_what_replay_cannot_read_it_names(
    models: dict[str, Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with serving(Settings(tmp_path / "state", [("names", models["names"])])) as service:
        lineage = service("GET", "/v1/models/names").json["version"].split(".")[0]
    requests = tmp_path / "requests.jsonl"
    request = {"row": {"red": 1}}
    for line, why in (
        ("{", "line 1 is no JSON"),
        ("[]", "line 1: it has model, request"),
        (json.dumps({"model": "names", "request": request, "version": "1"}), "'1' is no version"),
        (json.dumps({"model": "../x", "request": request, "version": f"{lineage}.0.0"}), "it has model"),
        (json.dumps({"model": "other", "request": request, "version": f"{lineage}.0.0"}), "has no model other"),
        (json.dumps({"model": "names", "request": request, "version": f"{lineage}.7.0"}), "the log ends with record 0"),
        (json.dumps({"model": "names", "request": request, "version": "0123456789ab.0.0"}), "is of another model"),
        (
            json.dumps({"model": "names", "request": {"row": 7}, "version": f"{lineage}.0.0"}),
            "line 1: Row 0 is refused",
        ),
        (json.dumps({"model": "names", "request": {"rwo": 7}, "version": f"{lineage}.0.0"}), "unknown field"),
    ):
        requests.write_text(line + "\n")
        told = command(capfd, "replay", tmp_path / "state", requests)
        assert told.returncode == 1, line
        assert why in told.stderr, (line, told.stderr)
        assert "Traceback" not in told.stderr
    assert command(capfd, "replay", tmp_path / "state").returncode == 2
    assert command(capfd, "replay", tmp_path / "state", "--model", "names").returncode == 2


def test_a_state_is_of_one_service_and_of_one_file(models: dict[str, Path], tmp_path: Path) -> None:
    state = tmp_path / "state"
    with (
        serving(Settings(state, [("names", models["names"])])),
        process(models["names"], "--state", state) as second,
    ):
        assert second.process.wait(60) == 1
        assert "is in use by another service" in second.said[0]
    with process(f"names={models['many']}", "--state", state) as other:
        assert other.process.wait(60) == 1
        assert "is not the file that names" in other.said[0]
    (state / "names" / "name.json").write_text("{")
    with process("--state", state) as damaged:
        assert damaged.process.wait(60) == 1
        assert "name.json is damaged" in damaged.said[0]


def test_the_newest_snapshot_may_be_damaged(models: dict[str, Path], tmp_path: Path) -> None:
    state, folder = tmp_path / "state", tmp_path / "state" / "names"
    rows = rows_of("names", 10)
    with serving(Settings(state, [("names", models["names"])])) as service:
        for row, label in rows:
            service("POST", "/v1/models/names/learn", {"row": row, "label": label})
    newest = max(folder.glob("snapshot-*")) / "champion.sureline"
    newest.write_bytes(newest.read_bytes()[:-1])
    expected = undisturbed(models["names"], rows, tmp_path / "undisturbed.sureline")
    with process("--state", state) as service:
        assert any("cut short" in line for line in service.said)
        assert service("GET", "/v1/models/names/model").body == expected


def test_predictions_wait_for_their_labels_across_a_kill(models: dict[str, Path], tmp_path: Path) -> None:
    state = tmp_path / "state"
    with process(models["names"], "--state", state) as service:
        ids = [service("POST", "/v1/models/names/predict", {"row": {"red": 1.0}}).json["prediction_id"] for _ in "ab"]
        for _ in range(2):
            body = {"prediction_id": ids[0], "label": "a"}
            status = service("POST", "/v1/models/names/learn", body).status
        assert status == 409
        service.kill()
    with process("--state", state) as service:
        statuses = [
            service("POST", "/v1/models/names/learn", {"prediction_id": one, "label": "b"}).status for one in ids * 2
        ]
    assert statuses == [409, 200, 409, 409]
    assert learned_from(state / "names") == [({"red": 1.0}, "a"), ({"red": 1.0}, "b")]


def test_labels_that_are_read_from_the_log_again_are_no_rate_and_are_judged_as_they_were(
    models: dict[str, Path], tmp_path: Path
) -> None:
    state, rows = tmp_path / "state", rows_of("text", 6000, seed=3)
    keeping = Keeping("none", max_error=0.05)
    with serving(Settings(state, [("text", models["text"])], keeping=keeping)) as service:
        for start in range(0, len(rows), 500):
            part = rows[start : start + 500]
            body = {"rows": [row for row, _ in part], "labels": [label for _, label in part]}
            assert service("POST", "/v1/models/text/learn", body).status == 200
            served = service.running.house.get("text")
            served.lineup.calibrate()
        before = served.watch.snapshot()
    for snapshot in sorted((state / "text").glob("snapshot-*"))[1:]:
        shutil.rmtree(snapshot)
    with serving(Settings(state, keeping=keeping)) as again:
        watch = again.running.house.get("text").watch
        after = watch.snapshot()
        assert again("POST", "/v1/models/text/learn", {"row": rows[0][0], "label": rows[0][1]}).status == 200
        assert watch.to_state()["seconds"]["counts"] == [[0, 0, 1]]
    assert (after["labels"], after["mistakes"]) == (before["labels"], before["mistakes"])
    assert sum(after["pace"]["labels"]) == 0
    [then], [now] = before["judged"]["coverage"]["promises"], after["judged"]["coverage"]["promises"]
    assert then["coverage"] > 0.5
    assert abs(now["coverage"] - then["coverage"]) < 0.2

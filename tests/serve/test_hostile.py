"""Requests from strangers: nothing beyond the limits, nothing without a token, and never a status 5xx."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import http.client
import json
import os
import random
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import rows_of
from service import NDJSON, PATIENCE, Here, Reply, Settings, ask_on, process, serving

import sureline
from sureline import cli
from sureline.serve.batching import Batching
from sureline.serve.errors import Refused, StateError
from sureline.serve.limits import Limits
from sureline.serve.names import checked_name
from sureline.serve.rows import Rows
from sureline.serve.running import Running
from sureline.serve.served import Keeping
from sureline.serve.tokens import Right, Tokens, parsed_token, tokens_of_file

LIMITS = Limits(
    body=100_000, rows=50, depth=20, name=100, upload=1 << 20, stream=1 << 20, head=4000, sockets=20, head_time=0.5,
    body_time=0.5, idle_time=5,
)  # fmt: skip
MANY, PREDICT = "/v1/models/many", "/v1/models/many/predict"
OCTETS = {"Content-Type": "application/octet-stream"}


@pytest.fixture(scope="module")
def service(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    files = [(name, models[name]) for name in ("many", "jsonl", "text")]
    with serving(Settings(tmp_path_factory.mktemp("state"), files, limits=LIMITS, tcp=0)) as here:
        yield here


def raw(port: int, *parts: bytes, pause: float = 0.0) -> bytes:
    """The response to these bytes, until the service closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
        with contextlib.suppress(ConnectionError):
            for part in parts:
                sock.sendall(part)
                time.sleep(pause)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while data := sock.recv(1 << 16):
                answer += data
        return answer


def head(method: str, path: str, **headers: object) -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    lines += [f"{name.replace('_', '-')}: {text}" for name, text in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


# -- bodies --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status", "why"),
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"nul", 400, "no JSON"),
        (b'{"row":{"a":1}} x', 400, "no JSON"),
        (b'{"row":{"a":NaN}}', 400, "no JSON"),
        (b'{"row":{"a":Infinity}}', 400, "no JSON"),
        (b'{"row":"\xff\xfe"}', 400, "no JSON"),
        (b'\xef\xbb\xbf{"row":{"a":1}}', 400, "no JSON"),
        (b'{"row":{"a":1,"a":2}}', 400, 'The key "a" comes twice'),
        (b'{"row":{"a":1,"\\u0061":2}}', 400, 'The key "a" comes twice'),
        (b'{"row":{"a" :1,"a"\n:2}}', 400, 'The key "a" comes twice'),
        (b'{"row":{"a":1},"row":{"b":1}}', 400, 'The key "row" comes twice'),
        (b'{"row":"a","row" :"b"}', 400, 'The key "row" comes twice'),
        (b'{"row" : "a", "row":"b"}', 400, 'The key "row" comes twice'),
        (b'{"row":"a","novelty" :true,"novelty"\t:false}', 400, 'The key "novelty" comes twice'),
        (b'{"row":"a\\":","row" :"b"}', 400, 'The key "row" comes twice'),
        (b'{"rows":[{"a":1},{"a":1,"x\\":":3,"a":2}]}', 400, 'The key "a" comes twice'),
        (b'{"row":' + b"[" * 10_000 + b"]" * 10_000 + b"}", 400, "nested"),
        (b'{"row":' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}", 400, "nested"),
        (b'{"row":' + b'{"a":' * 25 + b"1" + b"}" * 25 + b"}", 400, "nested more than 20 deep"),
        (b'{"row":{"' + b"x" * 200 + b'":1}}', 413, "has more than 100 characters"),
        (b'{"rows":' + json.dumps([{}] * 51).encode() + b"}", 413, "rows has 1 to 50 rows"),
        (b'{"rows":[]}', 422, "rows has 1 to 50 rows"),
        (b"{}", 422, "has row, which is one, or rows"),
        (b'{"row":{},"rows":[{}]}', 422, "has row, which is one, or rows"),
        (b"[]", 422, "Expected `object`"),
        (b'{"row":{"a":1},"more":1}', 422, "unknown field"),
        (b'{"row":{"a":1},"explain":-1}', 422, "explain is a number of features"),
        (b'{"row":{"a":1},"explain":1.5}', 422, "Expected `int`"),
        (b'{"row":{"a":1},"probabilities":1}', 422, "Expected `bool`"),
        (b'{"row":{"a":[1,2]}}', 422, ""),
        (b'{"row":{"a":null}}', 422, ""),
        (b'{"row":[[1,2],[1]]}', 422, "2 columns and 1 values"),
        (b'{"row":[[-1],[1]]}', 422, ""),
        (b'{"row":[[99999999999999999999],[1]]}', 422, ""),
        (b'{"row":[[1e3],[1]]}', 422, "not all integers"),
        (b'{"row":[[1],[true]]}', 422, "not all numbers"),
        (b'{"row":{"a":1' + b"0" * 400 + b"}}", 422, ""),
        (b'{"row":{"a":1' + b"0" * 5000 + b"}}", 422, ""),
        (b'{"row":{"a":1e400}}', 422, "out of range"),
    ],
)
def test_bodies_that_are_refused(service: Here, body: bytes, status: int, why: str) -> None:
    reply = service("POST", PREDICT, body)
    assert (reply.status, why in reply.json["error"]) == (status, True), reply.body
    assert reply.json["error"].endswith(".")
    assert len(reply.json["error"]) < 700


def test_a_body_that_only_looks_as_if_a_key_came_twice_is_taken(service: Here) -> None:
    for body in (b'{"row":{"a\\":":1}}', b'{"row":{"a\\":\\":":1,"b":2}}', b'{ "row" : {"a" : 1} }'):
        assert service("POST", PREDICT, body).status == 200


def test_a_number_that_no_record_has_room_for_is_answered_and_cannot_be_taught(service: Here) -> None:
    """Whoever asks in the same turn gets an answer too."""
    row = {"a": 10**25}
    answer = service("POST", PREDICT, {"row": row})
    assert (answer.status, "prediction_id" in answer.json) == (200, True)
    assert answer.json["prediction_id"] is None
    assert service("POST", PREDICT, {"rows": [row, {"a": 1}]}).status == 200
    taught = service("POST", f"{MANY}/learn", {"row": row, "label": "red"})
    assert (taught.status, "more than 64 bits" in taught.json["error"]) == (422, True)


def test_a_fault_in_one_answer_is_not_that_of_its_neighbours(service: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    read, loop = Rows.read, service.running.house._loop
    assert loop is not None

    def faulty(rows: Rows, examples: list[object]) -> object:
        if {"bad": 1} in examples:
            raise RuntimeError("a fault")
        return read(rows, examples)

    async def ask() -> list[object]:
        batching = Batching(service.running.house.get("many"))
        told = [batching.answer(row, remember=False) for row in ({"a": 1}, {"bad": 1}, {"b": 1})]
        return await asyncio.gather(*told, return_exceptions=True)

    monkeypatch.setattr(Rows, "read", faulty)
    told = asyncio.run_coroutine_threadsafe(ask(), loop).result(60)
    assert [type(one) for one in told] == [bytes, RuntimeError, bytes]


def test_a_label_of_another_type_is_refused_before_it_is_logged(service: Here) -> None:
    before = service("GET", MANY).json["version"].split(".")[1]
    for label in (1, 1.5, True, 2**63, -0.0):
        reply = service("POST", f"{MANY}/learn", {"row": {"a": 1}, "label": label})
        assert (reply.status, "of another type" in reply.json["error"]) == (422, True)
    assert service("GET", MANY).json["version"].split(".")[1] == before


def test_uploads_of_one_name_at_a_time(models: dict[str, Path], tmp_path: Path) -> None:
    file, state, statuses = models["many"].read_bytes(), tmp_path / "state", []
    with serving(Settings(state)) as service:

        def upload() -> None:
            statuses.append(service("POST", "/v1/models?name=new", file, OCTETS).status)

        for _ in range(4):
            statuses.clear()
            threads = [threading.Thread(target=upload) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(statuses) == [201] + [409] * 7
            assert service("POST", "/v1/models/new/predict", {"row": {"a": 1}}).status == 200
            assert service("DELETE", "/v1/models/new").status == 200
        assert service("POST", "/v1/models?name=new", file, OCTETS).status == 201
    assert sorted(path.name for path in state.iterdir()) == ["lock", "new"]
    with serving(Settings(state)) as again:
        assert again("POST", "/v1/models/new/predict", {"row": {"a": 1}}).status == 200


def test_half_of_a_surrogate_pair_does_no_harm(service: Here) -> None:
    for body in (b'{"row":{"\\ud800":1}}', b'{"row":{"a":"\\udfff"}}', b'{"row":"\\ud800"}'):
        for name in ("many", "jsonl", "text"):
            assert service("POST", f"/v1/models/{name}/predict", body).status in (200, 400, 422)


def test_sizes(service: Here) -> None:
    large = json.dumps({"row": {"a": 1}}).encode() + b" " * 100_000
    assert service("POST", PREDICT, large).status == 413
    chunk = b"186a0\r\n" + b" " * 100_000 + b"\r\n"
    answer = raw(service.port, head("POST", PREDICT, Transfer_Encoding="chunked"), chunk * 20)
    assert b" 413 " in answer.split(b"\r\n")[0]
    zipped = {"Content-Encoding": "gzip"}
    bomb = gzip.compress(b'{"row":{"a":1}}' + b" " * (50 << 20))
    assert len(bomb) < LIMITS.body
    assert service("POST", PREDICT, bomb, zipped).status == 413
    assert service("POST", PREDICT, gzip.compress(b'{"row":{"a":1}}'), zipped).status == 200
    for damaged in (bomb[:1000], b"no gzip", gzip.compress(b'{"row":{}}') + b"more"):
        assert service("POST", PREDICT, damaged, zipped).status in (400, 413)
    assert service("POST", PREDICT, b"{}", {"Content-Encoding": "br"}).status == 415
    assert service("POST", PREDICT, b"{}", {"Content-Type": "text/plain"}).status == 415
    form = service("POST", PREDICT, b"{}", {"Content-Type": "application/x-www-form-urlencoded"})
    assert form.status == 415
    assert "use --json in place of -d" in form.json["error"]
    streamed = service("POST", PREDICT, gzip.compress(b"{}\n" * (1 << 20)), {**NDJSON, **zipped})
    assert streamed.status == 200
    assert "has more than 1,048,576 bytes" in streamed.lines[-1]["error"]
    long_line = service("POST", PREDICT, b'{"a":1}\n{"a":"' + b"x" * 200_000 + b'"}\n', NDJSON)
    assert "version" in long_line.lines[0]
    assert "A line has more than 100,000 bytes" in long_line.lines[-1]["error"]
    upload = service("POST", "/v1/models?name=new", bytes(2 << 20), OCTETS)
    assert upload.status == 413
    assert service("POST", "/v1/models?name=new", b"no model", OCTETS).status == 422


def test_lines_that_are_refused_leave_the_others(service: Here) -> None:
    bad = [b"{", b'"\xff"', b'{"a":1,"a":2}', b"[" * 10_000, b"7", b'{"a":[1]}', b'{"a":' * 30 + b"1" + b"}" * 30]
    content = b"".join(b'{"a":1}\n' + line + b"\n\n" for line in bad)
    lines = service("POST", PREDICT, content, NDJSON).lines
    assert ["error" in line for line in lines] == [False, True] * len(bad)
    assert [line["line"] for line in lines if "error" in line] == [3 * k + 2 for k in range(len(bad))]
    bad = [b"{", b'{"n":1,"n":2}', b"7", b'{"n":"x"', b'{"n":Infinity}']
    content = b"".join(b'{"colour":"red"}\n' + line + b"\n\n" for line in bad)
    lines = service("POST", "/v1/models/jsonl/predict", content, NDJSON).lines
    assert ["error" in line for line in lines] == [False, True] * len(bad)
    assert [line["line"] for line in lines if "error" in line] == [3 * k + 2 for k in range(len(bad))]
    labels = [
        b'{"row":{"a":1},"label":"x"}',
        b'{"row":{"a":1}}',
        b"{",
        b'{"row":7,"label":"x"}',
        b'{"label":1,"label":1}',
    ]
    lines = service("POST", "/v1/models/many/learn", b"\n".join(labels), NDJSON).lines
    assert ["error" in line for line in lines] == [False, True, True, True, True]


def test_random_bodies_have_documented_statuses_and_none_is_a_failure(service: Here) -> None:
    rng = random.Random(0)
    paths = service("GET", "/openapi.json").json["paths"]
    allowed = {
        path: {int(status) for status in told["post"]["responses"]} for path, told in paths.items() if "post" in told
    }
    values: list[Any] = [
        None, True, 0, -1, 1e300, 10**30, 0.5, "", "a", "1-0-00000000", "\0", "é\u2028", [], {}, [[]], [[0], [1.0]],
        {"a": 1}, {"red": 1.0, "x": None}, ["ham"], [1.0], "read", {"name": "rows", "shape": [1], "datatype": "BYTES",
        "data": ["a"]},
    ]  # fmt: skip
    keys = [
        "row", "rows", "label", "labels", "weight", "weights", "prediction_id", "prediction_ids", "probabilities",
        "novelty", "explain", "max_error", "shadows", "remember", "rate", "inputs", "outputs", "id",
    ]  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    for path in (
        "/v1/models/{name}/predict",
        "/v1/models/{name}/learn",
        "/v1/models/{name}/ask",
        "/v2/models/{name}/infer",
    ):
        for _ in range(150):
            name = rng.choice(["many", "jsonl", "text"])
            body = {key: rng.choice([*values, [rng.choice(values)]]) for key in rng.sample(keys, rng.randrange(1, 4))}
            content = json.dumps(body).encode()
            if rng.random() < 0.3:
                place = rng.randrange(len(content))
                content = content[:place] + bytes([rng.randrange(256)]) + content[place + rng.randrange(2) :]
            kind = NDJSON if rng.random() < 0.2 else {}
            reply = ask_on(connection, "POST", path.replace("{name}", name), content, kind)
            assert reply.status in allowed[path], (path, content, reply)
            assert reply.status < 500, (path, content, reply)
            if "close" in reply.headers.get("connection", ""):
                connection.close()
    connection.close()
    assert service("GET", "/readyz").status == 200


# -- connections ---------------------------------------------------------------------------------------------


def test_heads_that_are_too_large_or_come_too_slowly(service: Here) -> None:
    cookie = {"Cookie": "x" * 5000}
    assert service("GET", "/healthz", headers=cookie).status == 431
    assert b" 431 " in raw(service.port, b"GET / HTTP/1.1\r\nX: ", b"x" * 5000, pause=0.05)
    assert b" 431 " in raw(service.port, head("GET", "/" + "x" * 5000))
    assert b" 408 " in raw(service.port, b"GET /healthz HT")
    assert b" 408 " in raw(service.port)  # nothing at all
    drip = [bytes([byte]) for byte in head("GET", "/healthz")]
    assert b" 408 " in raw(service.port, *drip, pause=0.03)
    answer = raw(service.port, head("POST", PREDICT, Content_Length=100), b'{"row":')
    assert b" 408 " in answer
    drip = [head("POST", PREDICT, Content_Length=10_000), *[b" "] * 60]
    assert b"less than 1,000 bytes a second" in raw(service.port, *drip, pause=0.03)
    octets = head("POST", "/v1/models?name=slow", Content_Length=10_000).replace(b"json", b"octet-stream")
    assert b"less than 1,000 bytes a second" in raw(service.port, octets, *[b" "] * 60, pause=0.03)
    assert b" 400 " in raw(service.port, b"\x16\x03\x01 no HTTP\r\n\r\n")
    assert service("GET", "/healthz").status == 200


def test_connections_are_counted(service: Here) -> None:
    socks = []
    try:
        for _ in range(LIMITS.sockets):
            socks.append(socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE))
            socks[-1].sendall(head("GET", "/healthz"))
            assert b"200" in socks[-1].recv(1 << 16)
        answer = raw(service.port, head("GET", "/healthz"))
        assert b" 503 " in answer
        assert b"There are 20 connections already" in answer
    finally:
        for sock in socks:
            sock.close()
    until = time.monotonic() + PATIENCE
    while service.running.house.ready and time.monotonic() < until:
        with contextlib.suppress(OSError, http.client.HTTPException):
            if service("GET", "/healthz").status == 200:
                return
    pytest.fail("no connection is taken after the others have gone")


def test_lines_by_tcp_have_limits(service: Here) -> None:
    port = service.running.tcp_port
    assert port is not None
    answer = raw(port, b'{"a":1}\n', b"x" * (2 << 20))
    assert b"A line has at most" in answer.splitlines()[-1]
    assert b"error" in raw(port, b"[" * 10_000 + b"\n\xff\n", b"").splitlines()[0]  # then it waits, and closes


# -- names ---------------------------------------------------------------------------------------------------

TRAVERSALS = [
    "..", ".", "../other", "a/../../b", "..%2f..%2fetc", "/etc/passwd", "a\\b", ".hidden", "a\0b", "a b", "", "x" * 65,
    "con:", "a\nb", "é", "~", "-x", "_x", "a%00",
]  # fmt: skip


@pytest.mark.parametrize("promise", [None, 0.05])
def test_values_that_are_too_large_harm_nobody(promise: float | None, tmp_path: Path) -> None:
    """No answer can be computed from them; they are in the log, from which the service has to begin again."""
    model = sureline.AROW(normalize="none")
    for k in range(20):
        model.learn_one({"red": 1.0, "blue": float(k % 3)}, "b" if k % 2 else "a")
    sureline.save(model, tmp_path / "m.sureline")
    settings = Settings(tmp_path / "state", [("m", tmp_path / "m.sureline")], keeping=Keeping(max_error=promise), tcp=0)
    large = {"row": {"red": 1e200}, "label": "a"}
    with serving(settings) as service:
        assert service("POST", "/v1/models/m/learn", large).status == 422
        body = {"rows": [{"red": 1.0}, {"red": 1e250}, {"blue": 2.0}], "labels": ["a", "a", "a"]}
        reply = service("POST", "/v1/models/m/learn", body)
        assert reply.status == 200
        assert reply.json["learned"] >= 2
        for path in ("predict", "ask"):
            for body in ({"row": {"red": 1e200}}, {"rows": [{"red": 1.0}, {"red": 1e200}]}):
                reply = service("POST", f"/v1/models/m/{path}", body)
                assert reply.status == 422, (path, body)
                assert "scale X" in reply.json["error"]
        assert service("POST", "/v1/models/m/predict", {"row": {"red": 1.0}}).status == 200
        version = service("GET", "/v1/models/m").json["version"].rpartition(".")[0]
    with serving(settings) as service:
        assert service("GET", "/v1/models/m").json["version"].rpartition(".")[0] == version
        assert service("POST", "/v1/models/m/learn", {"row": {"red": 1.0}, "label": "a"}).status == 200


def test_names_stay_in_their_folder(service: Here, models: dict[str, Path], tmp_path: Path) -> None:
    from urllib.parse import quote

    file = models["many"].read_bytes()
    state = service.running.settings.state
    before = sorted(path.name for path in state.parent.iterdir())
    for name in TRAVERSALS:
        with pytest.raises(Refused):
            checked_name(name)
        assert service("POST", f"/v1/models?name={quote(name, safe='')}", file, OCTETS).status == 422, name
        assert service("POST", f"/v1/models/many/shadows?name={quote(name, safe='')}", file, OCTETS).status == 422, name
        path = f"/v1/models/{quote(name, safe='')}"
        for method, target in (("GET", path), ("GET", f"{path}/model"), ("DELETE", path), ("POST", f"{path}/predict")):
            status = service(method, target, b'{"row":{}}' if method == "POST" else None).status
            assert status in (404, 405, 200) if (target, name) == (path, "") else status in (404, 405), (method, target)
    assert sorted(path.name for path in state.parent.iterdir()) == before
    assert sorted(path.name for path in state.iterdir()) == ["jsonl", "lock", "many", "text"]
    with pytest.raises(StateError, match="a model's name has letters"):
        Running(Settings(tmp_path / "state", [("../x", models["many"])]))


def test_what_is_left_of_an_upload_goes(service: Here) -> None:
    state = service.running.settings.state
    assert service("POST", "/v1/models?name=new", b"no model", OCTETS).status == 422
    assert service("POST", "/v1/models/many/shadows?name=new", b"no model", OCTETS).status == 422
    assert [path for path in state.rglob("*") if "upload" in path.name or path.name.startswith("model-")] == []


def test_what_a_kill_leaves_of_uploads_goes_at_the_next_start(models: dict[str, Path], tmp_path: Path) -> None:
    state, file = tmp_path / "state", models["many"].read_bytes()
    with serving(Settings(state, [("many", models["many"])])) as here:
        assert here("POST", f"{MANY}/shadows?name=other", models["names"].read_bytes(), OCTETS).status == 201
    for snapshot in sorted((state / "many").glob("snapshot-*"))[1:]:  # so that the log refers to the shadow's file
        shutil.rmtree(snapshot)
    kept = {path.name for path in state.rglob("*")}
    digest = "0123456789abcdef" * 4
    for left in (
        state / ".upload-0123456789abcdef.new",
        state / "many" / ".upload-0123456789abcdef.new",
        state / "many" / f"model-{digest}.sureline",
        state / "many" / ".snapshot-0000000000000009.tmp" / "champion.sureline",
        state / "many" / ".snapshot-0000000000000000.gone" / "champion.sureline",
    ):
        left.parent.mkdir(exist_ok=True)
        left.write_bytes(file)
    mine = state / "many" / "model-of-mine.sureline"
    mine.write_bytes(file)
    with serving(Settings(state)) as again:
        assert [one["name"] for one in again("GET", MANY).json["shadows"]] == ["other"]
        assert {path.name for path in state.rglob("*")} - {"predictions-00000001.bin"} == kept | {mine.name}


# -- texts ---------------------------------------------------------------------------------------------------

PAYLOADS = [
    prefix + core + suffix
    for core in (
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "{{7*7}}", "${7*7}", "javascript:alert(1)",
        "' OR 1=1 --", "\r\nSet-Cookie: a=b", "\x1b]0;title\x07", "%0d%0aX: y", "\u202egnp.exe", "</style><b>",
        "-->", "]]>", "\0null", "&lt;b&gt;", "=cmd|' /C calc'!A0", "../../etc/passwd",
    )
    for prefix, suffix in (("", ""), ('"', '"'), ("<!--", ""), ("'>", "<'"), ("a\n", "\nb"), ("\\", "\\"))
]  # fmt: skip


def test_a_hundred_hostile_labels_and_names_come_back_as_they_are(models: dict[str, Path], tmp_path: Path) -> None:
    assert len(PAYLOADS) > 100
    with process(models["many"], "--state", tmp_path / "state", "--access-log") as service:
        path = "/v1/models/many"
        body = {"rows": [{text: 3.0} for text in PAYLOADS], "labels": PAYLOADS}
        reply = service("POST", f"{path}/learn", body)
        assert (reply.status, reply.json["learned"]) == (200, len(PAYLOADS)), reply.body
        told = service("GET", path)
        assert set(PAYLOADS) <= set(told.json["labels"])
        answers = service("POST", f"{path}/predict", {"rows": body["rows"], "explain": 2, "probabilities": True})
        assert {one["label"] for one in answers.json["answers"]} <= set(told.json["labels"])
        for reply in (told, answers, service("GET", "/metrics"), service("GET", "/docs"), service("GET", "/nowhere")):
            assert reply.headers["x-content-type-options"] == "nosniff"
            assert "default-src 'none'" in reply.headers["content-security-policy"]
            assert "set-cookie" not in reply.headers
            assert b"alert(1)" not in reply.body or reply.headers["content-type"] == "application/json"
        for text in PAYLOADS[:40]:
            refused = service("POST", f"{path}/predict", {"row": {"a": 1}, text: 1})
            assert refused.status == 422
            assert refused.headers["content-type"] == "application/json"
        from urllib.parse import quote

        for text in PAYLOADS[:20]:
            assert service("GET", f"/v1/models/{quote(text, safe='')}").status in (404, 400)
        assert service.stop() == 0
        said = "\n".join(service.said)
        assert all(line.isprintable() for line in service.said)
        assert "alert" not in "".join(line for line in service.said if "predict" in line)  # no example is logged
        assert said.count(" POST /v1/models/many/predict 422 ") == 40


def test_examples_are_logged_if_that_is_asked_for(models: dict[str, Path], tmp_path: Path) -> None:
    with process(models["text"], "--state", tmp_path / "state", "--log-examples") as service:
        service("POST", "/v1/models/text/predict", {"row": "something secret \x1b[1m"})
        assert service.stop() == 0
        [line] = [line for line in service.said if "predict" in line]
    assert "something secret" in line
    assert line.isprintable()


# -- tokens --------------------------------------------------------------------------------------------------

NAMED = ["-addext", "subjectAltName=IP:127.0.0.1"]
SECRETS = {"read": "read-secret-1", "learn": "learn-secret-2", "admin": "admin-secret-3"}


def test_each_token_does_what_it_may(models: dict[str, Path], tmp_path: Path) -> None:
    tokens = Tokens((Right[name.upper()], secret) for name, secret in SECRETS.items())
    file = models["text"].read_bytes()
    calls: list[tuple[int, str, str, Any, dict[str, str]]] = [
        (0, "GET", "/healthz", None, {}),
        (0, "GET", "/readyz", None, {}),
        (0, "GET", "/v2/health/live", None, {}),
        (0, "GET", "/openapi.json", None, {}),
        (0, "GET", "/docs", None, {}),
        (1, "GET", "/v1/models", None, {}),
        (1, "GET", "/metrics", None, {}),
        (1, "GET", "/v1/models/text/model", None, {}),
        (1, "POST", "/v1/models/text/predict", {"row": "a"}, {}),
        (1, "POST", "/v1/models/text/ask", {"row": "a"}, {}),
        (2, "POST", "/v1/models/text/learn", {"row": "a", "label": "ham"}, {}),
        (3, "POST", "/v1/models/text/shadows?name=s", file, OCTETS),
        (3, "POST", "/v1/models/text/shadows/s/promote", None, {}),
        (3, "DELETE", "/v1/models/text/shadows/previous", None, {}),
    ]
    with serving(Settings(tmp_path / "state", [("text", models["text"])], tokens=tokens, tcp=0)) as service:
        for right, method, path, body, headers in calls:
            for has, secret in enumerate([None, *SECRETS.values()]):
                bearer = {} if secret is None else {"Authorization": f"Bearer {secret}"}
                reply = service(method, path, body, {**headers, **bearer})
                if has >= right:
                    assert reply.status in (200, 201), (path, has, reply.body)
                    break
                assert reply.status == (401 if secret is None else 403), (path, has, reply.body)
        for wrong in (
            "Bearer ",
            "Bearer read-secret",
            "Bearer read-secret-1x",
            "Basic read-secret-1",
            "read-secret-1",
            "Bearer \xff",
        ):
            reply = service("GET", "/v1/models", headers={"Authorization": wrong})
            assert (reply.status, "www-authenticate" in reply.headers) == (401, True)
            assert not any(secret in reply.body.decode() for secret in SECRETS.values())
        foreign = {"Origin": "http://elsewhere.example", "Host": "elsewhere.example"}
        allowed = {**foreign, "Authorization": "Bearer read-secret-1"}
        assert service("GET", "/v1/models", headers=allowed).status == 200  # a token says enough
        port = service.running.tcp_port
        assert port is not None
        assert b"The first line is: token TOKEN" in raw(port, b"free cash\n")
        assert b"The first line is: token TOKEN" in raw(port, b"token wrong\nfree cash\n")
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as sock:
            sock.sendall(b"token read-secret-1\nfree cash\n")
            sock.shutdown(socket.SHUT_WR)
            assert b'"label"' in sock.makefile("rb").read()


def test_pages_of_others_may_not_ask(service: Here) -> None:
    own = f"127.0.0.1:{service.port}"

    def status(**headers: str) -> int:
        return service("POST", PREDICT, {"row": {"a": 1}}, headers).status

    assert status(Origin=f"http://{own}") == 200
    assert status(Origin=f"http://localhost:{service.port}", Host=f"localhost:{service.port}") == 200
    assert status(Origin="http://elsewhere.example") == 403
    assert status(Origin="null") == 403
    assert status(Origin=f"http://127.0.0.1:{service.port + 1}") == 403
    assert status(Host="elsewhere.example") == 403  # a name that somebody made point here
    assert status(Host=f"elsewhere.example:{service.port}") == 403
    assert status(Host=f"[::1]:{service.port}") == 200
    for hosts in ((own, "elsewhere.example"), ("elsewhere.example", own), (own, own)):
        lines = ["GET /readyz HTTP/1.1", *(f"Host: {host}" for host in hosts), "Connection: close", "", ""]
        assert b" 403 " in raw(service.port, "\r\n".join(lines).encode()).split(b"\r\n")[0]


def test_without_a_token_it_listens_here_alone(
    models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["serve", str(models["text"]), "--state", str(tmp_path / "state"), "--port", "0"]
    assert cli.run([*options, "--host", "0.0.0.0"]) == 1
    assert "everybody who can reach 0.0.0.0 could ask" in capsys.readouterr().err
    assert cli.run([*options, "--token", "short"]) == 1
    assert "--token: a token is read:SECRET" in capsys.readouterr().err
    Running(Settings(tmp_path / "one", [("text", models["text"])], "0.0.0.0", 0, anybody=True)).close()
    tokens = Tokens([(Right.ADMIN, "some secret")])
    Running(Settings(tmp_path / "two", [("text", models["text"])], "0.0.0.0", 0, tokens=tokens)).close()


def test_a_token_file(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("# for the mail server\nread:abcdefgh\n\nlearn:ijklmnop\nqrstuvwx:y\n")
    assert tokens_of_file(file) == [(Right.READ, "abcdefgh"), (Right.LEARN, "ijklmnop"), (Right.ADMIN, "qrstuvwx:y")]
    for content, why in (
        (b"", "has no token"),
        (b"read:abcdefgh\nread:abc\n", "line 2: a token is"),
        (b"\xff", "UTF-8"),
    ):
        file.write_bytes(content)
        with pytest.raises(StateError, match=why):
            tokens_of_file(file)
    with pytest.raises(StateError, match="no space"):
        parsed_token("admin:abc defghi", "--token")


def test_what_is_wrong_with_a_command_is_one_sentence(
    models: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, state = str(models["text"]), str(tmp_path / "state")
    taken = socket.create_server(("127.0.0.1", 0))
    port = str(taken.getsockname()[1])
    (tmp_path / "bad.sureline").write_bytes(b"no model")
    for options, status, why in (
        ([], 2, "Name a model, or the --state"),
        ([model, f"text={model}"], 2, "Two models have the same name"),
        ([model, "--tcp", "x"], 2, "is not a port, or NAME=PORT"),
        ([model, "--tcp", "other=0"], 1, "there is no other"),
        ([model, "--tls-cert", model], 2, "come together"),
        ([model, "--tls-cert", model, "--tls-key", model], 1, "must be a certificate and its key in PEM, and are not."),
        ([model, "--port", port], 1, "cannot be listened on: Address already in use."),
        ([model, "--host", "no such host", "--token", "abcdefghi"], 1, "--host no such host"),
        ([str(tmp_path / "nothing.sureline")], 1, "nothing.sureline: No such file"),
        ([str(tmp_path / "bad.sureline")], 1, "is not a sureline model file"),
        ([f"a b={model}"], 1, "a model's name has letters"),
        ([model, "--max-error", "1"], 2, "--max-error"),
        ([model, "--durability", "some"], 2, "--durability"),
    ):
        assert cli.run(["serve", *options, "--state", state] if options else ["serve"]) == status, options
        said = capsys.readouterr().err
        assert why in said, (options, said)
        assert "Traceback" not in said
    taken.close()
    monkeypatch.setattr("sureline.cli._packages.find_spec", lambda name: None if name == "uvicorn" else object())
    assert cli.run(["serve", model]) == 1
    assert capsys.readouterr().err == "sureline: This needs uvicorn: pip install 'sureline[serve]'.\n"


def test_tls(models: dict[str, Path], tmp_path: Path) -> None:
    import ssl
    import subprocess

    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    try:
        subprocess.run(
            [*make, "-keyout", key, "-out", certificate, "-subj", "/CN=localhost", *NAMED],
            check=True, capture_output=True,
        )  # fmt: skip
    except FileNotFoundError:
        pytest.skip("there is no openssl to make a certificate with")
    settings = Settings(tmp_path / "state", [("text", models["text"])], certificate=certificate, key=key)
    with serving(settings) as service:
        context = ssl.create_default_context(cafile=str(certificate))
        connection = http.client.HTTPSConnection("127.0.0.1", service.port, timeout=PATIENCE, context=context)
        reply: Reply = ask_on(connection, "POST", "/v1/models/text/predict", {"row": rows_of("text", 1)[0][0]})
        connection.close()
    assert reply.status == 200
    assert os.path.exists(certificate)

"""Answers and learning of a service: the same as the model's own, in every format and form of a body."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from conftest import rows_of
from service import NDJSON, Here, Settings, serving

from sureline import load

FORMATS = ["text", "vw", "libsvm", "jsonl", "names", "many"]


@pytest.fixture(scope="module")
def service(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    with serving(Settings(tmp_path_factory.mktemp("state"), list(models.items()), tcp=0, tcp_model="text")) as here:
        yield here


def predict(service: Here, name: str, **body: Any) -> Any:
    reply = service("POST", f"/v1/models/{name}/predict", body)
    assert reply.status == 200, reply.body
    return reply.json


def lines(rows: list[Any]) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("format", FORMATS)
def test_answers_are_those_of_the_model(service: Here, models: dict[str, Path], format: str) -> None:
    model = load(models[format])
    rows = [row for row, _ in rows_of(format, 30, seed=1)]
    told = predict(service, format, rows=rows, probabilities=True)["answers"]
    for row, answer in zip(rows, told, strict=True):
        assert answer["label"] == model.predict_one(row)
        by_model = model.predict_proba_one(row)
        by_service = {one["label"]: one["probability"] for one in answer["probabilities"]}
        assert by_service == pytest.approx(by_model, rel=1e-12)
        assert answer["confidence"] == by_service[answer["label"]]
    if format not in ("names", "many"):
        explained = predict(service, format, row=rows[0], explain=3, novelty=True)
        ours = model.explain_one(rows[0], 3)
        assert ours is not None
        assert explained["explanation"]["score"] == ours.score
        assert [one["feature"] for one in explained["explanation"]["contributions"]] == [
            one.name for one in ours.contributions
        ]
        assert explained["novelty"]["unseen"] == model.novelty_one(rows[0]).unseen


@pytest.mark.parametrize("format", FORMATS)
def test_every_form_of_a_request_gives_the_same_bits(service: Here, format: str) -> None:
    rows = [row for row, _ in rows_of(format, 100, seed=2)]
    together = predict(service, format, rows=rows)["answers"]
    alone = [predict(service, format, row=row) for row in rows[:10]]
    with ThreadPoolExecutor(8) as pool:  # which the service answers in batches, as they happen to come
        at_once = list(pool.map(lambda row: predict(service, format, row=row), rows))
    path = f"/v1/models/{format}/predict"
    streamed = service("POST", path, lines(rows), NDJSON).lines
    zipped = service("POST", path, gzip.compress(lines(rows)), {**NDJSON, "Content-Encoding": "gzip"}).lines
    remembered = service("POST", f"{path}?remember=true", lines(rows), NDJSON).lines

    def said(answers: list[Any]) -> list[Any]:
        return [(one["label"], one["confidence"].hex()) for one in answers]

    expected = said(together)
    assert said(alone) == expected[:10]
    for answers in (at_once, streamed, zipped, remembered):
        assert said(answers) == expected
    assert {one["version"] for one in streamed} == {one["version"] for one in at_once}
    assert len({one["prediction_id"] for one in [*together, *at_once, *remembered]}) == 300
    assert all("prediction_id" not in one for one in streamed)


def test_arrays_of_columns_and_values_are_a_row(service: Here, models: dict[str, Path]) -> None:
    model = load(models["libsvm"])
    answer = predict(service, "libsvm", row=[[1, 5], [0.5, 1.0]])
    assert answer["label"] == model.predict_one("1:0.5 5:1.0")
    assert answer["confidence"] == predict(service, "libsvm", row="1:0.5 5:1.0")["confidence"]
    assert predict(service, "libsvm", row=[[], []])["confidence"] == predict(service, "libsvm", row="")["confidence"]


def test_a_model_that_predicts_numbers_and_one_that_does_not_learn(service: Here, models: dict[str, Path]) -> None:
    rows = [[[0, 1], [7.0, 1.0]], [[0], [30.0]]]
    told = predict(service, "numbers", rows=rows)["answers"]
    expected = load(models["numbers"]).predict([[7.0, 1.0], [30.0, 0.0]])
    assert [one["value"] for one in told] == pytest.approx(expected.tolist(), rel=1e-12)
    learned = service("POST", "/v1/models/numbers/learn", {"row": rows[0], "label": 7.5})
    assert (learned.status, learned.json["learned"]) == (200, 1)
    assert service("POST", "/v1/models/numbers/learn", {"row": rows[0], "label": "much"}).status == 422
    assert service("POST", "/v1/models/numbers/predict", {"row": rows[0], "probabilities": True}).status == 422
    refused = service("POST", "/v1/models/kernel/learn", {"row": rows[0], "label": True})
    assert refused.status == 409
    assert "does not learn" in refused.json["error"]


def test_rows_that_are_none_are_told_one_by_one(service: Here) -> None:
    bad = {"text": 7, "vw": {"a b": 1}, "libsvm": "1:a", "jsonl": "a text", "names": {"a": [1]}, "many": [[1], [1, 2]]}
    for format in FORMATS:
        good = rows_of(format, 2, seed=3)[0][0]
        for body in ({"row": bad[format]}, {"rows": [good, bad[format]]}):
            reply = service("POST", f"/v1/models/{format}/predict", body)
            assert reply.status == 422, (format, reply.body)
            assert set(reply.json) == {"error"}
            assert len(reply.json["error"]) > 20
        streamed = service("POST", f"/v1/models/{format}/predict", lines([good, bad[format], good]), NDJSON)
        assert streamed.status == 200
        first, second, third = streamed.lines
        assert first["label"] == third["label"]
        assert second["line"] == 2
        assert "error" in second
    with ThreadPoolExecutor(8) as pool:  # one that is refused does not take the others with it
        rows = [7 if k % 5 == 0 else "free cash" for k in range(40)]
        replies = list(pool.map(lambda row: service("POST", "/v1/models/text/predict", {"row": row}).status, rows))
    assert replies == [422 if k % 5 == 0 else 200 for k in range(40)]


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_learned_is_what_the_model_learns_from_the_same_rows(
    models: dict[str, Path], tmp_path: Path, format: str
) -> None:
    model = load(models[format])
    rows = rows_of(format, 120, seed=4)
    with serving(Settings(tmp_path / "state", [(format, models[format])])) as service:
        path = f"/v1/models/{format}"
        for seen, (row, label) in enumerate(rows[:20], 1):
            reply = service("POST", f"{path}/learn", {"row": row, "label": label})
            assert (reply.status, reply.json["version"].split(".")[1]) == (200, str(seen))
        body = {"rows": [row for row, _ in rows[20:40]], "labels": [label for _, label in rows[20:40]]}
        assert service("POST", f"{path}/learn", body).json["learned"] == 20
        weighed = {"row": rows[0][0], "label": rows[0][1], "weight": 2.5}
        assert service("POST", f"{path}/learn", weighed).status == 200
        content = lines([{"row": row, "label": label} for row, label in rows[40:80]])
        assert all(set(line) == {"version"} for line in service("POST", f"{path}/learn", content, NDJSON).lines)
        ids = [predict(service, format, row=row)["prediction_id"] for row, _ in rows[80:]]
        for prediction_id, (_, label) in list(zip(ids, rows[80:], strict=True))[:20]:
            reply = service("POST", f"{path}/learn", {"prediction_id": prediction_id, "label": label})
            assert (reply.status, reply.json["learned"]) == (200, 1)
        body = {"prediction_ids": ids[20:], "labels": [label for _, label in rows[100:]]}
        assert service("POST", f"{path}/learn", body).json["learned"] == 20
        again = service("POST", f"{path}/learn", {"prediction_id": ids[0], "label": rows[80][1]})
        assert again.status == 409
        by_service = service("GET", f"{path}/model").body
    for row, label in rows[:40]:
        model.learn_one(row, label)
    model.learn_one(rows[0][0], rows[0][1], 2.5)
    for row, label in rows[40:]:
        model.learn_one(row, label)
    import sureline

    sureline.save(model, tmp_path / "ours.sureline")
    assert by_service == (tmp_path / "ours.sureline").read_bytes()


def test_labels_are_refused_before_anything_is_learned(service: Here) -> None:
    version = service("GET", "/v1/models/text").json["version"].split(".")[:2]
    for label in ("egg", None, [1], {"a": 1}, 3, "x" * 2000):
        reply = service("POST", "/v1/models/text/learn", {"row": "free cash", "label": label})
        assert reply.status in (413, 422), label
    for body in (
        {"row": "a"},
        {"label": "ham"},
        {"row": "a", "labels": ["ham"]},
        {"rows": ["a"], "labels": ["ham", "ham"]},
        {"rows": ["a"], "labels": ["ham"], "weights": [1.0, 2.0]},
        {"rows": [], "labels": []},
        {"row": "a", "prediction_id": "1-0-00000000", "label": "ham"},
        {"row": "a", "label": "ham", "weight": -1},
        {"row": "a", "label": "ham", "other": 1},
        {"rows": ["a", 7], "labels": ["ham", "ham"]},
    ):
        assert service("POST", "/v1/models/text/learn", body).status == 422, body
    assert service("GET", "/v1/models/text").json["version"].split(".")[:2] == version
    assert service("POST", "/v1/models/many/learn", {"row": {"a": 1.0}, "label": "new"}).status == 200
    assert "new" in service("GET", "/v1/models/many").json["labels"]


def test_labels_of_predictions_that_are_unknown_or_forgotten(models: dict[str, Path], tmp_path: Path) -> None:
    from sureline.serve.served import Keeping

    keeping = Keeping(predictions=8 * 1000)
    with serving(Settings(tmp_path / "state", [("text", models["text"])], keeping=keeping)) as service:
        first = predict(service, "text", row="free cash")["prediction_id"]
        for _ in range(12):
            rows = ["a text of some length, so that few of them fill what is kept"] * 60
            last = predict(service, "text", rows=rows)["answers"][-1]["prediction_id"]

        def status(prediction_id: str) -> int:
            return service("POST", "/v1/models/text/learn", {"prediction_id": prediction_id, "label": "ham"}).status

        assert status(first) == 410
        assert status(last) == 200
        assert status(last) == 409
        assert [status(one) for one in ("1", "", "x" * 5000, f"{last[:-1]}{'0' if last[-1] != '0' else '1'}")] == [
            404
        ] * 4
        assert status("ffff-0-00000000") == 404
        big = predict(service, "text", row="long " * 1000)
        assert big["prediction_id"] is None  # there is no room for it
        assert sum(path.stat().st_size for path in (tmp_path / "state" / "text").glob("predictions-*")) <= 8 * 1000


def test_max_error_answers_as_the_model_does(service: Here, models: dict[str, Path]) -> None:
    model = load(models["text"])
    rows = [row for row, _ in rows_of("text", 60, seed=5)]
    expected = model.predict_or_abstain(rows, max_error=0.05).tolist()
    told = predict(service, "text", rows=rows, max_error=0.05)["answers"]
    assert [one["label"] for one in told] == expected
    assert [one["answered"] for one in told] == [one is not None for one in expected]
    assert 0 < sum(one["answered"] for one in told) < 60
    reply = service("POST", "/v1/models/text/predict?max_error=0.05", lines(rows), NDJSON)
    assert [one["label"] for one in reply.lines] == expected
    for wrong in (0, 1, -0.5, 7):
        assert service("POST", "/v1/models/text/predict", {"row": "a", "max_error": wrong}).status == 422
    for query in ("max_error=nan", "explain=-1", "novelty=maybe", "other=1"):
        assert service("POST", f"/v1/models/text/predict?{query}", lines(rows), NDJSON).status == 422


@pytest.mark.parametrize("max_error", [5e-324, 1e-300, 1e-20, 1 - 1e-16])
def test_a_promise_of_any_size_is_answered(service: Here, max_error: float) -> None:
    reply = service("POST", "/v1/models/text/predict", {"row": "free lottery", "max_error": max_error})
    assert reply.status == 200
    assert reply.json["answered"] == (max_error > 0.5)


def test_ask_wants_what_the_model_wants(service: Here, models: dict[str, Path]) -> None:
    rows = [row for row, _ in rows_of("text", 100, seed=6)]
    expected = load(models["text"]).wants_label(rows, 0.2).tolist()
    told = service("POST", "/v1/models/text/ask", {"rows": rows, "rate": 0.2}).json["answers"]
    assert [one["ask"] for one in told] == expected
    assert 0 < sum(expected) < 100
    assert service("POST", "/v1/models/text/ask", {"row": rows[0]}).json["ask"] in (True, False)
    assert service("POST", "/v1/models/text/ask", {"row": rows[0], "rate": 2}).status == 422


def test_the_open_inference_protocol(service: Here, models: dict[str, Path]) -> None:
    assert service("GET", "/v2").json["name"] == "sureline"
    assert service("GET", "/v2/health/live").json == {"live": True}
    assert service("GET", "/v2/health/ready").json == {"ready": True}
    assert service("GET", "/v2/models/text/ready").json["ready"] is True
    told = service("GET", "/v2/models/jsonl").json
    columns = {one["name"]: one["datatype"] for one in told["inputs"]}
    assert columns == {"colour": "BYTES", "n": "FP64", "free text": "BYTES", "in.x": "FP64"}
    texts = [str(row) for row, _ in rows_of("text", 5, seed=7)]
    tensor = {"name": "rows", "datatype": "BYTES", "shape": [5], "data": texts}
    body = {"id": "7", "inputs": [tensor], "outputs": [{"name": "label"}, {"name": "probabilities"}]}
    reply = service("POST", "/v2/models/text/infer", body).json
    plain = predict(service, "text", rows=texts, probabilities=True)
    assert reply["id"] == "7"
    assert reply["model_version"] == plain["version"]
    by_name = {one["name"]: one for one in reply["outputs"]}
    assert by_name["label"]["data"] == [one["label"] for one in plain["answers"]]
    assert by_name["probabilities"]["shape"] == [5, 2]
    assert by_name["probabilities"]["data"] == [
        each["probability"] for one in plain["answers"] for each in one["probabilities"]
    ]
    rows = [row for row, _ in rows_of("jsonl", 3, seed=8)]
    flat = [{**{k: v for k, v in row.items() if k != "in"}, "in.x": row["in"]["x"]} for row in rows]  # type: ignore[attr-defined, index]
    inputs = [
        {"name": name, "datatype": kind, "shape": [3], "data": [row[name] for row in flat]}
        for name, kind in columns.items()
    ]
    reply = service("POST", "/v2/models/jsonl/infer", {"inputs": inputs})
    assert reply.status == 200, reply.body
    assert reply.json["outputs"][0]["data"] == [one["label"] for one in predict(service, "jsonl", rows=rows)["answers"]]
    numbers = {"name": "rows", "datatype": "FP64", "shape": [2, 2], "data": [7.0, 1.0, 30.0, 0.0]}
    outputs = service("POST", "/v2/models/numbers/infer", {"inputs": [numbers]}).json["outputs"]
    expected = predict(service, "numbers", rows=[[[0, 1], [7.0, 1.0]], [[0], [30.0]]])["answers"]
    assert outputs[0] == {"name": "value", "datatype": "FP64", "shape": [2], "data": [one["value"] for one in expected]}
    for wrong in (
        {"inputs": []},
        {"inputs": [{**tensor, "shape": [4]}]},
        {"inputs": [{**tensor, "datatype": "INT8"}]},
        {"inputs": [{**tensor, "datatype": "TEXT"}]},
        {"inputs": [{**tensor, "shape": [-1]}]},
        {"inputs": [tensor, tensor]},
        {"inputs": [tensor], "outputs": [{"name": "nothing"}]},
    ):
        assert service("POST", "/v2/models/text/infer", wrong).status == 422, wrong


def test_lines_by_tcp_are_answered_in_their_order(service: Here) -> None:
    import socket

    port = service.running.tcp_port
    assert port is not None
    rows = [str(row) for row, _ in rows_of("text", 500, seed=9)]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as sock:
        sock.sendall("".join(f"{row}\n" for row in rows[:-1]).encode() + b"\xff\xfe\n" + rows[-1].encode())
        sock.shutdown(socket.SHUT_WR)
        told = [json.loads(line) for line in sock.makefile("rb")]
    assert len(told) == 501
    assert "error" in told[499]
    expected = predict(service, "text", rows=rows)["answers"]
    answers = [*told[:499], told[500]]
    assert [one["label"] for one in answers] == [one["label"] for one in expected]
    assert [one["confidence"] for one in answers] == [one["confidence"] for one in expected]


def test_models_go_out_and_in_and_shadows_take_over(models: dict[str, Path], tmp_path: Path) -> None:
    octets = {"Content-Type": "application/octet-stream"}
    rows = rows_of("text", 40, seed=10)
    with serving(Settings(tmp_path / "state", [("text", models["text"])])) as service:
        base = "/v1/models/text"
        original = service("GET", f"{base}/model").body
        assert service("POST", "/v1/models?name=copy", original, octets).status == 201
        assert service("POST", "/v1/models?name=copy", original, octets).status == 409
        assert service("POST", "/v1/models?name=bad", original[:-1] + b"x", octets).status == 422
        assert service("POST", f"{base}/shadows?name=same", original, octets).json["shadows"] == ["same"]
        for row, label in rows:
            assert service("POST", f"{base}/learn", {"row": row, "label": label}).status == 200
        after = service("GET", f"{base}/model").body
        assert after != original
        assert service("GET", f"{base}/model?shadow=same").body == after  # it has learned the same
        both = predict(service, "text", row=rows[0][0], shadows=True)
        assert both["shadows"]["same"] == {"label": both["label"], "confidence": both["confidence"]}
        told = service("GET", base).json
        assert told["learned"] == told["shadows"][0]["learned"] == 40
        assert told["wrong"] == told["shadows"][0]["wrong"]
        assert (
            service("POST", "/v1/models?name=text&replace=true", original, octets).json["shadows"][1]["name"]
            == "previous"
        )
        assert service("GET", f"{base}/model").body == original
        assert service("POST", f"{base}/shadows/previous/promote").json["shadows"] == ["same", "previous"]
        assert service("GET", f"{base}/model").body == after
        assert service("POST", f"{base}/shadows/nobody/promote").status == 404
        assert service("DELETE", f"{base}/shadows/same").json["shadows"] == ["previous"]
        assert service("DELETE", "/v1/models/copy").json == {"models": ["text"]}
        assert service("POST", "/v1/models/copy/predict", {"row": "a"}).status == 404
        version = service("GET", base).json["version"]
    with serving(Settings(tmp_path / "state")) as service:  # and all of it is there again
        told = service("GET", base).json
        assert told["version"].split(".")[:2] == version.split(".")[:2]
        assert [one["name"] for one in told["shadows"]] == ["previous"]
        assert service("GET", f"{base}/model").body == after
        assert service("GET", f"{base}/model?shadow=previous").body == original


def test_metrics_and_health(service: Here) -> None:
    assert service("GET", "/healthz").json == {"status": "alive"}
    assert service("GET", "/readyz").json["status"] == "ready"
    predict(service, "text", row="free cash")
    reply = service("GET", "/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    from prometheus_client.parser import text_string_to_metric_families

    families = {family.name: family for family in text_string_to_metric_families(reply.body.decode())}
    counted = {(s.labels.get("route"), s.labels.get("status")): s.value for s in families["sureline_requests"].samples}
    assert counted["POST /v1/models/{name}/predict", "200"] >= 1
    assert "sureline_log_records" in families
    assert {s.labels["model"] for s in families["sureline_log_records"].samples} >= {"text", "vw"}

"""The live page as files and events: its parts, its access rules, and that it delays no requests."""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import rows_of
from service import PATIENCE, Here, Settings, serving

from sureline.evaluate.charts import Axis, Bar, Bars, Chart, Reference, Series, template
from sureline.models.weights import Weight
from sureline.serve import events
from sureline.serve.movement import Movement
from sureline.serve.served import Keeping
from sureline.serve.tokens import Right, Tokens

FILES = ["/", "/page.css", "/page.js", "/charts.js"]
MODEL = "/v1/models/text"


@pytest.fixture(scope="module")
def service(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    settings = Settings(tmp_path_factory.mktemp("state"), list(models.items()), keeping=Keeping(max_error=0.05))
    with serving(settings) as here:
        yield here


class Following:
    """Reads the events of a model, as a page does."""

    def __init__(self, port: int, name: str = "text", headers: dict[str, str] | None = None) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.connection.request("GET", f"/v1/models/{name}/events", headers=headers or {})
        self.answer = self.connection.getresponse()
        self.parts: dict[str, Any] = {}
        self.ended = False

    def next(self) -> str | None:
        """The name of the next event; None at the end."""
        name, data = "", b""
        while line := self.answer.readline():
            if line.startswith(b"event: "):
                name = line[7:-1].decode()
            elif line.startswith(b"data: "):
                data = line[6:]
            elif line == b"\n" and name:
                self.parts[name] = json.loads(data)
                return name
        self.ended = True
        return None

    def until(self, name: str) -> Any:
        while (found := self.next()) != name:
            assert found is not None, f"no {name} among {list(self.parts)}"
        return self.parts[name]

    def close(self) -> None:
        self.connection.close()


@contextlib.contextmanager
def following(service: Here, name: str = "text", **more: Any) -> Iterator[Following]:
    page = Following(service.port, name, **more)
    try:
        yield page
    finally:
        page.close()


@pytest.mark.parametrize("path", FILES)
def test_files_say_what_browsers_may_do(service: Here, path: str) -> None:
    plain, packed = service("GET", path), service("GET", path, headers={"Accept-Encoding": "gzip"})
    assert plain.status == packed.status == 200
    assert gzip.decompress(packed.body) == plain.body
    policy = plain.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert plain.headers["x-content-type-options"] == "nosniff"
    assert "set-cookie" not in plain.headers
    again = service("GET", path, headers={"If-None-Match": plain.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    if path != "/charts.js":  # of libraries, whose addresses in texts are not fetched
        assert b"http://" not in plain.body
        assert b"https://" not in plain.body
        assert b"innerHTML" not in plain.body


def test_parts_come_at_once_and_again_when_they_change(service: Here) -> None:
    texts = rows_of("text", 60, seed=3)
    with following(service) as page:
        assert page.answer.getheader("content-type") == "text/event-stream"
        model = page.until("model")
        assert (model["labels"], model["modes"], model["max_error"]) == (["ham", "spam"], [{"mode": "text"}], 0.05)
        page.until("chart-contributions")
        page.until("now")
        before = page.parts["state"]["labels"]
        rows, labels = [row for row, _ in texts], [label for _, label in texts]
        service("POST", f"{MODEL}/predict", {"rows": rows})
        assert service("POST", f"{MODEL}/learn", {"rows": rows, "labels": labels}).status == 200
        while page.parts["state"]["labels"] != before + len(rows):
            page.until("now")
        while page.parts["chart-rate"] is None:  # of seconds that are over
            page.until("chart-rate")
        drawn = page.parts["chart-error"]
        assert f"template-{drawn['template']}" in page.parts
        assert drawn["rows"][-1]["x"] == before + len(rows)
        assert page.parts["chart-rate"]["rows"]
        model_seen = page.parts.pop("model")
        page.until("now")  # the rate goes on to change, and the model does not come again
        assert "model" not in page.parts
        assert model_seen == model


def test_pages_share_what_is_made_and_the_last_one_ends_it(service: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "MOST_PAGES", 2)
    with following(service, "vw") as one, following(service, "vw") as other:
        assert one.until("state") == other.until("state")
        third = service("GET", "/v1/models/vw/events")
        assert third.status == 503
        assert "pages show this model" in third.json["error"]
    for _ in range(100):  # whoever has gone is noticed, and there is room again
        with following(service, "vw") as page:
            if page.answer.status == 200:
                page.until("state")
                return
        time.sleep(0.05)
    pytest.fail("there is no room after all have gone")


def test_events_of_what_is_not_there(service: Here) -> None:
    assert service("GET", "/v1/models/none/events").status == 404
    assert service("GET", f"{MODEL}/events?x=1").status == 422
    assert service("POST", f"{MODEL}/events").status == 405


@pytest.mark.parametrize("name", ["libsvm", "jsonl", "names", "many", "numbers", "kernel"])
def test_every_kind_of_model_has_its_page(service: Here, name: str) -> None:
    with following(service, name) as page:
        page.until("chart-contributions")
        model = page.parts["model"]
        modes = [one["mode"] for one in model["modes"]]
        wanted = {"libsvm": ["libsvm"], "jsonl": ["table", "json"]}.get(name, ["features", "json"])
        assert modes == wanted
        assert model["classifier"] == (name != "numbers")
        assert model["explains"] == (name != "kernel")
        assert (page.parts["weights"]["features"] != []) == (name != "kernel")
        if name == "jsonl":
            assert [one["name"] for one in model["modes"][0]["columns"]] == ["colour", "n", "free text", "in.x"]


def test_a_token_to_read_is_needed(models: dict[str, Path], tmp_path: Path) -> None:
    tokens = Tokens([(Right.READ, "read-secret"), (Right.LEARN, "learn-secret")])
    with serving(Settings(tmp_path, [("text", models["text"])], tokens=tokens)) as service:
        assert all(service("GET", path).status == 200 for path in FILES[:3])  # which say nothing of the model
        assert service("GET", f"{MODEL}/events").status == 401
        with following(service, headers={"Authorization": "Bearer read-secret"}) as page:
            assert page.until("model")["name"] == "text"


def test_a_service_that_ends_waits_for_no_page(models: dict[str, Path], tmp_path: Path) -> None:
    with serving(Settings(tmp_path, [("text", models["text"])])) as service:
        page = Following(service.port)
        page.until("now")
        began = time.monotonic()
        service.running.stop()
        while page.next() is not None:
            pass
        assert page.ended
        assert time.monotonic() - began < 8  # requests that go on may take 10 s
        page.close()


def test_movement_is_told_of_the_weights_that_were_there() -> None:
    def weights(**of: float) -> list[Weight]:
        return [Weight(ord(name), [name], None, value, 0.1) for name, value in of.items()]

    movement = Movement()
    assert [one.by for one in movement.of(weights(a=1.0, b=0.5), 10, 2, now=0.0)] == [None, None]
    assert movement.since is None
    moved = movement.of(weights(a=1.25, c=1.0, b=0.0), 20, 2, now=100.0)
    assert [(one.title, one.by) for one in moved] == [("a", 0.25), ("c", None)]
    assert (movement.since, movement.labels) == (0.0, 10)
    moved = movement.of(weights(a=2.0), 30, 2, now=650.0)  # what is older than ten minutes is forgotten
    assert (movement.since, [one.by for one in moved]) == (100.0, [0.75])


def test_charts_of_the_same_key_have_the_same_template() -> None:
    def chart(n: int, *more: Series) -> Chart:
        line = Series("a", list(range(1, n)), [k * 0.5 for k in range(1, n)], low=[0.0] * n, high=[1.0] * n)
        return Chart("t", Axis("x"), Axis("y", percent=True), [line, *more], [Reference("r", "y", 0.1)])

    def bars(*values: float) -> Bars:
        return Bars("", "w", [Bar(f"<b>{value}", value, 0.1) for value in values], "ham", "spam")

    for one, same, other in (
        (chart(9), chart(50), chart(9, Series("b", [1], [2]))),
        (bars(-1, 1), bars(-9, 5), bars(1, 5)),
    ):
        assert one.moment().key == same.moment().key != other.moment().key
        first, second = template(one), template(same)
        for made in (first, second):
            assert "values" not in made.get("data", {})
            made.pop("params")  # which have the values of the moment, and are set
            made.pop("description", None)
        assert json.dumps(first) == json.dumps(second) != json.dumps(template(other))

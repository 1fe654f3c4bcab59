"""The live page in Chromium: its looks, its learning, its survival, and that no foreign text becomes markup."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browsers
import pytest
from browsers import Keys
from conftest import rows_of
from service import Here, Settings, There, process, serving
from test_hostile import PAYLOADS

from sureline.serve.served import Keeping
from sureline.serve.tokens import Right, Tokens

REPORT = Path(__file__).parents[1] / "report"
LAYOUT, CONTRAST = ((REPORT / f"report_{name}.js").read_text(encoding="utf-8") for name in ("layout", "contrast"))
HURT = "window.hurt = 0; for (const name of ['alert', 'prompt', 'confirm']) window[name] = () => { window.hurt += 1; };"


class Page(browsers.Browser):
    """Shows the page of a service."""

    def show(self, service: Here | There, name: str = "text", width: int = 1280, scheme: str = "light") -> None:
        self.resize(width)
        self.scheme(scheme)
        self.open("about:blank")
        self.open(f"http://127.0.0.1:{service.port}/#model={name}")

    def live(self) -> None:
        self.wait_for(
            "return document.querySelector('.status.live') !== null && !document.getElementById('live').hidden"
        )

    def drawn(self, *names: str) -> None:
        """Until these charts are drawn, wherever they are on the page."""
        for name in names:
            self.ask(
                "document.querySelector(arguments[0]).scrollIntoView({behavior: 'instant'})", f"[data-chart={name}]"
            )
            self.wait_for(f"return document.querySelector('[data-chart={name}] .plot svg path') !== null")

    def text(self, selector: str) -> str:
        found: str = self.ask("return document.querySelector(arguments[0]).textContent", selector)
        return found

    def until_text(self, selector: str, words: str) -> None:
        self.wait_for(
            f"return document.querySelector({json.dumps(selector)})?.textContent.includes({json.dumps(words)})"
        )

    def type(self, selector: str, *keys: str) -> None:
        self.driver.find_element("css selector", selector).send_keys(*keys)

    def click(self, selector: str) -> None:
        self.ask("document.querySelector(arguments[0]).click()", selector)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browsers.started(tmp_path_factory.mktemp("browser")) as driver:
        driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HURT})
        yield Page(driver)


@pytest.fixture(scope="module")
def service(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """A service with a day's requests behind it."""
    files = [(name, models[name]) for name in ("text", "vw", "jsonl", "names", "many")]
    with serving(Settings(tmp_path_factory.mktemp("state"), files, keeping=Keeping(max_error=0.05))) as here:
        here(
            "POST",
            "/v1/models/text/shadows?name=other",
            models["text"].read_bytes(),
            {"Content-Type": "application/octet-stream"},
        )
        work(here, "text", 300)
        yield here


def work(service: Here | There, name: str, n: int, seed: int = 5) -> None:
    """Questions, and the labels of most of them."""
    rows = rows_of(name, n, seed)
    for start in range(0, n, 50):
        part = rows[start : start + 50]
        asked = service("POST", f"/v1/models/{name}/predict", {"rows": [row for row, _ in part]}).json["answers"]
        taught = {
            "prediction_ids": [one["prediction_id"] for one in asked[10:]],
            "labels": [label for _, label in part[10:]],
        }
        assert service("POST", f"/v1/models/{name}/learn", taught).status == 200
    for row, _ in rows[:20]:
        service("POST", f"/v1/models/{name}/predict", {"row": row})


def test_the_page_fills_itself_and_follows_what_happens(page: Page, service: Here) -> None:
    page.show(service)
    page.live()
    page.drawn("error", "answered", "coverage", "reliability", "weights", "shadows", "rate", "latency", "novelty")
    assert page.text("h1") == "text"
    assert "no difference beyond chance" in page.text("#shadows")
    assert page.ask("return document.querySelectorAll('#queue li').length") > 3
    labels = "parseInt(document.querySelector('#facts > div:nth-child(2) .value').textContent)"
    before = page.ask(f"return {labels}")
    frames = page.ask("return document.querySelector('[data-chart=shadows]').dataset.drawn")
    page.drawn("shadows")
    work(service, "text", 50, seed=6)
    page.wait_for(f"return {labels} === {before + 40}")
    page.wait_for(f"return document.querySelector('[data-chart=shadows]').dataset.drawn > {frames}")
    assert page.complaints() == []
    own = f"http://127.0.0.1:{service.port}/"
    assert all(url.startswith(own) for url in page.requests())


def test_an_example_is_answered_explained_and_taught(page: Page, service: Here) -> None:
    page.show(service)
    page.live()
    page.type("#example", "claim your exclusive prize before the meeting", Keys.CONTROL + Keys.ENTER)
    page.wait_for("return document.querySelector('#answer .big') !== null")
    assert page.text("#answer .big") in ("ham", "spam")
    assert page.text("#confidence").endswith("% sure")
    page.ask("document.querySelector('#answer').scrollIntoView()")
    page.wait_for("return document.querySelector('[data-chart=explained] svg path') !== null")
    words = page.ask("return document.querySelector('[data-chart=explained] .plot').ariaLabel")
    assert "exclusive" in words
    seq = service.running.house.get("text").seq
    page.type("#answer .labels button:last-of-type", Keys.ENTER)
    page.until_text("#answer .said", "Learned as spam")
    assert service.running.house.get("text").seq == seq + 1
    page.type("#example", "\n")
    page.click("#ask")
    page.wait_for("return document.querySelector('#answer .said')?.textContent === ''")
    assert page.complaints() == []


def test_the_queue_is_worked_off_by_keys(page: Page, service: Here) -> None:
    page.show(service)
    page.live()
    page.wait_for("return document.querySelectorAll('#queue li').length > 3")
    seq = service.running.house.get("text").seq
    page.ask("document.querySelector('#queue .row').focus()")
    for done in (1, 2):
        first = page.ask("return document.activeElement.closest('li').dataset.id")
        page.press("2")
        page.wait_for(f"return document.querySelector('#queue [data-id=\"{first}\"]') === null")
        page.wait_for("return document.activeElement.matches('#queue .row')")  # the next one has the focus
        assert service.running.house.get("text").seq == seq + done
        assert first not in json.dumps(service.running.house.get("text").watch.snapshot()["queue"])
    page.until_text("#queue-said", "Learned as spam")


@pytest.mark.parametrize(
    ("name", "mode", "fill"),
    [
        ("vw", "vw", "|a red sea |b n:0.5"),
        ("vw", "features", "a^red:1 a^sea b^n:0.5"),
        ("names", "features", "red:2 sea"),
        ("names", "json", '{"red": 2.0, "sea": 1.0}'),
        ("jsonl", "json", '{"colour": "red", "n": 3}'),
        ("jsonl", "table", ""),
        ("many", "features", "red:1"),
    ],
)
def test_rows_come_in_all_forms(page: Page, service: Here, name: str, mode: str, fill: str) -> None:
    page.show(service, name)
    page.live()
    page.until_text("h1", name)
    page.ask("document.querySelector(`#modes input[value=${arguments[0]}]`)?.click()", mode)
    row: Any = fill
    if mode == "table":
        row = {"colour": "red", "n": 3, "free text": "red sea", "in.x": 0.5}
        for k, value in enumerate(row.values()):
            page.type(f"#field-{k}", str(value))
        row = {"colour": "red", "n": 3, "free text": "red sea", "in": {"x": 0.5}}
    else:
        page.ask("document.querySelector('#example').value = arguments[0]", fill)
        if mode != "vw":
            words = fill.split()
            row = (
                json.loads(fill)
                if mode == "json"
                else {w.partition(":")[0]: float(w.partition(":")[2] or 1) for w in words}
            )
    page.click("#ask")
    page.wait_for("return document.querySelector('#answer .big, #answer .bad') !== null")
    told = service("POST", f"/v1/models/{name}/predict", {"row": row}).json
    assert page.text("#answer .big") == told["label"] or str(told["label"])
    assert page.text("#confidence") == f"{100 * told['confidence']:.1f}\u00a0% sure"
    assert page.complaints() == []


def test_what_is_no_row_is_said(page: Page, service: Here) -> None:
    page.show(service, "names")
    page.live()
    page.ask("document.querySelector('#modes input[value=json]').click()")
    for text, words in (("{", "That is no JSON"), ("[1]", "a row is an object of features")):
        page.ask("document.querySelector('#example').value = arguments[0]", text)
        page.click("#ask")
        page.until_text("#answer", words)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_lies_well_and_can_be_read(page: Page, service: Here, width: int) -> None:
    page.show(service, width=width)
    page.live()
    page.type("#example", "claim your exclusive prize", Keys.CONTROL + Keys.ENTER)
    page.wait_for("return document.querySelector('#answer .big') !== null")
    page.drawn("error", "reliability", "explained", "weights", "shadows", "latency", "novelty")
    found = page.ask(LAYOUT)
    assert found["wrong"] == []
    for scheme in ("light", "dark"):
        page.scheme(scheme)
        found = page.ask(CONTRAST)
        assert found["least"] >= 4.5, found["where"]
        assert found["n"] > 60
    ground = page.ask("return getComputedStyle(document.body).backgroundColor")
    assert ground == "rgb(18, 21, 26)"


def test_the_keyboard_reaches_every_control(page: Page, service: Here) -> None:
    page.show(service)
    page.live()
    page.wait_for("return document.querySelectorAll('#queue li').length > 3")
    controls = page.ask(
        "window.controls = [...document.querySelectorAll('a[href], button, input, select, textarea, [tabindex=\"0\"]')]"
        ".filter((e) => e.checkVisibility() && !e.disabled); return controls.length"
    )
    page.ask("document.activeElement.blur()")
    reached = set()
    for _ in range(controls + 5):
        page.press(Keys.TAB)
        number, style = page.ask(
            "const e = document.activeElement; return [controls.indexOf(e), getComputedStyle(e).outlineStyle]"
        )
        if number >= 0:
            reached.add(number)
            assert style != "none", number
        if len(reached) == controls:
            break
    assert len(reached) == controls


def test_nothing_of_a_stranger_becomes_markup(page: Page, models: dict[str, Path], tmp_path: Path) -> None:
    with serving(Settings(tmp_path, [("many", models["many"]), ("text", models["text"])])) as service:
        rows = [{text: 3.0, "red": 1.0} for text in PAYLOADS]
        body = {"rows": rows, "labels": PAYLOADS}
        for _ in range(3):
            assert service("POST", "/v1/models/many/learn", body).status == 200
        service("POST", "/v1/models/many/predict", {"rows": rows})
        service("POST", "/v1/models/text/predict", {"rows": PAYLOADS})
        for k, text in enumerate(PAYLOADS[:20]):
            for name in ("many", "text"):
                service.running.house.get(name).watch.worth(f"1-{k:x}-00000000", json.dumps(text), 0.9 + k / 1000)
        for name in ("many", "text"):
            page.show(service, name)
            page.live()
            page.drawn("weights")
            page.wait_for("return document.querySelectorAll('#queue li').length > 3")
            field = PAYLOADS[0]
            if name == "many":
                page.ask("document.querySelector('#modes input[value=json]').click()")
                field = json.dumps({PAYLOADS[0]: 3.0, PAYLOADS[6]: 2.0})
            page.ask("document.querySelector('#example').value = arguments[0]", field)
            page.click("#ask")
            page.wait_for("return document.querySelector('#answer .big') !== null")
            if name == "many":
                assert page.text("#answer .big") in PAYLOADS
                page.drawn("explained")
                listed = page.ask(
                    "return [...document.querySelectorAll('#answer datalist option')].map((e) => e.value)"
                )
                assert set(listed) & set(PAYLOADS)
            page.hover("[data-chart=weights] .mark-rect path")
            strange = page.ask(
                "return [...document.querySelectorAll('img, iframe, object, b, style, script:not([src])')]"
                ".map((e) => e.outerHTML)"
            )
            assert strange == []
            assert page.ask("return window.hurt") == 0
            assert page.complaints() == []


def test_a_token_is_asked_for_and_kept_in_the_tab(page: Page, models: dict[str, Path], tmp_path: Path) -> None:
    tokens = Tokens([(Right.READ, "read-secret"), (Right.LEARN, "learn-secret")])
    with serving(Settings(tmp_path, [("text", models["text"])], tokens=tokens)) as service:
        page.show(service)
        page.until_text("#gate-words", "needs a token")
        page.type("#token", "wrong-secret", Keys.ENTER)
        page.until_text("#gate-words", "not known")
        page.type("#token", "read-secret", Keys.ENTER)
        page.live()
        assert not page.driver.find_element("id", "gate").is_displayed()
        page.type("#example", "free prize", Keys.CONTROL + Keys.ENTER)
        page.wait_for("return document.querySelector('#answer .labels button') !== null")
        page.click("#answer .labels button")
        page.until_text("#answer .said", "This needs a token with the right 'learn'")
        page.click("#token-open")
        page.type("#token", "learn-secret", Keys.ENTER)
        page.live()
        page.click("#answer .labels button")
        page.until_text("#answer .said", "Learned as")
        page.driver.refresh()
        page.live()
        assert page.driver.get_cookies() == []
        assert page.ask("return [localStorage.length, sessionStorage.length]") == [0, 1]
        assert "secret" not in page.driver.current_url
        page.click("#token-open")
        page.click("#token-forget")
        page.until_text("#gate-words", "needs a token")
        assert page.ask("return sessionStorage.length") == 0


def test_the_page_survives_a_restart(page: Page, models: dict[str, Path], tmp_path: Path) -> None:
    options = (f"text={models['text']}", "--state", tmp_path / "state")
    with process(*options) as service:
        work(service, "text", 100)
        page.show(service)
        page.live()
        page.until_text("#facts > div:nth-child(2) .value", "80")
        page.type("#example", "what I have begun to write")
        service.kill()
        page.wait_for("return document.querySelector('.status.gone') !== null")
    with process(*options, port=service.port) as again:
        page.live()
        page.until_text("#foot", "Restarted at")
        page.until_text("#facts > div:nth-child(2) .value", "80")  # the log had the labels
        assert page.ask("return document.querySelector('#example').value") == "what I have begun to write"
        work(again, "text", 50, seed=7)
        page.until_text("#facts > div:nth-child(2) .value", "120")
        page.drawn("error")


def test_two_models_are_a_click_apart(page: Page, service: Here) -> None:
    page.show(service)
    page.live()
    for name in ("vw", "text"):
        page.ask(
            "[...document.querySelectorAll('#models a')].find((e) => e.textContent === arguments[0]).click()", name
        )
        page.wait_for(f"return document.querySelector('h1').textContent === '{name}'")
        page.wait_for(f"return document.querySelector('#models [aria-current]').textContent === '{name}'")
    assert page.complaints() == []

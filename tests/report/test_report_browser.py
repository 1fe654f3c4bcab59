"""Reports in a real browser, at phone and desktop width: their looks, and access by keyboard."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import browsers
import pytest
import tournaments
from browsers import Keys
from hostile_results import HOSTILE, hostile_result, odd_results

from sureline.report import Axis, Chart, Series, write_report
from sureline.training.result import TournamentResult

WIDTHS = (390, 1280)


class Browser(browsers.Browser):
    """Shows reports."""

    def __init__(self, driver: Any, folder: Path) -> None:
        super().__init__(driver)
        self.folder = folder

    def write(self, result: TournamentResult, name: str) -> Path:
        path = self.folder / f"{name}.html"
        if not path.exists():
            write_report(result, path)
        return path

    def show(self, page: Path, width: int = 1280, scheme: str = "light") -> None:
        self.resize(width)
        self.scheme(scheme)
        self.open(page.as_uri())
        self.wait_for(
            "return !document.querySelector('.plot') || document.scripts.length === 0"
            " || document.documentElement.dataset.drawn === 'all'"
        )


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    folder = tmp_path_factory.mktemp("browser")
    with browsers.started(folder) as driver:
        yield Browser(driver, folder)


LAYOUT = (Path(__file__).parent / "report_layout.js").read_text(encoding="utf-8")
CONTRAST = (Path(__file__).parent / "report_contrast.js").read_text(encoding="utf-8")


def results() -> dict[str, Callable[[], TournamentResult]]:
    return {
        "compared": tournaments.compared,
        "tuned": tournaments.tuned,
        "hostile": hostile_result,
        "classes": lambda: tournaments.few(20),
    }


@pytest.mark.parametrize("name", list(results()))
def test_the_page_lies_well_at_both_widths(browser: Browser, name: str) -> None:
    page = browser.write(results()[name](), name)
    for width in WIDTHS:
        browser.show(page, width)
        browser.ask("document.querySelectorAll('details').forEach((e, i) => { if (i < 3) e.open = true; })")
        found = browser.ask(LAYOUT)
        assert found["wrong"] == [], width
        assert found["texts"] > 20
        assert browser.complaints() == []
        assert browser.requests() == []


@pytest.mark.parametrize("name", [name for name, _ in odd_results()])
def test_odd_results_lie_well(browser: Browser, name: str) -> None:
    page = browser.write(dict(odd_results())[name], name)
    for width in WIDTHS:
        browser.show(page, width)
        assert browser.ask(LAYOUT)["wrong"] == [], width
        assert browser.complaints() == []


@pytest.mark.parametrize("longest", [0.0185, 0.01799, 1.85])
def test_ticks_stay_in_the_picture_whatever_was_measured(browser: Browser, longest: float) -> None:
    result = tournaments.few()
    runs = [
        replace(run, seconds=longest * (0.6 + 0.4 * k / (len(result.runs) - 1))) for k, run in enumerate(result.runs)
    ]
    page = browser.write(replace(result, runs=runs), f"times {longest}")
    for width in WIDTHS:
        browser.show(page, width)
        assert browser.ask(LAYOUT)["wrong"] == [], width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(browser: Browser, scheme: str) -> None:
    for name in ("compared", "tuned"):
        browser.show(browser.write(results()[name](), name), 1280, scheme)
        browser.ask("document.querySelectorAll('details').forEach((e, i) => { if (i < 3) e.open = true; })")
        found = browser.ask(CONTRAST)
        assert found["n"] > 100
        assert found["least"] >= 4.5, found["where"]
        ground = browser.ask("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, ground[4:-1].split(","))) < 200) == (scheme == "dark")
    odd = dict(odd_results())["failed"]
    browser.show(browser.write(odd, "failed"), 390, scheme)
    assert browser.ask(CONTRAST)["least"] >= 4.5


def test_the_keyboard_reaches_every_control(browser: Browser) -> None:
    browser.show(browser.write(tournaments.few(), "few"))
    controls = browser.ask(
        "const all = [...document.querySelectorAll('a[href], button, summary, [tabindex]')]"
        ".filter((e) => e.checkVisibility()); all.forEach((e, i) => { e.dataset.number = i; }); return all.length"
    )
    assert controls > 20
    reached = []
    for _ in range(controls):
        browser.press(Keys.TAB)
        number, style, width = browser.ask(
            "const e = document.activeElement, s = getComputedStyle(e);"
            "return [e.dataset.number, s.outlineStyle, parseFloat(s.outlineWidth)]"
        )
        assert number is not None, browser.ask("return document.activeElement.outerHTML.slice(0, 200)") + str(reached)
        assert style != "none", number
        assert width >= 2
        reached.append(int(number))
    assert reached == list(range(controls))  # in the order of the page


def test_sorting_by_keyboard(browser: Browser) -> None:
    browser.show(browser.write(tournaments.compared(), "compared"))
    column = (
        "const t = document.querySelector('table.sortable'), k = [...t.tHead.rows[0].cells]"
        ".findIndex((c) => c.textContent.trim().startsWith(arguments[0]));"
    )
    values = column + "return [...t.tBodies[0].rows].map((r) => +r.cells[k].dataset.sort)"
    names = "return [...document.querySelector('table.sortable').tBodies[0].rows].map((r) => r.cells[0].dataset.sort)"
    before = browser.ask(names)
    browser.ask(column + "t.tHead.rows[0].cells[k].querySelector('button').focus()", "nonzeros")
    browser.press(Keys.ENTER)
    found = browser.ask(values, "nonzeros")
    assert found == sorted(found)
    assert browser.ask("return document.activeElement.tagName") == "BUTTON"  # the focus stays
    browser.press(Keys.SPACE)
    assert browser.ask(values, "nonzeros") == sorted(found, reverse=True)
    assert browser.ask(column + "return t.tHead.rows[0].cells[k].getAttribute('aria-sort')", "nonzeros") == "descending"
    assert browser.ask("return document.querySelectorAll('[aria-sort]').length") == 1
    browser.ask(column + "t.tHead.rows[0].cells[k].querySelector('button').focus()", "learner")
    browser.press(Keys.ENTER)
    assert browser.ask(names) == sorted(before)
    assert browser.complaints() == []


def test_runs_that_did_not_count_are_sorted_to_the_end(browser: Browser) -> None:
    browser.show(browser.write(dict(odd_results())["failed"], "failed"))
    button = "document.querySelectorAll('table.sortable th button')[1]"
    for _ in range(2):
        browser.ask(f"{button}.click()")
        rows = browser.ask(
            "return [...document.querySelector('table.sortable').tBodies[0].rows].map((r) => r.className)"
        )
        assert rows[0] == "marked"
        assert "pale" in rows[1]


def test_without_its_script_the_page_is_whole(browser: Browser) -> None:
    page = browser.write(tournaments.few(), "few").read_text(encoding="utf-8")
    start = page.index("<script>")
    plain = browser.folder / "plain.html"
    plain.write_text(page[:start] + page[page.index("</script>", start) + len("</script>") :], encoding="utf-8")
    browser.show(plain, 390)
    assert browser.ask(LAYOUT)["wrong"] == []
    assert browser.ask("return document.querySelectorAll('button').length") == 0
    errors = browser.ask(
        "return [...document.querySelector('table.sortable').tBodies[0].rows].map((r) => +r.cells[1].dataset.sort)"
    )
    assert errors == sorted(errors)


def test_hostile_names_are_only_shown(browser: Browser) -> None:
    browser.show(browser.write(hostile_result(), "hostile"))
    assert browser.ask("return document.querySelectorAll('img, iframe, object, script').length") == 1  # our own script
    browser.hover("figure:last-of-type .mark-rect path[fill]:not([fill='none'])")
    assert HOSTILE in browser.ask("return document.querySelector('#tooltip.visible').textContent")
    assert HOSTILE in browser.ask("return document.querySelector('.legend').parentElement.textContent")
    assert browser.ask("return document.querySelectorAll('img').length") == 0
    assert HOSTILE in browser.ask("return document.querySelector('table.sortable').textContent")
    assert browser.complaints() == []
    # And what would get in would not run.
    browser.ask("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    assert browser.ask("return window.ran === undefined")


def test_it_prints(browser: Browser) -> None:
    browser.show(browser.write(tournaments.few(), "few"), 1280, "dark")
    options = {"paperWidth": 8.27, "paperHeight": 11.69, "printBackground": True}
    printed = base64.b64decode(browser.driver.execute_cdp_cmd("Page.printToPDF", options)["data"])
    assert printed.startswith(b"%PDF-")
    assert 3 <= printed.count(b"/Type /Page\n") + printed.count(b"/Type /Page ") <= 12
    browser.driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    )
    try:
        assert browser.ask("return getComputedStyle(document.documentElement).getPropertyValue('--ink')") == "#1d2229"
        assert browser.ask("return getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        size = {"width": 690, "height": 900, "deviceScaleFactor": 1, "mobile": False}  # of paper, without its margins
        browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        assert browser.ask(LAYOUT)["wrong"] == []
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_link_to_settings_unfolds_them_and_a_row_stands_out(browser: Browser) -> None:
    browser.show(browser.write(tournaments.tuned(), "tuned"))
    browser.ask("document.querySelector('table.sortable tbody tr:nth-child(3) a').focus()")
    key = browser.ask("return document.activeElement.closest('tr').dataset.key")
    browser.wait_for("return document.querySelectorAll(`[data-key=${arguments[0]}].on`).length > 0", key)
    browser.wait_for("return document.querySelectorAll('.plot [opacity=\"0.15\"]').length > 50")
    browser.press(Keys.ENTER)
    browser.wait_for(
        "const e = document.getElementById(location.hash.slice(1));"
        "return e && e.open && e.parentElement.closest('details').open && e.querySelector('pre').checkVisibility()"
    )


# The plots of a page in which something is faded, and how many there are in all with series.
FADED = (
    "const plots = [...document.querySelectorAll('.drawn:has(.legend) .plot')];"
    "return [plots.filter((p) => p.querySelector('[opacity=\"0.15\"]')).length, plots.length]"
)


def test_a_learner_that_is_pointed_at_stands_out_in_all_charts(browser: Browser) -> None:
    browser.show(browser.write(tournaments.compared(), "compared"))
    n_plots = browser.ask(FADED)[1]
    assert n_plots == 4
    assert browser.ask(FADED)[0] == 0
    # From a chart: the points of the second chart have one of each learner.
    browser.hover(".pictures .plot .mark-symbol path", 3)
    browser.wait_for("return document.querySelectorAll('tr.on').length === 1")
    browser.wait_for(f"return (() => {{ {FADED} }})()[0] === {n_plots}")
    name = browser.ask("return document.querySelector('tr.on th a').textContent")
    assert browser.ask("return document.querySelector('#tooltip.visible').textContent").startswith(f"{name}: error ")
    # From the table, and from nowhere.
    browser.hover("table.sortable tbody tr", 2)
    other = browser.ask("return document.querySelector('tr.on th a').textContent")
    assert other != name
    browser.wait_for(f"return (() => {{ {FADED} }})()[0] === {n_plots}")
    browser.hover("h1")
    browser.wait_for(f"return (() => {{ {FADED} }})()[0] === 0")
    assert browser.ask("return document.querySelector('#tooltip.visible')") is None
    assert browser.complaints() == []
    assert browser.requests() == []


def test_a_learner_is_chosen_by_keyboard_in_a_legend(browser: Browser) -> None:
    browser.show(browser.write(tournaments.compared(), "compared"))
    browser.ask("document.querySelector('.legend button').focus()")
    browser.press(Keys.ENTER)
    key = browser.ask("return document.activeElement.parentElement.dataset.key")
    pressed = (
        "return [...document.querySelectorAll('.legend [aria-pressed=true]')].map((b) => b.parentElement.dataset.key)"
    )
    assert set(browser.ask(pressed)) == {key}
    browser.ask("document.activeElement.blur()")
    assert browser.ask("return document.querySelector('tr.on').dataset.key") == key  # it stays
    browser.wait_for(f"return (() => {{ {FADED} }})()[0] === 4")
    browser.press(Keys.ESCAPE)
    assert browser.ask("return document.querySelector('tr.on')") is None
    browser.wait_for(f"return (() => {{ {FADED} }})()[0] === 0")


def test_tooltips_tell_of_every_kind_of_chart(browser: Browser) -> None:
    browser.show(browser.write(tournaments.tuned(), "tuned"))
    told = "return document.querySelector('#tooltip.visible')?.textContent ?? ''"
    browser.hover("#curves .mark-symbol path", -1)
    assert "error so far" in browser.ask(told)
    browser.hover("#look .plot .mark-rect path[fill^='var(--h']", 0)
    assert browser.ask(told).startswith("C=")
    browser.hover("figure:last-of-type .mark-rect path[fill^='var(--s']", 0)
    assert " ± " in browser.ask(told)
    box = browser.ask("const b = document.querySelector('#tooltip').getBoundingClientRect(); return [b.left, b.right]")
    assert 0 <= box[0]
    assert box[1] <= 1280


def test_charts_zoom_in_and_show_all_again(browser: Browser) -> None:
    browser.show(browser.write(tournaments.few(), "few"))
    labels = "[...document.querySelectorAll('#curves .role-axis-label text')]"
    ticks = f"return {labels}.map((t) => t.textContent).sort().join()"
    whole = browser.ask(ticks)
    button = "document.querySelector('#curves .zoom button:nth-child(arguments)')"
    browser.ask(button.replace("arguments", "1") + ".focus()")
    for _ in range(3):
        browser.press(Keys.ENTER)
    browser.wait_for(f"return (() => {{ {ticks} }})() !== {whole!r}")
    assert browser.ask(LAYOUT)["wrong"] == []
    browser.ask(button.replace("arguments", "3") + ".click()")
    browser.wait_for(f"return (() => {{ {ticks} }})() === {whole!r}")
    assert browser.complaints() == []


def test_names_beside_points_lie_on_nothing(browser: Browser) -> None:
    for width in WIDTHS:
        browser.show(browser.write(tournaments.compared(), "compared"), width)
        boxes = browser.ask(
            "return [...document.querySelectorAll('.names_marks')].map((g) => [...g.querySelectorAll('text')]"
            ".filter((t) => t.style.visibility !== 'hidden').map((t) => { const b = t.getBoundingClientRect();"
            " return [b.left, b.right, b.top, b.bottom] }))"
        )
        assert len(boxes) == 2
        for names in boxes:
            assert len(names) >= 6
            for k, (left, right, top, bottom) in enumerate(names):
                for a, b, c, d in names[:k]:
                    assert not (left < b and a < right and top < d and c < bottom)


def test_one_picture_serves_light_and_dark(browser: Browser) -> None:
    chart = browser.folder / "curves.svg"
    Chart("Error", Axis("examples", log=True), Axis("error", percent=True), [Series("A", [1, 10], [0.4, 0.2])]).save(
        chart
    )
    colours = []
    for scheme in ("light", "dark"):
        browser.show(chart, 1280, scheme)
        colours.append(browser.ask("return getComputedStyle(document.querySelector('.mark-line path')).stroke"))
        assert browser.complaints() == []
    assert colours[0] != colours[1]
    assert "none" not in colours


def test_the_checks_would_notice(browser: Browser) -> None:
    """The checks LAYOUT and CONTRAST find the faults they look for."""
    result = tournaments.few()
    html = browser.write(replace(result, version="checks"), "checks").read_text(encoding="utf-8")
    for old, new, check in (
        ('"labelBound":4', '"labelBound":false,"labelAngle":0,"labelOverlap":false,"labelFontSize":60', "lies on"),
        ("overflow-x: auto;", "", "goes from"),
        ("</style>", ".facts > div { margin-bottom: -40px; }</style>", "lies on"),
    ):
        assert old in html
        broken = browser.folder / "broken.html"
        broken.write_text(html.replace(old, new), encoding="utf-8")
        browser.show(broken, 390)
        assert any(check in wrong or "wide" in wrong for wrong in browser.ask(LAYOUT)["wrong"]), old
    broken.write_text(html.replace("</style>", "p { color: #999; }</style>"), encoding="utf-8")
    browser.show(broken, 1280)
    assert browser.ask(CONTRAST)["least"] < 4.5

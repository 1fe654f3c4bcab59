"""Chromium for tests of pages. Tests that import this are skipped where it or its driver is missing."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait
except ImportError:
    pytest.skip("selenium is not installed", allow_module_level=True)

__all__ = ["Browser", "Keys", "started"]

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
if CHROMIUM is None or DRIVER is None:
    pytest.skip("there is no chromium with its chromedriver", allow_module_level=True)

FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync --disable-extensions --disable-dev-shm-usage --hide-scrollbars"
)


class Browser:
    """A page at a time, as wide and as dark as one likes."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def resize(self, width: int, height: int = 900) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def scheme(self, scheme: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def open(self, address: str) -> None:
        for log in ("browser", "performance"):
            self.driver.get_log(log)  # forgets what was before
        self.driver.get(address)

    def ask(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def wait_for(self, script: str, *given: object) -> None:
        """Until the script says yes: what follows a link (a new address and its event) comes when it comes."""
        WebDriverWait(self.driver, 20, 0.02).until(lambda _: self.ask(script, *given), script)

    def press(self, *keys: str) -> None:
        chain = ActionChains(self.driver, duration=0)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

    def hover(self, selector: str, number: int = 0) -> None:
        """Bring the pointer to the middle of one of the elements."""
        elements = self.driver.find_elements("css selector", selector)
        self.ask("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", elements[number])
        ActionChains(self.driver, duration=0).move_to_element(elements[number]).perform()

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Addresses fetched besides the page itself."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")][1:]


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Any]:
    """A driver with a profile of its own in the folder."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS.split(), f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER, log_output=os.devnull))
    try:
        driver.execute_cdp_cmd("Network.enable", {})
        driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})  # also beside other browsers
        yield driver
    finally:
        driver.quit()

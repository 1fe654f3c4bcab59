"""The live page while ten thousand rows a second are answered: ``python benchmarks/live_page.py``.

Starts a service with a model of generated mail, sends it NDJSON at a steady rate, and looks with Chromium how late what
the page shows is, how long its main thread is busy at a time, and how fast a click is answered. Then rows are sent as
fast as they are taken, with the page and without. Needs Chromium with its driver, and selenium.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import sureline
from sureline.datasets import make_mail

FLAGS = "--headless --no-sandbox --disable-gpu --no-first-run --disable-extensions --disable-dev-shm-usage"
WATCHED = """
window.lags = []; window.busy = []; window.clicks = [];
new PerformanceObserver((list) => window.busy.push(...list.getEntries().map((one) => one.duration)))
  .observe({ type: "longtask" });
new MutationObserver(() => window.lags.push(Number(document.documentElement.dataset.lag)))
  .observe(document.documentElement, { attributes: true, attributeFilter: ["data-events"] });
setInterval(() => {
  const asked = performance.now();
  setTimeout(() => window.clicks.push(performance.now() - asked), 0);
}, 50);
"""


@contextmanager
def service(model: Path, state: Path) -> Iterator[int]:
    words = [sys.executable, "-m", "sureline", "serve", f"mail={model}", "--state", str(state), "--port", "0"]
    process = subprocess.Popen([*words, "--max-error", "0.05"], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r":(\d+)/ answers", line):
                yield int(found[1])
                break
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


@contextmanager
def page(port: int) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service
    from selenium.webdriver.support.wait import WebDriverWait

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for flag in FLAGS.split():
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver"), log_output=os.devnull))
    try:
        driver.set_window_size(1280, 2400)
        driver.get(f"http://127.0.0.1:{port}/")
        drawn = "return document.querySelectorAll('figure[data-drawn]').length > 3"
        WebDriverWait(driver, 60).until(lambda _: driver.execute_script(drawn))
        driver.execute_script(WATCHED)
        yield driver
    finally:
        driver.quit()


def stream(port: int, rows: list[bytes], seconds: float, rate: float | None) -> tuple[int, float]:
    """Send rows over one connection for so many seconds, at a rate or as fast as they are taken; rows and seconds."""
    sock = socket.create_connection(("127.0.0.1", port))
    head = "POST /v1/models/mail/predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\n"
    sock.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
    answers = 0

    def read() -> None:
        nonlocal answers
        last = b""
        while data := last + sock.recv(1 << 18):
            answers += data.count(b"}\n")
            last = data[-1:] if data.endswith(b"}") else b""
            if data.endswith(b"0\r\n\r\n"):
                break

    reader = threading.Thread(target=read)
    reader.start()
    began, sent, n = time.perf_counter(), 0, 1000
    while (spent := time.perf_counter() - began) < seconds:
        if rate is not None and sent >= rate * spent:
            time.sleep(0.01)
            continue
        at = sent % (len(rows) - n)
        body = b"".join(rows[at : at + n])
        sock.sendall(b"%x\r\n%s\r\n" % (len(body), body))
        sent += n
    sock.sendall(b"0\r\n\r\n")
    reader.join()
    took = time.perf_counter() - began
    sock.close()
    assert answers == sent, (answers, sent)
    return sent, took


def told(values: list[float], unit: str = "ms") -> str:
    half, most = np.percentile(values, [50, 99]) if values else (0, 0)
    return f"median {half:.0f} {unit}, 99 % within {most:.0f} {unit}, at most {max(values, default=0):.0f} {unit}"


def main() -> None:
    parser = argparse.ArgumentParser(description="The live page under load.")
    parser.add_argument("--rate", type=float, default=10_000, help="rows a second (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=20, help="of each part (default: %(default)s)")
    options = parser.parse_args()
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        sys.exit("This needs chromium and chromedriver.")
    texts, labels = make_mail(20_000, random_state=0)
    rows = [json.dumps(text).encode() + b"\n" for text in texts]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "mail.txt"
        data.write_text("".join(f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True)))
        sureline.train(data, "scw", model=folder / "mail.sureline", format="text")
        with service(folder / "mail.sureline", folder / "state") as port:
            stream(port, rows, 2, None)  # so that everything is there
            without, took = stream(port, rows, options.seconds / 2, None)
            alone = without / took
            with page(port) as driver:
                sent, took = stream(port, rows, options.seconds, options.rate)
                seen = {name: driver.execute_script(f"return window.{name}") for name in ("lags", "busy", "clicks")}
                beside, spent = stream(port, rows, options.seconds / 2, None)
                lags = driver.execute_script("return window.lags")[len(seen["lags"]) :]
    print(f"{sent / took:,.0f} rows a second, and the page beside them:")
    print(f"  updates        {len(seen['lags']) / took:.1f} a second")
    print(f"  how late       {told(seen['lags'])}")
    print(f"  a task waits   {told(seen['clicks'])}")
    print(f"  long tasks     {len(seen['busy'])}, {told(seen['busy'])}")
    print(f"As fast as rows are taken: {alone:,.0f} a second without the page, {beside / spent:,.0f} with it")
    print(f"  how late       {told(lags)}")


if __name__ == "__main__":
    main()

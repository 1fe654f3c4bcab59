"""The main job on generated mail: ``python -m sureline.demo``.

Writes a compressed stream of messages, trains SSOL and SCW from it, evaluates, predicts, inspects, and draws the
weights. At last it serves a model for some seconds, asks it, and teaches it. It prints each command that a user would
type, with its output.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import fcntl
import http.client
import importlib.util
import json
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import cli

_PATIENCE = 60.0  # seconds for the service to start, and for the browser in all
_CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = (
    "--headless --remote-debugging-pipe --disable-gpu --no-first-run --disable-background-networking --disable-sync "
    "--disable-component-update --disable-extensions --disable-dev-shm-usage --hide-scrollbars"
)
_WIDTH, _HEIGHT = 1280, 1480  # pixels of the picture of the page
_DRAWN = """document.querySelector("figure[data-drawn]") !== null
  && [...document.querySelectorAll("figure[data-chart]")].every((it) =>
    it.dataset.drawn || it.matches(".empty") || it.getBoundingClientRect().top > innerHeight)"""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sureline.demo", description="The main job on generated mail.")
    parser.add_argument("--folder", type=Path, default=Path("out/demo"), help="for the files (default: %(default)s)")
    parser.add_argument("--messages", type=int, default=60_000, help="how many (default: %(default)s)")
    parser.add_argument("--asked", type=int, default=100, help="mails for the service (default: %(default)s)")
    parser.add_argument("--taught", type=int, default=10, help="labels for the service (default: %(default)s)")
    options = parser.parse_args(arguments)
    if not 0 <= options.taught <= options.asked:
        parser.error(f"--taught must be from 0 to --asked. Got {options.taught} and {options.asked} instead.")
    if options.messages < 100:
        parser.error(f"--messages must be at least 100. Got {options.messages} instead.")
    began = time.monotonic()
    folder: Path = options.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_mail(folder, options.messages)
    except OSError as error:
        print(f"The demo could not write to {folder}: {error.strerror}.", file=sys.stderr)
        return 1
    data, test = folder / "mail.txt.zst", folder / "test.txt"
    ssol, scw = folder / "ssol.sureline", folder / "scw.sureline"
    settings = {
        "ssol": "--eta 1 --lam 40 --schedule constant --r 1000 --cost balanced",
        "scw": "--C 0.1 --quiet",
    }
    commands: list[list[str | Path]] = [
        ["train", data, "--algorithm", "ssol", *settings["ssol"].split(), "--model", ssol],
        ["train", data, "--algorithm", "scw", *settings["scw"].split(), "--model", scw],
        ["evaluate", test, "--model", ssol],
        ["evaluate", test, "--model", scw],
        ["predict", test, "--model", scw, "--output", folder / "scores.csv"],
        ["inspect", ssol, "--top", "12", "--plot", folder / "ssol.png"],
        ["inspect", scw, "--top", "12", "--plot", folder / "scw.png"],
        ["compare", data, "--quiet", "--report", folder / "report.html"],
    ]
    for command in commands:
        words = [str(word) for word in command]
        print(f"\n$ sureline {shlex.join(words)}", flush=True)
        status = cli.run(words)
        if status:
            return status
    with (folder / "scores.csv").open() as scores:
        print(f"\n$ head -5 {folder / 'scores.csv'}\n" + "".join(scores.readline() for _ in range(5)), end="")
    try:
        serve_mail(folder, options.asked, options.taught)
    except OSError as error:
        print(f"The service did not start: {error.strerror or error}", file=sys.stderr)
        return 1
    pictures = f"{folder / 'ssol.png'}, {folder / 'scw.png'}; a report: {folder / 'report.html'}"
    print(f"\nPictures: {pictures}. {time.monotonic() - began:.1f} s in all.")
    return 0


def write_mail(folder: Path, n_messages: int) -> None:
    """Write compressed messages to learn from, and a quarter as many to test on: one per line, after label and tab."""
    from .datasets import make_mail
    from .stream.decompress import zstd_module

    texts, labels = make_mail(n_messages + n_messages // 4, random_state=0)
    lines = [f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True)]
    with zstd_module().open(folder / "mail.txt.zst", "wt", encoding="utf-8") as out:
        out.writelines(lines[:n_messages])
    (folder / "test.txt").write_text("".join(lines[n_messages:]), encoding="utf-8")


# -- the service ---------------------------------------------------------------------------------------------


def serve_mail(folder: Path, n_asked: int, n_taught: int) -> None:
    """Serve the model of SCW: ask it for mails of the test, teach it some of their labels, and photograph its page."""
    if missing := [name for name in ("starlette", "uvicorn", "msgspec") if importlib.util.find_spec(name) is None]:
        print(f"\nThe service needs {', '.join(missing)}: pip install 'sureline[serve]'.")
        return
    model, state = folder / "scw.sureline", folder / "scw.state"
    shutil.rmtree(state, ignore_errors=True)  # of an earlier demo
    with (folder / "test.txt").open(encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t", 1) for line, _ in zip(file, range(n_asked), strict=False)]
    words = ["serve", f"mail={model}", "--state", str(state), "--port", "0", "--max-error", "0.05"]
    print(f"\n$ sureline {shlex.join(words)}", flush=True)
    with _service(words) as port:
        library = threading.Thread(target=_fetch, args=(port, "GET", "/charts.js"), daemon=True)
        if browser := next(filter(None, map(shutil.which, _CHROMIUM)), None):
            library.start()  # made while mails are answered
        right, version = 0, ""
        for k, (label, text) in enumerate(rows):
            told = json.loads(_fetch(port, "POST", "/v1/models/mail/predict", {"row": text}))
            right += told["label"] == label
            if k < n_taught:
                taught = {"prediction_id": told["prediction_id"], "label": label}
                version = json.loads(_fetch(port, "POST", "/v1/models/mail/learn", taught))["version"]
        print(f"http://127.0.0.1:{port}/ answered {len(rows)} mails, {right} of them right,", end=" ")
        print(f"and learned {n_taught} labels{f': version {version}' if version else ''}.")
        if browser is None:
            print("There is no Chromium here, so its page was not photographed.")
            return
        picture = folder / "page.png"
        library.join(_PATIENCE)
        try:
            picture.write_bytes(_photograph(browser, f"http://127.0.0.1:{port}/", time.monotonic() + _PATIENCE))
            print(f"Its page, as Chromium shows it: {picture}")
        except (OSError, ValueError, TimeoutError) as error:
            print(f"Its page could not be photographed: {error}")


@contextlib.contextmanager
def _service(words: list[str]) -> Iterator[int]:
    """Run a service for the duration of the block; yields its port."""
    process = subprocess.Popen([sys.executable, "-m", "sureline", *words], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    watch = threading.Timer(_PATIENCE, process.kill)
    watch.start()
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r":(\d+)/ answers", line):
                watch.cancel()
                yield int(found[1])
                break
        else:
            raise OSError(0, "".join(said[-1:]).strip() or "it said nothing")
    finally:
        watch.cancel()
        process.send_signal(signal.SIGTERM)
        try:
            process.communicate(timeout=_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()


def _fetch(port: int, method: str, path: str, body: Any = None) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    with contextlib.closing(connection):
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {} if body is None else {"Content-Type": "application/json"})
        return connection.getresponse().read()


def _photograph(browser: str, address: str, until: float) -> bytes:
    """The page as PNG, once its charts are drawn. TimeoutError if that takes too long."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile, _Chromium(browser, profile, until) as it:
        made = it.call("Target.createTarget", url=address)
        page = it.call("Target.attachToTarget", targetId=made["targetId"], flatten=True)["sessionId"]
        size = {"width": _WIDTH, "height": _HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        it.call("Emulation.setDeviceMetricsOverride", page, **size)
        while not it.call("Runtime.evaluate", page, expression=_DRAWN)["result"].get("value"):
            time.sleep(0.05)
        return base64.b64decode(it.call("Page.captureScreenshot", page)["data"])


class _Chromium:
    """A browser controlled through a pipe, which needs no further packages."""

    def __init__(self, browser: str, profile: str, until: float) -> None:
        self._until, self._number, self._rest = until, 0, b""
        (its_in, self._out), (self._in, its_out) = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (its_in, its_out)]

        def arrange() -> None:  # in the child: it reads from 3 and writes to 4
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        flags = [*_FLAGS.split(), f"--user-data-dir={profile}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        quiet = subprocess.DEVNULL
        try:
            self._process = subprocess.Popen(
                [browser, *flags], stdin=quiet, stdout=quiet, stderr=quiet, pass_fds=(3, 4), preexec_fn=arrange
            )
        finally:
            for end in (its_in, its_out, *ends):
                os.close(end)

    def __enter__(self) -> _Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> Any:
        """The result of a command of the DevTools protocol."""
        self._number += 1
        told = {"id": self._number, "method": method, "params": parameters}
        os.write(self._out, json.dumps(told | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            message = json.loads(self._message())
            if message.get("id") == self._number:
                if "error" in message:
                    raise ValueError(f"{method}: {message['error'].get('message')}")
                return message["result"]

    def _message(self) -> bytes:
        while b"\0" not in self._rest:
            left = self._until - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise TimeoutError("the browser takes too long")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise ValueError("the browser has ended")
            self._rest += data
        message, _, self._rest = self._rest.partition(b"\0")
        return message


if __name__ == "__main__":
    sys.exit(main())

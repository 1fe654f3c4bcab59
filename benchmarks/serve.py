"""What a service costs, in ratios of one run: ``make bench-serve`` or ``python benchmarks/serve.py``.

wrk sends the requests: one thread, 64 connections that are kept alive. Every service is one process of uvicorn with
uvloop and httptools. Services are measured in turns, and the best of them counts.

- `constant`: a Starlette endpoint that reads nothing and answers with a constant of the same length.
- `fastapi`: a FastAPI endpoint around a pickled HashingVectorizer and SGDClassifier, trained on the same mails.
- `sureline`: `sureline serve`, a text model that learns by a log.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import pickle
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ratios import failures, report

import sureline
from sureline.datasets import make_mail

CONSTANT = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
TEXT = b'{"label":"spam","confidence":0.9731562489313532,"prediction_id":"AAAAAAAAAAAAAAAA","version":"81fe1df1b927.0"}'
async def predict(request):
    return Response(TEXT, media_type="application/json")
app = Starlette(routes=[Route("/v1/models/mail/predict", predict, methods=["POST"])])
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False, loop="uvloop", http="httptools")
"""
FASTAPI = """
import pickle, sys, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
class Mail(BaseModel):
    row: str
app = FastAPI()
model = pickle.load(open(sys.argv[2], "rb"))
@app.post("/v1/models/mail/predict")
async def predict(mail: Mail):
    [shares] = model.predict_proba([mail.row])
    best = shares.argmax()
    return {"label": str(model.classes_[best]), "confidence": float(shares[best])}
uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False, loop="uvloop", http="httptools")
"""
LUA = """
local file = io.open("{bodies}", "r")
local bodies, paths = {{}}, {{}}
for line in file:lines() do
  local path, body = line:match("^(%S+) (.*)$")
  bodies[#bodies + 1], paths[#paths + 1] = body, path
end
local k = 0
request = function()
  k = k % #bodies + 1
  return wrk.format("POST", paths[k], {{["Content-Type"] = "application/json"}}, bodies[k])
end
local bad = 0
response = function(status) if status ~= 200 then bad = bad + 1; if bad == 1 then print("status " .. status) end end end
"""
MODEL = "/v1/models/mail"
CONNECTIONS = 64


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextlib.contextmanager
def running(words: list[str], port: int) -> Iterator[int]:
    """A service, once it accepts connections: its process."""
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            if process.poll() is not None:
                raise SystemExit(f"{words[:4]} has ended with status {process.returncode}.")
            time.sleep(0.05)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def processor_seconds(pid: int) -> float:
    """What a process has used; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        numbers = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(numbers[11]) + int(numbers[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def scripted(source: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", source, *map(str, arguments)]


def serve(state: Path, model: Path, port: int, durability: str) -> list[str]:
    words = [sys.executable, "-m", "sureline", "serve", f"mail={model}"]
    return [*words, "--state", str(state), "--port", str(port), "--durability", durability]


def wrk(port: int, script: Path, seconds: int) -> tuple[float, float, float]:
    """Requests a second, and the median and the 99th percentile of the latency in milliseconds."""
    words = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "--timeout", "10s", "-s", str(script)]
    told = subprocess.run([*words, f"http://127.0.0.1:{port}/"], capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in told or "Socket errors" in told or "status " in told:
        raise SystemExit(f"Not all requests were answered:\n{told}")
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", told)[1])  # type: ignore[index]
    latency = {}
    for share in ("50", "99"):
        number, unit = re.search(rf"{share}%\s+([\d.]+)(us|ms|s)", told).groups()  # type: ignore[union-attr]
        latency[share] = float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3}[unit]
    return rate, latency["50"], latency["99"]


class Measured(NamedTuple):
    """Requests a second, the median and the 99th percentile of the latency, and processor seconds of a request."""

    rate: float
    median: float
    slow: float
    used: float

    @property
    def tail(self) -> float:
        return self.slow / self.median


class Bench:
    """All measurements, in one folder."""

    def __init__(self, folder: Path, seconds: int, rounds: int) -> None:
        self.folder, self.seconds, self.rounds = folder, seconds, rounds
        texts, labels = make_mail(4000, random_state=0)
        self.texts, self.labels = texts, labels
        data = folder / "mail.txt"
        data.write_text("".join(f"{label}\t{text}\n" for text, label in zip(texts, labels, strict=True)))
        self.model = folder / "mail.sureline"
        sureline.train(data, "scw", model=self.model, format="text")
        rows = [json.dumps({"row": text}) for text in texts[:500]]
        taught = [json.dumps({"row": text, "label": label}) for text, label in zip(texts, labels, strict=True)][:500]
        asks = [f"{MODEL}/predict {body}" for body in rows]
        teaches = [f"{MODEL}/learn {body}" for body in taught]
        mixed = [teaches[k] if k % 5 == 0 else asks[k] for k in range(500)]
        self.predict, self.learn = self._script("predict", asks), self._script("learn", teaches)
        self.mixed = self._script("mixed", mixed)

    def _script(self, name: str, lines: list[str]) -> Path:
        (self.folder / f"{name}.txt").write_text("\n".join(lines) + "\n")
        script = self.folder / f"{name}.lua"
        script.write_text(LUA.format(bodies=self.folder / f"{name}.txt"))
        return script

    def in_turns(self, services: dict[str, tuple[list[str], int, Path]]) -> dict[str, Measured]:
        """The best of each of several services."""
        found: dict[str, list[Measured]] = {name: [] for name in services}
        with contextlib.ExitStack() as stack:
            pids = {name: stack.enter_context(running(words, port)) for name, (words, port, _) in services.items()}
            for _, port, script in services.values():
                wrk(port, script, 1)
            for _ in range(self.rounds):
                for name, (_, port, script) in services.items():
                    used = processor_seconds(pids[name])
                    rate, median, slow = wrk(port, script, self.seconds)
                    used = processor_seconds(pids[name]) - used
                    found[name].append(Measured(rate, median, slow, used / (rate * self.seconds)))
        for name, several in found.items():
            rates = ", ".join(f"{one.rate:,.0f}" for one in several)
            used, tail = (
                statistics.median(values) for values in zip(*((one.used, one.tail) for one in several), strict=True)
            )
            print(f"  {name}: {rates} requests/s; medians: {1e6 * used:.1f} us of processor time each, 99 % within "
                  f"{tail:.1f} times the time of half")  # fmt: skip
        return {
            name: Measured(
                max(one.rate for one in several),
                *min((one.median, one.slow) for one in several if one.tail == min(other.tail for other in several)),
                min(one.used for one in several),
            )
            for name, several in found.items()
        }

    def fresh(self, name: str, script: Path, durability: str = "fsync") -> tuple[list[str], int, Path]:
        state, port = self.folder / f"state-{name}", free_port()
        shutil.rmtree(state, ignore_errors=True)
        return serve(state, self.model, port, durability), port, script

    def single(self) -> dict[str, Measured]:
        from sklearn.feature_extraction.text import HashingVectorizer
        from sklearn.linear_model import SGDClassifier
        from sklearn.pipeline import make_pipeline

        peer = make_pipeline(HashingVectorizer(), SGDClassifier(loss="log_loss")).fit(self.texts, self.labels)
        (self.folder / "peer.pickle").write_bytes(pickle.dumps(peer))
        constant, fastapi = free_port(), free_port()
        services = {
            "constant": (scripted(CONSTANT, constant), constant, self.predict),
            "fastapi": (scripted(FASTAPI, fastapi, self.folder / "peer.pickle"), fastapi, self.predict),
            "sureline": self.fresh("single", self.predict),
        }
        return self.in_turns(services)

    def learning(self) -> dict[str, Measured]:
        return self.in_turns({kind: self.fresh(kind, self.learn, kind) for kind in ("fsync", "none")})

    def latency(self) -> dict[str, Measured]:
        """A fifth of the requests labels, beside a constant answer, which has the delays of the machine."""
        constant = free_port()
        alone = scripted(CONSTANT, constant), constant, self.predict
        return self.in_turns({"constant": alone, "sureline": self.fresh("mixed", self.mixed)})

    def lines(self, n: int) -> dict[str, float]:
        """Seconds for a file of rows: `sureline predict`, and the service."""
        rows = [{"text": text, "n": len(text), "day": k % 7} for k, text in enumerate(self.texts)]
        data, model = self.folder / "mail.jsonl", self.folder / "table.sureline"
        taught = [row | {"label": label} for row, label in zip(rows, self.labels, strict=True)]
        data.write_text("".join(json.dumps(row) + "\n" for row in taught))
        sureline.train(data, "arow", model=model)
        data.write_text("".join(json.dumps(rows[k % len(rows)]) + "\n" for k in range(n)))
        state, port = self.folder / "state-lines", free_port()
        seconds: dict[str, list[float]] = {"predict": [], "service": []}
        with running(serve(state, model, port, "fsync"), port):
            for _ in range(self.rounds):
                began = time.perf_counter()
                words = [sys.executable, "-m", "sureline", "predict", str(data), "--model", str(model)]
                subprocess.run(
                    [*words, "--output", str(self.folder / "answers.csv")], check=True, stderr=subprocess.PIPE
                )
                seconds["predict"].append(time.perf_counter() - began)
                began = time.perf_counter()
                with data.open("rb") as file:
                    connection = http.client.HTTPConnection("127.0.0.1", port)
                    size = {"Content-Type": "application/x-ndjson", "Content-Length": str(data.stat().st_size)}
                    connection.request("POST", f"{MODEL}/predict?remember=false", file, size)
                    told = connection.getresponse().read()
                seconds["service"].append(time.perf_counter() - began)
                assert told.count(b"\n") == n
        for name, found in seconds.items():
            print(f"  {name}: {', '.join(f'{n / one:,.0f}' for one in found)} rows/s")
        return {name: min(found) for name, found in seconds.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=int, default=1, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--rows", type=int, default=100_000, help="of the file of NDJSON")
    given = parser.parse_args()
    if shutil.which("wrk") is None:
        print("wrk is missing, which sends the requests (Debian, Ubuntu: apt install wrk; macOS: brew install wrk).")
        return 1
    try:
        import fastapi
    except ImportError:
        print("FastAPI is missing, which is compared with: pip install fastapi.")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), given.seconds, given.rounds)
        print("Single predictions:")
        single = bench.single()
        print("Mixed load:")
        mixed = bench.latency()
        print("Learning:")
        learning = bench.learning()
        print("NDJSON:")
        lines = bench.lines(given.rows)
    ours, constant, fastapi = (single[name] for name in ("sureline", "constant", "fastapi"))
    report("rate of single predictions, of a constant's", ours.rate / constant.rate, 0.5, at_least=True)
    report("processor time of a constant, of a prediction's", constant.used / (ours.used or 1.0), 0.5, at_least=True)
    report("rate of single predictions, of FastAPI's", ours.rate / fastapi.rate, 3.0, at_least=True)
    report("99th percentile of the latency, of the median", mixed["sureline"].tail, 5.0)
    report("time of a durable label, of a plain one", learning["none"].rate / learning["fsync"].rate, 1.3)
    report("rate of NDJSON, of sureline predict", lines["predict"] / lines["service"], 0.3, at_least=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

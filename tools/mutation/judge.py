"""A plugin of pytest that makes one mutant after the other active and sees whether a test fails.

The tests are collected once. A child process runs all of them on the code as it is and notes which mutants each may
notice; another one for each mutant runs those tests until one fails, those first that kill much in little time.
What a mutant is, how it is made active, and which tests may notice it, is up to a `Mutants` (core.py, python.py).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Protocol

import hypothesis
import pytest

hypothesis.settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,  # what a mutant makes a difference in, it does again
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
hypothesis.settings.load_profile("mutants")

MEMORY = 16 << 30  # bytes that a process may write to, so that a mutant does not take the machine down
SLOW = "It takes too long to be among the tests."
BROKEN = 255  # the status of a process in which a mutant could not be made active


def digest(files: list[Path]) -> str:
    found = hashlib.sha256()
    for file in files:
        if file.suffix in (".py", ".so"):
            found.update(file.read_bytes())
    return found.hexdigest()


def too_slow(*_: object) -> None:
    """Ends a test, with what it waits for."""
    subprocess.run(["pkill", "-KILL", "-P", str(os.getpid())])
    raise TimeoutError(SLOW)


class Mutants(Protocol):
    def begin_test(self) -> None:
        """Forget what was noted."""

    def noted(self) -> Any:
        """What a test has run, since `begin_test`; can be pickled."""

    def looked(self) -> None:
        """When all tests have been run on the code as it is."""

    def notices(self, noted: Any, mutant: str) -> bool:
        """Whether a test that has run this may notice the mutant."""

    def why_none(self, mutant: str, all_noted: list[Any]) -> str:
        """What becomes of a mutant that no test may notice."""

    def prepare(self, mutant: str) -> None:
        """In the parent, before its child process begins."""

    def restore(self, mutant: str) -> None:
        """In the parent, after its child process has ended."""

    def activate(self, mutant: str) -> None:
        """In the child process."""


def in_child() -> None:
    """What is printed goes nowhere, no core is dumped, and what is started can be ended together."""
    os.setsid()
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


REPORTS: list[pytest.TestReport] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    REPORTS.append(report)


def failures(item: pytest.Item) -> list[pytest.TestReport]:
    REPORTS.clear()
    item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
    return [report for report in REPORTS if report.failed]


class Judge:
    def __init__(self, items: list[pytest.Item], work: dict[str, Any], mutants: Mutants) -> None:
        self.items, self.work, self.mutants = items, work, mutants
        self.kills: dict[int, int] = {}  # by test
        self.taking_part: dict[int, tuple[float, float, Any]] = {}

    def look(self) -> None:
        """What each test runs, and how long; those that fail or take longer than --slow are left out."""
        path = Path(self.work["outcomes"]).with_suffix(".look")
        for one in (path, path.with_suffix(".wrong")):
            one.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            in_child()
            try:
                self._look(path)
            except BaseException:
                path.with_suffix(".wrong").write_text(traceback.format_exc())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not path.exists():
            wrong = path.with_suffix(".wrong")
            said = wrong.read_text() if wrong.exists() else f"they end with the status {status}"
            raise pytest.UsageError(f"The tests cannot be run on the code as it is: {said}")
        looked, failed = pickle.loads(path.read_bytes())
        for k, why in failed.items():
            if why != SLOW:
                print(f"fails without any change, and is left out: {self.items[k].nodeid}\n{why}")
        self.mutants.looked()
        self.taking_part = {k: one for k, one in looked.items() if k not in failed}
        seconds = sum(one[0] for one in looked.values())
        told = f"{len(looked)} of {len(self.items)} tests in {seconds:.0f} s"
        print(f"{told}; {len(self.taking_part)} take part.", flush=True)

    def _look(self, path: Path) -> None:
        looked, failed = {}, {}
        kept = path.with_suffix(".kept")  # of an earlier run, by test: good while code and test are the same
        known = pickle.loads(kept.read_bytes()) if kept.exists() else {}
        helpers = sorted(set(Path("tests").glob("*.py")) - set(Path("tests").glob("test_*.py")))
        same = [digest(sorted(Path(self.work["site"]).rglob("*.*"))), digest(helpers)]
        told = {item.path: (*same, digest([item.path])) for item in self.items}
        signal.signal(signal.SIGALRM, too_slow)
        for k, item in enumerate(self.items):
            if known.get(item.nodeid, (None,))[0] == told[item.path]:
                looked[k] = known[item.nodeid][1]
                continue
            if time.process_time() > self.work["look"]:
                break
            self.mutants.begin_test()
            begun, wall = time.process_time(), time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, self.work["slow"])
            try:
                bad = failures(item)
            except Exception:  # it was ended where pytest does not expect that
                failed[k], bad = SLOW, []
            signal.setitimer(signal.ITIMER_REAL, 0)
            looked[k] = time.process_time() - begun, time.monotonic() - wall, self.mutants.noted()
            if bad:
                why = str(bad[0].longrepr)
                failed[k] = SLOW if SLOW in why else why[-600:]
            elif k not in failed:
                known[item.nodeid] = told[item.path], looked[k]
        kept.write_bytes(pickle.dumps(known))
        path.write_bytes(pickle.dumps((looked, failed)))

    def chosen(self, mutant: str) -> list[int]:
        """Tests that may notice the mutant: those first that kill much in little time."""
        found = [k for k, (_, _, noted) in self.taking_part.items() if self.mutants.notices(noted, mutant)]
        return sorted(found, key=lambda k: (self.taking_part[k][1] + 0.05) / (1 + self.kills.get(k, 0)))

    def killer(self, child: int) -> Path:
        """Where a child process tells which test failed."""
        return Path(self.work["outcomes"]).with_suffix(f".{child}")

    def run(self, mutant: str, chosen: list[int]) -> None:
        """In a child process: ends it, with 1 if a test failed."""
        in_child()
        begun = time.monotonic()
        try:
            self.mutants.activate(mutant)
        except BaseException:
            Path(self.work["outcomes"]).with_suffix(".wrong").write_text(traceback.format_exc())
            os._exit(BROKEN)
        for k in chosen:
            used, wall, _ = self.taking_part[k]
            if time.monotonic() - begun > self.work["most"]:
                break
            # A test that takes far longer than it did does not end: the process is killed.
            signal.setitimer(signal.ITIMER_PROF, 5 + 10 * used)
            signal.setitimer(signal.ITIMER_REAL, 60 + 30 * wall)
            if failures(self.items[k]):
                self.killer(os.getpid()).write_text(str(k))
                os._exit(1)
        os._exit(0)

    def passes(self, k: int) -> bool:
        """Whether a test passes by itself on the code as it is."""
        child = os.fork()
        if child == 0:
            in_child()
            os._exit(1 if failures(self.items[k]) else 0)
        return os.waitpid(child, 0)[1] == 0

    def judge(self) -> None:
        outcomes: dict[str, str] = {}
        running: dict[int, tuple[str, list[int], float]] = {}
        waiting = list(self.work["mutants"].items())
        begun = time.monotonic()
        everything = [noted for _, _, noted in self.taking_part.values()]
        while waiting or running:
            if time.monotonic() - begun > 60 * self.work["minutes"]:
                waiting.clear()
            while waiting and len(running) < self.work["jobs"]:
                number, _ = waiting.pop(0)
                chosen = self.chosen(number)
                if not chosen:
                    outcomes[number] = self.mutants.why_none(number, everything)
                    continue
                self.mutants.prepare(number)
                sys.stdout.flush()
                child = os.fork()
                if child == 0:
                    self.run(number, chosen)
                running[child] = number, chosen, time.monotonic()
            if not running:
                continue
            child, status = os.wait()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)  # what it has left behind
            number, chosen, since = running.pop(child)
            self.mutants.restore(number)
            if os.WIFEXITED(status) and os.WEXITSTATUS(status) == BROKEN:
                wrong = Path(self.work["outcomes"]).with_suffix(".wrong").read_text()
                raise pytest.UsageError(f"{self.work['mutants'][number]} cannot be made active: {wrong}")
            by = f"{len(chosen)} tests"
            if os.WIFEXITED(status) and status:
                k = int(self.killer(child).read_text())
                self.killer(child).unlink()
                if not self.passes(k):  # nor does it as it is, so that it tells nothing
                    print(f"fails now and then, and is left out: {self.items[k].nodeid}", flush=True)
                    self.taking_part.pop(k, None)
                    waiting.insert(0, (number, self.work["mutants"][number]))
                    continue
                self.kills[k] = self.kills.get(k, 0) + 1
                by = self.items[k].name
            elif status:
                by = signal.Signals(os.WTERMSIG(status)).name
            outcomes[number] = "killed" if status else "unnoticed"
            name, left = self.work["mutants"][number], len(waiting) + len(running)
            print(f"{outcomes[number]:9} {name}  [{time.monotonic() - since:.1f} s, {by}; {left} left]", flush=True)
        Path(self.work["outcomes"]).write_text(json.dumps(outcomes))
        print(f"{len(outcomes)} mutants in {time.monotonic() - begun:.0f} s.", flush=True)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    work = json.loads(Path(os.environ.pop("SURELINE_MUTANTS")).read_text())
    mutants: Mutants = importlib.import_module(work["module"]).Active(work)
    sys.stdout.flush()
    # In the order of the files that were asked for, as those in front take part if there is no time for all.
    places = [str(Path(place).resolve()) for place in session.config.args]
    order = {
        item: min((k for k, p in enumerate(places) if str(item.path).startswith(p)), default=0)
        for item in session.items
    }
    judge = Judge(sorted(session.items, key=order.__getitem__), work, mutants)
    judge.look()
    judge.judge()
    return True


LIMITS = {
    "look": (1800, "seconds of all tests together; more are left out"),
    "slow": (30, "seconds of a test; one that takes longer is left out"),
    "most": (120, "seconds of a mutant; not killed by then, it survives"),
    "minutes": (1e9, "judge so long, in random order, and those that are left not at all"),
}


def add_limits(parser: argparse.ArgumentParser) -> None:
    for name, (default, words) in LIMITS.items():
        parser.add_argument(f"--{name}", type=float, default=default, help=words)


def limits_of(options: argparse.Namespace) -> dict[str, float]:
    return {name: getattr(options, name) for name in LIMITS}


def outcomes_of(
    work: dict[str, Any], home: Path, tests: list[str], environment: dict[str, str], root: Path
) -> dict[str, str]:
    """What became of each mutant in work["mutants"], by its key."""
    file, outcomes = home / "work.json", home / "outcomes.json"
    file.write_text(json.dumps({**work, "outcomes": str(outcomes), "site": environment["PYTHONPATH"]}))
    outcomes.unlink(missing_ok=True)
    here = str(Path(__file__).parent)
    path = os.pathsep.join([environment["PYTHONPATH"], here])
    env = {**os.environ, **environment, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}
    env |= {"SURELINE_MUTANTS": str(file), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "judge",
        "-s",
        "-q",
        "-o",
        "timeout=0",
        "-m",
        "not engines and not torture",
    ]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler", *tests]
    subprocess.run(command, cwd=root, env=env)
    if not outcomes.exists():
        raise SystemExit("The tests could not be run.")
    return json.loads(outcomes.read_text())

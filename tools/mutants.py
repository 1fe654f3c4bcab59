"""Small changes of the code that the tests have to notice.

    python tools/mutants.py [--package training stream ...] [--sample 100] [--seed 0]

Each mutant is one comparison, sign, constant or condition changed: `<` becomes `<=`, `+` becomes `-`, `and` becomes
`or`. The tests of its package run on it, those first that name the module, until one fails: then it is killed. Prints
the score and the survivors. Nothing in the working tree is changed: mutants live in a copy under build/mutants.

--check FILE:OLD=>NEW tries one change that is given.
"""

from __future__ import annotations

import argparse
import ast
import os
import queue
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

Change = Callable[[Any], object]
ROOT = Path(__file__).resolve().parents[1]
HOME = ROOT / "build" / "mutants"
SOURCE = ROOT / "src" / "sureline"
# What is mutated, with the tests that have to notice.
PACKAGES: dict[str, tuple[list[str], list[str]]] = {
    "training": (
        ["training"],
        ["tests/training", "tests/report", "tests/cli/test_tournament_cli.py", "tests/cli/test_cli.py"],
    ),
    "stream": (["stream"], ["tests/stream", "tests/training/test_same_data.py", "tests/cli/test_paths.py"]),
    "evaluate": (["evaluate", "metrics.py"], ["tests/evaluate", "tests/test_metrics.py"]),
    "report": (["report"], ["tests/report"]),
}
SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.FloorDiv, ast.FloorDiv: ast.Mult, ast.Div: ast.Mult,
}  # fmt: skip


ONLY_THIS_COPY = """import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "ScikitBuildRedirectingFinder"]
"""


@dataclass(frozen=True)
class Mutant:
    """One change: the file, the line, what it is, and what makes the whole changed text."""

    path: Path
    line: int
    what: str
    make: Callable[[], str]

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}:{self.line}: {self.what}"


def python_mutants(path: Path) -> Iterator[Mutant]:
    for k, node in enumerate(ast.walk(ast.parse(path.read_text()))):
        for what, change in changes(node):
            yield Mutant(path, getattr(node, "lineno", 0), what, partial(changed_tree, path, k, change))


def changed_tree(path: Path, k: int, change: Change) -> str:
    """The text of a module whose k-th node is changed."""
    tree = ast.parse(path.read_text())
    change(next(node for i, node in enumerate(ast.walk(tree)) if i == k))
    return ast.unparse(ast.fix_missing_locations(tree))


def changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    """Ways to change a node of the tree, each with words for it."""
    if isinstance(node, ast.Compare):
        for i, op in enumerate(node.ops):
            if other := SWAPS.get(type(op)):
                yield f"{type(op).__name__} -> {other.__name__}", lambda n, i=i, o=other: n.ops.__setitem__(i, o())
    elif isinstance(node, ast.BoolOp | ast.BinOp | ast.AugAssign):
        if other := SWAPS.get(type(node.op)):
            yield f"{type(node.op).__name__} -> {other.__name__}", lambda n, o=other: setattr(n, "op", o())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield (
            "not x -> x",
            lambda n: (setattr(n, "op", ast.Not()), setattr(n, "operand", ast.UnaryOp(ast.Not(), n.operand))),
        )
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield f"{node.value} -> {node.value + 1}", lambda n: setattr(n, "value", n.value + 1)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        yield "condition -> its opposite", lambda n: setattr(n, "test", ast.UnaryOp(ast.Not(), n.test))


class Copy:
    """A copy of the package that mutants are put into and tests run on."""

    files: int | None = None  # of tests that run on a mutant at most
    sound: ClassVar[set[tuple[str, ...]]] = set()  # tests that are known to pass without any change

    def __init__(self, name: str) -> None:
        self.home = HOME / name
        self.site = self.home / "site"
        shutil.rmtree(self.site, ignore_errors=True)
        shutil.copytree(SOURCE, self.site / "sureline")
        for core in self.core_folder().glob("_core*.so"):
            shutil.copy(core, self.site / "sureline")
        # One that is installed to be edited would come first.
        (self.site / "sitecustomize.py").write_text(ONLY_THIS_COPY)
        self.env = {**os.environ, "PYTHONPATH": str(self.site), "OPENBLAS_NUM_THREADS": "1"}
        self.env["PYTHONDONTWRITEBYTECODE"] = "1"

    @staticmethod
    def core_folder() -> Path:
        code = "import sureline._core as core; print(core.__file__)"
        return Path(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()).parent

    def killed(self, mutant: Mutant, tests: list[str], limit: float) -> bool:
        """True if a test fails, or does not end, on the mutant."""
        place = self.site / "sureline" / mutant.path.relative_to(SOURCE)
        original = place.read_text()
        chosen = ordered(tests, mutant.path.stem)[: self.files]
        place.write_text(mutant.make())
        try:
            killed = not self.passes(chosen, limit)
        finally:
            place.write_text(original)
        if killed and tuple(chosen) not in self.sound:  # what fails anyway kills nobody
            if not self.passes(chosen, 60 * 60):
                raise SystemExit(f"The tests {' '.join(chosen)} fail without any change.")
            self.sound.add(tuple(chosen))
        return killed

    def passes(self, tests: list[str], limit: float) -> bool:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests]
        try:
            return subprocess.run(command, cwd=ROOT, env=self.env, capture_output=True, timeout=limit).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def files_in(root: Path, places: list[str], pattern: str) -> list[Path]:
    """Files of Python, and those in folders."""
    found = [[root / place] if place.endswith(".py") else sorted((root / place).rglob(pattern)) for place in places]
    return [file for files in found for file in files]


def ordered(tests: list[str], module: str) -> list[str]:
    """Files of tests, those first that speak of the module."""
    files = files_in(ROOT, tests, "test_*.py")
    word = re.compile(rf"\b{re.escape(module.strip('_'))}\b")
    counts = {file: len(word.findall(file.read_text())) for file in files}
    return [str(file) for file in sorted(files, key=lambda file: (-counts[file], file.stat().st_size))]


def given_mutant(change: str) -> Mutant:
    name, _, rest = change.partition(":")
    old, _, new = rest.partition("=>")
    path = ROOT / name
    text = path.read_text()
    if text.count(old) != 1:
        raise SystemExit(f"{name} has {text.count(old)} places with {old!r}; there must be one.")
    line = text[: text.index(old)].count("\n") + 1
    return Mutant(path, line, f"{old} -> {new}", lambda: text.replace(old, new))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", nargs="*", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; all if 0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=600, help="seconds after which a mutant counts as killed")
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many; never if 0")
    parser.add_argument("--jobs", type=int, default=1, help="so many at the same time")
    parser.add_argument(
        "--files", type=int, default=0, help="so many files of tests for each, those that name it most; all if 0"
    )
    parser.add_argument("--check", action="append", default=[], metavar="FILE:OLD=>NEW")
    parser.add_argument("--tests", nargs="*", default=[], help="instead of those of the package")
    options = parser.parse_args()
    work: list[tuple[Mutant, list[str]]] = []
    if options.check:
        work = [(given_mutant(change), options.tests) for change in options.check]
    else:
        for name in options.package:
            places, tests = PACKAGES[name]
            files = files_in(SOURCE, places, "*.py")
            work += [(mutant, options.tests or tests) for path in files for mutant in python_mutants(path)]
    total = len(work)
    if options.sample and options.sample < total:
        work = random.Random(options.seed).sample(work, options.sample)
    copies = [Copy(str(k)) for k in range(options.jobs)]
    for copy_of in copies:
        copy_of.files = options.files or None
    free: queue.SimpleQueue[Copy] = queue.SimpleQueue()
    for copy_of in copies:
        free.put(copy_of)
    begun = time.monotonic()

    def outcome(job: tuple[Mutant, list[str]]) -> bool | None:
        """True if it is killed; None if there was no time."""
        if options.minutes and time.monotonic() - begun > 60 * options.minutes:
            return None
        copy_of = free.get()
        try:
            killed = copy_of.killed(*job, options.limit)
        finally:
            free.put(copy_of)
        print(f"{'killed   ' if killed else 'SURVIVED '} {job[0]}", flush=True)
        return killed

    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = [one for one in pool.map(outcome, work) if one is not None]
    killed = sum(outcomes)
    share = 100 * killed / max(len(outcomes), 1)
    print(f"{killed} of {len(outcomes)} killed ({share:.0f} %), drawn from {total} mutants.")
    return 0 if killed == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

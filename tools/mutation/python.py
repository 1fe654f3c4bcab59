"""Small changes of the Python code that the tests have to notice.

    python tools/mutation/python.py [--package training stream ...] [--sample 100] [--seed 0]

Each mutant is one comparison, sign, constant or condition changed: `<` becomes `<=`, `+` becomes `-`, `and` becomes
`or`. First all tests run on code that notes which of these expressions each test evaluates, in this process and in
those that it starts. Then each mutant is put into its function in a child process, which runs the tests that evaluate
it until one fails: then it is killed. A default or a constant of a module is put in its place in the child. Prints the
score and the survivors. What is not killed within --most seconds survives. Nothing in the working tree is
changed: mutants live in a copy under build/mutants.

--check FILE:OLD=>NEW tries one change that is given, --list those of a file, with the tests of --tests:

    python tools/mutation/python.py --list tools/mutation/boundaries.txt \\
      --tests tests/training/test_boundaries.py tests/report/test_report.py
"""

from __future__ import annotations

import argparse
import ast
import builtins
import compileall
import gc
import os
import random
import shutil
import subprocess
import sys
import tomllib
import types
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from judge import add_limits, limits_of, outcomes_of
from places import GIVEN, Module, number_of, numbered

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "mutants" / "python"
SITE = HOME / "site"
SOURCE = ROOT / "src" / "sureline"
# What is mutated.
PACKAGES = {
    "training": ["training"],
    "stream": ["stream"],
    "evaluate": ["evaluate", "metrics.py"],
    "report": ["report"],
}
TESTS = [
    *("tests/training", "tests/stream", "tests/report", "tests/evaluate", "tests/test_metrics.py"),
    *("tests/cli", "tests/adapters/test_kafka.py", "tests/learners/test_abstention.py"),
]
# One that is installed to be edited would come first. What a process evaluates is noted for the test that started it.
SITE_CUSTOMIZE = """import builtins, os, sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "ScikitBuildRedirectingFinder"]
found = builtins._sureline_found = set()
def reached(place):
    if place not in found:
        found.add(place)
        if folder := os.environ.get("SURELINE_REACHED"):
            with open(f"{folder}/{os.getpid()}", "a") as file:
                file.write(f"{place}\\n")
builtins._sureline_reached = reached
"""
SIMPLE = int | float | str | bytes | tuple | list | dict | set | frozenset


class Active:
    """For judge.py: a mutant is the code of functions, changed, and in processes that start the text of a file."""

    def __init__(self, work: dict[str, Any]) -> None:
        self.modules = modules_of(work["mutants"])
        self.numbers = {m: number_of(self._module(m).name, self._module(m).place(m)) for m in work["mutants"]}
        self.reached = HOME / "reached"
        self.loaded = {
            name: (SITE / "sureline" / name).read_text() for name in self.modules
        }  # it notes what is reached

    def begin_test(self) -> None:
        shutil.rmtree(self.reached, ignore_errors=True)
        self.reached.mkdir(parents=True)
        os.environ["SURELINE_REACHED"] = str(self.reached)
        builtins._sureline_found.clear()  # type: ignore[attr-defined]

    def noted(self) -> frozenset[int]:
        found: set[int] = set(builtins._sureline_found)  # type: ignore[attr-defined]
        for file in self.reached.iterdir():
            found.update(map(int, file.read_text().split()))
        return frozenset(found)

    def looked(self) -> None:
        """Once it is known what each test reaches, what is imported or started is as it was."""
        os.environ.pop("SURELINE_REACHED", None)
        for name in self.modules:
            self._restore(name)

    def _restore(self, name: str) -> None:
        shutil.copy2(SOURCE / name, SITE / "sureline" / name)

    def _module(self, mutant: str) -> Module:
        return self.modules[mutant.partition("|")[0]]

    def notices(self, noted: frozenset[int], mutant: str) -> bool:
        return self.numbers[mutant] in noted

    def why_none(self, mutant: str, all_noted: list[frozenset[int]]) -> str:
        return "unreached"

    def prepare(self, mutant: str) -> None:
        module = self._module(mutant)
        (SITE / "sureline" / module.name).write_text(ast.unparse(module.changed(mutant)))

    def restore(self, mutant: str) -> None:
        self._restore(self._module(mutant).name)

    def activate(self, mutant: str) -> None:
        module = self._module(mutant)
        path = str(SITE / "sureline" / module.name)
        before = compile(self.loaded[module.name], path, "exec")
        after = compile(module.changed(mutant), path, "exec")
        if module.place(mutant) is None:
            put_outside(module.name, before, after)
            return
        new = numbered(after)
        changed = {code: new[key] for key, code in numbered(before).items() if key in new}
        for function in gc.get_objects():
            if isinstance(function, types.FunctionType) and function.__code__.co_filename == path:
                function.__code__ = changed.get(function.__code__, function.__code__)


def put_outside(name: str, before: types.CodeType, after: types.CodeType) -> None:
    """Constants and defaults that differ between two codes of a module are put where they are, and where imported."""
    parts = ["sureline", *Path(name).with_suffix("").parts]
    package = parts[-1] == "__init__"
    full = ".".join(parts[:-1] if package else parts)
    if full not in sys.modules:
        return  # it will be read from the file
    made = []
    for code in (before, after):
        one = types.ModuleType(full)
        one.__dict__.update(__package__=full if package else full.rpartition(".")[0], __file__=code.co_filename)
        real, sys.modules[full] = sys.modules[full], one  # dataclasses look there
        try:
            exec(code, one.__dict__)
        finally:
            sys.modules[full] = real
        made.append(one)
    ours = [m for n, m in list(sys.modules.items()) if n.startswith(("sureline", "tests")) or "test" in n]
    for key, value in vars(made[1]).items():
        if isinstance(value, SIMPLE) and not key.startswith("__") and repr(value) != repr(vars(made[0])[key]):
            old = vars(sys.modules[full])[key]
            for module in ours:
                if vars(module).get(key) is old:
                    setattr(module, key, value)
    _defaults(vars(sys.modules[full]), vars(made[0]), vars(made[1]), full)


def _defaults(real: Any, before: Any, after: Any, module: str) -> None:
    for key, one in after.items():
        old, here = before.get(key), real.get(key)
        if isinstance(one, types.FunctionType) and isinstance(here, types.FunctionType):
            for part in ("__defaults__", "__kwdefaults__"):
                if repr(getattr(one, part)) != repr(getattr(old, part)):
                    setattr(here, part, getattr(one, part))
        elif isinstance(one, type) and one.__module__ == module and isinstance(here, type):
            _defaults(vars(here), vars(old), vars(one), module)
            for name, value in vars(one).items():
                if isinstance(value, SIMPLE) and not name.startswith("__") and repr(value) != repr(vars(old)[name]):
                    setattr(here, name, value)


def module(name: str) -> Module:
    return Module(name, (SOURCE / name).read_text())


def modules_of(mutants: Iterable[str]) -> dict[str, Module]:
    return {name: module(name) for name in dict.fromkeys(key.partition("|")[0] for key in mutants)}


def make_site(mutants: Iterable[str]) -> None:
    """A copy of the package that notes which of the mutants a process reaches."""
    shutil.rmtree(SITE, ignore_errors=True)
    shutil.copytree(SOURCE, SITE / "sureline", ignore=shutil.ignore_patterns("__pycache__"))
    code = "import sureline._core as core; print(core.__file__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    shutil.copy(done.stdout.strip(), SITE / "sureline")
    (SITE / "sitecustomize.py").write_text(SITE_CUSTOMIZE)
    compileall.compile_dir(SITE, quiet=1)
    mutants = list(mutants)
    for name, one in modules_of(mutants).items():
        places = {one.place(key) for key in mutants if key.partition("|")[0] == name}
        (SITE / "sureline" / name).write_text(one.noting(places))


def files_in(root: Path, places: list[str], pattern: str) -> list[Path]:
    """Files of Python, and those in folders."""
    found = [[root / place] if place.endswith(".py") else sorted((root / place).rglob(pattern)) for place in places]
    return [file for files in found for file in files]


def drawn(options: argparse.Namespace) -> dict[str, str]:
    """All mutants that are asked for, in random order, with words for them."""
    words: dict[str, str] = {}
    if options.check:
        given = [one.removeprefix("src/sureline/").partition(":") for one in options.check]
        return {f"{name}|{GIVEN}|{change}": f"{name}: {change}" for name, _, change in given}
    for package in options.package:
        for file in files_in(SOURCE, PACKAGES[package], "*.py"):
            words.update(module(file.relative_to(SOURCE).as_posix()).mutants())
    keys = sorted(key for key, what in words.items() if not options.only or what.rpartition(": ")[0] in options.only)
    random.Random(options.seed).shuffle(keys)
    return {key: words[key] for key in keys}


def equivalents(mutants: dict[str, str]) -> dict[str, str]:
    """Those that no test can notice, with the reasons: the table "python" of equivalent.toml."""
    listed = tomllib.loads((Path(__file__).parent / "equivalent.toml").read_text()).get("python", [])
    reasons: dict[str, str] = {}
    for one in listed:
        one_file = module(one["path"])
        lines, here = one_file.text.splitlines(), dict(one_file.mutants())
        for change in one["changes"]:
            words = {f"{one['path']}:{k + 1}: {change}" for k, line in enumerate(lines) if line.strip() == one["text"]}
            found = [key for key, what in here.items() if what in words]
            if not found:
                raise ValueError(f"equivalent.toml names what is not there: {one['path']}: {one['text']}: {change}")
            reasons |= {key: one["reason"] for key in found if key in mutants}
    return reasons


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--package", nargs="*", choices=PACKAGES, default=list(PACKAGES))
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; all if 0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of those drawn first: a further sample")
    add_limits(parser)
    parser.add_argument("--only", nargs="*", default=[], metavar="FILE:LINE", help="the mutants of these lines alone")
    parser.add_argument("--check", action="append", default=[], metavar="FILE:OLD=>NEW")
    parser.add_argument("--list", type=Path, help="a file of such changes")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    options = parser.parse_args()
    if options.list:
        options.check += options.list.read_text().splitlines()
    all_of_them = drawn(options)
    total = len(all_of_them)
    sample = options.sample or total
    # One look at the tests serves the first samples of a seed.
    make_site(list(all_of_them)[: max(2 * sample, options.skip + sample)])
    mutants = dict(list(all_of_them.items())[options.skip : options.skip + sample])
    reasons = equivalents(mutants)
    mutants = {key: what for key, what in mutants.items() if key not in reasons}
    work = {"module": "python", "mutants": mutants, "jobs": 1, **limits_of(options)}
    outcomes = outcomes_of(work, HOME, options.tests, {"PYTHONPATH": str(SITE)}, ROOT)
    print()
    for key, outcome in outcomes.items():
        if outcome != "killed":
            print(f"{outcome:9} src/sureline/{mutants[key]}")
    ends = Counter(outcomes.values())
    share = 100 * ends["killed"] / max(len(outcomes), 1)
    print(f"{ends['killed']} of {len(outcomes)} killed ({share:.1f} %), drawn from {total} mutants.")
    print(f"Equivalent, and not counted: {len(reasons)}.")
    return 0 if ends["killed"] == len(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())

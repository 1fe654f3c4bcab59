"""Small changes of the C++ core that the tests have to notice.

    python tools/mutation/core.py [--rooms rules loops ...] [--sample 300] [--seed 0]

One build has all mutants that are drawn (sites.py, mutation.hpp): a variable says which one is active. First every
test runs on the core as it is, and tells the mutants that would have made another number anywhere in it. Then each
mutant is made active in a child process, which runs the tests that it made a difference in, until one fails: then it
is killed. So a mutant survives

    unreached    no test computes the place
    same         the place gives the same result in every test
    unnoticed    results differ, and no test fails, or none within --most seconds

Where whole numbers are multiplied, or pointers added, there is no mutant. One that survives is not counted
if tools/mutation/equivalent.toml has it, with the reason why no test can tell. Nothing in the working tree is
changed: everything lives under build/mutants/core.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from judge import add_limits, limits_of, outcomes_of
from sites import Site, all_mutated, equivalents

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "build" / "mutants" / "core"
HERE = Path(__file__).parent
ROOMS = ["rules", "loops", "spaces", "sdca"]
# Quick ones that run the core in this process.
TESTS = [
    *("tests/test_rules.py", "tests/learners/test_golden.py", "tests/learners/test_against_reference.py"),
    *("tests/learners/test_online_dual.py", "tests/learners/test_dual_losses.py", "tests/estimators/test_sdca.py"),
    *("tests/estimators/test_sparse_dca.py", "tests/learners/test_sparse_learning.py", "tests/learners/test_one.py"),
    *("tests/models/test_covariance.py", "tests/models/test_more_classes.py", "tests/learners"),
    *("tests/estimators/test_least_squares.py", "tests/estimators/test_regressor.py", "tests/models/test_normalize.py"),
    *("tests/estimators/test_bad_input.py", "tests/models/test_width.py", "tests/scale/test_merging.py"),
]
ONLY_THIS_COPY = """import sys
sys.meta_path[:] = [one for one in sys.meta_path if type(one).__name__ != "ScikitBuildRedirectingFinder"]
"""
DEFINITIONS = """
extern "C" {{
__attribute__((visibility("default"))) int sureline_mutant = 0;
__attribute__((visibility("default"))) int sureline_mutants = {n};
__attribute__((visibility("default"))) unsigned char sureline_reached[{n}] = {{}};
__attribute__((visibility("default"))) unsigned char sureline_differed[{n}] = {{}};
}}
"""


def write(path: Path, text: str) -> None:
    """Only if more than blanks is new, so that what was built of it stays."""
    if not path.exists() or path.read_text().split() != text.split():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def build(rooms: list[str], wanted: set[int], jobs: int) -> None:
    """A package under HOME/site whose core has the mutants with these numbers."""
    texts, sites = all_mutated(ROOT / "src" / "core", rooms, wanted)
    source = HOME / "source"
    for file in [*ROOT.glob("src/core/**/*.?pp"), *ROOT.glob("src/bindings/**/*.?pp")]:
        name = file.relative_to(ROOT / "src").as_posix()
        text = texts.get(name.removeprefix("core/"), file.read_text()) if name.startswith("core/") else file.read_text()
        if name == "core/loops/dispatch.cpp":
            text += DEFINITIONS.format(n=len(sites) + 1)
        write(source / "src" / name, text)
    # Built once and run shortly, so what optimisation costs is more than what it saves.
    text, place = (ROOT / "CMakeLists.txt").read_text(), "set(CMAKE_CXX_EXTENSIONS OFF)\n"
    options = f"add_compile_options(-O1 -w -include {HOME / 'mutation.hpp'})\n"
    write(source / "CMakeLists.txt", text.replace("-O2)", "-O1)").replace(place, place + options))
    write(HOME / "mutation.hpp", (HERE / "mutation.hpp").read_text())
    python, out = sys.executable, HOME / "build"
    env = {**os.environ, "PATH": f"{Path(python).parent}:{os.environ['PATH']}"}
    folder = subprocess.run([python, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=True)
    configure = [
        "cmake", "-S", source, "-B", out, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DSURELINE_OPTIMIZATION=-O1",
        f"-DPython_EXECUTABLE={python}", f"-Dnanobind_DIR={folder.stdout.strip()}",
        "-DSKBUILD_SABI_COMPONENT=Development.SABIModule",
        "-DSKBUILD_SABI_VERSION=3.11",
    ]  # fmt: skip
    for command in (configure, ["cmake", "--build", out, "--target", "_core", "-j", str(jobs)]):
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stdout[-8000:] + done.stderr[-4000:])
    site = HOME / "site"
    shutil.rmtree(site, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "sureline", site / "sureline")
    for core in out.glob("_core*.so"):
        shutil.copy(core, site / "sureline")
    (site / "sitecustomize.py").write_text(ONLY_THIS_COPY)


class Active:
    """For judge.py: variables of the built core say what is active, and what was reached and would have differed."""

    def __init__(self, work: dict[str, Any]) -> None:
        from sureline import _core

        self.core = ctypes.CDLL(_core.__file__)
        n = ctypes.c_int.in_dll(self.core, "sureline_mutants").value
        self.reached, self.differed = (
            np.frombuffer((ctypes.c_uint8 * n).in_dll(self.core, f"sureline_{what}"), np.uint8)
            for what in ("reached", "differed")
        )

    def begin_test(self) -> None:
        self.reached[:] = 0
        self.differed[:] = 0

    def looked(self) -> None:
        pass

    def noted(self) -> Any:
        return np.packbits(self.differed), np.packbits(self.reached & 1), np.packbits(self.reached & 2)

    def notices(self, noted: Any, mutant: str) -> bool:
        return is_in(noted[0], int(mutant))

    def why_none(self, mutant: str, all_noted: list[Any]) -> str:
        if any(is_in(noted[1], int(mutant)) for noted in all_noted):
            return "same"
        return "none" if any(is_in(noted[2], int(mutant)) for noted in all_noted) else "unreached"

    def prepare(self, mutant: str) -> None:
        pass

    restore = prepare

    def activate(self, mutant: str) -> None:
        ctypes.c_int.in_dll(self.core, "sureline_mutant").value = int(mutant)


def is_in(bits: Any, k: int) -> bool:
    return bool(bits[k // 8] >> (7 - k % 8) & 1)


def judged(sites: list[Site], options: argparse.Namespace) -> dict[int, str]:
    work = {"module": "core", "mutants": {str(s.number): str(s) for s in sites}}
    work |= {"jobs": options.jobs, **limits_of(options)}
    outcomes = outcomes_of(work, HOME, options.tests, {"PYTHONPATH": str(HOME / "site")}, ROOT)
    return {int(number): what for number, what in outcomes.items()}


def tell(sites: list[Site], outcomes: dict[int, str], reasons: dict[int, str], total: int) -> int:
    counted = [s for s in sites if outcomes.get(s.number, "none") != "none" and s.number not in reasons]
    for site in counted:
        if outcomes[site.number] != "killed":
            print(f"{outcomes[site.number]:9} {site}\n          {site.text}")
    print()
    kinds = sorted({s.kind for s in counted})
    for kind in kinds:
        ends = Counter(outcomes[s.number] for s in counted if s.kind == kind)
        print(f"{kind:10} {ends['killed']:5} of {ends.total():5} killed")
    killed = sum(outcomes[s.number] == "killed" for s in counted)
    print(
        f"{killed} of {len(counted)} killed ({100 * killed / max(len(counted), 1):.1f} %), drawn from {total} mutants."
    )
    print(f"Equivalent, and not counted: {sum(s.number in reasons for s in sites)}.")
    return 0 if killed == len(counted) else 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rooms", nargs="*", default=ROOMS, help="folders and files of src/core")
    parser.add_argument("--kinds", nargs="*", help="comparison boundary sign factor extreme condition side; else all")
    parser.add_argument("--sample", type=int, default=0, help="so many mutants, drawn at random; all if 0")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of those drawn first: a further sample")
    parser.add_argument("--jobs", type=int, default=1, help="so many at the same time")
    add_limits(parser)
    parser.add_argument("--only", nargs="*", default=[], metavar="FILE:LINE", help="those of these lines (of a sample)")
    parser.add_argument("--tests", nargs="*", default=TESTS, help="files and folders; a quick set if left out")
    options = parser.parse_args()
    # Numbers are the same for every choice of rooms among these.
    rooms = sorted({*ROOMS, *options.rooms})
    sites = all_mutated(ROOT / "src" / "core", rooms)[1]
    reasons = equivalents(sites)
    chosen = [s for s in sites if any(s.path == room or s.path.startswith(f"{room}/") for room in options.rooms)]
    if options.kinds:
        chosen = [s for s in chosen if s.kind in options.kinds]
    if options.only and not options.sample:
        chosen = [s for s in chosen if f"{s.path}:{s.line}" in options.only]
    total = len(chosen)
    random.Random(options.seed).shuffle(chosen)
    sample = options.sample or total
    # One build serves the first samples of a seed.
    build(rooms, {site.number for site in chosen[: max(2 * sample, options.skip + sample)]}, options.jobs)
    chosen = chosen[options.skip : options.skip + sample]
    counted = [site for site in chosen if site.number not in reasons]
    if options.only:
        counted = [site for site in counted if f"{site.path}:{site.line}" in options.only]
    return tell(chosen, judged(counted, options), reasons, total)


if __name__ == "__main__":
    sys.exit(main())

"""A short run of each fuzz target; `make fuzz` has the long ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Skip unless there is a clang with libFuzzer and its sanitizers."""
    clang = shutil.which("clang++")
    if clang is None:
        pytest.skip("needs clang++ with libFuzzer (Debian, Ubuntu: apt install clang)")
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "t.cpp").write_text('extern "C" int LLVMFuzzerTestOneInput(const char*, unsigned long) { return 0; }')
    flags = ["-fsanitize=fuzzer,address,undefined", "t.cpp", "-o", "t"]
    if subprocess.run([clang, *flags], cwd=folder, capture_output=True).returncode:
        pytest.skip("this clang++ has no libFuzzer (Debian, Ubuntu: apt install libclang-rt-14-dev)")


@pytest.mark.parametrize("target", sorted(p.name.removesuffix("_fuzz.cpp") for p in ROOT.glob("fuzz/*_fuzz.cpp")))
def test_any_bytes_end_in_rows_or_an_error(fuzzer: None, target: str) -> None:
    done = subprocess.run([ROOT / "fuzz" / "run.sh", target, "10000"], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "stat::number_of_executed_units: 100" in done.stderr

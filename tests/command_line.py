"""Commands in a process of their own, for the tests of the command line."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

SURELINE = [sys.executable, "-m", "sureline"]


def run(*arguments: Any, stdin: bytes | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [*SURELINE, *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, timeout=120, **options)
    done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in done.stderr
    return done


def succeed(*arguments: Any, **options: Any) -> str:
    done = run(*arguments, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fail(status: int, *arguments: Any, **options: Any) -> str:
    """The one sentence that a command complains with."""
    done = run(*arguments, **options)
    assert done.returncode == status, done.stderr
    assert done.stderr.startswith("sureline"), done.stderr
    assert done.stderr.count("\n") == 1
    return done.stderr

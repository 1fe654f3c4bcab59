"""The most memory that a process has had, as its own programs ask for it."""

from __future__ import annotations

import sys

import pytest

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="how much of a mapping is resident is Linux's business")

# A line for programs that are processes of their own: what getrusage tells includes the peak of the one that started
# them, and tests that ran before may have made that large. In MiB.
PEAK = "peak = lambda: next(int(line.split()[1]) / 1024 for line in open('/proc/self/status') if 'VmHWM' in line)\n"

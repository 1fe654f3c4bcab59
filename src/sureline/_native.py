"""The compiled core. All of the package reaches it through this module."""

import sys

if not getattr(sys, "_is_gil_enabled", lambda: True)():
    raise ImportError(
        "sureline needs Python's global interpreter lock, which this free-threaded Python runs without: take a build "
        "of Python that is not free-threaded (python3.13 rather than python3.13t)."
    )

from . import _core as _core

__all__ = ["_core"]

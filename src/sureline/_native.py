"""The compiled core. All of the package reaches it through this module."""

from . import _core as _core

__all__ = ["_core"]

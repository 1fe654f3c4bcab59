"""Models shared by threads: many may ask at the same time; a call that learns excludes all others.

A call that asks sees one whole model: from before or after each call that learns. A call that would wait for itself
raises RuntimeError.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, Self, TypeVar

from .._native import _core

P = ParamSpec("P")
Result = TypeVar("Result")
Kind = TypeVar("Kind")


class _OwnGate:
    """Creates the gate of an object at the first use."""

    def __get__(self, guarded: Any, owner: Any) -> Any:
        return self if guarded is None else guarded.__dict__.setdefault("_gate", _core.Gate())


class Guarded:
    """Base of objects that threads share. Learned attributes are read through a gate.

    Properties whose name ends with an underscore are guarded at their declaration, methods by `asks`.
    """

    _gate = _OwnGate()

    def __post_init__(self) -> None:
        object.__setattr__(self, "_gate", _core.Gate())

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        guard_properties(cls)

    def _snapshot(self) -> dict[str, Any]:
        """The attributes, with a model of their own."""
        with asking(self):
            attributes = self.__dict__.copy()
            attributes.pop("_gate", None)
            attributes.pop("_one", None)  # of the model that it was made for
            for name in ("_state", "_normalizer"):
                if name in attributes:
                    attributes[name] = copy.deepcopy(attributes[name])
            if "_origin" in attributes:  # its table of names grows in place
                attributes["_origin"] = attributes["_origin"].copy()
        return attributes

    def __copy__(self) -> Self:
        twin = object.__new__(type(self))
        twin.__dict__.update(self._snapshot())
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        twin = object.__new__(type(self))
        memo[id(self)] = twin
        for name, value in self._snapshot().items():
            twin.__dict__[name] = value if name in ("_state", "_normalizer", "_origin") else copy.deepcopy(value, memo)
        return twin

    def __getstate__(self) -> dict[str, Any]:
        return self._snapshot()


def shared_by_threads(kind: type[Kind]) -> type[Kind]:
    """Give a class and its subclasses the methods of `Guarded`, without a further base class."""
    for name in ("_gate", "__post_init__", "_snapshot", "__copy__", "__deepcopy__", "__getstate__"):
        if name not in vars(kind):  # not if the class defines it
            setattr(kind, name, vars(Guarded)[name])

    shared: Any = kind

    def declared(cls: Any, /, **more: Any) -> None:
        super(shared, cls).__init_subclass__(**more)
        guard_properties(cls)

    shared.__init_subclass__ = classmethod(declared)
    guard_properties(kind)
    return kind


def guard_properties(kind: type) -> None:
    """Wrap the properties of a class whose names end with an underscore, so that each access sees one model."""
    for name, value in list(vars(kind).items()):
        if name.endswith("_") and not name.startswith("_") and isinstance(value, property) and value.fget:
            setattr(kind, name, property(asks(value.fget), value.fset, value.fdel, value.__doc__))


def asking(guarded: Any) -> _core.Reading:
    """A context in which no other thread changes the model."""
    reading: _core.Reading = guarded._gate.reading
    return reading


def teaching(guarded: Any) -> _core.Changing:
    """A context in which no other thread uses the model."""
    changing: _core.Changing = guarded._gate.changing
    return changing


def asks(method: Callable[P, Result]) -> Callable[P, Result]:
    """Decorate a method so that it sees one model from beginning to end."""

    @wraps(method)
    def guarded(*arguments: P.args, **named: P.kwargs) -> Result:
        with asking(arguments[0]):
            return method(*arguments, **named)

    return guarded

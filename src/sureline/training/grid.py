"""The learners of a tournament, from a grid of algorithms and parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from itertools import product
from typing import Any

import numpy as np

from ..learners.catalogue import LEARNERS, learner_named, learner_of
from ..learners.learner import ClassLearner, Learner
from ..learners.online import OnlineLearner
from ..learners.parameters import Number
from ..learners.rule import RuleLearner
from .choosing import settings_of

MOST = 10_000  # more settings are refused as a mistake


@dataclass(frozen=True)
class Entry:
    """A fresh learner that takes part."""

    name: str
    learner: ClassLearner
    parameters: dict[str, Any]  # parameters that were set, or differ from the defaults
    others: tuple[dict[str, Any], ...] = ()  # settings that take part instead if the first rows say so


def every_learner() -> list[str]:
    """The classifiers that see one example at a time, which any stream can afford."""
    return [name for name, kind in LEARNERS.items() if issubclass(kind, OnlineLearner)]


def entries_of(grid: Any, **shared: Any) -> list[Entry]:
    """The learners that a grid stands for.

    Parameters
    ----------
    grid : list, dict or estimator
        A list of estimators and names of algorithms. A name stands for the best of some settings on the first rows, if
        `shared` has none of its own parameters. Or a dict of names to estimators. Or a dict of algorithms to values of
        each parameter: every combination takes part, and {} or None is the algorithm's search space.
    **shared
        Parameters of all learners that are made from names of algorithms.
    """
    if isinstance(grid, Mapping):
        entries = [entry for name, content in grid.items() for entry in _of_name(str(name), content, shared)]
    elif isinstance(grid, Learner | str):
        entries = [_alone(grid, shared)]
    elif isinstance(grid, Iterable):
        entries = [_alone(item, shared) for item in grid]
    else:
        raise _no_grid(grid)
    if not entries:
        raise ValueError("The grid must have at least one learner. Got none.")
    _refuse_twins(entries)
    return entries


def settings(kind: type[Learner], values: Mapping[str, Any] | None, **shared: Any) -> list[Entry]:
    """A learner for every combination of these values, by default of its search space."""
    if not issubclass(kind, ClassLearner):
        raise _no_classifier(kind)
    space = dict(kind.search_space) if not values else {name: _listed(kind, name, v) for name, v in values.items()}
    n = 1
    for name, choices in space.items():
        if not choices:
            raise ValueError(f"The grid has no value for {name!r} of {kind.__name__}.")
        often, times = Counter(map(_short, choices)).most_common(1)[0]
        if times > 1:
            raise ValueError(f"The grid has {often} more than once for {name!r} of {kind.__name__}.")
        n *= len(choices)
    if n > MOST:
        raise ValueError(f"The grid has {n} settings of {kind.__name__}; more than {MOST} cannot be meant.")
    made = []
    for combination in product(*space.values()):
        chosen = dict(zip(space, combination, strict=True))
        made.append(_entry(_made(kind, {**shared, **chosen}), {**shared, **chosen}, shared, tried=space))
    return made


def _of_name(name: str, content: Any, shared: dict[str, Any]) -> list[Entry]:
    if isinstance(content, Learner):
        entry = _alone(content, shared)
        return [Entry(name, entry.learner, entry.parameters)]
    if content is None or isinstance(content, Mapping):
        return settings(learner_named(name), content, **shared)
    raise ValueError(
        f"The grid must have an estimator for {name!r}, or the values of its parameters as a dict, such as "
        f'{{"C": [0.1, 1, 10]}}. Got {content!r} instead.'
    )


def _alone(item: Any, shared: dict[str, Any]) -> Entry:
    if isinstance(item, str):
        kind = learner_named(item)
        entry = _entry(_made(kind, shared), shared, shared)
        return replace(entry, others=tuple(settings_of(kind, shared)[1:]))
    if not isinstance(item, Learner):
        raise _no_grid(item)
    if not isinstance(item, ClassLearner):
        raise _no_classifier(type(item))
    try:
        kind = learner_of(item)
    except ValueError as error:
        raise ValueError(f"{error} It cannot take part in a tournament, which reads a stream.") from None
    return _entry(_made(kind, item.parameters()), {})


def _made(kind: type[Learner], parameters: dict[str, Any]) -> ClassLearner:
    if not issubclass(kind, ClassLearner):
        raise _no_classifier(kind)
    own = {field.name for field in fields(kind)}
    if strangers := sorted(set(parameters) - own):
        raise ValueError(f"{kind.__name__} has no parameter {strangers[0]!r}; it has {', '.join(sorted(own))}.")
    learner = kind(**{"dtype": kind.stream_dtype, **parameters})
    learner.check_parameters()
    if isinstance(learner, RuleLearner) and learner.passes > 1:
        raise ValueError(
            f"A tournament reads its stream once, so the 'passes' parameter of {kind.__name__} must be 1. "
            f"Got {learner.passes!r} instead."
        )
    return learner


def _entry(
    learner: ClassLearner, given: Mapping[str, Any], shared: Iterable[str] = (), tried: Iterable[str] = ()
) -> Entry:
    """Name the entry by the parameters in which entries differ."""
    parameters = {
        field.name: getattr(learner, field.name)
        for field in fields(learner)
        if field.name in given or (field.name != "dtype" and getattr(learner, field.name) != _default(field))
    }
    untold = (_UNTOLD | (set(shared) & _OF_EVERY_LEARNER)) - set(tried)
    told = {name: value for name, value in parameters.items() if name not in untold}
    name = type(learner).__name__
    if told:
        name += f"({', '.join(f'{key}={_short(value)}' for key, value in told.items())})"
    return Entry(name, learner, parameters)


_UNTOLD = {"dtype", "bits"}  # not worth a word in a name
_OF_EVERY_LEARNER = {field.name for field in fields(ClassLearner)}


def _default(field: Any) -> Any:
    return field.default_factory() if field.default is MISSING else field.default


def _short(value: Any) -> str:
    value = value.item() if isinstance(value, np.generic) else value
    return f"{value:g}" if isinstance(value, float) and float(f"{value:g}") == value else repr(value)


def _listed(kind: type[Learner], name: str, values: Any) -> list[Any]:
    """The values of a parameter as a list; a single value may come alone."""
    alone = isinstance(values, str) or not isinstance(values, Iterable)
    listed = [values] if alone else list(values)
    constraint = kind.constraint_of(name)
    if isinstance(constraint, Number) and constraint.integer:
        listed = [int(v) if isinstance(v, float) and v.is_integer() else v for v in listed]
    return listed


def _refuse_twins(entries: Sequence[Entry]) -> None:
    seen: set[str] = set()
    for entry in entries:
        if entry.name in seen:
            raise ValueError(
                f'Two learners are both {entry.name}: give them names, as in {{"one": AROW(), "another": AROW()}}.'
            )
        seen.add(entry.name)


def _no_grid(item: Any) -> ValueError:
    return ValueError(
        "The grid must be a list of estimators or names of algorithms, a dict of names to estimators, or a dict of "
        f"names of algorithms to the values of their parameters. Got {item!r} instead."
    )


def _no_classifier(kind: type[Learner]) -> ValueError:
    return ValueError(
        f"{kind.__name__} predicts numbers: it cannot take part in a tournament, which compares classifiers by their "
        "mistakes."
    )

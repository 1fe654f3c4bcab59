"""The parameters of the learners as options, derived from their classes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from math import inf
from typing import Any, TypeVar

import click

from ..learners.catalogue import LEARNERS, learner_named
from ..learners.learner import Learner
from ..learners.online import OnlineLearner
from ..learners.parameters import Flag, FlagOrNumber, Number, OneOf
from ..models.scaling import DEFAULT
from ..stream import from_text
from ..training.commands import ONLY_PYTHON, flag
from ._help import OfLearner, ParamType, Rare
from ._options import all_of

F = TypeVar("F", bound=Callable[..., Any])

# Parameters of the base class that apply here, with the defaults of the command line.
_SHARED = {
    "normalize": DEFAULT,
    "fit_intercept": True,
    "dtype": Learner.stream_dtype,
    "multi_class": "native",
    "class_weight": None,
    "passes": 1,
    "average": False,
}
_OF_ONE_RUN = {"passes", "average"}  # where many learners run, not all of them have these
_COMMON = {"normalize", "passes"}  # parameters that all learners have
LEFT_OUT = {"bits", *ONLY_PYTHON}


class Cost(ParamType):
    """balanced, or the cost of a missed positive and of a false alarm."""

    name = "cost"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == "balanced":
            return value
        try:
            positive, negative = (float(part) for part in value.split(","))
        except ValueError:
            positive = negative = -1.0
        if not (0 < positive < inf and 0 < negative < inf):
            self.fail(f"{value!r} is neither balanced nor two positive numbers such as 10,1.", param, ctx)
        return positive, negative


class Average(ParamType):
    """The value of --average: all, none, or a half-life."""

    name = "average"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        if value in ("all", "none"):
            return value == "all"
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither all, nor none, nor a half-life in rows such as 10000.", param, ctx)


class ClassWeights(ParamType):
    """balanced, or labels with their weights."""

    name = "class-weight"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str) or value == "balanced":
            return value
        weights: dict[Any, float] = {}
        for pair in value.split(","):
            label, equals, weight = pair.rpartition("=")
            try:
                weights[from_text(label.strip())] = float(weight)
            except ValueError:
                equals = ""
            if not equals or not 0 <= float(weight) < inf:
                self.fail(f"{value!r} is neither balanced nor labels with weights such as spam=5,ham=1.", param, ctx)
        return weights


def parameter_options() -> Callable[[F], F]:
    """An option for every parameter of every learner."""
    published = click.option(
        "--as-published",
        cls=Rare,
        is_flag=True,
        help="Use the paper's values for parameters that are not given, without intercept, scaling and shuffling, in "
        "float64.",
    )
    return all_of([*(_option(name, owners) for name, owners in _owners().items()), published])


def shared_options() -> Callable[[F], F]:
    """An option for every parameter that all learners share and that applies to a single pass."""
    owners = _owners()
    return all_of([_option(name, owners[name]) for name in _SHARED if name not in _OF_ONE_RUN])


def given_parameters(options: dict[str, Any], algorithm: str) -> dict[str, Any]:
    """Parameters of learners that were set, taken out of the options of a command."""
    taken = {name: options.pop(name) for name in _owners()}
    given = {name: value for name, value in taken.items() if value is not None}
    if not options.pop("as_published"):
        return given
    try:
        published = learner_named(algorithm).published_parameters(given)
    except ValueError:
        raise click.UsageError("--as-published goes with --algorithm NAME, the name of a learner.") from None
    return {name: value for name, value in published.items() if name not in LEFT_OUT} | given


def make_learner(learner: type[Learner], parameters: dict[str, Any]) -> Learner:
    """The learner with these parameters."""
    own = {field.name for field in fields(learner)}
    parameters = dict(parameters)
    strangers = sorted(name for name in parameters if name not in own)
    if strangers:
        known = ", ".join(flag(name) for name in sorted(own - LEFT_OUT))
        raise click.UsageError(f"{flag(strangers[0])} is no parameter of {learner.__name__}, which has {known}.")
    for name, value in parameters.items():
        constraint = learner.constraint_of(name)
        if isinstance(constraint, Number) and constraint.integer and isinstance(value, float) and value.is_integer():
            parameters[name] = int(value)  # another learner has a float of this name
    try:
        made = learner(**{"dtype": learner.stream_dtype, **parameters})
        made.check_parameters()
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return made


def _owners() -> dict[str, list[type[Learner]]]:
    """Every parameter with its learners; parameters of all learners come last."""
    owners: dict[str, list[type[Learner]]] = {}
    for learner in LEARNERS.values():
        for field in fields(learner):
            if field.name not in LEFT_OUT and field.name not in _SHARED:
                owners.setdefault(field.name, []).append(learner)
    base: Any = OnlineLearner
    return {**dict(sorted(owners.items(), key=lambda item: item[0].lower())), **{name: [base] for name in _SHARED}}


def _option(name: str, owners: list[type[Learner]]) -> Callable[[F], F]:
    words, attributes = _declaration(name, owners)
    if name in _SHARED:
        return click.option(*words, cls=None if name in _COMMON else Rare, **attributes)
    return click.option(*words, cls=OfLearner, of=partial(_of, name), **attributes)


def _of(name: str, kind: type[Learner]) -> click.Option | None:
    """The option for a parameter of one learner; None if the learner does not have it."""
    if name not in {field.name for field in fields(kind)}:
        return None
    words, attributes = _declaration(name, [kind])
    return click.Option(words, **attributes)


def _declaration(name: str, owners: list[type[Learner]]) -> tuple[list[str], dict[str, Any]]:
    """The names of a parameter's option, and its other attributes."""
    constraints = [owner.constraint_of(name) for owner in owners]
    text = f"{_description(name, owners)} {_defaults(name, owners)}"
    if isinstance(constraints[0], Flag):
        return [f"{flag(name)}/--no-{name.replace('_', '-')}", name], {"default": None, "help": text}
    kind: Any = ClassWeights() if name == "class_weight" else Cost()
    if isinstance(constraints[0], OneOf):
        words = {word for constraint in constraints if isinstance(constraint, OneOf) for word in constraint.words}
        kind = click.Choice(sorted(words))
    elif isinstance(constraints[0], FlagOrNumber):
        kind = Average()
    elif isinstance(constraints[0], Number):
        kind = int if all(isinstance(c, Number) and c.integer for c in constraints) else float
    return [flag(name), name], {"type": kind, "help": text}


def _defaults(name: str, owners: list[type[Learner]]) -> str:
    """The default, or the defaults by learner."""
    by_default: dict[str, list[str]] = {}
    for owner in owners:
        default = next(field.default for field in fields(owner) if field.name == name)
        default = "none" if name == "average" else _SHARED.get(name, default)
        shown = f"{default:.6g}" if isinstance(default, float) else str(default)
        shown = shown.lower() if default is None or isinstance(default, bool) else shown
        by_default.setdefault(shown, []).append(owner.__name__)
    if owners == [OnlineLearner]:
        others = [other for other in LEARNERS.values() if name == "dtype" and other.stream_dtype != _SHARED[name]]
        by_dtype: dict[str, list[str]] = {}
        for other in others:
            by_dtype.setdefault(str(other.stream_dtype), []).append(other.__name__)
        ours = "".join(f"; {dtype} ({', '.join(names)})" for dtype, names in by_dtype.items())
        return f"[default: {next(iter(by_default))}{ours}]"
    if len(owners) == 1 and len(by_default) == 1:
        return f"[default: {next(iter(by_default))}]"
    return "[default: " + "; ".join(f"{value} ({', '.join(names)})" for value, names in by_default.items()) + "]"


def _description(name: str, owners: list[type[Learner]]) -> str:
    """The first sentence on the parameter in the docstrings, with the learners that have it where it differs."""
    if name == "average":  # likewise
        return "Predict with the average of the weights along the stream: all, none, or the half-life in rows."
    if name == "cost":  # the form on the command line
        alarm = "Cost of a mistake: balanced, or two numbers such as 10,1, for a missed positive and a false alarm."
        return f"{alarm} Two numbers need --labels."
    if name == "class_weight":
        return "Weight of each class: balanced, by the counts so far, or labels with weights such as spam=5,ham=1."
    by_sentence: dict[str, list[str]] = {}
    for owner in owners if owners != [OnlineLearner] else [LEARNERS["AROW"]]:
        found = re.search(rf"^    {name} : [^\n]*\n((?:        [^\n]*\n)+)", owner.__doc__ or "", re.MULTILINE)
        text = " ".join(found[1].split()) if found else ""
        if text:
            by_sentence.setdefault(re.split(r"(?<=\.)\s", text)[0], []).append(owner.__name__)
    several = " ".join(f"{', '.join(names)}: {sentence}" for sentence, names in by_sentence.items())
    text = next(iter(by_sentence)) if len(by_sentence) == 1 else several
    return re.sub(r"`(\w+)`", lambda named: flag(named[1]) if _is_parameter(named[1], owners) else named[0], text)


def _is_parameter(name: str, owners: list[type[Learner]]) -> bool:
    return any(name in {field.name for field in fields(owner)} - LEFT_OUT for owner in owners)

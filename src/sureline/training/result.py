"""The result of a tournament, as plain numbers and words: for JSON, and for a page."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, TypedDict

from ..models.tables import Tabular, text_table

Status = Literal["finished", "dropped", "failed"]
MetricName = Literal["error", "cost", "balanced_accuracy", "log_loss", "brier", "auc"]
Label = str | int | float | bool


class StreamFacts(TypedDict):
    """The data as it was read."""

    paths: list[str]
    rows: int
    columns: int
    nonzeros: int
    skipped_lines: int
    classes: list[Label]
    class_counts: list[int]
    complete: bool  # whether it was read to its end
    problem: str | None  # why it ended early, or a warning about its rows


class _ErrorCurve(TypedDict):
    examples: list[int]
    error: list[float]


class Curve(_ErrorCurve, total=False):
    """The progressive error along the stream; also the tournament's metric, if it is another."""

    score: list[float]


class ReliabilityBin(TypedDict):
    """Predictions of similar confidence."""

    confidence: float  # their mean
    accuracy: float  # the share of them that was right
    count: int


class CoveragePoint(TypedDict):
    """The surest predictions of a learner."""

    coverage: float  # their share
    error: float  # the share of them that was wrong


# "class" is no valid attribute name, so this type is made by a call.
TopFeature = TypedDict(
    "TopFeature",
    {
        "name": str,
        "column": int,
        "weight": float,
        "std": float | None,  # None for learners without one
        "class": Label | None,  # the label that a positive weight speaks for, with more than two
    },
)


_TIES_SHOWN = 5
_FORMATS = {"learner": "{}", "status": "{}", "nonzeros": "{:,}", "seconds": "{:.3g}"}


@dataclass(frozen=True, kw_only=True)
class Run:
    """A learner with a setting. Unknown values are None.

    Attributes
    ----------
    name : str
        Unique, such as "SCW(C=0.5, eta=0.9)".
    parameters, all_parameters : dict
        Those that were set or differ from the defaults, and all.
    status, reason : str, str or None
        "finished", "dropped" by the racing rule or "failed", and why.
    examples : int
        How many it has learned from.
    error, error_se, error_interval : float, float, [low, high]
        The progressive error (each example is predicted, then learned from), its standard error and 95 % interval.
    balanced_accuracy, balanced_accuracy_se, cost, cost_se : float
        The same way; cost is the mean of an example.
    score, score_se : float
        Those of the metric of the tournament.
    frozen_error : float
        That of the model at the end of a block on a sample of the next one: where labels come in runs, the progressive
        error flatters learners that follow them.
    updates, nonzeros, features : int
    seconds : float
        Of learning alone.
    model_bytes : int
        Memory of the state.
    curve, reliability, coverage, top_features
        What the pictures show.
    train_command : str or None
        The command that makes this model alone, bit for bit; None if there is none, as for rows in memory and for a
        stream that was not read whole. For a run that was dropped, the model that it would have become.
    """

    name: str
    algorithm: str
    parameters: dict[str, Any] = field(default_factory=dict)
    all_parameters: dict[str, Any] = field(default_factory=dict)
    normalize: str | None = None
    status: Status = "finished"
    reason: str | None = None
    examples: int = 0
    mistakes: int = 0
    error: float | None = None
    error_se: float | None = None
    error_interval: list[float] | None = None
    balanced_accuracy: float | None = None
    balanced_accuracy_se: float | None = None
    cost: float | None = None
    cost_se: float | None = None
    score: float | None = None
    score_se: float | None = None
    frozen_error: float | None = None
    updates: int = 0
    nonzeros: int | None = None
    features: int = 0
    seconds: float = 0.0
    model_bytes: int = 0
    curve: Curve = field(default_factory=lambda: Curve(examples=[], error=[]))
    reliability: list[ReliabilityBin] | None = None
    coverage: list[CoveragePoint] | None = None
    top_features: list[TopFeature] = field(default_factory=list)
    train_command: str | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the error."""
        return None if self.error_interval is None else (self.error_interval[0], self.error_interval[1])


@dataclass(frozen=True, kw_only=True, repr=False)
class TournamentResult(Tabular):
    """The result of a tournament.

    Attributes
    ----------
    version, date, command : str
        Of the library; when it began (ISO, UTC); the command line or the call that it was.
    metric : {"error", "cost", "balanced_accuracy", "log_loss", "brier", "auc"}
        What decides.
    seconds : float
    memory_bytes : int
        What was said before the start that the models may take.
    stream : StreamFacts
    choice : str or None
        How settings were chosen for learners that came by name alone, in words, if any were.
    rules : str or None
        The racing rule in words, if one was used.
    runs : list of Run
    best : str or None
        The name of the best run by the metric among those that finished.
    ties : list of str
        The names of the runs that cannot be told from it (paired, 95 %).
    models : dict
        The trained estimators of the runs that finished, by name. They are no part of `to_dict`.
    """

    version: str
    date: str
    command: str
    metric: MetricName
    seconds: float
    memory_bytes: int
    stream: StreamFacts
    choice: str | None = None
    rules: str | None = None
    runs: list[Run] = field(default_factory=list)
    best: str | None = None
    ties: list[str] = field(default_factory=list)
    models: dict[str, Any] = field(default_factory=dict, compare=False)

    def run(self, name: str) -> Run:
        """The run of that name."""
        for run in self.runs:
            if run.name == name:
                return run
        raise KeyError(f"There is no run {name!r} in this result.")

    def weights(self, run: Run) -> int:
        """Number of weights of a run's model, zero or not: one per feature, and per class if there are more."""
        n_classes = len(self.stream["classes"])
        return run.features * (n_classes if n_classes > 2 else 1)

    def table(self) -> list[dict[str, Any]]:
        """A row for each run, best first: how it ended, its errors, and the size of its model."""
        better = -1 if self.metric in ("balanced_accuracy", "auc") else 1
        order = sorted(
            self.runs,
            key=lambda run: (run.status != "finished", run.score is None, better * (run.score or 0.0)),
        )
        measured = {} if self.metric in ("error", "balanced_accuracy") else {self.metric: "score"}
        return [
            {
                "learner": run.name,
                "status": run.status,
                **{name: getattr(run, attribute) for name, attribute in measured.items()},
                "error": run.error,
                "error_low": None if run.interval is None else run.interval[0],
                "error_high": None if run.interval is None else run.interval[1],
                "frozen_error": run.frozen_error,
                "balanced_accuracy": run.balanced_accuracy,
                "nonzeros": run.nonzeros,
                "seconds": run.seconds,
            }
            for run in order
        ]

    def __repr__(self) -> str:
        rows = [
            ["-" if value is None else _FORMATS.get(name, "{:.4f}").format(value) for name, value in row.items()]
            for row in self.table()
        ]
        heading = f"Tournament of {len(self.runs)} learners by {self.metric}, best: {self.best}"
        if len(self.ties) > 0:
            others = f" and {len(self.ties) - _TIES_SHOWN} more" if len(self.ties) > _TIES_SHOWN else ""
            heading += f" (cannot be told from it: {', '.join(self.ties[:_TIES_SHOWN])}{others})"
        return heading + ("\n" + text_table([list(self.table()[0]), *rows], "<<") if rows else "")

    def to_dict(self) -> dict[str, Any]:
        """The result in JSON's types. Non-finite numbers are None."""
        told: dict[str, Any] = plain(asdict(replace(self, models={})))
        del told["models"]
        return told


def plain(value: Any) -> Any:
    """A value in JSON's types; non-finite numbers are None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "item") and not isinstance(value, str):  # a NumPy scalar
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)

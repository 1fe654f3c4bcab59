"""The tournament in one call."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..stream import READING, Label, Stream, read
from ..stream.arrays import ArrayStream, rows_of
from ..stream.runs import LabelRuns, LabelRunsWarning
from .grid import entries_of
from .metric import Metric
from .order import Asked, Order, decide
from .result import MetricName, TournamentResult
from .result_of import result_of
from .room import dtype_to_read
from .tournament import Standing, Tournament
from .train import BATCH


def tournament(
    grid: Any,
    stream: str | Path | Sequence[Any] | Stream,
    *,
    metric: MetricName = "error",
    cost: tuple[float, float] | None = None,
    labels: Sequence[Label] | None = None,
    race: bool = False,
    shuffle: Asked = "auto",
    memory: int | None = None,
    batch: int = BATCH,
    reliability: bool = True,
    on_progress: Callable[[Standing], None] | None = None,
    **options: Any,
) -> TournamentResult:
    """Train many learners in one reading of a stream, and recommend one.

    Every learner ends with the bits of training it alone. Each is judged by progressive mistakes: every example is
    predicted before it is learned from.

    Parameters
    ----------
    grid : list or dict
        The learners. Either a list of estimators and names of algorithms; the first rows choose the settings of a name,
        as in `sureline.train`. Or a dict of names to estimators. Or a dict of algorithms to values of their parameters,
        such as ``{"scw": {"C": [0.1, 1]}, "arow": None}``: every combination takes part, and None or {} is the search
        space of the class (`SCW.search_space`). Estimators are not changed. Those made from names have
        ``dtype="float32"``, as in `sureline.train`.
    stream : path, glob, list of them, sureline.stream.Stream, or (X, y) or (X, y, sample_weight)
        The data. The columns of a DataFrame keep their names, as with `fit`. For files, the labels of the first chunk
        are sorted, so the larger of two is the positive one. Others follow as they come.
    metric : {"error", "cost", "balanced_accuracy", "log_loss", "brier", "auc"}, default="error"
        Metric that decides.
    cost : pair of floats, default=None
        Cost of a missed positive and of a false alarm, for the metric "cost" and two classes; 1 each if None.
    labels : sequence, default=None
        All labels, the negative one first.
    race : bool, default=False
        Drop learners that are clearly behind the leader and not catching up. The rule drops the eventual winner in at
        most 1 % of races; it is in `rules` of the result.
    shuffle : bool or "auto", default="auto"
        Learn from the rows in random order. By default so if labels come in runs, with a `LabelRunsWarning`, as `fit`
        and `sureline.train` do.
    memory : int, default=None
        Memory limit for the models, in bytes; half of the machine's if None. More is refused before the start. If the
        data get wider later (or, for BCW, longer than estimated), learners are dropped, the largest first.
    batch : int, default=100000
        Rows of a batch, for batch learners (BCW, SBCW, FGM). They predict each batch before they learn from it, and
        are never dropped.
    reliability : bool, default=True
        Ask learners with probabilities for their confidence in a sample of the examples.
    on_progress : callable, default=None
        Called with a Standing after each chunk.
    **options
        Options of `sureline.stream.read`, such as `format`, `label` and `bits`.

    Returns
    -------
    TournamentResult
        `best`, `ties` that cannot be told from it, a `Run` for each learner, and the trained estimators in `models`.
        The run of a learner that failed has the reason. ``stream["problem"]`` says what is wrong with the data.

    Examples
    --------
    >>> import sureline
    >>> from sureline.datasets import make_sparse_stream
    >>> X, y = make_sparse_stream(2000, 1000, 20, random_state=0)
    >>> result = sureline.tournament({"scw": {"C": [0.1, 1.0]}, "perceptron": None}, (X, y))
    >>> [run.name for run in result.runs]
    ['SCW(C=0.1)', 'SCW(C=1)', 'Perceptron']
    >>> result.models[result.best].n_mistakes_ == result.run(result.best).mistakes
    True
    """
    reading = {name: options.pop(name) for name in READING if name in options}
    if options:
        raise TypeError(f"tournament has no parameter {min(options)!r}.")
    entries = entries_of(grid)
    dtype = dtype_to_read([entry.learner for entry in entries])
    source: Stream
    if isinstance(stream, Stream):
        if reading:
            raise TypeError(f"{', '.join(reading)} must be set where the stream is made, by sureline.stream.read.")
        source = stream if stream.dtype == dtype else stream.with_options(dtype=dtype)
    elif isinstance(stream, tuple) and stream and not isinstance(stream[0], str | os.PathLike):
        if reading:
            raise TypeError(f"{', '.join(reading)} has no meaning for rows in memory.")
        source, labels = rows_of(stream, dtype, labels)
        if source.column_names is not None:
            for entry in entries:
                if not entry.learner.growing:  # as in fit: a growing learner compares no names
                    entry.learner.feature_names_in_ = source.column_names
    else:
        source = read(_paths(stream), dtype=dtype, **{"collect_names": True, **reading})
    if shuffle not in (True, False, "auto"):
        raise ValueError(f"The 'shuffle' parameter of tournament must be a bool or 'auto'. Got {shuffle!r} instead.")
    order, said = Order(), None
    if not isinstance(source, ArrayStream):
        order = decide(source, entries[0].learner, shuffle)
        said = order.found
    elif shuffle is True or (shuffle == "auto" and (runs := LabelRuns.of(source.codes)).found):
        source = source.permuted(np.random.RandomState(0).permutation(len(source.codes)))  # as `fit` does
        said = None if shuffle is True else f"{runs.in_words()}; the rows are learned from in random order"
    if said is not None:
        warnings.warn(said.replace("--no-shuffle", "shuffle=False"), LabelRunsWarning, stacklevel=2)
    running = Tournament(
        entries,
        source,
        metric=Metric(metric, (1.0, 1.0) if cost is None else cost),
        labels=labels,
        race=race,
        memory=memory,
        batch=batch,
        reliability=reliability,
        order=order,
    )
    running.run(on_progress=on_progress)
    told = ", ".join(
        f"{name}={value!r}" for name, value in (("metric", metric), ("cost", cost), ("race", race)) if value
    )
    return result_of(running, f"sureline.tournament({len(entries)} learners, {source.paths}, {told})", models=True)


def _paths(stream: Any) -> Any:
    """The path or paths; None for other streams."""
    if isinstance(stream, str | os.PathLike):
        return stream
    paths = list(stream) if isinstance(stream, Sequence | Iterator) else [None]
    if not all(isinstance(path, str | os.PathLike) for path in paths):
        got = "None" if stream is None else f"one of the type {type(stream).__name__}"
        raise TypeError(
            "The stream must be a path, a list of paths, a sureline.stream.Stream, or rows in memory as (X, y) or "
            f"(X, y, sample_weight). Got {got} instead."
        )
    return paths

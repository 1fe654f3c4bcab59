"""Training in one call."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..learners.asking import Asking
from ..learners.catalogue import learner_named, learner_of
from ..learners.learner import Learner
from ..learners.online import OnlineLearner
from ..stream import READING, Label, Stream, read
from ..stream.outputs import check_outputs
from ..stream.runs import LabelRunsWarning
from ..stream.shuffling import BUFFER
from .checkpoint import Checkpointing
from .choosing import AUTO, candidates, refuse_unknown, settings_of
from .identity import Verify
from .metric import Metric
from .order import Asked, decide
from .progress import Progress
from .result import MetricName
from .start import Start, refuse_finished
from .train import Training

if TYPE_CHECKING:
    from ..estimators.saving import Estimator


# Parameters of `train` itself that are easily mistyped.
_OWN = ("model", "labels", "batch", "checkpoint", "metric", "committee", "resume", "shuffle", "shuffle_buffer", "seed")


def train(
    data: str | Path | Sequence[str | Path] | Stream | Any,
    algorithm: str | Estimator = AUTO,
    *,
    start: str | Path | Estimator | None = None,
    model: str | Path | None = None,
    labels: Sequence[Label] | None = None,
    batch: int | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 1_000_000,
    metric: MetricName = "error",
    committee: bool = True,
    resume: bool = False,
    verify: Verify = "sample",
    shuffle: Asked = "auto",
    shuffle_buffer: int = BUFFER,
    seed: int = 0,
    ask: float | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Estimator:
    """Train a learner on data of any size, as ``sureline train`` does.

    Parameters
    ----------
    data : path, glob, list of them, data frame, or sureline.stream.Stream
        A data frame may be one of pandas or Polars, also a lazy one, a table of pyarrow, or anything else with the
        Arrow C stream interface; `label` names the column to learn.
    algorithm : str or estimator, default="auto"
        A name such as "scw" or "ssol", or an estimator whose parameters are used; it is not changed. "auto" lets
        settings of several learners race along the stream, and makes one linear model of the best. A name without any
        of its own parameters or `normalize` takes the setting of that learner with the fewest mistakes on the first
        20,000 rows.
    start : path or model, default=None
        A model to continue from; it stays as it is. Its weights, labels, names, scales and counters go on, and `data`
        is read as its rows were. The result has the bits of one training over both data in order, except for batch
        learners whose batches end elsewhere. Another algorithm or parameter than the model's is refused; only `passes`
        may differ.
    model : path, default=None
        File to write the model to. It may be the file that `start` names.
    labels : sequence, default=None
        All labels, the negative one first. If None, the labels of the first chunk are sorted, so the larger of two is
        the positive one, and others follow as they come. Not for regressors, whose labels are numbers.
    batch : int, default=None
        Rows of a batch, for batch learners (BCW, SBCW, FGM); 100,000 if None. The last batch may be smaller.
    checkpoint : path, default=None
        File for a checkpoint every `checkpoint_every` examples, to go on from after a crash. It is removed at the end.
    metric : {"error", "log_loss", "brier", "auc"}, default="error"
        Metric that chooses among settings: mistakes, or how good the probabilities are.
    committee : bool, default=True
        With "auto" make one model of the best learners together; if False, that of the best one alone.
    resume : bool, default=False
        Continue from `checkpoint`; from the beginning if there is none and no finished `model` either.
    verify : {"sample", "full"}, default="sample"
        How `resume` checks that the data are unchanged: by size, inode, modification time and sampled blocks of each
        file; or by its full content, which reads the data once more and accepts a copy.
    shuffle : bool or "auto", default="auto"
        Learn from the rows in random order. By default it does so, with a `LabelRunsWarning`, if labels come in runs;
        these are looked for all over the files. Pieces of files come in random order into a buffer, which mixes their
        rows. For pipes, compressed files and CSV with newlines in cells the buffer alone mixes.
    shuffle_buffer : int, default=100000
        Rows of that buffer.
    seed : int, default=0
        Seed of the random order, and of the labels that `ask` asks for at random. The same files give the same order,
        with checkpoints and without.
    ask : float, default=None
        A label budget: learn from the labels of at most this share of the rows at any time, mostly of those that the
        learner is least sure of. No other label decides anything, so no settings are tried: "auto" is AROW, and a name
        has its defaults. Rows keep their order unless `shuffle` is True.
    on_progress : callable, default=None
        Called with a Progress now and then.
    **options
        Parameters of the algorithm if it is given by name (with "auto", those that all learners share), and options of
        `sureline.stream.read` such as `format`, `label`, `bits`, `categorical` and `interact`. `dtype` is "float32" by
        default ("float64" for ODCA and ODCARegressor), which halves the memory.

    Returns
    -------
    estimator
        The trained estimator, ready for predict and partial_fit.
    """
    from ..estimators.saving import as_estimator

    reading = {name: options.pop(name) for name in READING if name in options}
    parameters = options
    if start is None:
        refuse_unknown(algorithm, parameters, (*READING, *_OWN))
    learners: Sequence[Learner]
    racers: Sequence[OnlineLearner] = ()
    begin = None if start is None else _begin(start, algorithm, parameters, labels)
    if begin is not None:
        learners = [begin.learner]
    elif isinstance(algorithm, str) and ask is not None:
        learners = [asking_learner(algorithm, parameters)]
    elif isinstance(algorithm, str) and algorithm.lower() == AUTO:
        learners = racers = candidates(parameters)
    elif isinstance(algorithm, str):
        kind = learner_named(algorithm)
        learners = [kind(**{"dtype": kind.stream_dtype, **settings}) for settings in settings_of(kind, parameters)]
    elif parameters:
        raise TypeError(f"{', '.join(parameters)} must be set on the estimator that is passed as algorithm.")
    elif isinstance(algorithm, Learner):
        learners = [learner_of(algorithm)(**algorithm.parameters())]
    else:
        raise TypeError(f"algorithm must be a name or an estimator of sureline. Got {algorithm!r} instead.")
    learner = learners[0]
    if isinstance(data, Stream):
        if reading:
            raise TypeError(f"{', '.join(reading)} must be set where the stream is made, by sureline.stream.read.")
        stream = data if data.dtype == learner.dtype else data.with_options(dtype=learner.dtype)
    else:
        trained = {name: value for name, value in learner.origin.options.items() if name not in reading}
        stream = read(data, dtype=learner.dtype, fallback=trained, **{"collect_names": True, **reading})
    if begin is not None:
        begin.learner.origin.refuse_other(stream)
    _check_paths(stream.paths, model, checkpoint, start)
    path = None if checkpoint is None else Path(checkpoint)
    if resume and path is None:
        raise ValueError("resume needs the path of a checkpoint.")
    if resume and path is not None and not path.exists() and model is not None:
        refuse_finished(Path(model), path, None if start is None or begin is None else begin.name, "start=")
    going_on = resume and path is not None and path.exists()
    asked = False if (going_on or ask is not None) and shuffle == "auto" else shuffle
    order = decide(stream, learner, asked, buffer=shuffle_buffer, seed=seed)
    budget = None if ask is None else Asking(ask, seed)
    training = Training(
        learner, stream, labels=labels, batch=batch, verify=verify, start=begin, order=order, ask=budget
    )
    if len(racers) > 1:
        training.enter(racers, metric, committee=committee)
    if going_on and path is not None:
        training.resume(path, candidates=learners, decided=shuffle == "auto")
    elif order.runs is not None and order.notice is not None:
        warnings.warn(order.notice.replace("--no-shuffle", "shuffle=False"), LabelRunsWarning, stacklevel=2)
    if len(learners) > 1 and not racers and not training.begun:
        training.choose(learners, Metric(metric))
    training.run(
        checkpointing=None if path is None else Checkpointing(path, examples=checkpoint_every), on_progress=on_progress
    )
    if training.warning is not None:
        said = re.sub("--(no-)?shuffle", lambda found: f"shuffle={not found[1]}", training.warning)
        warnings.warn(said, LabelRunsWarning, stacklevel=2)
    if model is not None:
        training.save_model(Path(model))
    if path is not None:
        training.done_with(path)
    return as_estimator(training.learner)


def asking_learner(algorithm: str, parameters: dict[str, Any]) -> Learner:
    """The learner of a label budget: no settings are tried, since that takes labels."""
    kind = learner_named("AROW" if algorithm.lower() == AUTO else algorithm)
    return kind(**{"dtype": kind.stream_dtype, **parameters})


def _begin(start: Any, algorithm: str | Estimator, parameters: dict[str, Any], labels: Sequence[Label] | None) -> Start:
    """The model to continue from; an error if other arguments contradict it."""
    begin, kind = Start.of(start), None
    if isinstance(algorithm, Learner):
        kind, parameters = learner_of(algorithm), {**algorithm.parameters(), **parameters}
    elif algorithm.lower() != AUTO:
        kind = learner_named(algorithm)
    begin.refuse_other(kind=kind, parameters=parameters, labels=labels)
    return begin


def _check_paths(inputs: Sequence[str], model: Any, checkpoint: Any, start: Any) -> None:
    """Check that the model replaces no input, except the model it continues from."""
    outputs = {k: v for k, v in (("model", model), ("checkpoint", checkpoint)) if v is not None}
    read = [*inputs, *([start] if isinstance(start, str | Path) else [])]
    check_outputs(read, outputs, replaced={"model": str(start)} if isinstance(start, str | Path) else {})

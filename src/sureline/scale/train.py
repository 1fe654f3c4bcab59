"""Train on many workers in one call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._atomic import replacing
from ..learners.catalogue import learner_named, learner_of
from ..learners.class_weight import either
from ..learners.learner import Learner
from ..learners.online import OnlineLearner
from ..learners.saving import read_learner
from ..stream import READING, Label, Stream, read
from ..stream.arrays import ArrayStream
from ..stream.outputs import check_outputs
from ..stream.runs import LabelRunsWarning
from ..training.choosing import AUTO, best_of_race, candidates, choose, settings_of
from ..training.doubts import doubts
from ..training.metric import Metric
from ..training.order import decide
from ..training.result import MetricName
from .driver import Engine, Local, Plan, Progress, estimator, run, start
from .learning import can_merge, mergeable
from .mixing import ClassesOfShards
from .shards import SHARD_SIZE
from .team import FEW

if TYPE_CHECKING:
    from ..estimators.saving import Estimator


def train(
    data: str | Path | Sequence[str | Path] | Stream,
    algorithm: str | Estimator,
    *,
    engine: Engine | None = None,
    model: str | Path | None = None,
    labels: Sequence[Label] | None = None,
    shard_size: int = SHARD_SIZE,
    rounds: int = 1,
    passes: int = 1,
    metric: MetricName = "error",
    checkpoint: str | Path | None = None,
    resume: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> Estimator:
    """Train on shards of files, and merge what they have learned.

    The result depends on the data, the settings, `shard_size`, `rounds` and `passes`. It does not depend on the engine,
    the number of workers, or failing workers.

    Parameters
    ----------
    data : path, glob, list of them, or sureline.stream.Stream
    algorithm : str or estimator
        A name such as "arow", or an estimator whose parameters are used. A name without any of its own parameters tries
        settings of that learner on the first 20,000 rows, as `sureline.train` does. With "auto", all learners that race
        in `sureline.train` and can be merged race over these rows. The best four learn all shards, and rows that the
        shards hold back make a committee of them. Learners that cannot be merged are refused.
    engine : Engine, default=None
        Where shards are learned; None for one after the other in this process.
    model : path, default=None
        File to write the model to.
    labels : sequence, default=None
        All labels, the negative one first. If None, those of the first rows are sorted and others follow.
    shard_size : int, default=256 MiB
        Bytes of a shard, as they are on the disk. Smaller shards use more workers, and merging costs more accuracy.
    rounds : int, default=1
        Cut a pass into so many rounds, after each of which the shards are merged.
    passes : int, default=1
        Passes over the data; each has its rounds.
    metric : {"error", "log_loss", "brier", "auc"}, default="error"
        Metric that chooses among settings.
    checkpoint : path, default=None
        File to keep the model in after each round, for `resume`. It is removed at the end.
    resume : bool, default=False
        Go on after the last round that `checkpoint` has, to the same bits.
    on_progress : callable, default=None
        Called with a Progress after each shard.
    **options
        Parameters of the algorithm if it is given by name, and options of `sureline.stream.read`.

    Returns
    -------
    estimator
        The trained estimator, ready for predict and partial_fit.
    """
    reading = {name: options.pop(name) for name in READING if name in options}
    learners = learners_of(algorithm, options)
    learner = learners[0]
    if passes < 1:
        raise ValueError(f"passes must be an integer from 1. Got {passes!r} instead.")
    mergeable(learner)
    if isinstance(data, Stream):
        if reading:
            raise TypeError(f"{', '.join(reading)} must be set where the stream is made, by sureline.stream.read.")
        stream = data if data.dtype == learner.dtype else data.with_options(dtype=learner.dtype)
    else:
        stream = read(data, dtype=learner.dtype, **{"collect_names": True, **reading})
    outputs = {name: path for name, path in (("model", model), ("checkpoint", checkpoint)) if path is not None}
    check_outputs(stream.paths, outputs)
    if resume and checkpoint is None:
        raise ValueError("resume needs the path of a checkpoint.")
    plan = Plan.of(stream, size=shard_size, rounds=rounds, passes=passes)
    if not plan.rounds:
        raise ValueError("There is nothing to learn from: the files are empty.")
    order = decide(stream, learner, "auto")
    if order.runs is not None and order.runs.found:
        warnings.warn(
            f"{order.runs.in_words()}. Shards of such rows have one class each, and learn little from it: shuffle the "
            "rows before they are cut into shards.",
            LabelRunsWarning,
            stacklevel=2,
        )
    learners = begun_by(stream, labels, learners, metric)
    classes = ClassesOfShards()
    done = run(
        start(learners, stream, labels, metric),
        plan,
        engine or Local(),
        checkpoint=None if checkpoint is None else Path(checkpoint),
        resume=resume,
        on_progress=on_progress,
        classes=classes,
    )
    tell_doubts(done, stream, None if order.found else classes)
    if model is not None:
        with replacing(Path(model)) as out:
            out.write(done)
    return estimator(done)


def tell_doubts(model: bytes, stream: Stream, classes: ClassesOfShards | None) -> None:
    """Warn of what is doubtful about the data that the model was trained on, and about its classes in the shards."""
    trained = read_learner(model).learner
    said = None if isinstance(stream, ArrayStream) else doubts(trained, trained.labels, stream)
    if (reason := either(None if classes is None else classes.in_words(), said)) is not None:
        warnings.warn(reason, LabelRunsWarning, stacklevel=3)


def begun_by(
    stream: Stream, labels: Sequence[Label] | None, learners: Sequence[Learner], metric: MetricName
) -> list[Learner]:
    """The learner that is best on the first rows; of several learners, as many as a team has."""
    if len({type(learner) for learner in learners}) == 1:
        return [choose(stream, labels, learners, metric=Metric(metric)).learner] if len(learners) > 1 else [*learners]
    own = [learner for learner in learners if isinstance(learner, OnlineLearner)]
    return [*best_of_race(stream, labels, own, FEW, metric)]


def learners_of(algorithm: str | Estimator, parameters: dict[str, Any]) -> list[Learner]:
    """The settings to choose from, each a learner that has not begun."""
    if isinstance(algorithm, str):
        if algorithm.lower() == AUTO:
            # How wide the rows of all shards are is not known, and a full covariance may not fit into memory.
            return [one for one in candidates(parameters) if can_merge(one) and not one.shape.has_factors]
        kind = learner_named(algorithm)
        return [kind(**{"dtype": kind.stream_dtype, **settings}) for settings in settings_of(kind, parameters)]
    if parameters:
        raise TypeError(f"{', '.join(parameters)} must be set on the estimator that is passed as algorithm.")
    if isinstance(algorithm, Learner):
        return [learner_of(algorithm)(**algorithm.parameters())]
    raise TypeError(f"algorithm must be a name or an estimator of sureline. Got {algorithm!r} instead.")

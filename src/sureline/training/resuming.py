"""A training to a checkpoint and back."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..learners.learner import Learner
from ..learners.saving import UNWRITTEN, read_learner, write_learner
from ..stream import Position
from ..stream.buffer import RowBuffer
from .beginning import Beginning
from .checkpoint import Checkpoint, refuse_other_budget, refuse_other_job
from .choosing import chosen_before
from .chunks import attach
from .order import Order

if TYPE_CHECKING:
    from .train import Training


def save_checkpoint(training: Training, path: Path, beginning: Beginning | None = None) -> None:
    """Write all that is needed to continue to the same bits.

    If all rows so far are the `beginning` of a pipe and nothing is decided yet, training restarts with the first.
    """
    paths, racing = training.stream.paths, training.racing
    position, ahead = training.position, training.buffer.ahead + training.ahead
    if beginning is not None:
        position, ahead = Position(), position.rows
    in_order = training.pass_number == 1 and training.order.shuffle is None
    begun = min(position.file + 1, len(paths)) if in_order else len(paths)
    place = Checkpoint(
        position=position,
        rows_ahead=ahead,
        pass_number=training.pass_number,
        rows_of_a_pass=training.rows_of_a_pass if training.pass_number > 1 else None,
        labels=list(training.labels),
        batch=training.batch_size,
        paths=paths,
        files=training.files.first(begun),
        start=training.start,
        shuffle=training.order.shuffle,
        runs=training.classes.runs,
        frozen=training.frozen,
        asking=training.asking,
        rises=training.rises,
        race=None if racing is None else racing.words,
        beginning=beginning,
    )
    tensors = {} if racing is None else racing.tensors
    write_learner(path, training.learner, place=place.to_dict(training.learner.n_seen_), tensors=tensors)


def resume(training: Training, path: Path, candidates: Sequence[Learner], *, decided: bool) -> None:
    """Continue from a checkpoint. ValueError if it belongs to another job."""
    saved = read_learner(path)
    place = Checkpoint.of(path, saved)
    fixed = training.labels if training.classes.fixed else None
    if training.racing is not None and place.race is not None:
        training.learner = training.racing.member_of(path, place.race)
    elif len(candidates) > 1:
        training.racing = None  # if there was a race, it is over
        training.learner = chosen_before(path, saved.learner, candidates)
        attach(training.learner, training.stream, fixed)
    elif place.race is not None:
        raise ValueError(f"{path} is of a race of learners, and cannot be gone on with by one that is named.")
    if decided and (training.order.shuffle is None) != (place.shuffle is None):
        training.use_order(Order(place.shuffle, training.order.whole))
    job = training.learner, training.stream, training.start, training.order.shuffle
    refuse_other_job(path, saved, place, job, files=training.files, labels=fixed)
    refuse_other_budget(path, place.asking, training.asking)
    if place.batch != training.batch_size:
        raise ValueError(
            f"{path} was saved with batches of {place.batch} rows, and cannot be gone on with {training.batch_size}."
        )
    for name in UNWRITTEN:
        if name in training.learner.parameters():
            setattr(saved.learner, name, getattr(training.learner, name))
    training.learner, training.asking = saved.learner, place.asking
    if training.racing is not None:
        training.racing.resume(path, place.race, saved.tensors, saved.learner)
        training.lead(training.racing.race.leader.learner)
    training.classes.labels = place.labels
    training.classes.runs, training.frozen, training.rises = place.runs, place.frozen, place.rises
    training.position = place.position
    if training.racing is None and place.batch is None:
        training.ahead = place.rows_ahead
    else:
        training.buffer = RowBuffer(place.rows_ahead)
    training.pass_number, training.rows_of_a_pass = place.pass_number, place.rows_of_a_pass

"""A race as words and tensors for a checkpoint, and back with every value checked."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..._inputs import Array
from ...models.file.codec import decode, encode
from ...models.file.container import Tensor
from ...models.file.errors import Refusal
from ...models.file.record import arrays_of_record, checked_record
from ...models.file.scales import arrays_of_scales, checked_scales
from ...models.numbers import SEEN
from ...models.scaling import Normalizer
from ...models.state import State
from .predictions import Block
from .race import Race

_FIELDS = {"rows", "nonzeros", "memory", "committee", "metric", "candidates", "alive", "left", "blocks", "leader"}
_LATER = {"mixed"}  # words that older checkpoints lack
_MOST = 1 << 62


def to_words(race: Race) -> tuple[dict[str, Any], dict[str, Array]]:
    """All that a race needs in order to go on: words for the metadata of a file, and tensors."""
    alive = race.alive
    tensors: dict[str, Array] = {}
    states = []
    for member in alive:
        words, arrays = encode(member.learner.model)
        states.append({"number": member.number, "loss": member.loss, "state": words})
        for name, tensor in arrays.items():
            tensors[f"{member.number}.{name}"] = _array(tensor)
        for name, array in arrays_of_record(member.learner.model).items():
            tensors[f"{member.number}.{name}"] = array
    for name, array in arrays_of_scales(race.normalizers.get("scale")).items():
        tensors[name] = array
    for k, block in enumerate(race.blocks):
        for name in ("labels", "weights", "scores", "variances"):
            tensors[f"block{k}.{name}"] = getattr(block, name)
    left = [[member.number, member.loss, member.left, member.why] for member in race.members if not member.alive]
    words = {
        "rows": race.rows,
        "nonzeros": race.nonzeros,
        "memory": race.memory_bytes,
        "committee": race.committee,
        "metric": race.metric,
        "mixed": race.mixed,
        "candidates": len(race.members),
        "alive": states,
        "left": left,
        "blocks": [block.start for block in race.blocks],
        "leader": race.leader.number,
    }
    return words, tensors


def _array(tensor: Tensor) -> Array:
    pieces = list(tensor.pieces())
    whole = np.concatenate(pieces) if pieces else np.empty(0)
    return whole.astype(tensor.dtype, copy=False).reshape(tensor.shape)


def restore(race: Race, words: Any, tensors: Mapping[str, Array], classes: Array) -> None:
    """Restore a race of the same candidates that has not begun. ValueError if the words or tensors do not fit."""
    try:
        _restore(race, words, dict(tensors), classes)
    except (AttributeError, KeyError, TypeError, Refusal) as error:
        raise ValueError(f"its race does not fit together: {error}") from None


def _restore(race: Race, words: Any, tensors: dict[str, Array], classes: Array) -> None:
    if not isinstance(words, dict) or set(words) - _LATER != _FIELDS:
        raise ValueError(f"a race has {', '.join(sorted(_FIELDS | _LATER))}")
    if words["candidates"] != len(race.members):
        raise ValueError(f"its race has {words['candidates']} candidates, and there are {len(race.members)} now")
    if (words["committee"], words["metric"]) != (race.committee, race.metric):
        kind = "for a committee" if words["committee"] else "for one learner"
        raise ValueError(f"its race is {kind}, by {words['metric']}")
    race.mixed = words.get("mixed", False)
    if type(race.mixed) is not bool:
        raise ValueError("its race does not say whether its rows are mixed")
    race.rows, race.nonzeros, race.memory_bytes = (_count(words[name]) for name in ("rows", "nonzeros", "memory"))
    numbers = [one["number"] for one in words["alive"]] + [one[0] for one in words["left"]]
    if not words["alive"] or sorted(numbers) != list(range(len(race.members))):
        raise ValueError("its race does not name each candidate once")
    for number, loss, left, why in words["left"]:
        member = race.members[number]
        member.loss, member.left, member.why = _finite(loss), _count(left), str(why)
        member.looked = member.loss > 0
    scales: Normalizer | None = None
    for one in words["alive"]:
        member, prefix = race.members[one["number"]], f"{one['number']}."
        own = {name.removeprefix(prefix): tensors.pop(name) for name in [*tensors] if name.startswith(prefix)}
        state = decode(one["state"], own, len(classes))
        if not isinstance(state, State):
            raise ValueError("a member of its race has no state like that")
        state.record = checked_record(own, state)
        if own:
            raise ValueError("a member of its race has a tensor too many")
        if scales is None:
            scales = checked_scales(tensors, state)
            for name in ("scale_columns", "scale_means", "scale_counts"):
                tensors.pop(name, None)
        normalizer = scales if member.learner.normalize == "scale" else race.normalizer_of(member.learner)
        if normalizer is None or normalizer.dtype != np.dtype(member.learner.dtype):
            raise ValueError("the scales of its race are not there")
        member.learner.adopt(state, normalizer)
        member.learner.classes_ = classes
        member.learner.n_features_in_ = state.n_columns
        member.loss = _finite(one["loss"])
        member.looked = member.loss > 0
        if int(state.tally[:, SEEN].sum()) > race.rows * member.learner.passes:
            raise ValueError("a member of its race has seen other rows than the race")
    if scales is not None:
        race.normalizers["scale"] = scales
    models = [member.learner.model for member in race.alive]
    if len({(model.n_columns, model.n_heads) for model in models}) > 1:
        raise ValueError("the members of its race are not of the same size")
    if words["leader"] != race.leader.number:
        raise ValueError("its race is led by somebody else")
    shape = len(models), models[0].n_heads
    race.blocks = [
        _block(
            _count(start),
            {n: tensors.pop(f"block{k}.{n}") for n in ("labels", "weights", "scores", "variances")},
            shape,
        )
        for k, start in enumerate(words["blocks"])
    ]
    if tensors:
        raise ValueError("its race has a tensor too many")


def _block(start: int, arrays: dict[str, Array], shape: tuple[int, int]) -> Block:
    labels, weights, scores, variances = (arrays[name] for name in ("labels", "weights", "scores", "variances"))
    n, (n_members, n_heads) = len(labels), shape
    fits = labels.dtype == np.int32 and labels.shape == weights.shape == (n,) and weights.dtype == np.float64
    fits &= scores.shape == variances.shape == (n, n_members, n_heads)
    fits &= scores.dtype == variances.dtype == np.float32
    if not fits or not (0 <= labels).all() or not (labels < max(n_heads, 2)).all():
        raise ValueError("the predictions of its race do not fit each other")
    if not (np.isfinite(weights) & (weights >= 0)).all() or np.isnan(scores).any() or not (variances >= 0).all():
        raise ValueError("a prediction of its race is out of range")
    return Block(start, labels, weights, scores, variances)


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < _MOST:
        raise ValueError(f"a count of its race is {value!r}")
    return value


def _finite(value: Any) -> float:
    if type(value) is not float or not math.isfinite(value):
        raise ValueError(f"a loss of its race is {value!r}")
    return value

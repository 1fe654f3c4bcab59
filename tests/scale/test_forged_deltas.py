"""Deltas that were made up, with a checksum that is right: refused, or merged into a model that can be loaded."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from forge import canonical, change_tensor, change_words, edited, put_together, take_apart
from hashed_rows import hashed
from torture import times

from sureline.learners.catalogue import learner_named
from sureline.learners.saving import read_learner
from sureline.scale.delta import Delta, DeltaError
from sureline.scale.learning import begin, learn_shard, merge
from sureline.scale.shards import ArrayRows, Shard
from sureline.scale.team import Team

pytestmark = pytest.mark.torture
RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 6)) * (RNG.random((60, 6)) < 0.7)
Y = np.arange(60) % 3
LEARNERS: list[tuple[str, dict[str, Any]]] = [
    ("AROW", {}),
    ("PA", {"normalize": "none"}),
    ("SSOL", {"lam": 1e-3}),
    ("FTRL", {"l1": 0.1}),
    ("FOBOS", {"lam": 1e-3, "dtype": "float32"}),
    ("AdaFOBOS", {"lam": 1e-3}),
    ("BCW", {}),
    ("AROW", {"covariance": "full"}),
]


def round_of(name: str, parameters: dict[str, Any], cuts: list[int]) -> tuple[bytes, list[bytes]]:
    """A model and the deltas of its shards; the first has names."""
    base = begun(name, parameters)
    deltas = deltas_of(base, cuts)
    if cuts:
        names = hashed([{"cheap": 1.0, "pills": 2.0}], 8, collect_names=1).names
        deltas[0] = replace(Delta.of(deltas[0]), names=names).to_bytes()
    return base, deltas


def round_of_a_team() -> tuple[bytes, list[bytes]]:
    """Two models that learn side by side, and the deltas of their shards."""
    base = Team((begun("AROW", {}), begun("FTRL", {"l1": 0.1})), "error").to_bytes()
    return base, deltas_of(base, [20])


def begun(name: str, parameters: dict[str, Any]) -> bytes:
    return begin(learner_named(name)(**parameters), [0, 1, 2])


def deltas_of(base: bytes, cuts: list[int]) -> list[bytes]:
    ends = [0, *cuts, len(Y)]
    parts = [slice(a, b) for a, b in itertools.pairwise(ends)]
    return [
        learn_shard(base, Shard(k, len(parts), (part.stop - part.start) / len(Y), ArrayRows(X[part], Y[part])))
        for k, part in enumerate(parts)
    ]


@pytest.fixture(scope="module")
def rounds() -> list[tuple[bytes, list[bytes]]]:
    found = [round_of(name, parameters, [20]) for name, parameters in LEARNERS]
    return [*found, round_of("AROW", {}, []), round_of_a_team()]


def test_forged_deltas(rounds: list[tuple[bytes, list[bytes]]]) -> None:
    happened: Counter[str] = Counter()
    for seed in range(times(1200)):
        rng = random.Random(seed)

        def pick(n: int, rng: random.Random = rng) -> int:
            return rng.randrange(n)

        base, deltas = rounds[pick(len(rounds))]
        data = deltas[0]
        if seed % 8 == 0:
            data = edited(data, pick)
        else:
            metadata, tensors = take_apart(data)
            for _ in range(1 + pick(2)):
                change_words(metadata, pick) if seed % 8 < 4 else change_tensor(tensors, pick)
            data = put_together(canonical(metadata), tensors)
        try:
            model = merge(base, [data, *deltas[1:]])
        except DeltaError:
            happened["refused"] += 1
            continue
        except Exception as error:
            raise AssertionError(f"forgery {seed}: {error!r}") from error
        happened["merged"] += 1
        members = (model,) if (team := Team.of(model)) is None else team.members
        for one in members:
            read_learner(one)
        if team is not None:
            team.model()
    assert min(happened["refused"], happened["merged"]) > 50, happened


def test_honest_deltas(rounds: list[tuple[bytes, list[bytes]]]) -> None:
    for base, deltas in rounds:
        model = merge(base, deltas)
        if (team := Team.of(model)) is not None:
            model = team.model()
        assert read_learner(model).learner.n_seen_ == len(Y)

"""Checkpoints that were made up: each field of a real one changed, with checksums that are right again.

Each must be refused in one sentence, or lead to the model of a training that nothing disturbed.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from forge import put_together, take_apart
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_same_data import Stop
from torture import times

from sureline import cli, stream
from sureline.learners.asking import Asking
from sureline.learners.catalogue import LEARNERS
from sureline.models.file.canonical import canonical
from sureline.training import Training
from sureline.training.checkpoint import Checkpointing, _seal

FORGERIES = times(120)  # for each kind
pytestmark = pytest.mark.torture
TEXT = "".join(f"{'ab1'[i % 3]} {1 + i % 7}:{1 + i % 13} {8 + i % 5}:1\n" for i in range(3000))

# Kinds of trainings: the learner with its options, and how many rows are learned from at most by each.
KINDS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "one pass": ("SCW", {}, ["--algorithm", "scw"]),
    "three passes": ("PA", {"passes": 3}, ["--algorithm", "pa", "--passes", "3"]),
    "batches": ("BCW", {}, ["--algorithm", "bcw", "--batch", "700"]),
    "label budget": ("AROW", {}, ["--algorithm", "arow", "--ask", "0.2"]),
    "numbers": ("ODCARegressor", {}, ["--algorithm", "odca-regressor"]),
}


class Job:
    """A training on two files, its checkpoint somewhere on the way, and the model that it ends with."""

    def __init__(self, folder: Path, kind: str) -> None:
        name, parameters, words = KINDS[kind]
        text = TEXT.replace("a ", "2 ").replace("b ", "3 ") if kind == "numbers" else TEXT
        self.data = [folder / "1.svm", folder / "2.svm"]
        half = text.index("\n", len(text) // 2) + 1
        self.data[0].write_text(text[:half])
        self.data[1].write_text(text[half:])
        self.model, self.place = folder / "m", folder / "m.checkpoint"
        own = [*words, "--normalize", "none", "--model", str(self.model), "--quiet"]
        self.words = ["train", *map(str, self.data), *own]
        assert cli.run(self.words) == 0
        self.straight = self.model.read_bytes()
        self.model.unlink()
        learner = LEARNERS[name](dtype=LEARNERS[name].stream_dtype, normalize="none", **parameters)
        source = stream.read(self.data, dtype=learner.dtype, collect_names=True).with_options(block=1 << 12)
        batch = 700 if kind == "batches" else None
        running = Training(learner, source, batch=batch, ask=Asking(0.2) if kind == "label budget" else None)
        save, left = running.save_checkpoint, 2 if kind == "batches" else 9 if kind == "three passes" else 7

        def counted(path: Path) -> None:
            nonlocal left
            save(path)
            left -= 1
            if left == 0:
                raise Stop

        running.save_checkpoint = counted  # type: ignore[method-assign]
        with pytest.raises(Stop):
            running.run(checkpointing=Checkpointing(self.place, examples=1))
        self.real = self.place.read_bytes()
        self.metadata, self.tensors = take_apart(self.real)
        self.examples = running.learner.n_seen_

    def outcome(self, metadata: dict[str, Any], capsys: Any, *, seal: bool) -> str:
        """What becomes of a checkpoint with this metadata: "right", or the sentence that refuses it."""
        place = metadata["extra"].get("place")
        if seal and isinstance(place, dict):
            rest = {key: value for key, value in place.items() if key != "seal"}
            place["seal"] = _seal(rest, self.examples)
        self.place.write_bytes(put_together(canonical(metadata), self.tensors))
        self.model.unlink(missing_ok=True)
        capsys.readouterr()
        status = cli.run([*self.words, "--resume"])
        out, err = capsys.readouterr()
        if status == 0:
            assert self.model.read_bytes() == self.straight, metadata["extra"]
            assert any(said in out for said in ("3,000 examples", "9,000 examples", "3,000 rows")), out
            return "right"
        assert status in (1, 2)
        assert not self.model.exists()
        assert err.count("\n") == 1, err
        assert "internal error" not in err, (err, metadata["extra"])
        return str(err)


@pytest.fixture(scope="module", params=KINDS)
def job(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Job(tmp_path_factory.mktemp("forged"), request.param)


def fields_of(job: Job) -> list[tuple[Any, ...]]:
    """All but the scale of the targets, which belongs to the model as its weights do."""
    return [path for path in leaves(job.metadata["extra"]) if path[0] != "targets"]


def test_the_real_one_goes_on(job: Job, capsys: Any) -> None:
    assert job.outcome(copy.deepcopy(job.metadata), capsys, seal=False) == "right"
    assert 400 <= job.examples < 9000
    assert job.outcome(copy.deepcopy(job.metadata), capsys, seal=True) == "right"


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every field, and every object and list of them."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key in sorted(value) if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))


JUNK: list[Any] = [None, True, False, 0, 1, 2, 7, -1, -5, 10**12, 1 << 62, (1 << 63) - 1, 1 << 63, -(1 << 63), 0.0, 1.5]
JUNK += [-0.5, 1e308, "", "x", "1", "libsvm", "vw", "float32", [], {}, [[]], [0], ["a"], [None], {"a": 1}]
JUNK += [{"$float": "nan"}, {"$float": "inf"}, {"$tuple": [1]}, {"file": 0}]
values = st.one_of(
    st.sampled_from(JUNK),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.text(max_size=5).filter(lambda text: text.isprintable()),
    st.floats(allow_nan=False, allow_infinity=False),
)


def changed(metadata: dict[str, Any], path: tuple[Any, ...], how: str, value: Any) -> dict[str, Any]:
    """The metadata with one field another, gone, or one more beside it."""
    new = copy.deepcopy(metadata)
    parent = new["extra"]
    for key in path[:-1]:
        parent = parent[key]
    old = parent[path[-1]]
    if how == "gone":
        del parent[path[-1]]
    elif how == "more" and isinstance(old, dict):
        old["more"] = value
    elif how == "more" and isinstance(old, list):
        old.append(value)
    elif how == "near" and type(old) is int:
        parent[path[-1]] = old + (value if type(value) is int and abs(value) < 100 else 1)
    else:
        parent[path[-1]] = value
    return new


def test_every_field_by_itself(job: Job, capsys: Any) -> None:
    """Each field becomes each of some values: with the seal as it was, everything but what it was is refused."""
    told: Counter[str] = Counter()
    fields = fields_of(job)
    assert len(fields) > 25
    some: list[tuple[str, Any]] = [("gone", None), ("more", 1), ("near", 1), ("near", -1), ("set", -5), ("set", "x")]
    some += [("set", 10**12), ("set", []), ("set", None)]
    for path in fields:
        for how, value in some:
            new = changed(job.metadata, path, how, value)
            if new == job.metadata:
                continue
            outcome = job.outcome(new, capsys, seal=False)
            assert outcome != "right" or path[0] == "input", (path, how, value)
            told[outcome == "right"] += 1
    assert told[False] > 150


def check_forgeries(job: Job, capsys: Any, count: int) -> None:
    fields = fields_of(job)
    seen: Counter[bool] = Counter()

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(st.sampled_from(fields), st.sampled_from(["set", "set", "near", "gone", "more"]), values)
    def forge(path: tuple[Any, ...], how: str, value: Any) -> None:
        new = changed(job.metadata, path, how, value)
        if isinstance(value, float) and not math.isfinite(value):
            return
        seen[job.outcome(new, capsys, seal=True) == "right"] += 1

    forge()
    assert seen[False] > seen[True]


def test_forged_with_a_seal_that_is_right(job: Job, capsys: Any) -> None:
    """Whoever makes the seal anew as well is refused for what does not fit the model, the data, or the rest."""
    check_forgeries(job, capsys, FORGERIES)


def test_what_the_attack_found(job: Job, capsys: Any) -> None:
    for path, value, sentence in (
        (("place", "pass"), -5, "its pass is -5"),
        (("place", "rows_ahead"), 10**12, "batches do not fit|examples, and the model has seen"),
        (("place", "files"), [], "there are not facts about each"),
        (("place", "files"), "x", "is no list"),
        (("place", "position"), 7, "A position has the keys"),
        (("place", "position", "offset"), 1.5, "must be an integer from 0"),
        (("place", "paths"), [1], "its paths are no list of text"),
        (("place", "labels"), {"a": 1}, "its labels are no list"),
        (("place", "version"), 1, "it is in version 1, and this sureline reads version 4"),
        (("place", "seal"), 0, "its fields do not belong together"),
        (("input",), {"format": "libsvm", "bits": "x"}, "options of reading that are none"),
        (("input",), [], "options of reading that are none: they are no object"),
    ):
        new = changed(job.metadata, path, "set", value)
        told = job.outcome(new, capsys, seal=path != ("place", "seal"))
        assert any(part in told for part in sentence.split("|")), (path, value, told)


def test_an_old_checkpoint_is_refused(job: Job, capsys: Any) -> None:
    new = copy.deepcopy(job.metadata)
    for name in ("version", "seal", "rows_of_a_pass"):
        del new["extra"]["place"][name]
    assert "was saved by an older version, which kept too little" in job.outcome(new, capsys, seal=False)

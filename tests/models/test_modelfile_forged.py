"""Model files that were made up, with a checksum that is right: refused for a reason, or a model like any other."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forge import Tensors, canonical, put_together, reason_for, take_apart
from model_codecs import CODECS
from torture import times

import sureline

ROOT = Path(__file__).parents[2]
SPECIFICATION = (ROOT / "docs" / "model-file.md").read_text(encoding="utf-8")
GOLDEN = [(Path(__file__).parent / "golden" / f"{name}.sureline").read_bytes() for name in ("sparse", "full")]
SPARSE, FULL, SELECTED, SELECTED_SPARSE, SCALED = 0, 1, 2, 3, 4


def saved(model: Any, n_columns: int) -> bytes:
    rng = np.random.default_rng(0)
    X = np.zeros((60, n_columns))
    X[:, :8] = rng.standard_normal((60, 8))
    with tempfile.TemporaryDirectory() as folder:
        sureline.save(model.fit(X, np.arange(60) % 3), Path(folder) / "m")
        return (Path(folder) / "m").read_bytes()


def selected(n_columns: int) -> bytes:
    """A selection of three features in each of three classes; the file has all weights, or places and values."""
    return saved(sureline.SOFS(n_features=3, normalize="none"), n_columns)


GOLDEN += [selected(8), selected(1000), saved(sureline.AROW(normalize="scale"), 9)]


def words(change: Callable[[dict[str, Any]], Any]) -> Callable[[dict[str, Any], Tensors], Any]:
    return lambda metadata, _: change(metadata)


def state(**fields: Any) -> Callable[[dict[str, Any], Tensors], Any]:
    return lambda metadata, _: metadata["state"].update(fields)


def numbers(name: str, at: int, value: float) -> Callable[[dict[str, Any], Tensors], Any]:
    def change(_: dict[str, Any], tensors: Tensors) -> None:
        code, shape, content = tensors[name]
        array = np.frombuffer(content, {"F64": "<f8", "F32": "<f4", "I64": "<i8", "U32": "<u4"}[code]).copy()
        array[at] = value
        tensors[name] = code, shape, array.tobytes()

    return change


def reshaped(name: str, shape: list[int]) -> Callable[[dict[str, Any], Tensors], Any]:
    return lambda _, tensors: tensors.update({name: (tensors[name][0], shape, tensors[name][2])})


def unselected(metadata: dict[str, Any], tensors: Tensors) -> None:
    """One feature fewer is selected, and its weight stays."""
    code, (n,), content = tensors["members"]
    tensors["members"] = code, [n - 1], content[8:]
    metadata["state"]["budget"]["active"] = n - 1


def without_columns(_: dict[str, Any], tensors: Tensors) -> None:
    del tensors["scale_columns"], tensors["scale_means"]


def record(*entries: tuple[int, float]) -> Tensors:
    places, values = zip(*entries, strict=True)
    n = [len(places)]
    return {
        "record_places": ("U32", n, np.array(places, "<u4").tobytes()),
        "record_numbers": ("F64", n, np.array(values, "<f8").tobytes()),
    }


def foreign_record(_: dict[str, Any], tensors: Tensors) -> None:
    """Log-likelihoods of more classes, with two."""
    tensors.update(record((0, 1.0), (1, 1.0), (2, -1.0), (32 + 36 * 120, 1.0)))


def negative_margin(_: dict[str, Any], tensors: Tensors) -> None:
    tensors.update(record((0, 1.0), (1, 1.0), (32 + 36 * 50, 1.0)))


def negative_cell(metadata: dict[str, Any], tensors: Tensors) -> None:
    places = np.frombuffer(tensors["record_places"][2], "<u4")
    numbers("record_numbers", int(np.searchsorted(places, 32)), -1.0)(metadata, tensors)


def nested(depth: int) -> Any:
    return json.loads("[" * depth + "]" * depth)


SCALES = ("scale_columns", "scale_means", "scale_counts")
MISSING = "the tensor {} is missing, or its type or shape does not fit the others"
WIDE = {"n_columns": 1 << 31, "n_heads": 300}
FORGERIES: dict[str, list[tuple[int, Callable[[dict[str, Any], Tensors], Any]]]] = {
    "the metadata is nested more than 16 deep": [(SPARSE, words(lambda m: m.update(extra={"a": nested(15)})))],
    "the metadata does not say which format it is in": [
        (SPARSE, words(lambda m: m.update(format="1"))),
        (SPARSE, words(lambda m: m.update(format=True))),
        (SPARSE, words(lambda m: m.update(format=1.0))),
        (SPARSE, words(lambda m: m.pop("format"))),
    ],
    f"is in format 2, and sureline {sureline.__version__} reads only format 1": [
        (SPARSE, words(lambda m: m.update(format=2))),
    ],
    "the metadata does not have the fields it should have": [
        (SPARSE, words(lambda m: m.update(more=1))),
        (SPARSE, words(lambda m: m.pop("kind"))),
    ],
    "the class is not a name": [(SPARSE, words(lambda m: m.update({"class": "os.system"})))],
    "the kind is not a name": [(SPARSE, words(lambda m: m.update(kind=1)))],
    "the library is not a name": [(SPARSE, words(lambda m: m.update(library=1)))],
    "the parameters are not an object of names and values": [
        (SPARSE, words(lambda m: m.update(parameters=[]))),
        (SPARSE, words(lambda m: m.update(parameters={"a-b": 1}))),
    ],
    "the field parameters has an object that means nothing": [
        (SPARSE, words(lambda m: m["parameters"].update(eta={"$float": "1"}))),
        (SPARSE, words(lambda m: m["parameters"].update(eta={"$float": ["inf"]}))),
        (SPARSE, words(lambda m: m["parameters"].update(eta={"$float": "inf", "a": 1}))),
        (SPARSE, words(lambda m: m["parameters"].update(eta={"$tuple": 1}))),
        (SPARSE, words(lambda m: m["parameters"].update(eta={"$a": 1}))),
    ],
    "the field parameters has an integer of more than 64 bits": [
        (SPARSE, words(lambda m: m["parameters"].update(eta=1 << 64))),
        (SPARSE, words(lambda m: m["parameters"].update(eta=[-(1 << 63) - 1]))),
    ],
    "the extra metadata is not an object": [(SPARSE, words(lambda m: m.update(extra=[])))],
    "a label is not text, a number, true or false": [
        (SPARSE, words(lambda m: m.update(labels="ab"))),
        (SPARSE, words(lambda m: m.update(labels=[0, [1]]))),
        (SPARSE, words(lambda m: m.update(labels=[0, None]))),
    ],
    "a label is there twice, or is not a number": [
        (SPARSE, words(lambda m: m.update(labels=[0, 0.0]))),
        (SPARSE, words(lambda m: m.update(labels=[0, {"$float": "nan"}]))),
    ],
    "the number of labels does not fit the number of heads": [
        (SPARSE, words(lambda m: m.update(labels=[0, 1, 2]))),
        (FULL, words(lambda m: m.update(labels=[0, 1]))),
        (FULL, state(shape="diagonal", policy="ovr", **WIDE)),
    ],
    "the description of the state does not have the fields it should have": [
        (SPARSE, words(lambda m: m.update(state=[]))),
        (SPARSE, words(lambda m: m["state"].pop("shape"))),
        (SPARSE, state(more=1)),
    ],
    "there is no such shape of a state": [(SPARSE, state(shape="round")), (SPARSE, state(shape=["full"]))],
    "the dtype is neither float32 nor float64": [(SPARSE, state(dtype="float16")), (SPARSE, state(dtype=["float32"]))],
    "intercept is neither true nor false": [(SPARSE, state(intercept=1))],
    "n_columns is not an integer from 0 to 2147483648": [
        (SPARSE, state(n_columns=(1 << 31) + 1)),
        (SPARSE, state(n_columns=-1)),
        (SPARSE, state(n_columns=1.0)),
    ],
    "n_heads is not an integer from 1 to 2147483648": [(SPARSE, state(n_heads=True)), (SPARSE, state(n_heads=0))],
    "the policy does not fit the number of heads": [
        (SPARSE, state(policy="rival")),
        (SPARSE, state(policy=None)),
        (FULL, state(policy="binary")),
    ],
    "it has more weights than a model file may have": [
        (FULL, lambda m, _: (m.update(labels=list(range(300))), m["state"].update(**WIDE))),
    ],
    "the counters are not three integers for each class that fit each other": [
        (SPARSE, state(counters=[[0, 0, 0]])),
        (SPARSE, state(counters=[[5, 6, 0], [0, 0, 0]])),
        (SPARSE, state(counters=[[5, 0, 6], [0, 0, 0]])),
        (SPARSE, state(counters=[[5, 0, 0], 3])),
        (SPARSE, state(counters=[[5, 0, 0], [0, 0]])),
        (SPARSE, state(counters=[[1 << 53, 0, 0], [1, 0, 0]])),
    ],
    "a counter is not an integer from 0 to 9007199254740992": [(SPARSE, state(counters=[[5, 0, -1], [0, 0, 0]]))],
    "the budget is not one, or the shape has none": [
        (SPARSE, state(budget={"max": 1})),
        (SPARSE, state(budget=3)),
        (FULL, state(budget={"max": 1, "active": 0})),
        (SELECTED, state(budget={"max": 3})),
        (SELECTED, state(budget=[])),
    ],
    "the budget is not an integer from 1 to 1152921504606846976": [(SPARSE, state(budget={"max": 0, "active": 0}))],
    r"the number of active weights is not an integer from 0 to \d+": [
        (SPARSE, state(budget={"max": 12, "active": 1000})),
    ],
    "the threshold of the budget is out of range": [
        (SPARSE, numbers("budget", 0, np.nan)),
        (SPARSE, numbers("budget", 0, -1)),
        (SPARSE, numbers("budget", 1, np.inf)),
    ],
    "a member of the budget is out of range": [
        (SPARSE, numbers("members", 0, 0)),
        (SPARSE, numbers("members", 0, -1)),
        (SPARSE, numbers("members", 0, (1 << 20) + 1)),
        (SPARSE, lambda _, t: t.update(members=("I64", [1, *t["members"][1]], t["members"][2]))),
        (SELECTED, numbers("members", 0, 2)),
        (SELECTED, numbers("members", -1, 27)),
    ],
    "the members of the selection do not ascend, or are not as many as it says": [
        (SELECTED, numbers("members", 0, 26)),
        (SELECTED, numbers("members", 7, 3)),
        (SELECTED, state(budget={"max": 3, "active": 8})),
    ],
    "the selection of a head is larger than it may be": [(SELECTED, state(budget={"max": 2, "active": 9}))],
    "a feature has a weight and is not in the selection": [
        (SELECTED, unselected),
        (SELECTED_SPARSE, unselected),
    ],
    "the places of the weights do not ascend, or are out of range": [
        (SPARSE, numbers("places", 0, (1 << 20) + 1)),
        (SPARSE, numbers("places", -1, (1 << 20) + 1)),
        (SPARSE, numbers("places", 1, 0)),
    ],
    "the tensors places and values do not fit each other": [
        (SPARSE, lambda _, t: t.update(places=("U32", [1], bytes(4)))),
        (SPARSE, lambda _, t: t.update(places=("U32", [], bytes(4)))),
    ],
    "a weight, or a number that it is computed from, is out of range": [
        (SPARSE, numbers("values", 0, np.nan)),
        (SPARSE, numbers("values", 1, 2.0)),  # the variance is infinite,
        (SPARSE, numbers("values", 1, 1.0)),  # or zero,
        (SPARSE, numbers("values", 1, -0.5)),  # or less
        (FULL, numbers("weights", 4, np.inf)),
    ],
    MISSING.format("places"): [(SPARSE, lambda _, t: t.update(places=("I64", [0], b"")))],
    MISSING.format("values"): [(SPARSE, lambda _, t: t.pop("values"))],
    MISSING.format("factors"): [
        (FULL, lambda _, t: t.pop("factors")),
        (FULL, state(n_columns=1 << 30)),
        (FULL, reshaped("factors", [1, 63])),
        (FULL, state(dtype="float32")),
    ],
    MISSING.format("memory"): [(FULL, state(policy="ovr"))],
    "the factors are not those of a covariance": [
        (FULL, numbers("factors", 0, 0)),
        (FULL, numbers("factors", 2, -1)),
        (FULL, numbers("factors", 1, np.inf)),
    ],
    "a scalar in the memory is out of range": [
        (FULL, numbers("memory", 1, 0)),
        (FULL, numbers("memory", 6, -1)),
        (FULL, numbers("fresh_memory", 0, np.nan)),
    ],
    "a prior variance is not a positive number": [(FULL, numbers("prior", 0, 0)), (FULL, numbers("prior", 1, np.inf))],
    "the columns of the scales do not ascend, or are out of range": [
        (SCALED, numbers("scale_columns", 0, 1)),
        (SCALED, numbers("scale_columns", 7, 9)),
        (SCALED, numbers("scale_columns", 7, (1 << 32) - 1)),
        (SCALED, lambda _, t: t.update({name: (t[name][0], [2, 4], t[name][2]) for name in SCALES})),
    ],
    "a scale is not a positive number": [
        (SCALED, numbers("scale_means", at, value)) for at, value in ((0, 0.0), (3, -1.0), (7, np.inf), (1, np.nan))
    ],
    "a scale is not of at least one row and at most all of them": [
        (SCALED, numbers("scale_counts", at, value)) for at, value in ((0, 0), (7, -1), (3, 61), (5, 1 << 60))
    ],
    "the places of the record do not ascend, are out of range, or have a zero": [
        (SCALED, numbers("record_places", 1, 0)),
        (SCALED, numbers("record_places", -1, 8112)),
        (SCALED, numbers("record_numbers", 0, 0.0)),
    ],
    "a number of the record is out of range": [
        (SCALED, numbers("record_numbers", 1, np.nan)),
        (SCALED, negative_cell),
        (SCALED, numbers("record_numbers", 5, 1.0)),  # a log-likelihood
    ],
    "a guard of the record is out of range": [(SCALED, numbers("record_numbers", -1, -1.0))],
    "the counts of the record do not fit each other": [
        (SCALED, numbers("record_numbers", 0, 60.5)),
        (SCALED, numbers("record_numbers", 0, -1.0)),
        (SCALED, numbers("record_numbers", 0, 1.0)),
        (SCALED, numbers("record_numbers", 0, 2.0**60)),
        (SCALED, numbers("record_numbers", 1, 1e9)),
        (SCALED, numbers("record_numbers", 1, 1.0)),
    ],
    "the record is not of as many classes": [(SPARSE, foreign_record), (SCALED, negative_margin)],
    MISSING.format("record_numbers"): [(SCALED, lambda _, t: t.pop("record_numbers"))],
    "the tensor record_numbers does not belong to this model": [(SCALED, lambda _, t: t.pop("record_places"))],
    MISSING.format("scale_means"): [
        (SCALED, lambda _, t: t.pop("scale_means")),
        (SCALED, reshaped("scale_means", [4, 2])),
        (SCALED, lambda _, t: t.update(scale_means=("I64", [8], bytes(64)))),
    ],
    MISSING.format("scale_counts"): [(SCALED, lambda _, t: t.pop("scale_counts"))],
    "the tensor scale_counts does not belong to this model": [(SCALED, without_columns)],
    "the view is not a number": [(SPARSE, numbers("view", 1, np.nan))],
    "the tensor budget does not belong to this model": [
        (SPARSE, state(budget=None)),
        (SELECTED, lambda _, t: t.update(budget=("F64", [2], bytes(16)))),
    ],
    "the tensor members does not belong to this model": [(SELECTED, state(budget=None))],
    "the tensor view does not belong to this model": [
        (FULL, lambda _, t: t.update(view=("F64", [1, 7], bytes(56)))),
    ],
}
ALL_FORGERIES = [(which, change, reason) for reason, some in FORGERIES.items() for which, change in some]


@pytest.mark.parametrize(("which", "change", "reason"), ALL_FORGERIES, ids=[str(i) for i in range(len(ALL_FORGERIES))])
def test_forgeries(which: int, change: Callable[[dict[str, Any], Tensors], Any], reason: str, tmp_path: Path) -> None:
    metadata, tensors = take_apart(GOLDEN[which])
    assert put_together(canonical(metadata), tensors) == GOLDEN[which]
    change(metadata, tensors)
    assert re.fullmatch(reason, str(reason_for(put_together(canonical(metadata), tensors), tmp_path / "m")))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: "", "the metadata is not JSON"),
        (lambda text: text[:-1], "the metadata is not JSON"),
        (lambda text: text + " ", "the metadata is not in its canonical form"),
        (lambda text: text.replace(":1,", ":1.00,"), "the metadata is not in its canonical form"),
        (lambda text: text.replace(":1,", ":1e400,"), "the metadata is not JSON"),
        (lambda text: text.replace(":1,", ":NaN,"), "the metadata is not JSON"),
        (lambda text: text.replace(":1,", ":" + "9" * 5000 + ","), "the metadata is not JSON"),
        (lambda text: text.replace('"format":1', '"format":1,"format":1'), "the metadata is not in its canonical form"),
        (lambda text: text.replace("ham", "h\\u0061m"), "the metadata is not in its canonical form"),
        (lambda text: text.replace("ham", "hüm"), "the metadata is not in its canonical form"),
        (lambda text: "[" * 1_000_000 + "]" * 1_000_000, "the metadata is nested more than 16 deep"),
        (lambda text: '{"a":' * 100_000, "the metadata is nested more than 16 deep"),
        (lambda text: "1", "the metadata does not say which format it is in"),
    ],
)  # fmt: skip
def test_metadata_in_another_form(change: Callable[[str], str], reason: str, tmp_path: Path) -> None:
    metadata, tensors = take_apart(GOLDEN[SPARSE])
    assert reason_for(put_together(change(canonical(metadata)), tensors), tmp_path / "m") == reason


def reasons_in_the_code() -> set[str]:
    found = {"needs more memory than there is"}
    groups = ast.parse((ROOT / "src" / "sureline" / "models" / "groups.py").read_text(encoding="utf-8"))
    reading = ("from_arrays", "_groups")  # those of the groups are told by the state itself
    trees: list[ast.AST] = [n for n in ast.walk(groups) if isinstance(n, ast.FunctionDef) and n.name in reading]
    assert len(trees) == 2
    trees += [ast.parse(file.read_text(encoding="utf-8")) for file in CODECS]
    for tree in trees:
        refusal = "ValueError" if isinstance(tree, ast.FunctionDef) else "Refusal"
        for node in ast.walk(tree):
            texts: list[ast.expr] = []
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == refusal:
                (text,) = node.args
                texts = [text.body, text.orelse] if isinstance(text, ast.IfExp) else [text]
            if isinstance(node, ast.FunctionDef) and node.name == "_wrong_with_labels":
                texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value]
            for text in texts:
                parts = text.values if isinstance(text, ast.JoinedStr) else [text]
                reason = "".join(str(p.value) if isinstance(p, ast.Constant) else "…" for p in parts)
                if isinstance(text, ast.Constant | ast.JoinedStr) and reason != "None":
                    found.add(reason)
    return found


def test_the_specification_has_every_reason() -> None:
    reasons = reasons_in_the_code()
    section = SPECIFICATION.split("## What is refused, and why")[1].split("`sureline.load`")[0]
    listed = {
        " ".join(item.split()) for item in re.findall(r"^- (.*?)$(?=\n(?:-|\n))", section, re.MULTILINE | re.DOTALL)
    }
    assert len(listed) > 40
    for reason in reasons:
        assert any(item == reason or item.startswith(reason + ":") for item in listed), reason
    for item in listed:
        assert any(item == reason or item.startswith(reason + ":") for reason in reasons), item


@pytest.mark.torture
def test_forged_models_are_refused_or_can_be_used(tmp_path: Path) -> None:
    """Files with something made up in them, in a process that must not crash."""
    count = times(3000)
    command = [sys.executable, str(ROOT / "tests" / "forge.py"), str(tmp_path), str(count), "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600 + count)
    assert done.returncode == 0, ((tmp_path / "last").read_text(), done.stderr)
    outcomes = json.loads(done.stdout)
    assert sum(outcomes.values()) == count
    assert outcomes["accepted"] > 200
    assert len(outcomes) > 40

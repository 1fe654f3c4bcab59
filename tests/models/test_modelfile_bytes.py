"""Model files: the bytes are those that docs/model-file.md says, now and for ever, and reading them runs no code."""

from __future__ import annotations

import ast
import hashlib
import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import Case, every_case, stream
from model_codecs import CODECS
from scipy import sparse
from test_modelfile import made_of, parts, reloaded, save

import sureline
from sureline import FSOL, SCW, SSOL
from sureline.modelfile import ModelFileError, read_model, write_model
from sureline.models.file.container import read_container

ROOT = Path(__file__).parents[2]
GOLDEN = Path(__file__).parent / "golden"
SPECIFICATION = (ROOT / "docs" / "model-file.md").read_text(encoding="utf-8")


def read_header(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    return json.loads(header.pop("__metadata__")["sureline"]), header


@every_case
def test_other_readers_of_safetensors_agree(case: Case, tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    X, y = stream(n_classes=3)
    path = tmp_path / "m"
    save(case.make(dtype="float32").fit(X, y), path)
    theirs = load_file(path)
    _, ours = read_container(path)
    assert theirs.keys() == ours.keys()
    for name, array in theirs.items():
        assert (array.dtype, array.shape, array.tobytes()) == (ours[name].dtype, ours[name].shape, ours[name].tobytes())


def test_the_bytes_are_those_of_the_specification(tmp_path: Path) -> None:
    path = tmp_path / "m"
    X, y = stream(n_classes=3)
    save(SSOL(max_nonzero=5, dtype="float32", normalize="none").fit(X, y), path)
    data = path.read_bytes()
    assert data[8:35] == b'{"__metadata__":{"sha256":"'
    assert data[99:112] == b'","sureline":'
    assert data[35:99].decode() == hashlib.sha256(data[:35] + b"0" * 64 + data[99:]).hexdigest()
    length = int.from_bytes(data[:8], "little")
    assert length % 8 == 0
    metadata, header = read_header(path)
    assert (
        set(re.findall(r"\n\| `(\w+)` \| ", SPECIFICATION))
        >= metadata.keys() | metadata["state"].keys() | header.keys()
    )
    ends = [0]
    for tensor in header.values():
        assert tensor["data_offsets"][0] == ends[-1]
        ends.append(tensor["data_offsets"][1])
    assert ends[-1] == len(data) - 8 - length
    sizes = [int(tensor["dtype"][1:]) for tensor in header.values()]
    assert [(-size, name) for size, name in zip(sizes, header, strict=True)] == sorted(
        (-size, name) for size, name in zip(sizes, header, strict=True)
    )


def specified_reader() -> Any:
    (snippet,) = re.findall(r"```python\n(.*?)```", SPECIFICATION, re.DOTALL)
    assert set(re.findall(r"^import (\w+)", snippet, re.MULTILINE)) == {"json", "struct", "numpy"}
    scope: dict[str, Any] = {}
    exec(compile(snippet, "model-file.md", "exec"), scope)
    return scope["read"]


def soft(a: np.ndarray, b: Any) -> np.ndarray:
    return a - np.clip(a, -b, b)


def average_by_the_specification(shape: str, tensors: dict[str, np.ndarray], numbers: list[np.ndarray]) -> np.ndarray:
    """The averages, a row for each slot. Of shapes with variances n1 is S."""
    n_slots, n_heads = numbers[0].shape
    sums = np.zeros(n_slots * n_heads)
    sums[tensors["average_places"]] = tensors["average_sums"]
    ends = np.cumsum(tensors["average_pasts"][:, 0]).astype(int)
    runs = np.split(tensors["average_runs"], ends[:-1])
    averages = sums.reshape(n_slots, n_heads)
    for slot, head in np.ndindex(n_slots, n_heads):
        n0, n1, n2 = (float(numbers[k][slot, head]) if k < len(numbers) else 0.0 for k in range(3))
        problem = head if len(runs) > 1 else 0
        thresholds, P, C = (np.concatenate([[0.0], column]) for column in runs[problem].T)
        _, delta, limit = tensors["average_pasts"][problem]
        uncut, slope, L = n0, np.sign(n0), None
        match shape:
            case "theta":
                uncut = n1 * n0
            case "averaged":
                L = abs(n0)
            case "confident":
                uncut, L = n1 * n0, n1 * abs(n0)
            case "confident_full":
                uncut = 0
            case "adaptive" | "proximal":
                uncut, slope, L = n0 / (delta + n1), slope / (delta + n1), abs(n0)
            case "truncated":
                L = n1 + abs(n0) if abs(n0) <= limit else None
            case "adaptive_truncated":
                slope, L = slope / (delta + n1), n2 + abs(n0) * (delta + n1)
        if L is None or slot == 0:
            averages[slot, head] += P[-1] * uncut
            continue
        below = thresholds[1:] < L
        averages[slot, head] += slope * float((np.diff(P) * L - np.diff(C))[below].sum())
    return averages / (tensors["average"][2] - tensors["average_born"])


@every_case
@pytest.mark.parametrize("multi_class", ["native", "ovr"])
def test_weights_by_the_specification(case: Case, multi_class: str, tmp_path: Path) -> None:
    """The table in the specification, with the reader in it, gives the weights that the library has."""
    X, y = stream(n_classes=3)
    model = case.make(multi_class=multi_class).fit(X, y)
    save(model, tmp_path / "m")
    metadata, tensors = specified_reader()(tmp_path / "m")
    state = metadata["state"]
    n, *more = np.moveaxis(tensors["weights"], 2, 0)
    s, shape = tensors["memory"][:, 0], state["shape"]
    flipped = (more[0].view("u8") ^ np.ones(1).view("u8")).view("f8") if more else None
    if "view" in tensors:
        _, threshold, scale, delta, limit, r, _ = tensors["view"].T
        threshold = np.where(np.arange(len(n))[:, np.newaxis] == 0, 0, threshold)
    if shape in ("full", "confident_full"):
        U = np.zeros((state["n_heads"], len(n), len(n)))
        for head, packed in enumerate(tensors["factors"]):
            U[head].T[np.tril_indices(len(n))] = packed
        D = np.diagonal(U, axis1=1, axis2=2)
        U = np.where(np.eye(len(n), dtype=bool), 1, U)
        S = np.einsum("hij,hj,hkj->hik", U, D, U)
    match shape:
        case "identity" | "diagonal" | "full":
            w = s * n
        case "theta":
            w = s * flipped * n
        case "averaged" | "dual" | "dual_counted":
            w = scale * soft(n, threshold)
        case "confident":
            w = soft(flipped * n, threshold)
        case "confident_full":
            w = soft(np.einsum("hij,jh->ih", S, n), threshold)
        case "adaptive" | "proximal":
            w = scale * soft(n, threshold) / (delta + more[0])
        case "truncated":
            first = np.arange(len(n))[:, np.newaxis] == 0
            w = np.where((np.abs(n) <= limit) & ~first, soft(n, np.maximum(threshold - more[0], 0)), n)
        case "adaptive_truncated":
            first = np.arange(len(n))[:, np.newaxis] == 0
            w = np.where(first, n, soft(n, np.maximum(threshold - more[1], 0) / (delta + more[0])))
        case "dual_smoothed":
            first = np.arange(len(n))[:, np.newaxis] == 0
            w = r * more[0] + (np.abs(n) > threshold) * (scale * n - np.where(first, 0, delta) * np.sign(n))
        case "simplex":
            w = n
    if state.get("average"):
        numbers = [n, flipped] if shape in ("diagonal", "theta", "confident") else [n, *more]
        w = average_by_the_specification(shape, tensors, numbers)
    np.testing.assert_allclose(w[1:].T, model.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(w[0], model.intercept_, rtol=1e-9, atol=1e-12)
    if case.gaussian:
        c = tensors["memory"][:, 1]
        covariance = (c * flipped).T if "factors" not in tensors else c[:, np.newaxis, np.newaxis] * S
        np.testing.assert_allclose(covariance[..., 1:] if covariance.ndim == 2 else covariance[:, 1:, 1:],
                                   model.covariance_, rtol=1e-9)  # fmt: skip


# -- golden files --------------------------------------------------------------------------------------------

# name: class, labels, columns, the weights that are not zero as slot, head and bits, and their scores of three rows
WORDS = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", sorted(WORDS))
def test_golden_files_are_read_for_ever(name: str, tmp_path: Path) -> None:
    expected = WORDS[name]
    contents = read_model(GOLDEN / f"{name}.sureline")
    model = made_of(contents)
    assert (contents.class_name, contents.kind, contents.labels) == (expected["class"], "model", expected["labels"])
    assert contents.state.n_columns == expected["n_columns"]
    assert repr(contents.parameters) == expected["parameters"]
    assert repr(contents.metadata) == expected["metadata"]
    assert {name: array.tolist() for name, array in contents.tensors.items()} == expected["tensors"]
    found = [
        [int(slot), head, float(value).hex()]
        for head, (slots, values) in enumerate(contents.state.nonzero())
        for slot, value in zip(slots, values, strict=True)
    ]
    assert found == expected["nonzero"]
    indices = np.array([slot - 1 for slot, _, _ in expected["nonzero"] if slot > 0][:3])
    rows = sparse.csr_matrix(
        (np.ones(3), (np.arange(3), indices)), shape=(3, contents.state.n_columns), dtype=contents.state.dtype
    )
    scores = np.atleast_1d(model.decision_function(rows)).ravel().tolist()
    assert [score.hex() for score in scores] == expected["scores"]
    assert hashlib.sha256(repr(parts(contents.state)).encode()).hexdigest() == expected["state"]


@pytest.mark.parametrize("name", sorted(WORDS))
def test_golden_files_are_what_is_written(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    contents = read_model(GOLDEN / f"{name}.sureline")
    monkeypatch.setattr(sureline, "__version__", contents.library.split()[1])
    write_model(
        tmp_path / "m",
        class_name=contents.class_name,
        parameters=contents.parameters,
        labels=contents.labels,
        state=contents.state,
        extra_metadata=contents.metadata,
        extra_tensors=contents.tensors,
    )
    assert (tmp_path / "m").read_bytes() == (GOLDEN / f"{name}.sureline").read_bytes()


# -- what is not there ---------------------------------------------------------------------------------------


def test_nothing_is_run_and_no_heavy_import() -> None:
    allowed = {
        "collections",
        "contextlib",
        "dataclasses",
        "errno",
        "fcntl",
        "functools",
        "hashlib",
        "io",
        "json",
        "math",
        "numpy",
    }
    allowed |= {"os", "re", "secrets", "stat", "typing", "__future__"}
    for file in CODECS:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= allowed
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                assert str(node.module).split(".")[0] in allowed
            if isinstance(node, ast.Name):
                assert node.id not in ("eval", "exec", "compile", "__import__", "getattr") or file.name == "codec.py"
            if isinstance(node, ast.Attribute):
                assert (
                    node.attr not in ("load", "loads", "save", "fromfile", "memmap")
                    or ast.unparse(node) == "json.loads"
                )


def test_pickle_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> None:
        raise AssertionError("pickle was used")

    for name in ("loads", "load", "dumps", "dump", "Unpickler", "Pickler"):
        monkeypatch.setattr(pickle, name, never)
    X, y = stream(n_classes=3)
    for model in (
        SSOL(max_nonzero=5, normalize="none"),
        SCW(covariance="full", normalize="none"),
        FSOL(normalize="none"),
    ):
        reloaded(model.fit(X, y), tmp_path / "m")


def test_errors_name_the_file_and_can_be_sent_on(tmp_path: Path) -> None:
    (tmp_path / "m").write_bytes(b"something else")
    with pytest.raises(ModelFileError) as refused:
        read_model(tmp_path / "m")
    assert str(refused.value) == f"{tmp_path / 'm'}: is not a sureline model file"
    assert isinstance(refused.value, ValueError)
    twin = pickle.loads(pickle.dumps(refused.value))
    assert (twin.path, twin.reason, str(twin)) == (refused.value.path, refused.value.reason, str(refused.value))
    with pytest.raises(FileNotFoundError):
        read_model(tmp_path / "nothing")

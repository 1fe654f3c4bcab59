"""Model files that were made up: every part of a file changed in any way, with a checksum that is right again.

    python forge.py FOLDER COUNT SEED    reads COUNT of them, uses those that are taken for models, says what happened

fuzz/model_fuzz.py does the same with what atheris thinks of.
"""

from __future__ import annotations

import copy
import faulthandler
import hashlib
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from hashed_rows import names_of

from sureline._native import _core
from sureline.learners.catalogue import LEARNERS
from sureline.learners.origin import Origin
from sureline.learners.saving import ModelFile, read_learner, write_learner
from sureline.modelfile import ModelFileError, read_model

Pick = Callable[[int], int]  # a number from 0 to n - 1
Tensors = dict[str, tuple[str, list[int], bytes]]  # name: type, shape, bytes

CODES = {"F64": "<f8", "I64": "<i8", "U64": "<u8", "F32": "<f4", "I32": "<i4", "U32": "<u4", "U8": "u1"}

# Learners whose state has that shape.
LEARNERS_OF: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "identity": [("PA", {}), ("ROMMA", {}), ("ALMA", {}), ("OGD", {"loss": "log"}), ("Perceptron", {})],
    "diagonal": [("AROW", {}), ("SCW", {"variant": "II"}), ("IELLIP", {})],
    "selected identity": [("FOFS", {"n_features": 2, "lam": 0.3})],
    "selected diagonal": [("SOFS", {"n_features": 2})],
    "theta": [("SOP", {})],
    "full": [("AROW", {"covariance": "full"}), ("SCW", {"covariance": "full"}), ("SOP", {"covariance": "full"})],
    "averaged": [("FSOL", {"lam": 0.01}), ("RDA", {"lam": 0.01})],
    "confident": [("SSOL", {"lam": 0.1})],
    "confident_full": [("SSOL", {"lam": 0.1, "covariance": "full"})],
    "adaptive": [("AdaRDA", {"lam": 0.01})],
    "proximal": [("FTRL", {"l1": 0.1})],
    "truncated": [("STG", {"lam": 0.01}), ("FOBOS", {"lam": 0.01})],
    "adaptive_truncated": [("AdaFOBOS", {"lam": 0.01})],
    "mean diagonal": [("AROW", {"average": True})],
    "mean averaged": [("RDA", {"lam": 0.01, "average": 5.0})],
    "mean proximal": [("FTRL", {"l1": 0.1, "average": True})],
    "mean adaptive_truncated": [("AdaFOBOS", {"lam": 0.01, "average": True})],
}
WITH_BUDGET = ("FSOL", "SSOL", "AdaRDA")
OF_NUMBERS: list[dict[str, Any]] = [
    {"loss": "huber"},
    {"window": "sliding", "length": 5, "dtype": "float32"},
    {"window": "sliding", "length": 5, "smoothing": 0.5, "regularizer": "elastic_net"},
    {"regularizer": "kl", "columns": 5, "fit_intercept": False},
]

# What is put in place of something else.
JUNK: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    2,
    3,
    -1,
    7,
    1 << 31,
    (1 << 31) - 1,
    1 << 40,
    1 << 53,
    (1 << 63) - 1,
    1 << 64,
]
JUNK += [
    0.0,
    -0.5,
    1e308,
    "",
    "x",
    "ovr",
    "rival",
    "binary",
    "float32",
    "float64",
    "nan",
    [],
    {},
    [[]],
    [0],
    [[0, 0, 0]],
]
JUNK += ["regression", "ODCARegressor"]
JUNK += [{"$float": "inf"}, {"$float": "nan"}, {"$tuple": [1]}, {"max": 3, "active": 1}, {"max": 1 << 60, "active": 0}]
JUNK += [json.loads("[" * 16 + "]" * 16), json.loads("[" * 99 + "]" * 99)]
JUNK += [*LEARNERS_OF, [0, 1], [0, 1, 2], ["a", "a"], {"a": {"b": [{"c": None}]}}]
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 1e-40, 1e30, -1e30, 1e38, 1e300, -1e300, 5e-324, math.inf, -math.inf]
NUMBERS += [math.nan, 2.0**53, 2.0**63, 3.0]


def rows(n_columns: int, dtype: Any, seed: int = 0) -> _core.Rows:
    """A few rows, with the first column, the last one and some between them."""
    rng = np.random.default_rng(seed)
    columns = np.unique(np.array([0, 1, 2, n_columns // 2, n_columns - 1]).clip(0, max(n_columns - 1, 0)))
    if n_columns == 0:
        columns = columns[:0]
    n = 4
    values = rng.standard_normal(n * len(columns)).astype(dtype)
    indptr = np.arange(n + 1, dtype=np.int64) * len(columns)
    return _core.Rows.csr(values, np.tile(columns, n).astype(np.int64), indptr, n, n_columns)


def seeds(folder: Path) -> list[bytes]:
    """A small file of every shape, policy and layout."""
    found = []
    path = folder / "seed"
    for shape, learners in LEARNERS_OF.items():
        for k in range(3):
            name, parameters = learners[k % len(learners)]
            for budget in [{}, {"max_nonzero": 2, "lam": 0.0}] if name in WITH_BUDGET else [{}]:
                learner = LEARNERS[name](
                    **(parameters | budget),
                    dtype="float32" if k == 1 else "float64",
                    multi_class="ovr" if k == 2 else "native",
                    fit_intercept=k != 2,
                    normalize=("scale", "row", "none")[(k + len(found)) % 3],
                )
                n_classes = 2 if k == 0 else 3
                n_columns = 5 if k == 1 or shape.endswith("full") else 300  # dense and sparse
                learner.begin(np.array(["ham", "spam", "eggs"][:n_classes]), n_columns)
                labels = np.arange(4, dtype=np.int32) % n_classes
                for seed in range(3):
                    some = rows(n_columns, learner.dtype, seed)
                    if learner._normalizer.core is not None:
                        learner._normalizer.core.normalize(some, None, True)
                    learner.take(lambda _, some=some: some, n_columns, labels)  # type: ignore[misc]
                assert learner._state.shape.name == shape.split()[-1]
                words = [{"cheap": 1.0, "pills": 2.0}, {"cheap": 1.0, "lunch": 1.0, "naïve": 1.0}]
                names = names_of(words, 8) if k else None
                learner.origin = Origin({}, names)
                write_learner(path, learner, place={"file": 1, "offsets": [0, 7]} if k else None)
                found.append(path.read_bytes())
    for parameters in OF_NUMBERS:
        regressor = LEARNERS["ODCARegressor"](**parameters)
        regressor.begin(5)
        for seed in range(3):
            some = rows(5, regressor.dtype, seed)
            regressor.take(lambda _, some=some: some, 5, np.arange(4.0))  # type: ignore[misc]
        write_learner(path, regressor)
        found.append(path.read_bytes())
    return found


# -- taking apart and putting together -----------------------------------------------------------------------


def take_apart(data: bytes) -> tuple[dict[str, Any], Tensors]:
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    metadata = json.loads(header.pop("__metadata__")["sureline"])
    tensors = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        tensors[name] = tensor["dtype"], tensor["shape"], data[start + begin : start + end]
    return metadata, tensors


def canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def put_together(metadata: str, tensors: Tensors) -> bytes:
    """A file that is right in its form, whatever it says."""
    entries, data = "", b""
    for name, (code, shape, content) in sorted(tensors.items(), key=lambda t: (-int(t[1][0][1:]), t[0])):
        end = len(data) + len(content)
        entry = {"dtype": code, "shape": shape, "data_offsets": [len(data), end]}
        entries += f",{json.dumps(name)}:{json.dumps(entry, separators=(',', ':'))}"
        data += content
    text = '{"__metadata__":{"sha256":"' + "0" * 64 + '","sureline":' + json.dumps(metadata) + "}" + entries + "}"
    header = text.encode()
    header += b" " * (-len(header) % 8)
    return sealed(len(header).to_bytes(8, "little") + header + data)


def sealed(data: bytes) -> bytes:
    """The file with the checksum that it should have."""
    if len(data) < 99:
        return data
    checksum = hashlib.sha256(data[:35] + b"0" * 64 + data[99:]).hexdigest().encode()
    return data[:35] + checksum + data[99:]


# -- changing ------------------------------------------------------------------------------------------------


def change_words(metadata: dict[str, Any], pick: Pick) -> None:
    """Something in the metadata becomes something else, goes, or comes."""
    parent: Any = metadata
    if pick(3) and isinstance(metadata.get("state"), dict):
        parent = metadata["state"]
    while True:
        keys = sorted(parent) if isinstance(parent, dict) else list(range(len(parent)))
        if not keys:
            return
        key = keys[pick(len(keys))]
        if isinstance(parent[key], dict | list) and pick(4) > 0:
            parent = parent[key]
            continue
        break
    what = pick(8)
    if what == 0:
        del parent[key]
    elif what == 1 and isinstance(parent, dict):
        parent["new"] = copy.deepcopy(JUNK[pick(len(JUNK))])
    elif what == 1:
        parent.append(copy.deepcopy(JUNK[pick(len(JUNK))]))
    elif what == 2 and type(parent[key]) is int:
        parent[key] += pick(3) - 1
    else:
        parent[key] = copy.deepcopy(JUNK[pick(len(JUNK))])


def change_tensor(tensors: Tensors, pick: Pick) -> None:
    """A number, a byte, the shape, the type, or the whole tensor."""
    names = sorted(tensors)
    if not names:
        return
    name = names[pick(len(names))]
    code, shape, content = tensors[name]
    what = pick(10)
    if what <= 4 and content and len(content) % (int(code[1:]) // 8) == 0:
        numbers = np.frombuffer(content, CODES[code]).copy()
        at = pick(len(numbers))
        with np.errstate(all="ignore"):
            if numbers.dtype.kind == "f":
                numbers[at] = NUMBERS[pick(len(NUMBERS))]
            else:
                numbers[at] += np.array([1, 2, 1 << 20, 1 << 31, 1 << 40, -1, -2, -(1 << 40)][pick(8)]).astype(
                    numbers.dtype
                )
        tensors[name] = code, shape, numbers.tobytes()
    elif what == 5 and content:
        changed = bytearray(content)
        changed[pick(len(changed))] = pick(256)
        tensors[name] = code, shape, bytes(changed)
    elif what == 6:
        longer = [shape[0] + pick(3) - 1, *shape[1:]] if shape else [1]
        size = math.prod(longer) * int(code[1:]) // 8
        tensors[name] = code, longer, (content + bytes(max(size - len(content), 0)))[: max(size, 0)]
    elif what == 7:
        tensors[name] = list(CODES)[pick(len(CODES))], shape, content
    elif what == 8:
        del tensors[name]
    else:
        tensors[names[pick(len(names))] if pick(2) else "extra.new"] = tensors[name]


def forged(seed: bytes, pick: Pick) -> bytes:
    """A file that began as `seed`."""
    metadata, tensors = take_apart(seed)
    for _ in range(1 + pick(3)):
        change_words(metadata, pick) if pick(2) else change_tensor(tensors, pick)
    text = canonical(metadata)
    if pick(8) == 0:
        at = pick(len(text) + 1)
        text = text[:at] + ["[", "{", " ", '"', "0", "1e999", "\\ud800", "[" * 100_000, "9" * 5000][pick(9)] + text[at:]
    data = put_together(text, tensors)
    if pick(8) == 0:  # and whatever the header says
        changed = bytearray(data)
        for _ in range(1 + pick(3)):
            changed[pick(min(len(changed), 8 + int.from_bytes(data[:8], "little")))] = pick(256)
        data = sealed(bytes(changed))
    return data


def edited(seed: bytes, pick: Pick) -> bytes:
    """The bytes of `seed` with some other ones among them, and mostly a length of the header that fits."""
    data, length = bytearray(seed), int.from_bytes(seed[:8], "little")
    for _ in range(1 + pick(8)):
        at = 8 + pick(length if pick(4) else max(len(data) - 8, 1))
        before = len(data)
        what = pick(4)
        if what == 0:
            data[at : at + 1] = bytes([pick(256)])
        elif what == 1:
            data[at:at] = b'[]{}",:0123456789.e-\\ aF'[pick(26) :][:1] * (1 + pick(3))
        elif what == 2:
            del data[at : at + 1 + pick(16)]
        else:
            other = 8 + pick(length)
            data[at:at] = data[other : other + 1 + pick(64)]
        if at < 8 + length:
            length = max(length + len(data) - before, 1)
    if pick(8):
        text = bytes(data[8 : 8 + length]).rstrip(b" ")
        text += b" " * (-len(text) % 8)
        data[:] = len(text).to_bytes(8, "little") + text + bytes(data[8 + length :])
    return sealed(bytes(data))


# -- using ---------------------------------------------------------------------------------------------------


def use(file: ModelFile) -> None:
    """All that one does with a model. It may refuse, in words."""
    learner, names = file.learner, file.names
    state = learner._state
    regression = state.policy is _core.Policy.regression
    n_classes = 1 if regression else max(state.n_heads, 2)
    labels = np.arange(4, dtype=np.int32) % n_classes
    targets = np.arange(4.0) if regression else None
    scaled = None if targets is None else (targets, targets, None)
    some = rows(state.n_columns, state.dtype)
    one = (np.array([0, 1]), np.array([1.0, -2.0]))
    known = 2.0 if regression else learner.classes_.tolist()[-1]
    steps: list[Callable[[], Any]] = [
        lambda: state.scores(some),
        lambda: state.variances(some),
        state.intercepts,
        lambda: state.learn(learner.rule, some, labels, None, None, False, learner.costs, scaled=scaled),
        lambda: state.learn(
            learner.rule, some, labels, None, None, state.factors is None, learner.costs, scaled=scaled
        ),
        lambda: learner.predict_one(one),
        lambda: learner.learn_one(one, known),
    ]
    if state.n_columns < 10_000:  # what looks at every weight
        steps += [
            state.nonzero,
            state.count_nonzero,
            state.copy,
            lambda: learner.learn_one(({state.n_columns + 3: 1.0}), known),
            lambda: learner.learn_one(one, "new"),
            lambda: learner.predict_one(one),
            lambda: learner.take(
                lambda _: rows(state.n_columns, state.dtype), state.n_columns, labels if targets is None else targets
            ),
        ]
    if names is not None:
        steps += [lambda: names.top(3), lambda: names.lookup(1), names.to_arrays, lambda: names.merge(names)]
    for step in steps:
        try:
            with np.errstate(all="ignore"):
                step()
        except (ValueError, MemoryError):
            pass


def write(path: Path, data: bytes) -> None:
    """Under a new inode: a file that is truncated goes to the disk at once on some file systems, ten thousand times."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)


def reason_for(data: bytes, path: Path) -> str | None:
    """Why a file with these bytes is refused, if it is."""
    write(path, data)
    try:
        read_model(path)
    except ModelFileError as refused:
        assert str(refused) == f"{path}: {refused.reason}"
        assert "\n" not in str(refused)
        return refused.reason
    return None


def judge(data: bytes, path: Path) -> str:
    """Read it, and use it if it is taken for a model."""
    write(path, data)
    try:
        file = read_learner(path)
    except ModelFileError as refused:
        return refused.reason
    use(file)
    return "accepted"


def main(arguments: list[str]) -> None:
    folder, count, seed = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    faulthandler.enable()
    files = seeds(folder)
    outcomes: Counter[str] = Counter()
    for i in range(count):
        rng = random.Random(seed + i)
        forge = edited if i % 4 == 0 else forged
        data = forge(files[rng.randrange(len(files))], lambda n, rng=rng: rng.randrange(n))  # type: ignore[misc]
        write(folder / "last", str(seed + i).encode())  # whose turn it was, should this be the end
        outcomes[judge(data, folder / "forged")] += 1
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main(sys.argv[1:])

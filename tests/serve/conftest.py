"""Small models of each format, made once."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import sureline
from sureline import AROW, KernelSCW
from sureline.datasets import make_mail

WORDS = ["red", "green", "blue", "sky", "sea", "tree", "house", "car", "train", "bird"]


def rows_of(format: str, n: int, seed: int = 0) -> list[tuple[object, object]]:
    """Rows in the words of a format, without their labels, and these."""
    rng = random.Random(seed)
    if format == "text":
        texts, labels = make_mail(n, random_state=seed)
        return list(zip(texts, labels, strict=True))
    rows: list[tuple[object, object]] = []
    for _ in range(n):
        words = rng.sample(WORDS, 4)
        label = ("red" in words) ^ (rng.random() < 0.1)
        if format == "vw":
            rows.append((f"|a {' '.join(words)} |b n:{rng.random():.3f}", 1 if label else -1))
        elif format == "libsvm":
            columns = sorted(rng.sample(range(2, 30), 5))
            rows.append((" ".join(f"{j}:{rng.random():.4f}" for j in ([1] if label else []) + columns), int(label)))
        elif format == "jsonl":
            row = {"colour": words[0], "n": rng.randrange(9), "free text": " ".join(words), "in": {"x": rng.random()}}
            rows.append((row, "yes" if label else "no"))
        elif format == "names":
            rows.append((dict.fromkeys(words, 1.0), "a" if label else "b"))
        else:
            assert format == "many"
            rows.append(({word: rng.random() for word in words}, words[0]))
    return rows


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of models by their format; "names" and "many" began with learn_one, "many" grows."""
    folder = tmp_path_factory.mktemp("models")
    lines = {
        "text": lambda row, label: f"{label}\t{row}",
        "vw": lambda row, label: f"{label} {row}",
        "libsvm": lambda row, label: f"{label} {row}",
        "jsonl": lambda row, label: json.dumps({**row, "label": label}),
    }
    found = {}
    for format, line in lines.items():
        data = folder / f"data.{format if format != 'text' else 'txt'}"
        data.write_text("".join(f"{line(row, label)}\n" for row, label in rows_of(format, 600)))
        found[format] = folder / f"{format}.sureline"
        bits = {} if format == "libsvm" else {"bits": 12}
        sureline.train(data, "scw" if format == "text" else "arow", model=found[format], format=format, **bits)
    for format, model in (("names", AROW(bits=12)), ("many", AROW(bits=12, growing=True))):
        for row, label in rows_of(format, 300):
            model.learn_one(row, label)
        found[format] = folder / f"{format}.sureline"
        sureline.save(model, found[format])
    rows = [[float(17 * k % 40), float(k % 3)] for k in range(40)]
    regressor = sureline.ODCARegressor().fit(rows, [row[0] for row in rows])
    found["numbers"] = folder / "numbers.sureline"
    sureline.save(regressor, found["numbers"])
    kernel = KernelSCW().fit(rows, [row[0] > 20 for row in rows])
    found["kernel"] = folder / "kernel.sureline"
    sureline.save(kernel, found["kernel"])
    return found

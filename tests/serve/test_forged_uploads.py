"""Model files that were made up, sent to a service: refused or served, and never a status 5xx."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from conftest import rows_of
from forge import edited, forged
from service import Settings, serving
from torture import times

pytestmark = pytest.mark.torture

OCTETS = {"Content-Type": "application/octet-stream"}
FORMATS = ("many", "jsonl", "text", "libsvm", "vw")


def test_forged_models_are_refused_or_served(models: dict[str, Path], tmp_path: Path) -> None:
    seeds = {name: models[name].read_bytes() for name in (*FORMATS, "numbers", "kernel")}
    rows = {name: rows_of(name, 1)[0] for name in FORMATS}
    found: Counter[int] = Counter()
    with serving(Settings(tmp_path / "state", [("first", models["many"])], tcp=0)) as service:
        for number in range(times(60)):
            rng = random.Random(number)
            name = rng.choice(list(seeds))
            made = (edited if number % 4 == 0 else forged)(seeds[name], rng.randrange)
            reply = service("POST", "/v1/models?name=forged&replace=true", made, OCTETS)
            assert reply.status in (200, 201, 422), (number, reply)
            found[reply.status] += 1
            if reply.status == 422:
                continue
            row, label = rows.get(name, ({"0": 1.0, "1": 2.0}, True))
            for body in ({"row": row}, {"rows": [row], "explain": 3, "probabilities": True}):
                assert service("POST", "/v1/models/forged/predict", body).status < 500, (number, name)
            assert service("POST", "/v1/models/forged/learn", {"row": row, "label": label}).status < 500, (number, name)
            for path in ("", "/model"):
                assert service("GET", f"/v1/models/forged{path}").status < 500, (number, name, path)
        row, _ = rows["many"]
        assert service("POST", "/v1/models/first/predict", {"row": row}).status == 200
    assert found[422] > 0
    assert len(found) > 1  # some were taken

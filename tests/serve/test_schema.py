"""Requests made from the service's own description: none fails, and none is answered with an undocumented status.

A few hundred in `make test`, 20,000 in `make torture-serve`.
"""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from service import Here, Settings, serving

schemathesis = pytest.importorskip("schemathesis")

LONG = os.environ.get("SURELINE_TORTURE_SERVE") == "1"
CASES = 20_000 if LONG else 200


@pytest.fixture(scope="module")
def service(models: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    """Two models, of names and of texts."""
    state = tmp_path_factory.mktemp("schema") / "state"
    with serving(Settings(state, [(name, models[name]) for name in ("names", "text")])) as here:
        yield here


def test_requests_made_from_the_description(service: Here) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import content_type_conformance, status_code_conformance

    schema = schemathesis.openapi.from_url(f"http://127.0.0.1:{service.port}/openapi.json")
    operations = [found.ok() for found in schema.get_all_operations()]
    statuses: Counter[int] = Counter()

    def ask_many(operation: Any, examples: int, number: int) -> None:
        strategy = st.one_of(
            operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE),
            operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE),
        )
        harmless = operation.method != "delete"

        @seed(number)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=strategy, known=st.sampled_from(["names", "text", None]))
        def ask(case: Any, known: str | None) -> None:
            if known is not None and harmless and "name" in (case.path_parameters or {}):
                case.path_parameters["name"] = known
            response = case.call()
            statuses[response.status_code] += 1
            checks = [not_a_server_error, status_code_conformance, content_type_conformance]
            case.validate_response(response, checks=checks)

        ask()

    # Those that take a body have most to go wrong; those that take nothing soon have no other case.
    posts = [operation for operation in operations if operation.method == "post"]
    for operation in operations:
        ask_many(operation, -(-CASES // (len(posts) if operation in posts else 4 * len(operations))), 0)
    for number, operation in enumerate(itertools.cycle(posts), 1):
        if sum(statuses.values()) >= CASES:
            break
        ask_many(operation, CASES // 10, number)
    if LONG:
        print(f"{sum(statuses.values()):,} requests made from the description: {dict(statuses)}")
    assert sum(statuses.values()) >= CASES
    assert statuses[200] > CASES // 20
    assert service("GET", "/readyz").status == 200

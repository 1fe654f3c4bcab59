"""Numbers for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from .models import House

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
_AT_ONCE = 64  # requests


class Metrics:
    """Requests as they come, and the models as they are when somebody looks."""

    def __init__(self, house: House) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter("sureline_requests", "Requests.", ["route", "status"], registry=self._registry)
        self._seconds = Histogram(
            "sureline_request_seconds", "Time until the answer.", ["route"], registry=self._registry, buckets=_SECONDS
        )
        self._children: dict[tuple[str, int], tuple[Counter, Histogram]] = {}
        self._seen: dict[tuple[str, int], list[float]] = {}  # that are to be counted when somebody looks
        self._registry.register(_Models(house))

    def count(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        key = route, status
        seen = self._seen.get(key)
        if seen is None:
            seen = self._seen[key] = []
        seen.append(seconds)
        if len(seen) == _AT_ONCE:
            self._account(key, seen)

    def _account(self, key: tuple[str, int], seen: list[float]) -> None:
        found = self._children.get(key)
        if found is None:
            route, status = key
            found = self._requests.labels(route, str(status)), self._seconds.labels(route)
            self._children[key] = found
        found[0].inc(len(seen))
        for seconds in seen:
            found[1].observe(seconds)
        seen.clear()

    def text(self) -> bytes:
        """All of it."""
        for key, seen in self._seen.items():
            if seen:
                self._account(key, seen)
        return generate_latest(self._registry)


class _Models(Collector):
    """The state of the models."""

    def __init__(self, house: House) -> None:
        self._house = house

    def collect(self) -> Iterator[Metric]:
        house = self._house
        served = [house.get(name) for name in house.names()]

        def gauge(name: str, text: str, values: list[float]) -> GaugeMetricFamily:
            family = GaugeMetricFamily(f"sureline_{name}", text, labels=["model"])
            for one, value in zip(served, values, strict=True):
                family.add_metric([one.name], value)
            return family

        yield gauge("log_records", "Records of the log that were applied.", [one.seq for one in served])
        yield gauge("log_bytes", "Bytes of the log on the disk.", [one.log_bytes for one in served])
        yield gauge("waiting_rows", "Rows that wait to be learned from.", [one.waiting for one in served])
        yield gauge(
            "snapshot_failed",
            "1 if the last snapshot could not be written.",
            [bool(one.snapshot_failed) for one in served],
        )
        for name, text in (
            ("learned_rows", "Rows that were learned from, since the start."),
            ("wrong_rows", "Rows of these that were predicted wrongly before."),
            ("refused_rows", "Rows of these that the model could not learn from."),
        ):
            family = CounterMetricFamily(f"sureline_{name}", text, labels=["model", "member"])
            for one in served:
                for shadow, member in one.lineup.members:
                    value = {"learned_rows": member.learned, "wrong_rows": member.wrong}.get(name, member.refused)
                    family.add_metric([one.name, shadow or "champion"], value)
            yield family
        writer = house.writer
        if writer is not None:
            batches = CounterMetricFamily("sureline_log_batches", "Writes to logs, each of all records that waited.")
            batches.add_metric([], writer.batches)
            yield batches
            seconds = CounterMetricFamily("sureline_log_seconds", "Time that writes to logs took.")
            seconds.add_metric([], writer.seconds)
            yield seconds

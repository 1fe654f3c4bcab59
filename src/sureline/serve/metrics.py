"""Numbers for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from .models import House

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """Requests as they come, and the models as they are when somebody looks."""

    def __init__(self, house: House) -> None:
        self._registry = CollectorRegistry()
        self._times: dict[tuple[str, int], _Times] = {}
        self._registry.register(_Requests(self._times))
        self._registry.register(_Models(house))

    def count(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        key = route, status
        times = self._times.get(key)
        if times is None:
            times = self._times[key] = _Times()
        times.counts[bisect_left(_SECONDS, seconds)] += 1
        times.sum += seconds

    def text(self) -> bytes:
        """All of it."""
        return generate_latest(self._registry)


class _Times:
    """How many requests took how long."""

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts, self.sum = [0] * (len(_SECONDS) + 1), 0.0


class _Requests(Collector):
    """Requests by route and status, and their times."""

    def __init__(self, times: dict[tuple[str, int], _Times]) -> None:
        self._times = times

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily("sureline_requests", "Requests.", labels=["route", "status"])
        routes: dict[str, _Times] = {}
        for (route, status), times in self._times.items():
            requests.add_metric([route, str(status)], sum(times.counts))
            of_all = routes.setdefault(route, _Times())
            of_all.counts = [one + other for one, other in zip(of_all.counts, times.counts, strict=True)]
            of_all.sum += times.sum
        yield requests
        seconds = HistogramMetricFamily("sureline_request_seconds", "Time until the answer.", labels=["route"])
        bounds = [*map(str, _SECONDS), "+Inf"]
        for route, times in routes.items():
            seconds.add_metric([route], list(zip(bounds, accumulate(times.counts), strict=True)), times.sum)
        yield seconds


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

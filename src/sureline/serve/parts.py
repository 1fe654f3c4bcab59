"""The parts of the live page: each is sent again only when it is another than before."""

from __future__ import annotations

import asyncio
import copy
import hashlib
import json
import secrets
import time
from collections.abc import Sequence
from typing import Any

from ..evaluate.charts import Bars, Chart, template
from ..evaluate.charts.figures import mark
from ..models.weights import Weight
from ..stream.options import TABLES
from .figures import contributions, figures_of, largest_weights
from .members import Member
from .models import House
from .movement import Moved, Movement
from .replies import encode
from .served import Served

BOOT = secrets.token_hex(6)  # another one after a restart
_MOST_LABELS, _MOST_FIELDS = 100, 24
_TOP, _COMPARED = 12, 60  # weights that are shown, and that are remembered to tell how they moved
_MOST_TEMPLATES = 200
_WEIGHTS_EVERY, _WEIGHTS_SHARE = 3.0, 200  # seconds; and one in so many of the time, at most


class Templates:
    """Specifications of charts, each made once: it takes some hundredths of a second."""

    def __init__(self) -> None:
        self._by_key: dict[str, str] = {}
        self._made: dict[str, bytes] = {}

    async def of(self, key: str, figure: Chart | Bars) -> str:
        """The name of the specification of a figure with that key."""
        name = self._by_key.get(key)
        if name is None:
            made = await asyncio.to_thread(_written, figure)
            name = hashlib.sha256(made).hexdigest()[:16]
            if len(self._by_key) >= _MOST_TEMPLATES:
                self._by_key.clear()
                self._made.clear()
            self._by_key[key], self._made[name] = name, made
        return name

    def __getitem__(self, name: str) -> bytes | None:
        return self._made.get(name)


def _written(figure: Chart | Bars) -> bytes:
    return json.dumps(template(figure), separators=(",", ":")).encode()


class Parts:
    """Those of one name.

    Attributes
    ----------
    cost : float
        Seconds for which nothing else could be done while they were made.
    """

    def __init__(self, house: House, served: Served, templates: Templates) -> None:
        self.house, self.served, self.templates = house, served, templates
        self.cost = 0.0
        self._movement = Movement()
        self._member: Member | None = None
        self._weights: list[Moved] = []
        self._weights_seq, self._weights_again = -1, 0.0

    def at_once(self, seen: dict[str, Any] | None = None) -> dict[str, bytes]:
        """Those without charts, as JSON, by name."""
        served = self.served
        seen = seen or served.watch.snapshot()
        parts = {
            "model": self._model(served.champion),
            "state": self._state(seen),
            "alarms": seen["alarms"][:20],
            "shadows": [
                {"name": name, **{key: value for key, value in shadow.items() if key != "errors"}}
                for name, shadow in seen["shadows"].items()
                if name in served.lineup.shadows
            ],
            "queue": seen["queue"],
        }
        return {name: encode(part) for name, part in parts.items()}

    async def now(self) -> dict[str, bytes]:
        """All of them."""
        began = time.perf_counter()
        member, seen = self.served.champion, self.served.watch.snapshot()
        made, figures = self.at_once(seen), figures_of(seen)
        self.cost = 2 * (time.perf_counter() - began)  # about as much as this takes what goes on below, but for waiting
        parts: dict[str, Any] = {f"chart-{name}": await self._chart(figure) for name, figure in figures.items()}
        await self._look_at_weights(member)
        parts["weights"], parts["chart-weights"] = await self._of_weights(member)
        several = member.learner.model.n_heads > 1
        parts["chart-contributions"] = await self._chart(contributions(8, member.labels, several=several))
        return made | {name: encode(part) for name, part in parts.items()}

    # -- the model -------------------------------------------------------------------------------------------

    def _model(self, member: Member) -> dict[str, Any]:
        """Facts that do not change from one label to the next."""
        learner, keeping = member.learner, self.served.keeping
        return {
            "name": self.served.name,
            "models": self.house.names(),
            "boot": BOOT,
            "learner": type(learner).__name__,
            "format": learner.origin.options.get("format"),
            "classifier": member.is_classifier,
            "learns": member.can_learn,
            "explains": learner.has_weights,
            "labels": member.labels[:_MOST_LABELS] if member.is_classifier else [],
            "n_labels": len(member.labels) if member.is_classifier else 0,
            "kinds": sorted({type(label).__name__ for label in member.labels}) if member.is_classifier else [],
            "modes": _modes(member),
            "durability": keeping.durability,
            "max_error": keeping.max_error,
            "shadows": self.served.shadows(),
        }

    def _state(self, seen: dict[str, Any]) -> dict[str, Any]:
        served = self.served
        counts = ("requests", "rows", "answered", "labels", "mistakes", "recent", "now")
        return {
            "version": served.version,
            **{name: seen[name] for name in counts},
            "records": served.seq,
            "log_bytes": served.log_bytes,
            "waiting": served.waiting,
            "snapshot_failed": served.snapshot_failed,
            "ready": self.house.ready,
        }

    async def _chart(self, figure: Chart | Bars | None) -> Any:
        """The rows of a chart, and which specification draws them."""
        if figure is None:
            return None
        moment = figure.moment()
        legend = []
        if isinstance(figure, Chart) and len(figure.series) > 1:
            legend = [{"name": one.name, "mark": mark(one.style, one.line)} for one in figure.series]
        return {
            "template": await self.templates.of(moment.key, figure),
            "rows": [_rounded(row) for row in moment.rows],
            "values": moment.values,
            "legend": legend,
        }

    # -- weights ---------------------------------------------------------------------------------------------

    async def _look_at_weights(self, member: Member) -> None:
        """Compare the weights with those before, now and then: a large model takes a while to be copied."""
        now = time.monotonic()
        another = member is not self._member
        if another:
            self._member, self._movement, self._weights_seq = member, Movement(), -1
        if not member.learner.has_weights or self._weights_seq == self.served.seq:
            return
        if now < self._weights_again and not another:
            return
        learner, self._weights_seq = copy.copy(member.learner), self.served.seq
        labels = self.served.watch.n_labels
        found: list[Weight] = await asyncio.to_thread(learner.top_weights, _COMPARED, learner.origin.names)
        self._weights = self._movement.of(found, labels, _TOP)
        cost = time.monotonic() - now
        self._weights_again = now + max(_WEIGHTS_EVERY, _WEIGHTS_SHARE * cost)

    async def _of_weights(self, member: Member) -> tuple[Any, Any]:
        shown = self._weights if member.learner.has_weights else []
        if not shown:
            return {"features": [], "since": None, "labels": 0}, None
        several = member.learner.model.n_heads > 1
        rows = [
            {
                "name": one.title,
                "label": one.weight.label if several else None,
                "weight": one.weight.weight,
                "std": one.weight.std,
                "moved": one.by,
            }
            for one in shown
        ]
        labels = member.labels if member.is_classifier else []
        figure = largest_weights(shown, labels, several=several)
        told = {"features": rows, "since": self._movement.since, "labels": self._movement.labels}
        return told, await self._chart(figure)


def _modes(member: Member) -> list[dict[str, Any]]:
    """In which forms the model takes a row."""
    options = member.learner.origin.options
    format = options.get("format")
    if format in ("text", "libsvm", "vw"):
        modes: list[dict[str, Any]] = [{"mode": format}]
        return modes if format != "vw" else [*modes, {"mode": "features"}]
    if format in TABLES and "schema" in options:
        special = {options.get("label"), options.get("weight")}
        columns = [
            {"name": column["name"], "kind": column["kind"]}
            for column in options["schema"]["columns"]
            if column["name"] not in special
        ]
        fields = [{"mode": "table", "columns": columns}] if _simple(columns) else []
        return [*fields, {"mode": "json", "columns": columns[:_MOST_FIELDS]}]
    return [{"mode": "features"}, {"mode": "json", "columns": []}]


def _simple(columns: Sequence[dict[str, Any]]) -> bool:
    """True if a form has a field for each."""
    return 0 < len(columns) <= _MOST_FIELDS and not any(column["kind"] == "list" for column in columns)


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """A row with places as fine as they can be seen."""
    return {name: float(f"{value:.6g}") if type(value) is float else value for name, value in row.items()}

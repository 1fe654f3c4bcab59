"""The requests that answer and learn."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from .answering import PLAIN, Wanted, answers_of
from .batching import Batching, finish, tell_page
from .bodies import UNSET, Ask, Learn, Predict, decoded
from .bytes_in import whole_body
from .errors import Refused
from .limits import Limits
from .lineup import Read
from .members import FAULT
from .models import House
from .records import Learned
from .replies import Reply, reply
from .served import Served
from .teaching import Teaching

FORM = "application/x-www-form-urlencoded"  # what curl -d says, and what pages of others may send
NDJSON = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
_predict = msgspec.json.Decoder(Predict)
_learn = msgspec.json.Decoder(Learn)
_ask = msgspec.json.Decoder(Ask)


def media_type(request: Request) -> str:
    """The type of the body, without its parameters."""
    for name, text in request.scope["headers"]:
        if name == b"content-type":
            kind: str = text.decode("latin-1")
            return kind.partition(";")[0].strip().lower()
    return ""


def refuse_query(request: Request, *known: str) -> None:
    """Refused if the query has something else, or twice: what is misspelled would be without effect."""
    if not request.scope["query_string"]:
        return
    names = [name for name, _ in request.query_params.multi_items()]
    if len(set(names)) < len(names) or set(names) - set(known):
        told = f"may have {' and '.join(known)}, each once" if known else "has no options"
        raise Refused(422, f"The query {told}.")


def refuse_other_types(request: Request, *, lines: bool) -> bool:
    """True if the body is NDJSON; Refused if it is neither that, where it may be, nor JSON."""
    found = media_type(request)
    if lines and found in NDJSON:
        return True
    if found not in ("application/json", ""):
        more = " or application/x-ndjson" if lines else ""
        hint = " With curl, use --json in place of -d." if found == FORM else ""
        raise Refused(415, f"Content-Type must be application/json{more}.{hint}")
    return False


class Service:
    """Answers and labels by HTTP."""

    def __init__(self, house: House, limits: Limits) -> None:
        self.house, self.limits = house, limits
        self._queues: dict[str, tuple[Served, Batching, Teaching]] = {}

    def served(self, request: Request) -> Served:
        return self.house.get(request.path_params["name"])

    def _of(self, served: Served) -> tuple[Served, Batching, Teaching]:
        """The queues of a model."""
        found = self._queues.get(served.name)
        if found is None or found[0] is not served:
            self._queues[served.name] = found = served, Batching(served), Teaching(served)
        return found

    def batching(self, served: Served) -> Batching:
        """The queue that answers single rows of a model together."""
        return self._of(served)[1]

    def teaching(self, served: Served) -> Teaching:
        """The queue that learns single labels together."""
        return self._of(served)[2]

    # -- predict ---------------------------------------------------------------------------------------------

    async def predict(self, request: Request) -> Response:
        """Labels and confidences of rows."""
        served = self.served(request)
        if refuse_other_types(request, lines=True):
            from .streaming import predict_lines

            return predict_lines(served, request, self.limits)
        refuse_query(request)
        body = decoded(await whole_body(request, self.limits), _predict, self.limits)
        wanted = PLAIN
        if body.probabilities or body.novelty or body.explain or body.max_error is not None or body.shadows:
            wanted = Wanted(body.probabilities, body.novelty, body.explain, body.max_error, body.shadows)
        if body.rows is UNSET and body.row is not UNSET and wanted is PLAIN:
            return Reply(await self.batching(served).answer(body.row, remember=body.remember))
        rows = self._rows(body.row, body.rows)
        began = time.perf_counter()
        answers, chunk, verdicts = answers_of(served.lineup, rows, wanted)
        finish(served, rows, answers, [body.remember] * len(rows))
        tell_page(served, rows, answers, chunk, verdicts, time.perf_counter() - began)
        if body.rows is UNSET:
            return reply({**answers[0], "version": served.version})
        return reply({"version": served.version, "answers": answers})

    def _rows(self, row: Any, rows: Any) -> list[Any]:
        """The rows of a body that has one or several."""
        if (row is UNSET) == (rows is UNSET):
            raise Refused(422, "The body has row, which is one, or rows, a list of them.")
        if rows is UNSET:
            return [row]
        if not 0 < len(rows) <= self.limits.rows:
            status = 413 if rows else 422
            raise Refused(status, f"rows has 1 to {self.limits.rows:,} rows; NDJSON has no such limit.")
        return list(rows)

    # -- learn -----------------------------------------------------------------------------------------------

    async def learn(self, request: Request) -> Response:
        """Rows, or earlier predictions, with their labels."""
        served = self.served(request)
        if refuse_other_types(request, lines=True):
            from .streaming import learn_lines

            return learn_lines(served, request, self.limits)
        refuse_query(request)
        body = decoded(await whole_body(request, self.limits), _learn, self.limits)
        served.refuse_unteachable()
        entry = entry_of(served, body, self.limits)
        if body.rows is UNSET and body.prediction_ids is UNSET:
            refuse_labels(served, entry, self.limits)
            outcome = await asyncio.shield(self.teaching(served).learn(entry))
        else:
            outcome = await served.learn(entry, checked(served, entry, self.limits))
        refused = [{"index": k, "error": why} for k, why in enumerate(outcome.refused) if why is not None]
        learned = len(outcome.refused) - len(refused)
        if refused and not learned:
            raise Refused(500 if refused[0]["error"] is FAULT else 422, str(refused[0]["error"]))
        return reply({"version": outcome.version, "learned": learned, "refused": refused})

    # -- ask -------------------------------------------------------------------------------------------------

    async def ask(self, request: Request) -> Response:
        """Which rows are worth their labels."""
        served = self.served(request)
        refuse_other_types(request, lines=False)
        refuse_query(request)
        body = decoded(await whole_body(request, self.limits), _ask, self.limits)
        if not 0 < body.rate <= 1:
            raise Refused(422, "rate is the share of the labels to ask for, above 0 and at most 1.")
        rows = self._rows(body.row, body.rows)
        champion = served.champion
        verdicts = champion.judge(champion.rows.read(rows))
        wants, sure = champion.wants(verdicts, body.rate)
        told = [
            {"ask": one, "certainty": certainty if certainty < float("inf") else None}
            for one, certainty in zip(wants.tolist(), sure.tolist(), strict=True)
        ]
        if body.rows is UNSET:
            return reply({**told[0], "version": served.version})
        return reply({"version": served.version, "answers": told})


def entry_of(served: Served, body: Learn, limits: Limits) -> Learned:
    """The rows and labels to learn, of a body."""
    one = body.row is not UNSET or body.prediction_id is not UNSET
    several = body.rows is not UNSET or body.prediction_ids is not UNSET
    both = (body.row is not UNSET and body.prediction_id is not UNSET) or (
        body.rows is not UNSET and body.prediction_ids is not UNSET
    )
    if one == several or both:
        raise Refused(422, "The body has row or prediction_id with label, or rows or prediction_ids with labels.")
    strange = (body.labels, body.weights) if one else (body.label, body.weight)
    labels = [body.label] if one else body.labels
    if strange != (UNSET, UNSET) or labels is UNSET or (one and body.label is UNSET):
        raise Refused(422, "One row has label and weight, several have labels and weights.")
    weights: Any = body.weights
    if one:
        weights = UNSET if body.weight is UNSET else [body.weight]
    ids: Any = None
    if body.prediction_id is not UNSET:
        ids = [body.prediction_id]
    elif body.prediction_ids is not UNSET:
        ids = body.prediction_ids
    given = [body.row] if one else body.rows
    rows = given if ids is None else rows_of_predictions(served, ids, limits)
    assert isinstance(rows, list)
    assert isinstance(labels, list)
    if not 0 < len(rows) <= limits.rows:
        raise Refused(413 if rows else 422, f"There are 1 to {limits.rows:,} rows; NDJSON has no such limit.")
    for what, several_of in (("labels", labels), ("weights", weights)):
        if several_of is not UNSET and len(several_of) != len(rows):
            raise Refused(422, f"There are {len(rows)} rows and {len(several_of)} {what}.")
    return Learned(rows, labels, None if weights is UNSET else list(weights), ids)


def rows_of_predictions(served: Served, ids: Sequence[str], limits: Limits) -> list[Any]:
    """The rows that were predicted."""
    predictions = served.predictions
    assert predictions is not None
    if len(ids) > limits.rows:
        raise Refused(413, f"There are 1 to {limits.rows:,} rows.")
    if len(set(ids)) < len(ids):
        raise Refused(422, "A prediction comes twice.")
    return [predictions.find(one)[1] for one in ids]


def checked(served: Served, entry: Learned, limits: Limits) -> Read:
    """The rows as the champion reads them. Refused if they cannot be learned from, before they are in the log."""
    refuse_labels(served, entry, limits)
    rows = served.champion.rows
    return Read(rows, rows.read(entry.x))


def refuse_labels(served: Served, entry: Learned, limits: Limits) -> None:
    """Refused if labels or weights cannot be learned from, or too many rows wait."""
    for label in entry.y:
        served.champion.refuse_label(label)
    if entry.w is not None and not all(0 <= weight < 1e30 for weight in entry.w):
        raise Refused(422, "A weight is a number that is finite and not negative.")
    if served.waiting + len(entry.y) > limits.waiting:
        raise Refused(429, f"{served.waiting:,} rows wait to be learned from.", {"Retry-After": "1"})

"""The application: requests to what answers them, and what holds for all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from .. import __version__
from .administration import Administration
from .errors import Refused
from .inference import Inference
from .limits import Limits
from .manual import manual
from .metrics import CONTENT_TYPE, Metrics
from .models import House
from .names import PATTERN
from .openapi import description
from .operations import JSON, NDJSON, OCTETS, TEXT, Endpoint, Operation
from .page import Page
from .replies import SAFE, Reply, encode, refusal, reply
from .service import Service, refuse_query
from .tokens import Right, Tokens

_MODELS = "/v1/models/"
_MODEL = f"{_MODELS}{{name}}/"
_OFTEN = (f"{_MODEL}predict", f"{_MODEL}learn")
_FLAG = {"type": "boolean", "default": False}
_OPTIONS: dict[str, dict[str, Any]] = {
    "probabilities": _FLAG,
    "novelty": _FLAG,
    "explain": {"type": "integer", "minimum": 0, "maximum": 1000},
    "max_error": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "shadows": _FLAG,
    "remember": _FLAG,
}
_NAME = {"type": "string", "pattern": PATTERN, "required": True}


class Application:
    """All operations of a service."""

    def __init__(self, house: House, tokens: Tokens, limits: Limits) -> None:
        self.house, self.tokens, self.limits = house, tokens, limits
        self.metrics = Metrics(house)
        self.operations = self._operations() + Page(house, limits).operations()

    def _operations(self) -> list[Operation]:
        service = Service(self.house, self.limits)
        administration = Administration(self.house, self.limits)
        inference = Inference(self.house, self.limits, __version__)
        model, read, admin = "/v1/models/{name}", Right.READ, Right.ADMIN
        answers = {JSON: "Answers", NDJSON: "Text"}
        learns = {JSON: "Learned", NDJSON: "Text"}
        post, get, delete = "POST", "GET", "DELETE"
        return [
            Operation(
                post, f"{model}/predict", service.predict, read, "Answer rows",
                "A row, or several. As NDJSON a row a line, options in the query; answers come a line each, in order.",
                {JSON: "Predict", NDJSON: "Row"}, answers, query=_OPTIONS,
            ),
            Operation(
                post, f"{model}/learn", service.learn, Right.LEARN, "Learn from labels",
                "Rows with their labels, or earlier predictions by their id. It is answered when the labels are in the "
                "log. As NDJSON a row or prediction with its label a line.",
                {JSON: "Learn", NDJSON: "Learn"}, learns, also=(409, 410, 429, 507),
            ),
            Operation(
                post, f"{model}/ask", service.ask, read, "Ask which rows are worth labelling",
                body={JSON: "Ask"}, answer={JSON: "Asked"},
            ),
            Operation(get, "/v1/models", administration.models, read, "List the models", answer={JSON: "Models"}),
            Operation(
                post, "/v1/models", administration.upload, admin, "Upload a model file",
                "As a new model, or with replace=true in place of a champion, which becomes the shadow previous.",
                {OCTETS: "Octets"}, {JSON: "Model"}, 201, (409, 507), {"name": _NAME, "replace": _FLAG},
            ),
            Operation(get, model, administration.describe, read, "Describe a model", answer={JSON: "Model"}),
            Operation(
                delete, model, administration.remove, admin, "Remove a model and all that was kept of it",
                answer={JSON: "Names"},
            ),
            Operation(
                get, f"{model}/model", administration.download, read, "Download the model file",
                answer={OCTETS: "Octets"}, query={"shadow": {"type": "string", "pattern": PATTERN}},
            ),
            Operation(
                post, f"{model}/shadows", administration.add_shadow, admin, "Upload a model file as a shadow",
                "It learns and answers beside the champion from now on.",
                {OCTETS: "Octets"}, {JSON: "Lineup"}, 201, (409, 507), {"name": _NAME},
            ),
            Operation(
                delete, f"{model}/shadows/{{shadow}}", administration.remove_shadow, admin, "Remove a shadow",
                answer={JSON: "Lineup"}, also=(507,),
            ),
            Operation(
                post, f"{model}/shadows/{{shadow}}/promote", administration.promote, admin, "Promote a shadow",
                "It becomes the champion, and the champion the shadow previous.",
                answer={JSON: "Lineup"}, also=(507,),
            ),
            Operation(
                post, "/v2/models/{name}/infer", inference.infer, read, "Answer tensors",
                body={JSON: "Infer"}, answer={JSON: "Inferred"}, tag="inference",
            ),
            Operation(get, "/v2/models/{name}", inference.model, read, "Inputs and outputs", tag="inference"),
            Operation(get, "/v2/models/{name}/ready", inference.model_ready, read, "Readiness", tag="inference"),
            Operation(get, "/v2", inference.server, read, "Name and version", tag="inference"),
            Operation(get, "/v2/health/live", inference.live, Right.NOTHING, "Liveness", tag="inference"),
            Operation(get, "/v2/health/ready", inference.ready, Right.NOTHING, "Readiness", tag="inference"),
            Operation(get, "/healthz", self.healthz, Right.NOTHING, "Liveness", tag="service"),
            Operation(get, "/readyz", self.readyz, Right.NOTHING, "Readiness", tag="service"),
            Operation(
                get, "/metrics", self.metrics_text, read, "Numbers for Prometheus", answer={TEXT: "Text"}, tag="service"
            ),
            Operation(get, "/openapi.json", self.openapi, Right.NOTHING, "This description", tag="service"),
            Operation(
                get, "/docs", self.docs, Right.NOTHING, "This description, for people", answer={"text/html": "Text"},
                tag="service",
            ),
        ]  # fmt: skip

    # -- the service itself ----------------------------------------------------------------------------------

    async def healthz(self, request: Request) -> Response:
        return reply({"status": "alive"})

    async def readyz(self, request: Request) -> Response:
        """Ready to answer; and of which models labels or snapshots cannot be kept now."""
        house = self.house
        served = [house.get(name) for name in house.names()]
        ready = house.ready and not any(one.parted for one in served)
        told = {
            "status": "ready" if ready else "not ready",
            "models": house.names(),
            "no_labels": [one.name for one in served if one.log_failed or one.parted],
            "no_snapshot": [one.name for one in served if one.snapshot_failed],
        }
        return reply(told, 200 if ready else 503)

    async def metrics_text(self, request: Request) -> Response:
        refuse_query(request)
        response = Response(self.metrics.text())
        response.raw_headers = [
            (b"content-length", str(len(response.body)).encode("ascii")),
            (b"content-type", CONTENT_TYPE.encode("ascii")),
            *SAFE,
        ]
        return response

    async def openapi(self, request: Request) -> Response:
        return Reply(self._description()[0])

    async def docs(self, request: Request) -> Response:
        return HTMLResponse(self._description()[1], headers=manual.headers)

    @cache  # noqa: B019  # one application lives as long as the process
    def _description(self) -> tuple[bytes, str]:
        told = description(
            [one for one in self.operations if one.listed], self.limits, __version__, tokens=bool(self.tokens)
        )
        return encode(told), manual.page(told)

    # -- routes ----------------------------------------------------------------------------------------------

    def asgi(self, pages: Sequence[BaseRoute] = ()) -> ASGIApp:
        """The operations as an application, with other pages."""
        checked = [(one, self._checked(one)) for one in self.operations]
        often = {one.path: endpoint for one, endpoint in checked if one.path in _OFTEN}
        return Straight(self._starlette(checked, pages), often)

    def _starlette(self, checked: list[tuple[Operation, Endpoint]], pages: Sequence[BaseRoute]) -> Starlette:
        routes: list[BaseRoute] = [Route(one.path, endpoint, methods=[one.method]) for one, endpoint in checked]
        handlers: dict[Any, Callable[[Request, Exception], Response]] = {
            Refused: _refused,
            HTTPException: self._http,
            ClientDisconnect: _gone,
            Exception: _failed,
        }
        made = Starlette(routes=[*routes, *pages], exception_handlers=handlers)
        made.router.redirect_slashes = False
        return made

    def _checked(self, operation: Operation) -> Endpoint:
        """The endpoint, for those who have the right, and counted."""
        endpoint, right, path = operation.endpoint, operation.right, f"{operation.method} {operation.path}"
        check, count = self.tokens.check, self.metrics.count
        guarded = bool(self.tokens) and right is not Right.NOTHING

        async def answered(request: Request) -> Response:
            began = time.perf_counter()
            try:
                if guarded:
                    check(_authorization(request), right)
                response = await endpoint(request)
            except Refused as refused:
                response = refusal(refused)
            count(path, response.status_code, time.perf_counter() - began)
            return response

        return answered

    def _http(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        self.metrics.count("other", error.status_code, 0.0)
        return reply({"error": f"{error.detail}."}, error.status_code, error.headers)


class Straight:
    """Has the requests that come most answered without a router's search, which takes as long as the answer."""

    def __init__(self, app: ASGIApp, endpoints: Mapping[str, Endpoint]) -> None:
        self._app = app
        self._endpoints = {path.removeprefix(_MODEL): endpoint for path, endpoint in endpoints.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = None
        if scope["type"] == "http" and scope["method"] == "POST" and scope["path"].startswith(_MODELS):
            name, _, rest = scope["path"][len(_MODELS) :].partition("/")
            endpoint = self._endpoints.get(rest) if name else None
        if endpoint is None:
            await self._app(scope, receive, send)
            return
        scope["path_params"] = {"name": name}
        request = Request(scope, receive, send)
        try:
            response = await endpoint(request)
        except ClientDisconnect as gone:
            response = _gone(request, gone)
        except Exception as error:
            await _failed(request, error)(scope, receive, send)
            raise
        await response(scope, receive, send)


def _authorization(request: Request) -> bytes | None:
    for name, text in request.scope["headers"]:
        if name == b"authorization":
            found: bytes = text
            return found
    return None


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refused)
    return refusal(error)


def _gone(request: Request, error: Exception) -> Response:
    return reply({"error": "The client has gone."}, 400)


def _failed(request: Request, error: Exception) -> Response:
    return reply({"error": "An internal error; the log of the service has more."}, 500)

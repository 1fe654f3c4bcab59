"""The open inference protocol, version 2, as KServe, Triton and MLServer speak it.

Rows come as tensors: texts or lines of the model's format as one of BYTES, the columns of a table as one each, and
numbers as one of shape [rows, columns].
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from ..stream.options import TABLES
from .answering import Wanted, answers_of
from .batching import finish, tell_page
from .bodies import decoded
from .bytes_in import whole_body
from .errors import Refused
from .limits import Limits
from .members import Member
from .models import House
from .replies import reply
from .served import Served
from .service import refuse_other_types, refuse_query

_INTEGERS = {f"{sign}INT{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}
_FLOATS = {"FP16", "FP32", "FP64"}
DATATYPES = sorted({"BOOL", "BYTES", *_INTEGERS, *_FLOATS})
_MOST_COLUMNS = 1 << 20


class Tensor(msgspec.Struct):
    """An input."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any]
    parameters: dict[str, Any] | None = None


class Output(msgspec.Struct):
    """An output that is wanted."""

    name: str
    parameters: dict[str, Any] | None = None


class Infer(msgspec.Struct):
    """A request."""

    inputs: list[Tensor]
    id: str | None = None
    outputs: list[Output] | None = None
    parameters: dict[str, Any] | None = None


_infer = msgspec.json.Decoder(Infer)


class Inference:
    """The endpoints of the protocol."""

    def __init__(self, house: House, limits: Limits, version: str) -> None:
        self.house, self.limits, self._version = house, limits, version

    def served(self, request: Request) -> Served:
        return self.house.get(request.path_params["name"])

    async def server(self, request: Request) -> Response:
        refuse_query(request)
        return reply({"name": "sureline", "version": self._version, "extensions": []})

    async def live(self, request: Request) -> Response:
        return reply({"live": True})

    async def ready(self, request: Request) -> Response:
        return reply({"ready": self.house.ready}, 200 if self.house.ready else 503)

    async def model_ready(self, request: Request) -> Response:
        served = self.served(request)
        return reply({"name": served.name, "ready": self.house.ready}, 200 if self.house.ready else 503)

    async def model(self, request: Request) -> Response:
        """The inputs and outputs of a model."""
        refuse_query(request)
        served = self.served(request)
        outputs = [
            {"name": name, "datatype": datatype, "shape": shape} for name, datatype, shape in _outputs(served.champion)
        ]
        told = {"name": served.name, "versions": [served.version], "platform": "sureline"}
        return reply({**told, "inputs": _inputs(served.champion), "outputs": outputs})

    async def infer(self, request: Request) -> Response:
        """Answers to tensors."""
        refuse_query(request)
        served = self.served(request)
        refuse_other_types(request, lines=False)
        if "inference-header-content-length" in request.headers:
            raise Refused(415, "Tensors are JSON: the extension for binary data is not spoken here.")
        body = decoded(await whole_body(request, self.limits), _infer, self.limits)
        known = {name: (datatype, shape) for name, datatype, shape in _outputs(served.champion)}
        names = [one.name for one in body.outputs or []] or [name for name in known if name != "probabilities"]
        if strange := [name for name in names if name not in known]:
            raise Refused(422, f"There is no output {strange[0][:80]!r}; there are {', '.join(known)}.")
        if len(set(names)) < len(names):
            raise Refused(422, "An output comes twice.")
        rows = rows_of(served.champion, body.inputs, self.limits)
        began = time.perf_counter()
        wanted = Wanted(probabilities="probabilities" in names)
        answers, chunk, verdicts = answers_of(served.lineup, rows, wanted)
        finish(served, rows, answers, [True] * len(rows))
        tell_page(served, rows, answers, chunk, verdicts, time.perf_counter() - began)
        outputs = []
        for name in names:
            datatype, shape = known[name]
            data = [answer[name] for answer in answers]
            if name == "probabilities":
                data = [each["probability"] for answer in answers for each in answer[name]]
            outputs.append({"name": name, "datatype": datatype, "shape": [len(rows), *shape[1:]], "data": data})
        told = {"model_name": served.name, "model_version": served.version}
        return reply({**told, **({} if body.id is None else {"id": body.id}), "outputs": outputs})


def _inputs(member: Member) -> list[dict[str, Any]]:
    options = member.learner.origin.options
    if options.get("format") in TABLES and "schema" in options:
        kinds = {"numeric": "FP64", "boolean": "BOOL"}
        return [
            {"name": column["name"], "datatype": kinds.get(column["kind"], "BYTES"), "shape": [-1]}
            for column in options["schema"]["columns"]
        ]
    if options:
        return [{"name": "rows", "datatype": "BYTES", "shape": [-1]}]
    return [{"name": "rows", "datatype": "FP64", "shape": [-1, member.learner.model.n_columns]}]


def _outputs(member: Member) -> list[tuple[str, str, list[int]]]:
    """Names, datatypes and shapes."""
    if not member.is_classifier:
        return [("value", "FP64", [-1])]
    labels = member.labels
    datatype = "BYTES"
    for kind, name in ((bool, "BOOL"), (int, "INT64"), (float, "FP64")):
        if labels and all(type(label) is kind for label in labels):
            datatype = name
    return [
        ("label", datatype, [-1]),
        ("confidence", "FP64", [-1]),
        ("probabilities", "FP64", [-1, len(labels)]),
        ("prediction_id", "BYTES", [-1]),
    ]


def rows_of(member: Member, inputs: Sequence[Tensor], limits: Limits) -> list[Any]:
    """The rows that tensors hold. Refused if they are none."""
    if not inputs:
        raise Refused(422, "There is no input.")
    if len({one.name for one in inputs}) < len(inputs):
        raise Refused(422, "An input comes twice.")
    flat = [_checked(one) for one in inputs]
    n = inputs[0].shape[0]
    if not 0 < n <= limits.rows:
        raise Refused(413 if n > 0 else 422, f"There are 1 to {limits.rows:,} rows.")
    options = member.learner.origin.options
    of_table = options.get("format") in TABLES
    if of_table and not (len(inputs) == 1 and inputs[0].name == "rows"):
        for one in inputs:
            if one.shape[0] != n or math.prod(one.shape) != n:
                raise Refused(422, f"The input {one.name[:80]!r} is a column, and has the shape [{n}].")
        return [{one.name: data[k] for one, data in zip(inputs, flat, strict=True)} for k in range(n)]
    if len(inputs) != 1:
        raise Refused(422, f"There is one input, rows. Got {len(inputs)}.")
    one, data = inputs[0], flat[0]
    if one.datatype == "BYTES":
        if math.prod(one.shape) != n:
            raise Refused(422, f"The input of BYTES has the shape [{n}].")
        return [_object(text) for text in data] if of_table else data
    if len(one.shape) != 2:
        raise Refused(422, "An input of numbers has the shape [rows, columns].")
    width = one.shape[1]
    parts = (data[k * width : (k + 1) * width] for k in range(n))
    return [[[j for j, x in enumerate(part) if x], [x for x in part if x]] for part in parts]


def _object(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        raise Refused(422, "A row of a table is a JSON object.") from None


def _checked(one: Tensor) -> list[Any]:
    """The numbers or texts of a tensor, row by row."""
    name, datatype = one.name[:80], one.datatype
    if datatype not in DATATYPES:
        raise Refused(422, f"The input {name!r} has the datatype {datatype[:40]!r}; there are {', '.join(DATATYPES)}.")
    if not 1 <= len(one.shape) <= 2 or not all(0 <= size <= _MOST_COLUMNS for size in one.shape):
        raise Refused(422, f"The input {name!r} has the shape {one.shape[:4]}; it has one or two dimensions.")
    flat: list[Any] = []
    for each in one.data:
        if isinstance(each, list):
            flat += each
        else:
            flat.append(each)
    if len(flat) != math.prod(one.shape):
        raise Refused(
            422, f"The input {name!r} has {len(flat)} numbers or texts, and its shape {math.prod(one.shape)}."
        )
    kinds: tuple[type, ...] = (bool,) if datatype == "BOOL" else (str,) if datatype == "BYTES" else (int,)
    if datatype in _FLOATS:
        kinds = (int, float)
    if not all(type(each) in kinds for each in flat):
        raise Refused(422, f"The input {name!r} holds something else than {datatype}.")
    return flat

"""The description of the interface in OpenAPI 3.1, made from the same operations as its routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..learners.asking import checked_rate
from .limits import Limits
from .names import PATTERN
from .operations import NDJSON, Operation
from .tokens import Right

_MEANINGS = {
    200: "Done.",
    201: "Made.",
    400: "The body is no JSON, a key comes twice in an object, or what is compressed is damaged.",
    401: "A token is needed, or not known.",
    403: "The token has not this right, or a browser asks on behalf of another page.",
    404: "There is no such model, shadow or prediction.",
    408: "The request came too slowly.",
    409: "It is there already, or cannot be done with this model.",
    410: "The prediction is forgotten.",
    413: "The body, a name, a label or the number of rows is too large.",
    415: "The body is of another type.",
    422: "The body is JSON, and not what this operation takes.",
    429: "Too many rows wait to be learned from.",
    431: "The line and the headers of the request are too large.",
    503: "The service starts or stops, or has too many connections.",
    507: "There is no room on the disk. Nothing was learned.",
}
_LABEL: dict[str, Any] = {"type": ["string", "number", "boolean"], "description": "A label as the model has it."}
_ROW: dict[str, Any] = {
    "description": "A row in the words of the model's format: an object of features or of the columns of a table, a "
    "text, a line of VW or LIBSVM without its label; or the arrays [columns, values].",
    "anyOf": [
        {"type": "object"},
        {"type": "string"},
        {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "array", "items": {"type": "number"}}},
    ],
}
_OBJECT = {"type": "object"}


def _string(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": text, **more}


def _list(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "array", "items": of, **more}


def _object(properties: dict[str, Any], required: Sequence[str] = (), *, open: bool = False) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
        **({} if open else {"additionalProperties": False}),
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def schemas(limits: Limits) -> dict[str, Any]:
    """All bodies and answers."""
    version = _string("The model that answered: DIGEST.RECORDS.CALIBRATED.", examples=["ed951c614f51.1204.1152"])
    prediction_id = {"type": ["string", "null"], "description": "For a label that comes later; null if not kept."}
    confidence = {"type": "number", "minimum": 0, "maximum": 1, "description": "Calibrated: that the label is right."}
    weight = {"type": "number", "minimum": 0, "exclusiveMaximum": 1e30, "description": "How many times it counts."}
    asked = {
        "probabilities": {"type": "boolean", "default": False, "description": "Add the probability of each label."},
        "novelty": {"type": "boolean", "default": False, "description": "Add how new the row is to the model."},
        "explain": {"type": "integer", "minimum": 0, "maximum": 1000, "default": 0, "description": "Features to tell."},
        "max_error": {
            "type": ["number", "null"],
            "exclusiveMinimum": 0,
            "exclusiveMaximum": 1,
            "description": "Answer only where at most this share of the answers is wrong.",
        },
        "shadows": {"type": "boolean", "default": False, "description": "Add what the shadows answer."},
        "remember": {"type": "boolean", "default": True, "description": "Keep the row for a label that comes later."},
    }
    rows, labels = _list(_ref("Row"), minItems=1, maxItems=limits.rows), _list(_ref("Label"), minItems=1)
    ids = _list({"type": "string"}, minItems=1, maxItems=limits.rows)
    answer = {
        "label": {**_LABEL, "type": [*_LABEL["type"], "null"]},
        "confidence": confidence,
        "value": {"type": "number", "description": "Of a model that predicts numbers, in place of a label."},
        "prediction_id": prediction_id,
        "version": version,
        "answered": {"type": "boolean"},
        "probabilities": _list(_object({"label": _ref("Label"), "probability": {"type": "number"}})),
        "novelty": _object({"unseen": {"type": "number"}, "std_ratio": {"type": ["number", "null"]}}),
        "explanation": _OBJECT,
        "shadows": _OBJECT,
    }
    ask = {"ask": {"type": "boolean"}, "certainty": {"type": ["number", "null"]}, "version": version}
    member = {
        "learner": {"type": "string"},
        "parameters": _OBJECT,
        "format": {"type": ["string", "null"]},
        "labels": {"type": ["array", "null"], "items": _ref("Label")},
        "learns": {"type": "boolean"},
        **{name: {"type": "integer"} for name in ("rows", "learned", "wrong", "refused", "features")},
        "bytes": {"type": ["integer", "null"]},
    }
    model = {
        "name": {"type": "string"},
        "version": version,
        **member,
        "log_bytes": {"type": "integer"},
        "durability": {"enum": ["fsync", "batch", "none"]},
        "shadows": _list(_object({"name": {"type": "string"}, **member})),
    }
    tensor = {
        "name": {"type": "string"},
        "shape": _list({"type": "integer", "minimum": 0}, minItems=1, maxItems=2),
        "datatype": {"type": "string", "examples": ["BYTES", "FP64"]},
        "data": {"type": "array"},
    }
    refused = _list(_object({"index": {"type": "integer"}, "error": {"type": "string"}}))
    return {
        "Error": _object({"error": _string("One sentence.")}, ["error"]),
        "Object": _OBJECT,
        "Octets": {"type": "string", "format": "binary"},
        "Text": {"type": "string"},
        "Row": _ROW,
        "Label": _LABEL,
        "Predict": {
            "oneOf": [
                _object({"row": _ref("Row"), **asked}, ["row"]),
                _object({"rows": rows, **asked}, ["rows"]),
            ]
        },
        "Learn": {
            "oneOf": [
                _object({"row": _ref("Row"), "label": _ref("Label"), "weight": weight}, ["row", "label"]),
                _object(
                    {"prediction_id": {"type": "string"}, "label": _ref("Label"), "weight": weight},
                    ["prediction_id", "label"],
                ),
                _object({"rows": rows, "labels": labels, "weights": _list(weight)}, ["rows", "labels"]),
                _object(
                    {"prediction_ids": ids, "labels": labels, "weights": _list(weight)}, ["prediction_ids", "labels"]
                ),
            ]
        },
        "Ask": {
            "oneOf": [
                _object({"row": _ref("Row"), "rate": _rate()}, ["row"]),
                _object({"rows": rows, "rate": _rate()}, ["rows"]),
            ]
        },
        "Answer": _object(answer, ["version"]),
        "Answers": {
            "anyOf": [_ref("Answer"), _object({"version": version, "answers": _list(_object(answer))}, ["answers"])]
        },
        "Learned": _object({"version": version, "learned": {"type": "integer"}, "refused": refused}, ["version"]),
        "Asked": {
            "anyOf": [
                _object(ask, ["ask", "version"]),
                _object({"version": version, "answers": _list(_object(ask))}, ["answers"]),
            ]
        },
        "Model": _object(model, ["name", "version"]),
        "Models": _object({"models": _list(_ref("Model"))}, ["models"]),
        "Names": _object({"models": _list({"type": "string"})}, ["models"]),
        "Lineup": _object({"version": version, "shadows": _list({"type": "string"})}, ["version", "shadows"]),
        "Infer": _object(
            {
                "id": {"type": ["string", "null"]},
                "inputs": _list(_object(tensor, list(tensor), open=True), minItems=1),
                "outputs": {
                    "type": ["array", "null"],
                    "items": _object({"name": {"type": "string"}}, ["name"], open=True),
                },
            },
            ["inputs"],
            open=True,
        ),
        "Inferred": _object(
            {
                "model_name": {"type": "string"},
                "model_version": version,
                "id": {"type": "string"},
                "outputs": _list(_object(tensor, list(tensor))),
            },
            ["model_name", "outputs"],
        ),
    }


def _rate() -> dict[str, Any]:
    return {"type": "number", "exclusiveMinimum": 0, "maximum": checked_rate(1.0), "default": 0.1}


def description(operations: Sequence[Operation], limits: Limits, version: str, *, tokens: bool) -> dict[str, Any]:
    """The description as JSON has it."""
    paths: dict[str, Any] = {}
    for operation in operations:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation, tokens)
    components: dict[str, Any] = {"schemas": schemas(limits)}
    if tokens:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "sureline",
            "version": version,
            "description": "A linear classifier that answers, and learns from labels that come later.",
        },
        "paths": paths,
        "components": components,
    }


def _operation(operation: Operation, tokens: bool) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status in operation.statuses:
        content = {"application/json": {"schema": _ref("Error")}}
        if status == operation.status:
            content = {media: {"schema": _ref(name)} for media, name in operation.answer.items()}
        responses[str(status)] = {"description": _MEANINGS[status], "content": content}
    if 503 in operation.statuses and operation.path.endswith(("ready", "readyz")):
        responses["503"]["content"] = {"application/json": {"schema": _ref("Object")}}
    told: dict[str, Any] = {
        "summary": operation.summary,
        "tags": [operation.tag],
        "operationId": operation.endpoint.__name__ + ("" if operation.tag == "models" else f"_{operation.tag}"),
        "responses": responses,
    }
    if operation.text:
        told["description"] = operation.text
    parameters = [_in_path(word) for word in operation.path.split("/") if word.startswith("{")]
    parameters += [
        {"name": name, "in": "query", "required": bool(schema.get("required")), "schema": _without(schema, "required")}
        for name, schema in operation.query.items()
    ]
    if parameters:
        told["parameters"] = parameters
    if operation.body:
        content = {
            media: {"schema": _ref(name)} if media != NDJSON else {"schema": _ref("Text"), "x-each-line": _ref(name)}
            for media, name in operation.body.items()
        }
        told["requestBody"] = {"required": True, "content": content}
    if tokens and operation.right is not Right.NOTHING:
        told["security"] = [{"token": []}]
        told["x-right"] = operation.right.name.lower()
    return told


def _in_path(word: str) -> dict[str, Any]:
    return {"name": word[1:-1], "in": "path", "required": True, "schema": {"type": "string", "pattern": PATTERN}}


def _without(schema: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in schema.items() if name != key}

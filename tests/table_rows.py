"""The expected rows of tables, computed in plain Python: names and values for scikit-learn's FeatureHasher."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from datetime import UTC, datetime
from itertools import product
from typing import Any

from sureline.stream.schema import Column, Schema

MISSING = {"", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_missing(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip(" \t") in MISSING
    return value is None or (isinstance(value, float) and math.isnan(value))


def category(value: Any) -> str:
    if isinstance(value, bool) or value in ("True", "TRUE", "False", "FALSE"):
        return str(value).lower()
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    text = str(value)
    return text[:-2] if re.fullmatch(r"-?[1-9][0-9]{0,14}\.0|0\.0", text) else text


def words(text: str, schema: Schema) -> Counter[str]:
    """Words and runs of characters, the latter with a tilde before them."""
    rule = schema.words
    text = text if rule.keep_case else text.lower()
    found = re.findall(r"\b\w\w+\b", text)
    features = Counter(" ".join(found[i : i + n]) for n in range(1, rule.ngrams + 1) for i in range(len(found) - n + 1))
    if rule.chars is not None:
        plain = re.sub(r"\s\s+", " ", text)
        low, high = rule.chars
        features += Counter("~" + plain[i : i + n] for n in range(low, high + 1) for i in range(len(plain) - n + 1))
    return features


def features(column: Column, value: Any, schema: Schema) -> dict[str, float]:
    name = column.name
    if is_missing(value):
        return {f"{name}=": 1.0} if column.missing else {}
    if isinstance(value, str) and column.kind in ("list",):
        value = json.loads(value)
    if column.kind == "mixed":
        if isinstance(value, list):
            column = Column(name, "list")
        elif isinstance(value, str):
            text = value.strip(" \t")
            number = re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text)
            padded = re.match(r"0[0-9]", text) or (re.search("[eE]", text) and not re.search("[.+-]", text))
            numeric = number and not padded and math.isfinite(float(text))
            column = Column(name, "numeric" if numeric else "categorical")
        else:
            column = Column(name, "numeric")
    if column.kind == "numeric":
        return {name: float(value)}
    if column.kind == "boolean":
        truth = value if not isinstance(value, str) else value.strip(" \t").lower() in ("true", "1")
        return {name: float(truth)}
    if column.kind == "categorical":
        return {f"{name}={category(value)}": 1.0}
    if column.kind == "text":
        counted = words(category(value) if not isinstance(value, str) else value, schema)
        return {f"{name}{w}" if w[0] == "~" else f"{name}={w}": float(n) for w, n in counted.items()}
    if column.kind == "timestamp":
        when = (
            value if isinstance(value, datetime) else datetime.fromisoformat(value.strip(" \t").replace("Z", "+00:00"))
        )
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
        delta = when - _EPOCH
        micros = (delta.days * 86400 + delta.seconds) * 10**6 + delta.microseconds
        hours = {f"{name}.hour={when.hour}": 1.0} if column.hours else {}
        return {f"{name}.weekday={when:%a}": 1.0, **hours, f"{name}.age": (micros - column.reference) / 86400e6}
    assert column.kind == "list", column
    if all(isinstance(item, str) for item in value):
        return {f"{name}={category(item)}": float(n) for item, n in Counter(filter(None, value)).items()}
    return {f"{name}[{i}]": float(item) for i, item in enumerate(value)}


def row(record: dict[str, Any], schema: Schema) -> dict[str, float]:
    """Names and values of a row; columns outside the schema are left out."""
    made = {column.name: features(column, record.get(column.name), schema) for column in schema.columns}
    result = {name: value for each in made.values() for name, value in each.items()}
    for crossing in schema.interact:
        for parts in product(*(made[name].items() for name in crossing)):
            result["*".join(name for name, _ in parts)] = math.prod(value for _, value in parts)
    return result

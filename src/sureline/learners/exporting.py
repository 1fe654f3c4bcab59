"""Export of models: JSON for people, ONNX for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._inputs import Array
from .._system import default_memory
from .calibration import Curve
from .gaussian import GaussianLearner
from .learner import ClassLearner, Learner
from .second_order import SOP

DENSE = 1 << 16  # columns; rows of more come as columns and values
LARGEST = (1 << 31) - (1 << 20)  # bytes of weights: protobuf ends at 2 GiB
_COPIES = 5  # of the weights, while a file is made
OPSET = 17
DOUBLE = 11  # of TensorProto
IR_VERSION = 8


def refuse_without_weights(learner: Learner) -> None:
    """Raise ValueError if there are no weights to export."""
    if not learner.has_weights:
        raise ValueError(f"A model of {type(learner).__name__} has no weights of features, and cannot be exported.")


# -- JSON ----------------------------------------------------------------------------------------------------


def to_json(learner: Learner) -> dict[str, Any]:
    """All that is needed to compute scores by hand: score = intercept + sum of weight * value.

    With ``normalize="row"`` the values of a row are divided by its length first. Weights are those of features as they
    come; scales, where there are any, are in them already. The largest weights come first. SOP divides that sum by 1 +
    its variance, which does not change the label.
    """
    refuse_without_weights(learner)
    heads = learner.labels[-1:] if len(learner.labels) == 2 else learner.labels or ["value"]
    weights = {str(head): dict(found) for head, found in zip(heads, _weights(learner), strict=True)}
    intercepts = np.asarray(learner.intercept_, np.float64).reshape(-1).tolist()
    told: dict[str, Any] = {
        "algorithm": type(learner).__name__,
        "settings": learner.parameters(),
        **({"labels": learner.labels} if learner.labels else {}),
        "examples": learner.n_seen_,
        "input": dict(learner.origin.options),
        "normalize": learner.normalizer.kind,
        "intercept": {str(head): b for head, b in zip(heads, intercepts, strict=True)},
        "weights": weights,
    }
    if learner.normalizer.kind == "scale":
        columns, means, _ = learner.normalizer.arrays()
        named = {name for found in weights.values() for name in found}
        pairs = zip(_titles(learner, columns), means.astype(np.float64).tolist(), strict=True)
        told["scales"] = {name: mean for name, mean in pairs if name in named}
    if isinstance(learner, SOP) and len(intercepts) == 1:
        told["score"] = "the sum divided by 1 + its variance"
    if isinstance(learner, ClassLearner):
        told["calibration"] = _calibration(learner)
    return told


def _weights(learner: Learner) -> Iterator[list[tuple[str, float]]]:
    """For each head the names and weights, the largest first."""
    weights = learner.sparse_coef_
    for head in range(weights.shape[0]):
        row = weights[head]
        order = np.argsort(-np.abs(row.data), kind="stable")
        columns, values = row.indices[order], row.data[order].astype(np.float64)
        signs = [_name(learner, int(column))[1] for column in columns]
        yield list(zip(_titles(learner, columns), (values * signs).tolist(), strict=True))


def _titles(learner: Learner, columns: Array) -> list[str]:
    return [_name(learner, int(column))[0] for column in columns]


def _name(learner: Learner, column: int) -> tuple[str, int]:
    """The name of a column, or its number, and the sign that its values are hashed with."""
    names = learner.origin.names
    known = [] if names is None else names.lookup(column)
    if known:
        return known[0][0], known[0][2]
    titles = getattr(learner, "feature_names_in_", ())
    return (str(titles[column]) if column < len(titles) else str(column)), 1


def _calibration(learner: ClassLearner) -> dict[str, Any] | None:
    """The curve from scores to log-odds; None if no predictions are on record."""
    curve = learner._link
    if not isinstance(curve, Curve):
        return None

    def points(bends: Any) -> list[list[float]] | None:
        return None if bends is None else np.stack(bends, axis=1).tolist()

    return {
        "log_odds": "a + (F(score) + G(score / std)) * min(1, D / std)",
        "a": curve.a,
        "F": points(curve.scores),
        "G": points(curve.ratios),
        "D": curve.largest_std,
        "temperature": curve.temperature,
    }


# -- ONNX ----------------------------------------------------------------------------------------------------


def to_onnx(learner: Learner) -> bytes:
    """A graph that scores as the learner does, in double precision.

    Of a model with at most 65,536 columns the input is ``X`` (rows, columns). Of a wider one the inputs are ``columns``
    and ``values`` (rows, entries), padded with column 0 and value 0. The outputs are ``label`` and ``score``, which is
    (rows,) for two classes and (rows, classes) for more; of a regressor ``value``. Scales are in the weights, and the
    division by the length of a row is part of the graph.
    """
    refuse_without_weights(learner)
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError:
        raise ImportError("Export to ONNX needs onnx: pip install 'sureline[onnx]'.") from None
    graph = _Graph(helper, numpy_helper)
    kind = TensorProto.DOUBLE if learner.model.dtype == np.float64 else TensorProto.FLOAT
    weights = learner.sparse_coef_
    n_heads, n_columns = weights.shape
    dtype = np.float64 if n_columns <= DENSE else np.float32
    _refuse_too_large(learner, n_heads * n_columns * np.dtype(dtype).itemsize)
    table = np.zeros((n_columns, n_heads), dtype)
    for head in range(n_heads):
        row = weights[head]
        table[row.indices, head] = row.data
    if n_columns <= DENSE:
        inputs = [helper.make_tensor_value_info("X", kind, ["rows", n_columns])]
        rows = graph.add("Cast", ["X"], to=TensorProto.DOUBLE)
        rows = _of_length_1(graph, learner, rows)
        scores = graph.add("MatMul", [rows, graph.constant("W", table)])
    else:
        inputs = [
            helper.make_tensor_value_info("columns", TensorProto.INT64, ["rows", "entries"]),
            helper.make_tensor_value_info("values", kind, ["rows", "entries"]),
        ]
        found = graph.add("Gather", [graph.constant("W", table), "columns"], axis=0)
        found = graph.add("Cast", [found], to=TensorProto.DOUBLE)
        rows = graph.add("Cast", ["values"], to=TensorProto.DOUBLE)
        rows = _of_length_1(graph, learner, rows)
        rows = graph.add("Unsqueeze", [rows, graph.constant("last", np.array([2], np.int64))])
        products = graph.add("Mul", [found, rows])
        scores = graph.add("ReduceSum", [products, graph.constant("entries", np.array([1], np.int64))], keepdims=0)
    b = np.asarray(learner.intercept_, np.float64).reshape(1, -1)
    scores = graph.add("Add", [scores, graph.constant("b", b)])
    if isinstance(learner, SOP) and n_heads == 1:
        variances = _variances(graph, learner, rows, wide=n_columns > DENSE)
        scores = graph.add("Div", [scores, graph.add("Add", [variances, graph.constant("1", np.array([[1.0]]))])])
    outputs = _outputs(graph, learner, scores, n_heads, helper, TensorProto)
    made = helper.make_model(
        helper.make_graph(graph.nodes, "sureline", inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="sureline",
    )
    onnx.checker.check_model(made)
    content: bytes = made.SerializeToString()
    return content


def _refuse_too_large(learner: Learner, size: int) -> None:
    """Raise ValueError for a model that exceeds ONNX's limits, before it is built."""
    if size > LARGEST:
        raise ValueError(
            f"A file of ONNX holds at most {LARGEST:,} bytes of weights, and those of {learner.model.n_columns:,} "
            f"columns take {size:,}: train with fewer --bits or smaller indices, or write --json."
        )
    if _COPIES * size > (memory := default_memory()):
        raise ValueError(
            f"Making a file of ONNX of {size:,} bytes takes {_COPIES} times as much memory, and {memory:,} bytes "
            "may be used: train with fewer --bits or smaller indices, or write --json."
        )
    for label in learner.labels:
        if isinstance(label, str) and any("\ud800" <= character <= "\udfff" for character in label):
            raise ValueError(f"The label {label!r} has half of a surrogate pair, which ONNX cannot hold.")


def _variances(graph: _Graph, learner: GaussianLearner, rows: str, *, wide: bool) -> str:
    """The variance of the score of each row."""
    S = learner.covariance_
    last = graph.constant("each", np.array([1], np.int64))
    if S.ndim == 3:
        products = graph.add("Mul", [graph.add("MatMul", [rows, graph.constant("S", S[0].astype(np.float64))]), rows])
        found = graph.add("ReduceSum", [products, last], keepdims=1)
        twice = graph.constant("twice", 2 * learner.intercept_covariance_.reshape(-1, 1).astype(np.float64))
        found = graph.add("Add", [found, graph.add("MatMul", [rows, twice])])
    elif wide:  # each row has a place per entry; a dimension of heads follows
        found = graph.add("Gather", [graph.constant("S", S.astype(np.float32).T), "columns"], axis=0)
        found = graph.add("Cast", [found], to=DOUBLE)
        found = graph.add("ReduceSum", [graph.add("Mul", [graph.add("Mul", [rows, rows]), found]), last], keepdims=0)
    else:
        squares = graph.add("Mul", [rows, rows])
        found = graph.add("MatMul", [squares, graph.constant("S", S.T.astype(np.float64))])
    own = np.asarray(learner.intercept_variance_, np.float64).reshape(1, 1) * learner.fit_intercept
    return graph.add("Add", [found, graph.constant("S0", own)])


def _of_length_1(graph: _Graph, learner: Learner, rows: str) -> str:
    if learner.normalizer.kind != "row":
        return rows
    squares = graph.add("Mul", [rows, rows])
    total = graph.add("ReduceSum", [squares, graph.constant("axis", np.array([1], np.int64))], keepdims=1)
    length = graph.add("Sqrt", [total])
    none = graph.add("Equal", [total, graph.constant("zero", np.array(0.0))])
    length = graph.add("Where", [none, graph.constant("one", np.array(1.0)), length])
    return graph.add("Div", [rows, length])


def _outputs(graph: _Graph, learner: Learner, scores: str, n_heads: int, helper: Any, types: Any) -> list[Any]:
    if not isinstance(learner, ClassLearner):
        graph.add("Squeeze", [scores, graph.constant("column", np.array([1], np.int64))], name="value")
        return [helper.make_tensor_value_info("value", types.DOUBLE, ["rows"])]
    if n_heads == 1:
        graph.add("Squeeze", [scores, graph.constant("column", np.array([1], np.int64))], name="score")
        positive = graph.add("Greater", ["score", graph.constant("half", np.array(0.0))])
        chosen = graph.add("Cast", [positive], to=types.INT64)
        score = helper.make_tensor_value_info("score", types.DOUBLE, ["rows"])
    else:
        graph.add("Identity", [scores], name="score")
        chosen = graph.add("ArgMax", ["score"], axis=1, keepdims=0)
        score = helper.make_tensor_value_info("score", types.DOUBLE, ["rows", n_heads])
    labels = learner.labels
    if all(isinstance(label, bool | int) for label in labels):
        table, kind = np.array([int(label) for label in labels], np.int64), types.INT64
    elif any(isinstance(label, str) for label in labels):
        table, kind = np.array([str(label) for label in labels], object), types.STRING
    else:
        table, kind = np.array(labels, np.float64), types.DOUBLE
    graph.add("Gather", [graph.constant("labels", table), chosen], name="label", axis=0)
    return [helper.make_tensor_value_info("label", kind, ["rows"]), score]


class _Graph:
    """Nodes and constants of a graph under construction."""

    def __init__(self, helper: Any, numpy_helper: Any) -> None:
        self._helper, self._numpy = helper, numpy_helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, operation: str, inputs: list[str], *, name: str | None = None, **attributes: Any) -> str:
        """Add a node; the name of its output."""
        output = name or f"{operation.lower()}_{len(self.nodes)}"
        self.nodes.append(self._helper.make_node(operation, inputs, [output], **attributes))
        return output

    def constant(self, name: str, values: Array) -> str:
        self.constants.append(self._numpy.from_array(values, name))
        return name

"""The state of a learner with a kernel as tensors, and back."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..._inputs import Array
from ..kernel.examples import Examples
from ..kernel.growing import Cholesky, Tail
from ..kernel.kernels import KERNELS, Kernel
from ..kernel.learning import BLOCK, Head
from ..kernel.model import KernelModel
from ..numbers import SEEN
from .checks import Common, everywhere, sparse_rows_fit, take_tensor
from .errors import Refusal


def kernel_arrays(state: KernelModel) -> dict[str, Array]:
    """The tensors of a state."""
    kernel, rows = state.kernel, state.examples.rows
    if not isinstance(kernel.kind, str):
        raise TypeError("A model whose kernel is a function cannot be saved.")
    code = float(KERNELS.index(kernel.kind))
    arrays: dict[str, Array] = {"kernel": np.array([code, kernel.gamma, kernel.degree, kernel.coef0])}
    if state.examples.is_sparse:
        arrays |= {
            "example_values": rows.data,
            "example_columns": rows.indices.astype(np.int64),
            "example_starts": rows.indptr.astype(np.int64),
        }
    else:
        arrays["examples"] = np.ascontiguousarray(rows)
    heads = state.heads
    return arrays | {
        "born": state.born.first(state.examples.n),
        "begun": np.array([state.begun]),
        "sizes": np.array([head.n for head in heads]),
        "members": np.concatenate([head.members for head in heads]),
        "z": np.concatenate([head.z for head in heads]),
        "roots": np.concatenate([head.b for head in heads]),
        "triangles": np.concatenate([head.factor.rows(head.n) for head in heads]),
        "prior": state.a(),
        "bounds": np.array([head.precision for head in heads]),
    }


def kernel_state(tensors: dict[str, Array], common: Common) -> KernelModel:
    """Read back the tensors of `kernel_arrays`, everything checked."""
    take = partial(take_tensor, tensors)
    kernel = _kernel(take("kernel", "float64", (4,)), common.intercept)
    examples = _examples(tensors, common.n_columns, common.dtype)
    n, n_heads, policy, tally = examples.n, common.n_heads, common.policy, common.tally
    prior, bounds = take("prior", "float64", (n_heads,)), take("bounds", "float64", (n_heads,))
    if not (np.isfinite(prior) & (prior > 0)).all():
        raise Refusal("a prior variance is not a positive number")
    if not (np.isfinite(bounds) & (bounds >= 1)).all():
        raise Refusal("a bound of the precision is not a number from 1 on")
    n_classes = n_heads if n_heads > 1 else 2
    model = KernelModel(kernel, examples, n_classes, policy)
    model.tally = tally
    model.heads = _heads(tensors, n_heads, n, prior, bounds)
    born, begun = take("born", "int64", (n,)), int(take("begun", "int64", (1,))[0])
    seen = int(tally[:, SEEN].sum())
    if (n and not (0 <= int(born[0]) and int(born[-1]) < seen and (np.diff(born) > 0).all())) or not (
        0 <= begun <= seen < begun + BLOCK
    ):
        raise Refusal("the examples do not come in their order, or not from the rows that were seen")
    model.born, model.begun = Tail(born), begun
    return model


def _kernel(numbers: Array, intercept: bool) -> Kernel:
    code, gamma, degree, coef0 = numbers.tolist()
    if (
        code not in range(len(KERNELS))
        or not 0 < gamma < np.inf
        or degree not in range(1, 101)
        or not 0 <= coef0 < np.inf
    ):
        raise Refusal("the kernel is not one, or its numbers are out of range")
    return Kernel(KERNELS[int(code)], gamma, int(degree), coef0, intercept)


def _examples(tensors: dict[str, Array], n_columns: int, dtype: np.dtype[Any]) -> Examples:
    if "examples" in tensors:
        rows = take_tensor(tensors, "examples", dtype)
        if rows.ndim != 2 or rows.shape[1] != n_columns or not everywhere(np.isfinite, rows.reshape(-1)):
            raise Refusal("the examples do not have the columns of the model, or are not finite")
        return Examples(rows)
    values, columns, starts = (
        take_tensor(tensors, name, kind)
        for name, kind in (("example_values", dtype), ("example_columns", "int64"), ("example_starts", "int64"))
    )
    if not sparse_rows_fit(values, columns, starts, n_columns):
        raise Refusal("the examples do not have the columns of the model, or are not finite")
    return Examples.in_compressed_form(values, columns, starts, n_columns)


def _heads(tensors: dict[str, Array], n_heads: int, n: int, prior: Array, bounds: Array) -> list[Head]:
    sizes = take_tensor(tensors, "sizes", "int64", (n_heads,))
    if not ((sizes >= 0) & (sizes <= n)).all():
        raise Refusal("a head has a number of examples that there are not")
    total, size = sum(sizes.tolist()), sum(k * (k + 1) // 2 for k in sizes.tolist())
    members = take_tensor(tensors, "members", "int64", (total,))
    z, roots = (take_tensor(tensors, name, "float64", (total,)) for name in ("z", "roots"))
    triangles = take_tensor(tensors, "triangles", "float64", (size,))
    _refuse_infinite(z, triangles)
    if not ((roots > 0) & np.isfinite(roots)).all():
        raise Refusal("a root is not a positive number")
    heads = []
    for k, count in enumerate(sizes.tolist()):
        head = Head()
        own, members = members[:count], members[count:]
        if count and not (0 <= int(own[0]) and int(own[-1]) < n and (np.diff(own) > 0).all()):
            raise Refusal("the examples of a head do not ascend, or are out of range")
        numbers, z, roots = np.column_stack([z[:count], roots[:count]]), z[count:], roots[count:]
        rows, triangles = triangles[: count * (count + 1) // 2], triangles[count * (count + 1) // 2 :]
        if not (rows[np.arange(1, count + 1).cumsum() - 1] > 0).all():
            raise Refusal("a triangle does not have a positive diagonal")
        head.restore(own, numbers, Cholesky.of_rows(rows, count), float(prior[k]), float(bounds[k]))
        heads.append(head)
    return heads


def _refuse_infinite(*arrays: Array) -> None:
    if not all(everywhere(np.isfinite, array.reshape(-1)) for array in arrays):
        raise Refusal("a number that the weights are made of is not finite")

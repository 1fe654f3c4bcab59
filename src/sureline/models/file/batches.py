"""The state of a learner of batches as tensors, and back."""

from __future__ import annotations

import numpy as np

from ..._inputs import Array, is_sparse
from ..groups import TENSORS, GroupState
from ..precision.batch import Precision
from ..precision.span import Span
from ..precision.state import PrecisionState
from ..precision.triangle import Triangle
from .checks import Common, everywhere, integer, sparse_rows_fit, take_tensor
from .errors import Refusal


def arrays_of(state: PrecisionState | GroupState) -> dict[str, Array]:
    """The tensors of a state."""
    if isinstance(state, GroupState):
        return state.to_arrays()
    arrays: dict[str, Array] = {"mu": state.mu}
    match state.precision:
        case Triangle(R=R):
            arrays["triangle"] = R.T[np.tril_indices(len(R))]
        case Span(Z=Z) if is_sparse(Z):
            arrays |= {
                "row_values": Z.data,
                "row_columns": Z.indices.astype(np.int64),
                "row_starts": Z.indptr.astype(np.int64),
            }
        case Span(Z=Z):
            arrays["rows"] = Z
    return arrays


def precision_state(tensors: dict[str, Array], common: Common) -> PrecisionState:
    """Read back the tensors of `arrays_of`, everything checked."""
    n_slots = common.n_columns + common.intercept
    mu = take_tensor(tensors, "mu", "float64", (common.n_heads, n_slots))
    if not everywhere(np.isfinite, mu.reshape(-1)):
        raise Refusal("a weight is not finite")
    precision = _precision(tensors, n_slots)
    return PrecisionState(mu, precision, common.tally, common.policy, common.intercept, common.dtype)


def group_state(tensors: dict[str, Array], common: Common) -> GroupState:
    """The same for a state of groups."""
    own = {name: tensors.pop(name) for name in TENSORS if name in tensors}
    try:
        state = GroupState.from_arrays(own, **common._asdict())
    except ValueError as error:
        raise Refusal(str(error)) from None
    with np.errstate(all="ignore"):
        if not (np.isfinite(state.mu).all() and np.isfinite(state.intercepts()).all()):
            raise Refusal("a weight is not finite")
    return state


def _precision(tensors: dict[str, Array], n_slots: int) -> Precision:
    if "triangle" in tensors:
        packed = take_tensor(tensors, "triangle", "float64", (n_slots * (n_slots + 1) // 2,))
        R = np.zeros((n_slots, n_slots), order="F")
        R.T[np.tril_indices(n_slots)] = packed
        if not everywhere(np.isfinite, packed) or not (R.diagonal() > 0).all():
            raise Refusal("the triangle is not the factor of a precision")
        return Triangle(R)
    if "rows" in tensors:
        rows = take_tensor(tensors, "rows", "float64")
        if rows.ndim != 2 or rows.shape[1] != n_slots or not everywhere(np.isfinite, rows.reshape(-1)):
            raise Refusal("the rows of the precision do not fit the weights, or are not finite")
        return Span(rows)
    values, columns, starts = (
        take_tensor(tensors, name, dtype)
        for name, dtype in (("row_values", "float64"), ("row_columns", "int64"), ("row_starts", "int64"))
    )
    if not sparse_rows_fit(values, columns, starts, n_slots):
        raise Refusal("the rows of the precision do not fit the weights, or are not finite")
    integer(len(starts) - 1, "the number of rows of the precision", 0, n_slots)
    return Span.of_sparse_rows(values, columns, starts, n_slots)

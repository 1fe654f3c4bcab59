"""The scales that rows are divided by, as tensors, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._inputs import Array
from ..numbers import SEEN
from ..scaling import Normalizer
from .checks import everywhere, take_tensor
from .errors import Refusal

_COLUMNS, _MEANS, _COUNTS = "scale_columns", "scale_means", "scale_counts"


def arrays_of_scales(scales: Normalizer | None) -> dict[str, Array]:
    if scales is None or scales.kind != "scale":
        return {}
    columns, means, counts = scales.arrays()
    return {_COLUMNS: columns.astype(np.uint32), _MEANS: means, _COUNTS: counts}


def checked_scales(tensors: dict[str, Array], state: Any) -> Normalizer | None:
    """Read and check the tensors of `arrays_of_scales`; None if there are none."""
    if _COLUMNS not in tensors:
        return None
    columns = take_tensor(tensors, _COLUMNS, "uint32")
    single = _MEANS in tensors and tensors[_MEANS].dtype == np.float32
    means = take_tensor(tensors, _MEANS, np.float32 if single else np.float64, columns.shape)
    counts = take_tensor(tensors, _COUNTS, "int64", columns.shape)
    # Strictly ascending, so that no column is there twice and the last is the largest.
    ascending = columns.ndim == 1 and everywhere(lambda block: block[1:] > block[:-1], columns, overlap=1)
    if not ascending or (len(columns) > 0 and int(columns[-1]) >= state.n_columns):
        raise Refusal("the columns of the scales do not ascend, or are out of range")
    if not everywhere(lambda block: np.isfinite(block) & (block > 0), means):
        raise Refusal("a scale is not a positive number")
    most = min(int(state.tally[:, SEEN].sum()), 1 << (24 if single else 53))
    if not everywhere(lambda block: (block >= 1) & (block <= most), counts):
        raise Refusal("a scale is not of at least one row and at most all of them")
    return Normalizer.restored(means.dtype, columns, means, counts)

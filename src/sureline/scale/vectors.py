"""Vectors of Spark, as Arrow has them, to rows."""

from __future__ import annotations

from typing import Any

import numpy as np

_SPARSE = 0  # the type of a sparse vector; 1 is a dense one


def rows_of_vectors(column: Any) -> Any:
    """The CSR matrix of a column of structs with type, size, indices and values.

    Zeros are left out: Spark stores a row as the shorter of a sparse and a dense vector, and both are the same row.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    from scipy.sparse import csr_matrix

    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    vectors = pa.concat_arrays(chunks) if chunks else pa.array([], column.type)
    if vectors.null_count:
        missing = int(np.flatnonzero(vectors.is_null().to_numpy(zero_copy_only=False))[0])
        raise ValueError(f"Row {missing + 1} has no vector of features. Fill it, or leave out rows without one.")
    if not len(vectors):
        return csr_matrix((0, 0))
    kinds, sizes, indices, values = (vectors.field(k) for k in range(4))
    sparse = kinds.to_numpy(zero_copy_only=False) == _SPARSE
    lengths = pc.list_value_length(values).to_numpy(zero_copy_only=False).astype(np.int64)
    widths = np.where(sparse, pc.fill_null(sizes, 0).to_numpy(zero_copy_only=False), lengths)
    if (other := np.flatnonzero(widths != widths[0])).size:
        raise ValueError(
            f"All vectors must have the same size. The first has {widths[0]} features, and that of row {other[0] + 1} "
            f"has {widths[other[0]]}."
        )
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(indptr[-1]) - np.repeat(indptr[:-1], lengths)  # positions for dense vectors
    places[np.repeat(sparse, lengths)] = indices.flatten().to_numpy(zero_copy_only=False)
    numbers = np.array(values.flatten())  # a copy, as Arrow's own are read-only
    matrix = csr_matrix((numbers, places, indptr), (len(vectors), widths[0]))
    matrix.eliminate_zeros()
    return matrix

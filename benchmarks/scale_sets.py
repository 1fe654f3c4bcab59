"""The streams of `make bench-scale`, and real data in which no order is meant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from sureline import datasets

SHAPES = ("rcv1", "url")
REST = 40_000  # rows to test on

# Files, and those that are joined to them.
FILES = {
    "covtype": ("covtype.binary.svm.bz2",),
    "ijcnn1": ("ijcnn1.bz2", "ijcnn1.t.bz2"),
    "mnist": ("mnist.svm.bz2", "mnist.t.svm.bz2"),
    "a9a": ("a9a.bz2", "a9a.t.bz2"),
}


def stream(shape: str, rows: int) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Rows to learn from and rows to test on, of a stream with the shape of a known data set."""
    X, y = datasets.make_stream_like(shape, rows + REST, random_state=1)
    return X[:rows], y[:rows], X[rows:], y[rows:]


def real(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, tuple[Any, np.ndarray, Any, np.ndarray]]]:
    """Name and rows of each data set that is there; a tenth of the rows, drawn at random, are to test on."""
    from scipy.sparse import vstack
    from sklearn.datasets import load_svmlight_files

    for name, files in FILES.items():
        if name not in names:
            continue
        paths = [folder / file for file in files]
        if not all(path.exists() for path in paths):
            print(f"{name} is left out: there is no {', '.join(map(str, paths))}", flush=True)
            continue
        parts = load_svmlight_files([str(path) for path in paths])
        X, labels = vstack(parts[::2]).tocsr(), np.unique(np.concatenate(parts[1::2]), return_inverse=True)[1]
        order = np.random.default_rng(0).permutation(len(labels))
        learn, test = np.split(order, [len(labels) - len(labels) // 10])
        X = csr_matrix(X, dtype=np.float32)
        yield name, (X[learn], labels[learn], X[test], labels[test])

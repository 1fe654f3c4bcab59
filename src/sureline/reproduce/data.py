"""The data sets of an entry: files that are looked for and looked at, or rows that a generator makes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import datasets
from ..stream import DataError, read
from .entry import DataSet
from .outcome import Missing, labelled

_ENDINGS = ("", ".svm", ".libsvm", ".txt")
_COMPRESSED = ("", ".bz2", ".gz", ".xz", ".zst")


@dataclass(frozen=True)
class Rows:
    """Rows (CSR or an array), labels of -1 and +1, and what they stand in for if they are not the paper's."""

    X: Any
    y: npt.NDArray[np.int64]
    stand_in: str | None = None

    def label(self, name: str) -> str:
        """The name of the data set, for all that is said of it."""
        return labelled(name, self.stand_in)

    def first(self, n: int | None) -> Rows:
        return self if n is None or n >= len(self.y) else Rows(self.X[:n], self.y[:n], self.stand_in)

    def dense(self) -> Rows:
        return Rows(self.X if isinstance(self.X, np.ndarray) else self.X.toarray(), self.y, self.stand_in)


def load(data: DataSet, folder: Path | None, **arguments: Any) -> Rows | Missing:
    """The rows of a data set, or what is wrong with it. `arguments` go to the generator, over those of the entry.

    Files come first; a stand-in is used where they are not in the folder.
    """
    found = [find(folder, name) for name in data.files]
    paths = [path for path in found if path is not None]
    if data.files and len(paths) == len(data.files):
        return _read(data, paths)
    if data.generator is not None:
        X, y, *_ = getattr(datasets, data.generator)(**{**data.arguments, **arguments})
        return Rows(X, np.where(y == np.max(y), 1, -1), _stand_in(data))
    note = f" {data.note}" if data.note else ""
    absent = [name for name, path in zip(data.files, found, strict=True) if path is None]
    return Missing(data.name, f"{_absent(absent, folder)} Get it from {data.source}; it must be {_looks(data)}.{note}")


def _stand_in(data: DataSet) -> str | None:
    if data.stand_in is None or not data.files:
        return data.stand_in
    files = " and ".join(data.files)
    return f"{data.stand_in}. With {files} in the folder of data (from {data.source}) the original is used"


def find(folder: Path | None, name: str) -> Path | None:
    """The file of that name, with any of the endings that it may have."""
    if folder is None:
        return None
    for compressed in _COMPRESSED:
        for ending in _ENDINGS:
            path = folder / f"{name}{ending}{compressed}"
            if path.is_file():
                return path
    return None


def _absent(names: list[str], folder: Path | None) -> str:
    files, several = " and ".join(names), len(names) > 1
    if folder is None:
        needed = f"the files {files} are needed" if several else f"the file {files} is needed"
        return f"{needed}, and no folder of data was named (--data DIR, or SURELINE_DATA)."
    lead = f"there are no files {files}" if several else f"there is no file {files}"
    return f"{lead} (also with .svm, .libsvm, .txt, and .bz2, .gz, .xz, .zst) in {folder}."


def _looks(data: DataSet) -> str:
    parts = [f"{data.rows:,} rows"] if data.rows else [f"at least {data.take:,} rows"] if data.take else []
    parts += [f"{data.features:,} features"] if data.features else []
    parts += [f"the labels {', '.join(f'{label:g}' for label in data.labels)}"]
    return f"LIBSVM text with {', '.join(parts)}"


def _read(data: DataSet, paths: list[Path]) -> Rows | Missing:
    from scipy import sparse

    named = " and ".join(str(path) for path in paths)
    try:
        chunks = [(chunk.X, chunk.y) for chunk in read(paths, format="libsvm", zero_based=data.zero_based)]
    except (DataError, OSError) as error:
        return Missing(data.name, f"{error}")
    if not chunks:
        return Missing(data.name, f"{named} has no rows; it must be {_looks(data)}.")
    width = max(X.shape[1] for X, _ in chunks)
    n_features = width - 1 if data.features is None else data.features
    X = sparse.vstack([_widened(X, max(width, n_features + 1)) for X, _ in chunks], format="csr")
    labels = _labels(of_chunk for _, of_chunk in chunks)
    n_rows = X.shape[0]
    if n_rows < (data.take or 0) or (data.rows is not None and n_rows != data.rows):
        return Missing(data.name, f"{named} has {n_rows:,} rows; it must be {_looks(data)}.")
    if X.shape[1] > n_features + 1:
        return Missing(data.name, f"{named} has {X.shape[1] - 1:,} features; it must be {_looks(data)}.")
    if labels != sorted(data.labels):
        shown = ", ".join(label if isinstance(label, str) else f"{label:g}" for label in labels[:5])
        more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
        return Missing(data.name, f"{named} has the labels {shown}{more}; it must be {_looks(data)}.")
    y = np.concatenate([of_chunk for _, of_chunk in chunks])
    positive = max(labels) if data.positive is None else data.positive
    if data.against:
        chosen = np.isin(y, [positive, *data.against])
        X, y = X[chosen], y[chosen]
    return Rows(X[:, 1:], np.where(y == positive, 1, -1)).first(data.take)  # columns count from 1 in these files


def _labels(chunks: Iterable[npt.NDArray[Any]]) -> list[float | str]:
    """Those that come, in order: what is not a number first, as it is what somebody has to look at."""
    found = {label for chunk in chunks for label in set(chunk.tolist())}
    return sorted(found, key=lambda label: (not isinstance(label, str), label))


def _widened(X: Any, width: int) -> Any:
    X = X.copy()
    X.resize(X.shape[0], width)
    return X

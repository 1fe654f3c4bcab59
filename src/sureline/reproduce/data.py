"""The data sets of an entry: rows of files that are looked for and checked, or of a generator; and their splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import datasets
from .._inputs import Array, Ints
from ..stream import DataError, read
from .entry import DataSet, Entry, EntryError, built
from .outcome import Missing, labelled

_ENDINGS = ("", ".svm", ".libsvm", ".txt")
_COMPRESSED = ("", ".bz2", ".gz", ".xz", ".zst")


@dataclass(frozen=True)
class Rows:
    """Rows (CSR or an array), labels of -1 and +1, and a name if they stand in for the paper's data."""

    X: Any
    y: Ints
    stand_in: str | None = None
    sizes: tuple[int, ...] = ()  # how many rows each file has; nothing if a generator made them

    def label(self, name: str) -> str:
        """The full name of the data set, which marks stand-ins."""
        return labelled(name, self.stand_in)

    def first(self, n: int | None) -> Rows:
        return (
            self
            if n is None or n >= len(self.y)
            else replace(self, X=self.X[:n], y=self.y[:n], sizes=(n,) if self.sizes else ())
        )

    def dense(self) -> Rows:
        return self if isinstance(self.X, np.ndarray) else replace(self, X=self.X.toarray())


def load(data: DataSet, folder: Path | None, **arguments: Any) -> Rows | Missing:
    """The rows of a data set, or an account of what is missing. `arguments` override the entry's for the generator.

    Files come first; a stand-in is used where they are not in the folder: real data before those of a generator.
    """
    found = [find(folder, name) for name in data.files]
    paths = [path for path in found if path is not None]
    if data.files and len(paths) == len(data.files):
        rows = _read(data, paths)
        # Files that stand in for another set say so, as generators do.
        if isinstance(rows, Rows) and data.generator is None:
            return replace(rows, stand_in=data.stand_in)
        return rows
    unscaled = [path for path in (find(folder, name) for name in data.unscaled) if path is not None]
    if unscaled and len(unscaled) == len(data.unscaled):
        rows = _read(data, unscaled)
        return rows if isinstance(rows, Missing) else replace(rows, X=_columns_to_one(rows.X))
    for other in data.stand_ins:
        if all(find(folder, name) is not None for name in other.files):
            rows = load(other, folder)
            return rows if isinstance(rows, Missing) else replace(rows, stand_in=_stand_in(data, other.stand_in))
    if data.generator is not None:
        X, y, *_ = getattr(datasets, data.generator)(**{**data.arguments, **arguments})
        return Rows(X, np.where(y == np.max(y), 1, -1), _stand_in(data, data.stand_in))
    note = f" {data.note}" if data.note else ""
    absent = [name for name, path in zip(data.files, found, strict=True) if path is None]
    return Missing(data.name, f"{_absent(absent, folder)} Get it from {data.source}. It must be {_looks(data)}.{note}")


def _stand_in(data: DataSet, what: str | None) -> str | None:
    if what is None or not data.files:
        return what
    files = _listed(data.files)
    return f"{what}. With {files} in the folder of data (from {data.source}) the original is used"


def _listed(files: Iterable[str]) -> str:
    """The names of the files; of many, the first and the last."""
    names = [name.replace("|", " or ") for name in files]
    return " and ".join(names) if len(names) < 4 else f"{names[0]} to {names[-1]}"


def find(folder: Path | None, name: str) -> Path | None:
    """The file of that name, with any of the endings that it may have."""
    if folder is None:
        return None
    for one in name.split("|"):
        for compressed in _COMPRESSED:
            for ending in _ENDINGS:
                path = folder / f"{one}{ending}{compressed}"
                if path.is_file():
                    return path
    return None


def _absent(names: list[str], folder: Path | None) -> str:
    files, several = _listed(names), len(names) > 1
    if folder is None:
        needed = f"the files {files} are needed" if several else f"the file {files} is needed"
        return f"{needed}, and no folder of data was named (--data DIR, or SURELINE_DATA)."
    lead = f"there are no files {files}" if several else f"there is no file {files}"
    return f"{lead} (also with .svm, .libsvm, .txt, and .bz2, .gz, .xz, .zst) in {folder}."


def _looks(data: DataSet) -> str:
    parts = [f"{data.rows:,} rows"] if data.rows else [f"at least {data.take:,} rows"] if data.take else []
    parts += [f"{data.features:,} features"] if data.features else []
    kinds = [", ".join(f"{label:g}" for label in kind) for kind in (data.labels, data.labels_too) if kind]
    parts += [f"the labels {' or '.join(kinds)}"]
    return f"LIBSVM text with {', '.join(parts)}"


def _read(data: DataSet, paths: list[Path]) -> Rows | Missing:
    from scipy import sparse

    named = _listed(map(str, paths))
    try:
        files = [list(read([path], format="libsvm", zero_based=data.zero_based)) for path in paths]
    except (DataError, OSError) as error:
        return Missing(data.name, f"{error}")
    chunks = [(chunk.X, chunk.y) for of_file in files for chunk in of_file]
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
    y = np.concatenate([of_chunk for _, of_chunk in chunks])
    if data.labels_too and labels == sorted(data.labels_too):
        ours = dict(zip(data.labels_too, data.labels, strict=True))
        y, labels = np.array([ours[label] for label in y.tolist()]), sorted(data.labels)
    if labels != sorted(data.labels):
        shown = ", ".join(label if isinstance(label, str) else f"{label:g}" for label in labels[:5])
        more = f" and {len(labels) - 5} more" if len(labels) > 5 else ""
        return Missing(data.name, f"{named} has the labels {shown}{more}; it must be {_looks(data)}.")
    positive = max(labels) if data.positive is None else data.positive
    sizes = tuple(sum(len(chunk.y) for chunk in of_file) for of_file in files)
    if data.against:
        chosen = np.isin(y, [*np.atleast_1d(positive), *data.against])
        X, y, sizes = X[chosen], y[chosen], (int(chosen.sum()),)
    # Columns count from 1 in these files.
    return Rows(X[:, 1:], np.where(np.isin(y, positive), 1, -1), sizes=sizes).first(data.take)


def _columns_to_one(X: Any) -> Any:
    """Each column brought to the range from 0 to 1, as the scaled files of LIBSVM's collection have it."""
    from sklearn.preprocessing import MinMaxScaler

    return MinMaxScaler().fit_transform(X.toarray())


def _labels(chunks: Iterable[Array]) -> list[float | str]:
    """The candidates in order; invalid ones come first, since they need attention."""
    found = {label for chunk in chunks for label in set(chunk.tolist())}
    return sorted(found, key=lambda label: (not isinstance(label, str), label))


def _widened(X: Any, width: int) -> Any:
    X = X.copy()
    X.resize(X.shape[0], width)
    return X


# -- rows for training and rows for testing ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Rows (CSR or an array) and labels of -1 and +1, for training and for testing; `stand_in` as in `Rows`."""

    X: Any
    y: Ints
    X_test: Any
    y_test: Ints
    stand_in: str | None = None

    def label(self, name: str) -> str:
        """The full name of the data set, which marks stand-ins."""
        return labelled(name, self.stand_in)

    def shuffled(self, seed: int) -> Split:
        """The training rows in another order."""
        order = np.random.default_rng(seed).permutation(len(self.y))
        return replace(self, X=self.X[order], y=self.y[order])

    def of_unit_length(self) -> Split:
        from sklearn.preprocessing import normalize

        return replace(self, X=normalize(self.X), X_test=normalize(self.X_test))

    def in_words(self) -> str:
        """Numbers of rows and features, in words."""
        n, n_features = self.X.shape
        positive, positive_test = int((self.y > 0).sum()), int((self.y_test > 0).sum())
        return (
            f"{n:,} rows for training ({positive:,} positive) and {len(self.y_test):,} for testing ({positive_test:,} "
            f"positive), {n_features:,} features, {self.X.nnz / n:.0f} nonzeros a row"
        )


def first_rows(rows: Rows, n_train: int, n_test: int) -> Split:
    """The first rows for training, and those after them for testing."""
    X, y, stop = rows.X, rows.y, n_train + n_test
    return Split(X[:n_train], y[:n_train], X[n_train:stop], y[n_train:stop], rows.stand_in)


def shuffled_rows(rows: Rows, n_train: int, n_test: int, seed: int) -> Split:
    """The same of rows that come in an order that means something."""
    order = np.random.default_rng(seed).permutation(len(rows.y))[: n_train + n_test]
    return first_rows(Rows(rows.X[order], rows.y[order], rows.stand_in), n_train, n_test)


def imbalanced(rows: Rows, ratio: int, seed: int, n_train: int | None = None, n_test: int | None = None) -> Split:
    """Rows with one positive for `ratio` negatives in training.

    Two thirds of the negatives are for training, or as many as `n_train` rows have. Left-over positives go to the test
    rows: balanced accuracy does not depend on their number, and more of them make it more precise. With `n_test` there
    are that many test rows, of the same ratio.
    """
    rng = np.random.default_rng(seed)
    negatives, positives = (rng.permutation(np.flatnonzero(rows.y == label)) for label in (-1, 1))
    n_negatives = 2 * len(negatives) // 3 if n_train is None else n_train - n_train // (1 + ratio)
    n_positives = round(n_negatives / ratio)
    train = rng.permutation(np.concatenate([negatives[:n_negatives], positives[:n_positives]]))
    others, rare = negatives[n_negatives:], positives[n_positives:]
    if n_test is not None:
        others, rare = others[: n_test - n_test // (1 + ratio)], rare[: n_test // (1 + ratio)]
    test = np.concatenate([others, rare])
    return Split(rows.X[train], rows.y[train], rows.X[test], rows.y[test], rows.stand_in)


# -- how much is done with each data set ------------------------------------------------------------------------------


_SPLITS = ("first", "shuffled", "imbalanced")


@dataclass(frozen=True)
class Effort:
    """Rows, splits and repetitions for one data set."""

    # Number of rows from a generator, and from a file unless `file_train` and `file_test` say otherwise. None, for an
    # imbalanced split: two thirds of the rows, and the others.
    n_train: int | None = None
    n_test: int | None = None
    file_train: int | None = None
    file_test: int | None = None
    # The training rows of a file: the "first" ones, or a random part ("shuffled"); or see `imbalanced`. Generated rows
    # are split in order.
    split: str = "first"
    split_seed: int = 0
    ratio: int = 99  # of an imbalanced split: negatives for each positive
    unit_length: bool = False  # rows are divided by their length first
    permutations: int = 5  # orders of the training rows
    grid_step: int = 1  # step between the points of the grids
    gap: float = 0.02  # see `penalty_paths.trace`, as for the limit
    limit: int = 80
    levels: tuple[float, ...] = (0.0, 0.5, 0.8, 0.9, 0.95)  # the sparsities of the table
    zoom: float = 0.8  # where the second picture begins


def efforts(entry: Entry, common: Mapping[str, Any], sets: Mapping[str, Mapping[str, Any]]) -> dict[str, Effort]:
    """The effort for each data set, by its name: the common settings, overridden by its own."""
    known = [data.name for data in entry.data_sets]
    stranger = [name for name in sets if name not in known]
    if stranger:
        raise EntryError(f"{entry.name}.toml: [protocol.sets] has {stranger[0]!r}, which is no data set.")
    where = f"{entry.name}.toml: [protocol.effort] for"
    made = {name: built(Effort, {**common, **sets.get(name, {})}, f"{where} {name!r}") for name in known}
    for name, effort in made.items():
        if effort.split not in _SPLITS:
            raise EntryError(f"{where} {name!r}, 'split', must be one of {', '.join(_SPLITS)}. Got {effort.split!r}.")
    return made


def split_of(data: DataSet, effort: Effort, folder: Path | None) -> Split | Missing:
    """The rows of a data set for training and for testing, or an account of what is missing."""
    made = {} if effort.n_train is None else {"n_samples": effort.n_train + (effort.n_test or 0)}
    rows = load(data, folder, **made)
    if isinstance(rows, Missing):
        return rows
    if data.generator is not None and (not data.files or rows.stand_in is not None):
        split = first_rows(rows, effort.n_train or len(rows.y), effort.n_test or 0)
    else:
        n_train, n_test = effort.file_train or effort.n_train, effort.file_test or effort.n_test
        if effort.split == "imbalanced":
            split = imbalanced(rows, effort.ratio, effort.split_seed, n_train, n_test)
        elif n_train is None or n_test is None:
            raise EntryError(f"The data set {data.name!r} has no 'n_train' and 'n_test'.")
        elif effort.split == "shuffled":
            split = shuffled_rows(rows, n_train, n_test, effort.split_seed)
        else:
            split = first_rows(rows, n_train, n_test)
    return split.of_unit_length() if effort.unit_length else split

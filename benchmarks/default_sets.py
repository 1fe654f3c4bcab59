"""The data sets of `make defaults`: rows to learn from, and rows to test on that come after them."""

from __future__ import annotations

import bz2
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, vstack

from sureline import datasets

MOST_ROWS, MOST_TESTS = 30_000, 15_000
Rows = tuple[Any, np.ndarray]


@dataclass(frozen=True)
class Set:
    """A data set.

    Rows whose order means nothing are put in a random one. Of a stream in the order of time the last part is the test.
    """

    name: str
    make: Callable[[], Rows]
    files: tuple[Path, ...] = ()
    test: Callable[[], Rows] | None = None  # a part of them otherwise
    ordered: bool = False
    most_rows: int = MOST_ROWS

    def split(self, most_rows: int = MOST_ROWS) -> tuple[Any, np.ndarray, Any, np.ndarray]:
        """Rows to learn from and to test on, with classes 0, 1, ... for labels."""
        X, y = self.make()
        X = csr_matrix(X, dtype=np.float64)
        if self.test is not None:
            Z, z = self.test()
            Z = csr_matrix(Z, dtype=np.float64)
            width = max(X.shape[1], Z.shape[1])
            X.resize(X.shape[0], width), Z.resize(Z.shape[0], width)
            n = X.shape[0]
            X, y = vstack([X, Z]).tocsr(), np.concatenate([y, z])
        else:
            n = int(0.7 * len(y)) if self.ordered else int(0.75 * len(y))
        labels = np.unique(y, return_inverse=True)[1]
        rng = np.random.default_rng(0)
        learn, test = np.arange(n), np.arange(n, len(y))
        if not self.ordered:
            if self.test is None:
                order = rng.permutation(len(y))
                learn, test = order[:n], order[n:]
            else:
                learn = rng.permutation(learn)
            learn = learn[: min(most_rows, self.most_rows)]
        else:
            learn = learn[-min(most_rows, self.most_rows) :]
        test = test[:MOST_TESTS]
        return X[learn], labels[learn], X[test], labels[test]


def from_file(path: Path, zero_based: bool | str) -> Rows:
    from sklearn.datasets import load_svmlight_file

    with bz2.open(path) as file:
        X, y = load_svmlight_file(file, zero_based=zero_based)
    return X, y


def from_scikit_learn(name: str) -> Rows:
    import sklearn.datasets

    X, y = getattr(sklearn.datasets, name)(return_X_y=True)
    return X, y


def mail() -> Rows:
    from sklearn.feature_extraction.text import HashingVectorizer

    texts, labels = datasets.make_mail(20_000, random_state=1)
    counts = HashingVectorizer(n_features=2**18, alternate_sign=False, norm=None)
    return counts.transform(texts), np.array(labels)


def drift(n: int, **how: Any) -> Rows:
    X, y = datasets.make_drift(n, random_state=2, **how)
    return X, y


def all_sets(data: Path) -> list[Set]:
    def file(name: str, file_name: str, test: str | None = None, zero_based: bool | str = "auto", **how: Any) -> Set:
        path = data / f"{file_name}.bz2"
        other = None if test is None else data / f"{test}.bz2"
        return Set(
            name,
            partial(from_file, path, zero_based),
            (path,) if other is None else (path, other),
            None if other is None else partial(from_file, other, zero_based),
            **how,
        )

    return [
        file("a9a", "a9a", "a9a.t"),
        file("w8a", "w8a"),
        file("mushrooms", "mushrooms"),
        file("ijcnn1", "ijcnn1", "ijcnn1.t"),
        file("splice", "splice"),
        file("svmguide3", "svmguide3.svm"),
        file("phishing", "phishing"),
        file("spambase", "spambase.svm"),
        file("pcmac", "pcmac.svm"),
        file("amazon books", "amazon_books_train.svm", "amazon_books_test.svm", zero_based=True),
        file("amazon dvd", "amazon_dvd_train.svm", "amazon_dvd_test.svm", zero_based=True),
        file("sms spam", "sms_spam.svm"),
        file("covtype", "covtype.binary.svm"),
        file("phishing URLs", "phishing_url_char4gram.svm"),
        file("elec2", "elec2.svm", ordered=True),
        file("spam drift", "spam_katakis_drift.svm", ordered=True),
        file("usps", "usps.svm", "usps.t.svm"),
        file("mnist", "mnist.svm", "mnist.t.svm", most_rows=10_000),
        file("news20", "news20.multi", most_rows=8_000),
        Set("breast cancer", partial(from_scikit_learn, "load_breast_cancer")),
        Set("digits", partial(from_scikit_learn, "load_digits")),
        Set("sparse stream", lambda: datasets.make_stream_like("rcv1", 20_000, random_state=1), ordered=True),
        Set("rotated Gaussian", lambda: datasets.make_rotated_gaussian(8000, 20, random_state=1), ordered=True),
        Set("sparse Gaussian", lambda: datasets.make_sparse_gaussian(8000, random_state=1), ordered=True),
        Set("mail", mail, ordered=True),
        Set("no drift", partial(drift, 20_000, drifts=[20_001]), ordered=True),
        Set("abrupt drift", partial(drift, 20_000, drifts=[4000, 9000]), ordered=True),
        Set("gradual drift", partial(drift, 20_000, drifts=[2000, 8000], width=5000), ordered=True),
        Set(
            "turning plane",
            partial(drift, 30_000, drifts=[0], width=30_000, transition="turn"),
            ordered=True,
        ),
        Set("sparse drift", partial(drift, 20_000, n_features=5000, drifts=[7000], n_nonzero=30), ordered=True),
    ]

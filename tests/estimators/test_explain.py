"""Explanations: contributions and the intercept sum to the score, whatever the learner and the normalisation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import sureline
from sureline.learners.catalogue import LEARNERS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 6)) * np.array([1, 10, 0.1, 1, 5, 1]) * (RNG.random((300, 6)) < 0.7)
LEARNED = [name for name in LEARNERS if name != "KernelSCW"]


def targets(kind: str, name: str) -> np.ndarray:
    if "Regressor" in name:
        return X @ np.arange(6.0)
    return np.digitize(X[:, 0] + 0.1 * X[:, 1], [0.0] if kind == "binary" else [-1.0, 1.0])


@pytest.mark.parametrize("normalize", ["none", "row", "scale"])
@pytest.mark.parametrize("name", ["SCW", "AROW", "SOP", "FTRL", "SSOL", "PA", "BCW"])
@pytest.mark.parametrize("kind", ["binary", "several"])
def test_contributions_sum_to_the_score(name: str, normalize: str, kind: str) -> None:
    y = targets(kind, name)
    if name == "BCW" and kind == "several":
        y = targets("binary", name)
    clf = getattr(sureline, name)(normalize=normalize).fit(X, y)
    scores = clf.decision_function(X[:20]).reshape(20, -1)
    for rows in (X[:20], sparse.csr_matrix(X[:20])):
        for k, told in enumerate(clf.explain(rows)):
            head = 0 if scores.shape[1] == 1 else int(np.argmax(scores[k]))
            assert told.label == clf.predict(X[k : k + 1])[0]
            assert told.score == pytest.approx(scores[k, head], rel=1e-9, abs=1e-9)
            total = told.intercept + sum(c.contribution for c in told.contributions) + told.rest
            assert total == pytest.approx(told.score, rel=1e-6, abs=1e-6)
            sizes = [abs(c.contribution) for c in told.contributions]
            assert sizes == sorted(sizes, reverse=True)


def test_a_few_and_the_rest() -> None:
    clf = sureline.SCW().fit(X, targets("binary", "SCW"))
    whole, few = clf.explain(X[:1])[0], clf.explain(X[:1], 2)[0]
    assert few.contributions == whole.contributions[:2]
    assert few.rest == pytest.approx(sum(c.contribution for c in whole.contributions[2:]))
    assert str(few).count(";") == 2


def test_names_of_words_and_of_frames() -> None:
    clf = sureline.AROW().learn_one({"free": 1.0, "cash": 1.0}, "spam").learn_one({"noon": 1.0}, "ham")
    told = clf.explain_one({"free": 2.0, "never": 1.0})
    assert told.label == "spam"
    assert [c.value for c in told.contributions] in ([2.0], [-2.0])
    import pandas as pd

    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    clf = sureline.SCW().fit(frame, targets("binary", "SCW"))
    assert {c.name for c in clf.explain(frame[:5])[0].contributions} <= {"a", "b", "c"}


def test_a_kernel_has_no_weights() -> None:
    clf = sureline.KernelSCW(kernel="rbf").fit(X[:50], targets("binary", "")[:50])
    with pytest.raises(ValueError, match="sum over stored examples"):
        clf.explain(X[:1])


def test_a_regressor() -> None:
    reg = sureline.ODCARegressor().fit(X, targets("", "Regressor"))
    told = reg.explain(X[:1])[0]
    assert told.label is None
    total = told.intercept + sum(c.contribution for c in told.contributions)
    assert total == pytest.approx(reg.predict(X[:1])[0], rel=1e-6)

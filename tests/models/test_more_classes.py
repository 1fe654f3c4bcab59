"""Two classes become more: every kind of model decides between the first two as it did before."""

from typing import Any

import numpy as np
import pytest
from catalogue import stream
from sklearn.base import clone

from sureline import AROW, BCW, FGM, FTRL, ODCA, PA, SBCW, SOFS, SOP, SSOL, KernelSCW
from sureline.models.state import State

MODELS = [
    *(
        kind(multi_class=multi_class)
        for kind in (PA, AROW, SOP, FTRL, SSOL, ODCA, BCW)
        for multi_class in ("native", "ovr")
    ),
    *(AROW(covariance="full"), SSOL(covariance="full"), SSOL(max_nonzero=5), SOFS(n_features=5), ODCA(smoothing=0.0)),
    *(SBCW(n_features=6), FGM(n_features=6)),
    *(KernelSCW(gamma=0.1, multi_class=m) for m in ("native", "ovr")),
]


def with_classes(model: Any, n_classes: int) -> Any:
    """The model with more classes that have no examples."""
    state, policy = model.model, model._policy()
    if isinstance(state, State):
        state = state.copy()
        state.add_heads(n_classes, policy)
    else:
        state = state.grown(state.n_columns, n_classes, policy)
    grown = clone(model)
    grown.adopt(state, model.normalizer.copy())
    grown.classes_, grown.n_features_in_ = np.arange(n_classes), model.n_features_in_
    return grown


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("n_classes", [3, 5])
def test_the_first_two_classes_are_told_apart_as_before(model, n_classes: int) -> None:
    X, y = stream(200)
    model = clone(model).set_params(growing=True).fit(X, y)
    before, counts = model.predict(X), model.model.tally.copy()
    grown = with_classes(model, n_classes)
    scores = grown.decision_function(X)
    assert scores.shape == (len(X), n_classes)
    clear = np.abs(model.decision_function(X)) > 1e-9
    assert clear.sum() > 150
    np.testing.assert_array_equal(scores[clear, :2].argmax(axis=1), before[clear])
    np.testing.assert_array_equal(grown.model.tally[:2], counts)
    assert not grown.model.tally[2:].any()
    np.testing.assert_array_equal(model.predict(X), before)  # what it grew from is as it was
    if grown.has_variances:
        assert (grown.decision_std(X) >= 0).all()
    assert with_classes(with_classes(model, 3), n_classes).decision_function(X).tobytes() == scores.tobytes()
    third = grown.partial_fit(X[:20], np.full(20, 2))
    assert (third.n_seen_, third.labels) == (220, list(range(n_classes)))

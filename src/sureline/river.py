"""Classifiers with the interface of River: they learn from dicts, one at a time or in data frames.

    from river import evaluate, metrics
    from sureline.river import Learner

    evaluate.progressive_val_score(dataset, Learner("arow"), metrics.Accuracy())

Install with ``pip install 'sureline[river]'``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

try:
    from river import base
except ImportError:
    raise ImportError("sureline.river needs River: pip install 'sureline[river]'.") from None

from . import estimators
from .estimators.online import OnlineClassifier
from .learners.catalogue import learner_named

if TYPE_CHECKING:
    import pandas as pd  # type: ignore[import-untyped]

__all__ = ["Learner"]


class Learner(base.MiniBatchClassifier):
    """A River classifier around a sureline classifier.

    Labels that were never seen become classes as they come, and so do features. A name that is not text, such as the
    tuple of an n-gram, counts as ``str(name)``. Text as a value makes a feature of its own: ``{"colour": "red"}`` needs
    no encoder.

    Parameters
    ----------
    algorithm
        The name of an algorithm that learns from one row after the other, such as ``"arow"``, or an estimator of
        sureline. The estimator itself stays as it is. One that was fitted or loaded is where learning begins, in the
        clones as well; its features are then those that it knows, and it takes new labels only with ``growing=True``.
    parameters
        Parameters of the algorithm, if it is named.

    Attributes
    ----------
    model : estimator of sureline
        With all that was learned: `sureline.save` writes it, and it has `confidence`, `explain_one` and the like.

    Examples
    --------
    >>> from sureline.river import Learner
    >>> learner = Learner("arow", r=0.5)
    >>> learner.learn_one({"cheap": 1, "pills": 1}, "spam")
    >>> learner.learn_one({"lunch": 1}, "ham")
    >>> learner.predict_one({"pills": 1})
    'spam'
    """

    def __init__(self, algorithm: str | OnlineClassifier = "arow", **parameters: Any) -> None:
        self.algorithm, self.parameters = algorithm, parameters
        self.model = _model(algorithm, parameters)
        self._by_text = not self.model.has_begun  # names are hashed, whatever they are

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"algorithm": "arow"}
        yield {"algorithm": "ftrl", "normalize": "row"}

    @property
    def _multiclass(self) -> bool:
        """False if the parameters have a meaning for two classes only."""
        try:
            self.model.refuse_classes(3)
        except ValueError:
            return False
        return True

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn from one row: its features, and its label."""
        self.model.learn_one(self._named(x), y)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The label of a row; None if nothing has been learned yet."""
        return self.model.predict_one(self._named(x))

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The calibrated probability of each label that has come. Before that there is none."""
        if not self.model.has_begun and not self._multiclass:
            return {False: 0.5, True: 0.5}
        return self.model.predict_proba_one(self._named(x))

    def learn_many(self, X: pd.DataFrame, y: pd.Series) -> None:
        """Learn from the rows of a data frame, one after the other. A cell that is missing is a feature less."""
        for x, label in zip(_rows(X), y.tolist(), strict=True):
            self.learn_one(x, label)

    def predict_many(self, X: pd.DataFrame) -> pd.Series:
        """The label of each row of a data frame."""
        import pandas as pd

        return pd.Series([self.predict_one(x) for x in _rows(X)], index=X.index)

    def predict_proba_many(self, X: pd.DataFrame) -> pd.DataFrame:
        """The calibrated probabilities of the labels, a column for each, for each row of a data frame."""
        import pandas as pd

        return pd.DataFrame([self.predict_proba_one(x) for x in _rows(X)], index=X.index)

    def _named(self, x: dict[Any, Any]) -> dict[Any, Any]:
        """The row with names that can be hashed."""
        if not self._by_text or all(type(name) is str for name in x):
            return x
        named = {str(name): value for name, value in x.items()}
        if len(named) < len(x):
            twice = next(name for name in x if type(name) is not str and str(name) in x)
            raise ValueError(f"A row has the features {twice!r} and {str(twice)!r}, which are the same as text.")
        return named


def _model(algorithm: Any, parameters: dict[str, Any]) -> OnlineClassifier:
    """The estimator that is meant, for the learner alone."""
    if isinstance(algorithm, str):
        model = getattr(estimators, learner_named(algorithm).__name__)(**parameters)
    elif parameters:
        raise TypeError(f"{', '.join(parameters)} must be set on the estimator that is passed as algorithm.")
    else:
        model = copy.deepcopy(algorithm)
    if not isinstance(model, OnlineClassifier) or not hasattr(model, "learn_one"):
        raise TypeError(
            f"algorithm must be a classifier of sureline, or its name, that learns from one row after the other, such "
            f"as 'arow', 'scw', 'pa', 'ftrl' or 'ssol'. Got {algorithm!r} instead."
        )
    model.check_parameters()
    return model


def _rows(X: pd.DataFrame) -> Iterator[dict[Any, Any]]:
    """The rows of a data frame as dicts, without the cells that are missing."""
    names = list(X.columns)
    for cells in X.itertuples(index=False, name=None):
        yield {name: cell for name, cell in zip(names, cells, strict=True) if cell is not None and cell == cell}

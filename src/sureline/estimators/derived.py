"""From a learner to its estimator: which classes are put before it."""

from __future__ import annotations

from types import new_class
from typing import Any

# First, since it costs a tenth of a second more when one of scikit-learn's inner modules is the one that loads it.
import sklearn.base  # noqa: F401

from ..learners.batch import BatchLearner
from ..learners.learner import Learner
from ..learners.regression import TargetLearner
from .base import GaussianAnswers
from .online import OnlineClassifier


def estimator_of(learner: type[Learner], module: str) -> type[Any]:
    """The estimator of the same name, as a class of that module."""
    namespace = {"__doc__": learner.__doc__, "__module__": module, "__qualname__": learner.__name__}
    return new_class(learner.__name__, (*bases_of(learner), learner), exec_body=lambda body: body.update(namespace))


def bases_of(learner: type[Learner]) -> list[type[Any]]:
    """The bases that make an estimator of a learner. Imports no more of scikit-learn than it needs."""
    if issubclass(learner, TargetLearner):
        from .regressor import GaussianRegressor, OnlineRegressor

        return [GaussianRegressor] if hasattr(learner, "standard_deviations") else [OnlineRegressor]
    bases: list[type[Any]] = [OnlineClassifier]
    if issubclass(learner, BatchLearner):
        from .batch import BatchClassifier

        bases = [BatchClassifier]
    if learner.has_variances:
        bases.insert(0, GaussianAnswers)
    if hasattr(learner, "selected_columns"):
        from .selector import Selector

        bases.insert(0, Selector)
    return bases

"""Builds an estimator from a learner: the base classes put before it."""

from __future__ import annotations

from types import new_class
from typing import Any

# First, since scikit-learn's import is a tenth of a second slower if it begins with an inner module.
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
    """The base classes that make an estimator of a learner. Imports as little of scikit-learn as possible."""
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

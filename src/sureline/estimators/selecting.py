"""The classifiers that select features as scikit-learn estimators; apart from the others, for what they import."""

from __future__ import annotations

import sklearn.base  # noqa: F401  # first, as in `estimators`

from ..learners import feature_groups as sparse_batch
from ..learners import online_selection
from .base import GaussianAnswers
from .batch import BatchClassifier
from .online import OnlineClassifier
from .selector import Selector


class SOFS(Selector, GaussianAnswers, OnlineClassifier, online_selection.SOFS):
    __doc__ = online_selection.SOFS.__doc__


class FOFS(Selector, OnlineClassifier, online_selection.FOFS):
    __doc__ = online_selection.FOFS.__doc__


class SBCW(Selector, GaussianAnswers, BatchClassifier, sparse_batch.SBCW):
    __doc__ = sparse_batch.SBCW.__doc__


class FGM(Selector, BatchClassifier, sparse_batch.FGM):
    __doc__ = sparse_batch.FGM.__doc__

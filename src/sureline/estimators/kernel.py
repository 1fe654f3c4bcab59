"""The learner with a kernel as a scikit-learn estimator; apart from the others, since few need what it imports."""

from __future__ import annotations

from ..learners import kernel
from .base import GaussianAnswers
from .batch import KernelClassifier


class KernelSCW(GaussianAnswers, KernelClassifier, kernel.KernelSCW):
    __doc__ = kernel.KernelSCW.__doc__

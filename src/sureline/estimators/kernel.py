"""The learner with a kernel as a scikit-learn estimator; apart from the others, since few need what it imports."""

from __future__ import annotations

from ..learners import kernel
from .batch import KernelClassifier


class KernelSCW(KernelClassifier, kernel.KernelSCW):
    __doc__ = kernel.KernelSCW.__doc__

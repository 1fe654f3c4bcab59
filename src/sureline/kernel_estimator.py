"""The learner with a kernel as a scikit-learn estimator; apart from the others, since few need what it imports."""

from __future__ import annotations

from . import kernel
from ._batch_estimator import KernelClassifier


class KernelSCW(KernelClassifier, kernel.KernelSCW):
    __doc__ = kernel.KernelSCW.__doc__

"""Save and load estimators."""

from __future__ import annotations

from pathlib import Path

from ..learners.learner import Learner
from ..learners.saving import read_learner, write_learner
from .auto import Auto
from .base import Classifier
from .regressor import OnlineRegressor

Estimator = Classifier | OnlineRegressor


def save(model: Estimator | Auto | Learner, path: str | Path, *, compact: bool = False) -> None:
    """Write a fitted model to a file.

    The file is safetensors with a checksum; docs/model-file.md specifies it. An existing file is replaced in one step:
    whatever happens in between, there is the old model or the new one.

    Parameters
    ----------
    model : estimator of sureline
    path : str or Path
    compact : bool, default=False
        Leave out what is known of features whose weight is zero. Labels and scores are the same; of a learner with
        variances the features that were left out count as never seen, so that it is less sure. Otherwise everything
        is kept that going on with `partial_fit` needs, of the features that occurred.
    """
    if isinstance(model, Auto):
        model = model.model_  # the file holds the model, not the race
    if not isinstance(model, Learner):
        raise TypeError(
            "model must be an estimator of sureline that learns from a stream, or KernelSCW; those for data in memory "
            f"(SDCA, SparseDCA, L1SVM) can be pickled. Got {model!r} instead."
        )
    write_learner(Path(path), model, compact=compact)


def load(path: str | Path) -> Estimator:
    """Read a model that was saved by `save`, `train` or the command line.

    Loading runs no code. A changed or damaged file raises sureline.modelfile.ModelFileError.
    """
    return as_estimator(read_learner(Path(path)).learner)


def as_estimator(learner: Learner) -> Estimator:
    """The estimator of the same name, with the same parameters and all that was learned."""
    from .. import estimators

    if learner.in_python:
        assert isinstance(learner, Estimator)
        return learner
    estimator: Estimator = getattr(estimators, type(learner).__name__)(**learner.parameters())
    for attribute in ("classes_", "n_features_in_", "feature_names_in_", "origin", "target_scale"):
        if hasattr(learner, attribute):
            setattr(estimator, attribute, getattr(learner, attribute))
    estimator.adopt(learner.model, learner.normalizer.copy())
    return estimator

"""Linear classifiers with calibrated confidence, for streams too large and too wide for batch learning."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import *  # noqa: F403  # a stub has their names
    from .estimators.auto import Auto as Auto
    from .estimators.saving import load as load
    from .estimators.saving import save as save
    from .evaluate.feature_path import feature_path as feature_path
    from .evaluate.sparsity_path import sparsity_path as sparsity_path
    from .evaluate.sparsity_path_result import plot_sparsity_paths as plot_sparsity_paths
    from .training.calls import tournament as tournament
    from .training.in_one_call import train as train
    from .training.predicting import predict as predict

__version__ = "0.1.0"

# Where each lazy name is imported from. The command line does not need scikit-learn, whose import takes longer than
# many of its jobs. The estimators are those of the catalogue.
_FUNCTIONS = {
    "Auto": ".estimators.auto",
    "feature_path": ".selection",
    "load": ".estimators.saving",
    "plot_sparsity_paths": ".sparsity",
    "predict": ".training",
    "save": ".estimators.saving",
    "sparsity_path": ".sparsity",
    "tournament": ".contest",
    "train": ".training",
}
_WARNINGS = {"LabelRunsWarning": ".stream.runs"}
_SUBMODULES = {
    "contest",
    "custom",
    "datasets",
    "evaluate",
    "metrics",
    "reference",
    "report",
    "reproduce",
    "rules",
    "selection",
    "sparsity",
    "stream",
}


def _estimators() -> list[str]:
    catalogue = import_module(".learners.catalogue", __name__)
    return sorted([*catalogue.EVERY_LEARNER, *catalogue.IN_MEMORY], key=lambda name: (name != name.upper(), name))


def __getattr__(name: str) -> Any:
    value: Any
    if name in _SUBMODULES:
        value = import_module(f".{name}", __name__)
    elif name in _FUNCTIONS or name in _WARNINGS:
        value = getattr(import_module((_FUNCTIONS | _WARNINGS)[name], __name__), name)
    elif name == "__all__":
        value = [*_estimators(), *_FUNCTIONS]
    elif not name.startswith("_") and name in _estimators():
        value = getattr(import_module(".estimators", __name__), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*_estimators(), *_FUNCTIONS, *_WARNINGS, *_SUBMODULES, "__version__"})

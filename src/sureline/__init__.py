"""Linear classifiers from streams too large and too wide for batch learning, and that say how sure they are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators.classifiers import (
        ALMA,
        AROW,
        BCW,
        CPA,
        CSOGD,
        CW,
        FOBOS,
        FSOL,
        FTRL,
        IELLIP,
        NAROW,
        NHERD,
        ODCA,
        OGD,
        PA,
        PAUM,
        RDA,
        ROMMA,
        SCW,
        SOP,
        SSOL,
        STG,
        AdaFOBOS,
        AdaRDA,
        ODCARegressor,
        Perceptron,
    )
    from .estimators.kernel import KernelSCW
    from .estimators.l1 import L1SVM, SparseDCA
    from .estimators.saving import load, save
    from .estimators.sdca import SDCA
    from .estimators.selecting import FGM, FOFS, SBCW, SOFS
    from .evaluate.feature_path import feature_path
    from .evaluate.sparsity_path import sparsity_path
    from .evaluate.sparsity_path_result import plot_sparsity_paths
    from .training.calls import tournament
    from .training.train import train

__version__ = "0.1.0"

__all__ = [
    "ALMA",
    "AROW",
    "BCW",
    "CPA",
    "CSOGD",
    "CW",
    "FGM",
    "FOBOS",
    "FOFS",
    "FSOL",
    "FTRL",
    "IELLIP",
    "L1SVM",
    "NAROW",
    "NHERD",
    "ODCA",
    "OGD",
    "PA",
    "PAUM",
    "RDA",
    "ROMMA",
    "SBCW",
    "SCW",
    "SDCA",
    "SOFS",
    "SOP",
    "SSOL",
    "STG",
    "AdaFOBOS",
    "AdaRDA",
    "KernelSCW",
    "ODCARegressor",
    "Perceptron",
    "SparseDCA",
    "feature_path",
    "load",
    "plot_sparsity_paths",
    "save",
    "sparsity_path",
    "tournament",
    "train",
]

# Where to find what is not imported before it is asked for: the command line does without scikit-learn, whose import
# takes longer than many of its jobs.
_ELSEWHERE = {
    "FGM": ".estimators.selecting",
    "FOFS": ".estimators.selecting",
    "KernelSCW": ".estimators.kernel",
    "L1SVM": ".estimators.l1",
    "SBCW": ".estimators.selecting",
    "SDCA": ".estimators.sdca",
    "SOFS": ".estimators.selecting",
    "SparseDCA": ".estimators.l1",
    "feature_path": ".selection",
    "load": ".estimators.saving",
    "plot_sparsity_paths": ".sparsity",
    "save": ".estimators.saving",
    "sparsity_path": ".sparsity",
    "tournament": ".contest",
    "train": ".training",
}
_SUBMODULES = {
    "contest",
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


def __getattr__(name: str) -> Any:
    if name in __all__:
        value = getattr(import_module(_ELSEWHERE.get(name, ".estimators"), __name__), name)
    elif name in _SUBMODULES:
        value = import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "__version__"})

"""Linear classifiers from streams too large and too wide for batch learning, and that say how sure they are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .contest import tournament
    from .estimators import (
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
    from .finite_dual import SDCA
    from .kernel_estimator import KernelSCW
    from .l1_selectors import L1SVM, SparseDCA
    from .persistence import load, save
    from .selection import feature_path
    from .selector_estimators import FGM, FOFS, SBCW, SOFS
    from .sparsity import plot_sparsity_paths, sparsity_path
    from .training import train

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
    "FGM": ".selector_estimators",
    "FOFS": ".selector_estimators",
    "KernelSCW": ".kernel_estimator",
    "L1SVM": ".l1_selectors",
    "SBCW": ".selector_estimators",
    "SDCA": ".finite_dual",
    "SOFS": ".selector_estimators",
    "SparseDCA": ".l1_selectors",
    "feature_path": ".selection",
    "load": ".persistence",
    "plot_sparsity_paths": ".sparsity",
    "save": ".persistence",
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

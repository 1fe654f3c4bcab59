"""Linear classifiers from streams too large and too wide for batch learning, and that say how sure they are."""

# First, since it costs a tenth of a second more when one of scikit-learn's inner modules is the one that loads it.
import sklearn.base  # noqa: F401

from .cost_sensitive import CPA, CSOGD, PAUM
from .first_order import ALMA, OGD, PA, ROMMA, Perceptron
from .second_order import AROW, CW, IELLIP, NAROW, NHERD, SCW, SOP
from .sparse_online import FOBOS, FSOL, FTRL, RDA, SSOL, STG, AdaFOBOS, AdaRDA
from .sparsity import plot_sparsity_paths, sparsity_path

__version__ = "0.1.0"

__all__ = [
    "ALMA",
    "AROW",
    "CPA",
    "CSOGD",
    "CW",
    "FOBOS",
    "FSOL",
    "FTRL",
    "IELLIP",
    "NAROW",
    "NHERD",
    "OGD",
    "PA",
    "PAUM",
    "RDA",
    "ROMMA",
    "SCW",
    "SOP",
    "SSOL",
    "STG",
    "AdaFOBOS",
    "AdaRDA",
    "Perceptron",
    "plot_sparsity_paths",
    "sparsity_path",
]

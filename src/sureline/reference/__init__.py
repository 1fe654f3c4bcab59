"""Reference implementations in plain NumPy: a few lines each, in the notation of the papers.

They are the definition that the compiled core is tested against: slow, for dense rows, and without checks of what they
are given. A learner is made with the parameters of the algorithm, `fit_intercept` and `multi_class`, and run over rows:

>>> import numpy as np
>>> from sureline import reference
>>> X, y = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, -1.0]]), np.array([1, 1, 0])
>>> model = reference.AROW(r=1.0, covariance="full").run(X, y)
>>> model.n_mistakes_, model.n_updates_
(1, 3)
>>> model.coef_.shape, model.covariance_.shape
((1, 2), (1, 2, 2))
"""

from .finite_dual import SDCA, SparseDCA
from .kernel_learners import KernelSCW
from .learners import ALMA, AROW, CW, IELLIP, NAROW, NHERD, PA, ROMMA, SCW, SOP, Perceptron
from .least_squares import AROWRegressor
from .normalization import Normalization
from .online_batch import BCW
from .online_dual import ODCA, ODCARegressor
from .selecting_learners import FOFS, SOFS
from .sparse_batch import FGM, SBCW
from .sparse_learners import CPA, CSOGD, FOBOS, FSOL, FTRL, OGD, PAUM, RDA, SSOL, STG, AdaFOBOS, AdaRDA

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
    "AROWRegressor",
    "AdaFOBOS",
    "AdaRDA",
    "KernelSCW",
    "Normalization",
    "ODCARegressor",
    "Perceptron",
    "SparseDCA",
]

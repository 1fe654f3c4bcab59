"""The learners as scikit-learn estimators: the classes that users see."""

from __future__ import annotations

# First, since it costs a tenth of a second more when one of scikit-learn's inner modules is the one that loads it.
import sklearn.base  # noqa: F401

from ..learners import cost_sensitive, first_order, online_batch, online_dual, second_order, sparse_online
from .base import GaussianClassifier, OnlineClassifier
from .batch import GaussianBatchClassifier
from .regressor import OnlineRegressor


class Perceptron(OnlineClassifier, first_order.Perceptron):
    __doc__ = first_order.Perceptron.__doc__


class PA(OnlineClassifier, first_order.PA):
    __doc__ = first_order.PA.__doc__


class ROMMA(OnlineClassifier, first_order.ROMMA):
    __doc__ = first_order.ROMMA.__doc__


class ALMA(OnlineClassifier, first_order.ALMA):
    __doc__ = first_order.ALMA.__doc__


class OGD(OnlineClassifier, first_order.OGD):
    __doc__ = first_order.OGD.__doc__


class SOP(GaussianClassifier, second_order.SOP):
    __doc__ = second_order.SOP.__doc__


class IELLIP(GaussianClassifier, second_order.IELLIP):
    __doc__ = second_order.IELLIP.__doc__


class CW(GaussianClassifier, second_order.CW):
    __doc__ = second_order.CW.__doc__


class AROW(GaussianClassifier, second_order.AROW):
    __doc__ = second_order.AROW.__doc__


class NAROW(GaussianClassifier, second_order.NAROW):
    __doc__ = second_order.NAROW.__doc__


class NHERD(GaussianClassifier, second_order.NHERD):
    __doc__ = second_order.NHERD.__doc__


class SCW(GaussianClassifier, second_order.SCW):
    __doc__ = second_order.SCW.__doc__


class STG(OnlineClassifier, sparse_online.STG):
    __doc__ = sparse_online.STG.__doc__


class FOBOS(OnlineClassifier, sparse_online.FOBOS):
    __doc__ = sparse_online.FOBOS.__doc__


class RDA(OnlineClassifier, sparse_online.RDA):
    __doc__ = sparse_online.RDA.__doc__


class AdaFOBOS(OnlineClassifier, sparse_online.AdaFOBOS):
    __doc__ = sparse_online.AdaFOBOS.__doc__


class AdaRDA(OnlineClassifier, sparse_online.AdaRDA):
    __doc__ = sparse_online.AdaRDA.__doc__


class FTRL(OnlineClassifier, sparse_online.FTRL):
    __doc__ = sparse_online.FTRL.__doc__


class FSOL(OnlineClassifier, sparse_online.FSOL):
    __doc__ = sparse_online.FSOL.__doc__


class SSOL(GaussianClassifier, sparse_online.SSOL):
    __doc__ = sparse_online.SSOL.__doc__


class CSOGD(OnlineClassifier, cost_sensitive.CSOGD):
    __doc__ = cost_sensitive.CSOGD.__doc__


class CPA(OnlineClassifier, cost_sensitive.CPA):
    __doc__ = cost_sensitive.CPA.__doc__


class PAUM(OnlineClassifier, cost_sensitive.PAUM):
    __doc__ = cost_sensitive.PAUM.__doc__


class ODCA(OnlineClassifier, online_dual.ODCA):
    __doc__ = online_dual.ODCA.__doc__


class ODCARegressor(OnlineRegressor, online_dual.ODCARegressor):
    __doc__ = online_dual.ODCARegressor.__doc__


class BCW(GaussianBatchClassifier, online_batch.BCW):
    __doc__ = online_batch.BCW.__doc__

"""The learners as scikit-learn estimators: the classes that users see."""

from __future__ import annotations

# First, since it costs a tenth of a second more when one of scikit-learn's inner modules is the one that loads it.
import sklearn.base  # noqa: F401

from ..learners import (
    cost_sensitive,
    first_order,
    online_batch,
    online_dual,
    second_order,
    sparse_descent,
    sparse_online,
)
from .base import GaussianAnswers
from .batch import BatchClassifier
from .online import OnlineClassifier
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


class SOP(GaussianAnswers, OnlineClassifier, second_order.SOP):
    __doc__ = second_order.SOP.__doc__


class IELLIP(GaussianAnswers, OnlineClassifier, second_order.IELLIP):
    __doc__ = second_order.IELLIP.__doc__


class CW(GaussianAnswers, OnlineClassifier, second_order.CW):
    __doc__ = second_order.CW.__doc__


class AROW(GaussianAnswers, OnlineClassifier, second_order.AROW):
    __doc__ = second_order.AROW.__doc__


class NAROW(GaussianAnswers, OnlineClassifier, second_order.NAROW):
    __doc__ = second_order.NAROW.__doc__


class NHERD(GaussianAnswers, OnlineClassifier, second_order.NHERD):
    __doc__ = second_order.NHERD.__doc__


class SCW(GaussianAnswers, OnlineClassifier, second_order.SCW):
    __doc__ = second_order.SCW.__doc__


class STG(OnlineClassifier, sparse_descent.STG):
    __doc__ = sparse_descent.STG.__doc__


class FOBOS(OnlineClassifier, sparse_descent.FOBOS):
    __doc__ = sparse_descent.FOBOS.__doc__


class RDA(OnlineClassifier, sparse_descent.RDA):
    __doc__ = sparse_descent.RDA.__doc__


class AdaFOBOS(OnlineClassifier, sparse_descent.AdaFOBOS):
    __doc__ = sparse_descent.AdaFOBOS.__doc__


class AdaRDA(OnlineClassifier, sparse_descent.AdaRDA):
    __doc__ = sparse_descent.AdaRDA.__doc__


class FTRL(OnlineClassifier, sparse_descent.FTRL):
    __doc__ = sparse_descent.FTRL.__doc__


class FSOL(OnlineClassifier, sparse_online.FSOL):
    __doc__ = sparse_online.FSOL.__doc__


class SSOL(GaussianAnswers, OnlineClassifier, sparse_online.SSOL):
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


class BCW(GaussianAnswers, BatchClassifier, online_batch.BCW):
    __doc__ = online_batch.BCW.__doc__

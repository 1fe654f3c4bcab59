"""Evaluation of models: on labelled rows that they have not seen, and along a stream."""

from ..metrics import Calibration
from .coverage import error_against_coverage
from .held_out import Evaluation, RankingCurve, evaluate, reliability
from .prequential import prequential
from .prequential_result import Prequential
from .residuals import Residuals

__all__ = [
    "Calibration",
    "Evaluation",
    "Prequential",
    "RankingCurve",
    "Residuals",
    "error_against_coverage",
    "evaluate",
    "prequential",
    "reliability",
]

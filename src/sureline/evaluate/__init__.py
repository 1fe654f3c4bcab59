"""How good a model is: on labelled rows that it has not seen, and along a stream that it learns from."""

from ..metrics import Calibration
from .held_out import Evaluation, RankingCurve, evaluate
from .progressive import prequential
from .residuals import Residuals
from .result import Prequential

__all__ = ["Calibration", "Evaluation", "Prequential", "RankingCurve", "Residuals", "evaluate", "prequential"]

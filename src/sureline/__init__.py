"""Linear classifiers from streams too large and too wide for batch learning, and that say how sure they are."""

from .first_order import ALMA, PA, ROMMA, Perceptron
from .second_order import AROW, CW, IELLIP, NAROW, NHERD, SCW, SOP

__version__ = "0.1.0"

__all__ = ["ALMA", "AROW", "CW", "IELLIP", "NAROW", "NHERD", "PA", "ROMMA", "SCW", "SOP", "Perceptron"]

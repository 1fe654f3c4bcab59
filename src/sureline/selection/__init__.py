"""What a number of features costs and gives: several selectors at several numbers, as table and picture."""

from .agreement import jaccard, stability
from .path import feature_path
from .result import FeaturePath, PathPoint

__all__ = ["FeaturePath", "PathPoint", "feature_path", "jaccard", "stability"]

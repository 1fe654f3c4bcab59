"""Accuracy and time against the number of features: several selectors at several numbers, as table and picture."""

from .evaluate.agreement import jaccard, stability
from .evaluate.feature_path import FeaturePath, PathPoint, feature_path

__all__ = ["FeaturePath", "PathPoint", "feature_path", "jaccard", "stability"]

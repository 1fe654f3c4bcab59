"""Accuracy and time of feature selectors against the number of features, as table and chart."""

from .evaluate.agreement import jaccard, stability
from .evaluate.feature_path import FeaturePath, PathPoint, feature_path

__all__ = ["FeaturePath", "PathPoint", "feature_path", "jaccard", "stability"]

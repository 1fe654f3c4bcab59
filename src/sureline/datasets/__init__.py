"""Seeded generators of data sets on which learners differ in a known way."""

from .drifts import make_drift
from .gaussians import make_rotated_gaussian, make_sparse_gaussian
from .groups import make_correlated_groups
from .mail import make_mail
from .streams import STREAM_SHAPES, StreamShape, make_sparse_stream, make_stream_like
from .tables import make_cover_type, make_epsilon

__all__ = [
    "STREAM_SHAPES",
    "StreamShape",
    "make_correlated_groups",
    "make_cover_type",
    "make_drift",
    "make_epsilon",
    "make_mail",
    "make_rotated_gaussian",
    "make_sparse_gaussian",
    "make_sparse_stream",
    "make_stream_like",
]

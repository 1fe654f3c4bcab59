"""Seeded generators of data on which the learners differ in a known way."""

from .gaussians import make_rotated_gaussian, make_sparse_gaussian
from .mail import make_mail
from .streams import STREAM_SHAPES, StreamShape, make_sparse_stream, make_stream_like

__all__ = [
    "STREAM_SHAPES",
    "StreamShape",
    "make_mail",
    "make_rotated_gaussian",
    "make_sparse_gaussian",
    "make_sparse_stream",
    "make_stream_like",
]

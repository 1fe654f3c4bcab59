"""One pass over a stream: training of one learner, and tournaments of many."""

from .train import BATCH, Progress, Training, train

__all__ = ["BATCH", "Progress", "Training", "train"]

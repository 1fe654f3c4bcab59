"""One pass over a stream: training of one learner, and tournaments of many."""

from .in_one_call import train
from .train import BATCH, Progress, Training

__all__ = ["BATCH", "Progress", "Training", "train"]

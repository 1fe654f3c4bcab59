"""One pass over a stream: training of one learner, and tournaments of many."""

from .in_one_call import train
from .predicting import predict
from .progress import Progress
from .train import BATCH, Training

__all__ = ["BATCH", "Progress", "Training", "predict", "train"]

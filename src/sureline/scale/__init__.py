"""Learn shards of a stream in parallel, and merge them into one model.

`learn_shard` and `merge` are pure functions of bytes: the same data, settings and shards give the same bits on every
engine, with any number of workers, even if workers die.
"""

from .delta import Delta, DeltaError
from .driver import Engine, Local, Plan, Progress, run, start
from .learning import learn_shard, merge, new_labels, with_labels
from .shards import SHARD_SIZE, ArrayRows, FileRows, Shard, shards_of
from .train import train

__all__ = [
    "SHARD_SIZE",
    "ArrayRows",
    "Delta",
    "DeltaError",
    "Engine",
    "FileRows",
    "Local",
    "Plan",
    "Progress",
    "Shard",
    "learn_shard",
    "merge",
    "new_labels",
    "run",
    "shards_of",
    "start",
    "train",
    "with_labels",
]

"""Many learners with many settings over one reading of the data, and what comes of it."""

from .calls import tournament
from .result import Run, TournamentResult
from .running import Standing, Tournament

__all__ = ["Run", "Standing", "Tournament", "TournamentResult", "tournament"]

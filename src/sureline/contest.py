"""Many learners with many settings over one reading of the data, and what comes of it."""

from .training.calls import tournament
from .training.result import Run, TournamentResult
from .training.tournament import Standing, Tournament

__all__ = ["Run", "Standing", "Tournament", "TournamentResult", "tournament"]

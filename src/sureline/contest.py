"""Tournaments: many learners with many settings in one reading of the data."""

from .training.calls import tournament
from .training.result import Run, TournamentResult
from .training.tournament import Standing, Tournament

__all__ = ["Run", "Standing", "Tournament", "TournamentResult", "tournament"]

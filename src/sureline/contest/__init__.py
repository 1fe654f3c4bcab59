"""Many learners with many settings over one reading of the data, and what comes of it."""

from .result import Run, TournamentResult

__all__ = ["Run", "TournamentResult"]

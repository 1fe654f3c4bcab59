"""What the classifiers share that select features by an l1 penalty: its strength, or the number of features instead."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from .in_memory import Data, InMemoryClassifier, Solution
from .penalty_search import search_penalty
from .selector import WeightSelector


class L1Selector(WeightSelector, InMemoryClassifier):
    """A classifier with an l1 penalty, whose strength is given or follows from the number of features to leave."""

    _strength: ClassVar[str]  # the name of the parameter

    n_features: int | None
    fit_intercept: bool

    # -- what an algorithm says of itself --------------------------------------------------------------------

    @abstractmethod
    def _solver(self, data: Data) -> Callable[[float], Solution]:
        """A function from `lam` or `C` to the solution, which goes on from its last one if it can."""

    @abstractmethod
    def _per_loss(self, data: Data) -> float:
        """The steepness of the objective in the margin of a row of weight 1 that is 0."""

    # -- learning --------------------------------------------------------------------------------------------

    def _solve(self, data: Data) -> Solution:
        value, self.n_fits_, solution = self._search(data)
        setattr(self, f"{self._strength}_", value)
        return solution

    def _search(self, data: Data) -> tuple[float, int, Solution]:
        """`lam` or `C`, how many values were tried to find it, and the solution there."""
        solve, name, n_features = self._solver(data), type(self).__name__, self.n_features
        if n_features is None:
            value = float(getattr(self, self._strength))
            return value, 1, solve(value)
        if n_features > data.X.shape[1]:
            raise ValueError(
                f"The 'n_features' parameter of {name} must be at most the number of columns of X, {data.X.shape[1]}. "
                f"Got {n_features} instead."
            )

        def fit(strength: float) -> tuple[int, Solution]:
            solution = solve(self._of_strength(strength))
            return len(solution.columns), solution

        found, n_fits = search_penalty(fit, int(n_features), self._guess(data), name)
        return self._of_strength(found.strength), n_fits, found.model.largest(int(n_features))

    def _guess(self, data: Data) -> float:
        """A penalty at which about the first feature appears: the steepest descent of the loss where all weights are 0.

        If there is an intercept, it has made the classes even by then.
        """
        steepest = 0.0
        for positive in data.heads:
            y = np.where(data.labels == positive, 1.0, -1.0)
            alpha = data.weight.copy()
            if self.fit_intercept:
                sums = [data.weight[y == sign].sum() for sign in (1.0, -1.0)]
                for sign, mass in zip((1.0, -1.0), sums, strict=True):
                    alpha[y == sign] *= min(sums) / mass if mass > 0 else 0.0
            steepest = max(steepest, float(np.abs(data.X.T @ (alpha * y).astype(data.X.dtype)).max()))
        bound = float(data.weight @ np.sqrt(data.norms)) or 1.0
        return max(steepest, 1e-6 * bound) * self._per_loss(data)

    # -- pieces ----------------------------------------------------------------------------------------------

    def _of_strength(self, strength: float) -> float:
        """`lam` or `C` for a strength of the penalty."""
        return strength

    def _check_parameters(self) -> None:
        super()._check_parameters()
        name = type(self).__name__
        strength = getattr(self, self._strength)
        if (strength is None) == (self.n_features is None):
            raise ValueError(
                f"{name} needs one of the parameters {self._strength!r} and 'n_features', and not both: the other one "
                f"follows. Got {self._strength}={strength!r} and n_features={self.n_features!r}."
            )

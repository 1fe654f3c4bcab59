"""The features that made an answer: a score is a sum over them, and the intercept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._inputs import Array, Floats
from .._native import _core
from .learner import ClassLearner, Learner


@dataclass(frozen=True)
class Contribution:
    """A feature of a row, its value, and its contribution to the score."""

    feature: int  # column of the model
    names: list[str]  # names of the column: for hashed names, the most frequent first; may be empty
    value: float  # as its first name has it
    contribution: float

    @property
    def name(self) -> str:
        """The first name, or the number of the column."""
        return self.names[0] if self.names else str(self.feature)


@dataclass(frozen=True)
class Explanation:
    """A score and its parts, which sum to it: ``intercept``, all `contributions`, and the ``rest``.

    Attributes
    ----------
    label : label or None
        The predicted one; None of a regressor.
    score : float
        Of ``classes_[1]`` if there are two classes, else of the predicted one; of a regressor the predicted number.
    intercept : float
    contributions : list of Contribution
        The largest first. Features whose weight is zero are left out.
    rest : float
        The sum of the contributions that were left out because there are more than were asked for.
    """

    label: Any
    score: float
    intercept: float
    contributions: list[Contribution]
    rest: float

    def to_dict(self) -> dict[str, Any]:
        """The explanation as a dict for JSON."""
        features = [{"feature": c.name, "value": c.value, "contribution": c.contribution} for c in self.contributions]
        return {
            **({} if self.label is None else {"label": self.label}),
            "score": self.score,
            "intercept": self.intercept,
            "contributions": features,
            "rest": self.rest,
        }

    def __str__(self) -> str:
        parts = [f"{c.name} {c.contribution:+.4g}" for c in self.contributions]
        return "; ".join([*parts, *([f"rest {self.rest:+.4g}"] if self.rest else [])])


class Explainer:
    """Explains answers of a learner in its present state. ValueError if its scores are not sums over features."""

    def __init__(self, learner: Learner) -> None:
        if not learner.has_weights:
            raise ValueError(
                f"The score of {type(learner).__name__} is a sum over stored examples, not over features, so that no "
                "feature can be said to have made it."
            )
        self._learner = learner
        self._weights = learner.sparse_coef_
        self._weights.sort_indices()
        self._intercept = np.asarray(learner.intercept_, np.float64).reshape(-1)

    def explain(
        self,
        values: Array,
        indices: Array,
        indptr: Array,
        n_columns: int,
        *,
        n: int | None = None,
        names: _core.NameTable | None = None,
    ) -> list[Explanation]:
        """An explanation for each row in compressed form, with at most n contributions.

        `names` come from the rows, and take precedence over the model's.
        """
        learner = self._learner
        scores, variances = learner.judge_rows(values, indices, indptr, n_columns)
        sums = scores
        if isinstance(learner, ClassLearner) and variances is not None:
            sums = learner.as_recorded(scores, variances)[0]
        with np.errstate(divide="ignore", invalid="ignore"):  # of SOP a score is a share of the sum
            shares = np.where(sums == scores, 1.0, scores / sums)
        heads = np.zeros(len(scores), np.intp)
        labels: Sequence[Any] = [None] * len(scores)
        if isinstance(learner, ClassLearner):
            chosen = learner.chosen(scores)
            labels = learner.classes_[chosen].tolist()
            heads = chosen if scores.shape[1] > 1 else heads
        learned_from = values
        if learner.normalizer.kind == "row":
            learned_from = learner.normalizer.apply_values(values, indices, indptr, n_columns)
        explanations = []
        for k, head in enumerate(heads.tolist()):
            part = slice(int(indptr[k]), int(indptr[k + 1]))
            columns = np.asarray(indices[part])
            each = np.asarray(learned_from[part], np.float64) * self._weights_of(head, columns)
            share = float(shares[k, head])
            each = each * share
            order = np.argsort(-np.abs(each), kind="stable")
            order = order[each[order] != 0]
            shown = order if n is None else order[:n]
            found = [
                self._contribution(int(columns[j]), float(values[part][j]), float(each[j]), names)
                for j in shown.tolist()
            ]
            rest = float(each[order[len(shown) :]].sum())
            score = float(scores[k, head])
            explanations.append(Explanation(labels[k], score, float(self._intercept[head]) * share, found, rest))
        return explanations

    def _weights_of(self, head: int, columns: Array) -> Floats:
        """Weights of these columns; 0 for columns without a weight."""
        begin, end = self._weights.indptr[head : head + 2]
        known, weights = self._weights.indices[begin:end], self._weights.data[begin:end]
        if not len(known):
            return np.zeros(len(columns))
        place = np.minimum(np.searchsorted(known, columns), len(known) - 1)
        return np.where(known[place] == columns, weights[place], 0.0).astype(np.float64)

    def _contribution(
        self, column: int, value: float, contribution: float, names: _core.NameTable | None
    ) -> Contribution:
        known: list[tuple[str, int, int]] = [] if names is None else names.lookup(column)
        if not known and self._learner.origin.names is not None:
            known = self._learner.origin.names.lookup(column)
        if known:
            return Contribution(column, [name for name, _, _ in known], value * known[0][2], contribution)
        columns = getattr(self._learner, "feature_names_in_", ())
        named = [str(columns[column])] if column < len(columns) else []
        return Contribution(column, named, value, contribution)

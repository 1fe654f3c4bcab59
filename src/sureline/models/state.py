"""A state of a model: numbers that grow, learn and score."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Array, Floats, Ints, Labels
from .._native import _core
from .heads import Growing
from .numbers import (
    COVARIANCE_SCALE,
    ERROR_GROWTH,
    MEMORY_COLUMNS,
    RESOLUTION,
    ROUND_COLUMNS,
    SEEN,
    WEIGHT_SCALE,
    C,
    K,
    Policy,
    Rule,
    Shape,
    flip_one,
    fresh_tally,
)
from .record import fresh_record, places_and_numbers
from .rows import Reason, RefusedRow, or_float64, refusal
from .touched import Touched

_NOT_OF_ALL: dict[str, Any] = {"ascent": None, "average": None, "sums": None}


class State(Growing):
    """The numbers of a model, and the few operations on them that are not a learning step."""

    def __init__(
        self,
        shape: Shape,
        dtype: npt.DTypeLike,
        n_columns: int,
        intercept: bool,
        n_classes: int = 2,
        policy: Policy = Policy.rival,
        *,
        covariance_scale: float = 1.0,
        c: float = 0.0,
        max_nonzero: int | None = None,
        length: int = 0,
        half_life: float | None = None,
    ) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.intercept = intercept
        self.n_columns = n_columns
        self.policy = policy if n_classes > 2 or policy is Policy.regression else Policy.binary
        n_heads = n_classes if n_classes > 2 else 1
        self.weights = self._fresh_weights(n_columns + 1, n_heads)
        self.factors = np.tile(self._fresh_factor(n_columns + 1), (n_heads, 1)) if shape.has_factors else None
        self._fresh_memory = np.zeros(MEMORY_COLUMNS)
        self._fresh_memory[[WEIGHT_SCALE, COVARIANCE_SCALE, ERROR_GROWTH, K, C]] = 1.0, covariance_scale, 1.0, 1.0, c
        if shape is Shape.theta:  # the stored numbers are theta and S without its scale; the weights are S theta
            self._fresh_memory[WEIGHT_SCALE] = covariance_scale
        self._fresh_memory[RESOLUTION] = 64 * np.finfo(self.dtype).eps
        self.memory = np.tile(self._fresh_memory, (n_heads if self.policy is Policy.ovr else 1, 1))
        self.prior = np.ones(n_heads)  # the variance that a new column starts with in each head, without the scale
        self.tally = fresh_tally(max(n_classes, 2))
        self.record = None if policy is Policy.regression else fresh_record()
        self.budget = self._fresh_budget(max_nonzero)
        self.ascent = _core.DualMemory(len(self.memory), length) if shape.is_dual else None
        self.average = None if half_life is None else _core.Average(len(self.memory), n_heads, half_life)
        self.sums = None if half_life is None else self._fresh_sums(len(self.weights), n_heads)
        if shape is Shape.simplex:
            self.weights[1:, :, 0] = 1 / max(n_columns, 1)
        self.rounds = np.zeros((len(self.memory), ROUND_COLUMNS)) if shape.has_rounds else None

    @classmethod
    def restored(cls, weights: Array | tuple[int, Array, Array], **attributes: Any) -> State:
        """The state with these attributes, whose consistency the caller has checked.

        The weights are an array of shape (slots, heads, width), or if most are zero the number of heads, the positions
        slot * heads + head of the others, and their numbers, of shape (positions, width). Sums of an average have the
        same form.
        """
        state = object.__new__(cls)
        sums = attributes.pop("sums", None)
        state.__dict__.update(_NOT_OF_ALL | attributes)
        state._begin_record()
        width = state.shape.width
        if isinstance(weights, tuple):
            n_heads, places, numbers = weights
            state.weights = state._fresh_weights(state.n_columns + 1, n_heads)
            state.weights.reshape(-1, width)[places] = numbers
        else:
            state.weights = weights.reshape(weights.shape[:2] if width == 1 else weights.shape)
        if isinstance(sums, tuple):
            state.sums = state._fresh_sums(state.n_columns + 1, state.n_heads)
            state.sums.reshape(-1)[sums[0]] = sums[1]
        else:
            state.sums = sums
        return state

    @property
    def length(self) -> int:
        """Capacity of the sliding window, in examples; 0 without one."""
        return 0 if self.ascent is None else self.ascent.length

    @property
    def half_life(self) -> float | None:
        """Half-life of the predicting average: infinite for a plain mean, None without an average."""
        return None if self.average is None else self.average.half_life

    @property
    def nbytes(self) -> int:
        return sum(0 if array is None else array.nbytes for array in (self.weights, self.factors, self.sums))

    def copy(self) -> State:
        twin = self.draft()
        twin.part_from(self)
        return twin

    def draft(self) -> State:
        """A copy that shares the large arrays until it changes them; growth makes new ones anyway."""
        twin = self._twin()
        twin.memory = self.memory.copy()
        twin.tally = self.tally.copy()
        twin.record = None if self.record is None else self.record.copy()
        twin.budget = None if self.budget is None else self.budget.copy()
        twin.ascent = None if self.ascent is None else self.ascent.copy()
        twin.average = None if self.average is None else self.average.copy()
        twin.rounds = None if self.rounds is None else self.rounds.copy()
        return twin

    def part_from(self, original: State) -> None:
        """Copy the large arrays that this draft still shares with `original`."""
        if self.weights is original.weights:
            self.weights = self._fresh_weights(len(original.weights), original.n_heads)
            _core.copy_touched(self.weights, original.weights)
        if self.factors is not None and self.factors is original.factors:
            self.factors = self.factors.copy()
        if self.sums is not None and self.sums is original.sums:
            sums, self.sums = self.sums, self._fresh_sums(len(self.sums), original.n_heads)
            _core.copy_touched(self.sums, sums)

    def __deepcopy__(self, memo: Any) -> State:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        """For pickling: only touched slots, if most of the model is untouched."""
        state = self.__dict__.copy()
        if self.record is not None:
            state["record"] = places_and_numbers(self.record)
        if self.sums is not None:
            slots = np.concatenate([np.empty(0, np.int64), *Touched(self.sums).rows()])
            state["sums"] = self.sums.shape, slots, self.sums[slots]
        parts, n_touched = [np.empty(0, np.int64)], 0
        for slots in Touched(self.weights).rows():
            parts.append(slots)
            n_touched += len(slots)
            if 4 * n_touched > len(self.weights):
                return state
        slots = np.concatenate(parts)
        state["weights"] = self.weights.shape, slots, self.weights[slots]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(_NOT_OF_ALL | {"rounds": state.pop("view", None)} | state)  # of older pickles
        if isinstance(self.sums, tuple):
            shape, slots, values = self.sums
            self.sums = self._fresh_sums(*shape)
            self.sums[slots] = values
        if isinstance(self.__dict__.get("record"), tuple):
            places, numbers = state["record"]
            self.record = fresh_record()
            self.record[places] = numbers
        if isinstance(self.weights, tuple):
            (n_slots, n_heads, *_), slots, values = self.weights
            self.weights = self._fresh_weights(n_slots, n_heads)
            self.weights[slots] = values
        self._begin_record()

    def _begin_record(self) -> None:
        """Begin the record of a model that has none."""
        if "record" not in self.__dict__:
            self.record = None if self.policy is Policy.regression else fresh_record(int(self.tally[:, SEEN].sum()))

    @property
    def writeable(self) -> bool:
        """False if some array is, say, mapped from a file."""
        arrays = (self.weights, self.memory, self.tally, self.factors, self.rounds, self.record, self.sums)
        return all(array is None or array.flags.writeable for array in arrays)

    @property
    def forgets(self) -> bool:
        """True if single features can be left out: nothing is known of all of them together."""
        return self.factors is None and self.length == 0

    def only_nonzero(self) -> State:
        """A copy without features whose weights are zero in every head.

        Scores are the same. Hidden weights and variances of those features are lost. A full covariance stays, since it
        belongs to all features together; so do features in a sliding window.
        """
        twin = self.copy()
        if self.forgets:
            slots = np.unique(np.concatenate([[0], *(slots for slots, _ in self.nonzero())])).astype(np.int64)
            twin.weights = self._fresh_weights(len(self.weights), self.n_heads)
            if self.shape.has_variances and (self.prior != 1).any():
                twin.weights[:, :, 1] = flip_one(self.prior.astype(self.dtype))
            twin.weights[slots] = self.weights[slots]
            if self.sums is not None:
                twin.sums = self._fresh_sums(len(self.sums), self.n_heads)
                twin.sums[slots] = self.sums[slots]
        return twin

    # -- learning and scoring --------------------------------------------------------------------------------

    def learn(
        self,
        rule: Rule,
        rows: _core.Rows,
        labels: Labels,
        sample_weight: Floats | None,
        order: Ints | None,
        journal: bool,
        cost: tuple[float, float] | None = (1.0, 1.0),
        *,
        scaled: tuple[Floats, Floats, Floats | None] | None = None,
        record: bool = True,
        weighing: tuple[Floats | None, bool] = (None, False),
        wrong: npt.NDArray[np.uint8] | None = None,
    ) -> None:
        """Make one pass over the rows, in place. With `journal` a refused row undoes all changes.

        `cost` has the costs of the negative and the positive label; None balances them along the stream. In a
        regression all labels are 0; `scaled` has the targets, the targets by which predictions are judged, and the
        units of their losses. `record` is False for rows that were learned before. `weighing` has a factor for each
        class, or asks for equal shares of all classes so far. `wrong` gets the rows that were predicted wrongly.
        """
        try:
            self.core.learn(
                rule,
                rows,
                labels,
                sample_weight=sample_weight,
                order=order,
                targets=None if scaled is None else scaled[0],
                told=None if scaled is None else scaled[1],
                units=None if scaled is None else scaled[2],
                cost=cost,
                class_weight=weighing[0],
                shares=weighing[1],
                journal=journal,
                record=record,
                wrong=wrong,
            )
        except _core.Refused as refused:
            raise self._refusal(rows, refused) from None

    def _refusal(self, rows: _core.Rows, refused: _core.Refused) -> Exception:
        if refused.reason in (Reason.score, Reason.step) and self.policy is Policy.regression:
            return RefusedRow(
                refused.row,
                f"has a prediction or a loss beyond float64, or needs a step that {self.dtype} cannot hold; scale X "
                "and y so that their values are of the order of 1, and keep the parameters "
                f"moderate{or_float64(self.dtype)}.",
            )
        return refusal(rows, refused, self.dtype)

    def refresh(self, rule: Rule) -> None:
        """Set the weights to those with which `rule` would predict in the next round."""
        if self.rounds is not None:
            self.core.refresh(rule)

    def uncentre(self, centres: Floats, factors: Floats) -> None:
        """Make weights of columns less their centres those of the columns times 1 / factors: predictions stay.

        For shapes whose weights and intercept are the same linear function of what is stored.
        """
        stored = self.weights.reshape(*self.weights.shape[:2], -1)[..., :2]  # theta, and u if there is one
        numbers = stored.astype(np.float64)
        numbers[0] -= np.einsum("j,jkl->kl", centres, numbers[1:])
        numbers[1:] *= factors[:, None, None]
        stored[...] = numbers

    def count_nonzero_by(self, rule: Rule) -> int:
        """How many weights would not be zero if `rule` made them of what is stored."""
        twin = self._twin()
        twin.rounds = None if self.rounds is None else self.rounds.copy()
        twin.refresh(rule)
        return twin.count_nonzero()

    def scores(self, rows: _core.Rows) -> Floats:
        """w.x for every row and head; w is the average if there is one."""
        if self.shape is Shape.confident_full and self.average is None:  # S theta once for all rows
            plain = State(Shape.identity, self.dtype, self.n_columns, self.intercept, max(self.n_heads, 2))
            plain.weights = np.ascontiguousarray(self.coefficients().T)
            return plain.scores(rows)
        out = self._evaluate(self.core.score, rows)
        out *= self.weight_scales
        return out

    def variances(self, rows: _core.Rows) -> Floats:
        """x'Sx for every row and head."""
        out = self._evaluate(self.core.variance, rows)
        with np.errstate(over="ignore"):
            out *= self.memory[:, COVARIANCE_SCALE]
        if not np.isfinite(out).all():
            row = int(np.argmin(np.isfinite(out).all(axis=1)))
            raise self._refusal(rows, _core.Refused(row, Reason.score))
        return out

    def _evaluate(self, function: Any, rows: _core.Rows) -> Floats:
        out = np.empty((rows.n_rows, self.n_heads))
        try:
            function(rows, out)
        except _core.Refused as refused:
            raise self._refusal(rows, refused) from None
        return out

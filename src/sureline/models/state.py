"""A state of a model: numbers that grow, learn and score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from .._inputs import Array
from .._native import _core
from .._system import usable_memory
from .numbers import (
    COVARIANCE_SCALE,
    CUT,
    DOUBT,
    DUAL,
    NORM2,
    OF_MARGIN_RULES,
    RESOLUTION,
    SELECTABLE,
    WEIGHT_SCALE,
    WITH_FACTORS,
    WITH_VARIANCES,
    C,
    K,
    Numbers,
    Policy,
    Rule,
    Shape,
    T,
    flip_one,
    width_of,
)
from .rows import RefusedRow, or_float64, refusal
from .touched import Touched


def _diagonal_positions(n_slots: int) -> npt.NDArray[np.int64]:
    """Where D is in a packed factor."""
    j = np.arange(n_slots)
    return j * (j + 3) // 2


class State(Numbers):
    """The numbers of a model, and the few operations on them that are not a learning step."""

    def __init__(
        self,
        shape: Shape,
        dtype: npt.DTypeLike,
        n_columns: int,
        intercept: bool,
        n_classes: int = 2,
        policy: Policy = "rival",
        *,
        covariance_scale: float = 1.0,
        c: float = 0.0,
        max_nonzero: int | None = None,
        length: int = 0,
    ) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.intercept = intercept
        self.n_columns = n_columns
        self.policy = policy if n_classes > 2 or policy == "regression" else "binary"
        n_heads = n_classes if n_classes > 2 else 1
        self.weights = self._fresh_weights(n_columns + 1, n_heads)
        self.factors = np.tile(self._fresh_factor(n_columns + 1), (n_heads, 1)) if shape in WITH_FACTORS else None
        self._fresh_memory = np.zeros(_core.MEMORY_COLUMNS)
        self._fresh_memory[[WEIGHT_SCALE, COVARIANCE_SCALE, DOUBT, K, C]] = 1.0, covariance_scale, 1.0, 1.0, c
        if shape == "theta":  # the stored numbers are theta and S without its scale; the weights are S theta
            self._fresh_memory[WEIGHT_SCALE] = covariance_scale
        self._fresh_memory[RESOLUTION] = 64 * np.finfo(self.dtype).eps
        self.memory = np.tile(self._fresh_memory, (n_heads if self.policy == "ovr" else 1, 1))
        self.prior = np.ones(n_heads)  # the variance that a new column starts with in each head, without the scale
        self.tally = np.zeros((max(n_classes, 2), 3), np.int64)
        self.budget = self._fresh_budget(max_nonzero)
        self.ascent = _core.DualMemory(len(self.memory), length) if shape in DUAL else None
        if shape == "simplex":
            self.weights[1:, :, 0] = 1 / max(n_columns, 1)
        self.view = None

    @classmethod
    def restored(cls, weights: Array | tuple[int, Array, Array], **attributes: Any) -> State:
        """The state with these attributes, which fit each other: whoever calls this has checked that.

        The weights are an array of shape (slots, heads, width), or where most are zero the number of heads, the places
        slot * heads + head of the others, and their numbers, of shape (places, width).
        """
        state = object.__new__(cls)
        state.__dict__.update(attributes)
        state.__dict__.setdefault("ascent", None)
        width = width_of(state.shape)
        if isinstance(weights, tuple):
            n_heads, places, numbers = weights
            state.weights = state._fresh_weights(state.n_columns + 1, n_heads)
            state.weights.reshape(-1, width)[places] = numbers
        else:
            state.weights = weights.reshape(weights.shape[:2] if width == 1 else weights.shape)
        return state

    @property
    def length(self) -> int:
        """How many examples the sliding window holds at most; 0 if there is none."""
        return 0 if self.ascent is None else self.ascent.length

    @property
    def beside(self) -> _core.Budget | _core.FeatureSelection | _core.DualMemory | None:
        """What the rule works with besides the numbers of the weights."""
        return self.budget if self.ascent is None else self.ascent

    @property
    def nbytes(self) -> int:
        return self.weights.nbytes + (0 if self.factors is None else self.factors.nbytes)

    def copy(self) -> State:
        twin = self.draft()
        twin.part_from(self)
        return twin

    def draft(self) -> State:
        """A copy that still shares the large arrays: for growing, which makes new ones anyway."""
        twin = self._twin()
        twin.memory = self.memory.copy()
        twin.tally = self.tally.copy()
        twin.budget = None if self.budget is None else self.budget.copy()
        twin.ascent = None if self.ascent is None else self.ascent.copy()
        twin.view = None if self.view is None else [round_.copy() for round_ in self.view]
        return twin

    def part_from(self, original: State) -> None:
        """Copy the large arrays that are still shared with `original`, of which this is a draft."""
        if self.weights is original.weights:
            self.weights = self._fresh_weights(len(original.weights), original.n_heads)
            _core.copy_touched(self.weights, original.weights)
        if self.factors is not None and self.factors is original.factors:
            self.factors = self.factors.copy()

    def __deepcopy__(self, memo: Any) -> State:
        return self.copy()

    def __getstate__(self) -> dict[str, Any]:
        """For pickling: of a model that is mostly untouched, only the slots that are not."""
        state = self.__dict__.copy()
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
        self.__dict__.update({"ascent": None} | state)
        if isinstance(self.weights, tuple):
            (n_slots, n_heads, *_), slots, values = self.weights
            self.weights = self._fresh_weights(n_slots, n_heads)
            self.weights[slots] = values

    @property
    def writeable(self) -> bool:
        """False if some array is, say, mapped from a file."""
        arrays = [self.weights, self.memory, self.tally] + ([] if self.factors is None else [self.factors])
        return all(array.flags.writeable for array in arrays)

    @property
    def forgets(self) -> bool:
        """Whether single features can be left out: nothing is known of all of them together."""
        return self.factors is None and self.length == 0

    def only_nonzero(self) -> State:
        """A copy that knows nothing of the features whose weights are zero in every head: fresh ones stand for them.

        Scores are the same. What was learned of those features is gone: what a truncation hides, and their variances.
        A full covariance is of all features together, and stays; so does all that a sliding window will take back.
        """
        twin = self.copy()
        if self.forgets:
            slots = np.unique(np.concatenate([[0], *(slots for slots, _ in self.nonzero())])).astype(np.int64)
            twin.weights = self._fresh_weights(len(self.weights), self.n_heads)
            if self.shape in WITH_VARIANCES and (self.prior != 1).any():
                twin.weights[:, :, 1] = flip_one(self.prior.astype(self.dtype))
            twin.weights[slots] = self.weights[slots]
        return twin

    # -- growing ---------------------------------------------------------------------------------------------

    def widen(self, n_columns: int) -> None:
        """Make room for `n_columns` columns. New ones start as every column started."""
        if n_columns <= self.n_columns:
            return
        if self.shape == "simplex":
            raise ValueError(
                f"A row has {n_columns} columns, and regularizer='kl' spreads its weights over {self.n_columns}, which "
                "cannot change: give columns=N for all that will come."
            )
        slots = n_columns + 1
        if slots > len(self.weights):
            # A full covariance has exactly its columns; otherwise widening bit by bit must not copy every time.
            capacity = slots if self.factors is not None else max(slots, len(self.weights) + len(self.weights) // 2)
            wider = self._fresh_weights(capacity, self.n_heads)
            _core.copy_touched(wider, self.weights)
            if self.shape in WITH_VARIANCES and (self.prior != 1).any():
                self._refuse_to_fill(wider)
                wider[len(self.weights) :, :, 1] = flip_one(self.prior.astype(self.dtype))
            self.weights = wider
        if self.factors is not None:
            factors = np.tile(self._fresh_factor(slots), (self.n_heads, 1))
            factors[:, _diagonal_positions(slots)] = self.prior[:, np.newaxis]
            factors[:, : self.factors.shape[1]] = self.factors
            self.factors = factors
        self.n_columns = n_columns

    def add_heads(self, n_classes: int, policy: Policy) -> None:
        """Go on with one head for each of `n_classes` classes; `policy` is for a model that was binary so far.

        A binary model becomes the model of two classes that decides the same. Under policy "ovr" each class has the old
        weights with its own sign. Under "rival" it is the difference of the two scores that decides. With a margin rule
        each class gets half of the weights and half of the covariance, so that the difference has the mean and the
        variance that the one score had. With a coordinate rule the second class gets all and the first none: halves
        would be truncated more, and both together would be twice as many nonzeros. Both get all of the covariance, as
        if they had been there all along: it comes from the rows alone.
        """
        n_before = self.n_heads
        if self.shape == "simplex":
            raise ValueError("regularizer='kl' must know all classes from the start: give classes=[...], or --labels.")
        if self.policy == "binary":
            share = 0.5 if policy == "rival" and self.shape in OF_MARGIN_RULES else 1.0
            rescales_variances = self.shape in WITH_VARIANCES and share != 1.0

            def split(block: Array) -> Array:
                both: Array = np.concatenate([block, block], axis=1)
                first, mean = (0.0, 1.0) if policy == "rival" and share == 1.0 else (-share, share)
                if self.shape == "theta":  # the share is in S
                    first, mean = -1.0, 1.0
                scales = np.array([first, mean])
                numbers = both if both.ndim == 2 else both[..., 0]
                numbers *= scales
                if self.shape in DUAL and both.ndim > 2:  # u goes with theta, and n counts the examples that are in it
                    both[..., 1:-1] *= scales[:, np.newaxis]
                    both[..., -1] *= abs(scales)
                numbers += 0.0  # no -0
                if rescales_variances:
                    both[..., 1] = flip_one(flip_one(both[..., 1]) * share)
                return both

            self._rearrange(n_classes, split, everywhere=rescales_variances)
            if self.factors is not None:
                self.factors = np.concatenate([self.factors, self.factors])
                self.factors[:, _diagonal_positions(self.n_columns + 1)] *= share
            self.memory[:, NORM2] *= 2 * share * share
            if policy == "ovr":
                self.memory = np.concatenate([self.memory, self.memory])
            if self.ascent is not None:
                self.ascent.split(policy)
            self.prior = np.full(2, share)
            self.policy = policy
        else:
            self._rearrange(n_classes, lambda block: block)
        missing = n_classes - len(self.prior)
        self.prior = np.concatenate([self.prior, np.ones(missing)])
        if self.factors is not None:
            fresh = np.tile(self._fresh_factor(self.n_columns + 1), (missing, 1))
            self.factors = np.concatenate([self.factors, fresh])
        if self.policy == "ovr":
            self.memory = np.concatenate([self.memory, np.tile(self._fresh_memory, (missing, 1))])
            if self.ascent is not None:
                self.ascent.add_problems(missing)
        self.tally = np.concatenate([self.tally, np.zeros((n_classes - len(self.tally), 3), np.int64)])
        if isinstance(self.budget, _core.Budget):
            self._choose_anew(self.budget.threshold)
        elif self.budget is not None:
            slots, heads = np.divmod(self.budget.members, n_before)
            if n_before == 1:  # both classes have its weights
                slots, heads = np.tile(slots, 2), np.repeat([0, 1], len(slots))
            self.budget = _core.FeatureSelection.restored(self.budget.max, n_classes, slots * n_classes + heads)

    def _rearrange(self, n_heads: int, rearranged: Callable[[Array], Array], *, everywhere: bool = False) -> None:
        """Make room for `n_heads` heads, of which the first come from `rearranged(slots)`, the others are fresh.

        Slots that nobody has touched are passed over, unless the change is to be `everywhere`.
        """
        wider = self._fresh_weights(len(self.weights), n_heads)
        if everywhere:
            self._refuse_to_fill(wider)
            size = 1 << 16
            for start in range(0, len(self.weights), size):
                changed = rearranged(self.weights[start : start + size])
                wider[start : start + size, : changed.shape[1]] = changed
        else:
            for slots in Touched(self.weights).rows():
                block = self.weights[slots]
                some = block.reshape(len(block), -1).any(axis=1)  # those that have nothing but -0 become fresh
                changed = rearranged(block[some])
                wider[slots[some], : changed.shape[1]] = changed
        self.weights = wider

    def has_budget(self, max_nonzero: int | None) -> bool:
        return (None if self.budget is None else self.budget.max) == max_nonzero

    def set_budget(self, max_nonzero: int | None) -> None:
        """At most that many nonzero weights from now on, or as many as there are."""
        if not self.has_budget(max_nonzero):
            self.budget = self._fresh_budget(max_nonzero)
            self._choose_anew(0.0)

    def _fresh_budget(self, max_nonzero: int | None) -> _core.Budget | _core.FeatureSelection | None:
        if max_nonzero is None:
            return None
        return (
            _core.FeatureSelection(max_nonzero, self.n_heads) if self.shape in SELECTABLE else _core.Budget(max_nonzero)
        )

    def _choose_anew(self, least: float) -> None:
        """The smallest threshold, from `least` on, that keeps the budget."""
        if isinstance(self.budget, _core.Budget):
            self.budget.choose_anew(self.shape, self.weights, self.factors, self.n_heads, self.intercept, least)

    # -- learning and scoring --------------------------------------------------------------------------------

    def learn(
        self,
        rule: Rule,
        rows: _core.Rows,
        labels: npt.NDArray[np.int32],
        sample_weight: npt.NDArray[np.float64] | None,
        order: npt.NDArray[np.int64] | None,
        journal: bool,
        cost: tuple[float, float] | None = (1.0, 1.0),
        targets: npt.NDArray[np.float64] | None = None,
        first: int = 0,
    ) -> None:
        """One pass over the rows, in place. With `journal` a refused row takes everything back.

        `cost` is that of the negative and of the positive label; None balances them along the stream. A regression has
        `targets`, and labels that are all 0. `first` is the number of the first row, for what is said of one.
        """
        row, why = _core.learn(
            rule,
            self.shape,
            self.weights,
            self.factors,
            self.memory,
            self.tally,
            self.beside,
            self.n_heads,
            self.intercept,
            self.policy,
            cost,
            rows,
            labels,
            sample_weight,
            order,
            journal,
            targets,
        )
        if why:
            raise self._refusal(rows, row, why, first)
        self.look(rule)

    def _refusal(self, rows: _core.Rows, row: int, why: str, first: int = 0) -> Exception:
        if why in ("score", "step") and self.policy == "regression":
            return RefusedRow(
                first + row,
                f"has a prediction or a loss beyond float64, or needs a step that {self.dtype} cannot hold; scale X "
                "and y so that their values are of the order of 1, and keep the parameters "
                f"moderate{or_float64(self.dtype)}.",
            )
        return refusal(rows, row, why, self.dtype, first)

    def look(self, rule: Rule) -> None:
        """From now on the weights are those that `rule` would predict with in the next round."""
        if isinstance(rule, _core.DualRule):
            assert self.ascent is not None
            self.view = [rule.round(self.ascent, problem) for problem in range(len(self.memory))]
        if not isinstance(rule, _core.CoordinateRule):
            return
        view = []
        for memory in self.memory:
            round_ = rule.round(memory[T] + 1, memory[CUT])
            if isinstance(self.budget, _core.Budget):
                round_.threshold = self.budget.threshold
            else:  # rounded as it is for the learning loop
                with np.errstate(over="ignore"):
                    round_.threshold = float(np.array(round_.threshold).astype(self.dtype))
            view.append(round_)
        self.view = view

    def scores(self, rows: _core.Rows) -> npt.NDArray[np.float64]:
        """w.x for every row and head."""
        if self.shape == "confident_full":  # S theta once for all rows
            plain = State("identity", self.dtype, self.n_columns, self.intercept, max(self.n_heads, 2))
            plain.weights = np.ascontiguousarray(self.coefficients().T)
            return plain.scores(rows)
        out = self._evaluate(_core.score, rows)
        out *= self.memory[:, WEIGHT_SCALE]
        return out

    def variances(self, rows: _core.Rows) -> npt.NDArray[np.float64]:
        """x'Sx for every row and head."""
        out = self._evaluate(_core.variance, rows)
        with np.errstate(over="ignore"):
            out *= self.memory[:, COVARIANCE_SCALE]
        if not np.isfinite(out).all():
            raise self._refusal(rows, int(np.argmin(np.isfinite(out).all(axis=1))), "score")
        return out

    def _evaluate(self, function: Any, rows: _core.Rows) -> npt.NDArray[np.float64]:
        out = np.empty((rows.n_rows, self.n_heads))
        row, why = function(self.shape, self.weights, self.factors, self.n_heads, self.intercept, self.view, rows, out)
        if why:
            raise self._refusal(rows, row, why)
        return out

    # -- pieces ----------------------------------------------------------------------------------------------

    def _fresh_weights(self, n_slots: int, n_heads: int) -> Array:
        width = width_of(self.shape)
        shape = (n_slots, n_heads) if width == 1 else (n_slots, n_heads, width)
        size = n_slots * n_heads * width
        if size * self.dtype.itemsize < 1 << 20:
            return np.zeros(shape, self.dtype)
        zeros = _core.zeros_float32 if self.dtype == np.float32 else _core.zeros_float64
        try:
            return cast(Array, zeros(size)).reshape(shape)
        except MemoryError:
            raise MemoryError(f"there is no room for the addresses of {n_slots - 1} features") from None

    def _refuse_to_fill(self, weights: Array) -> None:
        """Raise MemoryError if these weights, of which all are to be written, exceed the memory of this machine."""
        there = usable_memory()
        if there is not None and weights.nbytes > there:
            raise MemoryError(
                f"after a third class has come, the variances of all {len(weights) - 1} features change, which takes "
                f"{weights.nbytes / 2**30:.0f} GiB, more than there is; name all classes at the start (classes=[...], "
                "or --labels), or have fewer features (--bits)"
            )

    def _fresh_factor(self, n_slots: int) -> Array:
        size = n_slots * (n_slots + 1) // 2
        try:
            factor = np.zeros(size, self.dtype)
        except (MemoryError, ValueError):
            gigabytes = size * self.dtype.itemsize / 2**30
            raise MemoryError(
                f"covariance='full' needs {gigabytes:.0f} GiB for {n_slots - 1} features, more than there is; "
                "covariance='diag' needs a few bytes per feature"
            ) from None
        factor[_diagonal_positions(n_slots)] = 1
        return factor

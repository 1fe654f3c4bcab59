"""A batch on a device: Algorithm 1, and measures of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._inputs import Floats, Ints, Labels
from ..._native import _core
from ..numbers import MISTAKES, SEEN, UPDATES
from ..precision.state import PrecisionState
from ..record import ROWS as ROWS_ON_RECORD
from ..scaling import Normalizer
from .precision import absorbed, pass_over, there, variances
from .rows import DeviceRows, Measured
from .space import Pass, Space

WIDEST = 8192  # features
_ALL_BELOW: int = _core.RECORD["all_below"]  # the first rows, all of which are recorded


def refuse_width(n_columns: int) -> None:
    """Raise ValueError if a device takes no rows that wide."""
    if n_columns > WIDEST:
        raise ValueError(
            f"BCW on a CUDA device takes at most {WIDEST:,} features. Got {n_columns:,}; hash names to fewer columns "
            "(bits=13, --bits 13), learn on the host (device='auto'), or select features with SBCW."
        )


def measured(rows: DeviceRows, normalizer: Normalizer, state: PrecisionState) -> Measured:
    """Rows divided by the normalizer."""
    n_slots = state.n_columns + state.intercept
    result = Measured(rows, n_slots, bool(state.intercept), by_length=normalizer.kind == "row")
    if normalizer.kind == "scale":
        scales = np.zeros(rows.shape[1])
        columns, means, _ = normalizer.arrays()
        here = columns < len(scales)
        scales[columns[here]] = means[here]
        result.scales = rows.space.array(scales)
    return result


def taken_in(rows: DeviceRows, normalizer: Normalizer) -> Normalizer:
    """The normalizer that has also seen these rows."""
    if normalizer.kind != "scale":
        return normalizer
    xp, d = rows.space.xp, rows.shape[1]
    sums, counts = xp.zeros(d), xp.zeros(d)
    for _, part in rows.parts(1 << 16):
        of_part = rows.space.sizes(part)
        sums += of_part[0]
        counts += of_part[1]
    sums, counts = rows.space.on_host(sums), rows.space.on_host(counts)
    if not np.isfinite(sums).all():
        rows.refuse()
        raise ValueError("X adds up to more than float64 holds; scale X so that its values are of the order of 1.")
    columns, means, before = normalizer.arrays()
    n = max(d, int(columns.max(initial=-1)) + 1)
    all_sums, all_counts = np.zeros(n), np.zeros(n)
    all_sums[columns], all_counts[columns] = means * before, before
    all_sums[:d] += sums
    all_counts[:d] += counts
    seen = np.flatnonzero(all_counts)
    return Normalizer.restored(normalizer.dtype, seen, all_sums[seen] / all_counts[seen], all_counts[seen])


def after(
    state: PrecisionState, normalizer: Normalizer, rows: DeviceRows, labels: Labels, C: Floats, q: int, recorded: Floats
) -> tuple[PrecisionState, Normalizer]:
    """The model after a batch, with the normalizer. Both of before stay as they are."""
    space = rows.space
    refuse_width(rows.shape[1])
    with space.here():
        normalizer = taken_in(rows, normalizer)
        x = measured(rows, normalizer, state)
        try:
            xp, n, n_heads = space.xp, len(labels), state.n_heads
            prices = space.array(C)
            precision = absorbed(there(space, state.precision), x, prices, bool((C == C[0]).all()), state.dtype)
            f, a = xp.zeros((n_heads, n)), xp.zeros((n_heads, n))
            work = Pass(space.array(labels), prices, q, state.policy, f, a, xp.zeros(n))
            mu = pass_over(precision, state.mu, x, work, state.dtype)
        except ValueError:
            rows.refuse()  # names the row, if the contents of X are at fault
            raise
        tally = state.tally + _counted(space, work, len(state.tally))
        record = state.record.copy()
        _put_on_record(record, x, mu, work, labels, recorded)
        mu = np.ascontiguousarray(space.on_host(mu))
    return PrecisionState(mu, precision, tally, state.policy, state.intercept, state.dtype, record), normalizer


def _counted(space: Space, work: Pass, n_classes: int) -> Ints:
    """The counts that the batch adds to the tally."""
    xp, labels = space.xp, work.labels
    chosen = (work.f[0] > 0) if work.n_heads == 1 else xp.argmax(work.f, axis=0)
    counts = np.zeros((n_classes, 3), np.int64)
    every = ((SEEN, None), (MISTAKES, chosen != labels), (UPDATES, (work.a != 0).any(axis=0)))
    for column, mask in every:
        of = labels if mask is None else labels[mask]
        counts[:, column] = space.on_host(xp.bincount(of, minlength=n_classes))[:n_classes]
    return counts


def _put_on_record(record: Floats, x: Measured, mu: Any, work: Pass, labels: Labels, recorded: Floats) -> None:
    """Put the predictions on record that are drawn for it: as each row would have been predicted without its label."""
    space, n, n_heads = x.space, work.n_rows, work.n_heads
    come = None if (recorded > 0).all() else np.flatnonzero(recorded > 0)
    drawn = drawn_for_record(int(record[ROWS_ON_RECORD]), n if come is None else len(come))
    drawn = drawn if come is None else come[drawn]
    scores, v = np.zeros((n, n_heads)), np.zeros((n, n_heads))
    size = space.chunk_rows(x.width)
    for start in range(0, len(drawn), size):
        at = drawn[start : start + size]
        there = space.array(at)
        block = x.prepared(x.rows.some(at), np.dtype(np.float64))[:, : x.n_slots]
        squares = work.squares[there]
        scores[at] = space.on_host(block @ mu.T - (work.a[:, there] * squares).T)
        v[at] = space.on_host(squares / space.xp.maximum(1 - work.C[there] * squares, 1e-3))[:, np.newaxis]
    _core.put_on_record(record, scores, v, labels, recorded)


def drawn_for_record(before: int, n: int) -> Ints:
    """Which of n rows are recorded after earlier rows, as in core/confidence/record.hpp."""
    drawn, t = [np.empty(0, np.int64)], before
    while t < before + n:
        octave = max(t.bit_length() - 1, _ALL_BELOW.bit_length() - 2)
        step, end = 1 << octave - _ALL_BELOW.bit_length() + 2, min(2 << octave, before + n)
        drawn.append(np.arange(-(-t // step) * step, end, step))
        t = end
    return np.concatenate(drawn) - before


def judged(state: PrecisionState, normalizer: Normalizer, rows: DeviceRows, *, with_variances: bool) -> tuple[Any, Any]:
    """Scores of rows that are no wider than the model, and their variances if asked for, on the device."""
    space = rows.space
    with space.here():
        xp = space.xp
        x = measured(rows, normalizer, state)
        mu = space.array(state.mu)
        scores = xp.empty((len(rows), state.n_heads))
        for at, block in x.blocks(np.dtype(np.float64)):
            scores[at] = block[:, : x.n_slots] @ mu.T
        finite = xp.isfinite(scores).all(axis=1)
        if not bool(finite.all()):
            rows.refuse()
            row = int(space.on_host(finite).argmin())
            raise ValueError(
                f"Row {row} of X has a score beyond float64; scale X so that its values are of the order of 1."
            )
        if not with_variances:
            return scores, None
        v = variances(there(space, state.precision), x, state.dtype)
        return scores, xp.repeat(v[:, np.newaxis], state.n_heads, axis=1)

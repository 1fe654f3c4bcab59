"""Progressive evaluation: predict, then learn, and the error along the way."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._inputs import is_integer, refuse_no_integer
from ..learners.asking import Asking
from .names import named
from .prequential_result import Prequential
from .prequential_runs import Run, run_of, source_of

_POINTS = 500  # of a curve, if the length of the stream is known; else up to twice as many


def prequential(
    estimators: Any,
    stream: Any,
    *,
    window: int = 1000,
    every: int | None = None,
    classes: Any = None,
    batch: int | None = None,
    drifts: Iterable[int] = (),
    ask: float | None = None,
    random_state: int = 0,
) -> Prequential:
    """The error of one or several learners along a stream: each example is predicted, and then learned from.

    The stream is read once, in its order, and handed to all learners, one after the other. Neither `passes` nor
    `shuffle` of a learner count here, as they do not in `partial_fit`.

    Parameters
    ----------
    estimators : estimator, list of estimators, or dict of names to estimators
        Classifiers with `partial_fit`, of sureline or others. They are copied and stay as they are, and a fitted one
        goes on from what it has learned. In a list each is named by its class, and those of one class also by the
        parameters in which they differ.
    stream : pair (X, y), iterable of such pairs, path, or sureline.stream.Stream
        The rows, dense or sparse, with labels of any type; ``(X, y, sample_weight)`` if they have weights. Rows of
        weight 0 are left out, as if they had not come. An iterable may also be of the chunks of a stream.
    window : int, default=1000
        The windowed error is that of the latest `window` examples, or of all as long as there are fewer.
    every : int, default=None
        There is a point of the curves after every so many examples, at each of `drifts`, and at the end. If None, it is
        such that there are about 500 points; up to 1000 if the length of the stream is not known, and then at least
        `window` / 20.
    classes : array-like, default=None
        All classes. Without them they are those in y; from an iterable or a file they are taken as they come, for which
        the learners of sureline are `growing` for the time of this call. Learners of batches and those of other
        libraries must know them there.
    batch : int, default=None
        For learners that do not count their own mistakes: predict that many rows, then learn from them in one call.
        Classifiers of other libraries learn row by row if it is None, which is exact, and takes a large part of a
        millisecond a row; the learners of batches (BCW, SBCW, FGM) need it.
    drifts : iterable of int, default=()
        The numbers of examples after which something changes, for `Prequential.recovery` and for the plot.
    ask : float, default=None
        A label budget: each learner learns from the labels that it asks for, at most this share of them at any time,
        mostly where it is least sure. All rows are predicted, and all count in the curves: they tell what the learner
        would do on them, and nothing of them reaches it. `Prequential.asked` tells how many were asked for. Not for
        the learners of batches.
    random_state : int, default=0
        Seed of the labels that are asked for at random.

    Returns
    -------
    Prequential
        Curves, mistakes and times, and the trained learners.

    Notes
    -----
    The mistakes are those that the learners of sureline count themselves while they learn (`n_mistakes_`), with every
    example predicted by the model that has learned from all before it. (Of the example itself, SSOL takes the row into
    its covariance before it predicts the label, as its algorithm has it.) Rows go to them in slices from one point of
    the curves to the next one, so the curves are exact, and all that they cost beside learning is part of a millisecond
    a slice; how the stream comes in batches makes no difference. A slice also ends `window` examples before each point,
    so that every windowed error is of exactly `window` examples. The one exception is the end of an iterable or file,
    which nobody knows in advance: there it is of up to `every` examples more, unless the end falls on a point.

    A classifier that knows nothing yet is taken to predict the first class, as the learners of sureline do. Every
    example counts once, whatever its weight.

    Examples
    --------
    >>> from sureline import AROW, OGD
    >>> from sureline.datasets import make_drift
    >>> from sureline.evaluate import prequential
    >>> X, y = make_drift(20_000, 20, drifts=[10_000], random_state=0)
    >>> result = prequential([AROW(), OGD(power_t=0.0)], (X, y), window=1000, drifts=[10_000])
    >>> result.examples[-1], result.names
    (np.int64(20000), ['AROW', 'OGD'])
    >>> result.recovery("OGD", 10_000) < result.recovery("AROW", 10_000)
    True
    >>> result.estimators["AROW"].n_mistakes_ == result.mistakes["AROW"]
    True
    """
    refuse_no_integer("window", window)
    for name, value in (("every", every), ("batch", batch)):
        if value is not None:
            refuse_no_integer(name, value)
    drifts = _checked_drifts(drifts)
    learners = _checked_learners(estimators)
    source = source_of(stream, classes)
    runs = [
        run_of(name, estimator, source, batch, None if ask is None else Asking(ask, random_state))
        for name, estimator in learners.items()
    ]
    curve = _Curve(runs, int(window), None if every is None else int(every), drifts, source.n_rows)
    for rows in source.batches:
        start = 0
        while start < len(rows):
            stop = min(len(rows), start + curve.next_cut - curve.done)
            curve.go_on(rows.part(start, stop))
            start = stop
    if curve.done == 0:
        raise ValueError("The stream has no examples.")
    for run in runs:
        run.finish(curve.done)
    return curve.result()


class _Curve:
    """Mistakes of all learners at the cuts: numbers of examples where a point is or a window begins."""

    def __init__(
        self, runs: list[Run], window: int, every: int | None, drifts: tuple[int, ...], n_rows: int | None
    ) -> None:
        self.runs, self.window, self.drifts = runs, window, drifts
        self.thins = every is None and n_rows is None
        self.every = every or (max(1, window // 20) if n_rows is None else -(-n_rows // _POINTS) or 1)
        points = [*drifts, *([] if n_rows is None else [n_rows])]
        self.more_cuts = sorted({*points, *(point - window for point in points)})
        self.done = 0
        self.mistakes = [0] * len(runs)
        self.cuts = [0]
        self.at_cuts = [self.mistakes]
        self.next_cut = self._next_cut()

    def go_on(self, rows: Any) -> None:
        """Hand rows to all learners; the rows must not go beyond the next cut."""
        counts = [run.take(rows, self.done) for run in self.runs]
        self.mistakes = [before + count for before, count in zip(self.mistakes, counts, strict=True)]
        self.done += len(rows)
        if self.done == self.next_cut:
            self._keep()
            if self.thins and self.done // self.every >= 2 * _POINTS:
                self._thin()
            self.next_cut = self._next_cut()

    def _keep(self) -> None:
        if self.cuts[-1] != self.done:
            self.cuts.append(self.done)
            self.at_cuts.append(self.mistakes)

    def _next_cut(self) -> int:
        """The next number of examples with a point, or where the window of a later point begins."""
        after = self.done + 1
        cuts = [after + (offset - after) % self.every for offset in (0, -self.window)]
        more = bisect_right(self.more_cuts, self.done)
        return min(cuts + self.more_cuts[more : more + 1])

    def _thin(self) -> None:
        """Double the distance between points. The cuts for this are already there."""
        self.every *= 2
        more = set(self.more_cuts)
        kept = [
            i
            for i, cut in enumerate(self.cuts)
            if cut % self.every == 0 or (cut + self.window) % self.every == 0 or cut in more
        ]
        self.cuts = [self.cuts[i] for i in kept]
        self.at_cuts = [self.at_cuts[i] for i in kept]

    def result(self) -> Prequential:
        self._keep()
        cuts = np.array(self.cuts, np.int64)
        at_cuts = np.array(self.at_cuts, np.int64)
        is_point = (cuts % self.every == 0) | np.isin(cuts, self.drifts) | (cuts == self.done)
        is_point[0] = False
        points = cuts[is_point]
        begin = np.searchsorted(cuts, np.maximum(points - self.window, 0), side="right") - 1
        error = at_cuts[is_point] / points[:, np.newaxis]
        windowed = (at_cuts[is_point] - at_cuts[begin]) / (points - cuts[begin])[:, np.newaxis]
        names = [run.name for run in self.runs]
        return Prequential(
            examples=points,
            error=dict(zip(names, error.T.copy(), strict=True)),
            windowed_error=dict(zip(names, windowed.T.copy(), strict=True)),
            mistakes=dict(zip(names, self.mistakes, strict=True)),
            seconds={run.name: run.seconds for run in self.runs},
            estimators={run.name: run.model for run in self.runs},
            window=self.window,
            drifts=tuple(drift for drift in self.drifts if drift < self.done),
            alarms={run.name: tuple(run.rises.alarms) for run in self.runs},
            asked={run.name: run.asking.asked for run in self.runs if run.asking is not None},
        )


# -- what the caller passes ----------------------------------------------------------------------------------


def _checked_learners(estimators: Any) -> dict[str, Any]:
    alone = not isinstance(estimators, Mapping | list | tuple)
    learners = named(
        [estimators] if alone else estimators,
        _name,
        'Two of the estimators are both {}: give them names, as in {{"fresh": AROW(), "trained": clf}}.',
    )
    if not learners:
        raise ValueError("estimators must have at least one learner. Got none.")
    for name, estimator in learners.items():
        for method in ("partial_fit", "predict"):
            if isinstance(estimator, type) or not hasattr(estimator, method):
                raise ValueError(
                    f"The learner {name!r} must be a classifier with {method}, such as AROW(). Got {estimator!r}."
                )
        if hasattr(estimator, "__sklearn_tags__"):
            from sklearn.base import is_classifier

            if not is_classifier(estimator):
                raise ValueError(f"The learner {name!r} must be a classifier, such as AROW(). Got {estimator!r}.")
    return learners


def _name(estimator: Any, estimators: Sequence[Any]) -> str:
    """The class; for repeated classes also the parameters in which they differ."""
    alike = [other for other in estimators if type(other) is type(estimator)]
    name = type(estimator).__name__
    if len(alike) == 1 or not hasattr(estimator, "get_params"):
        return name
    all_params = [other.get_params(deep=False) for other in alike]
    params = estimator.get_params(deep=False)
    differing = [name for name in params if len({repr(other[name]) for other in all_params}) > 1]
    return f"{name}({', '.join(f'{key}={params[key]!r}' for key in differing)})"


def _checked_drifts(drifts: Any) -> tuple[int, ...]:
    positions = list(drifts) if isinstance(drifts, Iterable) else [drifts]
    for position in positions:
        if not is_integer(position) or position < 0:
            raise ValueError(f"drifts must be numbers of examples, integers from 0. Got {position!r} among them.")
    return tuple(sorted({int(position) for position in positions}))

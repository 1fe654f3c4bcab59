"""Error along a stream, as a table and as a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._inputs import Floats, Ints, is_number, refuse_no_integer
from ..learners.alarms import Alarm
from ..models.tables import Tabular, text_of_rows
from .charts import Axis, Chart, Reference, Series

if TYPE_CHECKING:
    import altair


_SHOWN = 20  # alarms of a learner in a chart
_FORMATS = {"learner": "{}", "mistakes": "{:,}", "asked": "{:,}", "seconds": "{:.3g}"}


@dataclass(frozen=True, eq=False, repr=False)
class Prequential(Tabular):
    """The result of `prequential`. Values for each learner are in dicts by its name.

    Attributes
    ----------
    examples : array of shape (n_points,)
        The numbers of examples after which there is a point of the curves; the last is that of all.
    error : dict of arrays of shape (n_points,)
        The share of all examples so far that were predicted wrongly, each before it was learned from.
    windowed_error : dict of arrays of shape (n_points,)
        The same of the latest `window` examples, or of all as long as there are fewer.
    mistakes : dict of int
        How many of all examples were predicted wrongly.
    seconds : dict of float
        How long learning took, with predicting where that was apart.
    estimators : dict of estimators
        Trained: copies of those that were passed.
    window : int
        Examples of the windowed error.
    drifts : tuple of int
        The numbers of examples after which something changed, as far as the stream came to them.
    alarms : dict of tuples of Alarm
        Where the error of each learner rises beyond chance. On a stream that does not change there is less than one in
        a million examples. A learner of batches that counts its own mistakes has none.
    asked : dict of int
        With a label budget how many labels each learner asked for; else empty.
    """

    examples: Ints
    error: dict[str, Floats]
    windowed_error: dict[str, Floats]
    mistakes: dict[str, int]
    seconds: dict[str, float]
    estimators: dict[str, Any]
    window: int
    drifts: tuple[int, ...] = ()
    alarms: dict[str, tuple[Alarm, ...]] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the learners, in the order given."""
        return list(self.error)

    @property
    def n_examples(self) -> int:
        """The number of examples."""
        return int(self.examples[-1])

    def recovery(self, name: str, drift: int, factor: float = 1.2, *, width: int = 0) -> float:
        """How many examples after a drift a learner is as good as before, by its windowed error.

        It has recovered when its windowed error is at most `factor` times the value at the drift. Just after the drift,
        the window is full of older examples. So the search starts at the peak: the largest error up to the first point
        whose window has no older examples.

        Parameters
        ----------
        name : str
            Of the learner.
        drift : int
            The number of examples after which the drift begins. Name it in `drifts` of `prequential` too: then there is
            a point of the curves right there.
        factor : float, default=1.2
            How much worse than before is good enough.
        width : int, default=0
            Examples over which the drift goes on; the peak is looked for until the window is past them.

        Returns
        -------
        int or float
            The number of examples from `drift` to the first point of the curve after the peak at which the windowed
            error is back; 0 if it never went beyond. Infinity if it did not come back before the next drift or the end,
            which says no more than that it takes longer.
        """
        if name not in self.windowed_error:
            raise KeyError(f"There is no learner {name!r} here, but {', '.join(map(repr, self.names))}.")
        refuse_no_integer("drift", drift, 0)
        refuse_no_integer("width", width, 0)
        if not is_number(factor) or not 0 < float(factor) < math.inf:
            raise ValueError(f"factor must be a positive number. Got {factor!r} instead.")
        end = min((other for other in self.drifts if other > drift), default=self.n_examples)
        past = int(drift) + int(width) + self.window  # the first number of examples whose window has no older ones
        if drift < self.window or past > end:
            raise ValueError(
                f"drift={drift} must have window={self.window} examples before it, and as many after it (and after "
                f"width={width}) up to the next drift or the end, {end}."
            )
        error = self.windowed_error[name]
        before = int(np.searchsorted(self.examples, drift, side="right")) - 1
        if before < 0:
            raise ValueError(f"There is no point of the curves up to drift={drift}: name it in drifts, or lower every.")
        enough = float(factor) * float(error[before]) * (1 + 1e-12)
        stop = int(np.searchsorted(self.examples, end, side="right"))
        first_past = int(np.searchsorted(self.examples, past))
        peak = before + 1 + int(np.argmax(error[before + 1 : min(first_past + 1, stop)]))
        if error[peak] <= enough:
            return 0
        back = np.flatnonzero(error[peak:stop] <= enough)
        return int(self.examples[peak + back[0]]) - int(drift) if len(back) else math.inf

    def table(self) -> list[dict[str, Any]]:
        """A row for each learner, with its final values."""
        return [
            {
                "learner": name,
                "mistakes": self.mistakes[name],
                **({"asked": self.asked[name]} if self.asked else {}),
                "error": float(self.error[name][-1]),
                "windowed_error": float(self.windowed_error[name][-1]),
                "seconds": self.seconds[name],
            }
            for name in self.names
        ]

    def _data(self) -> list[dict[str, Any]]:
        columns = self.to_dict()
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_dict(self) -> dict[str, list[Any]]:
        """The curves as columns, as ``pandas.DataFrame`` takes them, with a row for each learner and point."""
        n_points = len(self.examples)
        return {
            "learner": [name for name in self.names for _ in range(n_points)],
            "examples": self.examples.tolist() * len(self.names),
            "error": [value for name in self.names for value in self.error[name].tolist()],
            "windowed_error": [value for name in self.names for value in self.windowed_error[name].tolist()],
        }

    def __repr__(self) -> str:
        heading = f"Prequential over {self.n_examples:,} examples, windows of {self.window:,}"
        if self.drifts:
            heading += f", {len(self.drifts)} drift{'s' if len(self.drifts) > 1 else ''}"
        return f"{heading}\n{text_of_rows(self.table(), _FORMATS)}"

    def plot(
        self, path: str | Path | None = None, *, metric: str = "windowed_error", title: str | None = None
    ) -> altair.LayerChart:
        """Draw the error of all learners against the number of examples. Needs Altair.

        Parameters
        ----------
        path : str or Path, default=None
            A file to save the chart to as well: .png, .svg, .pdf or .html by its ending.
        metric : {"windowed_error", "error"}, default="windowed_error"
            The error of the latest examples, which shows drift, or of all so far.
        title : str, default=None
            Above the curves.

        Returns
        -------
        altair.LayerChart
            A notebook shows it. A click on a name in the legend brings out its curve.
        """
        if metric not in ("windowed_error", "error"):
            raise ValueError(f"metric must be 'windowed_error' or 'error'. Got {metric!r} instead.")
        curves: dict[str, Floats] = getattr(self, metric)
        # The first points are means of few examples; their range would dwarf the rest.
        settled = self.examples >= min(self.window, self.examples[-1])
        highest = max(float(values[settled].max()) for values in curves.values())
        label = f"error over the latest {self.window:,} examples" if metric == "windowed_error" else "error so far"
        x = self.examples.tolist()
        figure = Chart(
            title or "",
            Axis("examples", limits=(0.0, 1.01 * self.n_examples), whole=True),
            Axis(label, percent=True, limits=(0.0, 1.08 * highest or 0.01)),
            [Series(name, x, values.tolist(), i) for i, (name, values) in enumerate(curves.items())],
            [
                *(Reference(f"drift after {drift:,} examples", "x", drift) for drift in self.drifts),
                *(
                    Reference(f"alarm: error of {name} rises", "x", alarm.last)
                    for name, alarms in self.alarms.items()
                    for alarm in alarms[:_SHOWN]
                ),
            ],
        )
        if path is not None:
            figure.save(path)
        chart: altair.LayerChart = figure.draw()
        return chart

"""The recent answers of a service and the labels that came back, in bounded memory: for its live page."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._inputs import Flags, Floats, Ints, clean
from ..learners.alarms import Rises
from ..stream import Label
from .judged import JSON, Alarms, Judged, Shadow
from .sums import KEPT, Seconds, Stretches, whole

_MOST_PENDING, _MOST_ROWS = 256, 8192  # calls and rows that are added up in one go
_RECENT = 1000  # labels
_GENERATION = 10_000  # labels, of which reliability and coverage are told; one of them and up to another
_MOST_SHADOWS, _MOST_QUEUED, _LONGEST_TEXT = 16, 40, 400
_WRONG, _ANSWERED = 1, 2
_STEP = 5  # seconds of a point
_LATE = 1.0  # seconds by which the clock may go back without more ado


class Watch:
    """Error over time, coverage, reliability, rate, latency, alarms, and examples worth labelling.

    Parameters
    ----------
    labels : sequence of labels
    max_error : float or None
        The promise by which rows are answered, if there is one.
    expected_unseen : float, default=None
        The share of unseen features that is to be expected; beyond it is an alarm. If None, rows are compared with
        those before them.
    clock : callable, default=time.time
        Seconds, also across restarts.

    Calls are collected and added up together, so that one of a single row costs some microseconds, and each row of a
    batch less than one. Threads may share a watch.
    """

    def __init__(
        self,
        labels: Sequence[Label],
        max_error: float | None,
        *,
        expected_unseen: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.labels, self.max_error = list(labels), max_error
        self._clock, self._lock = clock, threading.Lock()
        self._pending: list[tuple[Any, ...]] = []
        self._pending_rows = 0
        self._latest = 0.0  # time of a call
        self._latest_right: Flags | None = None  # of `learned`, which shadows are compared with
        self.requests = self.rows = self.answered_rows = self.n_labels = self.mistakes = 0
        self._along = Stretches(4)  # rows: confidence, answered, whether novelty is known, novelty
        self._errors = Stretches(3)  # labels: wrong, answered, wrong ones of these
        self._judged = [Judged(), Judged()]  # the latest labels, and those before
        self._recent = np.zeros(_RECENT, np.uint8)
        self._seconds = Seconds()
        self._alarms = [Alarms(Rises("error")), Alarms(Rises("unseen", expected_unseen))]
        self._shadows: dict[str, Shadow] = {}
        self._queue: dict[str, tuple[float, str]] = {}

    # -- what happens ----------------------------------------------------------------------------------------

    def answered(
        self,
        *,
        rows: int,
        seconds: float,
        confidences: Floats,
        novelties: Floats | None = None,
        answered: Flags | None = None,
        requests: int = 1,
    ) -> None:
        """A request was answered in so many seconds, or several of a row each.

        `novelties` are the shares of features that the model has never seen; `answered` is False for rows of which
        the model would not say anything.
        """
        self._append(rows, ("answered", self._clock(), rows, seconds, confidences, novelties, answered, requests))

    def learned(self, *, right: Flags, confidences: Floats, answered: Flags | None = None, again: bool = False) -> None:
        """Labels came, and were compared with the model's answers before it learned from them.

        With `again` they came some time ago, and are read from a log.
        """
        right = np.asarray(right, bool)
        self._latest_right = right
        self._append(len(right), ("learned", self._clock(), right, confidences, answered, again))

    def shadow(self, name: str, *, right: Flags) -> None:
        """A shadow judged the rows of the latest call of `learned`."""
        right, champion = np.asarray(right, bool), self._latest_right
        if champion is None or len(champion) != len(right):
            known = "none" if champion is None else f"{len(champion)}"
            raise ValueError(f"right must be of the rows that were learned last, {known}. Got {len(right)} instead.")
        self._append(len(right), ("shadow", name, right, champion))

    def worth(self, prediction_id: str, text: str, score: float) -> None:
        """An answered row that is worth labelling, the more so the higher the score."""
        if not math.isfinite(score):
            raise ValueError(f"score must be finite. Got {score!r} instead.")
        with self._lock:
            self._queue[prediction_id] = (float(score), clean(text)[:_LONGEST_TEXT])
            if len(self._queue) > _MOST_QUEUED:
                del self._queue[min(self._queue, key=lambda one: self._queue[one][0])]

    def labelled(self, prediction_id: str) -> None:
        """It need not be asked for any more."""
        with self._lock:
            self._queue.pop(prediction_id, None)

    def forget_shadow(self, name: str) -> None:
        """It was promoted or removed."""
        with self._lock:
            self._settle()
            self._shadows.pop(name, None)

    def _append(self, rows: int, call: tuple[Any, ...]) -> None:
        with self._lock:
            if call[0] != "shadow":
                if call[1] < self._latest - _LATE:
                    self._settle()
                    self._seconds.set_back(int(call[1]))
                self._latest = call[1]
            self._pending.append(call)
            self._pending_rows += rows
            if len(self._pending) >= _MOST_PENDING or self._pending_rows >= _MOST_ROWS:
                self._settle()

    # -- adding up -------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        """Add up what is pending, with the lock held."""
        pending, self._pending, self._pending_rows = self._pending, [], 0
        answers = [call for call in pending if call[0] == "answered"]
        if answers:
            self._add_answers(answers)
        first = self.n_labels
        learned = [call for call in pending if call[0] == "learned"]
        if learned:
            self._add_labels(learned)
        judged: dict[str, list[tuple[int, Flags, Flags]]] = {}
        for call in pending:
            if call[0] == "learned":
                first += len(call[2])
            elif call[0] == "shadow":
                judged.setdefault(call[1], []).append((first - len(call[2]), call[2], call[3]))
        for name, rows in judged.items():
            if name not in self._shadows:
                if len(self._shadows) >= _MOST_SHADOWS:
                    del self._shadows[next(iter(self._shadows))]
                self._shadows[name] = Shadow(rows[0][0])
            self._shadows[name].add(*(~np.concatenate(part) for part in list(zip(*rows, strict=True))[1:]))

    def _add_answers(self, calls: list[tuple[Any, ...]]) -> None:
        times = np.array([call[1] for call in calls])
        sizes = np.array([call[2] for call in calls], np.int64)
        took = np.array([call[3] for call in calls])
        requests = np.array([call[7] for call in calls], np.int64)
        seconds = times.astype(np.int64)
        for second in np.unique(seconds).tolist():
            of_it = seconds == second
            counts = int(requests[of_it].sum()), int(sizes[of_it].sum()), 0
            self._seconds.add(second, counts, np.repeat(took[of_it], requests[of_it]))
        confidences = np.concatenate([call[4] for call in calls])
        answered = _together([call[6] for call in calls], sizes, True)
        novelty = _together([call[5] for call in calls], sizes, 0.0)
        has_novelty = np.repeat([call[5] is not None for call in calls], sizes)
        self._along.add(confidences, answered, has_novelty, novelty)
        self.requests += int(requests.sum())
        self.rows += int(sizes.sum())
        self.answered_rows += int(answered.sum())
        self._alarms[1].add(novelty[has_novelty], float(times[-1]))

    def _add_labels(self, calls: list[tuple[Any, ...]]) -> None:
        sizes = np.array([len(call[2]) for call in calls], np.int64)
        seconds = np.array([-1 if call[5] else call[1] for call in calls]).astype(np.int64)
        for second in np.unique(seconds[seconds >= 0]).tolist():
            self._seconds.add(second, (0, 0, int(sizes[seconds == second].sum())))
        wrong = ~np.concatenate([call[2] for call in calls])
        confidences = np.concatenate([call[3] for call in calls])
        answered = _together([call[4] for call in calls], sizes, True)
        self._errors.add(wrong, answered, wrong & answered)
        marks = (wrong * _WRONG + answered * _ANSWERED).astype(np.uint8)[-_RECENT:]
        first = self.n_labels + len(wrong) - len(marks)
        self._recent[np.arange(first, first + len(marks)) % _RECENT] = marks
        self.n_labels += len(wrong)
        self.mistakes += int(wrong.sum())
        self._judged[0].add(confidences, wrong, answered)
        if self._judged[0].calibration.n >= _GENERATION:
            self._judged = [Judged(), self._judged[0]]
        self._alarms[0].add(wrong.astype(np.uint8), float(calls[-1][1]))

    # -- what is known ---------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, JSON]:
        """All of it as it is now, for JSON."""
        with self._lock:
            self._settle()
            now = self._clock()
            marks = self._recent[: min(self.n_labels, _RECENT)]
            was_answered = (marks & _ANSWERED) > 0
            is_wrong = (marks & _WRONG) > 0
            judged = Judged.both(*self._judged)
            return {
                "max_error": self.max_error,
                "requests": self.requests,
                "rows": self.rows,
                "answered": self.answered_rows,
                "labels": self.n_labels,
                "mistakes": self.mistakes,
                "recent": _counted(len(marks), is_wrong, was_answered),
                "errors": self._error_table(self._errors),
                "along": self._along_table(),
                "judged": judged.table(self.max_error),
                **self._pace(int(now)),
                "alarms": sorted(
                    (found for alarms in self._alarms for found in alarms.table()), key=lambda one: -one["noticed"]
                ),
                "shadows": {name: shadow.table() for name, shadow in self._shadows.items()},
                "queue": [
                    {"prediction_id": one, "text": text, "score": score}
                    for one, (score, text) in sorted(self._queue.items(), key=lambda item: -item[1][0])
                ],
            }

    @staticmethod
    def _error_table(errors: Stretches) -> dict[str, list[float]]:
        ends, rows, (wrong, answered, answered_wrong) = errors.table()
        return {
            "to": ends.tolist(),
            "labels": rows.tolist(),
            "wrong": wrong.astype(int).tolist(),
            "answered": answered.astype(int).tolist(),
            "answered_wrong": answered_wrong.astype(int).tolist(),
        }

    def _along_table(self) -> dict[str, list[float | None]]:
        ends, rows, (confidence, answered, known, novelty) = self._along.table()
        shares = [new / n if n else None for new, n in zip(novelty.tolist(), known.tolist(), strict=True)]
        return {
            "to": ends.tolist(),
            "confidence": (confidence / rows).tolist(),
            "answered": (answered / rows).tolist(),
            "novelty": shares,
        }

    def _pace(self, now: int) -> dict[str, JSON]:
        counts, (half, most) = self._seconds.latest(now, KEPT, _STEP)
        latest, (half_now, most_now) = self._seconds.latest(now, 2 * _STEP, 2 * _STEP)
        requests, rows, labels = (counts / _STEP).T
        return {
            "pace": {
                "ago": [_STEP * k - KEPT for k in range(1, len(counts) + 1)],
                "requests": requests.tolist(),
                "rows": rows.tolist(),
                "labels": labels.tolist(),
                "half": _known(half),
                "most": _known(most),
            },
            "now": {
                **dict(zip(("requests", "rows", "labels"), (latest[0] / (2 * _STEP)).tolist(), strict=True)),
                "half": _known(half_now)[0],
                "most": _known(most_now)[0],
            },
        }

    # -- across restarts -------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, JSON]:
        """All that it takes to go on after a restart, for JSON."""
        with self._lock:
            self._settle()
            counts = ("requests", "rows", "answered_rows", "n_labels", "mistakes")
            return {
                "labels": list(self.labels),
                "max_error": self.max_error,
                **{name: getattr(self, name) for name in counts},
                "along": self._along.to_state(),
                "errors": self._errors.to_state(),
                "judged": [one.to_state() for one in self._judged],
                "recent": self._recent.tobytes().hex(),
                "seconds": self._seconds.to_state(),
                "alarms": [one.to_state() for one in self._alarms],
                "shadows": {name: one.to_state() for name, one in self._shadows.items()},
                "queue": {one: [score, text] for one, (score, text) in self._queue.items()},
            }

    @classmethod
    def from_state(cls, state: Any, *, clock: Callable[[], float] = time.time) -> Watch:
        """The watch that `to_state` told of. ValueError if it cannot have been that."""
        try:
            made = cls(state["labels"], state["max_error"], clock=clock)
            for name in ("requests", "rows", "answered_rows", "n_labels", "mistakes"):
                setattr(made, name, whole(state[name]))
            made._along, made._errors = (
                Stretches.from_state(state["along"], 4),
                Stretches.from_state(state["errors"], 3),
            )
            latest, before = (Judged.from_state(one) for one in state["judged"])
            made._judged = [latest, before]
            made._recent = np.frombuffer(bytes.fromhex(state["recent"]), np.uint8).copy()
            made._seconds = Seconds.from_state(state["seconds"])
            made._latest = float(made._seconds.second.max())
            of_errors, of_novelty = state["alarms"]
            made._alarms = [Alarms.from_state(of_errors, "error"), Alarms.from_state(of_novelty, "unseen")]
            made._shadows = {str(name): Shadow.from_state(one) for name, one in state["shadows"].items()}
            made._queue = {str(one): (float(score), str(text)) for one, (score, text) in state["queue"].items()}
            if len(made._recent) != _RECENT or made._errors.rows != made.n_labels or made._along.rows != made.rows:
                raise ValueError("its parts are not of the same rows")
        except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
            raise ValueError(f"what was kept for the live page cannot be read: {error}") from None
        return made


def _together(parts: list[npt.NDArray[Any] | None], sizes: Ints, otherwise: float | bool) -> npt.NDArray[Any]:
    """One array of those of many calls, of a value where a call has none."""
    if all(part is None for part in parts):
        return np.full(int(sizes.sum()), otherwise)
    pairs = zip(parts, sizes.tolist(), strict=True)
    return np.concatenate([np.full(n, otherwise) if part is None else part for part, n in pairs])


def _counted(n: int, wrong: Flags, answered: Flags) -> dict[str, int]:
    return {
        "labels": n,
        "wrong": int(wrong.sum()),
        "answered": int(answered.sum()),
        "answered_wrong": int((wrong & answered).sum()),
    }


def _known(values: Floats) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values.tolist()]

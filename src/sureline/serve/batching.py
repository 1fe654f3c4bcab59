"""Single rows that come at the same time, answered together: what a call costs besides its rows is paid once."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from .answering import PLAIN, answers_of
from .errors import Refused
from .members import Verdicts
from .replies import encode
from .served import Served

_RATE = 0.1  # of the rows that the page offers for labelling
_TEXT = 400  # characters of such a row


class Batching:
    """Answers of one name. Requests that arrive in one turn of the event loop are one batch."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._rows: list[Any] = []
        self._told: list[tuple[asyncio.Future[bytes], bool]] = []
        self._began = 0.0

    def answer(self, row: Any, *, remember: bool) -> asyncio.Future[bytes]:
        """The answer to a row, as JSON."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bytes] = loop.create_future()
        if not self._rows:
            self._began = time.perf_counter()
            loop.call_soon(self._flush)
        self._rows.append(row)
        self._told.append((future, remember))
        return future

    def _flush(self) -> None:
        rows, told = self._rows, self._told
        self._rows, self._told = [], []
        try:
            self._answer(rows, told)
        except Exception as error:
            if len(rows) == 1:
                _refuse(told[0][0], error)
                return
            for row, one in zip(rows, told, strict=True):  # which of them it is
                try:
                    self._answer([row], [one])
                except Exception as alone:
                    _refuse(one[0], alone)

    def _answer(self, rows: list[Any], told: list[tuple[asyncio.Future[bytes], bool]]) -> None:
        served = self._served
        answers, chunk, verdicts = answers_of(served.lineup, rows, PLAIN)
        remember = [flag for _, flag in told]
        finish(served, rows, answers, remember)
        version = served.version
        for answer, (future, _) in zip(answers, told, strict=True):
            answer["version"] = version
            if not future.done():
                future.set_result(encode(answer))
        seconds = time.perf_counter() - self._began
        tell_page(served, rows, answers, chunk, verdicts, seconds, requests=len(rows))


def _refuse(future: asyncio.Future[bytes], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def finish(served: Served, rows: list[Any], answers: list[dict[str, Any]], remember: list[bool]) -> None:
    """Keep predictions for their labels, and give answers their ids."""
    predictions = served.predictions
    assert predictions is not None
    version = served.version
    for row, answer, flag in zip(rows, answers, remember, strict=True):
        if flag:
            answer["prediction_id"] = predictions.keep([version, row])


def tell_page(
    served: Served,
    rows: list[Any],
    answers: list[dict[str, Any]],
    chunk: Any,
    verdicts: Verdicts,
    seconds: float,
    *,
    requests: int = 1,
) -> None:
    """Tell the page what was answered, and which of the rows are worth labelling."""
    champion, watch = served.champion, served.watch
    if not champion.is_classifier:
        return
    novelties = answered = None
    try:
        novelties = champion.novelty(chunk, verdicts)[0]
        if served.keeping.max_error is not None:
            answered = champion.answered(verdicts, served.keeping.max_error)
    except Refused:
        pass
    watch.answered(
        rows=len(verdicts.confidences),
        seconds=seconds,
        confidences=verdicts.confidences,
        novelties=novelties,
        answered=answered,
        requests=requests,
    )
    if not served.champion.can_learn:
        return
    wants, sure = champion.wants(verdicts, _RATE)
    for k in wants.nonzero()[0].tolist():
        prediction = answers[k].get("prediction_id")
        if prediction is not None:
            watch.worth(prediction, encode(rows[k]).decode()[:_TEXT], 1 / (1 + float(sure[k])))

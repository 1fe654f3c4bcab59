"""Alarms: no more than one in a million rows by chance, and soon where something changes."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy.signal import lfilter

import sureline
from sureline import cli
from sureline.datasets import make_drift
from sureline.evaluate import evaluate, prequential
from sureline.learners.alarms import Alarm, Rises, in_words
from sureline.stream.arrays import rows_of


def kl(n: float, q: float, p: float) -> float:
    def part(a, b):
        return 0.0 if a <= 0 else math.inf if b <= 0 else a * math.log(a / b)

    return n * max(part(q, p) + part(1 - q, 1 - p), 0.0)


def rises_of(values, evidence=12.5, block=32):
    """The definition, by sums of all blocks."""
    sums = np.concatenate([[0.0], np.cumsum(np.add.reduceat(values, np.arange(0, len(values), block)))])
    start, found, D, V, pairs = 0, [], {}, {}, {}
    for now in range(1, len(values) // block + 1):
        levels = [k for k in range(40) if now % (1 if k < 2 else 2 ** (k - 2)) == 0]
        for k in levels:
            if k >= 1 and now % 2**k == 0:
                half = 2 ** (k - 1)
                a, b = sums[now] - sums[now - half], sums[now - half] - sums[now - 2 * half]
                p = (a + b) / (2 * half * block)
                v = 2 * half * block * p * (1 - p)
                if v > 0:
                    usual = max(1.0, D[k] / V[k]) if pairs.get(k, 0) >= 32 else 1.0
                    D[k] = D.get(k, 0) + min((a - b) ** 2, 16 * usual * v)
                    V[k], pairs[k] = V.get(k, 0) + v, pairs.get(k, 0) + 1
        wavering = max([1.0, *(D[k] / V[k] for k in D if pairs[k] >= 32)])
        most, best = 0.0, None
        for k in levels:
            length = 2**k
            if now - length - start < 1:
                break
            n, m = length * block, (now - length - start) * block
            q, r = (sums[now] - sums[now - length]) / n, (sums[now - length] - sums[start]) / m
            p = (sums[now] - sums[start]) / (n + m)
            e = max(kl(n, q, p), kl(m, r, p))
            if q < r:
                if e / wavering > evidence:
                    start = now - length
                    break
            elif e > most:
                most, best = e, ((now - length) * block + 1, now * block, r, q, now - length)
        if most / wavering > evidence:
            found.append(best[:4])
            start = best[4]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_the_core_finds_what_the_definition_says(seed):
    rng = np.random.default_rng(seed)
    rates = np.repeat(rng.choice([0.02, 0.1, 0.3], 8), 1500)
    values = (rng.random(len(rates)) < rates).astype(np.uint8)
    rises = Rises()
    rises.add(values)
    found = [(a.first, a.last, a.before, a.after) for a in rises.alarms]
    expected = rises_of(values.astype(float))
    assert len(found) == len(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_stream_that_does_not_change_has_less_than_one_alarm_in_a_million_rows():
    rng = np.random.default_rng(0)
    n_alarms = 0
    for p in (0.001, 0.02, 0.1, 0.3, 0.5, 0.95):
        rises = Rises()
        for _ in range(4):
            rises.add((rng.random(500_000) < p).astype(np.uint8))
        n_alarms += len(rises.alarms)
    assert n_alarms <= 3  # of twelve million rows; the bound allows 6 on average, and is not tight


@pytest.mark.parametrize("correlation", [10, 100])
def test_mistakes_that_come_in_bursts_are_no_rise(correlation):
    """Weights that waver: the error is 20 %, give or take a third, for so many rows."""
    rng, n = np.random.default_rng(1), 1_000_000
    a = np.exp(-10 / correlation)
    wavers = np.repeat(lfilter([np.sqrt(1 - a * a)], [1, -a], rng.normal(size=n // 10)), 10)
    rises = Rises()
    rises.add((rng.random(n) < 0.2 * np.exp(0.3 * wavers)).astype(np.uint8))
    assert rises.core.wavering > 1.3
    assert len(rises.alarms) <= 1


@pytest.mark.parametrize(("before", "after", "rows"), [(0.1, 0.3, 400), (0.05, 0.1, 2500), (0.01, 0.02, 16_000)])
def test_a_rise_is_noticed_soon(before, after, rows):
    rng = np.random.default_rng(2)
    rises = Rises()
    rises.add((rng.random(50_000) < before).astype(np.uint8))
    assert rises.alarms == []
    rises.add((rng.random(20_000) < after).astype(np.uint8))
    alarm = rises.alarms[0]
    assert 50_000 < alarm.last <= 50_000 + rows
    assert abs(alarm.first - 50_000) < rows
    assert alarm.before == pytest.approx(before, rel=0.1)


def test_what_falls_is_no_alarm_and_what_follows_is_compared_with_it():
    rng = np.random.default_rng(3)
    rises = Rises()
    rises.add((rng.random(200_000) < 0.1 + 0.4 * np.exp(-np.arange(200_000) / 5000)).astype(np.uint8))
    assert rises.alarms == []
    rises.add((rng.random(5_000) < 0.2).astype(np.uint8))
    assert len(rises.alarms) == 1


def test_batches_and_resuming_make_no_difference():
    rng = np.random.default_rng(4)
    values = (rng.random(30_000) < np.repeat([0.05, 0.2, 0.4], 10_000)).astype(np.uint8)
    whole, cut = Rises(), Rises()
    whole.add(values)
    for start in range(0, len(values), 777):
        cut.add(values[start : start + 777])
        cut = Rises.from_dict(json.loads(json.dumps(cut.to_dict())))
    assert cut.alarms == whole.alarms
    assert len(whole.alarms) >= 2
    assert cut.to_dict() == whole.to_dict()


@pytest.mark.parametrize(
    "change",
    [
        {"numbers": []},
        {"numbers": None},
        {"numbers": ["nan"] * 329},
        {"alarms": [[0, 1, "0x0p0", "0x0p0"]]},
        {"what": 1},
    ],
)
def test_numbers_that_cannot_have_been_are_refused(change):
    with pytest.raises(ValueError, match=r"numbers|alarms|out of range|rows of an alarm"):
        Rises.from_dict({**Rises().to_dict(), **change})


# -- of learners ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["AROW", "SCW", "PA", "FTRL", "SSOL", "Perceptron"])
def test_learners_raise_no_alarm_where_nothing_changes(name):
    X, y = make_drift(30_000, 20, drifts=[], noise=0.1, random_state=0)
    assert prequential(getattr(sureline, name)(), (X, y)).alarms == {name: ()}


@pytest.mark.parametrize("ask", [None, 0.2])
def test_a_drift_is_marked_where_it_is(ask, tmp_path):
    X, y = make_drift(20_000, 20, drifts=[10_000], random_state=1)
    learners = {"FTRL": sureline.FTRL(), "AROW": sureline.AROW()}
    result = prequential(learners, (X, y), ask=ask)
    for alarms in result.alarms.values():
        assert alarms[0].what == "error"
        assert 10_000 < alarms[0].last < 10_500
    assert "alarm: error of FTRL rises" in result.plot().to_json()
    assert not hasattr(result.estimators["FTRL"], "_watch")
    cut = prequential(
        learners, ((X[i : i + 999], y[i : i + 999]) for i in range(0, 20_000, 999)), ask=ask, classes=[0, 1]
    )
    assert cut.alarms == result.alarms


def test_the_commands_say_it(tmp_path, capsys):
    X, y = make_drift(12_000, 10, drifts=[8000], random_state=2)
    words = [
        f"{label} " + " ".join(f"{j + 1}:{v:.5g}" for j, v in enumerate(row)) for row, label in zip(X, y, strict=True)
    ]
    (tmp_path / "all.svm").write_text("\n".join(words) + "\n")
    (tmp_path / "first.svm").write_text("\n".join(words[:6000]) + "\n")
    (tmp_path / "rest.svm").write_text("\n".join(words[6000:]) + "\n")
    new = [f"{line} 11:1 12:1 13:1 14:1" if 500 <= i < 700 else line for i, line in enumerate(words[6000:8000])]
    (tmp_path / "new.svm").write_text("\n".join(new) + "\n")
    model = str(tmp_path / "m")
    train = ["train", str(tmp_path / "all.svm"), "--algorithm", "ftrl", "--normalize", "scale", "--model", model]
    assert cli.run([*train, "--json", "--quiet"]) == 0
    told = json.loads(capsys.readouterr().out)["alarms"]
    assert 8000 < told[0]["last"] < 8300
    assert cli.run(train) == 0
    assert told[0]["says"] in capsys.readouterr().err

    first = ["train", str(tmp_path / "first.svm"), "--algorithm", "arow", "--normalize", "scale", "--model", model]
    assert cli.run([*first, "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["alarms"] == []
    assert cli.run(["evaluate", str(tmp_path / "rest.svm"), "--model", model, "--json"]) == 0
    (alarm,) = json.loads(capsys.readouterr().out)["alarms"]
    assert alarm["what"] == "error"
    assert 1900 < alarm["first"] < 2100
    assert cli.run(["evaluate", str(tmp_path / "rest.svm"), "--model", model]) == 0
    assert alarm["says"] in capsys.readouterr().out

    assert cli.run(["predict", str(tmp_path / "new.svm"), "--model", model]) == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 2001
    assert "differ from the training data: " in err
    first_row = int(err.split("Rows ")[1].split(" ")[0])
    assert 480 < first_row <= 530
    assert cli.run(["predict", str(tmp_path / "first.svm"), "--model", model]) == 0
    assert capsys.readouterr().err == ""


def test_rows_of_another_size_differ_though_no_feature_is_new():
    X, y = make_drift(8000, 10, drifts=[], random_state=2)
    clf = sureline.AROW(normalize="none").fit(X[:5000], y[:5000])
    new, labels = X[5000:].copy(), y[5000:]
    new[1000:2000] *= 20
    alarms = evaluate(clf, iter(rows_of((new, labels), "float64", None)[0]))["alarms"]
    assert [alarm["what"] for alarm in alarms] == ["std"]
    assert 960 < alarms[0]["first"] <= 1040
    assert 1950 < alarms[0]["last"] < 2050


@pytest.mark.parametrize("name", ["AROW", "SCW", "SSOL", "IELLIP", "PA"])
def test_new_rows_from_the_same_source_raise_no_alarm(name):
    from sureline.datasets import make_sparse_stream

    X, y = make_sparse_stream(12_000, 20_000, 20, random_state=0)
    clf = getattr(sureline, name)().fit(X[:6000], y[:6000])
    stream, _ = rows_of((X[6000:], y[6000:]), "float64", None)
    assert evaluate(clf, iter(stream))["alarms"] == []


def test_sentences():
    assert str(Alarm("error", 11, 20, 0.1, 0.25)) == (
        "The error rises beyond chance in rows 11 to 20: from 10.00% before to 25.00%."
    )
    assert len(in_words([Alarm("std", 1, 2, 0.02, 0.5)] * 5)) == 4
    assert in_words([]) == []

"""The page of `make bench-scale`, from the numbers in its cache."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from scale_beyond import BYTES, TEXT, WORKERS

import sureline

LIMITS = {"8": {"arow": 1.02, "scw": 1.02, "pa": 1.02, "auto": 1.02, "ftrl": 1.05, "ssol": 1.05}}
LIMIT_64 = 1.08
WIRE = 1.25e9  # bytes a second: 10 GBit/s
SIZES = (256 << 20, 1 << 30, 10 << 30)  # of shards


def limit(algorithm: str, n: str) -> float:
    return LIMITS["8"][algorithm] if n == "8" else LIMIT_64


def page(cache: Path) -> str:
    found = {path.stem: json.loads(path.read_text()) for path in cache.glob("*.json")}
    lines = [
        "# Shards: errors, times and what happens beyond one machine",
        "",
        f"Written by `make bench-scale` (benchmarks/scale.py) with sureline {sureline.__version__} on "
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores.",
        "",
    ]
    for name, part in (("errors", errors), ("speed", speed), ("beyond", beyond)):
        if name in found:
            lines += [*part(found[name]), ""]
    return "\n".join(lines).rstrip() + "\n"


def _above_the_limit(n: str, above: dict[str, list[str]]) -> list[str]:
    """A list of the rows above the limit with n shards, by set."""
    if not above:
        return [f"- {n} shards, above the limit: none."]
    return [f"- {n} shards, above the limit:", *(f"  - {name}: {', '.join(told)}" for name, told in above.items())]


def errors(rows: list[dict[str, Any]]) -> list[str]:
    lines = [
        "## Error relative to one machine",
        "",
        "`python benchmarks/scale.py --parts errors --rows N --sets NAME`, one pass, one round. Plain: shards "
        "that learn as "
        "streams of their own and are averaged. Settings are chosen on the first 20,000 rows. Streams are "
        "tested on 40,000 "
        "rows more, data sets on a tenth of their rows. `auto` is compared with `Auto` on one machine: a race and a "
        "committee there, four learners and a committee of them here. Bold numbers are above their limit.",
        "",
        "| rows | learner | one machine | 8 shards | plain | 64 shards | plain |",
        "|---|---|---|---|---|---|---|",
    ]
    worse: dict[str, int] = {"8": 0, "64": 0}
    for row in rows:
        cells = []
        for n in worse:
            above = row[n] > limit(row["algorithm"], n)
            worse[n] += above
            plain = row.get(f"plain {n}")
            cells += [f"**{row[n]:.3f}**" if above else f"{row[n]:.3f}", "" if plain is None else f"{plain:.3f}"]
        mark = " †" if row.get("before") else ""
        lines.append(
            f"| {row['set']}, {row['rows']:,} | {row['algorithm']}{mark} | {row['one']:.4f} | "
            + " | ".join(cells)
            + " |"
        )
    both = [(row[n], row[f"plain {n}"]) for row in rows for n in worse if f"plain {n}" in row]
    better = sum(own < plain for own, plain in both)
    before = [
        "† Measured when `auto` was one learner in shards, and not anew.",
        "",
    ]
    above: dict[str, dict[str, list[str]]] = {n: {} for n in worse}  # by set
    for n in worse:
        for row in rows:
            if row[n] > limit(row["algorithm"], n):
                above[n].setdefault(row["set"], []).append(f"{row['algorithm']} {row[n]:.2f}")
    return [
        *lines,
        "",
        "The limits are 1.02 with 8 shards for AROW, SCW, PA and Auto, 1.05 for FTRL and SSOL, and 1.08 with 64 "
        f"shards. They hold in {len(rows) - worse['8']} of {len(rows)} rows with 8 shards, and in "
        f"{len(rows) - worse['64']} with 64. "
        f"Merging is better than plain averaging in {better} of {len(both)} cells.",
        "",
        *(before if any(row.get("before") for row in rows) else []),
        *(line for n in worse for line in _above_the_limit(n, above[n])),
        "- Values below 1: the mean of several models has less noise than one that follows its last rows.",
        "- Where a shard has few rows for the width of the model (mnist, and 200,000 rows of url and rcv1 with 64 "
        "shards), no way of merging makes up for that. Make shards larger.",
        "- Where a shard has very many rows for the model (rcv1 with 8 shards), counting rows several times only adds "
        "noise, and plain averaging is better. We have no rule that is best at both ends.",
        "- PA takes steps of one size to the end, so its last weights follow the last rows. On covtype the models of 8 "
        "shards err on 0.29 to 0.40 of the rows, and their mean on 0.29. If shards give the mean of their weights "
        "instead, PA has 1.04 with 8 shards and 1.17 with 64 there. But 64 shards then have 1.15 and not 1.03 on "
        "200,000 rows of rcv1, and 1.10 and not 1.02 on mnist. So shards give their last weights.",
    ]


def speed(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Times",
        "",
        "`python benchmarks/scale.py --parts speed`; both times of a row are of one run. "
        "Other programs had the cores too.",
        "",
    ]
    lines += ["| what | measured | ratio | target | |", "|---|---|---|---|---|"]

    def add(what: str, measured: str, ratio: float, target: float, *, at_least: bool = False) -> None:
        holds = ratio >= target if at_least else ratio <= target
        sign = "≥" if at_least else "≤"
        lines.append(
            f"| {what} | {measured} | {ratio:.2f} | {sign} {target:.3g} | {'holds' if holds else 'does not hold'} |"
        )

    if each := found.get("workers"):
        one, two, alone = each["workers 1"], each["workers 2"], each["alone"]
        told = each["table"]
        what = f"{told['rows']:,} x {told['columns']} from Arrow, {told['passes']} passes, {each['shards']} shards"
        add(f"one worker over two, {what}", f"{one:.1f} s and {two:.1f} s", one / two, 1.7, at_least=True)
        limit = 1.5 + 0.05 * alone
        begin = each["start of 1"]
        what = "one worker and its start, seconds more than the same shards in this process"
        add(what, f"{one:.1f} + {begin:.1f} s and {alone:.1f} s", one + begin - alone, limit)
    for part, other, peer, target in (
        ("spark", "logistic regression", "Spark's LogisticRegression, local[2]", 0.1),
        ("dask_ml", "incremental", "dask-ml's Incremental(SGDClassifier), two workers", 1.0),
    ):
        each = found.get(part, {})
        for name in ("arow", "arow, settings chosen", "arow from the file"):
            if name in each and other in each:
                a, b = each[name], each[other]
                what = f"{name} over {peer}, {each['rows']:,} rows like RCV1"
                add(what, f"{a['seconds']:.1f} s and {b['seconds']:.1f} s", a["seconds"] / b["seconds"], target)
                add("error of the same", f"{a['error']:.4f} and {b['error']:.4f}", a["error"] / b["error"], 1.0)
        if "missing" in each:
            lines.append(f"| {peer} | could not be installed: {each['missing']} | | | |")
    return lines


def beyond(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Beyond this machine",
        "",
        f"{WORKERS:,} workers and {BYTES / 1e12:.0f} TB of text, on a wire of 10 GBit/s at the driver. Deltas "
        f"and merges are "
        "real ones of AROW with 2²⁴ features (`python benchmarks/scale.py --parts beyond`). The other numbers "
        "are multiples of "
        "them: a delta and its merge are linear in the features that were touched.",
        "",
        "| 8 deltas of 2²⁴ features | bytes of a delta | merge, seconds of one core | model, bytes |",
        "|---|---|---|---|",
    ]
    for row in found["merging"]:
        lines.append(f"| {row['share']:.0%} touched | {row['delta']:,.0f} | {row['seconds']:.2f} | {row['model']:,} |")
    base = max(found["merging"], key=lambda row: row["share"])
    entries = base["share"] * base["width"]
    a_feature, a_merge = base["delta"] / entries, base["seconds"] / (base["n"] * entries)
    lines += [
        "",
        "One round, if a shard touches 5 % of the features, or as many as it has entries (12 bytes of text each) if "
        "these are fewer:",
        "",
        "| features | size of a shard | shards | deltas, bytes | their transfer | their merge | a model to "
        "all workers |",
        "|---|---|---|---|---|---|---|",
    ]
    for width in (1 << 24, 1 << 30):
        for size in SIZES:
            n, each = BYTES / size, min(0.05 * width, size / TEXT)
            total, model = n * each * a_feature, base["model"] / base["width"] * width
            lines.append(
                f"| 2{'²⁴' if width == 1 << 24 else '³⁰'} | {size / (1 << 30):.4g} GiB | {n:,.0f} | "
                f"{total / 1e9:,.0f} GB | "
                f"{total / WIRE / 60:,.1f} min | {n * each * a_merge / 60:,.1f} min | "
                f"{model * WORKERS / 1e9:,.0f} GB, {model * WORKERS / WIRE / 60:,.1f} min |"
            )
    a_part = BYTES / WORKERS / 1.4e9 / 60
    lines += [
        "",
        f"Reading takes {a_part * 60:.0f} seconds if each worker reads 1.4 GB of text a second (`make bench`). "
        f"It stops making "
        "sense where transfer and merge take longer than that: they pass through one driver. So shards should "
        "be as large as "
        "a worker's part, some 10 GiB, and rounds few. With 2³⁰ features even that takes longer than learning, and a "
        "model of so many fits few workers: hash to fewer bits, or use one machine with the memory.",
    ]
    if found["growth"]:
        lines += [
            "",
            f"What more shards cost, with {found['growth'][0]['rows']:,} rows like RCV1 in each: error of "
            f"AROW relative to one "
            "machine with all rows of the shards.",
            "",
            "| shards | one machine | merged |",
            "|---|---|---|",
            *(f"| {row['shards']} | {row['one']:.4f} | {row['ratio']:.3f} |" for row in found["growth"]),
            "",
            "A thousand shards were not learned. The last steps of this column are what is to be expected of them.",
        ]
    return lines

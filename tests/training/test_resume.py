"""Killed and resumed: the model of a training that nothing disturbed, bit for bit."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from catalogue import ALL
from torture import times

from sureline import cli, stream
from sureline.datasets import make_mail, make_sparse_stream
from sureline.stream.decompress import zstd_module
from sureline.training import Training
from sureline.training.checkpoint import Checkpointing

SURELINE = [sys.executable, "-m", "sureline"]
KILLS = times(4)  # in all
pytestmark = pytest.mark.torture
PACKED: dict[str, Any] = {
    "plain": lambda raw: raw,
    "gz": lambda raw: gzip.compress(raw, 1),
    "zst": lambda raw: zstd_module().compress(raw, 1),
}


def rows_as_text(n_rows: int, seed: int, n_classes: int = 2) -> bytes:
    X, y = make_sparse_stream(n_rows, 4000, 25, random_state=seed)
    y = y if n_classes == 2 else (y + np.arange(n_rows) % n_classes) % n_classes
    starts = X.indptr.tolist()
    tokens = [f" {j}:{v:.6g}" for j, v in zip(X.indices.tolist(), X.data.tolist(), strict=True)]
    return "".join(f"c{y[i]}" + "".join(tokens[starts[i] : starts[i + 1]]) + "\n" for i in range(n_rows)).encode()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same rows in every packing, some megabytes of them, and the model of each learner from them."""
    folder = tmp_path_factory.mktemp("resume")
    raw = rows_as_text(24_000, 1)
    for name, pack in PACKED.items():
        (folder / f"{name}.svm").write_bytes(pack(raw))
    stream.convert(stream.read(folder / "plain.svm", dtype="float32"), folder / "arrow.svm")
    return folder


def command(data: Path, model: Path) -> list[str]:
    settings = ["--algorithm", "ssol", "--lam", "0.05", "--cost", "balanced", "--passes", "2", "--quiet"]
    return [*SURELINE, "train", str(data), "--model", str(model), "--checkpoint", "every=2k", *settings]


def killed_after_a_checkpoint(process: subprocess.Popen[bytes], place: Path, seconds: float) -> bool:
    """Kill it so long after it has written one more checkpoint, unless it comes to its end before."""
    before = place.stat().st_mtime_ns if place.exists() else None
    while process.poll() is None:
        if place.exists() and place.stat().st_mtime_ns != before:
            time.sleep(seconds)
            running = process.poll() is None
            process.kill()
            return running
        time.sleep(0.005)
    return False


@pytest.mark.parametrize("packing", [*PACKED, "arrow"])
def test_kill_and_resume(files: Path, tmp_path: Path, packing: str) -> None:
    data = files / f"{packing}.svm"
    straight, model = tmp_path / "straight.sureline", tmp_path / "m.sureline"
    subprocess.run(command(data, straight), check=True, stdout=subprocess.DEVNULL)
    rng = random.Random(packing)
    killed = 0
    while killed < max(1, KILLS // 4):
        for last in (False, False, True):  # two kills, then to the end
            process = subprocess.Popen([*command(data, model), "--resume"], stdout=subprocess.DEVNULL)
            if not last:
                killed += killed_after_a_checkpoint(process, tmp_path / "m.sureline.checkpoint", rng.uniform(0, 0.15))
            assert process.wait() in (0, -9)
            if model.exists() and not (tmp_path / "m.sureline.checkpoint").exists():  # killed between the two?
                break
        assert model.read_bytes() == straight.read_bytes()
        assert sorted(p.name for p in tmp_path.iterdir()) == ["m.sureline", "straight.sureline"]
        model.unlink()


def test_what_a_killed_run_left_of_a_checkpoint_goes_with_the_next_one(files: Path, tmp_path: Path) -> None:
    litter = tmp_path / f".m.sureline.checkpoint.{'0a' * 8}.tmp"
    litter.write_bytes(b"half of it")
    model = tmp_path / "m.sureline"
    assert cli.run(["train", str(files / "plain.svm"), "--model", str(model), "--quiet"]) == 0
    assert [p.name for p in tmp_path.iterdir()] == ["m.sureline"]


class Crash(Exception):
    pass


def run(training: Training, place: Path, stop_after: int | None) -> None:
    """To the end, or until so many checkpoints have been written."""
    saved = 0
    original = training.save_checkpoint

    def save(path: Path) -> None:
        nonlocal saved
        original(path)
        saved += 1
        if saved == stop_after:
            raise Crash

    training.save_checkpoint = save  # type: ignore[method-assign]
    training.run(checkpointing=Checkpointing(place, examples=1))


@pytest.mark.parametrize("case", ALL, ids=str)
def test_every_learner_goes_on_from_its_checkpoint(case: Any, tmp_path: Path) -> None:
    data = tmp_path / "rows.svm"
    X, y = make_sparse_stream(400, 30, 6, random_state=2)
    lines = []
    for i in range(400):
        pairs = zip(X[i].indices.tolist(), X[i].data.tolist(), strict=True)
        lines.append(f"{y[i]} " + " ".join(f"{j}:{v!r}" for j, v in pairs))
    data.write_text("\n".join(lines) + "\n")
    place = tmp_path / "c.sureline"

    def training() -> Training:
        from sureline.learners.catalogue import LEARNERS

        learner = LEARNERS[case.name](**case.parameters, **({"columns": 30} if case.fixed else {}), normalize="none")
        # Blocks of a kilobyte, so that there are many places to stop at.
        return Training(learner, stream.read(data).with_options(block=1 << 10), labels=[0, 1])

    straight = training()
    straight.run()
    straight.save_model(tmp_path / "straight.sureline")
    for stop_after in (1, 7):
        stopped = training()
        with pytest.raises(Crash):
            run(stopped, place, stop_after)
        resumed = training()
        resumed.resume(place)
        assert 0 < resumed.examples < 400
        run(resumed, place, None)
        resumed.save_model(tmp_path / "resumed.sureline")
        assert (tmp_path / "resumed.sureline").read_bytes() == (tmp_path / "straight.sureline").read_bytes()


@pytest.mark.parametrize("packing", ["plain", "gz", "bz2", "xz", "zst", "jsonl", "text"])
def test_every_place_to_stop_at(tmp_path: Path, packing: str) -> None:
    """From the end of each chunk; with names, several files, more classes on the way, and lines that are left out."""
    packs = {**PACKED, "bz2": bz2.compress, "xz": lzma.compress}
    paths = []
    for k in range(2):
        if packing in ("text", "jsonl"):
            texts, labels = make_mail(150, random_state=k)
            pairs = zip(labels, texts, strict=True)
            lines = (
                [f"{a}\t{b}\n" for a, b in pairs]
                if packing == "text"
                else [f'{{"label": "{a}", "t": "{b}"}}\n' for a, b in pairs]
            )
            raw = "".join(lines).encode()
        else:
            raw = rows_as_text(60, k, n_classes=2 + k) + b"c1 broken\n"
        paths.append(tmp_path / f"{k}")
        paths[-1].write_bytes(packs.get(packing, PACKED["plain"])(raw))
    place = tmp_path / "c.sureline"
    format = packing if packing in ("text", "jsonl") else "libsvm"

    def training() -> Training:
        from sureline.learners.catalogue import LEARNERS

        source = stream.read(paths, format=format, errors="skip", max_error_share=0.5, collect_names=True)
        return Training(LEARNERS["SCW"](normalize="none"), source.with_options(block=1 << 11))

    straight = training()
    straight.run()
    straight.save_model(tmp_path / "straight.sureline")
    bits = (tmp_path / "straight.sureline").read_bytes()
    n_chunks = sum(1 for _ in straight.stream)
    assert n_chunks > 5
    for stop_after in range(1, n_chunks):
        stopped = training()
        with pytest.raises(Crash):
            run(stopped, place, stop_after)
        resumed = training()
        resumed.resume(place)
        resumed.run()
        resumed.save_model(tmp_path / "resumed.sureline")
        assert (tmp_path / "resumed.sureline").read_bytes() == bits
        assert resumed.stream.faults.count == straight.stream.faults.count


def test_labels_of_two_kinds(tmp_path: Path) -> None:
    data, place = tmp_path / "mixed.svm", tmp_path / "c.sureline"
    data.write_text("".join(f"{'a' if i % 3 else 1} {i % 11}:1 {11 + i % 7}:0.5\n" for i in range(600)))

    def training() -> Training:
        from sureline.learners.catalogue import LEARNERS

        return Training(LEARNERS["PA"](normalize="none"), stream.read(data).with_options(block=1 << 10))

    straight, stopped, resumed = training(), training(), training()
    straight.run()
    straight.save_model(tmp_path / "straight.sureline")
    with pytest.raises(Crash):
        run(stopped, place, 3)
    resumed.resume(place)
    resumed.run()
    resumed.save_model(tmp_path / "resumed.sureline")
    assert resumed.labels == [1, "a"]
    assert (tmp_path / "resumed.sureline").read_bytes() == (tmp_path / "straight.sureline").read_bytes()


def test_what_stopped_inside_a_chunk_is_not_saved(tmp_path: Path) -> None:
    from sureline.learners.catalogue import LEARNERS

    data = tmp_path / "rows.svm"
    data.write_bytes(rows_as_text(1000, 3))

    def stop(progress: Any) -> None:
        if progress.examples == 512:
            raise KeyboardInterrupt

    training = Training(LEARNERS["AROW"](normalize="none"), stream.read(data))
    with pytest.raises(KeyboardInterrupt):
        training.run(on_progress=stop)
    assert not training.can_be_saved
    with pytest.raises(ValueError, match="stopped inside a chunk"):
        training.save_checkpoint(tmp_path / "c")
    assert not (tmp_path / "c").exists()

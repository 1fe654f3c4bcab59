"""Bytes of every kind as a model file, by atheris: refused with a reason, or a model that can be used.

    python fuzz/model_fuzz.py [CORPUS] [options of libFuzzer, such as -atheris_runs=1000000]

The checksum is made right each time, so that what comes after it is reached. An input says how one of the seeds is
changed, in its bytes (after a byte 0) or part by part (tests/forge.py), or it is a file itself (after a byte 1). What
is taken for a model is learned from and predicted with, and the package safetensors must read the same arrays from it.
Everything else is a finding: another exception, a crash, more than ten seconds, more than two gigabytes.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import FunctionType

import atheris
import safetensors

from sureline import modelfile
from sureline.learners import saving as persistence
from sureline.modelfile import ModelFileError
from sureline.models.file import canonical as _json
from sureline.models.file import codec as _codec
from sureline.models.file import container as _container

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
import forge

LIMITS = ["-max_len=4096", "-timeout=10", "-rss_limit_mb=2048"]


def watch_the_reader() -> None:
    """Have libFuzzer see which branches are taken. By hand, since the import of an editable install is not watched."""
    for module in (modelfile, _codec, _container, _json, persistence):
        for function in vars(module).values():
            if isinstance(function, FunctionType) and function.__module__ == module.__name__:
                atheris.instrument_func(function)


class Target:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "model"
        self.seeds = forge.seeds(folder)

    def __call__(self, data: bytes) -> None:
        provider = atheris.FuzzedDataProvider(data[1:])

        def pick(n: int) -> int:
            return int(provider.ConsumeIntInRange(0, n - 1)) if n > 1 else 0

        how = {b"\0": forge.edited, b"\1": lambda *_: forge.sealed(data[1:])}.get(data[:1], forge.forged)
        content = how(self.seeds[pick(len(self.seeds))], pick)
        forge.write(self.path, content)
        try:
            file = persistence.read_learner(self.path)
        except ModelFileError:
            return
        self.compare(content)
        forge.use(file)

    def compare(self, content: bytes) -> None:
        theirs = dict(safetensors.deserialize(content))
        _, ours = _container.read_container(self.path)
        assert theirs.keys() == ours.keys()
        for name, array in ours.items():
            assert bytes(theirs[name]["data"]) == array.tobytes()
            assert theirs[name]["shape"] == list(array.shape)


def main() -> None:
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        target = Target(Path(folder))
        corpus = Path(folder) / "corpus"
        corpus.mkdir()
        for i, seed in enumerate(target.seeds):
            (corpus / f"file-{i}").write_bytes(b"\1" + seed)
            (corpus / f"bytes-{i}").write_bytes(b"\0" + bytes([i, 7]) * 32)
            (corpus / f"parts-{i}").write_bytes(b"\2" + bytes([i, 7]) * 32)
        watch_the_reader()
        atheris.Setup([sys.argv[0], *LIMITS, *sys.argv[1:], str(corpus)], target)
        atheris.Fuzz()


if __name__ == "__main__":
    main()

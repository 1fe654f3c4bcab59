"""The main job on generated mail: ``python -m sureline.demo``.

Writes a compressed stream of messages, trains SSOL and SCW from it, evaluates, predicts, inspects, and draws the
weights. It prints each command that a user would type, with its output.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from pathlib import Path

from . import cli


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m sureline.demo", description="The main job on generated mail.")
    parser.add_argument("--folder", type=Path, default=Path("out/demo"), help="for the files (default: %(default)s)")
    parser.add_argument("--messages", type=int, default=60_000, help="how many (default: %(default)s)")
    options = parser.parse_args(arguments)
    if options.messages < 100:
        parser.error(f"--messages must be at least 100. Got {options.messages} instead.")
    began = time.monotonic()
    folder: Path = options.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_mail(folder, options.messages)
    except OSError as error:
        print(f"The demo could not write to {folder}: {error.strerror}.", file=sys.stderr)
        return 1
    data, test = folder / "mail.txt.zst", folder / "test.txt"
    ssol, scw = folder / "ssol.sureline", folder / "scw.sureline"
    settings = {
        "ssol": "--eta 1 --lam 40 --schedule constant --r 1000 --cost balanced",
        "scw": "--C 0.1 --quiet",
    }
    commands: list[list[str | Path]] = [
        ["train", data, "--algorithm", "ssol", *settings["ssol"].split(), "--model", ssol],
        ["train", data, "--algorithm", "scw", *settings["scw"].split(), "--model", scw],
        ["evaluate", test, "--model", ssol],
        ["evaluate", test, "--model", scw],
        ["predict", test, "--model", scw, "--output", folder / "scores.csv"],
        ["inspect", ssol, "--top", "12", "--plot", folder / "ssol.png"],
        ["inspect", scw, "--top", "12", "--plot", folder / "scw.png"],
        ["compare", data, "--quiet", "--report", folder / "report.html"],
    ]
    for command in commands:
        words = [str(word) for word in command]
        print(f"\n$ sureline {shlex.join(words)}", flush=True)
        status = cli.run(words)
        if status:
            return status
    with (folder / "scores.csv").open() as scores:
        print(f"\n$ head -5 {folder / 'scores.csv'}\n" + "".join(scores.readline() for _ in range(5)), end="")
    pictures = f"{folder / 'ssol.png'}, {folder / 'scw.png'}; a page: {folder / 'report.html'}"
    print(f"\nPictures: {pictures}. {time.monotonic() - began:.1f} s in all.")
    return 0


def write_mail(folder: Path, n_messages: int) -> None:
    """Messages to learn from, compressed, and a quarter as many to test on: one a line, after the label and a tab."""
    from .datasets import make_mail
    from .stream.decompress import zstd_module

    texts, labels = make_mail(n_messages + n_messages // 4, random_state=0)
    lines = [f"{label}\t{text}\n" for label, text in zip(labels, texts, strict=True)]
    with zstd_module().open(folder / "mail.txt.zst", "wt", encoding="utf-8") as out:
        out.writelines(lines[:n_messages])
    (folder / "test.txt").write_text("".join(lines[n_messages:]), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

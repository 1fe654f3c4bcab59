"""``python -m studies NAME``: carry out a study."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from sureline.cli.reproduce import carry_out
from sureline.reproduce import data_folder
from sureline.reproduce.pages import prepare

from . import names, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m studies", description="Carry out a study.")
    parser.add_argument("name", choices=names())
    parser.add_argument("--data", type=Path, help="the folder with the data sets (default: SURELINE_DATA)")
    parser.add_argument("--output", type=Path, help="write numbers (JSON) and a page (Markdown) into this folder")
    parser.add_argument("--quick", action="store_true", help="a rough version")
    given = parser.parse_args()
    folder = [] if data_folder(given.data) is None else ["--data", "DIR"]
    command = shlex.join(["python", "-m", "studies", given.name, *folder, *(["--quick"] if given.quick else [])])
    if given.data is not None and not given.data.is_dir():
        parser.error(f"{given.data}: there is no such folder of data.")
    if given.output is not None:
        try:
            prepare(given.output, given.name, quick=given.quick)
        except (OSError, ValueError) as error:
            parser.error(str(error))
    return carry_out(
        lambda on_progress: run(
            given.name, data=given.data, quick=given.quick, on_progress=on_progress, command=command
        ),
        output=given.output,
    )


if __name__ == "__main__":
    sys.exit(main())

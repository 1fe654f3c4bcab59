"""The command line: the script ``sureline``, and ``python -m sureline``."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Run the command of `sys.argv`; Ctrl-C ends it without a traceback even while modules are being imported."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # and not ignored, as under nohup
    if usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # The threads of BLAS, which most commands never need, would keep the other cores busy for a while with waiting.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from .cli import main as run

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()

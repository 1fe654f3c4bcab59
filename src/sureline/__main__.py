"""The command line: the script ``sureline``, and ``python -m sureline``."""

from __future__ import annotations

import atexit
import os
import signal
import sys


def main() -> None:
    """Run the command of `sys.argv`; Ctrl-C ends it without a traceback even while modules are being imported."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # and not ignored, as under nohup
    if usual:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    ending = _Ending()
    atexit.register(ending)  # registered first, so that it is called last
    # The threads of BLAS, which most commands never need, would keep the other cores busy with waiting.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from .cli import main as run

    if usual:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        run()
        ending.status = 0
    except SystemExit as end:
        ending.status = end.code if isinstance(end.code, int) else int(end.code is not None)
        raise


class _Ending:
    """Ends the process at exit without tearing down the interpreter.

    A thread of another library, such as Arrow's, may still let go of a Python object. If it asks for the interpreter
    while that is taken apart, CPython ends the thread, and C++ then aborts the process after it did its work.
    """

    status = 1

    def __call__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (AttributeError, OSError, ValueError):  # closed, or its reader has gone
                self.status = self.status or 1
        os._exit(self.status)


if __name__ == "__main__":
    main()

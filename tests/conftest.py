"""Settings and fixtures for all tests."""

import signal

# Ctrl-C is ignored in what a script starts in the background, and so in its children. Tests that send it need it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

"""``python -m sureline``: the command line."""

from .cli import main

main()

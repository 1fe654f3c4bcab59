"""The memory that a pass over a stream may take, with all that is done meanwhile."""

from __future__ import annotations

from .._system import resident_memory

PAGE = 4096  # bytes that the system gives at least
LARGE_PAGE, MOST_IN_LARGE_PAGES = 2 << 20, 1 << 28  # what it gives to models up to a size, and that size


class MemoryLimit:
    """Ends a pass if the process takes more memory, since it began, than it may; None is no limit."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._before = resident_memory() or 0

    def check(self, more: int = 0) -> None:
        """Raise MemoryError if there is too much, or would be with so many bytes more."""
        if self.limit is None:
            return
        taken = (resident_memory() or 0) - self._before + more
        if taken > self.limit:
            raise MemoryError(
                f"{taken:,} bytes are needed, more than the {self.limit:,} that memory (--memory) allows; fewer "
                "features (--bits), fewer threads or more memory may help"
            )

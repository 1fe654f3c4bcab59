"""The memory limit of a pass over a stream, including all work done meanwhile."""

from __future__ import annotations

from .._system import resident_memory

PAGE = 4096  # bytes that the system gives at least
# The system uses large pages for models up to a size: page size, and that size.
LARGE_PAGE, MOST_IN_LARGE_PAGES = 2 << 20, 1 << 28


class MemoryLimit:
    """Ends a pass whose process grows by more than a limit; None is no limit."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self._before = resident_memory() or 0

    def check(self, more: int = 0) -> None:
        """Raise MemoryError if the limit is exceeded, or would be with that many bytes more."""
        if self.limit is None:
            return
        taken = (resident_memory() or 0) - self._before + more
        if taken > self.limit:
            raise MemoryError(
                f"{taken:,} bytes are needed, more than the {self.limit:,} that memory (--memory) allows; fewer "
                "features (--bits), fewer threads or more memory may help"
            )

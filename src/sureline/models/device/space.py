"""The mathematics of a batch, over arrays of NumPy or CuPy: products, factors, and the blocked pass.

The pass works in blocks of rows. With Z the whitened block, s = Zw and G = ZZ', each row in turn takes its step from
its score, and adds its step times its row of G to the scores of the rows after it; then w += Z'a. Nothing is
approximated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._inputs import Array
from ..numbers import Policy

ROWS = 256  # of a block
_CHUNK_BYTES = 1 << 28  # of whitened rows that are worked on at a time
_PANELS = 8  # that a product with a triangle is made in, to leave out most of its zeros
_LEAST_PANEL = 128


@dataclass
class Pass:
    """The rows of a batch, and their outcomes: arrays of the space, with a row for each head."""

    labels: Any  # int32
    C: Any
    q: int
    policy: Policy
    f: Any  # the score of each row when its turn came
    a: Any  # alpha y
    squares: Any  # x'Sx

    @property
    def n_heads(self) -> int:
        return int(self.f.shape[0])

    @property
    def n_rows(self) -> int:
        return int(self.f.shape[1])


class Space(ABC):
    """A place of arrays, and the computations with them there."""

    xp: Any  # the module with the functions of NumPy

    @contextmanager
    def here(self) -> Iterator[None]:
        """A context whose computations run on the device."""
        yield

    @abstractmethod
    def product(self, a: Any, b: Any, out: Any, beta: float = 0.0) -> None:
        """out = a b + beta out. All may be views of larger matrices."""

    @abstractmethod
    def has_room(self, n_bytes: int) -> bool:
        """True if that many bytes are free."""

    @abstractmethod
    def crossing(
        self, n: int, size: int, d: int, dtype: np.dtype[Any], fill: Callable[[Array, int], None], keep: Any = None
    ) -> Iterator[tuple[int, Any]]:
        """Rows of the host in parts, with the first row of each.

        `fill` writes them into an array. They stay in `keep` if given; otherwise a part is overwritten by the next but
        one.
        """

    @abstractmethod
    def prepared(
        self, X: Any, scales: Any, lengths: Any, roots: Any, intercept: int, width: int, dtype: np.dtype[Any]
    ) -> Any:
        """Rows as they are multiplied, of that width: see kernels.cu."""

    @abstractmethod
    def sizes(self, X: Any) -> tuple[Any, Any]:
        """For each column the sum of absolute values, and the number of nonzeros."""

    @abstractmethod
    def steps(self, G: Any, at: slice, rows: Pass) -> None:
        """The steps of a block of rows in order. G begins with their inner products; scores are in f."""

    @abstractmethod
    def cholesky(self, P: Any) -> Any | None:
        """The upper triangular R of P = R'R, from P's upper triangle; None if P is not positive definite."""

    @abstractmethod
    def solved(self, R: Any, B: Any, *, transposed: bool = False) -> Any:
        """R^-1 B, or R'^-1 B, for an upper triangular R."""

    # -- what follows from these -----------------------------------------------------------------------------

    def array(self, values: Any, dtype: Any = None) -> Any:
        return self.xp.asarray(values, dtype)

    def on_host(self, values: Any) -> Any:
        return values

    def width(self, n_slots: int) -> int:
        """The number of rows per chunk that suits the memory."""
        return -(-n_slots // 32) * 32

    def chunk_rows(self, width: int) -> int:
        """Rows that are worked on at a time: whole blocks."""
        return max(1, min(_CHUNK_BYTES // (8 * width), 1 << 16) // ROWS) * ROWS

    def panels(self, width: int) -> Iterator[tuple[int, int]]:
        """The columns of the parts of a triangle that are computed as if they were full."""
        size = max(-(-width // (_PANELS * 32)) * 32, _LEAST_PANEL)
        for start in range(0, width, size):
            yield start, min(start + size, width)

    def add_gram(self, P: Any, X: Any) -> None:
        """P += X'X, at least in the upper triangle."""
        for start, stop in self.panels(P.shape[1]):
            self.product(X[:, :stop].T, X[:, start:stop], P[:stop, start:stop], 1.0)

    def whiten(self, X: Any, W: Any, out: Any) -> None:
        """out = X W for an upper triangular W."""
        for start, stop in self.panels(W.shape[1]):
            self.product(X[:, :stop], W[:stop, start:stop], out[:, start:stop])

    @contextmanager
    def turns(self, w: Any, rows: Pass) -> Iterator[Turns]:
        """A context for the pass over a batch. w has the weights before it, and at the end those after."""
        yield Turns(self, w, rows)

    def inner_products(self, Z: Any) -> Any:
        """Z Z' of every block of rows."""
        return [Z[first : first + ROWS] @ Z[first : first + ROWS].T for first in range(0, len(Z), ROWS)]

    def learn_block(self, Z: Any, G: Any, w: Any, start: int, rows: Pass) -> None:
        """The pass over one block, with its inner products; it begins with row `start` of the batch."""
        at = slice(start, start + len(Z))
        self.product(w, Z.T, rows.f[:, at])
        self.steps(G, at, rows)
        self.product(rows.a[:, at], Z, w, 1.0)


class Turns:
    """A pass over whitened rows, a chunk at a time."""

    def __init__(self, space: Space, w: Any, rows: Pass) -> None:
        self.space, self.w, self.rows = space, w, rows
        self._room: Any = None

    def room(self, n_rows: int, width: int) -> Any:
        """Memory for the next chunk. The first is the largest."""
        if self._room is None:
            self._room = self.space.xp.zeros((n_rows, width))
        return self._room[:n_rows]

    def learn(self, Z: Any, start: int) -> None:
        """Learn a chunk in its buffer, which begins with row `start` of the batch."""
        for k, G in enumerate(self.space.inner_products(Z)):
            first = k * ROWS
            self.space.learn_block(Z[first : first + ROWS], G, self.w, start + first, self.rows)

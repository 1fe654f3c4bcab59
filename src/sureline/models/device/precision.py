"""The two forms of a precision, on a device. Their arrays come to the host only when somebody asks for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..._inputs import Floats, is_sparse
from ..precision.batch import TOO_LARGE, Precision, refuse_too_wide
from ..precision.span import Span, span_is_smaller
from ..precision.triangle import Triangle
from .rows import Measured
from .space import ROWS, Pass, Space

_LARGEST_CONDITION = 1e4  # up to which float32 whitens well enough


class TriangleThere(Triangle):
    """P = R'R, with R on the device, in rows as wide as they are multiplied."""

    def __init__(self, space: Space, R: Any) -> None:
        self.space, self.there = space, R  # without the padding
        self._W: Any = None

    def __getattr__(self, name: str) -> Any:
        if name != "R":
            raise AttributeError(name)
        with self.space.here():
            self.R = np.asfortranarray(self.space.on_host(self.there))
        return self.R

    def __reduce__(self) -> Any:
        return Triangle, (self.R,)

    @property
    def n_slots(self) -> int:
        return len(self.there)

    @property
    def nbytes(self) -> int:
        return 8 * self.n_slots**2

    @property
    def W(self) -> Any:
        """R^-1 with zeros around it, in C order."""
        if self._W is None:
            xp, n = self.space.xp, self.n_slots
            W = xp.zeros((self.space.width(n),) * 2)
            W[:n, :n] = xp.triu(self.space.solved(self.there, xp.eye(n)))
            self._W = W
        return self._W

    def whitener(self, dtype: np.dtype[Any]) -> Any:
        """W for products in that dtype, or in float64 if rounding errors would grow too much with its condition."""
        W, xp = self.W, self.space.xp
        if dtype == np.float32:
            condition = float(xp.abs(W).sum(axis=0).max() * xp.abs(self.there).sum(axis=0).max())
            return W.astype(np.float32) if condition <= _LARGEST_CONDITION else W
        return W


class SpanThere(Span):
    """P = I + Z'Z, with the rows Z on the device."""

    def __init__(self, space: Space, Z: Any) -> None:
        self.space, self.there = space, Z
        self._L = None
        self._R: Any = None

    def __getattr__(self, name: str) -> Any:
        if name != "Z":
            raise AttributeError(name)
        with self.space.here():
            self.Z = np.ascontiguousarray(self.space.on_host(self.there))
        return self.Z

    def __reduce__(self) -> Any:
        return Span, (self.Z,)

    @property
    def n_slots(self) -> int:
        return int(self.there.shape[1])

    @property
    def nbytes(self) -> int:
        return 8 * int(self.there.size)

    @property
    def factor(self) -> Any:
        """The upper triangular factor of K = I + Z Z'."""
        if self._R is None:
            xp = self.space.xp
            K = self.there @ self.there.T + xp.eye(len(self.there))
            R = self.space.cholesky(K) if bool(xp.isfinite(K).all()) else None
            if R is None:
                raise ValueError(TOO_LARGE)
            self._R = R
        return self._R

    def solved(self, B: Any) -> Any:
        """K^-1 B."""
        return self.space.solved(self.factor, self.space.solved(self.factor, B, transposed=True))


There = TriangleThere | SpanThere
_sent: WeakKeyDictionary[Precision, There] = WeakKeyDictionary()


def there(space: Space, precision: Precision) -> There:
    """A precision on the device; the copy lives as long as the precision is used."""
    if isinstance(precision, TriangleThere | SpanThere) and precision.space is space:
        return precision
    sent = _sent.get(precision)
    if sent is None or sent.space is not space:
        if isinstance(precision, Triangle):
            sent = TriangleThere(space, space.array(np.ascontiguousarray(precision.R)))
        else:
            assert isinstance(precision, Span)
            Z = precision.Z.toarray() if is_sparse(precision.Z) else precision.Z
            sent = SpanThere(space, space.array(np.ascontiguousarray(Z)))
        _sent[precision] = sent
    return sent


def absorbed(precision: There, rows: Measured, C: Any, same_C: bool, dtype: np.dtype[Any]) -> There:
    """The precision after a batch, by the same choice of ways as on the host."""
    if isinstance(precision, TriangleThere):
        return _with_rows(precision, rows, C, same_C, dtype)
    space, n_slots = precision.space, precision.n_slots
    xp = space.xp
    if span_is_smaller(len(precision.there) + len(rows), n_slots):
        new = [block[:, :n_slots] for _, block in rows.blocks(np.dtype(np.float64), xp.sqrt(C))]
        return SpanThere(space, xp.concatenate([precision.there, *new]))
    refuse_too_wide(n_slots)
    triangle = TriangleThere(space, xp.eye(n_slots))
    if len(precision.there):
        triangle = TriangleThere(space, _rotated(space, triangle.there, [precision.there]))
    return _with_rows(triangle, rows, C, same_C, dtype)


def _with_rows(old: TriangleThere, rows: Measured, C: Any, same_C: bool, dtype: np.dtype[Any]) -> TriangleThere:
    R = None
    if 3 * len(rows) >= old.n_slots:
        R = _by_gram_matrix(old, rows, C, same_C, dtype)
        if R is None and dtype != np.float64:
            R = _by_gram_matrix(old, rows, C, same_C, np.dtype(np.float64))
    if R is None:
        n, roots = old.n_slots, old.space.xp.sqrt(C)
        blocks = (block[:, :n] for _, block in rows.blocks(np.dtype(np.float64), roots))
        R = _rotated(old.space, old.there, blocks)
    return TriangleThere(old.space, R)


def _by_gram_matrix(old: TriangleThere, rows: Measured, C: Any, same_C: bool, dtype: np.dtype[Any]) -> Any | None:
    """R of P, or None if the rounding errors of P are not small against all of it, as on the host."""
    space, n = old.space, old.n_slots
    xp, width = space.xp, rows.width
    P = xp.zeros((width, width))
    for _, block in rows.blocks(dtype, None if same_C else xp.sqrt(C)):
        if dtype == np.float64:
            space.add_gram(P, block)
        else:  # sums of float32 in float64
            for start in range(0, len(block), 8192):
                part = xp.zeros((width, width), dtype)
                space.add_gram(part, block[start : start + 8192])
                P += part
    P = xp.triu(P[:n, :n])
    if same_C:
        P *= C[0]
    errors = float(xp.linalg.norm(P)) * float(np.finfo(dtype).eps)
    if not np.isfinite(errors):
        return None
    P += xp.triu(old.there.T @ old.there)
    R = space.cholesky(P)
    small_enough = 1e-8 if dtype == np.float64 else 1e-2
    if R is None or errors > small_enough * (1.0 if errors < small_enough else _least_eigenvalue(space, R)):
        return None
    return R


def _least_eigenvalue(space: Space, R: Any) -> float:
    """The least eigenvalue of R'R, to one digit: some steps of the power method for the inverse."""
    xp = space.xp
    x = space.array(np.random.default_rng(0).standard_normal(len(R)))[:, np.newaxis]
    growth = 1.0
    for _ in range(12):
        x = space.solved(R, space.solved(R, x / xp.linalg.norm(x), transposed=True))
        growth = float(xp.linalg.norm(x))
    return 1 / growth


def _rotated(space: Space, R: Any, blocks: Any) -> Any:
    """The triangular factor of R'R + X'X, for the rows X of some blocks."""
    xp = space.xp
    for block in blocks:
        R = xp.linalg.qr(xp.concatenate([R, block]), mode="r")
        if not bool(xp.isfinite(R).all()):
            raise ValueError(TOO_LARGE)
    R = xp.triu(R) * xp.where(xp.diagonal(R) < 0, -1.0, 1.0)[:, np.newaxis]
    if not bool((xp.diagonal(R) > 0.5).all()):  # P >= I, unless rounding has lost the I
        raise ValueError(TOO_LARGE)
    return R


# -- the pass ------------------------------------------------------------------------------------------------


def pass_over(precision: There, mu: Floats, rows: Measured, work: Pass, dtype: np.dtype[Any]) -> Any:
    """The inner loop of Algorithm 1 for rows that were just absorbed: the new mu, on the device."""
    over = _over_span if isinstance(precision, SpanThere) else _over_triangle
    new = over(precision, mu, rows, work, dtype)  # type: ignore[arg-type]
    xp = precision.space.xp
    finite = xp.isfinite(work.f).all(axis=0) & xp.isfinite(work.squares)
    if not bool(finite.all()):
        row = int(precision.space.on_host(finite).argmin())
        raise ValueError(f"Row {row} of X has a score beyond float64. {TOO_LARGE}")
    return new


def _over_triangle(precision: TriangleThere, mu: Floats, rows: Measured, work: Pass, dtype: np.dtype[Any]) -> Any:
    space, n = precision.space, precision.n_slots
    xp = space.xp
    w = xp.zeros((work.n_heads, rows.width))
    w[:, :n] = space.array(mu) @ precision.there.T
    W = precision.whitener(dtype)
    with space.turns(w, work) as turns:
        for at, Z in whitened(W, rows, turns.room):
            turns.learn(Z, at.start)
    return (w @ precision.W.T)[:, :n]


def whitened(W: Any, rows: Measured, room: Callable[[int, int], Any]) -> Iterator[tuple[slice, Any]]:
    """Chunks of whitened rows in float64, in memory from `room(rows, width)`."""
    space = rows.space
    for at, block in rows.blocks(W.dtype):
        Z = room(*block.shape)
        if W.dtype == np.float64:
            space.whiten(block, W, Z)
        else:
            less_exact = space.xp.empty(block.shape, W.dtype)
            space.whiten(block, W, less_exact)
            Z[...] = less_exact
        yield at, Z


def _over_span(precision: SpanThere, mu: Floats, rows: Measured, work: Pass, dtype: np.dtype[Any]) -> Any:
    space = precision.space
    xp, Z = space.xp, precision.there
    first, n = len(Z) - work.n_rows, work.n_rows  # the rows of the batch are the last
    roots = xp.sqrt(work.C)
    new = space.array(mu).copy()
    for start in range(0, n, ROWS):
        at = slice(start, min(start + ROWS, n))
        here, root = slice(first + at.start, first + at.stop), roots[at]
        V = precision.solved(Z @ Z[here].T)[here] / (root[:, np.newaxis] * root)
        G = xp.zeros((ROWS, ROWS))
        G[: len(V), : len(V)] = (V + V.T) / 2
        work.f[:, at] = (new @ Z[here].T) / root
        space.steps(G, at, work)
        b = xp.zeros((len(Z), work.n_heads))
        b[here] = (work.a[:, at] / root).T
        new = new + (Z.T @ precision.solved(b)).T  # mu += P^-1 X'(alpha y), and X is Z over the roots
    return new


# -- answers -------------------------------------------------------------------------------------------------


def variances(precision: There, rows: Measured, dtype: np.dtype[Any]) -> Any:
    """x'P^-1 x of every row, on the device."""
    space, n = precision.space, precision.n_slots
    xp = space.xp
    v = xp.empty(len(rows))
    if isinstance(precision, TriangleThere):
        room = xp.empty((min(space.chunk_rows(rows.width), len(rows)), rows.width))
        for at, Z in whitened(precision.whitener(dtype), rows, lambda n_rows, _: room[:n_rows]):
            v[at] = (Z * Z).sum(axis=1)
        return v
    for at, block in rows.blocks(np.dtype(np.float64)):
        v[at] = (block * block).sum(axis=1)
        if len(precision.there):
            along = space.solved(precision.factor, precision.there @ block[:, :n].T, transposed=True)
            v[at] -= (along * along).sum(axis=0)
    return xp.maximum(v, 0)

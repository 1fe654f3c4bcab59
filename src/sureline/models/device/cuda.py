"""A CUDA device as a space: CuPy's arrays, cuBLAS for products, and our kernels for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..._inputs import Array
from ..numbers import Policy
from .space import ROWS, Pass, Space, Turns

_LANES = 32  # columns of a slice in `learn_chunk`
_SHARE = 4  # the pass takes this part of a device's multiprocessors, and leaves the rest to products
_PANEL = 128  # columns of inner products computed at a time, which skips an unused quarter
_PART = 64  # parts that the rows are measured in
_NEEDED = "which is not installed: pip install 'sureline[gpu]' (cupy-cuda13x; for CUDA 12 pip install cupy-cuda12x)"


class NoDevice(ValueError):
    """Raised if there is no CUDA device, or no library to use it with."""


@cache
def cuda_space(device: int = 0) -> CudaSpace:
    """The space of a CUDA device; NoDevice if there is none."""
    try:
        import cupy
    except ImportError:
        raise NoDevice(f"A CUDA device is used through CuPy, {_NEEDED}.") from None
    try:
        n_devices = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise NoDevice(f"device='cuda' needs a CUDA device, and there is none: {error}.") from None
    if device >= n_devices:
        raise NoDevice(f"There is no CUDA device {device}: this machine has {n_devices}.")
    return CudaSpace(cupy, device)


class CudaSpace(Space):
    """The arrays of one device."""

    def __init__(self, cupy: Any, device: int) -> None:
        self.xp = cupy
        self.device = device

    @contextmanager
    def here(self) -> Iterator[None]:
        with self.xp.cuda.Device(self.device):
            try:
                yield
            except self.xp.cuda.memory.OutOfMemoryError as error:
                free, total = self.xp.cuda.runtime.memGetInfo()
                raise MemoryError(
                    f"not enough memory on CUDA device {self.device} for this batch ({free >> 20:,} of {total >> 20:,} "
                    f"MiB are free; {error}); pass fewer rows at a time"
                ) from None

    def on_host(self, values: Any) -> Any:
        return values.get() if isinstance(values, self.xp.ndarray) else values

    def has_room(self, n_bytes: int) -> bool:
        free: int = self.xp.cuda.runtime.memGetInfo()[0] + self.xp.get_default_memory_pool().free_bytes()
        return n_bytes < free

    def crossing(
        self, n: int, size: int, d: int, dtype: np.dtype[Any], fill: Callable[[Array, int], None], keep: Any = None
    ) -> Iterator[tuple[int, Any]]:
        # Through two buffers in pinned memory: one part is sent while the one before is used.
        from cupyx import empty_pinned

        here, crossing = self.xp.cuda.get_current_stream(), self.xp.cuda.Stream(non_blocking=True)
        size = min(size, n)
        pinned = [empty_pinned((size, d), dtype) for _ in range(2)]
        room = [self.xp.empty((size, d), dtype) for _ in range(2)] if keep is None else []
        crossing.wait_event(here.record())  # their memory may belong to unfinished work
        crossed: list[Any] = [None, None]
        used: list[Any] = [None, None]
        try:
            for k, start in enumerate(range(0, n, size)):
                m, slot = min(size, n - start), k % 2
                if crossed[slot] is not None:
                    crossed[slot].synchronize()
                fill(pinned[slot][:m], start)
                if used[slot] is not None and keep is None:
                    crossing.wait_event(used[slot])
                part = room[slot][:m] if keep is None else keep[start : start + m]
                part.set(pinned[slot][:m], stream=crossing)
                crossed[slot] = crossing.record()
                here.wait_event(crossed[slot])
                yield start, part
                used[slot] = here.record()
        finally:
            crossing.synchronize()

    # -- products --------------------------------------------------------------------------------------------

    def product(self, a: Any, b: Any, out: Any, beta: float = 0.0) -> None:
        from cupy.cuda import cublas

        # cuBLAS has columns where we have rows, so that out' = b'a'.
        (m, n), k = out.shape, a.shape[1]
        if not (m and n):
            return
        factor, more = np.array([1.0], out.dtype), np.array([beta], out.dtype)
        (b, b_is, b_step), (a, a_is, a_step) = _as_stored(self.xp, b), _as_stored(self.xp, a)
        multiply = cublas.dgemm if out.dtype == np.float64 else cublas.sgemm
        multiply(
            *(self.xp.cuda.get_cublas_handle(), b_is, a_is, n, m, k),
            *(factor.ctypes.data, b.data.ptr, b_step, a.data.ptr, a_step),
            *(more.ctypes.data, out.data.ptr, out.strides[0] // out.itemsize),
        )

    def cholesky(self, P: Any) -> Any | None:
        from cupyx import errstate

        try:
            with errstate(linalg="raise"):
                R = self.xp.linalg.cholesky(P.T).T
        except np.linalg.LinAlgError:
            return None
        return R if bool(self.xp.isfinite(self.xp.diagonal(R)).all()) else None

    def solved(self, R: Any, B: Any, *, transposed: bool = False) -> Any:
        from cupyx.scipy.linalg import solve_triangular

        return solve_triangular(R, B, trans="T" if transposed else "N")

    # -- kernels ---------------------------------------------------------------------------------------------

    @cached_property
    def _module(self) -> Any:
        code = Path(__file__).with_name("kernels.cu").read_text()
        return self.xp.RawModule(code=code, options=("-std=c++17",))

    @cached_property
    def _kernels(self) -> dict[str, Any]:
        return {}

    def _kernel(self, name: str) -> Any:
        if name not in self._kernels:
            self._kernels[name] = self._module.get_function(name)
        return self._kernels[name]

    def prepared(
        self, X: Any, scales: Any, lengths: Any, roots: Any, intercept: int, width: int, dtype: np.dtype[Any]
    ) -> Any:
        n, d = X.shape
        X = _in_rows(self.xp, X)
        as_it_is = all(each is None for each in (scales, lengths, roots)) and intercept < 0 and X.dtype == dtype
        if as_it_is and d == width and X.flags.c_contiguous:
            return X
        out = self.xp.empty((n, width), dtype)
        pointers = [0 if each is None else each for each in (scales, lengths, roots)]
        arguments = (X, X.strides[0] // X.itemsize, n, d, *pointers, intercept, out, width)
        self._kernel(f"prepare_{X.dtype.name}_{np.dtype(dtype).name}")((-(-n // 8),), (32, 8), arguments)
        return out

    def sizes(self, X: Any) -> tuple[Any, Any]:
        n, d = X.shape
        X = _in_rows(self.xp, X)
        sums, counts = self.xp.empty((_PART, d)), self.xp.empty((_PART, d))
        arguments = (X, X.strides[0] // X.itemsize, n, d, sums, counts)
        self._kernel(f"measure_{X.dtype.name}")((-(-d // 128), _PART), (128,), arguments)
        return sums.sum(axis=0), counts.sum(axis=0)

    @contextmanager
    def turns(self, w: Any, rows: Pass) -> Iterator[Turns]:
        if rows.n_heads > 1:
            yield Turns(self, w, rows)
            return
        beside = TurnsBeside(self, w, rows)
        try:
            yield beside
        finally:
            beside.finish()

    def inner_products(self, Z: Any, out: Any = None) -> Any:
        """At least the upper triangles of Z Z' of every block of rows; the last block may have fewer rows."""
        from cupy.cuda import cublas

        width, n_blocks = Z.shape[1], -(-len(Z) // ROWS)
        if out is None:
            out = self.xp.zeros((n_blocks, ROWS, ROWS))
            if len(Z) % ROWS:  # whole blocks are multiplied
                Z = self.xp.concatenate([Z, self.xp.zeros((n_blocks * ROWS - len(Z), width))])
        one, zero = np.array([1.0]), np.array([0.0])
        for start in range(0, ROWS, _PANEL):
            stop = start + _PANEL
            cublas.dgemmStridedBatched(
                *(self.xp.cuda.get_cublas_handle(), 1, 0, _PANEL, stop, width, one.ctypes.data),
                *(Z.data.ptr + 8 * start * width, width, ROWS * width, Z.data.ptr, width, ROWS * width),
                *(zero.ctypes.data, out.data.ptr + 8 * start, ROWS, ROWS * ROWS, n_blocks),
            )
        return out

    def learn_chunk(self, Z: Any, G: Any, w: Any, start: int, rows: Pass, partial: Any, counts: Any) -> None:
        """The pass over a chunk for one head, in one launch."""
        at = slice(start, start + len(Z))
        n_slices = Z.shape[1] // _LANES
        processors = self.xp.cuda.Device(self.device).attributes["MultiProcessorCount"]
        helpers = max(1, min(n_slices, processors // _SHARE))
        counts.fill(0)
        how = (G, rows.labels[at], rows.C[at], int(rows.q == 2))
        results = (rows.f[0, at], rows.a[0, at], rows.squares[at])
        arguments = (Z, Z.shape[1], len(Z), *how, w, partial, counts, *results)
        self._kernel("learn_chunk")((helpers + 1,), (ROWS,), arguments)

    def steps(self, G: Any, at: slice, rows: Pass) -> None:
        how = (G, rows.labels, rows.C, int(rows.q == 2), at.start, at.stop - at.start, rows.n_rows)
        results = (rows.f, rows.a, rows.squares)
        if rows.policy is Policy.rival:
            self._kernel("rival_steps")((1,), (ROWS,), (*how, rows.n_heads, *results))
            return
        self._kernel("steps")((rows.n_heads,), (ROWS,), (*how, *results))


class TurnsBeside(Turns):
    """Runs the pass over a chunk in parallel with the products of the next one, on its own stream."""

    def __init__(self, space: CudaSpace, w: Any, rows: Pass) -> None:
        super().__init__(space, w, rows)
        self.space: CudaSpace = space
        self._stream = space.xp.cuda.Stream(non_blocking=True, priority=-1)
        self._rooms: list[tuple[Any, ...]] = []  # of every second chunk
        self._learned: list[Any] = [None, None]
        self._n_chunks = 0

    def room(self, n_rows: int, width: int) -> Any:
        xp, slot = self.space.xp, self._n_chunks % 2
        if slot == len(self._rooms):
            n_blocks = -(-n_rows // ROWS)
            Z, G = xp.zeros((n_blocks * ROWS, width)), xp.empty((n_blocks, ROWS, ROWS))
            self._rooms.append((Z, G, xp.empty((width // _LANES, ROWS)), xp.empty(2, np.uint64)))
        elif self._learned[slot] is not None:
            xp.cuda.get_current_stream().wait_event(self._learned[slot])
        return self._rooms[slot][0][:n_rows]

    def learn(self, Z: Any, start: int) -> None:
        slot = self._n_chunks % 2
        _, G, partial, counts = self._rooms[slot]
        self.space.inner_products(Z, G)
        self._stream.wait_event(self.space.xp.cuda.get_current_stream().record())
        with self._stream:
            self.space.learn_chunk(Z, G, self.w, start, self.rows, partial, counts)
        self._learned[slot] = self._stream.record()
        self._n_chunks += 1

    def finish(self) -> None:
        """Let the current stream wait for the pass."""
        self.space.xp.cuda.get_current_stream().wait_event(self._stream.record())


def _in_rows(xp: Any, X: Any) -> Any:
    """X with the values of a row side by side."""
    return X if X.strides[1] == X.itemsize and X.strides[0] % X.itemsize == 0 else xp.ascontiguousarray(X)


def _as_stored(xp: Any, a: Any) -> tuple[Any, int, int]:
    """A matrix for cuBLAS: its array, 1 if its columns lie side by side in place of its rows, and their distance."""
    step, inner = (max(stride // a.itemsize, 1) for stride in a.strides)
    if inner == 1:
        return a, 0, max(step, a.shape[1])
    if step == 1:
        return a, 1, max(inner, a.shape[0])
    a = xp.ascontiguousarray(a)
    return a, 0, max(a.shape[1], 1)

"""CuPy without a GPU: NumPy's arrays behind its names, and kernels that run on the host as they are.

Arrays of the two kinds do not mix, as they do not with CuPy. cuBLAS is told by addresses, as it is there.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import types
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

BESIDE = ("learn_chunk",)  # kernels whose blocks wait for each other
HERE = Path(__file__).parent
KERNELS = HERE.parent / "src" / "sureline" / "models" / "device" / "kernels.cu"


class Memory:
    def __init__(self, address: int) -> None:
        self.ptr = address


class FakeArray(np.ndarray):
    @property
    def data(self) -> Any:  # type: ignore[override]
        return Memory(self.__array_interface__["data"][0])

    device = property(lambda self: nullcontext())

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def get(self) -> np.ndarray:
        return np.array(self)

    def set(self, values: np.ndarray, stream: Any = None) -> None:
        assert self.flags.c_contiguous
        assert values.flags.c_contiguous
        assert (self.shape, self.dtype) == (values.shape, values.dtype)
        self.view(np.ndarray)[...] = values

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **more: Any) -> Any:
        refuse_host(*inputs, *more.get("out", ()))
        return as_fake(getattr(ufunc, method)(*plain(inputs), **plain(more)))

    def __array_function__(self, function: Any, kinds: Any, arguments: Any, named: Any) -> Any:
        refuse_host(*arguments)
        return as_fake(function(*plain(arguments), **plain(named)))

    def __getitem__(self, key: Any) -> Any:
        refuse_host(*(key if isinstance(key, tuple) else (key,)))
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse_host(*(key if isinstance(key, tuple) else (key,)), value)
        super().__setitem__(key, value)


def refuse_host(*values: Any) -> None:
    for value in values:
        if isinstance(value, list | tuple):
            refuse_host(*value)
        if isinstance(value, np.ndarray) and not isinstance(value, FakeArray):
            raise TypeError("Unsupported type numpy.ndarray")


def plain(value: Any) -> Any:
    """The same with arrays of NumPy."""
    if isinstance(value, list | tuple):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value.view(np.ndarray) if isinstance(value, FakeArray) else value


def as_fake(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(as_fake, value))
    return value.view(FakeArray) if isinstance(value, np.ndarray) else value


class Stream:
    def __init__(self, non_blocking: bool = False, priority: int = 0) -> None: ...

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *failure: object) -> None: ...

    def record(self) -> Stream:
        return self

    def wait_event(self, event: Stream) -> None: ...

    def synchronize(self) -> None: ...


class RawModule:
    """The kernels, compiled for the host; `library` is where that is."""

    def __init__(self, code: str, options: tuple[str, ...]) -> None:
        assert code == KERNELS.read_text()
        self._library = ctypes.CDLL(str(RawModule.library))
        self.launches: list[str] = []

    def get_function(self, name: str) -> Any:
        kernel = ctypes.cast(getattr(self._library, name), ctypes.c_void_p)

        def launch(grid: tuple[int, ...], block: tuple[int, ...], arguments: tuple[Any, ...]) -> None:
            self.launches.append(name)
            numbers = []
            for value in arguments:
                assert isinstance(value, int | FakeArray), (name, type(value))
                numbers.append(value.data.ptr if isinstance(value, FakeArray) else value)
            (gx, gy), (bx, by) = ((*sizes, 1)[:2] for sizes in (grid, block))
            given = (ctypes.c_longlong * len(numbers))(*numbers)
            self._library.launch(kernel, gx, gy, bx, by, name in BESIDE, given, len(numbers))

        return launch

    library = Path()


def build(folder: Path, compiler: str) -> None:
    RawModule.library = folder / "kernels.so"
    command = [compiler, "-std=c++20", "-O1", "-shared", "-fPIC", "-pthread", f'-DKERNELS="{KERNELS}"', "-o"]
    subprocess.run([*command, str(RawModule.library), str(HERE / "cuda_on_host.cpp")], check=True)


def gemm(dtype: Any) -> Any:
    def in_columns(address: int, rows: int, columns: int, step: int) -> np.ndarray:
        assert step >= rows
        size = (columns - 1) * step + rows
        flat = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(kind)), (size,))
        return np.lib.stride_tricks.as_strided(flat, (rows, columns), (flat.itemsize, step * flat.itemsize))

    kind = ctypes.c_double if dtype is np.float64 else ctypes.c_float

    def multiply(
        handle: Any, a_is: int, b_is: int, m: int, n: int, k: int,
        alpha: int, a: int, a_step: int, b: int, b_step: int, beta: int, c: int, c_step: int,
    ) -> None:  # fmt: skip
        A = in_columns(a, k, m, a_step).T if a_is else in_columns(a, m, k, a_step)
        B = in_columns(b, n, k, b_step).T if b_is else in_columns(b, k, n, b_step)
        C = in_columns(c, m, n, c_step)
        factor, more = (in_columns(address, 1, 1, 1)[0, 0] for address in (alpha, beta))
        C[...] = factor * (A @ B) + (more * C if more else 0)

    return multiply


def gemm_strided_batched(
    handle: Any, a_is: int, b_is: int, m: int, n: int, k: int, alpha: int,
    a: int, a_step: int, a_next: int, b: int, b_step: int, b_next: int, beta: int, c: int, c_step: int, c_next: int,
    n_products: int,
) -> None:  # fmt: skip
    for i in range(n_products):
        A, B, C = (a + 8 * i * a_next, a_step), (b + 8 * i * b_next, b_step), (c + 8 * i * c_next, c_step)
        gemm(np.float64)(handle, a_is, b_is, m, n, k, alpha, *A, *B, beta, *C)


class Device:
    attributes: ClassVar = {"MultiProcessorCount": 24}

    def __init__(self, number: int = 0) -> None: ...

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *failure: object) -> None: ...


@contextmanager
def errstate(**named: Any) -> Any:
    yield


def solve_triangular(R: Any, B: Any, trans: str = "N", lower: bool = False) -> Any:
    from scipy.linalg import solve_triangular as solve

    refuse_host(R, B)
    return as_fake(solve(np.asarray(R), np.asarray(B), trans=trans, lower=lower, check_finite=False))


def modules(n_devices: int = 1, free: int = 1 << 40) -> dict[str, types.ModuleType]:
    """The modules that are imported of CuPy, by name."""
    cupy: Any = types.ModuleType("cupy")

    class CUDARuntimeError(RuntimeError): ...

    class OutOfMemoryError(MemoryError): ...

    def wrapped(function: Any, host: bool) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            if not host:
                refuse_host(*arguments)
            return as_fake(function(*arguments, **named))

        return call

    def attribute(name: str) -> Any:
        value = getattr(np, name)
        plain = not callable(value) or isinstance(value, type)
        return value if plain else wrapped(value, name in ("asarray", "array"))

    cupy.__getattr__ = attribute
    cupy.ndarray = FakeArray
    cupy.float64, cupy.float32 = np.float64, np.float32
    cupy.from_dlpack = lambda X: X.values
    cupy.RawModule = RawModule
    cupy.get_default_memory_pool = lambda: types.SimpleNamespace(free_bytes=lambda: 0)
    cupy.linalg = types.SimpleNamespace(
        **{name: wrapped(getattr(np.linalg, name), False) for name in ("cholesky", "qr", "norm")}
    )

    def device_count() -> int:
        if n_devices == 0:
            raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return n_devices

    cuda: Any = types.ModuleType("cupy.cuda")
    cuda.Device = Device
    cuda.Stream, cuda.get_current_stream, cuda.get_cublas_handle = Stream, Stream, lambda: 0
    cuda.memory = types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError)
    cuda.runtime = types.SimpleNamespace(
        getDeviceCount=device_count, memGetInfo=lambda: (free, 1 << 40), CUDARuntimeError=CUDARuntimeError
    )
    cuda.cublas = types.SimpleNamespace(
        dgemm=gemm(np.float64), sgemm=gemm(np.float32), dgemmStridedBatched=gemm_strided_batched
    )
    cupy.cuda = cuda
    cupyx: Any = types.ModuleType("cupyx")
    cupyx.empty_pinned, cupyx.errstate = np.empty, errstate
    linalg: Any = types.ModuleType("cupyx.scipy.linalg")
    linalg.solve_triangular = solve_triangular
    import scipy.special

    names = {"cupy": cupy, "cupy.cuda": cuda, "cupyx": cupyx, "cupyx.scipy.linalg": linalg}
    return {**names, "cupyx.scipy": types.ModuleType("cupyx.scipy"), "cupyx.scipy.special": scipy.special}


class OnFakeDevice:
    """An array on the fake device, of a library that has nothing but DLPack."""

    def __init__(self, values: Any) -> None:
        self.values = np.array(values).view(FakeArray)
        self.dtype, self.shape = self.values.dtype, self.values.shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def __array_namespace__(self) -> Any:
        return types.SimpleNamespace(from_dlpack=OnFakeDevice)


assert sys.version_info >= (3, 11)

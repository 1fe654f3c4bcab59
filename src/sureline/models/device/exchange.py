"""Arrays on CUDA devices, of any library, by the DLPack protocol."""

from __future__ import annotations

import sys
from typing import Any, TypeVar

import numpy as np

from ..._inputs import Array

Kind = TypeVar("Kind")
_CUDA, _MANAGED = 2, 13  # kDLCUDA and kDLCUDAManaged of dlpack.h


def is_on_device(X: Any) -> bool:
    """True for an array in the memory of a CUDA device, of PyTorch, CuPy, JAX or another DLPack library."""
    if type(X) is np.ndarray or not hasattr(type(X), "__dlpack_device__"):
        return False
    return int(X.__dlpack_device__()[0]) in (_CUDA, _MANAGED)


def device_of(X: Any) -> int:
    """The number of the device that X is on."""
    return int(X.__dlpack_device__()[1])


def as_cupy(X: Any) -> Any:
    """X, which is on a device, as a CuPy array over the same memory."""
    import cupy

    if isinstance(X, cupy.ndarray):
        return _of_numbers(X, X.dtype)
    if hasattr(X, "detach"):  # PyTorch exports nothing that gradients may flow through
        X = X.detach()
    with cupy.cuda.Device(device_of(X)):
        name = getattr(X, "dtype", "?")
        try:
            read = cupy.from_dlpack(X)
        except (TypeError, ValueError, BufferError, RuntimeError) as error:
            raise TypeError(
                f"Input X of dtype {name} cannot be read through DLPack: {error}; convert it to float32 first."
            ) from None
        return _of_numbers(read, name)


def _of_numbers(X: Any, name: object) -> Any:
    """X, if it has numbers that NumPy knows: bfloat16 comes through as bytes."""
    if X.dtype.kind not in "biufcO":
        raise TypeError(f"Input X of dtype {name} has no numbers that NumPy knows; convert it to float32 first.")
    return X


def on_host(values: Any) -> Any:
    """Values as NumPy has them if they are on a device, and as they are otherwise."""
    return as_cupy(values).get() if is_on_device(values) else values


def handed_back(answers: Kind, X: Any) -> Kind:
    """Answers on a device as an array of X's library; other answers unchanged."""
    if not is_on_device(answers) or type(answers) is type(X):
        return answers
    if hasattr(X, "__array_namespace__"):
        library = X.__array_namespace__()
    else:
        library = sys.modules.get(type(X).__module__.split(".")[0])
    back: Kind = library.from_dlpack(answers) if hasattr(library, "from_dlpack") else answers
    return back


def chosen_labels(classes: Array, best: Any) -> Any:
    """The classes at these positions, on the same device; text classes as NumPy arrays."""
    if not is_on_device(best):
        return classes[best]
    if classes.dtype.kind not in "biuf":
        return classes[best.get()]
    import cupy

    with best.device:
        return cupy.asarray(classes)[best]

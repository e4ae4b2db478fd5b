"""Where arrays live, and how tiles of kernel matrices are computed there.

    cpu      NumPy arrays and SciPy CSR matrices: BLAS and numba, one thread per core
    torch    torch tensors on any device; CuPy arrays cross to it by DLPack and back
    generic  any other array of the array-API standard: the reference, with nothing fused
    symbolic formulas in place of arrays: what a kernel computes, for `triton_products` to make a GPU kernel of

Everything above this layer is written once, against the array-API namespace that `namespace` returns. The modules
compiled_*.py hold the loops that numba compiles for `cpu`, for the neighbour graphs and for the maps. What these do
with NumPy arrays, torch_*.py do with tensors, and triton_*.py with the few kernels that a card needs for it.

A backend is a module (or any object) with these members; `generic` is the shortest one and describes each of them:

    TILE, FUSED, workers, free_bytes, for_each, one_thread, buffer          how jobs and memory are dealt out
    product, dot, sqeuclidean, sqeuclidean_direct, refine_near, coordinatewise, mirrored, set_diagonal     arithmetic

Optional members are `fuses` and `fused_product`, for products without a matrix, and `cholesky` with `cholesky_solve`.
To add one, write it, call `register_backend`, and run `mercer.testing.check_backend`, which compares it with `generic`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import array_api_compat
import array_api_compat.numpy
import numpy as np
import scipy.sparse as sp

Array = Any


def is_torch(X: Any) -> bool:
    return "torch" in sys.modules and array_api_compat.is_torch_array(X)


def is_cupy(X: Any) -> bool:
    return "cupy" in sys.modules and array_api_compat.is_cupy_array(X)


def is_foreign(X: Any) -> bool:
    """Whether X is an array of another library: neither NumPy's nor something that NumPy should convert."""
    if isinstance(X, np.ndarray) or sp.issparse(X) or not array_api_compat.is_array_api_obj(X):
        return False
    return not isinstance(X, np.generic)


_registered: list[tuple[Callable[[Any], bool], Any]] = []  # by `register_backend`, the latest first


def backend_of(X: Any) -> Any:
    """The backend that computes with arrays such as X."""
    if not is_foreign(X):
        return _module("cpu")
    for recognises, backend in _registered:
        if recognises(X):
            return backend
    return _module("torch" if is_torch(X) else "generic")


@cache
def _module(name: str) -> ModuleType:
    return import_module(f"mercer.backends.{name}")


def register_backend(recognises: Callable[[Any], bool], backend: Any) -> Callable[[], None]:
    """Let `backend` compute with the arrays for which recognises(X) is true; later registrations are asked first.

    X is an array of the array-API standard that is not NumPy's. Without a registration `generic` computes with it.
    Returns a function that takes the registration back.
    """
    entry = recognises, backend
    _registered.insert(0, entry)
    return lambda: _registered.remove(entry)


def namespace(X: Any) -> Any:
    """The array-API namespace of X; NumPy's for CSR matrices and everything that NumPy converts."""
    if is_foreign(X):
        return array_api_compat.array_namespace(X)
    return array_api_compat.numpy


def device_of(X: Any) -> Any:
    return X.device if is_foreign(X) else "cpu"


def placement(X: Any) -> dict[str, Any]:
    """The keyword arguments with which a namespace creates a new array on the device of X."""
    return {"device": X.device} if is_foreign(X) else {}


def beside(values: np.ndarray, like: Any) -> Any:
    """NumPy values as an array of the library, the device and the precision of `like`."""
    if isinstance(like, np.ndarray):
        return np.asarray(values, dtype=like.dtype)
    return namespace(like).asarray(values, dtype=like.dtype, **placement(like))


def on_device(values: Any, device: Any) -> Any:
    """NumPy values as a torch tensor on a device, such as "cuda"; a tensor is moved there."""
    return import_module("mercer.backends.torch").on_device(values, device)


def card() -> str | None:
    """The device on which torch computes with an NVIDIA GPU, or None without torch or without one."""
    if find_spec("torch") is None:
        return None
    return "cuda" if import_module("torch").cuda.is_available() else None


def columns_of(V: Any, index: np.ndarray) -> Any:
    """The columns of V with the given numbers."""
    if isinstance(V, np.ndarray):
        if V.flags.f_contiguous:  # whole columns lie together, and stay so
            return V.T.take(index, axis=0).T
        return V.take(index, axis=1)
    xp = namespace(V)
    return xp.take(V, xp.asarray(index, **placement(V)), axis=1)


def column_signs(V: Any) -> np.ndarray:
    """−1 for columns whose (first) entry of largest magnitude is negative, 1 for the others."""
    if isinstance(V, np.ndarray):
        step = max(8, 2**17 // max(1, len(V)))  # columns at a time: magnitudes that stay in the cache
        runs = [V[:, start : start + step] for start in range(0, V.shape[1], step)]
        parts = [run[np.abs(run).argmax(axis=0), np.arange(run.shape[1])] for run in runs]
        largest = np.concatenate([np.empty(0), *parts])
    else:
        xp = namespace(V)
        largest = to_numpy(xp.take_along_axis(V, xp.argmax(xp.abs(V), axis=0)[None, :], axis=0))[0]
    return np.where(largest < 0, -1.0, 1.0)


def adopt(X: Any) -> tuple[Any, Callable[[Any], Any]]:
    """X as an array that a backend knows, and a function that converts results back to the type of X.

    A tensor that requires gradients is detached: what a fit computes has none.
    """
    if is_torch(X) and X.requires_grad:
        X = X.detach()
    if not is_cupy(X):
        return X, lambda result: result
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise TypeError(
            "Mercer computes with CuPy arrays through torch, which is not installed: pip install torch."
        ) from error
    cupy = sys.modules["cupy"]
    return torch.from_dlpack(X), lambda result: cupy.from_dlpack(result.contiguous())


def as_floats(X: Any) -> Any:
    """A foreign array in float32 or float64: halves become float32, which holds them exactly, and integers float64.

    Raises TypeError for complex numbers, and for arrays that hold no numbers.
    """
    xp = namespace(X)
    if is_torch(X) and str(X.layout) != "torch.strided":
        raise TypeError(f"X is a tensor with the layout {X.layout}. Give X.to_dense(), or a SciPy CSR matrix.")
    if X.dtype in (xp.float32, xp.float64) and str(device_of(X)) != "meta":
        return X
    if xp.isdtype(X.dtype, "complex floating"):
        raise TypeError(f"Complex data not supported: X has {X.dtype}. Give real numbers, such as X.real.")
    if str(device_of(X)) == "meta":
        raise TypeError("X is on the device 'meta', which holds shapes and no numbers. Only plan(X) can use it.")
    is_half = is_torch(X) and X.dtype.is_floating_point
    return xp.astype(X, xp.float32 if is_half else xp.float64)


def to_numpy(x: Any) -> np.ndarray:
    """A copy of x (or x itself) as a NumPy array on the host."""
    if is_torch(x):
        return x.detach().cpu().numpy()
    if is_cupy(x):
        return x.get()
    if is_foreign(x):
        return np.from_dlpack(x)
    return np.asarray(x)


def slices(n: int, size: int = 2048) -> Iterator[slice]:
    """Split range(n) into consecutive slices of at most `size` rows.

    >>> list(slices(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + size, n)) for start in range(0, n, size))

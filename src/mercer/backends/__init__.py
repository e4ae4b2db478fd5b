"""Where arrays live and how tiles are computed there. A backend is a flat module of functions.

    cpu      NumPy arrays and SciPy CSR matrices: BLAS and numba, a thread a core
    torch    torch tensors on any device; CuPy arrays cross to it by DLPack and back
    generic  any other array of the array-API standard: the reference, with nothing fused

Everything above this layer is written once, against the array-API namespace that `namespace` returns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
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
    """Whether X is an array that is neither NumPy's nor something that NumPy should convert."""
    if isinstance(X, np.ndarray) or sp.issparse(X) or not array_api_compat.is_array_api_obj(X):
        return False
    return not isinstance(X, np.generic)


def backend_of(X: Any) -> ModuleType:
    """The backend module that computes with arrays such as X."""
    if not is_foreign(X):
        return _module("cpu")
    return _module("torch" if is_torch(X) else "generic")


@cache
def _module(name: str) -> ModuleType:
    return import_module(f"mercer.backends.{name}")


def namespace(X: Any) -> Any:
    """The array-API namespace of X; NumPy's for CSR matrices and everything that NumPy converts."""
    if is_foreign(X):
        return array_api_compat.array_namespace(X)
    return array_api_compat.numpy


def device_of(X: Any) -> Any:
    return X.device if is_foreign(X) else "cpu"


def placement(X: Any) -> dict[str, Any]:
    """The keyword arguments that make a namespace's constructors put a new array beside X."""
    return {"device": X.device} if is_foreign(X) else {}


def beside(values: np.ndarray, like: Any) -> Any:
    """NumPy values as an array of the kind, the place and the precision of `like`."""
    if isinstance(like, np.ndarray):
        return np.asarray(values, dtype=like.dtype)
    return namespace(like).asarray(values, dtype=like.dtype, **placement(like))


def columns_of(V: Any, index: np.ndarray) -> Any:
    """The columns of V that NumPy's index names."""
    if isinstance(V, np.ndarray):
        return V.take(index, axis=1)
    xp = namespace(V)
    return xp.take(V, xp.asarray(index, **placement(V)), axis=1)


def column_signs(V: Any) -> np.ndarray:
    """−1 for columns whose (first) entry of largest magnitude is negative, 1 for the others."""
    if isinstance(V, np.ndarray):
        largest = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    else:
        xp = namespace(V)
        largest = to_numpy(xp.take_along_axis(V, xp.argmax(xp.abs(V), axis=0)[None, :], axis=0))[0]
    return np.where(largest < 0, -1.0, 1.0)


def adopt(X: Any) -> tuple[Any, Callable[[Any], Any]]:
    """X as an array that a backend knows, and the way back to the type it came in."""
    if not is_cupy(X):
        return X, lambda result: result
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise TypeError("CuPy arrays are computed through torch, which is not installed: pip install torch.") from error
    cupy = sys.modules["cupy"]
    return torch.from_dlpack(X), lambda result: cupy.from_dlpack(result.contiguous())


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

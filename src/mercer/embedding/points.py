"""What the sums over pairs accept as points of a map."""

from __future__ import annotations

import numpy as np

_LARGEST = {"f": 1e15, "d": 1e100}  # coordinates up to which no square overflows


def checked(Y: np.ndarray, n_components: int, name: str = "Y") -> np.ndarray:
    """Y as the loops take it: C-contiguous, float32 or float64 (float64 where squares overflow float32), finite."""
    if not isinstance(Y, np.ndarray) or Y.dtype.char not in _LARGEST:
        raise TypeError(f"{name} must be a NumPy array of float32 or float64, not {getattr(Y, 'dtype', type(Y))}.")
    if Y.ndim != 2 or Y.shape[1] != n_components or len(Y) == 0:
        raise ValueError(f"{name} has shape {Y.shape}; (n, {n_components}) with n ≥ 1 is needed.")
    largest = max(float(Y.max()), -float(Y.min()))  # NaN where there is one
    if not largest <= _LARGEST["d"]:
        raise ValueError(
            f"{name} has coordinates that are NaN, infinite or above {_LARGEST['d']:g}: the map has run away. "
            "Try a smaller learning rate."
        )
    return np.ascontiguousarray(Y, np.float64 if largest > _LARGEST["f"] else Y.dtype)


def checked_pair(new: np.ndarray, fixed: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Both sets of points, in one type."""
    new, fixed = checked(new, n_components, "new"), checked(fixed, n_components, "fixed")
    both = np.result_type(new, fixed)
    return new.astype(both, copy=False), fixed.astype(both, copy=False)

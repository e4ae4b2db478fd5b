"""Where the points of a map begin: principal components or noise, on a scale on which every pair repels alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mercer.exceptions import DegenerateDataWarning, warn

SCALE = 1e-4  # the standard deviation of the first column: so small that the similarity of every pair is 1
_JITTER = 1e-2  # relative to the scale, so that equal rows do not begin at one point


def initial_map(init: Any, n: int, c: int, rng: np.random.Generator, scores: Callable[[int], np.ndarray]) -> np.ndarray:
    """The first map, (n, c) float32.

    init : an array (n, c), taken as it is; "pca", principal components and a little noise; or "random"
    scores : seed -> the principal components of the rows, (n, at most c), called for "pca" alone
    """
    if not isinstance(init, str):
        return given_map(init, n, c)
    noise = rng.standard_normal((n, c))
    components = _to_unit_spread(scores(int(rng.integers(2**31)))) if init == "pca" else None
    if components is None:
        return (SCALE * noise).astype(np.float32)
    Y = _JITTER * noise
    Y[:, : components.shape[1]] += components
    return (SCALE * Y).astype(np.float32)


def given_map(init: Any, n: int, c: int) -> np.ndarray:
    """The map that the user gives, as a fresh float32 array; ValueError unless it is (n, c) and finite."""
    Y = np.asarray(init)
    if Y.shape != (n, c):
        raise ValueError(f"init has the shape {Y.shape}, but {n} samples in {c} dimensions need {(n, c)}.")
    if Y.dtype.kind not in "iuf" or not np.all(np.isfinite(Y)):
        raise ValueError("init must hold finite numbers only. Give finite positions, or init='pca'.")
    return np.array(Y, np.float32, order="C")


def movable_points(fixed: Any, n: int) -> np.ndarray:
    """Which of n points may move, (n,) booleans, from a mask or the row numbers of those that may not."""
    fixed = np.asarray(fixed)
    if fixed.dtype.kind == "b" and fixed.shape == (n,):
        return ~fixed
    if fixed.dtype.kind not in "iu" or fixed.ndim != 1 or fixed.max(initial=0) >= n or fixed.min(initial=0) < -n:
        raise ValueError(f"fixed must be a mask of {n} booleans, or row numbers below {n}.")
    free = np.ones(n, np.bool_)
    free[fixed] = False
    return free


def _to_unit_spread(scores: np.ndarray) -> np.ndarray | None:
    """Scores divided by the standard deviation of the first column; None, with a warning, if nothing varies."""
    spread = np.std(scores[:, 0]) if scores.shape[1] else 0.0
    if not spread > 0:
        warn("Nothing varies along the first principal component, so the map begins at random.", DegenerateDataWarning)
        return None
    return scores / spread

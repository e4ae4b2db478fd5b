"""The scale of a map at which a loss is least: a look over many octaves, then a search near the best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

_OCTAVES = 12  # on either side of the scale at which neighbours are one unit apart
_STEP = 0.5
_CLOSE = 5e-3  # of log s at the end: the loss is flat there, and wrong by the square of it


def best_scale(rough: Callable[[float], float], loss: Callable[[float], float], spacing: float) -> float:
    """The s with the least loss(s); `rough` is cheaper and tells where to look.

    spacing : a typical distance of neighbours, at scale 1

    >>> round(best_scale(lambda s: abs(np.log(s / 5)), lambda s: np.log(s / 5) ** 2, 1.0), 2)
    5.0
    """
    scales = 2.0 ** np.arange(-_OCTAVES, _OCTAVES + _STEP, _STEP) / spacing
    seen = np.array([rough(s) for s in scales])
    if np.ptp(seen) <= 1e-12 * max(1.0, float(np.abs(seen).max())):
        return float(1 / spacing)  # a map of one point: every scale is the same but for rounding
    middle = np.log(scales[int(np.argmin(seen))])
    reach = 1.5 * _STEP * np.log(2)
    found = minimize_scalar(
        lambda t: loss(float(np.exp(t))),
        bounds=(middle - reach, middle + reach),
        method="bounded",
        options={"xatol": _CLOSE},
    )
    return float(np.exp(found.x))

"""From residuals to bounds on eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backends import to_numpy


def column_norms(R: Any, xp: Any) -> np.ndarray:
    """‖r‖ of each column, (b,), scaled first: squares of 1e-200 and of 1e200 are no numbers any more."""
    scale = xp.max(xp.abs(R), axis=0)
    scale = xp.where(scale > 0, scale, xp.ones_like(scale))
    return to_numpy(scale * xp.sqrt(xp.sum((R / scale) ** 2, axis=0)))


def error_bounds(values: np.ndarray, residuals: np.ndarray, n: int, rest: float | None = None) -> np.ndarray:
    """|γ − θ| ≤ min(r, r²/gap) for descending Ritz values θ with residuals r of an n × n matrix.

    The first bound always holds for the nearest eigenvalue. The second (Kato–Temple) needs the distance from θ to all
    other eigenvalues; it is taken to the other Ritz intervals [θ ± r], and for the last values to `rest`, the next
    Ritz value. Without `rest` the last value keeps r, and so does any whose interval meets another's. √n · eps · θ₁ is
    added for what rounding does to a sum of n terms.
    """
    bounds = residuals.copy()
    for i, theta in enumerate(values):
        others = np.arange(len(values)) != i
        gaps = np.abs(values[others] - theta) - residuals[others]
        below = theta - rest if rest is not None else (0.0 if i == len(values) - 1 else np.inf)
        gap = min(gaps.min(initial=np.inf), below)
        if np.isfinite(gap) and gap > 2 * residuals[i]:
            bounds[i] = residuals[i] * (residuals[i] / (gap - residuals[i]))
    rounding = np.sqrt(n) * np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
    return np.minimum(bounds, residuals) + rounding

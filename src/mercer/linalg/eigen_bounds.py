"""From residuals to bounds on eigenvalues."""

from __future__ import annotations

import numpy as np


def error_bounds(values: np.ndarray, residuals: np.ndarray, rest: float | None = None) -> np.ndarray:
    """|γ − θ| ≤ min(r, r²/gap) for descending Ritz values θ with residuals r.

    The first bound always holds for the nearest eigenvalue. The second (Kato–Temple) needs the distance from θ to all
    other eigenvalues; it is taken to the other Ritz intervals [θ ± r], and for the last values to `rest`, the next
    Ritz value. Without `rest` the last value keeps r, and so does any whose interval meets another's.
    """
    bounds = residuals.copy()
    for i, theta in enumerate(values):
        others = np.arange(len(values)) != i
        gaps = np.abs(values[others] - theta) - residuals[others]
        below = theta - rest if rest is not None else (0.0 if i == len(values) - 1 else np.inf)
        gap = min(gaps.min(initial=np.inf), below)
        if np.isfinite(gap) and gap > 2 * residuals[i]:
            bounds[i] = residuals[i] ** 2 / (gap - residuals[i])
    rounding = np.finfo(np.float64).eps * np.abs(values).max(initial=0.0)
    return np.minimum(bounds, residuals) + rounding

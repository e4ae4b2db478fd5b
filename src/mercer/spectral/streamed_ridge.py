"""Ridge regression from the sums over features and targets.

With S = Σ f fᵀ and B = Σ f yᵀ, both about their means if there is an intercept, β = (S + αI)⁻¹ B.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.streams.sufficient_statistics import SufficientStatistics


def ridge_of_sums(
    sums: SufficientStatistics, m: int, alpha: Any, *, intercept: bool = True
) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients (t, m) and intercepts (t,) for the t columns that follow the first m.

    alpha : a number, or one per target
    Cost: 9 m³ flops. Directions along which S + αI is rounding, which only α = 0 has, get no weight.
    """
    if intercept:
        products, mean = sums.centred_products(), sums.mean
    else:
        cross = np.outer(sums.shift, sums.sums)
        products, mean = sums.products + cross + cross.T + sums.n * np.outer(sums.shift, sums.shift), 0 * sums.mean
    values, vectors = np.linalg.eigh(products[:m, :m])
    alpha = np.broadcast_to(np.asarray(alpha, np.float64), (len(mean) - m,))
    shifted = np.maximum(values, 0.0)[:, None] + alpha  # (m, t)
    floor = m * np.finfo(np.float64).eps * max(float(values.max(initial=0.0)), 0.0)
    alive = shifted > floor
    inside = np.where(alive, vectors.T @ products[:m, m:] / np.where(alive, shifted, 1.0), 0.0)
    coefs = (vectors @ inside).T
    return coefs, mean[m:] - coefs @ mean[:m]

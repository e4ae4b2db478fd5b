"""The whole of a positive semidefinite matrix as F Fᵀ, singular or not: Cholesky with complete pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf

from mercer.linalg.lowrank import Factor


def complete_cholesky(K: np.ndarray, rng: np.random.Generator, *, dtype: Any = np.float64) -> Factor:
    """F with F Fᵀ = K up to rounding, (n, r) for K of numerical rank r; K (n, n) float64 is overwritten.

    LAPACK's blocked pivoted Cholesky computes it, and stops when the largest remaining diagonal entry is within
    rounding. A matrix that is not positive semidefinite has no such factor. `negative` then tells how far F Fᵀ is from
    it, judged by the diagonal and by the product with one random vector. Cost: n³/3 flops at most, in place.

    `rng` draws the random vector, and `dtype` is the precision of F.

    >>> K = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> F = complete_cholesky(K.copy(), np.random.default_rng(0)).F
    >>> bool(np.allclose(F @ F.T, K))
    True
    """
    n = len(K)
    diagonal = K.diagonal().copy()
    largest = float(diagonal.max(initial=0.0))
    probe = rng.standard_normal(n)
    product = K @ probe
    # Columns below the rounding of `dtype` would be noise, and the map of new points would multiply theirs by it.
    noise = 4 * n * np.finfo(np.float64).eps * largest + 64 * np.finfo(dtype).eps * largest
    # LAPACK is given Kᵀ = K in its own order, so that nothing is copied. A tolerance below zero would be its default.
    nothing = K, np.arange(1, n + 1), 0, 0
    L, pivots, rank, _ = dpstrf(K.T, tol=noise, lower=1, overwrite_a=1) if largest > 0 else nothing
    L = np.tril(L[:, :rank])
    F = np.empty((n, rank))
    F[pivots - 1] = L
    left = diagonal - np.einsum("ij,ij->i", F, F)
    missed = np.abs(product - F @ (F.T @ probe)).max(initial=0.0) / max(np.abs(probe).max(), 1.0)
    total = float(np.maximum(diagonal, 0.0).sum())
    negative = max(0.0, -float(left[left < -n * noise].sum()), missed if missed > n * noise else 0.0)
    return Factor(
        F.astype(dtype, copy=False),
        pivots[:rank].astype(np.int64) - 1,
        float(np.maximum(left, 0.0).sum()) + n * noise / 64,
        negative / total if total > 0 else float(negative > 0),
    )

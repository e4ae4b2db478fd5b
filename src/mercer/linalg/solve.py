"""(A + μI) X = B for a matrix that may not be stored: conjugate gradients on all columns at once, with residuals.

The preconditioner is a low-rank factor of A. With its eigenpairs (U, θ), θ_r the least of them,

    P⁻¹ = (θ_r + μ) U (Θ + μ)⁻¹ Uᵀ + (I − UUᵀ)

leaves the eigenvalues of A that the factor knows at θ_r + μ and the rest as they are, so that a handful of passes is
enough once θ_r is near μ (Frangella, Tropp & Udell 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import to_numpy
from mercer.linalg.operators import Operator

Preconditioner = Callable[[Any], Any]


@dataclass(frozen=True)
class Solution:
    """X, the residuals ‖(A + μI)x − b‖ / ‖b‖ of its columns, recomputed at the end, and the passes over A."""

    X: Any
    residuals: np.ndarray
    passes: int


def factor_preconditioner(U: Any, values: np.ndarray, mu: float, xp: Any, place: dict[str, Any]) -> Preconditioner:
    """R ↦ P⁻¹R from eigenvectors (n, r), in any precision, and their values, descending."""
    least = float(values[-1]) if len(values) else 0.0
    weights = xp.asarray((least + mu) / (values + mu) - 1.0, dtype=U.dtype, **place)[:, None]

    def apply(R: Any) -> Any:
        size = xp.max(xp.abs(R))
        size = xp.where(size > 0, size, xp.ones_like(size))  # residuals of 1e-40 would vanish in float32
        return R + size * xp.astype(U @ (weights * (U.T @ xp.astype(R / size, U.dtype))), R.dtype)

    return apply


def shifted_solve(
    A: Operator,
    B: Any,
    mu: float,
    *,
    tol: float,
    max_iter: int = 500,
    precondition: Preconditioner | None = None,
    start: Any = None,
) -> Solution:
    """X with ‖(A + μI)X − B‖ ≤ tol ‖B‖ column by column, A positive semidefinite and μ > 0, from `start` or from zero.

    Cost: a pass over A an iteration, for all columns together, and one for the residuals. Columns that are done stop
    moving.
    """
    xp = A.xp
    precondition = precondition or (lambda R: R)
    lengths = xp.sqrt(xp.sum(B**2, axis=0))
    target = tol * lengths
    X, R = (xp.zeros_like(B), B) if start is None else (start, B - A.matmat(start) - mu * start)
    known = int(start is not None)
    Z = precondition(R)
    P, rz = Z, xp.sum(R * Z, axis=0)
    passes = 0
    while passes < max_iter and bool(xp.any(xp.sqrt(xp.sum(R**2, axis=0)) > target)):
        AP = A.matmat(P) + mu * P
        passes += 1
        curvature = xp.sum(P * AP, axis=0)
        moving = (xp.sqrt(xp.sum(R**2, axis=0)) > target) & (curvature > 0)
        if not bool(xp.any(moving)):
            break
        one = xp.ones_like(curvature)
        step = xp.where(moving, rz / xp.where(moving, curvature, one), xp.zeros_like(rz))
        X, R = X + step * P, R - step * AP
        Z = precondition(R)
        new = xp.sum(R * Z, axis=0)
        P = Z + xp.where(moving, new / xp.where(rz > 0, rz, one), xp.zeros_like(rz)) * P
        rz = new
    if passes or not known:  # what the recurrence believes of R is not what is certified
        R = A.matmat(X) + mu * X - B
        known += 1
    left = xp.sqrt(xp.sum(R**2, axis=0))
    residuals = to_numpy(left / xp.where(lengths > 0, lengths, xp.ones_like(lengths)))
    return Solution(X, residuals, passes + known)

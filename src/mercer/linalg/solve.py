"""(A + μI) X = B for a matrix that may not be stored: conjugate gradients on all columns at once, with residuals.

The preconditioner is a low-rank factor F Fᵀ ≈ A, and by Woodbury's formula, with L Lᵀ = FᵀF + μI and G = F L⁻ᵀ,

    μ (F Fᵀ + μI)⁻¹ = I − G Gᵀ,

so that a handful of passes is enough once what F leaves of A is near μ (Frangella, Tropp & Udell 2023).
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


def factor_preconditioner(G: Any, xp: Any) -> Preconditioner:
    """R ↦ R − G GᵀR for G (n, r), in any precision."""

    def apply(R: Any) -> Any:
        size = xp.max(xp.abs(R))
        size = xp.where(size > 0, size, xp.ones_like(size))  # residuals of 1e-40 would vanish in float32
        return R - size * xp.astype(G @ (G.T @ xp.astype(R / size, G.dtype)), R.dtype)

    return apply


def shifted_solve(
    A: Operator,
    B: Any,
    mu: float,
    *,
    tol: float | np.ndarray,
    max_iter: int = 500,
    precondition: Preconditioner | None = None,
    start: Any = None,
    certify: bool = True,
) -> Solution:
    """X with ‖(A + μI)X − B‖ ≤ tol ‖B‖ column by column, A positive semidefinite and μ > 0, from `start` or from zero.

    tol : for all columns, or one for each, (b,)
    certify : whether the residuals are recomputed at the end; if not, they are what the recurrence believes

    Cost: a pass over A an iteration, for the columns that are not done yet, and one for the residuals.
    """
    xp = A.xp
    precondition = precondition or (lambda R: R)
    lengths = to_numpy(xp.sqrt(xp.sum(B**2, axis=0)))
    target, left = tol * lengths, np.empty(len(lengths))
    X, R = (xp.zeros_like(B), B) if start is None else (start, B - A.matmat(start) - mu * start)
    Z = precondition(R)
    P, rz = Z, xp.sum(R * Z, axis=0)
    active, done, passes = np.arange(B.shape[1]), [], 0
    while True:
        left[active] = to_numpy(xp.sqrt(xp.sum(R**2, axis=0)))
        going = left[active] > target[active]
        if passes == max_iter or not going.any():
            done.append((active, X))
            break
        if not going.all():
            done.append((active[~going], _columns(X, np.flatnonzero(~going), A)))
            X, R, P, rz = (_columns(part, np.flatnonzero(going), A) for part in (X, R, P, rz))
            active = active[going]
        AP = A.matmat(P) + mu * P
        passes += 1
        curvature = xp.sum(P * AP, axis=0)
        moving, one = curvature > 0, xp.ones_like(curvature)
        step = xp.where(moving, rz / xp.where(moving, curvature, one), xp.zeros_like(rz))
        if not bool(xp.any(moving)):
            done.append((active, X))
            break
        X, R = X + step * P, R - step * AP
        Z = precondition(R)
        new = xp.sum(R * Z, axis=0)
        P = Z + xp.where(moving, new / xp.where(rz > 0, rz, one), xp.zeros_like(rz)) * P
        rz = new
    X, passes_before = _together(done, A), int(start is not None)
    if certify and (passes or not passes_before):  # what the recurrence believes of R is not what is certified
        left = to_numpy(xp.sqrt(xp.sum((A.matmat(X) + mu * X - B) ** 2, axis=0)))
        passes += 1
    return Solution(X, left / np.where(lengths > 0, lengths, 1.0), passes + passes_before)


def _columns(V: Any, index: np.ndarray, A: Operator) -> Any:
    return A.xp.take(V, A.xp.asarray(index, **A._place()), axis=-1)


def _together(done: list[tuple[np.ndarray, Any]], A: Operator) -> Any:
    """The columns in their order again."""
    if len(done) == 1:
        return done[0][1]
    order = np.argsort(np.concatenate([columns for columns, _ in done]))
    return _columns(A.xp.concat([part for _, part in done], axis=1), order, A)

"""(A + μI) X = B for a matrix that may not be stored: block conjugate gradients, with residuals.

All columns search in one space, the sum of their Krylov spaces (O'Leary 1980), which takes fewer passes over the
matrix than each column's own, many fewer where the preconditioner is poor. The residuals are held as R = Q C with
orthonormal Q (Dubrulle 2001): Q is as good a block to search with when columns are alike, done, or zero.

The preconditioner is a low-rank factor F Fᵀ ≈ A, and by Woodbury's formula, with L Lᵀ = FᵀF + μI and G = F L⁻ᵀ,

    μ (F Fᵀ + μI)⁻¹ = I − G Gᵀ,

so that a handful of passes is enough once what F leaves of A is near μ (Frangella, Tropp & Udell 2023).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import qr

from mercer.backends import backend_of, beside, is_foreign, to_numpy
from mercer.linalg.crossproducts import runs_of
from mercer.linalg.eigen_bounds import column_norms
from mercer.linalg.operators import Operator

Preconditioner = Callable[[Any], Any]


@dataclass(frozen=True)
class Solution:
    """X, the relative residuals ‖(A + μI)x − b‖ / ‖b‖ of its columns, recomputed at the end, and the passes.

    left : R = B − (A + μI)X, (n, b)

    >>> from mercer.linalg import Dense, shifted_solve
    >>> solution = shifted_solve(Dense(np.diag([1.0, 3.0])), np.array([[2.0], [4.0]]), 1.0, tol=1e-12)
    >>> solution.X.ravel().round(9).tolist(), bool(solution.residuals[0] <= 1e-12)
    ([1.0, 1.0], True)
    """

    X: Any
    residuals: np.ndarray
    passes: int
    left: Any

    def product(self, B: Any) -> np.ndarray:
        """Bᵀ(A + μI)⁻¹B, (b, b), from BᵀX and the residuals R: wrong by Rᵀ(A + μI)⁻¹R alone, ‖R‖²/μ at most."""
        return to_numpy(B.T @ self.X + self.X.T @ self.left)


def factor_preconditioner(G: Any, xp: Any, n_jobs: int | None = None) -> Preconditioner:
    """R ↦ R − G GᵀR for G (n, r), in any precision, by runs of rows."""
    backend, runs = backend_of(G), runs_of(G.shape[0])

    def apply(R: Any) -> Any:
        small, parts, Z = xp.astype(R, G.dtype), {}, xp.empty_like(R)

        def onto(run: slice, slot: int) -> None:
            parts[run.start] = G[run, :].T @ small[run, :]

        def off(run: slice, slot: int) -> None:
            Z[run, :] = R[run, :] - xp.astype(G[run, :] @ inside, R.dtype)

        backend.for_each(runs, onto, n_jobs)
        inside = sum(parts[run.start] for run in runs)
        backend.for_each(runs, off, n_jobs)
        return Z

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
    report: Callable[[int, float], None] | None = None,
) -> Solution:
    """X with ‖(A + μI)X − B‖ ≤ tol ‖B‖ column by column, A positive semidefinite and μ > 0, from `start` or from zero.

    tol : one number for all columns, or one per column, (b,)
    certify : whether the residuals are recomputed at the end; if not, they are those of the recurrence
    report : called with the number of passes and the largest residual after each pass

    Cost: one pass over A per iteration, with all columns, and one for the residuals.

    `mu` is μ, `max_iter` the largest number of passes over A, and `precondition` a preconditioner, if there is one.

    >>> from mercer.linalg import Dense
    >>> shifted_solve(Dense(np.diag([1.0, 3.0])), np.array([[2.0], [4.0]]), 1.0, tol=1e-12).X.ravel().round(9).tolist()
    [1.0, 1.0]
    """
    xp = A.xp
    precondition = precondition or (lambda R: R)
    sizes = column_norms(B, xp)
    sizes = np.where(sizes > 0, sizes, 1.0)
    B = B / beside(sizes, B)  # columns of length one: the squares of residuals near 1e-200 would underflow
    X = xp.zeros_like(B) if start is None else start / beside(sizes, B)
    Q, C = _split(B if start is None else B - A.matmat(X) - mu * X, A)
    before, passes = int(start is not None), 0
    P: Any = None
    AP: Any = None
    inverse = np.empty((0, 0))
    while passes < max_iter and np.any(np.linalg.norm(C, axis=0) > tol):
        Z = precondition(Q)
        P = Z if P is None else Z - P @ beside(inverse @ to_numpy(AP.T @ Z), B)
        AP = A.matmat(P)
        AP += mu * P
        passes += 1
        inverse = _positive_inverse(to_numpy(P.T @ AP))
        if not inverse.any():
            break  # A + μI is not positive in any remaining direction
        step = inverse @ to_numpy(P.T @ Q)
        X += P @ beside(step @ C, B)
        Q, turn = _split(Q - AP @ beside(step, B), A)
        C = turn @ C
        if report is not None:
            report(passes + before, float(np.linalg.norm(C, axis=0).max()))
    left, R = np.linalg.norm(C, axis=0), Q @ beside(C, B)
    if certify and (
        passes or not before
    ):  # the recurrence's R drifts from the true residual, and the true one is certified
        R = B - A.matmat(X) - mu * X
        left = column_norms(R, xp)
        passes += 1
    return Solution(X * beside(sizes, B), left, passes + before, R * beside(sizes, B))


def refined_solve(
    A: Operator,
    coarse: Operator,
    B: Any,
    mu: float,
    start: Any,
    *,
    tol: float,
    reach: float,
    max_iter: int = 500,
    precondition: Preconditioner | None = None,
    report: Callable[[int, float], None] | None = None,
) -> Solution:
    """X with ‖(A + μI)X − B‖ ≤ tol ‖B‖ column by column, by corrections from a cheaper matrix that is nearly A.

    Iterative refinement: each round takes the residual from A, one pass, and solves for the correction on `coarse`. It
    ends early, with residuals above tol, when a round does not even halve the largest of them.

    start : a first solution
    reach : the relative residual below which a solution on `coarse` says nothing more about A
    max_iter : passes over both matrices
    """
    sizes = column_norms(B, A.xp)
    sizes = np.where(sizes > 0, sizes, 1.0)
    X, tried, passes, left = start, start, 0, np.full(B.shape[1], np.inf)
    remaining: Any = None
    while True:
        R = B - A.matmat(tried) - mu * tried
        passes += 1
        found = column_norms(R, A.xp) / sizes
        halved = found.max() <= 0.5 * left.max()
        if found.max() < left.max():
            X, left, remaining = tried, found, R
        if report is not None:
            report(passes, float(left.max()))
        if left.max() <= tol or not halved or passes >= max_iter:
            return Solution(X, left, passes, remaining)
        wanted = np.clip(0.5 * tol / np.maximum(left, np.finfo(np.float64).tiny), reach, 1.0)
        correction = shifted_solve(
            coarse, R, mu, tol=wanted, max_iter=max_iter - passes, precondition=precondition, certify=False
        )
        tried, passes = X + correction.X, passes + correction.passes


def _split(R: Any, A: Operator) -> tuple[Any, np.ndarray]:
    """R = Q C with orthonormal Q, (n, b), and small C on the host."""
    if is_foreign(R):
        Q, C = A.xp.linalg.qr(R)
        return Q, to_numpy(C)
    return qr(R, mode="economic", check_finite=False)  # SciPy's takes a quarter of the time of NumPy's


def _positive_inverse(M: np.ndarray) -> np.ndarray:
    """The inverse of a symmetric matrix M on the space where M is positive."""
    values, turn = np.linalg.eigh((M + M.T) / 2)
    kept = values > len(M) * np.finfo(np.float64).eps * max(values[-1], 0.0)
    turn = turn[:, kept]
    return (turn / values[kept]) @ turn.T

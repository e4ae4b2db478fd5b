"""Canonical correlations between two sets of features, without anything n × n.

For centred factors F₁ (n, m₁) and F₂ (n, m₂) and penalties λ₁, λ₂ the pairs of directions solve

    max  w₁ᵀ(F₁ᵀF₂/n)w₂    with  wᵥᵀ(FᵥᵀFᵥ/n + λᵥI)wᵥ = 1

With Lᵥ the Cholesky factor of FᵥᵀFᵥ/n + λᵥI they are w₁ = L₁⁻ᵀu, w₂ = L₂⁻ᵀv for the singular triplets (u, ρ, v) of
T = L₁⁻¹(F₁ᵀF₂/n)L₂⁻ᵀ. If the penalty is too small for that, the eigenvectors of FᵥᵀFᵥ take the place of Lᵥ and
those of no variance are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from mercer.backends import backend_of, namespace
from mercer.linalg.crossproducts import Blocks, centred_products
from mercer.linalg.eigen import top_eigenpairs

_CHOLESKY_ABOVE = 1e-10  # relative penalty from which FᵀF/n + λI is safely positive definite, despite rounding
_LAPACK_UP_TO = 300  # columns up to which LAPACK decomposes all of T as fast as a search finds its top
_ONE_THREAD_UP_TO = 512  # columns up to which two threads of BLAS mostly wait for each other
GOOD = 1e-8  # residual relative to ρ₁: √eps, the best that squaring T allows; above it LAPACK takes over
Lift = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class View:
    """One side of the problem.

    F : (n, m), its features, FFᵀ ≈ K
    reg : the penalty relative to the variance, λ = reg · tr(HKH)/n
    left_out : tr(K − FFᵀ), so that tr(HKH) ≈ tr(FᵀHF) + left_out
    trace : tr K; a variance within its rounding counts as zero
    """

    F: Any
    reg: float
    left_out: float = 0.0
    trace: float = 0.0

    @property
    def eps(self) -> float:
        return float(namespace(self.F).finfo(self.F.dtype).eps)


@dataclass(frozen=True)
class CanonicalPairs:
    """k pairs of directions, ρ descending; k is smaller than asked for if the views have no more.

    correlations : (k,), ρ
    residuals : (k, 2), ‖Tv − ρu‖ and ‖Tᵀu − ρv‖
    weights : (m₁, k) and (m₂, k), w₁ and w₂
    means : (m₁,) and (m₂,), of the rows of F₁ and F₂
    penalties : λ₁, λ₂
    variances : tr(HK₁H)/n, tr(HK₂H)/n
    ranks : the dimensions that each view spans once centred, counted if its penalty is zero, else bounded by m
    """

    correlations: np.ndarray
    residuals: np.ndarray
    weights: tuple[np.ndarray, np.ndarray]
    means: tuple[np.ndarray, np.ndarray]
    penalties: tuple[float, float]
    variances: tuple[float, float]
    ranks: tuple[int, int]


def canonical_pairs(first: View, second: View, k: int, *, n_jobs: int | None = None) -> CanonicalPairs:
    """The top k pairs of regularised canonical directions of two views.

    Cost: n (m₁ + m₂)² flops for the products, m³ for the rest, 8 (m₁ + m₂)² bytes beside the factors.
    """
    small = max(first.F.shape[1], second.F.shape[1]) <= _ONE_THREAD_UP_TO
    with backend_of(first.F).one_thread() if small else nullcontext():
        return _canonical_pairs(first, second, k, n_jobs)


def _canonical_pairs(first: View, second: View, k: int, n_jobs: int | None) -> CanonicalPairs:
    # Products in float32 blur what is below √eps of the variance: a penalty that small needs them in float64.
    small = min(first.reg, second.reg) < np.sqrt(max(first.eps, second.eps))
    precision = namespace(first.F).float64 if small else None
    means, products = centred_products([first.F, second.F], precision=precision, n_jobs=n_jobs)
    return pairs_of_products(means, products, first, second, first.F.shape[0], k)


def pairs_of_products(
    means: Sequence[np.ndarray], products: Blocks, first: View, second: View, n: int, k: int
) -> CanonicalPairs:
    """The pairs from the means of both factors' rows, and from F₁ᵀHF₁, F₁ᵀHF₂ and F₂ᵀHF₂, which are overwritten.

    If the n rows are not in memory, the F of a view is an array of its columns and type without rows.
    """
    views = first, second
    for block in products.values():
        block /= n
    variances = [_variance(products[v, v], view, n) for v, view in enumerate(views)]
    penalties = [view.reg * variance for view, variance in zip(views, variances, strict=True)]
    T, lifts, ranks = _whitened(products, views, variances, penalties, n)
    rho, U, V = top_singular_triplets(T, min(k, *ranks))
    residuals = np.column_stack([np.linalg.norm(T @ V - U * rho, axis=0), np.linalg.norm(T.T @ U - V * rho, axis=0)])
    found = int(np.sum(rho > _zero(max(first.eps, second.eps), first.reg, second.reg)))
    return CanonicalPairs(
        np.minimum(rho[:found], 1.0),
        residuals[:found],
        (lifts[0](U[:, :found]), lifts[1](V[:, :found])),
        (means[0], means[1]),
        (penalties[0], penalties[1]),
        (variances[0], variances[1]),
        (ranks[0], ranks[1]),
    )


def _variance(C: np.ndarray, view: View, n: int) -> float:
    """tr(HKH)/n, or zero if it is within the rounding of tr K."""
    variance = float(np.trace(C)) + view.left_out / n
    return variance if variance > 8 * view.eps * np.sqrt(n) * view.trace / n else 0.0


def _zero(eps: float, *regs: float) -> float:
    """A correlation below this is rounding: 1e-12 for float64, 1e-5 for float32, less as penalties lower them all."""
    double = eps < 1e-10  # 2e-16, where float32 has 1e-7
    return (1e-12 if double else 1e-5) / float(np.sqrt(np.prod(1.0 + np.array(regs))))


def _whitened(
    products: Blocks, views: tuple[View, View], variances: list[float], penalties: list[float], n: int
) -> tuple[np.ndarray, list[Lift], list[int]]:
    """T, the maps u ↦ w₁ and v ↦ w₂, and the ranks. The products are overwritten."""
    T = products[0, 1]
    lifts, ranks = [], []
    for v, view in enumerate(views):
        C, lam = products[v, v], penalties[v]
        if variances[v] == 0.0:
            whiten, lift, rank = _by_nothing(len(C))
        elif view.reg >= _CHOLESKY_ABOVE:
            whiten, lift, rank = _by_cholesky(C, lam)
        else:
            whiten, lift, rank = _by_eigenvectors(C, lam, view, n)
        T = whiten(T).T  # of both sides in turn: L₂⁻¹(L₁⁻¹C₁₂)ᵀ = Tᵀ
        lifts.append(lift)
        ranks.append(rank)
    return T, lifts, ranks


def _by_nothing(m: int) -> tuple[Lift, Lift, int]:
    return lambda A: A[:0], lambda U: np.zeros((m, U.shape[1])), 0


def _by_cholesky(C: np.ndarray, lam: float) -> tuple[Lift, Lift, int]:
    """L⁻¹· and L⁻ᵀ· for C + λI = LLᵀ, in the memory of C."""
    C[np.diag_indices_from(C)] += lam
    # LAPACK is given Cᵀ = C in its own order, so that nothing is copied.
    L = scipy.linalg.cholesky(C.T, lower=True, overwrite_a=True, check_finite=False)
    solve = scipy.linalg.solve_triangular
    return (
        lambda A: solve(L, A, lower=True, check_finite=False),
        lambda U: solve(L, U, lower=True, trans="T", check_finite=False),
        len(C),
    )


def _by_eigenvectors(C: np.ndarray, lam: float, view: View, n: int) -> tuple[Lift, Lift, int]:
    """Wᵀ· and W· for W = E(Λ + λI)^(−½), C = EΛEᵀ, over the eigenvalues that are more than rounding."""
    values, E = np.linalg.eigh(C)
    alive = values > 8 * view.eps * np.sqrt(n) * values.max(initial=0.0)
    W = E[:, alive] / np.sqrt(values[alive] + lam)
    return lambda A: W.T @ A, lambda U: W @ U, int(alive.sum())


def top_singular_triplets(T: np.ndarray, k: int, *, good: float = GOOD) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ρ, U and V with T V = U diag(ρ): the k largest singular values, descending.

    The eigenvectors of the smaller of TᵀT and TTᵀ become singular vectors by one more product. LAPACK decomposes T
    itself if T is small, if many triplets are wanted, or if squaring T lost too much: a residual above `good` · ρ₁.

    >>> rho, U, V = top_singular_triplets(np.diag([1.0, 3.0, 2.0]), 2)
    >>> rho.tolist()
    [3.0, 2.0]
    """
    if T.shape[0] < T.shape[1]:
        rho, V, U = top_singular_triplets(T.T, k, good=good)
        return rho, U, V
    m = T.shape[1]
    if k and m > _LAPACK_UP_TO and k <= m // 8:
        found = _by_squaring(T, k, good)
        if found is not None:
            return found
    return _by_lapack(T, k)


def _by_squaring(T: np.ndarray, k: int, good: float) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The triplets, or None if a residual is above the tolerance."""
    V = np.asarray(top_eigenpairs(T.T @ T, k).vectors)
    U, rho, Wt = np.linalg.svd(T @ V, full_matrices=False)
    V = V @ Wt.T
    worst = float(np.linalg.norm(T.T @ U - V * rho, axis=0).max())
    return (rho, U, V) if worst <= good * rho[0] else None


def _by_lapack(T: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    try:
        U, rho, Vt = scipy.linalg.svd(T, full_matrices=False, check_finite=False)
    except np.linalg.LinAlgError:  # divide and conquer gives up on rare matrices; plain QR iteration does not
        U, rho, Vt = scipy.linalg.svd(T, full_matrices=False, check_finite=False, lapack_driver="gesvd")
    return rho[:k], U[:, :k], Vt[:k].T

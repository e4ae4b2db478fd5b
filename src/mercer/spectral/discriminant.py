"""The computation behind KernelDiscriminantAnalysis: from a kernel, samples and classes to directions.

on_features   a factor F Fᵀ ≈ K: (S_T + λnI) is m × m
exactly       all of K: one Cholesky factor for small n, conjugate gradients over streamed tiles beyond
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotri

from mercer.backends import backend_of, namespace, placement, to_numpy
from mercer.exceptions import NotConvergedWarning, warn
from mercer.expansion import KernelExpansion
from mercer.features import Features, kernel_features, refuse_overflow, rows_of, symmetric
from mercer.kernels import Kernel
from mercer.kernels.discrete import Precomputed
from mercer.linalg.crossproducts import runs_of, times
from mercer.linalg.eigen import SMALL
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import rpcholesky
from mercer.linalg.operators import Dense, Operator
from mercer.linalg.solve import factor_preconditioner, shifted_solve
from mercer.linalg.weighted import WeightedCentered
from mercer.random_state import generator_from
from mercer.spectral.class_rule import EPS, HIDDEN, SAMPLE, choose_reg, stratified_sample
from mercer.spectral.scatter import (
    Classes,
    Directions,
    DualSpectrum,
    Penalised,
    Scatter,
    ScatterSpectrum,
    directions,
    left_out,
    scatter,
    without_mean,
)

_PROBES = 6  # random vectors, at least, that measure how much room all of K leaves beside what its factor does
_TOGETHER = 16  # columns that a pass takes at the price of one: BLAS's blocks are no smaller
TILE = 512  # rows of tiles that are read again and again, each for two thin products: small enough for the cache
_SINGLE = 3e-7  # a relative residual that tiles of float32 still can give
_PROBED = 1e-3  # a relative residual that is far below what the probes leave to chance
_LOO_RANK = 1000  # columns of the factor on which reg="loo" is chosen where K is not factored itself


def block_width(classes: int) -> int:
    """Columns of the system: the classes, and as many probes as cost nothing more.

    >>> block_width(2), block_width(10), block_width(11)
    (16, 16, 32)
    """
    return -(-(classes + _PROBES) // _TOGETHER) * _TOGETHER


def start_rank(n: int, reg: float | str) -> int:
    """Columns of the factor: n r² flops, to save passes of n² each. Small penalties need it more, large n affords it.

    >>> start_rank(5000, 1e-3), start_rank(5000, 1e-5), start_rank(60_000, 1e-3)
    (197, 626, 685)
    """
    if reg == "loo":
        return min(n, _LOO_RANK)
    return int(min(n, _LOO_RANK, max(64, 2.8 * n**0.5 * (1e-3 / float(reg)) ** 0.25)))


@dataclass(frozen=True)
class DiscriminantSettings:
    """What the user asked for."""

    reg: float | str
    rank: int | str | None
    tol: float
    max_iter: int
    keep_bytes: int
    memory_limit: Any
    random_state: Any
    n_jobs: int | None


@dataclass(frozen=True)
class Discriminants:
    """The directions, scaled to wᵀ(S_W/n + λI)w = 1, and how samples that were not fitted lie along them."""

    found: Directions
    expansion: KernelExpansion
    lengths: np.ndarray  # (k,), ‖w‖ in feature space
    reg: float
    penalty: float  # λ
    path: tuple[np.ndarray, np.ndarray] | None  # reg and its leave-one-out error, where that chose reg
    sample: np.ndarray  # (s,), indices of samples left out in turn
    left_out: np.ndarray  # (s, k), where each would be
    residuals: np.ndarray  # (C,), of the linear system, relative
    passes: int
    reason: str


def find_discriminants(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Discriminants:
    """The discriminants of samples X in the given classes."""
    if settings.rank is not None:
        return on_features(kernel, X, classes, settings)
    return exactly(kernel, X, classes, settings)


def _features(kernel: Kernel, X: Any, rank: int | str | None, settings: DiscriminantSettings) -> Features:
    return kernel_features(
        kernel,
        X,
        rank=rank,
        memory_limit=settings.memory_limit,
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
    )


# --- on a factor -----------------------------------------------------------------------------------------


def on_features(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Discriminants:
    """The directions within the span of a factor's landmarks."""
    features = _features(kernel, X, settings.rank, settings)
    S = scatter(features.F, classes, settings.n_jobs)
    _refuse_constant(S.variance)
    sample = stratified_sample(classes.codes, SAMPLE, generator_from(settings.random_state))
    rows, w, path = _centred_rows(features.F, sample, S), classes.weights[sample], None
    if settings.reg == "loo":
        spectrum = ScatterSpectrum(S, rows, w, classes.n)
        reg, path = choose_reg(spectrum, S.variance, sample, classes)
        mu = reg * S.variance
        P, M, room = spectrum.P(mu), spectrum.M(mu), spectrum.room(mu)
    else:
        reg = float(settings.reg)
        mu = reg * S.variance
        penalised = Penalised(S, mu)
        P, M, room = penalised.P, penalised.M, penalised.room(rows, w, classes.n)
    eps = float(namespace(features.F).finfo(features.F.dtype).eps)
    found = directions(M, classes, noise=8 * EPS / reg)
    weights = P @ found.combine
    return Discriminants(
        found,
        features.expansion(weights, S.mean @ weights),
        np.linalg.norm(weights, axis=0),
        reg,
        mu / classes.n,
        path,
        sample,
        left_out(rows @ weights, classes.codes[sample], np.maximum(room, 16 * eps), found),
        np.zeros(len(classes.priors)),
        0,
        f"a factor of rank {features.F.shape[1]} that leaves out {features.error:.2g} of the trace",
    )


def _centred_rows(F: Any, sample: np.ndarray, S: Scatter) -> np.ndarray:
    return to_numpy(rows_of(F, sample)).astype(np.float64) - S.mean


# --- on all of K -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solved:
    """(K_w + μI)⁻¹Y', (n, C), with the room of its rows and the residuals of its columns."""

    dual: Any
    M: np.ndarray
    room: np.ndarray
    residuals: np.ndarray
    passes: int
    reason: str


def exactly(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Discriminants:
    """The directions in the span of all samples."""
    # BLAS's own threads spin for a while after each product, and would take a core from those that read tiles.
    with backend_of(X if X.ndim == 2 else np.empty(0)).one_thread():
        solve = _in_memory if classes.n <= SMALL else _streamed
        A, mu, reg, path, solved = solve(kernel, X, classes, settings)
    found = directions(solved.M, classes, noise=8 * EPS / reg + float(solved.residuals.max()))
    xp, place = A.xp, A.placement()
    dual = solved.dual @ xp.asarray(found.combine, **place)
    Y = without_mean(classes.indicators(), np.sqrt(classes.weights))
    fitted = xp.asarray(Y @ found.combine, **place) - mu * dual  # K_w times dual, which is √w z
    return Discriminants(
        found,
        _dual_expansion(kernel, X, A, dual, settings.n_jobs),
        np.sqrt(np.maximum(to_numpy(xp.sum(dual * fitted, axis=0)), 0.0)),
        reg,
        mu / classes.n,
        path,
        np.arange(classes.n),
        left_out(to_numpy(fitted / A.roots), classes.codes, solved.room, found),
        solved.residuals,
        solved.passes,
        solved.reason,
    )


Way = tuple[WeightedCentered, float, float, Any, Solved]


def _weighted(K: Operator, classes: Classes) -> WeightedCentered:
    return WeightedCentered(K, K.xp.asarray(classes.weights, **K.placement()))


def _dual_expansion(kernel: Kernel, X: Any, A: WeightedCentered, dual: Any, n_jobs: int | None) -> KernelExpansion:
    """Where the samples live, in their precision."""
    coefs = A.coefficients(dual)
    offset = A.xp.sum(coefs * A.row_sums()[:, None], axis=0) / A.n
    xp = namespace(X)
    dtype = xp.float32 if X.ndim == 2 and X.dtype == xp.float32 else xp.float64
    coefs, offset = (xp.asarray(part, dtype=dtype, **placement(X)) for part in (coefs, offset))
    return KernelExpansion(kernel, X, coefs, offset, n_jobs)


# --- up to 2048 samples: the matrix in memory --------------------------------------------------------------


def _in_memory(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Way:
    """By one Cholesky factor, or by the eigenvalues where the penalty is to be chosen; NumPy whatever the data."""
    K = gram_of(kernel, X, n_jobs=settings.n_jobs)
    A = _weighted(Dense(to_numpy(K.to_dense())), classes)
    variance = A.trace()
    _refuse_constant(variance)
    Kw = A.rows(np.arange(A.n))
    if settings.reg != "loo":
        mu = float(settings.reg) * variance
        return A, mu, float(settings.reg), None, _by_cholesky(Kw, classes, mu)
    spectrum = DualSpectrum(Kw, classes)
    reg, path = choose_reg(spectrum, variance, np.arange(A.n), classes)
    mu = reg * variance
    dual = spectrum.dual(mu)
    residuals = np.linalg.norm(Kw @ dual + mu * dual - spectrum.U @ spectrum.Y, axis=0)
    room = np.maximum(spectrum.room(mu), HIDDEN)
    return A, mu, reg, path, Solved(dual, spectrum.M(mu), room, residuals, 1, "all of K, its eigenvalues")


def gram_of(kernel: Kernel, X: Any, **options: Any) -> Operator:
    """K in float64, refused where it overflows."""
    double = namespace(X).float64
    if isinstance(kernel, Precomputed):
        given = Dense(symmetric(kernel.points(X, double).rows))
        given.n_jobs = options.get("n_jobs")
        return given
    K = Gram(kernel, X, precision=double, **options)
    refuse_overflow(K, kernel)
    return K


def _by_cholesky(Kw: np.ndarray, classes: Classes, mu: float) -> Solved:
    """One factor; the room is on the diagonal of its inverse. √w is moved out of the way as in DualSpectrum."""
    n, roots, top = classes.n, np.sqrt(classes.weights), float(np.trace(Kw))
    Y = without_mean(classes.indicators(), roots)
    shifted = Kw + top / n * np.outer(roots, roots)
    shifted.flat[:: n + 1] += mu
    try:
        factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"K + λnI is not positive definite: the kernel is indefinite on this data, or reg is too small ({mu:.1e})."
        ) from error
    dual = cho_solve(factor, Y, check_finite=False)
    fitted = Kw @ dual
    residuals = np.linalg.norm(fitted + mu * dual - Y, axis=0)
    room = mu * dpotri(factor[0], lower=1)[0].diagonal() - classes.weights / n * (mu / (top + mu))
    return Solved(dual, Y.T @ fitted, np.maximum(room, HIDDEN), residuals, 1, "all of K, one Cholesky factor")


# --- beyond: streamed tiles --------------------------------------------------------------------------------


def _streamed(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Way:
    """By conjugate gradients, in float32 as far as that goes, then in float64, where the residuals are taken.

    The room of a row is what a factor of K leaves it, times the share of that which random vectors find to be left by
    all of K, class by class: one number per class, and the factor's differences within it.
    """
    K = gram_of(kernel, X, keep_bytes=settings.keep_bytes, keep_from=1, tile=TILE, n_jobs=settings.n_jobs)
    coarse, A = _weighted(K.ladder(settings.tol)[0], classes), _weighted(K, classes)
    variance = coarse.trace()
    _refuse_constant(variance)
    F = _start_factor(coarse.K, settings)
    S = scatter(F, classes, settings.n_jobs)
    reg, path = _chosen_reg(F, S, classes, variance, settings)
    mu = reg * variance
    G = _whitened(F, S, mu, A)
    xp, place = A.xp, A.placement()
    preconditioner = factor_preconditioner(G, xp, settings.n_jobs)
    Y = without_mean(classes.indicators(), np.sqrt(classes.weights))
    C, width = Y.shape[1], block_width(Y.shape[1])
    probes = generator_from(settings.random_state).choice([-1.0, 1.0], (A.n, width - C))
    B = xp.asarray(np.column_stack([Y, probes]), **place)
    rough = shifted_solve(
        coarse,
        B,
        mu,
        tol=np.repeat([max(0.5 * settings.tol, _SINGLE), _PROBED], [C, width - C]),
        max_iter=settings.max_iter,
        precondition=preconditioner,
        certify=False,
    )
    coarse.K.forget()
    solution = shifted_solve(
        A,
        B[:, :C],
        mu,
        tol=settings.tol,
        max_iter=max(0, settings.max_iter - rough.passes),
        precondition=preconditioner,
        start=rough.X[:, :C],
    )
    passes, worst = rough.passes + solution.passes, float(solution.residuals.max())
    if worst > 2 * settings.tol:
        warn(
            f"Conjugate gradients stopped after {passes} passes with a residual of {worst:.1e}, above tol = "
            f"{settings.tol:.1e}. See residuals_; raise reg, max_iter or tol.",
            NotConvergedWarning,
        )
    room = _room(probes, mu * to_numpy(rough.X[:, C:]), to_numpy(preconditioner(B[:, C:])), G, classes)
    M = Y.T @ (Y - mu * to_numpy(solution.X))
    solved = Solved(solution.X, M, room, solution.residuals, passes, "all of K, conjugate gradients")
    return A, mu, reg, path, solved


def _start_factor(K: Operator, settings: DiscriminantSettings) -> Any:
    """F in float32, which is enough to choose a penalty and to precondition with."""
    rank = start_rank(K.n, settings.reg)
    return rpcholesky(K, rank, generator_from(settings.random_state), dtype=K.xp.float32, rounds=4).F


def _chosen_reg(
    F: Any, S: Scatter, classes: Classes, variance: float, settings: DiscriminantSettings
) -> tuple[float, Any]:
    """The penalty that was asked for, or the one of least leave-one-out error on the factor, with its path."""
    if settings.reg != "loo":
        return float(settings.reg), None
    sample = stratified_sample(classes.codes, SAMPLE, generator_from(settings.random_state))
    spectrum = ScatterSpectrum(S, _centred_rows(F, sample, S), classes.weights[sample], classes.n)
    return choose_reg(spectrum, variance, sample, classes)


def _whitened(F: Any, S: Scatter, mu: float, A: WeightedCentered) -> Any:
    """G = F_w L⁻ᵀ with L Lᵀ = F_wᵀF_w + μI, (n, r) in float32, F_w the factor's rows about their mean times √w."""
    floor = float(np.finfo(np.float32).eps) * S.variance  # beneath it the products of a float32 factor are rounding
    L = np.linalg.cholesky(S.total + max(mu, floor) * np.eye(len(S.total)))
    inverse = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False).T
    G = times(F, inverse, S.mean, A.K.n_jobs)
    if not A.even:
        G *= namespace(F).astype(A.roots, F.dtype)
    return G


def _room(probes: np.ndarray, left: np.ndarray, known: np.ndarray, G: Any, classes: Classes) -> np.ndarray:
    """1 − h − w/n of each row: the factor's, scaled in each class to the mean of what the probes found.

    probes p, `left` R p with R = μ(K_w + μI)⁻¹, `known` R̂ p with R̂ = I − GGᵀ, all (n, b). The mean of p ∘ Rp is the
    diagonal of R and noise; p ∘ R̂p has much of the same noise about a diagonal that is known, and as much of it is
    taken off as removes most.
    """
    xp = namespace(G)
    taken = [to_numpy(xp.sum(G[run, :] ** 2, axis=1, dtype=xp.float64)) for run in runs_of(classes.n)]
    diagonal = 1 - np.concatenate(taken)
    seen, noise = probes * left, probes * known - diagonal[:, None]
    spread = noise - noise.mean(axis=1, keepdims=True)
    share = np.vdot(seen, spread) / max(np.vdot(spread, spread), np.finfo(np.float64).tiny)
    own = classes.weights / classes.n
    return _in_classes((seen - share * noise).mean(axis=1) - own, np.maximum(diagonal - own, _SINGLE), classes)


def _in_classes(left: np.ndarray, by_factor: np.ndarray, classes: Classes) -> np.ndarray:
    """by_factor, scaled in each class to have the mean that `left` has there."""
    counts = np.bincount(classes.codes)
    found, known = (np.bincount(classes.codes, part) / counts for part in (left, by_factor))
    overall = float(np.mean(left) / np.mean(by_factor))
    many = counts >= 50  # fewer say too little of their own
    share = np.where(many, found / known, overall)
    return by_factor * np.clip(share, _SINGLE, 1.0)[classes.codes]


def _refuse_constant(variance: float) -> None:
    if not variance > 0:
        raise ValueError(
            "The data has no variation in feature space: no direction can separate the classes. Constant or "
            "underflowing data, or a gamma that makes all points alike, does that."
        )

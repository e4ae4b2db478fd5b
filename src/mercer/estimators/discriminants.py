"""The computation behind KernelDiscriminantAnalysis: from a kernel, samples and classes to directions.

on_features   a factor F Fᵀ ≈ K: (S_T + λnI) is m × m
exactly       all of K: one Cholesky factor for small n, conjugate gradients over streamed tiles beyond
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotri

from mercer.backends import backend_of, is_foreign, namespace, placement, to_numpy
from mercer.exceptions import NotConvergedWarning
from mercer.expansion import KernelExpansion
from mercer.features import Features, kernel_features, refuse_overflow, symmetric
from mercer.kernels import Kernel
from mercer.kernels.discrete import Precomputed
from mercer.linalg.discriminant import (
    Classes,
    Directions,
    Penalised,
    Scatter,
    Spectrum,
    directions,
    left_out,
    scatter,
)
from mercer.linalg.discriminant_rule import fit_rule
from mercer.linalg.eigen import SMALL, as_generator
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import rpcholesky
from mercer.linalg.operators import Dense, Operator
from mercer.linalg.solve import factor_preconditioner, shifted_solve
from mercer.linalg.weighted import WeightedCentered

REG_GRID = np.logspace(-9, 0, 28)  # relative to the total variance: what reg="loo" tries
_SAMPLE = 5000  # samples that are left out in turn; more would only repeat what they say
_TILE = 512  # rows of tiles that are read again and again, each for two thin products: small enough for the cache
_SINGLE = 3e-7  # a relative residual that tiles of float32 still can give
_PRECONDITIONER = 300  # columns of the factor that conjugate gradients are started with
_LOO_RANK = 1000  # columns of the factor on which reg="loo" is chosen where K is not factored itself


@dataclass(frozen=True)
class Settings:
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


def find_discriminants(kernel: Kernel, X: Any, classes: Classes, settings: Settings) -> Discriminants:
    """The discriminants of samples X in the given classes."""
    if settings.rank is not None:
        return on_features(kernel, X, classes, settings)
    return exactly(kernel, X, classes, settings)


def _features(kernel: Kernel, X: Any, rank: int | str | None, settings: Settings) -> Features:
    return kernel_features(
        kernel,
        X,
        rank=rank,
        memory_limit=settings.memory_limit,
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
    )


# --- on a factor -----------------------------------------------------------------------------------------


def on_features(kernel: Kernel, X: Any, classes: Classes, settings: Settings) -> Discriminants:
    """The directions within the span of a factor's landmarks."""
    features = _features(kernel, X, settings.rank, settings)
    S = scatter(features.F, classes)
    _refuse_constant(S.variance)
    sample = stratified_sample(classes.codes, _SAMPLE, as_generator(settings.random_state))
    rows = _centred_rows(features.F, sample, S)
    path = None
    if settings.reg == "loo":
        spectrum = Spectrum(S)
        turned = rows @ spectrum.W
        reg, path = choose_reg(spectrum, S.variance, turned, sample, classes)
        P, M = spectrum.P(reg * S.variance), spectrum.M(reg * S.variance)
        quadratic = spectrum.leverages(turned**2, reg * S.variance)
    else:
        reg = float(settings.reg)
        penalised = Penalised(S, reg * S.variance)
        P, M, quadratic = penalised.P, penalised.M, penalised.leverages(rows)
    found = directions(M, classes)
    weights = P @ found.combine
    leverage = classes.weights[sample] * (quadratic + 1 / classes.n)
    return Discriminants(
        found,
        features.expansion(weights, S.mean @ weights),
        np.linalg.norm(weights, axis=0),
        reg,
        reg * S.variance / classes.n,
        path,
        sample,
        left_out(rows @ weights, classes.codes[sample], leverage, found),
        np.zeros(len(classes.priors)),
        0,
        f"a factor of rank {features.F.shape[1]} that leaves out {features.error:.2g} of the trace",
    )


def _centred_rows(F: Any, sample: np.ndarray, S: Scatter) -> np.ndarray:
    xp = namespace(F)
    rows = xp.take(F, xp.asarray(sample, **placement(F)), axis=0) if is_foreign(F) else F[sample]
    return to_numpy(rows).astype(np.float64) - S.mean


def stratified_sample(codes: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """About `size` samples, each class in proportion but none left out; all of them where there are no more."""
    if len(codes) <= size:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    wanted = np.minimum(counts, np.maximum(2, size * counts // len(codes)))
    order = rng.permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    first = np.cumsum(counts) - counts
    return np.sort(np.concatenate([order[f : f + w] for f, w in zip(first, wanted, strict=True)]))


def choose_reg(
    spectrum: Spectrum, variance: float, turned: np.ndarray, sample: np.ndarray, classes: Classes
) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    """The reg of least leave-one-out error; among equals the one whose left-out samples lie nearest their targets."""
    codes, w = classes.codes[sample], classes.weights[sample]
    squares, judged = turned**2, []
    for reg in REG_GRID:
        mu = reg * variance
        found = directions(spectrum.M(mu), classes)
        if not len(found.shares):
            judged.append((1.0, np.inf))
            continue
        z = turned @ (spectrum.solved(mu) @ found.combine)
        z = left_out(z, codes, w * (spectrum.leverages(squares, mu) + 1 / classes.n), found)
        rule = fit_rule(z, codes, w, classes.priors)
        error = float(np.average(rule.decide(z).argmax(axis=1) != codes, weights=w))
        miss = np.average(((z - found.targets[codes]) ** 2 * found.shares * (1 - found.shares)).sum(axis=1), weights=w)
        judged.append((error, float(miss)))
    best = min(range(len(REG_GRID)), key=lambda i: judged[i])
    return float(REG_GRID[best]), (REG_GRID, np.array([error for error, _ in judged]))


# --- on all of K -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solved:
    """(K_w + μI)⁻¹Y', (n, C), with the leverages of its rows and the residuals of its columns."""

    dual: Any
    leverage: np.ndarray
    residuals: np.ndarray
    passes: int
    reason: str


def exactly(kernel: Kernel, X: Any, classes: Classes, settings: Settings) -> Discriminants:
    """The directions in the span of all samples."""
    # BLAS's own threads spin for a while after each product, and would take a core from those that read tiles.
    with backend_of(X if X.ndim == 2 else np.empty(0)).one_thread():
        return _exactly(kernel, X, classes, settings)


def _exactly(kernel: Kernel, X: Any, classes: Classes, settings: Settings) -> Discriminants:
    small = classes.n <= SMALL and not is_foreign(X)
    K = _matrix(kernel, X, settings, whole=small)
    coarse, A = _weighted(K.ladder(settings.tol)[0], classes), _weighted(K, classes)
    variance = coarse.trace()
    _refuse_constant(variance)
    reg, path, spectrum, turned = _reg_and_start(kernel, X, classes, settings, variance, small)
    mu, Y = reg * variance, classes.indicators()
    solved = _by_cholesky(A, Y, mu) if small else _by_gradients(coarse, A, Y, mu, spectrum, turned, settings)
    found = directions(Y.T @ (Y - mu * to_numpy(solved.dual)), classes)
    xp, place = A.xp, A._place()
    dual = solved.dual @ xp.asarray(found.combine, **place)
    fitted = xp.asarray(Y @ found.combine, **place) - mu * dual  # K_w times dual, which is √w z
    leverage = solved.leverage + classes.weights / classes.n
    return Discriminants(
        found,
        _dual_expansion(kernel, X, A, dual, settings.n_jobs),
        np.sqrt(np.maximum(to_numpy(xp.sum(dual * fitted, axis=0)), 0.0)),
        reg,
        mu / classes.n,
        path,
        np.arange(classes.n),
        left_out(to_numpy(fitted / A.roots), classes.codes, leverage, found),
        solved.residuals,
        solved.passes,
        solved.reason,
    )


def _weighted(K: Operator, classes: Classes) -> WeightedCentered:
    return WeightedCentered(K, K.xp.asarray(classes.weights, **K._place()))


def _matrix(kernel: Kernel, X: Any, settings: Settings, whole: bool) -> Operator:
    double = namespace(X).float64
    if isinstance(kernel, Precomputed):
        return Dense(symmetric(kernel.points(X, double).rows))
    K = Gram(
        kernel, X, precision=double, keep_bytes=settings.keep_bytes, keep_from=1, tile=_TILE, n_jobs=settings.n_jobs
    )
    refuse_overflow(K, kernel)
    return Dense(K.to_dense()) if whole else K


def _dual_expansion(kernel: Kernel, X: Any, A: WeightedCentered, dual: Any, n_jobs: int | None) -> KernelExpansion:
    xp, coefs = A.xp, A.coefficients(dual)
    offset = xp.sum(coefs * A.row_sums()[:, None], axis=0) / A.n
    dtype = xp.float32 if X.ndim == 2 and X.dtype == xp.float32 else xp.float64
    return KernelExpansion(kernel, X, xp.astype(coefs, dtype), xp.astype(offset, dtype), n_jobs)


def _reg_and_start(kernel: Kernel, X: Any, classes: Classes, settings: Settings, variance: float, small: bool) -> Any:
    """reg, how it was chosen, and for conjugate gradients the spectrum of a factor and the samples turned into it."""
    if small and settings.reg != "loo":
        return float(settings.reg), None, None, None
    rank = None if small else _LOO_RANK if settings.reg == "loo" else _PRECONDITIONER
    F = _features(kernel, X, rank, settings).F if rank is None else _start_factor(kernel, X, rank, settings)
    S = scatter(F, classes)
    spectrum = Spectrum(S)
    sample = np.arange(classes.n)
    turned = _centred_rows(F, sample, S) @ spectrum.W
    if settings.reg != "loo":
        return float(settings.reg), None, spectrum, turned
    reg, path = choose_reg(spectrum, variance, turned, sample, classes)
    return reg, path, spectrum, turned


def _start_factor(kernel: Kernel, X: Any, rank: int, settings: Settings) -> Any:
    """F in float32, which is enough to choose a penalty and to precondition with."""
    single = namespace(X).float32
    A: Operator = Dense(symmetric(X)) if isinstance(kernel, Precomputed) else Gram(kernel, X, n_jobs=settings.n_jobs)
    return rpcholesky(A, min(A.n, rank), as_generator(settings.random_state), dtype=single).F


def _by_cholesky(A: WeightedCentered, Y: np.ndarray, mu: float) -> Solved:
    """One factor; the leverages are on the diagonal of its inverse."""
    K = A.rows(np.arange(A.n))
    shifted = K + mu * np.eye(A.n)
    try:
        factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError as error:
        raise ValueError(
            f"K + λnI is not positive definite: the kernel is indefinite on this data, or reg is too small ({mu:.1e})."
        ) from error
    solved = cho_solve(factor, Y, check_finite=False)
    residuals = np.linalg.norm(K @ solved + mu * solved - Y, axis=0)
    inverse = dpotri(factor[0], lower=1)[0]
    return Solved(solved, 1 - mu * inverse.diagonal(), residuals, 1, "all of K, one Cholesky factor")


def _by_gradients(
    coarse: WeightedCentered,
    A: WeightedCentered,
    Y: np.ndarray,
    mu: float,
    spectrum: Spectrum,
    turned: np.ndarray,
    settings: Settings,
) -> Solved:
    """The same over streamed tiles: in float32 as far as that goes, then in float64, where the residuals are taken.

    Leverages come from the factor and, outside its span, from the diagonal that is left.
    """
    xp, place = A.xp, A._place()
    values = spectrum.values[::-1]
    alive = int(np.sum(values > 1e-9 * values.max()))
    U = to_numpy(A.roots) * turned[:, ::-1][:, :alive] / np.sqrt(values[:alive])
    preconditioner = factor_preconditioner(xp.asarray(U, dtype=xp.float32, **place), values[:alive], mu, xp, place)
    B, start, passes = xp.asarray(Y, **place), None, 0
    if coarse.K is not A.K:
        rough = shifted_solve(
            coarse, B, mu, tol=max(0.3 * settings.tol, _SINGLE), max_iter=settings.max_iter, precondition=preconditioner
        )
        start, passes = rough.X, rough.passes
        coarse.K.forget()
    solution = shifted_solve(
        A,
        B,
        mu,
        tol=settings.tol,
        max_iter=max(0, settings.max_iter - passes),
        precondition=preconditioner,
        start=start,
    )
    passes += solution.passes
    worst = float(solution.residuals.max())
    if worst > 2 * settings.tol:
        warnings.warn(
            f"Conjugate gradients stopped after {passes} passes with a residual of {worst:.1e}, above tol = "
            f"{settings.tol:.1e}. See residuals_; raise reg, max_iter or tol.",
            NotConvergedWarning,
            stacklevel=2,
        )
    rest = np.maximum(to_numpy(A.diagonal()) - (U**2) @ values[:alive], 0.0)
    leverage = (U**2) @ (values[:alive] / (values[:alive] + mu)) + rest / (rest + mu)
    return Solved(solution.X, leverage, solution.residuals, passes, "all of K, conjugate gradients")


def _refuse_constant(variance: float) -> None:
    if not variance > 0:
        raise ValueError(
            "The data has no variation in feature space: no direction can separate the classes. Constant or "
            "underflowing data, or a gamma that makes all points alike, does that."
        )

"""The computation behind KernelPCA: from a kernel and samples to components and the map of new points.

exact_components    the top eigenpairs of HKH, certified
factor_components   those of HFFᵀH for a randomly pivoted Cholesky factor, with the trace bound
streamed_components  the same from the sums of a pass over rows that are not in memory
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.backends import backend_of, beside, column_signs, columns_of, namespace, placement
from mercer.exceptions import (
    DegenerateDataWarning,
    IndefiniteKernelWarning,
    NotConvergedWarning,
    UncertainScoresWarning,
    warn,
)
from mercer.expansion import KernelExpansion
from mercer.features import (
    DOUBLE,
    SIGNIFICANT,
    SINGLE,
    Features,
    kernel_features,
    refuse_infinite,
    refuse_overflow,
    symmetric,
)
from mercer.kernels import Kernel
from mercer.kernels.discrete import Precomputed
from mercer.linalg.eigen import SMALL, Eigenpairs, top_eigenpairs
from mercer.linalg.eigen_bounds import column_norms
from mercer.linalg.gram import Gram
from mercer.linalg.krylov import Goal, Monitor
from mercer.linalg.lowrank import FactorSpectrum, factor_spectrum, spectrum_of_products
from mercer.linalg.operators import Centered, Dense
from mercer.planning import Plan
from mercer.progress import in_phase
from mercer.streams.local_driver import open_workers
from mercer.streams.streamed_features import StreamedFeatures

# Up to this many samples one thread computes the matrix before a second would be awake. Key: the kernel is cheap.
_ONE_TILE = {True: 512, False: 256}
# Rows above which the workers of a cluster compute the kernel matrix: a smaller pass takes as long as their tasks do.
_DEALT_ABOVE = 8192
_BLOCK = 2**17  # entries worked on at a time if there are many columns: they stay in the cache
_TRUSTED = 0.01  # scores that are uncertain by less than this share of √γ need no warning
# Residuals relative to their own γ that the solver is asked for: far below _TRUSTED, and seldom worth another pass.
_OWN = {DOUBLE: 1e-6, SINGLE: 1e-3}
_ZERO_AT = {DOUBLE: 1e-12, SINGLE: 2e-7}  # an eigenvalue below this share of γ₁ is rounding, as scikit-learn has it


@dataclass(frozen=True)
class Settings:
    """What the user asked for, with every default resolved."""

    k: int  # how many pairs to look for first
    share: float | None  # of the variance, if that decides the number
    tol: float
    dtype: np.dtype[Any]  # of the answer
    max_iter: int | None
    n_iter: int | str
    rank: int
    drop_zero: bool
    random_state: Any
    n_jobs: int | None
    monitor: Monitor | None
    subject: str = ""  # what messages call the matrix; the kernel's own name if it is empty
    # Matrices of distances mostly are, so the user is told only of a negative part that outweighs a component.
    may_be_indefinite: bool = False
    direct: bool = False  # whether LAPACK may take over from lanczos, in a copy of the matrix


@dataclass(frozen=True)
class Components:
    """Everything that a fit knows. Arrays of length k are NumPy's; `vectors` and the expansion live with the data."""

    values: np.ndarray
    vectors: Any  # (n, k), or None if the rows were streamed
    residuals: np.ndarray
    errors: np.ndarray
    transform_errors: np.ndarray  # a bound on the error of a score: see `_expansion`
    total: float  # tr HKH
    expansion: KernelExpansion  # x ↦ scores, and in a last column x ↦ mean of k(x, xᵢ)
    mean_norm: float  # mean of k(xᵢ, xⱼ): the squared length of the mean of the features
    passes: int
    bytes: int
    reason: str
    converged: bool
    landmarks: np.ndarray | None = None  # the rows that the expansion compares with, if these are not all
    solver: str = ""  # the one that ran; empty if it is the plan's
    streamed_rows: int | None = None  # how many rows were streamed; `vectors` is then None

    @property
    def n(self) -> int:
        return self.vectors.shape[0] if self.streamed_rows is None else self.streamed_rows


def exact_components(
    kernel: Kernel, X: Any, plan: Plan, settings: Settings, replan: Callable[[int], Plan]
) -> Components:
    """The top eigenpairs of HKH by the plan's solver; `replan(k)` is asked when a share needs more than k."""
    with _calm(X, plan):
        return _exact_components(kernel, X, plan, settings, replan)


def _calm(X: Any, plan: Plan) -> AbstractContextManager[Any]:
    """One thread for BLAS, except for LAPACK on a large matrix.

    On small matrices two threads mostly wait for each other. On large ones it is Mercer's own threads that read tiles,
    and BLAS's, which spin for a while after each product between two passes, would take a core from them.
    """
    alone = plan.solver != "dense" or X.shape[0] <= SMALL // 2
    return backend_of(X if X.ndim == 2 else np.empty(0)).one_thread() if alone else nullcontext()


def _exact_components(
    kernel: Kernel, X: Any, plan: Plan, settings: Settings, replan: Callable[[int], Plan]
) -> Components:
    return components_of(_operator(kernel, X, plan, settings), kernel, X, plan, settings, replan, spend=True)


def components_of(
    A: Centered,
    kernel: Kernel,
    X: Any,
    plan: Plan,
    settings: Settings,
    replan: Callable[[int], Plan] | None = None,
    spend: bool = False,
) -> Components:
    """The top eigenpairs of a centred matrix, and the expansion in `kernel` over the samples X that it stands for.

    spend : whether A is of no further use to the caller, so that LAPACK may work in its memory
    """
    pairs, plan = _solve(A, plan, settings, replan, spend)
    noise, subject = _noise(A), settings.subject or kernel
    converged = _judge(pairs, subject, settings, noise)
    values = _cleaned(pairs.values, subject, A.n, settings.dtype, noise)
    pairs = _select(pairs, np.flatnonzero(values > 0) if settings.drop_zero else np.arange(len(values)))
    values = values[values > 0] if settings.drop_zero else values
    centred = _centred(pairs, A)
    vectors, _ = _with_fixed_signs(pairs.vectors)
    expansion, transform_errors = _expansion(kernel, X, values, vectors, pairs.residuals, centred, settings)
    _warn_of_uncertain_scores(values, pairs.residuals, transform_errors)
    returned = _in_precision(vectors, settings.dtype)
    residuals, errors = _as_returned(pairs, values, vectors, returned, settings.dtype)
    return Components(
        values,
        returned,
        residuals + _sum_rounding(A),
        errors + noise,
        transform_errors,
        centred.trace(),
        expansion,
        float(A.xp.sum(centred.row_sums())) / A.n**2,
        pairs.passes,
        plan.needed_bytes + pairs.kept_bytes,
        plan.reason if pairs.solver == plan.method else pairs.reason,
        converged,
        solver=pairs.solver,
    )


def factor_components(kernel: Kernel, X: Any, plan: Plan, settings: Settings) -> Components:
    """The top eigenpairs of HFFᵀH, K ≈ FFᵀ: γ(HKH) is above them by tr(K − FFᵀ) at most."""
    n = X.shape[0]
    features = kernel_features(
        kernel,
        X,
        rank=settings.rank,
        memory_limit=plan.limit,
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
    )
    factor = features.factor
    spectrum = factor_spectrum(factor.F, n_jobs=settings.n_jobs)
    # The training scores are those of F itself, whatever F leaves out of K: only rounding comes between.
    factored = _Factored(
        spectrum,
        features,
        n,
        factor.error,
        factor.negative,
        features.largest,
        features.entry_error,
        factor.landmarks,
        factor.F,
    )
    reason = f"rank {len(spectrum.values)}, tr(K − FFᵀ) = {factor.error:.3g}"
    return _components_on(factored, kernel, settings, n * len(spectrum.values) * settings.dtype.itemsize, reason)


def streamed_components(
    features: StreamedFeatures, kernel: Kernel, settings: Settings, needed_bytes: int
) -> Components:
    """The top eigenpairs of HFFᵀH from the sums over all rows; γ(HKH) is above them by the features' error at most.

    There are no eigenvectors, which have an entry per row. A component points where its largest weight is positive.
    """
    sums = features.statistics
    inner = features.features.expansion
    eps = float(np.finfo(inner.coefs.dtype).eps)
    spectrum = spectrum_of_products(sums.centred_products(), sums.mean, eps)
    # Rounding may also lift eigenvalues of FFᵀ above those of K, by no more than the error.
    factored = _Factored(
        spectrum,
        features,
        sums.n,
        features.error,
        features.negative,
        float(sums.largest[0]),
        kernel.rounding(inner.anchor_points()),
        features.places,
    )
    reason = (
        f"rank {len(spectrum.values)} over {len(features.places)} landmarks, tr(K − FFᵀ) = {features.error:.3g} over "
        f"all {sums.n:,} rows"
    )
    return _components_on(factored, kernel, settings, needed_bytes, reason)


@dataclass(frozen=True)
class _Factored:
    """A factor of the kernel matrix, and what its rows told of K, whether they are in memory or were streamed."""

    spectrum: FactorSpectrum
    features: Features | StreamedFeatures
    n: int
    error: float  # tr(K − FFᵀ)
    negative: float  # how far K − FFᵀ was seen to be indefinite
    largest: float  # k(x, x)
    entry_error: float  # how far an entry of K may be from k(x, y)
    landmarks: np.ndarray
    F: Any = None  # (n, m), or None if the rows were streamed


def _components_on(factored: _Factored, kernel: Kernel, settings: Settings, taken: int, reason: str) -> Components:
    """The components of a factor, with the trace of K − FFᵀ as the bound of their errors."""
    spectrum, n = factored.spectrum, factored.n
    total = float(spectrum.values.sum()) + factored.error
    k = min(settings.k, len(spectrum.values))
    if settings.share is not None:
        k = _enough(spectrum.values, total, settings.share)
    _warn_of_low_rank(spectrum.values, total, settings)
    values = _cleaned(spectrum.values[:k], kernel, n, settings.dtype)
    k = int(np.sum(values > 0)) if settings.drop_zero else k
    held = np.where(values[:k] > 0, np.sqrt(spectrum.values[:k]), 0.0)  # a component that is zero has scores of zero
    weights = spectrum.rotation[:, :k] * held  # F(x) − mean ↦ scores
    if factored.F is None:
        vectors, signs = None, column_signs(weights)
    else:
        vectors, signs = _with_fixed_signs(spectrum.vectors(factored.F, k))
        vectors = _in_precision(vectors, settings.dtype)
    weights = weights * signs
    expansion = factored.features.expansion(
        np.column_stack([weights, spectrum.mean]), np.append(spectrum.mean @ weights, 0.0)
    )
    transform_errors = _score_errors(
        expansion, values[:k], np.zeros(k), factored.largest, factored.entry_error, settings.dtype
    )
    _warn_of_uncertain_scores(values[:k], np.zeros(k), transform_errors)
    # If K − FFᵀ was seen to be indefinite, its trace bounds nothing.
    bound = np.full(k, np.inf if factored.negative > 0 else factored.error)
    return Components(
        values[:k],
        vectors,
        bound,
        bound.copy(),
        transform_errors,
        total,
        expansion,
        float(spectrum.mean @ spectrum.mean),
        0,
        taken,
        reason,
        True,
        factored.landmarks,
        streamed_rows=n if factored.F is None else None,
    )


# --- the operator and its eigenpairs ---------------------------------------------------------------------


def _operator(kernel: Kernel, X: Any, plan: Plan, settings: Settings) -> Centered:
    if isinstance(kernel, Precomputed):
        K = symmetric(kernel.points(X, namespace(X).float64).rows)
        # A small matrix is centred once, in a copy; a large one in every product, which costs less than the memory.
        return Centered.consuming(namespace(K).asarray(K, copy=True)) if X.shape[0] <= SMALL else Centered(Dense(K))
    if X.shape[0] <= SMALL:
        return _whole(kernel, X, settings)
    # Tiles of float64 whatever the data: the ladder starts on float32 ones, and the certificate is worth one pass.
    # Keeping starts with the second pass, since there is often only one.
    gram = Gram(
        kernel,
        X,
        precision=namespace(X).float64,
        keep_bytes=plan.keep_bytes,
        keep_from=1,
        tile=plan.tile if X.shape[0] > plan.tile else None,
        n_jobs=settings.n_jobs,
    )
    refuse_overflow(gram, kernel)
    workers = open_workers() if X.shape[0] > _DEALT_ABOVE and not gram.placement() else None
    if plan.solver in ("dense", "lanczos"):
        centred = Centered.consuming(gram.to_dense())
    else:
        centred = Centered(gram if workers is None else workers.dealt(gram))
    centred.entry_error = kernel.rounding(gram.points)
    return centred


def _whole(kernel: Kernel, X: Any, settings: Settings) -> Centered:
    """HKH in memory, in float64; up to a tile or so without the machinery of tiles."""
    if X.shape[0] > _ONE_TILE[kernel.quick]:
        gram = Gram(kernel, X, precision=namespace(X).float64, n_jobs=settings.n_jobs)
        points, form = gram.points, gram.to_dense
    else:
        points = kernel.points(X, namespace(X).float64)
        form = partial(kernel.tile, points)
    refuse_infinite(kernel.diagonal(points), kernel)
    centred = Centered.consuming(form())
    centred.entry_error = kernel.rounding(points)
    return centred


def _warn_of_low_rank(values: np.ndarray, total: float, settings: Settings) -> None:
    """Warn, and say why, if the factor holds less than was asked for."""
    m = len(values)
    held = values.sum() / total if total > 0 else 1.0
    if settings.share is not None and held < settings.share:
        warn(
            f"A factor of rank {m} is certain to hold {held:.1%} of the variance, less than the {settings.share:.1%} "
            "asked for: all its components are given. Raise rank.",
            NotConvergedWarning,
        )
    if settings.share is None and m < settings.k and not settings.drop_zero:
        warn(
            f"The kernel matrix has rank {m} up to rounding, so it has {amount(m, 'component')}, not {settings.k}.",
            DegenerateDataWarning,
        )


@in_phase("eigenpairs")
def _solve(
    A: Centered, plan: Plan, settings: Settings, replan: Callable[[int], Plan] | None, spend: bool
) -> tuple[Eigenpairs, Plan]:
    k, known = settings.k, None
    if settings.share is not None and replan is not None and plan.solver == "dense":
        k, plan = A.n, replan(A.n)  # LAPACK's reduction is most of its work, whatever the number of pairs
    goal = Goal(_own_share(settings), _ZERO_AT[settings.dtype], _noise(A))
    while True:
        pairs = top_eigenpairs(
            A,
            k,
            solver=plan.solver,
            tol=settings.tol,
            max_iter=settings.max_iter,
            n_iter=settings.n_iter,
            random_state=settings.random_state,
            monitor=settings.monitor,
            start=known,
            goal=goal,
            direct=settings.direct,
            spend=spend,
        )
        if settings.share is None or replan is None:
            return pairs, plan
        enough = _enough(pairs.values, _centred(pairs, A).trace(), settings.share)
        if enough < k or k == A.n:
            return _select(pairs, np.arange(min(enough, k))), plan
        k, known = _next_count(pairs.values, _centred(pairs, A).trace(), settings, A.n), pairs.vectors
        A.forget()
        plan = replan(k)
        if plan.solver == "dense":
            k = A.n


def _own_share(settings: Settings) -> float:
    """How small a residual should be beside its own γ: as small as is seldom worth a pass, far below _TRUSTED.

    A coarser tol than the default asks for less of the small eigenvalues too. At 1e-6 of γ₁, say, a γ at the edge of
    the noise would else be finished on float64 tiles, to digits that its score does not need.
    """
    return max(_OWN[settings.dtype], min(100 * settings.tol, _TRUSTED / 10))


def _enough(values: np.ndarray, total: float, share: float) -> int:
    """How many values it takes to pass the share of the total; all of them if they do not reach it."""
    reached = np.cumsum(np.maximum(values, 0.0)) / total if total > 0 else np.ones(len(values))
    return min(len(values), int(np.searchsorted(reached, share, side="right")) + 1)


def _next_count(values: np.ndarray, total: float, settings: Settings, n: int) -> int:
    """How many pairs to look for next when these do not hold the share.

    Later values are no larger than the last, so what is missing takes at least (missing / last) more of them. They
    fall, so four times as many are looked for. If that makes many, LAPACK costs less than another search that may
    fall short, so the number becomes one for which "auto" takes LAPACK.
    """
    missing, last = (settings.share or 0.0) * total - values.sum(), max(float(values[-1]), np.finfo(np.float64).tiny)
    count = int(min(n, max(2 * len(values), len(values) + min(n, 4 * missing / last))))
    # From a sixth of all pairs on, LAPACK finds all of them. A search for a quarter of that many is near enough.
    return max(count, n // 6 + 1) if settings.direct and count > n // 24 else count


def _centred(pairs: Eigenpairs, A: Centered) -> Centered:
    """The operator that made the last pass and so knows its row sums: after Ctrl-C, a coarser one than A."""
    return pairs.operator if isinstance(pairs.operator, Centered) else A


def _select(pairs: Eigenpairs, index: np.ndarray) -> Eigenpairs:
    if len(index) == len(pairs.values):
        return pairs
    vectors, count = pairs.vectors, len(index)
    # Nearly all of many columns are worth no copy: those that are left out stay in memory.
    view = isinstance(vectors, np.ndarray) and 10 * count > 9 * vectors.shape[1] and index[-1] == count - 1
    return replace(
        pairs,
        values=pairs.values[index],
        vectors=vectors[:, :count] if view else columns_of(vectors, index),
        residuals=pairs.residuals[index],
        errors=pairs.errors[index],
    )


# --- what the values say ---------------------------------------------------------------------------------


def _noise(A: Centered) -> float:
    """An eigenvalue of HKH that rounding in the entries of K alone can make."""
    return 8 * float(np.finfo(np.float64).eps) * A.largest_entry() * float(np.sqrt(A.n)) + A.n * A.entry_error


def _sum_rounding(A: Centered) -> float:
    """What rounding adds to the norm of a product HKHv, ‖v‖ = 1.

    It follows the entries of K, not those of HKH: a large constant in K leaves its rounding when it cancels. Entries
    round at random, which 8√n covers; the means of the rows that are taken off round alike in a whole row. With half of
    the 4n here one recomputed certificate was too small, by half a percent (n = 321, a constant of 1e8 in K).
    """
    return float(np.finfo(np.float64).eps) * A.largest_entry() * (8 * float(np.sqrt(A.n)) + 4 * A.n)


def _as_returned(
    pairs: Eigenpairs, values: np.ndarray, vectors: Any, returned: Any, dtype: np.dtype[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Residuals and errors that hold for the values and vectors as they are returned: rounded, and zero if noise.

    With e + δ for e and γ + ε for γ the residual grows by ‖(A − γ)δ‖ + |ε| at most, and A − γ is no larger than the
    range of A's eigenvalues. The sums are rounded up, so that their own rounding to `dtype` does not take any off.
    """
    xp, eps = namespace(vectors), float(np.finfo(dtype).eps)
    moved = np.abs(pairs.values - values.astype(dtype))
    span = np.abs(pairs.values).max(initial=0.0) + (-pairs.lowest if pairs.lowest < 0 else 0.0)
    turned = column_norms(vectors - xp.astype(returned, vectors.dtype), xp) if dtype == SINGLE else 0.0
    return (pairs.residuals + span * turned + moved) * (1 + 4 * eps), (pairs.errors + moved) * (1 + 4 * eps)


def _cleaned(values: np.ndarray, subject: str | Kernel, n: int, dtype: np.dtype[Any], noise: float = 0.0) -> np.ndarray:
    """Eigenvalues with rounding errors at zero; ValueError if a component is truly negative."""
    values = np.asarray(values, np.float64)
    values = np.where(np.abs(values) > noise, values, 0.0)
    top, lowest = values.max(initial=0.0), values.min(initial=0.0)
    refuse_range(float(top), dtype)
    if lowest < 0 and lowest < -SIGNIFICANT[dtype] * top:
        raise ValueError(
            f"There are significant negative eigenvalues ({-lowest / top if top > 0 else np.inf:.2g} of the largest): "
            f"{subject} is not a positive semidefinite kernel on this data, and {len(values)} components reach into "
            "its negative part. Ask for fewer components, or take another kernel or eigen_solver."
        )
    if top <= 0 and n > 1:
        warn(
            "The data has no variation in feature space: every eigenvalue is zero. It is constant or underflows, or "
            "gamma makes all points alike.",
            DegenerateDataWarning,
        )
    return np.where(values > _ZERO_AT[dtype] * top, values, 0.0)


def refuse_range(top: float, dtype: Any) -> None:
    """ValueError if eigenvalues, which are squares of the data, do not fit its precision."""
    if top > float(np.finfo(dtype).max):
        raise ValueError(
            f"The values of X are too large: eigenvalues near {top:.0e} overflow in {np.dtype(dtype).name}. Divide X "
            "by its largest absolute value, or give it as float64."
        )


def _judge(pairs: Eigenpairs, subject: str | Kernel, settings: Settings, noise: float) -> bool:
    """Whether the tolerance was met, with a warning if it was not or if the kernel is indefinite."""
    top, worst = np.abs(pairs.values).max(initial=0.0), pairs.residuals.max(initial=0.0)
    if top <= noise:
        return True  # only rounding: there is nothing to converge to
    converged = bool(worst <= settings.tol * top)
    if not converged and pairs.solver not in ("dense", "randomized"):  # these were given no tolerance to reach
        warn(
            f"{pairs.solver} stopped after {amount(pairs.passes, 'pass', 'passes')} with a residual of "
            f"{worst / top:.1e} of the largest eigenvalue; tol is {settings.tol:.1e}. Raise max_iter or tol.",
            NotConvergedWarning,
        )
    least = float(pairs.values.min(initial=np.inf))
    if settings.may_be_indefinite and -pairs.lowest > max(least, SIGNIFICANT[settings.dtype] * top):
        sound = int(np.sum(pairs.values > -pairs.lowest))
        warn(
            "The distances fit no Euclidean space: beside the largest eigenvalue, the lowest is "
            f"{pairs.lowest / top:.2g}, the last coordinate's {least / top:.2g}. Ask for fewer than {sound + 1} "
            "coordinates.",
            IndefiniteKernelWarning,
        )
    if pairs.lowest < -SIGNIFICANT[settings.dtype] * top and not settings.may_be_indefinite:
        warn(
            f"{subject} has negative eigenvalues ({pairs.lowest:.2g} or lower, the largest {top:.2g}), so it is not "
            "an inner product here, and shares of variance come out too large.",
            IndefiniteKernelWarning,
        )
    return converged


def _with_fixed_signs(vectors: Any) -> tuple[Any, np.ndarray]:
    """The vectors, in place, with their entry of largest magnitude positive, and the signs used."""
    signs = column_signs(vectors)
    vectors *= beside(signs, vectors)
    return vectors, signs


def _in_precision(values: Any, dtype: np.dtype[Any]) -> Any:
    xp = namespace(values)
    return xp.astype(values, getattr(xp, dtype.name), copy=False)


# --- the map of new points -------------------------------------------------------------------------------


def _expansion(
    kernel: Kernel,
    X: Any,
    values: np.ndarray,
    vectors: Any,
    residuals: np.ndarray,
    A: Centered,
    settings: Settings,
) -> tuple[KernelExpansion, np.ndarray]:
    """x ↦ (scores, mean of k(x, xᵢ)), and a bound on the error of each score.

    α = He/√γ. Centring matters: an eigenvector as computed holds a trace of 1, about ε γ₁/γ of it, and (1ᵀα) times
    the mean of k(x, ·) would stay in the scores. See `_score_errors` for the bound.
    """
    xp, n = A.xp, A.n
    inverse = np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
    k = vectors.shape[1]
    alphas = _like_columns(vectors, k + 1)  # filled a few columns at a time: it may be as large as K
    means, factors, step = xp.mean(vectors, axis=0), beside(inverse, vectors), max(8, _BLOCK // n)
    for cut in (slice(start, min(start + step, k)) for start in range(0, k, step)):
        alphas[:, cut] = (vectors[:, cut] - means[cut]) * factors[cut]
    alphas[:, k] = 1.0 / n
    means = A.row_sums() / n  # what each sample has in common with the mean: K1/n
    # 1ᵀα = 0, so the mean of the means may be taken off first: fewer digits cancel in the sum.
    offset = (means - xp.mean(means)) @ xp.astype(alphas[:, :k], means.dtype, copy=False)
    offset = xp.concat([offset, xp.zeros((1,), dtype=offset.dtype, **placement(offset))])
    return _in_enough_precision(kernel, X, (alphas, offset), values, residuals, A, settings)


def _like_columns(vectors: Any, count: int) -> Any:
    """Room for `count` columns, laid out as the vectors are."""
    if isinstance(vectors, np.ndarray) and vectors.strides[0] == vectors.itemsize:
        return np.empty((vectors.shape[0], count), vectors.dtype, order="F")
    return namespace(vectors).empty((vectors.shape[0], count), dtype=vectors.dtype, **placement(vectors))


def _in_enough_precision(
    kernel: Kernel,
    anchors: Any,
    parts: tuple[Any, Any],
    values: np.ndarray,
    residuals: np.ndarray,
    A: Centered,
    settings: Settings,
) -> tuple[KernelExpansion, np.ndarray]:
    """The expansion and its scores' errors, in the data's precision if that keeps every score, else in float64."""
    for dtype in dict.fromkeys((settings.dtype, DOUBLE)):
        coefs, offset = (_in_precision(part, dtype) for part in parts)
        expansion = KernelExpansion(kernel, anchors, coefs, offset, settings.n_jobs)
        coarser = float(np.finfo(dtype).eps / np.finfo(np.float64).eps)
        errors = _score_errors(expansion, values, residuals, A.largest_entry(), A.entry_error * coarser, settings.dtype)
        if np.all(errors <= _TRUSTED * np.sqrt(values)):
            break
    return expansion, errors


def _score_errors(
    expansion: KernelExpansion,
    values: np.ndarray,
    residuals: np.ndarray,
    largest: float,
    entry_error: float,
    dtype: np.dtype[Any],
) -> np.ndarray:
    """A bound on the error of each component's scores, (k,); zero for components that are zero.

    At a training row f(xᵢ) = (K̃α)ᵢ = (γeᵢ + rᵢ)/√γ with r the residual: ‖r‖/√γ off e√γ at most, beside rounding. At a
    new row f is the inner product of φ̃(x) with the direction Σ αᵢφ̃(xᵢ) itself, and rounding is all there is. That
    happens twice, in the matrix of the fit and in `transform`; the scores themselves are rounded to `dtype`.
    """
    roots = np.sqrt(values)
    rounding = 2 * expansion.rounding_error(largest, entry_error)[: len(values)]
    stored = 2 * float(np.finfo(dtype).eps) * roots
    return np.where(values > 0, residuals / np.where(values > 0, roots, 1.0) + rounding + stored, 0.0)


def _warn_of_uncertain_scores(values: np.ndarray, residuals: np.ndarray, errors: np.ndarray) -> None:
    roots = np.sqrt(values)
    uncertain = np.flatnonzero(errors > _TRUSTED * roots)
    if not len(uncertain):
        return
    if np.any(residuals[uncertain] > 0.5 * errors[uncertain] * roots[uncertain]):
        why, remedy = "the solver left residuals", "set eigen_solver='dense'"
    else:
        why, remedy = "they are near the rounding level", "scale the data"
    first, last = uncertain[0], uncertain[-1]
    where = f"{first}" if first == last else f"from {first} to {last}"
    warn(
        f"Scores of {len(uncertain)} of {len(values)} components ({where}, counted from 0) may be off by over "
        f"{_TRUSTED:.0%}: {why}. Ask for fewer, or {remedy}.",
        UncertainScoresWarning,
    )

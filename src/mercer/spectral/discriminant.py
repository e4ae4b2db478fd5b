"""The computation behind KernelDiscriminantAnalysis: from a kernel, samples and classes to directions.

on_features   a factor F Fᵀ ≈ K: (S_T + λnI) is m × m
exactly       all of K: its eigenvalues or one Cholesky factor, beyond some thousand samples conjugate gradients over
              streamed tiles
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dger, dsymm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs

from mercer.amounts import amount
from mercer.backends import backend_of, beside, cpu, namespace, placement, to_numpy
from mercer.exceptions import NotConvergedWarning, warn
from mercer.expansion import KernelExpansion
from mercer.features import Features, kernel_features, refuse_overflow, rows_of, symmetric, whole_matrix
from mercer.kernels import Kernel
from mercer.kernels.discrete import Precomputed
from mercer.linalg.crossproducts import runs_of, times
from mercer.linalg.eigen import SMALL
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import rpcholesky
from mercer.linalg.operators import Dense, Operator
from mercer.linalg.solve import Solution, factor_preconditioner, refined_solve, shifted_solve
from mercer.linalg.weighted import WeightedCentered
from mercer.progress import in_phase
from mercer.random_state import generator_from
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
from mercer.spectral.tuning import (
    EPS,
    HIDDEN,
    NEVER,
    REG_GRID,
    SAMPLE,
    Path,
    Verdict,
    best_on_path,
    best_width,
    on_a_factor,
    stratified_sample,
    walk,
)

_PROBES = 6  # random vectors, at least, that measure how much room all of K leaves beside what its factor does
_TOGETHER = 16  # columns that a pass takes at the price of one: BLAS's blocks are no smaller
TILE = 512  # rows of tiles that are read again and again, each for two thin products: small enough for the cache
_SINGLE = 3e-7  # a relative residual that tiles of float32 still can give
_CODED = 1e-3  # one that 16-bit codes give: what they round off changes residuals by about this much, so that each
# round of corrections is worth a pass in float64
_NEVER = 10**9  # the pass from which tiles in float64 are kept while float32 ones have their place
_PROBED = 1e-3  # a relative residual that is far below what the probes leave to chance
MOST_RANK = 3000  # columns of the factor that preconditions: beyond it building the factor costs more than it saves
_SMALLEST_REG = 1e-6  # smaller penalties want no larger factor than this one
# What the memory model takes reg="loo" for: what 1e-2 and 1e-6 take is within a quarter of that.
_USUAL_REG = 1e-5
SPECTRUM_UP_TO = 1000  # columns of a factor up to which all its eigenvalues cost less than a walk along penalties
START_SAMPLE = 1000  # samples whose best penalty a walk starts from
_PENALTY_SAMPLE = 1500  # samples that a width, or the penalty for all of K, is chosen on: a second for each width, and
# enough errors to tell widths apart that differ by a factor of two


def block_width(classes: int) -> int:
    """Columns of the system: the classes, and as many probes as cost nothing more.

    >>> block_width(2), block_width(10), block_width(11)
    (16, 16, 32)
    """
    return -(-(classes + _PROBES) // _TOGETHER) * _TOGETHER


def start_rank(n: int, reg: float | str) -> int:
    """Columns of the factor: n r² flops, to save passes of n² each. Small penalties need it more, large n affords it.

    >>> start_rank(5000, 1e-3), start_rank(5000, 1e-5), start_rank(60_000, 1e-3), start_rank(60_000, "loo")
    (197, 626, 685, 2168)
    """
    reg = _USUAL_REG if reg == "loo" else max(float(reg), _SMALLEST_REG)
    return int(min(n, MOST_RANK, max(64, 2.8 * n**0.5 * (1e-3 / reg) ** 0.25)))


@dataclass(frozen=True)
class SampledPenalty:
    """The best penalty for a sample with all of its kernel matrix, and the errors of all that were tried.

    What carries over from s samples to n is μ, which stands for the noise of the labels: reg is s/n of the sample's.
    """

    reg: float
    path: Path
    size: int  # s

    def for_all(self, n: int) -> tuple[float, Path]:
        """The penalty for n samples, and the path in its terms.

        Penalties within half a standard error of the best are equal as far as the sample can tell. The largest of them
        is safe: it does not depend on chance, and few passes solve its system. More data needs less smoothing still,
        so the least of them within a factor n/s of it, a decade at most, is taken.
        """
        regs, errors = self.path
        if n <= self.size:
            return self.reg, self.path
        share, best = self.size / n, float(errors.min())
        close = errors <= best + 0.5 * np.sqrt(best * (1 - best) / self.size)
        lowest = 0.9 * max(share, 0.1) * regs[close].max()  # 0.9 is less than a step of the grid, and hides rounding
        least = float(regs[close & (regs >= lowest)].min())
        return least * share, (regs * share, errors)


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
    say: Callable[[str], None] = lambda line: None  # told what the fit is doing
    sampled: SampledPenalty | None = None  # known if the width was chosen
    direct: bool = False  # whether all of K is factored, beyond the size where its eigenvalues are affordable
    most_rank: int = MOST_RANK  # columns of the factor that preconditions for which there is memory


@dataclass(frozen=True)
class Discriminants:
    """The directions, scaled to wᵀ(S_W/n + λI)w = 1, and how samples that were not fitted lie along them."""

    found: Directions
    expansion: KernelExpansion
    lengths: np.ndarray  # (k,), ‖w‖ in feature space
    reg: float
    penalty: float  # λ
    path: tuple[np.ndarray, np.ndarray] | None  # reg and its leave-one-out error, if that chose reg
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


# --- the width -------------------------------------------------------------------------------------------


def choose_width(
    widened: Callable[[float], Kernel], X: Any, classes: Classes, settings: DiscriminantSettings
) -> tuple[float, Path, SampledPenalty]:
    """The factor on gamma of least leave-one-out error on a sample, what was tried, and the best penalty for it.

    widened : gives the bound kernel whose gamma is multiplied by a number
    """
    penalties: dict[float, SampledPenalty] = {}

    def judge(factor: float) -> Verdict:
        penalties[factor], found = _sampled_penalty(widened(factor), X, classes, settings)
        size = penalties[factor].size
        settings.say(f"gamma × {factor:.3g}: {found[0]:.4f} of {size} samples are wrong when left out")
        return found

    # With more data than the sample, errors within a standard error of the least count as equal.
    s = len(_penalty_sample(classes, settings))
    factor, path = best_width(judge, lambda error: float(np.sqrt(error * (1 - error) / s)) if s < classes.n else 0.0)
    return factor, path, penalties[factor]


def _penalty_sample(classes: Classes, settings: DiscriminantSettings) -> np.ndarray:
    return stratified_sample(classes.codes, _PENALTY_SAMPLE, generator_from(settings.random_state))


@in_phase("choosing the penalty")
def _sampled_penalty(
    kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings
) -> tuple[SampledPenalty, Verdict]:
    sample = _penalty_sample(classes, settings)
    part = classes.of(sample)
    with cpu.one_thread():  # two threads mostly wait for each other on matrices of this size
        A = _stored(kernel, rows_of(X, sample), part, settings.n_jobs)
        reg, found, path = _whole_path(A, part, settings.reg)
    return SampledPenalty(reg, path, part.n), found


def _stored(kernel: Kernel, X: Any, classes: Classes, n_jobs: int | None) -> WeightedCentered:
    """K_w in memory, NumPy's whatever the data."""
    return _weighted(Dense(to_numpy(gram_of(kernel, X, n_jobs=n_jobs).to_dense())), classes)


def _whole_path(A: WeightedCentered, classes: Classes, reg: float | str) -> tuple[float, Verdict, Path]:
    """The best penalty for a matrix in memory, or the verdict on the one that was given."""
    variance, every = A.trace(), np.arange(A.n)
    if not variance > 0:
        return 1.0, NEVER, (np.ones(1), np.ones(1))
    spectrum = DualSpectrum(A.rows(every), classes)
    return best_on_path(spectrum, variance, every, classes, REG_GRID if reg == "loo" else np.array([float(reg)]))


# --- on a factor -----------------------------------------------------------------------------------------


def on_features(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Discriminants:
    """The directions within the span of a factor's landmarks."""
    features = _features(kernel, X, settings.rank, settings)
    S = scatter(features.F, classes, settings.n_jobs)
    refuse_constant(S.variance)
    sample = stratified_sample(classes.codes, SAMPLE, generator_from(settings.random_state))
    rows = _centred_rows(features.F, sample, S)
    reg, path = _chosen_reg(features.F, S, rows, sample, classes, S.variance, settings)
    eps = float(namespace(features.F).finfo(features.F.dtype).eps)
    found, weights, outside = within_span(S, rows, sample, classes, reg, eps)
    offset, penalty = S.mean @ weights, reg * S.variance / classes.n
    del rows, S  # m × m and s × m numbers, beside which the expansion would invert another m × m
    return Discriminants(
        found,
        features.expansion(weights, offset),
        np.linalg.norm(weights, axis=0),
        reg,
        penalty,
        path,
        sample,
        outside,
        np.zeros(len(classes.priors)),
        0,
        f"a factor of rank {features.F.shape[1]} that leaves out {features.error:.2g} of the trace",
    )


def within_span(
    S: Scatter, rows: np.ndarray, sample: np.ndarray, classes: Classes, reg: float, eps: float
) -> tuple[Directions, np.ndarray, np.ndarray]:
    """The directions, their weights on the features, and where the rows of a sample would be, each left out in turn.

    rows : (s, m), centred features of the sample, computed in a precision of `eps`
    """
    penalised = Penalised(S, reg * S.variance)
    # Rounding of the features hides a smaller room.
    room = np.maximum(penalised.room(rows, classes.weights[sample], classes.n), 16 * eps)
    found = directions(penalised.M, classes, noise=8 * EPS / reg)
    weights = penalised.P @ found.combine
    return found, weights, left_out(rows @ weights, classes.codes[sample], room, found)


def _centred_rows(F: Any, sample: np.ndarray, S: Scatter) -> np.ndarray:
    return to_numpy(rows_of(F, sample)).astype(np.float64) - S.mean


def _chosen_reg(
    F: Any,
    S: Scatter,
    rows: np.ndarray,
    sample: np.ndarray,
    classes: Classes,
    variance: float,
    settings: DiscriminantSettings,
) -> tuple[float, Path | None]:
    """The penalty that was asked for, or the one of least leave-one-out error on the factor, with what was tried."""
    if settings.reg != "loo":
        return float(settings.reg), None
    if len(S.total) <= SPECTRUM_UP_TO:
        spectrum = ScatterSpectrum(S, rows, classes.weights[sample], classes.n)
        reg, _, path = best_on_path(spectrum, variance, sample, classes)
        return reg, path
    sampled = settings.sampled or _factor_penalty(F, S, classes, settings)
    judge = on_a_factor(S, rows, sample, classes, variance)

    def told(reg: float) -> Verdict:
        found = judge(reg)
        settings.say(f"reg = {reg:.1e}: {found[0]:.4f} of {len(sample)} samples are wrong when left out")
        return found

    return walk(told, sampled.for_all(classes.n)[0])


def _factor_penalty(F: Any, S: Scatter, classes: Classes, settings: DiscriminantSettings) -> SampledPenalty:
    """The best penalty for a sample, from its rows of a factor."""
    sample = stratified_sample(classes.codes, START_SAMPLE, generator_from(settings.random_state))
    rows, part = _centred_rows(F, sample, S), classes.of(sample)
    reg, _, path = _whole_path(_weighted(Dense(rows @ rows.T), part), part, "loo")
    return SampledPenalty(reg, path, part.n)


# --- on all of K -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solved:
    """(K_w + μI)⁻¹Y', (n, C), with the room of its rows and the residuals of its columns; M is right to `noise`."""

    dual: Any
    M: np.ndarray
    room: np.ndarray
    residuals: np.ndarray
    passes: int
    reason: str
    noise: float


def exactly(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Discriminants:
    """The directions in the span of all samples."""
    if settings.direct:
        A, mu, reg, path, solved = _directly(kernel, X, classes, settings)
    else:
        # BLAS's own threads spin for a while after each product, and would take a core from those that read tiles.
        with backend_of(X if X.ndim == 2 else np.empty(0)).one_thread():
            solve = _in_memory if classes.n <= SMALL else _streamed
            A, mu, reg, path, solved = solve(kernel, X, classes, settings)
    found = directions(solved.M, classes, noise=8 * EPS / reg + solved.noise)
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
    """By one Cholesky factor, or by the eigenvalues if the penalty is to be chosen; NumPy whatever the data."""
    A = _stored(kernel, X, classes, settings.n_jobs)
    variance = A.trace()
    refuse_constant(variance)
    Kw = A.rows(np.arange(A.n))
    if settings.reg != "loo":
        mu = float(settings.reg) * variance
        return A, mu, float(settings.reg), None, _by_cholesky(Kw, classes, mu)
    spectrum = DualSpectrum(Kw, classes)
    reg, _, path = best_on_path(spectrum, variance, np.arange(A.n), classes)
    mu = reg * variance
    dual = spectrum.dual(mu)
    residuals = np.linalg.norm(Kw @ dual + mu * dual - spectrum.U @ spectrum.Y, axis=0)
    room = np.maximum(spectrum.room(mu), HIDDEN)
    noise = float(residuals.max())
    return A, mu, reg, path, Solved(dual, spectrum.M(mu), room, residuals, 1, "all of K, its eigenvalues", noise)


def gram_of(kernel: Kernel, X: Any, **options: Any) -> Operator:
    """K in float64, refused if it overflows."""
    double = namespace(X).float64
    if isinstance(kernel, Precomputed):
        given = Dense(symmetric(kernel.points(X, double).rows))
        given.n_jobs = options.get("n_jobs")
        return given
    K = Gram(kernel, X, precision=double, **options)
    refuse_overflow(K, kernel)
    return K


@in_phase("Cholesky factor")
def _by_cholesky(Kw: np.ndarray, classes: Classes, mu: float) -> Solved:
    """One factor, in the memory of K_w; the room is on the diagonal of its inverse, in the same memory.

    √w is moved out of the way as in DualSpectrum. LAPACK works on the triangle below the diagonal; the one above it
    still holds the matrix, so that residuals can be taken.
    """
    n, roots, top = classes.n, np.sqrt(classes.weights), float(np.trace(Kw))
    Y = without_mean(classes.indicators(), roots)
    shifted = dger(top / n, roots, roots, a=Kw.T, overwrite_a=1)  # Kᵀ = K in LAPACK's order: nothing is copied
    on_diagonal = shifted.diagonal().copy()
    shifted.flat[:: n + 1] += mu
    factor, failed = dpotrf(shifted, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise ValueError(
            f"K + λnI is not positive definite: the kernel is indefinite on this data, or reg is too small ({mu:.1e})."
        )
    dual = dpotrs(factor, Y, lower=1)[0]
    of_factor = factor.diagonal().copy()
    factor[np.diag_indices(n)] = on_diagonal
    fitted = dsymm(1.0, factor, dual, lower=0) - np.outer(roots, top / n * (roots @ dual))
    factor[np.diag_indices(n)] = of_factor
    residuals = np.linalg.norm(fitted + mu * dual - Y, axis=0)
    inverse = dpotri(factor, lower=1, overwrite_c=1)[0]
    room = mu * inverse.diagonal() - classes.weights / n * (mu / (top + mu))
    room, noise = np.maximum(room, HIDDEN), float(residuals.max())
    return Solved(dual, Y.T @ fitted, room, residuals, 1, "all of K, one Cholesky factor", noise)


# --- up to some thousand more: one factor, in place ----------------------------------------------------------


def _directly(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Way:
    """By one Cholesky factor in the memory of K, with the exact room of every sample; the penalty from a sample."""
    A = _weighted(Dense(whole_matrix(kernel, X, settings.n_jobs)), classes)
    variance = A.trace()
    refuse_constant(variance)
    reg, path = _sampled_reg(kernel, X, classes, settings)
    settings.say(f"one Cholesky factor of {classes.n} samples")
    mu, Kw, means = reg * variance, A.K.stored(), A.row_sums() / classes.n
    Kw -= means
    Kw -= (means - float(np.average(means, weights=classes.weights)))[:, None]
    if not A.even:
        Kw *= A.roots
        Kw *= A.roots.T
    return A, mu, reg, path, _by_cholesky(Kw, classes, mu)


# --- beyond: streamed tiles --------------------------------------------------------------------------------


def _streamed(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> Way:
    """By conjugate gradients in float32, or on 16-bit codes of it, with residuals and what is left to do in float64.

    The room of a row is guessed twice, by the factor alone and with what it leaves on the diagonal of K, and scaled in
    each class to the mean that random vectors find. The two err on opposite sides; their harmonic mean is taken.
    """
    reg, path = _sampled_reg(kernel, X, classes, settings)
    coarse, A, mu, reach = _coarse_and_exact(kernel, X, classes, reg, settings)
    F = _start_factor(coarse.K, reg, settings)
    S = scatter(F, classes, settings.n_jobs)
    G = _whitened(F, S, mu, A)
    xp, place = A.xp, A.placement()
    preconditioner = factor_preconditioner(G, xp, settings.n_jobs)
    Y = without_mean(classes.indicators(), np.sqrt(classes.weights))
    C, width = Y.shape[1], block_width(Y.shape[1])
    probes = generator_from(settings.random_state).choice([-1.0, 1.0], (A.n, width - C))
    B = xp.asarray(np.column_stack([Y, probes]), **place)

    system = _ShiftedSystem(coarse, A, mu, reach, preconditioner, settings)
    rough = system.roughly(B, C)
    solution = system.exactly(B[:, :C], rough[:, :C])
    worst = float(solution.residuals.max())
    if worst > 2 * settings.tol:
        warn(
            f"Conjugate gradients stopped after {amount(system.passes, 'pass', 'passes')} with a residual of "
            f"{worst:.1e}, above tol = {settings.tol:.1e}. See residuals_; raise reg, max_iter or tol.",
            NotConvergedWarning,
        )
    left, by_factor = _probed(probes, mu * to_numpy(rough[:, C:]), to_numpy(preconditioner(B[:, C:])), G, classes)
    first = _in_classes(left, by_factor, classes)
    second = _in_classes(left, _approximate_room(F, S, coarse.K, mu, classes), classes)
    room = 2 * first * second / (first + second)
    noise = float(np.sum(solution.residuals**2))
    if noise < worst:
        M = Y.T @ Y - mu * solution.product(B[:, :C])
    else:  # after too few passes the plain form is nearer
        noise, M = worst, Y.T @ (Y - mu * to_numpy(solution.X))
    how = "all of K, conjugate gradients"
    return A, mu, reg, path, Solved(solution.X, M, room, solution.residuals, system.passes, how, noise)


def _coarse_and_exact(
    kernel: Kernel, X: Any, classes: Classes, reg: float, settings: DiscriminantSettings
) -> tuple[WeightedCentered, WeightedCentered, float, float]:
    """K_w on float32 tiles or on codes of them, and on float64 tiles; μ; and the residual that the first can give."""
    K = gram_of(
        kernel, X, keep_bytes=settings.keep_bytes, keep_from=_NEVER, tile=TILE, n_jobs=settings.n_jobs, compress=True
    )
    coarse, A = _weighted(K.ladder(settings.tol)[-2:][0], classes), _weighted(K, classes)  # float32, not coarser
    variance = coarse.trace()
    refuse_constant(variance)
    mu = reg * variance
    noise = coarse.K.code_noise if isinstance(coarse.K, Gram) else 0.0
    if isinstance(K, Gram) and noise > mu:  # K + μI would no longer be positive on codes
        K.compress = False
        coarse = _weighted(K.ladder(settings.tol)[-2:][0], classes)
    if coarse.K is K:
        K.keep()
    return coarse, A, mu, _CODED if 0 < noise <= mu else _SINGLE


@dataclass
class _ShiftedSystem:
    """(K_w + μI) X = B, solved on coarse tiles as far as they reach, and then on float64 tiles (final).

    reach : the residual that coarse tiles can give
    passes : how many have been made
    """

    coarse: WeightedCentered
    exact: WeightedCentered
    mu: float
    reach: float
    precondition: Callable[[Any], Any]
    settings: DiscriminantSettings
    passes: int = 0

    def roughly(self, B: Any, C: int) -> Any:
        """X on coarse tiles. The first C columns are right-hand sides; the others are random vectors and need less."""
        tol = max(0.7 * self.settings.tol, self.reach)  # 0.7 leaves room for what rounding hides from coarse tiles
        found = shifted_solve(
            self.coarse,
            B,
            self.mu,
            tol=np.repeat([tol, max(_PROBED, tol)], [C, B.shape[1] - C]),
            max_iter=self.settings.max_iter,
            precondition=self.precondition,
            certify=False,
            report=self._tell,
        )
        self.passes += found.passes
        return found.X

    def exactly(self, B: Any, start: Any) -> Solution:
        """X with residuals from float64 tiles: by corrections on coarse tiles, while these help."""
        found = refined_solve(
            self.exact,
            self.coarse,
            B,
            self.mu,
            start,
            tol=self.settings.tol,
            reach=self.reach,
            max_iter=self.settings.max_iter - self.passes,
            precondition=self.precondition,
            report=self._tell,
        )
        self.passes += found.passes
        if found.residuals.max() > self.settings.tol and self.passes < self.settings.max_iter:
            self.coarse.K.forget()
            self.exact.K.keep()
            found = shifted_solve(
                self.exact,
                B,
                self.mu,
                tol=self.settings.tol,
                max_iter=self.settings.max_iter - self.passes,
                precondition=self.precondition,
                start=found.X,
                report=self._tell,
            )
            self.passes += found.passes
        return found

    def _tell(self, passes: int, residual: float) -> None:
        self.settings.say(f"pass {passes + self.passes}, largest residual {residual:.1e}")


def _sampled_reg(kernel: Kernel, X: Any, classes: Classes, settings: DiscriminantSettings) -> tuple[float, Path | None]:
    """The penalty that was asked for, or the one that a sample suggests.

    A factor of all samples would not do: it smooths by itself, and the penalty that suits it is far too small for
    all of K.
    """
    if settings.reg != "loo":
        return float(settings.reg), None
    sampled = settings.sampled or _sampled_penalty(kernel, X, classes, settings)[0]
    reg, path = sampled.for_all(classes.n)
    settings.say(f"reg = {reg:.1e}: {path[1].min():.4f} of {sampled.size} samples are wrong when left out")
    return reg, path


def _start_factor(K: Operator, reg: float, settings: DiscriminantSettings) -> Any:
    """F in float32, which is enough to precondition with."""
    rank = min(start_rank(K.n, reg), settings.most_rank)
    return rpcholesky(K, rank, generator_from(settings.random_state), dtype=K.xp.float32, rounds=4).F


def _whitened(F: Any, S: Scatter, mu: float, A: WeightedCentered) -> Any:
    """G = F_w L⁻ᵀ with L Lᵀ = F_wᵀF_w + μI, (n, r) in float32, F_w the factor's rows about their mean times √w."""
    floor = float(np.finfo(np.float32).eps) * S.variance  # beneath it the products of a float32 factor are rounding
    L = np.linalg.cholesky(S.total + max(mu, floor) * np.eye(len(S.total)))
    inverse = solve_triangular(L, np.eye(len(L)), lower=True, check_finite=False).T
    G = times(F, inverse, S.mean, A.K.n_jobs)
    if not A.even:
        G *= namespace(F).astype(A.roots, F.dtype)
    return G


def _probed(
    probes: np.ndarray, left: np.ndarray, known: np.ndarray, G: Any, classes: Classes
) -> tuple[np.ndarray, np.ndarray]:
    """1 − h − w/n of each row and noise, (n,), and that by the factor alone.

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
    return (seen - share * noise).mean(axis=1) - own, np.maximum(diagonal - own, _SINGLE)


def _approximate_room(F: Any, S: Scatter, K: Operator, mu: float, classes: Classes) -> np.ndarray:
    """1 − h − w/n of each row if what the factor leaves of K were diagonal: K_w ≈ F_wF_wᵀ + D.

    With Λ = D + μI and L Lᵀ = I + F_wᵀΛ⁻¹F_w it is μ(1/λᵢ − ‖L⁻¹fᵢ‖²/λᵢ²). Rows that the factor holds badly have a
    large D, and hence little room; by the factor alone they would seem to have all of it. Cost: 2 n r² flops.
    """
    xp, w, n = namespace(F), classes.weights, classes.n
    held = np.concatenate([to_numpy(xp.sum(F[run, :] ** 2, axis=1, dtype=xp.float64)) for run in runs_of(n)])
    lam = mu + w * np.maximum(to_numpy(K.diagonal()).astype(np.float64) - held, 0.0)
    inner = np.eye(len(S.total))
    mean = beside(S.mean, F)
    for run in runs_of(n):
        rows = (F[run, :] - mean) * beside(np.sqrt(w[run] / lam[run])[:, None], F)
        inner += to_numpy(rows.T @ rows)
    inverse = solve_triangular(np.linalg.cholesky(inner), np.eye(len(inner)), lower=True, check_finite=False)
    turned = beside(inverse.T, F)
    parts = []
    for run in runs_of(n):
        rows = (F[run, :] - mean) @ turned
        parts.append(to_numpy(xp.sum(rows**2, axis=1, dtype=xp.float64)))
    room = mu * (1 / lam - w * np.concatenate(parts) / lam**2)
    return np.maximum(room - w / n, _SINGLE)


def _in_classes(left: np.ndarray, by_factor: np.ndarray, classes: Classes) -> np.ndarray:
    """by_factor, scaled in each class to have the mean that `left` has there."""
    counts = np.bincount(classes.codes)
    found, known = (np.bincount(classes.codes, part) / counts for part in (left, by_factor))
    overall = float(np.mean(left) / np.mean(by_factor))
    many = counts >= 50  # fewer say too little of their own
    share = np.maximum(np.where(many, found / known, overall), _SINGLE)
    return np.minimum(by_factor * share[classes.codes], 1.0)


def refuse_constant(variance: float) -> None:
    """Raise ValueError if all samples have the same features, so that nothing separates them."""
    if not variance > 0:
        raise ValueError(
            "The data has no variation in feature space, so no direction can separate the classes. The data is "
            "constant or underflows, or gamma makes all points alike."
        )

"""Low-rank factors F with F Fᵀ ≈ K, each with its error.

    rpcholesky                  accelerated randomly pivoted Cholesky: near-optimal, (m + 1) n entries of K
    nystroem                    landmarks that the caller chose
    orthogonal_random_features  for shift-invariant kernels: no entry of K at all

For the first two K − FFᵀ is positive semidefinite if K is, so its trace, which costs nothing, bounds its norm:
0 ≤ γᵢ(K) − γᵢ(FFᵀ) ≤ tr(K − FFᵀ), and the same holds after centring.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dtrtri

from mercer.backends import backend_of, cpu, is_foreign, namespace, placement, to_numpy
from mercer.kernels.kernel import Kernel, Points
from mercer.linalg.crossproducts import centred_products, runs_of, times
from mercer.linalg.operators import Operator
from mercer.models.fields import SavedRecord, floats, optional
from mercer.progress import phase

_LOOKED_AT = 8  # rows of K − FFᵀ that are computed in the end: those with most left on the diagonal, and as many others
_FEW_TELL = 4  # how many times larger K − FFᵀ may be than these rows tell
_NEGATIVE = -64.0  # a residual below −64 times its rounding noise is truly negative, not noise


@dataclass(frozen=True)
class Factor:
    """F Fᵀ ≈ K from columns of K.

    F : (n, m); F(x) of a new point is k(x, landmarks) @ coefs.
    landmarks : (m,) indices of the columns.
    error : tr(K − FFᵀ), an upper bound of ‖K − FFᵀ‖, with what rounding may add.
    negative : how far below zero the diagonal of K − FFᵀ was seen to go, summed and relative to tr K. Zero for a
        positive semidefinite K; anything else makes the bound void.
    root : (m, m) with root rootᵀ = K[landmarks, landmarks]⁻¹, if F was made from one; else F at the landmarks is
        lower triangular, and its inverse does the same.

    >>> from mercer.linalg import Dense, rpcholesky
    >>> factor = rpcholesky(Dense(np.diag([4.0, 1.0, 0.0])), 2, np.random.default_rng(0))
    >>> factor.F.shape, bool(factor.error < 1e-12)
    ((3, 2), True)
    """

    F: Any
    landmarks: np.ndarray
    error: float
    negative: float = 0.0
    root: np.ndarray | None = None

    @cached_property
    def coefs(self) -> np.ndarray:
        """(m, m), computed when it is first asked for: a preconditioner never does."""
        if self.root is not None:
            return self.root
        if not is_foreign(self.F):  # NumPy's take would copy all of F first, whose columns lie together
            return inverse_transpose(self.F[self.landmarks])
        xp = namespace(self.F)
        index = xp.asarray(self.landmarks, **placement(self.F))
        return inverse_transpose(to_numpy(xp.take(self.F, index, axis=0)))


def rpcholesky(
    A: Operator,
    rank: int,
    rng: np.random.Generator,
    *,
    dtype: Any = None,
    tol: float = 0.0,
    of_variance: bool = False,
    least: int = 0,
    rounds: int = 8,
) -> Factor:
    """A factor of at most `rank` columns by randomly pivoted Cholesky, with many pivots per round.

    Pivots are drawn in proportion to the diagonal of K − FFᵀ. Drawing a block and then accepting each draw with the
    probability that its diagonal entry still has after the ones before it gives exactly the law of one at a time (Chen,
    Epperly, Tropp & Webber 2025; Epperly, Tropp & Webber 2024), and turns nearly all the work into products. It stops
    early once tr(K − FFᵀ) ≤ tol · tr K. With `of_variance` the bound is tol · ‖HF‖² instead, where ‖HF‖² is the
    variance that F holds and at most tr HKH. Far from the origin nearly all of tr K is the mean of the features, so tr
    K says nothing about the variance. Neither rule stops it before `least` columns; only rounding does. Fewer `rounds`
    have larger blocks, with fewer calls and more rejected draws. Cost: rank · n entries of K, n · rank² flops, n · rank
    numbers.

    `rng` is a generator of NumPy that draws the pivots, and `dtype` is the precision of F.

    >>> from mercer.linalg import Dense
    >>> factor = rpcholesky(Dense(np.ones((4, 4))), 1, np.random.default_rng(0))
    >>> bool(np.allclose(factor.F @ factor.F.T, np.ones((4, 4)))), bool(factor.error < 1e-12)
    (True, True)
    """
    xp, n = A.xp, A.n
    rank = min(rank, n)
    dtype = dtype or A.dtype
    diagonal = A.diagonal()
    eps = _coarsest_eps(xp, diagonal.dtype, dtype)
    diagonal = to_numpy(diagonal).astype(np.float64)
    residual = np.maximum(diagonal, 0.0)
    total, negative = residual.sum(), float(residual.sum() - diagonal.sum())
    Ft = xp.empty((rank, n), dtype=dtype, **A.placement())  # F transposed: new columns of F are whole rows here
    pivots: list[int] = []
    block = max(8, -(-rank // rounds))
    scale = residual.copy()
    noise = 16 * eps * scale  # what rounding leaves on the diagonal of K − FFᵀ
    enough, unseen, held = 0.0 if of_variance else tol * total, 0.0, 0.0
    while len(pivots) < rank and residual.sum() > max(noise.sum(), enough if len(pivots) >= least else 0.0):
        drawn = rng.choice(n, size=min(block, rank - len(pivots) + block // 4), p=residual / residual.sum())
        chosen, L = _accept(A, Ft, len(pivots), drawn, residual, noise, rng)
        chosen, L = chosen[: rank - len(pivots)], L[: rank - len(pivots), : rank - len(pivots)]
        if not len(chosen):
            break  # nothing positive is left: K is indefinite or exhausted, and F is what can be had
        missed, below = _append(A, Ft, len(pivots), chosen, L, residual, noise)
        unseen, negative = unseen + missed, negative + below
        if of_variance:
            held += _variance(xp, Ft[len(pivots) : len(pivots) + len(chosen), :])
            enough = tol * held
        pivots.extend(int(p) for p in chosen)
    m = len(pivots)
    landmarks = np.array(pivots, dtype=np.int64)
    rounding = 4 * eps * total * np.sqrt(max(m, 1)) + noise.sum()
    error = float(residual.sum()) + unseen + rounding
    hidden = _hidden(A, Ft[:m, :], residual, np.sqrt(residual + noise) * np.sqrt(error))
    negative = max(negative, hidden if _FEW_TELL * hidden > error else 0.0)
    return Factor(Ft[:m, :].T, landmarks, error, negative / total if total > 0 else float(negative > 0))


def _hidden(A: Operator, Ft: Any, residual: np.ndarray, allowed: np.ndarray) -> float:
    """About ‖K − FFᵀ‖ if that is seen to be indefinite, else 0.

    Its diagonal does not show all of an indefinite E. A semidefinite one has Eᵢⱼ² ≤ Eᵢᵢ Eⱼⱼ, so that ‖Eᵢ‖² ≤ Eᵢᵢ tr E,
    which is `allowed`. A few rows are compared with that, and tell about the others.
    """
    xp, n = A.xp, A.n
    spread = np.random.default_rng(0).choice(n, min(_LOOKED_AT, n), replace=False)  # of its own: the pivots stay
    places = np.concatenate([spread, np.setdiff1d(np.argsort(-residual)[:_LOOKED_AT], spread)])
    strip = A.strip(_index(A, places))
    known = xp.astype(xp.take(Ft, _index(A, places), axis=1).T, xp.float64)
    runs = runs_of(n)
    lengths = np.zeros((len(runs), len(places)))

    def work(job: int, slot: int) -> None:
        E = xp.astype(strip(runs[job]), xp.float64) - known @ xp.astype(Ft[:, runs[job]], xp.float64)
        size = float(xp.max(xp.abs(E))) or 1.0  # squares of 1e-200 would vanish
        lengths[job] = size * np.sqrt(to_numpy(xp.sum((E / size) ** 2, axis=1)))

    backend_of(Ft).for_each(range(len(runs)), work, A.n_jobs)
    unit = lengths.max(initial=0.0) or 1.0
    squares = ((lengths / unit) ** 2).sum(axis=0)
    if not np.any(unit * np.sqrt(squares) > allowed[places]):
        return 0.0
    usual, most = squares[: len(spread)].mean(), squares[len(spread) :].sum()
    return unit * float(np.sqrt(n * usual + most))


def _variance(xp: Any, rows: Any) -> float:
    """The squared length of the rows, each less its mean."""
    return float(xp.sum((rows - xp.mean(rows, axis=1, keepdims=True)) ** 2, dtype=xp.float64))


def _coarsest_eps(xp: Any, *dtypes: Any) -> float:
    return max(float(xp.finfo(dtype).eps) for dtype in dtypes)


def _index(A: Operator, places: np.ndarray) -> Any:
    return A.xp.asarray(places, **A.placement())


def _block(A: Operator, places: np.ndarray) -> np.ndarray:
    """K where the given rows and columns cross, on the host."""
    return to_numpy(A.crossing(_index(A, places))).astype(np.float64)


def _accept(
    A: Operator,
    Ft: Any,
    r: int,
    drawn: np.ndarray,
    residual: np.ndarray,
    noise: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """The draws that are kept, and the Cholesky factor of the residual kernel among them."""
    known = to_numpy(A.xp.take(Ft[:r, :], _index(A, drawn), axis=1)).astype(np.float64)
    with cpu.threads_for(len(drawn)):
        H = _block(A, drawn) - known.T @ known
    bound, chance = residual[drawn].copy(), rng.random(len(drawn))
    L = np.zeros_like(H)
    kept: list[int] = []
    for i in range(len(drawn)):
        if H[i, i] <= noise[drawn[i]] or chance[i] * bound[i] >= H[i, i]:
            continue
        L[:, i] = H[:, i] / np.sqrt(H[i, i])
        H -= np.outer(L[:, i], L[:, i])
        kept.append(i)
    return drawn[kept], L[np.ix_(kept, kept)]


def _append(
    A: Operator, Ft: Any, r: int, chosen: np.ndarray, L: np.ndarray, residual: np.ndarray, noise: np.ndarray
) -> tuple[float, float]:
    """Fill rows r, r + 1, … of Fᵀ with L⁻¹ (K[chosen] − F[chosen] Fᵀ), and take their squares off the residual.

    Returns what is left where nothing should be (noise that a kernel has on its diagonal and in none of its columns),
    and the sum of what fell below zero, which happens only if K is indefinite.
    """
    xp = A.xp
    strip = A.strip(_index(A, chosen))
    known = xp.asarray(xp.take(Ft[:r, :], _index(A, chosen), axis=1).T, copy=True)
    with cpu.threads_for(len(L)):
        inverse = solve_triangular(L, np.eye(len(L)), lower=True)
    inverse = xp.asarray(inverse, dtype=Ft.dtype, **A.placement())
    squares: dict[int, Any] = {}

    def work(run: slice, slot: int) -> None:
        panel = xp.astype(strip(run), Ft.dtype, copy=False)
        if r:
            panel = panel - known @ Ft[:r, run]
        new = inverse @ panel
        Ft[r : r + len(chosen), run] = new
        squares[run.start] = xp.sum(new**2, axis=0, dtype=xp.float64)

    runs = runs_of(A.n)
    with phase(f"column {r + len(chosen):,} of a factor"):
        backend_of(Ft).for_each(runs, work, A.n_jobs)
    for run in runs:
        residual[run] -= to_numpy(squares[run.start])
    below = -float(residual[residual < _NEGATIVE * noise].sum())
    residual[residual < noise] = 0.0
    unseen = float(residual[chosen].sum())
    residual[chosen] = 0.0
    return unseen, below


def inverse_transpose(L: np.ndarray) -> np.ndarray:
    """L⁻ᵀ of a lower triangular matrix: with L = F at the landmarks, k(x, landmarks) L⁻ᵀ = F(x)."""
    L = np.tril(L.astype(np.float64))
    with cpu.threads_for(len(L)):
        return dtrtri(L, lower=1)[0].T if len(L) else L


def inverse_root(S: np.ndarray) -> np.ndarray:
    """M with M Mᵀ = S⁻¹, triangular where S allows it, by eigenvectors (and only where S > 0) where it does not."""
    try:
        L = np.linalg.cholesky(S + np.finfo(np.float64).eps * np.trace(S) * np.eye(len(S)))
        return solve_triangular(L, np.eye(len(S)), lower=True).T
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(S)
        alive = values > len(S) * np.finfo(np.float64).eps * values.max(initial=0.0)
        return vectors[:, alive] / np.sqrt(values[alive])


def nystroem(A: Operator, landmarks: Any, *, dtype: Any = None) -> Factor:
    """F = K[:, S] (K[S, S])^(−½) for the landmarks S that the caller chose.

    Cost: m · n entries of K, n · m² flops.

    `A` is the operator, `landmarks` are row numbers, and `dtype` is the precision of F.

    >>> from mercer.linalg import Dense
    >>> K = np.array([[2.0, 2.0], [2.0, 2.0]])  # of rank one: one landmark suffices
    >>> F = nystroem(Dense(K), [0]).F
    >>> bool(np.allclose(F @ F.T, K))
    True
    """
    S = np.unique(np.asarray(landmarks, dtype=np.int64))
    if not len(S) or S[0] < 0 or S[-1] >= A.n:
        raise ValueError(f"Landmarks must be indices of samples, from 0 to {A.n - 1}, at least one.")
    coefs = inverse_root(_block(A, S))
    xp, dtype = A.xp, dtype or A.dtype
    F = xp.astype(A.rows(_index(A, S)), dtype).T @ xp.asarray(coefs, dtype=dtype, **A.placement())
    diagonal = xp.astype(A.diagonal(), xp.float64)
    left = xp.sum(diagonal - xp.sum(F**2, axis=1, dtype=xp.float64))
    rounding = float(xp.finfo(dtype).eps) * float(xp.sum(xp.abs(diagonal))) * np.sqrt(len(S))
    return Factor(F, S, max(float(left), 0.0) + rounding, root=coefs)


@dataclass(frozen=True)
class FourierFeatures:
    """φ(x) = √(2/m) (cos ωⱼᵀx, sin ωⱼᵀx): ⟨φ(x), φ(y)⟩ is k(x, y) on average over the draw of ω.

    error, error_se : the root mean square of ⟨φ(x), φ(y)⟩ − k(x, y) over sampled pairs, and its standard error.
    """

    # Cosines of larger phases than the bound allows have no correct digits.
    _saved = SavedRecord("FourierFeatures", {"omega": floats("h", "d", most=1e100), "shift": optional(floats("d"))})

    omega: np.ndarray  # (m / 2, d)
    error: float = np.nan
    error_se: float = np.nan
    shift: Any = None  # taken off the rows first: it changes no difference x − y, and phases far from 0 lose digits

    def __call__(self, X: Any) -> Any:
        xp = namespace(X)
        X = X if self.shift is None else X - self.shift
        phase = X @ xp.asarray(self.omega.T, dtype=X.dtype, **placement(X))
        if not bool(xp.all(xp.isfinite(phase))):
            raise ValueError("The rows are too large for random features: ωᵀx overflows. Scale the data.")
        return xp.concat([xp.cos(phase), xp.sin(phase)], axis=1) * float(np.sqrt(1 / len(self.omega)))


def orthogonal_random_features(
    kernel: Kernel, X: Any, n_features: int, rng: np.random.Generator, pairs: int = 2000
) -> FourierFeatures:
    """Random features of a shift-invariant kernel with frequencies made orthogonal in blocks of d (Yu et al. 2016).

    Orthogonal frequencies keep the estimate unbiased and lower its variance. The kernel must be bound, and have a
    spectral density in Mercer: RBF, Matern or RationalQuadratic. A cosine comes with its sine, so that the number of
    columns is even: not above n_features, and 2 at least. Cost: n · m · d flops and no entry of K; m · d · min(m, d)
    flops and m · d numbers for the frequencies.
    """
    if not hasattr(kernel, "frequencies"):
        raise TypeError(f"{kernel!r} has no spectral density here; use RBF, Matern or RationalQuadratic.")
    d, count = X.shape[1], max(1, n_features // 2)
    sizes = [min(d, count - start) for start in range(0, count, d)]
    directions = np.concatenate([np.linalg.qr(rng.standard_normal((d, size)))[0].T for size in sizes])
    lengths = np.sqrt(rng.chisquare(d, count)) * kernel.frequencies(rng, count)
    shift = None if sp.issparse(X) else namespace(X).mean(X, axis=0)
    features = FourierFeatures(directions * lengths[:, None], shift=shift)
    errors = _pair_errors(kernel, features, X, rng, pairs)
    rms = float(np.sqrt(np.mean(errors**2))) if len(errors) else 0.0  # k(x, x) itself is exact
    spread = float(np.std(errors**2) / np.sqrt(len(errors)) / (2 * rms)) if rms > 0 else 0.0
    return replace(features, error=rms, error_se=spread)


def _pair_errors(kernel: Kernel, features: Any, X: Any, rng: np.random.Generator, pairs: int) -> np.ndarray:
    n = X.shape[0]
    size = min(n, max(2, int(np.sqrt(2 * pairs))))
    index = np.sort(rng.choice(n, size, replace=False))
    xp = namespace(X)
    rows = xp.take(X, xp.asarray(index, device=X.device), axis=0) if is_foreign(X) else X[index]
    points: Points = kernel.points(rows)
    phi = features(rows)
    return to_numpy(phi @ phi.T - kernel.tile(points))[np.triu_indices(size, k=1)]


@dataclass(frozen=True)
class FactorSpectrum:
    """The eigenvalues of H F Fᵀ H, descending, and what turns F into its eigenvectors: (F − mean) rotation.

    Columns of values that are nothing but rounding are zero in `rotation`.
    """

    values: np.ndarray  # (m,)
    rotation: np.ndarray  # (m, m)
    mean: np.ndarray  # (m,)
    n_jobs: int | None = None

    def vectors(self, F: Any, k: int) -> Any:
        """The first k eigenvectors, (n, k)."""
        return times(F, self.rotation[:, :k], self.mean, self.n_jobs)


def factor_spectrum(F: Any, *, center: bool = True, n_jobs: int | None = None) -> FactorSpectrum:
    """The eigendecomposition of H F Fᵀ H (or F Fᵀ) from the m × m matrix, without forming anything n × n.

    Cost: n · m² flops. The products are taken in F's precision over runs of rows and summed in float64.
    """
    (mean,), products = centred_products([F], center=center, n_jobs=n_jobs)
    return spectrum_of_products(products[0, 0], mean, float(namespace(F).finfo(F.dtype).eps), n_jobs, like=F)


def spectrum_of_products(
    products: np.ndarray, mean: np.ndarray, eps: float, n_jobs: int | None = None, *, like: Any = None
) -> FactorSpectrum:
    """The same from FᵀHF itself; eigenvalues below `eps` of the largest are rounding.

    like : an array on whose device the decomposition is computed; None is the host
    """
    if is_foreign(like):
        xp = namespace(like)
        values, W = (to_numpy(part) for part in xp.linalg.eigh(xp.asarray(products, device=like.device)))
    else:
        values, W = cpu.eigh(products)
    values, W = np.maximum(values[::-1], 0.0), W[:, ::-1]
    alive = values > values.max(initial=0.0) * eps
    rotation = np.where(alive, W / np.sqrt(np.where(alive, values, 1.0)), 0.0)
    return FactorSpectrum(np.where(alive, values, 0.0), rotation, mean, n_jobs)

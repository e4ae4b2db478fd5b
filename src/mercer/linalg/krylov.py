"""Block Davidson: the certified solver.

The wanted vectors are the best ones (Rayleigh–Ritz) in a basis V that grows by preconditioned residuals:

    T = Vᵀ A V,  T S = S Θ,  X = V S,  R = A X − X Θ,  V ← [V, orth(M⁻¹ R)]

    start          the top eigenvectors of a low-rank factor FFᵀ ≈ A, and a few random ones against blind spots
    precondition   M = FFᵀ − θI, inverted through the factor's eigenvectors: r goes to where θ really lies
    soft locking   converged vectors stay in the basis but are expanded no more, so late passes are narrow
    low end        the residual of the lowest Ritz pair comes along, so that negative eigenvalues are seen on the way
    restart        at `width` columns the basis shrinks to the best Ritz vectors
    ladder         coarse arithmetic until it improves no more, then float64 for the rest and for the certificate

Selection is by largest algebraic value, so indefinite matrices come out right. Beside a pass: n·m·b flops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mercer.backends import beside, columns_of, to_numpy
from mercer.linalg.eigen_bounds import Eigenpairs, column_norms, error_bounds, largest_of
from mercer.linalg.lowrank import factor_spectrum, rpcholesky
from mercer.linalg.operators import Operator
from mercer.progress import listened, tell

Monitor = Callable[[int, float], None]

_FACTOR_FROM = 3000  # below this n a pass over A costs less than the factor would save
SINGLE_FLOOR = 3e-7  # residual, relative to the largest value, below which float32 tiles only make noise
_EPS = float(np.finfo(np.float64).eps)
LEAST_BASIS = 96  # columns of V that are worth their memory whatever k is: fewer restarts, fewer passes


def guard_pairs(k: int, columns_at_once: int = 0) -> int:
    """Pairs beyond the k wanted ones that a block carries, so that the last wanted ones converge like the others.

    columns_at_once : columns that cost little beside a pass: with them, more pairs save passes. Room is left for the
        row sums and the low end
    """
    return max(4, k // 8, columns_at_once - k - 2)


def most_columns(k: int, guard: int) -> int:
    """Columns of V at which the basis is restarted: three blocks of directions beside the pairs that are kept."""
    return max(4 * (k + guard), LEAST_BASIS)


def start_rank(n: int, k: int) -> int:
    """Columns of the factor that starts the search: enough to hold the wanted pairs, and at most a quarter of n."""
    return min(n // 4, max(200, 3 * k))


@dataclass(frozen=True)
class Goal:
    """How small residuals should be beside the tolerance: r ≤ share · θ for every θ that counts.

    A residual that is small against θ₁ can still be as large as θ itself, and its vector worthless. A value counts
    above `zero` · θ₁ and above `noise`, what rounding in the entries of A makes of an eigenvalue.
    """

    share: float
    zero: float
    noise: float

    def allowed(self, values: np.ndarray, n: int, tolerated: float) -> np.ndarray:
        """The largest residual for each of the descending values: at most `tolerated`, no less than rounding leaves."""
        top = largest_of(values)
        rounding = self.noise + n**0.5 * _EPS * top
        counts = values > max(self.zero * top, rounding)
        return np.where(counts, np.minimum(tolerated, np.maximum(self.share * values, rounding)), tolerated)


@dataclass
class _Basis:
    """Ritz pairs of A in the span of an orthonormal V, with A V at hand."""

    A: Operator
    V: Any  # (n, m)
    W: Any  # (n, m), A V
    T: np.ndarray  # (m, m), Vᵀ A V
    values: np.ndarray  # (m,), descending
    S: Any  # (m, m), X = V S
    products: int = 1  # of how many products with A the columns of W are sums

    @classmethod
    def on(cls, A: Operator, V: Any, W: Any, products: int = 1, T: np.ndarray | None = None) -> _Basis:
        T = to_numpy(V.T @ W) if T is None else T
        T = (T + T.T) / 2
        values, S = np.linalg.eigh(T)
        S = A.xp.asarray(S[:, ::-1].copy(), dtype=V.dtype, **A.placement())
        return cls(A, V, W, T, values[::-1], S, products)

    def vectors(self, count: int) -> Any:
        return self.V @ self.S[:, :count]

    def residuals(self, index: Any) -> tuple[Any, np.ndarray]:
        """The residual vectors of the Ritz pairs with the given numbers, and their norms."""
        xp, index = self.A.xp, np.arange(len(self.values))[index]
        S = columns_of(self.S, index)
        R = self.W @ S - (self.V @ S) * beside(self.values[index], self.V)
        return R, column_norms(R, xp)

    def ends(self, count: int) -> Any:
        """The first `count` Ritz vectors, and the last one."""
        m = len(self.values)
        return self.V @ (self.S if m <= count + 1 else columns_of(self.S, np.append(np.arange(count), m - 1)))

    def shrunk(self, index: np.ndarray) -> _Basis:
        """Only the Ritz vectors with the given numbers."""
        S = columns_of(self.S, index)
        return _Basis.on(self.A, self.V @ S, self.W @ S, self.products, np.diag(self.values[index]))

    def grown(self, D: Any) -> _Basis:
        """With the directions D, made orthonormal to V, and A's product with them."""
        D = orthonormal_to(self.V, D, self.A.xp)
        join, product = self.A.xp.concat, self.A.matmat(D)
        V, W = join([self.V, D], axis=1), join([self.W, product], axis=1)
        beyond = to_numpy(V.T @ product)  # the new columns of T; the others are known
        m = len(self.T)
        T = np.zeros((len(beyond), len(beyond)))
        T[:m, :m], T[:, m:], T[m:, :m] = self.T, beyond, beyond[:m].T
        return _Basis.on(self.A, V, W, self.products + 1, T)


def orthonormal_to(V: Any, D: Any, xp: Any) -> Any:
    """An orthonormal basis of D's part outside V.

    Twice is enough (Kahan) unless D is rank-deficient: QR then fills up with directions that may lie in V, which
    shows as a short column in the second round and takes a third.
    """
    for round_ in range(3):
        D, R = xp.linalg.qr(D - V @ (V.T @ D))
        if round_ == 1 and float(xp.min(xp.abs(xp.linalg.diagonal(R)))) > 0.5:
            break
    return D


def krylov(
    A: Operator,
    k: int,
    *,
    tol: float,
    max_passes: int,
    rng: np.random.Generator,
    monitor: Monitor | None = None,
    start: Any = None,
    goal: Goal | None = None,
) -> Eigenpairs:
    """The top k of A; `start` are vectors known to be good."""
    levels = A.ladder(tol)
    guard = min(guard_pairs(k, levels[0].columns_at_once), A.n - k)
    V, precondition = _start(levels[0], k, guard, rng)
    if start is not None:
        V = orthonormal_to(V[:, :0], A.xp.concat([start, V[:, start.shape[1] :]], axis=1), A.xp)
    passes, kept = 0, 0
    basis: _Basis | None = None
    settled = False  # whether a coarse level has reached what is asked for, its own noise included
    for level in levels:
        last, began = level is levels[-1], level.passes
        if settled and not last:
            continue
        try:
            product = level.matmat(V)
        except KeyboardInterrupt:
            if basis is None:
                raise  # nothing is known yet
            break  # the coarser level's answer stands
        noise = None if last else _noise_of(level)
        search = _Level(k, guard, tol, goal, noise, precondition, monitor)
        basis = _Basis.on(level, V, product)
        # Two products beyond the first look for negative eigenvalues before any answer stands.
        basis, interrupted = search.run(basis, began + max_passes - passes, least=3 if level is levels[0] else 1)
        passes += level.passes - began
        kept = max(kept, level.kept_bytes)
        V = basis.ends(k + guard)
        if not last:
            level.forget()
            settled = search.excess(basis, noise or 0.0) <= 1
            if search.excess(basis) > 1:
                A.keep()  # one product will not be enough, and the next ones should not compute the entries again
        if interrupted:
            break
    assert basis is not None
    return _finish(basis, k, passes, tol, kept)


def _noise_of(A: Operator) -> float:
    """What the arithmetic of a coarse level makes of a residual: as measured, else as float32 would."""
    return _single_noise(A) if A.noise is None else float(A.noise.max())


def _single_noise(A: Operator) -> float:
    """What rounding to float32 in the entries of A makes of a residual: no float32 level can do better.

    Errors of eps per entry, at random, add up to √n of them in the norm of a product with a unit vector.
    """
    inner, _ = A.to_factor()
    largest = float(A.xp.max(A.xp.abs(inner.diagonal())))
    return float(np.finfo(np.float32).eps) * A.n**0.5 * largest


def _finish(basis: _Basis, k: int, passes: int, tol: float, kept_bytes: int) -> Eigenpairs:
    """The pairs with residuals recomputed from the returned vectors."""
    A, lowest = basis.A, float(basis.values[-1])
    guards = min(k + 1, len(basis.values))
    rest = float(basis.values[k] + basis.residuals(slice(guards))[1][k]) if guards > k else None
    if basis.products > 1:  # A V is a sum of many products by now: multiply once more
        V = basis.vectors(k)
        passes += 1
        identity = A.xp.eye(k, dtype=V.dtype, **A.placement())
        basis = _Basis(A, V, A.matmat(V), basis.T, basis.values, identity)
    _, residuals = basis.residuals(slice(k))
    values = np.ascontiguousarray(basis.values[:k])
    converged = bool(residuals.max() <= tol * np.abs(values).max())
    errors = error_bounds(values, residuals, A.n, rest=rest, converged=converged)
    return Eigenpairs(values, basis.vectors(k), residuals, errors, passes, "krylov", "asked for", A, kept_bytes, lowest)


@dataclass(frozen=True)
class _Level:
    """The expansion of a basis on one level of the ladder, and when to leave it."""

    k: int
    guard: int
    tol: float
    goal: Goal | None
    noise: float | None  # what the level's precision makes of a residual; None on the last level
    precondition: Callable[[Any, np.ndarray], Any] | None
    monitor: Monitor | None

    def run(self, basis: _Basis, last_pass: int, least: int) -> tuple[_Basis, bool]:
        """Expand until the first k residuals are small enough, or until this precision gives no more.

        Slow progress is no reason to leave: another level would be as slow. Returns the basis, and whether Ctrl-C ended
        it: what was reached until then is kept.
        """
        A, k = basis.A, self.k
        width = min(A.n, most_columns(k, self.guard))
        best, stalled, history = np.inf, 0, list[tuple[int, float]]()
        while True:
            count = min(k + self.guard, basis.V.shape[1])
            R, norms = basis.residuals(slice(count))
            scale = _scale(basis.values, k, A.n)
            worst = norms[:k].max() / scale
            if self.monitor is not None:
                self.monitor(A.passes, worst)
            history.append((A.passes, float(worst)))
            if listened():
                tell(outlook(history, self.tol))
            allowed = self.allowed(basis, count)
            excess = (norms[:k] / allowed[:k]).max()
            stalled = 0 if excess < 0.9 * best else stalled + 1  # a gain of less than a tenth does not count
            best = min(best, excess)
            full = basis.V.shape[1] >= A.n
            # Near what rounding leaves, three products without gain are enough; elsewhere residuals may rest for long.
            # A sum of several products may hold a few times the noise of one.
            near = worst <= self.tol or (
                self.noise is not None and worst <= max(100 * SINGLE_FLOOR, 4 * self.noise / scale)
            )
            done = excess <= 1 and basis.products >= least
            if done or full or A.passes >= last_pass or stalled >= (3 if near else 25):
                return basis, False
            unfinished = np.flatnonzero(norms > allowed)
            D = A.xp.take(R, A.xp.asarray(unfinished, **A.placement()), axis=1)
            if self.precondition is not None and len(unfinished):
                D = self.precondition(D, basis.values[unfinished])
            D = self._with_low_end(basis, D)
            D = D[:, : min(D.shape[1], A.n - basis.V.shape[1])]
            if not D.shape[1]:
                return basis, False
            if basis.V.shape[1] + D.shape[1] > width:
                kept = np.arange(min(k + 2 * self.guard + k // 2, len(basis.values) - 1))
                basis = basis.shrunk(np.append(kept, len(basis.values) - 1))
            try:
                basis = basis.grown(D)
            except KeyboardInterrupt:
                return basis, True

    def _with_low_end(self, basis: _Basis, D: Any) -> Any:
        """D and the residual of the lowest Ritz pair, so that negative eigenvalues need no passes of their own.

        One more column costs little beside the others. It is left out once the pair is known.
        """
        R, norms = basis.residuals(slice(len(basis.values) - 1, None))
        if norms[0] <= SINGLE_FLOOR * _scale(basis.values, self.k, basis.A.n):
            return D
        return basis.A.xp.concat([D, R / float(norms[0])], axis=1)

    def allowed(self, basis: _Basis, count: int) -> np.ndarray:
        """The residuals, (count,), that are small enough here: on a coarse level half of the final ones."""
        tolerated = self.tol * _scale(basis.values, self.k, basis.A.n)
        final = np.full(count, tolerated)
        if self.goal is not None:
            final[: self.k] = self.goal.allowed(basis.values[: self.k], basis.A.n, tolerated)
        return final if self.noise is None else np.maximum(final / 2, self.noise)

    def excess(self, basis: _Basis, noise: float = 0.0) -> float:
        """The largest of the first k residuals, with their noise, relative to what is finally allowed."""
        final = replace(self, noise=None).allowed(basis, self.k)
        return float(((basis.residuals(slice(self.k))[1] + noise) / final).max())


def _scale(values: np.ndarray, k: int, n: int) -> float:
    """What residuals are relative to: the largest wanted value, but no less than rounding makes of the smallest."""
    rounding = np.sqrt(n) * np.finfo(np.float64).eps * abs(values[-1])
    return max(np.abs(values[:k]).max(), rounding, np.finfo(np.float64).tiny)


def _start(
    A: Operator, k: int, guard: int, rng: np.random.Generator
) -> tuple[Any, Callable[[Any, np.ndarray], Any] | None]:
    """The first block and the preconditioner, from a low-rank factor if that pays; otherwise random, and None."""
    xp, n = A.xp, A.n
    noise = xp.asarray(rng.standard_normal((n, k + guard)), dtype=A.dtype, **A.placement())
    if n < _FACTOR_FROM:
        return xp.linalg.qr(noise)[0], None
    inner, center = A.to_factor()
    factor = rpcholesky(inner, start_rank(n, k), rng, dtype=xp.float32)
    spectrum = factor_spectrum(factor.F, center=center, n_jobs=inner.n_jobs)
    values = spectrum.values
    alive = int(np.sum(values > 1e-6 * values.max(initial=0.0)))  # beneath is the rounding of a factor in float32
    U = spectrum.vectors(factor.F, alive)  # float32 is enough to start and to precondition with
    sure = min(k + guard // 2, alive)
    V = xp.concat([xp.astype(U[:, :sure], A.dtype), noise[:, : k + guard - sure]], axis=1)
    return orthonormal_to(V[:, :0], V, xp), _shifted_inverse(xp, U, values[:alive], A)


def _shifted_inverse(xp: Any, U: Any, values: np.ndarray, A: Operator) -> Callable[[Any, np.ndarray], Any]:
    """R ↦ −θ (U diag(values) Uᵀ − θI)⁻¹ R, column by column with its own θ."""

    def apply(R: Any, theta: np.ndarray) -> Any:
        theta = np.where(np.abs(theta) > 0, theta, 1.0)
        gap = values[:, None] - theta[None, :]
        # Beside its own eigenvalue the inverse has no bound. A gap of a thousandth is enough to prefer that direction.
        gap = np.where(np.abs(gap) < 1e-3 * np.abs(theta), -1e-3 * np.abs(theta), gap)
        weights = xp.asarray(-theta[None, :] / gap - 1.0, dtype=U.dtype, **A.placement())
        size = xp.max(xp.abs(R))  # residuals of 1e-40 would vanish in float32
        part = U.T @ xp.astype(R / size, U.dtype)
        return R / size + xp.astype(U @ (weights * part), R.dtype)

    return apply


def outlook(history: list[tuple[int, float]], tol: float) -> str:
    """How far a search has come, and how many passes it may still take if residuals go on falling as they do.

    history : (passes so far, largest residual) after each pass

    >>> outlook([(1, 1e-1), (2, 1e-2), (3, 1e-3)], 1e-8)
    'residual 1e-03 of 1e-08, about 5 more passes'
    """
    passes, worst = history[-1]
    said = f"residual {worst:.0e} of {tol:.0e}"
    before, earlier = history[max(0, len(history) - 5)]
    if not 0 < worst < earlier or passes == before or worst <= tol or tol <= 0:
        return said
    left = max(1, round(np.log(worst / tol) / np.log(earlier / worst) * (passes - before)))
    return f"{said}, about {left} more {'pass' if left == 1 else 'passes'}"

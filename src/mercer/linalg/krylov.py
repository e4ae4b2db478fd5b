"""Block Davidson: the certified solver.

The wanted vectors are the best ones (Rayleigh–Ritz) in a basis V that grows by preconditioned residuals:

    T = Vᵀ A V,  T S = S Θ,  X = V S,  R = A X − X Θ,  V ← [V, orth(M⁻¹ R)]

    start          the top eigenvectors of a low-rank factor FFᵀ ≈ A, and a few random ones against blind spots
    precondition   M = FFᵀ − θI, inverted through the factor's eigenvectors: r goes to where θ really lies
    soft locking   converged vectors stay in the basis but are expanded no more, so late passes are narrow
    restart        at `width` columns the basis shrinks to the best Ritz vectors
    ladder         float32 tiles until they have no more to give, then float64 for the rest and for the certificate

Selection is by largest algebraic value, so indefinite matrices come out right. Beside a pass: n·m·b flops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import to_numpy
from mercer.linalg.eigen_bounds import Eigenpairs, column_norms, error_bounds
from mercer.linalg.lowrank import factor_spectrum, rpcholesky
from mercer.linalg.operators import Operator

Monitor = Callable[[int, float], None]

_FACTOR_FROM = 3000  # below this n a pass over A costs less than the factor would save
SINGLE_FLOOR = 3e-7  # residual, relative to the largest value, below which float32 tiles only make noise


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
        """The largest residual for each of the values, at most `tolerated`, and no less than rounding leaves."""
        top = np.abs(values).max(initial=0.0)
        rounding = self.noise + np.sqrt(n) * np.finfo(np.float64).eps * top
        counts = values > max(self.zero * top, rounding)
        return np.where(counts, np.minimum(tolerated, np.maximum(self.share * values, rounding)), tolerated)


@dataclass
class _Basis:
    """Ritz pairs of A in the span of an orthonormal V, with A V at hand."""

    A: Operator
    V: Any  # (n, m)
    W: Any  # (n, m), A V
    values: np.ndarray  # (m,), descending
    S: Any  # (m, m), X = V S
    products: int = 1  # of how many products with A the columns of W are sums

    @classmethod
    def on(cls, A: Operator, V: Any, W: Any, products: int = 1) -> _Basis:
        T = to_numpy(V.T @ W)
        values, S = np.linalg.eigh((T + T.T) / 2)
        return cls(A, V, W, values[::-1], A.xp.asarray(S[:, ::-1].copy(), dtype=V.dtype, **A.placement()), products)

    def vectors(self, count: int) -> Any:
        return self.V @ self.S[:, :count]

    def residuals(self, count: int) -> tuple[Any, np.ndarray]:
        """The residual vectors of the first Ritz pairs, and their norms."""
        xp, S = self.A.xp, self.S[:, :count]
        theta = xp.asarray(self.values[:count].copy(), dtype=self.V.dtype, **self.A.placement())
        R = self.W @ S - (self.V @ S) * theta
        return R, column_norms(R, xp)

    def shrunk(self, count: int) -> _Basis:
        S = self.S[:, :count]
        return _Basis.on(self.A, self.V @ S, self.W @ S, self.products)

    def grown(self, D: Any) -> _Basis:
        """With the directions D, made orthonormal to V, and A's product with them."""
        D = orthonormal_to(self.V, D, self.A.xp)
        join = self.A.xp.concat
        V, W = join([self.V, D], axis=1), join([self.W, self.A.matmat(D)], axis=1)
        return _Basis.on(self.A, V, W, self.products + 1)


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
    guard = min(max(4, k // 8), A.n - k)
    levels = A.ladder(tol)
    V, precondition = _start(levels[0], k, guard, rng)
    if start is not None:
        V = orthonormal_to(V[:, :0], A.xp.concat([start, V[:, start.shape[1] :]], axis=1), A.xp)
    passes, kept = 0, 0
    basis: _Basis | None = None
    for level in levels:
        last, began = level is levels[-1], level.passes
        target = tol if last else max(tol / 2, SINGLE_FLOOR)
        try:
            basis = _Basis.on(level, V, level.matmat(V))
        except KeyboardInterrupt:
            if basis is None:
                raise  # nothing is known yet
            break  # the coarser level's answer stands
        last_pass = began + max_passes - passes
        basis, interrupted = _iterate(
            basis, k, guard, target, precondition, last_pass, monitor, last, goal if last else None
        )
        passes += level.passes - began
        kept = max(kept, level.kept_bytes)
        V = basis.vectors(min(k + guard, basis.V.shape[1]))
        if not last:
            level.forget()
        if interrupted:
            break
    assert basis is not None
    return _finish(basis, k, passes, tol, kept)


def _finish(basis: _Basis, k: int, passes: int, tol: float, kept_bytes: int) -> Eigenpairs:
    """The pairs with residuals recomputed from the returned vectors."""
    A, lowest = basis.A, float(basis.values[-1])
    guards = min(k + 1, len(basis.values))
    rest = float(basis.values[k] + basis.residuals(guards)[1][k]) if guards > k else None
    if basis.products > 1:  # A V is a sum of many products by now: multiply once more
        V = basis.vectors(k)
        passes += 1
        identity = A.xp.eye(k, dtype=V.dtype, **A.placement())
        basis = _Basis(A, V, A.matmat(V), basis.values, identity)
    _, residuals = basis.residuals(k)
    values = np.ascontiguousarray(basis.values[:k])
    converged = bool(residuals.max() <= tol * np.abs(values).max())
    errors = error_bounds(values, residuals, A.n, rest=rest, converged=converged)
    return Eigenpairs(values, basis.vectors(k), residuals, errors, passes, "krylov", "asked for", A, kept_bytes, lowest)


def _iterate(
    basis: _Basis,
    k: int,
    guard: int,
    target: float,
    precondition: Callable[[Any, np.ndarray], Any] | None,
    last_pass: int,
    monitor: Monitor | None,
    patient: bool,
    goal: Goal | None,
) -> tuple[_Basis, bool]:
    """Expand until the first k residuals are below target · |θ₁| and reach the goal, or until nothing improves.

    Returns the basis, and whether Ctrl-C ended it: what was reached until then is kept.
    """
    A = basis.A
    width = min(A.n, max(4 * (k + guard), 64))
    best, stalled = np.inf, 0
    while True:
        count = min(k + guard, basis.V.shape[1])
        R, norms = basis.residuals(count)
        scale = _scale(basis.values, k, A.n)
        worst = norms[:k].max() / scale
        if monitor is not None:
            monitor(A.passes, worst)
        allowed = np.full(count, target * scale)
        if goal is not None:
            allowed[:k] = goal.allowed(basis.values[:k], A.n, target * scale)
        excess = (norms[:k] / allowed[:k]).max()
        stalled = 0 if excess < 0.7 * best else stalled + 1
        best = min(best, excess)
        full = basis.V.shape[1] >= A.n
        # The tolerance is worth waiting for; what the goal asks beyond it may be more than rounding allows.
        patience = 3 if not patient or worst <= target else 25
        if excess <= 1 or full or A.passes >= last_pass or stalled >= patience:
            return basis, False
        unfinished = np.flatnonzero(norms > allowed)[: A.n - basis.V.shape[1]]
        D = A.xp.take(R, A.xp.asarray(unfinished, **A.placement()), axis=1)
        if precondition is not None:
            D = precondition(D, basis.values[unfinished])
        if basis.V.shape[1] + len(unfinished) > width:
            basis = basis.shrunk(min(k + 2 * guard + k // 2, basis.V.shape[1]))
        try:
            basis = basis.grown(D)
        except KeyboardInterrupt:
            return basis, True


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
    rank = min(n // 4, max(200, 3 * k))
    factor = rpcholesky(inner, rank, rng, dtype=xp.float32)
    spectrum = factor_spectrum(factor.F, center=center, n_jobs=inner.n_jobs)
    values = spectrum.values
    alive = int(np.sum(values > 1e-6 * values.max(initial=0.0)))
    U = spectrum.vectors(factor.F, alive)  # float32 is enough to start and to precondition with
    sure = min(k + guard // 2, alive)
    V = xp.concat([xp.astype(U[:, :sure], A.dtype), noise[:, : k + guard - sure]], axis=1)
    return orthonormal_to(V[:, :0], V, xp), _shifted_inverse(xp, U, values[:alive], A)


def _shifted_inverse(xp: Any, U: Any, values: np.ndarray, A: Operator) -> Callable[[Any, np.ndarray], Any]:
    """R ↦ −θ (U diag(values) Uᵀ − θI)⁻¹ R, column by column with its own θ."""

    def apply(R: Any, theta: np.ndarray) -> Any:
        theta = np.where(np.abs(theta) > 0, theta, 1.0)
        gap = values[:, None] - theta[None, :]
        gap = np.where(np.abs(gap) < 1e-3 * np.abs(theta), -1e-3 * np.abs(theta), gap)
        weights = xp.asarray(-theta[None, :] / gap - 1.0, dtype=U.dtype, **A.placement())
        size = xp.max(xp.abs(R))  # residuals of 1e-40 would vanish in float32
        part = U.T @ xp.astype(R / size, U.dtype)
        return R / size + xp.astype(U @ (weights * part), R.dtype)

    return apply

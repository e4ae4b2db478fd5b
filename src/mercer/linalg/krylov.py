"""Block Davidson: the certified solver.

The wanted vectors are the best ones (Rayleigh–Ritz) in a basis V that grows by preconditioned residuals:

    T = Vᵀ A V,  T S = S Θ,  X = V S,  R = A X − X Θ,  V ← [V, orth(M⁻¹ R)]

    start          the top eigenvectors of a low-rank factor FFᵀ ≈ A, and a few random ones against blind spots
    precondition   M = FFᵀ − θI, inverted through the factor's eigenvectors: r goes to where θ really lies
    soft locking   converged vectors stay in the basis but are expanded no more, so late passes are narrow
    restart        at `width` columns the basis shrinks to the best Ritz vectors
    ladder         float32 tiles until they have no more to give, then float64 for the rest and for the certificate

Selection is by largest algebraic value, so indefinite matrices come out right. Per pass over A: n·m·b flops beside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.backends import to_numpy
from mercer.linalg.eigen_bounds import column_norms, error_bounds
from mercer.linalg.lowrank import factor_spectrum, rpcholesky
from mercer.linalg.operators import Centered, Operator

Monitor = Callable[[int, float], None]

_FACTOR_FROM = 3000  # below this n a pass over A costs less than a factor does
_SINGLE_FLOOR = 3e-7  # residual, relative to the largest value, below which float32 tiles only make noise


@dataclass
class _Basis:
    """Ritz pairs of A in the span of an orthonormal V, with A V at hand."""

    A: Operator
    V: Any  # (n, m)
    W: Any  # (n, m), A V
    values: np.ndarray  # (m,), descending
    S: Any  # (m, m), X = V S

    @classmethod
    def on(cls, A: Operator, V: Any, W: Any) -> _Basis:
        T = to_numpy(V.T @ W)
        values, S = np.linalg.eigh((T + T.T) / 2)
        return cls(A, V, W, values[::-1], A.xp.asarray(S[:, ::-1].copy(), dtype=V.dtype, **A._place()))

    def vectors(self, count: int) -> Any:
        return self.V @ self.S[:, :count]

    def residuals(self, count: int) -> tuple[Any, np.ndarray]:
        """The residual vectors of the first Ritz pairs, and their norms."""
        xp, S = self.A.xp, self.S[:, :count]
        theta = xp.asarray(self.values[:count].copy(), dtype=self.V.dtype, **self.A._place())
        R = self.W @ S - (self.V @ S) * theta
        return R, column_norms(R, xp)

    def shrunk(self, count: int) -> _Basis:
        S = self.S[:, :count]
        return _Basis.on(self.A, self.V @ S, self.W @ S)

    def grown(self, D: Any) -> _Basis:
        """With the directions D, made orthonormal to V, and A's product with them."""
        D = orthonormal_to(self.V, D, self.A.xp)
        join = self.A.xp.concat
        return _Basis.on(self.A, join([self.V, D], axis=1), join([self.W, self.A.matmat(D)], axis=1))


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
) -> dict[str, Any]:
    """The top k of A: the fields of Eigenpairs, less `solver` and `reason`; `start` are vectors known to be good."""
    guard = min(max(4, k // 8), A.n - k)
    levels = A.ladder(tol)
    V, precondition = _start(levels[0], k, guard, rng)
    if start is not None:
        V = orthonormal_to(V[:, :0], A.xp.concat([start, V[:, start.shape[1] :]], axis=1), A.xp)
    passes, kept, interrupted = 0, 0, False
    basis: _Basis | None = None
    for level in levels:
        last = level is levels[-1]
        target = tol if last else max(tol / 2, _SINGLE_FLOOR)
        try:
            basis = _Basis.on(level, V, level.matmat(V))
            basis = _iterate(basis, k, guard, target, precondition, max_passes - passes, monitor, patient=last)
        except KeyboardInterrupt:
            interrupted = True
            if basis is None:
                raise
        passes += level.passes
        kept = max(kept, level.kept_bytes)
        V = basis.vectors(min(k + guard, basis.V.shape[1]))
        if not last:
            level.forget()
        if interrupted:
            break
    assert basis is not None
    return _finish(basis, k, passes, tol) | {"kept_bytes": kept}


def _finish(basis: _Basis, k: int, passes: int, tol: float) -> dict[str, Any]:
    """The pairs with residuals recomputed from the returned vectors."""
    A = basis.A
    if A.passes > 1:  # A V is a sum of many products by now: multiply once more
        before = A.passes
        V = basis.vectors(k)
        product = A.matmat(V)
        passes += A.passes - before
        basis = _Basis(A, V, product, basis.values, A.xp.eye(k, dtype=V.dtype, **A._place()))
    _, residuals = basis.residuals(k)
    rest = float(basis.values[k]) if len(basis.values) > k else None
    values = np.ascontiguousarray(basis.values[:k])
    converged = bool(residuals.max() <= tol * np.abs(values).max())
    return {
        "values": values,
        "vectors": basis.vectors(k),
        "residuals": residuals,
        "errors": error_bounds(values, residuals, A.n, rest=rest, converged=converged),
        "passes": passes,
        "operator": A,
        "lowest": float(basis.values[-1]),
    }


def _iterate(
    basis: _Basis,
    k: int,
    guard: int,
    target: float,
    precondition: Callable[[Any, np.ndarray], Any] | None,
    max_passes: int,
    monitor: Monitor | None,
    patient: bool,
) -> _Basis:
    """Expand until the first k residuals are below target · |θ₁|, or until nothing improves any more."""
    A = basis.A
    width = min(A.n, max(4 * (k + guard), 64))
    best, stalled = np.inf, 0
    while True:
        count = min(k + guard, basis.V.shape[1])
        R, norms = basis.residuals(count)
        scale = max(np.abs(basis.values[[0, -1]]).max(), np.finfo(np.float64).tiny)
        worst = norms[:k].max() / scale
        if monitor is not None:
            monitor(A.passes, worst)
        stalled = 0 if worst < 0.7 * best else stalled + 1
        best = min(best, worst)
        full = basis.V.shape[1] >= A.n
        if worst <= target or full or A.passes >= max_passes or stalled >= (25 if patient else 3):
            return basis
        open_ = np.flatnonzero(norms > target * scale)
        open_ = open_[open_ < k + guard][: A.n - basis.V.shape[1]]
        D = A.xp.take(R, A.xp.asarray(open_, **A._place()), axis=1)
        if precondition is not None:
            D = precondition(D, basis.values[open_])
        if basis.V.shape[1] + len(open_) > width:
            basis = basis.shrunk(min(k + 2 * guard + k // 2, basis.V.shape[1]))
        basis = basis.grown(D)


def _start(
    A: Operator, k: int, guard: int, rng: np.random.Generator
) -> tuple[Any, Callable[[Any, np.ndarray], Any] | None]:
    """The first block and the preconditioner: from a low-rank factor where that pays, else random and none."""
    xp, n = A.xp, A.n
    noise = xp.asarray(rng.standard_normal((n, k + guard)), dtype=A.dtype, **A._place())
    if n < _FACTOR_FROM:
        return xp.linalg.qr(noise)[0], None
    inner = A.A if isinstance(A, Centered) else A
    rank = min(n // 4, max(200, 3 * k))
    factor = rpcholesky(inner, rank, rng, dtype=xp.float32)
    spectrum = factor_spectrum(factor.F, center=isinstance(A, Centered))
    values = spectrum.values
    alive = int(np.sum(values > 1e-6 * values.max(initial=0.0)))
    U = xp.astype(spectrum.vectors(factor.F, alive), A.dtype)
    sure = min(k + guard // 2, alive)
    V = xp.concat([U[:, :sure], noise[:, : k + guard - sure]], axis=1)
    return orthonormal_to(V[:, :0], V, xp), _shifted_inverse(xp, U, values[:alive], A)


def _shifted_inverse(xp: Any, U: Any, values: np.ndarray, A: Operator) -> Callable[[Any, np.ndarray], Any]:
    """R ↦ −θ (U diag(values) Uᵀ − θI)⁻¹ R, column by column with its own θ."""

    def apply(R: Any, theta: np.ndarray) -> Any:
        theta = np.where(np.abs(theta) > 0, theta, 1.0)
        gap = values[:, None] - theta[None, :]
        gap = np.where(np.abs(gap) < 1e-3 * np.abs(theta), -1e-3 * np.abs(theta), gap)
        weights = xp.asarray(-theta[None, :] / gap - 1.0, dtype=R.dtype, **A._place())
        return R + U @ (weights * (U.T @ R))

    return apply

"""Canonical pairs of two whole kernel matrices: two Cholesky factors and the top of one Krylov space.

With K̃ = HKH, μ = nλ and the smoother R = K̃(K̃ + μI)⁻¹ = I − μ(K̃ + μI)⁻¹ of each view, the scores of a pair satisfy

    s₁ = R₁s₂/ρ,    s₂ = R₂s₁/ρ,

so that ρ² are the eigenvalues of a ↦ R₂R₁a. That map is self-adjoint in the inner product ⟨a, b⟩ = aᵀR₁b, and block
Lanczos finds the top of its spectrum. From a of length one in it, and b = R₁a/ρ,

    s₁ = √n R₁a,    s₂ = √n R₂b,    sᵥ = K̃ᵥαᵥ with α₁ = √n (K̃₁ + μ₁I)⁻¹a,  α₂ = √n (K̃₂ + μ₂I)⁻¹b.

Nothing is decomposed: a view costs the n³/3 flops of its Cholesky factor, in the memory of its K, and a step of the
search two triangular solves per view. The condition number of K̃ + μI is at most 1 + 1/reg, so scores keep all digits
but log₁₀(1/reg).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky
from scipy.linalg.lapack import dpotrs

from mercer.exceptions import NotConvergedWarning, warn
from mercer.progress import in_phase

LEAST_REG = 1e-4  # below, the search loses orthogonality after its first restart, and factors are surer
_EPS = float(np.finfo(np.float64).eps)
_TOL = 1e-9  # residual relative to ρ₁: the error of ρ is its square over a gap, or at worst as large
_WIDTH = 16  # vectors in a block, at least: BLAS solves for sixteen in little more time than for one
_BLOCKS = 10  # blocks in the search space before it restarts: its memory stays far below that of a factor
_STEPS = 150  # steps after which the search gives up and says so
_PROBE_STEPS = 12  # of Lanczos: resolves an eigenvalue that lies 5 % of μ below zero, whatever else there is


class Smoother:
    """R = K̃(K̃ + μI)⁻¹, μ = n λ and λ = reg · tr(K̃)/n, for a kernel matrix K (n, n) float64, which is overwritten.

    variance : tr(K̃)/n; zero if it is within the rounding of tr K, and then R is zero too
    negative : how far the least eigenvalue of K̃ was seen below zero, relative to tr K
    """

    def __init__(self, K: np.ndarray, reg: float, rng: np.random.Generator) -> None:
        n = self.n = len(K)
        self.reg, self.trace, self.sums = reg, float(np.trace(K)), K.sum(axis=0)
        means = self.sums / n
        K -= means
        K -= (means - means.mean())[:, None]
        variance = float(np.trace(K)) / n
        if not np.isfinite(variance):
            raise ValueError("The kernel matrix overflows: its sums are not finite. Scale the data.")
        self.variance = variance if variance > 8 * _EPS * np.sqrt(n) * self.trace / n else 0.0
        self.penalty = reg * self.variance
        self._mu, self.negative = n * self.penalty, 0.0
        if not self.variance:  # K is constant, or its eigenvalues cancel
            largest = max(float(K.max()), -float(K.min()))
            self.negative = float(largest > 64 * _EPS * n * max(abs(self.trace), largest / n))
            return
        K.flat[:: n + 1] += self._mu
        self._factor = self._factored(K)
        if not self.negative:
            self.negative = max(0.0, -self._least(rng)) / self.trace

    @in_phase("Cholesky factor")
    def _factored(self, K: np.ndarray) -> np.ndarray | None:
        try:  # LAPACK is given Kᵀ = K in its own order, so that nothing is copied
            return cholesky(K.T, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            self.negative = self._mu / self.trace  # an eigenvalue lies below −μ
            return None

    def solve(self, V: np.ndarray) -> np.ndarray:
        """(K̃ + μI)⁻¹V for V (n, b)."""
        return dpotrs(self._factor, V, lower=1)[0]

    def __call__(self, V: np.ndarray) -> np.ndarray:
        """R V for centred V."""
        if not self.variance:
            return np.zeros_like(V)
        out = V - self._mu * self.solve(V)
        return out - out.mean(axis=0)

    def _least(self, rng: np.random.Generator) -> float:
        """The least eigenvalue of K̃ where it is below zero by more than rounding, else zero: Lanczos on (K̃ + μI)⁻¹."""
        v = rng.standard_normal(self.n)
        basis = [(v - v.mean()) / np.linalg.norm(v - v.mean())]
        T = np.zeros((_PROBE_STEPS, _PROBE_STEPS))
        for step in range(_PROBE_STEPS):
            w = self.solve(basis[-1][:, None])[:, 0] * self._mu
            for _ in range(2):  # the second time for the digits that the first one loses
                parts = np.array([q @ w for q in basis])
                T[: step + 1, step] += parts
                w = w - np.array(basis).T @ parts
            size = float(np.linalg.norm(w))
            if size <= 1e-8:  # the space is complete
                break
            basis.append(w / size)
        m = min(len(basis), _PROBE_STEPS)
        top = float(np.linalg.eigvalsh(T[:m, :m], UPLO="U")[-1])  # μ/(γ + μ), at most one unless γ < 0
        return self._mu * (1 / top - 1) if top > 1 + 8 * _EPS * self.n**0.5 / self.reg else 0.0


@dataclass(frozen=True)
class WholePairs:
    """k pairs, ρ descending; k is smaller than asked for where the views have no more.

    correlations : (k,), ρ
    residuals : (k, 2), ‖Tv − ρu‖ and ‖Tᵀu − ρv‖ of the singular triplets of T with TTᵀ ~ R₁R₂
    scores : two (n, k)
    coefs, offsets : two (n, k) and (k,): scores are K coefs − offset
    steps : of the search
    """

    correlations: np.ndarray
    residuals: np.ndarray
    scores: tuple[np.ndarray, np.ndarray]
    coefs: tuple[np.ndarray, np.ndarray]
    offsets: tuple[np.ndarray, np.ndarray]
    steps: int


def whole_pairs(
    first: Smoother,
    second: Smoother,
    k: int,
    rng: np.random.Generator,
    *,
    steps: int = _STEPS,
    report: Callable[[int, float], None] | None = None,
) -> WholePairs:
    """The top k pairs. `report` is told the number of steps and the largest residual after each of them."""
    n = first.n
    a, taken = _search(first, second, k, rng, steps, report)
    Ra = first(a)
    lengths = np.sqrt(np.maximum(np.einsum("ij,ij->j", a, Ra), np.finfo(np.float64).tiny))
    a, Ra = a / lengths, Ra / lengths
    z = second(Ra)
    rho = np.sqrt(np.maximum(np.einsum("ij,ij->j", Ra, z), 0.0))
    floor = 8 * _EPS / min(first.reg, second.reg)  # what rounding may leave in any product with R
    found = rho > max(1e-12, floor) / np.sqrt((1 + first.reg) * (1 + second.reg))
    a, Ra, z, rho = a[:, found], Ra[:, found], z[:, found], rho[found]
    b, missed = Ra / rho, z / rho - rho * a
    left = np.sqrt(np.maximum(np.einsum("ij,ij->j", missed, first(missed)), 0.0))
    worst = float(left.max(initial=0.0))
    if worst > 10 * max(_TOL, floor) * rho.max(initial=0.0):
        warn(
            f"The search for canonical pairs stopped after {taken} steps with a residual of {worst:.1e}. "
            "See residuals_; raise reg, or ask for fewer components.",
            NotConvergedWarning,
        )
    coefs = [n**0.5 * side.solve(part) for side, part in ((first, a), (second, b))] if len(rho) else [a, b]
    coefs = [part - part.mean(axis=0) for part in coefs]
    return WholePairs(
        np.minimum(rho, 1.0),
        np.column_stack([left + floor, np.full(len(rho), floor)]),
        (n**0.5 * Ra, n**0.5 * z / rho),
        (coefs[0], coefs[1]),
        (first.sums @ coefs[0] / n, second.sums @ coefs[1] / n),
        taken,
    )


@in_phase("canonical pairs")
def _search(first: Smoother, second: Smoother, k: int, rng: np.random.Generator, steps: int, report) -> tuple:
    """(a, steps taken): about k leading eigenvectors of R₂R₁, (n, ≤ k), by block Lanczos with thick restarts.

    Q holds the basis, orthonormal in ⟨·, ·⟩, and RQ = R₁Q. S is R₂R₁ in it, taken from products with the whole basis:
    no recurrence has to hold, so a restart merely exchanges the basis for its best half.
    """
    n = first.n
    width = min(n - 1, max(_WIDTH, k + 8))
    most = width * _BLOCKS
    Q, RQ, S = np.empty((n, most), order="F"), np.empty((n, most), order="F"), np.zeros((most, most))
    start = rng.standard_normal((n, width))
    block, smoothed, _ = _orthonormal(first, second(start - start.mean(axis=0)))
    m, C, values, top = 0, np.zeros((0, 0)), np.zeros(0), np.zeros(0, np.int64)
    for step in range(1, steps + 1):
        if not block.shape[1]:
            break  # the space holds everything that the two views have in common
        run = slice(m, m + block.shape[1])
        Q[:, run], RQ[:, run] = block, smoothed
        W = second(smoothed)
        m = run.stop
        S[:m, run] = RQ[:, :m].T @ W
        S[run, :m] = S[:m, run].T
        values, C = np.linalg.eigh((S[:m, :m] + S[:m, :m].T) / 2)
        top = np.argsort(values)[::-1][:k]
        for _ in range(2):
            W -= Q[:, :m] @ (RQ[:, :m].T @ W)
        block, smoothed, beta = _orthonormal(first, W)
        rho = np.sqrt(np.maximum(values[top], 0.0))
        left = np.linalg.norm(beta @ C[run][:, top], axis=0) / np.maximum(rho, _EPS)
        worst = float(left.max(initial=0.0))
        if report is not None:
            report(step, worst)
        if len(top) == k and worst <= _TOL * rho[0]:
            break
        if m + width > most:
            best = np.argsort(values)[::-1][: most // 2]
            Q[:, : len(best)], RQ[:, : len(best)] = Q[:, :m] @ C[:, best], RQ[:, :m] @ C[:, best]
            m = len(best)
            S[:m, :m] = np.diag(values[best])
            C, values, top = np.eye(m), values[best], np.arange(min(k, m))
    return (Q[:, :m] @ C[:, top] if m else np.zeros((n, 0))), (step if m else 0)


def _orthonormal(first: Smoother, W: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(V, R₁V, β) with W = Vβ and VᵀR₁V = I, without the directions of W that R₁ or rounding makes nothing of.

    Columns that have nearly converged are short: scaled to one length first, they keep their digits. The second round
    works with a fresh product R₁V, free of the rounding that dividing by small roots enlarged.
    """
    sizes = np.linalg.norm(W, axis=0)
    alive = sizes > _EPS * W.shape[0] ** 0.5 / first.reg  # shorter ones are rounding: W was made from unit vectors
    V, beta = W[:, alive] / sizes[alive], np.diag(sizes)[alive]
    for _ in range(2):
        RV = first(V)
        values, turn = np.linalg.eigh(V.T @ RV)
        kept = values > 1e-13 * values.max(initial=0.0)
        turn, roots = turn[:, kept], np.sqrt(values[kept])
        V, RV, beta = V @ (turn / roots), RV @ (turn / roots), roots[:, None] * (turn.T @ beta)
    return V, RV, beta

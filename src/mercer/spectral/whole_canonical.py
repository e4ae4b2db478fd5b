"""Canonical pairs of two whole kernel matrices: two Cholesky factors and the top of one Krylov space.

With K̃ = HKH, μ = nλ and the smoother R = K̃(K̃ + μI)⁻¹ = I − μ(K̃ + μI)⁻¹ of each view, the scores of a pair satisfy

    s₁ = R₁s₂/ρ,    s₂ = R₂s₁/ρ,

so that ρ² are the eigenvalues of a ↦ R₂R₁a. That map is self-adjoint in the inner product ⟨a, b⟩ = aᵀR₁b, and block
Lanczos finds the top of its spectrum. From a of length one in it, and b = R₁a/ρ,

    s₁ = √n R₁a,    s₂ = √n R₂b,    sᵥ = K̃ᵥαᵥ with α₁ = √n (K̃₁ + μ₁I)⁻¹a,  α₂ = √n (K̃₂ + μ₂I)⁻¹b.

Nothing is decomposed: a view costs the n³/3 flops of its Cholesky factor, in the memory of its K, and a step of the
search two triangular solves per view. The condition number of K̃ + μI is at most 1 + 1/reg, so scores keep all digits
but log₁₀(1/reg).

What has n rows stays where K lives, and what is as small as a block is decomposed on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer.amounts import amount
from mercer.backends import backend_of, beside, columns_of, is_foreign, namespace, placement, to_numpy
from mercer.exceptions import NotConvergedWarning, warn
from mercer.linalg.eigen_bounds import column_norms
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

    K is an array of a backend that has `cholesky` and `cholesky_solve`.

    variance : tr(K̃)/n; zero if it is within the rounding of tr K, and then R is zero too
    negative : how far the least eigenvalue of K̃ was seen below zero, relative to tr K
    """

    def __init__(self, K: Any, reg: float, rng: np.random.Generator) -> None:
        self.backend, self.xp, n = backend_of(K), namespace(K), K.shape[0]
        self.n, self.reg, self.sums = n, reg, self.xp.sum(K, axis=0)
        self.trace = float(self.xp.linalg.trace(K))
        means = self.sums / n
        K -= means
        K -= (means - self.xp.mean(means))[:, None]
        variance = float(self.xp.linalg.trace(K)) / n
        if not np.isfinite(variance):
            raise ValueError("The kernel matrix overflows: its sums are not finite. Scale the data.")
        self.variance = variance if variance > 8 * _EPS * np.sqrt(n) * self.trace / n else 0.0
        self.penalty = reg * self.variance
        self._mu, self.negative = n * self.penalty, 0.0
        if not self.variance:  # K is constant, or its eigenvalues cancel
            largest = max(float(self.xp.max(K)), -float(self.xp.min(K)))
            # n entries that cancel leave at most n roundings of the largest; 64 of them are no doubt.
            self.negative = float(largest > 64 * _EPS * n * max(abs(self.trace), largest / n))
            return
        K = self.backend.set_diagonal(K, self.xp.linalg.diagonal(K) + self._mu)
        self._factor = self._factored(K)
        if not self.negative:
            self.negative = max(0.0, -self._least(rng)) / self.trace

    @in_phase("Cholesky factor")
    def _factored(self, K: Any) -> Any:
        try:
            return self.backend.cholesky(K)
        except np.linalg.LinAlgError:
            self.negative = self._mu / self.trace  # an eigenvalue lies below −μ
            return None

    def solve(self, V: Any) -> Any:
        """(K̃ + μI)⁻¹V for V (n, b)."""
        return self.backend.cholesky_solve(self._factor, V)

    def __call__(self, V: Any) -> Any:
        """R V for centred V."""
        if not self.variance:
            return self.xp.zeros_like(V)
        out = V - self._mu * self.solve(V)
        return out - self.xp.mean(out, axis=0)

    def random(self, rng: np.random.Generator, width: int) -> Any:
        """Centred Gaussian columns, (n, width), the same numbers wherever K lives."""
        start = rng.standard_normal((self.n, width))
        return beside(start - start.mean(axis=0), self.sums)

    def _least(self, rng: np.random.Generator) -> float:
        """The least eigenvalue of K̃ if it is below zero by more than rounding, else zero: Lanczos on (K̃ + μI)⁻¹."""
        v = self.random(rng, 1)
        basis = v / float(column_norms(v, self.xp)[0])  # (n, steps so far)
        T = np.zeros((_PROBE_STEPS, _PROBE_STEPS))
        for step in range(_PROBE_STEPS):
            w = self.solve(basis[:, -1:]) * self._mu
            for _ in range(2):  # the second time for the digits that the first one loses
                parts = basis.T @ w
                T[: step + 1, step] += to_numpy(parts)[:, 0]
                w = w - basis @ parts
            size = float(column_norms(w, self.xp)[0])
            if size <= 1e-8:  # the space is complete
                break
            basis = self.xp.concat([basis, w / size], axis=1)
        m = min(basis.shape[1], _PROBE_STEPS)
        top = float(np.linalg.eigvalsh(T[:m, :m], UPLO="U")[-1])  # μ/(γ + μ), at most one unless γ < 0
        return self._mu * (1 / top - 1) if top > 1 + 8 * _EPS * self.n**0.5 / self.reg else 0.0


@dataclass(frozen=True)
class WholePairs:
    """k pairs, ρ descending; k is smaller than asked for if the views have no more.

    correlations : (k,), ρ
    residuals : (k, 2), ‖Tv − ρu‖ and ‖Tᵀu − ρv‖ of the singular triplets of T with TTᵀ ~ R₁R₂
    scores : two (n, k)
    coefs, offsets : two (n, k) and (k,): scores are K coefs − offset
    steps : of the search
    """

    correlations: np.ndarray
    residuals: np.ndarray
    scores: tuple[Any, Any]
    coefs: tuple[Any, Any]
    offsets: tuple[Any, Any]
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
    n, xp = first.n, first.xp
    a, taken = _search(first, second, k, rng, steps, report)
    Ra = first(a)
    lengths = beside(np.sqrt(np.maximum(_dots(a, Ra), np.finfo(np.float64).tiny)), a)
    a, Ra = a / lengths, Ra / lengths
    z = second(Ra)
    rho = np.sqrt(np.maximum(_dots(Ra, z), 0.0))
    floor = 8 * _EPS / min(first.reg, second.reg)  # what rounding may leave in any product with R
    found = np.flatnonzero(rho > max(1e-12, floor) / np.sqrt((1 + first.reg) * (1 + second.reg)))
    rho = rho[found]
    a, Ra, z = (columns_of(part, found) for part in (a, Ra, z))
    sizes = beside(rho, a)
    b, missed = Ra / sizes, z / sizes - sizes * a
    left = np.sqrt(np.maximum(_dots(missed, first(missed)), 0.0))
    worst = float(left.max(initial=0.0))
    if worst > 10 * max(_TOL, floor) * rho.max(initial=0.0):  # the search stops on estimates; these are recomputed
        warn(
            f"The search for canonical pairs stopped after {amount(taken, 'step')} with a residual of {worst:.1e}. "
            "See residuals_; raise reg, or ask for fewer components.",
            NotConvergedWarning,
        )
    coefs = [n**0.5 * side.solve(part) for side, part in ((first, a), (second, b))] if len(rho) else [a, b]
    coefs = [part - xp.mean(part, axis=0) for part in coefs]
    return WholePairs(
        np.minimum(rho, 1.0),
        np.column_stack([left + floor, np.full(len(rho), floor)]),
        (n**0.5 * Ra, n**0.5 * z / sizes),
        (coefs[0], coefs[1]),
        (first.sums @ coefs[0] / n, second.sums @ coefs[1] / n),
        taken,
    )


def _dots(A: Any, B: Any) -> np.ndarray:
    """⟨a, b⟩ of each column, on the host."""
    return to_numpy(namespace(A).sum(A * B, axis=0))


def _columns(rows: int, count: int, like: Any) -> Any:
    """Room for columns that are filled one block after another."""
    if not is_foreign(like):
        return np.empty((rows, count), order="F")
    return namespace(like).empty((rows, count), dtype=like.dtype, **placement(like))


@in_phase("canonical pairs")
def _search(first: Smoother, second: Smoother, k: int, rng: np.random.Generator, steps: int, report) -> tuple:
    """(a, steps taken): about k leading eigenvectors of R₂R₁, (n, ≤ k), by block Lanczos with thick restarts.

    Q holds the basis, orthonormal in ⟨·, ·⟩, and RQ = R₁Q. S is R₂R₁ in it, taken from products with the whole basis:
    no recurrence has to hold, so a restart merely exchanges the basis for its best half.
    """
    n = first.n
    width = min(n - 1, max(_WIDTH, k + 8))
    most = width * _BLOCKS
    Q, RQ, S = _columns(n, most, first.sums), _columns(n, most, first.sums), np.zeros((most, most))
    block, smoothed, _ = _orthonormal(first, second(first.random(rng, width)))
    m, C, values, top = 0, np.zeros((0, 0)), np.zeros(0), np.zeros(0, np.int64)
    for step in range(1, steps + 1):
        if not block.shape[1]:
            break  # the space holds everything that the two views have in common
        run = slice(m, m + block.shape[1])
        Q[:, run], RQ[:, run] = block, smoothed
        W = second(smoothed)
        m = run.stop
        S[:m, run] = to_numpy(RQ[:, :m].T @ W)
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
            turn = beside(C[:, best], Q)
            Q[:, : len(best)], RQ[:, : len(best)] = Q[:, :m] @ turn, RQ[:, :m] @ turn
            m = len(best)
            S[:m, :m] = np.diag(values[best])
            C, values, top = np.eye(m), values[best], np.arange(min(k, m))
    return (Q[:, :m] @ beside(C[:, top], Q) if m else Q[:, :0]), (step if m else 0)


def _orthonormal(first: Smoother, W: Any) -> tuple[Any, Any, np.ndarray]:
    """(V, R₁V, β) with W = Vβ and VᵀR₁V = I, without directions of W that R₁ maps to zero, up to rounding.

    Columns that have nearly converged are short: scaled to one length first, they keep their digits. The second round
    works with a fresh product R₁V, free of the rounding that dividing by small roots enlarged.
    """
    sizes = column_norms(W, first.xp)
    # Shorter columns are rounding: W was made from unit vectors.
    alive = np.flatnonzero(sizes > _EPS * W.shape[0] ** 0.5 / first.reg)
    V, beta = columns_of(W, alive) / beside(sizes[alive], W), np.diag(sizes)[alive]
    for _ in range(2):
        RV = first(V)
        values, turn = np.linalg.eigh(to_numpy(V.T @ RV))
        kept = values > 1e-13 * values.max(initial=0.0)  # beneath is the rounding of a product of unit vectors
        turn, roots = turn[:, kept], np.sqrt(values[kept])
        shortened = beside(turn / roots, V)
        V, RV, beta = V @ shortened, RV @ shortened, roots[:, None] * (turn.T @ beta)
    return V, RV, beta

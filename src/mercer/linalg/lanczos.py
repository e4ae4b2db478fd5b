"""Thick-restart Lanczos: the top eigenpairs of a matrix that is stored, from products with single vectors.

The basis V grows by one vector per product. With T = Vᵀ A V, a Ritz pair (θ, V s) of T s = θ s has the residual
β |s_last|, known without forming it. A full basis shrinks to its best Ritz vectors and the last direction (Wu & Simon
2000), so little of the Krylov space is lost.

    reorthogonalised   every new vector, against the whole basis: a stored matrix costs more to read than V does
    doubted            one starting vector sees one of several equal eigenvalues: a random one, outside the found pairs,
                       looks for others before the answer stands
    given up           when LAPACK on the whole matrix would cost less than the products that seem to be left
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mercer.backends import cpu, is_foreign
from mercer.linalg.eigen_bounds import length_of
from mercer.linalg.inner import power_of_two
from mercer.linalg.operators import Operator

_EPS = float(np.finfo(np.float64).eps)
Allowed = Callable[[np.ndarray], np.ndarray]  # Ritz values, descending, to the residuals that are small enough


@dataclass(frozen=True)
class LanczosResult:
    """The top Ritz pairs, descending, and how the iteration ended."""

    values: np.ndarray  # (k,)
    vectors: np.ndarray  # (n, k)
    lowest: float  # Ritz value seen
    converged: bool
    given_up: bool  # because LAPACK seemed cheaper


def column_products(A: Operator, unit: float = 1.0) -> Callable[[np.ndarray], np.ndarray]:
    """v ↦ A v / unit for single vectors; a direct call to BLAS if the matrix is stored."""
    matrix = A.stored()
    if matrix is None or is_foreign(matrix) or matrix.dtype != np.float64:
        return lambda v: A.matmat(v[:, None])[:, 0] / unit
    times = cpu.single_products(matrix, 1 / unit)

    def counted(v: np.ndarray) -> np.ndarray:
        A.passes += 1
        return times(v)

    return counted


def direct_cost(n: int, k: int) -> float:
    """How many steps of Lanczos on a stored matrix take the time of LAPACK's top k pairs.

    Half of LAPACK's reduction to tridiagonal form are n products with ever smaller parts of the matrix, n/3 whole ones.
    The other half are matrix products, which add little where memory is the limit, for large n; for small n they add as
    much again, and so does the overhead of a step. Measured on one core: n/3 at n = 300, n/2 at 1000, n/3.6 at 2500.
    """
    return 0.35 * n + k


def largest_basis(n: int, k: int) -> int:
    """How many vectors are collected before a restart: room to converge, and less to read than the matrix itself."""
    return min(n, max(2 * k + 30, min(n // 8, 400)))


class KrylovSpace:
    """An orthonormal basis V that grows by products with one matrix, and T = Vᵀ A V (final)."""

    def __init__(self, times: Callable[[np.ndarray], np.ndarray], n: int, room: int, rng: np.random.Generator) -> None:
        self.times, self.n, self.rng = times, n, rng
        self.basis = np.empty((room + 1, n))  # a vector per row; basis[size] is multiplied next
        self.T = np.zeros((room, room))  # its upper triangle
        self.size = 0  # vectors whose products are in T
        self.kept = 0  # of them at the last restart
        self.products = 0
        self.beta = 0.0  # length of the last product outside the basis: the residuals' common factor
        self.largest = 0.0  # of any product, which rounding is relative to

    def begin(self) -> None:
        """Continue from a random direction outside the basis."""
        known, v = self.basis[: self.size], self.rng.standard_normal(self.n)
        for _ in range(2):
            v -= (known @ v) @ known
            v /= length_of(v)
        self.basis[self.size] = v
        self.kept = self.size

    def extend(self, size: int) -> None:
        """Grow to `size` vectors by as many products."""
        basis, T = self.basis, self.T
        for j in range(self.size, size):
            w = self.times(basis[j])
            first = max(0, j - 1) if j > self.kept else 0  # in exact arithmetic A v meets no earlier vector
            near, known = basis[first : j + 1], basis[: j + 1]
            taken = near @ w
            w -= taken @ near
            inside = known @ w  # nothing but rounding; a first round that took all at once would let it grow
            w -= inside @ known
            beta = length_of(w)
            if beta < 10 * length_of(inside):  # A v lies nearly in the basis: what is left is not orthogonal yet
                w -= (known @ w) @ known
                beta = length_of(w)
            inside[first:] += taken
            T[: j + 1, j] = inside
            self.size, self.products = j + 1, self.products + 1
            self.largest = max(self.largest, abs(float(taken[-1])), beta)
            if beta > 4 * _EPS * self.n**0.5 * self.largest:
                basis[j + 1] = w / beta
                self.beta = beta
            else:  # the basis holds an invariant space: what is outside is found from a new start
                self.beta = 0.0
                if self.size < self.n:
                    self.begin()

    def ritz(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ritz values, descending, the matrix S of their vectors V S, and the norms of their residuals."""
        values, S = np.linalg.eigh(self.T[: self.size, : self.size], UPLO="U")
        return values[::-1], S[:, ::-1], self.beta * np.abs(S[-1, ::-1])

    def vectors(self, S: np.ndarray) -> np.ndarray:
        """V S, one per row."""
        return S.T @ self.basis[: self.size]

    def shrink(self, values: np.ndarray, S: np.ndarray) -> None:
        """Keep the given Ritz pairs and the direction in which the basis was about to grow."""
        kept = len(values)
        last = self.basis[self.size].copy()
        self.basis[:kept] = self.vectors(S)
        self.basis[kept] = last
        self.T[...] = 0.0
        np.fill_diagonal(self.T[:kept, :kept], values)
        self.size = self.kept = kept


def lanczos(
    A: Operator,
    k: int,
    *,
    allowed: Allowed,
    max_products: int,
    rng: np.random.Generator,
    direct: float = np.inf,
) -> LanczosResult:
    """The k largest eigenvalues of A, k < n; `direct` is the number of steps that LAPACK's answer is worth."""
    n = A.n
    unit = _unit(A)
    most = largest_basis(n, k)
    space = KrylovSpace(column_products(A, unit), n, most, rng)
    with np.errstate(over="ignore", under="ignore"):  # of squares, which `length_of` handles
        space.begin()
        lowest, past, trusted = np.inf, [], False
        size = min(most, k + max(8, k // 2))
        while True:
            space.extend(size)
            values, S, residuals = space.ritz()
            lowest = min(lowest, values[-1])
            excess = _excess(values * unit, residuals * unit, k, allowed)
            past.append((space.products, excess))
            if space.products >= max_products or (excess <= 1 and trusted) or space.size == n:
                break
            if excess <= 1:
                space.shrink(values[:k], S[:, :k])
                low, trusted = _doubt(space, values[k - 1], residuals[k - 1])
                lowest, past = min(lowest, low), []
                size = space.size
                continue
            if _hopeless(past, k, direct):
                break
            if space.size >= most:
                keep = min(k + 2 * (space.size - k) // 5, space.size - 3)
                space.shrink(values[:keep], S[:, :keep])
            size = min(most, space.size + max(8, space.size // 3), space.size + max_products - space.products)
        found = space.vectors(S[:, :k]).T
    done = excess <= 1
    return LanczosResult(values[:k] * unit, found, lowest * unit, done, not done and space.products < max_products)


def _unit(A: Operator) -> float:
    """A power of two near the entries of A, so that squares of its products neither overflow nor vanish."""
    return power_of_two(float(np.max(np.abs(np.asarray(A.diagonal())), initial=0.0)), 1000)


def _excess(values: np.ndarray, residuals: np.ndarray, k: int, allowed: Allowed) -> float:
    """The largest of the first k residuals, relative to what is allowed."""
    if len(values) < k:
        return np.inf
    limits = allowed(values[:k])
    return float(np.max(residuals[:k] / np.maximum(limits, np.finfo(np.float64).tiny)))


def _hopeless(past: list[tuple[int, float]], k: int, direct: float) -> bool:
    """Whether a direct answer, worth `direct` products, costs less than the products that seem to be left.

    The forecast: the logarithm of the excess goes on falling as it fell since a little beyond half way. Residuals first
    stay where they are and then fall faster and faster, so a forecast is worth nothing before the space is twice as
    large as the number of wanted pairs, and early ones must be bad by a margin. A sixth of `direct` is spent in any
    case.
    """
    products, excess = past[-1]
    spent = (products - 2 * k) / direct
    if spent < 0.15:
        return False
    p, before = next((p, e) for p, e in reversed(past) if p <= 0.6 * products or p == past[0][0])
    fallen = np.log(before / excess) if np.isfinite(before) else 0.0
    left = np.log(excess) * (products - p) / fallen if fallen > 0 else np.inf
    return bool(left > direct * max(0.3, 3 - 4 * spent))


def _doubt(space: KrylovSpace, last: float, residual: float) -> tuple[float, bool]:
    """Look for an eigenvalue above the last of the pairs in the basis from a new start: (lowest Ritz value, no find).

    The space grows until its largest new Ritz value is sure to lie below `last` or clearly above it, or until the
    search has taken a fifth of the products that the pairs took.
    """
    found = space.size
    room = min(len(space.T), space.n) - found
    room = min(room, max(6, space.products // 5))
    slack = residual + 8 * _EPS * space.n**0.5 * space.largest
    lowest = np.inf
    if room:
        space.begin()
    while space.size < found + room:
        space.extend(min(found + room, space.size + 6))
        ritz, S = np.linalg.eigh(space.T[found : space.size, found : space.size], UPLO="U")
        lowest = ritz[0]
        if ritz[-1] > last + slack:
            return lowest, False
        if ritz[-1] + space.beta * abs(S[-1, -1]) < last:
            break
    return lowest, True

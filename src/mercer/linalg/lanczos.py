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
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy, ddot, dgemv, dnrm2
from scipy.linalg.lapack import dsterf

from mercer.backends import cpu, is_foreign
from mercer.linalg.eigen_bounds import length_of
from mercer.linalg.inner import power_of_two
from mercer.linalg.operators import Operator
from mercer.linalg.tridiagonal import selected_pairs

_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
# Products from which on a negative eigenvalue of a hundredth of the largest is seen. Of 1,500 starts on five spectra of
# 150 to 1,000 values, one of which was −0.0105, a single start missed it. With 15 products 4 starts of 500 missed it.
_LOOKED = 24
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

    Both are counted in numbers read, which fits what one core was measured to take for n from 200 to 2500 and k from 2
    to 80. LAPACK reduces the matrix, n³/5 in products that reuse what they read and 110 n² in others, and 2000 n per
    vector. A step reads half of the matrix, the basis twice, and takes as long as 55,000 numbers in calls alone; a full
    basis of m vectors is solved once in 0.6 (m − k) steps, 2.7 m³. A fifth is taken off, since LAPACK's time is known
    and the products that are left are not.
    """
    m = largest_basis(n, k)
    lapack = 0.2 * n**3 + 110.0 * n**2 + 2000.0 * n * k
    step = 0.5 * n**2 + 2.0 * n * m + 55_000 + 2.7 * m**3 / (0.6 * (m - k))
    return 0.8 * lapack / step


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
        """Grow to `size` vectors by as many products.

        The calls go to BLAS directly: on a matrix that fits the cache a step takes as long as its calls do.
        """
        basis, T, columns = self.basis, self.T, self.basis.T  # BLAS counts by columns
        for j in range(self.size, size):
            v, known = basis[j], columns[:, : j + 1]
            w = self.times(v)
            if j > self.kept:  # in exact arithmetic A v meets no earlier vector than the last two
                daxpy(basis[j - 1], w, a=-self.beta)
                alpha = ddot(v, w)
                daxpy(v, w, a=-alpha)
                taken = None
            else:
                taken = dgemv(1.0, known, w, trans=1)
                alpha = taken[-1]
                w = dgemv(-1.0, known, taken, beta=1.0, y=w, overwrite_y=1)
            inside = dgemv(1.0, known, w, trans=1)  # rounding alone; one round for all would let it grow
            w = dgemv(-1.0, known, inside, beta=1.0, y=w, overwrite_y=1)
            beta = dnrm2(w)
            if beta < 10 * dnrm2(inside):  # A v lies nearly in the basis: what is left is not orthogonal yet
                w = dgemv(-1.0, known, dgemv(1.0, known, w, trans=1), beta=1.0, y=w, overwrite_y=1)
                beta = dnrm2(w)
            if taken is None:
                inside[j] += alpha
                inside[j - 1] += self.beta
            else:
                inside += taken
            T[: j + 1, j] = inside
            self.size, self.products = j + 1, self.products + 1
            self.largest = max(self.largest, abs(alpha), beta)
            if beta > 4 * _EPS * self.n**0.5 * self.largest:
                np.divide(w, beta, out=basis[j + 1])
                self.beta = beta
            else:  # the basis holds an invariant space: what is outside is found from a new start
                self.beta = 0.0
                if self.size < self.n:
                    self.begin()

    @property
    def tridiagonal(self) -> bool:
        """Whether T is, up to rounding: there was one start, and no restart since."""
        return self.kept == 0

    def glance(self, k: int) -> tuple[np.ndarray, float]:
        """The Ritz values of a tridiagonal T, descending, and the residual of number k, for a fraction of `ritz`.

        The residual is infinite where LAPACK does not find that vector by itself.
        """
        m, T = self.size, self.T
        diagonal, beside = np.diagonal(T)[:m], np.zeros(m)
        beside[: m - 1] = np.diagonal(T, 1)[: m - 1]
        values, trouble = dsterf(diagonal, beside[: m - 1])
        if trouble:
            values = np.linalg.eigvalsh(T[:m, :m], UPLO="U")
        found, _, vector, trouble = selected_pairs(diagonal, beside, m - k, m - k)
        return values[::-1], self.beta * abs(vector[-1, 0]) if found == 1 and not trouble else np.inf

    def ritz(self, k: int | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Ritz values, descending, the matrix S of their vectors V S, and the norms of their residuals: the first k."""
        m = self.size
        k = m if k is None else min(k, m)
        if self.tridiagonal and 3 * k < m:  # MRRR finds few vectors sooner than divide and conquer finds all
            beside = np.zeros(m)
            beside[: m - 1] = np.diagonal(self.T, 1)[: m - 1]
            found, values, S, trouble = selected_pairs(np.diagonal(self.T)[:m], beside, m - k, m - 1)
            if found == k and not trouble:
                values, S = values[:k], S[:, :k]
                return values[::-1], S[:, ::-1], self.beta * np.abs(S[-1, ::-1])
        values, S = np.linalg.eigh(self.T[:m, :m], UPLO="U")
        values, S = values[::-1][:k], S[:, ::-1][:, :k]
        return values, S, self.beta * np.abs(S[-1])

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
        size = min(most, k + max(8, k // 2), max_products)
        while True:
            space.extend(size)
            last = space.products >= max_products or space.size == n
            if space.tridiagonal and k <= space.size < most and not last:
                values, residual = space.glance(k)
                lowest = min(lowest, values[-1])
                excess = _excess(values * unit, residual * unit, k, allowed)
                if excess > 1:
                    past.append((space.products, excess))
                    if _hopeless(past, k, direct):
                        values, S, _ = space.ritz(k)
                        break
                    size = _next_size(past, space.size, most, max_products - space.products)
                    continue
            whole = last or space.size >= most or not space.tridiagonal
            values, S, residuals = space.ritz(None if whole else k)
            lowest = min(lowest, values[-1])
            excess = _excess(values * unit, residuals[:k] * unit, k, allowed)
            past.append((space.products, excess))
            if last or (excess <= 1 and trusted):
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
                keep = min(k + 2 * (space.size - k) // 5, space.size - 3)  # a thick restart: these go on converging
                space.shrink(values[:keep], S[:, :keep])
            size = _next_size(past, space.size, most, max_products - space.products)
        found = space.vectors(S[:, :k]).T
    done = excess <= 1
    return LanczosResult(values[:k] * unit, found, lowest * unit, done, not done and space.products < max_products)


def _next_size(past: list[tuple[int, float]], size: int, most: int, left: int) -> int:
    """Of the space when residuals are looked at again: where they may be small enough, if they go on as they fell.

    They fall faster and faster, so a forecast is too far, and four fifths of the way are gone. A third of the size is
    the most that is gone without a look.
    """
    step = max(8, size // 3)
    (p, before), (products, excess) = past[-2] if len(past) > 1 else (0, np.inf), past[-1]
    if excess < before < np.inf:
        ahead = 0.8 * np.log(excess) * (products - p) / np.log(before / excess)
        step = int(min(step, max(4, ahead)))
    return min(most, size + step, size + left)


def _unit(A: Operator) -> float:
    """A power of two near the entries of A, so that squares of its products neither overflow nor vanish."""
    return power_of_two(float(np.max(np.abs(np.asarray(A.diagonal())), initial=0.0)), 1000)


def _excess(values: np.ndarray, residuals: Any, k: int, allowed: Allowed) -> float:
    """The largest of the first k residuals, or that of number k alone, relative to what is allowed."""
    if len(values) < k:
        return np.inf
    limits = allowed(values[:k])
    if not isinstance(residuals, np.ndarray):
        return float(residuals) / max(float(limits[-1]), _TINY)
    return float((residuals / np.maximum(limits, _TINY)).max())


def _hopeless(past: list[tuple[int, float]], k: int, direct: float) -> bool:
    """Whether a direct answer, worth `direct` products, costs less than the products that seem to be left.

    The forecast: the logarithm of the excess goes on falling as it fell since a little beyond half way. Residuals first
    stay where they are and then fall faster and faster, so a forecast is worth nothing before the space is twice as
    large as the number of wanted pairs, and early ones must be bad by a margin. A sixth of `direct` is spent in any
    case.
    """
    products, excess = past[-1]
    spent = (products - 2 * k) / direct
    if spent < 0.15:  # about a sixth
        return False
    half_way = 0.6 * products
    p, before = next((p, e) for p, e in reversed(past) if p <= half_way or p == past[0][0])
    fallen = np.log(before / excess) if np.isfinite(before) else 0.0
    left = np.log(excess) * (products - p) / fallen if fallen > 0 else np.inf
    margin = max(0.3, 3 - 4 * spent)  # more than twice `direct` at first, less than it later
    return bool(left > direct * margin)


def _doubt(space: KrylovSpace, last: float, residual: float) -> tuple[float, bool]:
    """Look for an eigenvalue above the last of the pairs in the basis from a new start: (lowest Ritz value, no find).

    The space grows until its largest new Ritz value is sure to lie below `last` or clearly above it, or until the
    search has taken a fifth of the products that the pairs took. Unless the matrix was seen to be indefinite, it also
    grows until all products are _LOOKED: where few were enough for the pairs, they may not show a negative eigenvalue.
    """
    found, used = space.size, space.products
    room = min(len(space.T), space.n) - found
    usual = min(room, max(6, used // 5))  # 6: one step of the loop below
    room = min(room, max(usual, _LOOKED - used))
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
        sure = ritz[-1] + space.beta * abs(S[-1, -1]) < last or space.size >= found + usual
        if sure and (space.products >= _LOOKED or lowest < -0.01 * space.largest):  # seen to be indefinite
            break
    return lowest, True

"""Thick-restart Lanczos: the top eigenpairs of a matrix that is stored, from products with single vectors.

The basis V grows by one vector per product. With T = Vᵀ A V, a Ritz pair (θ, V s) of T s = θ s has the residual
β |s_last|, known without forming it. A full basis shrinks to its best Ritz vectors and the last direction (Wu & Simon
2000), so little of the Krylov space is lost.

    reorthogonalised   every new vector, against the whole basis: a stored matrix costs more to read than V does
    doubted            one starting vector sees one of several equal eigenvalues: a random one, outside the found pairs,
                       looks for others before the answer stands
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
from mercer.linalg.tridiagonal import Allowed, FormPairs, TridiagonalForm, selected_pairs

_EPS, _TINY = float(np.finfo(np.float64).eps), float(np.finfo(np.float64).tiny)
# A space of this share of n shows by its residuals how many more vectors it needs. Its steps are not lost when
# Householder's form goes on from there, only dearer than columns of the form: by a tenth of LAPACK's time until then.
_TRIED = 0.05
_EXTRA = 0.2  # what a search for copies may cost beside LAPACK's answer, which is taken in the end if it fails


@dataclass(frozen=True)
class LanczosResult:
    """The top Ritz pairs, descending, and how the iteration ended."""

    values: np.ndarray  # (k,)
    vectors: np.ndarray  # (n, k)
    lowest: float  # Ritz value seen
    converged: bool
    space: KrylovSpace | None = None  # of one start, if it was left for Householder's form


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

    Both are counted in numbers read, which fits what one core was measured to take for n from 200 to 2000 and k from 2
    to 50. LAPACK reduces the matrix, n³/10 in products that reuse what they read and 60 n² in others, and takes 1800 n
    per vector. A step reads half of the matrix, the basis twice, and takes as long as 55,000 numbers in calls alone; a
    full basis of m vectors is solved once in 0.6 (m − k) steps, 2.7 m³.
    """
    m = largest_basis(n, k)
    lapack = 0.1 * n**3 + 60.0 * n**2 + 1800.0 * n * k
    step = 0.5 * n**2 + 2.0 * n * m + 55_000 + 2.7 * m**3 / (0.6 * (m - k))
    return lapack / step


def largest_basis(n: int, k: int) -> int:
    """How many vectors are collected before a restart: room to converge, and less to read than the matrix itself."""
    return min(n, max(4 * k, 2 * k + 30, min(n // 5, 400)))


class KrylovSpace:
    """An orthonormal basis V that grows by products with one matrix, and T = Vᵀ A V (final)."""

    def __init__(
        self,
        times: Callable[[np.ndarray], np.ndarray],
        n: int,
        room: int,
        rng: np.random.Generator,
        unit: float = 1.0,
    ) -> None:
        self.times, self.n, self.rng, self.unit = times, n, rng, unit  # `times` multiplies with the matrix / unit
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

    def products_of_basis(self) -> np.ndarray:
        """A V, (n, size), from V T and the direction that leaves the basis."""
        m = self.size
        T = np.triu(self.T[:m, :m]) + np.triu(self.T[:m, :m], 1).T
        products = T @ self.basis[:m]
        products[-1] += self.beta * self.basis[m]
        return products.T

    def vectors(self, S: np.ndarray) -> np.ndarray:
        """V S, one per row."""
        return S.T @ self.basis[: self.size]

    def shrink(self, values: np.ndarray, S: np.ndarray) -> None:
        """Keep the given Ritz pairs and the direction in which the basis was about to grow."""
        last = self.basis[self.size].copy()
        self.adopt(values, self.vectors(S).T)
        self.basis[self.size] = last

    def adopt(self, values: np.ndarray, vectors: np.ndarray) -> None:
        """Hold the given Ritz pairs, (n, k), and nothing else."""
        kept = len(values)
        self.basis[:kept] = vectors.T
        self.T[...] = 0.0
        np.fill_diagonal(self.T[:kept, :kept], values)
        self.size = self.kept = kept
        self.largest = max(self.largest, float(np.abs(values).max(initial=0.0)))


def lanczos(
    A: Operator,
    k: int,
    *,
    allowed: Allowed,
    max_products: int,
    rng: np.random.Generator,
    direct: float = np.inf,
    known: FormPairs | None = None,
) -> LanczosResult:
    """The k largest eigenvalues of A, k < n.

    direct : the number of steps that LAPACK's answer is worth. A space of one start, which that answer can begin with,
        is left once it seems to need more than n vectors. Another one may cost _EXTRA · direct steps.
    known : pairs that are good enough, though copies of them may have been missed; nothing is left to do but to look
    """
    n = A.n
    unit = _unit(A)
    most = largest_basis(n, k)
    space = KrylovSpace(column_products(A, unit), n, most, rng, unit)
    with np.errstate(over="ignore", under="ignore"):  # of squares, which `length_of` handles
        lowest, past, trusted = np.inf, [], False
        size = min(most, k + max(8, k // 2), max_products)
        if known is None:
            space.begin()
        else:
            space.adopt(known.values / unit, known.vectors)
            lowest, trusted = _doubt(space, known.values[-1] / unit, known.residual / unit, known.products)
            lowest = min(lowest, known.lowest / unit)
            if trusted:
                return LanczosResult(known.values, known.vectors, lowest * unit, True)
            size, max_products = space.size, int(min(max_products, space.products + _EXTRA * direct))
        while True:
            space.extend(size)
            last = space.products >= max_products or space.size == n
            if space.tridiagonal and k <= space.size < most and not last:
                values, residual = space.glance(k)
                lowest = min(lowest, values[-1])
                excess = _excess(values * unit, residual * unit, k, allowed)
                if excess > 1:
                    past.append((space.products, excess))
                    if direct < np.inf and _forecast(past) > n and space.size > k + max(16, _TRIED * n):
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
            if whole and space.tridiagonal and direct < np.inf and excess > 1:
                break
            if whole or excess <= 1:  # what follows is a space of several starts
                max_products = int(min(max_products, space.products + _EXTRA * direct))
            if excess <= 1:
                space.shrink(values[:k], S[:, :k])
                low, trusted = _doubt(space, values[k - 1], residuals[k - 1], space.products)
                lowest, past = min(lowest, low), []
                size = space.size
                continue
            if space.size >= most:
                keep = min(k + 2 * (space.size - k) // 5, space.size - 3)
                space.shrink(values[:keep], S[:, :keep])
            size = _next_size(past, space.size, most, max_products - space.products)
        if excess > 1 and direct < np.inf and space.tridiagonal:
            return LanczosResult(values[:k] * unit, np.empty((n, 0)), lowest * unit, False, space)
        found = space.vectors(S[:, :k]).T
    # Small residuals alone are no answer: until a search has found nothing, copies may be missing.
    done = excess <= 1 and (trusted or space.size == n)
    return LanczosResult(values[:k] * unit, found, lowest * unit, done)


def form_of(matrix: np.ndarray, space: KrylovSpace | None) -> TridiagonalForm | None:
    """Householder's form of the matrix that goes on where a space of one start stopped."""
    if space is None:
        return None
    Q = space.basis[: space.size].T
    beside = np.diagonal(space.T, 1)[: space.size - 1]
    return TridiagonalForm(matrix, Q, space.products_of_basis(), beside, space.unit)


def _forecast(past: list[tuple[int, float]]) -> float:
    """The number of products after which residuals are small enough, if they go on as they fell; too many, mostly."""
    if len(past) < 2:
        return 0.0
    (p, before), (products, excess) = past[-2:]
    return products + np.log(excess) * (products - p) / np.log(before / excess) if excess < before else np.inf


def _next_size(past: list[tuple[int, float]], size: int, most: int, left: int) -> int:
    """Of the space when residuals are looked at again: where they may be small enough, if they go on as they fell.

    They fall faster and faster, so a forecast is too far, and four fifths of the way are gone. A third of the size is
    the most that is gone without a look.
    """
    step = max(8, size // 3)
    if len(past) > 1 and past[-2][1] < np.inf:
        step = int(min(step, max(4, 0.8 * (_forecast(past) - past[-1][0]))))
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


def _doubt(space: KrylovSpace, last: float, residual: float, products: int) -> tuple[float, bool]:
    """Look for an eigenvalue above the last of the pairs in the basis from a new start: (lowest Ritz value, no find).

    The space grows until such a value would have shown, or until the search has taken a fifth of the products that the
    pairs took. `_would_show` says when.
    """
    found = space.size
    room = min(len(space.T), space.n) - found
    room = min(room, max(8, products // 5))
    slack = residual + 8 * _EPS * space.n**0.5 * space.largest
    lowest = np.inf
    if room:
        space.begin()
    while space.size < found + room:
        steps = space.size - found
        space.extend(found + min(room, steps + (4 if steps == 1 else 1 if steps == 0 else 2)))
        ritz, S = np.linalg.eigh(space.T[found : space.size, found : space.size], UPLO="U")
        lowest = ritz[0]
        if ritz[-1] > last + slack:
            return lowest, False
        # A random start meets every eigenvalue, so a space that A does not leave holds the largest one.
        if space.beta == 0.0 or _would_show(last, ritz, space.beta * abs(S[-1, -1]), space.n):
            break
    return lowest, True


def _would_show(last: float, ritz: np.ndarray, residual: float, n: int) -> bool:
    """Whether an eigenvalue λ ≥ `last` would have raised the largest Ritz value ρ of a random start above what it is.

    Kaniel and Paige: λ − ρ ≤ (λ − λₘᵢₙ) (tan φ / Tⱼ₋₁(1 + 2 (λ − μ) / (μ − λₘᵢₙ)))² after j products, with μ the next
    eigenvalue, for which ρ and its residual stand, and φ the angle between the start and λ's vector. A random vector's
    cosine is below 1/(100 √n) once in 125 times.
    """
    low, high = ritz[0], ritz[-1] + residual
    if high >= last or len(ritz) < 2:
        return False
    growth = np.cosh((len(ritz) - 1) * np.arccosh(1 + 2 * (last - high) / max(high - low, _TINY)))
    return bool((last - ritz[-1]) * growth**2 > (last - low) * 1e4 * n)

"""The top eigenpairs of a symmetric operator, each with its residual.

    top_eigenpairs(A, k, solver="auto", tol=…) -> Eigenpairs

    dense       LAPACK on the whole matrix
    lanczos     thick-restart Lanczos: single vectors, for a matrix that is stored
    krylov      block Davidson: Rayleigh–Ritz on a growing basis, started and preconditioned by a low-rank factor
    arpack      SciPy's implicitly restarted Lanczos
    randomized  a few power iterations on a random block, largest magnitude
    power       power iteration with deflation, one eigenvector after the other

Residuals rᵢ = ‖A vᵢ − θᵢ vᵢ‖ are recomputed from the vectors that are returned, whatever the solver believed. For a
symmetric A there is an eigenvalue within rᵢ of θᵢ, and within rᵢ²/gap where the gap to the rest is known. Where LAPACK
finds hundreds of pairs, random probes bound their residuals from above: see `_probed`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh
from scipy.special import gammaincinv

from mercer.backends import beside, columns_of, is_foreign, to_numpy
from mercer.linalg.eigen_bounds import Eigenpairs, column_norms, error_bounds, largest_of, length_of
from mercer.linalg.krylov import Goal, Monitor, krylov
from mercer.linalg.lanczos import column_products, direct_cost, lanczos
from mercer.linalg.operators import Dense, Operator, operator_of
from mercer.linalg.tridiagonal import top_pairs
from mercer.random_state import generator_from

SOLVERS = ("auto", "dense", "lanczos", "krylov", "arpack", "randomized", "power")
SMALL = 2048  # n up to which the matrix is formed whole: it fits the cache, and one thread is as fast as two
_RESTARTS = 300  # of ARPACK: clusters of eigenvalues that need more, the block method finds in a fraction of the time
_SURE = 2  # steps of Lanczos per pair that most kernels need: LAPACK is asked at once if it takes less time than these
_BLOCK = 2**20  # entries that are worked on at a time where a whole matrix would only cost memory
_PROBES = 48  # random vectors that bound the residuals of many pairs: see `_probed`
MANY = 6 * _PROBES  # pairs from which on probes take at most half of the time of the product with every vector
# The quantile of χ² with _PROBES degrees of freedom that a column falls below once in 1e14: 5.74; the mean is 48.
_LEAST_SEEN = 2 * float(gammaincinv(_PROBES / 2, 1e-14))
DENSE_BELOW = 400  # n at which LAPACK on the whole matrix is still as fast as a block method


def default_tol(dtype: Any) -> float:
    """The residual, relative to the largest eigenvalue, that tol = 0 stands for: 1e-10 in float64, 1e-6 in float32."""
    return 1e-6 if np.dtype(dtype) == np.float32 else 1e-10


def choose_solver(n: int, k: int, *, numpy: bool = True, stored: bool = False) -> tuple[str, str]:
    """The solver that "auto" chooses for the top k of n, and why. Lanczos reads NumPy arrays only.

    stored : whether the matrix is in memory whatever n is; otherwise it is up to SMALL rows
    """
    small = numpy and (stored or n <= SMALL)
    few_rows = n <= (100 if numpy else DENSE_BELOW)  # calls then cost more than the arithmetic of LAPACK
    # For more than a sixth of all pairs LAPACK finds all of them; a streamed matrix is worth a block up to an eighth.
    if few_rows or 6 * k > n or (direct_cost(n, k) < _SURE * k if small else k > n // 8):
        return "dense", f"{k} of {n} pairs: LAPACK on the whole matrix costs least"
    if small:
        return "lanczos", f"{k} of {n} pairs: a matrix in memory is quickly multiplied with single vectors"
    return "krylov", f"{k} of {n} pairs: a block method needs a few passes over the matrix"


def top_eigenpairs(
    A: Any,
    k: int,
    *,
    solver: str = "auto",
    tol: float = 0.0,
    max_iter: int | None = None,
    n_iter: int | str = "auto",
    random_state: Any = None,
    monitor: Monitor | None = None,
    start: Any = None,
    goal: Goal | None = None,
    direct: bool | None = None,
    spend: bool = False,
) -> Eigenpairs:
    """The k largest eigenvalues of A and their vectors.

        A v = γ v,   residual = ‖A v − γ v‖, computed anew from what is returned

    Cost: LAPACK takes n³ operations and a copy of A, lanczos some tens of products with single vectors, and krylov a
    few products with blocks of about k vectors.

    A : an Operator or a symmetric matrix
    tol : the largest residual allowed, relative to the largest eigenvalue; 0 is `default_tol`
    max_iter : the largest number of passes over the matrix (krylov, lanczos), iterations (arpack, power)
    n_iter : power iterations of "randomized"
    monitor : called as monitor(passes, residual) after each pass of krylov
    start : (n, at most k), vectors near the wanted ones, from which krylov starts
    goal : the residuals at which krylov and lanczos stop, small against each pair's own eigenvalue; ARPACK always stops
        by such residuals
    direct : whether lanczos may hand over to LAPACK if it seems to need many more products; None means only if solver
        is "auto". LAPACK takes a copy of the matrix.
    spend : whether LAPACK may overwrite A, which then cannot be multiplied any more

    >>> pairs = top_eigenpairs(np.diag([3.0, 1.0, 2.0]), 2)
    >>> pairs.values.tolist(), bool(pairs.residuals.max() < 1e-12)
    ([3.0, 2.0], True)

    `random_state` is the seed, or the generator, of the starting vectors.
    """
    A = operator_of(A)
    if not 1 <= k <= A.n:
        raise ValueError(f"k={k} must be between 1 and n={A.n}.")
    if solver not in SOLVERS:
        raise ValueError(f"Unknown solver {solver!r}. Choose one of: {', '.join(SOLVERS)}.")
    reason = "asked for"
    direct = solver == "auto" if direct is None else direct
    if solver == "auto":
        solver, reason = choose_solver(A.n, k, numpy=not A.placement(), stored=A.stored() is not None)
    if solver in ("arpack", "lanczos") and (k >= A.n or A.placement()):
        solver, reason = "dense", f"{solver} needs k < n and NumPy data"
    tol = tol or default_tol(f"float{A.xp.finfo(A.dtype).bits}")
    rng = generator_from(random_state)
    if solver == "krylov":
        found = krylov(A, k, tol=tol, max_passes=max_iter or 300, rng=rng, monitor=monitor, start=start, goal=goal)
        return replace(found, reason=reason)
    run: dict[str, Callable[[], _Found]] = {
        "dense": lambda: _dense(A, k, rng, spend),
        "lanczos": lambda: _lanczos(A, k, tol, max_iter, rng, goal, direct),
        "arpack": lambda: _arpack(A, k, tol, max_iter, rng, goal),
        "randomized": lambda: _randomized(A, k, n_iter, rng),
        "power": lambda: _power(A, k, tol, max_iter or 10_000, rng),
    }
    return certify(run[solver](), tol, solver, reason)


@dataclass(frozen=True)
class _Found:
    """A solver's answer: pairs, the operator to judge them by, and the lowest Ritz value seen, if any."""

    values: np.ndarray
    vectors: Any
    operator: Operator
    lowest: float = np.nan
    residuals: np.ndarray | None = None  # bounds of their norms, where these are known
    instead: str = ""  # the solver that took over from the one asked for
    reason: str = ""  # why it did


def certify(found: _Found, tol: float, solver: str, reason: str) -> Eigenpairs:
    """Eigenpairs with the residuals of the given vectors, from one product, sorted by descending value.

    A choice by magnitude ("randomized") may leave out values between those it returns, so their gaps are unknown.
    """
    A, solver, reason = found.operator, found.instead or solver, found.reason or reason
    order = np.argsort(-found.values, kind="stable")
    values = np.asarray(found.values, np.float64)[order]
    sorted_ = bool(np.all(order[1:] > order[:-1]))
    vectors = found.vectors if sorted_ else columns_of(found.vectors, order)
    residuals = found.residuals
    if residuals is None:
        residuals = residual_norms(A, A.matmat(vectors), vectors, values)
    converged = bool(residuals.max(initial=0.0) <= tol * largest_of(values))
    errors = error_bounds(values, residuals, A.n, converged=converged and solver != "randomized")
    lowest = min(found.lowest, values.min()) if values.size else found.lowest
    return Eigenpairs(values, vectors, residuals, errors, A.passes, solver, reason, A, A.kept_bytes, lowest)


def residual_norms(A: Operator, product: Any, vectors: Any, values: np.ndarray) -> np.ndarray:
    """‖A v − θ v‖ of each column from the product A V, a few columns at a time: a copy of a large matrix takes time."""
    k, step = len(values), max(4, _BLOCK // A.n)
    cuts = [slice(start, min(start + step, k)) for start in range(0, k, step)]
    parts = [column_norms(product[:, cut] - vectors[:, cut] * beside(values[cut], vectors), A.xp) for cut in cuts]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def _dense(A: Operator, k: int, rng: np.random.Generator, spend: bool = False) -> _Found:
    if 6 * k > A.n and not A.placement():  # for this many pairs LAPACK finds all of them sooner than it selects some
        return _every(A, k, rng, spend)
    M = A.to_dense()
    if is_foreign(M):
        values, vectors = A.xp.linalg.eigh((M + M.T) / 2)
        return _Found(to_numpy(values)[A.n - k :], vectors[:, A.n - k :], Dense(M), float(values[0]))
    found = top_pairs(M, k) if M.dtype == np.float64 and A.n > 1 else None
    if found is not None:
        return _Found(found.values, found.vectors, Dense(M), found.lowest)
    values, vectors = eigh(M, check_finite=False)
    values, vectors = values[-k:], vectors[:, -k:]
    lowest, _ = _probe(Dense(M), vectors, values, rng)
    return _Found(values, vectors, Dense(M), lowest)


def _every(A: Operator, k: int, rng: np.random.Generator, spend: bool) -> _Found:
    """The top k by divide and conquer on all pairs, in the memory of A if that may be spent.

    It took 3 to 26 % less time than SciPy's default at 1,000 to 5,000 rows, and takes two matrices of workspace.
    """
    n = A.n
    spend = spend and k > MANY  # fewer pairs are certified by a product with A
    M = A.spend() if spend else A.to_dense()
    probes = rng.standard_normal((n, _PROBES)) if k > MANY else np.empty((n, 0))
    seen = M @ probes
    work = M.T if M.flags.c_contiguous else M  # the same matrix, in LAPACK's order
    values, vectors = eigh(work, driver="evd", overwrite_a=spend, check_finite=False)
    lowest, values = float(values[0]), values[: -k - 1 : -1]
    vectors = _descending(vectors, k)
    residuals = _probed(values, vectors, probes, seen) if k > MANY else None
    A.passes += spend
    return _Found(values, vectors, A if spend else Dense(M), lowest, residuals)


def _descending(vectors: np.ndarray, k: int) -> np.ndarray:
    """The last k columns in reverse; in place if these are all, a few at a time: memory costs more than moves."""
    n = len(vectors)
    if k < n:
        return vectors.T[: -k - 1 : -1].copy().T
    rows, step = vectors.T, max(1, _BLOCK // (8 * n))
    for start in range(0, n // 2, step):
        stop = min(start + step, n // 2)
        front, back = rows[start:stop], rows[n - stop : n - start]
        front[...], back[...] = back[::-1].copy(), front[::-1].copy()
    return vectors


def _probed(values: np.ndarray, vectors: np.ndarray, probes: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Upper bounds of ‖A v − θ v‖ from products of A with a few Gaussian vectors G, seen = A G.

    Gᵀ(A v − θ v) = (A G)ᵀ v − θ Gᵀ v has independent Gaussian entries of variance ‖A v − θ v‖², so its squared length
    is that times χ². G knows nothing of A and v, so the lower quantile _LEAST_SEEN gives a bound that fails for one
    pair in 1e14, and is about 2.9 times the residual. Cost: 6 n b flops a pair with b probes, where A v takes 2 n².
    """
    return column_norms(seen.T @ vectors - (probes.T @ vectors) * values, np) / _LEAST_SEEN**0.5


def _lanczos(
    A: Operator, k: int, tol: float, max_iter: int | None, rng: np.random.Generator, goal: Goal | None, direct: bool
) -> _Found:
    """Thick-restart Lanczos, or LAPACK if `direct` allows it and Lanczos seems to need more than LAPACK takes."""

    def allowed(values: np.ndarray) -> np.ndarray:
        tolerated = 0.7 * tol * largest_of(values)  # the estimates of residuals lack what rounding adds
        return np.full(k, tolerated) if goal is None else goal.allowed(values, A.n, tolerated)

    found = lanczos(
        A,
        k,
        allowed=allowed,
        max_products=max_iter or 20 * A.n,  # a space of full size converges in theory; rounding may ask for more
        rng=rng,
        direct=direct_cost(A.n, k) if direct else np.inf,
    )
    if not found.given_up:
        return _Found(found.values, found.vectors, A, found.lowest)
    exact = _dense(A, k, rng)
    reason = f"LAPACK costs less than the products that lanczos seemed to need after the first {A.passes}"
    return replace(exact, operator=A, instead="dense", reason=reason, lowest=min(exact.lowest, found.lowest))


def _arpack(
    A: Operator, k: int, tol: float, max_iter: int | None, rng: np.random.Generator, goal: Goal | None
) -> _Found:
    """SciPy's Lanczos, then block Davidson if Lanczos gives up or is seen to have missed a pair.

    Started from one vector, Lanczos may see only one of several equal eigenvalues.
    """

    operator = _Products(A)
    ncv = _arpack_vectors(A.n, k) if max_iter is None else None  # max_iter counts SciPy's restarts, of SciPy's length
    v0 = rng.uniform(-1, 1, A.n)
    try:
        values, vectors = eigsh(operator, k, which="LA", tol=tol, maxiter=max_iter or _RESTARTS, v0=v0, ncv=ncv)
    except ArpackNoConvergence as error:
        values, vectors = error.eigenvalues, error.eigenvectors
    except ArpackError:  # a matrix of (nearly) zeros: any start will do for the block method
        values, vectors = np.empty(0), np.empty((A.n, 0))
    if len(values) == k:
        lowest, highest = _probe(A, vectors, values, rng)
        last, top = values.min(), np.abs(values).max()
        if highest <= last + (2 * tol + np.sqrt(A.n) * np.finfo(np.float64).eps) * top:
            return _Found(values, vectors, A, lowest)
    # k good pairs would end the block method where it starts, though they are not the top ones.
    start = vectors if 0 < len(values) < k else None
    found = krylov(A, k, tol=tol, max_passes=max_iter or 300, rng=rng, start=start, goal=goal)
    missed = "arpack missed an eigenvalue" if len(values) == k else "arpack did not converge"
    pairs = found.values, found.vectors, found.operator, found.lowest
    return _Found(*pairs, instead="krylov", reason=f"{missed}, so the block method took over")


def _arpack_vectors(n: int, k: int) -> int:
    """How many vectors ARPACK collects before it restarts: SciPy's, and fewer than its 2k + 1 from k = 18 on.

    A restart of many vectors costs more than the products that it saves: on kernels of eight data sets k = 50 took a
    sixth less time, k = 10 and fewer were best as they are.
    """
    return min(n, max(20, min(2 * k + 1, k + k // 3 + 12)))


class _Products(LinearOperator):
    """An operator for ARPACK: one vector at a time, without the checks that SciPy makes before each product."""

    def __init__(self, A: Operator) -> None:
        super().__init__(np.float64, (A.n, A.n))
        self.matvec = column_products(A)

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self.matvec(x)


def _probe(A: Operator, V: Any, values: np.ndarray, rng: np.random.Generator, steps: int = 24) -> tuple[float, float]:
    """The lowest and the highest Ritz value in a small Krylov space outside the found pairs.

    Ritz values never leave the range of A's eigenvalues there. A highest value above those found therefore proves that
    one was missed, and a lowest value far below zero that A is indefinite. In 18 steps all of 160 starts saw a negative
    eigenvalue of a hundredth of the largest, beside 400 to 2,000 that fall like 1/i or 1/√i; in 12 steps 120 did.
    """
    k, times = V.shape[1], column_products(A)
    steps = min(steps, A.n - k)
    basis = A.xp.empty((k + steps, A.n), dtype=A.dtype, **A.placement())  # in rows, which lie together
    basis[:k, :] = V.T
    projected = np.zeros((steps, steps))
    v = beside(rng.standard_normal(A.n), basis)
    with np.errstate(over="ignore", under="ignore"):  # of squares, which `length_of` handles
        for j in range(steps + 1):
            known = basis[: k + j, :]
            inside = known @ v
            if j:
                projected[:j, j - 1] = to_numpy(inside[k:])
            if j == steps:
                break
            v = v - inside @ known
            length = length_of(v)
            if length <= 1e-7 * length_of(inside):  # A v lies in the span of what is known, as for a low-rank A
                steps = j
                break
            v = v / length
            basis[k + j, :] = v
            v = times(v)
    if not steps:
        return np.inf, -np.inf
    ritz = np.linalg.eigvalsh(projected[:steps, :steps], UPLO="U")
    return float(ritz[0]), float(ritz[-1])


def _randomized(A: Operator, k: int, n_iter: int | str, rng: np.random.Generator) -> _Found:
    """Halko, Martinsson & Tropp: the k of largest magnitude in the span of Aᵠ times a random block."""
    if n_iter == "auto":
        n_iter = 7 if k < 0.1 * A.n else 4  # as scikit-learn's randomized_svd has them
    width = k + 10
    if width >= A.n:  # the block would span the whole space: no need for chance
        every = _dense(A, A.n, rng)
        largest = np.sort(np.argsort(-np.abs(every.values), kind="stable")[:k])
        return _Found(every.values[largest], columns_of(every.vectors, largest), every.operator, every.lowest)
    Q = A.xp.asarray(rng.standard_normal((A.n, width)), dtype=A.dtype, **A.placement())
    for _ in range(2 * int(n_iter) + 1):
        Q, _ = A.xp.linalg.qr(A.matmat(Q))
    small = to_numpy(Q.T @ A.matmat(Q))
    values, S = np.linalg.eigh((small + small.T) / 2)
    largest = np.argsort(-np.abs(values), kind="stable")[:k]
    vectors = Q @ beside(S[:, largest], Q)
    lowest, _ = _probe(A, vectors, values[largest], rng, 24 if A.kept_bytes else 12)  # each step may cost a pass
    return _Found(values[largest], vectors, A, min(lowest, float(values.min())))


def _power(A: Operator, k: int, tol: float, max_iter: int, rng: np.random.Generator) -> _Found:
    """Power iteration with deflation (Algorithm 2 of the lecture notes), for the largest algebraic values.

    Power iteration finds the largest magnitude. When that turns out negative, A + sI with s that magnitude has the
    largest algebraic value of A on top, and the search for this and all later vectors goes on there.
    """
    tol = tol / (2 * np.sqrt(k))  # errors of earlier vectors appear in the residuals of later ones
    V = A.xp.zeros((A.n, 0), dtype=A.dtype, **A.placement())
    values: list[float] = []
    shift = 0.0
    while len(values) < k:
        v, theta = _dominant(A, V, shift, tol * abs(values[0]) if values else None, tol, max_iter, rng)
        if theta < 0 and shift == 0.0:
            shift = -theta
            continue
        V = A.xp.concat([V, v], axis=1)
        values.append(theta)
    return _Found(np.array(values), V, A, _probe(A, V, np.array(values), rng)[0])


def _dominant(
    A: Operator, V: Any, shift: float, target: float | None, tol: float, max_iter: int, rng: np.random.Generator
) -> tuple[Any, float]:
    """The eigenpair of A of largest |θ + shift| on the complement of V; the target of the first is its own value's."""
    xp = A.xp
    w = xp.asarray(rng.standard_normal((A.n, 1)), dtype=A.dtype, **A.placement())
    v, theta = w, 0.0
    for _ in range(max_iter):
        w = w - V @ (V.T @ w)
        length = float(column_norms(w, xp)[0])
        if length == 0.0:
            return v, theta  # A + shift vanishes on v: it is an eigenvector to −shift
        v = w / length
        product = A.matmat(v)
        theta = float(xp.sum(v * product))
        rest = product - theta * v
        rest = rest - V @ (V.T @ rest)
        if float(column_norms(rest, xp)[0]) <= (tol * abs(theta) if target is None else target):
            return v, theta
        w = product + shift * v
    return v, theta

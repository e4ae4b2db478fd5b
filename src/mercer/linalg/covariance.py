"""The mean, the covariance and the principal axes of data that is read a few thousand rows at a time.

Two choices keep a single pass exact. The rows are first moved by a shift s, the mean of a few of them, so
that the products hold the spread of the data and not its distance from the origin:

    Σ (xᵢ − μ)(xᵢ − μ)ᵀ = Σ (xᵢ − s)(xᵢ − s)ᵀ − n (μ − s)(μ − s)ᵀ

and the chunks are added up in float64, whatever the type of the data. A chunk is small enough to stay in a
core's cache between the shift, the sum and the product, so X crosses the memory bus once.

If d is large, the axes come from a singular value decomposition of the centred data instead, which needs no
d × d matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.utils import assert_all_finite
from sklearn.utils.sparsefuncs import mean_variance_axis

from mercer.backends import beside, column_signs, cpu, is_foreign, namespace
from mercer.exceptions import warn
from mercer.linalg.eigen import SMALL, default_tol, top_eigenpairs
from mercer.linalg.operators import Dense, LowRank
from mercer.memory import forget_pages

_CHUNK_BYTES = 2**21  # stays in the cache, and is long enough for BLAS to run at full speed
_PRODUCT_BYTES = 2**25  # a product with many features needs longer chunks, to outweigh adding up d² numbers
ONE_MATRIX_ABOVE = 512  # features above which one product on all cores beats a product (and a matrix) a core
_SAMPLED_ROWS = 256
SETTLED = 1e-4  # residual of a triplet, relative to its own squared singular value, up to which it is accurate
_GRAM_PER_VECTOR = 40  # rows of a Gram matrix per vector wanted, up to which forming it costs less than twenty passes
_GRAM_COLUMNS = 4096  # columns of F in float64 at a time


class Chunk(NamedTuple):
    """Some rows of X − centre, their sum, where they come from, and the slot (thread) that holds them."""

    values: Any  # (m, d): a buffer that the next chunk of the slot overwrites
    sums: Any  # (d,)
    rows: slice
    slot: int


class Axes(NamedTuple):
    """Eigenpairs of the sample covariance S, greatest first, and what else their solver knows."""

    mean: Any  # (d,)
    variances: Any  # (m,)
    directions: Any  # (m, d): rows; the entry of greatest absolute value of each is positive
    total: float  # tr S
    left: Any  # (n, m) left singular vectors of the centred data, or None when they were not computed
    apply: Callable[[Any], Any]  # V -> S V


class Moments(NamedTuple):
    """The mean μ and the sample covariance S = Σ (xᵢ − μ)(xᵢ − μ)ᵀ / (n − 1)."""

    mean: Any  # (d,)
    covariance: Any  # (d, d)


def working_dtype(X: Any) -> Any:
    """float32 for float32 data, float64 for everything else."""
    xp = namespace(X)
    return xp.float32 if X.dtype == xp.float32 else xp.float64


def wide_dtype(X: Any) -> Any:
    """The dtype to add up in: float64, except on Apple's GPUs, which have none."""
    xp = namespace(X)
    return xp.float32 if is_foreign(X) and "mps" in str(array_api_compat.device(X)) else xp.float64


def moments(X: Any, chunk_rows: int | None = None) -> Moments:
    """Mean and sample covariance in float64 from one pass over X: an array, a memory map or a sparse matrix.

    NaN or infinity in X is a ValueError in scikit-learn's words; so are values whose squares overflow or
    vanish.

    Cost: n d² multiplications, and d² numbers per thread, next to one chunk of X.

    >>> X = np.array([[1.0, 2.0], [3.0, 2.0], [5.0, 5.0]])
    >>> moments(X).mean
    array([3., 3.])
    >>> moments(X).covariance
    array([[4., 3.],
           [3., 3.]])
    """
    n, xp = X.shape[0], namespace(X)
    with np.errstate(all="ignore"):  # what overflows is refused below
        if sp.issparse(X):
            mean, products = _sparse_sums(X)
        else:
            shift = sample_mean(X)
            rows = chunk_rows or product_rows(X.shape[1], _row_bytes(X.shape[1], shift))
            sums, products = _shifted_sums(X, shift, rows)
            mean = xp.astype(shift, wide_dtype(X)) + sums / n
            products = products - xp.matmul(sums[:, None], sums[None, :]) / n
    covariance = products / (n - 1)
    check_scale(float(xp.linalg.trace(covariance)), working_dtype(X), lambda: is_constant(X))
    return Moments(mean, covariance)


def axes_of_covariance(X: Any) -> Axes:
    """All eigenpairs of S, from one pass over X."""
    return axes_of_moments(moments(X), working_dtype(X))


def axes_of_moments(given: Moments, dtype: Any) -> Axes:
    """All eigenpairs of a sample covariance that is known, in `dtype`."""
    mean, S = given
    xp = namespace(S)
    values, vectors = xp.linalg.eigh(S)
    values = xp.flip(xp.maximum(values, xp.zeros_like(values)))  # rounding can leave −1e-16 for a zero
    directions = with_fixed_signs(xp.flip(vectors, axis=1).T)
    total = float(xp.sum(values))
    mean, values, directions = (xp.astype(array, dtype, copy=False) for array in (mean, values, directions))
    return Axes(mean, values, directions, total, None, lambda V: xp.astype(S @ xp.astype(V, S.dtype), dtype))


def axes_of_svd(X: Any, svd: Callable[[Any], tuple[Any, Any, Any]], *, copy: bool = True) -> Axes:
    """The eigenpairs of S that svd finds in the centred data; copy=False lets that take the place of X."""
    A: Any
    mean, A, total = _centred_operator(X) if sp.issparse(X) else _centred_copy(X, copy)
    xp, dtype, n = namespace(X), working_dtype(X), X.shape[0]
    if total > 0:
        U, s, Vt = svd(A)
    else:  # solvers start from the range of A, which is empty
        r = min(X.shape)
        place = {"dtype": dtype, "device": array_api_compat.device(mean)}
        U, s, Vt = xp.zeros((n, r), **place), xp.zeros(r, **place), xp.eye(r, X.shape[1], **place)
    signs, variances = _signs(Vt), s**2 / (n - 1)
    return Axes(mean, variances, Vt * signs[:, None], total, U * signs, lambda V: A.T @ (A @ V) / (n - 1))


def with_fixed_signs(directions: Any) -> Any:
    """The rows of `directions`, each turned so that its entry of greatest absolute value is positive."""
    return directions * _signs(directions)[:, None]


def _signs(directions: Any) -> Any:
    """−1 for rows whose (first) entry of greatest absolute value is negative, 1 for the others."""
    return beside(column_signs(directions.T), directions)


def each_centred(X: Any, centre: Any, work: Callable[[Chunk], None], chunk_rows: int | None = None) -> None:
    """Call work(chunk) for chunks of X − centre that cover X, on all cores, in the centre's dtype.

    Chunks go to slots by their number alone, so sums that are kept by slot have the same bits in every run.
    """
    n, d = X.shape
    step = chunk_rows or max(64, _CHUNK_BYTES // _row_bytes(d, centre))
    spans = [slice(start, min(start + step, n)) for start in range(0, n, step)]
    if not is_foreign(X):
        _each_on_cores(X.tocsr() if sp.issparse(X) else X, centre, work, spans)
        return
    xp = namespace(X)
    for rows in spans:
        values = xp.astype(X[rows, :], centre.dtype, copy=False) - centre
        work(Chunk(values, xp.sum(values, axis=0), rows, 0))


def sample_mean(X: Any) -> Any:
    """The mean of up to 256 rows spread over X: a point within the data, and exactly any row if all are equal."""
    xp = namespace(X)
    sample = X[:: -(-X.shape[0] // _SAMPLED_ROWS), :]
    sample = xp.astype(sample, working_dtype(X))
    return sample[0, :] + xp.mean(sample - sample[0, :], axis=0)


def is_constant(X: Any) -> bool:
    """Whether all rows of X are the same."""
    xp = namespace(X)
    first = X[:1].toarray()[0] if sp.issparse(X) else X[0, :]
    moved: list[bool] = []
    each_centred(X, xp.astype(first, working_dtype(X)), lambda chunk: moved.append(bool(xp.any(chunk.values != 0))))
    return not any(moved)


def check_scale(total_variance: float, dtype: Any, is_constant: Callable[[], bool]) -> None:
    """Refuse data whose variance overflows or vanishes in its dtype, unless nothing varies at all."""
    limits = np.finfo(np.float32 if "float32" in str(dtype) else np.float64)
    if not np.isfinite(total_variance) or total_variance > limits.max:
        raise ValueError(
            f"The values of X are too large: their squares overflow in {limits.dtype}. Rescale X, for "
            "instance by dividing it by its largest absolute value."
        )
    if total_variance < limits.tiny / limits.eps and not (total_variance == 0 and is_constant()):
        raise ValueError(
            f"The values of X differ by too little: their squares vanish in {limits.dtype}. Rescale X, for "
            "instance by dividing it by its largest absolute deviation from the mean."
        )


def _row_bytes(d: int, centre: Any) -> int:
    return max(1, d) * namespace(centre).finfo(centre.dtype).bits // 8


def product_rows(d: int, row_bytes: int) -> int:
    """Rows of a chunk whose d × d product is added up: 64 at least, or BLAS would spend its time on the matrix."""
    return max(64, _CHUNK_BYTES // row_bytes, min(4 * d, _PRODUCT_BYTES // row_bytes))


def _shifted_sums(X: Any, shift: Any, chunk_rows: int) -> tuple[Any, Any]:
    """Σ (xᵢ − s) and Σ (xᵢ − s)(xᵢ − s)ᵀ: each product in the dtype of the data, their sum in float64."""
    xp, wide = namespace(X), wide_dtype(X)
    sums: dict[int, Any] = {}
    products: dict[int, Any] = {}

    def add(chunk: Chunk) -> None:
        product = xp.astype(chunk.values.T @ chunk.values, wide, copy=False)
        if chunk.slot in sums:
            sums[chunk.slot] += xp.astype(chunk.sums, wide, copy=False)
            products[chunk.slot] += product
        else:
            sums[chunk.slot], products[chunk.slot] = xp.astype(chunk.sums, wide), product

    each_centred(X, shift, add, chunk_rows)
    slots = sorted(sums)
    return sum((sums[s] for s in slots[1:]), sums[0]), sum((products[s] for s in slots[1:]), products[0])


def _sparse_sums(X: Any) -> tuple[np.ndarray, np.ndarray]:
    """μ and Σ (xᵢ − μ)(xᵢ − μ)ᵀ. Zeros keep a sparse column near the origin, so there is nothing to shift."""
    assert_all_finite(X, input_name="X")
    X = X.astype(np.float64)
    mean = np.asarray(X.mean(axis=0)).ravel()
    return mean, (X.T @ X).toarray() - X.shape[0] * np.outer(mean, mean)


def _each_on_cores(X: Any, centre: np.ndarray, work: Callable[[Chunk], None], spans: list[slice]) -> None:
    longest = max(span.stop - span.start for span in spans)
    order: Any = "F" if not sp.issparse(X) and X.flags.f_contiguous else "C"
    ones = np.ones(longest, centre.dtype)
    buffers: dict[int, np.ndarray] = {}
    bad: list[slice] = []

    def run(rows: slice, slot: int) -> None:
        if bad:
            return
        if slot not in buffers:
            buffers[slot] = np.empty((longest, X.shape[1]), centre.dtype, order=order)
        values = buffers[slot][: rows.stop - rows.start]
        block = X[rows].toarray() if sp.issparse(X) else X[rows]
        with np.errstate(all="ignore"):
            np.subtract(block, centre, out=values, casting="unsafe")
            sums = ones[: len(values)] @ values
            if np.isfinite(sums).all() or np.isfinite(block).all():  # the second test is rarely reached
                work(Chunk(values, sums, rows, slot))
            else:
                bad.append(rows)
        forget_pages(block)

    cpu.for_each(spans, run, n_jobs=1 if X.shape[1] > ONE_MATRIX_ABOVE else None)
    if bad:
        first = X[min(bad, key=lambda rows: rows.start)]
        assert_all_finite(first, input_name="X")


def _centred_copy(X: Any, copy: bool) -> tuple[Any, Any, float]:
    """μ, X − 1μᵀ and tr S. Centring by a point in the middle of the data, then by the rest, keeps all digits."""
    xp, dtype, wide = namespace(X), working_dtype(X), wide_dtype(X)
    if not is_foreign(X):
        assert_all_finite(X, input_name="X")
        copy = copy or not X.flags.writeable
    with np.errstate(all="ignore"):
        shift = sample_mean(X)
        A = xp.asarray(X, dtype=dtype, copy=True) if copy else xp.astype(X, dtype, copy=False)
        A -= shift
        moved = xp.sum(A, axis=0, dtype=wide) / X.shape[0]
        A -= xp.astype(moved, dtype)
        total = float(xp.sum(xp.vecdot(A, A), dtype=wide)) / (X.shape[0] - 1)
    check_scale(total, dtype, lambda: not bool(xp.any(A != 0)))
    return xp.astype(xp.astype(shift, wide) + moved, dtype), A, total


def _centred_operator(X: Any) -> tuple[np.ndarray, LinearOperator, float]:
    """μ, X − 1μᵀ and tr S for a matrix that stays sparse: the mean is subtracted from each product."""
    n = X.shape[0]
    mean, variances = mean_variance_axis(X, axis=0)
    total = float(np.sum(variances, dtype=np.float64)) * n / (n - 1)
    check_scale(total, X.dtype, lambda: is_constant(X))
    mean = mean.astype(X.dtype, copy=False)

    def multiply(V: np.ndarray) -> np.ndarray:
        return X @ V - mean @ V

    def multiply_transposed(U: np.ndarray) -> np.ndarray:
        return X.T @ U - np.multiply.outer(mean, U.sum(axis=0))

    operator = LinearOperator(
        X.shape, multiply, multiply_transposed, multiply, dtype=X.dtype, rmatmat=multiply_transposed
    )
    return mean, operator, total


def arpack_svd(A: Any, k: int, tol: float, random: np.random.RandomState) -> tuple[Any, Any, Any]:
    """The k greatest singular triplets of A by Lanczos iterations."""
    start = random.uniform(-1, 1, size=min(A.shape)).astype(A.dtype)
    U, s, Vt = svds(A, k=k, tol=tol, v0=start)
    return U[:, ::-1], s[::-1], Vt[::-1]


def randomized_svd(
    A: Any, k: int, oversamples: int, steps: int | str, normalizer: str, random: np.random.RandomState
) -> tuple[Any, Any, Any]:
    """The k greatest singular triplets of A, seen through the range of A (AᵀA)^steps on random vectors.

    References: Halko, Martinsson and Tropp, Finding structure with randomness, SIAM Review 53 (2011).
    """
    if A.shape[0] < A.shape[1]:
        U, s, Vt = randomized_svd(A.T, k, oversamples, steps, normalizer, random)
        return Vt.T, s, U.T
    xp = namespace(A)
    if isinstance(steps, str):
        steps = 7 if k < 0.1 * A.shape[1] else 4  # as scikit-learn's randomized_svd has them
    normalise = _normalizer(A, normalizer, steps)
    Q = xp.asarray(random.normal(size=(A.shape[1], k + oversamples)), device=array_api_compat.device(A))
    Q = xp.astype(Q, A.dtype, copy=False)
    for _ in range(steps):
        Q = normalise(A.T @ normalise(A @ Q))
    Q = xp.linalg.qr(A @ Q, mode="reduced")[0]
    U, s, Vt = xp.linalg.svd(Q.T @ A, full_matrices=False)
    return Q @ U[:, :k], s[:k], Vt[:k, :]


def accurate_svd(A: Any, found: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
    """Triplets of A from approximate ones, `found`: the same if they are accurate, else solved for anew.

    They are accurate if ‖AᵀAv − s²v‖ ≤ SETTLED · s² for each, so that no variance is further off than that share. On
    spectra without gaps random projections are not. The eigenpairs of the smaller of AAᵀ and AᵀA then take over, by
    LAPACK or Lanczos while that matrix is small, and by a block method on A beyond.

    Cost: two products of A with k vectors; if these show a need, M m² flops for the smaller side m and the larger M,
    or about ten passes over A.
    """
    U, s, Vt = found
    xp, dtype = namespace(A), A.dtype
    if is_settled(A, s, Vt):
        return found
    wide = A.shape[0] < A.shape[1]
    F, start = (A, U) if wide else (A.T, Vt.T)  # F Fᵀ is the smaller of the two
    m, k = F.shape[0], s.shape[0]
    dense = m <= SMALL and m <= _GRAM_PER_VECTOR * (k + 10)
    operator = Dense(_gram(F)) if dense else LowRank(F)
    # Relative to the first eigenvalue, as the solvers take it; a tenth for safety.
    tol = max(0.1 * SETTLED * float(s[-1] / s[0]) ** 2, default_tol(np.float32 if dtype == xp.float32 else np.float64))
    pairs = top_eigenpairs(operator, k, tol=tol, solver="auto" if dense else "krylov", start=None if dense else start)
    W = xp.astype(pairs.vectors, dtype, copy=False)
    values = np.sqrt(np.maximum(pairs.values, 0.0))
    lengths = beside(np.maximum(values, float(np.finfo(np.float64).tiny)), W)
    other = xp.astype((F.T @ W) / lengths, dtype, copy=False)
    s = beside(values, W)
    return (W, s, other.T) if wide else (other, s, W.T)


def is_settled(A: Any, s: Any, Vt: Any) -> bool:
    """Whether every singular value above rounding is accurate by the residual of its right vector."""
    xp = namespace(A)
    top = float(s[0])
    if not top > 0:
        return True
    V, relative = Vt.T, s / top
    missed = (A.T @ (A @ V / top)) / top - V * relative**2
    residuals = xp.sqrt(xp.vecdot(missed.T, missed.T))
    # What rounding makes of a residual: singular values below its root are not known to more.
    rounding = 10 * float(xp.finfo(s.dtype).eps) * sqrt(max(A.shape))
    return bool(xp.all(residuals <= SETTLED * relative**2 + rounding))


def _gram(F: Any) -> Any:
    """F Fᵀ in float64, some columns of F at a time."""
    xp = namespace(F)
    total = xp.zeros((F.shape[0], F.shape[0]), dtype=wide_dtype(F), device=array_api_compat.device(F))
    for start in range(0, F.shape[1], _GRAM_COLUMNS):
        part = xp.astype(F[:, start : start + _GRAM_COLUMNS], total.dtype)
        total += part @ part.T
    return total


def _normalizer(A: Any, name: str, steps: int) -> Callable[[Any], Any]:
    """What keeps the columns of a power iteration from all turning towards the first singular vector."""
    if name == "auto":
        name = "none" if steps <= 2 else "LU"
        if name == "LU" and is_foreign(A):
            name = "QR"
            warn(
                "Array API does not support LU factorization, falling back to QR instead. Set "
                "`power_iteration_normalizer='QR'` explicitly to silence this warning.",
                UserWarning,
            )
    if name == "LU" and is_foreign(A):
        raise ValueError("Array API does not support LU factorization. Set `power_iteration_normalizer='QR'` instead.")
    if name == "LU":
        return lambda Q: scipy.linalg.lu(Q, permute_l=True, check_finite=False)[0]
    return (lambda Q: namespace(Q).linalg.qr(Q, mode="reduced")[0]) if name == "QR" else (lambda Q: Q)

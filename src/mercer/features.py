"""Samples as rows of a matrix F with F Fᵀ ≈ K: what turns a method for vectors into a method with a kernel.

    rank=None      F Fᵀ = K up to rounding: K is formed once and factored by pivoted Cholesky
    rank=m         m columns at most, by randomly pivoted Cholesky; K is never formed
    rank="auto"    as many columns as it takes to hold all but a thousandth of the variance tr HKH, within bounds

The map of new points is a kernel expansion on the landmarks: F(x) = k(x, landmarks) @ coefs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, is_foreign, namespace, placement, to_numpy
from mercer.exceptions import AsymmetricKernelWarning, IndefiniteKernelWarning, MemoryLimitError, warn
from mercer.expansion import KernelExpansion
from mercer.footprints import Workload
from mercer.footprints import factor as factor_footprint
from mercer.kernels.discrete import Precomputed, symmetric_part
from mercer.kernels.fused_products import may_fuse
from mercer.kernels.kernel import Kernel, simple_kernels
from mercer.linalg.cholesky import complete_cholesky
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import Factor, rpcholesky
from mercer.linalg.operators import Dense, Operator
from mercer.memory import format_bytes, numbers_per_row
from mercer.planning import limit_of
from mercer.random_state import generator_from

AUTO_RANK = 2000  # at most, for rank="auto"
AUTO_TOL = 1e-3  # of the variance that rank="auto" may leave out
AUTO_LEAST = 256  # rank="auto" takes as many columns as X has, up to this, so that no column of X is lost for its scale
_WHOLE_UP_TO = 1024  # samples whose whole matrix LAPACK factors sooner than random pivots find the first columns of it
DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
# An eigenvalue further below zero than this share of the largest is not rounding: the kernel is indefinite.
SIGNIFICANT = {DOUBLE: 1e-5, SINGLE: 5e-3}
# The diagonal of K − FFᵀ may fall below zero by this share of the trace once F holds all there is: that is rounding.
_ROUNDING = {DOUBLE: 1e-12, SINGLE: 1e-6}
_INDEFINITE = "Take another kernel, or KernelPCA with eigen_solver='krylov', which needs no factor."


@dataclass(frozen=True)
class Features:
    """F Fᵀ ≈ K for the samples of a fit, and the way there for new ones.

    F : (n, m), with the data: same device, same precision
    factor : where F comes from, with its error tr(K − FFᵀ)
    trace : tr K
    kernel, anchors : what `expansion` compares new points with
    largest, entry_error : the largest k(x, x), and how far an entry of K may be from k(x, y)
    """

    factor: Factor
    trace: float
    kernel: Kernel
    anchors: Any
    n_jobs: int | None
    largest: float = np.inf  # unknown, so that no bound follows from it
    entry_error: float = 0.0

    @property
    def F(self) -> Any:
        return self.factor.F

    @property
    def error(self) -> float:
        """tr(K − FFᵀ) / tr K: the share of the trace, uncentred, that F leaves out; a bound of ‖K − FFᵀ‖ / tr K."""
        return self.factor.error / self.trace if self.trace > 0 else 0.0

    def expansion(self, weights: Any = None, offset: Any = None) -> KernelExpansion:
        """x ↦ F(x) @ weights − offset, arrays (m, k) and (k,); without them x ↦ F(x)."""
        F, factor = self.factor.F, self.factor
        xp, place = namespace(F), placement(F)
        coefs = factor.coefs if weights is None else factor.coefs @ weights
        if isinstance(self.kernel, Precomputed):  # the map reads all n columns of k(x, ·)
            coefs = _spread(coefs, factor.landmarks, F.shape[0])
        offset = np.zeros(coefs.shape[1]) if offset is None else offset
        coefs, offset = (xp.asarray(part, dtype=F.dtype, **place) for part in (coefs, offset))
        return KernelExpansion(self.kernel, self.anchors, coefs, offset, self.n_jobs)


def kernel_features(
    kernel: Kernel,
    X: Any,
    *,
    rank: int | str | None,
    memory_limit: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Features:
    """The features of the samples X under a bound kernel.

    Raises ValueError where k is not positive semidefinite on X, and MemoryLimitError, before allocating, where F would
    not fit. Cost: rank=None n²/2 entries of k and n³/3 flops; else m n entries and m² n flops.
    """
    n, given = X.shape[0], isinstance(kernel, Precomputed)
    precision = answer_dtype(X)
    refuse_large_factor(X, rank, memory_limit, n_jobs)
    A: Operator = Dense(symmetric(X)) if given else Gram(kernel, X, n_jobs=n_jobs)
    refuse_overflow(A, kernel)
    diagonal = A.diagonal()
    trace, largest = float(A.xp.sum(diagonal, dtype=A.xp.float64)), float(A.xp.max(A.xp.abs(diagonal)))
    entry_error = kernel.rounding(A.points) if isinstance(A, Gram) else 0.0
    rng = generator_from(random_state)
    dtype = A.xp.float32 if precision == SINGLE else None
    if rank is None and not is_foreign(X):
        factor = complete_cholesky(whole_matrix(kernel, X, n_jobs), rng, dtype=precision)
    elif rank == "auto":
        least = 0 if given or X.ndim == 1 else min(X.shape[1], AUTO_LEAST)
        if n <= _WHOLE_UP_TO:
            whole = complete_cholesky(to_numpy(whole_matrix(kernel, X, n_jobs)), rng, dtype=precision)
            factor = shortened(whole, trace, AUTO_TOL, least)
            factor = replace(factor, F=A.xp.asarray(factor.F, **A.placement())) if is_foreign(X) else factor
        else:
            factor = rpcholesky(A, min(n, AUTO_RANK), rng, dtype=dtype, tol=AUTO_TOL, of_variance=True, least=least)
    else:
        factor = rpcholesky(A, n if rank is None else min(n, int(rank)), rng, dtype=dtype)
    if not factor.F.shape[1] and bool(A.xp.any(A.rows(A.xp.zeros(1, dtype=A.xp.int64, **A.placement())) != 0)):
        raise ValueError(f"A factor needs k(x, x) > 0, which {kernel!r} has nowhere on this data. {_INDEFINITE}")
    refuse_indefinite(factor.negative, kernel, precision)
    anchors = X if given else rows_of(X, factor.landmarks)
    return Features(factor, trace, kernel, anchors, n_jobs, largest, entry_error)


def shortened(whole: Factor, trace: float, tol: float, least: int) -> Factor:
    """The first columns of a factor that leave out no more than the share `tol` of the variance, `least` at least."""
    F = whole.F
    held = np.cumsum(np.einsum("ij,ij->j", F, F, dtype=np.float64))
    variance = held - np.cumsum(len(F) * F.mean(axis=0, dtype=np.float64) ** 2)
    enough = np.flatnonzero(trace - held <= tol * variance)
    columns = max(int(enough[0]) + 1, least) if len(enough) else F.shape[1]
    if columns >= F.shape[1]:
        return whole
    left = max(0.0, trace - float(held[columns - 1]))
    return replace(whole, F=F[:, :columns].copy(), landmarks=whole.landmarks[:columns], error=whole.error + left)


def whole_matrix(kernel: Kernel, X: Any, n_jobs: int | None = None) -> Any:
    """K in float64, (n, n), where X lives, in memory that may be overwritten: a matrix that was given is copied."""
    if isinstance(kernel, Precomputed):
        K = symmetric(X)
        return namespace(K).asarray(K, dtype=namespace(K).float64, copy=True)
    gram = Gram(kernel, X, precision=namespace(X).float64, n_jobs=n_jobs)
    refuse_overflow(gram, kernel)
    return gram.to_dense()


def refuse_large_factor(X: Any, rank: int | str | None, memory_limit: Any, n_jobs: int | None) -> None:
    """MemoryLimitError where the factor, its coefficients and what they are made of exceed the limit."""
    n = X.shape[0]
    limit = memory_to_use(X, memory_limit)
    m = most_columns(n, rank)
    need = factor_footprint(workload_of(X, n_jobs), None if rank is None else m).peak
    if need > limit:
        less = "rank='auto' or a number of columns" if rank is None else f"a rank below {m}"
        raise MemoryLimitError(
            f"A factor of {m} columns for {n} samples needs {format_bytes(need)}, more than the limit of "
            f"{format_bytes(limit)}. Nothing was allocated. Try {less}, or a larger memory_limit."
        )


def memory_to_use(X: Any, memory_limit: Any) -> int:
    """The limit in bytes; where none is given, half of what is free where X lives."""
    return limit_of(memory_limit, backend_of(X if X.ndim == 2 else np.empty(0)).free_bytes(X))


def most_columns(n: int, rank: int | str | None) -> int:
    """Of a factor for n samples."""
    return n if rank is None else min(n, AUTO_RANK if rank == "auto" else int(rank))


def workload_of(X: Any, n_jobs: int | None, kernel: Kernel | None = None, *, copied: bool = False) -> Workload:
    """The sizes that the memory model reads off samples and their kernel."""
    backend = backend_of(X if X.ndim == 2 else np.empty(0))
    return Workload(
        n=X.shape[0],
        d=X.shape[1] if X.ndim == 2 else 1,
        width=numbers_per_row(X),
        itemsize=answer_dtype(X).itemsize,
        threads=backend.workers(n_jobs),
        tile=backend.TILE,
        kernels=1 if kernel is None else len(simple_kernels(kernel)),
        fused=getattr(kernel, "fused", None) in backend.FUSED,
        copied=copied,
        products=may_fuse(kernel, X),
    )


def answer_dtype(X: Any) -> np.dtype[Any]:
    """The precision of an answer on X: float32 for vectors of float32, float64 for everything else."""
    return SINGLE if X.ndim == 2 and X.dtype == namespace(X).float32 else DOUBLE


def refuse_overflow(A: Operator, kernel: Kernel) -> None:
    """|k(x, y)|² ≤ k(x, x) k(y, y), so a finite diagonal promises a finite matrix."""
    refuse_infinite(A.diagonal(), kernel)


def refuse_infinite(diagonal: Any, kernel: Kernel) -> None:
    """ValueError if some k(x, x) is not finite."""
    xp = namespace(diagonal)
    if not bool(xp.all(xp.isfinite(diagonal))):
        raise ValueError(
            f"{kernel!r} overflows on this data: k(x, x) is infinite for some rows. Scale the data "
            "(sklearn.preprocessing.StandardScaler) or lower gamma, degree or coef0."
        )


def refuse_indefinite(negative: float, kernel: Kernel, dtype: np.dtype[Any]) -> None:
    """A Cholesky factor of an indefinite matrix can be far off; a little below zero it is only without its bound."""
    if negative > SIGNIFICANT[dtype]:
        raise ValueError(
            f"{kernel!r} is not positive semidefinite on this data: K − FFᵀ falls below zero by "
            f"{negative:.1g} of the trace, so there is no F with F Fᵀ = K. {_INDEFINITE}"
        )
    if negative > _ROUNDING[dtype]:
        warn(
            f"{kernel!r} is slightly indefinite on this data ({negative:.1g} of the trace): errors given for its "
            "factor are estimates, not bounds.",
            IndefiniteKernelWarning,
        )


def symmetric(K: Any) -> Any:
    """(K + Kᵀ)/2, dense, with a warning where that differs from K by more than rounding."""
    K, skew = symmetric_part(K.toarray() if sp.issparse(K) else K)
    if skew > 1e-6:  # a matrix that was computed in float32 differs by less
        warn(
            f"The precomputed kernel differs from its transpose by {skew:.1e} of its largest entry after centring; "
            "(K + Kᵀ)/2 is used.",
            AsymmetricKernelWarning,
        )
    return K


def rows_of(X: Any, index: np.ndarray) -> Any:
    """The given rows, where X lives."""
    if is_foreign(X):
        xp = namespace(X)
        return xp.take(X, xp.asarray(index, **placement(X)), axis=0)
    return X[index]


def _spread(rows: np.ndarray, places: np.ndarray, n: int) -> np.ndarray:
    out = np.zeros((n, rows.shape[1]))
    out[places] = rows
    return out

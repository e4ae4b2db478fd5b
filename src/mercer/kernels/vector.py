"""Kernels of vectors: a profile applied to one number, such as a distance, that is read from each pair of rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, is_foreign, namespace, placement
from mercer.kernels.bandwidth import resolve_gamma
from mercer.kernels.kernel import Kernel, Points

_DISTANCES = ("sqeuclidean", "euclidean")
# If rounding would move entries of K by more than this, distances are summed coordinate by coordinate. That is slower,
# but larger errors would give K visibly negative eigenvalues. Key: bits of the dtype.
_COARSE = {64: 1e-12, 32: 1e-4}
# If ‖x − y‖² is below this share of ‖x‖² + ‖y‖², cancellation has cost its square root half its digits. Such distances
# are computed again.
_NEAR = 2e-6


@dataclass(frozen=True)
class _Frame:
    """How the distances of some points are computed."""

    shift: Any  # subtracted from every row; None for CSR rows, which stay sparse
    direct: bool  # sum over coordinates, because ‖x‖² + ‖y‖² − 2⟨x, y⟩ would lose too many digits
    rounding: float  # the error that this identity may add to an entry of K; 0 if direct


class VectorKernel(Kernel):
    """A kernel k(x, y) = profile(t), where t is the quantity that the kernel `reads` from two rows (abstract).

    reads : "dot" ⟨x, y⟩, "sqeuclidean" ‖x − y‖², "euclidean" ‖x − y‖, "manhattan" ‖x − y‖₁,
        "chi2" Σ (x − y)²/(x + y), "intersection" Σ min(x, y), "matches" the share of equal entries, or
        "dot+norms": the profile is then called with ⟨x, y⟩, ‖x‖² and ‖y‖².
    fused : the name of a compiled loop that computes the distance and the profile together, for backends that have one.
    non_negative : whether the kernel refuses entries below zero.

    >>> class Cauchy(VectorKernel):
    ...     reads = "sqeuclidean"
    ...
    ...     def profile(self, d2, xp):
    ...         return 1 / (1 + d2)
    >>> float(Cauchy()([[0.0]], [[1.0]])[0, 0])
    0.5
    """

    reads: ClassVar[str]
    fused: ClassVar[str | None] = None
    non_negative: ClassVar[bool] = False

    def profile(self, t: Any, xp: Any, *norms: Any) -> Any:
        """k as a function of the reading t; by default k = t. `xp` is the array namespace of t."""
        return t

    def slope(self, t: Any, xp: Any, *norms: Any) -> Any:
        """The profile's derivative dk/dt, for `mercer.kernels.gradients`.

        A class defines it only if k has a gradient everywhere. For "euclidean" it is (dk/dt)/t, which is finite at
        t = 0; for "dot+norms" the pair ∂k/∂⟨x, y⟩, ∂k/∂‖x‖².
        """
        raise NotImplementedError

    @property
    def quick(self) -> bool:
        return self.reads in _DISTANCES or self.reads.startswith("dot")

    @property
    def smooth(self) -> bool:
        """Whether the kernel defines `slope`, so that k has a gradient in x everywhere, including x = y."""
        return type(self).slope is not VectorKernel.slope

    def sharpness(self) -> float:
        """The largest change of the profile per unit of ‖x − y‖²; zero if rounded distances do no harm."""
        return 0.0

    # --- points ----------------------------------------------------------------------------------------

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        xp = namespace(X)
        if self.non_negative and bool(xp.any((X.data if sp.issparse(X) else X) < 0)):
            raise ValueError(f"{type(self).__name__} needs entries ≥ 0, but the data has negative entries.")
        dtype = dtype or X.dtype
        if self.reads in _DISTANCES:
            return self._framed(X, dtype, like)
        rows = cast(X, dtype)
        norms = squared_norms(X, dtype) if self.reads.startswith("dot") else None
        return Points(rows, norms)

    def _framed(self, X: Any, dtype: Any, like: Points | None) -> Points:
        """Points about the mean row. Far from the origin, ‖x‖² + ‖y‖² − 2⟨x, y⟩ would lose digits."""
        shift = column_means(X) if like is None else like.context.shift
        if sp.issparse(X) and shift is not None:
            X = X.toarray()  # the rows to compare with are dense and shifted, so these must be too
        rows = X if shift is None else shifted(X, shift, dtype)
        norms = squared_norms(rows, dtype)
        xp = namespace(norms)
        largest = float(xp.max(norms)) if norms.shape[0] else 0.0
        rounding = 4 * largest * self.sharpness() * float(xp.finfo(dtype).eps)
        direct = not rounding < _COARSE[xp.finfo(dtype).bits] or (like is not None and like.context.direct)
        return Points(cast(rows, dtype), norms, context=_Frame(shift, direct, 0.0 if direct else rounding))

    def rounding(self, points: Points) -> float:
        return points.context.rounding if self.reads in _DISTANCES else 0.0

    # --- tiles -----------------------------------------------------------------------------------------

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        Q = A if B is None else B
        backend, xp = backend_of(A.rows), namespace(A.rows)
        direct = self._is_direct(A, Q)
        with np.errstate(under="ignore"):  # for rows that are far apart, a kernel may underflow to zero
            if self.fused in backend.FUSED and not direct:
                rows = A.rows, A.norms, Q.rows, Q.norms
                K = backend.FUSED[self.fused](*rows, *self.fused_parameters(), out, A.all_told * Q.all_told)
            else:
                t = self._read(backend, A, Q, direct, out)
                if B is None:
                    return self.matrix_of_reading(t, A)
                K = self._profile_of(A, Q, xp)(t, slice(None), slice(None))
        return backend.set_diagonal(K, self.diagonal(A)) if B is None else K

    def matrix_of_reading(self, t: Any, A: Points) -> Any:
        """The matrix of k over all pairs of the points A, given t = `reading(A, A)`. Overwrites t."""
        backend = backend_of(A.rows)
        profile = self._profile_of(A, A, namespace(A.rows))
        with np.errstate(under="ignore"):
            mirror = type(self).profile is not VectorKernel.profile
            K = backend.mirrored(t, profile) if mirror else profile(t, slice(None), slice(None))
        return backend.set_diagonal(K, self.diagonal(A))

    def fused_parameters(self) -> tuple[float, ...]:
        return ()

    def reading(self, A: Points, B: Points) -> Any:
        """The quantity that the kernel reads, for each pair of rows, (m, n)."""
        return self._read(backend_of(A.rows), A, B, self._is_direct(A, B), None)

    def _is_direct(self, A: Points, B: Points) -> bool:
        return self.reads in _DISTANCES and (A.context.direct or B.context.direct)

    def _read(self, backend: Any, A: Points, Q: Points, direct: bool, out: Any) -> Any:
        if self.reads.startswith("dot"):
            return backend.dot(A.rows, Q.rows, out)
        if self.reads not in _DISTANCES:
            t = backend.coordinatewise(self.reads, A.rows, Q.rows, out, A.all_told * Q.all_told)
            return t / A.rows.shape[1] if self.reads == "matches" else t
        D = (
            backend.sqeuclidean_direct(A.rows, Q.rows)
            if direct
            else backend.sqeuclidean(A.rows, A.norms, Q.rows, Q.norms, out, A.all_told * Q.all_told)
        )
        if self.reads != "euclidean":
            return D
        D = D if direct else backend.refine_near(D, A.rows, A.norms, Q.rows, Q.norms, _NEAR)
        return namespace(D).sqrt(D)

    def _profile_of(self, A: Points, Q: Points, xp: Any) -> Callable[[Any, slice, slice], Any]:
        """The profile as a function of t, I and J, where t is the reading of the slices A[I] and Q[J]."""
        if self.reads == "dot+norms":
            return lambda t, I, J: self.profile(t, xp, A.norms[I][:, None], Q.norms[J][None, :])
        return lambda t, I, J: self.profile(t, xp)

    def diagonal(self, A: Points) -> Any:
        xp = namespace(A.rows)
        # No warnings here: callers check the diagonal for infinity and NaN, and refuse such data.
        with np.errstate(over="ignore", invalid="ignore"):
            if self.reads == "dot":
                return self.profile(A.norms, xp)
            if self.reads == "dot+norms":
                return self.profile(A.norms, xp, A.norms, A.norms)
            return self.profile(self._self_reading(A, xp), xp)

    def _self_reading(self, A: Points, xp: Any) -> Any:
        """The reading of each row with itself: 0 for a distance, 1 for matches, the row's sum for an intersection."""
        if self.reads in _DISTANCES:
            return xp.zeros_like(A.norms)
        sums = A.rows.sum(axis=1) if sp.issparse(A.rows) else xp.sum(A.rows, axis=1)
        sums = np.asarray(sums).reshape(-1) if sp.issparse(A.rows) else sums
        if self.reads == "intersection":
            return sums
        return xp.full_like(sums, 1.0 if self.reads == "matches" else 0.0)

    def _bandwidth(self, X: Any, gamma: Any, default: float) -> float:
        return resolve_gamma(gamma, X, self.pairwise, default)

    def pairwise(self, rows: Any) -> np.ndarray:
        """The quantity that the kernel reads, for all pairs of a few rows, dense or CSR. Used to choose widths."""
        A = VectorKernel.points(self, rows)
        return self._read(backend_of(rows), A, A, True, None)


def cast(X: Any, dtype: Any) -> Any:
    with np.errstate(over="ignore"):
        return _as_type(X, dtype)


def _as_type(X: Any, dtype: Any) -> Any:
    return X.astype(dtype) if sp.issparse(X) else namespace(X).astype(X, dtype, copy=False)


def shifted(X: Any, shift: Any, dtype: Any) -> Any:
    """X − shift in the wider of X's precision and `dtype`, so that it is rounded once, after the shift."""
    xp = namespace(X)
    wide = xp.result_type(X.dtype, dtype)
    if is_foreign(X) and not is_foreign(shift):  # a kernel that was bound on the host meets rows on a device
        shift = xp.asarray(shift, **placement(X))
    return cast(X, wide) - cast(shift, wide)


def column_means(X: Any) -> Any:
    """The mean row of dense X, with 0 in place of a mean that overflows; None for CSR rows, which must stay sparse."""
    if sp.issparse(X):
        return None
    xp = namespace(X)
    with np.errstate(over="ignore", invalid="ignore"):
        means = xp.mean(X, axis=0)
    finite = xp.isfinite(means)
    return means if bool(xp.all(finite)) else xp.where(finite, means, xp.zeros_like(means))


def squared_norms(X: Any, dtype: Any) -> Any:
    """‖x‖² of each row, summed in float64 and rounded once."""
    with np.errstate(over="ignore"):
        if sp.issparse(X):
            return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).reshape(-1).astype(dtype)
        if not is_foreign(X):
            return np.einsum("ij,ij->i", X, X, dtype=np.float64).astype(dtype)
        xp = namespace(X)
        return xp.astype(xp.sum(xp.astype(X, xp.float64) ** 2, axis=1), dtype)

"""Pre-images by regression: kernel ridge of the rows on their scores, with an intercept."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from mercer.backends import beside, is_foreign, namespace, placement, to_numpy
from mercer.exceptions import MemoryLimitError
from mercer.expansion import KernelExpansion
from mercer.features import Features, rows_of
from mercer.footprints import regression_back
from mercer.kernels.distances import RBF
from mercer.kernels.kernel import Kernel, needs_compiled_code
from mercer.kernels.products import Linear, LinearAbout
from mercer.linalg.eigen import SMALL
from mercer.linalg.gram import Gram
from mercer.linalg.lowrank import factor_spectrum, rpcholesky
from mercer.memory import format_bytes
from mercer.models.fields import SavedEstimator, SavedRecord, floats, instance_of
from mercer.planning import Parts, code_bytes
from mercer.preimage.inverse_method import InverseRequest, Method, PreImage, refuse_without_rows
from mercer.preimage.ridge_spectrum import (
    PENALTIES,
    RidgeSpectrum,
    best_penalty,
    column_mean,
    dense_rows,
    ridge_spectrum,
)
from mercer.preimage.target import FittedComponents
from mercer.preimage.widths import width_of
from mercer.random_state import generator_from

# alpha="loo" needs an eigendecomposition. Above this many rows that of n × n takes long, and a factor serves as well.
LOO_ROWS = 2048
# Without a memory_limit: above this many rows n³/3 flops and 8 n² bytes are too much, and a factor is used.
EXACT_ROWS = 8192
RANK = 1000  # the largest rank of a factor; its n·r² flops are then affordable for any n
_LEAST_RANK = 50  # a memory_limit that allows less is refused: a regression of lower rank would be too coarse to use
# Without a memory_limit: the dual coefficients of a linear regression are kept up to this size. The map back does not
# need them.
_DUAL_BYTES = 2**31


class Ridge(Method):
    """Kernel ridge regression of the rows on their scores, with an intercept and a width of its own.

    x̂(z) = b + k(z, Z) B,  B = (HKH + αI)⁻¹HX,  b = x̄ − 1ᵀKB/n,  where K is the kernel matrix of the scores Z. The
    kernel k on scores is Gaussian. If the kernel of the components is linear, k is linear too, and the pre-image is
    PCA's, shrunk by γ/(γ + α).

    Parameters
    ----------
    gamma : float, "loo" or "median"
        γ of the Gaussian exp(−γ‖z − z'‖²) on scores. "median" means 1/(the median of ‖z − z'‖²). "loo" means the best
        of five multiples of that, by the leave-one-out error on at most 512 rows.

    The penalty is the estimator's `alpha`: a number, or "loo" for the largest penalty whose leave-one-out error is
    within a standard error of the least. That error holds for rows like those of the fit. To remove noise from new
    rows, choose a larger alpha by trying it on noisy rows.

    Cost: n² numbers and n³/3 flops if the penalty is a number, some ten times that for "loo"; n·r numbers and n·r²
    flops with a factor of rank r ≤ 1000. A factor is used beyond 8192 rows (2048 for "loo"), for fits by "rpcholesky",
    and if n² numbers exceed a `memory_limit` that the user gave. Free memory never decides between the two; it can only
    refuse the fit. (Bakır, Weston & Schölkopf 2004.)

    >>> Ridge(gamma=0.5)
    Ridge(gamma=0.5)
    """

    _saved = SavedEstimator("method.Ridge", root=False)

    def __init__(self, gamma: float | str = "loo") -> None:
        self.gamma = gamma

    def check(self, kernel: Kernel, X: Any, request: InverseRequest) -> None:
        refuse_without_rows(kernel)
        known = isinstance(self.gamma, str) and self.gamma in ("loo", "median")
        if not known and not (isinstance(self.gamma, Real) and 0 <= float(self.gamma) < float("inf")):
            raise ValueError(f"gamma={self.gamma!r} must be a finite number ≥ 0, 'loo' or 'median'.")
        if not _is_linear(kernel):
            _refuse_little_memory(X, request)

    def parts(self, kernel: Kernel, X: Any, request: InverseRequest) -> Parts:
        if _is_linear(kernel):
            return {"coefficients": 2 * 8 * X.shape[0] * X.shape[1] if _keeps_dual(X, request) else 0}
        n, d = X.shape
        back = regression_back(n, d, chosen_rank(X, request), matrices_at_once(X, request))
        # Distances of scores load compiled code from 2¹⁹ entries on; the components may have loaded it before.
        loaded = n > SMALL and needs_compiled_code(kernel)
        first = not loaded and n * n > 2**19 and not is_foreign(X)
        return {**back, "compiled code": code_bytes(first) - code_bytes(False)}

    def fit(self, fitted: FittedComponents, request: InverseRequest) -> RidgeMap:
        if _is_linear(fitted.kernel) or not fitted.k:
            return _linear(fitted, request)
        _refuse_little_memory(fitted.X, request)
        rank = chosen_rank(fitted.X, request)
        kernel = RBF(width_of(self.gamma, fitted.Z, fitted.X, request.alpha))
        return _exact(kernel, fitted, request) if rank is None else _on_factor(kernel, fitted, request, rank)


@dataclass(frozen=True)
class RidgeMap(PreImage):
    """x̂(z) = k(z, anchors) @ coefs − offset, and the choices that the fit made.

    kernel, alpha : of the regression
    loo_error : the mean of ‖x − x̂‖² with x left out; None if the penalty was not chosen by it
    rank : of the factor that replaces the kernel matrix of the scores; None if that matrix was formed
    factor_error : the share of the trace of that matrix that the factor leaves out
    dual_coef : scikit-learn's (n, d) if the fit is exact, otherwise the coefficients on the landmarks
    """

    _saved = SavedRecord(
        "preimage.RidgeMap",
        {"expansion": instance_of("KernelExpansion", n="z", d="k", k="d"), "dual_coef": floats("rows", "d")},
    )

    expansion: KernelExpansion
    alpha: float
    loo_error: float | None
    rank: int | None
    factor_error: float
    dual_coef: Any

    @property
    def kernel(self) -> Kernel:
        return self.expansion.kernel

    def __call__(self, Z: Any) -> Any:
        return self.expansion(Z)


def _is_linear(kernel: Kernel) -> bool:
    return isinstance(kernel, (Linear, LinearAbout))


def chosen_rank(X: Any, request: InverseRequest) -> int | None:
    """The rank of the factor to use, or None for the exact regression.

    A limit that the user gave chooses the most accurate fit that it allows. Without one the number of rows alone
    chooses: free memory changes from run to run, and the same data must give the same answer.
    """
    n = X.shape[0]
    fits = _bytes(X, None, request) <= request.limit if request.limit_given else n <= EXACT_ROWS
    if fits and not request.low_rank and not (request.alpha == "loo" and n > LOO_ROWS):
        return None
    rank, least = min(n, RANK), min(n, _LEAST_RANK if request.limit_given else RANK)
    while request.limit_given and _bytes(X, rank, request) > request.limit and rank > least:
        rank = max(rank // 2, least)
    return rank


def _refuse_little_memory(X: Any, request: InverseRequest) -> None:
    """MemoryLimitError if the limit does not allow the regression."""
    (n, d), rank = X.shape, chosen_rank(X, request)
    exact, need = _bytes(X, None, request), _bytes(X, rank, request)
    if need <= request.limit:
        return
    if rank is None:
        raise MemoryLimitError(
            f"fit_inverse_transform on {n} samples of {d} features needs {format_bytes(exact)}, more than the "
            f"{format_bytes(request.limit)} that can be spared. Nothing was allocated. Set a memory_limit, so that "
            "a low-rank factor is used, or try inverse_method='mds', which needs no such matrix."
        )
    raise MemoryLimitError(
        f"fit_inverse_transform on {n} samples of {d} features needs {format_bytes(exact)}, or {format_bytes(need)} "
        f"with a factor of rank {rank}: more than the limit of {format_bytes(request.limit)}. Nothing was allocated. "
        "Try a larger memory_limit, or inverse_method='mds', which needs no such matrix."
    )


def _bytes(X: Any, rank: int | None, request: InverseRequest) -> int:
    n, d = X.shape
    return sum(regression_back(n, d, rank, matrices_at_once(X, request)).values())


def matrices_at_once(X: Any, request: InverseRequest) -> int:
    """How many n × n matrices the exact regression holds at once: LAPACK needs two more for all eigenpairs."""
    every_pair = isinstance(request.alpha, str) or not request.alpha > 0
    return 3 if every_pair or is_foreign(X) else 1


# --- the three regressions -------------------------------------------------------------------------------


def _exact(kernel: Kernel, fitted: FittedComponents, request: InverseRequest) -> RidgeMap:
    """The regression on the n × n matrix, always in float64."""
    Z, X = fitted.Z, fitted.X
    xp = namespace(Z)
    points = kernel.points(Z, xp.float64)
    K = kernel.tile(points)
    means = xp.mean(K, axis=0)
    K -= means[None, :]
    K -= (means - xp.mean(means))[:, None]
    error = None
    if request.alpha == "loo":
        spectrum, alpha, error = _with_best_penalty(*_eigh(K), X, _bits(Z))
        B = spectrum.U @ spectrum.over(alpha)
    else:
        alpha = float(request.alpha)
        B = _solved(K, X, alpha)
    offset = means @ B - column_mean(X, B)
    return RidgeMap(_expansion(kernel, Z, B, offset, request), alpha, error, None, 0.0, _like(B, Z))


def _on_factor(kernel: Kernel, fitted: FittedComponents, request: InverseRequest, rank: int) -> RidgeMap:
    """The regression on features F of the scores with FFᵀ ≈ K, which compares new scores with the landmarks only.

    Eigenvalues of K below the smallest penalty make no difference, so the factor may stop there.
    """
    Z, bits = fitted.Z, _bits(fitted.Z)
    gram = Gram(kernel, Z, n_jobs=request.n_jobs)
    factor = rpcholesky(gram, rank, generator_from(request.random_state), dtype=Z.dtype, tol=PENALTIES[bits])
    features = Features(factor, float(Z.shape[0]), kernel, rows_of(Z, factor.landmarks), request.n_jobs)
    weights, offset, alpha, error, _ = _primal(features.F, fitted.X, request, bits)
    expansion = features.expansion(weights, offset)
    return RidgeMap(expansion, alpha, error, features.F.shape[1], features.error, expansion.coefs)


def _linear(fitted: FittedComponents, request: InverseRequest) -> RidgeMap:
    """The linear regression on the scores themselves, with a k × k matrix instead of n × n."""
    Z, X = fitted.Z, fitted.X
    xp, k = namespace(Z), Z.shape[1]
    wide = xp.astype(Z, xp.float64)
    weights, offset, alpha, error, spectrum = _primal(wide, X, request, _bits(Z))
    weights, offset = (beside(part, Z) for part in (weights, offset))
    unit = xp.eye(k, dtype=Z.dtype, **placement(Z))
    expansion = KernelExpansion(Linear(), unit, weights, offset, request.n_jobs)
    dual = _like(spectrum.U @ spectrum.over(alpha), Z) if _keeps_dual(X, request) else weights
    return RidgeMap(expansion, alpha, error, k, 0.0, dual)


def _keeps_dual(X: Any, request: InverseRequest) -> bool:
    """Whether a linear regression keeps its dual coefficients."""
    most = request.limit if request.limit_given else _DUAL_BYTES
    return not request.low_rank and 8 * 2 * X.shape[0] * X.shape[1] <= most


def _primal(
    F: Any, X: Any, request: InverseRequest, bits: int
) -> tuple[np.ndarray, np.ndarray, float, float | None, RidgeSpectrum]:
    """Weights and offset of x̂ = F(z) @ weights − offset; then the penalty, its leave-one-out error, the spectrum."""
    small = factor_spectrum(F, n_jobs=request.n_jobs)
    U = small.vectors(F, F.shape[1])
    values = beside(small.values, F)
    error = None
    if request.alpha == "loo":
        spectrum, alpha, error = _with_best_penalty(values, U, X, bits)
    else:
        spectrum, alpha = ridge_spectrum(values, U, X), float(request.alpha)
    weights = small.rotation @ to_numpy(spectrum.shrunk(alpha)).astype(np.float64)
    offset = small.mean @ weights - to_numpy(spectrum.mean).astype(np.float64)
    return weights, offset, alpha, error, spectrum


def _with_best_penalty(values: Any, U: Any, X: Any, bits: int) -> tuple[RidgeSpectrum, float, float]:
    alpha = best_penalty(values, U, X, bits)
    spectrum = ridge_spectrum(values, U, X)
    return spectrum, alpha, spectrum.loo_error(X, alpha)


# --- the small steps ---------------------------------------------------------------------------------------


def with_penalty(K: Any, alpha: float) -> Any:
    """K + αI, in the memory of K if it is NumPy's."""
    if is_foreign(K):
        return K + alpha * namespace(K).eye(K.shape[0], dtype=K.dtype, **placement(K))
    np.einsum("ii->i", K)[...] += alpha
    return K


def _solved(K: Any, X: Any, alpha: float) -> Any:
    """(HKH + αI)⁻¹HX, (n, d), given the centred K, which is overwritten.

    The vector 1 is an eigenvector of HKH with eigenvalue 0 and is orthogonal to HX. Adding a multiple of 11ᵀ therefore
    leaves the answer unchanged, and makes the matrix regular if alpha is positive. Without a penalty it may still be
    singular; the answer of least norm is then returned.
    """
    xp, n = namespace(K), K.shape[0]
    Y = dense_rows(X, slice(0, n), K) - column_mean(X, K)
    K += (float(xp.sum(xp.linalg.diagonal(K))) / n + alpha) / n
    K = with_penalty(K, alpha)
    if alpha > 0 and is_foreign(K):
        return xp.linalg.solve(K, Y)
    if alpha > 0:
        diagonal = K.diagonal().copy()
        # K.T is in LAPACK's own order, so it is not copied. The factor overwrites the triangle that `_eigh` does not
        # read, so K can still be decomposed if the factorisation fails.
        try:
            return cho_solve(cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False), Y, check_finite=False)
        except LinAlgError:  # alpha is within rounding of zero
            np.fill_diagonal(K, diagonal)
    values, U = _eigh(K)
    return U @ RidgeSpectrum(values, U, xp.zeros_like(Y[0, :]), U.T @ Y).over(0.0)


def _eigh(K: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of the positive semidefinite K, which is overwritten. Tiny values become 0."""
    if is_foreign(K):
        values, U = namespace(K).linalg.eigh(K)
    else:
        # "evd" is the fastest driver for all pairs of a small matrix, but it needs room for two more matrices.
        driver = "evd" if K.shape[0] <= LOO_ROWS else "evr"
        values, U = eigh(K, overwrite_a=True, check_finite=False, driver=driver)
    xp = namespace(values)
    floor = K.shape[0] * float(xp.finfo(values.dtype).eps) * float(xp.max(values))
    return xp.where(values > floor, values, xp.zeros_like(values)), U


def _expansion(kernel: Kernel, Z: Any, B: Any, offset: Any, request: InverseRequest) -> KernelExpansion:
    return KernelExpansion(kernel, Z, _like(B, Z), _like(offset, Z), request.n_jobs)


def _like(values: Any, Z: Any) -> Any:
    return namespace(values).astype(values, Z.dtype, copy=False)


def _bits(Z: Any) -> int:
    return 32 if Z.dtype == namespace(Z).float32 else 64

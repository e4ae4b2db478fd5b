"""Kernels from elsewhere: plain functions, and scikit-learn's Gaussian-process kernels."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import is_foreign, namespace
from mercer.kernels.distances import RBF, Matern, RationalQuadratic
from mercer.kernels.kernel import Constant, Kernel, Points
from mercer.kernels.products import Linear
from mercer.models.fields import SavedRecord, instance_of


@dataclass(repr=False)
class FunctionKernel(Kernel):
    """k(x, y) = function(x, y, **params).

    takes : "matrices" if the function maps (m, d) and (n, d) to (m, n), "rows" if it maps two rows to a number, or
        "auto" to find out by calling it on a few rows. A function of matrices is called once per tile. A function of
        rows is called once per pair, with (x, y) or with (y, x) but not with both. That is slow in Python.

    >>> FunctionKernel(lambda x, y: float(np.minimum(x, y).sum()))([[1.0, 2.0], [3.0, 1.0]]).tolist()
    [[3.0, 2.0], [2.0, 4.0]]
    """

    function: Callable[..., Any]
    takes: str = "auto"
    params: dict[str, Any] = field(default_factory=dict)

    def bind(self, X: Any) -> Kernel:
        takes = self._find_out(X) if self.takes == "auto" else self.takes
        if takes not in ("matrices", "rows"):
            raise ValueError(f"takes={self.takes!r} must be 'auto', 'matrices' or 'rows'.")
        return FunctionKernel(self.function, takes, self.params)

    def _find_out(self, X: Any) -> str:
        """Call the function on two small matrices: if it answers with an (m, n) array, it takes matrices.

        m, n and d all differ, so that a function of rows cannot return this shape by accident.
        """
        d, n = X.shape[1], X.shape[0]
        first, second = [m for m in range(2, 7) if m != d][:2]
        try:
            pick = [np.arange(m) % n for m in (first, second)]
            if is_foreign(X):
                xp = namespace(X)
                A, B = (xp.take(X, xp.asarray(p, device=X.device), axis=0) for p in pick)
            else:
                A, B = X[pick[0]], X[pick[1]]
            answer = self.function(A, B, **self.params)
        except Exception:
            return "rows"
        return "matrices" if getattr(answer, "shape", None) == (first, second) else "rows"

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        if sp.issparse(X):
            return Points(X.tocsr())
        return Points(namespace(X).astype(X, dtype or X.dtype, copy=False))

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        other = A if B is None else B
        if self.takes != "rows":
            K = self._checked(self.function(A.rows, other.rows, **self.params), A, other)
        else:
            K = _like(self._pairs(A) if B is None else self._by_row(A, B), A.rows)
        return self._finite(K)

    def _finite(self, values: Any) -> Any:
        if not bool(namespace(values).all(namespace(values).isfinite(values))):
            raise ValueError(f"{self!r} returned NaN or infinity for some pairs of rows. A kernel must be finite.")
        return values

    def _by_row(self, A: Points, B: Points) -> np.ndarray:
        others = _row_list(B.rows)
        return np.array([[self._number(a, b) for b in others] for a in _row_list(A.rows)])

    def _number(self, a: Any, b: Any) -> float:
        value = self.function(a, b, **self.params)
        if getattr(value, "size", 1) == 1 or is_foreign(value):
            try:
                return float(value)
            except (TypeError, ValueError):
                pass
        kind = f"an array of shape {tuple(value.shape)}" if hasattr(value, "shape") else type(value).__name__
        raise TypeError(
            f"The kernel function returned {kind} for two rows, but must return a number. A function that takes two "
            "matrices, (m, d) and (n, d), must return a matrix (m, n)."
        )

    def _pairs(self, A: Points) -> np.ndarray:
        """The symmetric matrix of k over all pairs of rows, with one call per pair."""
        rows = _row_list(A.rows)
        K = np.empty((len(rows), len(rows)))
        for i, a in enumerate(rows):
            K[i, i:] = K[i:, i] = [self._number(a, b) for b in rows[i:]]
        return K

    def _checked(self, K: Any, A: Points, B: Points) -> Any:
        K = K.toarray() if sp.issparse(K) else K
        if getattr(K, "shape", None) != (len(A), len(B)):
            raise ValueError(
                f"The kernel function returned {getattr(K, 'shape', type(K).__name__)} for {len(A)} and {len(B)} rows; "
                f"it must return a matrix of shape ({len(A)}, {len(B)})."
            )
        if sp.issparse(A.rows):
            return np.array(K)
        # A copy, because the caller may write to the tile while the function may still hold its own array.
        return namespace(K).astype(K, A.rows.dtype, copy=True)

    def diagonal(self, A: Points) -> Any:
        if self.takes == "rows":
            return self._finite(_like([self._number(a, a) for a in _row_list(A.rows)], A.rows))
        # A function of matrices cannot compute a diagonal alone. Blocks of 64 rows along it cost 64 n entries, not n²,
        # and are large enough that few calls are needed.
        step = 64
        xp = namespace(A.rows)
        blocks = [self.tile(A[i : min(i + step, len(A))]) for i in range(0, len(A), step)]
        return xp.concat([xp.linalg.diagonal(K) for K in blocks])

    def __repr__(self) -> str:
        name = getattr(self.function, "__name__", type(self.function).__name__)
        return f"FunctionKernel({name})"


def _row_list(rows: Any) -> list[Any]:
    return (
        [rows[[i]] for i in range(rows.shape[0])] if sp.issparse(rows) else [rows[i, :] for i in range(rows.shape[0])]
    )


def _like(values: Any, rows: Any) -> Any:
    if is_foreign(rows):
        return namespace(rows).asarray(values, dtype=rows.dtype, device=rows.device)
    return np.asarray(values, dtype=rows.dtype)


@dataclass(repr=False)
class GaussianProcessKernel(Kernel):
    """A kernel of sklearn.gaussian_process.kernels, called unchanged on NumPy data, one tile at a time.

    k(x, y) = kernel(x, y), with the parameters that the kernel of scikit-learn has.

    >>> from sklearn.gaussian_process.kernels import RBF
    >>> round(float(GaussianProcessKernel(RBF(1.0))([[0.0]], [[1.0]])[0, 0]), 6)  # exp(−½)
    0.606531
    """

    _saved = SavedRecord("kernel.GaussianProcessKernel", {"kernel": instance_of("gp")})

    kernel: Any

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        if is_foreign(X) or sp.issparse(X):
            raise TypeError(
                f"{self.kernel} takes dense NumPy data only. Convert the data, or use one of Mercer's own kernels, "
                "which take every kind of array."
            )
        return Points(np.asarray(X, dtype))

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> np.ndarray:
        K = self.kernel(A.rows) if B is None else self.kernel(A.rows, B.rows)
        return np.asarray(K, A.rows.dtype)

    def diagonal(self, A: Points) -> np.ndarray:
        return np.asarray(self.kernel.diag(A.rows), A.rows.dtype)

    def __repr__(self) -> str:
        return repr(self.kernel)


def is_gaussian_process_kernel(kernel: Any) -> bool:
    # Whoever made such a kernel has loaded this module. If it is not loaded, there is no need to import it.
    module = sys.modules.get("sklearn.gaussian_process.kernels")
    return module is not None and isinstance(kernel, module.Kernel)


def from_gaussian_process(kernel: Any) -> Kernel:
    """Mercer's own kernel with the same formula if there is one (faster, on every backend); otherwise an adapter."""
    gp = sys.modules["sklearn.gaussian_process.kernels"]
    if type(kernel) is gp.Sum:
        return from_gaussian_process(kernel.k1) + from_gaussian_process(kernel.k2)
    if type(kernel) is gp.Product:
        return from_gaussian_process(kernel.k1) * from_gaussian_process(kernel.k2)
    if type(kernel) is gp.Exponentiation and float(kernel.exponent).is_integer():
        return from_gaussian_process(kernel.kernel) ** int(kernel.exponent)
    if type(kernel) is gp.ConstantKernel:
        return Constant(float(kernel.constant_value))
    if type(kernel) is gp.DotProduct:
        return Linear() + float(kernel.sigma_0) ** 2
    length = getattr(kernel, "length_scale", 1.0)
    if type(kernel) is gp.RBF:
        return (
            RBF(gamma=0.5 / float(length) ** 2) if np.ndim(length) == 0 else RBF(0.5).weighted(1 / np.asarray(length))
        )
    if type(kernel) is gp.Matern and kernel.nu in (0.5, 1.5, 2.5, np.inf):
        nu = float(kernel.nu)
        return Matern(nu, float(length)) if np.ndim(length) == 0 else Matern(nu, 1.0).weighted(1 / np.asarray(length))
    if type(kernel) is gp.RationalQuadratic:
        return RationalQuadratic(length_scale=float(length), alpha=float(kernel.alpha))
    return GaussianProcessKernel(kernel)

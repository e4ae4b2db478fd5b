"""−½d² for any metric d. Centring turns it into the inner products that classical scaling recovers from distances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from mercer.backends import is_foreign, is_torch, namespace, placement
from mercer.kernels.kernel import Kernel, Points
from mercer.models.fields import SavedRecord, anything, text

POWERS = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "l1": 1.0, "cityblock": 1.0, "chebyshev": float("inf")}
BOOLEAN = ("jaccard", "dice", "russellrao", "rogerstanimoto", "sokalmichener", "sokalsneath", "yule")


def bound_metric(metric: Any, params: dict[str, Any] | None, X: Any) -> tuple[Any, dict[str, Any]]:
    """The metric and its parameters, with everything that depends on the data computed once from all rows of X.

    Otherwise scikit-learn would compute variances anew for each pair of blocks, and a kernel its width.
    """
    params = dict(params or {})
    if isinstance(metric, Kernel):
        return metric.bind(X), params
    if not isinstance(metric, str) or sp.issparse(X) or is_foreign(X):
        return metric, params
    if metric == "seuclidean" and "V" not in params:
        params["V"] = np.var(np.asarray(X, np.float64), axis=0, ddof=1)
    if metric == "mahalanobis" and "VI" not in params:
        V = params.pop("V") if "V" in params else np.cov(np.asarray(X, np.float64).T)
        params["VI"] = np.linalg.inv(np.atleast_2d(V)).T
    return metric, params


@dataclass(repr=False)
class HalfSquaredDistance(Kernel):
    """k(x, y) = −½ d(x, y)², where d is the name of a metric in scikit-learn or a function of two rows.

    K is not positive semidefinite. HKH is, exactly when some points in a Euclidean space have these distances.

    >>> HalfSquaredDistance("manhattan")([[0.0, 0.0], [1.0, 2.0]]).tolist()
    [[-0.0, -4.5], [-4.5, -0.0]]
    """

    _saved = SavedRecord("kernel.HalfSquaredDistance", {"metric": text, "params": anything})

    metric: Any
    params: dict[str, Any] = field(default_factory=dict)

    def bind(self, X: Any) -> Kernel:
        return HalfSquaredDistance(*bound_metric(self.metric, self.params, X))

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        if is_foreign(X) and (self._power() is None or not is_torch(X)):
            raise TypeError(
                f"The metric {self.metric!r} is computed on NumPy data only, but the data is a {type(X).__name__}. "
                f"Convert it to a NumPy array, or take one of {', '.join(map(repr, POWERS))} and 'minkowski'."
            )
        if sp.issparse(X):
            return Points(_with_small_indices(X.tocsr()))
        return Points(namespace(X).astype(X, dtype or X.dtype, copy=False))

    def _power(self) -> float | None:
        """The p of a Minkowski distance without weights, None for another metric."""
        if not isinstance(self.metric, str) or set(self.params) - {"p"}:
            return None
        return float(self.params.get("p", 2)) if self.metric == "minkowski" else POWERS.get(self.metric)

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> Any:
        if is_foreign(A.rows):
            D = namespace(A.rows).cdist(A.rows, (A if B is None else B).rows, p=self._power())
            return -0.5 * D * D
        rows, others = (self._as_read(part.rows) for part in (A, A if B is None else B))
        D = pairwise_distances(rows, others, metric=self.metric, **self.params)
        D = np.asarray(D, A.rows.dtype)
        if B is None:
            np.fill_diagonal(D, 0.0)
        D *= D
        D *= -0.5
        return D

    def _as_read(self, rows: Any) -> Any:
        return rows.astype(bool) if isinstance(self.metric, str) and self.metric in BOOLEAN else rows

    def diagonal(self, A: Points) -> Any:
        return namespace(A.rows).zeros((len(A),), dtype=A.rows.dtype, **placement(A.rows))

    def __repr__(self) -> str:
        name = self.metric if isinstance(self.metric, str) else getattr(self.metric, "__name__", "a function")
        return f"−½d² by {name}"


def _with_small_indices(X: Any) -> Any:
    """CSR rows with 32-bit indices if those suffice, because scikit-learn's compiled distances read no others."""
    if X.nnz >= 2**31 or X.indices.dtype == np.int32:  # the places need 64 bits, or have 32 already
        return X
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)

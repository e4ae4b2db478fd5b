"""−½d² for any metric d: centred, it is the matrix of inner products that classical scaling recovers from distances."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from mercer.backends import is_foreign, namespace
from mercer.kernels.base import Kernel, Points


@dataclass(repr=False)
class HalfSquaredDistance(Kernel):
    """k(x, y) = −½ d(x, y)², d a metric that scikit-learn knows by name or a function of two rows.

    Not positive semidefinite itself: HKH is, exactly when the points with these distances fit into a Euclidean space.

    >>> HalfSquaredDistance("manhattan")([[0.0, 0.0], [1.0, 2.0]]).tolist()
    [[-0.0, -4.5], [-4.5, -0.0]]
    """

    metric: Any
    params: dict[str, Any] = field(default_factory=dict)

    def points(self, X: Any, dtype: Any = None, like: Points | None = None) -> Points:
        if is_foreign(X):
            raise TypeError(f"Distances by {self.metric!r} are computed on NumPy data, not on {type(X).__name__}.")
        if sp.issparse(X):
            return Points(_with_small_indices(X.tocsr()))
        return Points(namespace(X).astype(X, dtype or X.dtype, copy=False))

    def tile(self, A: Points, B: Points | None = None, out: Any = None) -> np.ndarray:
        D = pairwise_distances(A.rows, (A if B is None else B).rows, metric=self.metric, **self.params)
        D = np.asarray(D, A.rows.dtype)
        if B is None:
            np.fill_diagonal(D, 0.0)
        D *= D
        D *= -0.5
        return D

    def diagonal(self, A: Points) -> np.ndarray:
        return np.zeros(len(A), A.rows.dtype)


def _with_small_indices(X: Any) -> Any:
    """scikit-learn's compiled distances read 32-bit indices only."""
    if X.nnz >= 2**31 or X.indices.dtype == np.int32:
        return X
    return sp.csr_array((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)

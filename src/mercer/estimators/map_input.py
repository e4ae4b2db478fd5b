"""What a neighbour embedding reads: rows, strings, distances or affinities, and the points that are to stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_non_negative

from mercer.estimators.base import Estimator
from mercer.kernels.kernel import Kernel


class MapInput(Estimator):
    """An estimator of a map: the checks of its input, all before any work (abstract: never built itself)."""

    n_components: int
    metric: Any
    affinities: Any
    init: Any
    fixed: Any
    method: str

    def _samples(self, X: Any, *, reset: bool) -> Any:
        """X checked as the metric wants it; ValueError or TypeError for what cannot be mapped."""
        self._refuse_foreign(X)
        least = 2 if reset else 1
        if isinstance(self.metric, Kernel) and self.metric.accepts == "strings":
            return self._strings(X, least)
        X, _ = self._read(X, reset=reset, ensure_min_samples=least)
        if self._square():
            self._check_square(X, reset)
        return X

    def _check_square(self, X: Any, reset: bool) -> None:
        name, is_P = type(self).__name__, isinstance(self.affinities, str)
        how, what = ("affinities", "affinities") if is_P else ("metric", "distances")
        if reset and isinstance(self.init, str) and self.init == "pca":
            raise ValueError(f'The parameter init="pca" cannot be used with {how}="precomputed". Use init="random".')
        if reset and X.shape[0] != X.shape[1]:
            matrix = "matrix of affinities" if is_P else "distance matrix"
            raise ValueError(f"X should be a square {matrix} (n_samples, n_samples), not {X.shape}.")
        check_non_negative(X, f"{name}.fit(). With {how}='precomputed', X should contain positive {what}.")
        if self.method == "exact" and sp.issparse(X) and self.affinities != "precomputed":
            raise TypeError(
                f'{name} with method="exact" does not accept a sparse precomputed distance matrix: it needs the '
                'distances of all pairs. Use method="auto", or give the dense matrix.'
            )

    def _square(self) -> bool:
        return (isinstance(self.metric, str) and self.metric == "precomputed") or (
            isinstance(self.affinities, str) and self.affinities == "precomputed"
        )

    def _refuse_dimensions(self) -> None:
        if self.method in ("barnes_hut", "grid") and self.n_components > 3:
            raise ValueError(
                f"'n_components' should be inferior to 4 for method={self.method!r}, which lays a grid over the map; "
                f"{self.n_components} were asked for. Use method='exact'."
            )

    def _free(self, n: int) -> np.ndarray | None:
        """Which points may move, (n,); None for all."""
        if self.fixed is None:
            return None
        if isinstance(self.init, str):
            raise ValueError("fixed points need places: give init, an array of shape (n_samples, n_components).")
        fixed = np.asarray(self.fixed)
        free = np.ones(n, np.bool_)
        if fixed.dtype.kind == "b" and fixed.shape == (n,):
            return ~fixed
        if fixed.dtype.kind not in "iu" or fixed.ndim != 1 or fixed.max(initial=0) >= n or fixed.min(initial=0) < -n:
            raise ValueError(f"fixed must be a mask of {n} booleans, or row numbers below {n}.")
        free[fixed] = False
        return free

"""Exact neighbours by any metric: scikit-learn's by name, a function of two rows, or the distance of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics import pairwise_distances

from mercer.graph.block_index import BlockIndex
from mercer.graph.row_checks import check_rows, refuse_foreign
from mercer.kernels import Kernel
from mercer.kernels.discrete import Precomputed, as_strings
from mercer.kernels.kernel_fields import bound_kernel, refuse_metric_parameters, refuse_unsuited
from mercer.kernels.metric import BOOLEAN, bound_metric
from mercer.models.fields import THREADS, SavedRecord, anything, either, floats, samples, sparse, text


class MetricIndex(BlockIndex):
    """An index by a metric of scikit-learn's or a function of two rows (final). Cost: n distances per row.

    X : (n, d), dense, or CSR if the metric can read it
    """

    _saved = SavedRecord(
        "index.MetricIndex",
        {
            "X": either(floats("n", "d", infinite=True), sparse("n", "d", canonical=True)),
            "metric": text,
            "params": anything,
            "n_jobs": THREADS,
            "reason": text,
        },
        also=lambda parts: refuse_metric_parameters(parts.params, parts.X.shape[1]),
    )

    method = "brute"

    def __init__(
        self, X: Any, metric: str | Callable[..., float], params: dict[str, Any], n_jobs: int | None, reason: str
    ) -> None:
        self.metric, self.n_jobs, self.reason = metric, n_jobs, reason
        self.X, self.n, self.dtype = X, X.shape[0], X.dtype
        self.params = bound_metric(metric, params, X)[1]
        if metric == "mahalanobis":
            self.params.pop("V", None)  # only its inverse is needed from here on
        self._ready = self._as_read(X)

    def between(self, rows: Any, others: Any) -> np.ndarray:
        return self._distances(self._ready[np.asarray(rows)], self._ready[np.asarray(others)])

    def read_rows(self, Y: Any) -> Any:
        return check_rows(Y, like=self.X, ensure_all_finite="allow-nan" if self.metric == "nan_euclidean" else True)

    def distance_block(self, Y: Any, run: Any) -> np.ndarray:
        return self._distances(self._ready[run] if Y is None else self._as_read(Y[run]), self._ready)

    def _as_read(self, X: Any) -> Any:
        return X.astype(bool) if self.metric in BOOLEAN else X

    def _distances(self, A: Any, B: Any) -> np.ndarray:
        D = pairwise_distances(A, B, metric=self.metric, **self.params).astype(self.dtype, copy=False)
        if np.isnan(D).any() or D.min(initial=0.0) < 0:
            raise ValueError(f"The metric {self.metric!r} gives distances that are negative or NaN on this data.")
        return D


class KernelIndex(BlockIndex):
    """An index by the distance in a kernel's feature space, √(k(x, x) − 2 k(x, y) + k(y, y)), clipped at 0 (final).

    A small distance is the difference of large numbers, so it is right to the square root of the precision of k.
    Cost: n kernel entries per row.
    """

    _saved = SavedRecord(
        "index.KernelIndex",
        {"X": samples("n", "d"), "kernel": bound_kernel, "n_jobs": THREADS, "reason": text},
        also=lambda parts: refuse_unsuited(parts.kernel, parts.X),
    )

    method = "brute"

    def __init__(self, X: Any, kernel: Kernel, n_jobs: int | None, reason: str) -> None:
        refuse_foreign(X)
        if isinstance(kernel, Precomputed):
            raise ValueError("A precomputed kernel has no rows. Give its distances with metric='precomputed'.")
        self.X = _samples_of(kernel, X)
        self.n_jobs, self.reason = n_jobs, reason
        self.kernel = kernel.bind(self.X)
        self._points = self.kernel.points(self.X)
        self.n = len(self._points)
        self._diagonal = np.asarray(self.kernel.diagonal(self._points))
        self.dtype = self._diagonal.dtype

    def between(self, rows: Any, others: Any) -> np.ndarray:
        A, B = (self._points.take(np.asarray(index)) for index in (rows, others))
        return self._distances(A, self._diagonal[np.asarray(rows)], B, self._diagonal[np.asarray(others)])

    def read_rows(self, Y: Any) -> Any:
        refuse_foreign(Y)
        return _samples_of(self.kernel, Y, like=self.X)

    def distance_block(self, Y: Any, run: Any) -> np.ndarray:
        if Y is not None:
            A = self.kernel.points(Y[run], like=self._points)
            diagonal = np.asarray(self.kernel.diagonal(A))
        else:
            A = self._points[run] if isinstance(run, slice) else self._points.take(run)
            diagonal = self._diagonal[run]
        return self._distances(A, diagonal, self._points, self._diagonal)

    def _distances(self, A: Any, aa: np.ndarray, B: Any, bb: np.ndarray) -> np.ndarray:
        D = np.array(self.kernel.tile(A, B))
        D *= -2
        D += aa[:, None]
        D += bb[None, :]
        if not np.isfinite(D).all():
            raise ValueError(f"{self.kernel!r} overflows on this data. Scale the data down.")
        return np.sqrt(np.maximum(D, 0, out=D), out=D)


def _samples_of(kernel: Kernel, X: Any, like: Any = None) -> Any:
    if kernel.accepts == "strings":
        return np.asarray(as_strings(X), dtype=object)
    return check_rows(X, like=like)

"""Exact neighbours from whole rows of distances: for every metric, for kernels, and for distances that are given."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of
from mercer.graph.index import Index, Neighbors, closest_of_each, graph_of_pairs, refuse_too_many_pairs

_ENTRIES = 2**21  # of the distances that a thread holds at once


class BlockIndex(Index):
    """An index that knows the distances of a run of rows to all n (abstract). Cost: n distances a row."""

    n_jobs: int | None
    dtype: Any

    @abstractmethod
    def _block(self, Y: Any, run: Any) -> np.ndarray:
        """The distances of rows `run` of Y (of the indexed ones if None) to all n, in a fresh array."""

    def _neighbors(self, k: int) -> Neighbors:
        return self._nearest(None, np.arange(self.n), k)

    def _query(self, Y: Any, k: int) -> Neighbors:
        return self._nearest(Y, np.full(Y.shape[0], -1), k)

    def _nearest(self, Y: Any, own: np.ndarray, k: int) -> Neighbors:
        indices, distances = np.empty((len(own), k), np.int32), np.empty((len(own), k), self.dtype)

        def work(run: slice, slot: int) -> None:
            D = self._block(Y, run)
            _hide(D, own[run])
            indices[run], distances[run] = smallest(D, k)

        backend_of(distances).for_each(self._runs(len(own)), work, self.n_jobs)
        return Neighbors(indices, distances, self.method)

    def _within(self, Y: Any, radius: float) -> sp.csr_array:
        m = self.n if Y is None else Y.shape[0]
        runs = list(self._runs(m))
        parts: list[Any] = [None] * len(runs)

        def work(job: int, slot: int) -> None:
            run = runs[job]
            D = self._block(Y, run)
            if Y is None:
                _hide(D, np.arange(run.start, run.stop))
            rows, columns = np.nonzero(radius >= D)
            known = np.isfinite(D[rows, columns])  # with radius = ∞: not the row itself, nor what is no edge
            rows, columns = rows[known], columns[known]
            refuse_too_many_pairs(len(rows) * (len(runs) - job), D.itemsize)
            parts[job] = rows + run.start, columns, D[rows, columns].astype(self.dtype, copy=False)

        backend_of(np.empty(0)).for_each(range(len(runs)), work, self.n_jobs)
        return graph_of_pairs(parts, (m, self.n))

    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nearest, distances = np.empty(len(rows), np.int64), np.empty(len(rows), self.dtype)

        def work(run: slice, slot: int) -> None:
            D = self._block(None, rows[run])
            D[labels[rows[run]][:, None] == labels[None, :]] = np.inf
            nearest[run] = D.argmin(axis=1)
            distances[run] = D[np.arange(len(D)), nearest[run]]

        backend_of(distances).for_each(self._runs(len(rows)), work, self.n_jobs)
        return closest_of_each(labels, rows, nearest, distances)

    def _runs(self, m: int) -> Iterator[slice]:
        step = max(1, _ENTRIES // self.n)
        return (slice(start, min(start + step, m)) for start in range(0, m, step))


def smallest(D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Places and values of the k smallest of each row, in order; of equal values those that come first."""
    bound = np.partition(D, k - 1, axis=1)[:, k - 1]
    rows, columns = np.nonzero(bound[:, None] >= D)  # at least k a row, more where values are equal
    values = D[rows, columns]
    order = np.lexsort((columns, values, rows))
    starts = np.searchsorted(rows, np.arange(len(D)))
    chosen = order[starts[:, None] + np.arange(k)]
    return columns[chosen], values[chosen]


def _hide(D: np.ndarray, own: np.ndarray) -> None:
    """Infinity where a row meets itself."""
    rows = np.flatnonzero(own >= 0)
    D[rows, own[rows]] = np.inf

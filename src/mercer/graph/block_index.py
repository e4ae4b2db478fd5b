"""Exact neighbours from whole rows of distances: for every metric, for kernels, and for precomputed distances."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of, slices
from mercer.graph.neighbor_index import NeighborIndex, Neighbors, closest_of_each, graph_of_pairs, refuse_too_many_pairs
from mercer.progress import phase

_ENTRIES = 2**21  # distances that a thread holds at once: 16 MB
_PAIRS = 16  # pairs per table of distances between all their rows, for a metric that cannot compute single pairs


class BlockIndex(NeighborIndex):
    """An index that computes the distances of some rows to all n (abstract). Cost: n distances per row."""

    n_jobs: int | None
    dtype: Any

    @abstractmethod
    def distance_block(self, Y: Any, run: Any) -> np.ndarray:
        """The distances of rows `run` of Y (of the indexed ones if None) to all n, in a new array."""

    def nearest(self, Y: Any | None, k: int) -> Neighbors:
        own = np.arange(self.n) if Y is None else np.full(Y.shape[0], -1)
        return self.nearest_except(Y, own, k)

    def nearest_except(self, Y: Any | None, own: np.ndarray, k: int) -> Neighbors:
        """The k nearest of every row of Y (of the indexed ones if None), row i without the indexed row own[i].

        own : (m,); −1 leaves out no row
        """
        indices, distances = np.empty((len(own), k), np.int32), np.empty((len(own), k), self.dtype)

        def work(run: slice, slot: int) -> None:
            D = self.distance_block(Y, run)
            _hide(D, own[run])
            indices[run], distances[run] = smallest(D, k)

        with phase("neighbours"):
            backend_of(distances).for_each(self.row_runs(len(own)), work, self.n_jobs)
        return Neighbors(indices, distances, self.method)

    def pairs_within(self, Y: Any, radius: float) -> sp.csr_array:
        m = self.n if Y is None else Y.shape[0]
        runs = list(self.row_runs(m))
        parts: list[Any] = [None] * len(runs)

        def work(job: int, slot: int) -> None:
            run = runs[job]
            D = self.distance_block(Y, run)
            if Y is None:
                _hide(D, np.arange(run.start, run.stop))
            rows, columns = np.nonzero(radius >= D)
            known = np.isfinite(D[rows, columns])  # with radius = ∞, neither the row itself nor a missing edge
            rows, columns = rows[known], columns[known]
            refuse_too_many_pairs(len(rows) * (len(runs) - job), D.itemsize)
            parts[job] = rows + run.start, columns, D[rows, columns].astype(self.dtype, copy=False)

        backend_of(np.empty(0)).for_each(range(len(runs)), work, self.n_jobs)
        return graph_of_pairs(parts, (m, self.n))

    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        nearest, distances = np.empty(len(rows), np.int64), np.empty(len(rows), self.dtype)

        def work(run: slice, slot: int) -> None:
            D = self.distance_block(None, rows[run])
            D[labels[rows[run]][:, None] == labels[None, :]] = np.inf
            nearest[run] = D.argmin(axis=1)
            distances[run] = D[np.arange(len(D)), nearest[run]]

        backend_of(distances).for_each(self.row_runs(len(rows)), work, self.n_jobs)
        return closest_of_each(labels, rows, nearest, distances)

    # --- questions that scores of maps ask -------------------------------------------------------------------

    def nearest_of(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Indices (m, k) and distances (m, k) of the k nearest of indexed rows, without the rows themselves.

        Exact. Cost: n distances per row, and never m × n numbers at once.
        """
        rows = np.asarray(rows, np.int64)
        places, values = np.empty((len(rows), k), np.int32), np.empty((len(rows), k))

        def work(run: slice, slot: int) -> None:
            places[run], values[run] = smallest(self._sort_keys(rows[run]), k)

        backend_of(values).for_each(self.row_runs(len(rows)), work, self.n_jobs)
        return places, self._distances_from_keys(values)

    def ranks_of(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        """(m, k), how near others[i, s] is to rows[i] among all indexed rows: 1 + the number of nearer rows.

        Rows at one distance share the best of their ranks. Cost: n distances per row.
        """
        rows, others = np.asarray(rows, np.int64), np.asarray(others, np.int64)
        ranks = np.empty(others.shape, np.int64)

        def work(run: slice, slot: int) -> None:
            D = self._sort_keys(rows[run])
            limits = np.take_along_axis(D, others[run], axis=1)
            D.sort(axis=1)
            for i, (row, limit) in enumerate(zip(D, limits, strict=True), run.start):
                ranks[i] = 1 + np.searchsorted(row, limit)

        backend_of(ranks).for_each(self.row_runs(len(rows)), work, self.n_jobs)
        return ranks

    def distances_of(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """(m,) distances of the pairs (i, j) of indexed rows, float64."""
        out = np.empty(len(i))

        def work(run: slice, slot: int) -> None:
            out[run] = np.diagonal(self.between(i[run], j[run]))

        backend_of(out).for_each(slices(len(i), _PAIRS), work, self.n_jobs)
        return out

    def _sort_keys(self, rows: np.ndarray) -> np.ndarray:
        """Numbers in the order of the distances of some rows to all n, infinite to themselves; in a new array."""
        D = self.distance_block(None, rows)
        _hide(D, rows)
        return D

    def _distances_from_keys(self, keys: np.ndarray) -> np.ndarray:
        return keys.astype(self.dtype)

    def row_runs(self, m: int) -> Iterator[slice]:
        """Split m rows into slices whose distances to all n fit the memory of a thread."""
        return slices(m, max(1, _ENTRIES // self.n))


def smallest(D: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and values of the k smallest entries of each row, in order; of equal values the first ones."""
    bound = np.partition(D, k - 1, axis=1)[:, k - 1]
    rows, columns = np.nonzero(bound[:, None] >= D)  # at least k per row, more if values are equal
    values = D[rows, columns]
    order = np.lexsort((columns, values, rows))
    starts = np.searchsorted(rows, np.arange(len(D)))
    chosen = order[starts[:, None] + np.arange(k)]
    return columns[chosen], values[chosen]


def _hide(D: np.ndarray, own: np.ndarray) -> None:
    """Set the distance of each row to itself to infinity."""
    rows = np.flatnonzero(own >= 0)
    D[rows, own[rows]] = np.inf

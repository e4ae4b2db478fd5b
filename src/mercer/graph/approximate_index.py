"""Nearly all neighbours in very large data, from tiles of the cells near a row, with a measured recall.

k-means divides the rows into √n cells. A row is compared with the rows of the cells whose centres are nearest to it, by
the same tiles as everywhere, so the distances of what is found are exact. The number of cells comes from some rows
whose true neighbours are searched: enough cells to hold `AIM` of these neighbours. Other rows then measure the recall.

Cost: 2 n √n d flops for the cells, and as much again for every cell that a row is compared with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of
from mercer.graph.kmeans_cells import KMeansCells, divide, nearest_centre
from mercer.graph.neighbor_index import NeighborIndex, Neighbors
from mercer.graph.tile_index import TileIndex, kernels, new_state
from mercer.graph.tile_rows import ExactRows, RoundedRows, exact_rows, products, rounded_rows
from mercer.models.fields import SavedRecord, instance_of, integers
from mercer.progress import phase
from mercer.random_state import generator_from

AIM = 0.98  # share of the true neighbours that the searched cells should hold
# The rows of one cell choose the cells to search among this many times as many, because their nearest cells differ a
# little from row to row.
_WIDE = 8
_ROWS = 1024  # rows of one cell that are searched at once
_COLUMNS = 4096  # rows of another cell that they are compared with at once


class ApproximateIndex(NeighborIndex):
    """An index that looks for neighbours in near cells only (final). Everything but `neighbors` and `query` is exact.

    X : (n, d), dense
    metric : one of `mercer.graph.tile_index.METRICS`
    """

    _saved = SavedRecord(
        "index.ApproximateIndex",
        {
            "exact": instance_of("index.TileIndex", n="n", d="d"),
            "cells": instance_of("Cells", n="n", d="d"),
            "_trial": integers("t", below="n"),
            "_test": integers("u", below="n"),
        },
        build=lambda **parts: ApproximateIndex.with_cells(**parts),
    )

    method = "approximate"
    tried = 200  # rows whose true neighbours choose the number of cells, and as many others that measure the recall
    most_cells = 0.4  # of all cells: if a row must be compared with more, comparing it with all rows is faster

    def __init__(self, X: Any, metric: str, n_jobs: int | None, reason: str, random_state: Any = None) -> None:
        if sp.issparse(X):
            raise ValueError(
                "method='approximate' needs dense rows, but X is sparse. Use 'tiles', or reduce the columns first."
            )
        exact, rng = TileIndex(X, metric, n_jobs, reason), generator_from(random_state)
        coarse = rounded_rows(exact.rows, exact.scaling, np.float32)
        cells = divide(coarse.rows, max(1, int(np.sqrt(exact.n))), rng, n_jobs)
        tried = rng.choice(exact.n, min(2 * self.tried, exact.n), replace=False)
        self._keep(exact, coarse, cells, np.sort(tried[::2]), np.sort(tried[1::2]))

    def _keep(
        self, exact: TileIndex, coarse: RoundedRows, cells: KMeansCells, trial: np.ndarray, test: np.ndarray
    ) -> None:
        self.exact, self.cells, self._trial, self._test = exact, cells, trial, test
        self.n, self.n_jobs, self.reason = exact.n, exact.n_jobs, exact.reason
        order = cells.order  # the rows of a cell are contiguous, so a tile is a slice
        self._sorted = RoundedRows(coarse.rows[order], coarse.norms[order], coarse.width)

    @classmethod
    def with_cells(cls, exact: TileIndex, cells: KMeansCells, trial: np.ndarray, test: np.ndarray) -> ApproximateIndex:
        """An index with cells that were found before."""
        index = cls.__new__(cls)
        index._keep(exact, rounded_rows(exact.rows, exact.scaling, np.float32), cells, trial, test)
        return index

    def between(self, rows: Any, others: Any) -> np.ndarray:
        return self.exact.between(rows, others)

    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.exact.closest_pairs(labels, rows)

    def read_rows(self, Y: Any) -> Any:
        return self.exact.read_rows(Y)

    def pairs_within(self, Y: Any, radius: float) -> sp.csr_array:
        return self.exact.pairs_within(Y, radius)

    def nearest(self, Y: Any | None, k: int) -> Neighbors:
        return self._all_nearest(k) if Y is None else self._nearest_to_new(Y, k)

    def _all_nearest(self, k: int) -> Neighbors:
        rows = np.arange(self.n)
        if self.n <= 2 * self.tried:
            return self.exact.nearest(None, k)
        place = np.empty(self.n, np.int64)  # of each row among the sorted ones
        place[self.cells.order] = rows
        return self._answer(None, self.exact.rows, self._sorted, place, self.cells.of_row, rows, self._test, k)

    def _nearest_to_new(self, Y: Any, k: int) -> Neighbors:
        scaling, m = self.exact.scaling, Y.shape[0]
        if m <= 2 * self.tried or scaling.reaching(Y) is not scaling:  # few rows, or rows far from everything
            return self.exact.nearest(Y, k)
        left = exact_rows(Y, scaling)
        coarse = rounded_rows(left, scaling, np.float32)
        labels = nearest_centre(coarse.rows, self.cells.centres, self.n_jobs)
        test = np.linspace(0, m - 1, self.tried).astype(np.int64)
        return self._answer(Y, left, coarse, np.arange(m), labels, np.full(m, -1), test, k)

    def _answer(
        self,
        Y: Any,
        left: ExactRows,
        coarse: RoundedRows,
        place: np.ndarray,
        labels: np.ndarray,
        own: np.ndarray,
        test: np.ndarray,
        k: int,
    ) -> Neighbors:
        """Search, find exactly what the search could not find, and measure the recall on the rows `test`."""
        probes = self._probes(k)
        if probes > self.most_cells * len(
            self.cells.centres
        ):  # neighbours are spread over most cells, which then save nothing
            return self.exact.nearest_except(Y, own, k)
        places, squares = self._search(left, coarse, place, labels, own, k, probes)
        distances = self.exact.distances(squares, self.exact.scaling)
        everyone = np.arange(self.n)
        if len(short := np.flatnonzero(places[:, -1] < 0)):  # the cells of these rows held fewer than k
            places[short], distances[short] = self.exact.search(Y, short, own[short], everyone, k)
        farthest = self.exact.search(Y, test, own[test], everyone, k)[1][:, -1:]
        found = np.mean(distances[test] <= farthest, axis=1)
        error = float(found.std(ddof=1) / np.sqrt(len(test)))
        return Neighbors(places, distances, self.method, float(found.mean()), error)

    def _probes(self, k: int) -> int:
        """The number of cells to search for a row: the fewest that hold `AIM` of the neighbours of the rows tried."""
        true = self.exact.search(None, self._trial, self._trial, np.arange(self.n), k)[0]
        coarse = rounded_rows(self.exact.rows.take(self._trial), self.exact.scaling, np.float32)
        order = np.argsort(-self._closeness(coarse.rows, slice(None)), axis=1, kind="stable")
        rank = np.argsort(order, axis=1)  # of each cell, as seen from each row
        seen = np.bincount(np.take_along_axis(rank, self.cells.of_row[true], axis=1).ravel(), minlength=order.shape[1])
        return int(np.searchsorted(np.cumsum(seen) / true.size, AIM)) + 1

    def _closeness(self, rows: np.ndarray, cells: Any) -> np.ndarray:
        """⟨x, c⟩ − ‖c‖²/2 for the centres of some cells: the larger, the nearer."""
        centres = self.cells.centres[cells]
        return rows @ centres.T - np.einsum("ij,ij->i", centres, centres) / 2

    def _search(
        self,
        left: ExactRows,
        coarse: RoundedRows,
        place: np.ndarray,
        labels: np.ndarray,
        own: np.ndarray,
        k: int,
        probes: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Indices and squared distances of the k nearest in the `probes` nearest cells; −1 if these hold fewer."""
        m, compiled = len(labels), kernels()
        cells, right, near_rows = self.cells, self.exact.rows, self._sorted
        places, squares, everyone = np.empty((m, k), np.int32), np.empty((m, k)), np.arange(self.n)

        def work(job: tuple[int, np.ndarray], slot: int) -> None:
            cell, part = job
            at = place[part]
            rows, norms, extra = coarse.rows[at], coarse.norms[at], left.extra[part]
            state = new_state(len(part), k, np.zeros(len(part), np.int64))
            pairs = left.exact, extra, right.exact, right.extra, 1 / self.exact.scaling.unit
            near = cells.nearest[cell, : _WIDE * probes]
            close = self._closeness(rows, near)
            bound = np.partition(close, -min(probes, len(near)), axis=1)[:, -min(probes, len(near)), None]
            room = np.empty(len(part) * _COLUMNS, np.float32)
            for column, other in enumerate(near):
                which = np.flatnonzero(close[:, column] >= bound[:, 0])
                if not len(which):
                    continue
                whole = cells.run(other)
                for start in range(whole.start, whole.stop, _COLUMNS):  # a cell of copies may hold half of all rows
                    run = slice(start, min(start + _COLUMNS, whole.stop))
                    dots = products(rows[which], near_rows.rows[run], room)
                    sizes = norms, near_rows.norms[run], near_rows.width
                    compiled.scan(dots, *sizes, which, part, cells.order[run], own[part], everyone, k, state, *pairs)
            found = np.empty((len(part), k), np.int32), np.empty((len(part), k))
            compiled.finish(part, k, state, *pairs, *found)
            places[part], squares[part] = found

        with phase("neighbours"):
            backend_of(squares).for_each(_by_cell(labels), work, self.n_jobs)
        return places, squares


def _by_cell(labels: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Pairs (cell, rows) for all cells, with at most `_ROWS` rows each."""
    order = np.argsort(labels, kind="stable")
    used, starts = np.unique(labels[order], return_index=True)
    jobs = []
    for cell, rows in zip(used, np.split(order, starts[1:]), strict=True):
        jobs += [(int(cell), rows[start : start + _ROWS]) for start in range(0, len(rows), _ROWS)]
    return jobs

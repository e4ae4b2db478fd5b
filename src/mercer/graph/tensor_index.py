"""Euclidean, cosine and correlation neighbours of tensors, on the device that holds them: exact, or by cells.

The arithmetic is in `mercer.backends.torch_neighbors`: lower bounds of all distances from tiles of products, and the
distances of few candidates from the rows themselves. Of very large data only the cells near a row are compared with it,
and the recall is measured on some rows, as `approximate_index` does for NumPy arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mercer.backends import backend_of, namespace, to_numpy
from mercer.graph.approximate_index import ApproximateIndex
from mercer.graph.neighbor_index import NeighborIndex, Neighbors
from mercer.graph.tensor_blocks import TensorBlockIndex, closest_of_each_tensor, hide, tensors
from mercer.graph.tile_index import TileIndex
from mercer.linalg.inner import power_of_two
from mercer.progress import phase
from mercer.random_state import generator_from

_TRIED = 256  # rows on which the precision of the tiles is tried
_UNDECIDED = 0.25  # the share of these that float32 may leave undecided: more, and float64 takes less time
_AIM = 0.985  # share of the true neighbours that the searched cells should hold: more cells cost a device little
_CELL = 512  # rows of a cell: a few blocks of a card's products
_SAMPLE = 32  # rows per cell from which the centres are found
_ROUNDS = 6  # of Lloyd's algorithm: cells must be compact, not optimal


class TensorIndex(TensorBlockIndex):
    """An index of tensors by tiles (final, but for `ApproximateTensorIndex`). Cost: 2 n d flops per row.

    X : (n, d), float32 or float64
    metric : one of `mercer.graph.tile_index.METRICS`
    """

    method = "tiles"
    whole_up_to = 2**20  # pairs that are all computed exactly, in fewer steps than bounds and candidates take

    def __init__(self, X: Any, metric: str = "euclidean", n_jobs: int | None = None, reason: str = "asked for") -> None:
        self.X, self.metric, self.n_jobs, self.reason, self.n = X, metric, n_jobs, reason, X.shape[0]
        self.angles = metric if metric in ("cosine", "correlation") else ""
        self.centre = None if self.angles else tensors().centre_of(X)
        self.unit = 1.0 if self.angles else power_of_two(tensors().reach_of(X, self.centre))
        self.rows = tensors().exact_tensors(X, self.angles)
        self._coarse: Any = None  # rows in float32, kept for the next search

    def nearest_except(self, Y: Any | None, own: Any, k: int) -> Neighbors:
        if Y is None or self.angles:
            return super().nearest_except(Y, own, k)
        classes = tensors().classes_of(Y, self.unit, self.centre)
        if len(classes) == 1:
            return super().nearest_except(Y, own, k)
        answers = [super(TensorIndex, self).nearest_except(Y[rows], own[rows], k) for rows in classes]
        xp = namespace(self.X)
        back = xp.cat(classes).argsort()
        places, far = (xp.cat([getattr(a, name) for a in answers])[back] for name in ("indices", "distances"))
        return Neighbors(places, far, self.method)

    def search(self, Y: Any | None, rows: Any, own: Any, k: int, groups: Any = None) -> tuple[Any, Any]:
        """The k nearest of `rows` of Y (of the indexed ones if None): their numbers (m, k), and distances.

        groups : (n,), of the indexed rows; then `own` is the group that a row leaves out
        """
        left = self.rows if Y is None else tensors().exact_tensors(Y, self.angles)
        unit = self._unit_reaching(Y)
        xp = namespace(self.X)
        places = self.X.new_empty((len(rows), k), dtype=own.dtype)
        squares = self.X.new_empty((len(rows), k), dtype=xp.float64)
        open_rows = xp.arange(len(rows), device=self.X.device)
        with phase("neighbours"):
            for dtype, count in ((xp.float32, k + k // 4 + 16), (xp.float64, 2 * k + 64)):
                if len(open_rows) * self.n <= self.whole_up_to or 4 * count > self.n:
                    break
                tried = open_rows[:: len(open_rows) // _TRIED] if len(open_rows) > 16 * _TRIED else None
                if tried is not None and dtype == xp.float32:
                    decided = self._by_bounds(left, rows, own, groups, tried, dtype, unit, count, places, squares)
                    if float((~decided).double().mean()) > _UNDECIDED:
                        continue
                decided = self._by_bounds(left, rows, own, groups, open_rows, dtype, unit, count, places, squares)
                open_rows = open_rows[~decided]
            for run in self.row_runs(len(open_rows)):
                part = open_rows[run]
                D = tensors().all_squares(left.take(rows[part]), self.rows, 1 / unit)
                if groups is None:
                    hide(D, own[part])
                else:
                    D.masked_fill_(own[part][:, None] == groups[None, :], float("inf"))
                places[part], squares[part] = tensors().smallest(D, k)
        return places, self.distances(squares, unit)

    def _by_bounds(
        self, left: Any, rows: Any, own: Any, groups: Any, part: Any, dtype: Any, unit: float, count: int, *out: Any
    ) -> Any:
        """Write neighbours of the rows `part` to `out`, and return which of them are decided."""
        right = self.rounded(dtype, unit)
        decided = part.new_zeros(len(part), dtype=namespace(part).bool)

        def work(run: slice, slot: int) -> None:
            block = left.take(rows[part[run]])
            coarse = tensors().rounded_tensors(block, self.centre, unit, dtype)
            found = tensors().nearest_by_bounds(
                block, self.rows, (coarse, right), own[part[run]], out[0].shape[1], count, 1 / unit, groups
            )
            out[0][part[run]], out[1][part[run]], decided[run] = found

        backend_of(self.X).for_each(tensors().row_blocks(len(part), self.n, self.X), work, self.n_jobs)
        return decided

    def rounded(self, dtype: Any, unit: float) -> Any:
        """The indexed rows in the precision of a tile. Those in float32 and the own unit are kept."""
        if dtype != namespace(self.X).float32 or unit != self.unit:
            return tensors().rounded_tensors(self.rows, self.centre, unit, dtype)
        if self._coarse is None:
            self._coarse = tensors().rounded_tensors(self.rows, self.centre, unit, dtype)
        return self._coarse

    def _unit_reaching(self, Y: Any | None) -> float:
        if Y is None or self.angles:
            return self.unit
        reach = tensors().reach_of(Y, self.centre)
        return power_of_two(reach) if tensors().is_beyond(reach, self.unit) else self.unit

    def distances(self, squares: Any, unit: float) -> Any:
        """Distances by the metric, in the data's precision, from ‖x − y‖² in the unit."""
        if self.angles:
            squares = squares * 0.5  # 1 − cos = ‖u − v‖² / 2 for unit vectors
        elif self.metric == "sqeuclidean":
            squares = squares * unit * unit
        else:
            squares = squares.sqrt() * unit
        return squares.to(self.X.dtype)

    def distance_block(self, Y: Any, run: Any) -> Any:
        unit = self._unit_reaching(None if Y is None else Y[run])
        left = self.rows.take(run) if Y is None else tensors().exact_tensors(Y[run], self.angles)
        return self.distances(tensors().all_squares(left, self.rows, 1 / unit), unit)

    def between(self, rows: Any, others: Any) -> Any:
        left, right = (self.rows.take(self.whole_numbers(index)) for index in (rows, others))
        return self.distances(tensors().all_squares(left, right, 1 / self.unit), self.unit)

    def distances_of(self, i: Any, j: Any) -> Any:
        i, j = self.whole_numbers(i), self.whole_numbers(j)
        squares = tensors().pair_squares(self.rows, self.rows, i, j, 1 / self.unit)
        return self.distances(squares * (i != j), self.unit).double()

    def sort_keys(self, rows: Any) -> Any:
        D = tensors().all_squares(self.rows.take(rows), self.rows, 1 / self.unit)
        hide(D, rows)
        return D

    def closest_pairs(self, labels: Any, rows: Any) -> tuple[Any, Any, Any]:
        labels, rows = self.whole_numbers(labels), self.whole_numbers(rows)
        places, distances = self.search(None, rows, labels[rows], 1, labels)
        return closest_of_each_tensor(labels, rows, places[:, 0], distances[:, 0])

    def on_host(self) -> NeighborIndex:
        return TileIndex(to_numpy(self.X), self.metric, self.n_jobs, self.reason)


class ApproximateTensorIndex(TensorIndex):
    """An index of tensors that looks for neighbours in near cells only (final). All but `neighbors`, `query` is exact.

    k-means divides the rows into cells. The rows of a cell are compared with the rows of the cells whose centres are
    nearest to its own: as many as hold 0.985 of the true neighbours of some rows. Other rows measure the recall.
    """

    method = "approximate"
    tried = ApproximateIndex.tried
    most_cells = 0.5  # of all cells: beyond, comparing all rows takes as long, and is exact

    def __init__(
        self, X: Any, metric: str, n_jobs: int | None, reason: str, random_state: Any = None, cells: int | None = None
    ) -> None:
        super().__init__(X, metric, n_jobs, reason)
        self.seed, rng = random_state, generator_from(random_state)
        coarse = self.rounded(namespace(X).float32, self.unit)
        count = max(1, int(np.sqrt(self.n)), self.n // _CELL) if cells is None else cells
        self.centres = self._found_centres(coarse.rows, count, rng)
        labels = tensors().nearest_centre(coarse.rows, self.centres)
        used, self.of_row = labels.unique(return_inverse=True)  # cells without rows are dropped
        self.centres = self.centres[used]
        self.order = self.of_row.argsort(stable=True)
        self.sizes = self.of_row.bincount()
        self.starts = self.sizes.cumsum(0) - self.sizes
        chosen = rng.choice(self.n, min(2 * self.tried, self.n), replace=False)
        self._trial, self._test = (self.whole_numbers(np.sort(part)) for part in (chosen[::2], chosen[1::2]))

    def _found_centres(self, rows: Any, count: int, rng: np.random.Generator) -> Any:
        chosen = np.sort(rng.choice(self.n, min(self.n, _SAMPLE * count), replace=False))
        sample = rows[self.whole_numbers(chosen)]
        centres = sample[self.whole_numbers(rng.choice(len(sample), count, replace=False))]
        for _ in range(_ROUNDS):
            labels = tensors().nearest_centre(sample, centres)
            fresh = sample[self.whole_numbers(rng.choice(len(sample), count, replace=False))]
            centres = tensors().means_of(sample, labels, fresh)
        return centres

    def nearest(self, Y: Any | None, k: int) -> Neighbors:
        if Y is None:
            if self.n <= 2 * self.tried:
                return super().nearest(None, k)
            return self._answer(None, self.rows, self._coarse, self.of_row, self.all_rows(), self._test, k)
        m = Y.shape[0]
        if m <= 2 * self.tried or self._unit_reaching(Y) != self.unit:  # few rows, or rows far from everything
            return super().nearest(Y, k)
        left = tensors().exact_tensors(Y, self.angles)
        coarse = tensors().rounded_tensors(left, self.centre, self.unit, namespace(Y).float32)
        labels = tensors().nearest_centre(coarse.rows, self.centres)
        test = self.whole_numbers(np.linspace(0, m - 1, self.tried).astype(np.int64))
        return self._answer(Y, left, coarse, labels, self.whole_numbers([-1]).expand(m), test, k)

    def _answer(self, Y: Any, left: Any, coarse: Any, labels: Any, own: Any, test: Any, k: int) -> Neighbors:
        """Search, find exactly what the search could not find, and measure the recall on the rows `test`."""
        self.refuse_too_large(len(labels), k)
        probes = self._probes(k)
        if probes > self.most_cells * len(self.centres):
            return self.nearest_except(Y, own, k)
        places, squares, short = self._search_cells(left, coarse, labels, own, k, probes)
        distances = self.distances(squares, self.unit)
        if len(short):  # the cells of these rows held fewer than k
            found = self.search(Y, short, own[short], k)
            places[short], distances[short] = self.as_int32(found[0]), found[1]
        farthest = self.search(Y, test, own[test], k)[1][:, -1:]
        found = (distances[test] <= farthest).double().mean(1)
        error = float(found.std() / len(test) ** 0.5)
        return Neighbors(places, distances, self.method, float(found.mean()), error)

    def _probes(self, k: int) -> int:
        """The number of cells to search for a row: the fewest that hold `AIM` of the neighbours of the rows tried."""
        true = self.search(None, self._trial, self._trial, k)[0]
        count = len(self.centres)
        order = tensors().cell_ranking(self.centres, self.of_row[self._trial], count)
        rank = order.argsort(1)
        seen = to_numpy(rank.gather(1, self.of_row[true]).reshape(-1).bincount(minlength=count))
        return int(np.searchsorted(np.cumsum(seen) / true.numel(), _AIM)) + 1

    def _search_cells(self, left: Any, coarse: Any, labels: Any, own: Any, k: int, probes: int) -> tuple[Any, Any, Any]:
        """Numbers and squared distances of the k nearest in the `probes` nearest cells; the rows that found fewer."""
        xp, m, arithmetic = namespace(self.X), len(labels), tensors()
        order, counts = labels.argsort(stable=True), to_numpy(labels.bincount(minlength=len(self.centres)))
        heads, used = np.concatenate([[0], np.cumsum(counts)]), np.flatnonzero(counts)
        near = arithmetic.cell_ranking(self.centres, self.whole_numbers(used), probes)
        totals = to_numpy(self.sizes[near].sum(1))
        sorted_rows = self._coarse.take(self.order)
        place = xp.empty_like(self.order)
        place[self.order] = self.all_rows()
        places = xp.empty((m, k), dtype=xp.int32, device=self.X.device)
        squares = xp.empty((m, k), dtype=xp.float64, device=self.X.device)
        short = []

        def work(job: int, slot: int) -> None:
            cell, total = used[job], int(totals[job])
            rows = order[heads[cell] : heads[cell + 1]]
            if total <= k:
                short.append(rows)
                return
            columns = arithmetic.joined_ranges(self.starts[near[job]], self.sizes[near[job]], total)
            names, right = self.order[columns], sorted_rows.take(columns)
            for run in arithmetic.row_blocks(len(rows), total, self.X):
                part = rows[run]
                # A cell is the first among its nearest, so an indexed row lies where it lies in its cell.
                within = xp.where(own[part] >= 0, place[own[part]] - self.starts[cell], -1)
                chosen, _ = arithmetic.candidates(coarse.take(part), right, within, k + k // 8 + 8)
                chosen = names[chosen]
                found = arithmetic.squares_of(left.take(part), self.rows, chosen, 1 / self.unit)
                found.masked_fill_(chosen == own[part][:, None], float("inf"))
                chosen, found = arithmetic.in_order(chosen, found, k)
                places[part], squares[part] = self.as_int32(chosen), found

        with phase("neighbours"):
            backend_of(self.X).for_each(range(len(used)), work, self.n_jobs)
        return places, squares, xp.cat(short) if short else order[:0]

    def on_host(self) -> NeighborIndex:
        return ApproximateIndex(to_numpy(self.X), self.metric, self.n_jobs, self.reason, self.seed)

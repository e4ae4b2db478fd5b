"""Exact Euclidean, cosine and correlation neighbours from tiles of dot products.

Tiles are float32. Pairs that they leave undecided are computed coordinate by coordinate from the data itself, so
neighbours and distances are those of the data's own precision (see `mercer.backends.compiled_neighbors`). If float32
leaves too many pairs undecided, as for tight clusters far apart, the tiles are float64.
"""

from __future__ import annotations

from importlib import import_module
from threading import Lock
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer.backends import backend_of, slices
from mercer.footprints import MIRRORED_FROM, MIRRORED_ROOM, mirrored_search
from mercer.graph.block_index import BlockIndex
from mercer.graph.neighbor_index import Neighbors, closest_of_each, graph_of_pairs, refuse_too_many_pairs
from mercer.graph.row_checks import check_rows
from mercer.graph.tile_rows import (
    ExactRows,
    Operand,
    RoundedRows,
    RowScaling,
    exact_rows,
    products,
    rounded_rows,
    work_per_pair,
)
from mercer.models.fields import THREADS, SavedRecord, either, floats, one_of, sparse, text
from mercer.progress import phase

METRICS = ("euclidean", "l2", "sqeuclidean", "cosine", "correlation")
_COARSE = 0.01  # relative error of a tile: float32 dot products of this many terms decide too little
_PROBE = 64  # rows on which the precision of the tiles is tried
_RANK_ROWS, _RANK_COLUMNS = 128, 1024  # of a tile that ranks are counted in: it stays in the cache of a core
_PAIRS = 4096  # pairs whose rows are copied at once


class TileIndex(BlockIndex):
    """An index of vectors, searched by tiles (final). Cost: 2 n d flops per row, and O(nk) memory.

    X : (n, d), dense or CSR
    metric : one of `METRICS`
    """

    _saved = SavedRecord(
        "index.TileIndex",
        {
            "X": either(floats("n", "d"), sparse("n", "d", canonical=True)),
            "metric": one_of(*METRICS),
            "n_jobs": THREADS,
            "reason": text,
        },
    )

    method = "tiles"
    tile = 256, 2048  # rows and columns
    precision: Any = None  # of the tiles; None is float32, unless that would leave too many pairs undecided
    compiled_above = 2**19  # distances above which numba is worth the time that it takes to load
    mirrored_from = MIRRORED_FROM  # columns from which on a product costs so much that both of its rows should use it

    def __init__(self, X: Any, metric: str = "euclidean", n_jobs: int | None = None, reason: str = "asked for") -> None:
        self.X, self.metric, self.n_jobs, self.reason = X, metric, n_jobs, reason
        self.n, self.dtype = X.shape[0], X.dtype
        self.scaling = RowScaling.of(X, metric)
        self.rows = exact_rows(X, self.scaling)
        self._coarse: dict[Any, RoundedRows] = {}

    def read_rows(self, Y: Any) -> Any:
        return check_rows(Y, like=self.X)

    def nearest_except(self, Y: Any, own: np.ndarray, k: int) -> Neighbors:
        if Y is not None and len(classes := self.scaling.classes(Y)) > 1:
            answers = [self.nearest_except(Y[rows], own[rows], k) for rows in classes]
            back = np.argsort(np.concatenate(classes))
            indices, far = (np.concatenate([getattr(a, name) for a in answers]) for name in ("indices", "distances"))
            return Neighbors(indices[back], far[back], self.method)
        if self.is_small(len(own)):
            return super().nearest_except(Y, own, k)
        places, distances = self.search(Y, np.arange(len(own)), own, np.arange(self.n), k)
        return Neighbors(places, distances, self.method)

    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.is_small(len(rows)):
            return super().closest_pairs(labels, rows)
        labels = np.asarray(labels, np.int64)
        places, distances = self.search(None, rows, labels[rows], labels, 1)
        return closest_of_each(labels, rows, places[:, 0].astype(np.int64), distances[:, 0])

    def nearest_of(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        rows = np.asarray(rows, np.int64)
        if self.is_small(len(rows)):
            return super().nearest_of(rows, k)
        return self.search(None, rows, rows, np.arange(self.n), k)

    def ranks_of(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        rows, others = np.asarray(rows, np.int64), np.asarray(others, np.int64)
        if self.is_small(len(rows)):
            return super().ranks_of(rows, others)
        return self._count_nearer(rows, others, self._rank_precision(rows, others))[0]

    def distances_of(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        out = np.empty(len(i))

        def work(run: slice, slot: int) -> None:
            out[run] = self.distances(self._pair_squares(i[run], j[run]), self.scaling)

        backend_of(out).for_each(slices(len(i), _PAIRS), work, self.n_jobs)
        return out

    def _sort_keys(self, rows: np.ndarray) -> np.ndarray:
        """Squared distances, which are what the tiles compare too."""
        D = square_distances(self.rows.take(rows), self.rows, self.scaling)
        D[np.arange(len(rows)), rows] = np.inf
        return D

    def _distances_from_keys(self, keys: np.ndarray) -> np.ndarray:
        return self.distances(keys, self.scaling)

    def between(self, rows: Any, others: Any) -> np.ndarray:
        left, right = self.rows.take(np.asarray(rows)), self.rows.take(np.asarray(others))
        return self.distances(square_distances(left, right, self.scaling), self.scaling)

    def distance_block(self, Y: Any, run: Any) -> np.ndarray:
        scaling = self.scaling if Y is None else self.scaling.reaching(Y)
        left = self.rows.take(run) if Y is None else exact_rows(Y[run], scaling)
        return self.distances(square_distances(left, self.rows, scaling), scaling)

    def is_small(self, m: int) -> bool:
        return m * self.n < self.compiled_above and not sp.issparse(self.X)

    def distances(self, squares: np.ndarray, scaling: RowScaling) -> np.ndarray:
        """Distances by the metric, in the data's precision, from ‖x − y‖² in the scaling's unit, overwritten."""
        if scaling.angles:
            squares *= 0.5  # 1 − cos = ‖u − v‖² / 2 for unit vectors
        elif self.metric == "sqeuclidean":
            squares *= scaling.unit
            squares *= scaling.unit
        else:
            np.sqrt(squares, out=squares)
            squares *= scaling.unit
        return squares.astype(self.dtype, copy=False)

    # --- the k nearest ---------------------------------------------------------------------------------

    def search(
        self, Y: Any, rows: np.ndarray, own: np.ndarray, groups: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest of `rows` of Y (of the indexed ones if None) among the indexed rows of other groups.

        own : the group of each of `rows`;  groups : the group of each indexed row
        Returns indices, −1 if there are fewer than k, and distances.
        """
        scaling = self.scaling if Y is None else self.scaling.reaching(Y)
        left = self.rows if Y is None else exact_rows(Y, scaling)
        dtype = self._precision(left, scaling, rows, own, groups, k)
        if Y is None and self._mirrors(rows, k):
            places, squares = self._mirrored_sweep(own, groups, k, dtype)
        else:
            places, squares, _ = self._sweep(left, scaling, rows, own, groups, k, dtype)
        return places, self.distances(squares, scaling)

    def _mirrors(self, rows: np.ndarray, k: int) -> bool:
        """Whether each tile should be used for its rows and for its columns: half of the products are then enough."""
        if len(rows) < self.n or self.n <= self.tile[1] or not mirrored_search(self.n, k):
            return False
        return work_per_pair(self.X) >= self.mirrored_from and bool((rows == np.arange(self.n)).all())

    def _precision(
        self, left: ExactRows, scaling: RowScaling, rows: np.ndarray, own: np.ndarray, groups: np.ndarray, k: int
    ) -> Any:
        """float32, unless a few rows show that it leaves too many pairs undecided."""
        if self.precision is not None:
            return self.precision
        if scaling.rounding(np.float32) > _COARSE:
            return np.float64
        if len(rows) < 4 * _PROBE:
            return np.float32
        tried = np.linspace(0, len(rows) - 1, _PROBE).astype(np.int64)
        computed = self._sweep(left, scaling, rows[tried], own[tried], groups, k, np.float32)[2]
        # More than 2 % of all pairs, besides those that every search computes from their rows.
        return np.float64 if computed.mean() > 2 * k + 64 + self.n / 50 else np.float32

    def _sweep(
        self,
        left: ExactRows,
        scaling: RowScaling,
        rows: np.ndarray,
        own: np.ndarray,
        groups: np.ndarray,
        k: int,
        dtype: Any,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Indices, squared distances, and the number of pairs of each row that were computed one by one."""
        compiled, right, coarse = kernels(), self.rows, self.rounded(dtype, scaling)
        places, squares = np.empty((len(rows), k), np.int32), np.empty((len(rows), k))
        computed = np.zeros(len(rows), np.int64)
        columns = np.arange(self.n, dtype=np.int32)

        def work(run: slice, slot: int) -> None:
            part, which = rows[run], np.arange(run.stop - run.start)
            block, extra = rounded_rows(left.take(part), scaling, dtype), left.extra[part]
            state, room = new_state(len(part), k, computed[run]), np.empty(self.tile[0] * self.tile[1], dtype)
            pairs = left.exact, extra, right.exact, right.extra, 1 / scaling.unit
            for tile in slices(self.n, self.tile[1]):
                dots = products(block.rows, coarse.rows[tile], room)
                norms = block.norms, coarse.norms[tile], coarse.width
                compiled.scan(dots, *norms, which, part, columns[tile], own[run], groups, k, state, *pairs)
            compiled.finish(part, k, state, *pairs, places[run], squares[run])

        with phase("neighbours"):
            backend_of(squares).for_each(slices(len(rows), self.tile[0]), work, self.n_jobs)
        return places, squares, computed

    def _mirrored_sweep(self, own: np.ndarray, groups: np.ndarray, k: int, dtype: Any) -> tuple[np.ndarray, np.ndarray]:
        """The sweep of all rows, from the tiles on and above the diagonal. Threads take turns at a row.

        What a row keeps does not depend on the order in which it sees the others, so neither does the answer.
        """
        compiled, ready, coarse = kernels(), self.rows, self.rounded(dtype, self.scaling)
        places, squares = np.empty((self.n, k), np.int32), np.empty((self.n, k))
        columns, inverse = np.arange(self.n, dtype=np.int32), 1 / self.scaling.unit
        parts = list(slices(self.n, self.tile[0]))
        blocks = [np.arange(run.start, run.stop) for run in parts]
        states = [new_state(len(block), k, np.zeros(len(block), np.int64), MIRRORED_ROOM + k) for block in blocks]
        locks = [Lock() for _ in parts]
        spans = list(slices(self.n, self.tile[1] // self.tile[0] * self.tile[0]))
        # Tiles with the same columns follow one another, so that a thread prepares these rows once.
        jobs = [(job, span) for span in spans for job, run in enumerate(parts) if run.start < span.stop]
        prepared: dict[int, tuple[slice, Operand]] = {}

        def take(job: int, dots: np.ndarray, others: slice) -> None:
            """The tile of a block of rows with others."""
            part, run = blocks[job], parts[job]
            norms, which = (coarse.norms[run], coarse.norms[others], coarse.width), np.arange(len(part))
            pairs = ready.exact, ready.extra[run], ready.exact, ready.extra, inverse
            with locks[job]:
                compiled.scan(dots, *norms, which, part, columns[others], own[run], groups, k, states[job], *pairs)

        def work(place: tuple[int, slice], slot: int) -> None:
            job, span = place
            room = np.empty(self.tile[0] * self.tile[1], dtype)
            if prepared.get(slot, (None,))[0] != span:
                prepared[slot] = span, Operand(coarse.rows[span])
            others = slice(max(parts[job].start, span.start), span.stop)
            dots = products(coarse.rows[parts[job]], prepared[slot][1].after(others.start - span.start), room)
            take(job, dots, others)
            for other in range(max(others.start // self.tile[0], job + 1), -(-span.stop // self.tile[0])):
                start, stop = parts[other].start - others.start, parts[other].stop - others.start
                take(other, np.ascontiguousarray(dots[:, start:stop].T), parts[job])

        def close(job: int, slot: int) -> None:
            run = parts[job]
            pairs = ready.exact, ready.extra[run], ready.exact, ready.extra, inverse
            compiled.finish(blocks[job], k, states[job], *pairs, places[run], squares[run])

        backend = backend_of(squares)
        with phase("neighbours"):
            backend.for_each(jobs, work, self.n_jobs)
        backend.for_each(range(len(parts)), close, self.n_jobs)
        return places, squares

    def rounded(self, dtype: Any, scaling: RowScaling) -> RoundedRows:
        """The indexed rows in the precision of a tile: kept for the own scaling, made anew for another unit."""
        if scaling is not self.scaling:
            return rounded_rows(self.rows, scaling, dtype)
        if dtype not in self._coarse:
            self._coarse[dtype] = rounded_rows(self.rows, scaling, dtype)
        return self._coarse[dtype]

    # --- all within a radius ---------------------------------------------------------------------------

    def pairs_within(self, Y: Any, radius: float) -> sp.csr_array:
        if Y is not None and len(classes := self.scaling.classes(Y)) > 1:
            graphs = [self.pairs_within(Y[rows], radius) for rows in classes]
            return sp.csr_array(sp.vstack(graphs, format="csr"))[np.argsort(np.concatenate(classes))]
        m = self.n if Y is None else Y.shape[0]
        if self.is_small(m) or not np.isfinite(radius):
            return super().pairs_within(Y, radius)
        scaling = self.scaling if Y is None else self.scaling.reaching(Y)
        left = self.rows if Y is None else exact_rows(Y, scaling)
        runs = list(slices(m, self.tile[0]))
        parts: list[Any] = [None] * len(runs)

        def work(job: int, slot: int) -> None:
            rows, columns, squares = self._pairs_within(
                left, scaling, runs[job], self._square(radius, scaling), Y is None
            )
            distances = self.distances(squares, scaling)
            near = distances <= radius
            refuse_too_many_pairs(len(rows) * (len(runs) - job), self.dtype.itemsize)
            parts[job] = rows[near] + runs[job].start, columns[near], distances[near]

        self.rounded(np.float32, self.scaling)
        backend_of(left.extra).for_each(range(len(runs)), work, self.n_jobs)
        return graph_of_pairs(parts, (m, self.n))

    def _square(self, radius: float, scaling: RowScaling) -> float:
        """A squared distance in the scaling's unit that no pair within the radius exceeds."""
        if scaling.angles:
            square = 2 * radius
        else:
            square = (
                radius / scaling.unit / scaling.unit if self.metric == "sqeuclidean" else (radius / scaling.unit) ** 2
            )
        return square * (1 + 8 * float(np.finfo(self.dtype).eps))

    def _pairs_within(
        self, left: ExactRows, scaling: RowScaling, run: slice, limit: float, is_own: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        compiled, right, coarse = kernels(), self.rows, self.rounded(np.float32, scaling)
        part = np.arange(run.start, run.stop)
        block, extra = rounded_rows(left.take(run), scaling, np.float32), left.extra[run]
        own = part if is_own else np.full(len(part), -1)
        room, size = np.empty(self.tile[0] * self.tile[1], np.float32), len(part) * self.tile[1]
        buffers = np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size)
        found = []
        for tile in slices(self.n, self.tile[1]):
            dots = products(block.rows, coarse.rows[tile], room)
            columns = np.arange(tile.start, tile.stop, dtype=np.int32)
            norms, pairs = (block.norms, coarse.norms[tile]), (left.exact, extra, right.exact, right.extra)
            number = compiled.collect(dots, *norms, part, columns, own, limit, *pairs, 1 / scaling.unit, *buffers)
            found.append([buffer[:number].copy() for buffer in buffers])
        rows, places, squares = (np.concatenate(column) for column in zip(*found, strict=True))
        return rows, places, squares

    # --- ranks and single pairs ------------------------------------------------------------------------------

    def _pair_squares(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """‖x − y‖² coordinate by coordinate, in the scaling's unit so that no square overflows."""
        inverse = 1 / self.scaling.unit
        A, B = (self.rows.rows[part] for part in (i, j))
        if sp.issparse(A):
            squares = np.asarray((A.astype(np.float64) * inverse - B.astype(np.float64) * inverse).power(2).sum(axis=1))
        else:
            difference = np.asarray(A, np.float64) * inverse - np.asarray(B, np.float64) * inverse
            squares = np.einsum("ij,ij->i", difference, difference)
        return squares.ravel() + np.where(i == j, 0.0, self.rows.extra[i] + self.rows.extra[j])

    def _rank_precision(self, rows: np.ndarray, others: np.ndarray) -> Any:
        """float32, unless a few rows show that its tiles leave too many pairs undecided."""
        if self.scaling.rounding(np.float32) > _COARSE:
            return np.float64
        if len(rows) < 4 * _PROBE:
            return np.float32
        tried = np.linspace(0, len(rows) - 1, _PROBE).astype(np.int64)
        undecided = self._count_nearer(rows[tried], others[tried], np.float32)[1]
        return np.float64 if undecided > _PROBE * (64 + self.n / 50) else np.float32  # 2 % of all pairs, as above

    def _count_nearer(self, rows: np.ndarray, others: np.ndarray, dtype: Any) -> tuple[np.ndarray, int]:
        """The ranks, and the number of pairs that the tiles could not decide."""
        compiled = import_module("mercer.backends.compiled_ranks")
        ready, scaling, coarse = self.rows, self.scaling, self.rounded(dtype, self.scaling)
        ranks, computed = np.empty(others.shape, np.int64), np.zeros(len(rows), np.int64)

        def work(run: slice, slot: int) -> None:
            part = rows[run]
            block, room = rounded_rows(ready.take(part), scaling, dtype), np.empty(_RANK_ROWS * _RANK_COLUMNS, dtype)
            pairs = ready.exact, ready.extra[part], ready.exact, ready.extra, 1 / scaling.unit
            squares = np.empty(others[run].shape)
            compiled.limits_of(ready.exact, part, pairs[1], ready.exact, others[run], ready.extra, pairs[4], squares)
            order = np.argsort(squares, axis=1)
            limits, counts = np.take_along_axis(squares, order, axis=1), np.zeros(squares.shape, np.int64)
            for tile in slices(self.n, _RANK_COLUMNS):
                dots = products(block.rows, coarse.rows[tile], room)
                norms = block.norms, coarse.norms[tile], coarse.width
                computed[run.start] += compiled.count_nearer(dots, *norms, tile.start, part, limits, *pairs, counts)
            np.put_along_axis(ranks[run], order, 1 + counts, axis=1)

        backend_of(ranks).for_each(slices(len(rows), _RANK_ROWS), work, self.n_jobs)
        return ranks, int(computed.sum())


def new_state(m: int, k: int, computed: np.ndarray, room: int = 0) -> tuple[np.ndarray, ...]:
    """What `scan` keeps of m rows: intervals, their columns, number and bound, and the number of pairs computed."""
    room = room or 2 * k + 64
    empty = np.zeros(m, np.int64)
    return np.empty((m, room)), np.empty((m, room)), np.empty((m, room), np.int32), empty, np.full(m, np.inf), computed


def square_distances(left: ExactRows, right: ExactRows, scaling: RowScaling) -> np.ndarray:
    """‖x − y‖² in the scaling's unit for all pairs, coordinate by coordinate, in float64."""
    if not sp.issparse(left.rows):
        A, B = (np.asarray(part.rows, np.float64) * (1 / scaling.unit) for part in (left, right))
        return cdist(A, B, "sqeuclidean") + left.extra[:, None] + right.extra[None, :]
    out = np.empty((left.rows.shape[0], right.rows.shape[0]))
    rows, others = np.arange(out.shape[0]), np.arange(out.shape[1])
    kernels().table(left.exact, rows, left.extra, right.exact, others, right.extra, 1 / scaling.unit, out)
    return out


def kernels() -> Any:
    return import_module("mercer.backends.compiled_neighbors")

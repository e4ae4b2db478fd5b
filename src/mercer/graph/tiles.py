"""Exact Euclidean, cosine and correlation neighbours from tiles of dot products.

Tiles are float32; what they leave open is computed coordinate by coordinate from the data itself, so neighbours and
distances are those of the data's own precision (see `mercer.backends.compiled_neighbors`). Where float32 leaves too
much open, as for tight clusters far apart, tiles are float64.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from mercer.backends import backend_of
from mercer.graph.blocks import BlockIndex
from mercer.graph.frame import Coarse, Frame, Ready, make_coarse, make_ready, products
from mercer.graph.index import Neighbors, closest_of_each, graph_of_pairs, refuse_too_many_pairs
from mercer.graph.rows import check_rows
from mercer.models.fields import THREADS, SavedRecord, either, floats, one_of, sparse, text

METRICS = ("euclidean", "l2", "sqeuclidean", "cosine", "correlation")
_ROWS, _COLUMNS = 256, 2048  # of a tile
_COMPILED_ABOVE = 2**19  # distances above which numba earns the time it takes to load
_PROBE = 64  # rows on which the precision of the tiles is tried


class TileIndex(BlockIndex):
    """An index of vectors, searched by tiles (final). Cost: 2 n d flops a row, and O(nk) memory.

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

    def __init__(self, X: Any, metric: str = "euclidean", n_jobs: int | None = None, reason: str = "asked for") -> None:
        self.X, self.metric, self.n_jobs, self.reason = X, metric, n_jobs, reason
        self.n, self.dtype = X.shape[0], X.dtype
        self.frame = Frame.of(X, metric)
        self.ready = make_ready(X, self.frame)
        self._coarse: dict[Any, Coarse] = {}

    def _samples(self, Y: Any) -> Any:
        return check_rows(Y, like=self.X)

    def _nearest(self, Y: Any, own: np.ndarray, k: int) -> Neighbors:
        if Y is not None and len(classes := self.frame.classes(Y)) > 1:
            answers = [self._nearest(Y[rows], own[rows], k) for rows in classes]
            back = np.argsort(np.concatenate(classes))
            indices, far = (np.concatenate([getattr(a, name) for a in answers]) for name in ("indices", "distances"))
            return Neighbors(indices[back], far[back], self.method)
        if self._is_small(len(own)):
            return super()._nearest(Y, own, k)
        places, distances = self.search(Y, np.arange(len(own)), own, np.arange(self.n), k)
        return Neighbors(places, distances, self.method)

    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self._is_small(len(rows)):
            return super().closest_pairs(labels, rows)
        labels = np.asarray(labels, np.int64)
        places, distances = self.search(None, rows, labels[rows], labels, 1)
        return closest_of_each(labels, rows, places[:, 0].astype(np.int64), distances[:, 0])

    def between(self, rows: Any, others: Any) -> np.ndarray:
        left, right = self.ready.take(np.asarray(rows)), self.ready.take(np.asarray(others))
        return self.distances(_table(left, right, self.frame), self.frame)

    def _block(self, Y: Any, run: Any) -> np.ndarray:
        frame = self.frame if Y is None else self.frame.reaching(Y)
        left = self.ready.take(run) if Y is None else make_ready(Y[run], frame)
        return self.distances(_table(left, self.ready, frame), frame)

    def _is_small(self, m: int) -> bool:
        return m * self.n < _COMPILED_ABOVE and not sp.issparse(self.X)

    def distances(self, squares: np.ndarray, frame: Frame) -> np.ndarray:
        """From ‖x − y‖² in the frame's unit to the metric, in the data's precision."""
        if frame.angles:
            squares *= 0.5  # 1 − cos = ‖u − v‖² / 2 for unit vectors
        elif self.metric == "sqeuclidean":
            squares *= frame.unit
            squares *= frame.unit
        else:
            np.sqrt(squares, out=squares)
            squares *= frame.unit
        return squares.astype(self.dtype, copy=False)

    # --- the k nearest ---------------------------------------------------------------------------------

    def search(
        self, Y: Any, rows: np.ndarray, own: np.ndarray, groups: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The k nearest to `rows` of Y (of the indexed ones if None) whose group is not the row's own.

        Places, −1 where there are fewer, and distances.
        """
        frame = self.frame if Y is None else self.frame.reaching(Y)
        left = self.ready if Y is None else make_ready(Y, frame)
        dtype = self._precision(left, frame, rows, own, groups, k)
        places, squares, _ = self._sweep(left, frame, rows, own, groups, k, dtype)
        return places, self.distances(squares, frame)

    def _precision(
        self, left: Ready, frame: Frame, rows: np.ndarray, own: np.ndarray, groups: np.ndarray, k: int
    ) -> Any:
        """float32, unless a few rows show that it leaves too many pairs open."""
        if frame.rounding(np.float32) > 0.01:
            return np.float64
        if len(rows) < 4 * _PROBE:
            return np.float32
        tried = np.linspace(0, len(rows) - 1, _PROBE).astype(np.int64)
        computed = self._sweep(left, frame, rows[tried], own[tried], groups, k, np.float32)[2]
        return np.float64 if computed.mean() > 2 * k + 64 + self.n / 50 else np.float32

    def _sweep(
        self, left: Ready, frame: Frame, rows: np.ndarray, own: np.ndarray, groups: np.ndarray, k: int, dtype: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places, squared distances, and how many pairs of each row were computed one by one."""
        compiled, right, coarse = kernels(), self.ready, self._coarse_in(dtype, frame)
        places, squares = np.empty((len(rows), k), np.int32), np.empty((len(rows), k))
        computed = np.zeros(len(rows), np.int64)
        columns = np.arange(self.n, dtype=np.int32)

        def work(run: slice, slot: int) -> None:
            part, which = rows[run], np.arange(run.stop - run.start)
            block, extra = make_coarse(left.take(part), frame, dtype), left.extra[part]
            state, room = new_state(len(part), k, computed[run]), np.empty(_ROWS * _COLUMNS, dtype)
            pairs = left.exact, extra, right.exact, right.extra, 1 / frame.unit
            for tile in slices(self.n, _COLUMNS):
                dots = products(block.rows, coarse.rows[tile], room)
                norms = block.norms, coarse.norms[tile], coarse.width
                compiled.scan(dots, *norms, which, part, columns[tile], own[run], groups, k, state, *pairs)
            compiled.finish(part, k, state, *pairs, places[run], squares[run])

        backend_of(squares).for_each(slices(len(rows), _ROWS), work, self.n_jobs)
        return places, squares, computed

    def _coarse_in(self, dtype: Any, frame: Frame) -> Coarse:
        """The indexed rows for tiles of a precision, made once; anew for rows that need another unit."""
        if frame is not self.frame:
            return make_coarse(self.ready, frame, dtype)
        if dtype not in self._coarse:
            self._coarse[dtype] = make_coarse(self.ready, frame, dtype)
        return self._coarse[dtype]

    # --- all within a radius ---------------------------------------------------------------------------

    def _within(self, Y: Any, radius: float) -> sp.csr_array:
        if Y is not None and len(classes := self.frame.classes(Y)) > 1:
            graphs = [self._within(Y[rows], radius) for rows in classes]
            return sp.csr_array(sp.vstack(graphs, format="csr"))[np.argsort(np.concatenate(classes))]
        m = self.n if Y is None else Y.shape[0]
        if self._is_small(m) or not np.isfinite(radius):
            return super()._within(Y, radius)
        frame = self.frame if Y is None else self.frame.reaching(Y)
        left = self.ready if Y is None else make_ready(Y, frame)
        runs = list(slices(m, _ROWS))
        parts: list[Any] = [None] * len(runs)

        def work(job: int, slot: int) -> None:
            rows, columns, squares = self._pairs_within(left, frame, runs[job], self._square(radius, frame), Y is None)
            distances = self.distances(squares, frame)
            near = distances <= radius
            refuse_too_many_pairs(len(rows) * (len(runs) - job), self.dtype.itemsize)
            parts[job] = rows[near] + runs[job].start, columns[near], distances[near]

        self._coarse_in(np.float32, self.frame)
        backend_of(left.extra).for_each(range(len(runs)), work, self.n_jobs)
        return graph_of_pairs(parts, (m, self.n))

    def _square(self, radius: float, frame: Frame) -> float:
        """The squared distance in the frame's unit that no pair within the radius exceeds."""
        if frame.angles:
            square = 2 * radius
        else:
            square = radius / frame.unit / frame.unit if self.metric == "sqeuclidean" else (radius / frame.unit) ** 2
        return square * (1 + 8 * float(np.finfo(self.dtype).eps))

    def _pairs_within(
        self, left: Ready, frame: Frame, run: slice, limit: float, is_own: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        compiled, right, coarse = kernels(), self.ready, self._coarse_in(np.float32, frame)
        part = np.arange(run.start, run.stop)
        block, extra = make_coarse(left.take(run), frame, np.float32), left.extra[run]
        own = part if is_own else np.full(len(part), -1)
        room, size = np.empty(_ROWS * _COLUMNS, np.float32), len(part) * _COLUMNS
        buffers = np.empty(size, np.int64), np.empty(size, np.int32), np.empty(size)
        found = []
        for tile in slices(self.n, _COLUMNS):
            dots = products(block.rows, coarse.rows[tile], room)
            columns = np.arange(tile.start, tile.stop, dtype=np.int32)
            norms, pairs = (block.norms, coarse.norms[tile]), (left.exact, extra, right.exact, right.extra)
            number = compiled.collect(dots, *norms, part, columns, own, limit, *pairs, 1 / frame.unit, *buffers)
            found.append([buffer[:number].copy() for buffer in buffers])
        rows, places, squares = (np.concatenate(column) for column in zip(*found, strict=True))
        return rows, places, squares


def new_state(m: int, k: int, computed: np.ndarray) -> tuple[np.ndarray, ...]:
    """What `scan` keeps of m rows: intervals, whose they are, how many, their bound, and how many were computed."""
    room = 2 * k + 64
    empty = np.zeros(m, np.int64)
    return np.empty((m, room)), np.empty((m, room)), np.empty((m, room), np.int32), empty, np.full(m, np.inf), computed


def slices(n: int, step: int) -> Iterator[slice]:
    return (slice(start, min(start + step, n)) for start in range(0, n, step))


def _table(left: Ready, right: Ready, frame: Frame) -> np.ndarray:
    """‖x − y‖² in the frame's unit for all pairs, coordinate by coordinate, float64."""
    if not sp.issparse(left.rows):
        A, B = (np.asarray(part.rows, np.float64) * (1 / frame.unit) for part in (left, right))
        return cdist(A, B, "sqeuclidean") + left.extra[:, None] + right.extra[None, :]
    out = np.empty((left.rows.shape[0], right.rows.shape[0]))
    rows, others = np.arange(out.shape[0]), np.arange(out.shape[1])
    kernels().table(left.exact, rows, left.extra, right.exact, others, right.extra, 1 / frame.unit, out)
    return out


def kernels() -> Any:
    return import_module("mercer.backends.compiled_neighbors")

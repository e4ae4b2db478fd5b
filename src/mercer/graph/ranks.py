"""What a score of a map asks of some indexed rows: their neighbours, the ranks of given rows, distances of given pairs.

    nearest_of(index, rows, k)        the k nearest of some rows, exact
    ranks_of(index, rows, others)     1 for the nearest of a row, 2 for the next …
    distances_of(index, i, j)         of pairs

Costs are n distances a row for the first two: O(mk) memory, and never m × n numbers at once.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import backend_of
from mercer.graph.blocks import BlockIndex, smallest
from mercer.graph.frame import make_coarse, products
from mercer.graph.precomputed import MatrixIndex
from mercer.graph.tiles import _PROBE, TileIndex, _table, slices
from mercer.graph.trees import TreeIndex

_ROWS, _COLUMNS = 128, 1024  # of a tile: it stays in the cache of a core
_PAIRS = 4096  # whose rows are taken at once
_SQUARE = 16  # pairs for which a table of all their distances is made, where a metric has no other way


def nearest_of(index: BlockIndex, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Places (m, k) and distances (m, k) of the k nearest of indexed rows, without the rows themselves."""
    rows = np.asarray(rows, np.int64)
    if isinstance(index, TreeIndex):
        found = index._nearest(index.X[rows], rows, k)
        return found.indices, found.distances
    if isinstance(index, TileIndex) and not index._is_small(len(rows)):
        return index.search(None, rows, rows, np.arange(index.n), k)
    places, values = np.empty((len(rows), k), np.int32), np.empty((len(rows), k))

    def work(run: slice, slot: int) -> None:
        places[run], values[run] = smallest(_hidden(index, rows[run]), k)

    backend_of(values).for_each(index._runs(len(rows)), work, index.n_jobs)
    return places, index.distances(values, index.frame) if isinstance(index, TileIndex) else values.astype(index.dtype)


def ranks_of(index: BlockIndex, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(m, k), how near others[i, s] is to rows[i] among all indexed rows: 1 + how many are nearer.

    Rows at one distance share the best of their ranks.
    """
    rows, others = np.asarray(rows, np.int64), np.asarray(others, np.int64)
    if isinstance(index, TreeIndex):
        index = index._whole
    if isinstance(index, TileIndex) and not index._is_small(len(rows)):
        return _by_tiles(index, rows, others)
    ranks = np.empty(others.shape, np.int64)

    def work(run: slice, slot: int) -> None:
        D = _hidden(index, rows[run])
        limits = np.take_along_axis(D, others[run], axis=1)
        D.sort(axis=1)
        for i, (row, limit) in enumerate(zip(D, limits, strict=True), run.start):
            ranks[i] = 1 + np.searchsorted(row, limit)

    backend_of(ranks).for_each(index._runs(len(rows)), work, index.n_jobs)
    return ranks


def distances_of(index: BlockIndex, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """(m,) distances of the pairs of indexed rows, float64."""
    if isinstance(index, TreeIndex):
        index = index._whole
    if isinstance(index, MatrixIndex):
        return index.D[i, j].astype(np.float64)
    out = np.empty(len(i))
    by, work = (_PAIRS, _paired) if isinstance(index, TileIndex) else (_SQUARE, _diagonal)
    backend_of(out).for_each(slices(len(i), by), lambda run, _: work(index, i[run], j[run], out[run]), index.n_jobs)
    return out


def _paired(index: Any, i: np.ndarray, j: np.ndarray, out: np.ndarray) -> None:
    """Coordinate by coordinate, in the frame's unit so that no square overflows."""
    ready, inverse = index.ready, 1 / index.frame.unit
    A, B = (ready.rows[part] for part in (i, j))
    if sp.issparse(A):
        squares = np.asarray((A.astype(np.float64) * inverse - B.astype(np.float64) * inverse).power(2).sum(axis=1))
    else:
        difference = np.asarray(A, np.float64) * inverse - np.asarray(B, np.float64) * inverse
        squares = np.einsum("ij,ij->i", difference, difference)
    total = squares.ravel() + np.where(i == j, 0.0, ready.extra[i] + ready.extra[j])
    out[:] = index.distances(total, index.frame)


def _diagonal(index: Any, i: np.ndarray, j: np.ndarray, out: np.ndarray) -> None:
    out[:] = np.diagonal(index.between(i, j))


def _hidden(index: BlockIndex, rows: np.ndarray) -> np.ndarray:
    """What orders the distances of rows to all, infinite to themselves: squares where tiles would compare those."""
    if isinstance(index, TileIndex):
        D = _table(index.ready.take(rows), index.ready, index.frame)
    else:
        D = index._block(None, rows)
    D[np.arange(len(rows)), rows] = np.inf
    return D


def _by_tiles(index: TileIndex, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    dtype: Any = np.float32
    if index.frame.rounding(np.float32) > 0.01:
        dtype = np.float64
    elif len(rows) >= 4 * _PROBE:
        tried = np.linspace(0, len(rows) - 1, _PROBE).astype(np.int64)
        if _counted(index, rows[tried], others[tried], dtype)[1] > _PROBE * (64 + index.n / 50):
            dtype = np.float64
    return _counted(index, rows, others, dtype)[0]


def _counted(index: TileIndex, rows: np.ndarray, others: np.ndarray, dtype: Any) -> tuple[np.ndarray, int]:
    """The ranks, and how many pairs the tiles could not decide."""
    compiled = import_module("mercer.backends.compiled_ranks")
    ready, frame, coarse = index.ready, index.frame, index._coarse_in(dtype, index.frame)
    ranks, computed = np.empty(others.shape, np.int64), np.zeros(len(rows), np.int64)

    def work(run: slice, slot: int) -> None:
        part = rows[run]
        block, room = make_coarse(ready.take(part), frame, dtype), np.empty(_ROWS * _COLUMNS, dtype)
        pairs = ready.exact, ready.extra[part], ready.exact, ready.extra, 1 / frame.unit
        squares = np.empty(others[run].shape)
        compiled.limits_of(ready.exact, part, pairs[1], ready.exact, others[run], ready.extra, pairs[4], squares)
        order = np.argsort(squares, axis=1)
        limits, counts = np.take_along_axis(squares, order, axis=1), np.zeros(squares.shape, np.int64)
        for tile in slices(index.n, _COLUMNS):
            dots = products(block.rows, coarse.rows[tile], room)
            norms = block.norms, coarse.norms[tile], coarse.width
            computed[run.start] += compiled.count_nearer(dots, *norms, tile.start, part, limits, *pairs, counts)
        np.put_along_axis(ranks[run], order, 1 + counts, axis=1)

    backend_of(ranks).for_each(slices(len(rows), _ROWS), work, index.n_jobs)
    return ranks, int(computed.sum())

"""Exact neighbours from trees: SciPy's KD-tree for few dimensions, scikit-learn's ball tree for other metrics."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.neighbors import BallTree

from mercer.backends import backend_of, slices
from mercer.graph.block_index import BlockIndex
from mercer.graph.box_tree import BoxTree
from mercer.graph.metric_index import MetricIndex
from mercer.graph.neighbor_index import Neighbors, graph_of_pairs, refuse_too_many_pairs
from mercer.graph.row_checks import check_rows
from mercer.graph.tile_index import TileIndex
from mercer.linalg.inner import power_of_two
from mercer.models.fields import THREADS, SavedRecord, at_least, floats, instance_of, text
from mercer.progress import phase

_ROWS = 4096  # rows of one query to a tree
_SPARE = 2  # neighbours asked for beyond k + 1: they show whether the k-th is tied with the next
_MOST_TIES = 8  # times k: with more neighbours at one distance, comparing all rows is faster
_FAR = 2.0**100  # times the data's unit: powers of larger coordinates could overflow
_SLACK = 1e-12  # relative: radii are enlarged by it, because a tree rounds its distances differently


class TreeIndex(BlockIndex):
    """An index that asks a tree, and computes whole rows of distances if the tree cannot decide (abstract)."""

    X: np.ndarray
    whole: BlockIndex  # the same distances without a tree

    @abstractmethod
    def _ask(self, Y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Distances and indices of the k nearest, equal distances in any order."""

    def between(self, rows: Any, others: Any) -> np.ndarray:
        return self.whole.between(rows, others)

    def read_rows(self, Y: Any) -> Any:
        return check_rows(Y, like=self.X)

    def distance_block(self, Y: Any, run: Any) -> np.ndarray:
        return self.whole.distance_block(Y, run)

    def nearest_of(self, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        rows = np.asarray(rows, np.int64)
        found = self.nearest_except(self.X[rows], rows, k)
        return found.indices, found.distances

    def ranks_of(self, rows: np.ndarray, others: np.ndarray) -> np.ndarray:
        return self.whole.ranks_of(rows, others)

    def distances_of(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.whole.distances_of(i, j)

    def nearest_except(self, Y: Any, own: np.ndarray, k: int) -> Neighbors:
        rows = self.X if Y is None else Y
        indices, distances = np.empty((len(own), k), np.int32), np.empty((len(own), k), self.dtype)
        tied: list[Any] = [()] * (len(own) // _ROWS + 1)

        def work(run: slice, slot: int) -> None:
            todo, more = np.arange(run.start, run.stop), k + 1 + _SPARE
            while len(todo) and more <= max(self._most(k), k + 1 + _SPARE):
                places, found, open_ = self._ordered(rows[todo], own[todo], k, min(more, self.n))
                indices[todo[~open_]], distances[todo[~open_]] = places[~open_], found[~open_]
                todo, more = todo[open_], 2 * more
            tied[run.start // _ROWS] = todo

        with phase("neighbours"):
            backend_of(rows).for_each(slices(len(own), _ROWS), work, self.n_jobs)
        left = np.concatenate([np.asarray(part, np.int64) for part in tied])
        if len(left):
            answer = self.whole.nearest_except(rows[left], own[left], k)
            indices[left], distances[left] = answer.indices, answer.distances
        return Neighbors(indices, distances, self.method)

    def _most(self, k: int) -> int:
        return min(_MOST_TIES * (k + 8), 2 * self.n)

    def _ordered(
        self, rows: np.ndarray, own: np.ndarray, k: int, asked: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The k nearest by distance, then index; and the rows that may have more neighbours at the k-th distance."""
        found, places = self._ask(rows, asked)
        found = np.where(places == own[:, None], np.inf, found)
        order = np.lexsort((places, found), axis=1)
        found, places = np.take_along_axis(found, order, axis=1), np.take_along_axis(places, order, axis=1)
        last = np.where(np.isfinite(found), found, -np.inf).max(axis=1)
        open_ = (found[:, k - 1] >= last * (1 - _SLACK)) & (asked < self.n)
        return places[:, :k], found[:, :k], open_


class KDTreeIndex(TreeIndex):
    """An index by ‖x − y‖_p with SciPy's KD-tree (final). Cost: about log n per row if d is small.

    X : (n, d), dense
    p : 1 ≤ p ≤ ∞
    """

    _saved = SavedRecord(
        "index.KDTreeIndex",
        {
            "X": floats("n", "d"),
            "p": at_least(1.0),
            "whole": instance_of("index.TileIndex", "index.MetricIndex", n="n", d="d"),
            "n_jobs": THREADS,
            "reason": text,
        },
    )

    method = "kd_tree"
    boxes_above = 2**22  # distances above which a tree of boxes is worth the time that its code takes to load

    def __init__(self, X: np.ndarray, p: float, whole: BlockIndex, n_jobs: int | None, reason: str) -> None:
        self.X, self.p, self.whole, self.n_jobs, self.reason = X, p, whole, n_jobs, reason
        self.n, self.dtype = X.shape[0], X.dtype
        self.unit = power_of_two(float(np.abs(X).max()), 500)
        self._boxes: BoxTree | None = None
        self.tree = cKDTree(self._scaled(X), leafsize=16, balanced_tree=False, compact_nodes=False)

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X, np.float64) / self.unit

    def _ask(self, Y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        distances, places = self.tree.query(self._scaled(Y), k=np.arange(1, k + 1), p=self.p)
        return distances * self.unit, places

    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if len(rows) * self.n < self.boxes_above:
            return super().closest_pairs(labels, rows)
        if self._boxes is None:
            self._boxes = BoxTree(self.tree.data, self.tree.indices)
        i, j, distances = self._boxes.closest(labels, rows, self.p, self.n_jobs)
        return i, j, (distances * self.unit).astype(self.dtype)

    def pairs_within(self, Y: Any, radius: float) -> sp.csr_array:
        m = self.n if Y is None else Y.shape[0]
        if Y is not None and np.abs(Y).max() > _FAR * self.unit:
            return self.whole.pairs_within(Y, radius)  # powers of its distances would overflow
        bound = min(radius / self.unit * (1 + _SLACK), 2.0**600)
        tree = self.tree if Y is None else cKDTree(self._scaled(Y))
        refuse_too_many_pairs(float(tree.count_neighbors(self.tree, bound, p=self.p)), 32)
        pairs = tree.sparse_distance_matrix(self.tree, bound, p=self.p, output_type="ndarray")
        distances = (pairs["v"] * self.unit).astype(self.dtype)
        keep = (pairs["v"] * self.unit <= radius) & ((pairs["i"] != pairs["j"]) if Y is None else True)
        return graph_of_pairs([(pairs["i"][keep], pairs["j"][keep], distances[keep])], (m, self.n))


class BallTreeIndex(TreeIndex):
    """An index by any true metric that scikit-learn knows, with its ball tree (final)."""

    _saved = SavedRecord(
        "index.BallTreeIndex",
        {
            "X": floats("n", "d"),
            "metric": text,
            "whole": instance_of("index.TileIndex", "index.MetricIndex", n="n", d="d"),
            "n_jobs": THREADS,
            "reason": text,
        },
    )

    method = "ball_tree"

    def __init__(self, X: np.ndarray, metric: Any, whole: MetricIndex | TileIndex, n_jobs: int | None, reason: str):
        self.X, self.metric, self.whole, self.n_jobs, self.reason = X, metric, whole, n_jobs, reason
        self.n, self.dtype = X.shape[0], X.dtype
        self.tree = BallTree(X, metric=metric, **getattr(whole, "params", {}))

    def _ask(self, Y: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        return self.tree.query(Y, k)

"""Neighbours from precomputed distances: a whole matrix, or a sparse graph of the known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from mercer.exceptions import DisconnectedGraphError
from mercer.graph.block_index import BlockIndex
from mercer.graph.neighbor_index import NeighborIndex, Neighbors
from mercer.graph.row_checks import FLOATS, refuse_foreign
from mercer.models.fields import THREADS, SavedRecord, floats, sparse, text
from mercer.numeric_input import refuse_not_numeric


class MatrixIndex(BlockIndex):
    """An index on a square matrix of distances, Dᵢⱼ from i to j (final)."""

    _saved = SavedRecord("index.MatrixIndex", {"D": floats("n", "n"), "n_jobs": THREADS, "reason": text})

    method = "precomputed"

    def __init__(self, D: Any, n_jobs: int | None, reason: str) -> None:
        self.D = _check_matrix(D)
        if self.D.shape[0] != self.D.shape[1]:
            raise ValueError(f"Precomputed distances must be a square matrix, not {self.D.shape}.")
        self.n, self.dtype, self.n_jobs, self.reason = len(self.D), self.D.dtype, n_jobs, reason

    def between(self, rows: Any, others: Any) -> np.ndarray:
        return self.D[np.ix_(rows, others)]

    def distances_of(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.D[i, j].astype(np.float64)

    def read_rows(self, Y: Any) -> np.ndarray:
        return _check_width(_check_matrix(Y), self.n)

    def distance_block(self, Y: Any, run: Any) -> np.ndarray:
        return np.array((self.D if Y is None else Y)[run], dtype=self.dtype)


class GraphIndex(NeighborIndex):
    """An index on a sparse graph of distances, such as KNeighborsTransformer gives (final).

    A stored zero is a distance of zero. +∞ and entries that are not stored are not edges. The diagonal is not read.
    """

    _saved = SavedRecord(
        "index.GraphIndex", {"graph": sparse("n", "n", canonical=True), "n_jobs": THREADS, "reason": text}
    )

    method = "precomputed"

    def __init__(self, graph: Any, n_jobs: int | None, reason: str) -> None:
        self.graph = _check_graph(graph)
        if self.graph.shape[0] != self.graph.shape[1]:
            raise ValueError(f"Precomputed distances must be a square matrix, not {self.graph.shape}.")
        self.n, self.n_jobs, self.reason = self.graph.shape[0], n_jobs, reason

    def between(self, rows: Any, others: Any) -> np.ndarray:
        """The distances between indexed rows; +∞ if none is stored."""
        rows, others = np.asarray(rows), np.asarray(others)
        out = np.full((len(rows), len(others)), np.inf, self.graph.dtype)
        columns = np.full(self.n, -1)
        columns[others] = np.arange(len(others))
        for place, row in enumerate(rows):
            stored = slice(*self.graph.indptr[row : row + 2])
            wanted = columns[self.graph.indices[stored]]
            out[place, wanted[wanted >= 0]] = self.graph.data[stored][wanted >= 0]
            out[place, columns[row]] = 0 if columns[row] >= 0 else out[place, columns[row]]
        return out[:, columns[others]]  # a row may be asked for twice

    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> Any:
        raise DisconnectedGraphError(
            f"The number of connected components of the neighbors graph is {len(np.unique(labels))} > 1. They cannot "
            "be joined: a sparse graph of precomputed distances does not say how far apart they are. Store more "
            "neighbours, or give the full matrix of distances."
        )

    def read_rows(self, Y: Any) -> sp.csr_array:
        return _check_width(_check_graph(Y), self.n)

    def nearest(self, Y: sp.csr_array | None, k: int) -> Neighbors:
        return _first(_without_diagonal(self.graph) if Y is None else Y, k)

    def pairs_within(self, Y: sp.csr_array | None, radius: float) -> sp.csr_array:
        graph = _without_diagonal(self.graph) if Y is None else Y
        return _filtered(graph, graph.data <= radius)


def _first(graph: sp.csr_array, k: int) -> Neighbors:
    """The k smallest stored entries of each row."""
    counts = np.diff(graph.indptr)
    if len(counts) and counts.min() < k:
        raise ValueError(
            f"{k} neighbors per sample are required, but some samples have only {counts.min()} neighbors in "
            "precomputed graph matrix. Decrease number of neighbors used or recompute the graph with more neighbors."
        )
    order = np.lexsort((graph.indices, graph.data, np.repeat(np.arange(len(counts)), counts)))
    chosen = order[graph.indptr[:-1, None] + np.arange(k)]
    return Neighbors(graph.indices[chosen].astype(np.int32), graph.data[chosen], "precomputed")


def _filtered(graph: sp.csr_array, keep: np.ndarray) -> sp.csr_array:
    starts = np.concatenate([[0], np.cumsum(keep)])[graph.indptr].astype(graph.indptr.dtype)
    return sp.csr_array((graph.data[keep], graph.indices[keep], starts), shape=graph.shape)


def _without_diagonal(graph: sp.csr_array) -> sp.csr_array:
    rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
    return _filtered(graph, graph.indices != rows)


def _check_graph(graph: Any) -> sp.csr_array:
    if not sp.issparse(graph):
        raise TypeError(
            f"The index holds a sparse graph of distances. New rows must be one too, not {type(graph).__name__}."
        )
    refuse_not_numeric(graph, "The sparse graph")
    graph = sp.csr_array(check_array(graph, accept_sparse="csr", dtype=FLOATS, ensure_all_finite=False))
    if not graph.has_canonical_format:
        graph = graph.copy()
        graph.sort_indices()
        rows = np.repeat(np.arange(graph.shape[0]), np.diff(graph.indptr))
        if np.any((np.diff(graph.indices) == 0) & (np.diff(rows) == 0)):
            raise ValueError("The sparse graph of distances stores some pairs twice.")
    _refuse_negative(graph.data)
    return _filtered(graph, graph.data < np.inf)


def _check_matrix(D: Any) -> np.ndarray:
    refuse_foreign(D)
    refuse_not_numeric(D, "The matrix of distances")
    D = check_array(D, accept_sparse=False, dtype=FLOATS)
    _refuse_negative(D)
    return D


def _refuse_negative(values: np.ndarray) -> None:
    if np.isnan(values).any():
        raise ValueError("Input contains NaN: precomputed distances must be numbers ≥ 0.")
    if values.min(initial=0) < 0:
        raise ValueError("Negative values in data: precomputed distances must be ≥ 0.")


def _check_width(Y: Any, n: int) -> Any:
    if Y.shape[1] != n:
        raise ValueError(
            f"Precomputed distances to new rows must have a column for each of the {n} rows, not {Y.shape[1]}."
        )
    return Y

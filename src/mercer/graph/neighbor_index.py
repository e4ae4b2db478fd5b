"""The interface of an index of neighbours, and its answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from mercer.backends import is_torch
from mercer.exceptions import MemoryLimitError
from mercer.memory import available_bytes, format_bytes


@dataclass(frozen=True)
class Neighbors:
    """The k nearest neighbours of m rows, nearest first.

    indices : (m, k) int32; of equal distances the smaller index comes first, if the method is exact
    distances : (m, k), in the precision of the data; both are tensors on its device if the data is a tensor
    method : the method that found them
    recall : the share of the true neighbours that was found: 1 for an exact method, otherwise measured on some rows
    recall_error : the standard error of `recall`

    >>> Neighbors(np.array([[1], [0]], np.int32), np.array([[2.0], [2.0]]), "tiles").graph(2).toarray().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """

    indices: Any
    distances: Any
    method: str
    recall: float = 1.0
    recall_error: float = 0.0

    def graph(self, n: int) -> Any:
        """The distances as a sparse matrix (m, n), or a CSR tensor; a distance of zero is stored like any other."""
        if is_torch(self.indices):
            return import_module("mercer.backends.torch_neighbors").graph_of_neighbors(self.indices, self.distances, n)
        m, k = self.indices.shape
        order = np.argsort(self.indices, axis=1)
        columns = np.take_along_axis(self.indices, order, axis=1).astype(np.int32, copy=False)
        values = np.take_along_axis(self.distances, order, axis=1)
        starts = np.arange(0, m * k + 1, k, dtype=np.int32 if m * k < 2**31 else np.int64)
        return sp.csr_array((values.ravel(), columns.ravel(), starts), shape=(m, n))


class NeighborIndex(ABC):
    """n rows prepared for searches (abstract: subclass it for another way to search).

    A subclass defines `nearest` and `pairs_within`. `neighbors`, `query`, `within` and `query_within` check their
    arguments and call these.

    n : the number of indexed rows
    method, reason : the method of the search, and a sentence that says why it was chosen

    >>> from mercer.graph import build_index
    >>> index = build_index(np.array([[0.0], [1.0], [3.0]]))
    >>> isinstance(index, NeighborIndex), index.neighbors(1).indices.ravel().tolist()
    (True, [1, 0, 1])
    """

    n: int
    method: str
    reason: str

    def neighbors(self, k: int) -> Neighbors:
        """The k nearest of every indexed row among the others. A copy of a row counts, the row itself does not."""
        k = _whole(k)
        if k >= self.n:
            raise ValueError(_too_many("<", k, self.n, self.n))
        self.refuse_too_large(self.n, k)
        return self.nearest(None, k)

    def query(self, Y: Any, k: int) -> Neighbors:
        """The k nearest indexed rows of every row of Y."""
        k, Y = _whole(k), self.read_rows(Y)
        if k > self.n:
            raise ValueError(_too_many("<=", k, self.n, Y.shape[0]))
        self.refuse_too_large(Y.shape[0], k)
        return self.nearest(Y, k)

    def within(self, radius: float) -> sp.csr_array:
        """Every pair of different indexed rows with a distance ≤ radius, (n, n); a distance of zero is stored."""
        return self.pairs_within(None, _radius(radius))

    def query_within(self, Y: Any, radius: float) -> sp.csr_array:
        """Every pair of a row of Y and an indexed one with a distance ≤ radius, (m, n), zeros included."""
        return self.pairs_within(self.read_rows(Y), _radius(radius))

    def refuse_too_large(self, m: int, k: int) -> None:
        """Raise MemoryLimitError if k neighbours of m rows would not fit in memory."""
        needed = 20 * m * k  # indices, distances, and their squares
        if needed > available_bytes():
            raise MemoryLimitError(
                f"{k:,} neighbours of {m:,} rows would take {format_bytes(needed)}, but only "
                f"{format_bytes(available_bytes())} are free. Ask for fewer."
            )

    @abstractmethod
    def between(self, rows: Any, others: Any) -> np.ndarray:
        """The distances between indexed rows, (len(rows), len(others))."""

    @abstractmethod
    def closest_pairs(self, labels: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each label among those of `rows`, the closest pair of one of these rows and a row of another label.

        Returns the rows i, the rows j and their distances. Of equally close pairs it takes the one with the smallest
        two indices.
        """

    @abstractmethod
    def read_rows(self, Y: Any) -> Any:
        """Check new rows, and bring them into the form of the indexed ones."""

    @abstractmethod
    def nearest(self, Y: Any | None, k: int) -> Neighbors:
        """The k nearest indexed rows of every row of Y. None: of every indexed row, the row itself left out."""

    @abstractmethod
    def pairs_within(self, Y: Any | None, radius: float) -> sp.csr_array:
        """Every pair of a row of Y (of the indexed ones if None) and an indexed row with a distance ≤ radius."""


def closest_of_each(
    labels: np.ndarray, i: np.ndarray, j: np.ndarray, distances: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The closest of the pairs (i, j) for each label of an i; ties by the smaller, then by the larger index."""
    order = np.lexsort((np.maximum(i, j), np.minimum(i, j), distances, labels[i]))
    first = np.flatnonzero(np.diff(labels[i][order], prepend=-1))
    chosen = order[first]
    return i[chosen], j[chosen], distances[chosen]


def graph_of_pairs(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]], shape: tuple[int, int]) -> sp.csr_array:
    """The sparse matrix of parts (rows, columns, distances). Each part is a run of rows, its pairs in any order."""
    counts = np.zeros(shape[0] + 1, np.int64)
    columns, values = [np.empty(0, np.int32)], []
    for rows, found, distances in parts:
        order = np.lexsort((found, rows))
        counts[1:] += np.bincount(rows, minlength=shape[0])
        columns.append(found[order].astype(np.int32))
        values.append(distances[order])
    starts = np.cumsum(counts)
    if starts[-1] < 2**31:
        starts = starts.astype(np.int32)
    return sp.csr_array((np.concatenate(values), np.concatenate(columns), starts), shape=shape)


def refuse_too_many_pairs(pairs: float, size: int) -> None:
    """Raise MemoryLimitError if a graph of that many pairs, and the memory to sort them, would not fit."""
    needed = pairs * (2 * size + 24)  # distances twice, and the rows, columns and order of the sort
    if needed > available_bytes():
        raise MemoryLimitError(
            f"A graph of {pairs:.3g} pairs would take {format_bytes(needed)}, but only "
            f"{format_bytes(available_bytes())} are free. Use a smaller radius, or a number of neighbours instead."
        )


def _whole(k: Any) -> int:
    if not isinstance(k, Integral):
        raise TypeError(f"n_neighbors does not take {type(k)} value, enter integer value")
    if k <= 0:
        raise ValueError(f"Expected n_neighbors > 0. Got {k}")
    return int(k)


def _radius(radius: Any) -> float:
    if not isinstance(radius, Real) or not float(radius) >= 0:
        raise ValueError(f"radius={radius!r} must be a number ≥ 0.")
    return float(radius)


def _too_many(sign: str, k: int, n: int, m: int) -> str:
    return f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit = {n}, n_samples = {m}"
